//! Single agents, started and watched by hand: the smallest user of the supervisor.

mod control_group;
mod develop_access;
mod list;
mod presets;
mod roots;
mod shown_bytes;
mod toolchains;
mod watch;

pub use control_group::{ControlGroupRequest, GroupMode};
pub use list::{AttemptList, ENDED_MAX, ListedAttempt, ShimSilence, UNSHOWN_MAX};
pub use roots::{RELAY_WORD, SandboxGrant, SandboxRequest};
pub use shown_bytes::ShownBytes;
pub use watch::{OutputWatcher, WatchOutcome};

use crate::context::Context;
use crate::error::Error;
use crate::words::system_cause;
use bowline_gate::locate::state_home_in;
use bowline_statefiles::ContentHash;
use bowline_supervisor::{
    ATTEMPT_VARIABLE, Attempt, AttemptCondition, AttemptSpec, ObservedState, RELAY_VARIABLE,
    SendOutcome, ShimHandle, ShimProgram, ShimRefusal, SweepReport, TEMPORARY, WantedState,
    sweep_attempt,
};
use bowline_words::message::{Advice, NotRun, Wrong};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Length of an attempt id in characters. Enough to be unique among the attempts that are kept, few
/// enough to be read out.
const ID_LETTERS: usize = 10;
/// Time limit of one wait for news before the shim is checked again, in milliseconds.
const NEWS_MS: u64 = 5_000;
/// Time limit for an order, in milliseconds. Ending includes the grace period, and killed processes
/// may take their time.
const OBEYED_MS: u64 = 30_000;
/// Most bytes of all variable names and values given to an agent. The message that carries them to
/// the shim is slightly larger.
const ENVIRONMENT_BYTES_MAX: usize = 1_000_000;
/// Time limit for a shim to exit once it no longer answers, in milliseconds.
const LEAVING_MS: u64 = 2_000;
/// Most retries of an order after another caller's order took precedence. Each retry means that
/// another order went through, so this many callers would have to be faster.
const TRIES_MAX: usize = 1_000;

/// Attempts in one folder, by default those of this user.
#[derive(Debug, Clone)]
pub struct AgentAttempts {
    folder: PathBuf,
}

/// Agent to be started.
#[derive(Debug, Clone)]
pub struct NewAgent {
    /// Display name.
    pub name: String,
    /// Working folder.
    pub folder: PathBuf,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Sandbox request; `None` grants everything.
    pub sandbox: Option<SandboxRequest>,
    /// Control group request with its limits.
    pub group: ControlGroupRequest,
    /// Keeps the standard input of the agent open.
    pub open_input: bool,
}

/// Result of an order.
#[derive(Debug, Clone)]
pub struct OrderOutcome {
    /// Attempt after the order.
    pub listed: ListedAttempt,
    /// Cleanup result of a lost attempt.
    pub swept: Option<SweepReport>,
}

impl AgentAttempts {
    /// Returns the attempts of this user.
    pub fn of_user(context: &Context) -> AgentAttempts {
        let variable = |name| context.variables.get(name).map(OsStr::to_owned);
        AgentAttempts {
            folder: state_home_in(variable).join("bowline/attempts"),
        }
    }

    /// Returns the attempts of a run, in a folder of its own.
    pub fn in_folder(folder: PathBuf) -> AgentAttempts {
        AgentAttempts { folder }
    }

    /// Finds the attempt whose id begins with `prefix`.
    pub fn find_attempt(&self, prefix: &str) -> Result<Attempt, Error> {
        let name = |folder: &Path| {
            folder
                .file_name()
                .and_then(|it| it.to_str().map(str::to_owned))
        };
        let mut fitting: Vec<(String, PathBuf)> = self
            .attempt_folders()
            .into_iter()
            .filter_map(|(_, folder)| Some((name(&folder)?, folder)))
            .filter(|(name, _)| name.starts_with(prefix))
            .collect();
        if let Some(exact) = fitting.iter().position(|(name, _)| name == prefix) {
            fitting = vec![fitting.swap_remove(exact)];
        }
        match fitting.as_slice() {
            [] => Err(Error::NoAttempt {
                id: prefix.to_owned(),
            }),
            [(_, folder)] => Ok(Attempt::open_existing(folder)?),
            several => Err(Error::AmbiguousId {
                id: prefix.to_owned(),
                fitting: several.iter().map(|(name, _)| name.clone()).collect(),
            }),
        }
    }

