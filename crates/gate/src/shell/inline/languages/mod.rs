//! What the names of each language do.

mod python;
mod script;

use super::lex::Kind;
use python::PYTHON;
use script::SCRIPT;

/// What a use of a name does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// It changes nothing.
    Read,
    /// It opens a file: the mode decides.
    Open,
    /// It writes what the argument at this place names.
    Write(usize),
    /// It writes what it is called on: `Path("a").write_text(…)`.
    WriteOn,
    /// It starts a program.
    Run,
    /// It runs a text as code of the same language.
    Eval,
    /// It reaches for something that need not stand in the text.
    Anything,
}

use Use::{Anything, Read};

/// Names behind one name.
#[derive(Debug)]
pub(super) struct Module {
    pub(super) name: &'static str,
    /// Names that change nothing, with blanks between them.
    pub(super) reads: &'static str,
    pub(super) uses: &'static [(&'static str, Use)],
    /// All other names in it.
    pub(super) rest: Use,
}

/// A language.
#[derive(Debug)]
pub(super) struct Language {
    pub(super) names: &'static [&'static str],
    pub(super) kind: Kind,
    pub(super) words: &'static [(&'static str, Use)],
    /// Names after a dot, of whatever.
    pub(super) methods: &'static [(&'static str, Use)],
    pub(super) modules: &'static [Module],
    /// Modules are there without being asked for.
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

/// A module none of whose names is looked at: all of them can do anything.
const fn wild(name: &'static str) -> Module {
    Module {
        name,
        reads: "",
        uses: &[],
        rest: Anything,
    }
}

/// The language of that name, when it is one of those that are read.
pub(super) fn find(name: &str) -> Option<&'static Language> {
    [&PYTHON, &SCRIPT]
        .into_iter()
        .find(|it| it.names.contains(&name))
}
