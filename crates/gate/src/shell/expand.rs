//! Expands words: braces, quotes, splitting, and every value a variable is ever given.
//!
//! The order of commands is not followed: a variable may have any value that the text gives it
//! anywhere. This finds more outcomes than can happen, and misses none.

use super::parse::{UNKNOWN, UNKNOWN_NAME};
use super::tree::{ParameterOperation, Word, WordPart};
use super::walk::{CommandInput, ShellWalker};

/// Outcomes followed for one word or command; more of them become one unknown outcome.
pub(super) const ALTERNATIVES_MAX: usize = 24;
/// Longer values are not followed.
const VALUE_BYTES_MAX: usize = 64 * 1024;

/// One outcome of a word: the fields it becomes.
pub(super) type Fields = Vec<String>;

/// A character (and if it is quoted), or a part to expand.
#[derive(Clone)]
enum WordAtom<'a> {
    Letter(char, bool),
    Part(&'a WordPart),
    /// An empty pair of quotes.
    Nothing,
}

/// A word under construction.
#[derive(Clone, Default)]
struct WordDraft {
    done: Fields,
    open: Option<String>,
}

impl WordDraft {
    fn push_letter(&mut self, letter: char) {
        self.open.get_or_insert_default().push(letter);
    }

    fn push_text(&mut self, text: &str) {
        self.open.get_or_insert_default().push_str(text);
    }

    fn end_field(&mut self) {
        self.done.extend(self.open.take());
    }

    /// Adds unquoted text: blanks end a field.
    fn push_splitting(&mut self, text: &str) {
        let mut fields = text.split([' ', '\t', '\n']);
        if let Some(first) = fields.next().filter(|first| !first.is_empty()) {
            self.push_text(first);
        }
        for field in fields {
            self.end_field();
            if !field.is_empty() {
                self.push_text(field);
            }
        }
    }
}

/// True if the text holds unknown characters.
pub(super) fn is_unknown(text: &str) -> bool {
    text.contains([UNKNOWN, UNKNOWN_NAME])
}

