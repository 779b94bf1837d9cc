//! The fields in the body of a task (`**의존성**: T1.1, T1.2`), and the ids that a value names.

use std::collections::HashMap;

use super::header::{list_item, tick_box};
use super::id::{
    ID_BYTES_MAX, TaskId, is_known, is_token, is_word_char, known_prefix, leading_word,
};

/// How far into a line the colon after a field name is looked for, in bytes.
const FIELD_NAME_BYTES_MAX: usize = 48;

/// Which field a line holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Assignee,
    Dependencies,
    Parallel,
}

const FIELD_NAMES: [(&str, Field); 16] = [
    ("담당", Field::Assignee),
    ("담당자", Field::Assignee),
    ("assignee", Field::Assignee),
    ("owner", Field::Assignee),
    ("agent", Field::Assignee),
    ("의존성", Field::Dependencies),
    ("의존", Field::Dependencies),
    ("depends on", Field::Dependencies),
    ("depends_on", Field::Dependencies),
    ("dependencies", Field::Dependencies),
    ("dependency", Field::Dependencies),
    ("depends", Field::Dependencies),
    ("병렬", Field::Parallel),
    ("병렬 가능", Field::Parallel),
    ("parallel", Field::Parallel),
    ("parallel with", Field::Parallel),
];

/// Values that say "nothing here".
const NONE_WORDS: [&str; 11] = [
    "없음",
    "해당없음",
    "해당",
    "무",
    "미정",
    "none",
    "no",
    "nothing",
    "nil",
    "null",
    "tbd",
];

const EMPHASIS: [&str; 2] = ["**", "__"];

/// Calls `found` for every known field on the line, with its value.
pub(super) fn each_field<'a>(line: &'a str, mut found: impl FnMut(Field, &'a str)) {
    let body = line.trim();
    let Some((mut field, mut value)) = field_at(list_item(body).unwrap_or(body)) else {
        return;
    };
    // Further fields may follow on the same line, always in bold.
    let mut from = 0;
    while let Some(at) = value[from..].find("**").map(|at| from + at) {
        if let Some((next, rest)) = field_at(&value[at..]) {
            found(
                field,
                value[..at].trim_end_matches(|c: char| c.is_whitespace() || "|,;/·".contains(c)),
            );
            (field, value, from) = (next, rest, 0);
        } else {
            from = at + 2;
        }
    }
    found(field, value);
}

/// Reads `name: value`, where the name may be bold with the colon inside or outside of the bold.
fn field_at(text: &str) -> Option<(Field, &str)> {
    let marker = EMPHASIS.into_iter().find(|marker| text.starts_with(marker));
    let text = marker.map_or(text, |marker| &text[marker.len()..]);
    let colon = text
        .char_indices()
        .take_while(|(at, _)| *at < FIELD_NAME_BYTES_MAX)
        .find(|(_, c)| matches!(c, ':' | '：'))?;
    let (name, value) = (&text[..colon.0], &text[colon.0 + colon.1.len_utf8()..]);
    let (name, value) = match marker {
        None => (name, value),
        Some(marker) => match name.trim_end().strip_suffix(marker) {
            Some(name) => (name, value),
            None => (name, value.trim_start().strip_prefix(marker)?),
        },
    };
    let name = name.trim();
    let (_, field) = FIELD_NAMES
        .iter()
        .find(|(known, _)| name.eq_ignore_ascii_case(known))?;
    Some((*field, value.trim()))
}

/// The text of a list item that may continue a field whose own line has no value; `indent_min` keeps siblings out.
pub(super) fn continuation(line: &str, indent_min: usize) -> Option<&str> {
    let body = line.trim_start();
    let item = list_item(body)?;
    let sibling = line.len() - body.len() < indent_min;
    let bold_label = item
        .strip_prefix("**")
        .is_some_and(|label| !is_known(leading_word(label)));
    (!sibling && !bold_label && tick_box(item).is_none()).then_some(item)
}

/// The name in an assignee field: without code marks, `@` and a remark in parentheses.
pub(super) fn assignee(value: &str) -> Option<&str> {
    let end = value.find(['(', '（', '|']).unwrap_or(value.len());
    let end = value.find("**").map_or(end, |bold| bold.min(end));
    let name =
        value[..end].trim_matches(|c: char| c.is_whitespace() || matches!(c, '`' | '*' | '@'));
    (name.contains(char::is_alphanumeric) && !is_none_word(name)).then_some(name)
}

/// What a value says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Mentions<'a> {
    /// Tasks of the file (by index), in the order of the value, possibly repeated.
    pub(super) tasks: Vec<usize>,
    /// Words that look like ids but are none of the file.
    pub(super) missing: Vec<&'a str>,
    /// Parts in which no id was found although one was expected.
    pub(super) unread: Vec<&'a str>,
    /// Whether ids are joined as a range; only its ends are in `tasks`.
    pub(super) range: bool,
}

