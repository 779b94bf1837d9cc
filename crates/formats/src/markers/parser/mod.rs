//! Splits the pushed bytes into lines, skips lines that cannot matter, and buffers the one open
//! message.

mod lines;

use super::LINE_BYTES_MAX;
use super::completion::{CompletionKind, names_file};
use super::event::{CodeFence, MarkerEvent, MarkerName, ParserResumePoint};
use super::syntax::{BracketMessage, MessageHead, closes_message, parse_opening};
use super::verification::BraceCounter;
use lines::not_closed;

/// Length at which an unfinished line is known to be too long, even if its last byte is a carriage
/// return.
const LINE_READ_BYTES: usize = LINE_BYTES_MAX + 2;

/// Maximum capacity of a buffer kept for the next message; hundreds of parsers may be alive, mostly
/// idle.
const BUFFER_KEPT_BYTES: usize = 4_096;

/// Options of a parser.
#[derive(Debug, Clone, Default)]
pub struct MarkerParserOptions {
    /// The nonce given to the agent. Once the agent has used it, markers without it no longer
    /// count.
    pub nonce: Option<String>,
}

/// Finds markers in the output of one agent.
///
/// The events depend on the bytes alone, not on how they are split into pushes. Only
/// [`flush_pending`](Self::flush_pending) depends on time, and the caller decides when to call it.
#[derive(Debug)]
pub struct MarkerParser {
    nonce: Option<String>,
    nonce_used: bool,
    /// Absolute offset of the next byte to push.
    offset: u64,
    /// Absolute offset of the line being read.
    line_start: u64,
    /// The beginning of the line being read, unless `skip` is set.
    line: Vec<u8>,
    /// True while the rest of this line is ignored.
    skip: bool,
    fence: Option<CodeFence>,
    open: Option<OpenMessage>,
    /// The lines of the open message, each ended by LF.
    body: Vec<u8>,
}

/// A message that has begun. It never begins inside a fence.
#[derive(Debug, Clone, Copy)]
struct OpenMessage {
    what: OpenMessageKind,
    start: u64,
    /// Bytes of the message so far, line ends included.
    size: usize,
}

#[derive(Debug, Clone, Copy)]
enum OpenMessageKind {
    Block {
        block: BracketMessage,
        json: bool,
    },
    Completion(CompletionKind),
    /// `None` until the object begins.
    Verification(Option<BraceCounter>),
}

/// The end of an event. `mid_line` is set if it is inside a line.
#[derive(Debug, Clone, Copy)]
struct EventEnd {
    offset: u64,
    mid_line: bool,
}

impl MarkerParser {
    /// Creates a parser for the beginning of an agent's output.
    pub fn new(options: MarkerParserOptions) -> Self {
        Self::resume_at(options, ParserResumePoint::default())
    }

    /// Creates a parser that continues at `resume`.
    pub fn resume_at(options: MarkerParserOptions, resume: ParserResumePoint) -> Self {
        Self {
            nonce: options.nonce,
            nonce_used: resume.nonce_used,
            offset: resume.offset,
            line_start: resume.offset,
            line: Vec::new(),
            skip: resume.mid_line,
            fence: resume.fence,
            open: None,
            body: Vec::new(),
        }
    }

    /// Returns the latest point from which a new parser finds everything this one has not reported
    /// yet.
    ///
    /// It lags behind the pushed bytes by at most one message and one line.
    pub fn resume_point(&self) -> ParserResumePoint {
        let (offset, fence) = match self.open {
            Some(open) => (open.start, None),
            None if self.skip => (self.offset, self.fence),
            None => (self.line_start, self.fence),
        };
        ParserResumePoint {
            offset,
            mid_line: self.open.is_none() && self.skip,
            fence,
            nonce_used: self.nonce_used,
        }
    }

    /// Returns the absolute offset of the next byte to push.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the message that has begun and is not complete, with the offset at which it begins.
    pub fn pending_marker(&self) -> Option<(MarkerName, u64)> {
        self.open.map(|open| (open.marker(), open.start))
    }

    /// Returns the bytes of memory held for the line and the message being read.
    pub fn buffered_bytes(&self) -> usize {
        self.line.capacity() + self.body.capacity()
    }

    /// Parses the next bytes of the output.
    pub fn push(&mut self, mut bytes: &[u8], sink: &mut impl FnMut(MarkerEvent)) {
        while let Some(first) = bytes.first() {
            if self.line.is_empty() && self.open.is_none() && !self.may_matter(*first) {
                self.skip = true;
            }
            if self.skip {
                let end = memchr::memchr(b'\n', bytes);
                let taken = end.map_or(bytes.len(), |at| at + 1);
                self.advance(&mut bytes, taken);
                if end.is_some() {
                    self.skip = false;
                    self.line_start = self.offset;
                }
                continue;
            }
            let room = LINE_READ_BYTES - self.line.len();
            let window = &bytes[..bytes.len().min(room)];
            if let Some(at) = memchr::memchr(b'\n', window) {
                self.advance(&mut bytes, at + 1);
                let end = EventEnd {
                    offset: self.offset,
                    mid_line: false,
                };
                if self.line.is_empty() {
                    self.line_ended(&window[..at], end, sink);
                } else {
                    let mut line = std::mem::take(&mut self.line);
                    line.extend_from_slice(&window[..at]);
                    self.line_ended(&line, end, sink);
                    self.line = emptied_buffer(line);
                }
                self.line_start = self.offset;
            } else if window.len() == room {
                self.advance(&mut bytes, room);
                self.line = Vec::new();
                self.skip = true;
                let end = EventEnd {
                    offset: self.offset,
                    mid_line: true,
                };
                self.line_too_long(end, sink);
            } else {
                self.line.extend_from_slice(window);
                self.advance(&mut bytes, window.len());
            }
        }
    }

