//! Scans languages that are not analysed (perl, ruby, awk and all others) for words that write or
//! run.
//!
//! Strings, comments and patterns are separated from code, and that is all. A word that could write
//! counts as a write to an unknown path, one that could run a program as hidden, however it is
//! used.

use crate::shell::parse::UNKNOWN;
use crate::shell::walk::ShellWalker;
use bowline_words::message::{OpenConstruct, Unseen};

/// Words that start a program, or reach for things that need not be in the text.
const RUNS: &str = "system system2 exec execute spawn popen popen2 popen2e popen3 capture2 capture2e capture3 open2 open3 \
    shell_exec passthru proc_open pcntl_exec qx eval instance_eval class_eval module_eval send __send__ public_send const_get \
    syscall call_user_func call_user_func_array create_function array_map loadstring getfenv ReflectionFunction FFI Fiddle \
    Open3 IPC";
/// Words that open, write, move or remove a file.
const WRITES: &str = "open fopen sysopen SplFileObject openFile reopen write binwrite file_put_contents truncate unlink touch \
    output extractTo FileUtils ZipArchive Phar PharData dbmopen rename copy move cp mv link symlink move_uploaded_file CREAT \
    WRONLY";
/// The same for languages that are not in [`KNOWN`].
const OTHERS: &str = "writeLines writeFile appendFile spit sink file save saveRDS run System File os Eval uplevel subst rm shell \
    script git gh Process process iex Start Invoke Set Out Add New Copy Move Rename Clear Tee IO foreign ccall include_string Meta";
const KNOWN: &[&str] = &[
    "perl", "ruby", "jruby", "irb", "php", "lua", "luajit", "awk",
];
/// Receivers whose `write` prints, while other receivers write files.
const PRINTERS: &[&str] = &["io", "stdout", "STDOUT", "stderr", "STDERR"];
/// Words after which a slash begins a pattern.
const BEFORE_PATTERNS: &[&str] = &[
    "if", "unless", "and", "or", "not", "split", "grep", "while", "until", "when", "return",
];

#[derive(Debug, PartialEq, Eq)]
enum Piece {
    Word(String),
    Text(String),
    Sign(char),
}
use Piece::{Sign, Text, Word};

/// Adds the side effects of a piece of code.
pub(super) fn look(walker: &mut ShellWalker<'_>, language: &str, code: &str) {
    let among = |list: &str, word: &str| list.split_whitespace().any(|it| it == word);
    let known = KNOWN.contains(&language);
    let awk = language == "awk";
    let pieces = cut(code, awk);
    let mut printing = false;
    for (at, piece) in pieces.iter().enumerate() {
        let before = at.checked_sub(1).map(|at| &pieces[at]);
        let next = pieces.get(at + 1);
        let (mut runs, mut writes) = (false, false);
        match piece {
            Sign('`') => runs = true,
            Sign('>') => {
                let aside = |text: &str| text.starts_with("/dev/") || text.starts_with("/tmp/");
                writes = printing && !matches!(next, Some(Text(text)) if aside(text));
                runs = !known;
            }
            Sign('|') => {
                let either = before == Some(&Sign('|')) || next == Some(&Sign('|'));
                runs = awk && !either;
            }
            Sign('@') => runs = awk,
            Sign('%') => runs = matches!(next, Some(Word(word)) if word == "x"),
            Sign(';' | '\n' | '}') => printing = false,
            Word(_) if matches!(before, Some(Sign('$' | '@'))) => {}
            Word(word) => {
                let owner = at.checked_sub(2).map(|at| &pieces[at]);
                let prints = matches!(owner, Some(Word(it)) if PRINTERS.contains(&it.as_str()));
                printing |= awk && (word == "print" || word == "printf");
                runs = among(RUNS, word) || !known && among(OTHERS, word);
                writes = among(WRITES, word) && !(word == "write" && prints);
            }
            // Perl and ruby would run a file of this name.
            Text(text) => runs = !awk && (text.starts_with('|') || text.ends_with('|')),
            Sign(_) => {}
        }
        if runs {
            let by = match piece {
                Word(name) => OpenConstruct::Name { name: name.clone() },
                Text(_) | Sign(_) => OpenConstruct::EmbeddedCommand,
            };
            let language = language.to_owned();
            walker.add_hidden(Unseen::Anything { language, by });
        }
        if writes {
            walker.add_write(&UNKNOWN.to_string(), &format!("code for {language}"));
        }
    }
}

/// Splits code into words, strings and signs. Text without a clear end counts as code.
fn cut(code: &str, awk: bool) -> Vec<Piece> {
    let letters: Vec<char> = code.chars().collect();
    let is_word = |it: &char| it.is_alphanumeric() || *it == '_';
    // Interpolated text is code.
    let filled = |it: &[char]| matches!(it, ['#' | '@' | '$', '{']);
    let mut pieces = Vec::new();
    let mut at = 0;
    while let Some(&letter) = letters.get(at) {
        let rest = &letters[at + 1..];
        let spaced = at == 0 || letters[at - 1].is_whitespace();
        at += 1;
        let ends = || ends_at(rest, letter);
        match letter {
            _ if is_word(&letter) => {
                let more = rest.iter().take_while(|it| is_word(it)).count();
                pieces.push(Word(letters[at - 1..at + more].iter().collect()));
                at += more;
            }
            '#' if spaced => at += rest.iter().take_while(|it| **it != '\n').count(),
            '"' | '\'' if !awk || letter == '"' => {
                let plain =
                    |length: &usize| letter == '\'' || !rest[..*length].windows(2).any(filled);
                if let Some(length) = ends().filter(plain) {
                    pieces.push(Text(rest[..length].iter().collect()));
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
                at += ends().filter(|_| value).map_or(0, |length| length + 1);
            }
            _ if letter.is_whitespace() && letter != '\n' => {}
            _ => pieces.push(Sign(letter)),
        }
    }
    pieces
}

/// Returns the position of a quote on the same line, skipping escaped ones.
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
