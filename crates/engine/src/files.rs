//! State files of any kind: looked at, and changed by one command.

use crate::context::Context;
use crate::error::{Error, Refusal};
use crate::kinds::{self, Examined, FileKind, MachineFile};
use crate::lost::{self, Lost};
use bowline_formats::StateFormat as _;
use bowline_formats::finding::{Finding, Severity};
use bowline_formats::json::JsonDocument;
use bowline_formats::time;
use bowline_formats::transition::{LINE_TYPE, Transition};
use bowline_machines::Machine;
use bowline_statefiles::{Change, Rescue, Situation, Snapshot, Source, StateFile, UpdateError};
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

/// Something that happened to a file, worth telling whoever works with it.
#[derive(Debug, Clone, PartialEq)]
pub enum Notice {
    /// A committed change had not reached the file; it has now.
    RolledForward {
        /// How many.
        lines: usize,
    },
    /// Somebody else changed the file.
    OutsideEdit {
        /// Acknowledged transitions that the edit lacks.
        lost: Vec<Lost>,
    },
    /// A field was repaired before the change.
    Mended(Finding),
    /// The file was damaged and something took its place.
    Restored {
        /// Where the document came from, in words.
        from: String,
        /// Where the damaged file is now.
        set_aside: Option<PathBuf>,
    },
    /// Something the file's keeper noticed.
    Keeper {
        /// A word for programs.
        code: &'static str,
        /// A sentence for people.
        message: String,
    },
}

impl Notice {
    /// A word for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Notice::RolledForward { .. } => "rolled_forward",
            Notice::OutsideEdit { lost } if lost.is_empty() => "outside_edit",
            Notice::OutsideEdit { .. } => "lost_transition",
            Notice::Mended(finding) => finding.code,
            Notice::Restored { .. } => "restored",
            Notice::Keeper { code, .. } => code,
        }
    }

    /// The notice as a finding about the whole file.
    pub fn to_finding(&self) -> Finding {
        let (severity, repair) = match self {
            Notice::OutsideEdit { lost } if !lost.is_empty() => (
                Severity::Error,
                Some("'bowline doctor --repair' applies them again".to_owned()),
            ),
            Notice::Keeper { .. } => (Severity::Warning, None),
            Notice::Mended(finding) => return finding.clone(),
            Notice::RolledForward { .. } | Notice::OutsideEdit { .. } | Notice::Restored { .. } => {
                (Severity::Note, None)
            }
        };
        Finding {
            severity,
            code: self.code(),
            pointer: String::new(),
            message: self.to_string(),
            repair,
        }
    }
}

