//! `bowline thinking run`.

use super::*;
use std::io::{BufRead as _, BufReader};

/// Leaves what its stage needs.
const WRITER: &str = r#"
mkdir -p thinking/$BOWLINE_STAGE drafts
case $BOWLINE_STAGE in
  planning) echo '{"ideas": []}' > thinking/planning/ideas.json;;
  selection) echo '{"selected_idea": 1}' > thinking/selection/selected.json
    printf '[RESULT]\n{"scores": {"practicality": 8, "trust": 7, "innovation": 8}}\n[/RESULT]\n';;
  creation) if [ -n "$short" ] && [ $BOWLINE_TRY = 1 ]; then echo 'too short' > drafts/draft_v1.md
    else echo 'one two three four five six' > drafts/draft_v2.md; fi;;
  reflection) echo '{"metrics": {"completeness": 0.9}, "outputs": ["thinking/reflection/quality_check.json"]}' > $BOWLINE_RESULT_FILE
    echo '{"checks": []}' > thinking/reflection/quality_check.json;;
esac
"#;

fn task(world: &TestEnvironment, folder: &str, id: &str) {
    let words = format!(
        "thinking new --dir {folder} {id} --title 'Night ferries' --goal 'a guide people share'"
    );
    good(world, &words);
}

fn state(world: &TestEnvironment) -> Value {
    world.read_json("tasks/ferries/thinking_state.json")
}

/// Failed tries of the first stage; none are not written.
fn retries(world: &TestEnvironment) -> u64 {
    let count = &state(world)["stages"]["planning"]["retry_count"];
    count.as_u64().unwrap_or(0)
}

#[test]
fn stages_are_worked_off_in_order_with_what_earlier_tasks_learnt() {
    let world = project(&format!("short=1\n{WRITER}"), "");
    world.write(
        "shared/configs/quality_standards.yaml",
        "min_words: 5\nstandards:\n  - { criterion: completeness, threshold: 0.8, stage: reflection }\n",
    );
    task(&world, "tasks/trains", "trains-001");
    good(
        &world,
        "thinking --dir tasks/trains feedback record --metric shares=3% --target 2% --learning 'timetables draw readers' --stage planning",
    );
    task(&world, "tasks/ferries", "ferries-001");
    good(
        &world,
        "thinking --dir tasks/ferries feedback apply --from tasks/trains",
    );
    let status = good(&world, "thinking --dir tasks/ferries status");
    assert!(
        status.contains("lessons for planning:\n  - timetables draw readers (trains-001)\n"),
        "{status}"
    );
    let dry = good(&world, "--dry-run thinking --dir tasks/ferries run");
    assert_eq!(dry, "(dry run) would start planning (script)\n");
    let text = good(&world, "thinking --dir tasks/ferries run");
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.starts_with("  "))
        .collect();
    assert_eq!(
        lines,
        [
            "✓ 4/4 done",
            "▸ planning started (attempt 1)",
            "✓ planning done (1/4)",
            "▸ selection started (attempt 1)",
            "✓ selection done (2/4)",
            "▸ creation started (attempt 1)",
            "✗ creation failed and is tried again: quality_check_failed: 'creation' is below its quality thresholds: words of draft_v1.md 2 of 5",
            "▸ creation started (attempt 2)",
            "✓ creation done (3/4)",
            "▸ reflection started (attempt 1)",
            "✓ reflection done (4/4)",
        ]
    );
    let state = state(&world);
    assert_eq!(state["overall_status"], "completed");
    assert_eq!(state["stages"]["creation"]["retry_count"], 1);
    assert_eq!(
        state["stages"]["planning"]["outputs"][0],
        "thinking/planning/ideas.json"
    );
    assert_eq!(state["core_values_evaluation"]["weighted_score"], 7.7);
    assert_eq!(state["quality_metrics"]["completeness"], 0.9);
    let planning = seen(&world, "planning-1.md");
    for said in [
        "Goal: a guide people share",
        "timetables draw readers (from trains-001)",
        "at least one file",
    ] {
        assert!(planning.contains(said), "{said} is not in\n{planning}");
    }
    let selection = seen(&world, "selection-1.md");
    assert!(!selection.contains("timetables"), "{selection}");
    assert!(selection.contains("- planning: thinking/planning/ideas.json"));
    let again = seen(&world, "creation-2.md");
    assert!(again.contains("This is try 2 of 3.") && again.contains("quality_check_failed"));
    assert!(seen(&world, "creation-1.md").contains("words of the newest draft: at least 5"));
    // Nothing is left to do, and nothing is started.
    assert_eq!(
        good(&world, "thinking --dir tasks/ferries run")
            .lines()
            .next(),
        Some("✓ 4/4 done")
    );
}

