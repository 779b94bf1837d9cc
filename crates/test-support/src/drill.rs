//! Drills with many processes on one state file. The counts are parameters, so that a test runs a few and a drill many.
//!
//! A drill does not know what its workers run: the caller hands in a function that makes the command of one worker.

use std::io;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use bowline_statefiles::{FileLayout, JournalLine, StateFile};

/// What went wrong in a drill.
#[derive(Debug)]
pub enum DrillError {
    /// A worker could not be started or watched.
    Io(io::Error),
    /// A worker ended with an error.
    Worker(usize, ExitStatus),
    /// A worker did not end in time.
    Stuck(usize),
    /// The journal could not be read.
    State(bowline_statefiles::StateFileError),
    /// The journal and the file do not tell one story.
    Broken(String),
}

impl std::fmt::Display for DrillError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Io(error) => write!(out, "worker could not be run: {error}"),
            Self::Worker(number, status) => write!(out, "worker {number} ended with {status}"),
            Self::Stuck(number) => write!(out, "worker {number} did not end in time"),
            Self::State(error) => write!(out, "{error}"),
            Self::Broken(what) => write!(out, "the journal is not one story: {what}"),
        }
    }
}

impl std::error::Error for DrillError {}

impl From<io::Error> for DrillError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<bowline_statefiles::StateFileError> for DrillError {
    fn from(error: bowline_statefiles::StateFileError) -> Self {
        Self::State(error)
    }
}

/// Many processes, each changing the same file many times.
#[derive(Debug, Clone)]
pub struct ParallelDrill {
    /// The state file.
    pub file: PathBuf,
    /// How many at once.
    pub processes: usize,
    /// How long they may take together.
    pub bound: Duration,
}

impl ParallelDrill {
    /// Runs the workers to their end; each must end well. The journal must then be one story.
    ///
    /// Returns the lines of the journal.
    pub fn run(
        &self,
        mut command: impl FnMut(usize) -> Command,
    ) -> Result<Vec<JournalLine>, DrillError> {
        let mut workers = Vec::new();
        for number in 0..self.processes {
            workers.push(command(number).spawn()?);
        }
        let end = Instant::now() + self.bound;
        let mut failed = None;
        for (number, worker) in workers.iter_mut().enumerate() {
            match wait_or_kill(worker, end)? {
                Some(status) if status.success() => {}
                Some(status) => failed = failed.or(Some(DrillError::Worker(number, status))),
                None => failed = failed.or(Some(DrillError::Stuck(number))),
            }
        }
        match failed {
            Some(error) => Err(error),
            None => check_journal(&StateFile::new(FileLayout::new(&self.file))),
        }
    }
}

/// One worker, killed after a growing time until it survives or `rounds` are over; `check` looks after each kill.
#[derive(Debug, Clone)]
pub struct KillDrill {
    /// The state file.
    pub file: PathBuf,
    /// How often.
    pub rounds: u32,
    /// The first kill comes after this time; each later one after one more of it, beginning anew after 64.
    pub pace: Duration,
}

impl KillDrill {
    /// Returns how many workers were really killed before they ended.
    pub fn run(
        &self,
        mut command: impl FnMut(u32) -> Command,
        mut check: impl FnMut(u32) -> Result<(), DrillError>,
    ) -> Result<u32, DrillError> {
        let mut killed = 0;
        for round in 0..self.rounds {
            let mut worker = command(round).spawn()?;
            if wait_or_kill(&mut worker, Instant::now() + self.pace * (round % 64 + 1))?.is_none() {
                killed += 1;
            }
            check_journal(&StateFile::new(FileLayout::new(&self.file)))?;
            check(round)?;
        }
        Ok(killed)
    }
}

/// Waits until `end`, then kills.
fn wait_or_kill(worker: &mut Child, end: Instant) -> io::Result<Option<ExitStatus>> {
    loop {
        if let Some(status) = worker.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= end {
            worker.kill()?;
            worker.wait()?;
            return Ok(None);
        }
        std::thread::sleep(Duration::from_micros(500));
    }
}

/// Checks that numbers follow each other, that each change begins where the one before ended, and that nothing is
/// unreadable. Returns the lines.
pub fn check_journal(file: &StateFile) -> Result<Vec<JournalLine>, DrillError> {
    let history = file.read_history()?;
    if let Some(finding) = history.findings.first() {
        return Err(DrillError::Broken(finding.to_string()));
    }
    let mut last: Option<&JournalLine> = None;
    let mut ends: Option<&JournalLine> = None;
    let mut steps = false;
    for line in history.all_lines() {
        if last.is_some_and(|last| line.seq != last.seq + 1) {
            return Err(DrillError::Broken(format!(
                "line {} does not follow its predecessor",
                line.seq
            )));
        }
        last = Some(line);
        steps |= line.logical.is_some();
        if line.after.is_none() && !line.gone {
            continue;
        }
        // A repair begins with the damaged file, which is no version. After steps only a mark, which names the file as
        // it was before them, can be compared.
        let free = line.kind == "repair" || steps && line.kind != "mark";
        steps = false;
        if !free && ends.is_some_and(|ends| ends.after != line.before) {
            return Err(DrillError::Broken(format!(
                "change {} begins with another version",
                line.seq
            )));
        }
        ends = Some(line);
    }
    Ok(history.all_lines().to_vec())
}
