//! Detects acknowledged transitions that an outside edit dropped, and reapplies them.
//!
//! An edit is compared with the versions before it. The nearest one is the version it was made
//! from; transitions acknowledged after that version, and not in the edit, are lost. They are
//! reapplied one by one: changes of other edits in between are never applied again.
//!
//! Two kinds of edit lose nothing in this sense. A document that equals an older version byte for
//! byte was restored by a person on purpose: that settles what came after the version, and the
//! losses from before it stay. The document of another task has no part in what this one went
//! through. A text that is no document, such as the empty file of an editor that truncates before
//! it writes, is neither an edit nor a version.

use crate::kinds::{FileKind, is_document, subject_key};
use bowline_formats::three_way_merge::{count_differences, merge_json};
use bowline_formats::transition::Transition;
use bowline_statefiles::kind::OUTSIDE;
use bowline_statefiles::{ContentHash, JournalHistory, JournalLine};
use serde_json::Value;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::fmt;
use std::rc::Rc;

/// Versions that an edit is first compared with. All are compared only if the oldest of these is
/// the nearest.
const NEAR_VERSIONS: usize = 128;

/// Acknowledged transition that an outside edit lacks.
#[derive(Debug, Clone, PartialEq)]
pub struct LostTransition {
    pub sequence: u64,
    /// Name of the command in upper case.
    pub trigger: String,
    /// Status it led to.
    pub to: String,
}

impl fmt::Display for LostTransition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{} {} to {}", self.sequence, self.trigger, self.to)
    }
}

/// Kind of outside edit.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum OutsideEditKind {
    /// An older version was restored, and with it later transitions were dropped.
    PutBack {
        sequence: u64,
        taken: Vec<LostTransition>,
    },
    /// The document of another task took its place.
    Another { was: String, is: String },
    /// The document was edited; these transitions are not in it.
    Edited { lost: Vec<LostTransition> },
}

/// Version of the document, and the transition that led to it; `None` for an outside edit.
struct KnownVersion {
    before: Option<Rc<Value>>,
    value: Rc<Value>,
    transition: Option<LostTransition>,
}

/// Acknowledged transition with the documents before and after.
struct AcknowledgedChange {
    what: LostTransition,
    before: Rc<Value>,
    after: Rc<Value>,
}

impl AcknowledgedChange {
    /// True if it concerns the task of a document. In the memory, changes of the queue behind the
    /// current task concern every document.
    fn is_about(&self, kind: FileKind, value: &Value) -> bool {
        let task = "/current_task";
        if kind == FileKind::TaskState && self.before.pointer(task) == self.after.pointer(task) {
            return true;
        }
        let about = subject_key(kind, value);
        [&self.before, &self.after]
            .into_iter()
            .any(|version| subject_key(kind, version) == about)
    }
}

/// Last versions before an edit.
#[derive(Default)]
struct VersionWindow {
    versions: VecDeque<KnownVersion>,
    /// Older versions were left out.
    cut: bool,
    last: Option<(String, Rc<Value>)>,
}

impl VersionWindow {
    fn add_version(
        &mut self,
        max: usize,
        line: &JournalLine,
        before: Option<&str>,
        after: Option<&str>,
    ) {
        // Versions before one that cannot be rebuilt are unknown.
        let Some(text) = after else {
            self.versions.clear();
            return;
        };
        // What a program had half written is not a version.
        let Some(value) = parse_version(text).map(Rc::new) else {
            return;
        };
        let before = match (&self.last, before) {
            (Some((last, value)), Some(before)) if last == before => Some(Rc::clone(value)),
            (_, before) => before.and_then(parse_version).map(Rc::new),
        };
        if self.versions.len() >= max {
            self.versions.pop_front();
            self.cut = true;
        }
        self.versions.push_back(KnownVersion {
            before,
            value: Rc::clone(&value),
            transition: acknowledged_transition(line),
        });
        self.last = Some((text.to_owned(), value));
    }

    /// Returns the distance of the nearest version from the end; of equally near ones the newest.
    fn nearest_version(&self, edited: &Value) -> Option<usize> {
        let mut best: Option<(usize, usize)> = None;
        for (back, known) in self.versions.iter().rev().enumerate() {
            let far = count_differences(edited, &known.value);
            if best.is_none_or(|(_, nearest)| far < nearest) {
                best = Some((back, far));
            }
            if far == 0 {
                break;
            }
        }
        best.map(|(back, _)| back)
    }

