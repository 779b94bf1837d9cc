//! What agents use is written down with what reported it, once.

use crate::world::{BOUND, World};
use bowline_formats::agents::AgentProtocol;
use bowline_machines::job::Command;
use bowline_runner::jobs::JobRequest;
use bowline_store::{RecordKind, SpendQuery};
use bowline_test_support::wait_until;

/// A client that counts its money anew in every process, and asks something in its second turn.
const CLIENT: &str = r#"
text() { printf '{"type":"assistant","session_id":"s","parent_tool_use_id":null,"message":{"role":"assistant","content":[{"type":"text","text":"%s"}]}}\n' "$1"; }
ended() { printf '{"type":"result","subtype":"success","session_id":"s","is_error":false,"terminal_reason":"completed","usage":{"input_tokens":%s,"output_tokens":%s,"cache_read_input_tokens":9000},"total_cost_usd":%s}\n' "$1" "$2" "$3"; }
wait_for '"type":"user"'
echo '{"type":"system","subtype":"init","session_id":"s","model":"m"}'
if [ "${BOWLINE_ATTEMPT##*-}" = 1 ]; then
  text 'Green tea it is.'
  ended 100 20 0.5
  wait_for '"type":"user"'
  text '[USER_QUESTION]\ncategory: clarification\nquestion: Which tea?\nrequired: true\n[/USER_QUESTION]'
  wait_for '"type":"user"'
  ended 30 5 0.75
  wait_for 'never'
fi
text '=== CUSTOM TASK COMPLETE ==='
ended 1 1 0.25
wait_for 'never'
"#;

#[test]
fn tokens_and_money_are_counted_once_over_turns_attempts_and_restarts() {
    let world = World::speaking(AgentProtocol::ClaudeStreamJson, CLIENT, 1);
    let id = world.create("custom");
    let question = world.open(&id, RecordKind::Question).id;
    let cost = |world: &World| {
        let row = world.row(&id);
        (row.job.tokens, row.about.total_cost_usd())
    };
    assert_eq!(
        cost(&world),
        (120, 0.5),
        "nothing of a cache, and no turn that has not ended"
    );
    let world = world.again();
    assert_eq!(cost(&world), (120, 0.5), "what was read is not read again");
    let text = "green".to_owned();
    world.decide(Command::Answer { question, text }).unwrap();
    assert!(wait_until(BOUND, || cost(&world) == (155, 0.75)));
    // Its process is lost; the next one begins to count at nothing.
    let task = id.clone();
    world
        .ask(JobRequest::Command(task.clone(), Command::Pause))
        .unwrap();
    let checkpoint = world.saved(&id);
    let request = JobRequest::Restore { task, checkpoint };
    world.ask(request).unwrap();
    world.until(&id, ("completed", "completed"));
    assert!(
        wait_until(BOUND, || cost(&world) == (157, 1.0)),
        "{:?}",
        cost(&world)
    );
    let written = world
        .jobs()
        .store()
        .list_spend(&SpendQuery::default())
        .unwrap();
    let written: Vec<_> = written
        .iter()
        .map(|row| (row.job.as_str(), row.agent.as_str(), row.tokens, row.usd))
        .collect();
    assert_eq!(
        written,
        [(id.as_str(), "sh", 157, 1.0)],
        "the ledger and the task agree"
    );
}
