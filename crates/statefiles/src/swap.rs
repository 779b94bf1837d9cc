//! Puts the next version in place, and handles a concurrent write by another program.

use std::io;
use std::path::{Path, PathBuf};

use crate::disk::{Disk, EntryKind, Stat, unsupported};
use crate::error::{Error, FileOperation, Incident, IrregularEntry};
use crate::hash::ContentHash;
use crate::held::{Held, Written};
use crate::journal::{Line, kind};
use crate::layout::Paths;
use crate::load::Situation;
use crate::request::Request;
use crate::splice::splices;

/// Concurrent versions of other programs that are handled before giving up.
pub(crate) const TRIES_MAX: usize = 16;

/// The command that committed the change which is put in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Committed {
    /// The present command: if another program's version wins, the change is taken back before it
    /// is acknowledged.
    Now,
    /// An earlier command, which may have acknowledged it. It stays history, and the version that
    /// wins is an edit after it.
    Earlier,
}

impl Committed {
    /// Returns the number of the change that another program's version takes back.
    pub(crate) fn voided(self, seq: u64) -> Option<u64> {
        match self {
            Committed::Now => Some(seq),
            Committed::Earlier => None,
        }
    }
}

/// The content found under the file's name when ours was put in place.
enum Out {
    /// The expected version; it has been kept.
    Expected,
    /// Another version; it now has the swap name, and ours is in place.
    Swapped(Vec<u8>),
    /// An unreadable version; ours is in place, and the next opener may put the other one back.
    Unseen(Error),
    /// Another version; it is still in place.
    InPlace(Vec<u8>),
    /// No file, although one was expected.
    Gone,
}

impl Held {
    /// Writes the next version beside the file, flushed.
    pub(crate) fn write_fresh(&self, text: &str) -> Result<(), Error> {
        let (disk, path) = (self.disk(), &self.paths.fresh);
        remove(&*disk, path)?;
        let written = disk.create_new(path).and_then(|file| {
            if let Some(stat) = &self.stat {
                disk.dress(&file, stat)?;
            }
            disk.write(&file, text.as_bytes())?;
            disk.sync_all(&file)
        });
        written.map_err(|error| {
            disk.unlink(path).ok();
            Error::io(FileOperation::Write, path, error)
        })
    }

    /// Fails if the replaced version could not be kept: a folder cannot be renamed over.
    pub(crate) fn check_backup(&self) -> Result<(), Error> {
        let path = &self.paths.backup;
        let there = self.disk().stat(path);
        match there.map_err(|error| Error::io(FileOperation::LookAt, path, error))? {
            Some(stat) if stat.kind == EntryKind::Folder => Err(Error::NotRegular {
                path: path.clone(),
                what: IrregularEntry::Folder,
            }),
            Some(_) | None => Ok(()),
        }
    }

    /// Puts the new file in place after the commit of `line`.
    pub(crate) fn finish(
        &mut self,
        request: &Request,
        line: &Line,
        text: &str,
        ours: Option<String>,
        committed: Committed,
    ) -> Result<Written, Error> {
        let voids = committed.voided(line.seq);
        // Until this is complete, only a new read shows the state of the disk.
        self.stale = true;
        let (path, seq) = (self.paths.file.clone(), line.seq);
        let unfinished = |error| Error::Unfinished {
            path: path.clone(),
            seq,
            source: Box::new(error),
        };
        let disk = self.disk();
        disk.rename(&self.paths.fresh, &self.paths.swap)
            .map_err(|error| {
                unfinished(Error::io(FileOperation::Rename, &self.paths.fresh, error))
            })?;
        let out = self.swap_in(line.aside.as_deref()).map_err(&unfinished)?;
        // From here on the next opener may take the change back, if this is not completed.
        let uncertain = |error| Error::Uncertain {
            path: path.clone(),
            seq,
            source: Box::new(error),
        };
        let theirs = match out {
            Out::Expected => {
                disk.sync_folder(&self.paths.folder).map_err(|error| {
                    unfinished(Error::io(FileOperation::Flush, &self.paths.folder, error))
                })?;
                self.settled(text, line);
                self.stale = false;
                return Ok(Written::Done { seq });
            }
            Out::Unseen(error) => return Err(uncertain(error)),
            Out::Swapped(theirs) => {
                if std::str::from_utf8(&theirs).is_err() {
                    // It cannot be recorded as text; so it is kept as a file, and ours stays.
                    self.keep_swapped_out(request).map_err(uncertain)?;
                    self.settled(text, line);
                    self.stale = false;
                    return Ok(Written::Done { seq });
                }
                self.put_back(request, text, theirs, voids)
                    .map_err(uncertain)?
            }
            Out::InPlace(theirs) => {
                let noted = self.note_theirs(request, text, &theirs, voids);
                noted
                    .and_then(|()| remove(&*disk, &self.paths.swap))
                    .map_err(uncertain)?;
                Some(theirs)
            }
            Out::Gone => {
                let gone = self.theirs_line(request, text, None, voids);
                self.append(&[gone], true).map_err(uncertain)?;
                self.stale = true;
                remove(&*disk, &self.paths.swap).map_err(uncertain)?;
                None
            }
        };
        let situation = match theirs {
            Some(_) => Situation::Outside { ours },
            None => Situation::Missing { ours },
        };
        self.settle(theirs, situation);
        Ok(Written::Theirs)
    }

