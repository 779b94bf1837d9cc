//! Side effects of a command line that gates care about.

use bowline_words::message::Unseen;
use std::path::{Path, PathBuf};

/// A side effect of a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SideEffect {
    /// A file is written.
    Write {
        /// `None` if the path is unknown.
        path: Option<PathBuf>,
        /// The program or sign that writes.
        by: String,
    },
    /// A file is changed in another way than by writing into it.
    Touch {
        path: PathBuf,
        how: FileChangeKind,
        by: String,
    },
    /// Work is committed, pushed, or put up as or merged by a pull request.
    Finish {
        /// The command: `git commit`.
        what: String,
        /// The folder it happens in; `None` if unknown.
        place: Option<PathBuf>,
    },
    /// Bowline is given a command that only a person may give.
    Person {
        /// The command, or the variable that is set for it.
        what: String,
    },
    /// The hooks that ask the gate are changed.
    Setup {
        /// The command: `bowline init --agent claude`.
        what: String,
        /// The folder it happens in; `None` if unknown.
        place: Option<PathBuf>,
    },
    /// A command runs that cannot be analysed.
    Hidden { what: Unseen },
}

/// A change of a file other than writing into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileChangeKind {
    /// The file or folder is removed, with everything below it.
    Gone,
    /// Untracked files are removed (`git clean`).
    Cleaned {
        /// True if files that git ignores are removed too.
        ignored: bool,
    },
    /// The file is created.
    Made,
    /// Attributes change: mode, owner, times, a mount over it, its entry in the index.
    Marked,
}

/// Answers questions about the environment that a command line runs in.
pub trait CommandEnvironment {
    /// Returns the value of an environment variable.
    fn environment_variable(&self, name: &str) -> Option<String>;
    /// True if the folder exists.
    fn is_folder(&self, path: &Path) -> bool;
    /// Returns the command of a git alias configured in a folder.
    fn git_alias(&self, folder: &Path, name: &str) -> Option<String>;
}
