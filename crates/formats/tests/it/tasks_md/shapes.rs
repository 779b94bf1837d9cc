//! Shapes in which headings, lists and tables of one plan speak of the same ids: which of them is
//! the task.

use super::rows::{ids, needs, says};
use bowline_formats::finding::Severity;
use bowline_formats::tasks_md::{PlanFindingCode, TasksFile, parse_plan, set_tick};

/// The ids of the tasks that are done.
fn done(file: &TasksFile) -> String {
    let done = file.tasks.iter().filter(|task| task.done);
    let ids: Vec<&str> = done.map(|task| task.id.as_str()).collect();
    ids.join(" ")
}

/// The ids a task names as its needs.
fn needed(file: &TasksFile, id: &str) -> String {
    let needs = &file.task(id).unwrap().dependencies;
    let ids: Vec<&str> = needs.iter().map(|id| id.as_str()).collect();
    ids.join(" ")
}

/// Asserts ids, and that nothing forbids to run them.
#[track_caller]
fn tasks(text: &str, expected: &str) {
    let file = parse_plan(text);
    assert_eq!(ids(&file), expected, "of:\n{text}");
    assert_eq!(file.blocking_finding(), None, "of:\n{text}");
}

#[test]
fn an_item_below_an_id_heading_without_an_id_of_the_plan_is_its_check_list() {
    for text in [
        "## Phase 4: 화면\n### P4-S10-V: 검증\n- [ ] E2E: URL → 설명\n- [ ] UTF-8: 인코딩\n### P4-S11-V: 검증\n- [ ] E2E: 목록\n",
        "## P4 — Screens\n#### P4-S10-V: Verification\n- **Status**: pending\n- [ ] E2E: open the page\n  - [ ] WCAG2: contrast\n#### P4-S11-V: Verification\n1. [x] E2E: open the list\n",
        "### P4-S10-V: Check\n\n- [ ] AC1-1: the page opens\n- [ ] AC1-2: it closes\n\n### P4-S11-V: Check\n\n- [x] AC2-1: list\n",
        "## Phase 4\n### P4-S10-V Check\n- [ ] TC-1: a\n- [ ] TC-2: b\n### P4-S11-V Check\n- [ ] TC-1: c\n- [ ] TC-2: d\n",
        "## Phase 4\n### P4-S10-V: a\n- [ ] 404: not found page\n- [ ] 500: error page\n### P4-S11-V: b\n",
    ] {
        tasks(text, "P4-S10-V P4-S11-V");
    }
    // Of the plan's own form it is a task, and the heading a group.
    for text in [
        "## P4: x\n### P4-S1: a\n- [ ] P4-S1-T1: b\n- [ ] E2E: c\n### P4-S2: d\n- [ ] P4-S2-T1: e\n",
        "## P4: x\n### P4-S1: a\n- [ ] **P4-S1-T1** b\n### P4-S2: d\n1. [ ] `P4-S2-T1`: e\n",
    ] {
        tasks(text, "P4-S1-T1 P4-S2-T1");
    }
}

#[test]
fn siblings_of_one_level_are_tasks_and_a_group_holds_deeper_headings() {
    for text in [
        "## Phase 1: 기반\n### P1-S0: 레이아웃 컴포넌트\n- 담당: mia\n### P1-S0-V: 레이아웃 점검\n- 의존: P1-S0\n",
        "## P1 — Base\n#### P1-S0: Layout component\n- header\n- footer\n#### P1-S0-V: Check the layout\n",
        "### P1-S0: Layout component\n### P1-S0-V: Check the layout\n",
        "## P1: x\n### P1-S0: Layout\n**상태**: 완료\n### P1-S0-V: Check\n**상태**: 대기\n",
    ] {
        tasks(text, "P1-S0 P1-S0-V");
    }
    // With fields of its own a heading is work, also where others continue it with a number.
    tasks(
        "## P2: x\n### P2-R1: Orders\n- assignee: joe\n- depends on: none\n### P2-R1-T1: Refunds\n- depends on: P2-R1\n",
        "P2-R1 P2-R1-T1",
    );
    // Deeper ones are its tasks.
    tasks(
        "## P1: x\n### P1-S0: Layout\n설명\n#### P1-S0-T1: 컴포넌트\n#### P1-S0-V: 점검\n",
        "P1-S0-T1 P1-S0-V",
    );
}

