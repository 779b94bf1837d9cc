//! Starting shims so that they outlive this process.

use crate::ATTEMPT_VARIABLE;
use crate::attempt::Attempt;
use crate::error::{ShimFailure, SupervisorError};
use crate::shim::{END, STARTER};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{Read, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// Time a shim may take to be ready.
const READY_MS_MAX: u64 = 20_000;
/// The longest message of a shim that could not start.
const MESSAGE_BYTES_MAX: usize = 4096;

/// The program that becomes a shim, with the arguments that lead to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShimProgram {
    program: PathBuf,
    words: Vec<String>,
    /// Time it may take to be ready.
    ready: Duration,
}

impl ShimProgram {
    /// Describes a program that hands its arguments to [`crate::shim::main`] when the given words
    /// come first.
    pub fn new(program: &Path, words: &[&str]) -> ShimProgram {
        ShimProgram {
            // The shim is started in another folder than this one.
            program: std::path::absolute(program).unwrap_or_else(|_| program.to_owned()),
            words: words.iter().map(|&word| word.to_owned()).collect(),
            ready: Duration::from_millis(READY_MS_MAX),
        }
    }

    #[cfg(test)]
    pub(super) fn with_ready_time(self, ready: Duration) -> ShimProgram {
        ShimProgram { ready, ..self }
    }

    /// Starts a detached shim that owns the attempt and waits for `go`. Returns when the shim is
    /// ready, or the reason for which it is not.
    ///
    /// Doing so twice is harmless: the second shim finds the lock taken and exits.
    pub fn start_shim(&self, attempt: &Attempt) -> Result<(), SupervisorError> {
        let mut command = self.base_command();
        command
            .arg("start")
            .arg(attempt.folder())
            .stdin(Stdio::null());
        let mut child = command
            .spawn()
            .map_err(|error| self.spawn_error(attempt, error))?;
        // The shim inherits this pipe, which closes when the shim has reported or is gone.
        let word = child
            .stdout
            .take()
            .and_then(|mut it| read_report(&mut it, self.ready));
        if word.is_none() {
            // A shim that reports nothing may not exit either.
            let _ = child.kill();
        }
        let _ = child.wait();
        check_report(attempt, word, self.ready)
    }

    /// Builds the command of the program with an empty environment.
    fn base_command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(&self.words)
            .env_clear()
            .current_dir("/")
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        // A shim started by an agent belongs to that agent's attempt, should the agent's own shim
        // be lost.
        if let Some(outer) = std::env::var_os(ATTEMPT_VARIABLE) {
            command.env(ATTEMPT_VARIABLE, outer);
        }
        command
    }

    fn spawn_error(&self, attempt: &Attempt, error: std::io::Error) -> SupervisorError {
        let program = self.program.clone();
        not_started(attempt, ShimFailure::Program { program, error })
    }
}

/// Starts many shims through one helper process that stays, one after the other.
#[derive(Debug)]
pub struct ShimStarter {
    shim: ShimProgram,
    process: Option<StarterProcess>,
}

/// The helper process that stays.
#[derive(Debug)]
struct StarterProcess {
    child: Child,
    requests: ChildStdin,
    reports: ChildStdout,
}

impl Drop for StarterProcess {
    fn drop(&mut self) {
        // It may wait for a shim that reports nothing; the shims it started outlive it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl ShimStarter {
    /// Creates a starter. The helper process is started with the first shim.
    pub fn new(shim: ShimProgram) -> ShimStarter {
        ShimStarter {
            shim,
            process: None,
        }
    }

    /// Starts a shim like [`ShimProgram::start_shim`].
    pub fn start_shim(&mut self, attempt: &Attempt) -> Result<(), SupervisorError> {
        if let Some(word) = self.request_start(attempt.folder()) {
            return check_report(attempt, Some(word), self.shim.ready);
        }
        // The helper was killed, or the program is of a version without this command. A second shim
        // for an attempt does no harm.
        self.process = None;
        self.shim.start_shim(attempt)
    }

    fn request_start(&mut self, folder: &Path) -> Option<String> {
        if self.process.is_none() {
            self.process = Some(self.spawn_starter()?);
        }
        let process = self.process.as_mut()?;
        let question = [folder.as_os_str().as_bytes(), &[END]].concat();
        process.requests.write_all(&question).ok()?;
        read_report(&mut process.reports, self.shim.ready).filter(|word| !word.is_empty())
    }

    fn spawn_starter(&self) -> Option<StarterProcess> {
        let mut command = self.shim.base_command();
        // Keys typed at a terminal are not for it.
        command.arg(STARTER).stdin(Stdio::piped()).process_group(0);
        let mut child = command.spawn().ok()?;
        let (requests, reports) = (child.stdin.take()?, child.stdout.take()?);
        Some(StarterProcess {
            child,
            requests,
            reports,
        })
    }
}

fn not_started(attempt: &Attempt, why: ShimFailure) -> SupervisorError {
    let attempt = attempt.id().to_owned();
    SupervisorError::NotStarted { attempt, why }
}

/// Converts the report of a shim into a result.
fn check_report(
    attempt: &Attempt,
    word: Option<String>,
    ready: Duration,
) -> Result<(), SupervisorError> {
    match word.as_deref() {
        Some("ready") => Ok(()),
        Some("") => Err(not_started(attempt, ShimFailure::Silent)),
        Some(word) => {
            let report = word.to_owned();
            Err(not_started(attempt, ShimFailure::Reported { report }))
        }
        None => {
            let ms = ready.as_millis().try_into().unwrap_or(u64::MAX);
            Err(not_started(attempt, ShimFailure::Slow { ms }))
        }
    }
}

/// Reads the next report, without its terminator. `None` when it takes too long.
fn read_report(from: &mut (impl Read + std::os::fd::AsFd), ready: Duration) -> Option<String> {
    let end = Instant::now() + ready;
    let mut word = Vec::new();
    loop {
        let left = Timespec::try_from(end.saturating_duration_since(Instant::now())).ok()?;
        let mut fds = [PollFd::new(from, PollFlags::IN)];
        match poll(&mut fds, Some(&left)) {
            Ok(0) => return None,
            Err(rustix::io::Errno::INTR) => continue,
            Ok(_) => {}
            Err(_) => return None,
        }
        let mut chunk = [0; 512];
        match from.read(&mut chunk) {
            Ok(0) => break,
            Ok(count) => word.extend_from_slice(&chunk[..count]),
            Err(_) => return None,
        }
        if word.last() == Some(&END) {
            word.pop();
            break;
        }
        if word.len() > MESSAGE_BYTES_MAX {
            break;
        }
    }
    Some(String::from_utf8_lossy(&word).into_owned())
}
