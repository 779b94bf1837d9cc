//! Puts the next version in place, and handles a concurrent write by another program.

use std::io;
use std::path::{Path, PathBuf};

use crate::disk::{Disk, EntryKind, FileStat, is_unsupported};
use crate::error::{FileOperation, Incident, IrregularEntry, StateFileError};
use crate::hash::ContentHash;
use crate::journal::{JournalLine, kind};
use crate::layout::FilePaths;
use crate::load::FileSituation;
use crate::request::WriteRequest;
use crate::splice::compute_splices;
use crate::state_file_guard::{StateFileGuard, WriteOutcome};

/// Concurrent versions of other programs that are handled before giving up.
pub(crate) const TRIES_MAX: usize = 16;

/// The command that committed the change which is put in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommitOrigin {
    /// The present command: if another program's version wins, the change is taken back before it
    /// is acknowledged.
    Now,
    /// An earlier command, which may have acknowledged it. It stays history, and the version that
    /// wins is an edit after it.
    Earlier,
}

impl CommitOrigin {
    /// Returns the number of the change that another program's version takes back.
    pub(crate) fn voided_change(self, seq: u64) -> Option<u64> {
        match self {
            CommitOrigin::Now => Some(seq),
            CommitOrigin::Earlier => None,
        }
    }
}

/// The content found under the file's name when ours was put in place.
enum SwapOutcome {
    /// The expected version; it has been kept.
    Expected,
    /// Another version; it now has the swap name, and ours is in place.
    Swapped(Vec<u8>),
    /// An unreadable version; ours is in place, and the next opener may put the other one back.
    Unseen(StateFileError),
    /// Another version; it is still in place.
    InPlace(Vec<u8>),
    /// No file, although one was expected.
    Gone,
}

impl StateFileGuard {
    /// Writes the next version beside the file, flushed.
    pub(crate) fn write_fresh(&self, text: &str) -> Result<(), StateFileError> {
        let (disk, path) = (self.disk(), &self.paths.fresh);
        remove_if_present(&*disk, path)?;
        let written = disk.create_new(path).and_then(|file| {
            if let Some(stat) = &self.stat {
                disk.copy_permissions(&file, stat)?;
            }
            disk.write(&file, text.as_bytes())?;
            disk.sync_all(&file)
        });
        written.map_err(|error| {
            disk.unlink(path).ok();
            StateFileError::io(FileOperation::Write, path, error)
        })
    }

    /// Fails if the replaced version could not be kept: a folder cannot be renamed over.
    pub(crate) fn check_backup(&self) -> Result<(), StateFileError> {
        let path = &self.paths.backup;
        let there = self.disk().stat(path);
        match there.map_err(|error| StateFileError::io(FileOperation::LookAt, path, error))? {
            Some(stat) if stat.kind == EntryKind::Folder => Err(StateFileError::NotRegular {
                path: path.clone(),
                what: IrregularEntry::Folder,
            }),
            Some(_) | None => Ok(()),
        }
    }

