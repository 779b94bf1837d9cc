//! A decided step, ready to be made durable, and what became of it.

use crate::rows::{About, EffectRow, EventKind, EventRow, Record};
use bowline_machines::Timestamp;
use bowline_machines::job::Job;
use serde_json::Value;
use std::sync::Arc;

/// One business transition: jobs that move, what follows, and who asked. Whole or not at all.
#[derive(Debug, Clone, PartialEq)]
pub struct Advance {
    /// When it was decided.
    pub at: Timestamp,
    /// Who asked, if somebody did: the same request is never applied twice.
    pub request: Option<Request>,
    /// The jobs that move; mostly one, none when only effects are settled.
    pub changes: Vec<Change>,
    /// Effects that were carried out, or not.
    pub settled: Vec<Settle>,
}

impl Advance {
    /// Nothing yet.
    pub fn at(at: Timestamp) -> Self {
        Advance {
            at,
            request: None,
            changes: Vec::new(),
            settled: Vec::new(),
        }
    }
}

/// A request somebody may repeat because they heard no answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Its id, given by whoever asks.
    pub id: String,
    /// What was asked, as a hash or a text: the same id with another content is a mistake.
    pub print: String,
    /// What is answered, now and whenever it is asked again.
    pub answer: Value,
}

/// One job that moves.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Which.
    pub job: String,
    /// The version it was decided on; 0 for one that is new. Any other makes the whole step a conflict.
    pub expected: u64,
    /// What becomes of it.
    pub next: Next,
    /// What happened, for the feed, in this order.
    pub events: Vec<NewEvent>,
    /// What has to be carried out, in this order.
    pub effects: Vec<NewEffect>,
    /// Rows that people look at, new or changed.
    pub records: Vec<Record>,
    /// Timers set or taken away.
    pub timers: Vec<TimerChange>,
    /// What was used since the step before.
    pub spent: Option<Spent>,
}

impl Change {
    /// A job that comes to this.
    pub fn to(
        id: impl Into<String>,
        expected: u64,
        job: impl Into<Arc<Job>>,
        about: impl Into<Arc<About>>,
    ) -> Self {
        Change {
            next: Next::Is(job.into(), about.into()),
            ..Change::beside(id, expected)
        }
    }

    /// Something that belongs to a job, which itself stays as it is.
    pub fn beside(id: impl Into<String>, expected: u64) -> Self {
        Change {
            job: id.into(),
            expected,
            next: Next::Same,
            events: Vec::new(),
            effects: Vec::new(),
            records: Vec::new(),
            timers: Vec::new(),
            spent: None,
        }
    }
}

/// What becomes of a job.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// It is this, one version later.
    Is(Arc<Job>, Arc<About>),
    /// It stays as it is; only what belongs to it changes. No version is counted.
    Same,
    /// It is removed with everything that belongs to it; only its events stay.
    Gone,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub struct NewEvent {
    /// What sort of thing.
    pub kind: EventKind,
    /// What, as whoever listens is told.
    pub body: Value,
}

/// Something to be carried out, at least once.
#[derive(Debug, Clone, PartialEq)]
pub struct NewEffect {
    /// Its sort, for whoever looks.
    pub kind: String,
    /// All that is needed for it.
    pub body: Value,
    /// Not before.
    pub due: Timestamp,
}

/// Tokens and money, added to what was used before on the day of the step.
#[derive(Debug, Clone, PartialEq)]
pub struct Spent {
    /// Who, by its name in the settings.
    pub agent: String,
    /// Tokens.
    pub tokens: u64,
    /// Money.
    pub usd: f64,
}

/// An effect that was tried.
#[derive(Debug, Clone, PartialEq)]
pub struct Settle {
    /// Which.
    pub effect: u64,
    /// What became of it.
    pub end: EffectEnd,
}

/// What became of a try.
#[derive(Debug, Clone, PartialEq)]
pub enum EffectEnd {
    /// It is done.
    Done,
    /// Done, and how is to be remembered.
    Delivered {
        /// How.
        note: String,
    },
    /// It failed and is to be tried again.
    Again {
        /// Not before.
        due: Timestamp,
        /// How it failed.
        note: String,
    },
    /// It failed for good.
    GivenUp {
        /// How it failed.
        note: String,
    },
}

/// A timer set or taken away.
#[derive(Debug, Clone, PartialEq)]
pub enum TimerChange {
    /// Come back at that time. A timer with the same key is replaced; its generation is the job's version after this step.
    Set {
        /// Which timer of the job.
        key: String,
        /// When.
        due: Timestamp,
        /// With what.
        body: Value,
    },
    /// Do not come back. Nothing happens when there is none.
    Clear {
        /// Which timer of the job.
        key: String,
    },
    /// It came back and is used up. When it was set anew or taken away meanwhile, the whole step is a conflict: a timer fires
    /// once.
    Fired {
        /// Which timer of the job.
        key: String,
        /// As it was set.
        generation: u64,
    },
}

/// What became of a step.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It is durable.
    Applied {
        /// The events with their places in the feed.
        events: Vec<EventRow>,
        /// The effects with their numbers.
        effects: Vec<EffectRow>,
    },
    /// The same request was applied before; nothing was changed.
    AlreadyApplied {
        /// What was answered then.
        answer: Value,
    },
    /// A request with this id asked for something else; nothing was changed.
    RequestReused,
    /// A job is not at the version that was decided on, or a timer is not as it was; nothing was changed.
    Conflict {
        /// Which job.
        job: String,
        /// Where it is; 0 when it does not exist.
        version: u64,
    },
}
