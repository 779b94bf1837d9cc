//! The kinds of state file: where each lives, how it is read, and what takes its place when it is lost.

use crate::workspace;
use bowline_formats::StateFormat;
use bowline_formats::finding::{Finding, Severity};
use bowline_formats::json::JsonDocument;
use bowline_formats::thinking::{self, ThinkingFile};
use bowline_machines::thinking::ThinkingMachine;
use bowline_machines::{Advice, Machine, Timestamp};
use bowline_statefiles::Layout;
use serde_json::Value;
use std::path::Path;

/// A kind of state file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileKind {
    /// `thinking_state.json` in a task folder.
    Thinking,
}

impl FileKind {
    /// Every kind, in the order they are shown.
    pub const ALL: [FileKind; 1] = [FileKind::Thinking];

    /// The name on the command line and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            FileKind::Thinking => "thinking",
        }
    }

    /// The kind with that name.
    pub fn from_name(name: &str) -> Option<FileKind> {
        FileKind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Where the file lives below its root.
    pub const fn relative_path(self) -> &'static str {
        match self {
            FileKind::Thinking => thinking::FILE_NAME,
        }
    }

    /// The command that makes the first one.
    pub const fn how_to_begin(self) -> &'static str {
        match self {
            FileKind::Thinking => "bowline thinking new ID --title T --goal G",
        }
    }

    /// The kind a path says by its name.
    pub fn of_path(path: &Path) -> Option<FileKind> {
        let text = path.to_str()?;
        FileKind::ALL.into_iter().find(|kind| {
            text == kind.relative_path() || text.ends_with(&format!("/{}", kind.relative_path()))
        })
    }

    /// Where the file's companions live.
    pub(crate) fn layout(self, path: &Path) -> Layout {
        match self {
            FileKind::Thinking => Layout::new(path),
        }
    }
}

/// What a document says, whatever its kind.
#[derive(Debug, Clone)]
pub struct Examined {
    /// The one word for where it stands.
    pub status: String,
    /// The id of the task it is about; `None` for kinds without one.
    pub task_id: Option<String>,
    /// Everything found.
    pub findings: Vec<Finding>,
    /// The value with every repairable finding repaired.
    pub fixed: Value,
    /// Commands that make sense now, the most useful first.
    pub next: Vec<String>,
}

impl Examined {
    /// Why this program must not write the file, if it must not.
    pub fn read_only(&self) -> Option<&Finding> {
        self.findings
            .iter()
            .find(|finding| finding.severity == Severity::ReadOnly)
    }

    /// Whether something is wrong that a repair would change.
    pub fn needs_repair(&self) -> bool {
        self.findings
            .iter()
            .any(|finding| finding.severity >= Severity::Warning && finding.repair.is_some())
    }
}

/// A kind whose moves are a machine's and whose file is a format's.
pub trait MachineFile {
    /// The rules.
    type Machine: Machine;
    /// The shape.
    type Format: StateFormat<State = <Self::Machine as Machine>::State>;
    /// The kind.
    const KIND: FileKind;
}

/// Thinking runs as files.
#[derive(Debug, Clone, Copy)]
pub struct Thinking;

impl MachineFile for Thinking {
    type Machine = ThinkingMachine;
    type Format = ThinkingFile;
    const KIND: FileKind = FileKind::Thinking;
}

/// Reads a document as a kind.
pub fn examine(kind: FileKind, document: &JsonDocument) -> Result<Examined, Vec<Finding>> {
    match kind {
        FileKind::Thinking => examine_machine::<Thinking>(document, "/task_id"),
    }
}

fn examine_machine<K: MachineFile>(
    document: &JsonDocument,
    id: &str,
) -> Result<Examined, Vec<Finding>> {
    let read = K::Format::read(document)?;
    let task_id = document
        .value()
        .pointer(id)
        .and_then(Value::as_str)
        .map(str::to_owned);
    Ok(Examined {
        status: K::Machine::status(&read.state).to_owned(),
        task_id,
        next: K::Machine::advice(&read.state)
            .iter()
            .map(|advice| command_line(K::KIND, advice))
            .collect(),
        findings: read.findings,
        fixed: read.fixed,
    })
}

/// An advice as the command a person would type.
pub(crate) fn command_line(kind: FileKind, advice: &Advice) -> String {
    let noun = kind.name();
    match &advice.target {
        // Options stand behind the target: `start planning --override REASON`.
        Some(target) => match advice.verb.split_once(" --") {
            Some((verb, option)) => format!("bowline {noun} {verb} {target} --{option}"),
            None => format!("bowline {noun} {} {target}", advice.verb),
        },
        None => format!("bowline {noun} {}", advice.verb),
    }
}

/// A document rebuilt from other sources, when the file and its backups are lost.
pub(crate) fn rebuild(kind: FileKind, _path: &Path) -> Option<String> {
    match kind {
        FileKind::Thinking => None,
    }
}

/// A document to start anew with.
pub(crate) fn empty(kind: FileKind, path: &Path, now: Timestamp) -> Option<String> {
    match kind {
        FileKind::Thinking => {
            let id = workspace::folder_name(path.parent()?)?;
            Some(thinking::new_document(&id, &id, "", now).text().to_owned())
        }
    }
}
