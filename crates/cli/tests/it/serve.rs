//! `bowline serve` as a process that is killed, and `bowline task` beside it.

use crate::environment::TestEnvironment;
use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Nothing here takes this long unless it hangs.
const BOUND: Duration = Duration::from_secs(60);

/// A client that asks leave for two tools and tells what its turn cost.
const CLIENT: &str = r#"
protocol = "claude-stream-json"
[[step]]
usage = { input = 100, output = 20, usd = 0.25 }
[[step]]
leave = { tool = "Bash", input = { command = "cargo test" } }
[[step]]
leave = { tool = "Bash", input = { command = "cargo test -p tea" } }
[[step]]
say = "The last answer was {input}"
[[step]]
done = { summary = "tested" }
[[step]]
wait = "NEVER"
"#;

/// An agent that asks something.
const ASKS: &str = r#"
[[step]]
ask = { question = "Which tea?", category = "clarification" }
[[step]]
wait = "question_answer"
[[step]]
write = { path = "tea.md", text = "{input}" }
[[step]]
done = { summary = "tea" }
[[step]]
wait = "NEVER"
"#;

pub(crate) struct Server {
    pub(crate) world: TestEnvironment,
    /// Where it listens.
    pub(crate) url: String,
    child: Child,
}

impl Server {
    fn new(scenario: &str, protocol: &str) -> Server {
        let world = TestEnvironment::new();
        world.write("agent.toml", scenario);
        let config = format!(
            "[defaults]\nagent = \"tea\"\n[agent.tea]\ncommand = [\"{}\", \"scripted\", \"{}\"]\nprotocol = \"{protocol}\"\n\
             [notify]\ndesktop = true\n\
             [type.page]\napp = [\"sh\", \"-c\", \"echo at $PORT {{port}}; exec sleep 600\"]\n[[type.page.phases]]\nname = \"Write\"\n",
            env!("CARGO_BIN_EXE_bowline"),
            world.path("agent.toml").display(),
        );
        world.write("bowline.toml", config);
        Server::of(world)
    }

    /// A server with the settings of this world.
    pub(crate) fn of(world: TestEnvironment) -> Server {
        Server::with(world, "")
    }

    pub(crate) fn with(world: TestEnvironment, more: &str) -> Server {
        let (child, url) = serve(&world, more);
        Server { world, url, child }
    }

