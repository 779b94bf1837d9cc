//! Kinds of state file: paths, formats, and initial documents.

use crate::advice::{self, NextCommand};
use crate::effects::PendingEffect;
use crate::workspace;
use bowline_formats::develop::{self, DevelopFile};
use bowline_formats::finding::{Finding, Severity};
use bowline_formats::json::{JsonDocument, value_at};
use bowline_formats::memory::agent_memory::{self, AgentMemory, AgentMemoryFile};
use bowline_formats::memory::shared_context::{self, SharedContext, SharedContextFile};
use bowline_formats::memory::task_history::{self, TaskHistoryFile};
use bowline_formats::memory::task_state::{self, TaskStateFile};
use bowline_formats::orchestrate::{self, OrchestrateFile};
use bowline_formats::thinking::{self, ThinkingFile};
use bowline_formats::{StateFormat, time};
use bowline_gate::run_trust;
use bowline_machines::develop::{DevelopMachine, with_closed_gates};
use bowline_machines::orchestrate::OrchestrateMachine;
use bowline_machines::plan::{self, PlanMachine, next_id};
use bowline_machines::thinking::{self as thinking_run, ThinkingMachine};
use bowline_machines::{Machine, Timestamp};
use bowline_statefiles::{CopyArchive, FileLayout, StateFile};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Most dated copies kept of each file of the memory.
const BACKUPS_MAX: usize = 20;
/// Folder of the memory below its root.
pub const MEMORY_FOLDER: &str = ".claude/memory";

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileKind {
    /// `thinking_state.json` in a task folder.
    Thinking,
    /// `task-state.json` of the memory.
    TaskState,
    /// `task-history.json` of the memory.
    TaskHistory,
    /// `shared-context.json` of the memory.
    SharedContext,
    /// `agents/NAME.json` of the memory.
    AgentMemory,
    /// `.develop-workflow/state.json`.
    Develop,
    /// `.claude/orchestrate-state.json`.
    Orchestrate,
}

impl FileKind {
    /// Every kind, in display order.
    pub const ALL: [FileKind; 7] = [
        FileKind::Thinking,
        FileKind::TaskState,
        FileKind::TaskHistory,
        FileKind::SharedContext,
        FileKind::AgentMemory,
        FileKind::Develop,
        FileKind::Orchestrate,
    ];

