//! One state file, safely: lock, read, replace, back up, journal, set aside, restore.
//!
//! This crate does not know the format of a file, starts no process, and reads no clock. The README
//! beside this crate's manifest describes the order of a write, and the comparison of a file with
//! its journal.
//!
//! ```
//! use bowline_statefiles::{Change, Layout, Request, StateFile};
//!
//! let folder = std::env::temp_dir().join(format!("statefiles-doc-{}", std::process::id()));
//! let file = StateFile::new(Layout::new(folder.join("state.json")));
//! let request = Request {
//!     id: "r1".into(),
//!     at: "2026-01-01T00:00:00Z".into(),
//!     ..Request::default()
//! };
//! let updated = file.update(&request, |now| -> Result<_, std::convert::Infallible> {
//!     Ok(now.bytes.is_none().then(|| Change::to("{}\n")))
//! })?;
//! assert_eq!(updated.seq, Some(1));
//! assert_eq!(file.load()?.text()?, Some("{}\n"));
//! # std::fs::remove_dir_all(folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![warn(missing_docs)]

mod archive;
mod damage;
mod disk;
mod error;
mod hash;
mod held;
mod history;
mod journal;
mod layout;
mod lines;
mod load;
mod lock;
mod removal;
mod request;
mod roll;
pub mod splice;
mod stamp;
mod state_file;
mod swap;
mod tidy;
mod whole;

pub use damage::{Recovered, Rescue, Source};
pub use disk::{Disk, EntryKind, RealDisk, Stat};
pub use error::{Error, FileOperation, Incident, IrregularEntry, UpdateError};
pub use hash::{ContentHash, NotAHash};
pub use held::{Held, Written};
pub use history::{History, Version};
pub use journal::{JOURNAL_BYTES_MAX, JournalCheck, Line, Pending, kind};
pub use layout::{Archive, Layout};
pub use lines::append_line;
pub use load::{FILE_BYTES_MAX, Situation, Snapshot};
pub use lock::{FOREIGN_LOCK_FRESH_MS, LOCK_WAIT_MS, Owner};
pub use request::{Change, Request, Step};
pub use roll::Replay;
pub use splice::Splice;
pub use state_file::{FRESH_MS, StateFile, Updated};
pub use whole::write_whole;
