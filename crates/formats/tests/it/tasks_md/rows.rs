//! One test for each shape of plan that is about, named after it.

use super::{describe, join};
use bowline_formats::tasks_md::{PlanFinding, PlanFindingCode, TasksFile, parse_plan, set_tick};

/// What a plan says, without the project and the lines.
#[track_caller]
pub(super) fn says(text: &str, expected: &[&str]) {
    let found = describe(&parse_plan(text));
    let found: Vec<&str> = found
        .lines()
        .map(|line| match line.split_once(' ') {
            Some((number, rest)) if number.parse::<usize>().is_ok() => rest,
            _ => line,
        })
        .collect();
    assert_eq!(found, expected, "of:\n{text}");
}

pub(super) fn ids(file: &TasksFile) -> String {
    file.tasks
        .iter()
        .map(|task| task.id.as_str())
        .collect::<Vec<_>>()
        .join(" ")
}

/// The needs of the last task.
#[track_caller]
pub(super) fn needs(text: &str, expected: &str) {
    let file = parse_plan(text);
    assert_eq!(
        join(&file.tasks.last().unwrap().dependencies),
        expected,
        "of:\n{text}"
    );
    assert_eq!(
        file.findings
            .iter()
            .map(|it| it.code)
            .filter(|it| *it != PlanFindingCode::PhaseGap)
            .collect::<Vec<_>>(),
        [],
        "of:\n{text}"
    );
}

#[test]
fn tasks_with_a_box() {
    for (header, expected) in [
        ("### [ ] P0-T0.1: a", "[ ] 0/P0-T0.1 a"),
        ("### [ ] Phase 1, T1.1: a", "[ ] 1/T1.1 a"),
        ("#### [x] P1-R1-T1: a", "[x] 1/P1-R1-T1 a"),
        ("### [X] P1-S2-V: a", "[x] 1/P1-S2-V a"),
        ("## [ ] P5-T1 — a", "[ ] 5/P5-T1 a"),
        ("- [ ] **P2-T1.1**: a", "[ ] 2/P2-T1.1 a"),
        ("1. [x] `T3.2` a", "[x] 3/T3.2 a"),
        ("* [ ] [T4.1] a", "[ ] 4/T4.1 a"),
        ("### [ ] a (T4.2)", "[ ] 4/T4.2 a"),
    ] {
        let text = describe(&parse_plan(header));
        assert!(
            text.lines().any(|line| line == format!("1 {expected}")),
            "{header}: {text}"
        );
    }
}

#[test]
fn an_id_heading_without_a_box_is_a_group() {
    says(
        "## Phase 1: x\n### P1-R1: Users\n#### [x] P1-R1-T1: a\n#### [ ] P1-R1-T2: b\n### P1-R2: Logs\n",
        &[
            "phase 1 \"x\" x",
            "[x] 1/P1-R1-T1 a",
            "[ ] 1/P1-R1-T2 b",
            "group P1-R1: P1-R1-T1,P1-R1-T2",
            "Warning NO_BOX",
        ],
    );
    // None has a box: the one that holds others, and the one that is continued by a hyphen; a full
    // stop makes steps.
    says(
        "## Phase 1: x\n### P1-R1: Users\n#### P1-R1-T1: a\n### P1-S1: b\n### P1-S1-T1: c\n### T1.2: d\n### T1.2.1: e\n",
        &[
            "phase 1 \"x\" x",
            "[ ] 1/P1-R1-T1 a",
            "[ ] 1/P1-S1-T1 c",
            "[ ] 1/T1.2 d",
            "group P1-R1: P1-R1-T1",
            "group P1-S1: P1-S1-T1",
        ],
    );
}

#[test]
fn a_heading_right_above_the_same_with_a_box_is_one_task() {
    let text = "## P0-T0.1: Repository\nwords\n### [x] P0-T0.1: Repository\n- assignee: mia\n";
    says(text, &["[x] 0/P0-T0.1 Repository @mia"]);
    assert_eq!(
        parse_plan(text).tasks[0].line,
        3,
        "the line with the box is it"
    );
}

