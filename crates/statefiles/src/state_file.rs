//! One state file: the type that callers use.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::disk::{Disk, RealDisk};
use crate::error::{Error, FileOperation, Incident, UpdateError};
use crate::held::{Held, Written};
use crate::journal::{JOURNAL_BYTES_MAX, Writer};
use crate::layout::{Layout, Paths};
use crate::load::{Situation, Snapshot, load};
use crate::lock::{JournalLock, LOCK_WAIT_MS, Lock, Owner, holder};
use crate::request::{Change, Request};
use crate::roll::Replay;
use crate::swap::TRIES_MAX;
use crate::tidy;

/// A file changed within this time may still be being written by a program that writes in place.
pub const FRESH_MS: i64 = 100;
const FRESH_POLL_MS: u64 = 5;

/// One state file and its companions. Cheap to clone; holds nothing open.
#[derive(Debug, Clone)]
pub struct StateFile {
    pub(crate) layout: Layout,
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) replay: Option<Arc<dyn Replay>>,
    pub(crate) with_history: bool,
    pub(crate) journal_bytes_max: u64,
    pub(crate) lock_wait: Duration,
}

/// The result of [`StateFile::update`].
#[derive(Debug, Clone)]
pub struct Updated {
    /// The number of the change; `None` if the decision was to change nothing.
    pub seq: Option<u64>,
    /// The document afterwards, with the findings made on the way. Its situation is the one at the
    /// decision.
    pub snapshot: Snapshot,
}

impl StateFile {
    /// Creates a state file on the real disk with the default limits.
    #[must_use]
    pub fn new(layout: Layout) -> Self {
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
    pub fn with_replay(mut self, replay: Arc<dyn Replay>) -> Self {
        self.replay = Some(replay);
        self
    }

    /// Makes every read bring the [whole journals](Snapshot::history) along, for a file that is not
    /// trusted without them. A decision about a change is asked for even if they cannot be read,
    /// before they are set aside.
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

    pub(crate) fn paths(&self) -> Result<Paths, Error> {
        self.layout.resolve(&*self.disk)
    }

    /// Reads the document without taking the lock and without writing anything.
    pub fn load(&self) -> Result<Snapshot, Error> {
        Ok(load(self, &self.paths()?)?.snapshot)
    }

    /// Reads a document that does not parse again: if the file was changed within the last
    /// [`FRESH_MS`], waits until it changes or that time is over. `None` if there is no new
    /// version.
    pub fn reread_if_fresh(
        &self,
        snapshot: &Snapshot,
        now_ms: i64,
    ) -> Result<Option<Snapshot>, Error> {
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
    pub fn lock_owner(&self, now_ms: i64) -> Result<Option<Owner>, Error> {
        holder(&*self.disk, &self.paths()?, now_ms)
    }

    /// Takes the lock, completes what a crash left unfinished, and keeps the lock until the result
    /// is dropped.
    pub fn hold(&self, request: &Request) -> Result<Held, Error> {
        self.hold_asking(request, false)
    }

    fn hold_asking(&self, request: &Request, asks_first: bool) -> Result<Held, Error> {
        let paths = self.paths()?;
        for folder in [&paths.folder, &paths.side] {
            self.disk
                .create_folders(folder)
                .map_err(|error| Error::io(FileOperation::Create, folder, error))?;
        }
        let lock = Lock::take(&self.disk, &paths, request, self.lock_wait)?;
        let journal_lock = JournalLock::take(&*self.disk, &paths, self.lock_wait)?;
        let mut findings = Vec::new();
        if journal_lock.waited {
            findings.push(Incident::LockRemoved);
        }
        if let Some(owner) = &lock.taken_from {
            findings.push(Incident::ForeignLockTakenOver {
                owner: owner.to_string(),
            });
        }
        let mut held = Held {
            file: self.clone(),
            journal: Writer::new(&paths, 0, false, None),
            snapshot: Snapshot {
                path: paths.file.clone(),
                bytes: None,
                situation: Situation::Absent,
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
        tidy::reload(&mut held, request)?;
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
        request: &Request,
        mut decide: impl FnMut(&Snapshot) -> Result<Option<Change>, E>,
    ) -> Result<Updated, UpdateError<E>> {
        if self.nowhere()? {
            // Folders are created for a document, not for a refusal.
            let snapshot = self.load()?;
            if decide(&snapshot).map_err(UpdateError::Refused)?.is_none() {
                return Ok(Updated {
                    seq: None,
                    snapshot,
                });
            }
        }
        let mut held = self.hold_asking(request, self.with_history)?;
        for _ in 0..TRIES_MAX {
            let Some(change) = decide(&held.snapshot).map_err(UpdateError::Refused)? else {
                return Ok(Updated {
                    seq: None,
                    snapshot: held.snapshot.clone(),
                });
            };
            let situation = held.snapshot.situation.clone();
            if let Written::Done { seq } = held.replace(request, &change)? {
                let snapshot = Snapshot {
                    situation,
                    ..held.snapshot.clone()
                };
                return Ok(Updated {
                    seq: Some(seq),
                    snapshot,
                });
            }
        }
        Err(Error::Contended {
            path: held.paths.file.clone(),
            tries: TRIES_MAX,
        }
        .into())
    }

    /// Records that the effects of these lines have been executed.
    pub fn effects_done(&self, request: &Request, seqs: &[u64]) -> Result<(), Error> {
        self.hold(request)?.effects_done(request, seqs)
    }

    /// True if even the folder of the file is missing.
    fn nowhere(&self) -> Result<bool, Error> {
        let folder = self.paths()?.folder;
        let there = self
            .disk
            .stat(&folder)
            .map_err(|error| Error::io(FileOperation::LookAt, &folder, error))?;
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
