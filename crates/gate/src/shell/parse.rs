//! Parses a command line as bash does: lists, pipelines, compound commands, functions,
//! redirections, here-documents.
//!
//! Hand-written, because a hook that panics, overflows its stack or takes too long lets every call
//! through: this parser is linear, bounded in depth, and refuses what it does not understand.

use super::tree::{Assignment, Block, Chain, Link, Node, Script, Simple, Word};
use bowline_words::message::{ShellFault, Unseen};
use std::cell::OnceCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// Nested lists, commands and words; each construct that people write takes two or three levels.
const DEPTH_MAX: usize = 120;
/// Longer command lines are not read.
pub(crate) const TEXT_CHARS_MAX: usize = 512 * 1024;

/// Stands for unknown characters.
pub(crate) const UNKNOWN: char = '\u{fffe}';
/// Stands for unknown characters without a slash.
pub(crate) const UNKNOWN_NAME: char = '\u{ffff}';

/// A text that is not a command line, or not one that this parser understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the command line cannot be read at character {at}: {fault}")]
pub struct Unreadable {
    /// Position of the character, counted from 1.
    pub at: usize,
    pub fault: ShellFault,
}

impl Unreadable {
    /// Returns the reason to show in a denial.
    pub fn unseen(self) -> Unseen {
        let Unreadable { at, fault } = self;
        Unseen::Unreadable { at, fault }
    }
}

pub(super) type Parsed<T> = Result<T, Unreadable>;

pub(super) struct Parser {
    pub(super) text: Vec<char>,
    pub(super) at: usize,
    pub(super) depth: usize,
    /// Here-documents whose text begins after the next line end.
    pub(super) pending: VecDeque<Pending>,
}

/// A here-document whose text is not read yet.
pub(super) struct Pending {
    pub(super) body: Rc<OnceCell<Word>>,
    pub(super) end: String,
    pub(super) indented: bool,
    pub(super) literal: bool,
}

/// Parses a whole command line.
pub(crate) fn parse(text: &str) -> Parsed<Script> {
    parse_at(text, 0)
}

/// Parses a text nested in another: the depth goes on, so that the stack stays bounded.
pub(super) fn parse_at(text: &str, depth: usize) -> Parsed<Script> {
    let mut parser = Parser::new(text, depth)?;
    let script = parser.list()?;
    if parser.at < parser.text.len() {
        return parser.fail(ShellFault::StrayWordOrBracket);
    }
    Ok(script)
}

/// Parses a text that is expanded as between double quotes: the body of a here-document, a prompt.
pub(crate) fn parse_expanded(text: &str) -> Parsed<Word> {
    expanded_at(text, 0)
}

/// Parses such a text nested in another.
pub(super) fn expanded_at(text: &str, depth: usize) -> Parsed<Word> {
    let mut parser = Parser::new(text, depth)?;
    parser.deeper(|this| this.expanded(None))
}

impl Parser {
    fn new(text: &str, depth: usize) -> Parsed<Self> {
        let text: Vec<char> = text.chars().collect();
        let bad = |letter: &char| matches!(*letter, '\0' | UNKNOWN | UNKNOWN_NAME);
        if let Some(at) = text.iter().position(bad) {
            let fault = ShellFault::BadLetter;
            return Err(Unreadable { at: at + 1, fault });
        }
        if text.len() > TEXT_CHARS_MAX {
            return Err(Unreadable {
                at: TEXT_CHARS_MAX,
                fault: ShellFault::TooLong,
            });
        }
        Ok(Parser {
            text,
            at: 0,
            depth,
            pending: VecDeque::new(),
        })
    }

    pub(super) fn fail<T>(&self, fault: ShellFault) -> Parsed<T> {
        Err(Unreadable {
            at: self.at + 1,
            fault,
        })
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.text.get(self.at).copied()
    }

    pub(super) fn peek_at(&self, ahead: usize) -> Option<char> {
        self.text.get(self.at + ahead).copied()
    }

    pub(super) fn looking_at(&self, text: &str) -> bool {
        text.chars()
            .enumerate()
            .all(|(ahead, letter)| self.peek_at(ahead) == Some(letter))
    }

    pub(super) fn take(&mut self, text: &str) -> bool {
        let found = self.looking_at(text);
        if found {
            self.at += text.chars().count();
        }
        found
    }

