//! Checks of a whole database, and copies of one that is in use.

use crate::StoreError;
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};
use std::fs::File;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// All pages at once: a copy made in several steps begins anew whenever something is written in
/// between.
const ALL_PAGES: i32 = -1;
/// How often a copy is tried while the log is started anew, and how long apart.
const TRIES_MAX: u32 = 500;
const AGAIN: Duration = Duration::from_millis(10);

/// Runs `quick_check` or `integrity_check`.
pub(super) fn check_integrity(
    connection: &Connection,
    name: &str,
    path: &Path,
) -> Result<(), StoreError> {
    let found = connection.query_row(&format!("PRAGMA {name}(1)"), [], |row| {
        row.get::<_, String>(0)
    });
    let found = found.map_err(|it| super::classify_error(path, StoreError::failed(it)))?;
    match found.as_str() {
        "ok" => Ok(()),
        why => Err(StoreError::DamagedFile {
            path: path.display().to_string(),
            why: why.lines().last().unwrap_or_default().to_owned(),
        }),
    }
}

/// Whether nothing was ever written to it.
pub(super) fn is_new(connection: &Connection) -> Result<bool, StoreError> {
    let version: i64 = connection
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .map_err(StoreError::failed)?;
    Ok(version == 0)
}

/// Copies what a connection reads into a new file, for this user alone. The file has its name once
/// it is whole and on the disk.
pub(super) fn copy_database(from: &Connection, to: &Path) -> Result<(), StoreError> {
    let io = |error: std::io::Error| StoreError::failed(error);
    let folder = match to.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    if to.symlink_metadata().is_ok() {
        return Err(io(std::io::ErrorKind::AlreadyExists.into()));
    }
    let mut name = to.as_os_str().to_owned();
    name.push(format!(".new-{}", std::process::id()));
    let unfinished = PathBuf::from(name);
    let mut new = File::options();
    let new = new.write(true).create_new(true).mode(0o600);
    new.open(&unfinished).map_err(io)?;
    let copied = copy_pages(from, &unfinished).and_then(|()| {
        let written = File::open(&unfinished).and_then(|file| file.sync_all());
        // A link gives the whole file its name at once, or fails.
        let named = written.and_then(|()| std::fs::hard_link(&unfinished, to));
        named.map_err(io)
    });
    let removed = std::fs::remove_file(&unfinished);
    copied?;
    removed.map_err(io)?;
    File::open(folder).and_then(|it| it.sync_all()).map_err(io)
}

fn copy_pages(from: &Connection, to: &Path) -> Result<(), StoreError> {
    let mut copy = Connection::open_with_flags(to, OpenFlags::SQLITE_OPEN_READ_WRITE)
        .map_err(StoreError::failed)?;
    let backup = Backup::new(from, &mut copy).map_err(StoreError::failed)?;
    let mut tries = 0;
    while backup.step(ALL_PAGES).map_err(StoreError::failed)? != StepResult::Done {
        tries += 1;
        if tries > TRIES_MAX {
            return Err(StoreError::failed(std::io::Error::other(
                "the store is busy",
            )));
        }
        std::thread::sleep(AGAIN);
    }
    drop(backup);
    check_integrity(&copy, "quick_check", to)?;
    // One file is the whole store: what reads it next makes a log of its own.
    let mode = copy.query_row("PRAGMA journal_mode = delete", [], |_| Ok(()));
    mode.map_err(StoreError::failed)
}
