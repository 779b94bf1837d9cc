//! Parses the beginning of a heading, list item or line: a box, a phase, an id, a title.

use super::id::{
    IdCertainty, dotted_numbers, id_certainty, is_token, last_number, leading_id, leading_number,
};
use super::references::full_end;
use super::status::{ProgressMark, box_at_title, parse_sign, tick_box};

/// Maximum number of decorations skipped before a name.
const DECORATIONS_MAX: usize = 12;

/// Maximum number of ids listed in one header.
const LISTED_MAX: usize = 64;

/// Maximum length of a tag before an id.
const TAG_BYTES_MAX: usize = 24;

/// Maximum length of a size between an id and its colon.
const SIZE_BYTES_MAX: usize = 4;

/// Markdown emphasis markers.
const EMPHASIS: [&str; 6] = ["**", "__", "~~", "`", "*", "_"];

/// HTML tags of emphasis.
const TAGS: [&str; 7] = ["b", "strong", "i", "em", "code", "s", "del"];

/// Words before the number of a phase. Those marked `Other` count only if the plan has none of the
/// first kind.
const PHASE_WORDS: [(&str, PhaseWord); 8] = [
    ("phase", PhaseWord::Phase),
    ("페이즈", PhaseWord::Phase),
    ("milestone", PhaseWord::Other),
    ("마일스톤", PhaseWord::Other),
    ("stage", PhaseWord::Other),
    ("sprint", PhaseWord::Other),
    ("스프린트", PhaseWord::Other),
    ("단계", PhaseWord::Other),
];

/// Words before the number of a task.
const TASK_WORDS: [&str; 3] = ["task", "태스크", "작업"];

/// The notation of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PhaseWord {
    /// A word such as `Phase 1`.
    Phase,
    /// A letter such as `P1`, `M1`.
    Letter,
    /// Another word: `Milestone 1`, `1단계`.
    Other,
}

/// The number of a phase, and of its section: `1.5` is section 5 of phase 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PhaseNumber {
    pub(super) whole: u32,
    pub(super) half: u32,
}

/// The ids in a header.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum HeaderIds<'a> {
    One(&'a str),
    Several(Vec<&'a str>),
    Range(&'a str, &'a str),
}

impl<'a> HeaderIds<'a> {
    pub(super) fn first(&self) -> &'a str {
        match self {
            HeaderIds::One(id) | HeaderIds::Range(id, _) => id,
            HeaderIds::Several(ids) => ids.first().copied().unwrap_or_default(),
        }
    }
}

/// The separator between id and title.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TitleSeparator {
    /// A colon, a dash, a full stop, or brackets around the id, which are never accidental.
    Clear,
    /// White space only.
    Space,
    /// The text ends behind the id.
    End,
}

/// A task header: ids with their title.
#[derive(Debug)]
pub(super) struct TaskHeader<'a> {
    pub(super) names: HeaderIds<'a>,
    pub(super) shape: IdCertainty,
    pub(super) separator: TitleSeparator,
    pub(super) stated: Option<PhaseNumber>,
    /// The title as written, and its offset.
    pub(super) title: &'a str,
    pub(super) title_at: usize,
    /// The text behind a link whose text is id and title.
    pub(super) more: &'a str,
}

/// The meaning of a text.
#[derive(Debug)]
pub(super) enum HeadContent<'a> {
    Task(TaskHeader<'a>),
    Phase {
        number: PhaseNumber,
        word: PhaseWord,
        title: &'a str,
    },
    Other,
}

/// The parsed beginning of a text.
#[derive(Debug)]
pub(super) struct TextHead<'a> {
    /// The box, or the sign in its place.
    pub(super) mark: Option<ProgressMark>,
    /// True if `mark` is a box.
    pub(super) boxed: bool,
    /// The content of the box, if it has no known meaning.
    pub(super) odd: Option<char>,
    /// True if it begins with struck-out text.
    pub(super) struck: bool,
    /// The text without box and decoration.
    pub(super) text: &'a str,
    pub(super) what: HeadContent<'a>,
}

