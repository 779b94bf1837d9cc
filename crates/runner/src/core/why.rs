//! Reason of a failure, in every language, with the output that explains it.

use bowline_engine::Error;
use bowline_formats::tasks_md::wire::{DETAIL_CHARS_MAX, OneLine};
use bowline_words::Lang;
use bowline_words::message::Reason;
use std::fmt;

/// Reason why something failed or waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Why {
    /// Reason, translated when it is rendered.
    pub reason: Reason,
    /// Untranslated text of an agent, a command or a person; may be empty.
    pub words: String,
}

impl Why {
    /// Creates a reason with the text that explains it.
    pub fn with(reason: Reason, words: &str) -> Why {
        Why {
            reason,
            words: words.trim_end().to_owned(),
        }
    }

    /// Creates a reason from untranslated text alone.
    pub fn said(text: &str) -> Why {
        match text.trim() {
            "" => Reason::Nothing.into(),
            text => Reason::Said { text: text.into() }.into(),
        }
    }

    /// Prefixes the reason with a code for programs. An exhausted limit needs none: the reason
    /// begins with it.
    pub fn coded(self, code: &str) -> Why {
        if self.is_breaker() {
            return self;
        }
        let (code, why) = (code.to_owned(), Box::new(self.reason));
        Why {
            reason: Reason::Coded { code, why },
            words: self.words,
        }
    }

    /// Returns the untranslated text that stands in for a reason; empty if there is a reason.
    pub fn own_words(&self) -> &str {
        match &self.reason {
            Reason::Said { text } => text,
            _ => "",
        }
    }

    /// True if a limit is exhausted: another attempt would not change it.
    pub fn is_breaker(&self) -> bool {
        matches!(self.reason, Reason::Breaker { .. })
    }

    /// Renders reason and text; only the reason is translated.
    pub fn say(&self, lang: Lang) -> String {
        match self.words.trim() {
            "" => self.reason.say(lang),
            _ => format!("{}\n{}", self.reason.say(lang), self.words),
        }
    }

    /// Renders one line: the reason and the last line of the text.
    pub fn line(&self, lang: Lang) -> String {
        let text = super::text::first_and_last(&self.say(lang));
        OneLine::new(&text, DETAIL_CHARS_MAX).as_str().to_owned()
    }
}

impl From<Reason> for Why {
    fn from(reason: Reason) -> Why {
        let words = String::new();
        Why { reason, words }
    }
}

impl From<Error> for Why {
    fn from(error: Error) -> Why {
        Why::from(&error)
    }
}

impl From<&Error> for Why {
    fn from(error: &Error) -> Why {
        match error {
            Error::ProgramFailed { program, message } => {
                // The first line is about the whole; the output of the command follows.
                let (said, words) = message.split_once('\n').unwrap_or((message, ""));
                let (program, said) = (program.clone(), said.to_owned());
                Why::with(Reason::ProgramFailed { program, said }, words)
            }
            other => Reason::Refused {
                no: Box::new(other.message()),
            }
            .into(),
        }
    }
}

/// Renders English, as in state files, prompts and logs.
impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.say(Lang::En))
    }
}
