//! The runner with real processes.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot unwrap has failed, and says where"
)]

mod attempts;
mod edges;
mod ends;
mod going;
mod jobs;
mod kills;
mod outages;
mod permits;
mod simulation;
mod spend;
mod turns;
mod words;
mod workspaces;
mod world;
