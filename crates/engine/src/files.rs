//! State files of any kind: looked at, and changed by one command.

use crate::context::Context;
use crate::error::{Error, Refusal};
use crate::kinds::{self, Examined, FileKind, MachineFile};
use crate::lost;
pub use crate::notice::{Notice, Origin};
use crate::rebuild::rebuild;
use bowline_formats::StateFormat;
use bowline_formats::finding::{Finding, Severity};
use bowline_formats::json::JsonDocument;
use bowline_formats::time;
use bowline_formats::transition::{LINE_TYPE, Transition};
use bowline_machines::Machine;
use bowline_statefiles::{
    Change, Request, Rescue, Situation, Snapshot, Source, StateFile, UpdateError, Updated,
};
use serde_json::Value;
use serde_json::value::RawValue;
use std::path::{Path, PathBuf};

/// A state file of a known kind at a place.
#[derive(Debug, Clone)]
pub struct KnownFile {
    /// Its kind.
    pub kind: FileKind,
    /// Its place.
    pub path: PathBuf,
    pub(crate) file: StateFile,
}

/// A look at a state file.
#[derive(Debug, Clone)]
pub struct View {
    /// Its kind.
    pub kind: FileKind,
    /// Its place.
    pub path: PathBuf,
    /// The document, committed changes included.
    pub document: JsonDocument,
    /// What it says.
    pub examined: Examined,
    /// What happened to the file that its reader should know.
    pub notices: Vec<Notice>,
    /// The last journal line.
    pub sequence: u64,
}

/// What a command moved, for the transition line.
#[derive(Debug, Clone, PartialEq)]
pub struct Moved {
    /// What moved: the kind's word.
    pub entity: &'static str,
    /// Where it stood; `None` when it is new.
    pub from: Option<String>,
    /// Where it stands now.
    pub to: String,
    /// The command, upper case.
    pub trigger: &'static str,
    /// Facts of the move.
    pub metadata: Value,
    /// Whether a dated copy of the version before is kept.
    pub important: bool,
    /// What has to happen outside the file once it is durable; kept in the journal until it is done.
    pub effects: Option<Value>,
}

impl Moved {
    /// A move of something from a status to another.
    pub fn new(
        entity: &'static str,
        trigger: &'static str,
        from: Option<String>,
        to: impl Into<String>,
    ) -> Self {
        Moved {
            entity,
            from,
            to: to.into(),
            trigger,
            metadata: serde_json::json!({}),
            important: false,
            effects: None,
        }
    }

    /// The same with facts.
    #[must_use]
    pub fn with(self, metadata: Value) -> Self {
        Moved { metadata, ..self }
    }
}

/// The outcome of a change.
#[derive(Debug, Clone)]
pub struct Changed {
    /// The file afterwards.
    pub view: View,
    /// What moved.
    pub moved: Moved,
}

/// Why a decision over a snapshot changed nothing.
#[derive(Debug)]
enum Stop {
    Engine(Box<Error>),
    Damaged(Vec<Finding>),
}

/// What is to become of a document.
struct Decided {
    next: JsonDocument,
    moved: Moved,
    /// What was found in the document as it was.
    found: Vec<Finding>,
    /// What the next document says, where whoever decided knows it already.
    examined: Option<Examined>,
}

impl KnownFile {
    /// A file of a kind at a place.
    pub fn new(context: &Context, kind: FileKind, path: &Path) -> Self {
        let file = StateFile::new(kind.layout(path)).with_lock_wait(context.lock_wait);
        KnownFile {
            kind,
            path: path.to_owned(),
            file,
        }
    }

