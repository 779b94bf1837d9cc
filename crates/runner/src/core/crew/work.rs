//! What a kind of work says to a crew, and what is said of a run.

use crate::core::clients::Client;
use crate::core::note::{Note, Reply};
use crate::core::why::Why;
use bowline_engine::Error;
use std::path::PathBuf;

/// Something that can be worked on now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// How people call it.
    pub id: String,
    /// Which try of it this is, as the state file counts.
    pub round: u32,
    /// It is in progress in the state file.
    pub begun: bool,
}

/// What an attempt is made with.
#[derive(Debug, Clone)]
pub struct Brief {
    /// What the agent is told.
    pub prompt: String,
    /// Where it works.
    pub folder: PathBuf,
    /// What stands for `{phase}` in its command.
    pub number: u32,
    /// Variables of the kind.
    pub variables: Vec<(&'static str, String)>,
    /// How long this try may take.
    pub time_ms: Option<i64>,
}

/// What an attempt came to.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It ended well, and this was handed back.
    Ended(Reply),
    /// It failed.
    Failed(Why),
}

/// Something that takes its time: done by a thread of its own.
pub type Job<C> = Box<dyn FnOnce() -> C + Send>;

/// What follows an attempt.
pub enum After<C> {
    /// The unit is done.
    Done,
    /// It is tried again.
    Again {
        /// Not at once.
        wait_ms: i64,
        /// Why.
        why: Why,
    },
    /// It failed for good: a person has to act.
    GaveUp {
        /// Why.
        why: Why,
    },
    /// This has to be found out first.
    Check(Job<C>),
}

/// What is left when nothing can be worked on.
#[derive(Debug)]
pub enum Over {
    /// Nothing.
    Done,
    /// Something that only others can do.
    Stopped(Box<Error>),
}

/// A kind of work. Every change of the state file is a verb of the engine.
pub trait Work {
    /// What a job finds out.
    type Checked: Send + 'static;
    /// What can be worked on now, in order; those in progress too.
    fn ready(&mut self) -> Result<Vec<Unit>, Error>;
    /// The client that works on it.
    fn client(&mut self, unit: &Unit) -> Result<Client, Error>;
    /// What has to be found out before an agent is asked; a refusal ends the run.
    fn before(&mut self, _unit: &Unit) -> Result<Option<Job<Self::Checked>>, Error> {
        Ok(None)
    }
    /// Begins it in the state file; how it is called there now.
    fn start(&mut self, unit: &Unit) -> Result<Unit, Error>;
    /// What the next attempt is made with.
    fn brief(&mut self, unit: &Unit, note: &Note) -> Result<Brief, Error>;
    /// Judges an attempt, and makes the moves that follow.
    fn ended(
        &mut self,
        unit: &Unit,
        note: &Note,
        outcome: Outcome,
    ) -> Result<After<Self::Checked>, Error>;
    /// Goes on with what a job found out.
    fn checked(
        &mut self,
        unit: &Unit,
        note: &Note,
        found: Self::Checked,
    ) -> Result<After<Self::Checked>, Error>;
    /// Why nothing can be worked on.
    fn over(&mut self) -> Result<Over, Error>;
    /// How much is done, of how much.
    fn progress(&mut self) -> (usize, usize);
}

/// What people are told while a run goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// An attempt was begun.
    Begun {
        /// Of what.
        id: String,
        /// Its number.
        attempt: u32,
    },
    /// One was found alive, or as it ended.
    Found {
        /// Of what.
        id: String,
    },
    /// What came of it is looked at.
    Checking {
        /// Of what.
        id: String,
    },
    /// Something is done.
    Done {
        /// What.
        id: String,
        /// So much is done now.
        done: usize,
        /// Of so much.
        total: usize,
    },
    /// An attempt failed.
    Failed {
        /// Of what.
        id: String,
        /// Why.
        why: Why,
        /// It is tried again.
        again: bool,
    },
    /// A limit holds it.
    Parked {
        /// What.
        id: String,
        /// For how long.
        seconds: i64,
    },
    /// A client has sent no message that its protocol knows.
    NothingValid {
        /// Of what.
        id: String,
        /// For so long.
        seconds: i64,
    },
    /// Somebody wants the run to leave; asked once more, it ends its agents too.
    Leaving,
}

/// Who is shown what happens.
pub trait Screen {
    /// Something happened.
    fn told(&mut self, told: &Told);
}

/// How a run came to its end.
#[derive(Debug)]
pub enum Ended {
    /// Everything is done.
    Done,
    /// Nothing can go on without somebody.
    Stopped(Box<Error>),
    /// Somebody asked to leave; agents may go on.
    Left,
}

/// What a run came to.
#[derive(Debug)]
pub struct Report {
    /// How it ended.
    pub ended: Ended,
    /// So much is done.
    pub done: usize,
    /// Of so much.
    pub total: usize,
    /// What failed for good in this run, and why.
    pub failed: Vec<(String, Why)>,
    /// Units whose agents go on.
    pub going_on: Vec<String>,
}

/// How a run goes.
#[derive(Debug, Clone)]
pub struct Rules {
    /// Units in hand at once.
    pub parallel: usize,
    /// Agents started by this run at the most.
    pub starts_max: Option<u32>,
}
