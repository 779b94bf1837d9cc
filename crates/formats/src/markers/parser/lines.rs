//! Handles one complete line: as part of the open message, or on its own.

use super::super::completion::CompletionKind;
use super::super::event::{
    IgnoredReason, MalformedMarker, MarkerContent, MarkerEvent, MarkerName, ParserResumePoint,
};
use super::super::message::{self, MessageForm};
use super::super::syntax::{
    BracketMessage, MarkerOpening, MessageHead, ProgressLine, closes_message, fence_closing,
    fence_opening, parse_opening, parse_progress,
};
use super::super::text::{decode_text, longer_than_field, normalise_text};
use super::super::verification::{self, BraceCounter, bad_json};
use super::super::{LINE_BYTES_MAX, MESSAGE_BYTES_MAX};
use super::{EventEnd, MarkerParser, OpenMessage, OpenMessageKind, emptied_buffer, without_cr};

impl MarkerParser {
    pub(super) fn line_ended(
        &mut self,
        line: &[u8],
        end: EventEnd,
        sink: &mut impl FnMut(MarkerEvent),
    ) {
        let line = without_cr(line);
        if line.len() > LINE_BYTES_MAX {
            self.line_too_long(end, sink);
            return;
        }
        let taken = match self.open {
            None => false,
            Some(open) => match open.what {
                OpenMessageKind::Block { block, json } => {
                    self.block_line(open, block, json, line, end, sink)
                }
                OpenMessageKind::Completion(completion) => {
                    self.completion_line(open, completion, line, sink)
                }
                OpenMessageKind::Verification(braces) => {
                    self.verification_line(open, braces, line, end, sink)
                }
            },
        };
        if !taken {
            self.ordinary_line(line, end, sink);
        }
    }

    /// Handles a line that exceeds the limit. It ends the open message, since it could not fit in.
    pub(super) fn line_too_long(&mut self, end: EventEnd, sink: &mut impl FnMut(MarkerEvent)) {
        let Some(open) = self.open else {
            return;
        };
        match open.what {
            OpenMessageKind::Completion(completion) => {
                let end = self.before_line();
                self.complete_message(open, completion, end, sink);
            }
            OpenMessageKind::Block { .. } | OpenMessageKind::Verification(_) => {
                self.refuse_message(open, too_long(open), end, sink);
            }
        }
    }

    fn ordinary_line(&mut self, line: &[u8], end: EventEnd, sink: &mut impl FnMut(MarkerEvent)) {
        if let Some(fence) = self.fence {
            if fence_closing(line, fence) {
                self.fence = None;
            }
            return;
        }
        match line.first() {
            Some(b'[' | b'=') => {
                if let Some(opening) = parse_opening(line) {
                    self.begin_message(opening, line, end, sink);
                }
            }
            Some(b'S') => {
                if let Some(kind) = parse_progress(line).and_then(progress_event) {
                    self.emit_event(self.line_start, end, kind, sink);
                }
            }
            Some(b'`' | b'~' | b' ') => self.fence = fence_opening(line),
            _ => {}
        }
    }

    fn begin_message(
        &mut self,
        opening: MarkerOpening<'_>,
        line: &[u8],
        end: EventEnd,
        sink: &mut impl FnMut(MarkerEvent),
    ) {
        let start = self.line_start;
        if let Err(reason) = self.check_nonce(&opening) {
            let marker = opening.head.marker();
            self.emit_event(start, end, MarkerContent::Ignored { marker, reason }, sink);
            return;
        }
        if self.nonce.is_some() && opening.nonce.is_some() {
            self.nonce_used = true;
        }
        let what = match opening.head {
            MessageHead::Phase(Some(phase)) => {
                OpenMessageKind::Completion(CompletionKind::Phase(phase))
            }
            MessageHead::Phase(None) => {
                let defect = MalformedMarker::BadValue {
                    marker: MarkerName::PhaseComplete,
                    field: "phase",
                    expected: format!("a number from 1 to {}", u32::MAX),
                    found: String::from_utf8_lossy(line).chars().take(60).collect(),
                };
                self.emit_event(start, end, MarkerContent::Malformed(defect), sink);
                return;
            }
            MessageHead::Custom => OpenMessageKind::Completion(CompletionKind::Custom),
            MessageHead::Verification => OpenMessageKind::Verification(None),
            MessageHead::Block { block, json, rest } => {
                if !rest.is_empty() {
                    self.body.extend_from_slice(rest);
                    self.body.push(b'\n');
                }
                OpenMessageKind::Block { block, json }
            }
            MessageHead::OneLine {
                block, json, text, ..
            } => {
                let form = if json {
                    MessageForm::Json
                } else {
                    MessageForm::OneLine
                };
                let kind = message::parse_message(block, form, &decode_text(text));
                self.emit_event(start, end, kind, sink);
                return;
            }
        };
        self.open = Some(OpenMessage {
            what,
            start,
            size: line.len() + 1,
        });
    }

    /// Checks the nonce of `opening`, or its absence.
    fn check_nonce(&self, opening: &MarkerOpening<'_>) -> Result<(), IgnoredReason> {
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
        parse_opening(line)
            .filter(|opening| self.check_nonce(opening).is_ok())
            .map(|opening| opening.head.error_spelling())
    }

    fn block_line(
        &mut self,
        open: OpenMessage,
        block: BracketMessage,
        json: bool,
        line: &[u8],
        end: EventEnd,
        sink: &mut impl FnMut(MarkerEvent),
    ) -> bool {
        if let Some(before) = self.cut_short_by(line) {
            let end = self.before_line();
            self.refuse_message(open, not_closed(open, before), end, sink);
            return false;
        }
        if open.size + line.len() > MESSAGE_BYTES_MAX {
            self.refuse_message(open, too_long(open), end, sink);
        } else if closes_message(line, block) {
            let body = self.close_message();
            let form = if json {
                MessageForm::Json
            } else {
                MessageForm::Lines
            };
            let kind = message::parse_message(block, form, &decode_text(&body));
            self.body = emptied_buffer(body);
            self.emit_event(open.start, end, kind, sink);
        } else {
            self.append_line(open, line);
        }
        true
    }

