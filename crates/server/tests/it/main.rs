//! The server as its callers meet it: over real connections, with a desk in the place of the loop that runs agents.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot unwrap has failed, and says where"
)]

mod actions;
mod careless;
mod desk;
mod events;
mod files;
mod health;
mod hostile;
mod mcp;
mod taken;
mod walk;
mod workspaces;
