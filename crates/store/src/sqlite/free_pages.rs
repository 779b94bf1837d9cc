//! Free pages of the database, given back to the file system a few at a time.

use crate::StoreError;
use rusqlite::Connection;

/// `PRAGMA auto_vacuum`: free pages are kept until they are asked for.
const INCREMENTAL: i64 = 2;
/// Pages given back in one transaction: about a tenth of a second of the writer.
const PAGES_MAX: i64 = 4_000;
/// Of the pages in use, one in so many stays free for what is written next.
const SPARE_PAGES: i64 = 16;

/// Makes a database able to give pages back. One that has tables already is written anew for it,
/// once.
pub(super) fn enable_auto_vacuum(connection: &Connection) -> Result<(), StoreError> {
    if read_pragma(connection, "auto_vacuum")? == INCREMENTAL {
        return Ok(());
    }
    let rewrite = format!("PRAGMA auto_vacuum = {INCREMENTAL}; VACUUM");
    connection
        .execute_batch(&rewrite)
        .map_err(StoreError::failed)
}

/// Gives back the free pages that are not needed soon, as many as one transaction may.
pub(super) fn release_free_pages(connection: &Connection) -> Result<(), StoreError> {
    let free = read_pragma(connection, "freelist_count")?;
    let used = read_pragma(connection, "page_count")? - free;
    let pages = (free - used / SPARE_PAGES).min(PAGES_MAX);
    if pages <= 0 {
        return Ok(());
    }
    let release = || -> rusqlite::Result<()> {
        let mut statement = connection.prepare(&format!("PRAGMA incremental_vacuum({pages})"))?;
        let mut rows = statement.query([])?;
        // A row for each page.
        while rows.next()?.is_some() {}
        Ok(())
    };
    release().map_err(StoreError::failed)
}

fn read_pragma(connection: &Connection, pragma: &str) -> Result<i64, StoreError> {
    connection
        .query_row(&format!("PRAGMA {pragma}"), [], |row| row.get(0))
        .map_err(StoreError::failed)
}
