//! What is believed of a develop run when its file is read: gates, phase and checkpoints only as Bowline wrote them.

use crate::error::Error;
use bowline_formats::StateFormat as _;
use bowline_formats::develop::DevelopFile;
use bowline_formats::finding::{Finding, Severity};
use bowline_formats::json::JsonDocument;
use bowline_gate::belief::{Belief, weigh};
use bowline_machines::Timestamp;
use bowline_machines::develop::{Checkpoint, Run, closed};
use bowline_statefiles::{Snapshot, StateFile};
use std::path::Path;

/// The document with what is not believed as it was before, and the names of what is not believed.
pub(crate) fn believed(
    path: &Path,
    file: &StateFile,
    snapshot: &Snapshot,
    document: JsonDocument,
) -> Result<(JsonDocument, Vec<String>), Vec<Finding>> {
    match weigh(path, file, snapshot).map_err(unbelievable)? {
        Belief::Run(run) if !run.distrusted.is_empty() => {
            let mut value = DevelopFile::read(&document)?.fixed;
            // The run has its own time; the one given here is not looked at.
            DevelopFile::write(&Some(run.run), &mut value, Timestamp(0));
            Ok((document.reconcile(&value), run.distrusted))
        }
        Belief::Run(_) | Belief::Nothing => Ok((document, Vec::new())),
        Belief::Missing { .. } => Err(unbelievable("the file went away".into())),
        Belief::Damaged { reason, .. } => Err(unbelievable(reason)),
    }
}

/// Fails when nothing can be believed.
pub(crate) fn check(
    path: &Path,
    file: &StateFile,
    snapshot: &Snapshot,
) -> Result<(), Vec<Finding>> {
    match snapshot.journal_damaged {
        true => weigh(path, file, snapshot)
            .map(|_| ())
            .map_err(unbelievable),
        // Everything else is found when the file is read.
        false => Ok(()),
    }
}

/// Whether a run that is not over has lost its file.
pub(crate) fn is_missing(path: &Path, file: &StateFile, snapshot: &Snapshot) -> bool {
    !matches!(weigh(path, file, snapshot), Ok(Belief::Nothing))
}

/// The text of a file that can be read, but of which nothing can be believed.
pub(crate) fn unbelieved(path: &Path, file: &StateFile) -> Result<Option<String>, Error> {
    let snapshot = file.load()?;
    let Some(text) = snapshot.text().ok().flatten() else {
        return Ok(None);
    };
    let believed = weigh(path, file, &snapshot).is_ok();
    Ok((!believed).then(|| text.to_owned()))
}

/// What is left of a document of which nothing can be believed: every gate closed, no checkpoint passed.
pub(crate) fn words_of(text: &str) -> Option<JsonDocument> {
    let document = JsonDocument::parse(text.as_bytes()).ok()?;
    let read = DevelopFile::read(&document).ok()?;
    let run = read.state.map(|run| {
        let pending = |known: &Checkpoint| Checkpoint::pending(known.id.clone());
        let checkpoints = run.checkpoints.iter().map(pending).collect();
        Run {
            checkpoints,
            ..closed(&run)
        }
    });
    let mut value = read.fixed;
    DevelopFile::write(&run, &mut value, Timestamp(0));
    // Never the very text that is not believed.
    let document = document.reconcile(&value);
    Some(if document.text() == text {
        JsonDocument::new(value)
    } else {
        document
    })
}

fn unbelievable(reason: String) -> Vec<Finding> {
    vec![Finding {
        severity: Severity::Fatal,
        code: "journal_unreadable",
        pointer: String::new(),
        message: reason,
        repair: None,
    }]
}