#[test]
fn a_status_or_fields_of_its_own_make_a_longer_id_a_task() {
    for text in [
        "## Phase 1\n### TASK-1.6: Cart\nStatus: done\n### TASK-1.6.1: Cart badge\nStatus: todo\n",
        "## Phase 1\n#### TASK-1.6: 장바구니\n- **상태**: 완료\n#### TASK-1.6.1: 배지\n- **상태**: 대기\n- **의존성**: TASK-1.6\n",
        "## Phase 1\n### TASK-1.6: Cart\n| Field | Value |\n|--|--|\n| Status | Done |\n### TASK-1.6.1: Badge\n| Field | Value |\n|--|--|\n| Status | Todo |\n",
    ] {
        tasks(text, "TASK-1.6 TASK-1.6.1");
        assert_eq!(done(&parse_plan(text)), "TASK-1.6", "of:\n{text}");
    }
    needs(
        "## P1: x\n### T1.6: a\n담당: mia\n### T1.6.1: b\n의존: T1.6\n",
        "T1.6",
    );
    // Without any it stays a step.
    tasks(
        "### T1.2: a\n- 담당: mia\n### T1.2.1: b\ntext\n### T1.2.2: c\n",
        "T1.2",
    );
}

#[test]
fn a_heading_that_is_a_task_wins_over_a_list_that_mentions_it() {
    for text in [
        "## Phase 0\n### ✅ Phase 0, T0.1: Schema\n- 담당: mia\n### Phase 0, T0.2: Seed data\n## 다음 단계\n1. [ ] **T0.1 완료**: 마이그레이션 실행\n2. [ ] **T0.2 시작**: 데이터\n",
        "## Phase 0\n### ✅ T0.1: Schema\n### ⬜ T0.2: Seed data\n## Next\n1. [ ] **T0.1 done**: run the migration\n- [x] T0.2: begin soon\n",
        "## Phase 0\n#### T0.1: Schema ✅\n#### T0.2: Seed data\n## Next steps\n- [ ] T0.1 is merged\n",
        "## Phase 0\n### T0.1: Schema\n- **Status**: Done\n### T0.2: Seed data\n- **Status**: Todo\n## Next steps\n- [ ] **T0.1**: run the migration again\n",
    ] {
        let file = parse_plan(text);
        assert_eq!(ids(&file), "T0.1 T0.2", "of:\n{text}");
        assert_eq!(done(&file), "T0.1", "of:\n{text}");
        let titles: Vec<&str> = file.tasks.iter().map(|it| it.title.as_str()).collect();
        assert_eq!(titles, ["Schema", "Seed data"], "of:\n{text}");
        assert_eq!(file.blocking_finding(), None, "of:\n{text}");
    }
    // Where only the list says how far it is, its boxes count, and are ticked.
    let text = "## P1: x\n### T1.1: Login\ntext\n### T1.2: Logout\ntext\n## 진행 체크리스트\n- [x] T1.1: Login\n- [ ] T1.2 Logout\n";
    says(
        text,
        &["phase 1 \"x\" x", "[x] 1/T1.1 Login", "[ ] 1/T1.2 Logout"],
    );
    assert_eq!(
        set_tick(text, "T1.2", true).unwrap(),
        text.replace("[ ] T1.2", "[x] T1.2")
    );
    let text = "## 체크리스트\n- [x] T1.1: Login\n- [ ] T1.2: Logout\n## P1: x\n### T1.1: Login\n### T1.2: Logout\n";
    says(
        text,
        &["phase 1 \"x\" x", "[x] 1/T1.1 Login", "[ ] 1/T1.2 Logout"],
    );
}

