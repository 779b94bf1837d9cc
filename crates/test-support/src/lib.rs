//! Helpers shared by the tests of several crates.

pub mod disguise;
pub mod drill;
mod faulty_disk;
pub mod model_server;
mod wait;

pub use faulty_disk::{Fault, FaultyDisk};
pub use wait::wait_until;