impl ShellWalker<'_> {
    /// Returns every outcome of a word.
    pub(super) fn expand_word(&mut self, word: &Word) -> Vec<Fields> {
        let mut outcomes: Vec<Fields> = vec![Vec::new()];
        for braced in expand_braces(word_atoms(word)) {
            let next = self.expand_atoms(&braced);
            outcomes = combine_pairs(&outcomes, &next, |fields, more| {
                let mut fields = fields.clone();
                fields.extend(more.iter().cloned());
                fields
            });
            if outcomes.len() > ALTERNATIVES_MAX {
                return vec![vec![UNKNOWN.to_string()]];
            }
        }
        outcomes
    }

    /// Returns every outcome of a word that stays one field: an assignment's value, a
    /// here-document, a subject of `case`.
    pub(super) fn expand_whole(&mut self, word: &Word) -> Vec<String> {
        let outcomes = self.expand_atoms(&word_atoms(word));
        let mut texts: Vec<String> = outcomes.iter().map(|fields| fields.join(" ")).collect();
        texts.sort();
        texts.dedup();
        texts
    }

    fn expand_atoms(&mut self, atoms: &[WordAtom<'_>]) -> Vec<Fields> {
        let mut drafts = vec![WordDraft::default()];
        let mut first = true;
        let mut atoms = atoms;
        let many = atoms.len() > 1;
        while let Some((atom, rest)) = atoms.split_first() {
            atoms = rest;
            match atom {
                WordAtom::Nothing => drafts.iter_mut().for_each(|draft| draft.push_text("")),
                WordAtom::Letter('~', false) if first => {
                    let mut places: Vec<Fields> = Vec::new();
                    for place in self.expand_tilde(&mut atoms) {
                        places.push(vec![place]);
                    }
                    drafts = self.join_values(drafts, &places, true, false);
                }
                // The match of a pattern is unknown, but holds no slash.
                WordAtom::Letter('*' | '?', false) => drafts
                    .iter_mut()
                    .for_each(|draft| draft.push_letter(UNKNOWN_NAME)),
                WordAtom::Letter('[', false) if many => drafts
                    .iter_mut()
                    .for_each(|draft| draft.push_letter(UNKNOWN_NAME)),
                WordAtom::Letter(letter, _) => {
                    drafts
                        .iter_mut()
                        .for_each(|draft| draft.push_letter(*letter));
                }
                WordAtom::Part(part) => drafts = self.expand_part(part, drafts),
            }
            first = false;
            let long = |draft: &WordDraft| {
                draft
                    .open
                    .as_ref()
                    .is_some_and(|it| it.len() > VALUE_BYTES_MAX)
                    || draft.done.len() > VALUE_BYTES_MAX
            };
            if drafts.len() > ALTERNATIVES_MAX || drafts.iter().any(long) {
                return vec![vec![UNKNOWN.to_string()]];
            }
        }
        drafts
            .into_iter()
            .map(|mut draft| {
                draft.end_field();
                draft.done
            })
            .collect()
    }

    /// Expands a tilde with the name or sign after it: `~`, `~/`, `~+`, `~-`, `~NAME`.
    fn expand_tilde(&self, rest: &mut &[WordAtom<'_>]) -> Vec<String> {
        let ends = |atom: Option<&WordAtom<'_>>| {
            matches!(atom, None | Some(WordAtom::Letter('/' | ':', false)))
        };
        match rest.first() {
            first if ends(first) => self.home_folders(),
            Some(WordAtom::Letter(sign @ ('+' | '-'), false)) if ends(rest.get(1)) => {
                *rest = &rest[1..];
                self.folder_names(*sign == '-')
            }
            Some(_) | None => {
                let own = rest.iter().take_while(|atom| !ends(Some(atom))).count();
                *rest = &rest[own..];
                vec![UNKNOWN.to_string()]
            }
        }
    }

    fn expand_part(&mut self, part: &WordPart, drafts: Vec<WordDraft>) -> Vec<WordDraft> {
        let (values, quoted): (Vec<Fields>, bool) = match part {
            WordPart::Text { text, .. } => (vec![vec![text.clone()]], true),
            WordPart::Pattern => (vec![vec![UNKNOWN.to_string()]], true),
            WordPart::Number(inside) => {
                self.expand_whole(inside);
                (vec![vec![UNKNOWN_NAME.to_string()]], true)
            }
            WordPart::Process { script, output } => {
                if *output {
                    // The script in it reads what is written to it.
                    let fed = CommandInput::Text(UNKNOWN.to_string());
                    self.walk_substitution(script, &fed);
                } else {
                    let text = self.walk_substitution(script, &CommandInput::None);
                    self.processes.push(text);
                }
                (vec![vec![format!("/dev/fd/{UNKNOWN_NAME}")]], true)
            }
            WordPart::Command { script, quoted } => {
                let text = self.walk_substitution(script, &CommandInput::None);
                (vec![vec![text.trim_end_matches('\n').to_owned()]], *quoted)
            }
            WordPart::Variable {
                name,
                quoted,
                change,
            } => {
                let list = matches!(name.as_str(), "@" | "*")
                    || change.as_ref().is_some_and(|it| it.operator == "[@]");
                let values = self.variable_values(name, change.as_ref(), list);
                return self.join_values(drafts, &values, *quoted, list && name != "*");
            }
        };
        self.join_values(drafts, &values, quoted, false)
    }

    fn join_values(
        &self,
        drafts: Vec<WordDraft>,
        values: &[Fields],
        quoted: bool,
        separate: bool,
    ) -> Vec<WordDraft> {
        combine_pairs(&drafts, values, |draft, value| {
            let mut draft = draft.clone();
            if quoted && !separate {
                draft.push_text(&value.join(" "));
                return draft;
            }
            for (index, item) in value.iter().enumerate() {
                if index > 0 {
                    draft.end_field();
                }
                if quoted {
                    draft.push_text(item);
                } else if self.odd_separators {
                    draft.push_letter(UNKNOWN);
                } else {
                    draft.push_splitting(item);
                }
            }
            draft
        })
    }

    /// Returns every value that a variable may have here.
    fn variable_values(
        &mut self,
        name: &str,
        change: Option<&ParameterOperation>,
        list: bool,
    ) -> Vec<Fields> {
        let mut values = self.plain_variable(name, list);
        let Some(change) = change else {
            return values;
        };
        let words = self.expand_whole(&change.word);
        let unknown = || vec![vec![UNKNOWN.to_string()]];
        match change.operator.as_str() {
            "[@]" | "[]" => values,
            "len" => vec![vec![UNKNOWN_NAME.to_string()]],
            ":-" | "-" | ":=" | "=" => {
                if self.is_unset(name) {
                    values.clear();
                } else if change.operator.starts_with(':') {
                    let filled = |value: &Fields| value.iter().any(|it| !it.is_empty());
                    values.retain(filled);
                }
                values.extend(words.iter().map(|word| vec![word.clone()]));
                if change.operator.ends_with('=') {
                    for word in words {
                        self.assign_variable(name, false, vec![word]);
                    }
                }
                values
            }
            ":+" | "+" => {
                let mut values: Vec<Fields> = words.into_iter().map(|word| vec![word]).collect();
                values.push(Vec::new());
                values
            }
            ":?" | "?" => values,
            "@P" => {
                for value in values.iter().flatten() {
                    self.walk_prompt(value);
                }
                unknown()
            }
            "@Q" | "@E" | "@A" | "@K" | "@k" => unknown(),
            "!" => values
                .iter()
                .flatten()
                .flat_map(|name| {
                    if is_unknown(name) {
                        unknown()
                    } else {
                        self.plain_variable(name, false)
                    }
                })
                .collect(),
            // Substrings and patterns: a part of a value without a slash has no slash either.
            _ if values
                .iter()
                .flatten()
                .chain(&words)
                .all(|it| has_no_slash(it)) =>
            {
                vec![vec![UNKNOWN_NAME.to_string()]]
            }
            _ => unknown(),
        }
    }

    /// True if neither the text nor the environment gives the variable a value.
    fn is_unset(&self, name: &str) -> bool {
        let plain = name.starts_with(|it: char| it.is_ascii_alphabetic());
        let shells = ["BASH", "DIRSTACK", "FUNCNAME", "HOST", "OSTYPE", "MACHTYPE"];
        let own = shells.iter().any(|it| name.starts_with(it))
            || matches!(
                name,
                "PWD"
                    | "OLDPWD"
                    | "HOME"
                    | "RANDOM"
                    | "SECONDS"
                    | "LINENO"
                    | "UID"
                    | "EUID"
                    | "EPOCHSECONDS"
                    | "EPOCHREALTIME"
                    | "PPID"
                    | "GROUPS"
                    | "REPLY"
                    | "IFS"
                    | "SHLVL"
                    | "SHELL"
                    | "PATH"
                    | "OPTARG"
                    | "OPTIND"
                    | "PIPESTATUS"
                    | "SRANDOM"
                    | "COLUMNS"
                    | "LINES"
                    | "TERM"
            );
        let given =
            self.variables.contains_key(name) || self.around.environment_variable(name).is_some();
        plain && !own && !given
    }

    fn plain_variable(&mut self, name: &str, list: bool) -> Vec<Fields> {
        match name {
            "#" | "?" | "-" | "$" | "!" | "RANDOM" | "SECONDS" | "LINENO" | "BASHPID" | "UID"
            | "EPOCHSECONDS" | "EUID" => {
                return vec![vec![UNKNOWN_NAME.to_string()]];
            }
            "@" | "*" => return self.positional.clone(),
            "PWD" | "OLDPWD" => {
                let names = self.folder_names(name == "OLDPWD");
                return names.into_iter().map(|it| vec![it]).collect();
            }
            "HOME" => return self.home_folders().into_iter().map(|it| vec![it]).collect(),
            // Set by the shell itself; the hook's environment does not matter.
            "_"
            | "BASH_COMMAND"
            | "BASH_EXECUTION_STRING"
            | "BASH_ARGV"
            | "BASH_ARGV0"
            | "DIRSTACK"
            | "FUNCNAME" => return vec![vec![UNKNOWN.to_string()]],
            _ => {}
        }
        if let Ok(number) = name.parse::<usize>() {
            return self
                .positional
                .iter()
                .map(|list| match (number.checked_sub(1), list.as_slice()) {
                    (_, [only]) if only.starts_with(UNKNOWN) => vec![only.clone()],
                    (Some(index), list) => list.get(index).cloned().into_iter().collect(),
                    (None, _) => vec![UNKNOWN.to_string()],
                })
                .collect();
        }
        match self.variables.get(name) {
            Some(values) if list => values.clone(),
            // An element of a list may be any of its elements.
            Some(values) => values
                .iter()
                .filter(|value| value.as_slice() != [UNKNOWN.to_string(), UNKNOWN.to_string()])
                .flat_map(|value| {
                    if value.is_empty() {
                        vec![Vec::new()]
                    } else {
                        value.iter().map(|item| vec![item.clone()]).collect()
                    }
                })
                .collect(),
            None => match self.around.environment_variable(name) {
                Some(value) => vec![vec![value]],
                None => vec![Vec::new(), vec![UNKNOWN.to_string()]],
            },
        }
    }
}