impl Mentions<'_> {
    fn is_empty(&self) -> bool {
        self.tasks.is_empty() && self.missing.is_empty()
    }
}

/// Finds the ids in a value; remarks in parentheses are not looked at.
pub(super) fn mentions<'a>(value: &'a str, index: &HashMap<TaskId, usize>) -> Mentions<'a> {
    let mut all = Mentions::default();
    let mut prose = Vec::new();
    for item in items(value) {
        let before = all.tasks.len() + all.missing.len();
        read_item(&item, index, &mut all);
        let found = all.tasks.len() + all.missing.len() - before;
        let text = item.text.trim();
        if found > 0 || item.words.is_empty() || is_none_item(text, &item.words) {
            continue;
        }
        match item.words[..] {
            [word]
                if word.is_ascii()
                    && is_token(word)
                    && word.contains(|c: char| !c.is_alphabetic()) =>
            {
                all.unread.push(text);
            }
            _ => prose.push(text),
        }
    }
    // Prose beside ids is a remark; prose alone may be a dependency nobody would see.
    if all.is_empty() {
        all.unread.extend(prose);
    }
    all
}

fn is_none_word(word: &str) -> bool {
    NONE_WORDS
        .iter()
        .any(|none| word.eq_ignore_ascii_case(none))
}

fn is_none_item(text: &str, words: &[&str]) -> bool {
    let slashed = text
        .get(..3)
        .is_some_and(|head| head.eq_ignore_ascii_case("n/a"));
    slashed || words.first().is_some_and(|word| is_none_word(word))
}

/// A part of a value between commas, with the words of it that stand outside of parentheses.
struct Item<'a> {
    text: &'a str,
    words: Vec<&'a str>,
    range: bool,
}

fn items(value: &str) -> Vec<Item<'_>> {
    let last_close = value.rfind([')', '）']);
    let mut items = Vec::new();
    let mut item = Item {
        text: "",
        words: Vec::new(),
        range: false,
    };
    let (mut item_start, mut depth, mut at) = (0, 0usize, 0);
    while let Some(c) = value[at..].chars().next() {
        let here = at;
        at += c.len_utf8();
        match c {
            '(' | '（' if last_close.is_some_and(|close| close > here) => depth += 1,
            ')' | '）' => depth = depth.saturating_sub(1),
            _ if depth > 0 => {}
            ',' | ';' | '，' | '、' | '；' => {
                item.text = &value[item_start..here];
                items.push(std::mem::replace(
                    &mut item,
                    Item {
                        text: "",
                        words: Vec::new(),
                        range: false,
                    },
                ));
                item_start = at;
            }
            '~' | '〜' | '～' | '–' | '…' => item.range = true,
            c if is_word_char(c) => {
                let word = leading_word(&value[here..]);
                at = here + word.len();
                let trimmed = word.trim_matches(['.', '-', '_']);
                item.range |= word.contains("..");
                if !trimmed.is_empty() {
                    // A trailing `_` may belong to the id; the untrimmed word is tried first.
                    item.words.push(if is_token(word) { word } else { trimmed });
                }
            }
            _ => {}
        }
    }
    item.text = &value[item_start..];
    items.push(item);
    items
}

fn read_item<'a>(item: &Item<'a>, index: &HashMap<TaskId, usize>, all: &mut Mentions<'a>) {
    let mut found = 0;
    for &word in &item.words {
        let mut rest = word;
        // More than one round only for ids glued into a range: `T1.1-T1.3`, `T1.1..T1.3`.
        while let Some((id, after)) = id_at_start(rest, index) {
            match index.get(id) {
                Some(&task) => all.tasks.push(task),
                None => all.missing.push(id),
            }
            found += 1;
            rest = after;
        }
    }
    all.range |= item.range && found > 1 || found > item.words.len();
}

/// The id that a word starts with, and a second id glued to it.
fn id_at_start<'a>(word: &'a str, index: &HashMap<TaskId, usize>) -> Option<(&'a str, &'a str)> {
    // Longer words are no ids; hashing them again and again would cost the square of their length.
    let is_task = |word: &str| word.len() <= ID_BYTES_MAX && index.contains_key(word);
    if is_task(word) {
        return Some((word, ""));
    }
    let trimmed = word.trim_matches('_');
    if is_task(trimmed) {
        return Some((trimmed, ""));
    }
    if let Some(length) = known_prefix(trimmed) {
        let (id, rest) = trimmed.split_at(length);
        // A particle of another script may be glued to the id (`T1.4와`), a Latin letter may not.
        if rest.is_empty() || rest.starts_with(|c: char| !c.is_ascii()) {
            return is_known(id).then_some((id, ""));
        }
        let glued = rest.trim_start_matches(['-', '.', '_']);
        if glued.len() < rest.len() && known_prefix(glued).is_some() {
            return is_known(id).then_some((id, glued));
        }
    }
    let ascii = trimmed.find(|c: char| !c.is_ascii())?;
    is_task(&trimmed[..ascii]).then_some((&trimmed[..ascii], ""))
}
