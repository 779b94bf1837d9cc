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

    /// With a word for programs in front of it. Who used up what is allowed needs none: the reason begins with it.
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

    /// What others said in place of a reason; nothing where there is one.
    pub fn own_words(&self) -> &str {
        match &self.reason {
            Reason::Said { text } => text,
            _ => "",
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
        Why::from(&error)
    }
}

impl From<&Error> for Why {
    fn from(error: &Error) -> Why {
        match error {
            Error::ProgramFailed { program, message } => {
                // The first line is about the whole; what a command printed comes behind it.
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

/// As state files, prompts and logs have it.
impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.say(Lang::En))
    }
}