/// Parses the beginning of a text located at `offset`.
pub(super) fn parse_head(text: &str, offset: usize) -> TextHead<'_> {
    let mut head = TextHead {
        mark: None,
        boxed: false,
        odd: None,
        struck: false,
        text,
        what: HeadContent::Other,
    };
    let (mut rest, mut emphasis) = (text, false);
    for _ in 0..DECORATIONS_MAX {
        rest = rest.trim_start();
        let at = offset + (text.len() - rest.len());
        if !head.boxed
            && let Some((mark, odd, after)) = tick_box(rest, at)
        {
            (head.mark, head.odd, head.boxed) = (Some(mark), odd, true);
            rest = after;
        } else if head.boxed
            && let Some((_, _, after)) = tick_box(rest, at)
        {
            // A second box beside the first is ignored.
            rest = after;
        } else if let Some((mark, after)) = parse_sign(rest, at) {
            head.mark.get_or_insert(mark);
            rest = after;
        } else if let Some(after) = behind_struck(rest) {
            rest = after;
        } else if let Some(marker) = EMPHASIS.iter().find(|it| rest.starts_with(**it)) {
            emphasis = true;
            head.struck |= *marker == "~~";
            rest = &rest[marker.len()..];
        } else if let Some(after) = skip_keycap(rest).or_else(|| skip_numbering(rest)) {
            rest = after;
        } else if let Some(after) = skip_tags(rest) {
            rest = after;
        } else if let Some(after) = skip_anchor(rest) {
            emphasis = true;
            rest = after;
        } else if let Some(first) = rest.chars().next()
            && !first.is_alphanumeric()
            && !"[(<\\【".contains(first)
        {
            rest = &rest[first.len_utf8()..];
        } else {
            break;
        }
    }
    head.text = rest;
    let at = offset + (text.len() - rest.len());
    head.what = parse_content(rest, at, emphasis, head.boxed);
    if let HeadContent::Task(named) = &mut head.what
        && !head.boxed
        && let Some((mark, title)) = box_at_title(named.title, named.title_at)
    {
        named.title_at += place_in(named.title, title);
        named.title = title;
        if named.separator == TitleSeparator::Space {
            named.separator = TitleSeparator::Clear;
        }
        (head.mark, head.boxed) = (Some(mark), true);
    }
    head
}

/// Returns the text behind a struck-out part, if it begins with an id: `~~T1.2~~ T1.3: Title`.
fn behind_struck(text: &str) -> Option<&str> {
    let (_, after) = text.strip_prefix("~~")?.split_once("~~")?;
    let id = leading_id(after.trim_start_matches([' ', '*', '`', '[']));
    (id_certainty(id) == Some(IdCertainty::Strong)).then_some(after)
}

/// Returns the text behind tags before an id: `[BE] T1.1`, `[P1][FE] T1.1`. Brackets that name a
/// phase or a task are not tags.
fn skip_tags(text: &str) -> Option<&str> {
    let mut rest = text;
    while let (Some(close), inner) = split_bracket(rest) {
        let end = inner.find(close).filter(|end| *end <= TAG_BYTES_MAX)?;
        let inside = inner[..end].trim();
        let phase = phase_prefix(inside).is_some_and(|(word, ..)| word != PhaseWord::Letter);
        if inside.is_empty()
            || phase
            || id_certainty(leading_id(inside)) == Some(IdCertainty::Strong)
        {
            return None;
        }
        rest = inner[end + close.len_utf8()..].trim_start();
    }
    let (worded, bare) = task_word(rest.trim_start_matches(['*', '_', '`']));
    let id = leading_id(bare);
    let ends = !bare[id.len()..].starts_with(|c: char| c.is_alphanumeric());
    // One letter in brackets is a tag even before an id that is only certain with its separator.
    let letter = letter_tag(text).is_some() && bare[id.len()..].starts_with([':', '：']);
    let strong = id_certainty(id) == Some(IdCertainty::Strong)
        || (worded || letter) && id_certainty(id).is_some();
    (rest.len() < text.len() && ends && strong).then_some(rest)
}

/// Returns the single capital in the brackets at the start of a text.
pub(super) fn letter_tag(text: &str) -> Option<char> {
    let inner = text.trim_start().strip_prefix('[')?;
    let mut chars = inner.chars();
    let letter = chars.next().filter(char::is_ascii_uppercase)?;
    chars.as_str().starts_with(']').then_some(letter)
}