    /// Returns the subjects of the last version and of a document, if no version ever had the
    /// subject of the document.
    fn foreign_subject(&self, kind: FileKind, edited: &Value) -> Option<(String, String)> {
        let is = subject_key(kind, edited)?;
        let was = subject_key(kind, &self.versions.back()?.value)?;
        let mut versions = self.versions.iter();
        let known = versions.any(|known| subject_key(kind, &known.value).as_deref() == Some(&is));
        (!known).then_some((was, is))
    }

    /// Returns the acknowledged transitions of the last `back` versions.
    fn last_changes(&self, back: usize) -> Vec<AcknowledgedChange> {
        let skip = self.versions.len().saturating_sub(back);
        let after = self.versions.iter().skip(skip);
        let change = |known: &KnownVersion| {
            Some(AcknowledgedChange {
                what: known.transition.clone()?,
                before: Rc::clone(known.before.as_ref()?),
                after: Rc::clone(&known.value),
            })
        };
        after.filter_map(change).collect()
    }
}

/// Classifies the edit with this hash and value, made after line `last`.
pub(crate) fn by_edit(
    kind: FileKind,
    history: &JournalHistory,
    last: u64,
    hash: ContentHash,
    edited: &Value,
) -> OutsideEditKind {
    let known = || history.effective_lines().filter(|line| line.seq <= last);
    if let Some(older) = known().rfind(|line| line.after == Some(hash)) {
        let sequence = older.seq;
        let later = known().filter(|line| line.seq > sequence);
        return OutsideEditKind::PutBack {
            sequence,
            taken: later.filter_map(acknowledged_transition).collect(),
        };
    }
    let since = last.saturating_sub(NEAR_VERSIONS as u64);
    let mut window = VersionWindow {
        cut: since > 0,
        ..VersionWindow::default()
    };
    history.walk_versions(since, |line, before, after| {
        if line.seq <= last {
            window.add_version(usize::MAX, line, before, after);
        }
    });
    if let Some((was, is)) = window.foreign_subject(kind, edited) {
        return OutsideEditKind::Another { was, is };
    }
    let changes = ExplainedEdit::explain_edit(&window, last, edited).into_changes(history);
    let lost = apply_changes(kind, &changes, &mut edited.clone());
    OutsideEditKind::Edited { lost }
}

/// Finds older versions that outside edits restored. It must see every line, the oldest first.
#[derive(Default)]
pub(crate) struct OlderVersions {
    newest: HashMap<ContentHash, u64>,
    /// True for each hash whose text is a document, as far as that was checked.
    documents: HashMap<ContentHash, bool>,
}

