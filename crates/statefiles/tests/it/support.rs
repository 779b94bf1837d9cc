//! What the tests share: a folder with one state file, requests, and a small line-based document.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bowline_statefiles::{
    CopyArchive, DocumentChange, FileLayout, FileSituation, RepairCallbacks, StateFile,
    StateFileError, UpdateError, UpdateOutcome, WriteRequest,
};
use bowline_test_support::{DiskFault, FaultyDisk};

/// A fixed moment: 2026-01-02T03:04:05Z.
pub(crate) const NOW_MS: i64 = 1_767_323_045_000;
pub(crate) const STAMP: &str = "20260102T030405Z";

pub(crate) struct Place {
    pub(crate) folder: tempfile::TempDir,
}

impl Place {
    /// In memory where possible: flushing a real disk some thousand times proves nothing here and
    /// takes minutes.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir_in("/dev/shm")
            .or_else(|_| tempfile::tempdir())
            .unwrap();
        Self { folder }
    }

    /// On the real disk.
    pub(crate) fn on_disk() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn main(&self) -> PathBuf {
        self.path("state.json")
    }

    pub(crate) fn file(&self) -> StateFile {
        state_file(&self.main())
    }

    /// With dated copies of the versions before important changes.
    pub(crate) fn archived_file(&self) -> StateFile {
        archived_file(self.folder.path(), 3)
    }

    /// On a disk where `act` is done right before each call of `operation`, with the number of
    /// those before it.
    pub(crate) fn meddled_file(
        &self,
        operation: &'static str,
        disk: FaultyDisk,
        act: impl Fn(usize, &Path) + Send + Sync + 'static,
    ) -> StateFile {
        self.file()
            .with_disk(Arc::new(self.meddled(operation, disk, act)))
    }

    pub(crate) fn meddled(
        &self,
        operation: &'static str,
        disk: FaultyDisk,
        act: impl Fn(usize, &Path) + Send + Sync + 'static,
    ) -> FaultyDisk {
        let (path, calls) = (self.main(), AtomicUsize::new(0));
        disk.with_hook(move |name| {
            if name == operation {
                act(calls.fetch_add(1, Ordering::SeqCst), &path);
            }
        })
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), text).unwrap();
    }

    /// All names in the folder, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        self.names_in("")
    }

    /// All names in a folder below it, sorted.
    pub(crate) fn names_in(&self, folder: &str) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(self.path(folder))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

pub(crate) fn state_file(path: &Path) -> StateFile {
    StateFile::new(FileLayout::new(path))
}

/// The state file of a folder, with so many dated copies at the most.
pub(crate) fn archived_file(folder: &Path, keep: usize) -> StateFile {
    let archive = CopyArchive {
        folder: folder.join("backup"),
        stem: "state".to_owned(),
        keep,
    };
    StateFile::new(FileLayout::new(folder.join("state.json")).with_archive(archive))
}

/// A disk on which nothing fails.
pub(crate) fn good_disk() -> FaultyDisk {
    FaultyDisk::new(0, DiskFault::Io, false)
}

/// Somebody else wrote the file, over this document of ours.
pub(crate) fn outside(ours: &str) -> FileSituation {
    FileSituation::Outside {
        ours: Some(ours.to_owned()),
    }
}

/// A rescue by what was kept: nothing is rebuilt or begun anew.
pub(crate) fn rescue<'a>(validate: &'a dyn Fn(&str) -> bool) -> RepairCallbacks<'a> {
    RepairCallbacks {
        validate,
        rebuild: &|| None,
        empty: &|| None,
        finish: &|_, text| text,
    }
}

pub(crate) fn request(id: &str) -> WriteRequest {
    WriteRequest {
        id: id.to_owned(),
        at: "2026-01-02T03:04:05Z".to_owned(),
        now_ms: NOW_MS,
        what: "test".to_owned(),
    }
}

/// Replaces the document, whatever it is.
pub(crate) fn set(file: &StateFile, text: &str) -> Result<UpdateOutcome, StateFileError> {
    change(file, |_| text.to_owned())
}

/// Adds a line to the document.
pub(crate) fn add(file: &StateFile, line: &str) -> Result<UpdateOutcome, StateFileError> {
    change(file, |text| format!("{text}{line}\n"))
}

/// The document after a line of the journal.
pub(crate) fn document_at(file: &StateFile, seq: u64) -> Result<Option<String>, StateFileError> {
    file.read_history()?.document_at(seq)
}

/// Replaces the document by one of which a dated copy is kept.
pub(crate) fn set_important(
    file: &StateFile,
    request: &WriteRequest,
    text: &str,
) -> Result<UpdateOutcome, StateFileError> {
    let change = DocumentChange {
        important: true,
        ..DocumentChange::replace_with(text)
    };
    make(file, request, |_| change.clone())
}

pub(crate) fn change(
    file: &StateFile,
    next: impl Fn(&str) -> String,
) -> Result<UpdateOutcome, StateFileError> {
    make(file, &request("r"), |text| {
        DocumentChange::replace_with(next(text))
    })
}

/// Makes a change that nothing refuses.
pub(crate) fn make(
    file: &StateFile,
    request: &WriteRequest,
    next: impl Fn(&str) -> DocumentChange,
) -> Result<UpdateOutcome, StateFileError> {
    let decided = file.update(request, |now| -> Result<_, Infallible> {
        let text = String::from_utf8_lossy(now.bytes.as_deref().unwrap_or_default()).into_owned();
        Ok(Some(next(&text)))
    });
    decided.map_err(|error| match error {
        UpdateError::File(error) => error,
        UpdateError::Refused(never) => match never {},
    })
}
