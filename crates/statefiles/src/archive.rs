//! Dated copies of a document before important changes.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::disk::{Disk, FileStat};
use crate::error::{FileOperation, StateFileError};
use crate::layout::{CopyArchive, FilePaths};
use crate::request::WriteRequest;
use crate::stamp::utc_stamp;
use crate::state_file::StateFile;
use crate::swap::{copy_to, remove_if_present};

const TAIL: &str = ".json";

impl StateFile {
    /// Keeps a dated copy of the document as it is now, if it passes `good`. Returns `None` if it
    /// does not, and without a document or an archive.
    pub fn archive_copy(
        &self,
        request: &WriteRequest,
        good: &dyn Fn(&str) -> bool,
    ) -> Result<Option<PathBuf>, StateFileError> {
        let held = self.lock_for_writing(request)?;
        let Some(text) = held.snapshot.text()?.filter(|text| good(text)) else {
            return Ok(None);
        };
        let (disk, paths) = (held.disk(), &held.paths);
        let copy = write_copy(&*disk, paths, held.stat.as_ref(), text, request.now_ms)?;
        prune_copies(&*disk, paths)?;
        Ok(copy)
    }

    /// Lists the dated copies, the newest first.
    pub fn archived_copies(&self) -> Result<Vec<PathBuf>, StateFileError> {
        match &self.resolve_paths()?.archive {
            Some(archive) => copies_newest_first(&*self.disk, archive),
            None => Ok(Vec::new()),
        }
    }
}

/// Writes a dated copy, if an archive is kept.
pub(crate) fn write_copy(
    disk: &dyn Disk,
    paths: &FilePaths,
    like: Option<&FileStat>,
    text: &str,
    now_ms: i64,
) -> Result<Option<PathBuf>, StateFileError> {
    let Some(archive) = &paths.archive else {
        return Ok(None);
    };
    let folder = &archive.folder;
    disk.create_folders(folder)
        .map_err(|error| StateFileError::io(FileOperation::Create, folder, error))?;
    let path = folder.join(next_name(disk, archive, &utc_stamp(now_ms))?);
    copy_to(disk, paths, like, text.as_bytes(), &path)?;
    Ok(Some(path))
}

/// Returns a name that sorts after every existing copy. The time in it never goes back: after a
/// clock was ahead once, later copies must not look old.
fn next_name(disk: &dyn Disk, archive: &CopyArchive, now: &str) -> Result<String, StateFileError> {
    let (stamp, count) = match list_copies(disk, archive)?.into_iter().max() {
        Some((newest, count, _)) if newest.as_str() >= now => (newest, count.saturating_add(1)),
        _ => (now.to_owned(), 1),
    };
    Ok(match count {
        1 => format!("{}-{stamp}{TAIL}", archive.stem),
        count => format!("{}-{stamp}-{count}{TAIL}", archive.stem),
    })
}

/// Removes all but the newest copies.
pub(crate) fn prune_copies(disk: &dyn Disk, paths: &FilePaths) -> Result<(), StateFileError> {
    let Some(archive) = &paths.archive else {
        return Ok(());
    };
    for path in copies_newest_first(disk, archive)?
        .iter()
        .skip(archive.keep)
    {
        remove_if_present(disk, path)?;
    }
    Ok(())
}

/// Lists the dated copies, the newest first.
pub(crate) fn copies_newest_first(
    disk: &dyn Disk,
    archive: &CopyArchive,
) -> Result<Vec<PathBuf>, StateFileError> {
    let mut copies = list_copies(disk, archive)?;
    copies.sort_by(|one, other| other.cmp(one));
    Ok(copies.into_iter().map(|(_, _, path)| path).collect())
}

/// Lists the dated copies with their time stamps and counts. Files with other names are ignored.
fn list_copies(
    disk: &dyn Disk,
    archive: &CopyArchive,
) -> Result<Vec<(String, u32, PathBuf)>, StateFileError> {
    let names = match disk.list_names(&archive.folder) {
        Ok(names) => names,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(error) => {
            return Err(StateFileError::io(
                FileOperation::List,
                &archive.folder,
                error,
            ));
        }
    };
    let copy = |name: &OsString| {
        let (stamp, count) = parse_copy_name(name.to_str()?, &archive.stem)?;
        Some((stamp.to_owned(), count, archive.folder.join(name)))
    };
    Ok(names.iter().filter_map(copy).collect())
}

/// Parses time stamp and count of `<stem>-<YYYYMMDDTHHMMSSZ>[-n].json`.
fn parse_copy_name<'name>(name: &'name str, stem: &str) -> Option<(&'name str, u32)> {
    let rest = name
        .strip_prefix(stem)?
        .strip_prefix('-')?
        .strip_suffix(TAIL)?;
    let (stamp, count) = rest.split_once('-').unwrap_or((rest, "1"));
    let shape = stamp.bytes().enumerate().all(|(at, byte)| match at {
        8 => byte == b'T',
        15 => byte == b'Z',
        _ => byte.is_ascii_digit(),
    });
    (shape && stamp.len() == 16).then_some(())?;
    Some((stamp, count.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::parse_copy_name;

    #[test]
    fn only_our_names_are_copies() {
        assert_eq!(
            parse_copy_name("task_state-20260102T030405Z.json", "task_state"),
            Some(("20260102T030405Z", 1))
        );
        assert_eq!(
            parse_copy_name("task_state-20260102T030405Z-12.json", "task_state"),
            Some(("20260102T030405Z", 12))
        );
        for other in [
            "task_state-old.json",
            "task_state.json",
            "task_state-20260102T030405Z.json~",
            "x-20260102T030405Z.json",
        ] {
            assert_eq!(parse_copy_name(other, "task_state"), None, "{other}");
        }
    }
}
