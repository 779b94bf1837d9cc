//! The client side of the socket: starting shims, and talking to them.

mod handle;
mod session;
mod start;
#[cfg(test)]
mod tests;

pub use handle::ShimHandle;
pub use session::{SendOutcome, ShimEvent, ShimSession};
pub use start::{ShimProgram, ShimStarter};
