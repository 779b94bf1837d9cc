//! The real clients with the hooks of `bowline init`, and a scripted model on loopback behind them: what a client does with
//! each answer of ours, seen by what it tells the model next.
//!
//! `cargo xtask test` installs the clients and says where they are; without them these tests say that they are skipped. They
//! run with an empty environment, a home of their own and a key that opens nothing.

mod card;
mod claude;
mod codex;
mod colleague;
mod commands;
mod gated;
mod gemini;
mod inspector;
mod kind;
mod one_project;
mod orchestrated;
mod pages;
mod permissions;
mod sandboxed;
mod served;
mod together;
mod tools;

use crate::environment::{TestEnvironment, text};
use bowline_engine::actor::ACTOR_VARIABLE;
use bowline_test_support::model_server::ModelRequest;
use bowline_test_support::{MissingRequirement, skip_test, wait_until};
use serde_json::Value;
use std::fs::File;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// How long one run of a client may take.
const BOUND: Duration = Duration::from_secs(60);

/// The program an environment variable names, or a word that the test is skipped.
fn installed(variable: &str) -> Option<String> {
    let path = std::env::var(variable).ok();
    if path.is_none() {
        skip_test(
            MissingRequirement::Client,
            &format!("{variable} is not set; `cargo xtask test` installs the client"),
        );
    }
    path
}

/// The line by which an agent once was believed to be a person. The program by its path: some clients' shells have a `PATH` of
/// their own.
const BY_HAND: &str = concat!(
    "env -i HOME=$HOME PATH=$PATH ",
    env!("CARGO_BIN_EXE_bowline"),
    " develop gate pass re_review_clean --by-hand ok"
);
const PERSONS_MOVE: &str = "is a person's move.";
const UNDER_AN_AGENT: &str = "error[needs_person]: only a person may throw a run away";

/// A run in IMPLEMENT with the hooks of `bowline init`, whose first gate was closed again: nothing may be written.
struct Guarded(TestEnvironment);

impl Guarded {
    fn new(client: &str) -> Self {
        let world = TestEnvironment::reviewed();
        world.write("review.ok", "");
        world.write("src/old.txt", "old\n");
        let guarded = Guarded(world);
        guarded.commit_all();
        for line in [
            &format!("init --agent {client}"),
            "develop gate pass review_clean_pass",
            "develop implement",
            "develop gate reset review_clean_pass",
        ] {
            guarded.0.quietly(line, 0);
        }
        guarded
    }

    /// The gate is open again, and the agent works at its first checkpoint.
    fn working(&self) {
        for line in [
            "develop back REVIEW",
            "develop gate pass review_clean_pass",
            "develop implement",
            "develop checkpoint start cp-1",
        ] {
            self.0.quietly(line, 0);
        }
    }

    fn commit_all(&self) {
        for arguments in [
            &["config", "user.name", "Nobody"][..],
            &["config", "user.email", "nobody@localhost"],
            &["add", "-A"],
            &["commit", "-qm", "what is there"],
        ] {
            self.git(arguments);
        }
    }

    fn git(&self, arguments: &[&str]) -> String {
        let output = self.0.program("git").args(arguments).output().unwrap();
        assert!(output.status.success(), "git {arguments:?}: {output:?}");
        text(&output.stdout)
    }

    /// A script that makes a person's move with nothing in its environment that tells of an agent, and with the word that is
    /// documented for scripts; the hook does not look into it. No shell stays behind.
    fn disguised(&self) {
        let program = env!("CARGO_BIN_EXE_bowline");
        let line = format!(
            "exec env -i HOME=$HOME XDG_STATE_HOME=$XDG_STATE_HOME PATH=$PATH BOWLINE_ACTOR=person \
             {program} develop reset"
        );
        self.0.write("x.sh", format!("#!/bin/sh\n{line}\n"));
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(self.0.path("x.sh"), mode).unwrap();
    }

    /// Nothing was written and nothing was committed.
    fn held(&self) {
        let files: Vec<_> = std::fs::read_dir(self.0.path("src")).unwrap().collect();
        assert_eq!(files.len(), 1, "{files:?}");
        assert_eq!(self.git(&["rev-list", "--count", "HEAD"]).trim(), "1");
    }

    /// A client in this world, with our programs where an agent finds them.
    fn client(&self, program: &str) -> Command {
        let ours = Path::new(env!("CARGO_BIN_EXE_bowline")).parent().unwrap();
        let mut command = self.0.program(program);
        let path = std::env::var("PATH").unwrap();
        command
            .env("PATH", format!("{}:{path}", ours.display()))
            .env_remove(ACTOR_VARIABLE);
        command
    }

    /// Runs a client to its end, and gives what it printed.
    fn run(&self, command: Command) -> String {
        self.ended(command)[0].clone()
    }

    /// The same with what it said besides.
    fn run_telling(&self, command: Command) -> String {
        self.ended(command).concat()
    }

    fn ended(&self, mut command: Command) -> [String; 2] {
        // Two clients may run at once.
        let program = Path::new(command.get_program()).file_stem().unwrap();
        let program = program.to_str().unwrap().to_owned();
        let [out, err] = ["out", "err"].map(|name| self.0.root().join(format!("{program}.{name}")));
        let mut child = command
            .stdin(Stdio::null())
            .stdout(File::create(&out).unwrap())
            .stderr(File::create(&err).unwrap())
            .spawn()
            .unwrap();
        let mut status = None;
        let ended = wait_until(BOUND, || {
            status = child.try_wait().unwrap();
            status.is_some()
        });
        if !ended {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        let [out, err] = [out, err].map(|path| std::fs::read_to_string(path).unwrap());
        assert!(
            status.is_some_and(|it| it.success()),
            "{status:?}\n{out}\n{err}"
        );
        [out, err]
    }
}

/// Every text in a value, one per line.
fn texts(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text}\n"),
        Value::Array(items) => items.iter().map(texts).collect(),
        Value::Object(fields) => fields.values().map(texts).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
    }
}

/// What the model was told last in a question: the result of a tool, or the words of a person or a hook.
fn last(asked: &ModelRequest) -> String {
    let list = ["messages", "input", "contents"]
        .iter()
        .find_map(|key| asked.body[*key].as_array());
    let list = list.unwrap();
    let from = list
        .iter()
        .rposition(|message| {
            let model = ["assistant", "model"].map(Value::from);
            let calls = ["function_call", "tool_search_call"].map(Value::from);
            model.contains(&message["role"]) || calls.contains(&message["type"])
        })
        .map_or(0, |at| at + 1);
    list[from..].iter().map(texts).collect()
}

/// Every question has the words that belong to it.
fn each_has(asked: &[ModelRequest], words: &[&[&str]]) {
    assert_eq!(asked.len(), words.len());
    for (asked, words) in asked.iter().zip(words) {
        let told = last(asked);
        for word in *words {
            assert!(told.contains(word), "no {word:?} in:\n{told}");
        }
    }
}
