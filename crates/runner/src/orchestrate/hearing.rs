//! Extracts from an agent's output what counts for its task.

use crate::core::hearing::{self, Word};
use bowline_engine::formats::agents::{AgentEvent, AgentProtocol};
use bowline_engine::formats::tasks_md::wire::TaskReply;

/// Parser for the output of one attempt.
#[derive(Debug)]
pub(super) struct Hearing {
    task: String,
    promise: String,
    inner: hearing::Hearing,
}

impl Hearing {
    pub(super) fn new(task: &str, promise: &str, protocol: AgentProtocol) -> Hearing {
        Hearing {
            task: task.to_owned(),
            promise: promise.to_owned(),
            inner: hearing::Hearing::new(protocol),
        }
    }

    pub(super) fn tail(&self) -> &str {
        self.inner.tail()
    }

    /// Parses bytes of the output and their protocol events.
    pub(super) fn hear(&mut self, bytes: &[u8], events: &[AgentEvent<'_>]) -> Vec<Word> {
        let heard = self.inner.hear(bytes, events);
        self.meant(heard)
    }

    /// Ends the output: a last line needs no line break.
    pub(super) fn over(&mut self) -> Vec<Word> {
        let heard = self.inner.over();
        self.meant(heard)
    }

    /// Replaces lines by what they say about the task; passes on all else.
    fn meant(&self, heard: Vec<Word>) -> Vec<Word> {
        let meant = |word| match word {
            Word::Line(line) => self.line(&line),
            other => vec![other],
        };
        heard.into_iter().flat_map(meant).collect()
    }

    fn line(&self, line: &str) -> Vec<Word> {
        let mut words = Vec::new();
        match line.parse::<TaskReply>() {
            Ok(TaskReply::Done { id, .. }) if id.as_str() == self.task => {
                words.push(Word::Complete)
            }
            Ok(TaskReply::Fail { id, reason, .. }) if id.as_str() == self.task => {
                words.push(Word::Failed(reason.as_str().to_owned()));
            }
            Ok(_) | Err(_) => {}
        }
        // The promise counts only alone on its line: an agent that quotes its prompt promises
        // nothing.
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
            let mut hearing = Hearing::new("T1.1", "TASK_DONE", AgentProtocol::Markers);
            let mut words: Vec<Word> = text
                .chunks(size)
                .flat_map(|part| hearing.hear(part, &[]))
                .chain([])
                .collect();
            words.extend(hearing.over());
            words.retain(|word| *word != Word::Something);
            assert_eq!(words, [Word::Failed("no compiler".into()), Word::Complete]);
            assert!(hearing.tail().ends_with("DONE:T1.1\n"));
        }
    }
}
