//! Shows the output of an agent, as it is or as JSON events.

use crate::output::CommandOutput;
use base64::prelude::{BASE64_STANDARD, Engine as _};
use bowline_engine::agents::OutputWatcher;
use bowline_engine::supervisor::{OutputBlockReason, OutputStream};
use bowline_words::message::{Label, OutputNote};
use serde_json::json;
use std::io::{self, Write as _};

/// Most bytes of an incomplete UTF-8 character.
const LETTER_BYTES_MAX: usize = 3;

/// Shows the output of one agent on the terminal or as JSON lines.
pub(super) struct AgentOutputPrinter<'a> {
    pub(super) output: &'a CommandOutput,
    pub(super) id: &'a str,
}

impl OutputWatcher for AgentOutputPrinter<'_> {
    fn show_bytes(
        &mut self,
        stream: OutputStream,
        offset: u64,
        bytes: &[u8],
        last: bool,
    ) -> io::Result<usize> {
        if self.output.json {
            let bytes = if last {
                bytes
            } else {
                trim_incomplete_utf8(bytes)
            };
            if bytes.is_empty() {
                return Ok(0);
            }
            let mut body = json!({
                "attempt": self.id,
                "event": stream_name(stream),
                "offset": offset,
                "bytes": bytes.len(),
                "text": String::from_utf8_lossy(bytes),
            });
            if std::str::from_utf8(bytes).is_err() {
                body["base64"] = json!(BASE64_STANDARD.encode(bytes));
            }
            self.print_event(&body)?;
            return Ok(bytes.len());
        }
        match stream {
            OutputStream::Out => {
                let mut out = io::stdout().lock();
                out.write_all(bytes)?;
                out.flush()?;
            }
            OutputStream::Err => io::stderr().write_all(bytes)?,
        }
        Ok(bytes.len())
    }

    fn report_gap(&mut self, stream: OutputStream, from: u64, to: u64) -> io::Result<()> {
        if self.output.json {
            let body = json!({
                "attempt": self.id,
                "event": "gone",
                "stream": stream_name(stream),
                "offset": from,
                "bytes": to - from,
            });
            return self.print_event(&body);
        }
        let note = match stream {
            OutputStream::Out => OutputNote::GoneBytes { from, to },
            OutputStream::Err => OutputNote::GoneErrorBytes { from, to },
        };
        self.output.print_stderr(&note.say(self.output.lang));
        Ok(())
    }

    fn report_blocked(&mut self, why: OutputBlockReason) -> io::Result<()> {
        if self.output.json {
            return self
                .print_event(&json!({ "attempt": self.id, "event": "blocked", "why": why }));
        }
        let note = OutputNote::AgentBlocked {
            why: blocked_label(why),
        };
        self.output.print_stderr(&note.say(self.output.lang));
        Ok(())
    }
}

impl AgentOutputPrinter<'_> {
    fn print_event(&self, body: &serde_json::Value) -> io::Result<()> {
        let mut out = io::stdout().lock();
        writeln!(out, "{body}")?;
        out.flush()
    }
}

/// Returns the label for the reason why an agent cannot write.
pub(super) fn blocked_label(why: OutputBlockReason) -> Label {
    match why {
        OutputBlockReason::Unacknowledged => Label::TooMuchUnshown,
        OutputBlockReason::DiskFull => Label::DiskFull,
        OutputBlockReason::DiskError => Label::DiskBroken,
    }
}

fn stream_name(stream: OutputStream) -> &'static str {
    match stream {
        OutputStream::Out => "out",
        OutputStream::Err => "err",
    }
}

/// Cuts off an incomplete UTF-8 character at the end.
fn trim_incomplete_utf8(bytes: &[u8]) -> &[u8] {
    for count in 1..=LETTER_BYTES_MAX.min(bytes.len()) {
        let (head, tail) = bytes.split_at(bytes.len() - count);
        // No error length: valid so far, but incomplete.
        if std::str::from_utf8(tail)
            .is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
        {
            return head;
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_beginning_of_a_letter_is_held_back() {
        let text = "가🌊".as_bytes();
        let lengths: Vec<usize> = (0..=text.len())
            .map(|end| trim_incomplete_utf8(&text[..end]).len())
            .collect();
        assert_eq!(lengths, [0, 0, 0, 3, 3, 3, 3, 7]);
        assert_eq!(trim_incomplete_utf8(b"a\xff"), b"a\xff");
        assert_eq!(trim_incomplete_utf8(b"a\x80\x80"), b"a\x80\x80");
    }
}
