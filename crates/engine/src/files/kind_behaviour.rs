//! Behaviour of each kind of file beyond its document: when a missing file counts as lost, which
//! contents are trusted, how it is restored, and which notices a reader gets.

use super::{FileNotice, FileView, KnownFile};
use crate::context::Context;
use crate::develop::RunRecords;
use crate::error::Error;
use crate::finished_tasks;
use crate::install;
use crate::kinds::{self, ExaminedDocument, FileKind};
use crate::operations::orchestrate::{own_plan, total_by_plan};
use crate::rebuild;
use crate::replay::OrchestrateReplay;
use crate::trust;
use bowline_formats::finding::Finding;
use bowline_formats::json::{JsonDocument, value_at};
use bowline_formats::orchestrate;
use bowline_machines::Timestamp;
use bowline_machines::develop::{DevelopPhase, DevelopRunState};
use bowline_statefiles::{FileSituation, FileSnapshot, RepairSource, StateFile};
use bowline_words::message as words;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

/// Document limited to trusted contents, and the names of the others.
pub(super) type TrustedDocument = (JsonDocument, Vec<String>);

/// Behaviour of a kind. The defaults hold for a file without related data elsewhere.
pub(crate) trait KindBehaviour: Sync {
    /// Adds what only this kind can do with its journal.
    fn with_journal(&self, file: StateFile) -> StateFile {
        file
    }

    /// True if a file that does not exist should.
    fn is_missing(&self, _: &KnownFile, snapshot: &FileSnapshot) -> bool {
        matches!(snapshot.situation, FileSituation::Missing { .. })
    }

    /// Fails if no decision may be based on the file as it is.
    fn check_snapshot(&self, _: &FileSnapshot) -> Result<(), Vec<Finding>> {
        Ok(())
    }

    /// Limits a document to its trusted contents.
    fn trusted_document(
        &self,
        _: &KnownFile,
        _: &FileSnapshot,
        document: JsonDocument,
    ) -> Result<TrustedDocument, Vec<Finding>> {
        Ok((document, Vec::new()))
    }

    /// Returns the text of a file that can be read but of which nothing is trusted.
    fn untrusted_text(&self, _: &KnownFile) -> Option<String> {
        None
    }

    /// Returns the run that a file claims, trusted or not.
    fn claimed_run(&self, _: &KnownFile) -> Result<Option<DevelopRunState>, Error> {
        Ok(None)
    }

    /// True if a change restores a damaged file by itself; otherwise only an explicit `doctor`
    /// does.
    fn restores_automatically(&self) -> bool {
        true
    }

    /// Returns a document as it may be restored from another source.
    fn restored_document(
        &self,
        _: &KnownFile,
        _: &RepairSource,
        document: JsonDocument,
    ) -> JsonDocument {
        document
    }

    /// True if a file that is not usable as it is can still be read.
    fn can_be_read(&self, _: &JsonDocument) -> bool {
        false
    }

    /// Corrects the findings of a document by other sources.
    fn correct_findings(
        &self,
        _: &KnownFile,
        _: &JsonDocument,
        found: ExaminedDocument,
    ) -> ExaminedDocument {
        found
    }

    /// Rebuilds a document from other sources.
    fn rebuild_document(&self, _: &KnownFile, _: Timestamp) -> Option<JsonDocument> {
        None
    }

    /// Adds advice that needs more than the document to a view.
    fn add_advice(&self, _: &Context, _: &KnownFile, _: &mut FileView) -> Result<(), Error> {
        Ok(())
    }

    /// Returns notices that need more than the document.
    fn extra_notices(&self, _: &Context, _: &KnownFile, _: &FileView) -> Vec<FileNotice> {
        Vec::new()
    }
}

impl FileKind {
    pub(crate) fn behaviour(self) -> &'static dyn KindBehaviour {
        match self {
            FileKind::Thinking => &StandaloneFile,
            FileKind::TaskState => &CurrentTask,
            FileKind::TaskHistory | FileKind::SharedContext | FileKind::AgentMemory => {
                &BackedUpFile
            }
            FileKind::Develop => &GuardedRun,
            FileKind::Orchestrate => &PlannedRun,
        }
    }
}

struct StandaloneFile;

impl KindBehaviour for StandaloneFile {}

/// A file of the memory has copies, which show that it should exist.
struct BackedUpFile;

impl KindBehaviour for BackedUpFile {
    fn is_missing(&self, file: &KnownFile, snapshot: &FileSnapshot) -> bool {
        match snapshot.situation {
            FileSituation::Missing { .. } => true,
            // Without a journal, Bowline did not remove it: a copy shows that it should exist.
            FileSituation::Absent => snapshot.seq == 0 && file.kind.has_copies(&file.path),
            FileSituation::Unmanaged
            | FileSituation::Clean
            | FileSituation::RolledForward { .. }
            | FileSituation::Outside { .. } => false,
        }
    }
}

/// The current task must agree with the history beside it.
struct CurrentTask;

impl KindBehaviour for CurrentTask {
    fn is_missing(&self, file: &KnownFile, snapshot: &FileSnapshot) -> bool {
        BackedUpFile.is_missing(file, snapshot)
    }

