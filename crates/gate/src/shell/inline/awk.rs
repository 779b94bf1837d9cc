//! Code for awk: `print > "file"`, `print | "command"`, `"command" | getline`, `system("command")`.

use super::lex::{Kind, Token, lex};
use crate::shell::parse::{UNKNOWN, UNKNOWN_NAME};
use crate::shell::walk::{Input, Walker};
use bowline_words::message::Unseen;

/// Finds what a program for awk would do.
pub(super) fn look(walker: &mut Walker<'_>, language: &str, code: &str) {
    let tokens = lex(Kind::Awk, code);
    let by = format!("code for {language}");
    let mut printing = false;
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Word(word) if word == "print" || word == "printf" => {
                printing = true;
                depth = 0;
            }
            Token::Word(word) if word == "system" => {
                command(walker, &tokens[at + 1..], ')');
            }
            Token::Word(word) if word == "getline" => {
                if at > 1 && tokens[at - 1] == Token::Sign('|') {
                    match &tokens[at - 2] {
                        Token::Text(text) if is_whole(&tokens[..at - 2]) => started(walker, text),
                        _ => walker.hidden(Unseen::AwkRunsText),
                    }
                }
            }
            Token::Sign('@') => {
                walker.hidden(Unseen::AwkByName);
            }
            Token::Sign(';' | '\n' | '}') => printing = false,
            Token::Sign('(') => depth += 1,
            Token::Sign(')') => depth = depth.saturating_sub(1),
            Token::Sign('>') if printing && depth == 0 => {
                let twice = tokens.get(at + 1) == Some(&Token::Sign('>'));
                let target = match tokens.get(at + 1 + usize::from(twice)..) {
                    Some([Token::Text(text), rest @ ..]) => {
                        let ends =
                            matches!(rest.first(), None | Some(Token::Sign(';' | '\n' | '}')));
                        if ends {
                            text.clone()
                        } else {
                            format!("{text}{UNKNOWN_NAME}")
                        }
                    }
                    _ => UNKNOWN.to_string(),
                };
                walker.write(&target, &by);
                printing = false;
            }
            Token::Sign('|') if printing && depth == 0 => {
                let both = tokens.get(at + 1) == Some(&Token::Sign('&'));
                command(walker, &tokens[at + 1 + usize::from(both)..], ';');
                printing = false;
            }
            Token::Word(_) | Token::Text(_) | Token::Sign(_) => {}
        }
    }
}

/// A command by a single text; any other is not known.
fn command(walker: &mut Walker<'_>, tokens: &[Token], end: char) {
    let tokens = match tokens {
        [Token::Sign('('), rest @ ..] => rest,
        other => other,
    };
    match tokens {
        [Token::Text(text)] => started(walker, text),
        [Token::Text(text), Token::Sign(sign), ..]
            if *sign == end || matches!(sign, ')' | ';' | '\n' | '}') =>
        {
            started(walker, text);
        }
        _ => walker.hidden(Unseen::AwkRunsText),
    }
}

/// Whether a text that follows stands alone: nothing is put before it.
fn is_whole(before: &[Token]) -> bool {
    matches!(
        before.last(),
        None | Some(Token::Sign('(' | '{' | ';' | '\n' | '&' | '!' | '='))
    ) || matches!(before.last(), Some(Token::Word(word)) if word == "while" || word == "if")
}

fn started(walker: &mut Walker<'_>, text: &str) {
    // What it reads is printed by the program.
    walker.inside(|walker| walker.text_with(text, &Input::Text(UNKNOWN.to_string())));
}
