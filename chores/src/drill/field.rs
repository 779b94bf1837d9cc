//! What drills share: a folder in which the real binary is run, and chance that is the same every time.

use bowline_engine::actor::AGENT_VARIABLES;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;
use xtask::Outcome;

/// A folder and the binary that works in it.
pub(crate) struct Field {
    pub(crate) bowline: PathBuf,
    pub(crate) folder: PathBuf,
}

impl Field {
    /// A command in the folder, whatever the caller's own workspace is.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.bowline);
        command
            .args(words)
            .current_dir(&self.folder)
            .env_remove("BOWLINE_WORKSPACE")
            .stdin(Stdio::null());
        command
    }

    /// Runs a command that must end well. Returns what it printed.
    pub(crate) fn run(&self, words: &[&str]) -> Outcome<String> {
        let output = self
            .command(words)
            .output()
            .map_err(|error| error.to_string())?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        Err(format!(
            "bowline {}: {}",
            words.join(" "),
            String::from_utf8_lossy(&output.stderr)
        ))
    }
}

/// Lets a process act as a person, as far as that can be said: whoever it descends from may still be an agent.
pub(crate) fn as_person(command: &mut Command) -> &mut Command {
    for name in AGENT_VARIABLES {
        command.env_remove(name);
    }
    command.env("BOWLINE_ACTOR", "person")
}

/// Waits; a drill is about time.
pub(crate) fn pause(time: Duration) {
    std::thread::sleep(time);
}

/// A small generator of numbers: the same drill kills at the same moments.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}
