//! The real clients under a shim, with a scripted model on loopback behind them: what they print
//! becomes events, what we write reaches them, and nothing of them is left behind.
//!
//! `cargo xtask test` installs the clients and says where they are; without them these tests say
//! that they are skipped. They run with an empty environment, a home of their own and a key that
//! opens nothing.

mod acp;
mod claude;
mod codex;
mod runner;
