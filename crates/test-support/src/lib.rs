//! Helpers shared by the tests of several crates.

pub mod disguise;
pub mod drill;
mod faulty_disk;
pub mod model_server;
mod skip;
mod wait;
mod words;
mod works;

pub use faulty_disk::{Fault, FaultyDisk};
pub use skip::{Lack, skip};
pub use wait::wait_until;
pub use words::words;
pub use works::works;