#[test]
fn a_letter_in_brackets_is_a_tag_and_the_status_field_the_box() {
    let text = "## Phase 0\n### 0.1 Base\n#### [S] Task 0.1.1: Repository\n- **상태:** [x] DONE\n- **담당:** mia\n#### [P] Task 0.1.2: CI\n- **상태:** [ ] TODO\n- **의존성:** Task 0.1.1\n";
    says(
        text,
        &[
            "phase 0 \"\"",
            "[x] 0/0.1.1 Repository @mia",
            "[ ] 0/0.1.2 CI <0.1.1",
        ],
    );
    assert_eq!(
        set_tick(text, "0.1.2", true).unwrap(),
        text.replace("[ ] TODO", "[x] DONE")
    );
    assert_eq!(
        set_tick(text, "0.1.1", false).unwrap(),
        text.replace("[x] DONE", "[ ] TODO")
    );
    for text in [
        "## Phase 1: x\n### [M] T1.1: a\n- Status: [x]\n### [L] T1.2: b\n- Status: [ ]\n",
        "## Phase 1: x\n### (S) T1.1 — a\n**상태**: ✅ 완료\n### (B) T1.2 — b\n**상태**: ⏳ 대기\n",
        "## Phase 1: x\n- [S] T1.1: a\n  - status: done\n- [P] T1.2: b\n  - status: todo\n",
        "## Phase 1: x\n### [S] [BE] T1.1: a\n> 상태: [x] 완료\n### [P] [FE] T1.2: b\n> 상태: [ ] 대기\n",
    ] {
        tasks(text, "T1.1 T1.2");
        assert_eq!(done(&parse_plan(text)), "T1.1", "of:\n{text}");
    }
}

#[test]
fn rows_with_ids_below_a_numbered_heading_are_the_tasks() {
    for text in [
        "## Phase 1: Base\n### 1.1 Init (INFRA) [x]\n\n| # | Task | Status |\n|--|--|--|\n| 1.1.1 | Repository | [x] |\n| 1.1.2 | CI | [x] |\n\n### 1.2 Auth [ ]\n\n| # | Task | Status |\n|--|--|--|\n| 1.2.1 | Sign in | [ ] |\n",
        "## 1단계\n### 1.1 준비 ✅\n\n| 번호 | 작업 | 상태 |\n|--|--|--|\n| 1.1.1 | 저장소 | ✅ |\n| 1.1.2 | CI | 완료 |\n\n### 1.2 인증\n\n| 번호 | 작업 | 상태 |\n|--|--|--|\n| 1.2.1 | 로그인 | 대기 |\n",
        "# Plan\n## 1. Base\n### 1.1 Init [x]\n\n| ID | What |\n|--|--|\n| 1.1.1 | Repository |\n| 1.1.2 | CI |\n\n### 1.2 Auth [ ]\n\n| ID | What |\n|--|--|\n| 1.2.1 | Sign in |\n",
        "## Phase 1: Base\n### [x] 1.1 Init\n\n| Task | Status |\n|--|--|\n| **1.1.1** Repository | Done |\n| 1.1.2 CI | Done |\n\n### [ ] 1.2 Auth\n\n| Task | Status |\n|--|--|\n| 1.2.1 Sign in | Todo |\n",
    ] {
        tasks(text, "1.1.1 1.1.2 1.2.1");
        let file = parse_plan(text);
        assert_eq!(done(&file), "1.1.1 1.1.2", "of:\n{text}");
        assert!(
            file.tasks
                .iter()
                .all(|task| task.phase == 1 && !task.title.is_empty()),
            "of:\n{text}"
        );
        let groups: Vec<&str> = file.groups.iter().map(|it| it.id.as_str()).collect();
        assert_eq!(groups, ["1.1", "1.2"], "of:\n{text}");
    }
    // Versions and sizes in a table are none.
    tasks(
        "## P1: x\n### [ ] T1.1: a\n\n| Package | Version |\n|--|--|\n| 1.2.3 | x |\n\n| 3.5 | GB |\n|--|--|\n| 4.5 | GB |\n",
        "T1.1",
    );
}

