//! Parses redirections and here-documents.

use super::parse::{ParseResult, PendingHereDocument, ShellParser, expanded_at};
use super::tree::{ShellRedirect, Word, WordPart};
use bowline_words::message::ShellFault;
use std::cell::OnceCell;
use std::rc::Rc;

impl ShellParser {
    pub(super) fn parse_redirect(&mut self) -> ParseResult<Option<ShellRedirect>> {
        self.skip_blanks();
        let start = self.at;
        if self.take_text("&>>") || self.take_text("&>") {
            return self.parse_target(ShellRedirect::Write).map(Some);
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
        let redirect = if self.take_text("<<<") {
            self.parse_target(|word| ShellRedirect::Here(Rc::new(OnceCell::from(word))))?
        } else if self.take_text("<<-") {
            self.parse_here_document(true)?
        } else if self.take_text("<<") {
            self.parse_here_document(false)?
        } else if self.take_text("<&") {
            self.parse_target(ShellRedirect::Read)?
        } else if self.take_text(">&") {
            self.parse_target(ShellRedirect::Duplicate)?
        } else if self.take_text("<>")
            || self.take_text(">>")
            || self.take_text(">|")
            || self.take_text(">")
        {
            self.parse_target(ShellRedirect::Write)?
        } else {
            self.at += 1;
            self.parse_target(ShellRedirect::Read)?
        };
        Ok(Some(redirect))
    }

    fn parse_target(
        &mut self,
        make: impl FnOnce(Word) -> ShellRedirect,
    ) -> ParseResult<ShellRedirect> {
        self.skip_blanks();
        Ok(make(self.parse_needed_word()?))
    }

    fn parse_here_document(&mut self, indented: bool) -> ParseResult<ShellRedirect> {
        self.skip_blanks();
        let word = self.parse_word()?;
        let mut end = String::new();
        let mut literal = false;
        for part in &word {
            match part {
                WordPart::Text { text, quoted } => {
                    end.push_str(text);
                    literal |= quoted;
                }
                _ => return self.fail(ShellFault::UnclearHereDocument),
            }
        }
        let body = Rc::new(OnceCell::new());
        self.pending.push_back(PendingHereDocument {
            body: body.clone(),
            end,
            indented,
            literal,
        });
        Ok(ShellRedirect::Here(body))
    }

    pub(super) fn read_here_document(&mut self, pending: &PendingHereDocument) -> ParseResult<()> {
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
            vec![WordPart::quoted(body)]
        } else {
            expanded_at(&body, self.depth)?
        };
        // Each body is read once, so the cell is empty.
        let _ = pending.body.set(word);
        Ok(())
    }
}
