//! The line that a stub leaves when it does not become the agent.

use std::fmt;
use std::path::Path;

const RUN: &str = "cannot run ";
const ENTER: &str = "cannot enter ";
const NO_COMMAND: &str = "there is no command";
const SHIM_GONE: &str = "the shim is gone";

/// Reason for which an agent was not started. It is stored and sent as its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StartError {
    /// Its program could not be run.
    Program {
        /// The program as it was given.
        name: String,
        /// The error of the system.
        error: String,
    },
    /// Its control group could not be entered.
    Group {
        /// The folder of the group.
        path: String,
        /// The error of the system.
        error: String,
    },
    /// It has no command.
    NoCommand,
    /// Its shim ended first.
    ShimGone,
    /// Another reason.
    Other {
        /// The reason; the error of the system, if there is one, stands at the end.
        text: String,
    },
}

impl StartError {
    /// Makes the reason that an action failed.
    pub(crate) fn action_failed(action: &str, error: impl fmt::Display) -> StartError {
        StartError::from(format!("cannot {action}: {error}"))
    }

    pub(crate) fn not_entered(path: &Path, error: impl fmt::Display) -> StartError {
        StartError::Group {
            path: path.display().to_string(),
            error: error.to_string(),
        }
    }

    /// Reads the reason from its text; a text of another version becomes `Other`.
    pub fn parse(text: &str) -> StartError {
        let parts = |begin: &str| text.strip_prefix(begin)?.split_once(": ");
        if let Some((name, error)) = parts(RUN) {
            let (name, error) = (name.to_owned(), error.to_owned());
            return StartError::Program { name, error };
        }
        if let Some((path, error)) = parts(ENTER) {
            let (path, error) = (path.to_owned(), error.to_owned());
            return StartError::Group { path, error };
        }
        match text {
            NO_COMMAND => StartError::NoCommand,
            SHIM_GONE => StartError::ShimGone,
            _ => text.to_owned().into(),
        }
    }

    /// Returns the number of the system's error at the end of a text, where every error of the
    /// standard library has it.
    pub fn system_error(text: &str) -> Option<i32> {
        let (_, number) = text.rsplit_once("(os error ")?;
        number.trim_end_matches(')').parse().ok()
    }
}

impl From<String> for StartError {
    fn from(text: String) -> Self {
        StartError::Other { text }
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::Program { name, error } => write!(f, "{RUN}{name}: {error}"),
            StartError::Group { path, error } => write!(f, "{ENTER}{path}: {error}"),
            StartError::NoCommand => f.write_str(NO_COMMAND),
            StartError::ShimGone => f.write_str(SHIM_GONE),
            StartError::Other { text } => f.write_str(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_reason_is_read_back() {
        let error = || "No such file or directory (os error 2)".to_owned();
        for (reason, text) in [
            (
                StartError::Program {
                    name: "no:such".into(),
                    error: error(),
                },
                "cannot run no:such: No such file or directory (os error 2)",
            ),
            (
                StartError::Group {
                    path: "/g".into(),
                    error: error(),
                },
                "cannot enter /g: No such file or directory (os error 2)",
            ),
            (StartError::NoCommand, "there is no command"),
            (StartError::ShimGone, "the shim is gone"),
            (
                StartError::action_failed("limit memory", error()),
                "cannot limit memory: No such file or directory (os error 2)",
            ),
        ] {
            assert_eq!(reason.to_string(), text);
            assert_eq!(StartError::parse(text), reason);
        }
        assert_eq!(StartError::system_error(&error()), Some(2));
        assert_eq!(StartError::system_error("the shim is gone"), None);
    }
}
