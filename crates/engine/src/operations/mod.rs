//! Operations, one function per verb.

pub mod develop;
pub mod memory;
pub mod orchestrate;
pub mod thinking;