    /// Killed without a word; another one goes on.
    pub(crate) fn killed(mut self, more: &str) -> Server {
        self.kill();
        (self.child, self.url) = serve(&self.world, more);
        self
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn run(&self, line: &str) -> (i32, String) {
        let mut command = live(self.world.bowline(line));
        let ran = command.output().unwrap();
        let text = String::from_utf8_lossy(&ran.stdout).into_owned();
        let errors = String::from_utf8_lossy(&ran.stderr);
        (ran.status.code().unwrap_or(-1), format!("{text}{errors}"))
    }

    pub(crate) fn done(&self, line: &str) -> String {
        let (code, text) = self.run(line);
        assert_eq!(code, 0, "{line}: {text}");
        text
    }

    pub(crate) fn json(&self, line: &str) -> Value {
        let text = self.done(&format!("{line} --json"));
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{line}: {error}: {text}"))
    }

    /// Looks until something holds; the last look.
    pub(crate) fn until(&self, line: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let begun = Instant::now();
        loop {
            let seen = self.json(line);
            if holds(&seen) {
                return seen;
            }
            let errors = self.world.read("serve.err");
            assert!(begun.elapsed() < BOUND, "{line}: {seen}\n{errors}");
        }
    }

    fn new_task(&self) -> String {
        let made = self.done(
            "task --data data new --title Tea --type custom --description 'A shop for tea' --submit",
        );
        made.trim().to_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let tasks = self.run("task --data data list --json").1;
        let tasks: Value = serde_json::from_str(&tasks).unwrap_or_default();
        for task in tasks["items"].as_array().into_iter().flatten() {
            let id = task["id"].as_str().unwrap_or_default();
            self.run(&format!("task --data data cancel {id}"));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A server lives with the clock of the machine.
fn live(mut command: Command) -> Command {
    command.env_remove("BOWLINE_CLOCK");
    command
}

fn serve(world: &TestEnvironment, more: &str) -> (Child, String) {
    let line = format!("serve --listen 127.0.0.1:0 --data data --log off {more}");
    let mut command = live(world.bowline(&line));
    let errors = std::fs::File::create(world.path("serve.err")).unwrap();
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(errors)
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    lines.read_line(&mut line).unwrap();
    let url = line.trim_end().strip_prefix("listening on ");
    (child, url.unwrap().to_owned())
}

#[test]
fn a_permission_outlives_a_killed_server_and_rules_answer_the_next() {
    let server = Server::new(CLIENT, "claude-stream-json");
    let task = server.new_task();
    let inbox = "task --data data inbox";
    let waiting = |it: &Value| it["items"][0]["kind"] == "permission";
    let first = server.until(inbox, waiting)["items"][0].clone();
    assert_eq!(first["permission"]["input"]["command"], "cargo test");
    let server = server.killed("");
    let again = server.until(inbox, waiting)["items"][0].clone();
    assert_eq!(
        again["id"], first["id"],
        "the same one, and not asked twice"
    );
    let rule = "task --data data rule add --tool Bash --input 'command=cargo test -p *'";
    let tried = server.done(&format!("{rule} --dry-run"));
    assert!(
        tried.contains("would have answered 0 of 1 tool calls"),
        "{tried}"
    );
    assert!(
        server
            .done("task --data data rule list")
            .contains("no rules")
    );
    server.done(rule);
    let permitted = server.done(&format!("task --data data permit {task}"));
    assert!(permitted.contains("permitted Bash"), "{permitted}");
    let show = format!("task --data data show {task}");
    server.until(&show, |it| it["status"] == "completed");
    let used = server.until(&show, |it| it["tokensUsed"] == 120);
    assert_eq!(used["costUsd"], 0.25);
    let rules = server.json("task --data data rule list");
    assert_eq!(rules["items"][0]["uses"], 1);
    let tried = server.done("task --data data rule add --tool Bash --deny --dry-run");
    assert!(
        tried.contains("answered 2 of 2 tool calls, 1 of them otherwise"),
        "{tried}"
    );
    let capsule = server.done(&format!("capsule --data data {task} --to tea.json"));
    assert!(capsule.contains("tea.json"), "{capsule}");
    let mut server = server;
    server.kill();
    let played = server.done("replay tea.json --output");
    for part in [
        "completed",
        "USER_QUESTION",
        "Bash",
        "each follows from the one before",
    ] {
        assert!(played.contains(part), "{part}: {played}");
    }
    let text = server.world.read("tea.json");
    let workspace = server.world.path("data").display().to_string();
    assert!(!text.contains(&workspace), "no path of this machine");
}

#[test]
fn a_lost_store_is_rebuilt_from_the_workspaces() {
    let mut server = Server::new(ASKS, "markers");
    let task = server.new_task();
    // One that nobody has begun has no workspace yet.
    let waits = server.done(&format!(
        "task --data data new --title Later --type custom --description Cake --depends-on {task} --submit"
    ));
    let inbox = "task --data data inbox";
    let asks = |it: &Value| it["items"][0]["kind"] == "question";
    let first = server.until(inbox, asks)["items"][0].clone();
    let checkpoints = format!("task --data data checkpoints {task}");
    server.until(&checkpoints, |it| {
        it["items"][0]["reason"] == "user_question"
    });
    server.kill();
    for end in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(server.world.path(&format!("data/store.sqlite{end}")));
    }
    (server.child, server.url) = serve(&server.world, "--rebuild");
    let told = server.world.read("serve.err");
    assert!(told.contains("goes on in phase 1"), "{told}");
    assert!(told.contains("2 task(s) found again, 0 not"), "{told}");
    let later = server.json(&format!("task --data data show {}", waits.trim()));
    assert_eq!(
        (&later["title"], &later["status"], &later["dependsOn"][0]),
        (&"Later".into(), &"pending".into(), &task.as_str().into())
    );
    // It goes on by itself, asks again, and ends.
    let second = server.until(inbox, asks)["items"][0].clone();
    assert_eq!(second["taskId"], task);
    assert_ne!(second["id"], first["id"]);
    server.done(&format!("task --data data answer {task} green"));
    let show = format!("task --data data show {task}");
    let done = server.until(&show, |it| it["status"] == "completed");
    assert_eq!(done["title"], "Tea");
    // What is known is left alone.
    let server = server.killed("--rebuild");
    let told = server.world.read("serve.err");
    assert!(told.contains("0 task(s) found again"), "{told}");
}

#[test]
fn agents_are_looked_at_and_notices_and_sayings_are_told() {
    let server = Server::new(ASKS, "markers");
    let (code, checked) = server.run("agents check --json");
    let checked: Value = serde_json::from_str(&checked).unwrap();
    assert_eq!((code, checked["ok"] == true), (0, true), "{checked}");
    let tea = checked["items"]
        .as_array()
        .unwrap()
        .iter()
        .find(|it| it["name"] == "tea")
        .unwrap();
    assert_eq!(
        (&tea["found"], &tea["isDefault"]),
        (&true.into(), &true.into())
    );
    assert!(tea["version"].as_str().is_some(), "{tea}");
    let task = server.new_task();
    server.until("task --data data inbox", |it| {
        it["items"][0]["kind"] == "question"
    });
    let said = server.json(&format!("task --data data say {task} hello"));
    assert_eq!(said["status"], "queued", "it is stopped");
    let id = said["id"].as_str().unwrap().to_owned();
    let withdrawn = server.json(&format!("task --data data unsay {id}"));
    assert_eq!(withdrawn["status"], "withdrawn");
    let (code, refused) = server.run(&format!("task --data data unsay {id}"));
    assert_eq!(code, 1, "{refused}");
    let said = server.json(&format!("task --data data sayings {task}"));
    assert_eq!(said["items"][0]["status"], "withdrawn");
}