#[test]
fn a_need_of_a_group_is_one_of_all_its_tasks() {
    let plan = "## P1: x\n### P1-R1: g\n#### [ ] P1-R1-T1: a\n#### [ ] P1-R1-T2: b\n### P1-S1: h\n#### [ ] P1-S1-T1: c\n";
    needs(&format!("{plan}- 의존: P1-R1\n"), "P1-R1-T1,P1-R1-T2");
    needs(&format!("{plan}- 의존: R1\n"), "P1-R1-T1,P1-R1-T2");
    needs(
        &format!("{plan}- 의존: P1-R*, **P1-R1-T1**\n"),
        "P1-R1-T1,P1-R1-T2",
    );
    let file = parse_plan(&format!(
        "{plan}```mermaid\ngraph TD\nP1-R1 --> P1-S1\n```\n"
    ));
    assert_eq!(file.edges.len(), 2);
}

#[test]
fn an_empty_box_is_unticked_and_ticking_fills_it() {
    let text = "## Phase 0: x\r\n### [] T0.1: a\r\n### [x] T0.2: b\r\n";
    says(text, &["phase 0 \"x\" x", "[ ] 0/T0.1 a", "[x] 0/T0.2 b"]);
    assert_eq!(
        set_tick(text, "T0.1", true).unwrap(),
        text.replace("[]", "[x]")
    );
}

#[test]
fn short_ids_mean_the_task_that_ends_in_them() {
    let plan = "## P1: x\n### [ ] P1-T1.1: a\n### [ ] P1-T1.2: b\n## P2: y\n### [ ] P2-T1.1: c\n### [ ] P2-T1.3: d\n";
    needs(&format!("{plan}의존: T1.1\n"), "P2-T1.1");
    needs(&format!("{plan}의존: T1.2\n"), "P1-T1.2");
    let file = parse_plan(&format!("{plan}## P3: z\n### [ ] P3-T9: e\n의존: T1.1\n"));
    let finding = file.blocking_finding().unwrap();
    assert_eq!(finding.code, PlanFindingCode::AmbiguousDep);
    assert!(
        ["P2-T1.1", "P1-T1.1"]
            .iter()
            .any(|id| finding.message.to_string().contains(id)),
        "{finding}"
    );
}

#[test]
fn phase_headings() {
    for (heading, expected) in [
        ("## M0: 준비", "phase 0 \"준비\""),
        ("## M0.5: 계약", "phase 0 \"계약\""),
        ("## P0: 준비", "phase 0 \"준비\""),
        ("## P0 — Setup", "phase 0 \"Setup\" setup"),
        ("# Phase 1.5: 보강", "phase 1 \"보강\""),
        (
            "### 🚀 Phase 2 - 인증 (Auth)",
            "phase 2 \"인증 (Auth)\" auth",
        ),
        ("## 3. Phase 3: x", "phase 3 \"x\" x"),
        ("## [x] Phase 4: y", "phase 4 \"y\" y"),
        ("## Phase 5 · 결제", "phase 5 \"결제\""),
        ("## Phase 6, 배송", "phase 6 \"배송\""),
    ] {
        let text = describe(&parse_plan(&format!("{heading}\n### [ ] T9.1: a\n")));
        assert!(text.contains(expected), "{heading}: {text}");
    }
    for heading in [
        "## Phase 1~3 요약",
        "## P0 → P1",
        "## Phase 1 & 2",
        "## Phases",
        "## Phase 개요",
        "## P0-P3",
    ] {
        assert_eq!(
            parse_plan(&format!("{heading}\n### [ ] T9.1: a\n")).phases,
            [],
            "{heading}"
        );
    }
    // What a phase needs is not what it is called.
    let file = parse_plan(
        "## Phase 1 완료 조건\n## Phase 1 dependency graph\n## Phase 1: 결제\n### [ ] T1.1: a\n",
    );
    assert_eq!(file.phases[0].title, "결제");
    assert_eq!(file.phase_slug(1), "phase-1");
    let file =
        parse_plan("## Phase 1: 결제\n**Worktree**: `worktree/phase-1-pay`\n### [ ] T1.1: a\n");
    assert_eq!(
        file.tasks[0].worktree.as_deref(),
        Some("worktree/phase-1-pay")
    );
    assert_eq!(
        file.phases[0].worktree.as_deref(),
        Some("worktree/phase-1-pay")
    );
}