#[test]
fn a_bare_number_is_an_id_only_among_its_like() {
    for text in [
        "## P1: x\n### T1.1: a\n- [ ] 404 page\n- [x] 2026 UI CSS is complete\n### T1.2: b\n- [ ] 429 Too Many Requests\n",
        "## P1: x\n### T1.1: a\n### T1.2: b\n## Check list\n- [ ] 404 페이지\n- [x] 2026 디자인 완료\n- [ ] 100 % coverage\n- [ ] 3.5 GB\n",
        "## P1: x\n| ID | 작업 | 상태 |\n|--|--|--|\n| T1.1 | a | 대기 |\n| T1.2 | b | 대기 |\n\n## 점검\n- [ ] 404 페이지\n- [ ] 500: 오류\n",
        "## P1: x\n- [ ] T1.1: a\n- [ ] T1.2: b\n- [ ] 404 page\n- [ ] 500: page\n",
    ] {
        tasks(text, "T1.1 T1.2");
    }
    // Nothing but such lists is a plan without tasks, and says so.
    for text in [
        "# x\n- [ ] 404 page\n- [x] 2026 UI CSS\n- [ ] 429 Too Many Requests\n",
        "# x\n## a\n- [ ] 404: page\n- [ ] buy milk\n",
    ] {
        let file = parse_plan(text);
        assert_eq!(ids(&file), "", "of:\n{text}");
        assert_eq!(
            file.blocking_finding().map(|it| it.code),
            Some(PlanFindingCode::ParseFail)
        );
    }
    tasks(
        "# x\n## Phase 1: a\n- [ ] 1. first\n- [x] 2. second\n- [ ] 404 page\n",
        "1 2",
    );
    tasks(
        "## Phase 1: a\n- [ ] 1.1 first\n- [x] 1.2 second\n",
        "1.1 1.2",
    );
    tasks(
        "## 1. Setup\n- [ ] 1.1 first\n## 2. Api\n- [ ] 2.1 second\n",
        "1.1 2.1",
    );
}

#[test]
fn fields_belong_to_the_heading_they_stand_under() {
    for text in [
        "## Phase 9: x\n### [ ] T9.0: z\n### [ ] T9.1: Mail\n- **의존성**: T9.0\n#### T9.1.1: Fetch\n- **담당**: joe\n- **상태**: 완료\n#### T9.1.2: Sync\n**의존성**: T9.1.1\n### [ ] T9.2: a\n- 의존: T9.1.2\n",
        "## Phase 9: x\n## [ ] T9.0: z\n## [ ] T9.1: Mail\n- Depends on: T9.0\n### T9.1.1: Fetch\n- Depends on: T9.1.0\n### Notes\n- Depends on: nothing\n### T9.1.2 Sync\n> Depends on: T9.1.1, T7.7\n## [ ] T9.2: a\n- Depends on: T9.1\n",
    ] {
        says(
            text,
            &[
                "phase 9 \"x\" x",
                "[ ] 9/T9.0 z",
                "[ ] 9/T9.1 Mail <T9.0",
                "[ ] 9/T9.2 a <T9.1",
                "Warning PHASE_GAP",
            ],
        );
    }
    // A list of steps has fields of its own, too.
    needs(
        "## P1: x\n### [ ] T1.0: z\n### [ ] T1.1: a\n- 의존: T1.0\n- T1.1.1: b\n- T1.1.2: c\n  - 의존: T1.1.1\n",
        "T1.0",
    );
}

