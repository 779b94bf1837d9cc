//! Executes one command on a state file: read, decide, make durable; a damaged file is repaired
//! first.

use super::{ChangeOutcome, ChangeRecord, FileNotice, FileView, KnownFile, missing_finding};
use crate::context::Context;
use crate::effects::PendingEffect;
use crate::error::{Error, MachineRefusal};
use crate::kinds::{self, ExaminedDocument, FileKind, MachineFile, StateOf};
use bowline_formats::StateFormat;
use bowline_formats::finding::{Finding, Severity};
use bowline_formats::json::JsonDocument;
use bowline_formats::memory::path::DOCUMENT_BYTES_MAX;
use bowline_formats::three_way_merge::{contains_added_items, count_differences, merge_json};
use bowline_formats::time;
use bowline_formats::transition::{LINE_TYPE, Transition};
use bowline_machines::Machine;
use bowline_statefiles::{
    DocumentChange, FileSituation, FileSnapshot, UpdateError, UpdateOutcome, WriteRequest,
};
use bowline_words::message::PathTrouble;
use serde_json::Value;
use serde_json::value::RawValue;

/// Most rereads of a file that is being written in place before it counts as damaged.
const REREADS_MAX: usize = 10;

/// Reason for which a decision on a snapshot changed nothing.
#[derive(Debug)]
enum DecisionStop {
    Engine(Box<Error>),
    Damaged(Vec<Finding>),
}

impl From<Error> for DecisionStop {
    fn from(error: Error) -> Self {
        DecisionStop::Engine(Box::new(error))
    }
}

/// Decided change of a document.
struct DecidedChange {
    /// Next document; `None` removes the file.
    next: Option<JsonDocument>,
    moved: ChangeRecord,
    /// Findings in the document before the change.
    found: Vec<Finding>,
    /// Examination of the next document, if the decision produced it already.
    examined: Option<ExaminedDocument>,
}

/// Change that another program's write overwrote before it was acknowledged.
struct TakenBack {
    before: JsonDocument,
    next: JsonDocument,
    moved: ChangeRecord,
}

impl TakenBack {
    /// Decides to leave a document as it is if it contains the appended value: its editor read the
    /// file while the change was in place. Other changes may be made twice; a value must not be
    /// appended twice.
    fn decide_again(&self, document: &JsonDocument) -> Option<DecidedChange> {
        let (before, next) = (self.before.value(), self.next.value());
        let now = document.value();
        let lacks_nothing = count_differences(&merge_json(before, next, now), now) == 0;
        // An edit that removed the list lacks nothing that could be merged into it, and does not
        // have the value either.
        let has_value = contains_added_items(before, next, now);
        (self.moved.trigger == "APPEND" && lacks_nothing && has_value).then(|| DecidedChange {
            next: Some(document.clone()),
            moved: self.moved.clone(),
            found: Vec::new(),
            examined: None,
        })
    }
}

/// Limits the tasks of a memory to the size of its other files. A document that is too large
/// already may shrink.
fn may_grow(before: Option<&JsonDocument>, next: &JsonDocument) -> Result<(), DecisionStop> {
    let (was, bytes) = (before.map_or(0, |it| it.text().len()), next.text().len());
    match bytes > DOCUMENT_BYTES_MAX && bytes > was {
        false => Ok(()),
        true => Err(DecisionStop::from(Error::Path(PathTrouble::TooLarge {
            path: ".".into(),
            bytes,
            max: DOCUMENT_BYTES_MAX,
        }))),
    }
}

impl KnownFile {
    /// Refuses to write a file that a newer program wrote.
    fn check_writable(&self, found: &[Finding]) -> Result<(), DecisionStop> {
        match found
            .iter()
            .find(|finding| finding.severity == Severity::ReadOnly)
        {
            None => Ok(()),
            Some(finding) => Err(DecisionStop::Engine(Box::new(Error::NewerVersion {
                path: self.path.clone(),
                found: finding.message.clone(),
            }))),
        }
    }

