//! The processes of a scripted agent that misbehaves. It stands for somebody else's program, and is supervised like one.

use bowline_engine::formats::scenario::{Closed, Ignored};
use rustix::stdio::{dup2_stderr, dup2_stdout};
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

/// Set once the signals are ignored.
const IGNORING_VARIABLE: &str = "BOWLINE_SCRIPTED_IGNORES";

/// Ignores signals from here on. A shell sets them aside and becomes this program again: what is ignored stays so.
pub(super) fn ignoring(signals: &[Ignored]) -> io::Result<()> {
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

/// Starts processes that do nothing, and leaves them alone.
pub(super) fn fork(count: u32, seconds: u64, daemon: bool) -> io::Result<()> {
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

/// Closes a stream: whoever reads it finds its end. What is still written to it goes nowhere, as it would in a program that
/// does not look.
pub(super) fn close(stream: Closed) -> io::Result<()> {
    let nowhere = File::options().write(true).open("/dev/null")?;
    match stream {
        Closed::Stdout => dup2_stdout(nowhere)?,
        Closed::Stderr => dup2_stderr(nowhere)?,
    }
    Ok(())
}

/// Becomes another program. Comes back only with the reason why not.
pub(super) fn become_another(command: &[String]) -> io::Error {
    match command {
        [] => io::ErrorKind::InvalidInput.into(),
        [program, arguments @ ..] => Command::new(program).args(arguments).exec(),
    }
}

/// Becomes this program again, with other words. Comes back only with the reason why not.
pub(crate) fn become_this_again(words: impl Iterator<Item = std::ffi::OsString>) -> io::Error {
    match std::env::current_exe() {
        Ok(me) => Command::new(me).args(words).exec(),
        Err(error) => error,
    }
}