    /// Starts an agent with the caller's environment. The attempt is on the disk before anything
    /// runs.
    pub fn start_agent(
        &self,
        context: &Context,
        new: NewAgent,
    ) -> Result<(Attempt, ShimHandle), Error> {
        let group = new.group.resolve_spec()?;
        let grant = self.resolve_grant(context, &new)?;
        self.forget_old(&|_| false);
        let id = self.new_id(context);
        let folder = self.folder.join(&id);
        let mut environment: BTreeMap<OsString, OsString> = context
            .variables
            .all_pairs()
            .filter(|(name, _)| name != ATTEMPT_VARIABLE && name != RELAY_VARIABLE)
            .collect();
        let bytes: usize = environment
            .iter()
            .map(|(name, value)| name.len() + value.len())
            .sum();
        if bytes > ENVIRONMENT_BYTES_MAX {
            return Err(Error::BadInput {
                message: Wrong::BigEnvironment {
                    bytes,
                    max: ENVIRONMENT_BYTES_MAX,
                },
                hint: Advice::SmallerEnvironment,
            });
        }
        let mut spec = AttemptSpec::new(&id, new.command, new.folder);
        spec.name = new.name;
        spec.cgroup = group;
        let mut home = None;
        if let Some(grant) = grant {
            for folder in &grant.make {
                // A folder that cannot be made is not granted; a program that needs it reports
                // that.
                let _ = std::fs::create_dir_all(folder);
            }
            home = grant.home;
            // Most programs need a folder for temporary files; this one is the agent's alone.
            let temporary = folder.join(TEMPORARY);
            environment.insert("TMPDIR".into(), temporary.into());
            spec.folder = grant.folder;
            spec.sandbox = Some(grant.sandbox);
            spec.relay = grant.relay;
        }
        let attempt = Attempt::create(&folder, spec)?;
        if let Some(home) = home {
            let made = home.create_in(&folder.join(TEMPORARY));
            let (name, value) = made.map_err(|error| Error::AgentNotStarted {
                id: id.clone(),
                why: Box::new(NotRun::SettingsFolder {
                    cause: system_cause(&error),
                }),
            })?;
            environment.insert(name.into(), value.into());
        }
        shim_program().start_shim(&attempt)?;
        let mut handle = ShimHandle::attach(&attempt, 0).map_err(unreachable_error(&attempt))?;
        handle
            .start_agent_raw(&environment)
            .map_err(unreachable_error(&attempt))?;
        if !new.open_input {
            // Standard input ends at once, so that an agent that reads it does not wait for ever.
            match handle.send_input(1, b"", true) {
                Ok(_) => {}
                // The agent ended before its input could be closed.
                Err(error) if error.code() == "agent_not_running" => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok((attempt, handle))
    }

    /// Resolves the sandbox of an agent, if one is requested. Fails without a working folder: a
    /// removed folder has no path, and another that the shim finds in its place is not the one that
    /// was meant.
    pub fn resolve_grant(
        &self,
        context: &Context,
        new: &NewAgent,
    ) -> Result<Option<SandboxGrant>, Error> {
        if !new.folder.is_absolute() || !new.folder.is_dir() {
            return Err(Error::NoFolder {
                path: new.folder.clone(),
            });
        }
        let state = self.folder.parent().unwrap_or(&self.folder);
        let request = new.sandbox.as_ref();
        request
            .map(|request| {
                SandboxGrant::resolve_request(context, request, &new.folder, &new.command, state)
            })
            .transpose()
    }

    /// Brings an agent to a level and waits until it has reached it. Ending a lost attempt sweeps
    /// it.
    pub fn change_level(
        &self,
        attempt: &Attempt,
        want: WantedState,
    ) -> Result<OrderOutcome, Error> {
        let goal = match want {
            WantedState::Running => ObservedState::Running,
            WantedState::Paused => ObservedState::Paused,
            WantedState::Ended => ObservedState::Ended,
        };
        let (condition, reached) = settled_condition(attempt)?;
        match condition {
            AttemptCondition::Alive => {}
            AttemptCondition::Lost if want == WantedState::Ended => {
                let swept = Some(sweep_attempt(attempt)?);
                let listed = self.inspect_attempt(attempt)?;
                return Ok(OrderOutcome { listed, swept });
            }
            AttemptCondition::Ended(_) if want == WantedState::Ended => {
                let listed = self.inspect_attempt(attempt)?;
                return Ok(OrderOutcome {
                    listed,
                    swept: None,
                });
            }
            AttemptCondition::Lost | AttemptCondition::Ended(_) | AttemptCondition::Intended => {
                return Err(Error::NotRunning {
                    id: attempt.id().to_owned(),
                });
            }
        }
        let mut handle = reached.map_err(unreachable_error(attempt))?;
        let mut tries = 0;
        loop {
            let status = handle.last_status();
            let (fence, generation) = (status.fence, status.generation + 1);
            handle.set_fence(fence);
            match handle.set_wanted_state(want, generation) {
                Ok(_) => break,
                // Another caller was faster. The last order counts, and it shall be this one.
                Err(error) if is_lost_race(&error) && tries < TRIES_MAX => {
                    tries += 1;
                    handle.fetch_status()?;
                }
                Err(error) => return Err(error.into()),
            }
        }
        let end = Instant::now() + Duration::from_millis(OBEYED_MS);
        while handle.last_status().state != goal && Instant::now() < end {
            let status = handle.last_status();
            let (out, err) = (status.out.end, status.err.end);
            if handle
                .wait_for_change(out, err, Duration::from_millis(NEWS_MS))
                .is_err()
            {
                break;
            }
        }
        let reached = handle.last_status().state;
        let listed = self.inspect_attempt(attempt)?;
        if reached != goal && listed.condition == AttemptCondition::Alive {
            return Err(Error::NotYet {
                id: attempt.id().to_owned(),
                want,
                seconds: OBEYED_MS / 1000,
            });
        }
        Ok(OrderOutcome {
            listed,
            swept: None,
        })
    }

    /// Sends one message to the agent; with `last`, its standard input is closed after it.
    pub fn send_message(&self, attempt: &Attempt, bytes: &[u8], last: bool) -> Result<(), Error> {
        let mut handle = self.connect_live(attempt)?;
        let mut tries = 0;
        loop {
            let status = handle.last_status();
            if status.input.closed && status.state != ObservedState::Ended {
                return Err(Error::InputClosed {
                    id: attempt.id().to_owned(),
                });
            }
            let (fence, seq) = (status.fence, status.input.next);
            handle.set_fence(fence);
            match handle.send_input(seq, bytes, last) {
                Ok(SendOutcome::Accepted) => return Ok(()),
                // Another caller's message took this number.
                Ok(SendOutcome::Already) if tries < TRIES_MAX => {}
                Ok(SendOutcome::Already) => {
                    return Err(bowline_supervisor::SupervisorError::Refused {
                        why: ShimRefusal::InputGap,
                        message: format!("others were quicker {TRIES_MAX} times"),
                    }
                    .into());
                }
                Err(error) if is_lost_race(&error) && tries < TRIES_MAX => {}
                Err(error) => return Err(error.into()),
            }
            tries += 1;
            handle.fetch_status()?;
        }
    }

    /// Interrupts the agent, as Ctrl-C in a terminal does.
    pub fn interrupt_agent(&self, attempt: &Attempt) -> Result<(), Error> {
        let mut handle = self.connect_live(attempt)?;
        let mut tries = 0;
        loop {
            let status = handle.last_status();
            let (fence, seq) = (status.fence, status.interrupts + 1);
            handle.set_fence(fence);
            match handle.interrupt_agent(seq) {
                // Another caller interrupted with the same number at the same moment: once is
                // enough.
                Ok(_) => return Ok(()),
                Err(error) if is_lost_race(&error) && tries < TRIES_MAX => {}
                Err(error) => return Err(error.into()),
            }
            tries += 1;
            handle.fetch_status()?;
        }
    }

    /// Connects to the shim of a live attempt.
    fn connect_live(&self, attempt: &Attempt) -> Result<ShimHandle, Error> {
        let (condition, reached) = settled_condition(attempt)?;
        match condition {
            AttemptCondition::Alive => Ok(reached.map_err(unreachable_error(attempt))?),
            AttemptCondition::Lost | AttemptCondition::Ended(_) | AttemptCondition::Intended => {
                Err(Error::NotRunning {
                    id: attempt.id().to_owned(),
                })
            }
        }
    }

    fn new_id(&self, context: &Context) -> String {
        let mut number = 0;
        loop {
            let seed = format!("{} {} {number}", context.clock.now_ms(), std::process::id());
            let hash = ContentHash::of_bytes(seed.as_bytes()).to_string();
            let id: String = hash.chars().take(ID_LETTERS).collect();
            if !self.folder.join(&id).exists() {
                return id;
            }
            number += 1;
        }
    }
}

/// Returns the condition of an attempt and the result of connecting to its shim. A shim that has
/// written its end holds its lock a moment longer without answering; this waits for that moment to
/// pass.
fn settled_condition(
    attempt: &Attempt,
) -> Result<
    (
        AttemptCondition,
        Result<ShimHandle, bowline_supervisor::SupervisorError>,
    ),
    Error,
> {
    let until = Instant::now() + Duration::from_millis(LEAVING_MS);
    loop {
        let condition = attempt.condition()?;
        let reached = ShimHandle::attach(attempt, 0);
        let over = match &reached {
            Ok(_) => true,
            Err(error) => condition != AttemptCondition::Alive || !is_exiting(error),
        };
        if over || Instant::now() >= until {
            return Ok((condition, reached));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Maps an unreachable shim to an error that names its process, so that a person can act on it.
fn unreachable_error(attempt: &Attempt) -> impl Fn(bowline_supervisor::SupervisorError) -> Error {
    |error| match error {
        bowline_supervisor::SupervisorError::Unreachable { .. } => silent_shim(attempt),
        other => other.into(),
    }
}

fn silent_shim(attempt: &Attempt) -> Error {
    let silence = ShimSilence::inspect_shim(attempt);
    Error::SilentShim {
        id: attempt.id().to_owned(),
        pid: silence.pid,
        stopped: silence.stopped,
    }
}

/// True if a shim did not answer because it is exiting: its socket is closed. One that refuses, or
/// times out, stays so.
fn is_exiting(error: &bowline_supervisor::SupervisorError) -> bool {
    match error {
        bowline_supervisor::SupervisorError::Unreachable { source, .. } => {
            source.kind() != std::io::ErrorKind::TimedOut
        }
        _ => false,
    }
}

/// True if a refusal only says that another caller was faster.
fn is_lost_race(error: &bowline_supervisor::SupervisorError) -> bool {
    ["stale_generation", "input_gap", "fenced_out"].contains(&error.code())
}

/// Returns the program that acts as shim: the small one beside this program, or this program
/// itself.
pub fn shim_program() -> ShimProgram {
    let me = std::env::current_exe().unwrap_or_default();
    let small = me.with_file_name("bowline-shim");
    if small.is_file() {
        ShimProgram::new(&small, &[])
    } else {
        // Works even if the file of this program was replaced since it was started.
        ShimProgram::new(Path::new("/proc/self/exe"), &[SHIM_WORD])
    }
}

/// First argument that makes the program `bowline` act as a shim.
pub const SHIM_WORD: &str = "shim";
