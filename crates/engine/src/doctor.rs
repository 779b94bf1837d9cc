//! `doctor`: everything that is odd about a file, and its repair.

use crate::context::Context;
use crate::error::Error;
use crate::files::{KnownFile, Moved, Notice};
use crate::kinds::{self, FileKind};
use crate::lost::{self, Lost};
use bowline_formats::finding::{Finding, Severity};
use bowline_formats::json::JsonDocument;
use serde_json::json;

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
}

impl Diagnosis {
    /// Whether the file is fit for work: nothing found worse than a note, or all of it repaired.
    pub fn healthy(&self) -> bool {
        self.findings
            .iter()
            .all(|finding| finding.severity < Severity::Error)
            || !self.repairs.is_empty()
    }
}

/// Examines a file without changing anything.
pub fn examine(context: &Context, file: &KnownFile) -> Result<Diagnosis, Error> {
    let mut diagnosis = Diagnosis {
        file: file.clone(),
        document: None,
        findings: Vec::new(),
        repairs: Vec::new(),
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
    Ok(diagnosis)
}

/// Examines a file and repairs what can be repaired: restores a damaged one, applies lost transitions again, mends fields.
pub fn repair(context: &Context, file: &KnownFile) -> Result<Diagnosis, Error> {
    let mut diagnosis = examine(context, file)?;
    let restored = diagnosis.document.is_none();
    if restored {
        if let Some(notice) = file.recover(context, &diagnosis.findings)? {
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
    let guarded = restored && file.kind == FileKind::Develop;
    if !outside && healed.is_none() && !view.examined.needs_repair() && !guarded {
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
    diagnosis.document = Some(changed.view.document);
    Ok(diagnosis)
}