    /// Creates the file. Fails if it exists.
    pub fn create_file(
        &self,
        context: &Context,
        document: &JsonDocument,
        moved: ChangeRecord,
    ) -> Result<ChangeOutcome, Error> {
        let request = context.new_request();
        let decide = |snapshot: &FileSnapshot| -> Result<Option<DocumentChange>, Box<Error>> {
            if snapshot.bytes.is_some() {
                return Err(Box::new(Error::AlreadyExists {
                    path: self.path.clone(),
                }));
            }
            let change = DocumentChange {
                transition: Some(self.transition_line(context, document.value(), &moved)),
                ..DocumentChange::replace_with(document.text())
            };
            Ok(Some(change))
        };
        let updated =
            self.commit_decision(context, &request, decide)
                .map_err(|error| match error {
                    UpdateError::Refused(error) => *error,
                    UpdateError::File(error) => Error::File(error),
                })?;
        let sequence = updated.seq.unwrap_or(0);
        let examined = kinds::examine_document(self.kind, document)
            .map_err(|findings| self.damaged_error(findings))?;
        let view = FileView {
            kind: self.kind,
            path: self.path.clone(),
            document: document.clone(),
            examined,
            notices: Vec::new(),
            sequence,
            version: sequence,
            edited: None,
            history: updated.snapshot.history,
        };
        Ok(ChangeOutcome {
            view,
            moved,
            state: (),
        })
    }

    /// Executes one command of a machine, repairing a damaged file first.
    pub fn execute_command<K: MachineFile>(
        &self,
        context: &Context,
        command: impl Fn(&StateOf<K>) -> Result<<K::Machine as Machine>::Command, Error>,
        describe: impl Fn(&StateOf<K>, &StateOf<K>) -> ChangeRecord,
    ) -> Result<ChangeOutcome<StateOf<K>>, Error>
    where
        MachineRefusal: From<<K::Machine as Machine>::Refusal>,
    {
        let command = |_: &_, state: &_, _: &_| command(state);
        self.execute_command_on::<K>(context, |_, state| state, command, describe)
    }

    /// Executes one command on the state that `complete` derives from that of the file alone. The
    /// command also sees how the file compares with its journal.
    pub(crate) fn execute_command_on<K: MachineFile>(
        &self,
        context: &Context,
        complete: impl Fn(&JsonDocument, StateOf<K>) -> StateOf<K>,
        command: impl Fn(
            &JsonDocument,
            &StateOf<K>,
            &FileSnapshot,
        ) -> Result<<K::Machine as Machine>::Command, Error>,
        describe: impl Fn(&StateOf<K>, &StateOf<K>) -> ChangeRecord,
    ) -> Result<ChangeOutcome<StateOf<K>>, Error>
    where
        MachineRefusal: From<<K::Machine as Machine>::Refusal>,
    {
        let mut led_to = None;
        let changed = self.repair_and_change(context, |document, snapshot| {
            let document = document.ok_or_else(|| self.no_file())?;
            let read = K::Format::read_state(document).map_err(DecisionStop::Damaged)?;
            self.check_writable(&read.findings)?;
            let at = context.now_for(self.kind);
            let state = complete(document, read.state);
            let command = command(document, &state, snapshot)?;
            let step = K::Machine::step(&state, command, at)
                .map_err(|refusal| Error::Refused(refusal.into()))?;
            let mut value = read.fixed;
            K::Format::write_state(&step.next, &mut value, at);
            let mut moved = describe(&state, &step.next);
            moved.important |= K::keeps_backup(&step.effects);
            moved.effects = moved.effects.or_else(|| K::pending_effect(&step.effects));
            let next = document.reconcile(&value);
            // Repaired findings are no longer in the file.
            let left = read.findings.iter().filter(|one| one.repair.is_none());
            let examined = kinds::examine_state::<K>(&step.next, left.cloned().collect(), value);
            led_to = Some(step.next);
            Ok(Some(DecidedChange {
                next: Some(next),
                moved,
                found: read.findings,
                examined: Some(examined),
            }))
        })?;
        let (changed, state) = changed.zip(led_to).ok_or_else(|| self.no_file())?;
        Ok(changed.with_state(state))
    }

    /// Replaces the document, creates the first one, or removes the file.
    pub(crate) fn replace_document(
        &self,
        context: &Context,
        decide: impl Fn(Option<&JsonDocument>) -> Result<(Option<JsonDocument>, ChangeRecord), Error>,
    ) -> Result<ChangeOutcome, Error> {
        self.replace_seen(context, |document, _| decide(document))
    }

    /// Replaces the document by a decision that also sees how the file compares with its journal.
    pub(crate) fn replace_seen(
        &self,
        context: &Context,
        decide: impl Fn(
            Option<&JsonDocument>,
            &FileSnapshot,
        ) -> Result<(Option<JsonDocument>, ChangeRecord), Error>,
    ) -> Result<ChangeOutcome, Error> {
        let changed = self.repair_and_change(context, |document, snapshot| {
            self.decide_on(document, |document| decide(document, snapshot))
        })?;
        changed.ok_or_else(|| self.no_file())
    }

