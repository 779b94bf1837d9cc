//! What chores share: running other programs from the root of the repository.
#![expect(clippy::print_stdout, reason = "a chore talks to whoever runs it")]

pub mod shell;

/// A chore that failed says why.
pub type Outcome<T = ()> = Result<T, String>;
