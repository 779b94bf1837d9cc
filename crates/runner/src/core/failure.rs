//! Reason of a failure, in every language, with the output that explains it.

use bowline_engine::Error;
use bowline_formats::tasks_md::wire::{DETAIL_CHARS_MAX, OneLine};
use bowline_words::Lang;
use bowline_words::message::Reason;
use std::fmt;

/// Reason why something failed or waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailureReason {
    /// Reason, translated when it is rendered.
    pub reason: Reason,
    /// Untranslated text of an agent, a command or a person; may be empty.
    pub detail: String,
}

impl FailureReason {
    /// Creates a reason with the text that explains it.
    pub fn with_detail(reason: Reason, words: &str) -> FailureReason {
        FailureReason {
            reason,
            detail: words.trim_end().to_owned(),
        }
    }

    /// Creates a reason from untranslated text alone.
    pub fn from_text(text: &str) -> FailureReason {
        match text.trim() {
            "" => Reason::Nothing.into(),
            text => Reason::Said { text: text.into() }.into(),
        }
    }

    /// Prefixes the reason with a code for programs. An exhausted limit needs none: the reason
    /// begins with it.
    pub fn with_code(self, code: &str) -> FailureReason {
        if self.is_exhausted_limit() {
            return self;
        }
        let (code, why) = (code.to_owned(), Box::new(self.reason));
        FailureReason {
            reason: Reason::Coded { code, why },
            detail: self.detail,
        }
    }

    /// Returns the untranslated text that stands in for a reason; empty if there is a reason.
    pub fn untranslated_text(&self) -> &str {
        match &self.reason {
            Reason::Said { text } => text,
            _ => "",
        }
    }

    /// True if a limit is exhausted: another attempt would not change it.
    pub fn is_exhausted_limit(&self) -> bool {
        matches!(self.reason, Reason::Breaker { .. })
    }

    /// Renders reason and text; only the reason is translated.
    pub fn render(&self, lang: Lang) -> String {
        match self.detail.trim() {
            "" => self.reason.say(lang),
            _ => format!("{}\n{}", self.reason.say(lang), self.detail),
        }
    }

    /// Renders one line: the reason and the last line of the text.
    pub fn render_line(&self, lang: Lang) -> String {
        let text = super::text::first_and_last_line(&self.render(lang));
        OneLine::new(&text, DETAIL_CHARS_MAX).as_str().to_owned()
    }
}

impl From<Reason> for FailureReason {
    fn from(reason: Reason) -> FailureReason {
        let words = String::new();
        FailureReason {
            reason,
            detail: words,
        }
    }
}

impl From<Error> for FailureReason {
    fn from(error: Error) -> FailureReason {
        FailureReason::from(&error)
    }
}

impl From<&Error> for FailureReason {
    fn from(error: &Error) -> FailureReason {
        match error {
            Error::ProgramFailed { program, message } => {
                // The first line is about the whole; the output of the command follows.
                let (said, words) = message.split_once('\n').unwrap_or((message, ""));
                let (program, said) = (program.clone(), said.to_owned());
                FailureReason::with_detail(Reason::ProgramFailed { program, said }, words)
            }
            other => Reason::Refused {
                no: Box::new(other.message()),
            }
            .into(),
        }
    }
}

/// Renders English, as in state files, prompts and logs.
impl fmt::Display for FailureReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(Lang::En))
    }
}
