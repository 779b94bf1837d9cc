//! The syntax tree of a command line: as much of bash as decides which programs may run with which
//! words.

use std::cell::OnceCell;
use std::rc::Rc;

/// Commands one after the other.
pub(crate) type Script = Vec<Chain>;

/// Commands joined by `&&` and `||`.
pub(crate) type Chain = Vec<(ChainOperator, CommandNode)>;

/// Pieces that make up one word.
pub(crate) type Word = Vec<WordPart>;

/// The operator between a command and the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChainOperator {
    /// First in its chain: runs unconditionally.
    First,
    /// `&&`: runs after success.
    And,
    /// `||`: runs after failure.
    Or,
}

/// One command.
#[derive(Debug, Clone)]
pub(crate) enum CommandNode {
    Simple(SimpleCommand),
    /// A pipeline.
    Pipe(Vec<CommandNode>),
    /// A group, condition or test: every script in it may run.
    Block(CommandBlock),
    /// `for` and `select`: the scripts run once for each word.
    Loop {
        variable: String,
        /// `None` stands for the positional parameters.
        words: Option<Vec<Word>>,
        block: CommandBlock,
    },
    Function {
        name: String,
        body: Rc<CommandNode>,
    },
}

/// Scripts that may run, with the redirections around them.
#[derive(Debug, Clone, Default)]
pub(crate) struct CommandBlock {
    pub(crate) scripts: Vec<Script>,
    /// Words that are expanded on the way: tests, subjects and patterns.
    pub(crate) words: Vec<Word>,
    pub(crate) redirects: Vec<ShellRedirect>,
    /// True if variables and folders changed inside stay inside.
    pub(crate) scoped: bool,
}

/// A program with its assignments, words and redirections.
#[derive(Debug, Clone, Default)]
pub(crate) struct SimpleCommand {
    pub(crate) assignments: Vec<VariableAssignment>,
    pub(crate) words: Vec<Word>,
    pub(crate) redirects: Vec<ShellRedirect>,
}

/// `NAME=VALUE`, `NAME+=VALUE` or `NAME=(VALUES)`.
#[derive(Debug, Clone)]
pub(crate) struct VariableAssignment {
    pub(crate) name: String,
    pub(crate) append: bool,
    /// True for `NAME[…]=`: one element of a list.
    pub(crate) item: bool,
    pub(crate) values: Vec<Word>,
}

/// A redirection of one command.
#[derive(Debug, Clone)]
pub(crate) enum ShellRedirect {
    Read(Word),
    Write(Word),
    /// `>&WORD`: to a descriptor, or to a file if the word is none.
    Duplicate(Word),
    /// A here-document or here-string; empty until its text has been read.
    Here(Rc<OnceCell<Word>>),
}

/// A piece of a word.
#[derive(Debug, Clone)]
pub(crate) enum WordPart {
    Text {
        text: String,
        quoted: bool,
    },
    /// `$NAME` and `${NAME…}`.
    Variable {
        name: String,
        quoted: bool,
        change: Option<ParameterOperation>,
    },
    /// `$(…)` and `` `…` ``.
    Command {
        script: Script,
        quoted: bool,
    },
    /// `<(…)` and `>(…)`.
    Process {
        script: Script,
        output: bool,
    },
    /// `$((…))`: a number; only the expansions inside matter.
    Number(Word),
    /// A pattern such as `@(a|b)`.
    Pattern,
}

/// The operation of `${…}` on a value.
#[derive(Debug, Clone)]
pub(crate) struct ParameterOperation {
    /// `:-`, `#`, `/`, `@P`, `!` for indirection, `len` for the length …
    pub(crate) operator: String,
    pub(crate) word: Word,
}

impl WordPart {
    /// Creates a quoted piece of text.
    pub(crate) fn quoted(text: impl Into<String>) -> Self {
        WordPart::Text {
            text: text.into(),
            quoted: true,
        }
    }
}

/// Returns the word if it is nothing but unquoted characters.
pub(crate) fn plain_text(word: &Word) -> Option<&str> {
    match word.as_slice() {
        [
            WordPart::Text {
                text,
                quoted: false,
            },
        ] => Some(text),
        _ => None,
    }
}
