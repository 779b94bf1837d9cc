//! A state file with its lock held: every write happens here.

use std::path::Path;
use std::sync::Arc;

use crate::disk::{Disk, EntryKind, FileStat};
use crate::error::{FileOperation, StateFileError};
use crate::hash::ContentHash;
use crate::history::unexecuted_effects;
use crate::journal::{JournalLine, JournalWriter, kind, read_all};
use crate::layout::FilePaths;
use crate::load::{FILE_BYTES_MAX, FileSituation, FileSnapshot};
use crate::lock::{FileLock, JournalLock};
use crate::request::{BatchStep, DocumentChange, WriteRequest};
use crate::splice::compute_splices;
use crate::state_file::StateFile;
use crate::swap::CommitOrigin;
use crate::{archive, crash_recovery};

/// The result of writing the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum WriteOutcome {
    /// The document is in place, under this number.
    Done {
        /// The number of its journal line.
        seq: u64,
    },
    /// Another program wrote the file during the write. Its version is in place and in the journal,
    /// ours was taken back, and the snapshot shows the other version. The caller must decide again.
    Theirs,
}

/// The right to write a state file. The lock is released on drop.
#[derive(Debug)]
pub struct StateFileGuard {
    pub(crate) file: StateFile,
    pub(crate) paths: FilePaths,
    pub(crate) journal: JournalWriter,
    pub(crate) snapshot: FileSnapshot,
    /// Hash of the content expected under the file's name.
    pub(crate) on_disk: Option<ContentHash>,
    pub(crate) stat: Option<FileStat>,
    /// Hash of the version at the journal's end, if known.
    pub(crate) acknowledged: Option<ContentHash>,
    /// True if steps were committed that the file does not show.
    pub(crate) loose: bool,
    /// The name for keeping the replaced file according to the last committed line; `None` for the
    /// backup.
    pub(crate) last_aside: Option<String>,
    /// Hash of the version that the last replace took out: the expected content of the backup.
    pub(crate) last_before: Option<ContentHash>,
    /// True after a failure: the disk must be read again before the next write.
    pub(crate) stale: bool,
    /// True if an unreadable journal is set aside by the first write only, because the caller may
    /// still refuse the change.
    pub(crate) asks_first: bool,
    pub(crate) journal_lock: JournalLock,
    // The last field, so that it is dropped last.
    pub(crate) _lock: FileLock,
}

impl StateFileGuard {
    /// Returns the present version of the document.
    #[must_use]
    pub fn snapshot(&self) -> &FileSnapshot {
        &self.snapshot
    }

    /// True if lock and journal were removed, as with their folder: writes through this value are
    /// lost then.
    #[must_use]
    pub fn is_removed(&self) -> bool {
        let gone = |path: &Path| matches!(self.file.disk.stat(path), Ok(None));
        gone(&self.paths.lock) && gone(&self.paths.journal)
    }

    pub(crate) fn disk(&self) -> Arc<dyn Disk> {
        self.file.disk.clone()
    }

    pub(crate) fn next_seq(&self) -> u64 {
        self.snapshot.seq + 1
    }

    /// Writes the next version: temporary file, commit in the journal, exchange.
    pub fn replace_document(
        &mut self,
        request: &WriteRequest,
        change: &DocumentChange,
    ) -> Result<WriteOutcome, StateFileError> {
        self.prepare_write(request)?;
        if self.loose && !self.snapshot.unnoted {
            // Rolling this change forward from the file would skip the steps.
            return Err(StateFileError::StepsNotWritten {
                path: self.paths.file.clone(),
            });
        }
        if change.gone {
            return self.remove_document(request, change);
        }
        let acknowledged_text = self.snapshot.text()?.map(str::to_owned);
        let before = acknowledged_text.as_deref();
        self.check_size(&change.text)?;
        let mut lines = self.adoption_lines(request)?;
        let line = JournalLine {
            seq: self.next_seq() + lines.len() as u64,
            id: request.id.clone(),
            at: request.at.clone(),
            kind: change.kind.clone(),
            before: before.map(|text| ContentHash::of_bytes(text.as_bytes())),
            after: Some(ContentHash::of_bytes(change.text.as_bytes())),
            patch: Some(compute_splices(before.unwrap_or(""), &change.text)),
            transition: change.transition.clone(),
            effects: change.effects.clone(),
            ..JournalLine::default()
        };
        lines.push(line);
        let copy = if change.important { before } else { None };
        self.commit_and_replace(
            request,
            lines,
            &change.text,
            copy,
            acknowledged_text.clone(),
        )
    }

