//! The syntax tree of a command line: as much of bash as decides which programs may run with which words.

use std::cell::OnceCell;
use std::rc::Rc;

/// Commands one after the other.
pub(crate) type Script = Vec<Chain>;

/// Commands joined by `&&` and `||`.
pub(crate) type Chain = Vec<(Link, Node)>;

/// Pieces that make up one word.
pub(crate) type Word = Vec<Part>;

/// How a command follows the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Link {
    /// Nothing is before it, or it runs in any case.
    First,
    /// After success.
    And,
    /// After failure.
    Or,
}

/// One command.
#[derive(Debug, Clone)]
pub(crate) enum Node {
    /// A program with its words.
    Simple(Simple),
    /// Each feeds the next.
    Pipe(Vec<Node>),
    /// Groups, conditions and tests: what is in them may run.
    Block(Block),
    /// `for` and `select`: the parts run once for each word.
    Loop {
        variable: String,
        /// `None` goes over the positional parameters.
        words: Option<Vec<Word>>,
        block: Block,
    },
    /// A function is defined.
    Function { name: String, body: Rc<Node> },
}

/// Scripts that may run, with what is redirected around them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Block {
    pub(crate) scripts: Vec<Script>,
    /// Words that are expanded on the way: tests, subjects and patterns.
    pub(crate) words: Vec<Word>,
    pub(crate) redirects: Vec<Redirect>,
    /// Variables and folders changed inside stay inside.
    pub(crate) scoped: bool,
}

/// Assignments, words and redirections.
#[derive(Debug, Clone, Default)]
pub(crate) struct Simple {
    pub(crate) assignments: Vec<Assignment>,
    pub(crate) words: Vec<Word>,
    pub(crate) redirects: Vec<Redirect>,
}

/// `NAME=VALUE`, `NAME+=VALUE` or `NAME=(VALUES)`.
#[derive(Debug, Clone)]
pub(crate) struct Assignment {
    pub(crate) name: String,
    pub(crate) append: bool,
    /// `NAME[…]=`: one of a list.
    pub(crate) item: bool,
    pub(crate) values: Vec<Word>,
}

/// A redirection of one command.
#[derive(Debug, Clone)]
pub(crate) enum Redirect {
    /// From a file.
    Read(Word),
    /// To a file.
    Write(Word),
    /// `>&WORD`: to a descriptor, or to a file when it is none.
    Duplicate(Word),
    /// A here-document or here-string; empty until its text has been read.
    Here(Rc<OnceCell<Word>>),
}

/// A piece of a word.
#[derive(Debug, Clone)]
pub(crate) enum Part {
    /// Letters as they stand.
    Text { text: String, quoted: bool },
    /// `$NAME` and `${NAME…}`.
    Variable {
        name: String,
        quoted: bool,
        change: Option<Change>,
    },
    /// `$(…)` and `` `…` ``.
    Command { script: Script, quoted: bool },
    /// `<(…)` and `>(…)`.
    Process { script: Script, output: bool },
    /// `$((…))`: a number; only what is expanded inside matters.
    Number(Word),
    /// A pattern such as `@(a|b)`.
    Pattern,
}

/// What `${…}` does to a value.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    /// `:-`, `#`, `/`, `@P`, `!` for the value as a name, `len` for its length …
    pub(crate) operator: String,
    pub(crate) word: Word,
}

impl Part {
    /// Quoted letters.
    pub(crate) fn quoted(text: impl Into<String>) -> Self {
        Part::Text {
            text: text.into(),
            quoted: true,
        }
    }
}

/// The word when it is nothing but unquoted letters.
pub(crate) fn plain_text(word: &Word) -> Option<&str> {
    match word.as_slice() {
        [
            Part::Text {
                text,
                quoted: false,
            },
        ] => Some(text),
        _ => None,
    }
}
