//! Decided steps to be committed, and the outcome of each.

use crate::rows::{EffectRow, EventKind, EventRow, JobAttributes, JobRecord};
use bowline_machines::Timestamp;
use bowline_machines::job::Job;
use serde_json::Value;
use std::sync::Arc;

/// One business transition: the jobs that change, what follows, and the request behind it. It is
/// applied whole or not at all.
#[derive(Debug, Clone, PartialEq)]
pub struct StoreStep {
    /// Time of the decision.
    pub at: Timestamp,
    /// The request behind it, if there was one; the same request is never applied twice.
    pub request: Option<IdempotentRequest>,
    /// The jobs that change; mostly one, none when only effects are settled.
    pub changes: Vec<JobChange>,
    /// Effects whose execution ended, successfully or not.
    pub settled: Vec<SettledEffect>,
}

impl StoreStep {
    /// Returns an empty step decided at this time.
    pub fn empty_at(at: Timestamp) -> Self {
        StoreStep {
            at,
            request: None,
            changes: Vec::new(),
            settled: Vec::new(),
        }
    }
}

/// A request that its client may repeat when it received no response.
#[derive(Debug, Clone, PartialEq)]
pub struct IdempotentRequest {
    /// The id that the client gave it.
    pub id: String,
    /// Fingerprint of the content, a hash or a text: the same id with another content is an error.
    pub print: String,
    /// The response, now and for every repetition.
    pub answer: Value,
}

/// The change of one job.
#[derive(Debug, Clone, PartialEq)]
pub struct JobChange {
    /// The id of the job.
    pub job: String,
    /// The version it was decided on; 0 for a new job. Any other current version makes the whole
    /// step a conflict.
    pub expected: u64,
    /// The next state of the job.
    pub next: NextJobState,
    /// Events for the feed, in this order.
    pub events: Vec<NewEvent>,
    /// Effects to execute, in this order.
    pub effects: Vec<NewEffect>,
    /// Records that are new or changed.
    pub records: Vec<JobRecord>,
    /// Timers that are set, cleared or fired.
    pub timers: Vec<TimerChange>,
    /// Tokens and money used since the step before.
    pub spent: Option<AddedSpend>,
}

impl JobChange {
    /// Returns a change that replaces the state of a job.
    pub fn replace_state(
        id: impl Into<String>,
        expected: u64,
        job: impl Into<Arc<Job>>,
        about: impl Into<Arc<JobAttributes>>,
    ) -> Self {
        JobChange {
            next: NextJobState::Is(job.into(), about.into()),
            ..JobChange::keep_state(id, expected)
        }
    }

    /// Returns a change of what belongs to a job; its state stays.
    pub fn keep_state(id: impl Into<String>, expected: u64) -> Self {
        JobChange {
            job: id.into(),
            expected,
            next: NextJobState::Same,
            events: Vec::new(),
            effects: Vec::new(),
            records: Vec::new(),
            timers: Vec::new(),
            spent: None,
        }
    }
}

/// The next state of a job.
#[derive(Debug, Clone, PartialEq)]
pub enum NextJobState {
    /// The job has this state, one version later.
    Is(Arc<Job>, Arc<JobAttributes>),
    /// The state stays; only what belongs to the job changes. The version stays too.
    Same,
    /// The job is removed with everything that belongs to it; only its events stay.
    Gone,
}

/// An event that has no sequence number yet.
#[derive(Debug, Clone, PartialEq)]
pub struct NewEvent {
    /// The kind of event.
    pub kind: EventKind,
    /// The content, as clients receive it.
    pub body: Value,
}

/// An effect to be executed at least once.
#[derive(Debug, Clone, PartialEq)]
pub struct NewEffect {
    /// The kind of effect, for the code that executes it.
    pub kind: String,
    /// Everything that its execution needs.
    pub body: Value,
    /// Earliest time of its execution.
    pub due: Timestamp,
}

/// Tokens and money, added to the spend of the day of the step.
#[derive(Debug, Clone, PartialEq)]
pub struct AddedSpend {
    /// The agent, by its name in the settings.
    pub agent: String,
    /// Number of tokens used.
    pub tokens: u64,
    /// Cost in US dollars.
    pub usd: f64,
}

/// The result of one try to execute an effect.
#[derive(Debug, Clone, PartialEq)]
pub struct SettledEffect {
    /// The id of the effect.
    pub effect: u64,
    /// The result of the try.
    pub end: EffectResult,
}

/// The result of a try to execute an effect.
#[derive(Debug, Clone, PartialEq)]
pub enum EffectResult {
    /// The effect is executed; nothing is recorded.
    Done,
    /// The effect is executed, and a note is recorded.
    Delivered {
        /// Note that is recorded.
        note: String,
    },
    /// The try failed and is to be repeated.
    Again {
        /// Earliest time of the next try.
        due: Timestamp,
        /// Description of the failure.
        note: String,
    },
    /// The effect failed and is not tried again.
    GivenUp {
        /// Description of the failure.
        note: String,
    },
}

/// A change of one timer of a job.
#[derive(Debug, Clone, PartialEq)]
pub enum TimerChange {
    /// Sets a timer. One with the same key is replaced; its generation is the job's version after
    /// this step.
    Set {
        /// Key of the timer within its job.
        key: String,
        /// Time at which it fires.
        due: Timestamp,
        /// Content that it delivers.
        body: Value,
    },
    /// Removes a timer. Nothing happens when there is none.
    Clear {
        /// Key of the timer within its job.
        key: String,
    },
    /// Uses up a timer that fired. When it was set again or cleared meanwhile, the whole step is a
    /// conflict: a timer fires once.
    Fired {
        /// Key of the timer within its job.
        key: String,
        /// The generation it had when it fired.
        generation: u64,
    },
}

/// The outcome of one step of a commit.
#[derive(Debug, Clone, PartialEq)]
pub enum CommitOutcome {
    /// The step is committed and durable.
    Applied {
        /// The new events with their sequence numbers.
        events: Vec<EventRow>,
        /// The new effects with their ids.
        effects: Vec<EffectRow>,
    },
    /// The same request was applied before; nothing was changed.
    AlreadyApplied {
        /// The response of the first time.
        answer: Value,
    },
    /// A request with this id and another content was applied before; nothing was changed.
    RequestReused,
    /// A job is not at the version that was decided on, or a timer was changed meanwhile; nothing
    /// was changed.
    Conflict {
        /// The id of the job.
        job: String,
        /// Its current version; 0 when it does not exist.
        version: u64,
    },
}

impl std::fmt::Display for CommitOutcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CommitOutcome::Applied { .. } => f.write_str("the step is committed"),
            CommitOutcome::AlreadyApplied { .. } => f.write_str("the request was applied before"),
            CommitOutcome::RequestReused => {
                f.write_str("the request id was used for another request")
            }
            CommitOutcome::Conflict { job, version } => {
                write!(f, "job '{job}' is at version {version}")
            }
        }
    }
}
