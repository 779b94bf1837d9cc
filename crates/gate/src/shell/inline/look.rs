//! Walks the tokens of code and judges every use of a name that could write a file or start a
//! program.

use super::arguments::{arrow, key, split_text};
use super::languages::{Language, Module, Use};
use super::lex::{Kind, Token, lex};
use crate::shell::parse::{UNKNOWN, UNKNOWN_NAME};
use crate::shell::walk::{CommandInput, ShellWalker};
use bowline_words::message::{OpenConstruct, Unseen};
use std::collections::{BTreeMap, BTreeSet};

/// Uses judged one by one; more count as hidden.
const USES_MAX: usize = 200;
/// Names of keyword arguments that say which file is written.
const PATH_KEYS: &[&str] = &[
    "path",
    "filename",
    "file",
    "fname",
    "path_or_buf",
    "buf",
    "dst",
    "target",
    "fp",
    "excel_writer",
];

/// The meaning of a name in the code.
#[derive(Debug, Clone, Copy)]
pub(super) enum Meaning {
    Module(&'static Module),
    Function(Use),
}

/// The analysis of one piece of code.
pub(super) struct Looker<'w, 'a> {
    pub(super) walker: &'w mut ShellWalker<'a>,
    pub(super) language: &'static Language,
    name: String,
    pub(super) tokens: Vec<Token>,
    pub(super) names: BTreeMap<String, Meaning>,
    /// Indexes of tokens that were judged with others.
    pub(super) skip: BTreeSet<usize>,
    pub(super) constants: BTreeMap<String, String>,
    /// True if the code changes its folder, so that relative paths may lead anywhere.
    moved: bool,
    /// True if a string holds `..`.
    pub(super) climbs: bool,
    uses: usize,
}

/// Adds the side effects of a piece of code.
pub(super) fn look(
    walker: &mut ShellWalker<'_>,
    language: &'static Language,
    name: &str,
    code: &str,
) {
    let tokens = lex(language.kind, code);
    let moved = tokens
        .iter()
        .any(|it| matches!(it, Token::Word(word) if word == "chdir" || word == "fchdir"));
    let climbs = tokens
        .iter()
        .any(|it| matches!(it, Token::Text(text) if text.contains("..")));
    let mut looker = Looker {
        walker,
        language,
        name: name.to_owned(),
        tokens,
        names: BTreeMap::new(),
        skip: BTreeSet::new(),
        constants: BTreeMap::new(),
        moved,
        climbs,
        uses: 0,
    };
    if language.given {
        for module in language.modules {
            let meaning = Meaning::Module(module);
            looker.names.insert(module.name.to_owned(), meaning);
        }
    }
    looker.imports();
    looker.find_constants();
    for at in 0..looker.tokens.len() {
        if looker.uses > USES_MAX {
            looker.can_run_anything(OpenConstruct::ManyCalls);
            return;
        }
        looker.token(at);
    }
}

impl Looker<'_, '_> {
    pub(super) fn word(&self, at: usize) -> Option<&str> {
        match self.tokens.get(at) {
            Some(Token::Word(word)) => Some(word),
            _ => None,
        }
    }

    pub(super) fn is_sign(&self, at: usize, sign: char) -> bool {
        self.tokens.get(at) == Some(&Token::Sign(sign))
    }

    /// Adds that the code can do more than its text shows.
    pub(super) fn can_run_anything(&mut self, by: OpenConstruct) {
        let language = self.name.to_string();
        self.walker.add_hidden(Unseen::Anything { language, by });
    }

    /// Adds that the code uses a name through which it can do more than its text shows.
    pub(super) fn anything(&mut self, name: &str) {
        self.can_run_anything(OpenConstruct::Name { name: name.into() });
    }

    pub(super) fn write(&mut self, target: Option<String>) {
        let target = target
            .filter(|it| !self.moved || it.starts_with('/'))
            .unwrap_or_else(|| UNKNOWN.to_string());
        let by = format!("code for {}", self.name);
        self.walker.add_write(&target, &by);
    }

    /// Walks a program that the code starts with a shell command line.
    pub(super) fn started(&mut self, text: &str) {
        let moved = self.moved;
        self.walker.in_own_folders(|walker| {
            if moved {
                walker.folders = vec![None];
            }
            // The code supplies its input.
            walker.walk_text_with(text, &CommandInput::Text(UNKNOWN.to_string()));
        });
    }

    /// Walks a program that the code starts with a list of words.
    pub(super) fn started_words(&mut self, words: &[String]) {
        let moved = self.moved;
        let input = CommandInput::Text(UNKNOWN.to_string());
        self.walker.in_own_folders(|walker| {
            if moved {
                walker.folders = vec![None];
            }
            walker.walk_command(words, &input, &[]);
            // The program's name may be given twice.
            if words.len() > 1 && words[0] == words[1] {
                walker.walk_command(&words[1..], &input, &[]);
            }
        });
    }