    /// Commits steps of a batch with one flush, and returns the number of the last one. The file
    /// does not show them before the next [`StateFileGuard::write_document`].
    pub fn commit_steps(
        &mut self,
        request: &WriteRequest,
        steps: &[BatchStep],
    ) -> Result<u64, StateFileError> {
        self.prepare_write(request)?;
        if self.snapshot.bytes.is_none() {
            return Err(StateFileError::NoDocument {
                path: self.paths.file.clone(),
            });
        }
        let mut lines = self.adoption_lines(request)?;
        let first = self.next_seq() + lines.len() as u64;
        lines.extend(steps.iter().zip(first..).map(|(step, seq)| JournalLine {
            seq,
            id: step.id.clone(),
            at: step.at.clone(),
            kind: kind::STEP.to_owned(),
            logical: Some(step.logical.clone()),
            transition: step.transition.clone(),
            effects: step.effects.clone(),
            ..JournalLine::default()
        }));
        self.append_lines(&lines, true)?;
        self.snapshot.unnoted = false;
        self.acknowledged = if steps.is_empty() { self.on_disk } else { None };
        self.loose |= !steps.is_empty();
        Ok(self.snapshot.seq)
    }

    /// Writes the file as it is after all committed steps.
    pub fn write_document(
        &mut self,
        request: &WriteRequest,
        text: &str,
    ) -> Result<WriteOutcome, StateFileError> {
        self.prepare_write(request)?;
        self.check_size(text)?;
        let mut lines = self.adoption_lines(request)?;
        lines.push(JournalLine {
            seq: self.next_seq() + lines.len() as u64,
            id: request.id.clone(),
            at: request.at.clone(),
            kind: kind::MARK.to_owned(),
            before: self.on_disk,
            after: Some(ContentHash::of_bytes(text.as_bytes())),
            ..JournalLine::default()
        });
        self.commit_and_replace(request, lines, text, None, Some(text.to_owned()))
    }

    /// Records that the effects of these lines have been executed.
    ///
    /// The record is not flushed: if it is lost, the effects are executed again, as they may be
    /// after any crash.
    pub fn record_executed_effects(
        &mut self,
        request: &WriteRequest,
        seqs: &[u64],
    ) -> Result<(), StateFileError> {
        self.prepare_write(request)?;
        let line = JournalLine {
            seq: self.next_seq(),
            id: request.id.clone(),
            at: request.at.clone(),
            kind: kind::EFFECT_DONE.to_owned(),
            done: seqs.to_vec(),
            ..JournalLine::default()
        };
        self.append_lines(&[line], false)
    }

    /// The common part of all replaces. `ours` is the version to report if another program's wins.
    pub(crate) fn commit_and_replace(
        &mut self,
        request: &WriteRequest,
        lines: Vec<JournalLine>,
        text: &str,
        copy: Option<&str>,
        ours: Option<String>,
    ) -> Result<WriteOutcome, StateFileError> {
        let Some(line) = lines.last().cloned() else {
            return Ok(WriteOutcome::Done {
                seq: self.snapshot.seq,
            });
        };
        let disk = self.disk();
        if self.on_disk == line.after && line.aside.is_none() {
            self.append_lines(&lines, true)?;
            self.record_own_version(text, &line);
            return Ok(WriteOutcome::Done { seq: line.seq });
        }
        // Before the commit, so that a full disk is found while nothing has changed yet.
        self.check_backup()?;
        self.write_fresh(text)?;
        let archived = match copy
            .map(|copy| {
                archive::write_copy(
                    &*disk,
                    &self.paths,
                    self.stat.as_ref(),
                    copy,
                    request.now_ms,
                )
            })
            .transpose()
        {
            Ok(archived) => archived.flatten(),
            Err(error) => {
                disk.unlink(&self.paths.fresh).ok();
                return Err(error);
            }
        };
        if let Err(error) = self.append_lines(&lines, true) {
            // A change that may be committed may need the file for its completion.
            if !error.may_be_committed() {
                disk.unlink(&self.paths.fresh).ok();
                archived.map(|path| disk.unlink(&path));
            }
            return Err(error);
        }
        let written = self.finish_replace(request, &line, text, ours, CommitOrigin::Now)?;
        if archived.is_some() {
            // Too many copies do no harm; the next important change removes them.
            archive::prune_copies(&*disk, &self.paths).ok();
        }
        Ok(written)
    }

    /// Records that `text` is in place under `line`.
    pub(crate) fn record_own_version(&mut self, text: &str, line: &JournalLine) {
        self.snapshot.bytes = Some(text.as_bytes().to_vec());
        self.snapshot.situation = FileSituation::Clean;
        self.last_before = self.on_disk;
        self.on_disk = line.after;
        self.acknowledged = line.after;
        self.snapshot.unnoted = false;
        self.loose = false;
    }

    /// Appends lines that are already numbered, and advances the snapshot's number.
    pub(crate) fn append_lines(
        &mut self,
        lines: &[JournalLine],
        durable: bool,
    ) -> Result<(), StateFileError> {
        let appended = self.journal.append_lines(&*self.disk(), lines, durable);
        match &appended {
            Ok(()) => self.advance_snapshot(lines),
            Err(_) => self.stale = true,
        }
        appended
    }

