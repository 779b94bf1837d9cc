//! Acknowledged transitions that somebody who wrote around the lock made disappear, and how they come back.
//!
//! An edit is compared with the versions before it. The nearest one is the version it was made from; whatever was
//! acknowledged after that version is lost in the edit.

use bowline_formats::merge::{distance, merge};
use bowline_formats::transition::Transition;
use bowline_statefiles::{Error, Line, StateFile, kind};
use serde_json::Value;
use std::collections::VecDeque;
use std::fmt;

/// Versions an edit is first compared with. Only when the oldest of them is the nearest are all compared.
const NEAR_VERSIONS: usize = 128;

/// An acknowledged transition that an outside edit lacks.
#[derive(Debug, Clone, PartialEq)]
pub struct Lost {
    /// Its number.
    pub sequence: u64,
    /// Its command.
    pub trigger: String,
    /// Where it led.
    pub to: String,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{} {} to {}", self.sequence, self.trigger, self.to)
    }
}

/// A version of the document and the transition that led to it; none where somebody else wrote it.
struct Known {
    value: Value,
    transition: Option<Lost>,
}

/// The version an edit was made from, the one it replaced, and what was acknowledged between the two.
struct Stale {
    base: Value,
    ours: Value,
    lost: Vec<Lost>,
}

/// The acknowledged transitions up to line `last` that an edit lacks.
pub(crate) fn by_edit(file: &StateFile, last: u64, edited: &Value) -> Result<Vec<Lost>, Error> {
    let since = last.saturating_sub(NEAR_VERSIONS as u64);
    let mut window = VecDeque::new();
    file.walk_versions(since, |line, _, after| {
        if line.seq <= last {
            remember(&mut window, usize::MAX, line, after);
        }
    })?;
    let stale = find(file, &window, since > 0, last, edited)?;
    Ok(stale.map_or_else(Vec::new, |stale| stale.lost))
}

/// What the outside edits in the journal lost, joined into the value the document has now; `None` when nothing is lost.
/// `edited` says that the document is itself an outside edit that the journal does not know yet.
pub(crate) fn healed(
    file: &StateFile,
    now: &Value,
    edited: bool,
) -> Result<Option<(Value, Vec<Lost>)>, Error> {
    let mut window = VecDeque::new();
    let mut cut = false;
    let mut edits: Vec<Edit> = Vec::new();
    let mut last = 0;
    file.walk_versions(0, |line, _, after| {
        let transition = describe(line);
        // A repair settled what was lost before it, and so did a person who went back to a version of their choice.
        if transition
            .as_ref()
            .is_some_and(|one| ["REPAIR", "RESTORE", "UNDO"].contains(&one.trigger.as_str()))
        {
            edits.clear();
        }
        if line.kind == kind::OUTSIDE
            && let Some(value) = after.and_then(parse)
        {
            edits.push(Edit::of(&window, cut, last, &value));
        }
        cut |= window.len() >= NEAR_VERSIONS;
        remember(&mut window, NEAR_VERSIONS, line, after);
        last = line.seq;
    })?;
    if edited {
        edits.push(Edit::of(&window, cut, last, now));
    }
    let mut value = now.clone();
    let mut lost = Vec::new();
    for edit in edits {
        let stale = match edit {
            Edit::Fresh => continue,
            Edit::Stale(stale) => *stale,
            Edit::Old { last, value } => match search_all(file, last, &value)? {
                Some(stale) => stale,
                None => continue,
            },
        };
        let merged = merge(&stale.base, &stale.ours, &value);
        if distance(&merged, &value) > 0 {
            value = merged;
            lost.extend(stale.lost);
        }
    }
    Ok((!lost.is_empty()).then_some((value, lost)))
}

/// What a window of versions tells of an edit.
enum Edit {
    /// It was made from the last version: nothing is lost.
    Fresh,
    /// It was made from an earlier one.
    Stale(Box<Stale>),
    /// It may have been made from one before the window.
    Old { last: u64, value: Value },
}

impl Edit {
    fn of(window: &VecDeque<Known>, cut: bool, last: u64, value: &Value) -> Edit {
        match nearest(window, value) {
            None | Some(0) => Edit::Fresh,
            Some(back) if cut && back + 1 == window.len() => Edit::Old {
                last,
                value: value.clone(),
            },
            Some(back) => {
                stale(window, back).map_or(Edit::Fresh, |stale| Edit::Stale(Box::new(stale)))
            }
        }
    }
}

fn find(
    file: &StateFile,
    window: &VecDeque<Known>,
    cut: bool,
    last: u64,
    edited: &Value,
) -> Result<Option<Stale>, Error> {
    match Edit::of(window, cut, last, edited) {
        Edit::Fresh => Ok(None),
        Edit::Stale(stale) => Ok(Some(*stale)),
        Edit::Old { last, value } => search_all(file, last, &value),
    }
}

/// Compares with every version there is: an editor may have held the file open for long.
fn search_all(file: &StateFile, last: u64, edited: &Value) -> Result<Option<Stale>, Error> {
    let mut window = VecDeque::new();
    file.walk_versions(0, |line, _, after| {
        if line.seq <= last {
            remember(&mut window, usize::MAX, line, after);
        }
    })?;
    Ok(nearest(&window, edited)
        .filter(|&back| back > 0)
        .and_then(|back| stale(&window, back)))
}

/// How many versions back the nearest one is; of equally near ones the newest.
fn nearest(window: &VecDeque<Known>, edited: &Value) -> Option<usize> {
    let mut best: Option<(usize, usize)> = None;
    for (back, known) in window.iter().rev().enumerate() {
        let far = distance(edited, &known.value);
        if best.is_none_or(|(_, nearest)| far < nearest) {
            best = Some((back, far));
        }
        if far == 0 {
            break;
        }
    }
    best.map(|(back, _)| back)
}

fn stale(window: &VecDeque<Known>, back: usize) -> Option<Stale> {
    let base = window.len().checked_sub(back + 1)?;
    let after = window.iter().skip(base + 1);
    Some(Stale {
        base: window.get(base)?.value.clone(),
        ours: window.back()?.value.clone(),
        lost: after.filter_map(|known| known.transition.clone()).collect(),
    })
}

fn remember(window: &mut VecDeque<Known>, max: usize, line: &Line, after: Option<&str>) {
    // A version that cannot be rebuilt ends what is known.
    let Some(value) = after.and_then(parse) else {
        window.clear();
        return;
    };
    if window.len() >= max {
        window.pop_front();
    }
    window.push_back(Known {
        value,
        transition: describe(line),
    });
}

/// The transition of a line; nothing for edits of others, which nobody acknowledged.
fn describe(line: &Line) -> Option<Lost> {
    let raw = line.transition.as_deref()?;
    let transition: Transition = serde_json::from_str(raw.get()).ok()?;
    Some(Lost {
        sequence: line.seq,
        trigger: transition.trigger,
        to: transition.to,
    })
}

fn parse(text: &str) -> Option<Value> {
    serde_json::from_str(text.trim_start_matches('\u{feff}')).ok()
}