    fn token(&mut self, at: usize) {
        if self.skip.contains(&at) {
            return;
        }
        match self.tokens[at].clone() {
            // A name may be written with escapes.
            Token::Sign('\\') if self.language.kind == Kind::Script => {
                self.can_run_anything(OpenConstruct::DisguisedName);
            }
            Token::Sign(_) | Token::Text(_) => {}
            Token::Word(word) => self.name(at, &word),
        }
    }

    fn name(&mut self, at: usize, word: &str) {
        let kind = self.language.kind;
        if kind == Kind::Python && word.chars().any(is_odd) {
            self.can_run_anything(OpenConstruct::DisguisedName);
        }
        let dotted = at > 0 && self.is_sign(at - 1, '.');
        let known =
            |table: &[(&str, Use)]| table.iter().find(|(name, _)| *name == word).map(|it| it.1);
        if dotted {
            if let Some(it) = known(self.language.methods) {
                self.judge(at, it, true);
            } else if kind == Kind::Python
                && word == "replace"
                && let Some(arguments) = self.arguments(at + 1)
                && arguments.len() == 1
            {
                let target = self.literal(&arguments[0]);
                self.write(target);
            }
            return;
        }
        match self.names.get(word).copied() {
            Some(Meaning::Module(module)) => return self.module(at, module),
            Some(Meaning::Function(it)) => return self.judge(at, it, false),
            None => {}
        }
        if kind == Kind::Python && word == "getattr" {
            self.getattr(at);
        } else if let Some(it) = known(self.language.words) {
            self.judge(at, it, false);
        }
    }

    /// Judges the use of a module, which must be followed by the name used of it.
    fn module(&mut self, at: usize, module: &'static Module) {
        let key = at > 0 && (self.is_sign(at - 1, '{') || self.is_sign(at - 1, ','));
        let set = self.is_sign(at + 1, '=') && !self.is_sign(at + 2, '=');
        if set || key && self.is_sign(at + 1, ':') {
            return;
        }
        self.used_of(at, module);
    }

    /// Judges the name that is used of a module, whose own name or closing bracket stands at `at`.
    pub(super) fn used_of(&mut self, at: usize, module: &'static Module) {
        let mut next = at + 1;
        loop {
            if self.is_sign(next, '?') && self.is_sign(next + 1, '.') {
                next += 1;
            }
            if !self.is_sign(next, '.') {
                return self.anything(module.name);
            }
            next += 1;
            match self.word(next) {
                Some("promises" | "default") => next += 1,
                Some(_) => break,
                None => return self.anything(module.name),
            }
        }
        let name = self.word(next).unwrap_or_default().to_owned();
        self.skip.insert(next);
        self.judge(next, module.of(&name), false);
    }

    /// Judges `getattr(x, NAME)`: a literal name is looked up, any other may be every name.
    fn getattr(&mut self, at: usize) {
        let arguments = self.arguments(at + 1).unwrap_or_default();
        let name = arguments.get(1).and_then(|it| self.literal(it));
        let table = |table: &[(&str, Use)], name: &str| {
            table
                .iter()
                .any(|(known, it)| *known == name && *it != Use::Read)
        };
        let bad = |name: &String| {
            name.contains([UNKNOWN, UNKNOWN_NAME])
                || name.starts_with("__")
                || name.starts_with("exec")
                || name.starts_with("spawn")
                || table(self.language.words, name)
                || table(self.language.methods, name)
                || self.language.modules.iter().any(|it| table(it.uses, name))
        };
        if name.as_ref().is_none_or(bad) {
            self.anything("getattr");
        }
    }

    /// Judges one use of a name that stands at `at`.
    fn judge(&mut self, at: usize, it: Use, method: bool) {
        if it == Use::Read {
            return;
        }
        self.uses += 1;
        let word = self.word(at).unwrap_or_default().to_owned();
        match it {
            Use::Read => {}
            Use::Anything => self.anything(&word),
            Use::Open => self.open(at, method),
            Use::Run => self.run(at),
            Use::Eval => {
                let arguments = self.arguments(at + 1).unwrap_or_default();
                let texts: Vec<String> =
                    arguments.iter().map_while(|it| self.literal(it)).collect();
                if texts.is_empty() || texts.iter().any(|it| it.contains([UNKNOWN, UNKNOWN_NAME])) {
                    self.anything(&word);
                }
                for text in texts {
                    super::look(self.walker, &self.name.clone(), &text);
                }
            }
            Use::WriteOn => {
                let target = self.called_on(at);
                self.write(target);
            }
            Use::Write(place) => {
                let Some(arguments) = self.arguments(at + 1) else {
                    return self.write(None);
                };
                let keyed: Vec<(&str, &[Token])> =
                    arguments.iter().filter_map(|it| key(it)).collect();
                if method && keyed.len() == arguments.len() {
                    let path = keyed.iter().find(|(name, _)| PATH_KEYS.contains(name));
                    if let Some((_, value)) = path {
                        let target = self.literal(value);
                        self.write(target);
                    }
                    return;
                }
                match arguments.get(place) {
                    Some(argument) => {
                        let target = self.literal(argument);
                        self.write(target);
                    }
                    None => self.write(None),
                }
            }
        }
    }

