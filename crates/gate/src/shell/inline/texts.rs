//! Strings with interpolated code, and string escapes.

use super::lex::{Lexer, Token};
use crate::shell::parse::{UNKNOWN, UNKNOWN_NAME};

impl Lexer<'_> {
    pub(super) fn python_text(&mut self, mark: char, plain: bool, filled: bool) {
        let start = self.at;
        let long = self.peek(1) == Some(mark) && self.peek(2) == Some(mark);
        self.at += if long { 3 } else { 1 };
        let from = self.at;
        let mut inside = None;
        while let Some(letter) = self.peek(0) {
            let ends = letter == mark
                && (!long || self.peek(1) == Some(mark) && self.peek(2) == Some(mark));
            if ends {
                inside = Some(self.letters[from..self.at].to_vec());
                self.at += if long { 3 } else { 1 };
                break;
            }
            if letter == '\n' && !long {
                break;
            }
            self.at += if letter == '\\' { 2 } else { 1 };
        }
        match inside {
            Some(inside) if filled => self.filled(&inside, '{', '}', plain),
            Some(inside) => {
                let text = read(&inside, plain);
                self.tokens.push(Token::Text(text));
            }
            None => {
                self.at = start;
                self.raw = true;
                self.sign(mark);
            }
        }
    }

    /// Adds an interpolated string: placeholders in the string, and the code after it.
    fn filled(&mut self, inside: &[char], open: char, close: char, plain: bool) {
        let mut text = Vec::new();
        let mut codes: Vec<Vec<char>> = Vec::new();
        let mut at = 0;
        while let Some(&letter) = inside.get(at) {
            at += 1;
            if letter == '\\' && !plain {
                text.push(letter);
                text.extend(inside.get(at));
                at += 1;
            } else if letter == open && inside.get(at) == Some(&open) {
                text.push(open);
                at += 1;
            } else if letter == open {
                let mut depth = 1_usize;
                let from = at;
                while depth > 0 && at < inside.len() {
                    match inside[at] {
                        it if it == open => depth += 1,
                        it if it == close => depth -= 1,
                        _ => {}
                    }
                    at += 1;
                }
                codes.push(inside[from..at].to_vec());
                text.push(UNKNOWN_NAME);
            } else {
                text.push(letter);
            }
        }
        let mut text = read(&text, plain);
        // Interpolated text may hold slashes.
        if codes
            .iter()
            .flatten()
            .any(|it| matches!(it, '"' | '\'' | '/'))
        {
            text = text.replace(UNKNOWN_NAME, &UNKNOWN.to_string());
        }
        self.tokens.push(Token::Text(text));
        for code in codes {
            self.tokens.push(Token::Sign('{'));
            self.nested(&code);
        }
    }

    /// Reads a template literal between backquotes.
    pub(super) fn template(&mut self) {
        let start = self.at;
        self.at += 1;
        let from = self.at;
        let mut depth = 0_usize;
        while let Some(letter) = self.peek(0) {
            match letter {
                '\\' => self.at += 1,
                '$' if self.peek(1) == Some('{') => {
                    depth += 1;
                    self.at += 1;
                }
                '}' if depth > 0 => depth -= 1,
                '{' if depth > 0 => depth += 1,
                '`' if depth == 0 => {
                    let inside: Vec<char> = self.letters[from..self.at].to_vec();
                    self.at += 1;
                    let filled: Vec<char> = inside
                        .iter()
                        .enumerate()
                        .filter(|(at, it)| **it != '$' || inside.get(at + 1) != Some(&'{'))
                        .map(|(_, it)| *it)
                        .collect();
                    if filled.len() == inside.len() {
                        let text = read(&inside, false);
                        self.tokens.push(Token::Text(text));
                    } else {
                        self.filled(&filled, '{', '}', false);
                    }
                    return;
                }
                // A template within the template: its end is not followed.
                '`' => break,
                _ => {}
            }
            self.at += 1;
        }
        self.at = start;
        self.raw = true;
        self.sign('`');
    }
}

/// Resolves the escapes of a string.
pub(super) fn read(inside: &[char], plain: bool) -> String {
    let mut text = String::new();
    let mut at = 0;
    while let Some(&letter) = inside.get(at) {
        at += 1;
        if letter != '\\' || plain {
            text.push(letter);
            continue;
        }
        let Some(&next) = inside.get(at) else { break };
        at += 1;
        let (base, digits, mut code) = match next {
            'n' => {
                text.push('\n');
                continue;
            }
            't' => {
                text.push('\t');
                continue;
            }
            '\n' => continue,
            'x' => (16, 2, 0),
            'u' => (16, 4, 0),
            'U' => (16, 8, 0),
            // A character by its name: the name is not looked up.
            'N' => {
                text.push(UNKNOWN);
                continue;
            }
            '0'..='7' => (8, 2, next.to_digit(8).unwrap_or_default()),
            other => {
                text.push(other);
                continue;
            }
        };
        let braced = inside.get(at) == Some(&'{');
        at += usize::from(braced);
        for _ in 0..if braced { 8 } else { digits } {
            let Some(digit) = inside.get(at).and_then(|it| it.to_digit(base)) else {
                break;
            };
            at += 1;
            code = code.wrapping_mul(base).wrapping_add(digit);
        }
        at += usize::from(braced && inside.get(at) == Some(&'}'));
        text.extend(char::from_u32(code).filter(|it| *it != '\0'));
    }
    text
}
