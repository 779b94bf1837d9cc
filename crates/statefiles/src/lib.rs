//! One state file, safely: lock, read, replace, back up, journal, set aside, restore.
//!
//! This crate does not know the format of a file, starts no process, and reads no clock. The README
//! beside this crate's manifest describes the order of a write, and the comparison of a file with
//! its journal.
//!
//! ```
//! use bowline_statefiles::{DocumentChange, FileLayout, StateFile, WriteRequest};
//!
//! let folder = std::env::temp_dir().join(format!("statefiles-doc-{}", std::process::id()));
//! let file = StateFile::new(FileLayout::new(folder.join("state.json")));
//! let request = WriteRequest {
//!     id: "r1".into(),
//!     at: "2026-01-01T00:00:00Z".into(),
//!     ..WriteRequest::default()
//! };
//! let updated = file.update(&request, |now| -> Result<_, std::convert::Infallible> {
//!     Ok(now.bytes.is_none().then(|| DocumentChange::replace_with("{}\n")))
//! })?;
//! assert_eq!(updated.seq, Some(1));
//! assert_eq!(file.load()?.text()?, Some("{}\n"));
//! # std::fs::remove_dir_all(folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![warn(missing_docs)]

mod archive;
mod atomic_write;
mod crash_recovery;
mod disk;
mod error;
mod hash;
mod history;
mod journal;
mod layout;
mod line_log;
mod load;
mod lock;
mod removal;
mod repair;
mod request;
mod roll_forward;
pub mod splice;
mod stamp;
mod state_file;
mod state_file_guard;
mod swap;

pub use atomic_write::write_atomically;
pub use disk::{Disk, EntryKind, FileStat, RealDisk};
pub use error::{FileOperation, Incident, IrregularEntry, StateFileError, UpdateError};
pub use hash::{ContentHash, NotAHash};
pub use history::{DocumentVersion, JournalHistory};
pub use journal::{CommittedEffects, JOURNAL_BYTES_MAX, JournalCheck, JournalLine, kind};
pub use layout::{CopyArchive, FileLayout};
pub use line_log::append_line;
pub use load::{FILE_BYTES_MAX, FileSituation, FileSnapshot};
pub use lock::{FOREIGN_LOCK_FRESH_MS, LOCK_WAIT_MS, LockHolder};
pub use repair::{RecoveredDocument, RepairCallbacks, RepairSource};
pub use request::{BatchStep, DocumentChange, WriteRequest};
pub use roll_forward::StepReplay;
pub use splice::TextSplice;
pub use state_file::{FRESH_MS, StateFile, UpdateOutcome};
pub use state_file_guard::{StateFileGuard, WriteOutcome};
