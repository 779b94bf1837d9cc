//! Splits the output of a client into lines with bounded memory, and without a copy if a line
//! arrives in one piece.

use super::LINE_BYTES_MAX;

/// Bytes of a buffer kept for the next line; hundreds of adapters may be alive, mostly idle.
const BUFFER_KEPT_BYTES: usize = 16_384;

/// Bytes that are enough to decide whether a line can be skipped.
const DULL_BYTES_MAX: usize = 64;

/// A line of output, or the notice that it was too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutputLine<'a> {
    Whole(&'a [u8]),
    /// Reported once, as soon as the limit is exceeded.
    TooLong,
}

/// Line splitter with its position in the output.
#[derive(Debug)]
pub(super) struct LineSplitter {
    /// Prefixes of lines that carry no event.
    dull: &'static [&'static [u8]],
    /// Absolute offset of the next byte to come.
    offset: u64,
    line_start: u64,
    /// Beginning of the current line; empty while `skip` is set.
    line: Vec<u8>,
    /// True if the rest of the current line is skipped.
    skip: bool,
}

impl LineSplitter {
    /// Creates a splitter at the beginning of a line. Lines that begin with one of `dull` are
    /// skipped.
    pub(super) fn starting_at(offset: u64, dull: &'static [&'static [u8]]) -> Self {
        Self {
            dull,
            offset,
            line_start: offset,
            line: Vec::new(),
            skip: false,
        }
    }

    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    pub(super) fn line_start(&self) -> u64 {
        self.line_start
    }

    pub(super) fn buffered_bytes(&self) -> usize {
        self.line.capacity()
    }

    /// Consumes bytes from the front of `bytes` and hands out at most one line, with the offset at
    /// which it begins. Returns true if bytes were consumed, whether or not they ended a line.
    pub(super) fn consume_line_part(
        &mut self,
        bytes: &mut &[u8],
        take: impl FnOnce(u64, OutputLine<'_>),
    ) -> bool {
        if bytes.is_empty() {
            return false;
        }
        let end = memchr::memchr(b'\n', bytes);
        let (part, rest) = bytes.split_at(end.map_or(bytes.len(), |at| at + 1));
        *bytes = rest;
        self.offset += part.len() as u64;
        let part = part.strip_suffix(b"\n").unwrap_or(part);
        let start = self.line_start;
        if end.is_some() {
            self.line_start = self.offset;
        }
        if self.skip {
            self.skip = end.is_none();
        } else if self.line.len() + part.len() > LINE_BYTES_MAX {
            // Lines with such a prefix are skipped at any length, however the output was cut.
            let room = DULL_BYTES_MAX.saturating_sub(self.line.len());
            self.line.extend_from_slice(&part[..part.len().min(room)]);
            let dull = is_dull(self.dull, &self.line);
            self.line = Vec::new();
            self.skip = end.is_none();
            if !dull {
                take(start, OutputLine::TooLong);
            }
        } else if end.is_none() {
            self.line.extend_from_slice(part);
            if is_dull(self.dull, &self.line) {
                self.skip = true;
                self.clear_buffer();
            }
        } else if self.line.is_empty() {
            if !is_dull(self.dull, part) {
                take(start, OutputLine::Whole(part));
            }
        } else {
            self.line.extend_from_slice(part);
            if !is_dull(self.dull, &self.line) {
                take(start, OutputLine::Whole(&self.line));
            }
            self.clear_buffer();
        }
        true
    }

    /// Returns the unterminated last line of the output and the offset at which it begins.
    pub(super) fn last_line(&mut self) -> Option<(u64, Vec<u8>)> {
        self.skip = false;
        let line = std::mem::take(&mut self.line);
        let start = std::mem::replace(&mut self.line_start, self.offset);
        (!line.is_empty()).then_some((start, line))
    }

    fn clear_buffer(&mut self) {
        if self.line.capacity() > BUFFER_KEPT_BYTES {
            self.line = Vec::new();
        } else {
            self.line.clear();
        }
    }
}

fn is_dull(dull: &[&[u8]], line: &[u8]) -> bool {
    dull.iter().any(|beginning| line.starts_with(beginning))
}
