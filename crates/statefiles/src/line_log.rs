//! Append-only files of lines: each line is flushed before its caller relies on it.

use std::path::Path;

use crate::disk::Disk;
use crate::error::{FileOperation, StateFileError};

/// Appends a line, durably. A torn line that a crash left is ended first, so that it spoils no
/// other.
pub fn append_line(disk: &dyn Disk, path: &Path, line: &str) -> Result<(), StateFileError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let failed = |what: FileOperation| move |error| StateFileError::io(what, path, error);
    disk.create_folders(folder)
        .map_err(failed(FileOperation::Create))?;
    let (file, created) = disk
        .open_append(path)
        .map_err(failed(FileOperation::Open))?;
    let bytes = file
        .metadata()
        .map_err(failed(FileOperation::LookAt))?
        .len();
    let torn = match bytes.checked_sub(1) {
        None => false,
        Some(last) => {
            disk.read_at(&file, last, 1)
                .map_err(failed(FileOperation::Read))?
                != b"\n"
        }
    };
    let text = format!("{}{line}\n", if torn { "\n" } else { "" });
    disk.write(&file, text.as_bytes())
        .map_err(failed(FileOperation::Write))?;
    disk.sync_data(&file)
        .map_err(failed(FileOperation::Flush))?;
    if created {
        disk.sync_folder(folder)
            .map_err(failed(FileOperation::Flush))?;
    }
    Ok(())
}
