//! Forms that single hands give a plan: each was met once, and is read as a person would.

use super::join;
use super::rows::{ids, needs, says};
use bowline_formats::tasks_md::{PlanFindingCode, parse_plan, set_tick};

#[test]
fn tags_and_phases_before_an_id_are_passed_over() {
    for header in [
        "### [x] [BE] T1.1: a",
        "### [x] [P0][FE] T1.1: a",
        "### [x] (BE) T1.1: a",
        "### [x] Phase 1 - T1.1: a",
        "### [x] Phase 1: T1.1 a",
        "### [x] Phase 1 | T1.1: a",
        "### [x] P1 / T1.1: a",
        "- [x] <a id=\"t\"></a>T1.1: a",
        "- [x] [T1.1: a](./t.md)",
        "### T1.1 [x] a",
        "### T1.1: a [x]",
        "### ［x］ T1.1： a",
        "### T1.1: ✅ a",
        "### T1.1: a ✅ (2026-01-10)",
        "### T1.1: a ✅ 완료 2026-01-10",
        "### T1.1: a **(완료)**",
    ] {
        says(&format!("{header}\n"), &["[x] 1/T1.1 a"]);
    }
    // A phase stays one: what stands behind it is its title.
    let file = parse_plan(
        "## [ ] Phase 4: T3 servers\n### [ ] T4.1: a\n## Phase 5: T5.1 ~ T5.2\n### [ ] T5.1: b\n",
    );
    assert_eq!(ids(&file), "T4.1 T5.1");
    let titles: Vec<&str> = file.phases.iter().map(|it| it.title.as_str()).collect();
    assert_eq!(titles, ["T3 servers", "T5.1 ~ T5.2"]);
    // A picture in a title is no mark, and a link in a table of contents no task.
    says(
        "### T1.1: the ✅ button\n- [T1.2: b](#t12)\n",
        &["[ ] 1/T1.1 the ✅ button"],
    );
}

#[test]
fn headings_about_tasks_are_told_from_work() {
    for heading in [
        "Order Management",
        "GraphQL",
        "Navigation & Aggregates",
        "API 게이트웨이",
        "현황판 화면",
        "요약 기능",
    ] {
        let text = format!("## Phase 1 — {heading}\n### {heading}\n- P1-T1: a\n");
        let file = parse_plan(&text);
        assert_eq!(ids(&file), "P1-T1", "{heading}");
        assert_eq!(file.phases[0].title, heading);
    }
    for heading in [
        "실행 순서",
        "Execution order",
        "진행 현황",
        "변경 이력",
        "Summary (all)",
    ] {
        let text = format!("## Phase 1: x\n- P1-T1: a\n### {heading}\n- P1-T2: b\n");
        assert_eq!(ids(&parse_plan(&text)), "P1-T1", "{heading}");
    }
    // What is only about a phase is its title until there is a better one.
    let file = parse_plan("### Phase 1: 의존성 그래프\n## Phase 1: 결제\n### [ ] T1.1: a\n");
    assert_eq!(file.phases[0].title, "결제");
    let file = parse_plan("# M1: 기반\n## Phase 1: 인증\n### [ ] P1-T1: a\n");
    assert_eq!(file.phases[0].title, "인증");
    assert_eq!(parse_plan("# Phase 1: x\n### [ ] T1.1: a\n").project, None);
}

#[test]
fn a_phase_inside_another_does_not_take_its_tasks() {
    let file = parse_plan(
        "## Phase 1: a\n### Phase 2 연계 사항\nx\n### [ ] P1-T1: b\n#### Phase 3 미리보기\n#### [ ] P1-T2: c\n## Phase 2: d\n### [ ] P2-T1: e\n## Phase 3: f\n### [ ] P3-T1: g\n",
    );
    let phases: Vec<u32> = file.tasks.iter().map(|task| task.phase).collect();
    assert_eq!(phases, [1, 1, 2, 3]);
    assert_eq!(file.findings, []);
    let file =
        parse_plan("**Phase 1: a**\n- [x] T001: b\n- [ ] T002: c\n\n**Phase 2**\n- [ ] T003: d\n");
    let phases: Vec<u32> = file.tasks.iter().map(|task| task.phase).collect();
    assert_eq!(phases, [1, 1, 2]);
}

#[test]
fn what_a_list_only_mentions_is_no_task() {
    // An overview of groups, a remark inside another task, a criterion with a code.
    for text in [
        "## P1: x\n- P1-R1: users\n- P1-S1: screens\n### P1-R1: users\n#### [ ] P1-R1-T1: a\n### P1-S1: b\n#### [ ] P1-S1-T1: c\n",
        "## P1: x\n- P1-R1: users\n  - P1-R1-T1: a\n- P1-S1: b\n  - P1-S1-T1: c\n",
        "## P1: x\n- [ ] P1-R1-T1: a\n- [ ] P1-S1-T1: c\n  - [ ] P1-R1-T1 is merged\n  - [ ] AC1-1: d\n",
        "## P1: x\n### [ ] P1-R1-T1: a\n- [ ] AC1-1: d\n- [ ] TC1-1: e\n### [ ] P1-S1-T1: c\n",
        "## P1: x\n- [ ] P1-R1-T1: a\n- [ ] P1-S1-T1: c\n## All of it\n- [x] P1-R1-T1: done long ago\n",
    ] {
        let file = parse_plan(text);
        assert_eq!(ids(&file), "P1-R1-T1 P1-S1-T1", "of:\n{text}");
        assert_eq!(file.blocking_finding(), None, "of:\n{text}");
    }
}

