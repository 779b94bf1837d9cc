//! Setting tick boxes.

use bowline_formats::tasks_md::{TickError, parse_plan, set_tick, set_ticks};

const TEXT: &str = "\u{feff}## Phase 1: 항구\r\n- T1.3: 배\r\n### [ ] T1.1: 등대  \r\n- [X] T1.2: 부두\r\n\r\n[\t] T1.4: 닻";

#[test]
fn one_byte_changes() {
    assert_eq!(
        set_tick(TEXT, "T1.1", true).unwrap(),
        TEXT.replace("[ ] T1.1", "[x] T1.1")
    );
    assert_eq!(
        set_tick(TEXT, "T1.2", false).unwrap(),
        TEXT.replace("[X] T1.2", "[ ] T1.2")
    );
    assert_eq!(
        set_tick(TEXT, "T1.4", true).unwrap(),
        TEXT.replace("[\t] T1.4", "[x] T1.4")
    );
}

#[test]
fn a_box_that_says_so_already_stays() {
    assert_eq!(set_tick(TEXT, "T1.2", true).unwrap(), TEXT);
    assert_eq!(set_tick(TEXT, "T1.4", false).unwrap(), TEXT);
}

#[test]
fn several_at_once() {
    let changed = set_ticks(TEXT, [("T1.4", true), ("T1.1", true), ("T1.2", false)]).unwrap();
    let done: Vec<bool> = parse_plan(&changed)
        .tasks
        .iter()
        .map(|task| task.done)
        .collect();
    assert_eq!(done, [false, true, false, true]);
    // The last word on a task counts.
    assert_eq!(
        set_ticks(TEXT, [("T1.1", true), ("T1.1", false)]).unwrap(),
        TEXT
    );
}

#[test]
fn unknown_tasks_and_missing_boxes_are_errors() {
    let unknown = set_tick(TEXT, "T9.9", true).unwrap_err();
    assert_eq!(
        (unknown.to_string().as_str(), unknown.code()),
        ("no task `T9.9`", "unknown_task")
    );
    let boxless = set_tick(TEXT, "T1.3", true).unwrap_err();
    assert_eq!(
        boxless,
        TickError::NoTickBox {
            id: "T1.3".to_owned(),
            line: 2
        }
    );
    assert_eq!(boxless.code(), "no_tick_box");
}

#[test]
fn pictures_go_with_their_word() {
    let plan = "## Phase 1: a\n### T1.1: a\n- 상태: ❌ 미완료\n### T1.2: b\n- Status: COMPLETE ✅\n### T1.3: c\n- **상태**: 🟢 **완료** (1/2)\n### T1.4: d\n- Status: WIP\n";
    for (id, done, old, new) in [
        ("T1.1", true, "❌ 미완료", "완료"),
        ("T1.2", false, "COMPLETE ✅", "PENDING"),
        ("T1.4", true, "WIP", "COMPLETE"),
        ("T1.3", false, "**완료**", "**대기**"),
    ] {
        let changed = set_tick(plan, id, done).unwrap();
        assert_eq!(changed, plan.replace(old, new), "{id}");
        assert_eq!(parse_plan(&changed).task(id).unwrap().done, done, "{id}");
    }
    let boxed = "### [x] T1.4: d — 완료 2026-01-04\n";
    assert_eq!(
        set_tick(boxed, "T1.4", false).unwrap(),
        "### [ ] T1.4: d — 대기 2026-01-04\n"
    );
}
