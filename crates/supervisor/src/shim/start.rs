//! Starting detached shims.

use super::MYSELF;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{WaitOptions, wait};
use rustix::stdio::{stdin, stdout};
use std::ffi::OsStr;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// Terminator of a folder in the input and of a report in the output: no path contains it.
pub(crate) const END: u8 = 0;

/// Time for retries, and pause between them, when a process cannot be started for lack of
/// resources.
const SPAWN_MS_MAX: u64 = 5_000;
const SPAWN_AGAIN_MS: u64 = 50;

/// Bytes read at once.
const CHUNK_BYTES: usize = 4096;

/// Starts the shim and exits, so that the shim is orphaned. The shim reports on standard output,
/// which it inherits, when it is ready.
pub(super) fn start_detached(prefix: &[&str], folder: &Path) -> ExitCode {
    match spawn_shim(prefix, folder, Stdio::inherit()) {
        Ok(_) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Starts a shim for every folder on standard input and writes each shim's report to standard
/// output. Exits when the input ends, that is, when the client is gone; its shims go on.
pub(super) fn run_starter(prefix: &[&str]) -> ExitCode {
    match serve_starts(prefix) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn serve_starts(prefix: &[&str]) -> io::Result<()> {
    let mut children = SigSet::empty();
    children.add(Signal::SIGCHLD);
    children.thread_block()?;
    let flags = SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC;
    let ended = SignalFd::with_flags(&children, flags)?;
    let mut asked = Vec::new();
    loop {
        let mut sources = [
            PollFd::new(&ended, PollFlags::IN),
            PollFd::from_borrowed_fd(stdin(), PollFlags::IN),
        ];
        match poll(&mut sources, None) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        let [child, question] = sources.map(|source| !source.revents().is_empty());
        if child {
            while let Ok(Some(_)) = ended.read_signal() {}
            while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
        }
        if !question {
            continue;
        }
        let mut chunk = [0; CHUNK_BYTES];
        match rustix::io::read(stdin(), &mut chunk)? {
            0 => return Ok(()),
            count => asked.extend_from_slice(&chunk[..count]),
        }
        while let Some(end) = asked.iter().position(|&byte| byte == END) {
            let folder: Vec<u8> = asked.drain(..=end).collect();
            let mut word = start_and_report(prefix, Path::new(OsStr::from_bytes(&folder[..end])));
            word.push(END);
            // Short enough for a pipe to take it whole.
            rustix::io::write(stdout(), &word)?;
        }
    }
}

/// Starts a shim and returns its report: its pipe ends when it has reported, or is gone.
fn start_and_report(prefix: &[&str], folder: &Path) -> Vec<u8> {
    let mut word = Vec::new();
    match spawn_shim(prefix, folder, Stdio::piped()) {
        Ok(mut shim) => {
            let said = shim.stdout.take().map(|mut it| it.read_to_end(&mut word));
            debug_assert!(said.is_some(), "its output was asked for");
        }
        Err(error) => word = error.to_string().into_bytes(),
    }
    word
}

/// Starts a program, with retries for a while if no process can be created.
pub(super) fn spawn_with_retries(command: &mut Command) -> io::Result<Child> {
    let end = Instant::now() + Duration::from_millis(SPAWN_MS_MAX);
    loop {
        match command.spawn() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && Instant::now() < end => {
                std::thread::sleep(Duration::from_millis(SPAWN_AGAIN_MS));
            }
            done => return done,
        }
    }
}

fn spawn_shim(prefix: &[&str], folder: &Path, output: Stdio) -> io::Result<Child> {
    Command::new(MYSELF)
        .args(prefix)
        .arg("agent")
        .arg(folder)
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(Stdio::null())
        .spawn()
}
