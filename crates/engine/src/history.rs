//! Looking back, and going back: `history`, `undo`, `restore`.

use crate::context::Context;
use crate::error::Error;
use crate::files::{Changed, KnownFile, Moved, View};
use crate::kinds;
use crate::run_place;
use bowline_formats::json::JsonDocument;
use bowline_formats::transition::{LINE_TYPE, Transition};
use bowline_machines::Actor;
use bowline_statefiles::{ContentHash, History, Line, Situation, Snapshot, kind};
use bowline_words::message::{Advice, Wrong};
use serde_json::{Value, json};
use std::cell::Cell;
use std::collections::{BTreeMap, HashSet};

/// The transitions of a file, the oldest first. What others did to it is told too.
pub fn transitions(file: &KnownFile) -> Result<Vec<Transition>, Error> {
    Ok(told(file, &file.file.history()?))
}

fn told(file: &KnownFile, history: &History) -> Vec<Transition> {
    let mut versions: BTreeMap<ContentHash, u64> = BTreeMap::new();
    let mut told = Vec::new();
    for line in history.lines() {
        let put_back = line.after.and_then(|after| versions.get(&after).copied());
        told.extend(transition(file, line, put_back));
        versions.extend(line.after.map(|after| (after, line.seq)));
    }
    told
}

