//! What only perl has: quotes with any sign, `open` with the mode in a text, modules.

use super::lex::{Lexer, Token, closing};
use super::look::Looker;
use super::texts::read;

/// Modules that neither write nor run.
const HARMLESS: &[&str] = &[
    "strict",
    "warnings",
    "utf8",
    "feature",
    "constant",
    "integer",
    "bigint",
    "open",
    "locale",
    "lib",
    "vars",
    "POSIX",
    "List",
    "Scalar",
    "Data",
    "JSON",
    "Time",
    "Getopt",
    "Encode",
    "Cwd",
    "MIME",
    "Digest",
    "Text",
    "Math",
    "Storable",
    "Socket",
    "URI",
    "LWP",
    "HTTP",
    "Unicode",
    "Fcntl",
    "Carp",
    "English",
    "Benchmark",
    "Config",
    "Env",
    "Errno",
    "YAML",
    "XML",
    "DateTime",
    "Term",
    "experimental",
    "autodie",
    "diagnostics",
    "parent",
    "base",
    "overload",
];

/// Modules of `File` that only look.
const HARMLESS_FILES: &[&str] = &["Basename", "Spec", "Find", "stat", "Glob", "Temp", "Path"];

impl Lexer<'_> {
    /// `q(…)`, `qw(…)`, `s/…/…/` and their like, after their word. Says whether it was one.
    pub(super) fn perl_quote(&mut self, start: usize, word: &str) -> bool {
        if !matches!(
            word,
            "s" | "y" | "tr" | "m" | "q" | "qq" | "qw" | "qr" | "qx"
        ) {
            return false;
        }
        let before = start.checked_sub(1).map(|at| self.letters[at]);
        if matches!(
            before,
            Some('$' | '@' | '%' | '&' | '-' | '>' | '{' | '*' | ':')
        ) {
            return false;
        }
        let from = self.at;
        while self.peek(0).is_some_and(char::is_whitespace) {
            self.at += 1;
        }
        let spaced = self.at > from;
        let Some(open) = self.peek(0) else {
            return false;
        };
        let odd = matches!(open, ',' | ';' | ')' | '=' | '}' | ']' | '\\')
            || open.is_alphanumeric()
            || open == '_'
            || spaced && open == '#';
        if odd {
            // A key, a name, or a quote with a strange sign.
            self.at = from;
            self.raw = true;
            return false;
        }
        self.at += 1;
        let parts = if matches!(word, "s" | "y" | "tr") {
            2
        } else {
            1
        };
        let mut found: Vec<Vec<char>> = Vec::new();
        for part in 0..parts {
            if part > 0 && closing(open) != open {
                while self.peek(0).is_some_and(char::is_whitespace) {
                    self.at += 1;
                }
                self.at += 1;
            }
            match self.bracketed(open) {
                Some(inside) => found.push(inside),
                None => break,
            }
        }
        let mut flags = String::new();
        while let Some(flag) = self.peek(0).filter(|it| it.is_ascii_alphabetic()) {
            flags.push(flag);
            self.at += 1;
        }
        let quotes = if matches!(word, "q" | "qw" | "y" | "tr") || open == '\'' {
            '\''
        } else {
            '"'
        };
        let code = found.iter().any(|it| self.holds_code(it, quotes));
        if found.len() < parts || code && !flags.contains('e') {
            self.at = from;
            self.raw = true;
            return false;
        }
        match word {
            "qw" => {
                self.tokens.push(Token::Sign('('));
                let words: String = found[0].iter().collect();
                for (index, item) in words.split_whitespace().enumerate() {
                    if index > 0 {
                        self.tokens.push(Token::Sign(','));
                    }
                    self.tokens.push(Token::Text(item.to_owned()));
                }
                self.tokens.push(Token::Sign(')'));
            }
            "qx" => {
                self.tokens.push(Token::Sign('`'));
                self.tokens.push(Token::Text(read(&found[0], false)));
            }
            "s" if flags.contains('e') => {
                if flags.matches('e').count() > 1 {
                    self.tokens.push(Token::Word("eval".to_owned()));
                }
                let code = found.remove(1);
                self.tokens.push(Token::Sign(';'));
                self.nested(&code);
                self.tokens.push(Token::Sign(';'));
            }
            _ => self.tokens.push(Token::Text(read(&found[0], word == "q"))),
        }
        true
    }

    /// The letters up to the sign that closes, with brackets within each other.
    fn bracketed(&mut self, open: char) -> Option<Vec<char>> {
        let close = closing(open);
        if close == open {
            return self.delimited(close);
        }
        let start = self.at;
        let mut depth = 1_usize;
        while let Some(letter) = self.peek(0) {
            self.at += 1;
            match letter {
                '\\' => self.at += 1,
                _ if letter == open => depth += 1,
                _ if letter == close => {
                    depth -= 1;
                    if depth == 0 {
                        return Some(self.letters[start..self.at - 1].to_vec());
                    }
                }
                _ => {}
            }
        }
        self.at = self.letters.len();
        None
    }
}

