//! Joins rules, formats and files into operations, one function per verb.
//!
//! The order is always the same: load, decide, persist, act, publish.

pub mod actor;
pub mod advice;
pub mod agents;
pub mod allowed;
pub mod clock;
pub mod context;
pub mod develop;
pub mod doctor;
pub mod effects;
pub mod error;
pub mod files;
pub mod git;
pub mod git_locks;
pub mod history;
pub mod install;
pub mod kinds;
mod lost;
mod notice;
pub mod operations;
mod past;
pub mod process;
pub mod rebuild;
pub mod relayed;
mod replay;
pub mod run_place;
mod signing;
mod tree;
mod tree_watch;
mod trust;
pub mod webhook;
pub mod words;
pub mod workspace;

pub use context::Context;
pub use error::{Error, ExitClass, Refusal};

// Re-exports for callers, so that they name one crate only.
pub use bowline_formats as formats;
pub use bowline_machines as machines;
pub use bowline_statefiles as statefiles;
pub use bowline_supervisor as supervisor;
