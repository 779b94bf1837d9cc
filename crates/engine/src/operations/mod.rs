//! One function per verb.

pub mod memory;
pub mod thinking;