    /// Returns the name on the command line and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            FileKind::Thinking => "thinking",
            FileKind::TaskState => "task-state",
            FileKind::TaskHistory => "task-history",
            FileKind::SharedContext => "shared-context",
            FileKind::AgentMemory => "agent-memory",
            FileKind::Develop => "develop",
            FileKind::Orchestrate => "orchestrate",
        }
    }

    /// Returns the kind with that name; a noun of the command line means the kind with its verbs.
    pub fn from_name(name: &str) -> Option<FileKind> {
        let noun = FileKind::ALL
            .into_iter()
            .find(|kind| kind.has_moves() && kind.command_noun() == name);
        noun.or_else(|| FileKind::ALL.into_iter().find(|kind| kind.name() == name))
    }

    /// Returns the noun of the command line it belongs to.
    pub const fn command_noun(self) -> &'static str {
        match self {
            FileKind::Thinking => "thinking",
            FileKind::TaskState
            | FileKind::TaskHistory
            | FileKind::SharedContext
            | FileKind::AgentMemory => "memory",
            FileKind::Develop => "develop",
            FileKind::Orchestrate => "orchestrate",
        }
    }

    /// True if a machine decides its changes; otherwise it only stores data.
    pub const fn has_moves(self) -> bool {
        match self {
            FileKind::Thinking
            | FileKind::TaskState
            | FileKind::Develop
            | FileKind::Orchestrate => true,
            FileKind::TaskHistory | FileKind::SharedContext | FileKind::AgentMemory => false,
        }
    }

    /// Returns the path of the file, or for agents of their folder, below its root.
    pub const fn relative_path(self) -> &'static str {
        match self {
            FileKind::Thinking => thinking::FILE_NAME,
            FileKind::TaskState => ".claude/memory/task-state.json",
            FileKind::TaskHistory => ".claude/memory/task-history.json",
            FileKind::SharedContext => ".claude/memory/shared-context.json",
            FileKind::AgentMemory => ".claude/memory/agents",
            FileKind::Develop => ".develop-workflow/state.json",
            FileKind::Orchestrate => ".claude/orchestrate-state.json",
        }
    }

    /// Returns the command that creates the first one.
    pub const fn how_to_begin(self) -> &'static str {
        match self {
            FileKind::Thinking => "bowline thinking new ID --title T --goal G",
            FileKind::TaskState | FileKind::TaskHistory | FileKind::SharedContext => {
                "bowline memory init"
            }
            FileKind::AgentMemory => "bowline memory agent set NAME PATH VALUE",
            FileKind::Develop => "bowline develop start FEATURE",
            FileKind::Orchestrate => "bowline orchestrate init",
        }
    }

    /// True if a changing verb creates a missing file.
    pub const fn begins_by_itself(self) -> bool {
        match self {
            FileKind::TaskState
            | FileKind::TaskHistory
            | FileKind::SharedContext
            | FileKind::AgentMemory => true,
            FileKind::Thinking | FileKind::Develop | FileKind::Orchestrate => false,
        }
    }

    /// Returns the kind that a path indicates by its name, in any memory folder.
    pub fn of_path(path: &Path) -> Option<FileKind> {
        let name = path.file_name()?.to_str()?;
        let folder = path
            .parent()
            .and_then(Path::file_name)
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        match name {
            thinking::FILE_NAME => Some(FileKind::Thinking),
            task_state::FILE_NAME => Some(FileKind::TaskState),
            task_history::FILE_NAME => Some(FileKind::TaskHistory),
            shared_context::FILE_NAME => Some(FileKind::SharedContext),
            orchestrate::FILE_NAME => Some(FileKind::Orchestrate),
            develop::FILE_NAME if folder == develop::FOLDER_NAME => Some(FileKind::Develop),
            _ if folder == agent_memory::FOLDER_NAME && is_agent_file(name) => {
                Some(FileKind::AgentMemory)
            }
            _ => None,
        }
    }

    /// Returns every file of this kind whose path below its root is `place`.
    pub(crate) fn files_at(self, place: &Path) -> Vec<PathBuf> {
        match self {
            FileKind::Thinking
            | FileKind::TaskState
            | FileKind::TaskHistory
            | FileKind::SharedContext
            | FileKind::Develop
            | FileKind::Orchestrate => {
                if self.is_there(place) {
                    vec![place.to_owned()]
                } else {
                    Vec::new()
                }
            }
            FileKind::AgentMemory => {
                let entries = std::fs::read_dir(place).into_iter().flatten().flatten();
                let named =
                    entries.filter(|entry| entry.file_name().to_str().is_some_and(is_agent_file));
                let mut paths: Vec<PathBuf> = named.map(|entry| entry.path()).collect();
                paths.sort();
                paths
            }
        }
    }

    /// True if the file exists at a path. A removed file whose journal stayed counts as existing:
    /// it can be restored.
    pub fn is_there(self, path: &Path) -> bool {
        if self == FileKind::Develop {
            return bowline_gate::locate::is_develop_file(path)
                && (path.symlink_metadata().is_ok()
                    || run_trust::assess_file(path) != run_trust::RunTrust::Nothing);
        }
        let mut journal = path.file_name().unwrap_or_default().to_owned();
        journal.push(".journal.jsonl");
        let journal = path.with_file_name(journal);
        // A dangling link and a pipe count as well: their reader reports the problem.
        path.symlink_metadata().is_ok() || journal.exists() || self.has_copies(path)
    }

    /// True if copies of a file of the memory exist from which it can be restored: the backup
    /// beside it, or a dated one.
    pub(crate) fn has_copies(self, path: &Path) -> bool {
        match self {
            FileKind::Thinking | FileKind::Develop | FileKind::Orchestrate => false,
            FileKind::TaskState
            | FileKind::TaskHistory
            | FileKind::SharedContext
            | FileKind::AgentMemory => {
                let mut backup = path.file_name().unwrap_or_default().to_owned();
                backup.push(".bak");
                let dated = || StateFile::new(self.file_layout(path)).archived_copies();
                path.with_file_name(backup).is_file()
                    || dated().is_ok_and(|copies| !copies.is_empty())
            }
        }
    }

    /// Returns the paths of the file's companions.
    pub(crate) fn file_layout(self, path: &Path) -> FileLayout {
        match self {
            FileKind::Thinking | FileKind::Orchestrate => FileLayout::new(path),
            // Only the state file is in its folder.
            FileKind::Develop => bowline_gate::locate::run_layout(path),
            FileKind::TaskState | FileKind::TaskHistory | FileKind::SharedContext => {
                FileLayout::new(path).with_archive(backup_archive(path, path.parent()))
            }
            FileKind::AgentMemory => FileLayout::new(path)
                .with_archive(backup_archive(path, path.parent().and_then(Path::parent))),
        }
    }
}

