//! One state file: the type that callers use.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::crash_recovery;
use crate::disk::{Disk, RealDisk};
use crate::error::{FileOperation, Incident, StateFileError, UpdateError};
use crate::journal::{JOURNAL_BYTES_MAX, JournalWriter};
use crate::layout::{FileLayout, FilePaths};
use crate::load::{FileSituation, FileSnapshot, load_file};
use crate::lock::{FileLock, JournalLock, LOCK_WAIT_MS, LockHolder, current_owner};
use crate::request::{DocumentChange, WriteRequest};
use crate::roll_forward::StepReplay;
use crate::state_file_guard::{StateFileGuard, WriteOutcome};
use crate::swap::TRIES_MAX;

/// A file changed within this time may still be being written by a program that writes in place.
pub const FRESH_MS: i64 = 100;
const FRESH_POLL_MS: u64 = 5;

/// One state file and its companions. Cheap to clone; holds nothing open.
#[derive(Debug, Clone)]
pub struct StateFile {
    pub(crate) layout: FileLayout,
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) replay: Option<Arc<dyn StepReplay>>,
    pub(crate) with_history: bool,
    pub(crate) journal_bytes_max: u64,
    pub(crate) lock_wait: Duration,
}

/// The result of [`StateFile::update`].
#[derive(Debug, Clone)]
pub struct UpdateOutcome {
    /// The number of the change; `None` if the decision was to change nothing.
    pub seq: Option<u64>,
    /// The document afterwards, with the findings made on the way. Its situation is the one at the
    /// decision.
    pub snapshot: FileSnapshot,
}

impl StateFile {
    /// Creates a state file on the real disk with the default limits.
    #[must_use]
    pub fn new(layout: FileLayout) -> Self {
        Self {
            layout,
            disk: Arc::new(RealDisk),
            replay: None,
            with_history: false,
            journal_bytes_max: JOURNAL_BYTES_MAX,
            lock_wait: Duration::from_millis(LOCK_WAIT_MS),
        }
    }

    /// Uses another disk, such as one that fails on purpose.
    #[must_use]
    pub fn with_disk(mut self, disk: Arc<dyn Disk>) -> Self {
        self.disk = disk;
        self
    }

    /// Sets the means to apply the steps of a batch.
    #[must_use]
    pub fn with_replay(mut self, replay: Arc<dyn StepReplay>) -> Self {
        self.replay = Some(replay);
        self
    }

    /// Makes every read bring the [whole journals](FileSnapshot::history) along, for a file that is
    /// not trusted without them. A decision about a change is asked for even if they cannot be
    /// read, before they are set aside.
    #[must_use]
    pub fn with_history(mut self) -> Self {
        self.with_history = true;
        self
    }

    /// Waits this long for the lock instead of [`LOCK_WAIT_MS`].
    #[must_use]
    pub fn with_lock_wait(mut self, wait: Duration) -> Self {
        self.lock_wait = wait;
        self
    }

    /// Rotates the journal at this length instead of [`JOURNAL_BYTES_MAX`].
    #[must_use]
    pub fn with_journal_bytes_max(mut self, bytes: u64) -> Self {
        self.journal_bytes_max = bytes;
        self
    }

    pub(crate) fn resolve_paths(&self) -> Result<FilePaths, StateFileError> {
        self.layout.resolve_paths(&*self.disk)
    }

    /// Reads the document without taking the lock and without writing anything.
    pub fn load(&self) -> Result<FileSnapshot, StateFileError> {
        Ok(load_file(self, &self.resolve_paths()?)?.snapshot)
    }

    /// Reads a document that does not parse again: if the file was changed within the last
    /// [`FRESH_MS`], waits until it changes or that time is over. `None` if there is no new
    /// version.
    pub fn reread_if_fresh(
        &self,
        snapshot: &FileSnapshot,
        now_ms: i64,
    ) -> Result<Option<FileSnapshot>, StateFileError> {
        let Some(modified_ms) = snapshot.modified_ms else {
            return Ok(None);
        };
        let age_ms = now_ms.saturating_sub(modified_ms).max(0);
        let Ok(left_ms) = u64::try_from(FRESH_MS - age_ms) else {
            return Ok(None);
        };
        let end = Instant::now() + Duration::from_millis(left_ms);
        loop {
            let next = self.load()?;
            if next.bytes != snapshot.bytes {
                return Ok(Some(next));
            }
            if Instant::now() >= end {
                return Ok(None);
            }
            pause(Duration::from_millis(FRESH_POLL_MS));
        }
    }

