//! Runs attempts of agents for every kind of work.
//!
//! [`core`] knows no kind of work: it starts attempts, hands over their output and reports how they
//! end. [`drivers`] and [`orchestrate`] decide what to start.

pub mod core;
pub mod drivers;
pub mod jobs;
pub mod orchestrate;
