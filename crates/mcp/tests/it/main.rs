//! The tools as a client meets them: lines of JSON-RPC in, lines out.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot unwrap has failed, and says where"
)]

mod protocol;
mod resources;
mod tools;
mod wire;
