//! Repair of damaged files: they are set aside, never deleted, and replaced by the best version
//! found.

use std::fmt;
use std::path::PathBuf;

use crate::archive;
use crate::error::StateFileError;
use crate::hash::ContentHash;
use crate::journal::{JournalLine, kind};
use crate::load::read_file;
use crate::request::WriteRequest;
use crate::stamp::utc_stamp;
use crate::state_file::StateFile;
use crate::state_file_guard::{StateFileGuard, WriteOutcome};

/// The caller's knowledge about a damaged document: a check, and further sources for its repair.
pub struct RepairCallbacks<'a> {
    /// Returns true if a document is good.
    pub validate: &'a dyn Fn(&str) -> bool,
    /// Builds the document from other sources, if there are any.
    pub rebuild: &'a dyn Fn() -> Option<String>,
    /// Creates a document to start anew with, if the caller has one.
    pub empty: &'a dyn Fn() -> Option<String>,
    /// Completes the document that replaces the damaged one, given its source.
    pub finish: &'a dyn Fn(&RepairSource, String) -> String,
}

impl fmt::Debug for RepairCallbacks<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Rescue")
    }
}

/// The source of a repaired document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RepairSource {
    /// The file turned out to be good.
    Intact,
    /// The version last acknowledged, from the journal.
    Journal,
    /// An older version, from the journal: nothing on the disk can rebuild what was acknowledged
    /// after it.
    Version {
        /// The number of the change that led to the version.
        seq: u64,
    },
    /// The backup beside the file: the version before the last change, or an older one.
    Backup(PathBuf),
    /// A dated copy from the archive.
    Archive(PathBuf),
    /// A document that the caller rebuilt.
    Rebuilt,
    /// A new, empty document.
    Empty,
}

/// The result of [`StateFile::recover_document`].
#[derive(Debug, Clone)]
pub struct RecoveredDocument {
    /// The source of the document.
    pub source: RepairSource,
    /// The document after the repair.
    pub text: String,
    /// The new path of the damaged file, if there was one.
    pub set_aside: Option<PathBuf>,
    /// The number of the repair's journal line; `None` if the file was intact.
    pub seq: Option<u64>,
}

impl StateFile {
    /// Replaces a damaged or missing document by the first good one of: the newest committed
    /// version that anything on the disk can rebuild, the backup, the dated copies, the caller's
    /// rebuild, a new document. The damaged file is set aside with the reason.
    pub fn recover_document(
        &self,
        request: &WriteRequest,
        reason: &str,
        rescue: &RepairCallbacks<'_>,
    ) -> Result<RecoveredDocument, StateFileError> {
        let mut held = self.lock_for_writing(request)?;
        for _ in 0..crate::swap::TRIES_MAX {
            if let Ok(Some(text)) = held.snapshot.text()
                && (rescue.validate)(text)
            {
                let text = text.to_owned();
                return Ok(RecoveredDocument {
                    source: RepairSource::Intact,
                    text,
                    set_aside: None,
                    seq: None,
                });
            }
            let (source, text) = held.best_source(rescue)?;
            let text = (rescue.finish)(&source, text);
            let (written, set_aside) = held.repair_document(request, reason, &source, &text)?;
            if let WriteOutcome::Done { seq } = written {
                return Ok(RecoveredDocument {
                    source,
                    text,
                    set_aside,
                    seq: Some(seq),
                });
            }
        }
        Err(StateFileError::Contended {
            path: held.paths.file.clone(),
            tries: crate::swap::TRIES_MAX,
        })
    }
}

impl StateFileGuard {
    fn best_source(
        &self,
        rescue: &RepairCallbacks<'_>,
    ) -> Result<(RepairSource, String), StateFileError> {
        let disk = self.disk();
        let good = |text: Option<String>| text.filter(|text| (rescue.validate)(text));
        // A copy that cannot be read is only one source less.
        let read = |path: &PathBuf| {
            read_file(&*disk, path)
                .ok()
                .flatten()
                .and_then(|(bytes, _)| String::from_utf8(bytes).ok())
        };
        let dated = match &self.paths.archive {
            Some(archive) => archive::copies_newest_first(&*disk, archive)?,
            None => Vec::new(),
        };
        let about = [&self.paths.backup, &self.paths.swap, &self.paths.fresh];
        let copies = about.into_iter().chain(&dated).filter_map(read);
        let copies = copies.map(|text| (ContentHash::of_bytes(text.as_bytes()), text));
        let history = self.file.history_of(self.snapshot.history.as_ref())?;
        if let Some(newest) = history.newest_good(&copies.collect(), rescue.validate) {
            let source = match newest.last_acknowledged {
                true => RepairSource::Journal,
                false => RepairSource::Version { seq: newest.seq },
            };
            return Ok((source, newest.text));
        }
        if let Some(text) = good(read(&self.paths.backup)) {
            return Ok((RepairSource::Backup(self.paths.backup.clone()), text));
        }
        if let Some((path, text)) = dated
            .into_iter()
            .find_map(|path| Some((path.clone(), good(read(&path))?)))
        {
            return Ok((RepairSource::Archive(path), text));
        }
        if let Some(text) = good((rescue.rebuild)()) {
            return Ok((RepairSource::Rebuilt, text));
        }
        match good((rescue.empty)()) {
            Some(text) => Ok((RepairSource::Empty, text)),
            None => Err(StateFileError::NothingToRestore {
                path: self.paths.file.clone(),
            }),
        }
    }

    /// Puts a good document in the place of the damaged one, which is set aside under its own name
    /// instead of the backup's.
    fn repair_document(
        &mut self,
        request: &WriteRequest,
        reason: &str,
        source: &RepairSource,
        text: &str,
    ) -> Result<(WriteOutcome, Option<PathBuf>), StateFileError> {
        let disk = self.disk();
        let set_aside = match self.on_disk {
            None => None,
            Some(_) => {
                let stamp = utc_stamp(request.now_ms);
                Some(
                    self.paths
                        .set_aside_name(&*disk, &self.paths.file, &stamp)?,
                )
            }
        };
        let from = match source {
            RepairSource::Intact | RepairSource::Journal => "the journal".to_owned(),
            RepairSource::Version { seq } => format!("the journal as of change {seq}"),
            RepairSource::Backup(path) | RepairSource::Archive(path) => path.display().to_string(),
            RepairSource::Rebuilt => "other sources".to_owned(),
            RepairSource::Empty => "a fresh start".to_owned(),
        };
        let line = JournalLine {
            seq: self.snapshot.seq + 1,
            id: request.id.clone(),
            at: request.at.clone(),
            kind: kind::REPAIR.to_owned(),
            before: self.on_disk,
            after: Some(ContentHash::of_bytes(text.as_bytes())),
            document: Some(text.to_owned()),
            aside: set_aside
                .as_ref()
                .and_then(|path| path.file_name())
                .map(|name| name.to_string_lossy().into_owned()),
            note: format!("{reason}; restored from {from}"),
            ..JournalLine::default()
        };
        let written = self.commit_and_replace(request, vec![line], text, None, None)?;
        Ok((written, set_aside))
    }
}
