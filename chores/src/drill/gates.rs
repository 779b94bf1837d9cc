//! The real binary, killed while it passes a gate: an acknowledged gate is open, an open one has its evidence.

use super::common::pause;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use xtask::Outcome;
use xtask::shell::{Scratch, bowline};

const GATE: &str = "review_clean_pass";
/// How often the process is looked at while the moment of its end is waited for.
const LOOK: Duration = Duration::from_micros(200);

struct Field {
    bowline: PathBuf,
    state_home: PathBuf,
    project: PathBuf,
}

impl Field {
    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.bowline);
        command
            .args(words)
            .current_dir(&self.project)
            .env_remove("BOWLINE_WORKSPACE")
            .env("XDG_STATE_HOME", &self.state_home)
            // Only a person's start seals the command of the gate.
            .env("BOWLINE_ACTOR", "person")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    fn run(&self, words: &[&str]) -> Outcome<Option<i32>> {
        let status = self.command(words).status();
        status
            .map(|status| status.code())
            .map_err(|error| format!("bowline: {error}"))
    }

    fn well(&self, words: &[&str]) -> Outcome {
        match self.run(words)? {
            Some(0) => Ok(()),
            other => Err(format!("bowline {}: {other:?}", words.join(" "))),
        }
    }

    fn is_open(&self) -> Outcome<bool> {
        let output = self
            .command(&["develop", "status", "--json"])
            .stdout(Stdio::piped())
            .output()
            .map_err(|error| format!("bowline: {error}"))?;
        let view: Value = serde_json::from_slice(&output.stdout)
            .map_err(|error| format!("develop status --json: {error}"))?;
        view["state"]["gates"][GATE]
            .as_bool()
            .ok_or_else(|| format!("no gate in {view}"))
    }
}

pub(crate) fn run(count: usize) -> Outcome {
    let scratch = Scratch::new("gates")?;
    let bowline = bowline()?;
    let field = |name: &str| -> Outcome<Field> {
        let project = scratch.0.join(name);
        make(&project)?;
        let field = Field {
            bowline: bowline.clone(),
            state_home: scratch.0.join("state"),
            project,
        };
        field.well(&["develop", "start", "Ferry times"])?;
        field.well(&["develop", "review"])?;
        Ok(field)
    };
    let first = field("first")?;
    let began = Instant::now();
    first.well(&["develop", "gate", "pass", GATE])?;
    let whole = began.elapsed();
    let (mut killed, mut open_after_kill) = (0, 0);
    for round in 0..count {
        let field = field(&format!("round-{round}"))?;
        let mut worker = field
            .command(&["develop", "gate", "pass", GATE])
            .spawn()
            .map_err(|error| format!("bowline: {error}"))?;
        // Spread over the whole time it takes, and a little beyond.
        let share = u32::try_from(round * 1_000 / count.max(1)).unwrap_or(0);
        let moment = whole * share / 800;
        let acknowledged = end_at(&mut worker, moment)?;
        let open = field.is_open()?;
        let trouble = |what: &str| format!("round {round}, after {moment:?}: {what}");
        match acknowledged {
            Some(0) if !open => return Err(trouble("an acknowledged gate is closed")),
            Some(0) => {}
            Some(code) => return Err(trouble(&format!("it ended with {code}"))),
            None => {
                killed += 1;
                open_after_kill += usize::from(open);
            }
        }
        if open {
            field.well(&["verify"]).map_err(|error| trouble(&error))?;
        } else {
            field
                .well(&["develop", "gate", "pass", GATE])
                .map_err(|error| trouble(&error))?;
        }
        std::fs::remove_dir_all(&field.project).ok();
    }
    println!(
        "{count} gates passed, {killed} of them killed within {whole:?}; {open_after_kill} had been committed by then"
    );
    Ok(())
}

fn make(project: &Path) -> Outcome {
    let policy = format!("[develop.gates.{GATE}]\nrun = \"test -f bowline.toml\"\n");
    std::fs::create_dir_all(project)
        .and_then(|()| std::fs::write(project.join("bowline.toml"), policy))
        .map_err(|error| format!("{}: {error}", project.display()))
}

/// Kills a process at a moment; its exit code, if it ended before.
fn end_at(worker: &mut Child, moment: Duration) -> Outcome<Option<i32>> {
    let failed = |error: std::io::Error| format!("bowline: {error}");
    let end = Instant::now() + moment;
    while Instant::now() < end {
        if let Some(status) = worker.try_wait().map_err(failed)? {
            return Ok(status.code());
        }
        pause(LOOK);
    }
    worker.kill().map_err(failed)?;
    Ok(worker.wait().map_err(failed)?.code())
}