/// Skips an anchor such as `<a id="t1"></a>`, or a tag of emphasis such as `<b>`.
fn skip_anchor(text: &str) -> Option<&str> {
    if let Some(inside) = text.strip_prefix("<a ") {
        return inside.split_once("</a>").map(|(_, after)| after);
    }
    TAGS.iter()
        .find_map(|tag| text.strip_prefix('<')?.strip_prefix(tag)?.strip_prefix('>'))
}

/// Skips a keycap emoji such as `1️⃣`.
fn skip_keycap(text: &str) -> Option<&str> {
    let (_, length) = leading_number(text)?;
    let rest = &text[length..];
    rest.strip_prefix('\u{fe0f}')
        .unwrap_or(rest)
        .strip_prefix('\u{20e3}')
}

/// Skips the number of a section or list, `3. ` or `2) `, before a box, a phase or an id with
/// letters.
fn skip_numbering(text: &str) -> Option<&str> {
    let (_, length) = leading_number(text)?;
    let section = length + dotted_numbers(&text[length..]);
    let after = text[section..].strip_prefix(['.', ')']);
    let after = match after {
        Some(after) => after,
        None if section > length => &text[section..],
        None => return None,
    };
    let next = after.trim_start();
    let names_something = || {
        let bare = next.trim_start_matches(['*', '_', '`']);
        phase_prefix(bare).is_some()
            || id_certainty(leading_id(bare)).is_some_and(|it| it != IdCertainty::Number)
    };
    (next.len() < after.len() && (next.starts_with('[') || names_something())).then_some(next)
}

fn parse_content(text: &str, offset: usize, emphasis: bool, boxed: bool) -> HeadContent<'_> {
    let (bracket, inner) = split_bracket(text);
    if let Some((word, number, after)) = phase_prefix(inner) {
        let after = match bracket {
            Some(close) => after.strip_prefix(close),
            None => Some(after),
        };
        let Some(after) = after else {
            return HeadContent::Other;
        };
        let next = after.trim_start();
        let comma = next.strip_prefix([',', '，', '/', '·', '>']);
        let name = comma.unwrap_or(next).trim_start();
        let at = offset + (text.len() - name.len());
        if word == PhaseWord::Phase
            && let Some(named) = parse_task_header(name, at, emphasis, boxed)
        {
            let colon =
                named.separator == TitleSeparator::Clear && named.shape == IdCertainty::Strong;
            if (comma.is_some() && named.shape != IdCertainty::Number) || colon {
                let stated = Some(number);
                return HeadContent::Task(TaskHeader { stated, ..named });
            }
        }
        // Behind a box it is a task despite a phase before it: `[ ] Phase 1 - T1.1: a`, `[ ] P1:
        // T1.2 b`.
        let name =
            after.trim_start_matches(|c: char| c.is_whitespace() || ":：-–—|>/·".contains(c));
        let at = offset + (text.len() - name.len());
        if boxed
            && word != PhaseWord::Other
            && let Some(named) = parse_task_header(name, at, emphasis, boxed)
            && named.shape == IdCertainty::Strong
            && matches!(named.names, HeaderIds::One(id) if id.contains(['.', '-']) || named.separator == TitleSeparator::Clear)
        {
            let stated = (word == PhaseWord::Phase).then_some(number);
            return HeadContent::Task(TaskHeader { stated, ..named });
        }
        return match phase_title(after, word) {
            Some(title) => HeadContent::Phase {
                number,
                word,
                title: clean_title(title, emphasis),
            },
            None => HeadContent::Other,
        };
    }
    parse_task_header(text, offset, emphasis, boxed).map_or(HeadContent::Other, HeadContent::Task)
}

/// Returns the closing bracket for the one at the start of a text, and the text inside.
fn split_bracket(text: &str) -> (Option<char>, &str) {
    for (open, close) in [('[', ']'), ('(', ')'), ('【', '】')] {
        if let Some(inner) = text.strip_prefix(open) {
            return (Some(close), inner.trim_start_matches(['*', '`', '_']));
        }
    }
    (None, text)
}

