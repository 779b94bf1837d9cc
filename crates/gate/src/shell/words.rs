//! Parses words: quotes, escapes and expansions.

use super::parse::{ParseResult, ShellParser, expanded_at, parse_at};
use super::tree::{ParameterOperation, Word, WordPart};
use bowline_words::message::ShellFault;

/// True for a character that ends an unquoted word.
fn ends_word(letter: char) -> bool {
    letter.is_ascii_whitespace() || matches!(letter, ';' | '&' | '|' | '(' | ')' | '<' | '>')
}

fn is_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

impl ShellParser {
    /// Parses one word; empty if there is none here.
    pub(super) fn parse_word(&mut self) -> ParseResult<Word> {
        self.deeper(|this| {
            let mut word = Word::new();
            while let Some(letter) = this.peek() {
                match letter {
                    '<' | '>' if this.peek_at(1) == Some('(') => {
                        this.at += 2;
                        let script = this.parse_list()?;
                        this.expect_close()?;
                        word.push(WordPart::Process {
                            script,
                            output: letter == '>',
                        });
                    }
                    '(' if this.after_pattern_sign(&word) => this.parse_pattern(&mut word)?,
                    _ if ends_word(letter) => break,
                    _ => this.parse_piece(letter, &mut word)?,
                }
            }
            Ok(word)
        })
    }

    /// Parses a required word: a loop over words that are not there would never end.
    pub(super) fn parse_needed_word(&mut self) -> ParseResult<Word> {
        let before = self.at;
        let word = self.parse_word()?;
        if self.at == before {
            return self.fail(ShellFault::StraySign);
        }
        Ok(word)
    }

    fn expect_close(&mut self) -> ParseResult<()> {
        if self.take_text(")") {
            Ok(())
        } else {
            self.fail(ShellFault::OpenBracket)
        }
    }

    /// True after `?`, `*`, `+`, `@` or `!`: the bracket begins a pattern.
    fn after_pattern_sign(&self, word: &Word) -> bool {
        match word.last() {
            Some(WordPart::Text {
                text,
                quoted: false,
            }) => text.ends_with(['?', '*', '+', '@', '!']),
            _ => false,
        }
    }

    /// Parses a pattern's alternatives: their expansions count, their match is unknown.
    fn parse_pattern(&mut self, word: &mut Word) -> ParseResult<()> {
        self.at += 1;
        self.deeper(|this| {
            loop {
                match this.peek() {
                    None => return this.fail(ShellFault::OpenBracket),
                    Some(')') => {
                        this.at += 1;
                        word.push(WordPart::Pattern);
                        return Ok(());
                    }
                    Some('(') => this.parse_pattern(word)?,
                    Some(letter) if ends_word(letter) => this.at += 1,
                    Some(letter) => this.parse_piece(letter, word)?,
                }
            }
        })
    }

    /// Parses one piece of an unquoted word.
    fn parse_piece(&mut self, letter: char, word: &mut Word) -> ParseResult<()> {
        match letter {
            '\\' => {
                self.at += 1;
                if let Some(next) = self.peek() {
                    self.at += 1;
                    if next != '\n' {
                        push_letter(word, next, true);
                    }
                }
            }
            '\'' => {
                self.at += 1;
                let text = self.read_until('\'')?;
                word.push(WordPart::quoted(text));
            }
            '"' => {
                self.at += 1;
                self.parse_double_quoted(word)?;
            }
            '$' if self.peek_at(1) == Some('\'') => {
                self.at += 2;
                let text = self.parse_ansi()?;
                word.push(WordPart::quoted(text));
            }
            '$' if self.peek_at(1) == Some('"') => {
                self.at += 2;
                self.parse_double_quoted(word)?;
            }
            '$' => self.parse_dollar(word, false)?,
            '`' => self.parse_backquoted(word, false)?,
            _ => {
                self.at += 1;
                push_letter(word, letter, false);
            }
        }
        Ok(())
    }

    fn read_until(&mut self, end: char) -> ParseResult<String> {
        let mut text = String::new();
        loop {
            match self.peek() {
                None => return self.fail(ShellFault::OpenQuote),
                Some(letter) => {
                    self.at += 1;
                    if letter == end {
                        return Ok(text);
                    }
                    text.push(letter);
                }
            }
        }
    }

    fn parse_double_quoted(&mut self, word: &mut Word) -> ParseResult<()> {
        // An empty pair of quotes is a word too.
        word.push(WordPart::quoted(""));
        word.extend(self.deeper(|this| this.parse_expansions(Some('"')))?);
        Ok(())
    }

