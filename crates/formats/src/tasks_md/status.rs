//! Reads the status marks of a plan: boxes, signs and words. Changes are written in the same form.

use bowline_machines::named;
use std::ops::Range;

named! {
    /// The progress of a task according to the plan.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
    pub enum TaskProgress {
        #[default]
        Open = "pending",
        InProgress = "in_progress",
        Done = "done",
    }
}

/// A mark in the plan that states the progress of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgressMark {
    /// Byte range to replace; empty if a sign would be inserted.
    pub at: Range<usize>,
    /// The progress it states now.
    pub says: TaskProgress,
    /// Text to write if the task is done.
    pub when_done: &'static str,
    /// Text to write if it is not.
    pub when_open: &'static str,
}

/// Length of the end of a title in which a sign is searched.
const ENDING_CHARS_MAX: usize = 32;

/// Signs with their meaning, and the signs to write when done and when open.
const SIGNS: [(&str, TaskProgress, &str, &str); 13] = [
    ("✅", TaskProgress::Done, "✅", "⬜"),
    ("☑️", TaskProgress::Done, "☑️", "☐"),
    ("☑", TaskProgress::Done, "☑", "☐"),
    ("✔️", TaskProgress::Done, "✔️", "☐"),
    ("✔", TaskProgress::Done, "✔", "☐"),
    ("⬜", TaskProgress::Open, "✅", "⬜"),
    ("🔲", TaskProgress::Open, "✅", "🔲"),
    ("◻️", TaskProgress::Open, "✅", "◻️"),
    ("☐", TaskProgress::Open, "☑", "☐"),
    ("⏳", TaskProgress::Open, "✅", "⏳"),
    ("🔄", TaskProgress::InProgress, "✅", "⬜"),
    ("🚧", TaskProgress::InProgress, "✅", "⬜"),
    ("🟡", TaskProgress::InProgress, "✅", "⬜"),
];

/// Words with their meaning, and the words to write when done and when open. Longer words precede
/// their prefixes.
const WORDS: [(&str, TaskProgress, &str, &str); 49] = [
    ("완료됨", TaskProgress::Done, "완료됨", "대기"),
    ("완료함", TaskProgress::Done, "완료함", "대기"),
    ("완료", TaskProgress::Done, "완료", "대기"),
    ("미완료", TaskProgress::Open, "완료", "미완료"),
    ("진행 중", TaskProgress::InProgress, "완료", "대기"),
    ("진행중", TaskProgress::InProgress, "완료", "대기"),
    ("진행", TaskProgress::InProgress, "완료", "대기"),
    ("대기 중", TaskProgress::Open, "완료", "대기 중"),
    ("대기중", TaskProgress::Open, "완료", "대기중"),
    ("대기", TaskProgress::Open, "완료", "대기"),
    ("미시작", TaskProgress::Open, "완료", "미시작"),
    ("미착수", TaskProgress::Open, "완료", "미착수"),
    ("시작 전", TaskProgress::Open, "완료", "시작 전"),
    ("예정", TaskProgress::Open, "완료", "예정"),
    ("보류", TaskProgress::Open, "완료", "보류"),
    ("COMPLETED", TaskProgress::Done, "COMPLETED", "PENDING"),
    ("Completed", TaskProgress::Done, "Completed", "Pending"),
    ("completed", TaskProgress::Done, "completed", "pending"),
    ("COMPLETE", TaskProgress::Done, "COMPLETE", "PENDING"),
    ("Complete", TaskProgress::Done, "Complete", "Pending"),
    ("complete", TaskProgress::Done, "complete", "pending"),
    ("finished", TaskProgress::Done, "finished", "pending"),
    ("DONE", TaskProgress::Done, "DONE", "TODO"),
    ("Done", TaskProgress::Done, "Done", "Todo"),
    ("done", TaskProgress::Done, "done", "todo"),
    ("closed", TaskProgress::Done, "closed", "open"),
    ("PENDING", TaskProgress::Open, "COMPLETED", "PENDING"),
    ("Pending", TaskProgress::Open, "Completed", "Pending"),
    ("pending", TaskProgress::Open, "completed", "pending"),
    ("TODO", TaskProgress::Open, "DONE", "TODO"),
    ("Todo", TaskProgress::Open, "Done", "Todo"),
    ("todo", TaskProgress::Open, "done", "todo"),
    ("Not started", TaskProgress::Open, "Done", "Not started"),
    ("not started", TaskProgress::Open, "done", "not started"),
    (
        "not_started",
        TaskProgress::Open,
        "completed",
        "not_started",
    ),
    ("In progress", TaskProgress::InProgress, "Done", "Todo"),
    ("In Progress", TaskProgress::InProgress, "Done", "Todo"),
    ("in progress", TaskProgress::InProgress, "done", "todo"),
    (
        "in_progress",
        TaskProgress::InProgress,
        "completed",
        "pending",
    ),
    ("in-progress", TaskProgress::InProgress, "done", "todo"),
    ("IN PROGRESS", TaskProgress::InProgress, "DONE", "TODO"),
    ("NOT STARTED", TaskProgress::Open, "DONE", "NOT STARTED"),
    ("Not Started", TaskProgress::Open, "Done", "Not Started"),
    ("TO DO", TaskProgress::Open, "DONE", "TO DO"),
    ("To Do", TaskProgress::Open, "Done", "To Do"),
    ("To do", TaskProgress::Open, "Done", "To do"),
    ("to do", TaskProgress::Open, "done", "to do"),
    ("WIP", TaskProgress::InProgress, "Done", "Todo"),
    ("Backlog", TaskProgress::Open, "Done", "Backlog"),
];

