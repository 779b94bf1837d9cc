//! What of an agent's output counts for its task.

use super::ports::Word;
use crate::core::hearing::{self, Word as Heard};
use bowline_engine::formats::agents::{Event, Protocol};
use bowline_engine::formats::tasks_md::wire::TaskReply;

/// Listens to one attempt.
#[derive(Debug)]
pub(super) struct Hearing {
    task: String,
    promise: String,
    inner: hearing::Hearing,
}

impl Hearing {
    pub(super) fn new(task: &str, promise: &str, protocol: Protocol) -> Hearing {
        Hearing {
            task: task.to_owned(),
            promise: promise.to_owned(),
            inner: hearing::Hearing::new(protocol),
        }
    }

    pub(super) fn tail(&self) -> &str {
        self.inner.tail()
    }

    /// What bytes of the output and their events say.
    pub(super) fn hear(&mut self, bytes: &[u8], events: &[Event<'_>]) -> Vec<Word> {
        let heard = self.inner.hear(bytes, events);
        heard
            .into_iter()
            .flat_map(|word| self.meant(word))
            .collect()
    }

    /// The output is over: a last line needs no end.
    pub(super) fn over(&mut self) -> Vec<Word> {
        let heard = self.inner.over();
        heard
            .into_iter()
            .flat_map(|word| self.meant(word))
            .collect()
    }

    /// What a word means for the task.
    fn meant(&self, word: Heard) -> Vec<Word> {
        vec![match word {
            Heard::Line(line) => return self.line(&line),
            Heard::Something => Word::Something,
            Heard::Complete => Word::Done,
            Heard::Failed(message) => Word::Fail(message),
            Heard::Session(id) => Word::Session(id),
            Heard::Limit { until_ms } => Word::Limit { until_ms },
            Heard::LimitFor { seconds } => Word::LimitFor { seconds },
            Heard::TurnEnded => Word::TurnEnded,
            Heard::Used { tokens, usd } => Word::Used { tokens, usd },
        }]
    }

    fn line(&self, line: &str) -> Vec<Word> {
        let mut words = Vec::new();
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
        words
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