impl std::fmt::Display for Notice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Notice::RolledForward { lines } => {
                write!(
                    f,
                    "{lines} committed change(s) had not reached the file and were completed"
                )
            }
            Notice::OutsideEdit { lost } if lost.is_empty() => {
                f.write_str("the file was changed outside Bowline")
            }
            Notice::OutsideEdit { lost } => {
                let names: Vec<String> = lost.iter().map(ToString::to_string).collect();
                write!(
                    f,
                    "the file was changed outside Bowline and lacks acknowledged transitions: {}",
                    names.join(", ")
                )
            }
            Notice::Mended(finding) => match &finding.repair {
                Some(repair) => write!(f, "{} {}: {repair}", finding.pointer, finding.message),
                None => write!(f, "{} {}", finding.pointer, finding.message),
            },
            Notice::Restored {
                from,
                set_aside: Some(path),
            } => {
                write!(
                    f,
                    "the file was damaged; restored from {from}, the damaged one is {}",
                    path.display()
                )
            }
            Notice::Restored {
                from,
                set_aside: None,
            } => write!(f, "the file was missing; restored from {from}"),
            Notice::Keeper { message, .. } => f.write_str(message),
        }
    }
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
        let notices = self.notices(snapshot, document.value());
        Ok(View {
            kind: self.kind,
            path: self.path.clone(),
            document,
            examined,
            notices,
            sequence: snapshot.seq,
        })
    }

    fn read(&self, bytes: &[u8]) -> Result<(JsonDocument, Examined), Vec<Finding>> {
        let document =
            JsonDocument::parse(bytes).map_err(|error| vec![unparsable(&error.to_string())])?;
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
    pub(crate) fn notices(&self, snapshot: &Snapshot, value: &Value) -> Vec<Notice> {
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
            Situation::Outside { .. } => {
                let lost = lost::by_edit(&self.file, u64::MAX, value).unwrap_or_default();
                notices.push(Notice::OutsideEdit { lost });
            }
            Situation::Absent
            | Situation::Unmanaged
            | Situation::Clean
            | Situation::Missing { .. } => {}
        }
        notices
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
            Ok((!context.dry_run).then_some(change))
        };
        let updated = self
            .file
            .update(&request, decide)
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
        let mut restored = Vec::new();
        loop {
            let outcome = self.change(context, |document| {
                let read = K::Format::read(document).map_err(Stop::Damaged)?;
                let at = context.now();
                let command = command(document, &read.state)
                    .map_err(|error| Stop::Engine(Box::new(error)))?;
                let step = K::Machine::step(&read.state, command, at)
                    .map_err(|refusal| Stop::Engine(Box::new(Error::Refused(refusal.into()))))?;
                let mut value = read.fixed;
                K::Format::write(&step.next, &mut value, at);
                let mut moved = describe(&read.state, &step.next);
                moved.important |= K::important(&step.effects);
                moved.effects = K::outward(&step.effects);
                Ok((document.reconcile(&value), moved))
            });
            match outcome {
                Ok(mut changed) => {
                    changed.view.notices.splice(0..0, restored);
                    return Ok(changed);
                }
                Err(Stop::Engine(error)) => return Err(*error),
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
        decide: impl Fn(&JsonDocument) -> Result<(JsonDocument, Moved), Stop>,
    ) -> Result<Changed, Stop> {
        let request = context.request();
        let mut outcome = None;
        let updated = self.file.update(&request, |snapshot| {
            let Some(bytes) = &snapshot.bytes else {
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
            let (document, examined) = self.read(bytes).map_err(Stop::Damaged)?;
            if let Some(finding) = examined.read_only() {
                let message = finding.message.clone();
                return Err(Stop::Engine(Box::new(Error::NewerVersion {
                    path: self.path.clone(),
                    message,
                })));
            }
            let mut notices = self.notices(snapshot, document.value());
            let mended = examined
                .findings
                .into_iter()
                .filter(|one| one.severity >= Severity::Warning && one.repair.is_some());
            notices.extend(mended.map(Notice::Mended));
            let (next, moved) = decide(&document)?;
            let change = Change {
                transition: Some(self.transition(context, next.value(), &moved)),
                important: moved.important,
                effects: moved
                    .effects
                    .as_ref()
                    .and_then(|effects| serde_json::value::to_raw_value(effects).ok()),
                ..Change::to(next.text())
            };
            outcome = Some((next, moved, notices));
            Ok((!context.dry_run).then_some(change))
        });
        let updated = updated.map_err(|error| match error {
            UpdateError::Refused(stop) => stop,
            UpdateError::File(error) => Stop::Engine(Box::new(Error::File(error))),
        })?;
        // `update` returns only after the decision it carried out.
        let Some((document, moved, notices)) = outcome else {
            return Err(Stop::Engine(Box::new(Error::NothingHere {
                path: self.path.clone(),
            })));
        };
        let examined = kinds::examine(self.kind, &document).map_err(Stop::Damaged)?;
        let sequence = updated.seq.unwrap_or(updated.snapshot.seq);
        let view = View {
            kind: self.kind,
            path: self.path.clone(),
            document,
            examined,
            notices,
            sequence,
        };
        Ok(Changed { view, moved })
    }

    /// Changes the document as a whole: time travel and repair.
    pub(crate) fn rewrite(
        &self,
        context: &Context,
        decide: impl Fn(&JsonDocument) -> Result<(JsonDocument, Moved), Error>,
    ) -> Result<Changed, Error> {
        let outcome = self.change(context, |document| {
            decide(document).map_err(|error| Stop::Engine(Box::new(error)))
        });
        outcome.map_err(|stop| match stop {
            Stop::Engine(error) => *error,
            Stop::Damaged(findings) => self.damaged(findings),
        })
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
            rebuild: &|| kinds::rebuild(self.kind, &self.path),
            empty: &|| {
                kinds::empty(self.kind, &self.path, context.now())
                    .map(|document| document.text().to_owned())
            },
        };
        let recovered = self.file.recover(&context.request(), &reason, &rescue)?;
        let from = match recovered.source {
            Source::Intact => return Ok(None),
            Source::Journal => "the journal, nothing lost".to_owned(),
            Source::Backup(path) | Source::Archive(path) => path.display().to_string(),
            Source::Rebuilt => "its other sources".to_owned(),
            Source::Empty => "nothing: it starts anew".to_owned(),
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