    /// Parses text up to `end` in which only `$`, backquotes and backslashes have a meaning.
    pub(super) fn parse_expansions(&mut self, end: Option<char>) -> ParseResult<Word> {
        let mut word = Word::new();
        loop {
            let Some(letter) = self.peek() else {
                if end.is_none() {
                    return Ok(word);
                }
                return self.fail(ShellFault::OpenQuote);
            };
            if Some(letter) == end {
                self.at += 1;
                return Ok(word);
            }
            match letter {
                '\\' => {
                    self.at += 1;
                    match self.peek() {
                        Some('\n') => self.at += 1,
                        Some(next @ ('$' | '`' | '\\' | '"')) => {
                            self.at += 1;
                            push_letter(&mut word, next, true);
                        }
                        Some(_) | None => push_letter(&mut word, '\\', true),
                    }
                }
                '$' => self.parse_dollar(&mut word, true)?,
                '`' => self.parse_backquoted(&mut word, true)?,
                _ => {
                    self.at += 1;
                    push_letter(&mut word, letter, true);
                }
            }
        }
    }

    fn parse_dollar(&mut self, word: &mut Word, quoted: bool) -> ParseResult<()> {
        self.at += 1;
        let variable = |name: String| WordPart::Variable {
            name,
            quoted,
            change: None,
        };
        match self.peek() {
            Some('(') if self.peek_at(1) == Some('(') && self.arithmetic_ahead() => {
                self.at += 2;
                let inside = self.parse_arithmetic()?;
                word.push(WordPart::Number(inside));
            }
            Some('(') => {
                self.at += 1;
                let script = self.parse_list()?;
                self.expect_close()?;
                word.push(WordPart::Command { script, quoted });
            }
            Some('{') => {
                self.at += 1;
                let part = self.deeper(|this| this.parse_braced(quoted))?;
                word.push(part);
            }
            Some('[') => {
                self.at += 1;
                let inside = self.deeper(|this| this.parse_expansions(Some(']')))?;
                word.push(WordPart::Number(inside));
            }
            Some(letter) if letter.is_ascii_alphabetic() || letter == '_' => {
                let mut name = String::new();
                while let Some(letter) = self.peek().filter(|letter| is_name(*letter)) {
                    self.at += 1;
                    name.push(letter);
                }
                word.push(variable(name));
            }
            Some(letter) if letter.is_ascii_digit() || "@*#?-$!".contains(letter) => {
                self.at += 1;
                word.push(variable(letter.to_string()));
            }
            Some(_) | None => push_letter(word, '$', quoted),
        }
        Ok(())
    }

    /// Parses `${…}`, after its opening.
    fn parse_braced(&mut self, quoted: bool) -> ParseResult<WordPart> {
        // `${ COMMAND; }` and `${| COMMAND; }` of newer shells.
        if matches!(self.peek(), Some(' ' | '\t' | '\n' | '|')) {
            self.at += 1;
            let script = self.parse_list()?;
            if !self.take_text("}") {
                return self.fail(ShellFault::OpenBrace);
            }
            return Ok(WordPart::Command { script, quoted });
        }
        let mut operator = String::new();
        if matches!(self.peek(), Some('#')) && self.peek_at(1) != Some('}') {
            self.at += 1;
            operator.push_str("len");
        } else if self.peek() == Some('!') && self.peek_at(1) != Some('}') {
            self.at += 1;
            operator.push('!');
        }
        let mut name = String::new();
        match self.peek() {
            Some(letter) if is_name(letter) => {
                while let Some(letter) = self.peek().filter(|letter| is_name(*letter)) {
                    self.at += 1;
                    name.push(letter);
                }
            }
            Some(letter) if "@*#?-$!".contains(letter) => {
                self.at += 1;
                name.push(letter);
            }
            Some(_) | None => return self.fail(ShellFault::ParameterWithoutName),
        }
        let mut word = Word::new();
        if self.peek() == Some('[') {
            self.at += 1;
            let subscript = self.deeper(|this| this.parse_expansions(Some(']')))?;
            let all = matches!(
                subscript.as_slice(),
                [WordPart::Text { text, .. }] if text == "@" || text == "*"
            );
            if operator.is_empty() {
                operator.push_str(if all { "[@]" } else { "[]" });
            }
            word.extend(subscript.into_iter().filter(|_| !all));
        }
        if self.peek() != Some('}') && !matches!(operator.as_str(), "len" | "!") {
            let sign = match (self.peek(), self.peek_at(1)) {
                (Some(':'), Some(next @ ('-' | '=' | '+' | '?'))) => format!(":{next}"),
                (Some('@'), Some(next)) => format!("@{next}"),
                (Some(letter), _) => letter.to_string(),
                (None, _) => return self.fail(ShellFault::OpenBrace),
            };
            self.at += sign.chars().count();
            operator = sign;
        }
        word.extend(self.parse_braced_rest()?);
        let change = (!operator.is_empty()).then_some(ParameterOperation { operator, word });
        Ok(WordPart::Variable {
            name,
            quoted,
            change,
        })
    }

    /// Parses the rest of `${NAME…}` after its operator, with the closing brace.
    fn parse_braced_rest(&mut self) -> ParseResult<Word> {
        let mut word = Word::new();
        loop {
            match self.peek() {
                None => return self.fail(ShellFault::OpenBrace),
                Some('}') => {
                    self.at += 1;
                    return Ok(word);
                }
                Some(letter) => self.parse_piece(letter, &mut word)?,
            }
        }
    }

