//! Handles one complete line: as part of the open message, or on its own.

use super::super::completion::Completion;
use super::super::event::{Event, IgnoredReason, Kind, Malformed, Marker, Resume};
use super::super::message::{self, Form};
use super::super::syntax::{
    Block, Head, Opening, Progress, closes, fence_closing, fence_opening, opening, progress,
};
use super::super::text::{decoded, longer_than_field, normalise};
use super::super::verification::{self, Braces, bad_json};
use super::super::{LINE_BYTES_MAX, MESSAGE_BYTES_MAX};
use super::{End, Open, Parser, What, emptied, without_cr};

impl Parser {
    pub(super) fn line_ended(&mut self, line: &[u8], end: End, sink: &mut impl FnMut(Event)) {
        let line = without_cr(line);
        if line.len() > LINE_BYTES_MAX {
            self.line_too_long(end, sink);
            return;
        }
        let taken = match self.open {
            None => false,
            Some(open) => match open.what {
                What::Block { block, json } => self.block_line(open, block, json, line, end, sink),
                What::Completion(completion) => self.completion_line(open, completion, line, sink),
                What::Verification(braces) => self.verification_line(open, braces, line, end, sink),
            },
        };
        if !taken {
            self.ordinary_line(line, end, sink);
        }
    }

    /// Handles a line that exceeds the limit. It ends the open message, since it could not fit in.
    pub(super) fn line_too_long(&mut self, end: End, sink: &mut impl FnMut(Event)) {
        let Some(open) = self.open else {
            return;
        };
        match open.what {
            What::Completion(completion) => {
                let end = self.before_line();
                self.complete(open, completion, end, sink);
            }
            What::Block { .. } | What::Verification(_) => {
                self.refuse(open, too_long(open), end, sink);
            }
        }
    }

    fn ordinary_line(&mut self, line: &[u8], end: End, sink: &mut impl FnMut(Event)) {
        if let Some(fence) = self.fence {
            if fence_closing(line, fence) {
                self.fence = None;
            }
            return;
        }
        match line.first() {
            Some(b'[' | b'=') => {
                if let Some(opening) = opening(line) {
                    self.begin(opening, line, end, sink);
                }
            }
            Some(b'S') => {
                if let Some(kind) = progress(line).and_then(progress_event) {
                    self.emit(self.line_start, end, kind, sink);
                }
            }
            Some(b'`' | b'~' | b' ') => self.fence = fence_opening(line),
            _ => {}
        }
    }

    fn begin(&mut self, opening: Opening<'_>, line: &[u8], end: End, sink: &mut impl FnMut(Event)) {
        let start = self.line_start;
        if let Err(reason) = self.counts(&opening) {
            let marker = opening.head.marker();
            self.emit(start, end, Kind::Ignored { marker, reason }, sink);
            return;
        }
        if self.nonce.is_some() && opening.nonce.is_some() {
            self.nonce_used = true;
        }
        let what = match opening.head {
            Head::Phase(Some(phase)) => What::Completion(Completion::Phase(phase)),
            Head::Phase(None) => {
                let defect = Malformed::BadValue {
                    marker: Marker::PhaseComplete,
                    field: "phase",
                    expected: format!("a number from 1 to {}", u32::MAX),
                    found: String::from_utf8_lossy(line).chars().take(60).collect(),
                };
                self.emit(start, end, Kind::Malformed(defect), sink);
                return;
            }
            Head::Custom => What::Completion(Completion::Custom),
            Head::Verification => What::Verification(None),
            Head::Block { block, json, rest } => {
                if !rest.is_empty() {
                    self.body.extend_from_slice(rest);
                    self.body.push(b'\n');
                }
                What::Block { block, json }
            }
            Head::OneLine {
                block, json, text, ..
            } => {
                let form = if json { Form::Json } else { Form::OneLine };
                let kind = message::read(block, form, &decoded(text));
                self.emit(start, end, kind, sink);
                return;
            }
        };
        self.open = Some(Open {
            what,
            start,
            size: line.len() + 1,
        });
    }

    /// Checks the nonce of `opening`, or its absence.
    fn counts(&self, opening: &Opening<'_>) -> Result<(), IgnoredReason> {
        match (&self.nonce, opening.nonce) {
            (None, _) => Ok(()),
            (Some(ours), Some(theirs)) if ours.as_bytes() == theirs => Ok(()),
            (Some(_), Some(_)) => Err(IgnoredReason::NonceWrong),
            (Some(_), None) if self.nonce_used => Err(IgnoredReason::NonceMissing),
            (Some(_), None) => Ok(()),
        }
    }