/// Parses the phase at the start of a text, and returns the text behind its number.
fn phase_prefix(text: &str) -> Option<(PhaseWord, PhaseNumber, &str)> {
    let number = |rest: &'_ str| {
        let (whole, length) = leading_number(rest)?;
        let dotted = dotted_numbers(&rest[length..]);
        let half = leading_number(rest[length..length + dotted].trim_start_matches('.'));
        let half = half.map_or(0, |(half, _)| half);
        Some((PhaseNumber { whole, half }, length + dotted))
    };
    for (word, kind) in PHASE_WORDS {
        let Some(head) = text.get(..word.len()) else {
            continue;
        };
        if head.eq_ignore_ascii_case(word) {
            let rest = text[word.len()..].trim_start_matches([' ', '\t', '-', '#', '_']);
            let (number, length) = number(rest)?;
            let after = &rest[length..];
            // `Phase 2B` is a part of phase 2.
            let letter = after.strip_prefix(|c: char| c.is_ascii_alphabetic());
            let letter = letter.filter(|it| !it.starts_with(char::is_alphanumeric));
            return Some((kind, number, letter.unwrap_or(after)));
        }
    }
    if let Some(rest) = text.strip_prefix(['P', 'M']) {
        let (number, length) = number(rest)?;
        let after = &rest[length..];
        let task = after.starts_with('-') || after.starts_with(|c: char| c.is_alphanumeric());
        return (!task).then_some((PhaseWord::Letter, number, after));
    }
    let (number, length) = number(text.strip_prefix('제').unwrap_or(text))?;
    let rest = text.strip_prefix('제').unwrap_or(text)[length..].trim_start();
    let after = rest.strip_prefix("단계")?;
    Some((PhaseWord::Other, number, after))
}

/// Returns the title behind the number of a phase; `None` if the text is about several phases, or
/// about something else.
fn phase_title(after: &str, word: PhaseWord) -> Option<&str> {
    if after.starts_with(|c: char| c.is_alphanumeric() || c == '/' || c == '+') {
        return None;
    }
    let next = after.trim_start();
    let title = next
        .trim_start_matches(|c: char| c.is_whitespace() || ":：-–—.|｜,，)]*_`~&→/+·•".contains(c));
    let between = &next[..next.len() - title.len()];
    if between.contains(['~', '&', '→', '/', '+']) {
        return None;
    }
    // `Phase 1, 2` is about several, `Phase 1, Sign-in` is not.
    if between.contains(',') && (leading_number(title).is_some() || phase_prefix(title).is_some()) {
        return None;
    }
    // `Phase 1 - 3`, `P0 – P2`: several.
    if between.contains(['-', '–', '—']) {
        let second = match phase_prefix(title) {
            Some((other, ..)) => other == word,
            None => leading_number(title).is_some_and(|(_, length)| {
                !title[length..].starts_with(|c: char| c.is_alphanumeric() || c == '.')
            }),
        };
        if second {
            return None;
        }
    }
    Some(title)
}

/// Parses id and title at the start of a text. Behind a box both may be the text of a link.
fn parse_task_header(
    text: &str,
    offset: usize,
    emphasis: bool,
    boxed: bool,
) -> Option<TaskHeader<'_>> {
    let (bracket, inner) = split_bracket(text);
    let (worded, name) = task_word(inner);
    let id = leading_id(name);
    let wordy = worded && boxed && id.contains('-') && is_token(id);
    let mut found = id_certainty(id).or(wordy.then_some(IdCertainty::Strong))?;
    if worded {
        found = IdCertainty::Strong;
    }
    let mut after = &name[id.len()..];
    if after.starts_with(|c: char| c.is_alphanumeric()) {
        return None;
    }
    let mut more = "";
    if let Some(close) = bracket {
        match after
            .trim_start_matches(['*', '`', '_'])
            .strip_prefix(close)
        {
            Some(behind) => {
                after = behind;
                // The target of a link.
                if let Some(link) = after.strip_prefix('(') {
                    after = link.find(')').map_or(after, |end| &link[end + 1..]);
                }
            }
            None => (after, more) = split_link(after).filter(|_| boxed && close == ']')?,
        }
    }
    // Stars that began inside the brackets.
    let emphasis = emphasis || bracket.is_some();
    let (names, after) = parse_further_ids(id, strip_closers(after, emphasis));
    let after = size_tag(after).unwrap_or(after);
    let next = after.trim_start();
    let spaced = next.len() < after.len();
    let mut separator = TitleSeparator::Clear;
    let title = if let Some(title) = next.strip_prefix(['：', '｜']) {
        title
    } else if let Some(title) = next.strip_prefix(':') {
        // `10:30` and `S3://x` have no titles.
        if found != IdCertainty::Strong && !title.is_empty() && !title.starts_with([' ', '\t', '*'])
        {
            return None;
        }
        title
    } else if let Some(title) = next.strip_prefix(['-', '–', '—', '|', '.', ')'])
        && (title.is_empty()
            || title.starts_with(char::is_whitespace)
            || emphasis && strip_closers(title, true).starts_with(char::is_whitespace))
    {
        title
    } else if next.is_empty() {
        separator = TitleSeparator::End;
        next
    } else if spaced || next.starts_with(['(', '[', '（']) {
        separator = TitleSeparator::Space;
        next.trim_start_matches(['→', '·', '•'])
    } else {
        return None;
    };
    if bracket.is_some() && separator == TitleSeparator::Space {
        separator = TitleSeparator::Clear;
    }
    // `Task pre-flight: a` names a task, `Task pre-flight checks` does not.
    if id_certainty(id).is_none() && separator == TitleSeparator::Space {
        return None;
    }
    let cleaned = clean_title(title, emphasis);
    Some(TaskHeader {
        names,
        shape: found,
        separator,
        stated: None,
        title: cleaned,
        title_at: offset + place_in(text, cleaned),
        more,
    })
}