#[test]
fn half_phases_are_ordered_sections() {
    let file = parse_plan(
        "## M1: a\n### [ ] T1.1: a\n## M1.5: b\n### [ ] T1.5.1: b\n## M2: c\n### [ ] T2.1: c\n",
    );
    let found: Vec<(u32, u32)> = file
        .tasks
        .iter()
        .map(|task| (task.phase, task.section))
        .collect();
    assert_eq!(found, [(1, 0), (1, 5), (2, 0)]);
    assert_eq!(file.phases[0].sections[0].title, "b");
}

#[test]
fn ranges_are_expanded() {
    let plan = "## Phase 1: x\n### [ ] T1.1: a\n### [ ] T1.2: b\n### [ ] T1.3: c\n## P12: y\n### [ ] P12-T1: d\n### [ ] P12-T2: e\n### [ ] P12-T3: f\n### [ ] P12-T9: g\n";
    for range in [
        "T1.1~T1.3",
        "T1.1 ~ T1.3",
        "T1.1-T1.3",
        "T1.1–T1.3",
        "T1.1..T1.3",
        "T1.1 to T1.3",
        "T1.1~3",
    ] {
        needs(&format!("{plan}- 의존: {range}\n"), "T1.1,T1.2,T1.3");
    }
    for range in ["P12-T1~T3", "P12-T1 ~ P12-T3", "P12-T1~P12-T3", "T1~T3"] {
        needs(&format!("{plan}- 의존: {range}\n"), "P12-T1,P12-T2,P12-T3");
    }
    let file = parse_plan("## P2: x\n### [ ] P2-S1-T1 ~ P2-S1-T3: 화면\n- 담당: mia\n");
    assert_eq!(ids(&file), "P2-S1-T1 P2-S1-T2 P2-S1-T3");
    assert!(
        file.tasks
            .iter()
            .all(|task| task.assignee.as_deref() == Some("mia"))
    );
    assert!(
        set_tick("### [ ] T1 ~ T3: x\n", "T2", true).is_err(),
        "one box is not theirs"
    );
}

#[test]
fn a_check_list_at_the_end_repeats_and_adds_nothing() {
    let text = "## P1: x\n### [x] P1-T1: 월간 보기\n### [ ] P1-T2: 일정 추가\n## 체크리스트\n- [x] P1-T1: 월간\n- [ ] P1-T2 추가 폼\n- [ ] T1\n";
    says(
        text,
        &[
            "phase 1 \"x\" x",
            "[x] 1/P1-T1 월간 보기",
            "[ ] 1/P1-T2 일정 추가",
        ],
    );
    assert_eq!(
        set_tick(text, "P1-T2", true).unwrap(),
        text.replacen("[ ] P1-T2: 일정", "[x] P1-T2: 일정", 1)
    );
    let clash = parse_plan("### [ ] T1.1: Login\n### [ ] T1.1: Logout\n");
    assert_eq!(
        clash.blocking_finding().map(|it| (it.code, it.line)),
        Some((PlanFindingCode::DuplicateId, 2))
    );
}

#[test]
fn a_fence_inside_a_list_item_ends_where_the_item_does() {
    let text = "## P1: x\n### [ ] T1.1: a\n- run:\n  ```bash\n  make\n### [ ] T1.2: b\n- c:\n\n      ```\n### [ ] T1.3: c\n";
    assert_eq!(ids(&parse_plan(text)), "T1.1 T1.2 T1.3");
}

