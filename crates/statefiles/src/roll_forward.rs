//! Rolls a document forward over journal lines.

use std::fmt;

use serde_json::value::RawValue;

use crate::error::Incident;
use crate::hash::ContentHash;
use crate::journal::JournalLine;
use crate::splice::apply_splices;

/// Applies the opaque steps of a batch: implemented by the program that knows the format of the
/// document.
///
/// The same steps on the same text must always give the same text.
pub trait StepReplay: fmt::Debug + Send + Sync {
    /// Returns the text after `steps`, or the reason that they cannot be applied.
    fn replay_steps(
        &self,
        text: &str,
        steps: &[&RawValue],
    ) -> Result<String, Box<dyn std::error::Error + Send + Sync>>;
}

/// The reason that lines could not be applied.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RollError {
    /// There are steps, and no [`StepReplay`] to apply them.
    NeedsReplay,
    /// The line was made for another text.
    Misfit { seq: u64 },
}

/// Returns the document after `lines`; `None` for no document.
pub(crate) fn roll_forward(
    start: Option<String>,
    lines: &[&JournalLine],
    replay: Option<&dyn StepReplay>,
    findings: &mut Vec<Incident>,
) -> Result<Option<String>, RollError> {
    let mut text = start;
    let mut steps: Vec<&JournalLine> = Vec::new();
    let mut replayed = false;
    for line in lines {
        if line.logical.is_some() {
            steps.push(line);
            continue;
        }
        if !line.changes_document() {
            continue;
        }
        if !steps.is_empty() {
            text = Some(apply_steps(text, &std::mem::take(&mut steps), replay)?);
            replayed = true;
        }
        let misfit = RollError::Misfit { seq: line.seq };
        if line.gone {
            text = None;
        } else if let Some(document) = &line.document {
            text = Some(document.clone());
        } else if let Some(patch) = &line.patch {
            text = Some(apply_splices(text.as_deref().unwrap_or(""), patch).map_err(|_| misfit)?);
        } else if text.as_deref().map(hash_text) != line.after {
            // A mark. Steps may legitimately replay to other bytes (a time stamp); everything else
            // may not.
            if !replayed {
                return Err(misfit);
            }
            findings.push(Incident::ReplayDiffers { seq: line.seq });
            continue;
        }
        if text.as_deref().map(hash_text) != line.after {
            return Err(RollError::Misfit { seq: line.seq });
        }
    }
    if !steps.is_empty() {
        text = Some(apply_steps(text, &steps, replay)?);
    }
    Ok(text)
}

fn hash_text(text: &str) -> ContentHash {
    ContentHash::of_bytes(text.as_bytes())
}

fn apply_steps(
    text: Option<String>,
    steps: &[&JournalLine],
    replay: Option<&dyn StepReplay>,
) -> Result<String, RollError> {
    let replay = replay.ok_or(RollError::NeedsReplay)?;
    let misfit = RollError::Misfit {
        seq: steps.first().map_or(0, |line| line.seq),
    };
    let Some(text) = text else { return Err(misfit) };
    let raw: Vec<&RawValue> = steps
        .iter()
        .filter_map(|line| line.logical.as_deref())
        .collect();
    replay.replay_steps(&text, &raw).map_err(|_| misfit)
}
