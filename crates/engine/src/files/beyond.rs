//! What a kind of file knows beyond its document: whether a missing one is missed, what of it is believed, how it comes back,
//! and what its reader is told besides.

use super::{KnownFile, Notice, View};
use crate::context::Context;
use crate::develop::Known;
use crate::error::Error;
use crate::install;
use crate::kinds::{self, Examined, FileKind};
use crate::operations::orchestrate::{own_plan, total_by_plan};
use crate::past;
use crate::rebuild;
use crate::replay::OrchestrateReplay;
use crate::trust;
use bowline_formats::finding::Finding;
use bowline_formats::json::{JsonDocument, lookup};
use bowline_formats::orchestrate;
use bowline_machines::Timestamp;
use bowline_machines::develop::{Phase, Run};
use bowline_statefiles::{Situation, Snapshot, Source, StateFile};
use bowline_words::message as words;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

/// A document as far as it is believed, and the names of what is not.
pub(super) type Believed = (JsonDocument, Vec<String>);

/// The kind's own answers. What is not said otherwise holds for a file that is all there is of it.
pub(crate) trait Beyond: Sync {
    /// The file with what only this kind can do with its journal.
    fn journalled(&self, file: StateFile) -> StateFile {
        file
    }

    /// Whether a file that is not there should be.
    fn is_missing(&self, _: &KnownFile, snapshot: &Snapshot) -> bool {
        matches!(snapshot.situation, Situation::Missing { .. })
    }

    /// Why nothing may be decided on a file as it is.
    fn stops(&self, _: &Snapshot) -> Result<(), Vec<Finding>> {
        Ok(())
    }

    /// How much of a document is believed.
    fn believed(
        &self,
        _: &KnownFile,
        _: &Snapshot,
        document: JsonDocument,
    ) -> Result<Believed, Vec<Finding>> {
        Ok((document, Vec::new()))
    }

    /// The text of a file that can be read, but of which nothing can be believed.
    fn unbelieved(&self, _: &KnownFile) -> Option<String> {
        None
    }

    /// What a file that is not believed says of its run all the same.
    fn claimed(&self, _: &KnownFile) -> Result<Option<Run>, Error> {
        Ok(None)
    }

    /// Whether a change brings a damaged file back by itself, or only a doctor who is asked does.
    fn comes_back_unasked(&self) -> bool {
        true
    }

    /// A document as it may come back from somewhere else than where it was.
    fn brought_back(&self, _: &KnownFile, _: &Source, document: JsonDocument) -> JsonDocument {
        document
    }

    /// Whether a file that cannot be used as it is can be read all the same.
    fn can_be_read(&self, _: &JsonDocument) -> bool {
        false
    }

    /// What was found in a document, held against what else is known.
    fn examined(&self, _: &KnownFile, _: &JsonDocument, found: Examined) -> Examined {
        found
    }

    /// A document rebuilt from what else is known.
    fn rebuilt(&self, _: &KnownFile, _: Timestamp) -> Option<JsonDocument> {
        None
    }

    /// Adds advice to a view that needs more than its document.
    fn advise(&self, _: &Context, _: &KnownFile, _: &mut View) -> Result<(), Error> {
        Ok(())
    }

    /// What a reader is told that needs more than the document.
    fn told(&self, _: &Context, _: &KnownFile, _: &View) -> Vec<Notice> {
        Vec::new()
    }
}

impl FileKind {
    pub(crate) fn beyond(self) -> &'static dyn Beyond {
        match self {
            FileKind::Thinking => &Alone,
            FileKind::TaskState => &CurrentTask,
            FileKind::TaskHistory | FileKind::SharedContext | FileKind::AgentMemory => &OfMemory,
            FileKind::Develop => &GuardedRun,
            FileKind::Orchestrate => &Planned,
        }
    }
}

struct Alone;

impl Beyond for Alone {}

/// Files of the memory have copies, which say that they should be there.
struct OfMemory;

impl Beyond for OfMemory {
    fn is_missing(&self, file: &KnownFile, snapshot: &Snapshot) -> bool {
        match snapshot.situation {
            Situation::Missing { .. } => true,
            // Without a journal nobody removed it in our name: a copy says that it should be here.
            Situation::Absent => snapshot.seq == 0 && file.kind.has_copies(&file.path),
            Situation::Unmanaged
            | Situation::Clean
            | Situation::RolledForward { .. }
            | Situation::Outside { .. } => false,
        }
    }
}

/// The current task must agree with the history beside it.
struct CurrentTask;

impl Beyond for CurrentTask {
    fn is_missing(&self, file: &KnownFile, snapshot: &Snapshot) -> bool {
        OfMemory.is_missing(file, snapshot)
    }

