//! Start of the shim: it takes ownership of its attempt, or exits.

use super::attempt_folder::AttemptFolder;
use super::event_loop::ShimEventLoop;
use crate::attempt::{Attempt, LockOwner, create_private_file, open_writable, socket_path};
use crate::process::{ProcessSnapshot, boot_id};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use rustix::fs::{FallocateFlags, FlockOperation, fallocate, flock};
use rustix::process::{getpid, set_child_subreaper, setsid};
use rustix::stdio::{dup2_stdout, stdout};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Time to wait for the lock. A client that checks an attempt holds the lock for a moment; only a
/// longer one is another shim.
const LOCK_WAIT_MS: u64 = 300;
const LOCK_PAUSE_MS: u64 = 2;

/// Bytes reserved for the end in advance: a full disk must not hide how an attempt ended.
const EXIT_BYTES: u64 = 4096;

/// Runs the shim: takes the attempt, reports on standard output, and serves until the end.
pub(super) fn run_shim(prefix: &[&str], folder: &Path) -> ExitCode {
    let owned = take_ownership(prefix, folder);
    let report = match &owned {
        Ok(_) => "ready".to_owned(),
        Err(why) => why.clone(),
    };
    // The reader of this report may be gone.
    let _ = rustix::io::write(stdout(), report.as_bytes());
    if let Ok(null) = File::options().write(true).open("/dev/null") {
        let _ = dup2_stdout(null);
    }
    match owned {
        Ok(run) => run.serve_until_end(),
        Err(_) => ExitCode::FAILURE,
    }
}

/// Prepares everything a shim needs before it can wait for `go`.
fn take_ownership(prefix: &[&str], folder: &Path) -> Result<ShimEventLoop, String> {
    let attempt = Attempt::open_existing(folder).map_err(|error| error.to_string())?;
    let failed = |what: &str| {
        let what = what.to_owned();
        move |error: io::Error| format!("cannot {what}: {error}")
    };
    let lock = open_writable(&attempt.file_path("lock")).map_err(failed("open the lock"))?;
    let end = Instant::now() + Duration::from_millis(LOCK_WAIT_MS);
    while flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
        if Instant::now() >= end {
            return Err("another shim owns the attempt".into());
        }
        std::thread::sleep(Duration::from_millis(LOCK_PAUSE_MS));
    }
    refuse_started_attempt(&attempt)?;
    // A group leader cannot create a session; `start` makes sure that this process is none.
    setsid().map_err(|error| failed("found a session")(error.into()))?;
    set_child_subreaper(Some(getpid())).map_err(|error| failed("adopt orphans")(error.into()))?;
    let signals = open_signals().map_err(failed("watch signals"))?;
    let place = File::open(attempt.folder()).map_err(failed("open the folder"))?;
    let path = socket_path(&place);
    // Left by a shim that exited before `go`; it has no listener, because the lock is ours.
    let _ = std::fs::remove_file(&path);
    let listener = UnixListener::bind(&path).map_err(failed("listen"))?;
    listener.set_nonblocking(true).map_err(failed("listen"))?;
    let exit = match create_private_file(&attempt.file_path("exit.json")) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            open_writable(&attempt.file_path("exit.json")).map_err(failed("open exit.json"))?
        }
        Err(error) => return Err(failed("open exit.json")(error)),
    };
    // Not every file system can reserve; then a full disk makes an ended attempt look lost, which
    // is safe.
    let _ = fallocate(&exit, FallocateFlags::KEEP_SIZE, 0, EXIT_BYTES);
    let me = getpid().as_raw_nonzero().get();
    let owner = LockOwner {
        pid: me,
        start: ProcessSnapshot::read_process(me).map_or(0, |process| process.start),
        boot: boot_id(),
        ..LockOwner::default()
    };
    write_owner(&lock, &owner).map_err(failed("write the lock"))?;
    let place = AttemptFolder::new(place, lock, attempt.folder());
    Ok(ShimEventLoop::new(
        prefix, attempt, place, owner, signals, listener, exit,
    ))
}

/// Refuses an attempt whose agent was started before: an agent is started once.
fn refuse_started_attempt(attempt: &Attempt) -> Result<(), String> {
    // The condition would be `Alive`, as our own lock is held: check the rest only.
    let exit = attempt.read_exit().map_err(|error| error.to_string())?;
    let owner = attempt.read_owner().map_err(|error| error.to_string())?;
    if exit.is_some() {
        return Err("the attempt has ended".into());
    }
    if owner.is_some_and(|owner| owner.go) {
        return Err("the attempt was lost".into());
    }
    match attempt.made_in_this_boot() {
        Ok(true) => Ok(()),
        Ok(false) => Err("the attempt was made before the machine was started".into()),
        Err(error) => Err(error.to_string()),
    }
}

/// Writes the holder of the lock into it.
pub(super) fn write_owner(lock: &File, owner: &LockOwner) -> io::Result<()> {
    let text = serde_json::to_vec(owner)?;
    lock.write_all_at(&text, 0)?;
    lock.set_len(text.len() as u64)
}

/// Opens a signal file for changed children and for requests to end the shim.
fn open_signals() -> io::Result<SignalFd> {
    let mut set = SigSet::empty();
    for signal in [
        Signal::SIGCHLD,
        Signal::SIGTERM,
        Signal::SIGINT,
        Signal::SIGHUP,
        Signal::SIGXFSZ,
    ] {
        set.add(signal);
    }
    set.thread_block()?;
    let flags = SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC;
    Ok(SignalFd::with_flags(&set, flags)?)
}