fn backup_archive(path: &Path, memory: Option<&Path>) -> CopyArchive {
    CopyArchive {
        folder: memory.unwrap_or(Path::new(".")).join("backup"),
        stem: path
            .file_stem()
            .map_or_else(String::new, |stem| stem.to_string_lossy().into_owned()),
        keep: BACKUPS_MAX,
    }
}

fn is_agent_file(name: &str) -> bool {
    name.strip_suffix(".json")
        .is_some_and(agent_memory::is_name)
}

/// State of a document, in the types of its kind.
#[derive(Debug, Clone)]
pub enum DocumentState {
    /// A thinking run.
    Thinking(Box<thinking::ThinkingSheet>),
    /// Tasks that are not over.
    TaskState(Box<plan::TaskMemory>),
    /// Tasks that are over.
    TaskHistory(Vec<plan::HistoryEntry>),
    /// Shared data of all agents.
    SharedContext(Box<SharedContext>),
    /// Private data of one agent.
    AgentMemory(Box<AgentMemory>),
    /// A develop run, or none.
    Develop(Option<Box<bowline_machines::develop::DevelopRunState>>),
    /// An orchestration: [`crate::operations::orchestrate::overview_from_view`] reads its contents,
    /// whatever its format.
    Orchestrate,
}

/// Examined document of any kind.
#[derive(Debug, Clone)]
pub struct ExaminedDocument {
    /// State in the types of its kind.
    pub state: DocumentState,
    /// Status in one word.
    pub status: String,
    /// Id of its task; `None` for kinds without one.
    pub task_id: Option<String>,
    pub findings: Vec<Finding>,
    /// Value with all repairable findings repaired.
    pub fixed: Value,
    /// Commands that make sense now, the most useful first. Empty for a file that a newer program
    /// wrote: all would be refused.
    pub next: Vec<NextCommand>,
}

impl ExaminedDocument {
    /// True if a repair would change the document.
    pub fn needs_repair(&self) -> bool {
        self.findings
            .iter()
            .any(|finding| finding.severity >= Severity::Warning && finding.repair.is_some())
    }
}

/// Kind with a machine for its changes and a format for its file.
pub trait MachineFile {
    type Machine: Machine;
    type Format: StateFormat<State = <Self::Machine as Machine>::State>;
    const KIND: FileKind;

    /// Converts a state to that of all kinds, with data that only the document has.
    fn document_state(state: &<Self::Machine as Machine>::State, document: &Value)
    -> DocumentState;

    /// True if a dated copy of the previous version is kept.
    fn keeps_backup(_effects: &[<Self::Machine as Machine>::Effect]) -> bool {
        false
    }

    /// Returns the side effects outside the file, as its journal keeps them until they are done.
    fn pending_effect(_effects: &[<Self::Machine as Machine>::Effect]) -> Option<PendingEffect> {
        None
    }
}

/// State type of a kind with a machine.
pub(crate) type StateOf<K> = <<K as MachineFile>::Machine as Machine>::State;

/// File kind of thinking runs.
#[derive(Debug, Clone, Copy)]
pub struct ThinkingKind;

impl MachineFile for ThinkingKind {
    type Machine = ThinkingMachine;
    type Format = ThinkingFile;
    const KIND: FileKind = FileKind::Thinking;

    fn document_state(run: &thinking_run::ThinkingRunState, document: &Value) -> DocumentState {
        DocumentState::Thinking(Box::new(thinking::ThinkingSheet::new(
            run.clone(),
            document,
        )))
    }
}

