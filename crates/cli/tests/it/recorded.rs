//! Data that an earlier build wrote, opened by this one: a server that was killed, state files with their journals, and a run
//! of an orchestration that was killed. What is answered is what the earlier build answers to the same data.
//!
//! `tests/recorded/README.md` says how the data and the answers were made.

use crate::environment::{TestEnvironment, text};
use crate::serve::started;
use bowline_engine::formats::time;
use bowline_engine::machines::Timestamp;
use bowline_engine::statefiles::ContentHash;
use bowline_server::client::ApiClient;
use bowline_test_support::split_command_line;
use bowline_words::Lang;
use serde_json::Value;
use std::fmt::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// Names that were changed on purpose since the recording, with the name that stands for each now. They are replaced in the
/// requests and in the answers of the earlier build.
///
/// A permission that its agent took back, or whose attempt ended, was shown as expired.
const RENAMED: [(&str, &str); 1] = [(r#""status":"expired""#, r#""status":"withdrawn""#)];

/// Names another build's folder: its answers are written instead of compared.
const RECORDER: &str = "BOWLINE_RECORDER";
/// Folder in which the data was made.
const PLACE: &str = "/tmp/bowline-recorded";
/// Seconds after the last write of the killed server at which it goes on: no timer is due yet.
const AFTER_KILL: i64 = 30;
/// A moment after the last change of a state file.
const AFTER_FILES: &str = "2026-03-02T09:00:00Z";
/// Nothing here takes this long unless it hangs.
const BOUND: Duration = Duration::from_secs(60);
/// Pause between two looks at a server that is still recovering its tasks.
const PAUSE: Duration = Duration::from_millis(200);

/// A copy of the recorded data in a world of its own.
struct Past {
    world: TestEnvironment,
}

impl Past {
    fn unpack() -> Past {
        let world = TestEnvironment::new();
        let recorded = recorded_folder().join("past.tar.gz");
        let mut tar = Command::new("tar");
        tar.args(["--strip-components=1", "-xzf"]).arg(recorded);
        let unpacked = tar.arg("-C").arg(world.path("")).status();
        assert!(unpacked.unwrap().success());
        let past = Past { world };
        past.move_folders_of_runs();
        past
    }

    /// Gives the folders of runs outside their projects the names that belong to the copied projects.
    fn move_folders_of_runs(&self) {
        let state = self.world.path("home/state/bowline");
        let hash =
            |path: PathBuf| ContentHash::of_bytes(path.as_os_str().as_encoded_bytes()).to_string();
        let place = |path: &str| Path::new(PLACE).join(path);
        for (kind, path) in [
            ("develop", "project/.git"),
            ("orchestrate", "run/.claude/orchestrate-state.json"),
        ] {
            let folder = state.join(kind);
            let copied = hash(self.world.path(path));
            std::fs::rename(folder.join(hash(place(path))), folder.join(copied)).unwrap();
        }
        let home = self.world.root().join("home/state");
        std::fs::create_dir_all(&home).unwrap();
        std::fs::rename(state, home.join("bowline")).unwrap();
    }

    /// A command line of the build under test, or of the one whose answers are recorded.
    fn bowline(&self, clock: &str, folder: &str, line: &str) -> Command {
        let mut command = self.world.program(program());
        command
            .env("BOWLINE_CLOCK", clock)
            .current_dir(self.world.path(folder))
            .args(split_command_line(line));
        command
    }

    /// An answer without what differs from run to run.
    fn normal(&self, answer: &str) -> String {
        let root = self.world.root().display().to_string();
        let program = program().canonicalize().unwrap();
        let mut plain = answer.replace(&program.display().to_string(), "[BOWLINE]");
        plain = plain.replace(PLACE, "[PAST]");
        plain = plain.replace(&format!("{root}/project"), "[PAST]");
        plain.replace(&format!("{root}/home"), "[PAST]/home")
    }
}

/// The build under test, or the one whose answers are recorded.
fn program() -> PathBuf {
    let recorder = std::env::var_os(RECORDER).map(|it| Path::new(&it).join("bowline"));
    recorder.unwrap_or_else(|| env!("CARGO_BIN_EXE_bowline").into())
}

fn recorded_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded")
}

/// One answer, under the request it answers.
fn note(answers: &mut String, request: &str, answer: &str) {
    writeln!(answers, "{request}\n{}", answer.trim_end()).unwrap();
}

/// The recorded answers, in the names of today.
fn recorded(file: &str) -> String {
    let answers = std::fs::read_to_string(recorded_folder().join(file)).unwrap();
    let renamed = RENAMED.iter();
    renamed.fold(answers, |text, (old, new)| text.replace(old, new))
}

/// Compares answers with the recorded ones, and writes them when another build is recorded.
#[track_caller]
fn compare(file: &str, answers: &str) {
    if std::env::var_os(RECORDER).is_some() {
        std::fs::write(recorded_folder().join(file), answers).unwrap();
        return;
    }
    let recorded = recorded(file);
    let mut request = "";
    for (was, is) in recorded.lines().zip(answers.lines()) {
        assert_eq!(was, is, "{file}: {request}");
        request = is;
    }
    assert_eq!(recorded.lines().count(), answers.lines().count(), "{file}");
}

/// What is asked of every task, behind its address.
const OF_TASKS: [&str; 16] = [
    "",
    "/agent",
    "/spend",
    "/phases",
    "/transitions?limit=1000",
    "/checkpoints",
    "/reviews",
    "/questions",
    "/dependencies",
    "/permissions",
    "/verifications",
    "/sayings",
    "/conversation",
    "/deliveries",
    "/artifacts",
    "/logs",
];

/// What is asked besides.
const OF_SERVER: [&str; 12] = [
    "/healthz",
    "/api/tasks?archived=true",
    "/api/tasks?status=review",
    "/api/tasks?label=tea&archived=true",
    "/api/inbox",
    "/api/agents",
    "/api/limits",
    "/api/stats",
    "/api/stats?days=30",
    "/api/types",
    "/api/permission-rules",
    "/api/workspaces",
];

/// The recorded server, running again. Its agents say nothing and read nothing, and its clock stands still.
struct PastServer {
    past: Past,
    clock: String,
    child: Child,
    client: ApiClient,
}

impl PastServer {
    fn start() -> PastServer {
        let past = Past::unpack();
        let settings = past.world.read("server/bowline.toml");
        let still = settings.lines().map(|line| match line.split(' ').next() {
            Some("command") => "command = [\"sleep\", \"600\"]",
            // Without an address, pending notices stay as they are.
            Some("webhook") => "",
            _ => line,
        });
        let still: Vec<&str> = still.collect();
        past.world.write("server/bowline.toml", still.join("\n"));
        let killed = std::fs::metadata(past.world.path("server/data/store.sqlite-wal"));
        let clock = time::format_utc(Timestamp(killed.unwrap().mtime() + AFTER_KILL));
        let line = "serve --listen 127.0.0.1:0 --data data --log off --workspace ../project";
        let (child, url) = started(&past.world, past.bowline(&clock, "server", line));
        let token = past.world.read("server/data/token");
        let client = ApiClient::for_url(&url, Some(token.trim().into()), Lang::En).unwrap();
        PastServer {
            past,
            clock,
            child,
            client,
        }
    }

    fn get(&self, path: &str) -> String {
        let answer = self.client.send_request("GET", path, None, &[]).unwrap();
        let body = String::from_utf8_lossy(&answer.body);
        // One line each; what is no JSON is shown as a text.
        let value: Value = serde_json::from_str(&body).unwrap_or_else(|_| body.into());
        let plain = self.past.normal(&self.settle_values(value).to_string());
        match answer.status {
            200 => plain,
            status => format!("{status} {plain}"),
        }
    }

    /// The same without numbers of processes, without what depends on the programs of this machine, and without the order in
    /// which tasks were recovered.
    fn settle_values(&self, mut value: Value) -> Value {
        match &mut value {
            Value::Object(map) => {
                let mut varying = vec!["pid", "available"];
                if map.get("timestamp").is_some_and(|it| *it == *self.clock) {
                    varying.push("sequence");
                }
                for key in varying {
                    if let Some(varies) = map.get_mut(key).filter(|it| !it.is_null()) {
                        *varies = format!("[{key}]").into();
                    }
                }
                for inner in map.values_mut() {
                    *inner = self.settle_values(inner.take());
                }
            }
            Value::Array(list) => {
                for inner in list {
                    *inner = self.settle_values(inner.take());
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
        value
    }

    fn json(&self, path: &str) -> Value {
        let answer = self.client.send_request("GET", path, None, &[]).unwrap();
        serde_json::from_slice(&answer.body).unwrap()
    }

    fn answers(&self) -> String {
        let mut answers = String::new();
        let mut ask = |path: &str| note(&mut answers, path, &self.get(path));
        OF_SERVER.iter().for_each(|path| ask(path));
        // Its id comes from its path.
        let workspaces = items(&self.json("/api/workspaces"));
        let workspace = string(&workspaces[0]["id"]);
        for kind in ["thinking", "memory", "develop", "orchestrate"] {
            ask(&format!("/api/workspaces/{workspace}/{kind}"));
            ask(&format!("/api/workspaces/{workspace}/{kind}/transitions"));
        }
        for task in items(&self.json("/api/tasks?archived=true&limit=100")) {
            let id = string(&task["id"]);
            OF_TASKS
                .iter()
                .for_each(|more| ask(&format!("/api/tasks/{id}{more}")));
            for review in items(&self.json(&format!("/api/tasks/{id}/reviews"))) {
                let review = string(&review["id"]);
                ask(&format!("/api/reviews/{review}"));
                ask(&format!("/api/reviews/{review}/diff"));
            }
        }
        answers.replace(workspace, "[WORKSPACE]")
    }

    /// What it answers once tasks whose agents are gone are recovered: as recorded, or the same for a while.
    fn settled(&self, file: &str) -> String {
        let begun = Instant::now();
        let mut wanted = match std::env::var_os(RECORDER) {
            None => recorded(file),
            Some(_) => String::new(),
        };
        loop {
            let answers = self.answers();
            if answers == wanted || begun.elapsed() > BOUND {
                return answers;
            }
            if std::env::var_os(RECORDER).is_some() {
                wanted = answers;
                std::thread::sleep(PAUSE * 20);
            }
            std::thread::sleep(PAUSE);
        }
    }
}

impl Drop for PastServer {
    fn drop(&mut self) {
        let tasks = self
            .client
            .send_request("GET", "/api/tasks?limit=100", None, &[]);
        let tasks = tasks.map_or(Value::Null, |it| {
            serde_json::from_slice(&it.body).unwrap_or_default()
        });
        for task in items(&tasks) {
            let cancel = format!("/api/tasks/{}/cancel", string(&task["id"]));
            let _ = self.client.send_request("POST", &cancel, None, &[]);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn items(list: &Value) -> Vec<Value> {
    list["items"].as_array().cloned().unwrap_or_default()
}

fn string(value: &Value) -> &str {
    value.as_str().unwrap()
}

#[test]
fn a_killed_server_goes_on_and_answers_as_the_build_that_was_killed() {
    let server = PastServer::start();
    compare("rest.txt", &server.settled("rest.txt"));
}

/// Every state file, in its folder.
const FILES: [(&str, &str); 14] = [
    ("project", "essays/one/thinking_state.json"),
    ("project", "essays/two/thinking_state.json"),
    ("project", ".claude/memory/task-state.json"),
    ("project", ".claude/memory/task-history.json"),
    ("project", ".claude/memory/shared-context.json"),
    ("project", ".claude/memory/agents/scout.json"),
    ("project", ".develop-workflow/state.json"),
    ("project", ".claude/orchestrate-state.json"),
    ("older", "thinking_state.json"),
    ("older", ".claude/memory/task-state.json"),
    ("older", ".claude/memory/task-history.json"),
    ("older", ".develop-workflow/state.json"),
    ("older", ".claude/orchestrate-state.json"),
    ("run", ".claude/orchestrate-state.json"),
];

/// What is asked of every state file, of its kind, and of its project.
const OF_FILES: [&str; 3] = ["status", "history", "doctor"];
const OF_KINDS: [(&str, &str); 25] = [
    ("project", "status"),
    ("project", "doctor"),
    ("project", "thinking --dir essays/one status"),
    ("project", "thinking --dir essays/two status"),
    ("project", "memory status"),
    ("project", "memory history"),
    ("project", "memory context get shared_data"),
    ("project", "memory agent get scout preferences"),
    ("project", "develop status"),
    ("project", "develop resume"),
    ("project", "verify"),
    ("project", "orchestrate status"),
    ("project", "orchestrate next"),
    ("project", "orchestrate plan"),
    ("project", "orchestrate verify"),
    ("project", "orchestrate timeline --format json"),
    ("project", "orchestrate export --format json"),
    ("older", "status"),
    ("older", "doctor"),
    ("older", "memory history"),
    ("run", "orchestrate status"),
    ("run", "orchestrate next"),
    ("run", "orchestrate timeline --format json"),
    ("run", "orchestrate rescue list --all"),
    ("server", "replay ../capsule.json --output"),
];

#[test]
fn state_files_and_journals_are_answered_as_by_the_build_that_wrote_them() {
    let past = Past::unpack();
    let mut answers = String::new();
    let mut ask = |folder: &str, line: String| {
        let output = past
            .bowline(AFTER_FILES, folder, &format!("{line} --json"))
            .output()
            .unwrap();
        let (code, answer) = (output.status.code(), text(&output.stdout));
        let request = format!("{folder}: bowline {line}: {code:?}");
        note(&mut answers, &request, &past.normal(&answer));
    };
    for (folder, file) in FILES {
        OF_FILES
            .iter()
            .for_each(|verb| ask(folder, format!("{verb} {file}")));
    }
    for (folder, line) in OF_KINDS {
        ask(folder, line.to_owned());
    }
    compare("files.txt", &answers);
}

/// State files whose journals lie beside them.
const JOURNALS: [&str; 6] = [
    "project/essays/one/thinking_state.json",
    "project/essays/two/thinking_state.json",
    "project/.claude/memory/task-state.json",
    "project/.claude/memory/shared-context.json",
    "project/.claude/orchestrate-state.json",
    "run/.claude/orchestrate-state.json",
];

#[test]
fn every_version_in_a_journal_comes_back_as_the_build_that_wrote_it_brings_it_back() {
    let past = Past::unpack();
    let mut answers = String::new();
    for path in JOURNALS {
        let journal = past.world.read(&format!("{path}.journal.jsonl"));
        let lines = journal
            .lines()
            .map(|line| serde_json::from_str(line).unwrap());
        for line in lines.filter(|line: &Value| line["transition"].is_object()) {
            let restore = format!("restore {path} {} --state-only", line["seq"]);
            let mut bowline = past.bowline(AFTER_FILES, "", &restore);
            assert!(bowline.output().unwrap().status.success(), "{restore}");
            let version = past.world.read(path);
            // A step of a run has no text in the journal: its command is applied anew.
            if let Some(written) = line["after"].as_str() {
                let read = ContentHash::of_bytes(version.as_bytes());
                assert_eq!(read.to_string(), written, "{restore}");
            }
            let version = ContentHash::of_bytes(past.normal(&version).as_bytes());
            note(&mut answers, &restore, &version.to_string());
        }
    }
    compare("versions.txt", &answers);
}