/// The transition of a line; `put_back` is an older version with the very document that the line leads to.
fn transition(file: &KnownFile, line: &Line, put_back: Option<u64>) -> Option<Transition> {
    if let Some(raw) = &line.transition
        && let Ok(transition) = serde_json::from_str::<Transition>(raw.get())
    {
        return Some(Transition {
            sequence: line.seq,
            ..transition
        });
    }
    let (trigger, to) = match line.kind.as_str() {
        kind::OUTSIDE => ("OUTSIDE_EDIT", "adopted"),
        kind::REPAIR => ("REPAIR", "restored"),
        _ => return None,
    };
    let mut metadata = json!({});
    if !line.note.is_empty() {
        metadata["note"] = line.note.clone().into();
    }
    if let Some(version) = put_back.filter(|_| line.kind == kind::OUTSIDE) {
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

/// How somebody goes back.
#[derive(Debug, Clone, Copy, Default)]
pub struct Back {
    /// The version they saw; whatever came since is not theirs to take back.
    pub seen: Option<u64>,
    /// Also across what left the file, which stays as it is.
    pub state_only: bool,
}

impl Back {
    /// From whatever is there: whoever gives a command means that.
    pub fn from_now(state_only: bool) -> Self {
        Back {
            seen: None,
            state_only,
        }
    }
}

/// The transitions of a file, each with whether the document right after it can be brought back: not the last one, and
/// none before something that left the file.
pub fn versions(file: &KnownFile) -> Result<Vec<(Transition, bool)>, Error> {
    let history = file.file.history()?;
    let lines: Vec<&Line> = history.lines().collect();
    let left = lines.iter().rev().find(|line| line.effects.is_some());
    let left = left.map_or(0, |line| line.seq);
    let last = lines.iter().rev().find(|line| line.after.is_some());
    let last = last.map_or(0, |line| line.seq);
    let documents: HashSet<u64> = lines
        .iter()
        .filter(|line| line.after.is_some() && line.seq >= left && line.seq < last)
        .map(|line| line.seq)
        .collect();
    let all = told(file, &history).into_iter();
    Ok(all
        .map(|one| {
            let restorable = documents.contains(&one.sequence);
            (one, restorable)
        })
        .collect())
}

/// A way back: the version to bring back, and what is said of it.
struct Way {
    version: u64,
    trigger: &'static str,
    metadata: Value,
}

/// Whether a look says that the last transition can be taken back: there is one, and nothing of it has left the file.
pub fn can_undo(file: &KnownFile, view: &View) -> bool {
    let way = || {
        let history = file.file.history_of(view.history.as_ref())?;
        let unnoted = view.version > view.sequence;
        let (_, way) = way_back(file, &history, unnoted.then_some(view.version))?;
        within_the_file(file, &history, way.version)
    };
    way().is_ok()
}

/// The way back over the last transition, and its number. An edit that the journal does not know comes after all others.
fn way_back(
    file: &KnownFile,
    history: &History,
    unnoted: Option<u64>,
) -> Result<(u64, Way), Error> {
    let nothing = || Error::NothingToUndo {
        path: file.path.clone(),
    };
    let mut metadata = json!({});
    let target = match unnoted {
        Some(edit) => edit,
        None => {
            let last = in_effect(told(file, history)).pop().ok_or_else(nothing)?;
            if let Some(again) = reapplied(&last) {
                metadata["with"] = again.clone();
            }
            last.sequence
        }
    };
    metadata["undone"] = target.into();
    // The version before it, whoever made that one. What a program had written by half in passing is none.
    let mut version = history.version_before(target).ok_or_else(nothing)?;
    while !is_version(history, version)? {
        version = history.version_before(version).ok_or_else(nothing)?;
    }
    let way = Way {
        version,
        trigger: "UNDO",
        metadata,
    };
    Ok((target, way))
}

/// Takes the last transition back that is not taken back yet, and tells its number.
pub fn undo(context: &Context, file: &KnownFile, back: Back) -> Result<Changed<u64>, Error> {
    person(context, "undo")?;
    run_place::is_free(context, file)?;
    let undone = Cell::new(0);
    let changed = go_back(context, file, back, |history, now| {
        let unnoted = matches!(now.situation, Situation::Outside { .. }) && now.unnoted;
        // It is noted first, under the next number.
        let (target, way) = way_back(file, history, unnoted.then_some(now.seq + 1))?;
        undone.set(target);
        Ok(way)
    })?;
    Ok(changed.telling(undone.get()))
}

/// Whether the document after a line can be read. What was acknowledged always can.
fn is_version(history: &History, version: u64) -> Result<bool, Error> {
    let text = history.document_at(version)?;
    Ok(text.is_none_or(|text| JsonDocument::parse(text.as_bytes()).is_ok()))
}

/// What was done and not taken back, the newest last: what an undo can name. A repair that only brought back what was there
/// is nothing to undo; one that applied lost transitions again is.
fn in_effect(transitions: Vec<Transition>) -> Vec<Transition> {
    let mut done: Vec<Transition> = Vec::new();
    for one in transitions {
        match one.trigger.as_str() {
            "UNDO" => {
                let undone = one.metadata.get("undone").and_then(Value::as_u64);
                done.retain(|earlier| undone.is_none_or(|undone| earlier.sequence < undone));
            }
            "REPAIR" if reapplied(&one).is_none() => {}
            _ => done.push(one),
        }
    }
    done
}

/// The transitions that a repair applied again, where it did.
fn reapplied(repair: &Transition) -> Option<&Value> {
    let again = repair.metadata.get("reapplied")?;
    again
        .as_array()
        .is_some_and(|list| !list.is_empty())
        .then_some(again)
}

/// Brings the document back as it was right after a transition.
pub fn restore(
    context: &Context,
    file: &KnownFile,
    sequence: u64,
    back: Back,
) -> Result<Changed, Error> {
    person(context, "restore")?;
    run_place::is_free(context, file)?;
    go_back(context, file, back, |history, _| {
        if !history.lines().any(|line| line.seq == sequence) {
            return Err(Error::NoSuchTransition {
                path: file.path.clone(),
                sequence,
            });
        }
        Ok(Way {
            version: sequence,
            trigger: "RESTORE",
            metadata: json!({ "restored": sequence }),
        })
    })
}

/// Goes the way that `choose` finds in the history. It is chosen under the lock: whatever came before is in that history,
/// and is taken back by name.
fn go_back(
    context: &Context,
    file: &KnownFile,
    back: Back,
    choose: impl Fn(&History, &Snapshot) -> Result<Way, Error>,
) -> Result<Changed, Error> {
    let mut changed = file.replace_seen(context, |now, snapshot| {
        file.still(back.seen, snapshot)?;
        let history = file.file.history_of(snapshot.history.as_ref())?;
        let way = choose(&history, snapshot)?;
        if !back.state_only {
            within_the_file(file, &history, way.version)?;
        }
        let text = history.document_at(way.version)?;
        let text = text.ok_or_else(|| Error::NothingToUndo {
            path: file.path.clone(),
        })?;
        let earlier = JsonDocument::parse(text.as_bytes()).map_err(|error| Error::BadInput {
            message: Wrong::VersionUnreadable {
                sequence: way.version,
                found: Box::new(error.found()),
            },
            hint: Advice::ChooseFromHistory,
        })?;
        let earlier = kinds::brought_back(file.kind, &earlier, context.now_for(file.kind));
        let mut metadata = way.metadata;
        // What was thrown away comes back as what it was.
        if now.is_none()
            && let Some(run) = run_at(&told(file, &history), way.version)
        {
            metadata["run"] = run.into();
        }
        let status = |document: &JsonDocument| {
            kinds::examine(file.kind, document).map(|examined| examined.status)
        };
        let moved = Moved {
            entity: "file",
            from: now.and_then(|now| status(now).ok()),
            to: status(&earlier).map_err(|findings| file.damaged(findings))?,
            trigger: way.trigger,
            metadata,
            important: true,
            effects: None,
        };
        Ok((Some(earlier), moved))
    })?;
    let beyond = file.kind.beyond();
    beyond.advise(context, file, &mut changed.view)?;
    Ok(changed)
}

/// Refuses to go back across a transition whose effects left the file.
fn within_the_file(file: &KnownFile, history: &History, version: u64) -> Result<(), Error> {
    let mut later = history.lines().filter(|line| line.seq > version);
    match later.find(|line| line.effects.is_some()) {
        None => Ok(()),
        Some(line) => Err(Error::EffectsLeft {
            sequence: line.seq,
            trigger: transition(file, line, None).map_or_else(String::new, |one| one.trigger),
        }),
    }
}

/// The develop run that a transition belongs to.
fn run_at(transitions: &[Transition], sequence: u64) -> Option<String> {
    let until = transitions
        .iter()
        .rev()
        .filter(|one| one.sequence <= sequence);
    let mut runs = until.filter_map(|one| one.metadata.get("run")?.as_str());
    runs.next().map(str::to_owned)
}

pub(crate) fn person(context: &Context, what: &'static str) -> Result<(), Error> {
    match context.actor() {
        Actor::Person => Ok(()),
        Actor::Agent => Err(Error::NeedsPerson { what }),
    }
}