    fn advance(&mut self, bytes: &mut &[u8], by: usize) {
        *bytes = &bytes[by..];
        self.offset += by as u64;
    }

    /// True if a line that begins with `first` must be parsed while no message is open.
    fn may_matter(&self, first: u8) -> bool {
        match first {
            b'`' | b'~' | b' ' => true,
            b'[' | b'=' | b'S' => self.fence.is_none(),
            _ => false,
        }
    }

    /// Reports complete messages whose last line or list may not have ended. Call it when the
    /// output has been silent for [`IDLE_FLUSH_MS`](super::IDLE_FLUSH_MS).
    ///
    /// An agent that has announced a completion may wait for a reply without further output. So a
    /// pending completion is reported with the lines read so far. An unfinished line is taken as
    /// ended if it is a whole `=== … ===` line, a closing tag, a one-line message with its closing
    /// tag, or a listed file. Text that later follows on that line, and further lines of the list,
    /// are ordinary output. A block that is still open stays open.
    pub fn flush_pending(&mut self, sink: &mut impl FnMut(MarkerEvent)) {
        if !self.skip && !self.line.is_empty() && self.line_ends_itself() {
            let line = std::mem::take(&mut self.line);
            let end = EventEnd {
                offset: self.offset,
                mid_line: true,
            };
            self.line_ended(&line, end, sink);
            self.skip = true;
        }
        if let Some(open) = self.open
            && let OpenMessageKind::Completion(completion) = open.what
        {
            let end = if self.skip {
                EventEnd {
                    offset: self.offset,
                    mid_line: true,
                }
            } else {
                self.before_line()
            };
            self.complete_message(open, completion, end, sink);
        }
    }

    fn line_ends_itself(&self) -> bool {
        let line = without_cr(&self.line);
        if line.len() > LINE_BYTES_MAX {
            return false;
        }
        let whole_opening = || {
            parse_opening(line).is_some_and(|opening| match opening.head {
                MessageHead::Phase(_) | MessageHead::Custom | MessageHead::Verification => true,
                MessageHead::OneLine { closed, .. } => closed,
                MessageHead::Block { .. } => false,
            })
        };
        match self.open.map(|open| open.what) {
            None => self.fence.is_none() && whole_opening(),
            Some(OpenMessageKind::Block { block, .. }) => closes_message(line, block),
            Some(OpenMessageKind::Completion(CompletionKind::Phase(_))) => {
                whole_opening() || names_file(line)
            }
            Some(OpenMessageKind::Completion(CompletionKind::Custom)) => whole_opening(),
            Some(OpenMessageKind::Verification(_)) => false,
        }
    }

    /// Reports what is pending at the end of the output. The last line counts as ended, an open
    /// completion as complete, any other open message as malformed. An open fence ends here too.
    pub fn finish(&mut self, sink: &mut impl FnMut(MarkerEvent)) {
        let end = EventEnd {
            offset: self.offset,
            mid_line: false,
        };
        if !self.skip && !self.line.is_empty() {
            let line = std::mem::take(&mut self.line);
            self.line_ended(&line, end, sink);
        }
        self.fence = None;
        self.skip = false;
        self.line_start = self.offset;
        let Some(open) = self.open else {
            return;
        };
        match open.what {
            OpenMessageKind::Completion(completion) => {
                self.complete_message(open, completion, end, sink)
            }
            OpenMessageKind::Block { .. } | OpenMessageKind::Verification(_) => {
                self.refuse_message(open, not_closed(open, "the end of the output"), end, sink);
            }
        }
    }
}

impl OpenMessage {
    fn marker(&self) -> MarkerName {
        match self.what {
            OpenMessageKind::Block { block, .. } => block.marker(),
            OpenMessageKind::Completion(CompletionKind::Phase(_)) => MarkerName::PhaseComplete,
            OpenMessageKind::Completion(CompletionKind::Custom) => MarkerName::CustomComplete,
            OpenMessageKind::Verification(_) => MarkerName::VerificationResult,
        }
    }
}

fn without_cr(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Returns `buffer` emptied for reuse, or a new one if it has grown large.
fn emptied_buffer(mut buffer: Vec<u8>) -> Vec<u8> {
    if buffer.capacity() > BUFFER_KEPT_BYTES {
        return Vec::new();
    }
    buffer.clear();
    buffer
}