    fn told(&self, context: &Context, file: &KnownFile, view: &View) -> Vec<Notice> {
        Vec::from_iter(past::finished_notice(context, file, view))
    }
}

/// A run whose gates count only as Bowline wrote them.
struct GuardedRun;

impl Beyond for GuardedRun {
    fn journalled(&self, file: StateFile) -> StateFile {
        file.with_history()
    }

    /// A run that is over may be removed by anyone.
    fn is_missing(&self, file: &KnownFile, snapshot: &Snapshot) -> bool {
        trust::is_missing(&file.path, &file.file, snapshot)
    }

    /// A change would set a journal aside that cannot be read, and nothing would be known of the gates.
    fn stops(&self, snapshot: &Snapshot) -> Result<(), Vec<Finding>> {
        trust::check(snapshot)
    }

    fn believed(
        &self,
        file: &KnownFile,
        snapshot: &Snapshot,
        document: JsonDocument,
    ) -> Result<Believed, Vec<Finding>> {
        // What cannot be read at all is told in its own words.
        kinds::examine(file.kind, &document)?;
        trust::believed(&file.path, &file.file, snapshot, document)
    }

    fn unbelieved(&self, file: &KnownFile) -> Option<String> {
        trust::unbelieved(&file.path, &file.file).ok().flatten()
    }

    fn claimed(&self, file: &KnownFile) -> Result<Option<Run>, Error> {
        trust::claimed(&file.file)
    }

    /// A doctor closes its gates.
    fn comes_back_unasked(&self) -> bool {
        false
    }

    /// Nothing is further than the evidence shows where the journal is gone.
    fn brought_back(&self, file: &KnownFile, source: &Source, text: JsonDocument) -> JsonDocument {
        let known = matches!(source, Source::Journal | Source::Version { .. });
        match trust::proven(&file.path) {
            Ok(proven) if !known => trust::within(&text, &proven),
            Ok(_) | Err(_) => text,
        }
    }

    fn advise(&self, context: &Context, file: &KnownFile, view: &mut View) -> Result<(), Error> {
        let known = Known::at(context, file, view.history.as_ref())?;
        view.examined.next = known.next(context, view.run(), None)?;
        Ok(())
    }

    fn told(&self, context: &Context, file: &KnownFile, view: &View) -> Vec<Notice> {
        if view.run().is_none_or(|run| run.phase == Phase::Done) {
            return Vec::new();
        }
        let off = install::git_hooks_off(&file.path);
        let off = off.map(|words| Notice::Keeper {
            code: "git_hooks_off",
            words,
        });
        let known = Known::at(context, file, view.history.as_ref()).ok();
        let seal = known.and_then(|known| known.seal(context).ok()?);
        let skips = seal.is_some_and(|seal| seal.rules.tree == Some(false));
        let skips = skips.then_some(Notice::TreeNotCompared);
        off.into_iter().chain(skips).collect()
    }
}

/// A run of a plan, which says much of it again.
struct Planned;

impl Beyond for Planned {
    fn journalled(&self, file: StateFile) -> StateFile {
        file.with_replay(Arc::new(OrchestrateReplay))
    }

    fn can_be_read(&self, document: &JsonDocument) -> bool {
        orchestrate::known(document).is_ok()
    }

    fn examined(&self, file: &KnownFile, document: &JsonDocument, mut found: Examined) -> Examined {
        let place = "/metrics/total_tasks";
        let at = found.findings.iter().position(|one| one.pointer == place);
        let Some((at, total)) = at.zip(total_by_plan(file, document)) else {
            return found;
        };
        let told = lookup(document.value(), place).and_then(Value::as_u64);
        let makes = total.to_string();
        match told {
            Some(told) if Ok(told) == u64::try_from(total) => {
                found.findings.remove(at);
            }
            Some(told) => {
                let is = told.to_string();
                found.findings[at].message = words::Found::Derived { is, makes };
            }
            None => found.findings[at].message = words::Found::DerivedMissing { makes },
        }
        if let Some(value) = found.fixed.pointer_mut(place) {
            *value = total.into();
        }
        found
    }

    fn told(&self, _: &Context, file: &KnownFile, view: &View) -> Vec<Notice> {
        let root = file.path.parent().and_then(Path::parent);
        root.map_or_else(Vec::new, |root| own_plan::notices(root, &view.document))
    }

    fn rebuilt(&self, file: &KnownFile, now: Timestamp) -> Option<JsonDocument> {
        // `.claude/orchestrate-state.json`: the project is two folders up.
        rebuild::orchestration(file.path.parent()?.parent()?, now)
    }
}
