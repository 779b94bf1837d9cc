//! The journal: one line per change, and writing the line is the commit.

mod check;
mod line;
mod read;
mod write;

pub use check::JournalCheck;
pub use line::{Line, Pending, kind};
pub(crate) use read::{LastLines, Tail, read_all};
pub(crate) use write::Writer;

/// The length that triggers a rotation: the next journal begins with the full document, one
/// predecessor is kept.
pub const JOURNAL_BYTES_MAX: u64 = 16 * 1024 * 1024;
