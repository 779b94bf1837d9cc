//! The shim's side: the process that owns one agent, and the stub that becomes the agent.
//!
//! Each subcommand runs in a process of its own:
//!
//! - `start FOLDER` starts a detached shim;
//! - `starter` does so for every folder it reads, until its input ends;
//! - `agent FOLDER` is that shim;
//! - `exec FOLDER PID` is the stub that sets what a process can only set for itself and then
//!   becomes the agent;
//! - `relay FOLDER PID` does the same for a program that serves a sandboxed agent from outside.

mod attempt_folder;
mod clients;
mod control;
mod event_loop;
mod exec;
mod exit_record;
mod input;
mod mask;
mod output;
mod ownership;
mod relay;
mod start;

pub(crate) use start::END;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

/// Subcommands that a program must pass on to [`main`].
pub const WORDS: [&str; 5] = ["start", STARTER, "agent", "exec", relay::SOCKET];

/// Subcommand of the process that starts one shim after the other.
pub(crate) const STARTER: &str = "starter";

/// Exit code of `env` and `nohup` for a command that could not be run.
const CANNOT_RUN: u8 = 127;

/// Runs one of the subcommands in [`WORDS`]. `prefix` are the arguments that lead this program here
/// when it runs itself again.
pub fn main(prefix: &[&str], words: &[OsString]) -> ExitCode {
    let mut words = words.iter();
    let word = words.next().and_then(|word| word.to_str());
    let folder = words.next().map(Path::new);
    match (word, folder) {
        (Some("start"), Some(folder)) => start::start_detached(prefix, folder),
        (Some(STARTER), None) => start::run_starter(prefix),
        (Some("agent"), Some(folder)) => ownership::run_shim(prefix, folder),
        (Some(word @ ("exec" | relay::SOCKET)), Some(folder)) => {
            let shim = words.next().and_then(|word| word.to_str()?.parse().ok());
            match word {
                "exec" => exec::exec_agent(folder, shim),
                _ => exec::exec_relay(folder, shim),
            }
        }
        _ => ExitCode::from(2),
    }
}

/// This program, even if the file at its path has been replaced since it was started.
const MYSELF: &str = "/proc/self/exe";