    /// Puts the new file in place after the commit of `line`.
    pub(crate) fn finish_replace(
        &mut self,
        request: &WriteRequest,
        line: &JournalLine,
        text: &str,
        ours: Option<String>,
        committed: CommitOrigin,
    ) -> Result<WriteOutcome, StateFileError> {
        let voids = committed.voided_change(line.seq);
        // Until this is complete, only a new read shows the state of the disk.
        self.stale = true;
        let (path, seq) = (self.paths.file.clone(), line.seq);
        let unfinished = |error| StateFileError::Unfinished {
            path: path.clone(),
            seq,
            source: Box::new(error),
        };
        let disk = self.disk();
        disk.rename(&self.paths.fresh, &self.paths.swap)
            .map_err(|error| {
                unfinished(StateFileError::io(
                    FileOperation::Rename,
                    &self.paths.fresh,
                    error,
                ))
            })?;
        let out = self.swap_in(line.aside.as_deref()).map_err(&unfinished)?;
        // From here on the next opener may take the change back, if this is not completed.
        let uncertain = |error| StateFileError::Uncertain {
            path: path.clone(),
            seq,
            source: Box::new(error),
        };
        let theirs = match out {
            SwapOutcome::Expected => {
                disk.sync_folder(&self.paths.folder).map_err(|error| {
                    unfinished(StateFileError::io(
                        FileOperation::Flush,
                        &self.paths.folder,
                        error,
                    ))
                })?;
                self.record_own_version(text, line);
                self.stale = false;
                return Ok(WriteOutcome::Done { seq });
            }
            SwapOutcome::Unseen(error) => return Err(uncertain(error)),
            SwapOutcome::Swapped(theirs) => {
                if std::str::from_utf8(&theirs).is_err() {
                    // It cannot be recorded as text; so it is kept as a file, and ours stays.
                    self.keep_swapped_out(request).map_err(uncertain)?;
                    self.record_own_version(text, line);
                    self.stale = false;
                    return Ok(WriteOutcome::Done { seq });
                }
                self.put_back(request, text, theirs, voids)
                    .map_err(uncertain)?
            }
            SwapOutcome::InPlace(theirs) => {
                let noted = self.record_other_write(request, text, &theirs, voids);
                noted
                    .and_then(|()| remove_if_present(&*disk, &self.paths.swap))
                    .map_err(uncertain)?;
                Some(theirs)
            }
            SwapOutcome::Gone => {
                let gone = self.other_write_line(request, text, None, voids);
                self.append_lines(&[gone], true).map_err(uncertain)?;
                self.stale = true;
                remove_if_present(&*disk, &self.paths.swap).map_err(uncertain)?;
                None
            }
        };
        let situation = match theirs {
            Some(_) => FileSituation::Outside { ours },
            None => FileSituation::Missing { ours },
        };
        self.record_other_version(theirs, situation);
        Ok(WriteOutcome::Theirs)
    }

