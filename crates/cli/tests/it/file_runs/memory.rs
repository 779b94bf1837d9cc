//! `bowline memory run`.

use super::*;
use std::time::Instant;

const PLAN: &str = "memory task new 'Ferry article' --goal 'an article about night ferries' --criterion 'people share it' \
    --step 'name=find times,agent=web-researcher,cluster=research' --step 'name=find pictures,agent=image-generator' \
    --step 'name=write it,agent=writing-assistant,deps=1+2'";

fn state(world: &TestEnvironment) -> Value {
    world.read_json(".claude/memory/task-state.json")
}

fn step(world: &TestEnvironment, id: usize) -> Value {
    state(world)["current_task"]["plan"]["steps"][id - 1].clone()
}

/// Hands back a file, a block, or nothing but words. The first two wait for each other.
const WORKERS: &str = r#"
case $BOWLINE_STEP in
  1) touch $seen/one; while [ ! -e $seen/two ]; do sleep 0.05; done
    echo '{"summary": "three boats", "output": {"boats": 3}, "share": {"shared_data.boats": 3}, "remember": {"cache.sources": ["harbour"]}}' > $BOWLINE_RESULT_FILE;;
  2) touch $seen/two; while [ ! -e $seen/one ]; do sleep 0.05; done
    printf 'I have them.\n[RESULT]\n{"summary": "two pictures", "artifacts": [{"path": "a.png", "description": "a quay"}]}\n[/RESULT]\n';;
  3) echo 'It is written.';;
esac
"#;

#[test]
fn steps_run_side_by_side_and_hand_on_what_they_found() {
    let world = project(
        WORKERS,
        "[agent.writing-assistant]\ncommand = [\"sh\", \"-c\", \"cat $BOWLINE_PROMPT_FILE > prompt.md; echo It is written.\"]\n",
    );
    good(
        &world,
        "memory task new 'Train article' --goal 'night trains' --step 'name=write,agent=writing-assistant'",
    );
    good(&world, "memory step start 1");
    good(&world, "memory step complete 1");
    good(
        &world,
        "memory task finish --summary 'an article' --lesson 'begin with the timetable'",
    );
    good(
        &world,
        "memory task new 'Clean up' --goal 'an empty desk' --step 'name=sweep,agent=broom'",
    );
    good(&world, "memory step start 1");
    good(&world, "memory step complete 1");
    good(
        &world,
        "memory task finish --lesson 'sweep towards the door'",
    );
    good(&world, PLAN);
    good(&world, "memory context set preferences.tone friendly");
    good(
        &world,
        "memory agent set writing-assistant preferences.structure 'short paragraphs'",
    );
    let dry = good(&world, "--dry-run memory run");
    assert_eq!(dry, "(dry run) would start 1 (script), 2 (script)\n");
    let text = good(&world, "memory run --parallel 3");
    assert!(
        text.starts_with("✓ 3/3 done\n  next: bowline memory task finish\n"),
        "{text}"
    );
    assert_eq!(step(&world, 1)["output"], serde_json::json!({ "boats": 3 }));
    assert_eq!(step(&world, 2)["output"]["summary"], "two pictures");
    assert_eq!(step(&world, 3)["output"]["summary"], "It is written.");
    assert_eq!(
        state(&world)["current_task"]["artifacts"][0]["path"],
        "a.png"
    );
    assert_eq!(good(&world, "memory context get shared_data.boats"), "3\n");
    let remembered = world.read(".claude/memory/agents/web-researcher.json");
    assert!(remembered.contains("harbour"), "{remembered}");
    let prompt = world.read("prompt.md");
    for said in [
        "You are writing-assistant.",
        "Goal: an article about night ferries",
        "people share it",
        "1 find times (web-researcher, completed, which yours builds on): {\"boats\":3}",
        "\"structure\": \"short paragraphs\"",
        "\"boats\": 3",
        "\"tone\": \"friendly\"",
        "begin with the timetable",
    ] {
        assert!(prompt.contains(said), "{said} is not in\n{prompt}");
    }
    assert!(!prompt.contains("sweep towards the door"), "{prompt}");
}

