//! Checks every line of the journals by its checksum, without decoding it.

use std::path::Path;

use super::line::{kind, peek_number_and_kind};
use crate::disk::Disk;
use crate::error::{FileOperation, Incident, StateFileError};
use crate::state_file::StateFile;

/// The result of checking the journals of a file.
#[derive(Debug, Clone, Default)]
pub struct JournalCheck {
    /// Lines that cannot be read.
    pub findings: Vec<Incident>,
    /// The first two neighbouring lines with numbers that do not follow each other.
    pub gap: Option<(u64, u64)>,
    /// True if the journals hold an edit of another program.
    pub outside: bool,
    first: u64,
    last: u64,
}

impl JournalCheck {
    /// Checks the journal at a path. Bytes after its last whole line were never committed.
    fn check_file(disk: &dyn Disk, path: &Path) -> Result<Self, StateFileError> {
        let mut check = Self::default();
        let file = match disk.open_read(path) {
            Ok((file, _)) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(check),
            Err(error) => return Err(StateFileError::io(FileOperation::Open, path, error)),
        };
        let read = disk.read(&file, u64::MAX);
        let bytes = read.map_err(|error| StateFileError::io(FileOperation::Read, path, error))?;
        let mut bad = Vec::new();
        let mut offset = 0;
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            match line.strip_suffix(b"\n").and_then(peek_number_and_kind) {
                None => bad.push(Incident::BadJournalLine { offset }),
                Some((number, kind)) => {
                    check.findings.append(&mut bad);
                    check.note_number(number);
                    check.outside |= kind == kind::OUTSIDE.as_bytes();
                }
            }
            offset += line.len() as u64;
        }
        Ok(check)
    }

    fn note_number(&mut self, number: u64) {
        match self.last {
            0 => self.first = number,
            last if number != last + 1 => {
                self.gap.get_or_insert((last, number));
            }
            _ => {}
        }
        self.last = number;
    }
}

impl StateFile {
    /// Checks every line of both journals.
    pub fn check_journals(&self) -> Result<JournalCheck, StateFileError> {
        let paths = self.resolve_paths()?;
        let mut newer = JournalCheck::check_file(&*self.disk, &paths.journal)?;
        for path in [&paths.rotating, &paths.older_journal] {
            let older = JournalCheck::check_file(&*self.disk, path)?;
            // A journal that does not end where the present one begins does not belong to it.
            if older.last > 0 && older.last + 1 == newer.first {
                newer.findings.splice(..0, older.findings);
                newer.gap = older.gap.or(newer.gap);
                newer.outside |= older.outside;
                break;
            }
        }
        Ok(newer)
    }
}