    /// Exchanges the swap file with the state file, and keeps the replaced content if it is the
    /// version that was read.
    fn swap_in(&mut self, aside: Option<&str>) -> Result<SwapOutcome, StateFileError> {
        let disk = self.disk();
        let (file, swap) = (&self.paths.file, &self.paths.swap);
        let failed = |error| StateFileError::io(FileOperation::Replace, file, error);
        if self.on_disk.is_none() {
            return match rename_to_free_name(&*disk, swap, file) {
                Ok(()) => Ok(SwapOutcome::Expected),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    match self.read_back(file)? {
                        Some(theirs) => Ok(SwapOutcome::InPlace(theirs)),
                        None => Ok(SwapOutcome::Gone),
                    }
                }
                Err(error) => Err(failed(error)),
            };
        }
        match disk.exchange(swap, file) {
            Ok(()) => {
                let out = match self.read_back(swap) {
                    Ok(out) => out.unwrap_or_default(),
                    Err(error) => return Ok(SwapOutcome::Unseen(error)),
                };
                if Some(ContentHash::of_bytes(&out)) != self.on_disk {
                    return Ok(SwapOutcome::Swapped(out));
                }
                self.keep_replaced(aside)?;
                Ok(SwapOutcome::Expected)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(SwapOutcome::Gone),
            Err(error) if is_unsupported(&error) => {
                // Between this read and the rename another writer can slip in unnoticed; without an
                // exchange that cannot be detected.
                match self.read_back(file)? {
                    None => return Ok(SwapOutcome::Gone),
                    Some(there) if Some(ContentHash::of_bytes(&there)) != self.on_disk => {
                        return Ok(SwapOutcome::InPlace(there));
                    }
                    Some(there) => self.copy_replaced(aside, &there)?,
                }
                disk.rename(swap, file).map_err(failed)?;
                Ok(SwapOutcome::Expected)
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// Moves the replaced version to the backup, or to the name that the line gives.
    pub(crate) fn keep_replaced(&self, aside: Option<&str>) -> Result<(), StateFileError> {
        let target = self.kept_path(aside);
        move_file(&*self.disk(), &self.paths, &self.paths.swap, &target)
    }

    fn copy_replaced(&self, aside: Option<&str>, bytes: &[u8]) -> Result<(), StateFileError> {
        let (disk, target) = (self.disk(), self.kept_path(aside));
        copy_to(&*disk, &self.paths, self.stat.as_ref(), bytes, &target)
    }

    fn kept_path(&self, aside: Option<&str>) -> PathBuf {
        match aside {
            None => self.paths.backup.clone(),
            Some(name) => self.paths.side.join(name),
        }
    }

    /// Records `theirs`, which has the swap name while ours is in place, and exchanges the two
    /// back. Repeats this for a version that is newer still. Returns the content in place at the
    /// end.
    pub(crate) fn put_back(
        &mut self,
        request: &WriteRequest,
        ours: &str,
        theirs: Vec<u8>,
        mut voids: Option<u64>,
    ) -> Result<Option<Vec<u8>>, StateFileError> {
        let disk = self.disk();
        let mut ours = ours.to_owned();
        let mut theirs = theirs;
        for _ in 0..TRIES_MAX {
            self.record_other_write(request, &ours, &theirs, voids.take())?;
            self.stale = true;
            match disk.exchange(&self.paths.swap, &self.paths.file) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    // Another program removed ours meanwhile; the version it did not see is not
                    // lost.
                    rename_to_free_name(&*disk, &self.paths.swap, &self.paths.file).map_err(
                        |error| StateFileError::io(FileOperation::PutBack, &self.paths.file, error),
                    )?;
                    return Ok(Some(theirs));
                }
                Err(error) => {
                    return Err(StateFileError::io(
                        FileOperation::PutBack,
                        &self.paths.file,
                        error,
                    ));
                }
            }
            let out = self.read_back(&self.paths.swap)?.unwrap_or_default();
            if out == ours.as_bytes() {
                remove_if_present(&*disk, &self.paths.swap)?;
                disk.sync_folder(&self.paths.folder).map_err(|error| {
                    StateFileError::io(FileOperation::Flush, &self.paths.folder, error)
                })?;
                return Ok(Some(theirs));
            }
            ours = String::from_utf8_lossy(&theirs).into_owned();
            theirs = out;
            if std::str::from_utf8(&theirs).is_err() {
                self.keep_swapped_out(request)?;
                return Ok(Some(ours.into_bytes()));
            }
        }
        Err(StateFileError::Contended {
            path: self.paths.file.clone(),
            tries: TRIES_MAX,
        })
    }

    fn record_other_write(
        &mut self,
        request: &WriteRequest,
        ours: &str,
        theirs: &[u8],
        voids: Option<u64>,
    ) -> Result<(), StateFileError> {
        let line = self.other_write_line(request, ours, Some(theirs), voids);
        self.append_lines(&[line], true)
    }

    fn other_write_line(
        &self,
        request: &WriteRequest,
        ours: &str,
        theirs: Option<&[u8]>,
        voids: Option<u64>,
    ) -> JournalLine {
        let line = JournalLine {
            seq: self.snapshot.seq + 1,
            at: request.at.clone(),
            kind: kind::OUTSIDE.to_owned(),
            before: Some(ContentHash::of_bytes(ours.as_bytes())),
            after: theirs.map(ContentHash::of_bytes),
            gone: theirs.is_none(),
            voids,
            ..JournalLine::default()
        };
        // Bytes that are not text leave a mark: the hash is known, the content is only in the file.
        let patch = theirs
            .and_then(|bytes| std::str::from_utf8(bytes).ok())
            .map(|text| compute_splices(ours, text));
        JournalLine { patch, ..line }
    }

    /// Keeps a version that another program wrote during our write and the exchange replaced.
    pub(crate) fn keep_swapped_out(
        &mut self,
        request: &WriteRequest,
    ) -> Result<(), StateFileError> {
        let swap = self.paths.swap.clone();
        let why = "written by another program in the same moment";
        self.keep_aside(request, &swap, why)
    }

    /// Keeps a file that must not be lost and cannot stay, with a note of the reason.
    pub(crate) fn keep_aside(
        &mut self,
        request: &WriteRequest,
        path: &Path,
        why: &str,
    ) -> Result<(), StateFileError> {
        let disk = self.disk();
        let stamp = crate::stamp::utc_stamp(request.now_ms);
        let kept = self
            .paths
            .set_aside_name(&*disk, &self.paths.file, &stamp)?;
        let line = JournalLine {
            seq: self.snapshot.seq + 1,
            id: request.id.clone(),
            at: request.at.clone(),
            kind: kind::ASIDE.to_owned(),
            aside: kept
                .file_name()
                .map(|name| name.to_string_lossy().into_owned()),
            note: why.to_owned(),
            ..JournalLine::default()
        };
        self.append_lines(&[line], true)?;
        move_file(&*disk, &self.paths, path, &kept)?;
        disk.sync_folder(&self.paths.folder)
            .map_err(|error| StateFileError::Uncertain {
                path: self.paths.file.clone(),
                seq: self.snapshot.seq,
                source: Box::new(StateFileError::io(
                    FileOperation::Flush,
                    &self.paths.folder,
                    error,
                )),
            })?;
        let findings = &mut self.snapshot.findings;
        findings.push(Incident::KeptAside { path: kept });
        Ok(())
    }
}

/// Removes a file that may not exist.
pub(crate) fn remove_if_present(disk: &dyn Disk, path: &Path) -> Result<(), StateFileError> {
    match disk.unlink(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(StateFileError::io(FileOperation::Remove, path, error))
        }
        _ => Ok(()),
    }
}