/// File kind of the memory's current task.
#[derive(Debug, Clone, Copy)]
pub struct TaskStateKind;

impl MachineFile for TaskStateKind {
    type Machine = PlanMachine;
    type Format = TaskStateFile;
    const KIND: FileKind = FileKind::TaskState;

    fn document_state(memory: &plan::TaskMemory, _: &Value) -> DocumentState {
        DocumentState::TaskState(Box::new(memory.clone()))
    }

    fn keeps_backup(effects: &[plan::Effect]) -> bool {
        effects
            .iter()
            .any(|effect| matches!(effect, plan::Effect::Backup))
    }

    fn pending_effect(effects: &[plan::Effect]) -> Option<PendingEffect> {
        effects.iter().find_map(|effect| match effect {
            plan::Effect::PushHistory(entry) => Some(PendingEffect::PushHistory(entry.clone())),
            plan::Effect::Backup
            | plan::Effect::Escalate { .. }
            | plan::Effect::RetryAfter { .. } => None,
        })
    }
}

/// File kind of develop runs.
#[derive(Debug, Clone, Copy)]
pub struct DevelopKind;

impl MachineFile for DevelopKind {
    type Machine = DevelopMachine;
    type Format = DevelopFile;
    const KIND: FileKind = FileKind::Develop;

    fn document_state(
        run: &Option<bowline_machines::develop::DevelopRunState>,
        _: &Value,
    ) -> DocumentState {
        DocumentState::Develop(run.clone().map(Box::new))
    }
}

/// File kind of orchestrations.
#[derive(Debug, Clone, Copy)]
pub struct OrchestrateKind;

impl MachineFile for OrchestrateKind {
    type Machine = OrchestrateMachine;
    type Format = OrchestrateFile;
    const KIND: FileKind = FileKind::Orchestrate;

    fn document_state(
        _: &bowline_machines::orchestrate::OrchestrationState,
        _: &Value,
    ) -> DocumentState {
        DocumentState::Orchestrate
    }
}

/// True if a text can be read as a document of a kind.
pub(crate) fn is_document(kind: FileKind, text: &str) -> bool {
    let document = JsonDocument::parse(text.as_bytes());
    document.is_ok_and(|document| examine_document(kind, &document).is_ok())
}

/// Returns an earlier document as it may be restored: neither going back nor a repair opens a gate.
pub(crate) fn restored_document(
    kind: FileKind,
    document: &JsonDocument,
    at: Timestamp,
) -> JsonDocument {
    if kind != FileKind::Develop {
        return document.clone();
    }
    let Ok(read) = DevelopFile::read_state(document) else {
        return document.clone();
    };
    let mut value = read.fixed;
    DevelopFile::write_state(&read.state.as_ref().map(with_closed_gates), &mut value, at);
    document.reconcile(&value)
}

/// Returns the JSON pointer to the id of a document's task.
const fn id_pointer(kind: FileKind) -> Option<&'static str> {
    match kind {
        FileKind::Thinking => Some("/task_id"),
        FileKind::TaskState => Some("/current_task/id"),
        FileKind::TaskHistory
        | FileKind::SharedContext
        | FileKind::AgentMemory
        | FileKind::Develop
        | FileKind::Orchestrate => None,
    }
}

/// Returns the key that distinguishes the subjects of two documents: the task, the agent, or the
/// start time of a run.
pub(crate) fn subject_key(kind: FileKind, value: &Value) -> Option<String> {
    let text = |pointer| value_at(value, pointer).and_then(Value::as_str);
    // Ids are counted per folder and day: two tasks may have the same one.
    let task =
        |id: &'static str, begun| Some(format!("{} ({})", text(id)?, text(begun).unwrap_or("-")));
    match kind {
        FileKind::Thinking => task("/task_id", "/created_at"),
        FileKind::TaskState => task("/current_task/id", "/current_task/started_at"),
        FileKind::AgentMemory => text("/agent").map(str::to_owned),
        FileKind::Develop | FileKind::Orchestrate => text("/started_at").map(str::to_owned),
        // Shared by all tasks.
        FileKind::TaskHistory | FileKind::SharedContext => None,
    }
}