#[test]
fn a_wildcard_stands_for_all_ids_that_begin_so() {
    let plan = "## A: x\n- A3-1. a\n- A3-2. b\n- A30-1. c\n";
    for end in [
        "← A3.*",
        "← A3-*",
        "← `A3.*`",
        "(의존: A3.*)",
        "(depends on: A3-*)",
        "← A3.x",
    ] {
        needs(&format!("{plan}- A4-1. d {end}\n"), "A3-1,A3-2");
    }
    needs(&format!("{plan}- **A4-1.** d ← A3.*\n"), "A3-1,A3-2");
    let plan = "## P1: x\n### [ ] T1.1: a\n### [ ] T1.2: b\n## P2: y\n### [ ] T2.1: c\n";
    for value in ["T1.*", "T1.x", "T1-*", "`T1.*`", "T1.* 전체"] {
        needs(&format!("{plan}- **의존성**: {value}\n"), "T1.1,T1.2");
    }
}

#[test]
fn an_error_about_a_task_that_is_done_is_a_warning() {
    for (text, code) in [
        (
            "### [x] T1.1: a\n- 의존: T0.9\n### [ ] T1.2: b\n",
            PlanFindingCode::MissingDep,
        ),
        (
            "## P1: x\n### [x] P1-T1.1: a\n## P2: y\n### [x] P2-T1.1: b\n## P3: z\n### [x] P3-T9: c\n의존: T1.1\n",
            PlanFindingCode::AmbiguousDep,
        ),
        (
            "## P1: x\n### [x] T1.1: a\n의존: T2.1\n## P2: y\n### [ ] T2.1: b\n",
            PlanFindingCode::LaterPhaseDep,
        ),
        (
            "## P1: x\n### [ ] T1.1: a\n의존: T2.1\n## P2: y\n### [x] T2.1: b\n",
            PlanFindingCode::LaterPhaseDep,
        ),
        (
            "### [x] T1.1: a\n의존: T1.2\n### [ ] T1.2: b\n의존: T1.1\n",
            PlanFindingCode::CircularDep,
        ),
        (
            "### [x] T1.1: Login\n### [x] T1.1: Logout\n",
            PlanFindingCode::DuplicateId,
        ),
        (
            "### [x] Phase 2, T1.1: Login\n### [ ] T1.2: b\n",
            PlanFindingCode::WrongPhase,
        ),
        (
            "### T1.1: a\n- 상태: 완료\n- 의존: T0.9\n### T1.2: b\n- 상태: 대기\n",
            PlanFindingCode::MissingDep,
        ),
    ] {
        let file = parse_plan(text);
        assert_eq!(file.blocking_finding(), None, "of:\n{text}");
        let told = file.findings.iter().find(|it| it.code == code);
        assert_eq!(
            told.map(|it| it.severity),
            Some(Severity::Warning),
            "of:\n{text}"
        );
    }
    for text in [
        "### [ ] T1.1: a\n- 의존: T0.9\n",
        "### [ ] T1.1: a\n의존: T1.2\n### [ ] T1.2: b\n의존: T1.1\n",
        "### [x] T1.1: Login\n### [ ] T1.1: Logout\n",
    ] {
        assert!(parse_plan(text).blocking_finding().is_some(), "of:\n{text}");
    }
}

#[test]
fn prose_makes_no_errors() {
    for text in [
        // Headings of notes.
        "## P5: x\n### T5: a\n### T6: b\n### T5 / T6 notes\n- text\n",
        "## P5: x\n### T5: a\n### T6: b\n### T5, T6 메모\n- text\n### T5 참고\n- x\n",
        "## P5: x\n### [ ] T5: a\n### [ ] T6: b\n### T5 / T6 notes\n- 의존: T99\n",
        // Code spans.
        "## P5: x\n### [ ] T5: a\n- `blocked_by: P1-T1.2` → 상태가 바뀐다\n### [ ] T6: b\n- `depends_on: T9.9` is what the file says\n",
        "## P5: x\n### [ ] T5: a\n### [ ] T6: print `depends_on: T9.9` (`blocked_by: T9.8` too)\n",
    ] {
        tasks(text, "T5 T6");
        assert!(
            parse_plan(text)
                .tasks
                .iter()
                .all(|it| it.dependencies.is_empty()),
            "of:\n{text}"
        );
    }
    // A prefix stands for its parts.
    let plan = "## P0: x\n### [ ] T0.5.1: a\n### [ ] T0.5.2: b\n";
    for value in ["T0.5", "T0.5 완료", "T0.5 (전체)", "T0.5.1, T0.5"] {
        needs(
            &format!("{plan}### [ ] T0.6: c\n- 의존성: {value}\n"),
            "T0.5.1,T0.5.2",
        );
    }
    needs(
        &format!("{plan}### [ ] T0.6: c\n`depends_on`: T0.5.1\n"),
        "T0.5.1",
    );
    needs(
        &format!("{plan}### [ ] T0.6: c\n`의존: T0.5.1`\n"),
        "T0.5.1",
    );
}

