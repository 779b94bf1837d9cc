//! Languages that are not read (perl, ruby, awk and all others): a plain scan for words that write or run.
//!
//! Texts between quotes, comments and patterns are told from code, and that is all. A word that is found counts as what
//! its own arguments say when they stand there as plain texts; otherwise as a write to an unknown place, or as hidden.

use crate::shell::parse::UNKNOWN;
use crate::shell::walk::{Input, Walker};
use bowline_words::message::Unseen;

/// Words that start a program.
const RUNS: &str = "system system2 exec execute spawn popen popen2 popen2e popen3 capture2 capture2e capture3 open2 open3 \
    shell_exec passthru proc_open pcntl_exec qx";
/// Words that write what they are given, or open it: then the mode decides.
const OPENS: &str = "open fopen sysopen new SplFileObject openFile reopen";
const WRITES: &str = "write binwrite file_put_contents truncate unlink touch output extractTo FileUtils ZipArchive Phar \
    PharData dbmopen";
/// Words that write the second thing they are given.
const MOVES: &str = "rename copy move cp mv link symlink move_uploaded_file";
/// Words that reach for what need not stand in the text.
const HIDES: &str = "eval instance_eval class_eval module_eval send __send__ public_send const_get syscall call_user_func \
    call_user_func_array create_function array_map loadstring getfenv ReflectionFunction FFI Fiddle Open3";
/// The same for languages of which nothing at all is known.
const OTHERS: &str = "open write writeLines writeFile appendFile spit sink file save saveRDS run system System File os \
    execute Eval uplevel subst rename cp mv rm shell script git gh Process process iex Start Invoke Set Out Add New Copy \
    Move Rename Clear Tee IO foreign ccall include_string Meta";
const KNOWN: &[&str] = &[
    "perl", "ruby", "jruby", "irb", "php", "lua", "luajit", "awk",
];
/// What prints.
const PRINTERS: &[&str] = &["io", "stdout", "STDOUT", "stderr", "STDERR"];
/// Words after which a slash begins a pattern.
const BEFORE_PATTERNS: &[&str] = &[
    "if", "unless", "and", "or", "not", "split", "grep", "while", "until", "when", "return",
];
/// Words that end arguments without brackets.
const ENDS: &[&str] = &[
    "if", "unless", "or", "and", "do", "then", "end", "while", "for",
];

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Word(String),
    Text(String),
    Sign(char),
}
use Piece::{Sign, Text, Word};

