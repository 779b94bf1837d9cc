//! Helpers shared by the tests of several crates.

mod client_results;
mod command_line;
pub mod disguise;
pub mod drill;
mod faulty_disk;
pub mod model_server;
mod skip;
mod wait;

pub use client_results::record_client_result;
pub use command_line::split_command_line;
pub use faulty_disk::{DiskFault, FaultyDisk};
pub use skip::{MissingRequirement, skip_test};
pub use wait::wait_until;