#[test]
fn three_tries_two_and_four_seconds_apart_then_a_person() {
    let world = project(
        "[ $BOWLINE_STEP = 2 ] && exit 0\necho 'no ink' >&2; exit 4",
        "",
    );
    good(&world, PLAN);
    let begun = Instant::now();
    let (body, code) = answer(&world, "memory run --json");
    assert!(begun.elapsed() >= Duration::from_secs(6));
    assert_eq!(code, Some(1), "{body}");
    assert_eq!(body["error"]["code"], "retries_exhausted");
    assert_eq!(
        (
            starts(&world, "1"),
            starts(&world, "2"),
            starts(&world, "3")
        ),
        (3, 1, 0)
    );
    let task = &state(&world)["current_task"];
    assert_eq!(task["status"], "failed");
    assert_eq!(task["issues"][0]["step_id"], 1);
    assert_eq!(step(&world, 2)["status"], "completed");
    let again = seen(&world, "1-3.md");
    assert!(
        again.contains("This is try 3 of 3.") && again.contains("no ink"),
        "{again}"
    );
    // A person takes it up again: the count begins anew.
    good(&world, "memory task recover --reason 'there is ink'");
    equip(&world, "exit 0", "");
    good(&world, "memory run");
    assert_eq!((starts(&world, "1"), starts(&world, "2")), (4, 1));
}

#[test]
fn what_is_critical_escalates_at_once_and_malformed_results_are_sent_back() {
    let agent = "case $BOWLINE_STEP in 1) echo FAIL:1:critical: the key is gone;; \
         2) [ $BOWLINE_TRY = 1 ] && echo '{\"share\": {\"version\": 9}}' > $BOWLINE_RESULT_FILE;; esac; exit 0";
    let world = project(agent, "");
    good(&world, PLAN);
    let (text, code) = ran(&world, "memory run --parallel 1");
    assert_eq!(code, Some(1), "{text}");
    assert_eq!(starts(&world, "1"), 1);
    assert_eq!(step(&world, 1)["error"]["type"], "critical");
    assert_eq!(step(&world, 1)["error"]["message"], "the key is gone");
    assert!(text.contains("error[task_failed]"), "{text}");
    let world = project(
        &agent.replace("FAIL:1:critical: the key is gone", "fine"),
        "",
    );
    good(&world, PLAN);
    let text = good(&world, "memory run");
    assert!(
        text.contains("✗ 2 failed and is tried again: validation:"),
        "{text}"
    );
}

#[test]
fn killed_with_two_agents_at_work_it_goes_on_with_both() {
    let world = project(
        "touch $seen/at-$BOWLINE_STEP\nwhile [ ! -e $seen/go ]; do sleep 0.05; done\necho \"done $BOWLINE_STEP\"",
        "",
    );
    good(&world, PLAN);
    let mut child = begun(&world, "memory run");
    until_seen(&world, "at-1");
    until_seen(&world, "at-2");
    child.kill().unwrap();
    child.wait().unwrap();
    std::fs::write(world.root().join("seen/go"), "").unwrap();
    let text = good(&world, "memory run");
    assert!(
        text.contains("▸ 1 goes on") && text.contains("▸ 2 goes on"),
        "{text}"
    );
    for id in ["1", "2", "3"] {
        assert_eq!(starts(&world, id), 1, "step {id}");
    }
    assert_eq!(step(&world, 1)["output"]["summary"], "done 1");
}

#[test]
fn what_an_agent_hands_back_while_the_task_is_paused_is_kept() {
    let world = project(
        "touch $seen/at-$BOWLINE_STEP\nwhile [ ! -e $seen/go ]; do sleep 0.05; done\necho \"done $BOWLINE_STEP\"",
        "",
    );
    good(&world, "memory task new 'One' --step 'name=one,agent=one'");
    let child = begun(&world, "memory run");
    until_seen(&world, "at-1");
    good(&world, "memory task pause");
    std::fs::write(world.root().join("seen/go"), "").unwrap();
    let (text, code) = said(&child.wait_with_output().unwrap());
    assert_eq!(code, Some(1), "{text}");
    good(&world, "memory task resume");
    good(&world, "memory run");
    assert_eq!(starts(&world, "1"), 1);
    assert_eq!(step(&world, 1)["output"]["summary"], "done 1");
}

#[test]
fn without_a_task_there_is_nothing_to_run() {
    let world = project("exit 0", "");
    let (text, code) = ran(&world, "memory run");
    assert_ne!(code, Some(0), "{text}");
    assert!(text.contains("error[no_task]"), "{text}");
}
