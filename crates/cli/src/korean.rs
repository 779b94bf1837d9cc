//! Korean texts of what the crates below say in English.

pub(crate) mod plans;
