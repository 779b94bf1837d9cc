//! Splits code into words, strings and signs.
//!
//! Each language hides characters in its own quotes, comments and patterns. Where this lexer is not
//! certain what is hidden, it gives up: from there on every character counts as code, which finds
//! more than there is and never less.

use super::texts::read;
use crate::shell::parse::UNKNOWN;

/// A token of code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// A name, a keyword or a number.
    Word(String),
    /// A string, with placeholders for interpolated code.
    Text(String),
    /// Any other character. A backquote stands before the string of a command.
    Sign(char),
}

/// The syntax of strings and comments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Python,
    Script,
}

/// Code nested in strings nested in code.
const DEPTH_MAX: usize = 16;

/// Words that a value follows, so that a slash begins a pattern.
const BEFORE_VALUES: &[&str] = &[
    "return", "typeof", "case", "in", "of", "delete", "void", "throw", "new", "do", "else", "if",
    "while", "yield", "await",
];

pub(super) struct Lexer<'a> {
    pub(super) kind: Kind,
    pub(super) letters: &'a [char],
    pub(super) at: usize,
    pub(super) tokens: Vec<Token>,
    /// True if from here on every character is code.
    pub(super) raw: bool,
    depth: usize,
}

/// Splits code into tokens.
pub(super) fn lex(kind: Kind, code: &str) -> Vec<Token> {
    let letters: Vec<char> = code.chars().collect();
    within(kind, &letters, 0)
}

fn within(kind: Kind, letters: &[char], depth: usize) -> Vec<Token> {
    let mut lexer = Lexer {
        kind,
        letters,
        at: 0,
        tokens: Vec::new(),
        raw: depth > DEPTH_MAX,
        depth,
    };
    while lexer.at < letters.len() {
        lexer.step();
    }
    lexer.tokens
}

/// True for a character of a name; letters of other scripts count.
pub(super) fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

impl Lexer<'_> {
    pub(super) fn peek(&self, ahead: usize) -> Option<char> {
        self.letters.get(self.at + ahead).copied()
    }

    fn looking_at(&self, text: &str) -> bool {
        text.chars()
            .enumerate()
            .all(|(ahead, letter)| self.peek(ahead) == Some(letter))
    }

    pub(super) fn sign(&mut self, letter: char) {
        self.at += 1;
        self.tokens.push(Token::Sign(letter));
    }

    /// Splits nested code and adds its tokens.
    pub(super) fn nested(&mut self, letters: &[char]) {
        let tokens = within(self.kind, letters, self.depth + 1);
        self.tokens.extend(tokens);
    }

    fn step(&mut self) {
        let letter = self.letters[self.at];
        if is_word(letter) {
            self.word();
        } else if letter == '\n' || !letter.is_whitespace() {
            if self.raw || !self.hides(letter) {
                self.sign(letter);
            }
        } else {
            self.at += 1;
        }
    }

    fn word(&mut self) {
        let start = self.at;
        while self.peek(0).is_some_and(is_word) {
            self.at += 1;
        }
        let word: String = self.letters[start..self.at].iter().collect();
        if self.raw {
            self.tokens.push(Token::Word(word));
            return;
        }
        match (self.kind, self.peek(0)) {
            (Kind::Python, Some(mark @ ('"' | '\''))) if is_prefix(&word) => {
                let lower = word.to_lowercase();
                self.python_text(mark, lower.contains('r'), lower.contains(['f', 't']));
            }
            _ => self.tokens.push(Token::Word(word)),
        }
    }

    /// Skips a comment, or reads a string or pattern. Returns false if none begins here.
    fn hides(&mut self, letter: char) -> bool {
        match (self.kind, letter) {
            (Kind::Python, '#') => self.comment(),
            (Kind::Python, '\\') if self.peek(1) == Some('\n') => self.at += 2,
            (Kind::Python, mark @ ('"' | '\'')) => self.python_text(mark, false, false),
            (Kind::Script, '/') if self.peek(1) == Some('/') => self.comment(),
            (Kind::Script, '/') if self.peek(1) == Some('*') => self.block_comment(),
            (Kind::Script, '`') => self.template(),
            (Kind::Script, '<') if self.looking_at("<!--") => self.raw = true,
            (Kind::Script, mark @ ('"' | '\'')) => self.text(mark),
            (Kind::Script, '/') => return self.pattern(),
            _ => return false,
        }
        true
    }

    fn comment(&mut self) {
        while self.peek(0).is_some_and(|letter| letter != '\n') {
            self.at += 1;
        }
    }

    fn block_comment(&mut self) {
        self.at += 2;
        while self.at < self.letters.len() && !self.looking_at("*/") {
            self.at += 1;
        }
        self.at = (self.at + 2).min(self.letters.len());
    }

    /// Reads a string up to its quote. One that does not end on its line is read as code.
    fn text(&mut self, mark: char) {
        let start = self.at;
        self.at += 1;
        match self.delimited(mark) {
            Some(inside) => {
                let text = read(&inside, false);
                self.tokens.push(Token::Text(text));
            }
            None => {
                self.at = start;
                self.raw = true;
                self.sign(mark);
            }
        }
    }

    /// Returns the characters up to a quote and skips the quote; `None` if the line has none.
    fn delimited(&mut self, mark: char) -> Option<Vec<char>> {
        let start = self.at;
        while let Some(letter) = self.peek(0) {
            self.at += 1;
            match letter {
                '\\' => self.at += 1,
                '\n' => return None,
                _ if letter == mark => return Some(self.letters[start..self.at - 1].to_vec()),
                _ => {}
            }
        }
        self.at = self.letters.len();
        None
    }

    /// Reads a slash as a pattern or a division. Returns true for a pattern.
    fn pattern(&mut self) -> bool {
        let value = match self.tokens.last() {
            None => true,
            Some(Token::Text(_)) => false,
            Some(Token::Word(word)) => BEFORE_VALUES.contains(&word.as_str()),
            Some(Token::Sign(')' | '}' | ']')) => {
                // It may be either; that matters only with another slash on the line.
                let rest = &self.letters[self.at + 1..];
                let mut line = rest.iter().take_while(|it| **it != '\n');
                self.raw |= line.any(|it| *it == '/');
                false
            }
            Some(Token::Sign(_)) => true,
        };
        if !value || self.raw {
            return false;
        }
        let start = self.at;
        self.at += 1;
        let mut class = false;
        while let Some(letter) = self.peek(0) {
            match letter {
                '\n' => break,
                '\\' => self.at += 1,
                '[' => class = true,
                ']' => class = false,
                '/' if !class => {
                    self.at += 1;
                    while self.peek(0).is_some_and(char::is_alphabetic) {
                        self.at += 1;
                    }
                    self.tokens.push(Token::Text(UNKNOWN.to_string()));
                    return true;
                }
                _ => {}
            }
            self.at += 1;
        }
        self.at = start;
        self.raw = true;
        false
    }
}

fn is_prefix(word: &str) -> bool {
    word.len() <= 2 && word.chars().all(|it| "rbfutRBFUT".contains(it))
}