impl Looker<'_, '_> {
    /// `open(F, ">a")`, `open(my $f, ">", "a")`, `open(F, "command |")`.
    pub(super) fn perl_open(&mut self, at: usize) {
        let Some(arguments) = self.arguments(at + 1) else {
            self.write(None);
            return;
        };
        let texts: Vec<Option<String>> = arguments.iter().map(|it| self.literal(it)).collect();
        match texts.as_slice() {
            [] | [_] => self.write(None),
            [_, Some(only)] => {
                let only = only.trim();
                if let Some(path) = only.strip_prefix("+<").or_else(|| only.strip_prefix('>')) {
                    let path = path.trim_start_matches('>').trim();
                    self.write(Some(path.to_owned()));
                } else if only.starts_with('|') || only.ends_with('|') {
                    let text = only.trim_matches('|').to_owned();
                    self.started(&text);
                }
            }
            [_, None] => self.write(None),
            [_, Some(mode), rest @ ..] => {
                let mode = mode.trim();
                if mode.contains('|') {
                    let words: Option<Vec<String>> = rest.iter().cloned().collect();
                    match words {
                        Some(words) => self.started_words(&words),
                        None => self.anything("open"),
                    }
                } else if mode.starts_with('>') || mode.starts_with('+') {
                    self.write(rest.first().cloned().flatten());
                } else if !mode.starts_with('<') {
                    self.write(None);
                }
            }
            [_, None, ..] => self.write(None),
        }
    }

    /// `use MODULE`, and signs that call what has no name.
    pub(super) fn perl_signs(&mut self) {
        let tokens = self.tokens.clone();
        for at in 0..tokens.len() {
            let sign =
                |ahead: usize, wanted: char| tokens.get(at + ahead) == Some(&Token::Sign(wanted));
            let word = |ahead: usize| match tokens.get(at + ahead) {
                Some(Token::Word(word)) => Some(word.as_str()),
                _ => None,
            };
            let after_and = at > 0 && tokens[at - 1] == Token::Sign('&');
            let nameless = sign(0, '&') && (sign(1, '$') || sign(1, '{')) && !after_and
                || sign(0, '-') && sign(1, '>') && sign(2, '$')
                || sign(0, '*') && sign(1, '{')
                || sign(0, '$') && sign(1, '^') && word(2).is_some_and(|it| it.starts_with('I'));
            if nameless {
                self.anything("a call without a name");
            }
            if matches!(word(0), Some("use" | "require" | "no"))
                && let Some(module) = word(1)
            {
                let version = module.starts_with(|it: char| it.is_ascii_digit() || it == 'v');
                let file =
                    module == "File" && word(4).is_some_and(|it| HARMLESS_FILES.contains(&it));
                let copy = module == "File" && word(4) == Some("Copy");
                if copy {
                    self.copies = true;
                } else if !version && !file && !HARMLESS.contains(&module) {
                    let module = module.to_owned();
                    self.anything(&module);
                }
            }
        }
    }
}

/// The command in a file name among the arguments, which the magic of `<>` runs.
pub(in crate::shell) fn magic_argument(argument: &str) -> Option<&str> {
    let trimmed = argument.trim();
    trimmed
        .strip_suffix('|')
        .or_else(|| trimmed.strip_prefix('|'))
}
