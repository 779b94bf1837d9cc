//! Tests of the server over real connections. A fake job service stands in for the dispatcher that
//! runs agents.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot unwrap has failed, and says where"
)]

mod actions;
mod careless;
mod events;
mod fake_job_service;
mod files;
mod health;
mod hostile;
mod mcp;
mod taken;
mod walk;
mod workspaces;
