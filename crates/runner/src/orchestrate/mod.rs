//! `bowline orchestrate run`: a plan worked off by agents, each task in a worktree of its own, landed one after the other.

mod announcer;
mod conductor;
pub mod door;
mod hearing;
mod jobs;
mod note;
mod ports;
mod prompt;
mod real;
mod rehearsal;
mod repo;
mod run;

/// What a run is made of, for whoever shows one.
pub use bowline_engine::machines::Actor;
pub use bowline_engine::machines::orchestrate::{Config, Id, Next, Run, Status, next};
pub use conductor::{Conductor, Ended, Rules};
pub use note::{Failure, Note, Stage, Used};
pub use ports::{Event, Job, Landed, Life, PhaseEnded, Ports, Told, Trouble, Wish, Word};
pub use rehearsal::{Odds, Rehearsed, rehearse, rehearse_from};
pub use repo::{Customs, PhasePlace, Repo, TaskPlace};
pub use run::{Options, Report, Screen, Stopper, rules, run, settings_of};
