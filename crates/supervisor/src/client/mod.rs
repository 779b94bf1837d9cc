//! The other side of the socket: starting shims, and talking to them.

mod handle;
mod start;

pub use handle::{Handle, Sent};
pub use start::Shim;
