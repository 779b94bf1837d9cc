//! Parses words: quotes, escapes and expansions.

use super::parse::{Parsed, Parser, expanded_at, parse_at};
use super::tree::{Change, Part, Word};
use bowline_words::message::ShellFault;

/// True for a character that ends an unquoted word.
fn ends_word(letter: char) -> bool {
    letter.is_ascii_whitespace() || matches!(letter, ';' | '&' | '|' | '(' | ')' | '<' | '>')
}

fn is_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

impl Parser {
    /// Parses one word; empty if there is none here.
    pub(super) fn word(&mut self) -> Parsed<Word> {
        self.deeper(|this| {
            let mut word = Word::new();
            while let Some(letter) = this.peek() {
                match letter {
                    '<' | '>' if this.peek_at(1) == Some('(') => {
                        this.at += 2;
                        let script = this.list()?;
                        this.close()?;
                        word.push(Part::Process {
                            script,
                            output: letter == '>',
                        });
                    }
                    '(' if this.after_pattern_sign(&word) => this.pattern(&mut word)?,
                    _ if ends_word(letter) => break,
                    _ => this.piece(letter, &mut word)?,
                }
            }
            Ok(word)
        })
    }

    /// Parses a required word: a loop over words that are not there would never end.
    pub(super) fn needed_word(&mut self) -> Parsed<Word> {
        let before = self.at;
        let word = self.word()?;
        if self.at == before {
            return self.fail(ShellFault::StraySign);
        }
        Ok(word)
    }

    fn close(&mut self) -> Parsed<()> {
        if self.take(")") {
            Ok(())
        } else {
            self.fail(ShellFault::OpenBracket)
        }
    }

    /// True after `?`, `*`, `+`, `@` or `!`: the bracket begins a pattern.
    fn after_pattern_sign(&self, word: &Word) -> bool {
        match word.last() {
            Some(Part::Text {
                text,
                quoted: false,
            }) => text.ends_with(['?', '*', '+', '@', '!']),
            _ => false,
        }
    }

    /// Parses a pattern's alternatives: their expansions count, their match is unknown.
    fn pattern(&mut self, word: &mut Word) -> Parsed<()> {
        self.at += 1;
        self.deeper(|this| {
            loop {
                match this.peek() {
                    None => return this.fail(ShellFault::OpenBracket),
                    Some(')') => {
                        this.at += 1;
                        word.push(Part::Pattern);
                        return Ok(());
                    }
                    Some('(') => this.pattern(word)?,
                    Some(letter) if ends_word(letter) => this.at += 1,
                    Some(letter) => this.piece(letter, word)?,
                }
            }
        })
    }

    /// Parses one piece of an unquoted word.
    fn piece(&mut self, letter: char, word: &mut Word) -> Parsed<()> {
        match letter {
            '\\' => {
                self.at += 1;
                if let Some(next) = self.peek() {
                    self.at += 1;
                    if next != '\n' {
                        push(word, next, true);
                    }
                }
            }
            '\'' => {
                self.at += 1;
                let text = self.until('\'')?;
                word.push(Part::quoted(text));
            }
            '"' => {
                self.at += 1;
                self.double_quoted(word)?;
            }
            '$' if self.peek_at(1) == Some('\'') => {
                self.at += 2;
                let text = self.ansi()?;
                word.push(Part::quoted(text));
            }
            '$' if self.peek_at(1) == Some('"') => {
                self.at += 2;
                self.double_quoted(word)?;
            }
            '$' => self.dollar(word, false)?,
            '`' => self.backquoted(word, false)?,
            _ => {
                self.at += 1;
                push(word, letter, false);
            }
        }
        Ok(())
    }

