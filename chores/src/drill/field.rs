//! What drills share: a folder in which the real binary is run, many who work in it at once, and chance that is the same every
//! time.

use bowline_engine::actor::AGENT_VARIABLES;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use xtask::Outcome;
use xtask::shell::Scratch;

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

    /// Runs a command, and kills it after a time if there is one.
    pub(crate) fn run_or_kill(&self, words: &[&str], after: Option<Duration>) -> Outcome<Output> {
        let mut command = self.command(words);
        let child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = child.map_err(|_| "could not spawn")?;
        if let Some(time) = after {
            pause(time);
            let _ = child.kill();
        }
        Ok(child.wait_with_output().map_err(|_| "could not wait")?)
    }
}

/// Lets so many work at once, and others beside them until those are done. Returns how many seconds it took.
pub(crate) fn work_at_once(
    count: usize,
    work: impl Fn(usize) + Sync,
    beside: &[&(dyn Fn(&AtomicBool) + Sync)],
) -> f64 {
    let done = AtomicBool::new(false);
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let (work, done) = (&work, &done);
        let workers: Vec<_> = (0..count)
            .map(|number| scope.spawn(move || work(number)))
            .collect();
        for other in beside {
            scope.spawn(move || other(done));
        }
        for worker in workers {
            let _ = worker.join();
        }
        done.store(true, Ordering::SeqCst);
    });
    begun.elapsed().as_secs_f64()
}

/// What went wrong, as those who work at once tell it.
#[derive(Default)]
pub(crate) struct Problems(Mutex<Vec<String>>);

impl Problems {
    pub(crate) fn add(&self, text: impl Into<String>) {
        if let Ok(mut all) = self.0.lock() {
            all.push(text.into());
        }
    }

    pub(crate) fn verdict(&self) -> Outcome {
        let all = self.0.lock().map(|all| all.clone()).unwrap_or_default();
        match all.first() {
            None => Ok(()),
            Some(first) => Err(format!("{} problems, the first: {first}", all.len())),
        }
    }
}

/// Keeps the folder of a drill that went wrong.
pub(crate) fn kept_if_wrong(scratch: Scratch, verdict: Outcome) -> Outcome {
    if verdict.is_err() {
        println!("kept for a look: {}", scratch.0.display());
        std::mem::forget(scratch);
    }
    verdict
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

    pub(crate) fn choose<'t, T>(&mut self, items: &'t [T]) -> Option<&'t T> {
        let limit = u64::try_from(items.len()).unwrap_or(u64::MAX).max(1);
        items.get(usize::try_from(self.below(limit)).unwrap_or(0))
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.below(last as u64 + 1);
            items.swap(last, usize::try_from(other).unwrap_or(last));
        }
    }
}
