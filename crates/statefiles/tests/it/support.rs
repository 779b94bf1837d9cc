//! What the tests share: a folder with one state file, requests, and a small line-based document.

use std::convert::Infallible;
use std::path::{Path, PathBuf};

use bowline_statefiles::{Change, Error, Layout, Request, StateFile, UpdateError, Updated};

/// A fixed moment: 2026-01-02T03:04:05Z.
pub(crate) const NOW_MS: i64 = 1_767_323_045_000;
pub(crate) const STAMP: &str = "20260102T030405Z";

pub(crate) struct Place {
    pub(crate) folder: tempfile::TempDir,
}

impl Place {
    /// In memory where possible: flushing a real disk some thousand times proves nothing here and takes minutes.
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

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), text).unwrap();
    }

    /// All names in the folder, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(self.folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

pub(crate) fn state_file(path: &Path) -> StateFile {
    StateFile::new(Layout::new(path))
}

pub(crate) fn request(id: &str) -> Request {
    Request {
        id: id.to_owned(),
        at: "2026-01-02T03:04:05Z".to_owned(),
        now_ms: NOW_MS,
        what: "test".to_owned(),
    }
}

/// Replaces the document, whatever it is.
pub(crate) fn set(file: &StateFile, text: &str) -> Result<Updated, Error> {
    change(file, |_| text.to_owned())
}

/// Adds a line to the document.
pub(crate) fn add(file: &StateFile, line: &str) -> Result<Updated, Error> {
    change(file, |text| format!("{text}{line}\n"))
}

/// The document after a line of the journal.
pub(crate) fn document_at(file: &StateFile, seq: u64) -> Result<Option<String>, Error> {
    file.history()?.document_at(seq)
}

pub(crate) fn change(file: &StateFile, next: impl Fn(&str) -> String) -> Result<Updated, Error> {
    let decided = file.update(&request("r"), |now| -> Result<_, Infallible> {
        let text = String::from_utf8_lossy(now.bytes.as_deref().unwrap_or_default()).into_owned();
        Ok(Some(Change::to(next(&text))))
    });
    decided.map_err(|error| match error {
        UpdateError::File(error) => error,
        UpdateError::Refused(never) => match never {},
    })
}