#[test]
fn numbers_are_ids_where_a_plan_has_nothing_else() {
    for (text, expected) in [
        (
            "## Phase 1: x\n### 1.1 a\n### 1.2 b\n- depends on: 1.1\n",
            "1.1 1.2",
        ),
        (
            "## M1: x\n- [x] M1.1 a\n- [ ] M1.2 b (depends on M1.1)\n",
            "M1.1 M1.2",
        ),
        (
            "## P1: x\n### [x] P1.1: a\n### [ ] P1.2: b\n- depends on: P1.1\n",
            "P1.1 P1.2",
        ),
        (
            "## M1: x\n### M1.1: a\n### M1.2: b\n- depends on: M1.1\n",
            "M1.1 M1.2",
        ),
    ] {
        let file = parse_plan(text);
        assert_eq!(ids(&file), expected, "of:\n{text}");
        assert_eq!(
            join(&file.tasks[1].dependencies).len(),
            expected.len() / 2,
            "of:\n{text}"
        );
    }
    // Sections of a text without phases, and half phases beside tasks, are none.
    assert_eq!(
        parse_plan("# PRD\n## 1. a\n### 1.1 b\n### 1.2 c\n").tasks,
        []
    );
    let file = parse_plan("## M0: a\n### [ ] T0.1: b\n## M0.5: c\n### [ ] T0.5.1: d\n");
    assert_eq!(ids(&file), "T0.1 T0.5.1");
}

#[test]
fn needs_in_odd_forms() {
    let plan = "## P1: x\n### [ ] T1.1: Gauge model\n### [ ] T1.2: b\n### [ ] T1.3: c\n";
    for line in [
        "(의존: T1.1)",
        "- **선행 Task**: T1.1",
        "- **Dependencies / 의존성**: T1.1",
        "- **의존성** T1.1",
        "> **담당** `mia` | **의존** T1.1 | **병렬** T1.2",
        "- Depends on T1.1",
        "- 의존: T1.1 완료 후, T1.2와 병렬 가능",
        "- depends on: T1.1, parallel with T1.2",
        "- 의존: ~~T1.2~~ T1.1",
        "- ~~의존: T1.2~~\n- 의존: T1.1",
        "- 의존: Gauge model",
        "- 의존: gauge model 완료 후",
        "```yaml\ndepends_on: [T1.1]\nstatus: completed\n```",
    ] {
        let text = format!("{plan}{line}\n");
        needs(&text, "T1.1");
        assert!(!parse_plan(&text).tasks[2].done, "of:\n{text}");
    }
    let text = format!("{plan}```mermaid\ngraph LR\nA[모델<br/>T1.1] --> B[\"API (T1.3)\"]\n```\n");
    assert_eq!(parse_plan(&text).edges.len(), 1);
}

#[test]
fn what_plain_lists_and_titles_say() {
    // The title of a document is about all of it.
    let text = "# 구현 순서\n## Phase 1\n1. **T1.1 a** - mia-agent\n2. **T1.2 b** (의존: T1.1)\n";
    says(
        text,
        &[
            "project 구현 순서",
            "phase 1 \"\"",
            "[ ] 1/T1.1 a @mia-agent",
            "[ ] 1/T1.2 b <T1.1",
        ],
    );
    let text = "## P1: x\n### P1-T1 — a [상태: 완료]\n### P1-T2 — b [상태: 대기] [의존: P1-T1]\n";
    says(
        text,
        &["phase 1 \"x\" x", "[x] 1/P1-T1 a", "[ ] 1/P1-T2 b <P1-T1"],
    );
    assert_eq!(
        set_tick(text, "P1-T2", true).unwrap(),
        text.replace("대기", "완료")
    );
    // A step of a task is one, whatever stands behind its id.
    assert_eq!(
        ids(&parse_plan(
            "### [ ] T1.1: a\n- [ ] **T1.1.1** b\n- [ ] T3 c\n"
        )),
        "T1.1 T1.1.1"
    );
    needs(
        "## P1: x\n### [ ] T1.1: a\n### [ ] T1.2: b\n- 의존: T1.1 → T1.2 (순차)\n",
        "T1.1",
    );
    let alone = parse_plan("### [ ] T1.1: a\n- 의존: T1.1\n");
    assert_eq!(
        alone.blocking_finding().map(|it| it.code),
        Some(PlanFindingCode::CircularDep)
    );
}

#[test]
fn a_plan_of_boxes_without_ids_says_which() {
    let file = parse_plan("# x\n- a\n- [ ] 우유 사기\n- [ ] sell the boat\n");
    let finding = file.blocking_finding().unwrap();
    assert_eq!(
        (finding.code, finding.line),
        (PlanFindingCode::ParseFail, 3)
    );
    let told = finding.message.to_string();
    assert!(told.contains("2, the first is `우유 사기`"), "{told}");
}

#[test]
fn a_table_says_how_far_headings_without_a_mark_are() {
    let text = "### T1.1: a\n### T1.2: b\n\n| Task | Status |\n|--|--|\n| T1.1 | ✅ Done |\n| T1.2 | Not Started |\n";
    says(text, &["[x] 1/T1.1 a", "[ ] 1/T1.2 b"]);
    assert_eq!(
        set_tick(text, "T1.2", true).unwrap(),
        text.replace("Not Started", "Done")
    );
    let text = "|  | ID | x |\n|--|--|--|\n| [x] | T1.1 | a |\n| [ ] | T1.2 | b |\n";
    says(text, &["[x] 1/T1.1 a", "[ ] 1/T1.2 b"]);
}
