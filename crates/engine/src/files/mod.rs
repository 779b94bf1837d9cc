//! State files of all kinds: views, changes and recovery.

mod change;
mod kind_behaviour;

use crate::context::Context;
use crate::effects::PendingEffect;
use crate::error::Error;
use crate::kinds::{self, DocumentState, ExaminedDocument, FileKind};
use crate::lost_updates::{self, OutsideEditKind};
pub use crate::notice::{FileNotice, RestoreSource};
use crate::relay_process;
use crate::trust;
use bowline_formats::finding::{Finding, Severity};
use bowline_formats::foreign::OTHER_PROGRAM;
use bowline_formats::json::{JsonDocument, ParseError};
use bowline_formats::orchestrate::{FOREIGN, mask_webhooks};
use bowline_formats::thinking::ThinkingSheet;
use bowline_machines::develop::DevelopRunState;
use bowline_machines::plan::TaskMemory;
use bowline_statefiles::{
    ContentHash, FileSituation, FileSnapshot, JournalHistory, RepairCallbacks, RepairSource,
    StateFile,
};
use bowline_words::message::FileFinding;
use serde_json::Value;
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Debug, Clone)]
pub struct KnownFile {
    pub kind: FileKind,
    pub path: PathBuf,
    pub(crate) file: StateFile,
}

/// Snapshot of a state file, examined.
#[derive(Debug, Clone)]
pub struct FileView {
    pub kind: FileKind,
    pub path: PathBuf,
    /// Document, committed changes included.
    pub document: JsonDocument,
    /// Its state and findings.
    pub examined: ExaminedDocument,
    /// Notices for its reader.
    pub notices: Vec<FileNotice>,
    /// Number of the last journal line.
    pub sequence: u64,
    /// Version of the document, on which callers base decisions: the number of the last journal
    /// line, or one more for an outside edit that is not recorded yet.
    pub version: u64,
    /// Hash of the document if it is an outside edit that the journal does not know yet.
    pub(crate) edited: Option<ContentHash>,
    /// History up to that line, for a kind that is not trusted without it.
    pub(crate) history: Option<Arc<JournalHistory>>,
}

impl FileView {
    /// Returns the document for display, with secrets masked.
    pub fn masked_document(&self) -> Value {
        match self.kind {
            FileKind::Orchestrate => mask_webhooks(self.document.value()),
            FileKind::Thinking
            | FileKind::TaskState
            | FileKind::TaskHistory
            | FileKind::SharedContext
            | FileKind::AgentMemory
            | FileKind::Develop => self.document.value().clone(),
        }
    }

    pub fn sheet(&self) -> Option<&ThinkingSheet> {
        match &self.examined.state {
            DocumentState::Thinking(sheet) => Some(sheet),
            _ => None,
        }
    }

    pub fn memory(&self) -> Option<&TaskMemory> {
        match &self.examined.state {
            DocumentState::TaskState(memory) => Some(memory),
            _ => None,
        }
    }

    pub fn develop_run(&self) -> Option<&DevelopRunState> {
        match &self.examined.state {
            DocumentState::Develop(run) => run.as_deref(),
            _ => None,
        }
    }
}

/// Change made by a command, as its transition line describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangeRecord {
    /// Kind of thing that changed, such as `task` or `gate`.
    pub entity: &'static str,
    /// Status before; `None` if it is new.
    pub from: Option<String>,
    /// Status after.
    pub to: String,
    /// Name of the command in upper case.
    pub trigger: &'static str,
    /// Further facts in JSON.
    pub metadata: Value,
    /// True if a dated copy of the previous version is kept.
    pub important: bool,
    /// Side effects outside the file, once the change is durable; kept in the journal until they
    /// are done.
    pub effects: Option<PendingEffect>,
}

impl ChangeRecord {
    /// Creates a change without facts and side effects.
    pub fn new(
        entity: &'static str,
        trigger: &'static str,
        from: Option<String>,
        to: impl Into<String>,
    ) -> Self {
        ChangeRecord {
            entity,
            from,
            to: to.into(),
            trigger,
            metadata: serde_json::json!({}),
            important: false,
            effects: None,
        }
    }

    /// Returns the change with facts.
    #[must_use]
    pub fn with_metadata(self, metadata: Value) -> Self {
        ChangeRecord { metadata, ..self }
    }
}

/// Result of restoring a damaged file.
pub(crate) struct RestoredFile {
    pub(crate) notice: FileNotice,
    /// Document that was found for it, before its gates were closed.
    pub(crate) found: String,
}