#[test]
fn one_stage_alone_can_be_asked_for() {
    let world = project(WRITER, "");
    task(&world, "tasks/ferries", "ferries-001");
    good(&world, "thinking --dir tasks/ferries run --stage planning");
    assert_eq!(state(&world)["stages"]["planning"]["status"], "completed");
    assert_eq!(state(&world)["stages"]["selection"]["status"], "pending");
    let (text, code) = ran(&world, "thinking --dir tasks/ferries run --stage creation");
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("error[dependency_not_completed]"), "{text}");
}

#[test]
fn a_client_that_sends_no_valid_message_is_told_about_after_30_seconds() {
    let agent = "echo 'usage: client [options]'; [ $BOWLINE_TRY = 1 ] && sleep 32; exit 3\n";
    let world = project(agent, "protocol = \"claude-stream-json\"\n");
    task(&world, "tasks/ferries", "ferries-001");
    let (text, code) = ran(&world, "thinking --dir tasks/ferries run");
    assert_eq!(code, Some(1), "{text}");
    let told = "planning: its client has sent no valid message for 30 seconds";
    assert_eq!(text.matches(told).count(), 1, "{text}");
}

#[test]
fn a_stage_that_keeps_failing_waits_for_a_person() {
    let world = project("echo 'no sources' >&2; exit 3", "");
    task(&world, "tasks/ferries", "ferries-001");
    let (body, code) = answer(&world, "thinking --dir tasks/ferries run --json");
    assert_eq!(code, Some(1), "{body}");
    assert_eq!(body["ended"], "stopped");
    assert_eq!(body["error"]["code"], "retries_exhausted");
    assert_eq!(body["failed"][0]["id"], "planning");
    assert_eq!(starts(&world, "planning"), 3);
    let state = state(&world);
    assert_eq!(state["stages"]["planning"]["retry_count"], 3);
    assert_eq!(state["stages"]["planning"]["error"]["code"], "agent_failed");
    let last = seen(&world, "planning-3.md");
    assert_eq!(last.matches("no sources").count(), 2, "{last}");
    let (text, code) = ran(&world, "thinking --dir tasks/ferries run");
    assert_eq!((code, starts(&world, "planning")), (Some(1), 3), "{text}");
    assert!(text.contains("error[retries_exhausted]"), "{text}");
}

#[test]
fn a_stage_that_takes_too_long_fails_with_timeout() {
    let world = project("exec sleep 600", "[thinking]\nstage_timeout = 1\n");
    task(&world, "tasks/ferries", "ferries-001");
    let (text, code) = ran(&world, "thinking --dir tasks/ferries run");
    assert_eq!(code, Some(1), "{text}");
    assert_eq!(
        state(&world)["stages"]["planning"]["error"]["code"],
        "timeout"
    );
}

#[test]
fn an_agent_may_move_its_stage_by_itself_and_say_that_it_fails() {
    let bowline = env!("CARGO_BIN_EXE_bowline");
    let agent = format!(
        "if [ $BOWLINE_TRY = 1 ]; then echo \"FAIL:$BOWLINE_STAGE:the library is closed\"; exit 0; fi\n{WRITER}\n\
         '{bowline}' thinking complete $BOWLINE_STAGE --output $(ls thinking/$BOWLINE_STAGE/* drafts/* 2>/dev/null) >&2"
    );
    let world = project(&agent, "");
    task(&world, "tasks/ferries", "ferries-001");
    let text = good(&world, "thinking --dir tasks/ferries run --stage planning");
    assert!(
        text.contains("agent_failed: the library is closed"),
        "{text}"
    );
    let state = state(&world);
    assert_eq!(state["stages"]["planning"]["status"], "completed");
    assert_eq!(state["stages"]["planning"]["retry_count"], 1);
}

/// Waits until it may go on.
const WAITS: &str = "echo $PPID > $seen/parent\necho $$ > $seen/agent\nwhile [ ! -e $seen/go ]; do sleep 0.05; done\n";

#[test]
fn a_run_that_is_killed_goes_on_with_the_agent_that_lives() {
    let world = project(&format!("{WAITS}{WRITER}"), "");
    task(&world, "tasks/ferries", "ferries-001");
    let mut child = begun(&world, "thinking --dir tasks/ferries run");
    until_seen(&world, "agent");
    // Nobody else runs there meanwhile.
    let (text, code) = ran(&world, "thinking --dir tasks/ferries run");
    assert_eq!(code, Some(5), "{text}");
    let owner = format!("is locked by process {}", child.id());
    assert!(
        text.contains(&owner) && text.contains("bowline thinking run"),
        "{text}"
    );
    // Verbs of others are not locked out.
    good(
        &world,
        "thinking --dir tasks/ferries quality consistency=0.5",
    );
    // But nobody goes back behind what its agents rely on.
    let (text, code) = ran(&world, "undo tasks/ferries");
    assert_eq!(code, Some(5), "{text}");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(state(&world)["stages"]["planning"]["status"], "in_progress");
    std::fs::write(world.root().join("seen/go"), "").unwrap();
    let text = good(&world, "thinking --dir tasks/ferries run");
    assert!(text.contains("▸ planning goes on"), "{text}");
    assert_eq!(starts(&world, "planning"), 1);
    assert_eq!(retries(&world), 0);
    assert_eq!(state(&world)["overall_status"], "completed");
}

