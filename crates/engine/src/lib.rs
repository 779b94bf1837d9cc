//! Joins rules, formats and files into operations, one function per verb.
//!
//! The order is always the same: load, decide, persist, act, publish.

pub mod actor;
pub mod advice;
pub mod agent_run_lock;
pub mod agents;
pub mod allowed_verbs;
pub mod clock;
pub mod context;
pub mod develop;
pub mod doctor;
pub mod effects;
pub mod error;
mod evidence_key;
pub mod files;
mod finished_tasks;
pub mod git;
pub mod git_locks;
pub mod history;
pub mod install;
pub mod kinds;
mod lost_updates;
mod notice;
pub mod operations;
pub mod process;
pub mod rebuild;
pub mod relay_process;
mod replay;
mod tree;
mod tree_watch;
mod trust;
pub mod webhook;
pub mod words;
pub mod workspace;

pub use context::Context;
pub use error::{Error, ExitClass, MachineRefusal};

// Re-exports for callers, so that they name one crate only.
pub use bowline_formats as formats;
pub use bowline_machines as machines;
pub use bowline_statefiles as statefiles;
pub use bowline_supervisor as supervisor;
