//! The resume card: always where the work stands, within its bound.

use crate::calls;
use bowline_gate::hook::{CARD_WORDS_MAX, render_card};
use bowline_gate::lang::Lang;
use bowline_gate::run_trust::RunTrust;
use bowline_machines::Timestamp;
use bowline_machines::develop::{
    CheckpointStatus, DevelopCheckpoint, DevelopPhase, DevelopRunState, Gate,
    ImplementationStrategy, OpenGates,
};
use std::fs;
use std::path::Path;

fn trust_in(run: DevelopRunState) -> RunTrust {
    let path = "/nonexistent/app/.develop-workflow/state.json";
    calls::trust_in(path.into(), run, true)
}

fn checkpoint(id: &str, status: CheckpointStatus, iteration: u32) -> DevelopCheckpoint {
    DevelopCheckpoint {
        id: id.into(),
        status,
        iteration,
    }
}

#[test]
fn a_run_in_the_middle_of_its_implementation() {
    let run = DevelopRunState {
        phase: DevelopPhase::Implement,
        strategy: Some(ImplementationStrategy::Subagent),
        gates: OpenGates::from_predicate(|gate| gate == Gate::ReviewCleanPass),
        checkpoints: vec![
            checkpoint("cp-1", CheckpointStatus::Passed, 2),
            checkpoint("cp-2", CheckpointStatus::InProgress, 1),
            checkpoint("cp-3", CheckpointStatus::Pending, 0),
        ],
        ..DevelopRunState::new("실시간 채팅 기능", Timestamp(1_771_236_000))
    };
    let card = render_card(&trust_in(run), Path::new("/nonexistent/app"), Lang::En).unwrap();
    assert_eq!(
        card,
        "\
Where the work stands, by bowline's state files (trust this over what you remember):
Develop run '실시간 채팅 기능', phase IMPLEMENT.
Started 2026-02-16T10:00:00, last changed 2026-02-16T10:00:00 (local time), strategy subagent.
Gates: review_clean_pass=true, architect_verified=false, re_review_clean=false
Checkpoints: cp-1 passed, cp-2 in_progress (iter 1/3), cp-3 pending
Go on with checkpoint cp-2 at attempt 1 of 3: read its code and tests again, then run them.
Next: bowline develop checkpoint pass cp-2"
    );
}

#[test]
fn the_card_keeps_its_bound_and_its_next_command_whatever_is_in_the_file() {
    let long = "word ".repeat(5_000);
    for phase in DevelopPhase::ALL {
        for bits in 0..8_usize {
            for count in [0, 3, 400] {
                let checkpoints = (0..count)
                    .map(|number| {
                        let name = format!("checkpoint {number} {}", &long[..40]);
                        checkpoint(&name, CheckpointStatus::InProgress, 2)
                    })
                    .collect();
                let run = DevelopRunState {
                    phase,
                    gates: OpenGates::from_predicate(|gate| bits & (1 << gate as usize) != 0),
                    checkpoints,
                    ..DevelopRunState::new(long.clone(), Timestamp(0))
                };
                let mut believed = trust_in(run);
                if let RunTrust::Run(believed) = &mut believed {
                    believed.distrusted = vec![long.clone(); 50];
                }
                let korean = render_card(&believed, Path::new("/nonexistent"), Lang::Ko).unwrap();
                assert!(korean.split_whitespace().count() <= CARD_WORDS_MAX);
                assert!(korean.contains("\n다음: bowline develop "), "{korean}");
                let card = render_card(&believed, Path::new("/nonexistent"), Lang::En).unwrap();
                let words = card.split_whitespace().count();
                assert!(words <= CARD_WORDS_MAX, "{words} words:\n{card}");
                assert!(card.contains("\nNext: bowline develop "), "{card}");
                assert!(!card.contains("FEATURE"), "{card}");
                assert!(card.contains(phase.name()), "{card}");
            }
        }
    }
}

#[test]
fn the_other_files_have_a_line_each() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    assert_eq!(render_card(&RunTrust::Nothing, root, Lang::En), None);
    fs::create_dir_all(root.join(".claude/memory")).unwrap();
    let files = [
        (
            "thinking_state.json",
            r#"{"task_id":"essay-1","current_stage":"creation","overall_status":"in_progress"}"#,
        ),
        (
            ".claude/memory/task-state.json",
            r#"{"current_task":{"name":"ferry","status":"in_progress","current_step":2}}"#,
        ),
        (
            ".claude/orchestrate-state.json",
            r#"{"project":"ferry","tasks":{"completed":["T0.1"],"in_progress":[],"ready":["T1.1","T1.2"],"failed":[]}}"#,
        ),
    ];
    for (name, text) in files {
        fs::write(root.join(name), text).unwrap();
    }
    assert_eq!(
        render_card(&RunTrust::Nothing, root, Lang::En).unwrap(),
        "\
Where the work stands, by bowline's state files (trust this over what you remember):
Also here: thinking (thinking_state.json): 'essay-1', stage creation, in_progress. See `bowline status thinking`.
Also here: memory (.claude/memory/task-state.json): 'ferry', in_progress, step 2. See `bowline status memory`.
Also here: orchestrate (.claude/orchestrate-state.json): 'ferry', 1 done, 0 running, 2 ready, 0 failed. See `bowline status orchestrate`."
    );
    fs::write(root.join("thinking_state.json"), "{ torn").unwrap();
    assert!(
        render_card(&RunTrust::Nothing, root, Lang::En)
            .unwrap()
            .contains("cannot be read here")
    );
}