    /// Returns the spelling of a marker in `line` that interrupts the open message.
    fn cut_short_by(&self, line: &[u8]) -> Option<&'static str> {
        opening(line)
            .filter(|opening| self.counts(opening).is_ok())
            .map(|opening| opening.head.spelled())
    }

    fn block_line(
        &mut self,
        open: Open,
        block: Block,
        json: bool,
        line: &[u8],
        end: End,
        sink: &mut impl FnMut(Event),
    ) -> bool {
        if let Some(before) = self.cut_short_by(line) {
            let end = self.before_line();
            self.refuse(open, not_closed(open, before), end, sink);
            return false;
        }
        if open.size + line.len() > MESSAGE_BYTES_MAX {
            self.refuse(open, too_long(open), end, sink);
        } else if closes(line, block) {
            let body = self.close();
            let form = if json { Form::Json } else { Form::Lines };
            let kind = message::read(block, form, &decoded(&body));
            self.body = emptied(body);
            self.emit(open.start, end, kind, sink);
        } else {
            self.append(open, line);
        }
        true
    }

    fn completion_line(
        &mut self,
        open: Open,
        completion: Completion,
        line: &[u8],
        sink: &mut impl FnMut(Event),
    ) -> bool {
        // A line with a meaning of its own is never part of a list, even if it ends like a file
        // name.
        let taken = open.size + line.len() <= MESSAGE_BYTES_MAX
            && opening(line).is_none()
            && progress(line).is_none()
            && fence_opening(line).is_none()
            && completion.takes(line, self.body.is_empty());
        if taken {
            self.append(open, line);
        } else {
            let end = self.before_line();
            self.complete(open, completion, end, sink);
        }
        taken
    }

    fn verification_line(
        &mut self,
        open: Open,
        braces: Option<Braces>,
        line: &[u8],
        end: End,
        sink: &mut impl FnMut(Event),
    ) -> bool {
        let text = line.trim_ascii();
        if let Some(fence) = self.fence {
            if fence_closing(line, fence) {
                self.fence = None;
                let before = "the end of its code fence";
                self.refuse(open, not_closed(open, before), end, sink);
                return true;
            }
        } else if let Some(before) = self.cut_short_by(line) {
            let end = self.before_line();
            self.refuse(open, not_closed(open, before), end, sink);
            return false;
        }
        if open.size + line.len() > MESSAGE_BYTES_MAX {
            self.refuse(open, too_long(open), end, sink);
            return true;
        }
        let begun = braces.is_some() || text.starts_with(b"{");
        if !begun {
            if text.is_empty() {
                self.append(open, line);
                return true;
            }
            if self.fence.is_none()
                && let Some(fence) = fence_opening(line)
            {
                self.fence = Some(fence);
                // The fence itself is not part of the JSON, but it counts towards the size.
                self.open = Some(Open {
                    size: open.size + line.len() + 1,
                    ..open
                });
                return true;
            }
            let fenced = self.fence.is_some();
            let end = if fenced { end } else { self.before_line() };
            self.refuse(open, bad_json("no object follows the marker"), end, sink);
            return fenced;
        }
        let mut braces = braces.unwrap_or_default();
        if let Some(length) = braces.feed(line) {
            let mut body = self.close();
            body.extend_from_slice(&line[..length]);
            let kind = verification::read(&decoded(&body));
            self.body = emptied(body);
            self.emit(open.start, end, kind, sink);
        } else {
            let what = What::Verification(Some(braces));
            self.append(Open { what, ..open }, line);
        }
        true
    }

    fn append(&mut self, open: Open, line: &[u8]) {
        self.body.reserve(line.len() + 1);
        self.body.extend_from_slice(line);
        self.body.push(b'\n');
        self.open = Some(Open {
            size: open.size + line.len() + 1,
            ..open
        });
    }

    fn close(&mut self) -> Vec<u8> {
        self.open = None;
        std::mem::take(&mut self.body)
    }

    pub(super) fn complete(
        &mut self,
        open: Open,
        completion: Completion,
        end: End,
        sink: &mut impl FnMut(Event),
    ) {
        let body = self.close();
        let kind = completion.read(&decoded(&body));
        self.body = emptied(body);
        self.emit(open.start, end, kind, sink);
    }

    pub(super) fn refuse(
        &mut self,
        open: Open,
        defect: Malformed,
        end: End,
        sink: &mut impl FnMut(Event),
    ) {
        self.body = emptied(self.close());
        self.emit(open.start, end, Kind::Malformed(defect), sink);
    }

    /// Returns the end of an event that does not include the line being read.
    pub(super) fn before_line(&self) -> End {
        End {
            offset: self.line_start,
            mid_line: false,
        }
    }

    fn emit(&self, start: u64, end: End, kind: Kind, sink: &mut impl FnMut(Event)) {
        sink(Event {
            start,
            resume: Resume {
                offset: end.offset,
                mid_line: end.mid_line,
                fence: self.fence,
                nonce_used: self.nonce_used,
            },
            kind,
        });
    }
}

pub(super) fn not_closed(open: Open, before: &'static str) -> Malformed {
    Malformed::NotClosed {
        marker: open.marker(),
        before,
    }
}

fn too_long(open: Open) -> Malformed {
    Malformed::TooLong {
        marker: open.marker(),
    }
}

fn progress_event(progress: Progress<'_>) -> Option<Kind> {
    let told = |name: &[u8]| {
        let name = normalise(&decoded(name));
        (!longer_than_field(&name)).then_some(name)
    };
    Some(match progress {
        Progress::Step { step, of, name } => Kind::Step {
            step,
            of,
            name: told(name)?,
        },
        Progress::PhaseStarting { phase, name } => Kind::PhaseStarting {
            phase,
            name: told(name)?,
        },
    })
}
