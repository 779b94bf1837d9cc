//! Implements `history`, `undo` and `restore`.

use crate::agent_run_lock;
use crate::context::Context;
use crate::error::Error;
use crate::files::{ChangeOutcome, ChangeRecord, FileView, KnownFile, unnoted_edit};
use crate::kinds;
use crate::lost_updates::OlderVersions;
use bowline_formats::json::JsonDocument;
use bowline_formats::transition::{LINE_TYPE, Transition};
use bowline_machines::Actor;
use bowline_statefiles::{FileSnapshot, JournalHistory, JournalLine, kind};
use bowline_words::message::{Advice, Wrong};
use serde_json::{Value, json};
use std::cell::Cell;
use std::collections::HashSet;
use std::sync::Arc;

/// Trigger of an outside edit.
const OUTSIDE_EDIT: &str = "OUTSIDE_EDIT";
/// Numbers of journal lines read from its end, one after the other, until they suffice. After that,
/// all are read.
const RECENT_LINES: [usize; 2] = [64, 1_024];

/// Returns the transitions of a file, outside edits included, the oldest first.
pub fn read_transitions(file: &KnownFile) -> Result<Vec<Transition>, Error> {
    Ok(transitions_in(file, &file.file.read_history()?))
}

/// Latest transitions of a file.
#[derive(Debug, Clone)]
pub struct RecentTransitions {
    /// Transitions, the oldest first.
    pub transitions: Vec<Transition>,
    /// First transition that is kept, if these are all and older ones were dropped with their
    /// journal.
    pub begins: Option<HistoryStart>,
}

/// First transition that the journals still have.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryStart {
    pub sequence: u64,
    /// Time at which the journal was begun with it.
    pub at: String,
}

impl HistoryStart {
    fn from_history(history: &JournalHistory) -> Option<Self> {
        history.begins_with().map(|line| HistoryStart {
            sequence: line.seq,
            at: line.at.clone(),
        })
    }
}

/// Returns the last transitions of a file, or all without a number. Reads the journal from its end,
/// as far as necessary.
pub fn last_transitions(file: &KnownFile, last: Option<usize>) -> Result<RecentTransitions, Error> {
    let wanted = last.unwrap_or(usize::MAX);
    let read = RECENT_LINES.into_iter().filter(|lines| wanted < *lines);
    for lines_max in read.chain([usize::MAX]) {
        let history = file.file.recent_history(lines_max, None)?;
        let mut transitions = transitions_in(file, &history);
        let known = transitions.len();
        transitions.drain(..known.saturating_sub(wanted));
        // An edit may have restored a version that was not read.
        let doubtful =
            |one: &Transition| one.trigger == OUTSIDE_EDIT && one.metadata.get("putBack").is_none();
        let enough = known >= wanted && !transitions.iter().any(doubtful);
        if enough || history.is_whole() {
            let begins = HistoryStart::from_history(&history).filter(|_| known <= wanted);
            return Ok(RecentTransitions {
                transitions,
                begins,
            });
        }
    }
    Ok(RecentTransitions {
        transitions: Vec::new(),
        begins: None,
    })
}

/// Evaluates `ask` on the end of a file's history, and on all of it if the end does not suffice.
/// `end` is the document after its last line.
fn query_history<T>(
    file: &KnownFile,
    seen: Option<&Arc<JournalHistory>>,
    end: Option<&str>,
    ask: impl Fn(&JournalHistory) -> Result<T, Error>,
) -> Result<T, Error> {
    if let Some(history) = seen {
        return ask(history);
    }
    for lines_max in RECENT_LINES {
        let history = file.file.recent_history(lines_max, end)?;
        let answer = ask(&history);
        if answer.is_ok() || history.is_whole() {
            return answer;
        }
    }
    ask(&file.file.recent_history(usize::MAX, end)?)
}

fn transitions_in(file: &KnownFile, history: &JournalHistory) -> Vec<Transition> {
    let mut older = OlderVersions::default();
    let mut transitions = Vec::new();
    for line in history.effective_lines() {
        let put_back = older.record_line(file.kind, history, line);
        transitions.extend(transition_of_line(file, line, put_back));
    }
    transitions
}

/// Converts a journal line to a transition; `put_back` is the older version that an outside edit
/// restored.
fn transition_of_line(
    file: &KnownFile,
    line: &JournalLine,
    put_back: Option<u64>,
) -> Option<Transition> {
    if let Some(raw) = &line.transition
        && let Ok(transition) = serde_json::from_str::<Transition>(raw.get())
    {
        return Some(Transition {
            sequence: line.seq,
            ..transition
        });
    }
    let (trigger, to) = match line.kind.as_str() {
        kind::OUTSIDE => (OUTSIDE_EDIT, "adopted"),
        kind::REPAIR => ("REPAIR", "restored"),
        _ => return None,
    };
    let mut metadata = json!({});
    if !line.note.is_empty() {
        metadata["note"] = line.note.clone().into();
    }
    if let Some(version) = put_back {
        metadata["putBack"] = version.into();
    }
    Some(Transition {
        timestamp: line.at.clone(),
        task_id: file.path.display().to_string(),
        line_type: LINE_TYPE.to_owned(),
        entity: "file".to_owned(),
        from: None,
        to: to.to_owned(),
        trigger: trigger.to_owned(),
        metadata,
        sequence: line.seq,
    })
}

