//! Tables of the names of each language and their effects.

mod python;
mod script;

use super::lex::Kind;
use python::PYTHON;
use script::SCRIPT;

/// The effect of using a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// Changes nothing.
    Read,
    /// Opens a file: the mode decides.
    Open,
    /// Writes the file that the argument at this index names.
    Write(usize),
    /// Writes the file of the receiver: `Path("a").write_text(…)`.
    WriteOn,
    /// Starts a program.
    Run,
    /// Runs a string as code of the same language.
    Eval,
    /// May do anything, with names that need not be in the text.
    Anything,
}

use Use::{Anything, Read};

/// A module and the effects of its names.
#[derive(Debug)]
pub(super) struct Module {
    pub(super) name: &'static str,
    /// Names that change nothing, separated by blanks.
    pub(super) reads: &'static str,
    pub(super) uses: &'static [(&'static str, Use)],
    /// The effect of all other names.
    pub(super) rest: Use,
}

/// A language whose code is analysed.
#[derive(Debug)]
pub(super) struct Language {
    pub(super) names: &'static [&'static str],
    pub(super) kind: Kind,
    pub(super) words: &'static [(&'static str, Use)],
    /// Names after a dot, on any receiver.
    pub(super) methods: &'static [(&'static str, Use)],
    pub(super) modules: &'static [Module],
    /// True if modules can be used without an import.
    pub(super) given: bool,
}

impl Module {
    pub(super) fn of(&self, name: &str) -> Use {
        if self.reads.split(' ').any(|it| it == name) {
            return Read;
        }
        let known = self.uses.iter().find(|(known, _)| *known == name);
        known.map_or(self.rest, |(_, it)| *it)
    }
}

/// Creates a module whose every name may do anything.
const fn wild(name: &'static str) -> Module {
    Module {
        name,
        reads: "",
        uses: &[],
        rest: Anything,
    }
}

/// Finds a language by the name of its interpreter; `None` if it is not analysed.
pub(super) fn find(name: &str) -> Option<&'static Language> {
    [&PYTHON, &SCRIPT]
        .into_iter()
        .find(|it| it.names.contains(&name))
}