/// Reads a document as a kind.
pub fn examine_document(
    kind: FileKind,
    document: &JsonDocument,
) -> Result<ExaminedDocument, Vec<Finding>> {
    match kind {
        FileKind::Thinking => examine_machine::<ThinkingKind>(document),
        FileKind::TaskState => examine_machine::<TaskStateKind>(document),
        FileKind::Develop => examine_machine::<DevelopKind>(document),
        FileKind::Orchestrate => examine_orchestration(document),
        FileKind::TaskHistory => {
            let status = |entries: &Vec<_>| match entries.len() {
                1 => "1 task".to_owned(),
                count => format!("{count} tasks"),
            };
            examine_plain::<TaskHistoryFile>(document, status, DocumentState::TaskHistory)
        }
        FileKind::SharedContext => {
            let status = |context: &SharedContext| context.session_id.clone();
            let state = |context| DocumentState::SharedContext(Box::new(context));
            examine_plain::<SharedContextFile>(document, status, state)
        }
        FileKind::AgentMemory => {
            let status = |memory: &AgentMemory| memory.agent.clone();
            let state = |memory| DocumentState::AgentMemory(Box::new(memory));
            examine_plain::<AgentMemoryFile>(document, status, state)
        }
    }
}

/// Examines an orchestration. Many files name only completed tasks: that all of them are completed
/// does not mean that the run is over.
fn examine_orchestration(document: &JsonDocument) -> Result<ExaminedDocument, Vec<Finding>> {
    let mut examined = examine_machine::<OrchestrateKind>(document)?;
    let summary = orchestrate::summarise_document(document)?;
    if examined.status == "completed" && !summary.is_finished() {
        let word = if summary.is_untouched() {
            "pending"
        } else {
            "in_progress"
        };
        examined.status = word.to_owned();
    }
    Ok(examined)
}

fn examine_machine<K: MachineFile>(
    document: &JsonDocument,
) -> Result<ExaminedDocument, Vec<Finding>> {
    let read = K::Format::read_state(document)?;
    Ok(examine_state::<K>(&read.state, read.findings, read.fixed))
}

/// Examines a state that was read, or that a step led to.
pub(crate) fn examine_state<K: MachineFile>(
    state: &<K::Machine as Machine>::State,
    findings: Vec<Finding>,
    fixed: Value,
) -> ExaminedDocument {
    let id = id_pointer(K::KIND).and_then(|pointer| value_at(&fixed, pointer));
    let known = K::document_state(state, &fixed);
    let read_only = findings
        .iter()
        .any(|one| one.severity == Severity::ReadOnly);
    ExaminedDocument {
        status: K::Machine::status_name(state).to_owned(),
        task_id: id.and_then(Value::as_str).map(str::to_owned),
        next: K::Machine::advice(state)
            .into_iter()
            .filter(|_| !read_only)
            .map(|advice| advice::complete_advice(K::KIND, &known, advice))
            .collect(),
        state: known,
        findings,
        fixed,
    }
}

fn examine_plain<F: StateFormat>(
    document: &JsonDocument,
    status: impl Fn(&F::State) -> String,
    state: impl Fn(F::State) -> DocumentState,
) -> Result<ExaminedDocument, Vec<Finding>> {
    let read = F::read_state(document)?;
    Ok(ExaminedDocument {
        status: status(&read.state),
        state: state(read.state),
        task_id: None,
        findings: read.findings,
        fixed: read.fixed,
        next: Vec::new(),
    })
}

/// Returns the initial document of a kind.
pub(crate) fn initial_document(
    kind: FileKind,
    path: &Path,
    now: Timestamp,
) -> Option<JsonDocument> {
    Some(match kind {
        FileKind::Thinking => {
            let id = workspace::folder_name(path.parent()?)?;
            thinking::new_document(&id, &id, "", now)
        }
        // No initial document would be true: a person begins a run, and tasks come from their list.
        FileKind::Develop | FileKind::Orchestrate => return None,
        FileKind::TaskState => task_state::new_document(now),
        FileKind::TaskHistory => task_history::new_document(),
        FileKind::SharedContext => {
            let today = time::format_utc(now);
            let session = next_id("session", today.split('T').next().unwrap_or_default(), []);
            shared_context::new_document(&session, now)
        }
        FileKind::AgentMemory => agent_memory::new_document(path.file_stem()?.to_str()?, now),
    })
}