/// Options of going back.
#[derive(Debug, Clone, Copy, Default)]
pub struct RestoreOptions {
    /// Version that the caller saw: later changes are not undone. `None` accepts any version.
    pub seen: Option<u64>,
    /// True to go back even across side effects outside the file, which stay.
    pub state_only: bool,
}

impl RestoreOptions {
    /// Options for going back from whatever version is current, as commands do.
    pub fn from_now(state_only: bool) -> Self {
        RestoreOptions {
            seen: None,
            state_only,
        }
    }
}

/// Returns the transitions of a file, each with true if the document right after it can be
/// restored: not the last one, and none before a side effect outside the file.
pub fn restorable_versions(file: &KnownFile) -> Result<Vec<(Transition, bool)>, Error> {
    let history = file.file.read_history()?;
    let lines: Vec<&JournalLine> = history.effective_lines().collect();
    let left = lines.iter().rev().find(|line| line.effects.is_some());
    let left = left.map_or(0, |line| line.seq);
    let last = lines.iter().rev().find(|line| line.after.is_some());
    let last = last.map_or(0, |line| line.seq);
    let documents: HashSet<u64> = lines
        .iter()
        .filter(|line| line.after.is_some() && line.seq >= left && line.seq < last)
        .map(|line| line.seq)
        .collect();
    let all = transitions_in(file, &history).into_iter();
    Ok(all
        .map(|one| {
            let restorable = documents.contains(&one.sequence);
            (one, restorable)
        })
        .collect())
}

/// Version to restore, and the transition line for it.
struct RestoreTarget {
    version: u64,
    trigger: &'static str,
    metadata: Value,
}

/// True if the last transition of a viewed file can be undone: there is one, and it had no side
/// effect outside the file.
pub fn can_undo(file: &KnownFile, view: &FileView) -> bool {
    let unnoted = view.version > view.sequence;
    let end = Some(view.document.text());
    let way = query_history(file, view.history.as_ref(), end, |history| {
        let (_, way) = undo_target(file, history, unnoted.then_some(view.version))?;
        within_the_file(file, history, way.version)
    });
    way.is_ok()
}

/// Returns the number of the last transition and the version before it. An edit that the journal
/// does not know comes after all others.
fn undo_target(
    file: &KnownFile,
    history: &JournalHistory,
    unnoted: Option<u64>,
) -> Result<(u64, RestoreTarget), Error> {
    let nothing = || Error::NothingToUndo {
        path: file.path.clone(),
    };
    let mut metadata = json!({});
    let target = match unnoted {
        Some(edit) => edit,
        None => {
            let last = in_effect(transitions_in(file, history))
                .pop()
                .ok_or_else(nothing)?;
            if let Some(again) = reapplied_transitions(&last) {
                metadata["with"] = again.clone();
            }
            last.sequence
        }
    };
    metadata["undone"] = target.into();
    // The version before it, also an outside edit. What a program had half written is not a
    // version.
    let mut version = history.version_before(target).ok_or_else(nothing)?;
    while !is_version(history, version)? {
        version = history.version_before(version).ok_or_else(nothing)?;
    }
    let way = RestoreTarget {
        version,
        trigger: "UNDO",
        metadata,
    };
    Ok((target, way))
}

/// Undoes the last transition that is not undone yet, and returns its number.
pub fn undo_transition(
    context: &Context,
    file: &KnownFile,
    back: RestoreOptions,
) -> Result<ChangeOutcome<u64>, Error> {
    require_person(context, "undo")?;
    agent_run_lock::is_free(context, file)?;
    let undone = Cell::new(0);
    let changed = restore_chosen(context, file, back, |history, now| {
        let unnoted = unnoted_edit(now).is_some();
        // The edit is recorded first, under the next number.
        let (target, way) = undo_target(file, history, unnoted.then_some(now.seq + 1))?;
        undone.set(target);
        Ok(way)
    })?;
    Ok(changed.with_state(undone.get()))
}

/// True if the document after a line can be read. An acknowledged one always can.
fn is_version(history: &JournalHistory, version: u64) -> Result<bool, Error> {
    let text = history.document_at(version)?;
    Ok(text.is_none_or(|text| JsonDocument::parse(text.as_bytes()).is_ok()))
}

