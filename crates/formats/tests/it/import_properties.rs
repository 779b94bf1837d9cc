//! Whatever the tasks of other programs are called and say, the plan is read as it was meant.

use crate::import::read_back;
use bowline_formats::import::{BacklogFile, import_backlog, import_beads, spec_kit, task_master};
use proptest::prelude::*;

fn nasty() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        prop::sample::select(vec![
            "T1",
            "T1.1",
            "3",
            "P1",
            "Phase 2",
            "[ ]",
            "[x] ",
            ": ",
            " — ",
            "(",
            ")",
            "depends on ",
            "의존: ",
            "✅",
            "완료",
            "`",
            "**",
            "~~",
            "<!--",
            "-->",
            "|",
            "~",
            "←",
            "@kim",
            "backend-specialist",
            "#",
            "\\",
            "```mermaid",
            "---",
            "> ",
            "없음",
            "a",
            "\u{1b}[1m",
            " ",
        ])
        .prop_map(str::to_owned),
        any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(part, 0..6).prop_map(|parts| parts.concat())
}

fn id() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "1", "2", "2.1", "2.10", "10", "T1", "T1.2", "a-1", "A_b-2", "P1", "P1-T1", "phase-1a",
            "task-3", "task", "bd-abc", "가-1", "x.y", "1-2", "M2", "Stage-4", "T1-", "no-1",
        ])
        .prop_map(str::to_owned),
        "[A-Za-z0-9_.-]{1,12}",
        nasty(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    /// Whatever the issues are called and say: the plan is read as the same graph.
    #[test]
    fn a_plan_of_beads_is_read_as_it_was_meant(
        ids in prop::collection::vec(id(), 1..9),
        titles in prop::collection::vec(nasty(), 9),
        links in prop::collection::vec((0usize..9, 0usize..9, prop::sample::select(vec!["blocks", "parent-child", "related"])), 0..14),
        sort in prop::sample::select(vec!["task", "epic"]),
    ) {
        let mut lines = String::new();
        for (at, id) in ids.iter().enumerate() {
            let links: Vec<_> = links
                .iter()
                .filter(|(from, to, _)| *from == at && *to < ids.len())
                .map(|(_, to, kind)| serde_json::json!({"issue_id": id, "depends_on_id": ids[*to], "type": kind}))
                .collect();
            let status = ["open", "closed", "in_progress"][at % 3];
            let issue = serde_json::json!({
                "id": id, "title": titles[at], "status": status,
                "issue_type": if at == 0 { sort } else { "task" },
                "assignee": titles[8 - at], "description": titles[8 - at], "dependencies": links,
            });
            lines.push_str(&format!("{issue}\n"));
        }
        if let Ok(imported) = import_beads(&lines) {
            read_back(&imported);
        }
    }

    #[test]
    fn a_plan_of_task_master_is_read_as_it_was_meant(
        shape in prop::collection::vec((0u32..6, nasty(), 0u32..4, prop::collection::vec(0u32..7, 0..3)), 1..7),
        tag in nasty(),
    ) {
        let tasks: Vec<_> = shape
            .iter()
            .map(|(id, title, parts, needs)| {
                let parts: Vec<_> = (1..=*parts)
                    .map(|part| serde_json::json!({"id": part, "title": title, "dependencies": needs, "status": "pending"}))
                    .collect();
                serde_json::json!({"id": id, "title": title, "dependencies": needs, "subtasks": parts, "status": "done", "details": title})
            })
            .collect();
        let json = serde_json::json!({ "master": {"tasks": tasks}, tag: {"tasks": tasks} }).to_string();
        if let Ok(imported) = task_master(&json, None) {
            read_back(&imported);
        }
    }

    #[test]
    fn a_plan_of_spec_kit_is_read_as_it_was_meant(
        items in prop::collection::vec((0u32..30, nasty(), any::<bool>(), 0u32..30, 0u32..8), 1..12),
    ) {
        let mut text = String::from("# Tasks: x\n");
        for (number, title, beside, need, phase) in &items {
            if *phase < 4 {
                text.push_str(&format!("## Phase {phase}: {title}\n"));
            }
            let beside = if *beside { "[P] " } else { "" };
            text.push_str(&format!("- [ ] T{number:03} {beside}{} (depends on T{need:03})\n", title.replace('\n', " ")));
        }
        let _ = spec_kit(&text).map(|imported| read_back(&imported));
    }

    #[test]
    fn no_text_makes_a_reader_fall(text in ".{0,200}", nasty in nasty()) {
        let _ = task_master(&text, Some(&nasty));
        let _ = import_beads(&text);
        let _ = spec_kit(&format!("{text}\n{nasty}"));
        let page = BacklogFile { name: nasty.clone(), text: format!("---\n{text}\n---\n{nasty}"), completed: false };
        let _ = import_backlog(&[page], Some(&text));
    }
}
