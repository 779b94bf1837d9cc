//! Looking back, and going back: `history`, `undo`, `restore`.

use crate::context::Context;
use crate::error::Error;
use crate::files::{Changed, KnownFile, Moved};
use crate::kinds;
use bowline_formats::json::JsonDocument;
use bowline_formats::transition::{LINE_TYPE, Transition};
use bowline_machines::Actor;
use bowline_statefiles::{Line, kind};
use serde_json::json;

/// The transitions of a file, the oldest first. What others did to it is told too.
pub fn transitions(file: &KnownFile) -> Result<Vec<Transition>, Error> {
    let lines = file.file.history()?.lines;
    Ok(lines
        .iter()
        .filter_map(|line| transition(file, line))
        .collect())
}

fn transition(file: &KnownFile, line: &Line) -> Option<Transition> {
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
    Some(Transition {
        timestamp: line.at.clone(),
        task_id: file.path.display().to_string(),
        line_type: LINE_TYPE.to_owned(),
        entity: "file".to_owned(),
        from: None,
        to: to.to_owned(),
        trigger: trigger.to_owned(),
        metadata: if line.note.is_empty() {
            json!({})
        } else {
            json!({ "note": line.note })
        },
        sequence: line.seq,
    })
}

/// Takes the last transition back that is not taken back yet.
pub fn undo(context: &Context, file: &KnownFile, state_only: bool) -> Result<Changed, Error> {
    person(context, "undo")?;
    let transitions = transitions(file)?;
    // Each undo names the transition it leads back before; the next one goes on from there.
    let undone_from = transitions.last().filter(|last| last.trigger == "UNDO");
    let before = undone_from.and_then(|last| {
        last.metadata
            .get("undone")
            .and_then(serde_json::Value::as_u64)
    });
    let target = transitions
        .iter()
        .rfind(|one| {
            // A repair brought back what was there; undoing it would bring back nothing new.
            before.is_none_or(|before| one.sequence < before)
                && !["UNDO", "REPAIR"].contains(&one.trigger.as_str())
        })
        .ok_or_else(|| Error::NothingToUndo {
            path: file.path.clone(),
        })?;
    // The version before it, whoever made that one.
    let previous = target.sequence - 1;
    if previous == 0 || file.file.document_at(previous)?.is_none() {
        return Err(Error::NothingToUndo {
            path: file.path.clone(),
        });
    }
    go_back(
        context,
        file,
        previous,
        "UNDO",
        json!({ "undone": target.sequence }),
        state_only,
    )
}

/// Brings the document back as it was right after a transition.
pub fn restore(
    context: &Context,
    file: &KnownFile,
    sequence: u64,
    state_only: bool,
) -> Result<Changed, Error> {
    person(context, "restore")?;
    if !file
        .file
        .history()?
        .lines
        .iter()
        .any(|line| line.seq == sequence)
    {
        return Err(Error::NoSuchTransition {
            path: file.path.clone(),
            sequence,
        });
    }
    go_back(
        context,
        file,
        sequence,
        "RESTORE",
        json!({ "restored": sequence }),
        state_only,
    )
}

fn go_back(
    context: &Context,
    file: &KnownFile,
    sequence: u64,
    trigger: &'static str,
    metadata: serde_json::Value,
    state_only: bool,
) -> Result<Changed, Error> {
    if !state_only {
        let lines = file.file.history()?.lines;
        if let Some(line) = lines
            .iter()
            .find(|line| line.seq > sequence && line.effects.is_some())
        {
            let trigger = transition(file, line).map_or_else(String::new, |one| one.trigger);
            return Err(Error::EffectsLeft {
                sequence: line.seq,
                trigger,
            });
        }
    }
    let Some(text) = file.file.document_at(sequence)? else {
        return Err(Error::NothingToUndo {
            path: file.path.clone(),
        });
    };
    let earlier = JsonDocument::parse(text.as_bytes()).map_err(|error| Error::BadInput {
        message: format!("the version after transition {sequence} cannot be read: {error}"),
        hint: "choose another one from 'bowline history'".into(),
    })?;
    let earlier = kinds::brought_back(file.kind, &earlier, context.now_for(file.kind));
    let gone = file.file.load()?.bytes.is_none();
    let mut metadata = metadata;
    // What was thrown away comes back as what it was.
    if let Some(run) = run_at(file, sequence)?.filter(|_| gone) {
        metadata["run"] = run.into();
    }
    let decide = |now: Option<&JsonDocument>| {
        let status = |document: &JsonDocument| {
            kinds::examine(file.kind, document).map(|examined| examined.status)
        };
        let moved = Moved {
            entity: "file",
            from: now.and_then(|now| status(now).ok()),
            to: status(&earlier).map_err(|findings| file.damaged(findings))?,
            trigger,
            metadata: metadata.clone(),
            important: true,
            effects: None,
        };
        Ok((earlier.clone(), moved))
    };
    if gone {
        file.replace(context, |now| {
            let (earlier, moved) = decide(now)?;
            Ok((Some(earlier), moved))
        })
    } else {
        file.rewrite(context, |now| decide(Some(now)))
    }
}

/// The develop run that a transition belongs to.
fn run_at(file: &KnownFile, sequence: u64) -> Result<Option<String>, Error> {
    let transitions = transitions(file)?;
    let until = transitions
        .iter()
        .rev()
        .filter(|one| one.sequence <= sequence);
    let mut runs = until.filter_map(|one| one.metadata.get("run")?.as_str());
    Ok(runs.next().map(str::to_owned))
}

pub(crate) fn person(context: &Context, what: &'static str) -> Result<(), Error> {
    match context.actor() {
        Actor::Person => Ok(()),
        Actor::Agent => Err(Error::NeedsPerson { what }),
    }
}
