//! The shim's side: the process that owns one agent, and the stub that becomes it.
//!
//! Five words of a program, each run in a process of its own: `start FOLDER` leaves a shim behind that is nobody's child,
//! `starter` does so for every folder it is told until nobody asks any more, `agent FOLDER` is that shim, and `exec FOLDER PID`
//! stands between the shim and the agent to set what a process can only set for itself; `relay FOLDER PID` does the same for a
//! program that serves a sandboxed agent from outside.

mod clients;
mod control;
mod end;
mod exec;
mod input;
mod mask;
mod output;
mod own;
mod place;
mod relay;
mod run;
mod start;

pub(crate) use start::END;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

/// The words a program must hand over to [`main`].
pub const WORDS: [&str; 5] = ["start", STARTER, "agent", "exec", relay::SOCKET];

/// The word of the process that starts one shim after the other.
pub(crate) const STARTER: &str = "starter";

/// Ends in the manner of `env` and `nohup`: the command could not be run.
const CANNOT_RUN: u8 = 127;

/// Carries out one of [`WORDS`]. `prefix` are the words that lead this program here when it runs itself again.
pub fn main(prefix: &[&str], words: &[OsString]) -> ExitCode {
    let mut words = words.iter();
    let word = words.next().and_then(|word| word.to_str());
    let folder = words.next().map(Path::new);
    match (word, folder) {
        (Some("start"), Some(folder)) => start::start(prefix, folder),
        (Some(STARTER), None) => start::one_after_the_other(prefix),
        (Some("agent"), Some(folder)) => own::own(prefix, folder),
        (Some(word @ ("exec" | relay::SOCKET)), Some(folder)) => {
            let shim = words.next().and_then(|word| word.to_str()?.parse().ok());
            match word {
                "exec" => exec::exec(folder, shim),
                _ => exec::relay(folder, shim),
            }
        }
        _ => ExitCode::from(2),
    }
}

/// This program, whatever has been put at its path since it was started.
const MYSELF: &str = "/proc/self/exe";