/// Words that negate a word for "done" before them: `완료 예정`, `Done when the tests pass`.
const NOT_YET: [&str; 19] = [
    "예정", "대기", "전", "필요", "아님", "안됨", "안 됨", "못함", "불가", "미정", "목표", "no",
    "not", "soon", "when", "once", "if", "pending", "planned",
];

/// Parses a box at the start of `text` (`[ ]`, `[x]`, `[]`, `\[ \]`, `［ ］`) and returns the text
/// after it. `offset` is the position of `text`.
pub(super) fn tick_box(text: &str, offset: usize) -> Option<(ProgressMark, Option<char>, &str)> {
    let inside = text
        .strip_prefix("\\[")
        .or_else(|| text.strip_prefix(['[', '［']))?;
    let close = if text.starts_with('［') { '］' } else { ']' };
    let (held, after) = inside.split_once(close)?;
    let held = held.strip_suffix('\\').unwrap_or(held);
    let mut chars = held.chars().filter(|c| *c != '\u{fe0f}');
    let mark = chars.next().unwrap_or(' ');
    let blank = held.len() <= 3 && held.trim().is_empty();
    // `[a](b)`, `[a][b]` and `[a]: b` are links; `[1]` and `[ab]` are text.
    if (chars.next().is_some() && !blank) || after.starts_with(['(', ':']) {
        return None;
    }
    let says = match mark {
        'x' | 'X' | 'ｘ' | 'Ｘ' | 'v' | 'V' | '✓' | '✔' | '✅' | '☑' => TaskProgress::Done,
        '/' | '~' => TaskProgress::InProgress,
        _ => TaskProgress::Open,
    };
    let known = mark.is_whitespace() || says != TaskProgress::Open;
    if !known && mark.is_alphanumeric() {
        return None;
    }
    let start = offset + (text.len() - inside.len());
    let mark_of = ProgressMark {
        at: start..start + held.len(),
        says,
        when_done: "x",
        when_open: " ",
    };
    Some((mark_of, (!known).then_some(mark), after))
}

/// Parses a sign at the start of `text` and returns the text after it.
pub(super) fn parse_sign(text: &str, offset: usize) -> Option<(ProgressMark, &str)> {
    let found = SIGNS.iter().find(|(sign, ..)| text.starts_with(sign))?;
    Some((progress_mark(found, offset), &text[found.0.len()..]))
}

