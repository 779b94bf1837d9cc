//! Reading one line as the header of a task, of a phase, or of another section.

use super::id::{dotted_numbers, is_known, is_token, leading_number, leading_word};

/// Deepest indent at which `#` still opens a heading; deeper is quoted code.
const HEADING_INDENT_MAX: usize = 3;

/// Indent from which a list item belongs to the item above it.
const NESTED_INDENT_MIN: usize = 2;

/// Words that stand before the number of a phase.
const PHASE_WORDS: [&str; 2] = ["phase", "페이즈"];

/// What the lines above say about this one.
#[derive(Clone, Copy, Default)]
pub(super) struct Context {
    /// Inside the body of a task that has a heading: check lists there are usually not tasks.
    pub(super) inside_heading_task: bool,
    /// Below a phase heading.
    pub(super) under_phase: bool,
    /// The file has no id of a known shape, so plain words in check lists are ids.
    pub(super) plain_words: bool,
}

/// What a line turns out to be.
#[derive(Debug)]
pub(super) enum Header<'a> {
    Task(TaskHeader<'a>),
    Phase {
        number: u32,
        title: &'a str,
        level: usize,
    },
    /// Any other heading. `unread` says that its tick box promised a task, but there is no id.
    Section {
        level: usize,
        text: &'a str,
        unread: bool,
    },
}

#[derive(Debug)]
pub(super) struct TaskHeader<'a> {
    pub(super) id: &'a str,
    pub(super) title: &'a str,
    /// The number in `Phase 1, T1.1`.
    pub(super) stated_phase: Option<u32>,
    /// The character between the brackets.
    pub(super) mark: Option<char>,
    /// Its position in the line, when it is one byte.
    pub(super) tick: Option<usize>,
    /// Level of the heading; none for list items.
    pub(super) level: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Opener {
    Heading(usize),
    List,
    Bare,
}

/// Which separators may stand between id and title.
#[derive(Clone, Copy)]
struct Separators {
    dash: bool,
    space: bool,
    nothing: bool,
}

const COLON_ONLY: Separators = Separators {
    dash: false,
    space: false,
    nothing: false,
};

/// Reads a line; `None` if it is neither a heading nor a task.
pub(super) fn classify(line: &str, context: Context) -> Option<Header<'_>> {
    let body = line.trim_start();
    let indent = line.len() - body.len();
    let (opener, rest) = opener(body);
    if matches!(opener, Opener::Heading(_)) && indent > HEADING_INDENT_MAX {
        return None;
    }
    let rest = rest.trim_start();
    let (mark, tick, rest) = match tick_box(rest) {
        Some((mark, offset, after)) => (
            Some(mark),
            offset.map(|offset| line.len() - rest.len() + offset),
            after.trim_start(),
        ),
        None => (None, None, rest),
    };
    let level = match opener {
        Opener::Heading(level) => Some(level),
        Opener::List | Opener::Bare if mark.is_none() => return None,
        Opener::List | Opener::Bare => None,
    };
    let task = |(id, title), stated_phase| {
        Header::Task(TaskHeader {
            id,
            title,
            stated_phase,
            mark,
            tick,
            level,
        })
    };

    let (emphasis, name) = strip_emphasis(rest);
    let mut unread = mark.is_some();
    if let Some((number, after)) = phase_prefix(name) {
        let after = after.trim_start();
        let comma = after.strip_prefix([',', '，']);
        let found = match comma {
            Some(name) => task_name(name.trim_start(), emphasis, true, COLON_ONLY),
            None => task_name(after, emphasis, false, COLON_ONLY),
        };
        if let Some(found) = found {
            return Some(task(found, Some(number)));
        }
        unread = unread && comma.is_some();
    } else {
        let loose = level.is_some() || (opener == Opener::List && !context.inside_heading_task);
        let known = Separators {
            dash: loose,
            space: loose && mark.is_some(),
            nothing: loose,
        };
        if let Some(found) = task_name(name, emphasis, false, known) {
            return Some(task(found, None));
        }
        let plain = match opener {
            Opener::Heading(_) => mark.is_some(),
            Opener::Bare => false,
            Opener::List => {
                context.under_phase
                    && !context.inside_heading_task
                    && indent < NESTED_INDENT_MIN
                    && (context.plain_words
                        || leading_word(name).contains(|c: char| c.is_ascii_digit()))
            }
        };
        if plain && let Some(found) = task_name(name, emphasis, true, COLON_ONLY) {
            return Some(task(found, None));
        }
    }

    let level = level?;
    // Decoration such as an emoji may stand before the word.
    let bare = rest.trim_start_matches(|c: char| !c.is_alphanumeric());
    if !unread && let Some((number, after)) = phase_prefix(bare) {
        let title =
            after.trim_start_matches(|c: char| c.is_whitespace() || ":：-–—.|,，)]*_`".contains(c));
        return Some(Header::Phase {
            number,
            title: clean_title(title, emphasis),
            level,
        });
    }
    Some(Header::Section {
        level,
        text: clean_title(rest, ""),
        unread,
    })
}