    /// Changes the state of a file without a machine, repairing a damaged one first. Returns `None`
    /// if `change` returns false.
    pub(crate) fn edit_state<F: StateFormat>(
        &self,
        context: &Context,
        moved: &ChangeRecord,
        mut change: impl FnMut(&mut F::State) -> Result<bool, Error>,
    ) -> Result<Option<ChangeOutcome>, Error> {
        self.repair_and_change(context, |document, _| {
            let document = document.ok_or_else(|| self.no_file())?;
            let read = F::read_state(document).map_err(DecisionStop::Damaged)?;
            self.check_writable(&read.findings)?;
            let (mut state, mut value) = (read.state, read.fixed);
            if !change(&mut state)? {
                return Ok(None);
            }
            F::write_state(&state, &mut value, context.now_for(self.kind));
            Ok(Some(DecidedChange {
                next: Some(document.reconcile(&value)),
                moved: moved.clone(),
                found: read.findings,
                examined: None,
            }))
        })
    }

    /// Creates the initial file unless one exists. Returns true if it was created.
    pub(crate) fn create_initial(&self, context: &Context) -> Result<bool, Error> {
        // A file of which a copy is left is restored instead.
        if self.kind.is_there(&self.path) {
            return Ok(false);
        }
        let Some(document) = kinds::initial_document(self.kind, &self.path, context.now()) else {
            return Ok(false);
        };
        let moved = ChangeRecord::new("file", "INIT", None, "new");
        match self.create_file(context, &document, moved) {
            Ok(_) => Ok(true),
            // Another process created it first, which is just as good.
            Err(Error::AlreadyExists { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Restores a file of which only the journal is left, after an interrupted creation or a
    /// removal. Returns true if the file was missing.
    pub(crate) fn bring_back(&self, context: &Context) -> Result<bool, Error> {
        if self.path.symlink_metadata().is_ok() {
            return Ok(false);
        }
        if !context.dry_run {
            // Taking the lock completes the committed changes.
            drop(self.file.lock_for_writing(&context.new_request())?);
            if self.path.symlink_metadata().is_err() {
                self.restore_damaged(context, &[missing_finding(&self.file.load()?)])?;
            }
        }
        Ok(true)
    }

    /// Makes one decided change, after restoring a damaged file at most once.
    fn repair_and_change(
        &self,
        context: &Context,
        mut decide: impl FnMut(
            Option<&JsonDocument>,
            &FileSnapshot,
        ) -> Result<Option<DecidedChange>, DecisionStop>,
    ) -> Result<Option<ChangeOutcome>, Error> {
        let mut restored = Vec::new();
        let mut rereads = REREADS_MAX;
        let mut taken_back = None;
        let may_restore = !context.dry_run && self.kind.behaviour().restores_automatically();
        loop {
            match self.change_once(context, &mut taken_back, &mut decide) {
                Ok(changed) => {
                    return Ok(changed.map(|mut changed| {
                        changed.view.notices.splice(0..0, restored);
                        changed
                    }));
                }
                Err(DecisionStop::Engine(error)) if restored.is_empty() => return Err(*error),
                // Refused all the same; but the repair must be reported.
                Err(DecisionStop::Engine(error)) => {
                    return Err(Error::AfterRepair {
                        notices: restored,
                        error,
                    });
                }
                // A program that writes in place may be half-way through.
                Err(DecisionStop::Damaged(_))
                    if rereads > 0 && self.is_being_written(context)? =>
                {
                    rereads -= 1;
                }
                // Once: a repaired file is readable, or continuing is pointless.
                Err(DecisionStop::Damaged(findings)) if restored.is_empty() && may_restore => {
                    restored.extend(
                        self.restore_damaged(context, &findings)?
                            .map(|it| it.notice),
                    );
                }
                Err(DecisionStop::Damaged(findings)) => return Err(self.damaged_error(findings)),
            }
        }
    }

    /// True if an unreadable file has just changed, or changes within a moment.
    fn is_being_written(&self, context: &Context) -> Result<bool, Error> {
        let snapshot = self.file.load()?;
        let again = self
            .file
            .reread_if_fresh(&snapshot, context.clock.now_ms())?;
        Ok(again.is_some())
    }

    /// Makes one decided change: lock, read, decide, persist.
    fn change_once(
        &self,
        context: &Context,
        taken_back: &mut Option<TakenBack>,
        mut decide: impl FnMut(
            Option<&JsonDocument>,
            &FileSnapshot,
        ) -> Result<Option<DecidedChange>, DecisionStop>,
    ) -> Result<Option<ChangeOutcome>, DecisionStop> {
        let request = context.new_request();
        let mut outcome = None;
        let updated = self.commit_decision(context, &request, |snapshot| {
            self.kind
                .behaviour()
                .check_snapshot(snapshot)
                .map_err(DecisionStop::Damaged)?;
            let mut notices = Self::snapshot_notices(snapshot, !context.dry_run);
            let begun = self.begun_for_a_dry_run(context, snapshot);
            let document = match begun.as_ref().or(snapshot.bytes.as_ref()) {
                None if self.kind.behaviour().is_missing(self, snapshot) => {
                    return Err(DecisionStop::Damaged(vec![missing_finding(snapshot)]));
                }
                None => None,
                Some(bytes) => Some(
                    Self::parse(bytes)
                        .and_then(|document| {
                            self.limit_to_trusted(snapshot, document, &mut notices)
                        })
                        .map_err(DecisionStop::Damaged)?,
                ),
            };
            let again = taken_back.as_ref().zip(document.as_ref());
            let decided = match again.and_then(|(earlier, now)| earlier.decide_again(now)) {
                Some(decided) => Some(decided),
                None => decide(document.as_ref(), snapshot)?,
            };
            let Some(decided) = decided else {
                return Ok(None);
            };
            let both = document.clone().zip(decided.next.clone());
            *taken_back = both.map(|(before, next)| TakenBack {
                before,
                next,
                moved: decided.moved.clone(),
            });
            if let (Some(next), FileKind::TaskState) = (&decided.next, self.kind) {
                may_grow(document.as_ref(), next)?;
            }
            let basis = match &decided.next {
                Some(next) => DocumentChange::replace_with(next.text()),
                None => DocumentChange::removal(),
            };
            // A removed document is shown once more.
            let Some(shown) = decided.next.as_ref().or(document.as_ref()) else {
                return Ok(None);
            };
            let moved = &decided.moved;
            let change = DocumentChange {
                transition: Some(self.transition_line(context, shown.value(), moved)),
                important: moved.important,
                effects: moved.effects.as_ref().map(PendingEffect::to_raw),
                ..basis
            };
            outcome = Some((decided, notices, snapshot.clone(), document));
            Ok(Some(change))
        });
        let updated = updated.map_err(|error| match error {
            UpdateError::Refused(stop) => stop,
            UpdateError::File(error) => DecisionStop::Engine(Box::new(Error::File(error))),
        })?;
        let Some((decided, mut notices, snapshot, edited)) = outcome else {
            return Ok(None);
        };
        if let Some(edited) = &edited {
            self.report_lost(&mut notices, &snapshot, edited.value());
        }
        let mended = decided
            .found
            .into_iter()
            .filter(|one| one.severity >= Severity::Warning && one.repair.is_some());
        notices.extend(mended.map(FileNotice::Mended));
        let moved = decided.moved;
        let Some(document) = decided.next.or(edited) else {
            return Ok(None);
        };
        let examined = match decided.examined {
            Some(examined) => examined,
            None => kinds::examine_document(self.kind, &document).map_err(DecisionStop::Damaged)?,
        };
        let sequence = updated.seq.unwrap_or(updated.snapshot.seq);
        let view = FileView {
            kind: self.kind,
            path: self.path.clone(),
            document,
            examined,
            notices,
            sequence,
            version: sequence,
            edited: None,
            history: updated.snapshot.history,
        };
        Ok(Some(ChangeOutcome {
            view,
            moved,
            state: (),
        }))
    }

    /// Makes a decision on the file durable. A dry run decides on what can be read, takes no lock
    /// and needs no right to write.
    fn commit_decision<E: From<Error>>(
        &self,
        context: &Context,
        request: &WriteRequest,
        mut decide: impl FnMut(&FileSnapshot) -> Result<Option<DocumentChange>, E>,
    ) -> Result<UpdateOutcome, UpdateError<E>> {
        if !context.dry_run {
            let seen = context.seen.version_of(&self.path);
            let updated = self.file.update(request, |snapshot| {
                self.check_current(seen, snapshot)?;
                decide(snapshot)
            })?;
            context.seen.was_asked(&self.path);
            return Ok(updated);
        }
        let snapshot = self.file.load()?;
        decide(&snapshot).map_err(UpdateError::Refused)?;
        Ok(UpdateOutcome {
            seq: None,
            snapshot,
        })
    }

    /// Returns the document that a dry run continues with where a real run would have created the
    /// file first.
    fn begun_for_a_dry_run(&self, context: &Context, snapshot: &FileSnapshot) -> Option<Vec<u8>> {
        let begins = context.dry_run
            && self.kind.begins_by_itself()
            && matches!(snapshot.situation, FileSituation::Absent);
        let document =
            begins.then(|| kinds::initial_document(self.kind, &self.path, context.now()));
        Some(document??.text().as_bytes().to_vec())
    }

    /// Adapts a decision that needs a document.
    fn of_present(
        &self,
        decide: impl Fn(&JsonDocument) -> Result<(JsonDocument, ChangeRecord), Error>,
    ) -> impl Fn(Option<&JsonDocument>) -> Result<(Option<JsonDocument>, ChangeRecord), Error> {
        move |document| {
            let (next, moved) = decide(document.ok_or_else(|| self.no_file())?)?;
            Ok((Some(next), moved))
        }
    }

    /// Makes a decision on the whole document once it can be read and may be written.
    fn decide_on(
        &self,
        document: Option<&JsonDocument>,
        decide: impl Fn(Option<&JsonDocument>) -> Result<(Option<JsonDocument>, ChangeRecord), Error>,
    ) -> Result<Option<DecidedChange>, DecisionStop> {
        let found = match document {
            None => Vec::new(),
            Some(document) => {
                kinds::examine_document(self.kind, document)
                    .map_err(DecisionStop::Damaged)?
                    .findings
            }
        };
        self.check_writable(&found)?;
        let (next, moved) = decide(document)?;
        Ok(Some(DecidedChange {
            next,
            moved,
            found,
            examined: None,
        }))
    }

    /// Changes the document of a file without a machine, repairing a damaged one first.
    pub(crate) fn change_document(
        &self,
        context: &Context,
        decide: impl Fn(&JsonDocument) -> Result<(JsonDocument, ChangeRecord), Error>,
    ) -> Result<ChangeOutcome, Error> {
        self.replace_document(context, self.of_present(decide))
    }

    /// Fixes the document if `decide` finds something to fix. The snapshot passed to it is taken
    /// under the lock.
    pub(crate) fn fix_document(
        &self,
        context: &Context,
        decide: impl Fn(
            &JsonDocument,
            &FileSnapshot,
        ) -> Result<Option<(JsonDocument, ChangeRecord)>, Error>,
    ) -> Result<Option<ChangeOutcome>, Error> {
        let outcome = self.change_once(context, &mut None, |document, snapshot| {
            let document = document.ok_or_else(|| self.no_file())?;
            let found = self
                .examine_document(document)
                .map_err(DecisionStop::Damaged)?;
            self.check_writable(&found.findings)?;
            let decided = decide(document, snapshot)?;
            Ok(decided.map(|(next, moved)| DecidedChange {
                next: Some(next),
                moved,
                found: found.findings,
                examined: None,
            }))
        });
        outcome.map_err(|stop| match stop {
            DecisionStop::Engine(error) => *error,
            DecisionStop::Damaged(findings) => self.damaged_error(findings),
        })
    }

    pub(crate) fn transition_line(
        &self,
        context: &Context,
        value: &Value,
        moved: &ChangeRecord,
    ) -> Box<RawValue> {
        let task_id = ["/task_id", "/current_task/id"]
            .iter()
            .find_map(|pointer| value.pointer(pointer).and_then(Value::as_str))
            .map_or_else(|| self.path.display().to_string(), str::to_owned);
        let line = Transition {
            timestamp: time::format_utc(context.now()),
            task_id,
            line_type: LINE_TYPE.to_owned(),
            entity: moved.entity.to_owned(),
            from: moved.from.clone(),
            to: moved.to.clone(),
            trigger: moved.trigger.to_owned(),
            metadata: moved.metadata.clone(),
            sequence: 0,
        };
        // A struct of texts and values always serialises; a transition must not be able to stop a
        // change.
        serde_json::value::to_raw_value(&line).unwrap_or_else(|_| RawValue::NULL.to_owned())
    }
}
