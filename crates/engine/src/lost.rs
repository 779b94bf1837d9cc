//! Acknowledged transitions that somebody who wrote around the lock made disappear, and how they come back.
//!
//! An edit is compared with the versions before it. The nearest one is the version it was made from; whatever was
//! acknowledged after that version, and is not in the edit, is lost. It comes back transition by transition: what other
//! edits did in between is theirs, and is never applied again.
//!
//! Two kinds of edit lose nothing in this sense. A document that is, byte for byte, an older version was put back by a
//! person, who meant it: that settles what came after the version, and the losses from before it stay. The document of
//! another task has no part in what this one went through. A text that is no document, such as the empty file of an editor
//! that truncates before it writes, is neither an edit nor a version.

use crate::kinds::{FileKind, identity, is_document};
use bowline_formats::merge::{distance, merge};
use bowline_formats::transition::Transition;
use bowline_statefiles::kind::OUTSIDE;
use bowline_statefiles::{ContentHash, History, Line};
use serde_json::Value;
use std::collections::{BTreeSet, HashMap, VecDeque};
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

/// Finds the older versions that outside edits put back. It is shown every line, the oldest first.
#[derive(Default)]
pub(crate) struct OlderVersions {
    newest: HashMap<ContentHash, u64>,
    /// Whether the text with a hash is a document, where that was asked.
    documents: HashMap<ContentHash, bool>,
}

impl OlderVersions {
    /// Takes note of a line. Returns the newest older version if the line is an outside edit that put it back.
    pub(crate) fn note(&mut self, kind: FileKind, history: &History, line: &Line) -> Option<u64> {
        let after = line.after?;
        let older = self.newest.insert(after, line.seq)?;
        if line.kind != OUTSIDE {
            return None;
        }
        let is_version = self.documents.entry(after).or_insert_with(|| {
            let text = history.document_at(older);
            text.is_ok_and(|text| text.is_some_and(|text| is_document(kind, &text)))
        });
        is_version.then_some(older)
    }
}

/// The outside edits whose losses are not settled, after each line. They are kept as a chain, so that a version that is put
/// back has the losses that it had then.
#[derive(Default)]
struct UnsettledEdits {
    /// The line of an edit, and the end of the chain before it.
    links: Vec<(u64, usize)>,
    /// The end of the chain after a line, where it changed: a number of links, 0 for none.
    ends: Vec<(u64, usize)>,
}

impl UnsettledEdits {
    fn end_after(&self, line: u64) -> usize {
        let known = self.ends.partition_point(|(seq, _)| *seq <= line);
        known.checked_sub(1).map_or(0, |at| self.ends[at].1)
    }

    fn add(&mut self, line: u64) {
        self.links.push((line, self.end_after(line)));
        self.ends.push((line, self.links.len()));
    }

    fn settle_all(&mut self, line: u64) {
        self.ends.push((line, 0));
    }

    fn return_to(&mut self, line: u64, version: u64) {
        let end = self.end_after(version);
        self.ends.push((line, end));
    }

    /// The lines of the edits that are not settled after a line.
    fn lines_after(&self, line: u64) -> BTreeSet<u64> {
        let mut lines = BTreeSet::new();
        let mut end = self.end_after(line);
        while let Some((edit, before)) = end.checked_sub(1).map(|at| self.links[at]) {
            lines.insert(edit);
            end = before;
        }
        lines
    }
}

/// What the outside edits in the journal lost, joined into the value the document has now; `None` when nothing is lost.
/// `edited` is the hash of the document where it is itself an outside edit that the journal does not know yet.
pub(crate) fn healed(
    kind: FileKind,
    history: &History,
    now: &Value,
    edited: Option<ContentHash>,
) -> Option<(Value, Vec<Lost>)> {
    if edited.is_none() && !history.lines().any(|line| line.kind == OUTSIDE) {
        return None;
    }
    let mut unsettled = UnsettledEdits::default();
    let mut older = OlderVersions::default();
    let mut repairs: BTreeSet<u64> = BTreeSet::new();
    let mut undone: BTreeSet<u64> = BTreeSet::new();
    let mut last = 0;
    for line in history.lines() {
        // A repair settled what was lost before it, and so did a person who went back to a version by a command, or who
        // undid the repair.
        let transition = transition(line);
        let trigger = transition.as_ref().map(|one| one.trigger.as_str());
        let taken_back = transition.as_ref().and_then(undone_by);
        let settled = match trigger {
            Some("REPAIR" | "RESTORE") => true,
            Some("UNDO") => taken_back.is_some_and(|target| repairs.contains(&target)),
            _ => false,
        };
        undone.extend(taken_back);
        repairs.extend((trigger == Some("REPAIR")).then_some(line.seq));
        match older.note(kind, history, line) {
            Some(version) => unsettled.return_to(line.seq, version),
            None if settled => unsettled.settle_all(line.seq),
            None if line.kind == OUTSIDE => unsettled.add(line.seq),
            None => {}
        }
        last = line.seq;
    }
    let put_back = edited.and_then(|hash| older.newest.get(&hash).copied());
    let lines = unsettled.lines_after(put_back.unwrap_or(last));
    let unnoted = edited.is_some() && put_back.is_none();
    let first = lines.first().copied().or(unnoted.then_some(last + 1))?;
    let since = first.saturating_sub(NEAR_VERSIONS as u64 + 1);
    let mut edits = Vec::new();
    let mut window = Window {
        cut: since > 0,
        ..Window::default()
    };
    history.walk_versions(since, |line, before, after| {
        if lines.contains(&line.seq)
            && let Some(value) = after.filter(|text| is_document(kind, text)).and_then(parse)
        {
            edits.push(Edit::of(&window, line.seq - 1, &value));
        }
        window.remember(NEAR_VERSIONS, line, before, after);
    });
    if unnoted {
        edits.push(Edit::of(&window, last, now));
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

fn transition(line: &Line) -> Option<Transition> {
    serde_json::from_str(line.transition.as_deref()?.get()).ok()
}

/// The transition of a line; nothing for edits of others, which nobody acknowledged.
fn describe(line: &Line) -> Option<Lost> {
    transition(line).map(|transition| Lost {
        sequence: line.seq,
        trigger: transition.trigger,
        to: transition.to,
    })
}

/// The transition that another one takes back.
fn undone_by(transition: &Transition) -> Option<u64> {
    let undone = transition.metadata.get("undone")?.as_u64();
    undone.filter(|_| transition.trigger == "UNDO")
}

fn parse(text: &str) -> Option<Value> {
    serde_json::from_str(text.trim_start_matches('\u{feff}')).ok()
}
