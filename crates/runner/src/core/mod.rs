//! What every kind of work needs to have agents work: no kind is known here.

pub mod attempts;
