//! Starting a shim so that it is nobody's child.

use crate::ATTEMPT_VARIABLE;
use crate::attempt::Attempt;
use crate::error::Error;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long a shim may take to be ready.
const READY_MS_MAX: u64 = 20_000;
/// The longest message of a shim that could not start.
const MESSAGE_BYTES_MAX: usize = 4096;

/// The program that becomes a shim, with the words that lead to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shim {
    program: PathBuf,
    words: Vec<String>,
}

impl Shim {
    /// A program that hands its arguments to [`crate::shim::main`] when the given words come first.
    pub fn new(program: &Path, words: &[&str]) -> Shim {
        Shim {
            program: program.to_owned(),
            words: words.iter().map(|&word| word.to_owned()).collect(),
        }
    }

    /// Leaves a shim behind that owns the attempt and waits for `go`. Returns when it answers, or says why it does not.
    ///
    /// Doing so twice is harmless: the second shim finds the lock taken and leaves.
    pub fn start(&self, attempt: &Attempt) -> Result<(), Error> {
        let failed = |message: String| Error::NotStarted {
            attempt: attempt.id().to_owned(),
            message,
        };
        let mut command = Command::new(&self.program);
        command
            .args(&self.words)
            .arg("start")
            .arg(attempt.folder())
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        // A shim started by an agent is part of what that agent left behind, should its own shim be lost.
        if let Some(outer) = std::env::var_os(ATTEMPT_VARIABLE) {
            command.env(ATTEMPT_VARIABLE, outer);
        }
        let mut child = command
            .spawn()
            .map_err(|error| failed(format!("{}: {error}", self.program.display())))?;
        // The shim inherits this pipe: it ends when the shim has said its word, or is gone.
        let word = child.stdout.take().map(read_word);
        let _ = child.wait();
        match word {
            Some(Some(word)) if word == "ready" => Ok(()),
            Some(Some(word)) if word.is_empty() => Err(failed("it ended without a word".into())),
            Some(Some(word)) => Err(failed(word)),
            Some(None) | None => Err(failed(format!("not ready after {READY_MS_MAX} ms"))),
        }
    }
}

fn read_word(mut from: impl Read + std::os::fd::AsFd) -> Option<String> {
    let end = Instant::now() + Duration::from_millis(READY_MS_MAX);
    let mut word = Vec::new();
    loop {
        let left = Timespec::try_from(end.saturating_duration_since(Instant::now())).ok()?;
        let mut fds = [PollFd::new(&from, PollFlags::IN)];
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
        if word.len() > MESSAGE_BYTES_MAX {
            break;
        }
    }
    Some(String::from_utf8_lossy(&word).into_owned())
}
