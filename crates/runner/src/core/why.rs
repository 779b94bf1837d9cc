//! Why something did not go on: a reason that is told in every language, and what others said of it in their own words.

use bowline_engine::Error;
use bowline_formats::tasks_md::wire::{DETAIL_CHARS_MAX, OneLine};
use bowline_words::Lang;
use bowline_words::message::Reason;
use std::fmt;

/// Why something failed or waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Why {
    /// The reason.
    pub reason: Reason,
    /// The words of an agent, a command or a person, where there are any.
    pub words: String,
}

impl Why {
    /// With what others said.
    pub fn with(reason: Reason, words: &str) -> Why {
        Why {
            reason,
            words: words.trim_end().to_owned(),
        }
    }

    /// In the words of others alone.
    pub fn said(text: &str) -> Why {
        match text.trim() {
            "" => Reason::Nothing.into(),
            text => Reason::Said { text: text.into() }.into(),
        }
    }

    /// No further attempt would change it.
    pub fn is_breaker(&self) -> bool {
        matches!(self.reason, Reason::Breaker { .. })
    }

    /// All of it in a language; what others said stays as they said it.
    pub fn say(&self, lang: Lang) -> String {
        match self.words.trim() {
            "" => self.reason.say(lang),
            _ => format!("{}\n{}", self.reason.say(lang), self.words),
        }
    }

    /// One line of it: the reason, and the last line of what others said.
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
        match error {
            Error::ProgramFailed { program, message } => {
                // The first line is about the whole; what a command printed comes behind it.
                let (said, words) = message.split_once('\n').unwrap_or((&message, ""));
                let said = said.to_owned();
                Why::with(Reason::ProgramFailed { program, said }, words)
            }
            Error::NoCommit { branch, .. } => Reason::BranchGone { branch }.into(),
            other => Why::said(&other.to_string()),
        }
    }
}

/// As state files, prompts and logs have it.
impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.say(Lang::En))
    }
}
