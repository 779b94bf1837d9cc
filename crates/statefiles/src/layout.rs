//! The paths of a state file and its companions.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::disk::{Disk, EntryKind};
use crate::error::{FileOperation, IrregularEntry, StateFileError};

/// Links followed before they count as a loop.
const LINKS_MAX: usize = 40;

/// Dated copies kept of a document before important changes.
#[derive(Debug, Clone)]
pub struct CopyArchive {
    /// The folder of the copies.
    pub folder: PathBuf,
    /// The first part of their names: `<stem>-<YYYYMMDDTHHMMSSZ>[-n].json`.
    pub stem: String,
    /// The number of newest copies to keep.
    pub keep: usize,
}

/// The paths of a state file and of its lock, journal, backup and set-aside versions.
#[derive(Debug, Clone)]
pub struct FileLayout {
    file: PathBuf,
    side: Option<PathBuf>,
    archive: Option<CopyArchive>,
    links: bool,
}

impl FileLayout {
    /// Creates a layout with the companions beside the file: `F.lock`, `F.journal.jsonl`, `F.bak`,
    /// `F.damaged-<UTC>`.
    pub fn new(file: impl Into<PathBuf>) -> Self {
        Self {
            file: file.into(),
            side: None,
            archive: None,
            links: true,
        }
    }

    /// Puts lock, journal, backup and set-aside versions into `folder`; only the state file stays
    /// in its own.
    #[must_use]
    pub fn with_side_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.side = Some(folder.into());
        self
    }

    /// Also keeps dated copies of the version before each important change.
    #[must_use]
    pub fn with_archive(mut self, archive: CopyArchive) -> Self {
        self.archive = Some(archive);
        self
    }

    /// Follows no link at the state file's name, and refuses a state file in its own side folder:
    /// for a process that writes the side folder on behalf of one that must not. Links further up
    /// in the path are not checked.
    #[must_use]
    pub fn without_links(mut self) -> Self {
        self.links = false;
        self
    }

    /// Returns the path of the state file as it was given.
    #[must_use]
    pub fn file_path(&self) -> &Path {
        &self.file
    }

    /// Follows links at the last component, so that a linked state file keeps its link and all
    /// names of the file share one lock.
    pub(crate) fn resolve_paths(&self, disk: &dyn Disk) -> Result<FilePaths, StateFileError> {
        let mut file = self.file.clone();
        let within = |side: &PathBuf| file.starts_with(side);
        if !self.links && self.side.as_ref().is_some_and(within) {
            return Err(self.not_regular(IrregularEntry::OwnRecord));
        }
        for _ in 0..LINKS_MAX {
            match disk.stat(&file) {
                Ok(Some(stat)) if stat.kind == EntryKind::Link && !self.links => {
                    return Err(self.not_regular(IrregularEntry::Link));
                }
                Ok(Some(stat)) if stat.kind == EntryKind::Link => {
                    let target = disk.read_link(&file).map_err(|error| {
                        StateFileError::io(FileOperation::FollowLink, &file, error)
                    })?;
                    file = file.parent().unwrap_or(Path::new("")).join(target);
                }
                Ok(_) => {
                    return FilePaths::new(
                        file,
                        self.side.clone(),
                        self.archive.clone(),
                        &self.file,
                    );
                }
                Err(error) => return Err(StateFileError::io(FileOperation::LookAt, &file, error)),
            }
        }
        Err(StateFileError::LinkLoop {
            path: self.file.clone(),
        })
    }

    fn not_regular(&self, what: IrregularEntry) -> StateFileError {
        StateFileError::NotRegular {
            path: self.file.clone(),
            what,
        }
    }
}

/// All paths of one state file, links resolved.
#[derive(Debug, Clone)]
pub(crate) struct FilePaths {
    pub(crate) file: PathBuf,
    pub(crate) folder: PathBuf,
    pub(crate) side: PathBuf,
    pub(crate) lock: PathBuf,
    pub(crate) journal: PathBuf,
    pub(crate) older_journal: PathBuf,
    /// A journal being rotated: the next one before the exchange, the older one after it.
    pub(crate) rotating: PathBuf,
    pub(crate) backup: PathBuf,
    /// The next version, before its commit. After a crash it has no meaning.
    pub(crate) fresh: PathBuf,
    /// The next version between commit and exchange; after the exchange, the version that was
    /// replaced.
    pub(crate) swap: PathBuf,
    pub(crate) archive: Option<CopyArchive>,
    name: OsString,
}

impl FilePaths {
    fn new(
        file: PathBuf,
        side: Option<PathBuf>,
        archive: Option<CopyArchive>,
        given: &Path,
    ) -> Result<Self, StateFileError> {
        let Some(name) = file.file_name().map(OsString::from) else {
            return Err(StateFileError::NotRegular {
                path: given.to_path_buf(),
                what: IrregularEntry::Folder,
            });
        };
        let folder = match file.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
            _ => PathBuf::from("."),
        };
        let side = side.unwrap_or_else(|| folder.clone());
        let beside = |base: &Path, before: &str, after: &str| {
            let mut full = OsString::from(before);
            full.push(&name);
            full.push(after);
            base.join(full)
        };
        Ok(Self {
            lock: beside(&side, "", ".lock"),
            journal: beside(&side, "", ".journal.jsonl"),
            older_journal: beside(&side, "", ".journal.1.jsonl"),
            rotating: beside(&side, ".", ".bowline-journal"),
            backup: beside(&side, "", ".bak"),
            fresh: beside(&folder, ".", ".bowline-new"),
            swap: beside(&folder, ".", ".bowline-swap"),
            file,
            folder,
            side,
            archive,
            name,
        })
    }

    /// Returns a hidden name in the side folder for a file that is being written.
    pub(crate) fn scratch_path(&self, what: &str) -> PathBuf {
        let mut full = OsString::from(".");
        full.push(&self.name);
        full.push(".bowline-");
        full.push(what);
        self.side.join(full)
    }

    /// Returns `F.damaged-<stamp>`, or with `-2`, `-3` … if that is taken.
    pub(crate) fn set_aside_name(
        &self,
        disk: &dyn Disk,
        of: &Path,
        stamp: &str,
    ) -> Result<PathBuf, StateFileError> {
        let mut stem = of.file_name().map(OsString::from).unwrap_or_default();
        stem.push(format!(".damaged-{stamp}"));
        for count in 1_u32.. {
            let mut name = stem.clone();
            if count > 1 {
                name.push(format!("-{count}"));
            }
            let path = self.side.join(name);
            let there = disk
                .stat(&path)
                .map_err(|error| StateFileError::io(FileOperation::LookAt, &path, error))?;
            if there.is_none() {
                return Ok(path);
            }
        }
        Err(StateFileError::Contended {
            path: self.side.join(stem),
            tries: u32::MAX as usize,
        })
    }
}