    fn extra_notices(
        &self,
        context: &Context,
        file: &KnownFile,
        view: &FileView,
    ) -> Vec<FileNotice> {
        Vec::from_iter(finished_tasks::finished_notice(context, file, view))
    }
}

/// A run whose gates count only as Bowline wrote them.
struct GuardedRun;

impl KindBehaviour for GuardedRun {
    fn with_journal(&self, file: StateFile) -> StateFile {
        file.with_history()
    }

    /// A run that is over may be removed without Bowline.
    fn is_missing(&self, file: &KnownFile, snapshot: &FileSnapshot) -> bool {
        trust::is_missing(&file.path, &file.file, snapshot)
    }

    /// A change would set an unreadable journal aside, and the state of the gates would be lost.
    fn check_snapshot(&self, snapshot: &FileSnapshot) -> Result<(), Vec<Finding>> {
        trust::check_run_readable(snapshot)
    }

    fn trusted_document(
        &self,
        file: &KnownFile,
        snapshot: &FileSnapshot,
        document: JsonDocument,
    ) -> Result<TrustedDocument, Vec<Finding>> {
        // A document that cannot be parsed is reported by its own findings.
        kinds::examine_document(file.kind, &document)?;
        trust::trusted_document(&file.path, &file.file, snapshot, document)
    }

    fn untrusted_text(&self, file: &KnownFile) -> Option<String> {
        trust::untrusted_text(&file.path, &file.file).ok().flatten()
    }

    fn claimed_run(&self, file: &KnownFile) -> Result<Option<DevelopRunState>, Error> {
        trust::claimed_run(&file.file)
    }

    /// Only `doctor` restores it: that closes its gates.
    fn restores_automatically(&self) -> bool {
        false
    }

    /// If the journal is gone, the phase goes no further than the evidence shows.
    fn restored_document(
        &self,
        file: &KnownFile,
        source: &RepairSource,
        text: JsonDocument,
    ) -> JsonDocument {
        let known = matches!(source, RepairSource::Journal | RepairSource::Version { .. });
        match trust::proven_progress(&file.path) {
            Ok(proven) if !known => trust::limit_phase(&text, &proven),
            Ok(_) | Err(_) => text,
        }
    }

    fn add_advice(
        &self,
        context: &Context,
        file: &KnownFile,
        view: &mut FileView,
    ) -> Result<(), Error> {
        let known = RunRecords::from_journal(context, file, view.history.as_ref())?;
        view.examined.next = known.next_commands(context, view.develop_run(), None)?;
        Ok(())
    }

    fn extra_notices(
        &self,
        context: &Context,
        file: &KnownFile,
        view: &FileView,
    ) -> Vec<FileNotice> {
        if view
            .develop_run()
            .is_none_or(|run| run.phase == DevelopPhase::Done)
        {
            return Vec::new();
        }
        let off = install::git_hooks_off(&file.path);
        let off = off.map(|words| FileNotice::Keeper {
            code: "git_hooks_off",
            words,
        });
        let known = RunRecords::from_journal(context, file, view.history.as_ref()).ok();
        let seal = known.and_then(|known| known.read_seal(context).ok()?);
        let skips = seal.is_some_and(|seal| seal.rules.tree == Some(false));
        let skips = skips.then_some(FileNotice::TreeNotCompared);
        off.into_iter().chain(skips).collect()
    }
}

/// A run of a plan; the plan repeats much of it.
struct PlannedRun;

impl KindBehaviour for PlannedRun {
    fn with_journal(&self, file: StateFile) -> StateFile {
        file.with_replay(Arc::new(OrchestrateReplay))
    }

    fn can_be_read(&self, document: &JsonDocument) -> bool {
        orchestrate::read_facts(document).is_ok()
    }

    fn correct_findings(
        &self,
        file: &KnownFile,
        document: &JsonDocument,
        mut found: ExaminedDocument,
    ) -> ExaminedDocument {
        let place = "/metrics/total_tasks";
        let at = found.findings.iter().position(|one| one.pointer == place);
        let Some((at, total)) = at.zip(total_by_plan(file, document)) else {
            return found;
        };
        let recorded = value_at(document.value(), place).and_then(Value::as_u64);
        let makes = total.to_string();
        match recorded {
            Some(recorded) if Ok(recorded) == u64::try_from(total) => {
                found.findings.remove(at);
            }
            Some(recorded) => {
                let is = recorded.to_string();
                found.findings[at].message = words::FileFinding::Derived { is, makes };
            }
            None => found.findings[at].message = words::FileFinding::DerivedMissing { makes },
        }
        if let Some(value) = found.fixed.pointer_mut(place) {
            *value = total.into();
        }
        found
    }

    fn extra_notices(&self, _: &Context, file: &KnownFile, view: &FileView) -> Vec<FileNotice> {
        let root = file.path.parent().and_then(Path::parent);
        root.map_or_else(Vec::new, |root| {
            own_plan::plan_notices(root, &view.document)
        })
    }

    fn rebuild_document(&self, file: &KnownFile, now: Timestamp) -> Option<JsonDocument> {
        // `.claude/orchestrate-state.json`: the project is two folders up.
        rebuild::rebuild_orchestration(file.path.parent()?.parent()?, now)
    }
}
