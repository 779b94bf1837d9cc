//! The journal: one line per change, and writing the line is the commit.

mod check;
mod line;
mod read;
mod write;

pub use check::JournalCheck;
pub use line::{CommittedEffects, JournalLine, kind};
pub(crate) use read::{JournalTail, LastLines, read_all};
pub(crate) use write::JournalWriter;

/// The length that triggers a rotation: the next journal begins with the full document, one
/// predecessor is kept.
pub const JOURNAL_BYTES_MAX: u64 = 16 * 1024 * 1024;
