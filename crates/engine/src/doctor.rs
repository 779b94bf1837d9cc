//! Implements `doctor`: lists the problems of a file and repairs them.

use crate::context::Context;
use crate::error::Error;
use crate::files::{ChangeRecord, FileNotice, KnownFile, unnoted_edit};
use crate::kinds::{self, FileKind};
use crate::lost_updates;
use crate::operations::develop::run_in;
use crate::operations::memory::MemoryFolder;
use bowline_formats::finding::{Finding, Severity};
use bowline_formats::json::JsonDocument;
use bowline_machines::develop::{CheckpointStatus, DevelopRunState, Gate};
use bowline_statefiles::JournalCheck;
use bowline_supervisor::RELAY_VARIABLE;
use bowline_words::message::{FileFinding, Repair, Unrelayed};
use serde_json::json;
use std::cell::RefCell;
use std::path::Path;

/// Result of examining one file.
#[derive(Debug, Clone)]
pub struct Diagnosis {
    pub file: KnownFile,
    /// Document, if it can be read.
    pub document: Option<JsonDocument>,
    /// All findings before any repair.
    pub findings: Vec<Finding>,
    /// Repairs that were made; empty without a repair.
    pub repairs: Vec<Repair>,
    /// Findings left after a repair; equal to `findings` without one.
    pub remaining: Vec<Finding>,
}

impl Diagnosis {
    /// True if nothing worse than a warning is left.
    pub fn is_healthy(&self) -> bool {
        self.remaining
            .iter()
            .all(|finding| finding.severity < Severity::Error)
    }
}

/// Examines a file without changing anything.
pub fn examine_file(context: &Context, file: &KnownFile) -> Result<Diagnosis, Error> {
    let mut diagnosis = Diagnosis {
        file: file.clone(),
        document: None,
        findings: Vec::new(),
        repairs: Vec::new(),
        remaining: Vec::new(),
    };
    let view = file.read_view(context);
    let journals = file.file.check_journals()?;
    match view {
        Ok(view) => {
            let mut notices = view.notices;
            let now = view.document.value();
            // Only an outside edit loses transitions, and only then the history is read.
            let may_lack = journals.outside || view.edited.is_some();
            let healed = match may_lack {
                true => lost_updates::reapply_lost(
                    file.kind,
                    &file.file.read_history()?,
                    now,
                    view.edited,
                ),
                false => None,
            };
            if let Some((_, lost)) = healed {
                // The loss of the last edit is part of it.
                notices.retain(|notice| notice.code() != "lost_transition");
                notices.push(FileNotice::OutsideEdit { lost });
            }
            diagnosis.findings = notices.iter().map(FileNotice::to_finding).collect();
            diagnosis.findings.extend(view.examined.findings);
            diagnosis.document = Some(view.document);
        }
        Err(Error::Damaged { findings, .. }) => diagnosis.findings = findings,
        Err(error) => return Err(error),
    }
    diagnosis.findings.extend(journal_findings(&journals));
    if owes_history(file)? {
        diagnosis.findings.push(Finding {
            severity: Severity::Error,
            code: "history_owed",
            pointer: String::new(),
            message: FileFinding::HistoryOwed,
            repair: Some(Repair::WriteThere),
        });
    }
    diagnosis.remaining = diagnosis.findings.clone();
    Ok(diagnosis)
}

/// Returns findings for journal lines that cannot be read or do not follow each other. Nothing
/// repairs the past.
fn journal_findings(journals: &JournalCheck) -> Vec<Finding> {
    let bad = journals.findings.iter().map(|one| Finding {
        severity: Severity::Warning,
        code: one.code(),
        pointer: String::new(),
        message: FileFinding::Noticed {
            notice: Box::new(crate::words::storage_notice(one)),
        },
        repair: None,
    });
    let gap = journals.gap.map(|(from, to)| Finding {
        severity: Severity::Warning,
        code: "journal_broken",
        pointer: String::new(),
        message: FileFinding::JournalGap { from, to },
        repair: None,
    });
    bad.chain(gap).collect()
}

/// True if a finished task has not been written to the history.
fn owes_history(file: &KnownFile) -> Result<bool, Error> {
    Ok(file.kind == FileKind::TaskState && !file.file.pending_effects()?.is_empty())
}

/// Examines a file and makes all possible repairs: restores a damaged file, reapplies lost
/// transitions, fixes fields, and writes pending entries to the history. Examines it again
/// afterwards.
///
/// A run is not repaired from inside a sandbox: its records cannot be written there, and the relay
/// does not do it for an agent.
pub fn repair_file(context: &Context, file: &KnownFile) -> Result<Diagnosis, Error> {
    if file.kind == FileKind::Develop && context.variables.get(RELAY_VARIABLE).is_some() {
        let diagnosis = examine_file(context, file)?;
        let sound = |one: &Finding| one.severity < Severity::Error && one.repair.is_none();
        return match diagnosis.findings.iter().all(sound) {
            true => Ok(diagnosis),
            false => Err(Error::NotRelayed {
                what: "doctor --repair".into(),
                reason: Unrelayed::Repair,
            }),
        };
    }
    let mut diagnosis = apply_repairs(context, file)?;
    if owes_history(file)? {
        let folder = file.path.parent().unwrap_or(Path::new("."));
        MemoryFolder::in_folder(context, folder).settle_effects(context)?;
        diagnosis.repairs.push(Repair::Wrote);
    }
    if file.kind == FileKind::TaskState {
        let folder = file.path.parent().unwrap_or(Path::new("."));
        let cleared = MemoryFolder::in_folder(context, folder).clear_finished(context)?;
        diagnosis
            .repairs
            .extend(cleared.iter().map(repair_from_notice));
    }
    diagnosis.remaining = examine_file(context, file)?.findings;
    Ok(diagnosis)
}

