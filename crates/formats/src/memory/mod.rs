//! The files of the memory folder: the task at work, the history, what agents share, and what each keeps for itself.

pub mod agent_memory;
mod parts;
pub mod path;
pub mod shared_context;
pub mod task_history;
pub mod task_state;

use crate::reading::Reading;
use crate::time::utc;
use bowline_machines::Timestamp;

/// The version these files are written in. Changes so far: none.
pub const VERSION: &str = "1.0";
/// The newest major version that is understood.
pub const VERSION_MAJOR: u32 = 1;

/// The time of the last change; where it is missing or no time, the latest the rest of the file knows of.
fn last_updated(reading: &mut Reading<'_>, latest: Option<Timestamp>) -> Timestamp {
    reading.time_or("/last_updated", latest.unwrap_or(Timestamp(0)), utc)
}
