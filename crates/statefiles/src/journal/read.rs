//! Reads a journal: backwards from its end as far as needed, or whole.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::line::JournalLine;
use crate::disk::{Disk, EntryKind, FileStat};
use crate::error::{FileOperation, Incident, IrregularEntry, StateFileError};

/// The first read from the end; doubled as long as more is needed.
const CHUNK_BYTES: u64 = 16 * 1024;

/// The end of a journal, read backwards only as far as requested.
#[derive(Debug)]
pub(crate) struct JournalTail {
    path: PathBuf,
    file: Option<File>,
    stat: Option<FileStat>,
    /// Unparsed bytes, from `buffer_at` in the file up to the line that was read last.
    buffer: Vec<u8>,
    buffer_at: u64,
    lines: Vec<JournalLine>,
    findings: Vec<Incident>,
    good_bytes: u64,
    bad_at_end: usize,
}

impl JournalTail {
    /// Opens the journal and finds its last whole line. A missing journal counts as empty.
    pub(crate) fn open(disk: &dyn Disk, path: &Path) -> Result<Self, StateFileError> {
        let mut tail = Self {
            path: path.to_path_buf(),
            file: None,
            stat: None,
            buffer: Vec::new(),
            buffer_at: 0,
            lines: Vec::new(),
            findings: Vec::new(),
            good_bytes: 0,
            bad_at_end: 0,
        };
        let (file, stat) = match disk.open_read(path) {
            Ok(opened) => opened,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(tail),
            Err(error) => return Err(StateFileError::io(FileOperation::Open, path, error)),
        };
        match stat.kind {
            EntryKind::Regular => {}
            EntryKind::Folder => {
                return Err(StateFileError::NotRegular {
                    path: tail.path,
                    what: IrregularEntry::Folder,
                });
            }
            EntryKind::Link | EntryKind::Special => {
                return Err(StateFileError::NotRegular {
                    path: tail.path,
                    what: IrregularEntry::LinkPipeOrDevice,
                });
            }
        }
        tail.file = Some(file);
        tail.stat = Some(stat);
        tail.buffer_at = stat.bytes;
        tail.drop_torn_end(disk)?;
        Ok(tail)
    }

    /// Drops everything after the last good line: it was never committed.
    fn drop_torn_end(&mut self, disk: &dyn Disk) -> Result<(), StateFileError> {
        // The bytes after the last line end are a line that was being written.
        while !self.buffer.contains(&b'\n') && self.read_chunk(disk)? {}
        let whole = self
            .buffer
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |at| at + 1);
        self.buffer.truncate(whole);
        loop {
            let end = self.buffer_at + self.buffer.len() as u64;
            match self.take_previous_line(disk)? {
                None => break,
                Some((_, Some(line))) => {
                    self.good_bytes = end;
                    self.lines.push(line);
                    break;
                }
                Some((_, None)) => self.bad_at_end += 1,
            }
        }
        Ok(())
    }

    /// Reads one more chunk towards the start; `false` if there is none.
    fn read_chunk(&mut self, disk: &dyn Disk) -> Result<bool, StateFileError> {
        let Some(file) = &self.file else {
            return Ok(false);
        };
        if self.buffer_at == 0 {
            return Ok(false);
        }
        let want = CHUNK_BYTES
            .max(self.buffer.len() as u64)
            .min(self.buffer_at);
        let start = self.buffer_at - want;
        let bytes = usize::try_from(want).unwrap_or(usize::MAX);
        let mut chunk = disk
            .read_at(file, start, bytes)
            .map_err(|error| StateFileError::io(FileOperation::Read, &self.path, error))?;
        chunk.append(&mut self.buffer);
        self.buffer = chunk;
        self.buffer_at = start;
        Ok(true)
    }

    /// Takes the line that ends the buffer, with its offset; the buffer ends with a line end or is
    /// empty.
    fn take_previous_line(
        &mut self,
        disk: &dyn Disk,
    ) -> Result<Option<(u64, Option<JournalLine>)>, StateFileError> {
        loop {
            if let Some(end) = self.buffer.len().checked_sub(1) {
                let start = self.buffer[..end]
                    .iter()
                    .rposition(|byte| *byte == b'\n')
                    .map(|at| at + 1);
                let start = if self.buffer_at == 0 {
                    Some(start.unwrap_or(0))
                } else {
                    start
                };
                if let Some(start) = start {
                    let line = JournalLine::decode(&self.buffer[start..end]);
                    self.buffer.truncate(start);
                    return Ok(Some((self.buffer_at + start as u64, line)));
                }
            }
            if !self.read_chunk(disk)? {
                return Ok(None);
            }
        }
    }

    /// Returns the `back`-th good line from the end; the last one is 0.
    pub(crate) fn line_from_end(
        &mut self,
        disk: &dyn Disk,
        back: usize,
    ) -> Result<Option<&JournalLine>, StateFileError> {
        while self.lines.len() <= back {
            match self.take_previous_line(disk)? {
                None => return Ok(None),
                Some((_, Some(line))) => self.lines.push(line),
                Some((offset, None)) => self.findings.push(Incident::BadJournalLine { offset }),
            }
        }
        Ok(self.lines.get(back))
    }

    /// Returns the lines read so far, the last one first.
    pub(crate) fn read_so_far(&self) -> &[JournalLine] {
        &self.lines
    }

    /// Returns the number of the last line; 0 in an empty journal.
    pub(crate) fn last_seq(&self) -> u64 {
        self.lines.first().map_or(0, |line| line.seq)
    }

    /// Returns the length up to the end of the last good line.
    pub(crate) fn good_bytes(&self) -> u64 {
        self.good_bytes
    }

    /// Returns the metadata of the file when it was opened, or `None` if there was none.
    pub(crate) fn stat(&self) -> Option<&FileStat> {
        self.stat.as_ref()
    }

    /// True if there is content but no readable line; a single torn line is not damage.
    pub(crate) fn is_damaged(&self) -> bool {
        self.lines.is_empty() && self.bad_at_end > 1
    }

    /// Returns the findings in the part read so far.
    pub(crate) fn findings(&self) -> &[Incident] {
        &self.findings
    }

    /// Returns the last good lines, at most `lines_max`, the oldest first, with the findings on the
    /// others.
    pub(crate) fn last_lines(
        mut self,
        disk: &dyn Disk,
        lines_max: usize,
    ) -> Result<LastLines, StateFileError> {
        while self.lines.len() < lines_max && self.line_from_end(disk, self.lines.len())?.is_some()
        {
        }
        self.lines.truncate(lines_max);
        self.lines.reverse();
        self.findings.reverse();
        Ok(LastLines {
            more: self.buffer_at > 0 || !self.buffer.is_empty(),
            lines: self.lines,
            findings: self.findings,
        })
    }
}

/// The last lines of a journal, the oldest first.
pub(crate) struct LastLines {
    pub(crate) lines: Vec<JournalLine>,
    pub(crate) findings: Vec<Incident>,
    /// True if there are lines before these.
    pub(crate) more: bool,
}

/// Reads all lines of the journal at a path. A missing journal counts as empty.
pub(crate) fn read_all(disk: &dyn Disk, path: &Path) -> Result<LastLines, StateFileError> {
    JournalTail::open(disk, path)?.last_lines(disk, usize::MAX)
}
