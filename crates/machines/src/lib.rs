//! The rules of the five kinds of work, as pure state machines.
//!
//! A machine takes the state, a command with every fact it needs, and the time; it answers with the
//! next state and the effects that must follow, or with a refusal. It never looks at a clock, a
//! disk or another machine.

#![warn(missing_docs)]
// A rule names every case that it decides; a test may look at one case only.
#![cfg_attr(not(test), deny(clippy::wildcard_enum_match_arm))]

#[macro_use]
mod named;

mod dag;
pub mod develop;
pub mod job;
mod kernel;
pub mod orchestrate;
pub mod plan;
pub mod table;
pub mod thinking;

#[cfg(feature = "serde")]
#[doc(hidden)]
pub use serde;

#[cfg(feature = "serde")]
use kernel::is_default;
pub use kernel::{
    Actor, CodedRefusal, CommandAdvice, Machine, MachineStep, RefusalSubject, Timestamp, Violation,
};
pub use named::Named;