#[test]
fn tables() {
    says(
        "## P1: x\n\n| ID | 작업 | 의존 | 담당 | 상태 |\n|--|--|--|--|--|\n| T1.1 | a | - | mia | [x] |\n| `T1.2` | b | T1.1 | joe | 대기 |\n",
        &[
            "phase 1 \"x\" x",
            "[x] 1/T1.1 a @mia",
            "[ ] 1/T1.2 b @joe <T1.1",
        ],
    );
    // Risks and requirements have ids, too.
    let file = parse_plan(
        "## P1: x\n### [ ] T1.1: a\n\n| ID | Risk |\n|--|--|\n| R1 | slow |\n| P1-R9 | wrong |\n",
    );
    assert_eq!(ids(&file), "T1.1");
}

#[test]
fn tasks_without_a_box() {
    for (text, expected) in [
        ("### T0.1 Title\n### T0.2 Title\n", "T0.1 T0.2"),
        ("### T1. Title\n### T2. Title\n", "T1 T2"),
        ("### Task 1-1: Title\n### Task 1-2: Title\n", "1-1 1-2"),
        ("### Task 1.1: Title\n", "1.1"),
        (
            "## P10: x\n- P10-R1-T1: a\n- P10-R1-T2: b\n",
            "P10-R1-T1 P10-R1-T2",
        ),
        ("- A0-1. a\n- A0-2. b ← A0-1\n", "A0-1 A0-2"),
    ] {
        assert_eq!(ids(&parse_plan(text)), expected, "{text}");
    }
    // A list inside a task, or about tasks, defines none.
    let file = parse_plan(
        "## P1: x\n### [ ] P1-T1: a\n- P1-T1.1: step\n- T7.7: note\n## 의존성\n- P1-T9: unknown\n",
    );
    assert_eq!(ids(&file), "P1-T1");
}

#[test]
fn ids_with_words() {
    let file = parse_plan(
        "## P5: x\n### [ ] P5-Integration-T1: a\n### [ ] P4-E2E: b\n### [ ] P5-QA: c\n- 의존: P5-Integration-T1, P4-E2E\n",
    );
    assert_eq!(ids(&file), "P5-Integration-T1 P4-E2E P5-QA");
    assert_eq!(
        join(&file.tasks[2].dependencies),
        "P5-Integration-T1,P4-E2E"
    );
}

#[test]
fn signs_and_status_words_are_read_and_written_back_in_their_form() {
    for (text, id, done, changed) in [
        (
            "### T1.1: a ✅\n### T1.2: b\n",
            "T1.1",
            true,
            "### T1.1: a\n### T1.2: b\n",
        ),
        (
            "### T1.1: a ✅\n### T1.2: b\n",
            "T1.2",
            false,
            "### T1.1: a ✅\n### T1.2: b ✅\n",
        ),
        (
            "### T1.1: a\n상태: 완료됨\n### T1.2: b\n상태: 대기\n",
            "T1.2",
            false,
            "### T1.1: a\n상태: 완료됨\n### T1.2: b\n상태: 완료됨\n",
        ),
        (
            "### T1.1: a\n상태: 완료됨\n",
            "T1.1",
            true,
            "### T1.1: a\n상태: 대기\n",
        ),
        (
            "### T1.1: a\n**status**: pending\n",
            "T1.1",
            false,
            "### T1.1: a\n**status**: completed\n",
        ),
        (
            "### T1.1: a\n- **Status:** In progress\n",
            "T1.1",
            false,
            "### T1.1: a\n- **Status:** Done\n",
        ),
        ("### [/] T1.1: a\n", "T1.1", false, "### [x] T1.1: a\n"),
        ("- ⬜ T1.1: a\n", "T1.1", false, "- ✅ T1.1: a\n"),
        (
            "| ID | x | 상태 |\n|--|--|--|\n| T1.1 | a | 대기 |\n",
            "T1.1",
            false,
            "| ID | x | 상태 |\n|--|--|--|\n| T1.1 | a | 완료 |\n",
        ),
        (
            "| ID | x | 상태 |\n|--|--|--|\n| T1.1 | a | [ ] |\n",
            "T1.1",
            false,
            "| ID | x | 상태 |\n|--|--|--|\n| T1.1 | a | [x] |\n",
        ),
        ("- \\[ \\] T1.1: a\n", "T1.1", false, "- \\[x\\] T1.1: a\n"),
    ] {
        assert_eq!(
            parse_plan(text).task(id).map(|task| task.done),
            Some(done),
            "{text}"
        );
        assert_eq!(set_tick(text, id, !done).unwrap(), changed, "{text}");
        assert_eq!(
            parse_plan(changed).task(id).map(|task| task.done),
            Some(!done),
            "{changed}"
        );
    }
}