    /// Advances the snapshot to the last of these lines, which are now in the journal.
    fn advance_snapshot(&mut self, lines: &[JournalLine]) {
        self.snapshot.seq = lines.last().map_or(self.snapshot.seq, |line| line.seq);
        if let Some(history) = &mut self.snapshot.history {
            Arc::make_mut(history).append_lines(lines);
        }
    }

    /// Returns the lines that must come first because the journal does not know the content on
    /// disk.
    pub(crate) fn adoption_lines(
        &self,
        request: &WriteRequest,
    ) -> Result<Vec<JournalLine>, StateFileError> {
        if !self.snapshot.unnoted {
            return Ok(Vec::new());
        }
        let text = self.snapshot.text()?;
        let line = JournalLine {
            seq: self.next_seq(),
            at: request.at.clone(),
            kind: kind::OUTSIDE.to_owned(),
            before: self.acknowledged,
            after: text.map(|text| ContentHash::of_bytes(text.as_bytes())),
            ..JournalLine::default()
        };
        Ok(match (&self.snapshot.situation, text) {
            (FileSituation::Unmanaged, Some(text)) => {
                let (kind, document) = (kind::BASE.to_owned(), Some(text.to_owned()));
                vec![JournalLine {
                    kind,
                    before: line.after,
                    document,
                    ..line
                }]
            }
            (FileSituation::Outside { ours: Some(ours) }, Some(text)) => {
                vec![JournalLine {
                    patch: Some(compute_splices(ours, text)),
                    ..line
                }]
            }
            (_, Some(text)) => vec![JournalLine {
                document: Some(text.to_owned()),
                ..line
            }],
            (FileSituation::Missing { .. }, None) => vec![JournalLine { gone: true, ..line }],
            (_, None) => Vec::new(),
        })
    }

    fn check_size(&self, text: &str) -> Result<(), StateFileError> {
        let (bytes, bytes_max) = (text.len() as u64, FILE_BYTES_MAX);
        if bytes > bytes_max {
            return Err(StateFileError::TooBig {
                path: self.paths.file.clone(),
                bytes,
                bytes_max,
            });
        }
        Ok(())
    }

    /// Reads the disk again after a failure, and starts a new journal if the present one is long.
    pub(crate) fn prepare_write(&mut self, request: &WriteRequest) -> Result<(), StateFileError> {
        if self.stale {
            crash_recovery::reload_and_recover(self, request)?;
        }
        self.rotate_if_long(request)
    }

    /// Keeps a late write: a program that had opened the file before it was replaced, and wrote
    /// later, wrote into the backup. The next replace would lose that version, so it is kept and
    /// reported.
    pub(crate) fn keep_late_write(&mut self, request: &WriteRequest) -> Result<(), StateFileError> {
        let (disk, backup) = (self.disk(), self.paths.backup.clone());
        let there = disk
            .stat(&backup)
            .map_err(|error| StateFileError::io(FileOperation::LookAt, &backup, error))?;
        let is_file = there.is_some_and(|there| there.kind == EntryKind::Regular);
        if !is_file || self.on_disk.is_none() || self.snapshot.seq == 0 {
            return Ok(());
        }
        let hash = self
            .read_back(&backup)?
            .as_deref()
            .map(ContentHash::of_bytes);
        if hash.is_none() || [self.last_before, self.on_disk].contains(&hash) {
            return Ok(());
        }
        let known = |line: &JournalLine| line.before == hash || line.after == hash;
        let history = self.file.history_of(self.snapshot.history.as_ref())?;
        if history.all_lines().iter().any(known) {
            return Ok(());
        }
        let why = "written by a program that had opened the file before the last change";
        self.keep_aside(request, &backup, why)
    }

    fn rotate_if_long(&mut self, request: &WriteRequest) -> Result<(), StateFileError> {
        let known = !self.snapshot.unnoted && !self.loose && self.snapshot.bytes.is_some();
        if self.journal.committed_bytes() <= self.file.journal_bytes_max || !known {
            return Ok(());
        }
        let Ok(Some(text)) = self.snapshot.text() else {
            return Ok(());
        };
        let disk = self.disk();
        let hash = Some(ContentHash::of_bytes(text.as_bytes()));
        let base = JournalLine {
            seq: self.next_seq(),
            at: request.at.clone(),
            kind: kind::BASE.to_owned(),
            before: hash,
            after: hash,
            document: Some(text.to_owned()),
            carried: unexecuted_effects(&read_all(&*disk, &self.paths.journal)?.lines),
            ..JournalLine::default()
        };
        self.stale = true;
        self.journal.rotate_journal(&*disk, &self.paths, &base)?;
        self.journal_lock = JournalLock::acquire(&*disk, &self.paths, self.file.lock_wait)?;
        self.stale = false;
        self.advance_snapshot(&[base]);
        Ok(())
    }

    pub(crate) fn read_back(&self, path: &Path) -> Result<Option<Vec<u8>>, StateFileError> {
        Ok(crate::load::read_file(&*self.disk(), path)?.map(|(bytes, _)| bytes))
    }
}
