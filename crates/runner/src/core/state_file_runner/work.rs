//! Interface between a kind of work and the loop that runs it, and the report of a run.

use crate::core::attempt_record::{AgentReply, AttemptRecord};
use crate::core::clients::ClientProgram;
use crate::core::failure::FailureReason;
use bowline_engine::Error;
use std::path::PathBuf;

/// A unit of work that can be started or continued now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkUnit {
    /// Key of the unit, unique in the run; also shown to people.
    pub id: String,
    /// Number of the try, as the state file counts.
    pub round: u32,
    /// True if it is in progress in the state file.
    pub in_progress: bool,
}

/// Everything that an attempt of a unit needs.
#[derive(Debug, Clone)]
pub struct AttemptBrief {
    /// Prompt for the agent.
    pub prompt: String,
    /// Folder that the agent works in.
    pub folder: PathBuf,
    /// Value of `{phase}` in its command.
    pub number: u32,
    /// Variables that only this kind of work sets.
    pub variables: Vec<(&'static str, String)>,
    /// Time that this try may take; unlimited if none.
    pub time_ms: Option<i64>,
}

/// Outcome of an attempt.
#[derive(Debug, Clone, PartialEq)]
pub enum AttemptOutcome {
    /// It ended well, with this result.
    Ended(AgentReply),
    Failed(FailureReason),
}

/// Check that takes time, run on a thread of its own.
pub type CheckJob<C> = Box<dyn FnOnce() -> C + Send>;

/// Next step after an attempt.
pub enum NextStep<C> {
    /// The unit is done.
    Done,
    /// The unit is tried again.
    Retry {
        /// Wait before the next try.
        wait_ms: i64,
        why: FailureReason,
    },
    /// The unit failed for good: a person has to act.
    GaveUp { why: FailureReason },
    /// This check decides.
    Check(CheckJob<C>),
}

/// State of the work when no unit is ready.
#[derive(Debug)]
pub enum IdleReason {
    /// Nothing is left to do.
    Done,
    /// Only a person or another process can continue.
    Stopped(Box<Error>),
}

/// A kind of work. Every change of the state file is a verb of the engine.
pub trait StateFileWork {
    /// Result of a check.
    type Checked: Send + 'static;
    /// Returns the units that can be worked on now, in order, including those in progress.
    fn ready_units(&mut self) -> Result<Vec<WorkUnit>, Error>;
    /// Returns the client that works on a unit.
    fn unit_client(&mut self, unit: &WorkUnit) -> Result<ClientProgram, Error>;
    /// Returns a check that must run before an agent starts; an error ends the run.
    fn check_before_start(
        &mut self,
        _unit: &WorkUnit,
    ) -> Result<Option<CheckJob<Self::Checked>>, Error> {
        Ok(None)
    }
    /// Starts a unit in the state file; returns it as it is there now.
    fn start_unit(&mut self, unit: &WorkUnit) -> Result<WorkUnit, Error>;
    /// Returns prompt and settings of the next attempt.
    fn attempt_brief(
        &mut self,
        unit: &WorkUnit,
        note: &AttemptRecord,
    ) -> Result<AttemptBrief, Error>;
    /// Judges an attempt and changes the state file accordingly.
    fn judge_attempt(
        &mut self,
        unit: &WorkUnit,
        note: &AttemptRecord,
        outcome: AttemptOutcome,
    ) -> Result<NextStep<Self::Checked>, Error>;
    /// Continues with the result of a check.
    fn apply_check(
        &mut self,
        unit: &WorkUnit,
        note: &AttemptRecord,
        found: Self::Checked,
    ) -> Result<NextStep<Self::Checked>, Error>;
    /// Explains why no unit is ready.
    fn idle_reason(&mut self) -> Result<IdleReason, Error>;
    /// Returns the number of units done, and of all units.
    fn done_and_total(&mut self) -> (usize, usize);
}

/// Progress event of a run, shown to people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkProgress {
    /// An attempt was started.
    Begun {
        id: String,
        /// Number of the attempt.
        attempt: u32,
    },
    /// An attempt of an earlier run was found, alive or ended.
    Found { id: String },
    /// The result of an attempt is being checked.
    Checking { id: String },
    /// A unit is done.
    Done {
        id: String,
        /// Units done so far.
        done: usize,
        /// Units in all.
        total: usize,
    },
    /// An attempt failed.
    Failed {
        id: String,
        why: FailureReason,
        /// True if it is tried again.
        again: bool,
    },
    /// A rate limit holds a unit.
    Parked {
        id: String,
        /// Seconds until the limit ends.
        seconds: i64,
    },
    /// A client has sent no message that its protocol knows.
    NothingValid {
        id: String,
        /// Seconds since it was started.
        seconds: i64,
    },
    /// The run was asked to leave; asked once more, it ends its agents too.
    Leaving,
}

/// Observer that shows a run's progress.
pub trait WorkScreen {
    /// Shows one event.
    fn show_progress(&mut self, progress: &WorkProgress);
}

/// Way in which a run ended.
#[derive(Debug)]
pub enum WorkEnd {
    /// All work is done.
    Done,
    /// Only a person or another process can continue.
    Stopped(Box<Error>),
    /// The run was asked to leave; agents may go on.
    Left,
}

impl std::fmt::Display for WorkEnd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            WorkEnd::Done => f.write_str("done"),
            WorkEnd::Stopped(error) => write!(f, "stopped: {error}"),
            WorkEnd::Left => f.write_str("left"),
        }
    }
}

/// Summary of a run that ended.
#[derive(Debug)]
pub struct WorkReport {
    pub ended: WorkEnd,
    /// Units done so far.
    pub done: usize,
    /// Units in all.
    pub total: usize,
    /// Units that failed for good in this run, with the reason.
    pub failed: Vec<(String, FailureReason)>,
    /// Units whose agents go on.
    pub going_on: Vec<String>,
}

/// Limits of a run.
#[derive(Debug, Clone)]
pub struct WorkLimits {
    /// Units in hand at once.
    pub parallel: usize,
    /// Most agents that this run starts; unlimited if none.
    pub starts_max: Option<u32>,
}
