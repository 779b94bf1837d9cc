//! The write-ahead log, brought into the file itself beside the writing. A commit that did so took
//! as long as ten others.

use super::open_connection;
use crate::StoreError;
use rusqlite::{Connection, OpenFlags};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

/// Pages in the log from which on they are brought into the file.
const PAGES: usize = 1_000;

/// The thread that brings pages into the file. It ends with this.
#[derive(Debug)]
pub(super) struct WalCheckpointer {
    wanted: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
    /// About so many pages were written since it was last wanted.
    written: AtomicUsize,
    /// Something was committed since the log was last left alone.
    used: AtomicBool,
    /// All of them are in the file but those that were written meanwhile.
    nearly: Arc<AtomicBool>,
}

impl WalCheckpointer {
    pub(super) fn open(path: &Path) -> Result<WalCheckpointer, StoreError> {
        let connection = open_connection(path, OpenFlags::default())?;
        let (wanted, requests) = sync_channel(1);
        let nearly = Arc::new(AtomicBool::new(false));
        let found = nearly.clone();
        let thread = std::thread::Builder::new()
            .name("store-log".into())
            .spawn(move || {
                while requests.recv().is_ok() {
                    checkpoint_wal(&connection, "PASSIVE");
                    found.store(true, Ordering::Relaxed);
                }
            })
            .map_err(StoreError::failed)?;
        Ok(WalCheckpointer {
            wanted: Some(wanted),
            thread: Some(thread),
            written: AtomicUsize::new(0),
            used: AtomicBool::new(true),
            nearly,
        })
    }

    /// Empties the log if nothing was committed since the last call.
    pub(super) fn truncate_if_idle(&self, by: &Connection) {
        let wanted = match self.used.swap(false, Ordering::Relaxed) {
            true => "PASSIVE",
            false => "TRUNCATE",
        };
        checkpoint_wal(by, wanted);
    }

    /// So many steps were committed at once on this connection.
    pub(super) fn on_commit(&self, by: &Connection, steps: usize) {
        self.used.store(true, Ordering::Relaxed);
        // Only a log that is in the file to its last page begins anew, and while others write there
        // is always one more: the last few are brought in by whoever writes.
        if self.nearly.swap(false, Ordering::Relaxed) {
            checkpoint_wal(by, "PASSIVE");
            return;
        }
        // A job and its events are two pages each; a commit has a few of its own.
        let written = self.written.fetch_add(2 * steps + 2, Ordering::Relaxed);
        if written >= PAGES
            && let Some(wanted) = &self.wanted
        {
            self.written.store(0, Ordering::Relaxed);
            // One that is at it will be asked again.
            let _ = wanted.try_send(());
        }
    }
}

impl Drop for WalCheckpointer {
    fn drop(&mut self) {
        self.wanted = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Brings in what nobody reads just now. Where it fails it is tried again later: what was committed
/// is durable all the same.
fn checkpoint_wal(connection: &Connection, how: &str) {
    let checkpoint = format!("PRAGMA wal_checkpoint({how})");
    let _ = connection.query_row(&checkpoint, [], |_| Ok(()));
}