#[test]
fn damage_and_a_missing_file_come_with_the_repair() {
    let path = Path::new("/nonexistent/app/.develop-workflow/state.json");
    let trusts = [
        RunTrust::Missing {
            path: path.to_owned(),
            last: Some(Box::new(DevelopRunState::new("ferry", Timestamp(0)))),
        },
        RunTrust::Damaged {
            path: path.to_owned(),
            reason: "torn".into(),
        },
    ];
    for trust in trusts {
        let card = render_card(&trust, Path::new("/nonexistent"), Lang::En).unwrap();
        assert!(
            card.contains("Next: bowline doctor --repair develop"),
            "{card}"
        );
    }
}

#[test]
fn what_the_files_know_is_recalled_for_what_is_in_hand() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    fs::create_dir_all(root.join(".claude/memory/agents")).unwrap();
    let files = [
        (
            "thinking_state.json",
            r#"{"task_id":"essay-1","current_stage":"creation","overall_status":"in_progress","feedback":{"from_previous_tasks":[
                {"task_id":"a","learnings":["short sentences"],"apply_to_stages":["creation"]},
                {"task_id":"b","learnings":["more ideas"],"apply_to_stages":["planning"]}]}}"#,
        ),
        (
            ".claude/memory/task-state.json",
            r#"{"version":"1.0","current_task":{"name":"Ferry guide","status":"in_progress","plan":{"goal":"all night ferries","current_step":2,
                "steps":[{"id":1,"name":"scout","agent":"scout"},{"id":2,"name":"write it","agent":"scribe"}]}}}"#,
        ),
        (
            ".claude/memory/shared-context.json",
            r#"{"shared_data":{"current_topic":"ferries","research_results":{}},"preferences":{"tone":"friendly"}}"#,
        ),
        (
            ".claude/memory/agents/scribe.json",
            r#"{"agent":"scribe","preferences":{"structure":"short"},"cache":{"recent_topics":[]},"statistics":{"posts":3}}"#,
        ),
        (
            ".claude/memory/task-history.json",
            r#"{"version":"1.0","tasks":[
                {"id":"task-2026-01-01-001","name":"Train guide","result":"success","started_at":"2026-01-01T10:00:00Z","completed_at":"2026-01-01T11:00:00Z",
                 "duration_seconds":3600,"summary":"night trains","artifacts":[],"metrics":{"steps_total":1,"steps_completed":1,"retries":0},"lessons":["begin with the timetable"]},
                {"id":"task-2026-01-01-002","name":"Sweep","result":"success","started_at":"2026-01-01T10:00:00Z","completed_at":"2026-01-01T11:00:00Z",
                 "duration_seconds":3600,"summary":"a clean desk","artifacts":[],"metrics":{"steps_total":1,"steps_completed":1,"retries":0},"lessons":["towards the door"]}]}"#,
        ),
    ];
    for (name, text) in files {
        fs::write(root.join(name), text).unwrap();
    }
    assert_eq!(
        render_card(&RunTrust::Nothing, root, Lang::En).unwrap(),
        "\
Where the work stands, by bowline's state files (trust this over what you remember):
Also here: thinking (thinking_state.json): 'essay-1', stage creation, in_progress. See `bowline status thinking`.
Earlier tasks learnt for stage creation; apply it: short sentences
Also here: memory (.claude/memory/task-state.json): 'Ferry guide', in_progress, step 2. See `bowline status memory`.
Its goal: all night ferries
Step 2 of scribe: write it.
What all agents share: current_topic=ferries; tone=friendly
What scribe remembers: structure=short; posts=3
Similar tasks taught this; apply it: begin with the timetable"
    );
}

#[test]
fn a_linked_worktree_knows_what_the_main_one_remembers() {
    let folder = tempfile::tempdir().unwrap();
    let [main, linked] = ["main", "linked"].map(|name| folder.path().join(name));
    fs::create_dir_all(main.join(".git/worktrees/linked")).unwrap();
    fs::write(main.join(".git/worktrees/linked/commondir"), "../..\n").unwrap();
    fs::create_dir_all(&linked).unwrap();
    let link = main.join(".git/worktrees/linked");
    fs::write(linked.join(".git"), format!("gitdir: {}\n", link.display())).unwrap();
    let memory = main.join(".claude/memory");
    fs::create_dir_all(&memory).unwrap();
    // No task is in hand: what agents share still matters.
    fs::write(memory.join("task-state.json"), r#"{"current_task":null}"#).unwrap();
    let shared = r#"{"shared_data":{"current_topic":"ferries"}}"#;
    fs::write(memory.join("shared-context.json"), shared).unwrap();
    let card = render_card(&RunTrust::Nothing, &linked, Lang::En).unwrap();
    assert!(
        card.ends_with("\nWhat all agents share: current_topic=ferries"),
        "{card}"
    );
}