fn progress_mark(
    found: &(&'static str, TaskProgress, &'static str, &'static str),
    offset: usize,
) -> ProgressMark {
    ProgressMark {
        at: offset..offset + found.0.len(),
        says: found.1,
        when_done: found.2,
        when_open: found.3,
    }
}

/// Parses a whole status word at the start of `text` and returns the text after it.
fn parse_status_word(text: &str, offset: usize) -> Option<(ProgressMark, &str)> {
    let whole = |word: &str| {
        text.starts_with(word) && !text[word.len()..].starts_with(|c: char| c.is_alphanumeric())
    };
    let found = WORDS.iter().find(|(word, ..)| whole(word))?;
    Some((progress_mark(found, offset), &text[found.0.len()..]))
}

/// Parses the value of a status field or cell: a box, a sign, a word, or a sign and a word.
pub(super) fn parse_status(text: &str, offset: usize) -> Option<ProgressMark> {
    let bare = text.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '*' | '_' | '`'));
    let offset = offset + (text.len() - bare.len());
    if let Some((mark, _, _)) = tick_box(bare, offset) {
        return Some(mark);
    }
    // A picture beside the word belongs to it and is replaced with it.
    let picture = |c: char| c == ' ' || !c.is_ascii() && !"—–：（".contains(c);
    let plain = bare.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '[');
    let signed = parse_sign(bare, offset).map(|(mark, _)| mark);
    let Some((said, rest)) = parse_status_word(plain, offset + (bare.len() - plain.len())) else {
        return signed;
    };
    let start = match bare[..bare.len() - plain.len()].chars().all(picture) {
        true => offset,
        false => said.at.start,
    };
    let pictured = !bare[..bare.len() - plain.len()].is_ascii();
    if said.says == TaskProgress::Done && is_unfinished(rest, pictured) {
        // The whole value states it, and is replaced when the task is done.
        let end = offset + bare.trim_end_matches([' ', '\t', '*', '_', '`']).len();
        return Some(ProgressMark {
            at: start..end,
            says: TaskProgress::Open,
            ..said
        });
    }
    let behind = rest.trim_start();
    let end = parse_sign(behind, said.at.end + (rest.len() - behind.len()));
    Some(ProgressMark {
        at: start..end.map_or(said.at.end, |(sign, _)| sign.at.end),
        says: signed.map_or(said.says, |sign| sign.says.max(said.says)),
        ..said
    })
}

/// True if the rest of a value negates its word for "done": `완료 예정`, `완료 (3/5)`. Behind a picture
/// numbers are a date.
fn is_unfinished(rest: &str, pictured: bool) -> bool {
    let next = rest.trim_start_matches([' ', ':', '：', '*', '_', '`']);
    let begins = |word: &str| {
        let head = next.get(..word.len());
        head.is_some_and(|head| head.eq_ignore_ascii_case(word))
            && !next[word.len()..].starts_with(|c: char| c.is_alphanumeric())
    };
    let inside = next.strip_prefix(['(', '（']);
    let inside = inside.and_then(|it| it.split([')', '）']).next());
    let inside = inside.unwrap_or_default().trim();
    if NOT_YET
        .iter()
        .any(|word| begins(word) || inside.eq_ignore_ascii_case(word))
    {
        return true;
    }
    if pictured {
        return false;
    }
    let number = |text: &str| text.trim().parse::<u32>().ok();
    match (inside.split_once('/'), inside.strip_suffix('%')) {
        (Some((part, all)), _) => {
            let both = number(part).zip(number(all));
            both.is_some_and(|(part, all)| part < all)
        }
        (None, Some(percent)) => number(percent).is_some_and(|it| it < 100),
        (None, None) => false,
    }
}

/// Parses the status word behind the box of a status field: `[x] DONE`. The box gives the meaning
/// of both.
pub(super) fn word_behind_box(text: &str, offset: usize) -> Option<ProgressMark> {
    let start = text.find(['[', '［'])?;
    let (held, _, rest) = tick_box(&text[start..], offset + start)?;
    let plain = rest.trim_start_matches(|c: char| !c.is_alphanumeric());
    let (said, _) = parse_status_word(plain, offset + text.len() - plain.len())?;
    Some(ProgressMark {
        says: held.says,
        ..said
    })
}