#[test]
fn a_worktree_in_every_task_of_a_phase_is_that_of_the_phase() {
    let text = "## Phase 1: 결제\n### [ ] T1.1: a\n- **Worktree**: `worktree/phase-1-pay`\n### [ ] T1.2: b\n- **Worktree**: `worktree/phase-1-pay`\n## Phase 2: y\n### [ ] T2.1: c\n- Worktree: worktree/one\n### [ ] T2.2: d\n- Worktree: worktree/two\n## Phase 3: z\n### [ ] T3.1: e\n- Worktree: worktree/phase-3\n### [ ] T3.2: f\n";
    let file = parse_plan(text);
    let trees: Vec<Option<&str>> = file
        .phases
        .iter()
        .map(|it| it.worktree.as_deref())
        .collect();
    assert_eq!(trees, [Some("worktree/phase-1-pay"), None, None]);
}

#[test]
fn the_name_of_a_project_is_its_title_without_the_word_for_a_plan() {
    for (heading, expected) in [
        ("TASKS.md - Ferry", Some("Ferry")),
        ("Tasks.md — 페리 예약", Some("페리 예약")),
        ("TASKS - Ferry", Some("Ferry")),
        ("TASKS | Ferry", Some("Ferry")),
        ("Ferry TASKS", Some("Ferry")),
        ("Ferry - TASKS.md", Some("Ferry")),
        ("Ferry: Tasks", Some("Ferry")),
        ("06-tasks.md: Ferry", Some("Ferry")),
        ("06-tasks.md", None),
        ("Ferry (TASKS.md)", Some("Ferry")),
        ("TASKS (Ferry)", Some("Ferry")),
        ("`TASKS.md`", None),
        ("Tasks", None),
        ("📋 Tasks.md", None),
        ("Ferry Taskboard", Some("Ferry Taskboard")),
        ("Multitasks", Some("Multitasks")),
    ] {
        let file = parse_plan(&format!("# {heading}\n### [ ] T1.1: a\n"));
        assert_eq!(file.project.as_deref(), expected, "{heading}");
    }
}