#[derive(Debug, Clone)]
pub struct ChangeOutcome<S = ()> {
    /// File after the change.
    pub view: FileView,
    pub moved: ChangeRecord,
    /// State of the file after the change, or another result of the verb.
    pub state: S,
}

impl<S> ChangeOutcome<S> {
    /// Returns the change with another result.
    pub fn with_state<T>(self, state: T) -> ChangeOutcome<T> {
        ChangeOutcome {
            view: self.view,
            moved: self.moved,
            state,
        }
    }
}

impl KnownFile {
    /// Returns the file of a kind at a path.
    pub fn new(context: &Context, kind: FileKind, path: &Path) -> Self {
        let layout = match relay_process::is_restricted() {
            true => kind.file_layout(path).without_links(),
            false => kind.file_layout(path),
        };
        let file = StateFile::new(layout)
            .with_lock_wait(context.lock_wait)
            .with_disk(context.disk.clone());
        KnownFile {
            kind,
            path: path.to_owned(),
            file: kind.behaviour().with_journal(file),
        }
    }

    /// Reads and examines the file. Takes no lock and changes nothing.
    pub fn read_view(&self, context: &Context) -> Result<FileView, Error> {
        let beyond = self.kind.behaviour();
        let mut view = self.read_bare_view(context)?;
        beyond.add_advice(context, self, &mut view)?;
        let extra = beyond.extra_notices(context, self, &view);
        view.notices.extend(extra);
        Ok(view)
    }

    /// Reads and examines the file without advice and further notices.
    pub(crate) fn read_bare_view(&self, context: &Context) -> Result<FileView, Error> {
        let snapshot = self.file.load()?;
        match self.view_of(&snapshot) {
            Err(Error::Damaged { .. }) => {
                // A program that writes in place may be half-way through.
                let again = self
                    .file
                    .reread_if_fresh(&snapshot, context.clock.now_ms())?;
                self.view_of(again.as_ref().unwrap_or(&snapshot))
            }
            other => other,
        }
    }

    /// Reads and examines the file; if there is none, its initial content.
    pub fn view_or_empty(&self, context: &Context) -> Result<FileView, Error> {
        match self.read_view(context) {
            Err(error @ Error::NoFile { .. }) => {
                let Some(document) = kinds::initial_document(self.kind, &self.path, context.now())
                else {
                    return Err(error);
                };
                let examined = kinds::examine_document(self.kind, &document)
                    .map_err(|findings| self.damaged_error(findings))?;
                Ok(FileView {
                    kind: self.kind,
                    path: self.path.clone(),
                    document,
                    examined,
                    notices: Vec::new(),
                    sequence: 0,
                    version: 0,
                    edited: None,
                    history: None,
                })
            }
            other => other,
        }
    }

    fn view_of(&self, snapshot: &FileSnapshot) -> Result<FileView, Error> {
        let Some(bytes) = &snapshot.bytes else {
            return Err(match self.kind.behaviour().is_missing(self, snapshot) {
                true => self.damaged_error(vec![missing_finding(snapshot)]),
                false => self.no_file(),
            });
        };
        let mut notices = Self::snapshot_notices(snapshot, false);
        let (document, examined) = Self::parse(bytes)
            .and_then(|document| self.limit_to_trusted(snapshot, document, &mut notices))
            .and_then(|document| {
                let examined = self.examine_document(&document)?;
                Ok((document, examined))
            })
            .map_err(|findings| self.damaged_error(findings))?;
        self.report_lost(&mut notices, snapshot, document.value());
        Ok(FileView {
            kind: self.kind,
            path: self.path.clone(),
            document,
            examined,
            notices,
            sequence: snapshot.seq,
            version: version_of(snapshot),
            edited: unnoted_edit(snapshot),
            history: snapshot.history.clone(),
        })
    }

    /// Examines a document of this file.
    pub(crate) fn examine_document(
        &self,
        document: &JsonDocument,
    ) -> Result<ExaminedDocument, Vec<Finding>> {
        let found = kinds::examine_document(self.kind, document)?;
        Ok(self
            .kind
            .behaviour()
            .correct_findings(self, document, found))
    }

    fn parse(bytes: &[u8]) -> Result<JsonDocument, Vec<Finding>> {
        JsonDocument::parse(bytes).map_err(|error| vec![unparsable_finding(&error)])
    }

    /// Limits a document to its trusted contents.
    fn limit_to_trusted(
        &self,
        snapshot: &FileSnapshot,
        document: JsonDocument,
        notices: &mut Vec<FileNotice>,
    ) -> Result<JsonDocument, Vec<Finding>> {
        let beyond = self.kind.behaviour();
        let (document, distrusted) = beyond.trusted_document(self, snapshot, document)?;
        if !distrusted.is_empty() {
            notices.push(FileNotice::Distrusted { places: distrusted });
        }
        Ok(document)
    }