/// True if a text holds no slash, known or unknown.
fn has_no_slash(text: &str) -> bool {
    !text.contains([UNKNOWN, '/'])
}

/// Combines every pair, up to the limit.
fn combine_pairs<A, B, C>(left: &[A], right: &[B], join: impl Fn(&A, &B) -> C) -> Vec<C> {
    let mut all = Vec::new();
    for one in left {
        for other in right {
            all.push(join(one, other));
            // One more than the limit says that it is exceeded.
            if all.len() > ALTERNATIVES_MAX {
                return all;
            }
        }
    }
    all
}

fn word_atoms(word: &Word) -> Vec<WordAtom<'_>> {
    let mut atoms = Vec::new();
    for part in word {
        match part {
            WordPart::Text { text, quoted } if text.is_empty() && *quoted => {
                atoms.push(WordAtom::Nothing)
            }
            WordPart::Text { text, quoted } => {
                atoms.extend(text.chars().map(|letter| WordAtom::Letter(letter, *quoted)));
            }
            WordPart::Variable { .. }
            | WordPart::Command { .. }
            | WordPart::Process { .. }
            | WordPart::Number(_)
            | WordPart::Pattern => atoms.push(WordAtom::Part(part)),
        }
    }
    atoms
}

/// Returns the words that brace expansion makes of one: `{git,commit}` makes two.
fn expand_braces(word: Vec<WordAtom<'_>>) -> Vec<Vec<WordAtom<'_>>> {
    let mut done = Vec::new();
    let mut waiting = vec![word];
    while let Some(word) = waiting.pop() {
        let Some((open, commas, close)) = first_braces(&word) else {
            done.push(word);
            continue;
        };
        if commas.is_empty() {
            // A range: an unknown letter or number.
            let mut choice = word[..open].to_vec();
            choice.push(WordAtom::Letter(UNKNOWN_NAME, true));
            choice.extend_from_slice(&word[close + 1..]);
            waiting.push(choice);
            continue;
        }
        let mut start = open + 1;
        let mut choices = Vec::new();
        for end in commas.into_iter().chain([close]) {
            let mut choice = word[..open].to_vec();
            choice.extend_from_slice(&word[start..end]);
            choice.extend_from_slice(&word[close + 1..]);
            choices.push(choice);
            start = end + 1;
        }
        if done.len() + waiting.len() + choices.len() > ALTERNATIVES_MAX {
            return vec![vec![WordAtom::Letter(UNKNOWN, true)]];
        }
        // Taken from the end: the first choice comes first.
        choices.reverse();
        waiting.extend(choices);
    }
    done
}

fn is_range(inside: &[WordAtom<'_>]) -> bool {
    let dot = |atom: &WordAtom<'_>| matches!(atom, WordAtom::Letter('.', false));
    inside.windows(2).any(|pair| pair.iter().all(dot))
}

/// Finds the first pair of braces with commas or a range: the positions of opening, commas and
/// closing.
fn first_braces(word: &[WordAtom<'_>]) -> Option<(usize, Vec<usize>, usize)> {
    let mut open: Vec<(usize, Vec<usize>)> = Vec::new();
    let mut found: Option<(usize, Vec<usize>, usize)> = None;
    for (at, atom) in word.iter().enumerate() {
        match atom {
            WordAtom::Letter('{', false) => open.push((at, Vec::new())),
            WordAtom::Letter(',', false) => {
                if let Some((_, commas)) = open.last_mut() {
                    commas.push(at);
                }
            }
            WordAtom::Letter('}', false) => {
                if let Some((start, commas)) = open.pop()
                    && (!commas.is_empty() || is_range(&word[start..at]))
                    && found.as_ref().is_none_or(|(first, ..)| start < *first)
                {
                    found = Some((start, commas, at));
                }
            }
            WordAtom::Letter(..) | WordAtom::Part(_) | WordAtom::Nothing => {}
        }
    }
    found
}