#[test]
fn letters_ranges_stories_series_and_quotes() {
    // Where headings have letters in brackets, `X` is one of them.
    let text = "## P0 — x\n#### [X] OR-1: a\n- **Status:** [ ] TODO\n#### [B] OR-2: b\n- **Status:** [x] DONE\n- **Depends on:** OR-1\n";
    tasks(text, "OR-1 OR-2");
    assert_eq!(done(&parse_plan(text)), "OR-2");
    // A range of numbers, and a diagram whose labels only count.
    let text = "```mermaid\ngraph LR\nS1[1 Base] --> S2[2 Pay]\n```\n## Phase 1: x\n### 1.1 a\n\n| ID | Task | Depends on | Done |\n|--|--|--|--|\n| 1.1.1 | a | - | [x] |\n| 1.1.2 | b | - | [ ] |\n| 1.1.3 | c | - | [ ] |\n| 1.1.4 | d | 1.1.1 – 1.1.3 | [ ] |\n";
    needs(text, "1.1.1,1.1.2,1.1.3");
    // Stories in tables below epics.
    let text = "## Sprint 1\n### EPIC-1: Find\n\n| Story | Title | Blocked by | State |\n|--|--|--|--|\n| US-1 | a | — | ✔ |\n| US-2 | b | US-1 | in review |\n\n### EPIC-2: Pay\n\n| Story | Title | Blocked by | State |\n|--|--|--|--|\n| US-3 | c | EPIC-1 | todo |\n";
    needs(text, "US-1,US-2");
    tasks(text, "US-1 US-2 US-3");
    // A series without boxes in a plan that has nothing else.
    needs(
        "## B0 환경\n- B0.1. a ✅\n- B0.2. b\n## B1 모델\n- B1.1. c ← B0.*\n",
        "B0.1,B0.2",
    );
    // An example in a quote is no second task.
    tasks(
        "## P0: x\n- [x] P0-T1: a\n- [ ] P0-T2: b\n## 용어\n> - [ ] P0-T1: 처럼 적는다\n",
        "P0-T1 P0-T2",
    );
}

#[test]
fn items_and_deeper_headings_that_continue_a_heading_by_a_dot_are_tasks_and_it_is_their_group() {
    let file = parse_plan(
        "### T1: Input\n- T1.1: Reader\n- T1.2: Encoding ← T1.1\n### T2: Output\n- T2.1: Writer ← T1.*\n",
    );
    assert_eq!(ids(&file), "T1.1 T1.2 T2.1");
    assert_eq!(needed(&file, "T2.1"), "T1.1 T1.2");
    assert_eq!(file.blocking_finding(), None);
    for text in [
        "## A1: Input\n- A1.1. Reader\n- A1.2. Encoding ← A1.1\n",
        "## A1: Input\n### A1.1 Reader\n### A1.2 Encoding\n- depends on: A1.1\n",
    ] {
        let file = parse_plan(text);
        assert_eq!(ids(&file), "A1.1 A1.2", "of:\n{text}");
        assert_eq!(needed(&file, "A1.2"), "A1.1", "of:\n{text}");
        assert_eq!(file.blocking_finding(), None, "of:\n{text}");
    }
    tasks("## A1: Input\n- A1.1. Reader\n", "A1.1");
    // A box or fields of its own make the heading a task, and they are its steps.
    tasks(
        "### [ ] T1: Input\n- T1.1: Reader\n- T1.2: Encoding\n### [ ] T2: Output\n",
        "T1 T2",
    );
    tasks(
        "### T1: Input\n- 담당: mia\n- T1.1: Reader\n### T2: Output\n- 담당: joe\n",
        "T1 T2",
    );
}

#[test]
fn a_word_for_done_that_the_next_word_takes_back_is_open() {
    for said in [
        "완료 예정",
        "**완료 대기**",
        "완료 전",
        "완료 필요",
        "완료 (3/5)",
        "완료(80%)",
        "✅ 완료 예정",
        "Done soon",
        "done: no",
        "Done when the tests pass",
        "not done",
    ] {
        let text = format!("### T1.1: a\n- **상태**: {said}\n");
        assert_eq!(done(&parse_plan(&text)), "", "of:\n{text}");
        if said.starts_with(['완', 'D']) {
            let ticked = set_tick(&text, "T1.1", true).unwrap();
            assert_eq!(done(&parse_plan(&ticked)), "T1.1", "of:\n{ticked}");
        }
    }
    for said in [
        "완료 (2026-01-02)",
        "완료됨",
        "done ✅",
        "✅ 완료 (PR #12)",
        "완료 (5/5)",
        "Done (100%)",
        "Done, not deployed by hand",
        "Done (no review needed)",
        "완료 - 전 화면",
        "✅ 완료 (1/10)",
    ] {
        let text = format!("### T1.1: a\n- **상태**: {said}\n");
        assert_eq!(done(&parse_plan(&text)), "T1.1", "of:\n{text}");
    }
    assert_eq!(
        done(&parse_plan("## Phase 1\n- T1.1: a - 완료 (3/5)\n")),
        ""
    );
}

