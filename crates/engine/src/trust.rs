//! Decides which contents of a develop run's file are trusted: gates, phase and checkpoints only as
//! Bowline wrote them.

use crate::develop::{RunFolder, evidence};
use crate::error::Error;
use bowline_formats::StateFormat as _;
use bowline_formats::develop::DevelopFile;
use bowline_formats::develop::evidence::EvidenceRecord;
use bowline_formats::finding::{Finding, Severity};
use bowline_formats::json::JsonDocument;
use bowline_gate::locate;
use bowline_gate::run_trust::{RunTrust, assess_trust, check_readable};
use bowline_machines::Timestamp;
use bowline_machines::develop::{
    DevelopCheckpoint, DevelopPhase, DevelopRunState, Gate, with_closed_gates,
};
use bowline_statefiles::{FileSnapshot, StateFile};
use bowline_words::message::FileFinding;
use std::path::Path;

/// Returns the document with untrusted contents replaced by their previous values, and the names of
/// these contents.
pub(crate) fn trusted_document(
    path: &Path,
    file: &StateFile,
    snapshot: &FileSnapshot,
    document: JsonDocument,
) -> Result<(JsonDocument, Vec<String>), Vec<Finding>> {
    match assess_trust(path, file, snapshot).map_err(untrusted_finding)? {
        RunTrust::Run(run) if !run.distrusted.is_empty() => {
            let mut value = DevelopFile::read_state(&document)?.fixed;
            // The run has its own time; the one given here is not used.
            DevelopFile::write_state(&Some(run.run), &mut value, Timestamp(0));
            Ok((document.reconcile(&value), run.distrusted))
        }
        RunTrust::Run(_) | RunTrust::Nothing => Ok((document, Vec::new())),
        RunTrust::Missing { .. } => Err(untrusted_finding("the file went away".into())),
        RunTrust::Damaged { reason, .. } => Err(untrusted_finding(reason)),
    }
}

/// Fails if nothing can be trusted. Other problems are found when the file is read.
pub(crate) fn check_run_readable(snapshot: &FileSnapshot) -> Result<(), Vec<Finding>> {
    check_readable(snapshot).map_err(untrusted_finding)
}

/// True if a run that is not over has lost its file.
pub(crate) fn is_missing(path: &Path, file: &StateFile, snapshot: &FileSnapshot) -> bool {
    !matches!(assess_trust(path, file, snapshot), Ok(RunTrust::Nothing))
}

/// Returns the text of a file that can be read but of which nothing can be trusted.
pub(crate) fn untrusted_text(path: &Path, file: &StateFile) -> Result<Option<String>, Error> {
    let snapshot = file.load()?;
    let Some(text) = snapshot.text().ok().flatten() else {
        return Ok(None);
    };
    let believed = assess_trust(path, file, &snapshot).is_ok();
    Ok((!believed).then(|| text.to_owned()))
}

/// Returns the run that the file claims, trusted or not; `None` if it cannot be read.
pub(crate) fn claimed_run(file: &StateFile) -> Result<Option<DevelopRunState>, Error> {
    let snapshot = file.load()?;
    let text = snapshot.text().ok().flatten();
    let document = text.and_then(|text| JsonDocument::parse(text.as_bytes()).ok());
    let read = document.and_then(|document| DevelopFile::read_state(&document).ok());
    Ok(read.and_then(|read| read.state))
}

/// Progress of a run, as proven by the evidence of the newest one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProvenProgress {
    /// Latest phase with evidence that can be gathered nowhere else.
    reached: DevelopPhase,
    /// Latest phase whose preceding gate was opened.
    entered: DevelopPhase,
}

/// Returns the progress that the evidence of the newest run shows when its journal is gone.
pub(crate) fn proven_progress(path: &Path) -> Result<ProvenProgress, Error> {
    let entries = std::fs::read_dir(locate::runs_folder(path));
    let names = entries.into_iter().flatten().flatten();
    // Ids begin with the time.
    let newest = names
        .filter_map(|it| it.file_name().into_string().ok())
        .max();
    let records = match newest {
        Some(id) => evidence::all_evidence(&RunFolder::new(path, &id))?,
        None => Vec::new(),
    };
    Ok(proven_by(&records))
}

fn proven_by(records: &[EvidenceRecord]) -> ProvenProgress {
    let mut proven = ProvenProgress {
        reached: DevelopPhase::Design,
        entered: DevelopPhase::Review,
    };
    for record in records {
        let gate = record.gate.as_deref().and_then(Gate::from_name);
        let here = gate.map_or(DevelopPhase::Implement, Gate::opening_phase);
        proven.reached = proven.reached.max(here);
        let next = match gate {
            Some(Gate::ReviewCleanPass) => DevelopPhase::Implement,
            Some(Gate::ArchitectVerified) => DevelopPhase::Pr,
            Some(Gate::ReReviewClean) => DevelopPhase::Done,
            None => DevelopPhase::Implement,
        };
        if record.exit_code == 0 {
            proven.entered = proven.entered.max(next);
        }
    }
    proven.entered = proven.entered.max(proven.reached);
    proven
}

/// Limits the phase of the document to the range that the evidence allows: an earlier phase would
/// guard less, and a later one is not proven.
pub(crate) fn limit_phase(document: &JsonDocument, proven: &ProvenProgress) -> JsonDocument {
    let Ok(read) = DevelopFile::read_state(document) else {
        return document.clone();
    };
    let run = read.state.map(|run| DevelopRunState {
        phase: run.phase.clamp(proven.reached, proven.entered),
        ..run
    });
    let mut value = read.fixed;
    DevelopFile::write_state(&run, &mut value, Timestamp(0));
    document.reconcile(&value)
}

/// Returns the document with every gate closed and no checkpoint passed, for a text of which
/// nothing can be trusted.
pub(crate) fn words_of(text: &str) -> Option<JsonDocument> {
    let document = JsonDocument::parse(text.as_bytes()).ok()?;
    let read = DevelopFile::read_state(&document).ok()?;
    let run = read.state.map(|run| {
        let pending = |known: &DevelopCheckpoint| DevelopCheckpoint::pending(known.id.clone());
        let checkpoints = run.checkpoints.iter().map(pending).collect();
        DevelopRunState {
            checkpoints,
            ..with_closed_gates(&run)
        }
    });
    let mut value = read.fixed;
    DevelopFile::write_state(&run, &mut value, Timestamp(0));
    // The result must differ from the text that is not trusted.
    let document = document.reconcile(&value);
    if document.text() == text {
        return JsonDocument::from_text(format!("{text}\n")).ok();
    }
    Some(document)
}

fn untrusted_finding(reason: String) -> Vec<Finding> {
    vec![Finding {
        severity: Severity::Fatal,
        code: "journal_unreadable",
        pointer: String::new(),
        message: FileFinding::NotBelieved { reason },
        repair: None,
    }]
}
