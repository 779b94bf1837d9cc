//! Appends to a journal, and replaces it when it has grown long.

use std::fs::File;
use std::path::PathBuf;

use super::line::JournalLine;
use crate::disk::{Disk, FileStat, is_unsupported};
use crate::error::{FileOperation, StateFileError};
use crate::layout::FilePaths;
use crate::swap::remove_if_present;

/// The only appender of a journal; the lock is held while it lives.
#[derive(Debug)]
pub(crate) struct JournalWriter {
    path: PathBuf,
    folder: PathBuf,
    file: Option<File>,
    good_bytes: u64,
    torn: bool,
    /// Metadata of the state file: a new journal holds the document's content, so it gets the same
    /// permissions.
    like: Option<FileStat>,
}

impl JournalWriter {
    /// Creates a writer that appends after `good_bytes`; bytes after them are cut off first.
    pub(crate) fn new(
        paths: &FilePaths,
        good_bytes: u64,
        torn: bool,
        like: Option<FileStat>,
    ) -> Self {
        Self {
            path: paths.journal.clone(),
            folder: paths.side.clone(),
            file: None,
            good_bytes,
            torn,
            like,
        }
    }

    /// Returns the length of the committed part.
    pub(crate) fn committed_bytes(&self) -> u64 {
        self.good_bytes
    }

    /// Appends lines and, if `durable`, returns only once they are on the medium.
    ///
    /// On an error the lines are taken back; [`StateFileError::Uncertain`] if that failed too.
    pub(crate) fn append_lines(
        &mut self,
        disk: &dyn Disk,
        lines: &[JournalLine],
        durable: bool,
    ) -> Result<(), StateFileError> {
        let Some(seq) = lines.last().map(|line| line.seq) else {
            return Ok(());
        };
        let mut bytes = Vec::new();
        for line in lines {
            let encoded = line.encode().map_err(|error| {
                StateFileError::io(
                    FileOperation::EncodeLine,
                    &self.path,
                    std::io::Error::other(error),
                )
            })?;
            bytes.extend_from_slice(&encoded);
        }
        let created = self.open_journal(disk)?;
        let Some(file) = &self.file else {
            return Ok(());
        };
        if let Err(error) = disk.write(file, &bytes) {
            let error = StateFileError::io(FileOperation::AppendTo, &self.path, error);
            self.torn = disk.truncate(file, self.good_bytes).is_err();
            // A torn line is no line, so a single one is certainly not committed; of several, the
            // first may be whole.
            if self.torn && lines.len() > 1 {
                return Err(self.uncertain_error(seq, error));
            }
            return Err(error);
        }
        if durable {
            let synced = disk
                .sync_data(file)
                .map_err(|error| StateFileError::io(FileOperation::Flush, &self.path, error))
                .and_then(|()| match created {
                    false => Ok(()),
                    true => disk.sync_folder(&self.folder).map_err(|error| {
                        StateFileError::io(FileOperation::Flush, &self.folder, error)
                    }),
                });
            if let Err(error) = synced {
                if disk.truncate(file, self.good_bytes).is_ok() {
                    return Err(error);
                }
                self.good_bytes += bytes.len() as u64;
                return Err(self.uncertain_error(seq, error));
            }
        }
        self.good_bytes += bytes.len() as u64;
        Ok(())
    }

    fn uncertain_error(&self, seq: u64, error: StateFileError) -> StateFileError {
        StateFileError::Uncertain {
            path: self.path.clone(),
            seq,
            source: Box::new(error),
        }
    }

    /// Opens the journal and cuts off bytes that were never committed. Returns true if the journal
    /// is new.
    fn open_journal(&mut self, disk: &dyn Disk) -> Result<bool, StateFileError> {
        let mut created = false;
        if self.file.is_none() {
            let (file, new) = disk
                .open_append(&self.path)
                .map_err(|error| StateFileError::io(FileOperation::Open, &self.path, error))?;
            if let (true, Some(like)) = (new, &self.like) {
                disk.copy_permissions(&file, like).map_err(|error| {
                    StateFileError::io(FileOperation::SetOwner, &self.path, error)
                })?;
            }
            self.file = Some(file);
            created = new;
        }
        if let (true, Some(file)) = (self.torn, &self.file) {
            disk.truncate(file, self.good_bytes)
                .map_err(|error| StateFileError::io(FileOperation::Truncate, &self.path, error))?;
            self.torn = false;
        }
        Ok(created)
    }

    /// Starts a new journal with `base`; the present one becomes the older one.
    ///
    /// At every moment one of the two is complete under the journal's name.
    pub(crate) fn rotate_journal(
        &mut self,
        disk: &dyn Disk,
        paths: &FilePaths,
        base: &JournalLine,
    ) -> Result<(), StateFileError> {
        let bytes = base.encode().map_err(|error| {
            StateFileError::io(
                FileOperation::EncodeLine,
                &self.path,
                std::io::Error::other(error),
            )
        })?;
        let fresh = &paths.rotating;
        let rename = |error| StateFileError::io(FileOperation::Rotate, &self.path, error);
        remove_if_present(disk, fresh)?;
        let written = disk.create_new(fresh).and_then(|file| {
            if let Some(like) = &self.like {
                disk.copy_permissions(&file, like)?;
            }
            disk.write(&file, &bytes)?;
            disk.sync_data(&file)
        });
        if let Err(error) = written {
            disk.unlink(fresh).ok();
            return Err(StateFileError::io(FileOperation::Write, fresh, error));
        }
        match disk.exchange(fresh, &self.path) {
            // The next opener cleans up a leftover under this name.
            Ok(()) => drop(disk.rename(fresh, &paths.older_journal)),
            Err(error) if is_unsupported(&error) => {
                remove_if_present(disk, &paths.older_journal)?;
                disk.link(&self.path, &paths.older_journal)
                    .map_err(rename)?;
                disk.rename(fresh, &self.path).map_err(rename)?;
            }
            Err(error) => {
                disk.unlink(fresh).ok();
                return Err(rename(error));
            }
        }
        self.file = None;
        self.good_bytes = bytes.len() as u64;
        self.torn = false;
        // Lines appended from now on are only as durable as the new journal's name.
        disk.sync_folder(&paths.side)
            .map_err(|error| StateFileError::io(FileOperation::Flush, &paths.side, error))
    }
}
