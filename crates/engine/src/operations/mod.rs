//! One function per verb.

pub mod thinking;
