//! What of an agent's output counts for its task.

use super::ports::Word;
use bowline_engine::formats::agents::{Event, Protocol, Since, What};
use bowline_engine::formats::tasks_md::wire::TaskReply;

/// The end of an agent's words that is kept, for whoever asks why it failed.
const TAIL_BYTES: usize = 2 << 10;
/// A line that is longer says nothing.
const LINE_BYTES_MAX: usize = 4 << 10;

/// Listens to one attempt.
#[derive(Debug)]
pub(super) struct Hearing {
    task: String,
    promise: String,
    protocol: Protocol,
    line: Vec<u8>,
    tail: String,
}

impl Hearing {
    pub(super) fn new(task: &str, promise: &str, protocol: Protocol) -> Hearing {
        Hearing {
            task: task.to_owned(),
            promise: promise.to_owned(),
            protocol,
            line: Vec::new(),
            tail: String::new(),
        }
    }

    pub(super) fn tail(&self) -> &str {
        &self.tail
    }

    /// What bytes of the output and their events say.
    pub(super) fn hear(&mut self, bytes: &[u8], events: &[Event<'_>]) -> Vec<Word> {
        let mut words = vec![Word::Something];
        if self.protocol == Protocol::Markers {
            self.bytes(bytes, &mut words);
        }
        for event in events {
            self.event(&event.what, &mut words);
        }
        words
    }

    /// The output is over: a last line needs no end.
    pub(super) fn over(&mut self) -> Vec<Word> {
        let mut words = Vec::new();
        let line = std::mem::take(&mut self.line);
        self.line(&String::from_utf8_lossy(&line), &mut words);
        words
    }

    fn bytes(&mut self, bytes: &[u8], words: &mut Vec<Word>) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.line.len() < LINE_BYTES_MAX {
                self.line.extend_from_slice(part);
            }
            if part.ends_with(b"\n") {
                let line = std::mem::take(&mut self.line);
                self.line(&String::from_utf8_lossy(&line), words);
            }
        }
    }

    fn line(&mut self, line: &str, words: &mut Vec<Word>) {
        let line = line.trim();
        if line.is_empty() {
            return;
        }
        self.keep(line);
        match line.parse::<TaskReply>() {
            Ok(TaskReply::Done { id, .. }) if id.as_str() == self.task => words.push(Word::Done),
            Ok(TaskReply::Fail { id, reason, .. }) if id.as_str() == self.task => {
                words.push(Word::Fail(reason.as_str().to_owned()));
            }
            Ok(_) | Err(_) => {}
        }
        // Alone in its line: whoever repeats what it was told makes no promise.
        let bare = line.trim_matches(['*', '`', '"', '.', '!', ' ']);
        if bare == self.promise || bare == format!("<promise>{}</promise>", self.promise) {
            words.push(Word::Promise);
        }
    }

    fn keep(&mut self, line: &str) {
        self.tail.push_str(line);
        self.tail.push('\n');
        let mut from = self.tail.len().saturating_sub(TAIL_BYTES);
        while !self.tail.is_char_boundary(from) {
            from += 1;
        }
        self.tail.drain(..from);
    }

    fn event(&mut self, what: &What<'_>, words: &mut Vec<Word>) {
        match what {
            What::Session { id, .. } => words.push(Word::Session(id.to_string())),
            What::Said(text) => {
                for line in text.lines() {
                    self.line(line, words);
                }
            }
            What::TaskComplete { .. } => words.push(Word::Done),
            What::Limit {
                until,
                retry_after_s,
                ..
            } => {
                let after = retry_after_s.and_then(|seconds| i64::try_from(seconds).ok());
                words.push(match (until, after) {
                    (Some(until), _) => Word::Limit {
                        until_ms: Some(until.as_millisecond()),
                    },
                    (None, Some(seconds)) => Word::LimitFor { seconds },
                    (None, None) => Word::Limit { until_ms: None },
                });
            }
            What::Usage(usage) => {
                let tokens = match usage.since {
                    Since::Turn => usage.input + usage.output,
                    Since::Session => 0,
                };
                words.push(Word::Used {
                    tokens,
                    usd: usage.cost_usd.unwrap_or(0.0),
                });
            }
            What::TurnEnded(_) => words.push(Word::TurnEnded),
            What::Failed { message, .. } => {
                self.keep(message);
                words.push(Word::Fail(message.to_string()));
            }
            What::ToolUsed { .. }
            | What::Asks { .. }
            | What::WantsPermission { .. }
            | What::Withdrawn { .. }
            | What::Needs(_)
            | What::PhaseComplete { .. }
            | What::Verified { .. }
            | What::Step { .. }
            | What::PhaseStarting { .. }
            | What::Retrying { .. }
            | What::Noticed { .. }
            | What::Malformed(_)
            | What::Ignored { .. }
            | What::ProtocolError(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_count_however_they_are_cut_and_only_those_of_this_task() {
        let text = b"I begin\nDONE:T1.2\nFAIL:T1.1:no compiler\nDONE:T1.1";
        for size in 1..text.len() {
            let mut hearing = Hearing::new("T1.1", "TASK_DONE", Protocol::Markers);
            let mut words: Vec<Word> = text
                .chunks(size)
                .flat_map(|part| hearing.hear(part, &[]))
                .chain([])
                .collect();
            words.extend(hearing.over());
            words.retain(|word| *word != Word::Something);
            assert_eq!(words, [Word::Fail("no compiler".into()), Word::Done]);
            assert!(hearing.tail().ends_with("DONE:T1.1\n"));
        }
    }
}
