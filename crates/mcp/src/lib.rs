//! The operations of all kinds as tools of the Model Context Protocol, and the state files as
//! resources.
//!
//! One table ([`table`]) lists every tool with its arguments and its role; each tool calls the one
//! function of the engine behind its verb. `rmcp` implements the protocol itself, in both of its
//! generations.

mod answer;
mod arguments;
mod call;
mod handler;
mod lines;
mod resources;
mod sandbox_relay;
mod schema;
mod session;
mod stdio;
pub mod table;
mod verbs;
mod watch;

pub use answer::ToolRefusal;
pub use call::CallControl;
pub use handler::ToolHandler;
pub use session::{SessionRole, TaskClient, ToolSession};
pub use stdio::{serve_stdio, serve_streams, start_blocking_threads};
