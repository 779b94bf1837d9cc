//! What every kind of work needs to have agents work: no kind is known here.

pub mod attempts;
pub mod clients;
pub mod ladder;
