//! What a command line would do, as far as gates care.

use bowline_words::message::Unseen;
use std::path::{Path, PathBuf};

/// Something a command line would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deed {
    /// It writes a file.
    Write {
        /// Which; `None` when that cannot be told.
        path: Option<PathBuf>,
        /// By what: a program or a sign.
        by: String,
    },
    /// It does something to a file other than writing into it.
    Touch {
        /// Which.
        path: PathBuf,
        /// What.
        how: Touched,
        /// By what program.
        by: String,
    },
    /// It commits, pushes, or opens or merges a pull request.
    Finish {
        /// The command: `git commit`.
        what: String,
        /// The folder it happens in; `None` when that cannot be told.
        place: Option<PathBuf>,
    },
    /// It gives Bowline a command that only a person gives.
    Person {
        /// The command, or the variable that is set for it.
        what: String,
    },
    /// It changes which hooks ask the gate.
    Setup {
        /// The command: `bowline init --agent claude`.
        what: String,
        /// The folder it happens in; `None` when that cannot be told.
        place: Option<PathBuf>,
    },
    /// It runs something that cannot be seen.
    Hidden {
        /// What is hidden.
        what: Unseen,
    },
}

/// What happens to a file that is not written into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Touched {
    /// It goes, and what is below it goes with it.
    Gone,
    /// It goes if it belongs to a run, as what git does not know: what git ignores, too, or not.
    Cleaned {
        /// Whether what git ignores goes, too.
        ignored: bool,
    },
    /// It is there afterwards.
    Made,
    /// Its mode, its owner or its times change, or only what stands behind it does.
    Marked,
}

/// What the analysis has to know of the world.
pub trait Surroundings {
    /// A variable of the environment.
    fn variable(&self, name: &str) -> Option<String>;
    /// Whether a folder is there.
    fn is_folder(&self, path: &Path) -> bool;
    /// What a configured alias of git stands for.
    fn git_alias(&self, folder: &Path, name: &str) -> Option<String>;
}
