//! Acknowledged transitions that somebody who wrote around the lock made disappear, and how they come back.
//!
//! An edit is compared with the versions before it. The nearest one is the version it was made from; whatever was
//! acknowledged after that version, and is not in the edit, is lost. It comes back transition by transition: what other
//! edits did in between is theirs, and is never applied again.
//!
//! Two kinds of edit lose nothing in this sense. A document that is, byte for byte, an older version was put back by a
//! person, who meant it. The document of another task has no part in what this one went through.

use crate::kinds::{FileKind, identity};
use bowline_formats::merge::{distance, merge};
use bowline_formats::transition::Transition;
use bowline_statefiles::kind::OUTSIDE;
use bowline_statefiles::{ContentHash, History, Line};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::rc::Rc;

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

/// What somebody else did to a document.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Verdict {
    /// They put an older version back, and with it took back what came after.
    PutBack { sequence: u64, taken: Vec<Lost> },
    /// They put the document of another task in its place.
    Another { was: String, is: String },
    /// They edited it; these transitions are not in it.
    Edited { lost: Vec<Lost> },
}

/// A version of the document, and the transition that led to it; none where somebody else wrote it.
struct Known {
    before: Option<Rc<Value>>,
    value: Rc<Value>,
    transition: Option<Lost>,
}

/// An acknowledged transition and what it changed.
struct Change {
    what: Lost,
    before: Rc<Value>,
    after: Rc<Value>,
}

impl Change {
    /// Whether it has to do with the task that a document is about. In the memory, what is queued behind the current task
    /// has to do with none.
    fn is_about(&self, kind: FileKind, value: &Value) -> bool {
        let task = "/current_task";
        if kind == FileKind::TaskState && self.before.pointer(task) == self.after.pointer(task) {
            return true;
        }
        let about = identity(kind, value);
        [&self.before, &self.after]
            .into_iter()
            .any(|version| identity(kind, version) == about)
    }
}

/// The last versions before an edit.
#[derive(Default)]
struct Window {
    versions: VecDeque<Known>,
    /// Older versions were left out.
    cut: bool,
    last: Option<(String, Rc<Value>)>,
}

impl Window {
    fn remember(&mut self, max: usize, line: &Line, before: Option<&str>, after: Option<&str>) {
        // A version that cannot be rebuilt ends what is known.
        let Some(text) = after else {
            self.versions.clear();
            return;
        };
        // What a program had written by half in passing is no version.
        let Some(value) = parse(text).map(Rc::new) else {
            return;
        };
        let before = match (&self.last, before) {
            (Some((last, value)), Some(before)) if last == before => Some(Rc::clone(value)),
            (_, before) => before.and_then(parse).map(Rc::new),
        };
        if self.versions.len() >= max {
            self.versions.pop_front();
            self.cut = true;
        }
        self.versions.push_back(Known {
            before,
            value: Rc::clone(&value),
            transition: describe(line),
        });
        self.last = Some((text.to_owned(), value));
    }

