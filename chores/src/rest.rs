//! The REST interface held against its own description by a tool of somebody else: Schemathesis, from PyPI, in a virtual
//! environment below `target/`.
//!
//! It makes requests of all sorts from `docs/openapi.json`, sends them to a real server on loopback, and complains of a status,
//! header, type or body that the description does not have, and of every 5xx. Event streams are left out: they never end, and
//! have tests of their own. Wrong tokens too: they are slowed down by 429, which the tool takes for a fault.

use bowline_supervisor::{Attempt, AttemptCondition};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use xtask::Outcome;
use xtask::shell::{Scratch, bowline, python, root, within};

/// Fixed, so that a run fails because we changed and not because it did.
const SCHEMATHESIS: &str = "schemathesis==4.32.5";
/// One run of the tool, whatever the number of examples.
const RUN_SECONDS_MAX: u64 = 1_800;
/// Requests of each operation and kind, unless the caller says otherwise.
const EXAMPLES: u32 = 30;
const START_SECONDS_MAX: u64 = 30;
const END_SECONDS_MAX: u64 = 120;
const LOOK_MS: u64 = 50;

const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,\
    response_headers_conformance,response_schema_conformance,unsupported_method,use_after_free";

/// An agent that does nothing, for as long as it is let.
const AGENT: &str = "[[step]]\nwait = \"NEVER\"\n";

pub(crate) fn run(options: &[&str]) -> Outcome {
    let (mut examples, mut seed) = (EXAMPLES, 1);
    for pair in options.chunks(2) {
        let number = |text: &str| text.parse().map_err(|_| format!("'{text}' is no number"));
        match pair {
            ["--examples", count] => examples = number(count)?,
            ["--seed", word] => seed = number(word)?,
            other => return Err(format!("rest does not know {other:?}")),
        }
    }
    let tool = python("rest", &[SCHEMATHESIS])?.join("schemathesis");
    let scratch = Scratch::new("rest")?;
    let server = Server::start(&bowline()?, &scratch.0)?;
    let file = root().join("docs/openapi.json");
    let described = std::fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    let described: serde_json::Value = serde_json::from_slice(&described).unwrap_or_default();
    let paths = described["paths"].as_object();
    let paths = paths.into_iter().flatten().map(|(path, _)| path.as_str());
    let st = |who: &str, token: &str, paths: [&str; 2]| {
        let mut st = Command::new(&tool);
        st.current_dir(&scratch.0)
            .env("HOME", &scratch.0)
            .args(["--no-color", "run"])
            .arg(&file)
            .args(["--url", &server.url, "--checks", CHECKS])
            .args(["--header", &format!("Authorization: Bearer {token}")])
            .args(paths)
            .args(["--exclude-path-regex", "/events$"])
            .args(["--max-examples", &examples.to_string()])
            .args(["--seed", &seed.to_string(), "--request-timeout", "20"])
            .args(["--continue-on-failure", "--warnings", "off"]);
        println!("\n── the interface as {who} sees it");
        within("schemathesis", &mut st, RUN_SECONDS_MAX)
    };
    let person = server.token("data/token")?;
    server.task()?;
    let mut outcome = st(
        "a person",
        &person,
        ["--include-path-regex", "^/(?!api/agent/)"],
    );
    server.cancel_all();
    // A report may end the task of whoever makes it, so that each has a task of its own.
    for path in paths.filter(|path| path.starts_with("/api/agent/")) {
        let token = server.token(&format!("data/tokens/{}-1", server.task()?))?;
        outcome = outcome.and(st("an agent", &token, ["--include-path", path]));
    }
    outcome
}

/// A server of its own, with one task whose agent waits.
struct Server {
    child: Child,
    url: String,
    bowline: PathBuf,
    folder: PathBuf,
}