#[test]
fn ordinary_check_lists_are_no_tasks() {
    let text = "## P1: x\n### [ ] T1.1: a\n- [ ] lodging: b\n- [ ] OAuth2: c\n- [ ] 10:30 d\n- [ ] UTF-8: e\n- [ ] 3.5 GB\n## y\n- [ ] lodging: f\n- [ ] S3: g\n- [ ] P0: h\n";
    assert_eq!(ids(&parse_plan(text)), "T1.1");
}

#[test]
fn an_id_with_only_a_space_behind_it_looks_like_others_or_is_named() {
    for (text, expected) in [
        // A series of them is one of ids, with other ids in the plan or without.
        ("- [ ] UI-1 button\n- [x] UI-2 list\n", "UI-1 UI-2"),
        ("- [ ] UI-1: frame\n- [ ] UI-2 button\n", "UI-1 UI-2"),
        (
            "## P1: x\n- [ ] T1.1: a\n- [ ] UI-1: frame\n- [ ] UI-2 button\n",
            "T1.1 UI-1 UI-2",
        ),
        ("### [ ] UI-1 button\n### [ ] UI-2 list\n", "UI-1 UI-2"),
        (
            "- [ ] UI-1 button\n  - [ ] UI-2 states\n- [ ] UI-3 list\n",
            "UI-1 UI-3",
        ),
    ] {
        let file = parse_plan(text);
        assert_eq!(ids(&file), expected, "of:\n{text}");
        let unread = |it: &&PlanFinding| it.code == PlanFindingCode::UnreadHeader;
        assert_eq!(file.findings.iter().find(unread), None, "of:\n{text}");
    }
    for (text, tasks, line) in [
        ("# a\n- [ ] UI-1 button\n", "", 2),
        ("## P1: x\n- [ ] T1.1: a\n- [ ] UI-1 button\n", "T1.1", 3),
        (
            "## P1: x\n### [ ] T1.1: a\n### [ ] GPT-4 costs\n",
            "T1.1",
            3,
        ),
        (
            "## P1: x\n### [ ] T1.1: a\n## UI\n- [ ] UI-1 a\n- [ ] UI-1 a\n- [ ] UI-2 b\n",
            "T1.1",
            4,
        ),
    ] {
        let file = parse_plan(text);
        assert_eq!(ids(&file), tasks, "of:\n{text}");
        let unread = |it: &&PlanFinding| it.code == PlanFindingCode::UnreadHeader;
        let named = file.findings.iter().find(unread).map(|it| it.line);
        assert_eq!(named, Some(line), "of:\n{text}");
    }
}