    /// Returns the receiver of a method if it is a path: `Path("a").write_text(…)`.
    fn called_on(&self, at: usize) -> Option<String> {
        let before = self.tokens.get(..at.checked_sub(1)?)?;
        match before {
            [
                ..,
                Token::Word(name),
                Token::Sign('('),
                Token::Text(text),
                Token::Sign(')'),
            ] if name == "Path" => Some(text.clone()),
            [.., Token::Word(name)] => self.constants.get(name).cloned(),
            _ => None,
        }
    }

    /// Judges the opening of a file: every mode that does not clearly read is a write.
    fn open(&mut self, at: usize, method: bool) {
        let Some(arguments) = self.arguments(at + 1) else {
            return self.write(None);
        };
        let has = |word: &str| {
            arguments
                .iter()
                .flatten()
                .any(|it| matches!(it, Token::Word(it) if it == word))
        };
        if arguments
            .iter()
            .any(|it| it.first() == Some(&Token::Sign('*')))
            || has("inplace")
        {
            return self.write(None);
        }
        let keyed = |wanted: &str| {
            let value = arguments.iter().filter_map(|it| key(it));
            value
                .into_iter()
                .find(|(name, _)| *name == wanted)
                .map(|it| it.1)
        };
        let plain: Vec<&Vec<Token>> = arguments.iter().filter(|it| key(it).is_none()).collect();
        let first = plain.first().and_then(|it| self.literal(it));
        let short = |text: &String| {
            !text.is_empty() && text.len() <= 4 && text.chars().all(|it| "rwaxbtU+".contains(it))
        };
        // `PATH.open(MODE)` or `module.open(PATH, MODE)`.
        let on = method && plain.len() <= 1 && first.as_ref().is_none_or(short);
        let mode = keyed("mode").or_else(|| {
            let place = usize::from(!on);
            plain.get(place).map(|it| it.as_slice())
        });
        let Some(mode) = mode else { return };
        let reads = match self.literal(mode) {
            Some(mode) => {
                let letters = mode.split(':').next().unwrap_or_default();
                letters.contains('r') && letters.chars().all(|it| "rbtU".contains(it))
            }
            None => mode.iter().all(|it| match it {
                Token::Word(word) => {
                    matches!(word.as_str(), "os" | "O_RDONLY" | "O_CLOEXEC" | "0")
                }
                Token::Sign(sign) => matches!(sign, '.' | '|'),
                Token::Text(_) => false,
            }),
        };
        if !reads {
            let target = if on {
                self.called_on(at)
            } else {
                keyed("file").and_then(|it| self.literal(it)).or(first)
            };
            self.write(target);
        }
    }

    /// Judges the start of a program: all its words must be in the text.
    fn run(&mut self, at: usize) {
        let word = self.word(at).unwrap_or_default().to_owned();
        let Some(arguments) = self.arguments(at + 1) else {
            return self.anything(&word);
        };
        let mut words: Vec<String> = Vec::new();
        let mut whole = true;
        for (index, argument) in arguments.iter().enumerate() {
            let names = |wanted: &[&str]| {
                argument
                    .iter()
                    .any(|it| matches!(it, Token::Word(it) if wanted.contains(&it.as_str())))
            };
            let argument = match key(argument) {
                Some(("args", value)) => value,
                _ => argument.as_slice(),
            };
            if let Some(text) = self.literal(argument).or_else(|| split_text(argument)) {
                words.push(text);
                continue;
            }
            if let Some(list) = self.list(argument) {
                whole = false;
                words.extend(list);
                continue;
            }
            let options = key(argument).is_some()
                || index > 0 && argument.first() == Some(&Token::Sign('{'))
                || names(&["P_WAIT", "P_NOWAIT"]) && argument.len() == 3;
            let answer = index > 0
                && self.language.kind == Kind::Script
                && (names(&["function"]) || arrow(argument));
            if names(&["cwd", "chdir"]) {
                self.moved = true;
            }
            if names(&["executable", "preexec_fn", "env"]) && options || !options && !answer {
                return self.anything(&word);
            }
        }
        match words.as_slice() {
            [] => {}
            [text] if whole => self.started(&text.clone()),
            _ => self.started_words(&words),
        }
    }
}

/// True for characters that Python normalises to others; those of living scripts stand for
/// themselves.
fn is_odd(letter: char) -> bool {
    !letter.is_ascii()
        && !matches!(letter, '\u{c0}'..='\u{24f}' | '\u{370}'..='\u{52f}' | '\u{3040}'..='\u{30ff}'
            | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}')
}