/// Parses a box before a title or behind it: `T1.1 [x] Title`, `T1.1: Title [ ]`. Returns the title
/// without it.
pub(super) fn box_at_title(title: &str, offset: usize) -> Option<(ProgressMark, &str)> {
    if let Some((mark, None, rest)) = tick_box(title, offset)
        && rest.starts_with(char::is_whitespace)
    {
        return Some((mark, rest.trim_start_matches([' ', '\t', ':', '：'])));
    }
    let at = title.rfind(['[', '［'])?;
    let (mark, odd, rest) = tick_box(&title[at..], offset + at)?;
    let kept = title[..at].trim_end();
    (odd.is_none() && rest.is_empty() && !kept.is_empty()).then_some((mark, kept))
}

/// Parses a sign for a box between id and title: `T1.1: ✅ Title`. Other signs there are pictures.
pub(super) fn before_title(title: &str, offset: usize) -> Option<(ProgressMark, &str)> {
    let (mark, rest) = parse_sign(title, offset).filter(|(mark, _)| {
        let sign = &title[..mark.at.len()];
        sign == mark.when_done || sign == mark.when_open
    })?;
    let kept = rest.trim_start();
    (!kept.is_empty() && parse_sign(kept, 0).is_none()).then_some((mark, kept))
}

/// Parses a sign, or a word in brackets, at the end of a title: `Title ✅`, `Title ✅ 완료`, `Title
/// (완료)`. Returns the title without it.
pub(super) fn at_end(title: &str, offset: usize) -> Option<(ProgressMark, &str)> {
    let open = title.trim_end_matches([')', ']', '）', '*', '_', ' ']);
    let tail = title
        .char_indices()
        .rev()
        .take(ENDING_CHARS_MAX)
        .last()
        .map_or(0, |(at, _)| at);
    let from = SIGNS
        .iter()
        .filter_map(|(sign, ..)| title[tail..].rfind(sign).map(|at| at + tail))
        .min();
    if let Some(at) = from {
        let (mark, rest) = parse_sign(&title[at..], offset + at)?;
        let said = rest.trim_matches(|c: char| !c.is_alphanumeric());
        let kept = title[..at].trim_end_matches(['(', '[', '（', ' ', '\t', '-', '—', '–', '|']);
        let rest = parse_status_word(said, 0).map_or(said, |(_, rest)| rest);
        if is_date(rest) {
            let blank = title[..at].trim_end().len();
            return Some((
                ProgressMark {
                    at: offset + blank..offset + title.len(),
                    says: mark.says,
                    when_done: " ✅",
                    when_open: "",
                },
                kept,
            ));
        }
    }
    let bracket = open.rfind(['(', '[', '（'])?;
    let width = open[bracket..].chars().next().map_or(1, char::len_utf8);
    let (mark, rest) = parse_status_word(&open[bracket + width..], offset + bracket + width)?;
    let kept = title[..bracket].trim_end_matches(['*', '_', ' ', '\t']);
    (rest.is_empty() && open.len() < title.len()).then_some((mark, kept))
}

/// Parses a word behind a dash at the end of a title, with an optional date: `Title - 완료
/// 2026-01-10`. Returns the title without it.
pub(super) fn after_dash(title: &str, offset: usize) -> Option<(ProgressMark, &str)> {
    let dashes = [" - ", " — ", " – "];
    let ends = dashes
        .iter()
        .filter_map(|it| Some((title.rfind(it)?, it.len())));
    let (at, length) = ends.max_by_key(|(at, _)| *at)?;
    let (mark, rest) = parse_status_word(&title[at + length..], offset + at + length)?;
    (is_date(rest) && !is_unfinished(rest, false)).then_some((mark, title[..at].trim_end()))
}

/// True for an empty text or a date: `(2026-01-10)`, ` 1/10`.
fn is_date(text: &str) -> bool {
    let letter = |c: char| c.is_alphabetic() && !"년월일".contains(c);
    !text.contains(letter)
}
