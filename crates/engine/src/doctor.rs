//! `doctor`: everything that is odd about a file, and its repair.

use crate::context::Context;
use crate::error::Error;
use crate::files::{KnownFile, Moved, Notice};
use crate::kinds::{self, FileKind};
use crate::lost::{self, Lost};
use crate::notice::Origin;
use crate::operations::develop::run_in;
use crate::operations::memory::MemoryFolder;
use crate::trust;
use bowline_formats::finding::{Finding, Severity};
use bowline_formats::json::JsonDocument;
use bowline_machines::develop::{CheckpointStatus, Gate, Run};
use serde_json::json;
use std::path::Path;

/// What the doctor says about one file.
#[derive(Debug, Clone)]
pub struct Diagnosis {
    /// The file.
    pub file: KnownFile,
    /// The document, when it can be read.
    pub document: Option<JsonDocument>,
    /// Everything found, before any repair.
    pub findings: Vec<Finding>,
    /// What a repair did; empty without one.
    pub repairs: Vec<String>,
    /// What is still there after a repair; the same as `findings` without one.
    pub remaining: Vec<Finding>,
}

impl Diagnosis {
    /// Whether the file is fit for work: nothing is left that is worse than a warning.
    pub fn healthy(&self) -> bool {
        self.remaining
            .iter()
            .all(|finding| finding.severity < Severity::Error)
    }
}

/// Examines a file without changing anything.
pub fn examine(context: &Context, file: &KnownFile) -> Result<Diagnosis, Error> {
    let mut diagnosis = Diagnosis {
        file: file.clone(),
        document: None,
        findings: Vec::new(),
        repairs: Vec::new(),
        remaining: Vec::new(),
    };
    match file.view(context) {
        Ok(view) => {
            diagnosis.findings = view.notices.iter().map(Notice::to_finding).collect();
            let told = view
                .notices
                .iter()
                .any(|notice| notice.code() == "lost_transition");
            if !told
                && let Some((_, lost)) = lost::healed(&file.file, view.document.value(), false)?
            {
                diagnosis
                    .findings
                    .push(Notice::OutsideEdit { lost }.to_finding());
            }
            diagnosis.findings.extend(view.examined.findings);
            diagnosis.document = Some(view.document);
        }
        Err(Error::Damaged { findings, .. }) => diagnosis.findings = findings,
        Err(error) => return Err(error),
    }
    diagnosis.findings.extend(journal_findings(file)?);
    if owes_history(file)? {
        diagnosis.findings.push(Finding {
            severity: Severity::Error,
            code: "history_owed",
            pointer: String::new(),
            message: "a task that is over is not in the history yet".into(),
            repair: Some("write it there".into()),
        });
    }
    diagnosis.remaining = diagnosis.findings.clone();
    Ok(diagnosis)
}

/// Lines of the journal that cannot be read or do not follow each other. Nothing repairs the past.
fn journal_findings(file: &KnownFile) -> Result<Vec<Finding>, Error> {
    let history = file.file.history()?;
    let bad = history.findings.iter().map(|one| Finding {
        severity: Severity::Warning,
        code: one.code(),
        pointer: String::new(),
        message: one.to_string(),
        repair: None,
    });
    let mut findings: Vec<Finding> = bad.collect();
    let numbers: Vec<u64> = history.lines.iter().map(|line| line.seq).collect();
    if let Some(pair) = numbers.windows(2).find(|pair| pair[1] != pair[0] + 1) {
        findings.push(Finding {
            severity: Severity::Warning,
            code: "journal_broken",
            pointer: String::new(),
            message: format!(
                "the journal goes from line {} to line {}: history and undo end there",
                pair[0], pair[1]
            ),
            repair: None,
        });
    }
    Ok(findings)
}

/// Whether a finished task has not reached the history.
fn owes_history(file: &KnownFile) -> Result<bool, Error> {
    Ok(file.kind == FileKind::TaskState && !file.file.pending_effects()?.is_empty())
}

/// Examines a file and repairs what can be repaired: restores a damaged one, applies lost transitions again, mends fields,
/// and writes what is owed to the history. Looks again afterwards.
pub fn repair(context: &Context, file: &KnownFile) -> Result<Diagnosis, Error> {
    let mut diagnosis = mend(context, file)?;
    if owes_history(file)? {
        let folder = file.path.parent().unwrap_or(Path::new("."));
        MemoryFolder::at(context, folder).settle(context)?;
        diagnosis
            .repairs
            .push("wrote the finished task to the history".into());
    }
    if file.kind == FileKind::TaskState {
        let folder = file.path.parent().unwrap_or(Path::new("."));
        let cleared = MemoryFolder::at(context, folder).clear_finished(context)?;
        diagnosis
            .repairs
            .extend(cleared.iter().map(ToString::to_string));
    }
    diagnosis.remaining = examine(context, file)?.findings;
    Ok(diagnosis)
}