/// Finds what a piece of code would do.
pub(super) fn look(walker: &mut Walker<'_>, language: &str, code: &str) {
    let pieces = cut(code, language);
    let among = |list: &str, word: &str| list.split_whitespace().any(|it| it == word);
    let known = KNOWN.contains(&language);
    let mut scan = Scan { walker, language };
    let mut printing = false;
    for at in 0..pieces.len() {
        let rest = &pieces[at + 1..];
        let before = |back: usize| at.checked_sub(back).map(|at| &pieces[at]);
        match &pieces[at] {
            // A name of a file that perl and ruby would run.
            Text(text) if text.trim().starts_with('|') || text.trim().ends_with('|') => {
                scan.walker.suspect(text.trim_matches(['|', ' ']));
            }
            Sign('`') if known => scan.run("`", rest),
            Sign('`' | '>') if !known => scan.hidden("a sign in it"),
            Sign('%') if rest.first() == Some(&Word("x".into())) => scan.hidden("%x"),
            Sign('@') if language == "awk" => scan.hidden("a call without a name"),
            Sign(';' | '\n' | '}') => printing = false,
            Sign('>') if printing => {
                printing = false;
                scan.write(target(arguments(rest), false));
            }
            Sign('|') if language == "awk" && rest.first() != Some(&Sign('|')) => {
                match (before(1), rest.first()) {
                    (Some(Sign('|')), _) => {}
                    (Some(text @ Text(_)), Some(Word(word))) if word == "getline" => {
                        scan.run("getline", &[text.clone()]);
                    }
                    (_, Some(Sign('&'))) => scan.run("|", &rest[1..]),
                    _ => scan.run("|", rest),
                }
            }
            Word(word) => {
                let owner = match (before(1), before(2), before(3)) {
                    (Some(Sign('.')), Some(Word(owner)), _)
                    | (Some(Sign(':' | '>')), Some(Sign(':' | '-')), Some(Word(owner))) => owner,
                    _ => "",
                };
                let named = matches!(before(1), Some(Word(word)) if word == "use" || word == "no")
                    || matches!(before(1), Some(Sign('$' | '@' | '/')))
                    || rest.first() == Some(&Sign('/'));
                let block = word == "eval" && rest.first() == Some(&Sign('{'));
                if named || block {
                } else if among(RUNS, word) {
                    scan.run(word, rest);
                } else if among(HIDES, word) || !known && among(OTHERS, word) {
                    scan.hidden(word);
                } else if among(OPENS, word) && (word != "new" || owner == "File") {
                    scan.open(rest);
                } else if among(WRITES, word) && !(word == "write" && PRINTERS.contains(&owner)) {
                    scan.write(target(arguments(rest), false));
                } else if among(MOVES, word) {
                    scan.write(target(arguments(rest), true));
                } else if language == "awk" && (word == "print" || word == "printf") {
                    printing = true;
                }
            }
            Text(_) | Sign(_) => {}
        }
    }
}

struct Scan<'w, 'a> {
    walker: &'w mut Walker<'a>,
    language: &'w str,
}

impl Scan<'_, '_> {
    fn hidden(&mut self, by: &str) {
        self.walker.hidden(Unseen::Anything {
            language: self.language.to_owned(),
            by: by.to_owned(),
        });
    }

    fn write(&mut self, target: Option<String>) {
        let by = format!("code for {}", self.language);
        let target = target.unwrap_or_else(|| UNKNOWN.to_string());
        self.walker.write(&target, &by);
    }

    /// A program is started: its words must all stand there.
    fn run(&mut self, by: &str, rest: &[Piece]) {
        let mut words: Vec<String> = Vec::new();
        for argument in arguments(rest).split(|it| *it == Sign(',')) {
            match argument {
                [Text(text)] => words.push(text.clone()),
                _ => return self.hidden(by),
            }
        }
        let input = Input::Text(UNKNOWN.to_string());
        self.walker.inside(|walker| match words.as_slice() {
            [text] => walker.text_with(text, &input),
            words => walker.run(words, &input, &[]),
        });
    }

    /// A file is opened: only what clearly reads is none that writes.
    fn open(&mut self, rest: &[Piece]) {
        let arguments = arguments(rest);
        let texts: Vec<&str> = arguments.iter().filter_map(text).collect();
        let reads = |text: &&str| {
            let mode = text.split(':').next().unwrap_or_default().trim();
            mode.starts_with('<') || matches!(mode, "r" | "rb" | "rt")
        };
        let alone = texts.len() == 1
            && arguments.last().and_then(text) == Some(texts[0])
            && !texts[0].trim().starts_with(['>', '+', '|'])
            && !texts[0].trim().ends_with('|');
        if !texts.iter().any(reads) && !alone {
            self.write(target(arguments, false));
        }
    }
}

fn text(piece: &Piece) -> Option<&str> {
    match piece {
        Text(text) => Some(text),
        Word(_) | Sign(_) => None,
    }
}