fn opener(body: &str) -> (Opener, &str) {
    let hashes = body.bytes().take_while(|byte| *byte == b'#').count();
    if (1..=6).contains(&hashes) {
        let rest = &body[hashes..];
        if rest.is_empty() || rest.starts_with(|c: char| c.is_whitespace() || c == '[') {
            return (Opener::Heading(hashes), rest);
        }
    }
    match list_item(body) {
        Some(rest) => (Opener::List, rest),
        None => (Opener::Bare, body),
    }
}

/// The text of a list item: `- x`, `* x`, `+ x`, `1. x`, `1) x`.
pub(super) fn list_item(body: &str) -> Option<&str> {
    let rest = match body.strip_prefix(['-', '*', '+']) {
        Some(rest) => rest,
        None => {
            let (_, digits) = leading_number(body)?;
            body[digits..].strip_prefix(['.', ')'])?
        }
    };
    rest.starts_with(char::is_whitespace)
        .then(|| rest.trim_start())
}

/// The mark of a tick box, the offset of the mark if it is one byte, and what follows the box.
pub(super) fn tick_box(text: &str) -> Option<(char, Option<usize>, &str)> {
    let inside = text.strip_prefix('[')?;
    let (mark, offset, after) = match inside.strip_prefix(']') {
        Some(after) => (' ', None, after),
        None => {
            let mark = inside.chars().next()?;
            let after = inside[mark.len_utf8()..].strip_prefix(']')?;
            (mark, mark.is_ascii().then_some(1), after)
        }
    };
    // `[a](b)`, `[a][b]` and `[a]: b` are links.
    (!after.starts_with(['(', '[', ':'])).then_some((mark, offset, after))
}

fn strip_emphasis(text: &str) -> (&'static str, &str) {
    for marker in ["**", "__", "~~", "`"] {
        if let Some(rest) = text.strip_prefix(marker) {
            return (marker, rest);
        }
    }
    ("", text)
}

/// The number after the word "Phase", and what follows; `Phase 0.5` counts as phase 0.
fn phase_prefix(text: &str) -> Option<(u32, &str)> {
    let rest = PHASE_WORDS.iter().find_map(|word| {
        let head = text.get(..word.len())?;
        head.eq_ignore_ascii_case(word)
            .then(|| text[word.len()..].trim_start())
    })?;
    let (number, digits) = leading_number(rest)?;
    let rest = &rest[digits..];
    Some((number, &rest[dotted_numbers(rest)..]))
}

/// Id and title at the start of `text`. With `any`, every token before a colon is an id, not only those of a known shape.
fn task_name<'a>(
    text: &'a str,
    emphasis: &str,
    any: bool,
    separators: Separators,
) -> Option<(&'a str, &'a str)> {
    let id = leading_word(text).trim_end_matches(['.', '-']);
    let known = is_known(id);
    if !(known || (any && is_token(id))) {
        return None;
    }
    let after = &text[id.len()..];
    let (open, after) = match after.strip_prefix(emphasis) {
        Some(rest) if !emphasis.is_empty() => ("", rest),
        _ => (emphasis, after),
    };
    let next = after.trim_start();
    if let Some(title) = next.strip_prefix('：') {
        return Some((id, clean_title(title, open)));
    }
    if let Some(title) = next.strip_prefix(':') {
        // A plain word must be followed by a real colon: not a URL, not a time of day.
        let real =
            known || title.is_empty() || title.starts_with(|c: char| c.is_whitespace() || c == '*');
        return real.then(|| (id, clean_title(title, open)));
    }
    // "T1.1 - T1.3" is a range, "T1.1 T1.3" a list: neither is the title of T1.1.
    let titled =
        |title: &str| !is_known(leading_word(title.trim_start()).trim_end_matches(['.', '-']));
    if separators.dash
        && let Some(title) = next.strip_prefix(['-', '–', '—'])
        && title.starts_with(char::is_whitespace)
        && titled(title)
    {
        return Some((id, clean_title(title, open)));
    }
    if separators.nothing && next.is_empty() {
        return Some((id, ""));
    }
    let spaced = separators.space && next.len() < after.len();
    (spaced && next.starts_with(|c: char| c.is_alphanumeric() || c == '[') && titled(next))
        .then(|| (id, clean_title(next, open)))
}

/// The title without outer space, the closing marks of emphasis that was opened before the id, and closing `#`s.
fn clean_title<'a>(title: &'a str, emphasis: &str) -> &'a str {
    let mut title = title.trim();
    let unhashed = title.trim_end_matches('#');
    if unhashed.len() < title.len()
        && (unhashed.is_empty() || unhashed.ends_with(char::is_whitespace))
    {
        title = unhashed.trim_end();
    }
    if !emphasis.is_empty() {
        title = title.strip_prefix(emphasis).unwrap_or(title);
        title = title.strip_suffix(emphasis).unwrap_or(title);
    }
    title.trim()
}
