//! Names that code defines: imported modules, with or without another name, and string constants.

use super::languages::{Module, Use};
use super::lex::{Kind, Token};
use super::look::{Looker, Meaning};

/// JavaScript packages that start programs or write files.
const STARTERS: &[&str] = &[
    "execa",
    "shelljs",
    "cross-spawn",
    "simple-git",
    "isomorphic-git",
    "nodegit",
    "zx",
    "zx/globals",
    "bun",
    "write-file-atomic",
    "rimraf",
];

impl Looker<'_, '_> {
    pub(super) fn imports(&mut self) {
        for at in 0..self.tokens.len() {
            match (self.language.kind, self.word(at)) {
                (Kind::Python, Some("import")) => self.python_import(at),
                (Kind::Python, Some("from")) => self.python_from(at),
                (Kind::Script, Some("require")) => self.required(at),
                (Kind::Script, Some("import")) => self.script_import(at),
                _ => {}
            }
        }
    }

    fn module_named(&self, name: &str) -> Option<&'static Module> {
        self.language.modules.iter().find(|it| it.name == name)
    }

    /// Records `import a.b as c, d`.
    fn python_import(&mut self, at: usize) {
        if at > 0 && self.skip.contains(&at) {
            return;
        }
        let mut next = at + 1;
        while let Some(first) = self.word(next).map(str::to_owned) {
            self.skip.insert(next);
            let mut dotted = false;
            while self.is_sign(next + 1, '.') && self.word(next + 2).is_some() {
                dotted = true;
                next += 2;
                self.skip.insert(next);
            }
            let module = self.module_named(&first);
            if self.word(next + 1) == Some("as") {
                let name = self.word(next + 2).unwrap_or_default().to_owned();
                self.skip.insert(next + 2);
                next += 2;
                if let Some(module) = module.filter(|_| !dotted) {
                    self.names.insert(name, Meaning::Module(module));
                }
            } else if let Some(module) = module {
                self.names.insert(first, Meaning::Module(module));
            }
            if !self.is_sign(next + 1, ',') {
                return;
            }
            next += 2;
        }
    }

    /// Records `from a import b as c, d`.
    fn python_from(&mut self, at: usize) {
        let Some(first) = self.word(at + 1).map(str::to_owned) else {
            return;
        };
        let mut next = at + 2;
        let mut dotted = false;
        while self.is_sign(next, '.') && self.word(next + 1).is_some() {
            dotted = true;
            next += 2;
        }
        if self.word(next) != Some("import") {
            return;
        }
        self.skip.insert(at + 1);
        self.skip.insert(next);
        next += 1;
        let module = self.module_named(&first).filter(|_| !dotted);
        if self.is_sign(next, '(') {
            next += 1;
        }
        if self.is_sign(next, '*') {
            if module.is_some() {
                self.anything(&first);
            }
            return;
        }
        loop {
            while self.is_sign(next, '\n') || self.is_sign(next, ',') {
                // A line end outside of brackets ends the import; the next line is a statement.
                if self.is_sign(next, '\n')
                    && !self.is_sign(next - 1, ',')
                    && !self.is_sign(next - 1, '(')
                {
                    return;
                }
                next += 1;
            }
            let Some(name) = self.word(next).map(str::to_owned) else {
                return;
            };
            self.skip.insert(next);
            let mut own = name.clone();
            if self.word(next + 1) == Some("as") {
                own = self.word(next + 2).unwrap_or_default().to_owned();
                self.skip.insert(next + 2);
                next += 2;
            }
            let it = match module {
                Some(module) => Some(module.of(&name)),
                // `from zipfile import ZipFile as Z` keeps its meaning.
                None => {
                    let tables = [self.language.words, self.language.methods];
                    let known = tables
                        .into_iter()
                        .flatten()
                        .find(|(known, _)| *known == name);
                    known.map(|it| it.1)
                }
            };
            if let Some(it) = it.filter(|it| *it != Use::Read) {
                self.names.insert(own, Meaning::Function(it));
            }
            next += 1;
            if !self.is_sign(next, ',') && !self.is_sign(next, '\n') {
                return;
            }
        }
    }

    /// Returns the table of a JavaScript module: its own, the one that may do anything, or `None`
    /// if it is harmless.
    fn package(&self, name: &str) -> Option<&'static Module> {
        let plain = name.strip_prefix("node:").unwrap_or(name);
        let plain = match plain {
            "fs/promises" | "fs-extra" | "graceful-fs" => "fs",
            other => other,
        };
        if STARTERS.contains(&plain) || plain.starts_with("data:") {
            return self.module_named("module");
        }
        self.module_named(plain)
    }

    /// Judges `require("a")` and records the names bound to it.
    fn required(&mut self, at: usize) {
        if at > 0 && self.is_sign(at - 1, '.') {
            return;
        }
        let name = match self.tokens.get(at + 1..at + 4) {
            Some([Token::Sign('('), Token::Text(name), Token::Sign(')')]) => name.clone(),
            Some([Token::Sign('.'), Token::Word(word), _])
                if word == "resolve" || word == "main" =>
            {
                return;
            }
            _ => return self.anything("require"),
        };
        let Some(module) = self.package(&name) else {
            return;
        };
        let end = at + 3;
        if self.is_sign(end + 1, '.') || self.is_sign(end + 1, '?') {
            self.used_of(end, module);
            return;
        }
        let mut before = at;
        if before > 0 && self.word(before - 1) == Some("await") {
            before -= 1;
        }
        if before < 2 || !self.is_sign(before - 1, '=') {
            let begins = at == 0 || self.is_sign(at - 1, ';') || self.is_sign(at - 1, '\n');
            let ends = matches!(
                self.tokens.get(end + 1),
                None | Some(Token::Sign(';' | '\n'))
            );
            if !begins || !ends {
                self.anything(module.name);
            }
            return;
        }
        match self.tokens[before - 2].clone() {
            Token::Word(own) => {
                self.skip.insert(before - 2);
                self.names.insert(own, Meaning::Module(module));
            }
            Token::Sign('}') => self.taken_apart(before - 2, module),
            _ => self.anything(module.name),
        }
    }

    /// Records the names taken out of a module by `{ a, b: c, d as e }`, which ends at `end`.
    fn taken_apart(&mut self, end: usize, module: &'static Module) {
        let Some(start) = self.tokens[..end]
            .iter()
            .rposition(|it| *it == Token::Sign('{'))
        else {
            return self.anything(module.name);
        };
        let inside: Vec<Token> = self.tokens[start + 1..end].to_vec();
        self.skip.extend(start..=end);
        for entry in inside.split(|it| *it == Token::Sign(',')) {
            let entry: Vec<&Token> = entry
                .iter()
                .filter(|it| **it != Token::Sign('\n'))
                .collect();
            let (name, own) = match entry.as_slice() {
                [] => continue,
                [Token::Word(name)] => (name, name),
                [Token::Word(name), Token::Sign(':'), Token::Word(own)] => (name, own),
                [Token::Word(name), Token::Word(_), Token::Word(own)] => (name, own),
                _ => return self.anything(module.name),
            };
            if name == "promises" || name == "default" {
                self.names.insert(own.clone(), Meaning::Module(module));
            } else {
                let it = module.of(name);
                self.names.insert(own.clone(), Meaning::Function(it));
            }
        }
    }

    /// Records `import a from "b"`, `import * as a from "b"`, `import {a} from "b"`, `import("b")`.
    fn script_import(&mut self, at: usize) {
        if self.is_sign(at + 1, '(') {
            return self.required(at);
        }
        if self.is_sign(at + 1, '.') || matches!(self.tokens.get(at + 1), Some(Token::Text(_))) {
            return;
        }
        let near = self.tokens.iter().enumerate().skip(at).take(400);
        let from = near
            .filter(|(_, it)| matches!(it, Token::Word(word) if word == "from"))
            .map(|(place, _)| place)
            .next();
        let Some(from) = from else {
            return self.anything("import");
        };
        let Some(Token::Text(name)) = self.tokens.get(from + 1) else {
            return self.anything("import");
        };
        let Some(module) = self.package(&name.clone()) else {
            return;
        };
        if self.is_sign(from - 1, '}') {
            self.taken_apart(from - 1, module);
        }
        for place in at + 1..from {
            if self.skip.contains(&place) {
                continue;
            }
            if let Some(own) = self.word(place).map(str::to_owned) {
                self.skip.insert(place);
                self.names.insert(own, Meaning::Module(module));
            }
        }
    }

    /// Records names that are the same string throughout the code.
    pub(super) fn find_constants(&mut self) {
        let shadows = |token: &Token| {
            matches!(token, Token::Word(word)
                if matches!(word.as_str(), "def" | "lambda" | "function" | "exec" | "eval"))
        };
        let arrows = |pair: &[Token]| pair == [Token::Sign('='), Token::Sign('>')];
        if self.tokens.iter().any(shadows) || self.tokens.windows(2).any(arrows) {
            return;
        }
        let mut depth = 0_usize;
        let mut spoiled: Vec<String> = Vec::new();
        let mut found: Vec<(String, String)> = Vec::new();
        for at in 0..self.tokens.len() {
            let begins = at == 0 || self.is_sign(at - 1, ';') || self.is_sign(at - 1, '\n');
            match &self.tokens[at] {
                // Several names may be assigned at once.
                Token::Sign('(' | '[' | '{' | '*') if begins => return,
                Token::Sign('(' | '[' | '{') => depth += 1,
                Token::Sign(')' | ']' | '}') => depth = depth.saturating_sub(1),
                Token::Word(name) => {
                    let name = name.clone();
                    let equals = self.is_sign(at + 1, '=') && !self.is_sign(at + 2, '=');
                    if equals && let Some(text) = self.text_from(at + 2) {
                        found.push((name, text));
                    } else if equals || self.changes(at, depth) {
                        spoiled.push(name);
                    }
                }
                Token::Sign(_) | Token::Text(_) => {}
            }
        }
        for (at, (name, text)) in found.iter().enumerate() {
            let again = found
                .iter()
                .enumerate()
                .any(|(other, it)| other != at && it.0 == *name);
            if !again && !spoiled.contains(name) {
                self.constants.insert(name.clone(), text.clone());
            }
        }
    }

    /// Returns a string, or the path made of one, that ends its statement.
    fn text_from(&self, at: usize) -> Option<String> {
        let (text, end) = match self.tokens.get(at..)? {
            [Token::Text(text), ..] => (text, at + 1),
            [
                Token::Word(name),
                Token::Sign('('),
                Token::Text(text),
                Token::Sign(')'),
                ..,
            ] if name == "Path" => (text, at + 4),
            _ => return None,
        };
        let ends = matches!(self.tokens.get(end), None | Some(Token::Sign(';' | '\n')));
        ends.then(|| text.clone())
    }

    /// True if a name may get another value here.
    fn changes(&self, at: usize, depth: usize) -> bool {
        let before = at.checked_sub(1).and_then(|at| self.tokens.get(at));
        let next = self.tokens.get(at + 1);
        let counted = matches!(next, Some(Token::Sign(sign)) if "+-*/%|&.?^<>:".contains(*sign))
            && (self.is_sign(at + 2, '=') || self.is_sign(at + 3, '='));
        let declared = matches!(before, Some(Token::Word(word))
            if matches!(word.as_str(), "for" | "as" | "case" | "del" | "global" | "nonlocal" | "import"));
        let comma = Some(&Token::Sign(','));
        counted
            || declared
            || depth == 0 && (next == comma || before == comma)
            || self.word(at + 1) == Some("in")
    }
}
