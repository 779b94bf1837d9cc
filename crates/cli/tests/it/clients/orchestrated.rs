//! A plan worked off by the real `claude`: two phases, a limit, and two tasks that write the same line.

use super::{BOUND, installed};
use crate::orchestrate_run::{bowline, nothing_left, project};
use bowline_test_support::model_server::{ModelReply, ModelServer, ReachedLimit};
use bowline_test_support::record_client_result;
use serde_json::{Value, json};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

const PLAN: &str = "# TASKS: Ferry\n\n## Phase 0: Quay\n### [ ] T0.1: Rope\n\n\
                    ## Phase 1: 시간표\n### [ ] T1.1: Model\n### [ ] T1.2: Screen\n";

fn shell(command: &str) -> ModelReply {
    ModelReply::tool_call(
        "I do it.",
        "Bash",
        json!({"command": command, "description": "does it"}),
    )
}

#[test]
fn claude_works_off_a_plan_through_a_limit_and_a_conflict() {
    let Some(program) = installed("BOWLINE_CLAUDE") else {
        return;
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    // Both tasks of phase 1 write before either goes on, so that they do not fit to each other.
    let write = "echo \"line of $BOWLINE_TASK_ID\" > shared.txt; touch \"$HOME/at-$BOWLINE_TASK_ID\"; \
                 n=0; until [ -f \"$HOME/at-T1.1\" ] && [ -f \"$HOME/at-T1.2\" ]; do n=$((n+1)); [ $n -gt 500 ] && exit 9; sleep 0.1; done";
    let resolve =
        "grep -v '^<<<<<<<\\|^=======\\|^>>>>>>>' shared.txt | sort -u > new && mv new shared.txt";
    let model = ModelServer::start([
        ModelReply::Limited(ReachedLimit {
            retry_after_s: Some(3600),
            resets_at: Some(now.as_secs() + 4),
            message: "over the limit of this account".to_owned(),
        }),
        shell("echo rope > rope.txt"),
        ModelReply::text("It is there.\n\nDONE:T0.1"),
        shell(write),
        shell(write),
        ModelReply::text("It is written."),
        ModelReply::text("It is written."),
        shell(resolve),
        ModelReply::text("Both lines are kept."),
    ])
    .unwrap();
    let world = project(PLAN, "exit 1\n", "");
    world.write(
        "bowline.toml",
        "[agent.big]\nclient = \"claude\"\nmodel = \"claude-ferry-1\"\nargs = [\"--append-system-prompt\", \"Ahoy from args.\"]\n\
         [defaults]\nagent = \"big\"\nenv = [\"CLAUDE_CODE_*\", \"DISABLE_*\"]\n[limits]\nretry_after = 3\n[orchestrate]\nbackoff = 0\n",
    );
    world.git(&["commit", "--quiet", "--all", "--message=claude"]);
    let bin = Path::new(&program).parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    let child = bowline(&world, "orchestrate run --json")
        .env("PATH", format!("{}:{path}", bin.display()))
        .envs(model.variables_of_claude())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let pid = child.id();
    let (ended, end) = std::sync::mpsc::channel();
    std::thread::spawn(move || ended.send(child.wait_with_output()));
    let output = end.recv_timeout(2 * BOUND).unwrap_or_else(|_| {
        let _ = std::process::Command::new("kill")
            .arg(pid.to_string())
            .status();
        panic!("{}", world.read(".claude/orchestrate.log"));
    });
    let output = output.unwrap();
    let log = world.read(".claude/orchestrate.log");
    let body: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&body["ended"], &body["done"]),
        (&"done".into(), &3.into()),
        "{log}"
    );
    assert_eq!(model.replies_left(), 0, "{log}");
    assert_eq!(log.matches("PARKED:T0.1").count(), 1, "{log}");
    assert_eq!(log.matches(":conflict in shared.txt").count(), 1, "{log}");
    assert_eq!(world.read("rope.txt"), "rope\n");
    assert_eq!(world.read("shared.txt"), "line of T1.1\nline of T1.2\n");
    assert!(!world.read("TASKS.md").contains("[ ]"));
    // The conflict went back into the conversation in which the work was done, with its hunks.
    let asked = model.received_requests();
    // Model and arguments reach it, in a conversation that is gone on with too.
    for at in [1, 7] {
        assert_eq!(asked[at].body["model"], "claude-ferry-1", "{at}");
        let system = asked[at].body["system"].to_string();
        assert!(system.contains("Ahoy from args."), "{at}: {system}");
    }
    let told = asked[7].body["messages"].to_string();
    for part in ["It is written.", "<<<<<<<", "line of T1.1", "line of T1.2"] {
        assert!(told.contains(part), "{part}: {told}");
    }
    nothing_left(&world);
    record_client_result(
        "BOWLINE_CLAUDE",
        "a plan is worked off by `orchestrate run`, through a limit and a conflict",
    );
}
