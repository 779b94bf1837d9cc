//! Parses redirections and here-documents.

use super::parse::{Parsed, Parser, Pending, expanded_at};
use super::tree::{Part, Redirect, Word};
use bowline_words::message::ShellFault;
use std::cell::OnceCell;
use std::rc::Rc;

impl Parser {
    pub(super) fn redirect(&mut self) -> Parsed<Option<Redirect>> {
        self.blanks();
        let start = self.at;
        if self.take("&>>") || self.take("&>") {
            return self.target(Redirect::Write).map(Some);
        }
        while self.peek().is_some_and(|letter| letter.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at == start && self.peek() == Some('{') {
            let rest = &self.text[self.at + 1..];
            let name = rest
                .iter()
                .take_while(|it| it.is_ascii_alphanumeric() || **it == '_')
                .count();
            let sign = rest.get(name + 1).copied();
            if name > 0 && rest.get(name) == Some(&'}') && matches!(sign, Some('<' | '>')) {
                self.at += name + 2;
            }
        }
        let process = self.peek_at(1) == Some('(');
        if process || !matches!(self.peek(), Some('<' | '>')) {
            self.at = start;
            return Ok(None);
        }
        let redirect = if self.take("<<<") {
            self.target(|word| Redirect::Here(Rc::new(OnceCell::from(word))))?
        } else if self.take("<<-") {
            self.here(true)?
        } else if self.take("<<") {
            self.here(false)?
        } else if self.take("<&") {
            self.target(Redirect::Read)?
        } else if self.take(">&") {
            self.target(Redirect::Duplicate)?
        } else if self.take("<>") || self.take(">>") || self.take(">|") || self.take(">") {
            self.target(Redirect::Write)?
        } else {
            self.at += 1;
            self.target(Redirect::Read)?
        };
        Ok(Some(redirect))
    }

    fn target(&mut self, make: impl FnOnce(Word) -> Redirect) -> Parsed<Redirect> {
        self.blanks();
        Ok(make(self.needed_word()?))
    }

    fn here(&mut self, indented: bool) -> Parsed<Redirect> {
        self.blanks();
        let word = self.word()?;
        let mut end = String::new();
        let mut literal = false;
        for part in &word {
            match part {
                Part::Text { text, quoted } => {
                    end.push_str(text);
                    literal |= quoted;
                }
                _ => return self.fail(ShellFault::UnclearHereDocument),
            }
        }
        let body = Rc::new(OnceCell::new());
        self.pending.push_back(Pending {
            body: body.clone(),
            end,
            indented,
            literal,
        });
        Ok(Redirect::Here(body))
    }

    pub(super) fn here_document(&mut self, pending: &Pending) -> Parsed<()> {
        let mut body = String::new();
        while self.at < self.text.len() {
            let rest = &self.text[self.at..];
            let length = rest
                .iter()
                .position(|&letter| letter == '\n')
                .unwrap_or(rest.len());
            let line: String = rest[..length].iter().collect();
            self.at += (length + 1).min(rest.len());
            let line = if pending.indented {
                line.trim_start_matches('\t')
            } else {
                &line
            };
            if line == pending.end {
                break;
            }
            body.push_str(line);
            body.push('\n');
        }
        let word = if pending.literal {
            vec![Part::quoted(body)]
        } else {
            expanded_at(&body, self.depth)?
        };
        // Each body is read once, so the cell is empty.
        let _ = pending.body.set(word);
        Ok(())
    }
}