    /// Exchanges the swap file with the state file, and keeps the replaced content if it is the
    /// version that was read.
    fn swap_in(&mut self, aside: Option<&str>) -> Result<Out, Error> {
        let disk = self.disk();
        let (file, swap) = (&self.paths.file, &self.paths.swap);
        let failed = |error| Error::io(FileOperation::Replace, file, error);
        if self.on_disk.is_none() {
            return match name_new(&*disk, swap, file) {
                Ok(()) => Ok(Out::Expected),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    match self.read_back(file)? {
                        Some(theirs) => Ok(Out::InPlace(theirs)),
                        None => Ok(Out::Gone),
                    }
                }
                Err(error) => Err(failed(error)),
            };
        }
        match disk.exchange(swap, file) {
            Ok(()) => {
                let out = match self.read_back(swap) {
                    Ok(out) => out.unwrap_or_default(),
                    Err(error) => return Ok(Out::Unseen(error)),
                };
                if Some(ContentHash::of(&out)) != self.on_disk {
                    return Ok(Out::Swapped(out));
                }
                self.retire(aside)?;
                Ok(Out::Expected)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Out::Gone),
            Err(error) if unsupported(&error) => {
                // Between this read and the rename another writer can slip in unnoticed; without an
                // exchange that cannot be detected.
                match self.read_back(file)? {
                    None => return Ok(Out::Gone),
                    Some(there) if Some(ContentHash::of(&there)) != self.on_disk => {
                        return Ok(Out::InPlace(there));
                    }
                    Some(there) => self.back_up_copy(aside, &there)?,
                }
                disk.rename(swap, file).map_err(failed)?;
                Ok(Out::Expected)
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// Moves the replaced version to the backup, or to the name that the line gives.
    pub(crate) fn retire(&self, aside: Option<&str>) -> Result<(), Error> {
        let target = self.retired(aside);
        move_file(&*self.disk(), &self.paths, &self.paths.swap, &target)
    }

    fn back_up_copy(&self, aside: Option<&str>, bytes: &[u8]) -> Result<(), Error> {
        let (disk, target) = (self.disk(), self.retired(aside));
        copy_to(&*disk, &self.paths, self.stat.as_ref(), bytes, &target)
    }

    fn retired(&self, aside: Option<&str>) -> PathBuf {
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
        request: &Request,
        ours: &str,
        theirs: Vec<u8>,
        mut voids: Option<u64>,
    ) -> Result<Option<Vec<u8>>, Error> {
        let disk = self.disk();
        let mut ours = ours.to_owned();
        let mut theirs = theirs;
        for _ in 0..TRIES_MAX {
            self.note_theirs(request, &ours, &theirs, voids.take())?;
            self.stale = true;
            match disk.exchange(&self.paths.swap, &self.paths.file) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    // Another program removed ours meanwhile; the version it did not see is not
                    // lost.
                    name_new(&*disk, &self.paths.swap, &self.paths.file).map_err(|error| {
                        Error::io(FileOperation::PutBack, &self.paths.file, error)
                    })?;
                    return Ok(Some(theirs));
                }
                Err(error) => {
                    return Err(Error::io(FileOperation::PutBack, &self.paths.file, error));
                }
            }
            let out = self.read_back(&self.paths.swap)?.unwrap_or_default();
            if out == ours.as_bytes() {
                remove(&*disk, &self.paths.swap)?;
                disk.sync_folder(&self.paths.folder)
                    .map_err(|error| Error::io(FileOperation::Flush, &self.paths.folder, error))?;
                return Ok(Some(theirs));
            }
            ours = String::from_utf8_lossy(&theirs).into_owned();
            theirs = out;
            if std::str::from_utf8(&theirs).is_err() {
                self.keep_swapped_out(request)?;
                return Ok(Some(ours.into_bytes()));
            }
        }
        Err(Error::Contended {
            path: self.paths.file.clone(),
            tries: TRIES_MAX,
        })
    }

