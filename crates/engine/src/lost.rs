//! Acknowledged transitions that somebody who wrote around the lock made disappear, and how they come back.

use bowline_formats::merge::{distance, merge};
use bowline_formats::transition::Transition;
use bowline_statefiles::{Error, StateFile, Version, kind};
use serde_json::Value;
use std::fmt;

/// Versions an outside edit is compared with. An editor that held a file open for longer is compared with the oldest.
const VERSIONS_MAX: usize = 256;

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

/// The version an edit was made from, and what came after it.
struct Stale {
    base: Value,
    ours: Value,
    lost: Vec<Lost>,
}

/// The acknowledged transitions before line `before` that an edit lacks.
pub(crate) fn by_edit(file: &StateFile, before: u64, edited: &Value) -> Result<Vec<Lost>, Error> {
    let versions = file.versions(0)?;
    let known = versions
        .iter()
        .take_while(|version| version.line.seq < before);
    Ok(stale(&known.collect::<Vec<_>>(), edited).map_or_else(Vec::new, |stale| stale.lost))
}

/// What every outside edit in the journal lost, joined into the value the document has now. `None` when nothing is lost.
pub(crate) fn healed(file: &StateFile, now: &Value) -> Result<Option<(Value, Vec<Lost>)>, Error> {
    heal(&file.versions(0)?, now, false)
}

/// The same when the document is itself an outside edit that the journal does not know yet.
pub(crate) fn healed_with_edit(
    file: &StateFile,
    now: &Value,
) -> Result<Option<(Value, Vec<Lost>)>, Error> {
    heal(&file.versions(0)?, now, true)
}

fn heal(
    versions: &[Version],
    now: &Value,
    edited: bool,
) -> Result<Option<(Value, Vec<Lost>)>, Error> {
    let mut value = now.clone();
    let mut lost = Vec::new();
    if edited && let Some(stale) = stale(&versions.iter().collect::<Vec<_>>(), now) {
        value = merge(&stale.base, &stale.ours, &value);
        lost.extend(stale.lost);
    }
    // A repair settled what was lost before it, and so did a person who went back to a version of their choice.
    let settled = versions.iter().rposition(|version| {
        describe(version)
            .is_some_and(|one| ["REPAIR", "RESTORE", "UNDO"].contains(&one.trigger.as_str()))
    });
    let open = settled.map_or(0, |index| index + 1);
    for (index, version) in versions.iter().enumerate().skip(open) {
        if version.line.kind != kind::OUTSIDE {
            continue;
        }
        let Some(edited) = version.after.as_deref().and_then(parse) else {
            continue;
        };
        let known: Vec<&Version> = versions[..index].iter().collect();
        let Some(stale) = stale(&known, &edited) else {
            continue;
        };
        let merged = merge(&stale.base, &stale.ours, &value);
        if distance(&merged, &value) > 0 {
            value = merged;
            lost.extend(stale.lost);
        }
    }
    Ok((!lost.is_empty()).then_some((value, lost)))
}

/// The nearest earlier version an edit was made from, if that is not the last one.
fn stale(versions: &[&Version], edited: &Value) -> Option<Stale> {
    let mut nearest: Option<(usize, usize, Value)> = None;
    let mut ours = None;
    let mut lost = Vec::new();
    // From the newest back; the first of equally near ones wins.
    for (back, version) in versions.iter().rev().take(VERSIONS_MAX).enumerate() {
        let Some(value) = version.after.as_deref().and_then(parse) else {
            break;
        };
        let far = distance(edited, &value);
        ours.get_or_insert_with(|| value.clone());
        if nearest.as_ref().is_none_or(|(_, best, _)| far < *best) {
            nearest = Some((back, far, value));
        }
        lost.push(describe(version));
        if far == 0 {
            break;
        }
    }
    let (back, _, base) = nearest.filter(|(back, _, _)| *back > 0)?;
    lost.truncate(back);
    lost.reverse();
    Some(Stale {
        base,
        ours: ours?,
        lost: lost.into_iter().flatten().collect(),
    })
}

/// The transition of a version; nothing for edits of others, which nobody acknowledged.
fn describe(version: &Version) -> Option<Lost> {
    let raw = version.line.transition.as_deref()?;
    let transition: Transition = serde_json::from_str(raw.get()).ok()?;
    Some(Lost {
        sequence: version.line.seq,
        trigger: transition.trigger,
        to: transition.to,
    })
}

fn parse(text: &str) -> Option<Value> {
    serde_json::from_str(text.trim_start_matches('\u{feff}')).ok()
}