#[test]
fn an_agent_that_died_with_its_run_counts_as_a_try() {
    let world = project(&format!("{WAITS}{WRITER}"), "");
    task(&world, "tasks/ferries", "ferries-001");
    let mut child = begun(&world, "thinking --dir tasks/ferries run --stage planning");
    until_seen(&world, "agent");
    child.kill().unwrap();
    child.wait().unwrap();
    // The shim first: it would tell how its agent ended.
    kill(&seen(&world, "parent"));
    std::fs::write(world.root().join("seen/go"), "").unwrap();
    let text = good(&world, "thinking --dir tasks/ferries run --stage planning");
    assert!(text.contains("agent_lost"), "{text}");
    assert_eq!(starts(&world, "planning"), 2);
    assert_eq!(retries(&world), 1);
}

#[test]
fn an_interrupt_leaves_the_agent_and_two_end_it() {
    let world = project(&format!("{WAITS}{WRITER}"), "");
    task(&world, "tasks/ferries", "ferries-001");
    let child = begun(&world, "thinking --dir tasks/ferries run");
    until_seen(&world, "agent");
    interrupt(&child);
    let (text, code) = said(&child.wait_with_output().unwrap());
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.contains("'bowline thinking run' goes on\nagents go on with planning\n"),
        "{text}"
    );
    let alive = || {
        let pid = seen(&world, "agent");
        std::path::Path::new(&format!("/proc/{}", pid.trim())).exists()
    };
    assert!(alive());
    let mut child = begun(&world, "thinking --dir tasks/ferries run");
    let mut talk = BufReader::new(child.stderr.take().unwrap());
    let mut until = |said: &str| {
        let mut line = String::new();
        while !line.contains(said) {
            line.clear();
            assert_ne!(talk.read_line(&mut line).unwrap(), 0, "never said: {said}");
        }
    };
    until("planning goes on");
    interrupt(&child);
    until("Ctrl-C once more");
    interrupt(&child);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(!alive());
    // What a person ended is no try.
    std::fs::write(world.root().join("seen/go"), "").unwrap();
    good(&world, "thinking --dir tasks/ferries run");
    assert_eq!(starts(&world, "planning"), 2);
    assert_eq!(retries(&world), 0);
}

#[test]
fn a_limit_parks_the_stage_and_does_not_count() {
    let agent = format!(
        "if [ $BOWLINE_TRY = 1 ]; then printf '[ERROR]\\ntype: recoverable\\nmessage: rate limit\\nrecovery: pause_and_retry\\nretry_after: 1\\n[/ERROR]\\n'; sleep 600; fi\n{WRITER}"
    );
    let world = project(&agent, "");
    task(&world, "tasks/ferries", "ferries-001");
    let text = good(&world, "thinking --dir tasks/ferries run --stage planning");
    assert!(
        text.contains("waits") && text.contains("for a limit to be lifted"),
        "{text}"
    );
    assert_eq!(starts(&world, "planning"), 2);
    assert_eq!(retries(&world), 0);
}

#[test]
fn an_agent_nobody_knows_is_told_before_anything_begins() {
    let world = project(WRITER, "");
    task(&world, "tasks/ferries", "ferries-001");
    let (text, code) = ran(&world, "thinking --dir tasks/ferries run --agent nobody");
    assert_eq!(code, Some(3), "{text}");
    assert!(text.contains("error[no_agent]"), "{text}");
    assert_eq!(state(&world)["overall_status"], "pending");
}

#[test]
fn what_used_up_its_limit_is_not_begun_again_before_somebody_raises_it() {
    let world = project("exec sleep 600", "[limits]\nwall_time = 1\n");
    task(&world, "tasks/ferries", "ferries-001");
    for _ in 0..2 {
        let (text, code) = ran(&world, "thinking --dir tasks/ferries run");
        assert_eq!(code, Some(1), "{text}");
        assert!(text.contains("error[breaker]"), "{text}");
        assert_eq!((starts(&world, "planning"), retries(&world)), (1, 1));
    }
    equip(&world, WRITER, "[limits]\nwall_time = 600\n");
    good(&world, "thinking --dir tasks/ferries run");
}

#[test]
fn an_agent_that_is_not_installed_is_told_before_anything_starts() {
    let world = project(WRITER, "");
    task(&world, "tasks/ferries", "ferries-001");
    world.write(
        "bowline.toml",
        "[agent.gone]\ncommand = [\"no-such-client\"]\n",
    );
    let (text, code) = ran(&world, "thinking --dir tasks/ferries run --agent gone");
    assert_eq!(code, Some(3), "{text}");
    assert!(text.contains("no-such-client"), "{text}");
    assert_eq!(state(&world)["stages"]["planning"]["status"], "pending");
}