    pub(crate) fn damaged_error(&self, findings: Vec<Finding>) -> Error {
        let path = self.path.clone();
        match self.foreign_code(&findings) {
            Some(code) => Error::Foreign { path, code },
            None => Error::Damaged { path, findings },
        }
    }

    /// Returns the error code for a file of another program, if it is one.
    fn foreign_code(&self, findings: &[Finding]) -> Option<&'static str> {
        let codes = || findings.iter().map(|finding| finding.code);
        let is_no_object = || {
            findings
                .iter()
                .any(|it| it.message == FileFinding::NotAnObject)
        };
        match codes().find(|code| [FOREIGN, OTHER_PROGRAM].contains(code)) {
            // Foreign content written over a develop run of ours must not end its gates.
            Some(_) if self.kind == FileKind::Develop && self.has_past() => None,
            None if is_no_object() && !self.has_past() => Some(OTHER_PROGRAM),
            code => code,
        }
    }

    /// True if Bowline ever wrote the file.
    fn has_past(&self) -> bool {
        let snapshot = self.file.load();
        !snapshot.is_ok_and(|it| it.situation == FileSituation::Unmanaged && !it.journal_damaged)
            || self.kind == FileKind::Develop && bowline_gate::locate::has_begun(&self.path)
    }

    /// Returns the notices of a snapshot; `held` is true if it was taken under the lock.
    fn snapshot_notices(snapshot: &FileSnapshot, held: bool) -> Vec<FileNotice> {
        let mut notices: Vec<FileNotice> = snapshot
            .findings
            .iter()
            .map(|finding| FileNotice::Keeper {
                code: finding.code(),
                words: crate::words::storage_notice(finding),
            })
            .collect();
        match &snapshot.situation {
            FileSituation::RolledForward { lines } => notices.push(FileNotice::RolledForward {
                lines: *lines,
                completed: held,
            }),
            FileSituation::Outside { .. } => {
                notices.push(FileNotice::OutsideEdit { lost: Vec::new() })
            }
            FileSituation::Absent
            | FileSituation::Unmanaged
            | FileSituation::Clean
            | FileSituation::Missing { .. } => {}
        }
        notices
    }

    /// Completes notices about an outside edit. Reads much of the journal: never called while the
    /// lock is held.
    fn report_lost(&self, notices: &mut [FileNotice], edit: &FileSnapshot, edited: &Value) {
        for notice in notices {
            let (FileNotice::OutsideEdit { .. }, Some(bytes)) = (&notice, &edit.bytes) else {
                continue;
            };
            // An edit that the journal already has is its last line.
            let last = edit.seq - u64::from(!edit.unnoted);
            // An unreadable journal is reported elsewhere; the edit is reported in any case.
            let Ok(history) = self.file.history_of(edit.history.as_ref()) else {
                continue;
            };
            let hash = ContentHash::of_bytes(bytes);
            *notice = match lost_updates::by_edit(self.kind, &history, last, hash, edited) {
                OutsideEditKind::PutBack { sequence, taken } => {
                    FileNotice::PutBack { sequence, taken }
                }
                OutsideEditKind::Another { was, is } => FileNotice::AnotherTask { was, is },
                OutsideEditKind::Edited { lost } => FileNotice::OutsideEdit { lost },
            };
        }
    }

    /// True if a text can be read as this kind.
    pub(crate) fn is_good(&self, text: &str) -> bool {
        kinds::is_document(self.kind, text)
    }

    /// Stores a dated copy. Only a readable document is copied: a damaged one is restored first, as
    /// by every change.
    pub(crate) fn archive_copy(&self, context: &Context) -> Result<Option<PathBuf>, Error> {
        let copy = || {
            let request = context.new_request();
            self.file.archive_copy(&request, &|text| self.is_good(text))
        };
        if let Some(copy) = copy()? {
            return Ok(Some(copy));
        }
        match self.read_view(context) {
            Err(Error::Damaged { findings, .. }) => self.restore_damaged(context, &findings)?,
            Err(Error::NoFile { .. }) => return Ok(None),
            Ok(_) | Err(_) => None,
        };
        Ok(copy()?)
    }

    /// Refuses a decision based on a version that is no longer current. Called under the lock.
    pub(crate) fn check_current(&self, seen: Option<u64>, now: &FileSnapshot) -> Result<(), Error> {
        match seen.is_none_or(|seen| seen == version_of(now)) {
            true => Ok(()),
            false => Err(Error::MovedOn {
                path: self.path.clone(),
            }),
        }
    }

    pub(crate) fn no_file(&self) -> Error {
        Error::NoFile {
            kind: self.kind,
            path: self.path.clone(),
        }
    }

    /// True if a file that is not usable as it is can still be read.
    fn knows_something(&self) -> bool {
        let bytes = self.file.load().ok().and_then(|snapshot| snapshot.bytes);
        let document = bytes.and_then(|bytes| Self::parse(&bytes).ok());
        document.is_some_and(|document| self.kind.behaviour().can_be_read(&document))
    }

    /// Sets a damaged file aside and restores the best available version.
    pub(crate) fn restore_damaged(
        &self,
        context: &Context,
        findings: &[Finding],
    ) -> Result<Option<RestoredFile>, Error> {
        if self.foreign_code(findings).is_some() {
            return Err(self.damaged_error(findings.to_vec()));
        }
        let reason = findings.last().map_or_else(
            || "unreadable".to_owned(),
            |finding| finding.message.to_string(),
        );
        // A readable file that is not trusted counts as damaged: only its texts are kept. Evaluated
        // under the lock, as everything here.
        let beyond = self.kind.behaviour();
        let unbelievable = || beyond.untrusted_text(self);
        let found = RefCell::new(String::new());
        let rescue = RepairCallbacks {
            validate: &|text| self.is_good(text) && Some(text) != unbelievable().as_deref(),
            rebuild: &|| {
                // A readable file knows more than the boxes of its plan.
                if self.knows_something() {
                    return None;
                }
                let rebuilt = beyond.rebuild_document(self, context.now());
                rebuilt.map(|document| document.text().to_owned())
            },
            empty: &|| {
                let words = unbelievable().as_deref().and_then(trust::words_of);
                let empty =
                    words.or_else(|| kinds::initial_document(self.kind, &self.path, context.now()));
                empty.map(|document| document.text().to_owned())
            },
            finish: &|source, text| {
                let back = self.restored_text(context, source, &text);
                found.replace(text);
                back
            },
        };
        let recovered = self
            .file
            .recover_document(&context.new_request(), &reason, &rescue)?;
        let from = match recovered.source {
            RepairSource::Intact => return Ok(None),
            RepairSource::Journal => RestoreSource::Journal,
            RepairSource::Version { seq } => RestoreSource::Version(seq),
            RepairSource::Backup(path) | RepairSource::Archive(path) => RestoreSource::Copy(path),
            RepairSource::Rebuilt => RestoreSource::Rebuilt,
            RepairSource::Empty => RestoreSource::Anew,
        };
        Ok(Some(RestoredFile {
            notice: FileNotice::Restored {
                from,
                set_aside: recovered.set_aside,
            },
            found: found.into_inner(),
        }))
    }
}

