//! Two agents of different clients on the same files at once: nothing is lost, and nothing is done twice.

use super::tools::{claude, tool};
use super::{Guarded, codex, installed, last};
use crate::environment::TestEnvironment;
use bowline_test_support::model_server::{ModelReply, ModelServer};
use bowline_test_support::record_client_result;
use serde_json::{Value, json};
use std::collections::BTreeSet;

const TASKS: usize = 12;

/// Waits for the other one, so that neither is done before the other begins.
fn meets(me: &str, other: &str) -> String {
    format!(
        "touch {me}.here; n=0; until [ -e {other}.here ]; do n=$((n+1)); [ $n -gt 400 ] && exit 9; sleep 0.1; done"
    )
}

/// Takes, does and notes every task, whoever has taken it.
fn works_off(me: &str, ids: impl Iterator<Item = usize>) -> Vec<ModelReply> {
    let each = |number: usize| {
        let id = format!("T1.{number}");
        let note = json!({ "key": "shared_data.done", "value": format!("{me} {id}") });
        // Rare verbs are not in the list of tools, and clients call no others.
        let note = json!({ "noun": "memory", "verb": "context append", "args": note });
        [
            tool("orchestrate_start", json!({ "id": id })),
            tool("orchestrate_complete", json!({ "id": id })),
            tool("bowline_verb", note),
        ]
    };
    ids.flat_map(each).collect()
}

/// How many calls did what they were asked to: starts, completions, notes. `before` questions come before the first answer.
fn done(model: &ModelServer, before: usize) -> [usize; 3] {
    let asked = model.received_requests();
    assert_eq!((model.replies_left(), asked.len()), (0, before + 3 * TASKS));
    let mut done = [0; 3];
    for (index, one) in asked[before..].iter().enumerate() {
        let told = last(one);
        match told.contains("\"sequence\"") {
            true => done[index % 3] += 1,
            // The other one was first, and it is informed.
            false => assert!(told.contains("\"hint\""), "{told}"),
        }
    }
    done
}

#[test]
fn two_clients_share_a_plan_and_a_memory() {
    let (Some(one), Some(other)) = (installed("BOWLINE_CLAUDE"), installed("BOWLINE_CODEX")) else {
        return;
    };
    let world = Guarded(TestEnvironment::repository());
    let plan: String = (1..=TASKS)
        .map(|number| format!("- [ ] T1.{number}: Harbour {number}\n"))
        .collect();
    world.0.write(
        "TASKS.md",
        format!("# Ferries\n\n## Phase 1: All\n\n{plan}"),
    );
    for line in [
        "init --agent claude",
        "init --agent codex",
        "memory init",
        "orchestrate init",
    ] {
        world.0.quietly(line, 0);
    }
    let shell = json!({ "command": meets("claude", "codex"), "description": "waits" });
    let mut script = vec![ModelReply::tool_call("I wait.", "Bash", shell)];
    script.extend(works_off("claude", 1..=TASKS));
    script.push(ModelReply::text("Done."));
    let first = ModelServer::start(script).unwrap();
    let shell = json!({ "cmd": meets("codex", "claude"), "yield_time_ms": 30_000 });
    let mut script = vec![
        codex::looks_for("orchestrate start complete memory context"),
        ModelReply::tool_call("I wait.", "exec_command", shell),
    ];
    // From the other end.
    script.extend(works_off("codex", (1..=TASKS).rev()));
    script.push(ModelReply::text("Done."));
    let second = ModelServer::start(script).unwrap();

    let mut claude = claude(&world, &one, &first);
    claude
        .args(["-p", "do all of it", "--output-format", "stream-json"])
        .args(["--verbose", "--permission-mode", "acceptEdits"])
        .args(["--allowedTools", "Bash,mcp__bowline"]);
    let mut codex = codex::trusting(&world, &other, &second);
    codex.arg("do all of it");
    std::thread::scope(|scope| {
        scope.spawn(|| world.run(claude));
        scope.spawn(|| world.run(codex));
    });

    let (first, second) = (done(&first, 2), done(&second, 3));
    assert!(first[0] > 0 && second[0] > 0, "{first:?} {second:?}");
    let both = [0, 1, 2].map(|index| first[index] + second[index]);
    assert_eq!(both, [TASKS, TASKS, 2 * TASKS], "{first:?} {second:?}");
    let state = |line: &str| -> Value {
        let output = world.0.quietly(line, 0);
        serde_json::from_slice(&output.stdout).unwrap()
    };
    assert_eq!(state("orchestrate status --json")["done"], TASKS);
    let noted = state("memory context get shared_data.done --json");
    let noted = noted.as_array().unwrap();
    let different: BTreeSet<&str> = noted.iter().filter_map(Value::as_str).collect();
    assert_eq!((noted.len(), different.len()), (2 * TASKS, 2 * TASKS));
    for variable in ["BOWLINE_CLAUDE", "BOWLINE_CODEX"] {
        record_client_result(
            variable,
            "beside another client on one plan and one memory: nothing lost, nothing done twice",
        );
    }
}