/// Returns the transitions that are not undone, the newest last. A repair that only restored a
/// document cannot be undone; one that reapplied lost transitions can.
fn in_effect(transitions: Vec<Transition>) -> Vec<Transition> {
    let mut done: Vec<Transition> = Vec::new();
    for one in transitions {
        match one.trigger.as_str() {
            "UNDO" => {
                let undone = one.metadata.get("undone").and_then(Value::as_u64);
                done.retain(|earlier| undone.is_none_or(|undone| earlier.sequence < undone));
            }
            "REPAIR" if reapplied_transitions(&one).is_none() => {}
            _ => done.push(one),
        }
    }
    done
}

/// Returns the transitions that a repair reapplied, if any.
fn reapplied_transitions(repair: &Transition) -> Option<&Value> {
    let again = repair.metadata.get("reapplied")?;
    again
        .as_array()
        .is_some_and(|list| !list.is_empty())
        .then_some(again)
}

/// Restores the document as it was right after a transition.
pub fn restore_version(
    context: &Context,
    file: &KnownFile,
    sequence: u64,
    back: RestoreOptions,
) -> Result<ChangeOutcome, Error> {
    require_person(context, "restore")?;
    agent_run_lock::is_free(context, file)?;
    restore_chosen(context, file, back, |history, _| {
        if !history.effective_lines().any(|line| line.seq == sequence) {
            let begins = HistoryStart::from_history(history);
            return Err(Error::NoSuchTransition {
                path: file.path.clone(),
                sequence,
                begins: begins.filter(|first| sequence < first.sequence),
            });
        }
        Ok(RestoreTarget {
            version: sequence,
            trigger: "RESTORE",
            metadata: json!({ "restored": sequence }),
        })
    })
}

/// Restores the version that `choose` finds in the history. It is chosen under the lock, so that it
/// accounts for every earlier change.
fn restore_chosen(
    context: &Context,
    file: &KnownFile,
    back: RestoreOptions,
    choose: impl Fn(&JournalHistory, &FileSnapshot) -> Result<RestoreTarget, Error>,
) -> Result<ChangeOutcome, Error> {
    let mut changed = file.replace_seen(context, |now, snapshot| {
        file.check_current(back.seen, snapshot)?;
        let (seen, end) = (snapshot.history.as_ref(), snapshot.acknowledged_text());
        let (way, earlier) = query_history(file, seen, end, |history| {
            let way = choose(history, snapshot)?;
            if !back.state_only {
                within_the_file(file, history, way.version)?;
            }
            let text = history.document_at(way.version)?;
            let text = text.ok_or_else(|| Error::NothingToUndo {
                path: file.path.clone(),
            })?;
            let earlier =
                JsonDocument::parse(text.as_bytes()).map_err(|error| Error::BadInput {
                    message: Wrong::VersionUnreadable {
                        sequence: way.version,
                        found: Box::new(error.to_message()),
                    },
                    hint: Advice::ChooseFromHistory,
                })?;
            Ok((way, earlier))
        })?;
        let earlier = kinds::restored_document(file.kind, &earlier, context.now_for(file.kind));
        let mut metadata = way.metadata;
        // A run that was reset comes back under its old id.
        if now.is_none() {
            let history = file.file.history_of(seen)?;
            if let Some(run) = run_at(&transitions_in(file, &history), way.version) {
                metadata["run"] = run.into();
            }
        }
        let status = |document: &JsonDocument| {
            kinds::examine_document(file.kind, document).map(|examined| examined.status)
        };
        let moved = ChangeRecord {
            entity: "file",
            from: now.and_then(|now| status(now).ok()),
            to: status(&earlier).map_err(|findings| file.damaged_error(findings))?,
            trigger: way.trigger,
            metadata,
            important: true,
            effects: None,
        };
        Ok((Some(earlier), moved))
    })?;
    let beyond = file.kind.behaviour();
    beyond.add_advice(context, file, &mut changed.view)?;
    Ok(changed)
}

/// Refuses to go back across a transition with side effects outside the file.
fn within_the_file(file: &KnownFile, history: &JournalHistory, version: u64) -> Result<(), Error> {
    let mut later = history.effective_lines().filter(|line| line.seq > version);
    match later.find(|line| line.effects.is_some()) {
        None => Ok(()),
        Some(line) => Err(Error::EffectsLeft {
            sequence: line.seq,
            trigger: transition_of_line(file, line, None)
                .map_or_else(String::new, |one| one.trigger),
        }),
    }
}

/// Returns the id of the develop run that a transition belongs to.
fn run_at(transitions: &[Transition], sequence: u64) -> Option<String> {
    let until = transitions
        .iter()
        .rev()
        .filter(|one| one.sequence <= sequence);
    let mut runs = until.filter_map(|one| one.metadata.get("run")?.as_str());
    runs.next().map(str::to_owned)
}

pub(crate) fn require_person(context: &Context, what: &'static str) -> Result<(), Error> {
    match context.actor() {
        Actor::Person => Ok(()),
        Actor::Agent => Err(Error::NeedsPerson { what }),
    }
}
