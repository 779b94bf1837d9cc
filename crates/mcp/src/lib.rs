//! The operations of all kinds as tools of the Model Context Protocol, and the state files as resources.
//!
//! One table ([`table`]) names every tool, what it takes and who may use it; each tool calls the one function of the engine
//! that its verb is. The protocol itself, in both of its generations, is `rmcp`'s.

mod answer;
mod call;
mod desk;
mod given;
mod handler;
mod lines;
mod outside;
mod resources;
mod schema;
mod stdio;
pub mod table;
mod verbs;
mod watch;

pub use answer::Refused;
pub use call::CallControl;
pub use desk::{Desk, Role, Tasks};
pub use handler::Tools;
pub use stdio::{serve, serve_on, start_blocking_threads};
