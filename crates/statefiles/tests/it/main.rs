//! The tests of `statefiles` against real folders, processes and faults.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a failed unwrap is a failed test"
)]

mod basics;
mod batch;
mod children;
mod faults;
mod kills;
mod locks;
mod meddling;
mod odd_files;
mod processes;
mod scenario;
mod support;
mod torn;
