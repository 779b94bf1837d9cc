//! What single kinds of work need to have agents work on them.

pub mod jobs;
