//! A server that can start neither a thread nor a process for a while: no request is lost, and it goes on by itself.

use crate::environment::TestEnvironment;
use crate::serve::{Server, live, started};
use bowline_server::client::ApiClient;
use bowline_test_support::wait_until;
use bowline_words::Lang;
use serde_json::{Value, json};
use std::process::Command;
use std::time::Duration;

/// A user of nobody else, whose processes are these alone.
const USER: &str = "64321";
/// Nothing here takes this long unless it hangs.
const BOUND: Duration = Duration::from_secs(60);

/// An agent that writes one file and is done.
const AGENT: &str = r#"
[[step]]
write = { path = "tea.md", text = "green" }
[[step]]
done = { summary = "tea" }
[[step]]
wait = "NEVER"
"#;

/// A program as a user to whom limits apply: they do not apply to root.
fn as_user(world: &TestEnvironment, command: &Command) -> Command {
    let (program, arguments) = (command.get_program(), command.get_args());
    let mut limited = match rustix::process::getuid().is_root() {
        false => world.program(program),
        true => {
            let mut changed = world.program("setpriv");
            changed.args(["--reuid", USER, "--regid", USER, "--clear-groups"]);
            changed.arg(program);
            changed
        }
    };
    limited.args(arguments);
    limited
}

/// Bounds the threads and processes that the user of a process may have. What runs already goes on.
fn limit_processes(server: &Server, most: &str) {
    let mut set = Command::new("prlimit");
    set.args(["--pid", &server.child.id().to_string()]);
    set.arg(format!("--nproc={most}:"));
    let set = as_user(&server.world, &set).status().unwrap();
    assert!(set.success());
}

/// Asks the server over TCP, which needs no new process.
fn ask(server: &Server, method: &str, path: &str, body: Option<&Value>) -> String {
    let token = server.world.read("data/token");
    let client = ApiClient::for_url(&server.url, Some(token.trim().to_owned()), Lang::En).unwrap();
    let answer = client.send_request(method, path, body, &[]).unwrap();
    let text = String::from_utf8_lossy(&answer.body).into_owned();
    assert!((200..300).contains(&answer.status), "{path}: {text}");
    text
}

fn task(server: &Server, id: &str) -> Value {
    serde_json::from_str(&ask(server, "GET", &format!("/api/tasks/{id}"), None)).unwrap()
}

/// The value of one metric.
fn metric(server: &Server, name: &str) -> u64 {
    let text = ask(server, "GET", "/metrics", None);
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(name));
    let value = lines.next().and_then(|it| it.trim().parse().ok());
    value.unwrap_or_else(|| panic!("no {name} in {text}"))
}

fn until(server: &Server, what: &str, holds: impl Fn() -> bool) {
    let errors = || server.world.read("serve.err");
    assert!(wait_until(BOUND, holds), "{what}\n{}", errors());
}

#[test]
fn a_task_submitted_while_no_process_can_be_started_is_completed_afterwards() {
    let world = TestEnvironment::new();
    world.write("agent.toml", AGENT);
    let config = format!(
        "[defaults]\nagent = \"tea\"\n[agent.tea]\ncommand = [\"{}\", \"scripted\", \"{}\"]\nprotocol = \"markers\"\n",
        env!("CARGO_BIN_EXE_bowline"),
        world.path("agent.toml").display(),
    );
    world.write("bowline.toml", config);
    let served = world.bowline("serve --listen 127.0.0.1:0 --data data --log text");
    let mut give = Command::new("chown");
    give.args(["-R", USER]).arg(world.root());
    if rustix::process::getuid().is_root() {
        assert!(give.status().unwrap().success());
    }
    let (child, url) = started(&world, live(as_user(&world, &served)));
    let server = Server { world, url, child };
    limit_processes(&server, "1");
    let wanted = json!({
        "title": "Tea", "type": "custom", "description": "A shop for tea", "submit": true,
    });
    let made = ask(&server, "POST", "/api/tasks", Some(&wanted));
    let made: Value = serde_json::from_str(&made).unwrap();
    let id = made["id"].as_str().unwrap();
    let retries = "bowline_start_retries_total";
    until(&server, "it is tried again", || {
        metric(&server, retries) >= 2
    });
    let shown = task(&server, id);
    assert_eq!(shown["status"], "in_progress", "{shown}");
    let most = rustix::process::getrlimit(rustix::process::Resource::Nproc).maximum;
    let most = most.map_or_else(|| "unlimited".to_owned(), |most| most.to_string());
    limit_processes(&server, &most);
    until(&server, "the task is completed", || {
        let shown = task(&server, id);
        assert_ne!(shown["status"], "failed", "{shown}");
        shown["status"] == "completed"
    });
    let told = server.world.read("serve.err");
    assert!(!told.contains("panicked"), "{told}");
}