    pub(super) fn deeper<T>(&mut self, inside: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= DEPTH_MAX {
            return self.fail(ShellFault::TooDeep);
        }
        self.depth += 1;
        let result = inside(self);
        self.depth -= 1;
        result
    }

    /// Skips blanks and continued lines.
    pub(super) fn blanks(&mut self) {
        loop {
            match self.peek() {
                Some(' ' | '\t' | '\r') => self.at += 1,
                Some('\\') if self.peek_at(1) == Some('\n') => self.at += 2,
                _ => return,
            }
        }
    }

    /// Skips blanks, comments and line ends; here-documents begin after a line end.
    pub(super) fn space(&mut self) -> Parsed<()> {
        loop {
            self.blanks();
            match self.peek() {
                Some('\n') => self.line_end()?,
                Some('#') => self.comment(),
                _ => return Ok(()),
            }
        }
    }

    fn comment(&mut self) {
        while self.peek().is_some_and(|letter| letter != '\n') {
            self.at += 1;
        }
    }

    fn line_end(&mut self) -> Parsed<()> {
        self.at += 1;
        while let Some(pending) = self.pending.pop_front() {
            self.here_document(&pending)?;
        }
        Ok(())
    }

    /// Parses a list of commands up to a word or sign that the caller expects.
    pub(super) fn list(&mut self) -> Parsed<Script> {
        self.deeper(|this| {
            let mut script = Script::new();
            let mut chain = Chain::new();
            let mut link = Link::First;
            loop {
                this.space()?;
                if this.at_end_of_list() {
                    break;
                }
                let node = this.pipeline()?;
                if link == Link::First && !chain.is_empty() {
                    script.push(std::mem::take(&mut chain));
                }
                chain.push((link, node));
                this.blanks();
                link = Link::First;
                if this.take("&&") {
                    link = Link::And;
                } else if this.take("||") {
                    link = Link::Or;
                } else if this.looking_at(";;") || this.looking_at(";&") {
                    break;
                } else if this.take("&") {
                    // A background process: its changes stay in it.
                    let scripts = vec![vec![std::mem::take(&mut chain)]];
                    let block = Block {
                        scripts,
                        scoped: true,
                        ..Block::default()
                    };
                    script.push(vec![(Link::First, Node::Block(block))]);
                } else if !this.take(";") {
                    match this.peek() {
                        None | Some('\n' | ')' | '#') => {}
                        // After a closing keyword no separator is needed.
                        Some(_) if this.at_end_of_list() => break,
                        Some(_) => return this.fail(ShellFault::AfterCommand),
                    }
                }
            }
            if !chain.is_empty() {
                script.push(chain);
            }
            Ok(script)
        })
    }

    fn at_end_of_list(&self) -> bool {
        match self.peek() {
            None | Some(')') => true,
            Some(';') => self.looking_at(";;") || self.looking_at(";&"),
            Some(_) => matches!(
                self.keyword().as_str(),
                "then" | "else" | "elif" | "fi" | "do" | "done" | "esac" | "}"
            ),
        }
    }

    /// Returns the unquoted characters up to the next sign or blank.
    pub(super) fn keyword(&self) -> String {
        let ends = |letter: &char| {
            letter.is_whitespace() || matches!(letter, ';' | '&' | '|' | '(' | ')' | '<' | '>')
        };
        let rest = self.text.get(self.at..).unwrap_or_default();
        // No keyword is longer.
        rest.iter()
            .take(9)
            .take_while(|letter| !ends(letter))
            .collect()
    }

    pub(super) fn take_keyword(&mut self, word: &str) -> Parsed<bool> {
        self.space()?;
        let found = self.keyword() == word;
        if found {
            self.at += word.len();
        }
        Ok(found)
    }

    pub(super) fn expect_keyword(&mut self, word: &'static str) -> Parsed<()> {
        if self.take_keyword(word)? {
            Ok(())
        } else {
            self.fail(ShellFault::WordMissing { word })
        }
    }

