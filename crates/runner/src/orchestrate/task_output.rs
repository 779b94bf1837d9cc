//! Extracts from an agent's output what counts for its task.

use crate::core::output_parser::{self, OutputSignal};
use bowline_engine::formats::agents::{AgentEvent, AgentProtocol};
use bowline_engine::formats::tasks_md::wire::TaskReply;

/// Parser for the output of one attempt.
#[derive(Debug)]
pub(super) struct TaskOutputParser {
    task: String,
    promise: String,
    inner: output_parser::OutputParser,
}

impl TaskOutputParser {
    pub(super) fn new(task: &str, promise: &str, protocol: AgentProtocol) -> TaskOutputParser {
        TaskOutputParser {
            task: task.to_owned(),
            promise: promise.to_owned(),
            inner: output_parser::OutputParser::new(protocol),
        }
    }

    pub(super) fn text_tail(&self) -> &str {
        self.inner.text_tail()
    }

    /// Parses bytes of the output and their protocol events.
    pub(super) fn parse_output(
        &mut self,
        bytes: &[u8],
        events: &[AgentEvent<'_>],
    ) -> Vec<OutputSignal> {
        let signals = self.inner.parse_output(bytes, events);
        self.interpret_lines(signals)
    }

    /// Ends the output: a last line needs no line break.
    pub(super) fn finish_output(&mut self) -> Vec<OutputSignal> {
        let signals = self.inner.finish_output();
        self.interpret_lines(signals)
    }

    /// Replaces lines by what they say about the task; passes on all else.
    fn interpret_lines(&self, signals: Vec<OutputSignal>) -> Vec<OutputSignal> {
        let meant = |word| match word {
            OutputSignal::Line(line) => self.interpret_line(&line),
            other => vec![other],
        };
        signals.into_iter().flat_map(meant).collect()
    }

    fn interpret_line(&self, line: &str) -> Vec<OutputSignal> {
        let mut words = Vec::new();
        match line.parse::<TaskReply>() {
            Ok(TaskReply::Done { id, .. }) if id.as_str() == self.task => {
                words.push(OutputSignal::Complete)
            }
            Ok(TaskReply::Fail { id, reason, .. }) if id.as_str() == self.task => {
                words.push(OutputSignal::Failed(reason.as_str().to_owned()));
            }
            Ok(_) | Err(_) => {}
        }
        // The promise counts only alone on its line: an agent that quotes its prompt promises
        // nothing.
        let bare = line.trim_matches(['*', '`', '"', '.', '!', ' ']);
        if bare == self.promise || bare == format!("<promise>{}</promise>", self.promise) {
            words.push(OutputSignal::Promise);
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
            let mut parser = TaskOutputParser::new("T1.1", "TASK_DONE", AgentProtocol::Markers);
            let mut words: Vec<OutputSignal> = text
                .chunks(size)
                .flat_map(|part| parser.parse_output(part, &[]))
                .chain([])
                .collect();
            words.extend(parser.finish_output());
            words.retain(|word| *word != OutputSignal::AnyOutput);
            assert_eq!(
                words,
                [
                    OutputSignal::Failed("no compiler".into()),
                    OutputSignal::Complete
                ]
            );
            assert!(parser.text_tail().ends_with("DONE:T1.1\n"));
        }
    }
}
