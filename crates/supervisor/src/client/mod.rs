//! The client side of the socket: starting shims, and talking to them.

mod dialogue;
mod handle;
mod start;
#[cfg(test)]
mod tests;

pub use dialogue::{Dialogue, Event, Sent};
pub use handle::Handle;
pub use start::{Shim, Starter};