/// Returns the text behind the size between an id and its colon: ` (M): Title`, ` (3pt): Title`.
fn size_tag(text: &str) -> Option<&str> {
    let (size, rest) = text.trim_start().strip_prefix('(')?.split_once(')')?;
    let counted = size.starts_with(|c: char| c.is_ascii_digit());
    let known = counted && size.bytes().all(|it| it.is_ascii_alphanumeric())
        || !size.is_empty() && size.bytes().all(|it| b"XSML".contains(&it));
    let short = known && size.len() <= SIZE_BYTES_MAX;
    (short && rest.starts_with([':', '：'])).then_some(rest)
}

/// Returns the rest of a link's text, and the text behind its target.
fn split_link(text: &str) -> Option<(&str, &str)> {
    let (inside, target) = text.split_once("](")?;
    let (_, more) = target.split_once(')')?;
    Some((inside, more))
}

/// Parses `M1.2: a` as a task of milestone 1, for plans with such numbers.
pub(super) fn parse_dotted_task(text: &str, offset: usize) -> Option<TaskHeader<'_>> {
    let id = leading_id(text);
    let (_, number, after) = phase_prefix(text).filter(|(word, ..)| *word == PhaseWord::Letter)?;
    if number.half == 0 || after.len() + id.len() != text.len() {
        return None;
    }
    let after = after.trim_start_matches(['*', '_', '`']);
    let title = after.trim_start_matches(|c: char| c.is_whitespace() || ":：-–—|.)".contains(c));
    let separator = match title.is_empty() {
        true => TitleSeparator::End,
        false if after.trim_start().len() == title.len() => TitleSeparator::Space,
        false => TitleSeparator::Clear,
    };
    let title = clean_title(title, true);
    Some(TaskHeader {
        names: HeaderIds::One(id),
        shape: IdCertainty::Loose,
        separator,
        stated: None,
        title,
        title_at: offset + place_in(text, title),
        more: "",
    })
}

/// Parses the id in brackets at the end of a heading with a box and no id at its start: `### [ ]
/// Title (T1.1)`.
pub(super) fn named_at_end(text: &str, offset: usize) -> Option<TaskHeader<'_>> {
    let inner = text.strip_suffix([')', ']'])?;
    let open = inner.rfind(['(', '['])?;
    let id = inner[open + 1..].trim();
    let title = text[..open].trim_end();
    (id_certainty(id) == Some(IdCertainty::Strong) && !title.is_empty()).then_some(TaskHeader {
        names: HeaderIds::One(id),
        shape: IdCertainty::Strong,
        separator: TitleSeparator::Clear,
        stated: None,
        title,
        title_at: offset,
        more: "",
    })
}

/// Returns the text behind a task word, as in `Task 1.1` and `작업 3`.
fn task_word(text: &str) -> (bool, &str) {
    for word in TASK_WORDS {
        if let Some(head) = text.get(..word.len())
            && head.eq_ignore_ascii_case(word)
            && let Some(rest) = text[word.len()..].strip_prefix([' ', '\t', '#'])
        {
            return (true, rest.trim_start_matches([' ', '\t', '#', '*', '`']));
        }
    }
    (false, text)
}