    fn parse_backquoted(&mut self, word: &mut Word, quoted: bool) -> ParseResult<()> {
        self.at += 1;
        let mut text = String::new();
        loop {
            match self.peek() {
                None => return self.fail(ShellFault::OpenBackquote),
                Some('`') => {
                    self.at += 1;
                    break;
                }
                Some('\\') if matches!(self.peek_at(1), Some('`' | '\\' | '$')) => {
                    text.extend(self.peek_at(1));
                    self.at += 2;
                }
                Some('\\') if quoted && self.peek_at(1) == Some('"') => {
                    text.push('"');
                    self.at += 2;
                }
                Some(letter) => {
                    self.at += 1;
                    text.push(letter);
                }
            }
        }
        let script = parse_at(&text, self.depth)?;
        word.push(WordPart::Command { script, quoted });
        Ok(())
    }

    /// True if the brackets that open here close as `))`: arithmetic, not a nested subshell.
    pub(super) fn arithmetic_ahead(&self) -> bool {
        let mut open = 0_usize;
        for (ahead, letter) in self.text.iter().enumerate().skip(self.at) {
            match letter {
                '(' => open += 1,
                ')' => {
                    open -= 1;
                    if open == 1 {
                        return self.text.get(ahead + 1) == Some(&')');
                    }
                }
                _ => {}
            }
        }
        false
    }

    /// Parses the inside of `((…))`, with its end.
    pub(super) fn parse_arithmetic(&mut self) -> ParseResult<Word> {
        let start = self.at;
        let mut open = 0_usize;
        while let Some(letter) = self.peek() {
            match letter {
                '(' => open += 1,
                ')' if open == 0 => {
                    let inside: String = self.text[start..self.at].iter().collect();
                    self.at += 1;
                    self.expect_close()?;
                    return expanded_at(&inside, self.depth);
                }
                ')' => open -= 1,
                _ => {}
            }
            self.at += 1;
        }
        self.fail(ShellFault::OpenCalculation)
    }

    /// Parses the inside of `$'…'`, with its end.
    fn parse_ansi(&mut self) -> ParseResult<String> {
        let mut bytes = Vec::new();
        loop {
            let Some(letter) = self.peek() else {
                return self.fail(ShellFault::OpenQuote);
            };
            self.at += 1;
            match letter {
                '\'' => return Ok(String::from_utf8_lossy(&bytes).into_owned()),
                '\\' => self.read_escape(&mut bytes),
                _ => bytes.extend(letter.to_string().bytes()),
            }
        }
    }

    fn read_escape(&mut self, bytes: &mut Vec<u8>) {
        let Some(letter) = self.peek() else {
            bytes.push(b'\\');
            return;
        };
        self.at += 1;
        let simple = match letter {
            'a' => 7,
            'b' => 8,
            'e' | 'E' => 27,
            'f' => 12,
            'n' => b'\n',
            'r' => b'\r',
            't' => b'\t',
            'v' => 11,
            '\\' | '\'' | '"' | '?' => letter as u8,
            'c' => {
                let control = self.peek().map_or(0, |next| next as u32 & 0x1f);
                self.at += 1;
                u8::try_from(control).unwrap_or_default()
            }
            'x' | 'u' | 'U' => {
                let digits = match letter {
                    'x' => 2,
                    'u' => 4,
                    _ => 8,
                };
                let code = self.read_digits(16, digits, 0);
                match (letter, u8::try_from(code)) {
                    ('x', Ok(byte)) => bytes.push(byte),
                    _ => bytes.extend(
                        char::from_u32(code)
                            .unwrap_or(char::REPLACEMENT_CHARACTER)
                            .to_string()
                            .bytes(),
                    ),
                }
                return;
            }
            '0'..='7' => {
                let first = letter.to_digit(8).unwrap_or_default();
                let code = self.read_digits(8, 2, first);
                u8::try_from(code & 0xff).unwrap_or_default()
            }
            other => {
                bytes.push(b'\\');
                bytes.extend(other.to_string().bytes());
                return;
            }
        };
        bytes.push(simple);
    }

    fn read_digits(&mut self, base: u32, max: usize, first: u32) -> u32 {
        let mut code = first;
        for _ in 0..max {
            let Some(digit) = self.peek().and_then(|letter| letter.to_digit(base)) else {
                break;
            };
            self.at += 1;
            code = code.wrapping_mul(base).wrapping_add(digit);
        }
        code
    }
}

/// Appends a character to the text at the end of a word.
fn push_letter(word: &mut Word, letter: char, quoted: bool) {
    if let Some(WordPart::Text {
        text,
        quoted: before,
    }) = word.last_mut()
        && *before == quoted
    {
        text.push(letter);
        return;
    }
    word.push(WordPart::Text {
        text: letter.to_string(),
        quoted,
    });
}