impl KnownFile {
    /// Returns a document as it may be restored after damage: no gate is open.
    fn restored_text(&self, context: &Context, source: &RepairSource, text: &str) -> String {
        let Ok(document) = Self::parse(text.as_bytes()) else {
            return text.to_owned();
        };
        let document = self
            .kind
            .behaviour()
            .restored_document(self, source, document);
        let at = context.now_for(self.kind);
        kinds::restored_document(self.kind, &document, at)
            .text()
            .to_owned()
    }
}

fn version_of(snapshot: &FileSnapshot) -> u64 {
    snapshot.seq + u64::from(is_unnoted_edit(snapshot))
}

fn is_unnoted_edit(snapshot: &FileSnapshot) -> bool {
    matches!(snapshot.situation, FileSituation::Outside { .. }) && snapshot.unnoted
}

/// Returns the hash of a document that is an outside edit which the journal does not know yet.
pub(crate) fn unnoted_edit(snapshot: &FileSnapshot) -> Option<ContentHash> {
    let bytes = snapshot.bytes.as_ref();
    bytes
        .filter(|_| is_unnoted_edit(snapshot))
        .map(|bytes| ContentHash::of_bytes(bytes))
}

fn unparsable_finding(error: &ParseError) -> Finding {
    Finding {
        severity: Severity::Fatal,
        code: "not_json",
        pointer: String::new(),
        message: error.to_message(),
        repair: None,
    }
}

fn missing_finding(snapshot: &FileSnapshot) -> Finding {
    let left = match snapshot.situation {
        FileSituation::Absent => FileFinding::AllGone,
        FileSituation::Unmanaged
        | FileSituation::Clean
        | FileSituation::RolledForward { .. }
        | FileSituation::Outside { .. }
        | FileSituation::Missing { .. } => FileFinding::FileGone,
    };
    Finding {
        severity: Severity::Fatal,
        code: "file_missing",
        pointer: String::new(),
        message: left,
        repair: None,
    }
}
