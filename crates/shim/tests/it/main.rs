//! The binary `bowline-shim` with real processes, well-behaved and not.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot unwrap has failed, and says where"
)]

mod actors;
mod cgroups;
mod clients;
mod control;
mod hook;
mod hostile;
mod life;
mod lost;
mod misbehaviour;
mod protocol;
mod sandbox;
mod streams;
mod support;
mod world;