    /// Returns the present owner of the lock, if any.
    pub fn lock_owner(&self, now_ms: i64) -> Result<Option<LockHolder>, StateFileError> {
        current_owner(&*self.disk, &self.resolve_paths()?, now_ms)
    }

    /// Takes the lock, completes what a crash left unfinished, and keeps the lock until the result
    /// is dropped.
    pub fn lock_for_writing(
        &self,
        request: &WriteRequest,
    ) -> Result<StateFileGuard, StateFileError> {
        self.lock_for_decision(request, false)
    }

    fn lock_for_decision(
        &self,
        request: &WriteRequest,
        asks_first: bool,
    ) -> Result<StateFileGuard, StateFileError> {
        let paths = self.resolve_paths()?;
        for folder in [&paths.folder, &paths.side] {
            self.disk
                .create_folders(folder)
                .map_err(|error| StateFileError::io(FileOperation::Create, folder, error))?;
        }
        let lock = FileLock::acquire(&self.disk, &paths, request, self.lock_wait)?;
        let journal_lock = JournalLock::acquire(&*self.disk, &paths, self.lock_wait)?;
        let mut findings = Vec::new();
        if journal_lock.waited {
            findings.push(Incident::LockRemoved);
        }
        if let Some(owner) = &lock.taken_from {
            findings.push(Incident::ForeignLockTakenOver {
                owner: owner.to_string(),
            });
        }
        let mut held = StateFileGuard {
            file: self.clone(),
            journal: JournalWriter::new(&paths, 0, false, None),
            snapshot: FileSnapshot {
                path: paths.file.clone(),
                bytes: None,
                situation: FileSituation::Absent,
                unnoted: false,
                seq: 0,
                modified_ms: None,
                last_kind: None,
                journal_damaged: false,
                findings,
                history: None,
            },
            paths,
            on_disk: None,
            stat: None,
            acknowledged: None,
            loose: false,
            last_aside: None,
            last_before: None,
            stale: true,
            asks_first,
            journal_lock,
            _lock: lock,
        };
        crash_recovery::reload_and_recover(&mut held, request)?;
        Ok(held)
    }

    /// Changes the document: takes the lock, calls `decide` with the present version, and makes its
    /// change durable.
    ///
    /// `decide` returns the change, `None` to leave everything as it is, or a refusal. It is called
    /// again if a program that takes no lock wrote at the same moment, so it must not act on
    /// anything but its arguments.
    pub fn update<E>(
        &self,
        request: &WriteRequest,
        mut decide: impl FnMut(&FileSnapshot) -> Result<Option<DocumentChange>, E>,
    ) -> Result<UpdateOutcome, UpdateError<E>> {
        if self.is_folder_missing()? {
            // Folders are created for a document, not for a refusal.
            let snapshot = self.load()?;
            if decide(&snapshot).map_err(UpdateError::Refused)?.is_none() {
                return Ok(UpdateOutcome {
                    seq: None,
                    snapshot,
                });
            }
        }
        let mut held = self.lock_for_decision(request, self.with_history)?;
        for _ in 0..TRIES_MAX {
            let Some(change) = decide(&held.snapshot).map_err(UpdateError::Refused)? else {
                return Ok(UpdateOutcome {
                    seq: None,
                    snapshot: held.snapshot.clone(),
                });
            };
            let situation = held.snapshot.situation.clone();
            if let WriteOutcome::Done { seq } = held.replace_document(request, &change)? {
                let snapshot = FileSnapshot {
                    situation,
                    ..held.snapshot.clone()
                };
                return Ok(UpdateOutcome {
                    seq: Some(seq),
                    snapshot,
                });
            }
        }
        Err(StateFileError::Contended {
            path: held.paths.file.clone(),
            tries: TRIES_MAX,
        }
        .into())
    }

    /// Records that the effects of these lines have been executed.
    pub fn record_executed_effects(
        &self,
        request: &WriteRequest,
        seqs: &[u64],
    ) -> Result<(), StateFileError> {
        self.lock_for_writing(request)?
            .record_executed_effects(request, seqs)
    }

    /// True if even the folder of the file is missing.
    fn is_folder_missing(&self) -> Result<bool, StateFileError> {
        let folder = self.resolve_paths()?.folder;
        let there = self
            .disk
            .stat(&folder)
            .map_err(|error| StateFileError::io(FileOperation::LookAt, &folder, error))?;
        Ok(there.is_none())
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a program that writes in place is given a moment to finish"
)]
fn pause(time: Duration) {
    std::thread::sleep(time);
}