/// Renames onto a free name, also if the file system has no such rename.
pub(crate) fn rename_to_free_name(disk: &dyn Disk, from: &Path, to: &Path) -> io::Result<()> {
    match disk.rename_new(from, to) {
        Err(error) if is_unsupported(&error) => {
            disk.link(from, to).and_then(|()| disk.unlink(from))
        }
        renamed => renamed,
    }
}

/// Renames a file, or copies it if the side folder is on another file system.
fn move_file(
    disk: &dyn Disk,
    paths: &FilePaths,
    from: &Path,
    to: &Path,
) -> Result<(), StateFileError> {
    match disk.rename(from, to) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            let Some((bytes, stat)) = crate::load::read_file(disk, from)? else {
                return Ok(());
            };
            copy_to(disk, paths, Some(&stat), &bytes, to)?;
            remove_if_present(disk, from)
        }
        Err(error) => Err(StateFileError::io(FileOperation::Rename, from, error)),
    }
}

/// Writes a file with the permissions of `like`, whole or not at all.
pub(crate) fn copy_to(
    disk: &dyn Disk,
    paths: &FilePaths,
    like: Option<&FileStat>,
    bytes: &[u8],
    to: &Path,
) -> Result<(), StateFileError> {
    let scratch = copy_name(paths, to.parent().unwrap_or(Path::new("")));
    remove_if_present(disk, &scratch)?;
    let written = disk.create_new(&scratch).and_then(|file| {
        if let Some(like) = like {
            disk.copy_permissions(&file, like)?;
        }
        disk.write(&file, bytes)?;
        disk.sync_all(&file)
    });
    written
        .and_then(|()| disk.rename(&scratch, to))
        .map_err(|error| {
            disk.unlink(&scratch).ok();
            StateFileError::io(FileOperation::Write, to, error)
        })
}

/// Returns the name of a copy that is being written in `folder`.
pub(crate) fn copy_name(paths: &FilePaths, folder: &Path) -> PathBuf {
    folder.join(paths.scratch_path("copy").file_name().unwrap_or_default())
}