impl OlderVersions {
    /// Records a line. Returns the newest older version if the line is an outside edit that
    /// restored it.
    pub(crate) fn record_line(
        &mut self,
        kind: FileKind,
        history: &JournalHistory,
        line: &JournalLine,
    ) -> Option<u64> {
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

/// Outside edits whose losses are not settled, after each line. They are kept as a chain, so that a
/// restored version has the losses that it had then.
#[derive(Default)]
struct UnsettledEdits {
    /// Line of an edit, and the end of the chain before it.
    links: Vec<(u64, usize)>,
    /// End of the chain after a line, where it changed: a number of links, 0 for none.
    ends: Vec<(u64, usize)>,
}

impl UnsettledEdits {
    fn end_after(&self, line: u64) -> usize {
        let known = self.ends.partition_point(|(seq, _)| *seq <= line);
        known.checked_sub(1).map_or(0, |at| self.ends[at].1)
    }

    fn add_edit(&mut self, line: u64) {
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

    /// Returns the lines of the edits that are not settled after a line.
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

/// Merges the losses of the journal's outside edits into the present value; `None` if nothing is
/// lost. `edited` is the hash of the document if it is itself an outside edit that the journal does
/// not know yet.
pub(crate) fn reapply_lost(
    kind: FileKind,
    history: &JournalHistory,
    now: &Value,
    edited: Option<ContentHash>,
) -> Option<(Value, Vec<LostTransition>)> {
    if edited.is_none() && !history.effective_lines().any(|line| line.kind == OUTSIDE) {
        return None;
    }
    let mut unsettled = UnsettledEdits::default();
    let mut older = OlderVersions::default();
    let mut repairs: BTreeSet<u64> = BTreeSet::new();
    let mut undone: BTreeSet<u64> = BTreeSet::new();
    let mut last = 0;
    for line in history.effective_lines() {
        // A repair settled earlier losses, and so did a person who restored a version by a command
        // or undid the repair.
        let transition = parse_transition(line);
        let trigger = transition.as_ref().map(|one| one.trigger.as_str());
        let taken_back = transition.as_ref().and_then(undone_by);
        let settled = match trigger {
            Some("REPAIR" | "RESTORE") => true,
            Some("UNDO") => taken_back.is_some_and(|target| repairs.contains(&target)),
            _ => false,
        };
        undone.extend(taken_back);
        repairs.extend((trigger == Some("REPAIR")).then_some(line.seq));
        match older.record_line(kind, history, line) {
            Some(version) => unsettled.return_to(line.seq, version),
            None if settled => unsettled.settle_all(line.seq),
            None if line.kind == OUTSIDE => unsettled.add_edit(line.seq),
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
    let mut window = VersionWindow {
        cut: since > 0,
        ..VersionWindow::default()
    };
    history.walk_versions(since, |line, before, after| {
        if lines.contains(&line.seq)
            && let Some(value) = after
                .filter(|text| is_document(kind, text))
                .and_then(parse_version)
        {
            edits.push(ExplainedEdit::explain_edit(&window, line.seq - 1, &value));
        }
        window.add_version(NEAR_VERSIONS, line, before, after);
    });
    if unnoted {
        edits.push(ExplainedEdit::explain_edit(&window, last, now));
    }
    let mut value = now.clone();
    let mut lost: Vec<LostTransition> = Vec::new();
    for edit in edits {
        let mut changes = edit.into_changes(history);
        // Transitions that were undone since are not reapplied.
        changes.retain(|change| !undone.contains(&change.what.sequence));
        lost.extend(apply_changes(kind, &changes, &mut value));
    }
    (!lost.is_empty()).then_some((value, lost))
}

/// Reapplies the changes that concern the task of the value; returns those that made a difference.
fn apply_changes(
    kind: FileKind,
    changes: &[AcknowledgedChange],
    value: &mut Value,
) -> Vec<LostTransition> {
    let mut lost = Vec::new();
    for change in changes {
        if !change.is_about(kind, value) {
            continue;
        }
        let merged = merge_json(&change.before, &change.after, value);
        if count_differences(&merged, value) > 0 {
            *value = merged;
            lost.push(change.what.clone());
        }
    }
    lost
}

/// Edit as far as a window of versions explains it.
enum ExplainedEdit {
    /// Transitions acknowledged since the version it was made from.
    Lacks(Vec<AcknowledgedChange>),
    /// It may have been made from a version before the window.
    Old { last: u64, value: Value },
}

impl ExplainedEdit {
    fn explain_edit(window: &VersionWindow, last: u64, value: &Value) -> ExplainedEdit {
        match window.nearest_version(value) {
            None => ExplainedEdit::Lacks(Vec::new()),
            Some(back) if window.cut && back + 1 == window.versions.len() => ExplainedEdit::Old {
                last,
                value: value.clone(),
            },
            Some(back) => ExplainedEdit::Lacks(window.last_changes(back)),
        }
    }

    fn into_changes(self, history: &JournalHistory) -> Vec<AcknowledgedChange> {
        let (last, value) = match self {
            ExplainedEdit::Lacks(changes) => return changes,
            ExplainedEdit::Old { last, value } => (last, value),
        };
        // Compares with all versions: an editor may have had the file open for long.
        let mut window = VersionWindow::default();
        history.walk_versions(0, |line, before, after| {
            if line.seq <= last {
                window.add_version(usize::MAX, line, before, after);
            }
        });
        let back = window.nearest_version(&value).unwrap_or(0);
        window.last_changes(back)
    }
}

fn parse_transition(line: &JournalLine) -> Option<Transition> {
    serde_json::from_str(line.transition.as_deref()?.get()).ok()
}

/// Returns the transition of a line; `None` for outside edits, which were never acknowledged.
fn acknowledged_transition(line: &JournalLine) -> Option<LostTransition> {
    parse_transition(line).map(|transition| LostTransition {
        sequence: line.seq,
        trigger: transition.trigger,
        to: transition.to,
    })
}

/// Returns the number of the transition that another one undoes.
fn undone_by(transition: &Transition) -> Option<u64> {
    let undone = transition.metadata.get("undone")?.as_u64();
    undone.filter(|_| transition.trigger == "UNDO")
}

fn parse_version(text: &str) -> Option<Value> {
    serde_json::from_str(text.trim_start_matches('\u{feff}')).ok()
}