    fn completion_line(
        &mut self,
        open: OpenMessage,
        completion: CompletionKind,
        line: &[u8],
        sink: &mut impl FnMut(MarkerEvent),
    ) -> bool {
        // A line with a meaning of its own is never part of a list, even if it ends like a file
        // name.
        let taken = open.size + line.len() <= MESSAGE_BYTES_MAX
            && parse_opening(line).is_none()
            && parse_progress(line).is_none()
            && fence_opening(line).is_none()
            && completion.accepts_line(line, self.body.is_empty());
        if taken {
            self.append_line(open, line);
        } else {
            let end = self.before_line();
            self.complete_message(open, completion, end, sink);
        }
        taken
    }

    fn verification_line(
        &mut self,
        open: OpenMessage,
        braces: Option<BraceCounter>,
        line: &[u8],
        end: EventEnd,
        sink: &mut impl FnMut(MarkerEvent),
    ) -> bool {
        let text = line.trim_ascii();
        if let Some(fence) = self.fence {
            if fence_closing(line, fence) {
                self.fence = None;
                let before = "the end of its code fence";
                self.refuse_message(open, not_closed(open, before), end, sink);
                return true;
            }
        } else if let Some(before) = self.cut_short_by(line) {
            let end = self.before_line();
            self.refuse_message(open, not_closed(open, before), end, sink);
            return false;
        }
        if open.size + line.len() > MESSAGE_BYTES_MAX {
            self.refuse_message(open, too_long(open), end, sink);
            return true;
        }
        let begun = braces.is_some() || text.starts_with(b"{");
        if !begun {
            if text.is_empty() {
                self.append_line(open, line);
                return true;
            }
            if self.fence.is_none()
                && let Some(fence) = fence_opening(line)
            {
                self.fence = Some(fence);
                // The fence itself is not part of the JSON, but it counts towards the size.
                self.open = Some(OpenMessage {
                    size: open.size + line.len() + 1,
                    ..open
                });
                return true;
            }
            let fenced = self.fence.is_some();
            let end = if fenced { end } else { self.before_line() };
            self.refuse_message(open, bad_json("no object follows the marker"), end, sink);
            return fenced;
        }
        let mut braces = braces.unwrap_or_default();
        if let Some(length) = braces.count_line(line) {
            let mut body = self.close_message();
            body.extend_from_slice(&line[..length]);
            let kind = verification::parse_verification(&decode_text(&body));
            self.body = emptied_buffer(body);
            self.emit_event(open.start, end, kind, sink);
        } else {
            let what = OpenMessageKind::Verification(Some(braces));
            self.append_line(OpenMessage { what, ..open }, line);
        }
        true
    }

    fn append_line(&mut self, open: OpenMessage, line: &[u8]) {
        self.body.reserve(line.len() + 1);
        self.body.extend_from_slice(line);
        self.body.push(b'\n');
        self.open = Some(OpenMessage {
            size: open.size + line.len() + 1,
            ..open
        });
    }

    fn close_message(&mut self) -> Vec<u8> {
        self.open = None;
        std::mem::take(&mut self.body)
    }

    pub(super) fn complete_message(
        &mut self,
        open: OpenMessage,
        completion: CompletionKind,
        end: EventEnd,
        sink: &mut impl FnMut(MarkerEvent),
    ) {
        let body = self.close_message();
        let kind = completion.parse_body(&decode_text(&body));
        self.body = emptied_buffer(body);
        self.emit_event(open.start, end, kind, sink);
    }

    pub(super) fn refuse_message(
        &mut self,
        open: OpenMessage,
        defect: MalformedMarker,
        end: EventEnd,
        sink: &mut impl FnMut(MarkerEvent),
    ) {
        self.body = emptied_buffer(self.close_message());
        self.emit_event(open.start, end, MarkerContent::Malformed(defect), sink);
    }

    /// Returns the end of an event that does not include the line being read.
    pub(super) fn before_line(&self) -> EventEnd {
        EventEnd {
            offset: self.line_start,
            mid_line: false,
        }
    }

    fn emit_event(
        &self,
        start: u64,
        end: EventEnd,
        kind: MarkerContent,
        sink: &mut impl FnMut(MarkerEvent),
    ) {
        sink(MarkerEvent {
            start,
            resume: ParserResumePoint {
                offset: end.offset,
                mid_line: end.mid_line,
                fence: self.fence,
                nonce_used: self.nonce_used,
            },
            kind,
        });
    }
}

pub(super) fn not_closed(open: OpenMessage, before: &'static str) -> MalformedMarker {
    MalformedMarker::NotClosed {
        marker: open.marker(),
        before,
    }
}

fn too_long(open: OpenMessage) -> MalformedMarker {
    MalformedMarker::TooLong {
        marker: open.marker(),
    }
}

fn progress_event(progress: ProgressLine<'_>) -> Option<MarkerContent> {
    let field_text = |name: &[u8]| {
        let name = normalise_text(&decode_text(name));
        (!longer_than_field(&name)).then_some(name)
    };
    Some(match progress {
        ProgressLine::Step { step, of, name } => MarkerContent::Step {
            step,
            of,
            name: field_text(name)?,
        },
        ProgressLine::PhaseStarting { phase, name } => MarkerContent::PhaseStarting {
            phase,
            name: field_text(name)?,
        },
    })
}