/// What a word is given: up to the bracket that closes, or the end of the statement.
fn arguments(rest: &[Piece]) -> &[Piece] {
    let bracket = rest.first() == Some(&Sign('('));
    let rest = &rest[usize::from(bracket)..];
    let mut depth = 0_usize;
    let end = rest.iter().position(|piece| match piece {
        Sign('(' | '[' | '{') => {
            depth += 1;
            false
        }
        Sign(')' | ']' | '}') if depth == 0 => true,
        Sign(')' | ']' | '}') => {
            depth -= 1;
            false
        }
        Sign(';' | '\n') => depth == 0 && !bracket,
        Word(word) => depth == 0 && !bracket && ENDS.contains(&word.as_str()),
        Text(_) | Sign(_) => false,
    });
    &rest[..end.unwrap_or(rest.len())]
}

/// The only path among arguments, or the second of two; nothing when that cannot be told.
fn target(arguments: &[Piece], second: bool) -> Option<String> {
    let mode = |text: &str| text.len() <= 3 && text.chars().all(|it| "rwabxt+<>".contains(it));
    let paths: Vec<(usize, &str)> = arguments
        .iter()
        .enumerate()
        .filter_map(|(at, piece)| Some((at, text(piece)?)))
        .filter(|(_, text)| !text.is_empty() && !mode(text))
        .collect();
    let (at, path) = match (paths.as_slice(), second) {
        ([_, only], true) => *only,
        // What is written may be a text, too.
        ([first, ..], false) => *first,
        _ => return None,
    };
    let joined = |place: usize| !matches!(arguments.get(place), None | Some(Sign(',')));
    (!joined(at + 1)).then(|| path.trim_start_matches(['>', '+', '<', ' ']).to_owned())
}

/// Cuts code into words, texts and signs. What does not clearly end as a text is code.
fn cut(code: &str, language: &str) -> Vec<Piece> {
    let letters: Vec<char> = code.chars().collect();
    let mut pieces = Vec::new();
    let is_word = |it: &char| it.is_alphanumeric() || *it == '_';
    let mut at = 0;
    while let Some(&letter) = letters.get(at) {
        let rest = &letters[at + 1..];
        let spaced = at == 0 || letters[at - 1].is_whitespace();
        if is_word(&letter) {
            let end = letters[at..].iter().position(|it| !is_word(it));
            let word: String = letters[at..end.map_or(letters.len(), |it| at + it)]
                .iter()
                .collect();
            at += word.chars().count();
            pieces.push(Word(word));
            continue;
        }
        at += 1;
        match letter {
            '#' if spaced => at += rest.iter().take_while(|it| **it != '\n').count(),
            '"' | '\'' | '`' => {
                // What a language would fill in is code, and so is what does not end as a text.
                let filled = |it: &[char]| matches!(it, ['#' | '@' | '$', '{']);
                let plain =
                    |length: &usize| letter == '\'' || !rest[..*length].windows(2).any(filled);
                let text = language != "awk" || letter == '"';
                if letter == '`' || !text {
                    pieces.push(Sign(letter));
                }
                if let Some(length) = ends_at(rest, letter).filter(plain).filter(|_| text) {
                    pieces.push(Text(super::texts::read(&rest[..length], false)));
                    at += length + 1;
                }
            }
            '/' => {
                let value = match pieces.last() {
                    None => true,
                    Some(Word(word)) => BEFORE_PATTERNS.contains(&word.as_str()),
                    Some(Sign(sign)) => "{(,;!~&|\n=".contains(*sign),
                    Some(Text(_)) => false,
                };
                match ends_at(rest, '/').filter(|_| value) {
                    Some(length) => at += length + 1,
                    None => pieces.push(Sign('/')),
                }
            }
            _ if letter.is_whitespace() && letter != '\n' => {}
            _ => pieces.push(Sign(letter)),
        }
    }
    pieces
}

/// Where a mark stands on the same line, but for those after a backslash.
fn ends_at(letters: &[char], mark: char) -> Option<usize> {
    let mut escaped = false;
    for (at, letter) in letters.iter().enumerate() {
        match letter {
            '\n' => return None,
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            it if *it == mark => return Some(at),
            _ => {}
        }
    }
    None
}