    fn pipeline(&mut self) -> Parsed<Node> {
        loop {
            self.blanks();
            match self.keyword().as_str() {
                "!" => self.at += 1,
                "time" => {
                    self.at += 4;
                    self.blanks();
                    if self.keyword() == "-p" {
                        self.at += 2;
                    }
                }
                _ => break,
            }
        }
        self.blanks();
        if matches!(self.peek(), None | Some('\n' | ';' | ')' | '&' | '|')) {
            return Ok(Node::Simple(Simple::default()));
        }
        let mut nodes = vec![self.command()?];
        loop {
            self.blanks();
            if self.looking_at("||") || self.peek() != Some('|') {
                break;
            }
            self.at += 1;
            if self.peek() == Some('&') {
                self.at += 1;
            }
            self.space()?;
            nodes.push(self.command()?);
        }
        Ok(match nodes.len() {
            1 => nodes.remove(0),
            _ => Node::Pipe(nodes),
        })
    }

    pub(super) fn simple(&mut self) -> Parsed<Node> {
        let mut simple = Simple::default();
        loop {
            self.blanks();
            match self.peek() {
                None | Some('\n' | ';' | '&' | '|' | ')') if !self.looking_at("&>") => {
                    break;
                }
                Some('#') => {
                    self.comment();
                    break;
                }
                _ => {}
            }
            if let Some(redirect) = self.redirect()? {
                simple.redirects.push(redirect);
                continue;
            }
            if simple.words.is_empty()
                && let Some(assignment) = self.assignment()?
            {
                simple.assignments.push(assignment);
                continue;
            }
            if self.peek() == Some('(') {
                return self.after_bracket(&simple);
            }
            if !simple.words.is_empty()
                && let Some(assignment) = self.assignment_with_list()?
            {
                // `declare -a NAME=(…)`: the name and its values are one argument.
                simple.assignments.push(assignment);
                continue;
            }
            simple.words.push(self.needed_word()?);
        }
        Ok(Node::Simple(simple))
    }

    /// Parses a function after `NAME (`.
    fn after_bracket(&mut self, simple: &Simple) -> Parsed<Node> {
        self.at += 1;
        self.blanks();
        match simple.words.as_slice() {
            [name]
                if simple.assignments.is_empty()
                    && simple.redirects.is_empty()
                    && self.take(")") =>
            {
                self.function(&name.clone())
            }
            _ => self.fail(ShellFault::StrayBracket),
        }
    }

    /// Looks ahead for `NAME=`, `NAME+=` or `NAME[…]=`: the name, its length, and if it appends.
    fn assignment_ahead(&self) -> Option<(String, usize, bool)> {
        let rest = self.text.get(self.at..)?;
        let first = rest.first()?;
        if !(first.is_ascii_alphabetic() || *first == '_') {
            return None;
        }
        let letter = |it: &&char| it.is_ascii_alphanumeric() || **it == '_';
        let name: String = rest.iter().take_while(letter).collect();
        let mut ahead = name.len();
        if rest.get(ahead) == Some(&'[') {
            let close = rest[ahead..]
                .iter()
                .take_while(|it| !it.is_whitespace())
                .position(|it| *it == ']')?;
            ahead += close + 1;
        }
        let append = rest.get(ahead) == Some(&'+');
        ahead += usize::from(append);
        (rest.get(ahead) == Some(&'=')).then_some((name, ahead + 1, append))
    }

    fn assignment(&mut self) -> Parsed<Option<Assignment>> {
        let Some((name, length, append)) = self.assignment_ahead() else {
            return Ok(None);
        };
        // The text between the brackets is expanded too.
        let subscript: String = self.text[self.at..self.at + length].iter().collect();
        let mut values = Vec::new();
        if subscript.contains(['$', '`']) {
            values.push(expanded_at(&subscript, self.depth)?);
        }
        self.at += length;
        if self.take("(") {
            values.extend(self.array()?);
        } else {
            values.push(self.word()?);
        }
        Ok(Some(Assignment {
            name,
            append,
            item: subscript.contains('['),
            values,
        }))
    }

    fn assignment_with_list(&mut self) -> Parsed<Option<Assignment>> {
        match self.assignment_ahead() {
            Some((_, length, _)) if self.peek_at(length) == Some('(') => self.assignment(),
            _ => Ok(None),
        }
    }

    pub(super) fn array(&mut self) -> Parsed<Vec<Word>> {
        let mut values = Vec::new();
        loop {
            self.space()?;
            match self.peek() {
                None => return self.fail(ShellFault::OpenBracket),
                Some(')') => {
                    self.at += 1;
                    return Ok(values);
                }
                Some(_) => values.push(self.needed_word()?),
            }
        }
    }
}
