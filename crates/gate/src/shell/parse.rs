//! Parses a command line as bash does: lists, pipelines, compound commands, functions,
//! redirections, here-documents.
//!
//! Hand-written, because a hook that panics, overflows its stack or takes too long lets every call
//! through: this parser is linear, bounded in depth, and refuses what it does not understand.

use super::tree::{
    Chain, ChainOperator, CommandBlock, CommandNode, Script, SimpleCommand, VariableAssignment,
    Word,
};
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
pub struct ShellParseError {
    /// Position of the character, counted from 1.
    pub at: usize,
    pub fault: ShellFault,
}

impl ShellParseError {
    /// Returns the reason to show in a denial.
    pub fn to_unseen(self) -> Unseen {
        let ShellParseError { at, fault } = self;
        Unseen::Unreadable { at, fault }
    }
}

pub(super) type ParseResult<T> = Result<T, ShellParseError>;

pub(super) struct ShellParser {
    pub(super) text: Vec<char>,
    pub(super) at: usize,
    pub(super) depth: usize,
    /// Here-documents whose text begins after the next line end.
    pub(super) pending: VecDeque<PendingHereDocument>,
}

/// A here-document whose text is not read yet.
pub(super) struct PendingHereDocument {
    pub(super) body: Rc<OnceCell<Word>>,
    pub(super) end: String,
    pub(super) indented: bool,
    pub(super) literal: bool,
}

/// Parses a whole command line.
pub(crate) fn parse_script(text: &str) -> ParseResult<Script> {
    parse_at(text, 0)
}

/// Parses a text nested in another: the depth goes on, so that the stack stays bounded.
pub(super) fn parse_at(text: &str, depth: usize) -> ParseResult<Script> {
    let mut parser = ShellParser::new(text, depth)?;
    let script = parser.parse_list()?;
    if parser.at < parser.text.len() {
        return parser.fail(ShellFault::StrayWordOrBracket);
    }
    Ok(script)
}

/// Parses a text that is expanded as between double quotes: the body of a here-document, a prompt.
pub(crate) fn parse_expanded(text: &str) -> ParseResult<Word> {
    expanded_at(text, 0)
}

/// Parses such a text nested in another.
pub(super) fn expanded_at(text: &str, depth: usize) -> ParseResult<Word> {
    let mut parser = ShellParser::new(text, depth)?;
    parser.deeper(|this| this.parse_expansions(None))
}

impl ShellParser {
    fn new(text: &str, depth: usize) -> ParseResult<Self> {
        let text: Vec<char> = text.chars().collect();
        let bad = |letter: &char| matches!(*letter, '\0' | UNKNOWN | UNKNOWN_NAME);
        if let Some(at) = text.iter().position(bad) {
            let fault = ShellFault::BadLetter;
            return Err(ShellParseError { at: at + 1, fault });
        }
        if text.len() > TEXT_CHARS_MAX {
            return Err(ShellParseError {
                at: TEXT_CHARS_MAX,
                fault: ShellFault::TooLong,
            });
        }
        Ok(ShellParser {
            text,
            at: 0,
            depth,
            pending: VecDeque::new(),
        })
    }

