//! Implements `bowline orchestrate run`: agents work off a plan, each task in its own worktree, and
//! the tasks land one after the other.

mod announcer;
pub mod by_hand;
mod conductor;
pub mod door;
mod hearing;
mod jobs;
mod ledger;
mod logs;
mod note;
mod orders;
mod ports;
mod prompt;
mod real;
mod rehearsal;
mod repo;
mod report;
mod run;
mod space;

pub use crate::core::why::Why;
pub use announcer::announcement;
pub use conductor::{Conductor, Ended, Rules};
pub use ledger::Ledger;
pub use logs::logs;
pub use note::{Failure, Note, Stage, Used};
pub use ports::{
    Event, Job, Landed, Life, Overlap, PhaseEnded, Ports, Shortage, Told, Trouble, Wish,
};
pub use rehearsal::{Odds, Rehearsed, rehearse, rehearse_from};
pub use repo::{Customs, Forecasts, Kept, PhasePlace, Prepared, Proposals, Repo, TaskPlace};
pub use report::{
    FailedTask, PhaseView, Progress, Prospect, Rehearsal, Report, View, prospect, would_start,
};
pub use run::{Options, Screen, rules, run, settings_of};