impl Server {
    fn start(bowline: &Path, folder: &Path) -> Outcome<Self> {
        let write = |name: &str, text: &str| {
            let path = folder.join(name);
            std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
        };
        write("agent.toml", AGENT)?;
        let settings = format!(
            "[limits]\nslots = 20\n[defaults]\nagent = \"idle\"\n[agent.idle]\ncommand = [{:?}, \"scripted\", {:?}]\n",
            bowline,
            folder.join("agent.toml"),
        );
        write("bowline.toml", &settings)?;
        let mut serve = alone(bowline, folder);
        serve.args(["serve", "--listen", "127.0.0.1:0", "--data", "data"]);
        serve.args(["--workspace", ".", "--log", "off"]);
        let mut child = serve
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("bowline serve: {error}"))?;
        let mut line = String::new();
        if let Some(out) = child.stdout.take() {
            let read = BufReader::new(out).read_line(&mut line);
            read.map_err(|error| format!("bowline serve: {error}"))?;
        }
        let url = line.trim().strip_prefix("listening on ").map(str::to_owned);
        let server = Server {
            child,
            url: url.ok_or("the server does not say where it listens")?,
            bowline: bowline.to_owned(),
            folder: folder.to_owned(),
        };
        Ok(server)
    }

    /// Begins a task, and waits until its agent is at work.
    fn task(&self) -> Outcome<String> {
        let mut new = alone(&self.bowline, &self.folder);
        new.args([
            "task", "--data", "data", "new", "--submit", "--title", "Tea",
        ]);
        new.args(["--type", "create_app", "--description", "A shop for tea"]);
        let made = new.output().map_err(|error| format!("task new: {error}"))?;
        let id = String::from_utf8_lossy(&made.stdout).trim().to_owned();
        let token = self.folder.join(format!("data/tokens/{id}-1"));
        let end = Instant::now() + Duration::from_secs(START_SECONDS_MAX);
        while !token.is_file() {
            if !made.status.success() || Instant::now() >= end {
                return Err(format!("no agent begins: {made:?}"));
            }
            std::thread::sleep(Duration::from_millis(LOOK_MS));
        }
        Ok(id)
    }

    fn token(&self, path: &str) -> Outcome<String> {
        let path = self.folder.join(path);
        let text = std::fs::read_to_string(&path);
        let text = text.map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(text.trim().to_owned())
    }

    fn ask(&self, words: &[&str]) -> serde_json::Value {
        let mut task = alone(&self.bowline, &self.folder);
        let ran = task.args(["task", "--data", "data", "--json"]).args(words);
        let told = ran.output().map(|it| it.stdout).unwrap_or_default();
        serde_json::from_slice(&told).unwrap_or_default()
    }

    /// Tasks of a status; a long list comes in pages, of which this is the first.
    fn listed(&self, status: &str) -> Vec<serde_json::Value> {
        let list = self.ask(&["list", "--status", status]);
        list["items"].as_array().cloned().unwrap_or_default()
    }

    fn anybody_alive(&self) -> bool {
        let attempts = std::fs::read_dir(self.folder.join("data/attempts"));
        let mut attempts = attempts.into_iter().flatten().flatten();
        attempts.any(|it| {
            let attempt = Attempt::open_existing(&it.path());
            attempt.is_ok_and(|it| matches!(it.condition(), Ok(AttemptCondition::Alive)))
        })
    }

    /// Gives every task up, and waits for their agents: none outlives us.
    fn cancel_all(&self) {
        let end = Instant::now() + Duration::from_secs(END_SECONDS_MAX);
        // Whoever waits for a place takes that of one who is given up, so that all are looked at until none is left.
        while Instant::now() < end {
            let open = ["pending", "review", "in_progress"].map(|status| self.listed(status));
            let open: Vec<_> = open.into_iter().flatten().collect();
            if open.is_empty() && !self.anybody_alive() {
                return;
            }
            for task in &open {
                let id = task["id"].as_str().unwrap_or_default();
                // One under review cannot be given up; it is sent back first.
                if task["status"] == "review" {
                    self.ask(&["request-changes", id, "--feedback", "Enough."]);
                }
                self.ask(&["cancel", id]);
            }
            std::thread::sleep(Duration::from_millis(LOOK_MS));
        }
        eprintln!("not every task could be ended within {END_SECONDS_MAX} s");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.cancel_all();
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `bowline` in a world of its own, in a person's rights.
fn alone(bowline: &Path, folder: &Path) -> Command {
    let mut command = Command::new(bowline);
    command
        .current_dir(folder)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", folder)
        .env("BOWLINE_ACTOR", "person");
    command
}
