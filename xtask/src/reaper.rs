//! A chore inside a process that takes in what its processes leave behind.
//!
//! Tests start agents whose parents end first, thousands in one run. Who buries those is the first process of the machine, and
//! in many containers it does not: the dead pile up until no process can be started any more.

use rustix::process::{Pid, WaitOptions, getpid, set_child_subreaper, wait};
use std::process::Command;
use xtask::Outcome;

/// Runs a chore of this program as a child, and buries whoever is left to us until it ends.
pub(crate) fn around(chore: &str) -> Outcome {
    let told = |error: std::io::Error| format!("{chore}: {error}");
    set_child_subreaper(Some(getpid())).map_err(|error| told(error.into()))?;
    let program = std::env::current_exe().map_err(told)?;
    let child = Command::new(program).arg(chore).spawn().map_err(told)?;
    let child = Pid::from_child(&child);
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((ended, status))) if ended == child => {
                return match status.exit_status() {
                    Some(0) => Ok(()),
                    Some(_) => Err("not everything is green; see above".into()),
                    None => Err(format!("{chore}: ended by a signal")),
                };
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(told(error.into())),
        }
    }
}