    /// How many versions back the nearest one is; of equally near ones the newest.
    fn nearest(&self, edited: &Value) -> Option<usize> {
        let mut best: Option<(usize, usize)> = None;
        for (back, known) in self.versions.iter().rev().enumerate() {
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

    /// What the last version and a document are about, where no version was ever about the same as the document.
    fn stranger(&self, kind: FileKind, edited: &Value) -> Option<(String, String)> {
        let is = identity(kind, edited)?;
        let was = identity(kind, &self.versions.back()?.value)?;
        let mut versions = self.versions.iter();
        let known = versions.any(|known| identity(kind, &known.value).as_deref() == Some(&is));
        (!known).then_some((was, is))
    }

    /// The acknowledged transitions of the last `back` versions.
    fn changes(&self, back: usize) -> Vec<Change> {
        let skip = self.versions.len().saturating_sub(back);
        let after = self.versions.iter().skip(skip);
        let change = |known: &Known| {
            Some(Change {
                what: known.transition.clone()?,
                before: Rc::clone(known.before.as_ref()?),
                after: Rc::clone(&known.value),
            })
        };
        after.filter_map(change).collect()
    }
}

/// What the edit with this hash and value, made after line `last`, did to the document.
pub(crate) fn by_edit(
    kind: FileKind,
    history: &History,
    last: u64,
    hash: ContentHash,
    edited: &Value,
) -> Verdict {
    let known = || history.lines().filter(|line| line.seq <= last);
    if let Some(older) = known().rfind(|line| line.after == Some(hash)) {
        let sequence = older.seq;
        let later = known().filter(|line| line.seq > sequence);
        return Verdict::PutBack {
            sequence,
            taken: later.filter_map(describe).collect(),
        };
    }
    let since = last.saturating_sub(NEAR_VERSIONS as u64);
    let mut window = Window {
        cut: since > 0,
        ..Window::default()
    };
    history.walk_versions(since, |line, before, after| {
        if line.seq <= last {
            window.remember(usize::MAX, line, before, after);
        }
    });
    if let Some((was, is)) = window.stranger(kind, edited) {
        return Verdict::Another { was, is };
    }
    let changes = Edit::of(&window, last, edited).changes(history);
    let lost = apply(kind, &changes, &mut edited.clone());
    Verdict::Edited { lost }
}

/// What the outside edits in the journal lost, joined into the value the document has now; `None` when nothing is lost.
/// `edited` is the hash of the document where it is itself an outside edit that the journal does not know yet.
pub(crate) fn healed(
    kind: FileKind,
    history: &History,
    now: &Value,
    edited: Option<ContentHash>,
) -> Option<(Value, Vec<Lost>)> {
    let mut window = Window::default();
    let mut edits: Vec<Edit> = Vec::new();
    let mut seen: BTreeMap<ContentHash, u64> = BTreeMap::new();
    let mut repairs: BTreeSet<u64> = BTreeSet::new();
    let mut undone: BTreeSet<u64> = BTreeSet::new();
    let mut last = 0;
    history.walk_versions(0, |line, before, after| {
        // A repair settled what was lost before it, and so did a person who went back to a version of their choice, by a
        // command or by hand, or who undid the repair.
        let moved = describe(line);
        let taken_back = undone_by(line);
        let settled = match moved.as_ref().map(|one| one.trigger.as_str()) {
            Some("REPAIR" | "RESTORE") => true,
            Some("UNDO") => taken_back.is_some_and(|target| repairs.contains(&target)),
            _ => false,
        };
        undone.extend(taken_back);
        let repair = moved.filter(|one| one.trigger == "REPAIR");
        repairs.extend(repair.map(|one| one.sequence));
        let put_back =
            line.kind == OUTSIDE && line.after.is_some_and(|after| seen.contains_key(&after));
        if put_back || settled {
            edits.clear();
        } else if line.kind == OUTSIDE
            && let Some(value) = after.and_then(parse)
        {
            edits.push(Edit::of(&window, last, &value));
        }
        window.remember(NEAR_VERSIONS, line, before, after);
        seen.extend(line.after.map(|after| (after, line.seq)));
        last = line.seq;
    });
    match edited {
        Some(hash) if seen.contains_key(&hash) => edits.clear(),
        Some(_) => edits.push(Edit::of(&window, last, now)),
        None => {}
    }
    let mut value = now.clone();
    let mut lost: Vec<Lost> = Vec::new();
    for edit in edits {
        let mut changes = edit.changes(history);
        // What a person took back since does not come again.
        changes.retain(|change| !undone.contains(&change.what.sequence));
        lost.extend(apply(kind, &changes, &mut value));
    }
    (!lost.is_empty()).then_some((value, lost))
}

/// Applies changes again, those of the task that the value is about; tells which of them made a difference.
fn apply(kind: FileKind, changes: &[Change], value: &mut Value) -> Vec<Lost> {
    let mut lost = Vec::new();
    for change in changes {
        if !change.is_about(kind, value) {
            continue;
        }
        let merged = merge(&change.before, &change.after, value);
        if distance(&merged, value) > 0 {
            *value = merged;
            lost.push(change.what.clone());
        }
    }
    lost
}

/// What a window of versions tells of an edit.
enum Edit {
    /// What was acknowledged since the version it was made from.
    Lacks(Vec<Change>),
    /// It may have been made from a version before the window.
    Old { last: u64, value: Value },
}

impl Edit {
    fn of(window: &Window, last: u64, value: &Value) -> Edit {
        match window.nearest(value) {
            None => Edit::Lacks(Vec::new()),
            Some(back) if window.cut && back + 1 == window.versions.len() => Edit::Old {
                last,
                value: value.clone(),
            },
            Some(back) => Edit::Lacks(window.changes(back)),
        }
    }

    fn changes(self, history: &History) -> Vec<Change> {
        let (last, value) = match self {
            Edit::Lacks(changes) => return changes,
            Edit::Old { last, value } => (last, value),
        };
        // Compares with every version there is: an editor may have held the file open for long.
        let mut window = Window::default();
        history.walk_versions(0, |line, before, after| {
            if line.seq <= last {
                window.remember(usize::MAX, line, before, after);
            }
        });
        let back = window.nearest(&value).unwrap_or(0);
        window.changes(back)
    }
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

/// The transition that a line takes back.
fn undone_by(line: &Line) -> Option<u64> {
    let raw = line.transition.as_deref()?;
    let transition: Transition = serde_json::from_str(raw.get()).ok()?;
    let undo = transition.trigger == "UNDO";
    undo.then(|| transition.metadata.get("undone")?.as_u64())
        .flatten()
}

fn parse(text: &str) -> Option<Value> {
    serde_json::from_str(text.trim_start_matches('\u{feff}')).ok()
}