    fn note_theirs(
        &mut self,
        request: &Request,
        ours: &str,
        theirs: &[u8],
        voids: Option<u64>,
    ) -> Result<(), Error> {
        let line = self.theirs_line(request, ours, Some(theirs), voids);
        self.append(&[line], true)
    }

    fn theirs_line(
        &self,
        request: &Request,
        ours: &str,
        theirs: Option<&[u8]>,
        voids: Option<u64>,
    ) -> Line {
        let line = Line {
            seq: self.snapshot.seq + 1,
            at: request.at.clone(),
            kind: kind::OUTSIDE.to_owned(),
            before: Some(ContentHash::of(ours.as_bytes())),
            after: theirs.map(ContentHash::of),
            gone: theirs.is_none(),
            voids,
            ..Line::default()
        };
        // Bytes that are not text leave a mark: the hash is known, the content is only in the file.
        let patch = theirs
            .and_then(|bytes| std::str::from_utf8(bytes).ok())
            .map(|text| splices(ours, text));
        Line { patch, ..line }
    }

    /// Keeps a version that another program wrote during our write and the exchange replaced.
    pub(crate) fn keep_swapped_out(&mut self, request: &Request) -> Result<(), Error> {
        let swap = self.paths.swap.clone();
        let why = "written by another program in the same moment";
        self.keep_aside(request, &swap, why)
    }

    /// Keeps a file that must not be lost and cannot stay, with a note of the reason.
    pub(crate) fn keep_aside(
        &mut self,
        request: &Request,
        path: &Path,
        why: &str,
    ) -> Result<(), Error> {
        let disk = self.disk();
        let stamp = crate::stamp::utc_stamp(request.now_ms);
        let kept = self
            .paths
            .set_aside_name(&*disk, &self.paths.file, &stamp)?;
        let line = Line {
            seq: self.snapshot.seq + 1,
            id: request.id.clone(),
            at: request.at.clone(),
            kind: kind::ASIDE.to_owned(),
            aside: kept
                .file_name()
                .map(|name| name.to_string_lossy().into_owned()),
            note: why.to_owned(),
            ..Line::default()
        };
        self.append(&[line], true)?;
        move_file(&*disk, &self.paths, path, &kept)?;
        disk.sync_folder(&self.paths.folder)
            .map_err(|error| Error::Uncertain {
                path: self.paths.file.clone(),
                seq: self.snapshot.seq,
                source: Box::new(Error::io(FileOperation::Flush, &self.paths.folder, error)),
            })?;
        let findings = &mut self.snapshot.findings;
        findings.push(Incident::KeptAside { path: kept });
        Ok(())
    }
}

/// Removes a file that may not exist.
pub(crate) fn remove(disk: &dyn Disk, path: &Path) -> Result<(), Error> {
    match disk.unlink(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::io(FileOperation::Remove, path, error))
        }
        _ => Ok(()),
    }
}

/// Renames onto a free name, also if the file system has no such rename.
pub(crate) fn name_new(disk: &dyn Disk, from: &Path, to: &Path) -> io::Result<()> {
    match disk.rename_new(from, to) {
        Err(error) if unsupported(&error) => disk.link(from, to).and_then(|()| disk.unlink(from)),
        renamed => renamed,
    }
}

/// Renames a file, or copies it if the side folder is on another file system.
fn move_file(disk: &dyn Disk, paths: &Paths, from: &Path, to: &Path) -> Result<(), Error> {
    match disk.rename(from, to) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            let Some((bytes, stat)) = crate::load::read_file(disk, from)? else {
                return Ok(());
            };
            copy_to(disk, paths, Some(&stat), &bytes, to)?;
            remove(disk, from)
        }
        Err(error) => Err(Error::io(FileOperation::Rename, from, error)),
    }
}

/// Writes a file with the permissions of `like`, whole or not at all.
pub(crate) fn copy_to(
    disk: &dyn Disk,
    paths: &Paths,
    like: Option<&Stat>,
    bytes: &[u8],
    to: &Path,
) -> Result<(), Error> {
    let scratch = copy_name(paths, to.parent().unwrap_or(Path::new("")));
    remove(disk, &scratch)?;
    let written = disk.create_new(&scratch).and_then(|file| {
        if let Some(like) = like {
            disk.dress(&file, like)?;
        }
        disk.write(&file, bytes)?;
        disk.sync_all(&file)
    });
    written
        .and_then(|()| disk.rename(&scratch, to))
        .map_err(|error| {
            disk.unlink(&scratch).ok();
            Error::io(FileOperation::Write, to, error)
        })
}

/// Returns the name of a copy that is being written in `folder`.
pub(crate) fn copy_name(paths: &Paths, folder: &Path) -> PathBuf {
    folder.join(paths.scratch("copy").file_name().unwrap_or_default())
}