fn mend(context: &Context, file: &KnownFile) -> Result<Diagnosis, Error> {
    let mut diagnosis = examine(context, file)?;
    let restored = diagnosis.document.is_none();
    let guarded = restored && file.kind == FileKind::Develop;
    let claimed = match guarded {
        true => trust::claimed(&file.file)?,
        false => None,
    };
    let mut proven = None;
    if restored {
        if let Some(notice) = file.recover(context, &diagnosis.findings)? {
            let journal =
                matches!(&notice, Notice::Restored { from, .. } if *from == Origin::Journal);
            if guarded && !journal {
                proven = Some(trust::proven(&file.path)?);
            }
            diagnosis.repairs.push(notice.to_string());
        }
        diagnosis.document = Some(file.view(context)?.document);
    }
    // Adopting an outside edit is itself a change: the journal has to know it before what it lost can be told.
    let view = file.view(context)?;
    let outside = view
        .notices
        .iter()
        .any(|notice| matches!(notice, Notice::OutsideEdit { .. }));
    let healed = lost::healed(&file.file, view.document.value(), outside)?;
    let lost: Vec<Lost> = healed
        .as_ref()
        .map(|(_, lost)| lost.clone())
        .unwrap_or_default();
    if !outside && healed.is_none() && !view.examined.needs_repair() && !guarded {
        let behind = |notice: &&Notice| matches!(notice, Notice::RolledForward { .. });
        if let Some(notice) = view.notices.iter().find(behind) {
            // Taking the lock completes what was committed.
            drop(file.file.hold(&context.request())?);
            diagnosis.repairs.push(notice.to_string());
        }
        return Ok(diagnosis);
    }
    let target = healed.map(|(value, _)| value);
    let changed = file.rewrite(context, |now| {
        let joined = match &target {
            Some(value) => now.reconcile(value),
            None => now.clone(),
        };
        let examined =
            kinds::examine(file.kind, &joined).map_err(|findings| file.damaged(findings))?;
        let mended = joined.reconcile(&examined.fixed);
        let mended = match &proven {
            Some(proven) => trust::within(&mended, proven),
            None => mended,
        };
        let mended = kinds::brought_back(file.kind, &mended, context.now_for(file.kind));
        let sequences: Vec<u64> = lost.iter().map(|one| one.sequence).collect();
        let moved = Moved {
            entity: "file",
            from: kinds::examine(file.kind, now)
                .ok()
                .map(|examined| examined.status),
            to: examined.status,
            trigger: "REPAIR",
            metadata: json!({ "reapplied": sequences }),
            important: true,
            effects: None,
        };
        Ok((mended, moved))
    })?;
    diagnosis
        .repairs
        .extend(lost.iter().map(|one| format!("applied {one} again")));
    let mended = changed
        .view
        .notices
        .iter()
        .filter(|notice| matches!(notice, Notice::Mended(_)));
    diagnosis.repairs.extend(mended.map(ToString::to_string));
    if guarded {
        let found = claimed.or_else(|| run_in(&view.document));
        let told = found.zip(run_in(&changed.view.document));
        diagnosis.repairs.extend(
            told.iter()
                .flat_map(|(found, left)| taken_back(found, left)),
        );
    }
    diagnosis.document = Some(changed.view.document);
    Ok(diagnosis)
}

/// What a repaired run has no longer, in a line each.
fn taken_back(found: &Run, left: &Run) -> Vec<String> {
    let mut told = Vec::new();
    if found.phase != left.phase {
        let (left, found) = (left.phase.name(), found.phase.name());
        told.push(format!(
            "phase {left} instead of {found}: the journal is gone, and this is what the copies and the evidence left of it show"
        ));
    }
    let closed = |gate: &Gate| found.gates.is_open(*gate) && !left.gates.is_open(*gate);
    let gates: Vec<&str> = Gate::ALL
        .iter()
        .filter(|gate| closed(gate))
        .map(|gate| gate.name())
        .collect();
    if !gates.is_empty() {
        told.push(format!(
            "closed {}: a repair leaves no gate open; each has to be passed again",
            gates.join(", ")
        ));
    }
    let open = left.unpassed();
    let again: Vec<&str> = found
        .checkpoints
        .iter()
        .filter(|known| known.status == CheckpointStatus::Passed && open.contains(&known.id))
        .map(|known| known.id.as_str())
        .collect();
    if !again.is_empty() {
        told.push(format!(
            "no longer passed: {}; nothing that is left shows it",
            again.join(", ")
        ));
    }
    told
}
