//! The files of the memory folder: the current task, the history, the shared context, and the
//! memory of each agent.

pub mod agent_memory;
mod parts;
pub mod path;
pub mod shared_context;
pub mod task_history;
pub mod task_state;

use crate::document_reader::DocumentReader;
use crate::time::format_utc;
use bowline_machines::Timestamp;

/// Version that is written. There have been no changes so far.
pub const VERSION: &str = "1.0";
/// Newest major version that can be read.
pub const VERSION_MAJOR: u32 = 1;

/// Returns the time of the last change. If it is missing or invalid, `latest` is used, the latest
/// time known from the rest of the file.
fn last_updated(reading: &mut DocumentReader<'_>, latest: Option<Timestamp>) -> Timestamp {
    reading.read_time_or("/last_updated", latest.unwrap_or(Timestamp(0)), format_utc)
}