    /// Looks at the file. Takes no lock and changes nothing.
    pub fn view(&self, context: &Context) -> Result<View, Error> {
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

    /// Looks at the file; where there is none, at what it would be at the very beginning.
    pub fn view_or_empty(&self, context: &Context) -> Result<View, Error> {
        match self.view(context) {
            Err(error @ Error::NoFile { .. }) => {
                let Some(document) = kinds::empty(self.kind, &self.path, context.now()) else {
                    return Err(error);
                };
                let examined = kinds::examine(self.kind, &document)
                    .map_err(|findings| self.damaged(findings))?;
                Ok(View {
                    kind: self.kind,
                    path: self.path.clone(),
                    document,
                    examined,
                    notices: Vec::new(),
                    sequence: 0,
                })
            }
            other => other,
        }
    }

    fn view_of(&self, snapshot: &Snapshot) -> Result<View, Error> {
        let Some(bytes) = &snapshot.bytes else {
            return Err(match snapshot.situation {
                Situation::Missing { .. } => self.damaged(vec![missing()]),
                Situation::Absent
                | Situation::Unmanaged
                | Situation::Clean
                | Situation::RolledForward { .. }
                | Situation::Outside { .. } => Error::NoFile {
                    kind: self.kind,
                    path: self.path.clone(),
                },
            });
        };
        let (document, examined) = self
            .read(bytes)
            .map_err(|findings| self.damaged(findings))?;
        let mut notices = Self::notices(snapshot);
        self.tell_lost(&mut notices, snapshot.seq, document.value());
        Ok(View {
            kind: self.kind,
            path: self.path.clone(),
            document,
            examined,
            notices,
            sequence: snapshot.seq,
        })
    }

    fn parse(bytes: &[u8]) -> Result<JsonDocument, Vec<Finding>> {
        JsonDocument::parse(bytes).map_err(|error| vec![unparsable(&error.to_string())])
    }

    /// Refuses to write a file that a newer program wrote.
    fn writable(&self, found: &[Finding]) -> Result<(), Stop> {
        match found
            .iter()
            .find(|finding| finding.severity == Severity::ReadOnly)
        {
            None => Ok(()),
            Some(finding) => Err(Stop::Engine(Box::new(Error::NewerVersion {
                path: self.path.clone(),
                message: finding.message.clone(),
            }))),
        }
    }

    fn read(&self, bytes: &[u8]) -> Result<(JsonDocument, Examined), Vec<Finding>> {
        let document = Self::parse(bytes)?;
        let examined = kinds::examine(self.kind, &document)?;
        Ok((document, examined))
    }

    pub(crate) fn damaged(&self, findings: Vec<Finding>) -> Error {
        Error::Damaged {
            path: self.path.clone(),
            findings,
        }
    }

    /// What a snapshot tells beside its document.
    fn notices(snapshot: &Snapshot) -> Vec<Notice> {
        let mut notices: Vec<Notice> = snapshot
            .findings
            .iter()
            .map(|finding| Notice::Keeper {
                code: finding.code(),
                message: finding.to_string(),
            })
            .collect();
        match &snapshot.situation {
            Situation::RolledForward { lines } => {
                notices.push(Notice::RolledForward { lines: *lines })
            }
            Situation::Outside { .. } => notices.push(Notice::OutsideEdit { lost: Vec::new() }),
            Situation::Absent
            | Situation::Unmanaged
            | Situation::Clean
            | Situation::Missing { .. } => {}
        }
        notices
    }

    /// Adds what an outside edit lost. Takes its time over the journal: never called while the lock is held.
    fn tell_lost(&self, notices: &mut [Notice], last: u64, edited: &Value) {
        for notice in notices {
            if let Notice::OutsideEdit { lost } = notice {
                // A journal that cannot be read is told elsewhere; the edit is told in any case.
                *lost = lost::by_edit(&self.file, last, edited).unwrap_or_default();
            }
        }
    }

    /// Makes the file. Refused when it is there.
    pub fn create(
        &self,
        context: &Context,
        document: &JsonDocument,
        moved: Moved,
    ) -> Result<Changed, Error> {
        let request = context.request();
        let decide = |snapshot: &Snapshot| -> Result<Option<Change>, Box<Error>> {
            if snapshot.bytes.is_some() {
                return Err(Box::new(Error::AlreadyExists {
                    path: self.path.clone(),
                }));
            }
            let change = Change {
                transition: Some(self.transition(context, document.value(), &moved)),
                ..Change::to(document.text())
            };
            Ok(Some(change))
        };
        let updated = self
            .decided(context, &request, decide)
            .map_err(|error| match error {
                UpdateError::Refused(error) => *error,
                UpdateError::File(error) => Error::File(error),
            })?;
        let sequence = updated.seq.unwrap_or(0);
        let examined =
            kinds::examine(self.kind, document).map_err(|findings| self.damaged(findings))?;
        let view = View {
            kind: self.kind,
            path: self.path.clone(),
            document: document.clone(),
            examined,
            notices: Vec::new(),
            sequence,
        };
        Ok(Changed { view, moved })
    }

    /// Carries out one command of a machine, repairing a damaged file first.
    pub fn transact<K: MachineFile>(
        &self,
        context: &Context,
        command: impl Fn(
            &JsonDocument,
            &<K::Machine as Machine>::State,
        ) -> Result<<K::Machine as Machine>::Command, Error>,
        describe: impl Fn(&<K::Machine as Machine>::State, &<K::Machine as Machine>::State) -> Moved,
    ) -> Result<Changed, Error>
    where
        Refusal: From<<K::Machine as Machine>::Refusal>,
    {
        self.repairing(context, |document| {
            let read = K::Format::read(document).map_err(Stop::Damaged)?;
            self.writable(&read.findings)?;
            let at = context.now_for(self.kind);
            let command =
                command(document, &read.state).map_err(|error| Stop::Engine(Box::new(error)))?;
            let step = K::Machine::step(&read.state, command, at)
                .map_err(|refusal| Stop::Engine(Box::new(Error::Refused(refusal.into()))))?;
            let mut value = read.fixed;
            K::Format::write(&step.next, &mut value, at);
            let mut moved = describe(&read.state, &step.next);
            moved.important |= K::important(&step.effects);
            moved.effects = K::outward(&step.effects);
            let next = document.reconcile(&value);
            // What was repaired on the way is not in the file any more.
            let left = read.findings.iter().filter(|one| one.repair.is_none());
            let examined = kinds::examined::<K>(&step.next, left.cloned().collect(), value);
            Ok(Some(Decided {
                next,
                moved,
                found: read.findings,
                examined: Some(examined),
            }))
        })?
        .ok_or_else(|| self.no_file())
    }

    /// Changes what a file without a machine keeps, repairing a damaged one first. `None` when `change` says that nothing
    /// is to be changed.
    pub(crate) fn edit<F: StateFormat>(
        &self,
        context: &Context,
        moved: &Moved,
        mut change: impl FnMut(&mut F::State) -> Result<bool, Error>,
    ) -> Result<Option<Changed>, Error> {
        self.repairing(context, |document| {
            let read = F::read(document).map_err(Stop::Damaged)?;
            self.writable(&read.findings)?;
            let (mut state, mut value) = (read.state, read.fixed);
            if !change(&mut state).map_err(|error| Stop::Engine(Box::new(error)))? {
                return Ok(None);
            }
            F::write(&state, &mut value, context.now_for(self.kind));
            Ok(Some(Decided {
                next: document.reconcile(&value),
                moved: moved.clone(),
                found: read.findings,
                examined: None,
            }))
        })
    }

    /// Makes the file as it is at the very beginning, unless it is there. Tells whether it was made.
    pub(crate) fn begin(&self, context: &Context) -> Result<bool, Error> {
        if self.kind.is_there(&self.path) {
            return Ok(false);
        }
        let Some(document) = kinds::empty(self.kind, &self.path, context.now()) else {
            return Ok(false);
        };
        let moved = Moved::new("file", "INIT", None, "new");
        match self.create(context, &document, moved) {
            Ok(_) => Ok(true),
            // Somebody else was quicker, which is just as well.
            Err(Error::AlreadyExists { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// One decided change; a damaged file is restored once before it.
    fn repairing(
        &self,
        context: &Context,
        mut decide: impl FnMut(&JsonDocument) -> Result<Option<Decided>, Stop>,
    ) -> Result<Option<Changed>, Error> {
        let mut restored = Vec::new();
        loop {
            match self.change(context, &mut decide) {
                Ok(changed) => {
                    return Ok(changed.map(|mut changed| {
                        changed.view.notices.splice(0..0, restored);
                        changed
                    }));
                }
                Err(Stop::Engine(error)) if restored.is_empty() => return Err(*error),
                // Refused all the same; but what was repaired must not go unsaid.
                Err(Stop::Engine(error)) => {
                    return Err(Error::AfterRepair {
                        notices: restored,
                        error,
                    });
                }
                // Once: what a repair leaves behind is readable, or there is no point in going on.
                Err(Stop::Damaged(findings)) if restored.is_empty() && !context.dry_run => {
                    restored.extend(self.recover(context, &findings)?);
                }
                Err(Stop::Damaged(findings)) => return Err(self.damaged(findings)),
            }
        }
    }

    /// One decided change: lock, read, decide, persist.
    fn change(
        &self,
        context: &Context,
        mut decide: impl FnMut(&JsonDocument) -> Result<Option<Decided>, Stop>,
    ) -> Result<Option<Changed>, Stop> {
        let request = context.request();
        let mut outcome = None;
        let updated = self.decided(context, &request, |snapshot| {
            let begun = self.begun_for_a_dry_run(context, snapshot);
            let Some(bytes) = begun.as_ref().or(snapshot.bytes.as_ref()) else {
                return Err(match snapshot.situation {
                    Situation::Missing { .. } => Stop::Damaged(vec![missing()]),
                    Situation::Absent
                    | Situation::Unmanaged
                    | Situation::Clean
                    | Situation::RolledForward { .. }
                    | Situation::Outside { .. } => Stop::Engine(Box::new(Error::NoFile {
                        kind: self.kind,
                        path: self.path.clone(),
                    })),
                });
            };
            let document = Self::parse(bytes).map_err(Stop::Damaged)?;
            let Some(decided) = decide(&document)? else {
                return Ok(None);
            };
            let Decided { next, moved, .. } = &decided;
            let change = Change {
                transition: Some(self.transition(context, next.value(), moved)),
                important: moved.important,
                effects: moved
                    .effects
                    .as_ref()
                    .and_then(|effects| serde_json::value::to_raw_value(effects).ok()),
                ..Change::to(next.text())
            };
            let notices = Self::notices(snapshot);
            outcome = Some((decided, notices, snapshot.seq, document));
            Ok(Some(change))
        });
        let updated = updated.map_err(|error| match error {
            UpdateError::Refused(stop) => stop,
            UpdateError::File(error) => Stop::Engine(Box::new(Error::File(error))),
        })?;
        let Some((decided, mut notices, last, edited)) = outcome else {
            return Ok(None);
        };
        self.tell_lost(&mut notices, last, edited.value());
        let mended = decided
            .found
            .into_iter()
            .filter(|one| one.severity >= Severity::Warning && one.repair.is_some());
        notices.extend(mended.map(Notice::Mended));
        let (document, moved) = (decided.next, decided.moved);
        let examined = match decided.examined {
            Some(examined) => examined,
            None => kinds::examine(self.kind, &document).map_err(Stop::Damaged)?,
        };
        let sequence = updated.seq.unwrap_or(updated.snapshot.seq);
        let view = View {
            kind: self.kind,
            path: self.path.clone(),
            document,
            examined,
            notices,
            sequence,
        };
        Ok(Some(Changed { view, moved }))
    }

    /// Lets a decision be made on the file and makes it durable. A dry run decides on what can be read, takes no lock and
    /// needs no right to write.
    fn decided<E>(
        &self,
        context: &Context,
        request: &Request,
        mut decide: impl FnMut(&Snapshot) -> Result<Option<Change>, E>,
    ) -> Result<Updated, UpdateError<E>> {
        if !context.dry_run {
            return self.file.update(request, decide);
        }
        let snapshot = self.file.load()?;
        decide(&snapshot).map_err(UpdateError::Refused)?;
        Ok(Updated {
            seq: None,
            snapshot,
        })
    }

    /// The document a dry run goes on with where the real run would have made the file first.
    fn begun_for_a_dry_run(&self, context: &Context, snapshot: &Snapshot) -> Option<Vec<u8>> {
        let begins = context.dry_run
            && self.kind.begins_by_itself()
            && matches!(snapshot.situation, Situation::Absent);
        let document = begins.then(|| kinds::empty(self.kind, &self.path, context.now()));
        Some(document??.text().as_bytes().to_vec())
    }

    /// Changes the document of a file without a machine, repairing a damaged one first.
    pub(crate) fn adjust(
        &self,
        context: &Context,
        decide: impl Fn(&JsonDocument) -> Result<(JsonDocument, Moved), Error>,
    ) -> Result<Changed, Error> {
        let changed = self.repairing(context, |document| self.decide_on(document, &decide))?;
        changed.ok_or_else(|| self.no_file())
    }

    /// A decision over the document as a whole, once it can be read and may be written.
    fn decide_on(
        &self,
        document: &JsonDocument,
        decide: impl Fn(&JsonDocument) -> Result<(JsonDocument, Moved), Error>,
    ) -> Result<Option<Decided>, Stop> {
        let examined = kinds::examine(self.kind, document).map_err(Stop::Damaged)?;
        self.writable(&examined.findings)?;
        let (next, moved) = decide(document).map_err(|error| Stop::Engine(Box::new(error)))?;
        Ok(Some(Decided {
            next,
            moved,
            found: examined.findings,
            examined: None,
        }))
    }

    /// Changes the document as a whole: time travel and repair.
    pub(crate) fn rewrite(
        &self,
        context: &Context,
        decide: impl Fn(&JsonDocument) -> Result<(JsonDocument, Moved), Error>,
    ) -> Result<Changed, Error> {
        let outcome = self.change(context, |document| self.decide_on(document, &decide));
        let changed = outcome.map_err(|stop| match stop {
            Stop::Engine(error) => *error,
            Stop::Damaged(findings) => self.damaged(findings),
        })?;
        changed.ok_or_else(|| self.no_file())
    }

    fn no_file(&self) -> Error {
        Error::NoFile {
            kind: self.kind,
            path: self.path.clone(),
        }
    }

    /// Sets a damaged file aside and puts the best there is in its place.
    pub(crate) fn recover(
        &self,
        context: &Context,
        findings: &[Finding],
    ) -> Result<Option<Notice>, Error> {
        let reason = findings.last().map_or_else(
            || "unreadable".to_owned(),
            |finding| finding.message.clone(),
        );
        let rescue = Rescue {
            validate: &|text| self.read(text.as_bytes()).is_ok(),
            rebuild: &|| {
                rebuild(self.kind, &self.path, context.now())
                    .map(|document| document.text().to_owned())
            },
            empty: &|| {
                kinds::empty(self.kind, &self.path, context.now())
                    .map(|document| document.text().to_owned())
            },
        };
        let recovered = self.file.recover(&context.request(), &reason, &rescue)?;
        let from = match recovered.source {
            Source::Intact => return Ok(None),
            Source::Journal => Origin::Journal,
            Source::Backup(path) | Source::Archive(path) => Origin::Copy(path),
            Source::Rebuilt => Origin::Rebuilt,
            Source::Empty => Origin::Anew,
        };
        Ok(Some(Notice::Restored {
            from,
            set_aside: recovered.set_aside,
        }))
    }

    fn transition(&self, context: &Context, value: &Value, moved: &Moved) -> Box<RawValue> {
        let task_id = ["/task_id", "/current_task/id"]
            .iter()
            .find_map(|pointer| value.pointer(pointer).and_then(Value::as_str))
            .map_or_else(|| self.path.display().to_string(), str::to_owned);
        let line = Transition {
            timestamp: time::utc(context.now()),
            task_id,
            line_type: LINE_TYPE.to_owned(),
            entity: moved.entity.to_owned(),
            from: moved.from.clone(),
            to: moved.to.clone(),
            trigger: moved.trigger.to_owned(),
            metadata: moved.metadata.clone(),
            sequence: 0,
        };
        // A struct of texts and values always serialises; a transition must not be able to stop a change.
        serde_json::value::to_raw_value(&line).unwrap_or_else(|_| RawValue::NULL.to_owned())
    }
}

fn unparsable(message: &str) -> Finding {
    Finding {
        severity: Severity::Fatal,
        code: "not_json",
        pointer: String::new(),
        message: message.to_owned(),
        repair: None,
    }
}

fn missing() -> Finding {
    Finding {
        severity: Severity::Fatal,
        code: "file_missing",
        pointer: String::new(),
        message: "the file is gone, but its journal is here".to_owned(),
        repair: None,
    }
}
