//! The stub between the shim and the agent: sets what a process can only set for itself, then
//! becomes the agent.

use super::{CANNOT_RUN, relay};
use crate::attempt::{Attempt, create_private_file};
use crate::cgroup::Cgroup;
use crate::sandbox::Sandbox;
use crate::spec::{AttemptSpec, CgroupSpec, ProcessLimits};
use crate::start_error::StartError;
use nix::sys::signal::SigSet;
use rustix::process::{
    Resource, Rlimit, Signal, getppid, set_parent_process_death_signal, setrlimit,
};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};

/// File with the error of a stub that did not become the agent.
pub(super) const ERROR_FILE: &str = "exec-error";

/// Becomes the agent, or writes the error to [`ERROR_FILE`].
pub(super) fn exec_agent(folder: &Path, shim: Option<i32>) -> ExitCode {
    let Ok(attempt) = Attempt::open_existing(folder) else {
        return ExitCode::from(CANNOT_RUN);
    };
    let open = || create_private_file(&attempt.file_path(ERROR_FILE));
    let sandbox = attempt.spec().sandbox.as_ref();
    // Opened now: inside the sandbox it could not be. Closed when the agent's program takes over.
    // Without a sandbox, a file that is created and removed for every agent would only cost time:
    // file systems reuse such inodes last.
    let opened = match sandbox.map(|_| open()) {
        Some(Err(_)) => return ExitCode::from(CANNOT_RUN),
        Some(Ok(file)) => Some(file),
        None => None,
    };
    let why = prepare_process(&attempt, shim, sandbox)
        .err()
        .unwrap_or_else(|| {
            let spec = attempt.spec();
            let program = spec.command.first().map_or("", String::as_str);
            let error = Command::new(program).args(&spec.command[1..]).exec();
            StartError::Program {
                name: program.to_owned(),
                error: error.to_string(),
            }
        });
    if let Some(mut file) = opened.or_else(|| open().ok()) {
        // Nothing more can be done when this fails; the exit code still says that nothing ran.
        let _ = file.write_all(why.to_string().as_bytes());
    }
    ExitCode::from(CANNOT_RUN)
}

/// Becomes the program that serves one connection from inside the sandbox.
pub(super) fn exec_relay(folder: &Path, shim: Option<i32>) -> ExitCode {
    let Ok(attempt) = Attempt::open_existing(folder) else {
        return ExitCode::from(CANNOT_RUN);
    };
    let spec = attempt.spec();
    let (Some(sandbox), Some(relay)) = (relay::relay_sandbox(spec, attempt.folder()), &spec.relay)
    else {
        return ExitCode::from(CANNOT_RUN);
    };
    if prepare_process(&attempt, shim, Some(&sandbox)).is_ok() {
        let mut program = Command::new(&relay.program);
        // The client finds the connection closed.
        let _ = program.args(&relay.words).arg(attempt.folder()).exec();
    }
    ExitCode::from(CANNOT_RUN)
}

fn prepare_process(
    attempt: &Attempt,
    shim: Option<i32>,
    sandbox: Option<&Sandbox>,
) -> Result<(), StartError> {
    let spec: &AttemptSpec = attempt.spec();
    // The shim blocks the signals it reads from a file, and a new program inherits the blocked set.
    SigSet::empty()
        .thread_set_mask()
        .map_err(|error| StartError::action_failed("unblock signals", error))?;
    if spec.command.is_empty() {
        return Err(StartError::NoCommand);
    }
    // The agent must not outlive its shim: its output would not be read, and it could not be
    // stopped.
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| StartError::action_failed("tie the agent to its shim", error))?;
    // The shim may have died before the line above.
    if getppid().map(|pid| pid.as_raw_nonzero().get()) != shim {
        return Err(StartError::ShimGone);
    }
    let score = spec.limits.oom_score.to_string();
    // A lower score than ours needs a privilege; the agent runs without it.
    let _ = std::fs::write("/proc/self/oom_score_adj", score);
    set_limits(&spec.limits)?;
    let owner = attempt.read_owner().map_err(|error| error.to_string())?;
    if let Some(path) = owner.and_then(|owner| owner.cgroup) {
        let entered = match Cgroup::open(&path, attempt.id()) {
            Some(cgroup) => cgroup.enter(),
            None => Err(std::io::ErrorKind::NotFound.into()),
        };
        // Outside of its group an agent is stopped and ended process by process.
        if let (Err(error), false) = (
            entered,
            spec.cgroup.as_ref().is_some_and(CgroupSpec::is_optional),
        ) {
            return Err(StartError::not_entered(&path, error));
        }
    }
    sandbox.map_or(Ok(()), Sandbox::restrict_thread)?;
    Ok(())
}

fn set_limits(limits: &ProcessLimits) -> Result<(), StartError> {
    let wanted = [
        (Resource::Nofile, limits.open_files, "open files"),
        (Resource::Fsize, limits.file_bytes, "file size"),
        (Resource::As, limits.memory_bytes, "memory"),
        (Resource::Cpu, limits.cpu_seconds, "processor time"),
        (Resource::Nproc, limits.processes, "processes"),
    ];
    for (resource, limit, name) in wanted {
        if limit.is_some() {
            let both = Rlimit {
                current: limit,
                maximum: limit,
            };
            setrlimit(resource, both)
                .map_err(|error| StartError::action_failed(&format!("limit {name}"), error))?;
        }
    }
    Ok(())
}
