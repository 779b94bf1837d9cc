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
pub(crate) const ASKS: &str = r#"
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
    pub(crate) child: Child,
}

impl Server {
    pub(crate) fn new(scenario: &str, protocol: &str) -> Server {
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

    /// Stopped in order; agents go on.
    pub(crate) fn stop(&mut self) {
        let id = self.child.id().to_string();
        let told = Command::new("kill").args(["-TERM", &id]).status();
        assert!(told.unwrap().success());
        assert!(self.child.wait().unwrap().success());
    }

    pub(crate) fn start(&mut self, more: &str) {
        (self.child, self.url) = serve(&self.world, more);
    }

    /// What a server says that does not start.
    pub(crate) fn refused(&self, more: &str) -> (i32, String) {
        let line = format!("serve --listen 127.0.0.1:0 --data data --log off {more}");
        let mut command = live(self.world.bowline(&line));
        let errors = std::fs::File::create(self.world.path("refused.err")).unwrap();
        let mut child = command
            .stderr(errors)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let ended = bowline_test_support::wait_until(BOUND, || child.try_wait().unwrap().is_some());
        if !ended {
            child.kill().unwrap();
        }
        let code = child.wait().unwrap().code().unwrap_or(-1);
        (code, self.world.read("refused.err"))
    }

    pub(crate) fn kill(&mut self) {
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

    pub(crate) fn new_task(&self) -> String {
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
pub(crate) fn live(mut command: Command) -> Command {
    command.env_remove("BOWLINE_CLOCK");
    command
}

fn serve(world: &TestEnvironment, more: &str) -> (Child, String) {
    let line = format!("serve --listen 127.0.0.1:0 --data data --log off {more}");
    started(world, live(world.bowline(&line)))
}

/// A server once it listens, and where.
pub(crate) fn started(world: &TestEnvironment, mut command: Command) -> (Child, String) {
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

/// A client whose words try to pass for lines of ours.
const FORGER: &str = r#"
protocol = "claude-stream-json"
[[step]]
leave = { tool = "Bash\npermission  Harmless: Read", input = { file_path = "docs/README.md", old_string = "teh", new_string = "the", command = "ls\nreview  Paid: phase 9\u202E\u3164" } }
[[step]]
wait = "NEVER"
"#;

#[test]
fn a_fork_has_a_title_of_its_own_and_tells_its_agent_what_to_do_differently() {
    let server = Server::new(ASKS, "markers");
    let task = server.new_task();
    let show = format!("task --data data show {task}");
    let asked = server.until(&show, |it| it["agentState"]["status"] == "waiting_question");
    server.done(&format!("task --data data checkpoint {task}"));
    let list = format!("task --data data checkpoints {task}");
    let saved = server.until(&list, |it| it["items"][0]["id"].is_string());
    let checkpoint = saved["items"][0]["id"].as_str().unwrap();
    let title = asked["title"].as_str().unwrap();
    let wanted = asked["description"].as_str().unwrap();

    let plain = server.json(&format!("task --data data fork {checkpoint}"));
    assert_eq!(plain["title"], format!("{title} (fork of phase 1)"));
    assert_eq!(plain["description"], wanted);
    assert_ne!(plain["status"], "draft");
    let korean = server.json(&format!(
        "--lang ko task --data data fork {checkpoint} --draft"
    ));
    assert_eq!(korean["title"], format!("{title} (1단계에서 분기)"));

    let line = format!(
        "task --data data fork {checkpoint} --title 'Black tea' --message 'Use black tea.' --draft"
    );
    let other = server.json(&line);
    assert_eq!(other["title"], "Black tea");
    assert_eq!(other["description"], format!("{wanted}\n\nUse black tea."));
    assert_eq!(
        (&other["status"], &other["agentState"]["status"]),
        (&"draft".into(), &"idle".into())
    );
    let long = format!(
        "task --data data fork {checkpoint} --title {}",
        "x".repeat(501)
    );
    let (code, said) = server.run(&long);
    assert!(code != 0 && said.contains("title"), "{said}");
    let made = server.json("task --data data list");
    assert_eq!(made["items"].as_array().unwrap().len(), 4, "{made}");

    let id = other["id"].as_str().unwrap();
    server.done(&format!("task --data data submit {id}"));
    let show = format!("task --data data show {id}");
    server.until(&show, |it| it["agentState"]["status"] == "waiting_question");
}

#[test]
fn what_an_agent_says_forges_no_line_of_the_inbox() {
    let server = Server::new(FORGER, "claude-stream-json");
    let title = "Tea\u{200b}\nreview  Forged: phase 1";
    let made = server.done(&format!(
        "task --data data new --title '{title}' --type custom --description Tea --submit"
    ));
    let task = made.trim().to_owned();
    let waiting = |it: &Value| it["items"][0]["kind"] == "permission";
    let item = server.until("task --data data inbox", waiting)["items"][0].clone();
    assert_eq!(item["agent"], "tea");
    let id = item["id"].as_str().unwrap();
    let shown = server.done("task --data data inbox");
    let lines: Vec<&str> = shown.lines().collect();
    let permit = format!("    bowline task permit {id}");
    let wanted = [
        "permission  Tea⟨U+200B⟩⟨U+000A⟩review  Forged: phase 1: tea asks leave Bash⟨U+000A⟩permission  Harmless: Read",
        "    │ command:",
        "    │ │ ls",
        "    │ │ review  Paid: phase 9⟨U+202E⟩⟨U+3164⟩",
        "    │ file_path: docs/README.md",
        "    │ new_string: the",
        "    │ old_string: teh",
        permit.as_str(),
    ];
    assert_eq!(lines, wanted, "{shown}");
    for line in ["list".to_owned(), format!("show {task}")] {
        let shown = server.done(&format!("task --data data {line}"));
        let forged = |line: &&str| line.starts_with("review") || line.starts_with("permission");
        assert_eq!(shown.lines().find(forged), None, "{shown}");
        assert!(
            !shown.contains(['\u{200b}', '\u{202e}', '\u{3164}']),
            "{shown}"
        );
    }
}