    pub(super) fn fail<T>(&self, fault: ShellFault) -> ParseResult<T> {
        Err(ShellParseError {
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

    pub(super) fn take_text(&mut self, text: &str) -> bool {
        let found = self.looking_at(text);
        if found {
            self.at += text.chars().count();
        }
        found
    }

    pub(super) fn deeper<T>(
        &mut self,
        inside: impl FnOnce(&mut Self) -> ParseResult<T>,
    ) -> ParseResult<T> {
        if self.depth >= DEPTH_MAX {
            return self.fail(ShellFault::TooDeep);
        }
        self.depth += 1;
        let result = inside(self);
        self.depth -= 1;
        result
    }

    /// Skips blanks and continued lines.
    pub(super) fn skip_blanks(&mut self) {
        loop {
            match self.peek() {
                Some(' ' | '\t' | '\r') => self.at += 1,
                Some('\\') if self.peek_at(1) == Some('\n') => self.at += 2,
                _ => return,
            }
        }
    }

    /// Skips blanks, comments and line ends; here-documents begin after a line end.
    pub(super) fn skip_space(&mut self) -> ParseResult<()> {
        loop {
            self.skip_blanks();
            match self.peek() {
                Some('\n') => self.skip_line_end()?,
                Some('#') => self.skip_comment(),
                _ => return Ok(()),
            }
        }
    }

    fn skip_comment(&mut self) {
        while self.peek().is_some_and(|letter| letter != '\n') {
            self.at += 1;
        }
    }

    fn skip_line_end(&mut self) -> ParseResult<()> {
        self.at += 1;
        while let Some(pending) = self.pending.pop_front() {
            self.read_here_document(&pending)?;
        }
        Ok(())
    }

    /// Parses a list of commands up to a word or sign that the caller expects.
    pub(super) fn parse_list(&mut self) -> ParseResult<Script> {
        self.deeper(|this| {
            let mut script = Script::new();
            let mut chain = Chain::new();
            let mut link = ChainOperator::First;
            loop {
                this.skip_space()?;
                if this.at_end_of_list() {
                    break;
                }
                let node = this.parse_pipeline()?;
                if link == ChainOperator::First && !chain.is_empty() {
                    script.push(std::mem::take(&mut chain));
                }
                chain.push((link, node));
                this.skip_blanks();
                link = ChainOperator::First;
                if this.take_text("&&") {
                    link = ChainOperator::And;
                } else if this.take_text("||") {
                    link = ChainOperator::Or;
                } else if this.looking_at(";;") || this.looking_at(";&") {
                    break;
                } else if this.take_text("&") {
                    // A background process: its changes stay in it.
                    let scripts = vec![vec![std::mem::take(&mut chain)]];
                    let block = CommandBlock {
                        scripts,
                        scoped: true,
                        ..CommandBlock::default()
                    };
                    script.push(vec![(ChainOperator::First, CommandNode::Block(block))]);
                } else if !this.take_text(";") {
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
                self.peek_keyword().as_str(),
                "then" | "else" | "elif" | "fi" | "do" | "done" | "esac" | "}"
            ),
        }
    }

    /// Returns the unquoted characters up to the next sign or blank.
    pub(super) fn peek_keyword(&self) -> String {
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

    pub(super) fn take_keyword(&mut self, word: &str) -> ParseResult<bool> {
        self.skip_space()?;
        let found = self.peek_keyword() == word;
        if found {
            self.at += word.len();
        }
        Ok(found)
    }

    pub(super) fn expect_keyword(&mut self, word: &'static str) -> ParseResult<()> {
        if self.take_keyword(word)? {
            Ok(())
        } else {
            self.fail(ShellFault::WordMissing { word })
        }
    }

    fn parse_pipeline(&mut self) -> ParseResult<CommandNode> {
        loop {
            self.skip_blanks();
            match self.peek_keyword().as_str() {
                "!" => self.at += 1,
                "time" => {
                    self.at += 4;
                    self.skip_blanks();
                    if self.peek_keyword() == "-p" {
                        self.at += 2;
                    }
                }
                _ => break,
            }
        }
        self.skip_blanks();
        if matches!(self.peek(), None | Some('\n' | ';' | ')' | '&' | '|')) {
            return Ok(CommandNode::Simple(SimpleCommand::default()));
        }
        let mut nodes = vec![self.parse_command()?];
        loop {
            self.skip_blanks();
            if self.looking_at("||") || self.peek() != Some('|') {
                break;
            }
            self.at += 1;
            if self.peek() == Some('&') {
                self.at += 1;
            }
            self.skip_space()?;
            nodes.push(self.parse_command()?);
        }
        Ok(match nodes.len() {
            1 => nodes.remove(0),
            _ => CommandNode::Pipe(nodes),
        })
    }

    pub(super) fn parse_simple(&mut self) -> ParseResult<CommandNode> {
        let mut simple = SimpleCommand::default();
        loop {
            self.skip_blanks();
            match self.peek() {
                None | Some('\n' | ';' | '&' | '|' | ')') if !self.looking_at("&>") => {
                    break;
                }
                Some('#') => {
                    self.skip_comment();
                    break;
                }
                _ => {}
            }
            if let Some(redirect) = self.parse_redirect()? {
                simple.redirects.push(redirect);
                continue;
            }
            if simple.words.is_empty()
                && let Some(assignment) = self.parse_assignment()?
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
            simple.words.push(self.parse_needed_word()?);
        }
        Ok(CommandNode::Simple(simple))
    }

    /// Parses a function after `NAME (`.
    fn after_bracket(&mut self, simple: &SimpleCommand) -> ParseResult<CommandNode> {
        self.at += 1;
        self.skip_blanks();
        match simple.words.as_slice() {
            [name]
                if simple.assignments.is_empty()
                    && simple.redirects.is_empty()
                    && self.take_text(")") =>
            {
                self.parse_function(&name.clone())
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

    fn parse_assignment(&mut self) -> ParseResult<Option<VariableAssignment>> {
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
        if self.take_text("(") {
            values.extend(self.parse_array()?);
        } else {
            values.push(self.parse_word()?);
        }
        Ok(Some(VariableAssignment {
            name,
            append,
            item: subscript.contains('['),
            values,
        }))
    }

    fn assignment_with_list(&mut self) -> ParseResult<Option<VariableAssignment>> {
        match self.assignment_ahead() {
            Some((_, length, _)) if self.peek_at(length) == Some('(') => self.parse_assignment(),
            _ => Ok(None),
        }
    }

    pub(super) fn parse_array(&mut self) -> ParseResult<Vec<Word>> {
        let mut values = Vec::new();
        loop {
            self.skip_space()?;
            match self.peek() {
                None => return self.fail(ShellFault::OpenBracket),
                Some(')') => {
                    self.at += 1;
                    return Ok(values);
                }
                Some(_) => values.push(self.parse_needed_word()?),
            }
        }
    }
}
