//! Removal of a document: recorded in the journal before it is done, so that it is not mistaken for
//! another program's.

use crate::error::{FileOperation, StateFileError};
use crate::hash::ContentHash;
use crate::journal::{JournalLine, kind};
use crate::load::FileSituation;
use crate::request::{DocumentChange, WriteRequest};
use crate::state_file_guard::{StateFileGuard, WriteOutcome};
use crate::swap::{CommitOrigin, rename_to_free_name};

impl StateFileGuard {
    /// Removes the file. Its last version becomes the backup.
    pub(crate) fn remove_document(
        &mut self,
        request: &WriteRequest,
        change: &DocumentChange,
    ) -> Result<WriteOutcome, StateFileError> {
        let ours = self.snapshot.text()?.map(str::to_owned);
        let mut lines = self.adoption_lines(request)?;
        let seq = self.next_seq() + lines.len() as u64;
        lines.push(JournalLine {
            seq,
            id: request.id.clone(),
            at: request.at.clone(),
            kind: change.kind.clone(),
            before: ours
                .as_deref()
                .map(|text| ContentHash::of_bytes(text.as_bytes())),
            gone: true,
            transition: change.transition.clone(),
            effects: change.effects.clone(),
            ..JournalLine::default()
        });
        self.append_lines(&lines, true)?;
        self.finish_removal(request, seq, ours, CommitOrigin::Now)
    }

    /// Removes the file after the commit of line `seq`, unless another program wrote it at the same
    /// moment.
    pub(crate) fn finish_removal(
        &mut self,
        request: &WriteRequest,
        seq: u64,
        ours: Option<String>,
        committed: CommitOrigin,
    ) -> Result<WriteOutcome, StateFileError> {
        // Until this is complete, only a new read shows the state of the disk.
        self.stale = true;
        let (disk, paths) = (self.disk(), self.paths.clone());
        let unfinished = |error| StateFileError::Unfinished {
            path: paths.file.clone(),
            seq,
            source: Box::new(error),
        };
        match disk.rename(&paths.file, &paths.swap) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => {
                return Err(unfinished(StateFileError::io(
                    FileOperation::Remove,
                    &paths.file,
                    error,
                )));
            }
            Ok(()) => {
                let out = self.read_back(&paths.swap).map_err(unfinished)?;
                let out = out.unwrap_or_default();
                if Some(ContentHash::of_bytes(&out)) == self.on_disk {
                    self.keep_replaced(None).map_err(unfinished)?;
                } else if let Ok(theirs) = String::from_utf8(out) {
                    return self.put_back_removed(request, seq, ours, theirs, committed);
                } else {
                    self.keep_swapped_out(request).map_err(unfinished)?;
                }
            }
        }
        disk.sync_folder(&paths.folder).map_err(|error| {
            unfinished(StateFileError::io(
                FileOperation::Flush,
                &paths.folder,
                error,
            ))
        })?;
        self.record_other_version(None, FileSituation::Absent);
        Ok(WriteOutcome::Done { seq })
    }

    /// Puts back the version that another program wrote during the removal, and voids the removal.
    fn put_back_removed(
        &mut self,
        request: &WriteRequest,
        seq: u64,
        ours: Option<String>,
        theirs: String,
        committed: CommitOrigin,
    ) -> Result<WriteOutcome, StateFileError> {
        let (disk, paths) = (self.disk(), self.paths.clone());
        let uncertain = |error| StateFileError::Uncertain {
            path: paths.file.clone(),
            seq,
            source: Box::new(error),
        };
        let line = JournalLine {
            seq: self.next_seq(),
            at: request.at.clone(),
            kind: kind::OUTSIDE.to_owned(),
            after: Some(ContentHash::of_bytes(theirs.as_bytes())),
            document: Some(theirs.clone()),
            voids: committed.voided_change(seq),
            ..JournalLine::default()
        };
        self.append_lines(&[line], true).map_err(uncertain)?;
        self.stale = true;
        rename_to_free_name(&*disk, &paths.swap, &paths.file).map_err(|error| {
            uncertain(StateFileError::io(
                FileOperation::PutBack,
                &paths.file,
                error,
            ))
        })?;
        self.record_other_version(Some(theirs.into_bytes()), FileSituation::Outside { ours });
        Ok(WriteOutcome::Theirs)
    }

    /// Records the content in place, where it is not a version of ours.
    pub(crate) fn record_other_version(
        &mut self,
        there: Option<Vec<u8>>,
        situation: FileSituation,
    ) {
        self.on_disk = there.as_deref().map(ContentHash::of_bytes);
        self.acknowledged = self.on_disk;
        self.snapshot.bytes = there;
        self.snapshot.situation = situation;
        self.snapshot.unnoted = false;
        self.loose = false;
        self.stale = false;
    }
}