#[test]
fn needs_in_words_behind_a_title_are_read() {
    for text in [
        "### [ ] T1.1: a\n### [ ] T1.2: b — needs T1.1\n",
        "- [ ] T1.1: a\n- [ ] T1.2: b (needs T1.1)\n",
        "## Phase 1\n1. **T1.1** a\n2. **T1.2** b — needs `T1.1`\n",
        "### [ ] T1.1: a\n### [ ] T1.2: b\n- needs T1.1\n",
    ] {
        let file = parse_plan(text);
        assert_eq!(needed(&file, "T1.2"), "T1.1", "of:\n{text}");
        assert_eq!(file.task("T1.2").unwrap().title, "b", "of:\n{text}");
    }
    let file = parse_plan("- [ ] T1.1: a\n- [ ] T1.2: b — needs nothing\n");
    assert_eq!(needed(&file, "T1.2"), "");
    assert_eq!(file.task("T1.2").unwrap().title, "b — needs nothing");
}

#[test]
fn struck_out_ids_are_passed_over_and_struck_out_tasks_are_told() {
    let file = parse_plan(
        "### [x] ~~T1.2~~ T1.3: Thumbs\n### [ ] ~~T1.4: Dropped~~\n- 의존: T1.3\n### [x] ~~T1.5: Over~~\n",
    );
    assert_eq!(ids(&file), "T1.3 T1.5");
    assert_eq!(done(&file), "T1.3 T1.5");
    assert_eq!(file.blocking_finding(), None);
    let told: Vec<_> = file.findings.iter().map(|it| (it.line, it.code)).collect();
    assert_eq!(told, [(2, PlanFindingCode::UnreadHeader)]);
}

#[test]
fn a_bold_item_that_holds_items_is_a_phase_where_no_heading_is() {
    let file = parse_plan(
        "# x\n- **Phase 1: Radio**\n  - [ ] T1.1: a\n- **Phase 2: Power**\n  - [ ] T2.1: b\n",
    );
    let phases: Vec<_> = file
        .phases
        .iter()
        .map(|it| (it.number, &*it.title))
        .collect();
    assert_eq!(phases, [(1, "Radio"), (2, "Power")]);
    assert_eq!(ids(&file), "T1.1 T2.1");
    // A list of phases without their tasks is only an overview.
    let file = parse_plan("- **Phase 1: Radio**\n- **Phase 2: Power**\n\n- [ ] T1.1: a\n");
    assert!(file.phases.is_empty());
}

#[test]
fn titles_are_without_sizes_roles_and_marks_of_cells() {
    let file = parse_plan(
        "# TASKS: 참소리 (동네 소음 신고 앱)\n- [ ] T1.1 (M): a — backend\n- [ ] T1.2: b — DevOps + qa\n\
         - [ ] T1.3: Draw the line (qa)\n- [ ] T1.4 (later): c\n",
    );
    assert_eq!(file.project.as_deref(), Some("참소리 (동네 소음 신고 앱)"));
    let read: Vec<_> = file
        .tasks
        .iter()
        .map(|it| (&*it.title, it.assignee.as_deref()))
        .collect();
    assert_eq!(
        read,
        [
            ("a", Some("backend")),
            ("b", Some("DevOps + qa")),
            ("Draw the line (qa)", None),
            ("(later): c", None),
        ]
    );
    let file = parse_plan("| ID | 제목 | 의존 |\n|---|---|---|\n| T1.1 | a \\| b | - |\n");
    assert_eq!(file.tasks[0].title, "a | b");
    let named = |text: &str| parse_plan(text).project;
    assert_eq!(named("# TASKS (Ferry)\n").as_deref(), Some("Ferry"));
    assert_eq!(
        named("# Ferry (v2) - TASKS\n").as_deref(),
        Some("Ferry (v2)")
    );
}
