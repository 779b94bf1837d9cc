//! Processes of a scripted agent that misbehaves. It stands for a third-party program, and is
//! supervised like one.

use bowline_engine::formats::scenario::{ClosedStream, IgnoredSignal};
use rustix::stdio::{dup2_stderr, dup2_stdout};
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

/// Variable that is set once the signals are ignored.
const IGNORING_VARIABLE: &str = "BOWLINE_SCRIPTED_IGNORES";

/// Ignores signals from here on. A shell sets them to ignored and executes this program again,
/// which inherits that.
pub(super) fn ignore_signals(signals: &[IgnoredSignal]) -> io::Result<()> {
    if signals.is_empty() || std::env::var_os(IGNORING_VARIABLE).is_some() {
        return Ok(());
    }
    let names: Vec<&str> = signals.iter().map(|signal| signal.name()).collect();
    let script = format!("trap '' {}; exec \"$0\" \"$@\"", names.join(" "));
    let error = Command::new("/bin/sh")
        .args(["-c", &script])
        .arg(std::env::current_exe()?)
        .args(std::env::args_os().skip(1))
        .env(IGNORING_VARIABLE, "1")
        .exec();
    Err(error)
}

/// Starts processes that only sleep, and does not wait for them.
pub(super) fn start_sleepers(count: u32, seconds: u64, daemon: bool) -> io::Result<()> {
    for _ in 0..count {
        let mut command = if daemon {
            let mut command = Command::new("setsid");
            command.arg("sleep");
            command
        } else {
            Command::new("sleep")
        };
        command
            .arg(seconds.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
    }
    Ok(())
}

/// Closes a stream: its reader finds the end. Later writes go nowhere, as in a program that does
/// not check them.
pub(super) fn close_stream(stream: ClosedStream) -> io::Result<()> {
    let nowhere = File::options().write(true).open("/dev/null")?;
    match stream {
        ClosedStream::Stdout => dup2_stdout(nowhere)?,
        ClosedStream::Stderr => dup2_stderr(nowhere)?,
    }
    Ok(())
}

/// Replaces this process by another program; returns only on failure.
pub(super) fn become_another(command: &[String]) -> io::Error {
    match command {
        [] => io::ErrorKind::InvalidInput.into(),
        [program, arguments @ ..] => Command::new(program).args(arguments).exec(),
    }
}

/// Executes this program again with other arguments; returns only on failure.
pub(crate) fn become_this_again(words: impl Iterator<Item = std::ffi::OsString>) -> io::Error {
    match std::env::current_exe() {
        Ok(me) => Command::new(me).args(words).exec(),
        Err(error) => error,
    }
}
