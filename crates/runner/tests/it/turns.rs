//! Turns of a client: those that a limit ends, those that take in their messages, and questions
//! in the client's own way.

use crate::world::World;
use bowline_formats::agents::AgentProtocol;
use bowline_machines::job::Command;
use bowline_store::RecordKind;

const CLIENT: &str = r#"
text() { printf '{"type":"assistant","session_id":"s","parent_tool_use_id":null,"message":{"role":"assistant","content":[{"type":"text","text":"%s"}]}}\n' "$1"; }
ended() { printf '{"type":"result","subtype":"success","session_id":"s","is_error":false%s}\n' "$1"; }
"#;

fn world(script: &str) -> (World, String) {
    let script = format!("{CLIENT}{script}");
    let world = World::speaking(AgentProtocol::ClaudeStreamJson, &script, 1);
    let id = world.create("custom");
    (world, id)
}

#[test]
fn a_limit_that_is_told_twice_parks_once_and_the_turn_is_gone_on_with() {
    let (world, id) = world(
        r#"
wait_for '"type":"user"'
echo '{"type":"system","subtype":"init","session_id":"s","model":"m"}'
printf '{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":%s}}\n' $(( $(date +%s) + 2 ))
ended ',"api_error_status":429,"result":"over the limit"'
wait_for 'is not reported as complete'
text '=== CUSTOM TASK COMPLETE ==='
wait_for 'never'
"#,
    );
    // Without the time that was reported first, it would wait for a minute.
    world.until(&id, ("completed", "completed"));
    let moves = world.transitions(&id, "agent").join("\n");
    assert_eq!(moves.matches(" RATE_LIMIT\n").count(), 1, "{moves}");
    assert_eq!(moves.matches(" RATE_LIMIT_RESET\n").count(), 1, "{moves}");
}

#[test]
fn an_answer_reaches_the_next_process_where_the_one_that_asked_is_gone() {
    let (world, id) = world(
        r#"
wait_for '"type":"user"'
if [ "${BOWLINE_ATTEMPT##*-}" = 1 ]; then
  echo '{"type":"system","subtype":"init","session_id":"s","model":"m"}'
  echo '{"type":"control_request","request_id":"r-1","request":{"subtype":"can_use_tool","tool_name":"AskUserQuestion","input":{"questions":[{"question":"Which tea?","header":"Tea","multiSelect":false,"options":[{"label":"green","description":"fresh"},{"label":"black","description":"strong"}]}]}}}'
  exit 0
fi
case "$line" in *question_answer*green*) text '=== CUSTOM TASK COMPLETE ===';; esac
wait_for 'never'
"#,
    );
    let question = world.open(&id, RecordKind::Question).id;
    let gone = bowline_test_support::wait_until(crate::world::BOUND, || {
        world.row(&id).job.process == bowline_machines::job::ProcessState::Gone
    });
    assert!(gone, "{:#?}", world.row(&id).job);
    let text = "green".to_owned();
    world.decide(Command::Answer { question, text }).unwrap();
    world.until(&id, ("completed", "completed"));
    assert_eq!(world.row(&id).job.attempt, 2);
}

#[test]
fn what_was_taken_into_a_turn_is_not_waited_for() {
    let (world, id) = world(
        r#"
wait_for '"type":"user"'
echo '{"type":"system","subtype":"init","session_id":"s","model":"m"}'
text '[USER_QUESTION]\ncategory: clarification\nquestion: Which tea?\nrequired: true\n[/USER_QUESTION]'
wait_for 'question_answer'
text 'Green it is.'
ended ''
wait_for 'is not reported as complete'
text '=== CUSTOM TASK COMPLETE ==='
wait_for 'never'
"#,
    );
    let question = world.open(&id, RecordKind::Question).id;
    let text = "green".to_owned();
    world.decide(Command::Answer { question, text }).unwrap();
    world.until(&id, ("completed", "completed"));
}