#[test]
fn needs_in_every_form() {
    let plan = "## P1: x\n### [ ] T1.1: a\n### [ ] T1.2: b\n### [ ] T1.3: c\n";
    for line in [
        "> **의존성**: T1.1, T1.2",
        "- blocked_by: T1.1, T1.2",
        "depends_on: [T1.1, T1.2]",
        "**Depends**: T1.1; T1.2",
        "- **의존**: T1.1과 T1.2 완료 후",
        "선행 작업: `T1.1`, `T1.2`",
        "**의존성**:\n- T1.1\n- T1.2",
        "**Dependencies**\n- T1.1: x\n- T1.2: y",
        "#### 의존성\n- T1.1\n- T1.2",
        "담당: mia | 의존: T1.1, T1.2",
        "| 항목 | 값 |\n|--|--|\n| 의존성 | T1.1, T1.2 |",
        "    - 의존: T1.1, T1.2",
    ] {
        needs(&format!("{plan}{line}\n"), "T1.1,T1.2");
    }
    let list = "- [ ] T1.1: a\n- [ ] T1.2: b\n";
    for item in [
        "- [ ] T1.3: c ← T1.1, T1.2",
        "- [ ] T1.3: c (의존: T1.1, T1.2)",
        "- [ ] T1.3: c (depends on T1.1, T1.2)",
        "- [ ] T1.3: c — depends on: T1.1, T1.2",
        "- [ ] T1.3: c [의존성: T1.1, T1.2] [담당: mia]",
    ] {
        let text = format!("{list}{item}\n");
        needs(&text, "T1.1,T1.2");
        assert_eq!(parse_plan(&text).tasks[2].title, "c", "{item}");
    }
}

#[test]
fn who_in_every_form() {
    for (text, who) in [
        ("### [ ] T1.1: a\n담당: mia\n", "mia"),
        (
            "### [ ] T1.1: a\n- **Agent:** `backend-specialist`\n",
            "backend-specialist",
        ),
        ("### [ ] T1.1: a\n- **assignee**: @mia (lead)\n", "mia"),
        ("- [ ] T1.1: a — backend-specialist\n", "backend-specialist"),
        ("- [ ] T1.1: a — `mia`\n", "mia"),
        (
            "- [ ] T1.1: a `frontend-specialist`\n",
            "frontend-specialist",
        ),
        ("- [ ] T1.1: a (담당: mia)\n", "mia"),
        (
            "### [ ] T1.1: a\n담당: `backend-specialist` + `test-specialist`\n",
            "backend-specialist + test-specialist",
        ),
    ] {
        let file = parse_plan(text);
        assert_eq!(file.tasks[0].assignee.as_deref(), Some(who), "{text}");
        assert_eq!(file.tasks[0].title, "a", "{text}");
    }
    for title in ["REST — `src/api.ts`", "make `npm test`", "로그인 - 세션"] {
        let file = parse_plan(&format!("- [ ] T1.1: {title}\n"));
        assert_eq!(
            (
                file.tasks[0].assignee.as_deref(),
                file.tasks[0].title.as_str()
            ),
            (None, title)
        );
    }
}

#[test]
fn branches_and_shell_blocks_are_information() {
    let file = parse_plan(
        "## P1: x\n### [ ] T1.1: a\n**브랜치**: `phase-1-x`\n**Git Worktree 설정**:\n```bash\ngit worktree add ../x -b phase-1-x\n### [ ] T9.9: no\n```\n- **의존**: 없음\n",
    );
    assert_eq!(ids(&file), "T1.1");
    assert_eq!(
        (file.tasks[0].worktree.as_deref(), file.findings.len()),
        (None, 0)
    );
}

#[test]
fn a_plan_that_is_too_large_says_where() {
    let text = "### [ ] T1.1: a\n".repeat(700_000);
    let file = parse_plan(&text);
    assert_eq!(file.tasks, []);
    assert_eq!(
        file.findings
            .iter()
            .map(|it| (it.code, it.line))
            .collect::<Vec<_>>(),
        [(PlanFindingCode::TooLarge, 625_000)]
    );
}

#[test]
fn a_sign_before_the_name_of_the_project_is_no_part_of_it() {
    for heading in ["📋 TASKS: Ferry", "TASKS: Ferry", "Ferry"] {
        let file = parse_plan(&format!("# {heading}\n### [ ] T1.1: a\n"));
        assert_eq!(file.project.as_deref(), Some("Ferry"), "{heading}");
    }
}
