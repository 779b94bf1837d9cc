//! Attempts of agents for every kind of work.
//!
//! [`core`] knows no kind: it starts attempts, hands over what they say, and tells how they end.

pub mod core;
pub mod drivers;
pub mod orchestrate;
