//! Bringing the next version into place, and what to do when somebody else was there first.

use std::io;
use std::path::{Path, PathBuf};

use crate::disk::{Disk, EntryKind, Stat, unsupported};
use crate::error::{Error, Incident};
use crate::hash::ContentHash;
use crate::held::{Held, Written};
use crate::journal::{Line, kind};
use crate::layout::Paths;
use crate::load::Situation;
use crate::request::Request;
use crate::splice::splices;

/// Times a version of somebody else is followed by yet another before we give up.
pub(crate) const TRIES_MAX: usize = 16;

/// When the change that is brought into place was committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Committed {
    /// By this very command: where somebody else's version wins, it is taken back before anybody is told of it.
    Now,
    /// By an earlier command, which may have told that it is committed. It stays history, and the version that wins is an
    /// edit after it.
    Earlier,
}

impl Committed {
    /// The change that somebody else's version takes back.
    pub(crate) fn voided(self, seq: u64) -> Option<u64> {
        match self {
            Committed::Now => Some(seq),
            Committed::Earlier => None,
        }
    }
}

/// What was found under the file's name when ours went in.
enum Out {
    /// What we expected; it has been kept.
    Expected,
    /// Another version; it now lies under the swap name, and ours is in place.
    Swapped(Vec<u8>),
    /// Ours is in place, and what came out could not be read: the next opener looks at it, and may put it back.
    Unseen(Error),
    /// Another version; it is still in place.
    InPlace(Vec<u8>),
    /// Nothing, although there should have been something.
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
            Error::io("write", path, error)
        })
    }

    /// Refuses where the version that is replaced could not be kept: a folder cannot be renamed over.
    pub(crate) fn check_backup(&self) -> Result<(), Error> {
        let path = &self.paths.backup;
        let there = self.disk().stat(path);
        match there.map_err(|error| Error::io("look at", path, error))? {
            Some(stat) if stat.kind == EntryKind::Folder => Err(Error::NotRegular {
                path: path.clone(),
                what: "a folder",
            }),
            Some(_) | None => Ok(()),
        }
    }

    /// After the commit of `line`: puts the fresh file in place.
    pub(crate) fn finish(
        &mut self,
        request: &Request,
        line: &Line,
        text: &str,
        ours: Option<String>,
        committed: Committed,
    ) -> Result<Written, Error> {
        let voids = committed.voided(line.seq);
        // Until this has come to an end, only a new look tells what is where.
        self.stale = true;
        let (path, seq) = (self.paths.file.clone(), line.seq);
        let unfinished = |error| Error::Unfinished {
            path: path.clone(),
            seq,
            source: Box::new(error),
        };
        let disk = self.disk();
        disk.rename(&self.paths.fresh, &self.paths.swap)
            .map_err(|error| unfinished(Error::io("rename", &self.paths.fresh, error)))?;
        let out = self.swap_in(line.aside.as_deref()).map_err(&unfinished)?;
        // From here on the change may be taken back by the next opener, if this does not come to its end.
        let uncertain = |error| Error::Uncertain {
            path: path.clone(),
            seq,
            source: Box::new(error),
        };
        let theirs = match out {
            Out::Expected => {
                disk.sync_folder(&self.paths.folder)
                    .map_err(|error| unfinished(Error::io("flush", &self.paths.folder, error)))?;
                self.settled(text, line);
                self.stale = false;
                return Ok(Written::Done { seq });
            }
            Out::Unseen(error) => return Err(uncertain(error)),
            Out::Swapped(theirs) => {
                if std::str::from_utf8(&theirs).is_err() {
                    // It cannot be noted as text; so it is kept as a file, and ours stays.
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

    /// Exchanges the swap file with the state file, and keeps what came out if it is what we read.
    fn swap_in(&mut self, aside: Option<&str>) -> Result<Out, Error> {
        let disk = self.disk();
        let (file, swap) = (&self.paths.file, &self.paths.swap);
        let failed = |error| Error::io("replace", file, error);
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
                // Between this look and the rename another writer can slip in unseen; without an exchange there is no
                // way to notice.
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

    /// What came out becomes the backup, or goes where the line says.
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

    /// Ours is in place and `theirs` under the swap name: notes theirs, and changes the two back. Again, if there is
    /// somebody even newer. Returns what is in place in the end.
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
                    // Somebody removed ours meanwhile; what they did not see is not lost.
                    name_new(&*disk, &self.paths.swap, &self.paths.file)
                        .map_err(|error| Error::io("put back", &self.paths.file, error))?;
                    return Ok(Some(theirs));
                }
                Err(error) => return Err(Error::io("put back", &self.paths.file, error)),
            }
            let out = self.read_back(&self.paths.swap)?.unwrap_or_default();
            if out == ours.as_bytes() {
                remove(&*disk, &self.paths.swap)?;
                disk.sync_folder(&self.paths.folder)
                    .map_err(|error| Error::io("flush", &self.paths.folder, error))?;
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
        // Bytes that are not text leave a mark: the hash is known, the content is in the file alone.
        let patch = theirs
            .and_then(|bytes| std::str::from_utf8(bytes).ok())
            .map(|text| splices(ours, text));
        Line { patch, ..line }
    }

    /// Keeps what somebody wrote in the moment of our write, and the exchange brought out.
    pub(crate) fn keep_swapped_out(&mut self, request: &Request) -> Result<(), Error> {
        let swap = self.paths.swap.clone();
        let why = "written by another program in the same moment";
        self.keep_aside(request, &swap, why)
    }

    /// Keeps a file that must not be lost and cannot stay, with a note saying why.
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
                source: Box::new(Error::io("flush", &self.paths.folder, error)),
            })?;
        let findings = &mut self.snapshot.findings;
        findings.push(Incident::KeptAside { path: kept });
        Ok(())
    }
}

/// Removes a file that may not be there.
pub(crate) fn remove(disk: &dyn Disk, path: &Path) -> Result<(), Error> {
    match disk.unlink(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::io("remove", path, error))
        }
        _ => Ok(()),
    }
}

/// Renames onto a free name, also where the file system has no such rename.
pub(crate) fn name_new(disk: &dyn Disk, from: &Path, to: &Path) -> io::Result<()> {
    match disk.rename_new(from, to) {
        Err(error) if unsupported(&error) => disk.link(from, to).and_then(|()| disk.unlink(from)),
        renamed => renamed,
    }
}

/// Renames, or copies where the side folder is on another file system.
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
        Err(error) => Err(Error::io("rename", from, error)),
    }
}

/// Writes a file for the same eyes as `like`, whole or not at all.
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
            Error::io("write", to, error)
        })
}

/// The name of a copy that is being written in `folder`.
pub(crate) fn copy_name(paths: &Paths, folder: &Path) -> PathBuf {
    folder.join(paths.scratch("copy").file_name().unwrap_or_default())
}
