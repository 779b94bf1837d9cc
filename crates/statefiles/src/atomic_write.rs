//! Atomic writes of small files that are no state files: settings and hooks of other programs.

use crate::disk::Disk;
use crate::error::{FileOperation, StateFileError};
use rustix::fs::{Mode, fchmod};
use std::path::{Path, PathBuf};

/// Puts a file in its place, durably and whole. Links are followed. An existing file keeps its
/// permissions, unless `executable` sets them.
pub fn write_atomically(
    disk: &dyn Disk,
    path: &Path,
    bytes: &[u8],
    executable: Option<bool>,
) -> Result<(), StateFileError> {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = path.parent().unwrap_or(Path::new("."));
    let failed = |what| {
        let path = &path;
        move |error| StateFileError::io(what, path, error)
    };
    disk.create_folders(folder)
        .map_err(failed(FileOperation::Create))?;
    let beside = temporary_path(&path);
    // Left by a process that was killed.
    let _ = disk.unlink(&beside);
    let file = disk
        .create_new(&beside)
        .map_err(failed(FileOperation::Create))?;
    let written = || {
        if let Some(before) = disk.stat(&path)? {
            disk.copy_permissions(&file, &before)?;
        }
        if let Some(executable) = executable {
            let mode = if executable { 0o755 } else { 0o644 };
            fchmod(&file, Mode::from_raw_mode(mode))?;
        }
        disk.write(&file, bytes)?;
        disk.sync_all(&file)?;
        disk.rename(&beside, &path)?;
        disk.sync_folder(folder)
    };
    written().map_err(|error| {
        let _ = disk.unlink(&beside);
        StateFileError::io(FileOperation::Write, &path, error)
    })
}

fn temporary_path(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".bowline-new");
    path.with_file_name(name)
}