fn apply_repairs(context: &Context, file: &KnownFile) -> Result<Diagnosis, Error> {
    let mut diagnosis = examine_file(context, file)?;
    if diagnosis.document.is_none() {
        let claimed = file.kind.behaviour().claimed_run(file)?;
        let recovered = file.restore_damaged(context, &diagnosis.findings)?;
        let document = file.read_view(context)?.document;
        if let Some(recovered) = recovered {
            diagnosis
                .repairs
                .push(repair_from_notice(&recovered.notice));
            let found = JsonDocument::from_text(recovered.found).ok();
            let found = claimed.or_else(|| found.as_ref().and_then(run_in));
            let both = found.zip(run_in(&document));
            diagnosis.repairs.extend(
                both.iter()
                    .flat_map(|(found, left)| taken_back(found, left)),
            );
        }
        diagnosis.document = Some(document);
    }
    // The decision may be made several times; the last one counts.
    let lost = RefCell::new(Vec::new());
    let changed = file.fix_document(context, |now, snapshot| {
        let edited = unnoted_edit(snapshot);
        let history = file.file.history_of(snapshot.history.as_ref())?;
        let healed = lost_updates::reapply_lost(file.kind, &history, now.value(), edited);
        let examined = file
            .examine_document(now)
            .map_err(|found| file.damaged_error(found))?;
        // Adopting an outside edit is itself a change: the journal has to record it before its loss
        // can be determined.
        if edited.is_none() && healed.is_none() && !examined.needs_repair() {
            return Ok(None);
        }
        let (joined, again) = match healed {
            Some((value, again)) => (now.reconcile(&value), again),
            None => (now.clone(), Vec::new()),
        };
        let after = file
            .examine_document(&joined)
            .map_err(|found| file.damaged_error(found))?;
        let mended = joined.reconcile(&after.fixed);
        let mended = kinds::restored_document(file.kind, &mended, context.now_for(file.kind));
        let sequences: Vec<u64> = again.iter().map(|one| one.sequence).collect();
        let moved = ChangeRecord {
            entity: "file",
            from: Some(examined.status),
            to: after.status,
            trigger: "REPAIR",
            metadata: json!({ "reapplied": sequences }),
            important: true,
            effects: None,
        };
        lost.replace(again);
        Ok(Some((mended, moved)))
    })?;
    let Some(changed) = changed else {
        // Taking the lock completed the committed changes.
        let behind = |one: &&Finding| one.code == "rolled_forward";
        let completed = diagnosis.findings.iter().filter(behind).count();
        if completed > 0 && !context.dry_run {
            diagnosis.repairs.push(Repair::Completed);
        }
        return Ok(diagnosis);
    };
    let lost = lost.into_inner();
    diagnosis
        .repairs
        .extend(crate::words::lost_passages(&lost).map(|passage| Repair::Applied { passage }));
    let mended = changed
        .view
        .notices
        .iter()
        .filter(|notice| matches!(notice, FileNotice::Mended(_)));
    diagnosis.repairs.extend(mended.map(repair_from_notice));
    diagnosis.document = Some(changed.view.document);
    Ok(diagnosis)
}

/// Converts a notice about a file to a repair.
fn repair_from_notice(notice: &FileNotice) -> Repair {
    Repair::Noticed {
        notice: Box::new(notice.to_message()),
    }
}

/// Lists what a repaired run no longer has.
fn taken_back(found: &DevelopRunState, left: &DevelopRunState) -> Vec<Repair> {
    let mut repairs = Vec::new();
    if found.phase != left.phase {
        let (left, found) = (left.phase.name(), found.phase.name());
        repairs.push(Repair::OtherPhase { left, found });
    }
    let closed = |gate: &Gate| found.gates.is_open(*gate) && !left.gates.is_open(*gate);
    let gates: Vec<&str> = Gate::ALL
        .iter()
        .filter(|gate| closed(gate))
        .map(|gate| gate.name())
        .collect();
    if !gates.is_empty() {
        repairs.push(Repair::ClosedGates {
            gates: gates.join(", "),
        });
    }
    let open = left.unpassed_checkpoints();
    let again: Vec<&str> = found
        .checkpoints
        .iter()
        .filter(|known| known.status == CheckpointStatus::Passed && open.contains(&known.id))
        .map(|known| known.id.as_str())
        .collect();
    if !again.is_empty() {
        repairs.push(Repair::NoLongerPassed {
            checkpoints: again.join(", "),
        });
    }
    repairs
}