    fn until(&mut self, end: char) -> Parsed<String> {
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

    fn double_quoted(&mut self, word: &mut Word) -> Parsed<()> {
        // An empty pair of quotes is a word too.
        word.push(Part::quoted(""));
        word.extend(self.deeper(|this| this.expanded(Some('"')))?);
        Ok(())
    }

    /// Parses text up to `end` in which only `$`, backquotes and backslashes have a meaning.
    pub(super) fn expanded(&mut self, end: Option<char>) -> Parsed<Word> {
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
                            push(&mut word, next, true);
                        }
                        Some(_) | None => push(&mut word, '\\', true),
                    }
                }
                '$' => self.dollar(&mut word, true)?,
                '`' => self.backquoted(&mut word, true)?,
                _ => {
                    self.at += 1;
                    push(&mut word, letter, true);
                }
            }
        }
    }

    fn dollar(&mut self, word: &mut Word, quoted: bool) -> Parsed<()> {
        self.at += 1;
        let variable = |name: String| Part::Variable {
            name,
            quoted,
            change: None,
        };
        match self.peek() {
            Some('(') if self.peek_at(1) == Some('(') && self.arithmetic_ahead() => {
                self.at += 2;
                let inside = self.arithmetic()?;
                word.push(Part::Number(inside));
            }
            Some('(') => {
                self.at += 1;
                let script = self.list()?;
                self.close()?;
                word.push(Part::Command { script, quoted });
            }
            Some('{') => {
                self.at += 1;
                let part = self.deeper(|this| this.braced(quoted))?;
                word.push(part);
            }
            Some('[') => {
                self.at += 1;
                let inside = self.deeper(|this| this.expanded(Some(']')))?;
                word.push(Part::Number(inside));
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
            Some(_) | None => push(word, '$', quoted),
        }
        Ok(())
    }

    /// Parses `${…}`, after its opening.
    fn braced(&mut self, quoted: bool) -> Parsed<Part> {
        // `${ COMMAND; }` and `${| COMMAND; }` of newer shells.
        if matches!(self.peek(), Some(' ' | '\t' | '\n' | '|')) {
            self.at += 1;
            let script = self.list()?;
            if !self.take("}") {
                return self.fail(ShellFault::OpenBrace);
            }
            return Ok(Part::Command { script, quoted });
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
            let subscript = self.deeper(|this| this.expanded(Some(']')))?;
            let all = matches!(
                subscript.as_slice(),
                [Part::Text { text, .. }] if text == "@" || text == "*"
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
        word.extend(self.braced_rest()?);
        let change = (!operator.is_empty()).then_some(Change { operator, word });
        Ok(Part::Variable {
            name,
            quoted,
            change,
        })
    }

    /// Parses the rest of `${NAME…}` after its operator, with the closing brace.
    fn braced_rest(&mut self) -> Parsed<Word> {
        let mut word = Word::new();
        loop {
            match self.peek() {
                None => return self.fail(ShellFault::OpenBrace),
                Some('}') => {
                    self.at += 1;
                    return Ok(word);
                }
                Some(letter) => self.piece(letter, &mut word)?,
            }
        }
    }

    fn backquoted(&mut self, word: &mut Word, quoted: bool) -> Parsed<()> {
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
        word.push(Part::Command { script, quoted });
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
    pub(super) fn arithmetic(&mut self) -> Parsed<Word> {
        let start = self.at;
        let mut open = 0_usize;
        while let Some(letter) = self.peek() {
            match letter {
                '(' => open += 1,
                ')' if open == 0 => {
                    let inside: String = self.text[start..self.at].iter().collect();
                    self.at += 1;
                    self.close()?;
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
    fn ansi(&mut self) -> Parsed<String> {
        let mut bytes = Vec::new();
        loop {
            let Some(letter) = self.peek() else {
                return self.fail(ShellFault::OpenQuote);
            };
            self.at += 1;
            match letter {
                '\'' => return Ok(String::from_utf8_lossy(&bytes).into_owned()),
                '\\' => self.escape(&mut bytes),
                _ => bytes.extend(letter.to_string().bytes()),
            }
        }
    }

    fn escape(&mut self, bytes: &mut Vec<u8>) {
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
                let code = self.digits(16, digits, 0);
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
                let code = self.digits(8, 2, first);
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

    fn digits(&mut self, base: u32, max: usize, first: u32) -> u32 {
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
fn push(word: &mut Word, letter: char, quoted: bool) {
    if let Some(Part::Text {
        text,
        quoted: before,
    }) = word.last_mut()
        && *before == quoted
    {
        text.push(letter);
        return;
    }
    word.push(Part::Text {
        text: letter.to_string(),
        quoted,
    });
}