fn strip_closers(text: &str, emphasis: bool) -> &str {
    if !emphasis {
        return text;
    }
    let tag = |tag: &&str| {
        let rest = text.strip_prefix("</")?.strip_prefix(*tag)?;
        rest.strip_prefix('>')
    };
    let text = TAGS.iter().find_map(tag).unwrap_or(text);
    text.trim_start_matches("~~")
        .trim_start_matches(['*', '_', '`'])
}

/// Parses further ids behind the first: a range, or a list.
fn parse_further_ids<'a>(first: &'a str, after: &'a str) -> (HeaderIds<'a>, &'a str) {
    if let Some((end, rest)) = range_end(after, first) {
        let full = full_end(first, end);
        let stems = (last_number(first), last_number(&full));
        if matches!(stems, (Some((one, low, _)), Some((other, high, _))) if one == other && low < high)
        {
            return (HeaderIds::Range(first, end), rest);
        }
    }
    let (mut ids, mut after) = (vec![first], after);
    while let Some(next) = after
        .trim_start()
        .strip_prefix([',', '/', '&', '+', '·', '，', '、'])
        && ids.len() < LISTED_MAX
    {
        let next = next.trim_start_matches([' ', '\t', '*', '`']);
        let id = leading_id(next);
        if id_certainty(id) != Some(IdCertainty::Strong) {
            break;
        }
        ids.push(id);
        after = next[id.len()..].trim_start_matches(['*', '`']);
    }
    match ids.len() {
        1 => (HeaderIds::One(first), after),
        _ => (HeaderIds::Several(ids), after),
    }
}

/// Parses the end of a range behind its first id: `~T1.6`, ` ~ P2-S1-T7`, `-T5`, `~6`. Returns the
/// rest too.
pub(super) fn range_end<'a>(after: &'a str, first: &str) -> Option<(&'a str, &'a str)> {
    let next = after.trim_start();
    let spaced = next.len() < after.len();
    let (sign, rest) = [
        "~", "〜", "～", "∼", "–", "—", "...", "..", "…", "-", "부터", "to ", "through ",
    ]
    .into_iter()
    .find_map(|sign| next.strip_prefix(sign).map(|rest| (sign, rest)))?;
    let rest = rest.trim_start().trim_start_matches(['*', '`', '[']);
    let end = leading_id(rest);
    let after = &rest[end.len()..];
    let whole = id_certainty(end) == Some(IdCertainty::Strong);
    // A bare number ends a range only behind a sign with no other meaning.
    let dots = |id: &str| id.bytes().filter(|byte| *byte == b'.').count();
    let like_first = id_certainty(first) == Some(IdCertainty::Number)
        && dots(first) > 0
        && dots(first) == dots(end);
    let number = (matches!(sign, "~" | "〜" | "～" | "∼" | ".." | "..." | "…") || like_first)
        && id_certainty(end) == Some(IdCertainty::Number)
        && !first.is_empty();
    let wordy = matches!(sign, "부터" | "to " | "through ");
    let glued = after.starts_with(|c: char| c.is_alphanumeric() && c.is_ascii());
    if glued || !(whole || number) || (wordy && !spaced && sign != "부터") {
        return None;
    }
    Some((end, after.trim_start_matches(['*', '`', ']'])))
}

/// Trims a title: removes white space, closing `#`s, and the end of emphasis that began before the
/// id.
fn clean_title(title: &str, emphasis: bool) -> &str {
    let mut title = title.trim();
    let unhashed = title.trim_end_matches('#');
    if unhashed.len() < title.len()
        && (unhashed.is_empty() || unhashed.ends_with(char::is_whitespace))
    {
        title = unhashed.trim_end();
    }
    if emphasis {
        for marker in EMPHASIS {
            if title.matches(marker).count() % 2 == 1 {
                title = title.strip_prefix(marker).unwrap_or(title);
                // `A3.*` at the end stands for several ids.
                let ending = title.strip_suffix(marker);
                title = ending
                    .filter(|it| !it.ends_with(['.', '-']))
                    .unwrap_or(title);
            }
        }
    }
    title.trim()
}

/// Returns the offset of a part of a text in it.
pub(super) fn place_in(whole: &str, part: &str) -> usize {
    (part.as_ptr() as usize).saturating_sub(whole.as_ptr() as usize)
}
