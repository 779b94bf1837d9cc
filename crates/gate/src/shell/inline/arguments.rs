//! Arguments of calls in code, and the string literals among them.

use super::lex::Token;
use super::look::Looker;
use crate::shell::parse::UNKNOWN_NAME;

/// Tokens read between two brackets.
const ARGUMENTS_MAX: usize = 2000;

impl Looker<'_, '_> {
    /// Returns the tokens of each argument of a call; `None` if there is no call here.
    pub(super) fn arguments(&self, from: usize) -> Option<Vec<Vec<Token>>> {
        if !self.is_sign(from, '(') {
            return None;
        }
        let mut arguments = vec![Vec::new()];
        let mut depth = 0_usize;
        for token in self.tokens.iter().skip(from + 1).take(ARGUMENTS_MAX) {
            match token {
                Token::Sign(')') if depth == 0 => return Some(finished(arguments)),
                Token::Sign('(' | '[' | '{') => depth += 1,
                Token::Sign(')' | ']' | '}') => depth = depth.saturating_sub(1),
                Token::Sign(',') if depth == 0 => {
                    arguments.push(Vec::new());
                    continue;
                }
                Token::Sign('\n') => continue,
                _ => {}
            }
            arguments.last_mut()?.push(token.clone());
        }
        None
    }

    /// Returns an argument that is a string, or starts with a path that its unknown rest cannot
    /// leave.
    pub(super) fn literal(&self, argument: &[Token]) -> Option<String> {
        match argument {
            [Token::Text(text)] => Some(text.clone()),
            [Token::Word(name)] => self.constants.get(name).cloned(),
            [
                Token::Word(name),
                Token::Sign('('),
                Token::Text(text),
                Token::Sign(')'),
            ] if name == "Path" => Some(text.clone()),
            [Token::Text(text), Token::Sign('+'), ..] if text.starts_with('/') && !self.climbs => {
                Some(format!("{text}{UNKNOWN_NAME}"))
            }
            // An interpolated string.
            [Token::Text(text), Token::Sign('{'), ..] if !self.climbs => Some(text.clone()),
            _ => None,
        }
    }

    /// Returns the elements of a list of strings.
    pub(super) fn list(&self, argument: &[Token]) -> Option<Vec<String>> {
        let inside = match argument {
            [Token::Sign('['), inside @ .., Token::Sign(']')]
            | [Token::Sign('('), inside @ .., Token::Sign(')')] => inside,
            _ => return None,
        };
        let items = inside.split(|it| *it == Token::Sign(','));
        items
            .filter(|it| !it.is_empty())
            .map(|item| self.literal(item))
            .collect()
    }
}

fn finished(mut arguments: Vec<Vec<Token>>) -> Vec<Vec<Token>> {
    if arguments.last().is_some_and(Vec::is_empty) {
        arguments.pop();
    }
    arguments
}

/// Splits `NAME=VALUE` and `NAME: VALUE` among arguments.
pub(super) fn key(argument: &[Token]) -> Option<(&str, &[Token])> {
    match argument {
        [Token::Word(_), Token::Sign('='), Token::Sign('='), ..] => None,
        [Token::Word(name), Token::Sign('=' | ':'), value @ ..] => Some((name, value)),
        _ => None,
    }
}

pub(super) fn arrow(argument: &[Token]) -> bool {
    argument
        .windows(2)
        .any(|pair| pair == [Token::Sign('='), Token::Sign('>')])
}

/// Returns the string of `"a b".split()` and `shlex.split("a b")`.
pub(super) fn split_text(argument: &[Token]) -> Option<String> {
    match argument {
        [
            Token::Text(text),
            Token::Sign('.'),
            Token::Word(split),
            Token::Sign('('),
            Token::Sign(')'),
        ] if split == "split" => Some(text.clone()),
        [
            Token::Word(module),
            Token::Sign('.'),
            Token::Word(split),
            Token::Sign('('),
            Token::Text(text),
            Token::Sign(')'),
        ] if module == "shlex" && split == "split" => Some(text.clone()),
        _ => None,
    }
}
