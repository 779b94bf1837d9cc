//! Format of `.checkpoints/checkpoint_TIME.json` in a task's workspace: everything needed to resume
//! the work elsewhere.
//!
//! It holds only the names of environment variables. Values stay in the store; a value found in a
//! file is neither kept nor shown.

use crate::StateFormat;
use crate::document_reader::{DocumentReader, put_list, put_time, put_value};
use crate::finding::{Finding, ReadResult, Severity};
use crate::json::{JsonDocument, child_pointer};
use crate::time::{format_utc, parse_time};
use bowline_machines::Timestamp;
use bowline_machines::job::{AgentStatus, BlockedBy, TaskStatus};
use bowline_words::message::{FileFinding, Kind, Repair};
use serde_json::{Map, Value, json};

/// Name of the checkpoint folder in the workspace.
pub const FOLDER_NAME: &str = ".checkpoints";
/// Checkpoints kept per workspace; older ones are removed.
pub const KEPT_MAX: usize = 10;
/// Size limit of one file in bytes.
pub const FILE_BYTES_MAX: usize = 50 * 1024 * 1024;

/// Values of `createdBy`: the requesters of a checkpoint.
pub const CREATORS: [&str; 3] = ["auto", "user", "system"];
/// Values of `reason`: the occasions for saving a checkpoint.
pub const REASONS: [&str; 10] = [
    "interval",
    "rate_limit",
    "error",
    "phase_complete",
    "user_pause",
    "dependency_request",
    "user_question",
    "completed",
    "failed",
    "manual",
];
/// Values of `role`: the speakers of a conversation.
pub const ROLES: [&str; 3] = ["user", "assistant", "system"];

/// The state format of checkpoint files.
#[derive(Debug, Clone, Copy)]
pub struct CheckpointFile;

/// A saved state of a task, its agent and their conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskCheckpoint {
    /// The checkpoint's id, `cp_…`.
    pub id: String,
    /// Id of the task it belongs to.
    pub task_id: String,
    /// Time at which it was saved.
    pub created_at: Timestamp,
    /// The requester, one of [`CREATORS`].
    pub created_by: &'static str,
    /// The occasion, one of [`REASONS`].
    pub reason: &'static str,
    /// Status of the task at that time.
    pub task_status: TaskStatus,
    /// Type of the task.
    pub task_type: String,
    /// Current phase of the task.
    pub task_phase: Option<u32>,
    /// Progress of the task in percent, 0 to 100.
    pub progress: u32,
    /// Status of the agent at that time.
    pub agent_status: AgentStatus,
    /// Process id of the agent.
    pub pid: Option<u32>,
    /// Current phase of the agent.
    pub agent_phase: Option<u32>,
    /// Current step of the agent.
    pub current_step: Option<String>,
    /// Tokens spent so far.
    pub tokens_used: u64,
    /// The kind of input that the agent waited for.
    pub blocked_by: Option<BlockedBy>,
    /// The conversation, oldest message first.
    pub messages: Vec<ConversationMessage>,
    /// Names of the environment variables that were set.
    pub variables: Vec<String>,
    /// Dependencies that were provided.
    pub dependencies: Vec<ProvidedDependency>,
    /// Path of the workspace folder.
    pub workspace: String,
    /// Files that were made, relative to the workspace.
    pub deliverables: Vec<String>,
    /// Time of the last change to a file in the workspace.
    pub last_modified: Option<Timestamp>,
    /// Unanswered dependency requests, as the agent wrote them.
    pub pending_dependencies: Vec<Value>,
    /// Unanswered questions, as the agent wrote them.
    pub pending_questions: Vec<Value>,
    /// Numbers of the completed phases.
    pub completed_phases: Vec<u32>,
    /// The client's own session id, for resuming.
    pub session_id: Option<String>,
    /// The hidden git ref that holds the code.
    pub code_ref: Option<String>,
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct ConversationMessage {
    /// The speaker, one of [`ROLES`].
    pub role: &'static str,
    /// Text of the message.
    pub content: String,
    /// Time of the message.
    pub at: Timestamp,
    /// Phase, step and kind of the message, if known.
    pub metadata: Option<Value>,
}

/// A dependency that was provided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProvidedDependency {
    /// Kind of the dependency.
    pub kind: String,
    /// Name of the dependency.
    pub name: String,
    /// Time at which it was provided.
    pub at: Timestamp,
}

/// Returns the file name of a checkpoint saved at that time.
pub fn file_name(created_at: Timestamp) -> String {
    let stamp = format_utc(created_at).replace([':', '.'], "-");
    format!("checkpoint_{stamp}.json")
}

/// Returns the document of a new checkpoint file.
pub fn new_document(checkpoint: &TaskCheckpoint) -> JsonDocument {
    let mut value = json!({});
    CheckpointFile::write_state(checkpoint, &mut value, checkpoint.created_at);
    JsonDocument::new(value)
}

impl StateFormat for CheckpointFile {
    type State = TaskCheckpoint;
    const KIND: &'static str = "checkpoint";

    fn read_state(document: &JsonDocument) -> Result<ReadResult<TaskCheckpoint>, Vec<Finding>> {
        let mut reading = DocumentReader::new(document)?;
        for place in ["/task", "/agent"] {
            if !reading.get(place).is_some_and(Value::is_object) {
                let message = FileFinding::NothingToTakeUp;
                return Err(reading.give_up(place, "missing_field", message));
            }
        }
        let checkpoint = read_checkpoint(&mut reading);
        Ok(reading.finish(checkpoint))
    }

    /// Writes the checkpoint. `_at` is unused: the file has only the time at which it was saved.
    fn write_state(checkpoint: &TaskCheckpoint, value: &mut Value, _at: Timestamp) {
        write_checkpoint(checkpoint, value);
    }
}

fn read_checkpoint(reading: &mut DocumentReader<'_>) -> TaskCheckpoint {
    let modified = reading.get("/workspace/lastModified");
    let known = modified.and_then(Value::as_str).and_then(parse_time);
    let created_at = reading.read_time_or("/createdAt", known.unwrap_or(Timestamp(0)), format_utc);
    let id = format!("cp_{}", created_at.0);
    for place in [
        "/conversationHistory",
        "/environment",
        "/workspace",
        "/protocols",
    ] {
        reading.read_object(place);
    }
    for place in [
        "/task/currentPhase",
        "/agent/pid",
        "/agent/currentPhase",
        "/agent/currentStep",
        "/agent/blockedBy",
        "/workspace/lastModified",
    ] {
        reading.expect_field(place);
    }
    let phase = reading.read_count("/task/currentPhase");
    TaskCheckpoint {
        id: reading.read_text("/id", &id),
        task_id: reading.read_text("/taskId", ""),
        created_at,
        created_by: reading.read_word("/createdBy", &CREATORS, |it| it, "system"),
        reason: reading.read_word("/reason", &REASONS, |it| it, "interval"),
        task_status: reading.read_word(
            "/task/status",
            &TaskStatus::ALL,
            TaskStatus::name,
            TaskStatus::InProgress,
        ),
        task_type: reading.read_text("/task/type", "custom"),
        task_phase: phase,
        progress: read_progress(reading),
        agent_status: reading.read_word(
            "/agent/status",
            &AgentStatus::ALL,
            AgentStatus::name,
            AgentStatus::Paused,
        ),
        pid: reading.read_count("/agent/pid"),
        agent_phase: reading.read_count("/agent/currentPhase"),
        current_step: reading.read_optional_text("/agent/currentStep"),
        tokens_used: reading.read_whole_or("/agent/tokensUsed", 0),
        blocked_by: match reading.get("/agent/blockedBy") {
            None | Some(Value::Null) => None,
            Some(_) => read_block(reading),
        },
        messages: read_messages(reading, created_at),
        variables: read_variables(reading),
        dependencies: read_provided(reading, created_at),
        workspace: reading.read_text("/workspace/path", ""),
        deliverables: reading.read_texts("/workspace/deliverables"),
        last_modified: reading.read_time("/workspace/lastModified"),
        pending_dependencies: reading.read_list("/protocols/pendingDependencies").to_vec(),
        pending_questions: reading.read_list("/protocols/pendingQuestions").to_vec(),
        completed_phases: read_phases(reading),
        session_id: reading.read_optional_text("/sessionId"),
        code_ref: reading.read_optional_text("/codeRef"),
    }
}

fn read_progress(reading: &mut DocumentReader<'_>) -> u32 {
    let progress = reading.read_count_or("/task/progress", 0);
    if progress > 100 {
        let message = FileFinding::ProgressRange {
            value: progress.to_string(),
        };
        let place = "/task/progress";
        reading.repair_value(Severity::Error, "out_of_range", place, message, 100.into());
    }
    progress.min(100)
}

fn read_block(reading: &mut DocumentReader<'_>) -> Option<BlockedBy> {
    let place = "/agent/blockedBy";
    let found = reading.get(place).and_then(Value::as_str);
    let block = found.and_then(BlockedBy::from_name);
    if block.is_none() {
        let message = FileFinding::NotOneOf {
            words: "dependency, question, review, null".into(),
        };
        reading.repair_value(Severity::Error, "unknown_word", place, message, Value::Null);
    }
    block
}

fn read_messages(reading: &mut DocumentReader<'_>, known: Timestamp) -> Vec<ConversationMessage> {
    let list = "/conversationHistory/messages";
    let good = reading.read_objects(list);
    let mut messages = Vec::with_capacity(good.len());
    for &index in &good {
        let field = |name: &str| format!("{list}/{index}/{name}");
        messages.push(ConversationMessage {
            role: reading.read_word(&field("role"), &ROLES, |it| it, "system"),
            content: reading.read_text(&field("content"), ""),
            at: reading.read_time_or(&field("timestamp"), known, format_utc),
            metadata: read_metadata(reading, &field("metadata")),
        });
    }
    reading.retain_items(list, &good);
    let last = i64::try_from(messages.len()).unwrap_or(i64::MAX) - 1;
    reading.check_derived("/conversationHistory/lastMessageIndex", last.into());
    messages
}

fn read_metadata(reading: &mut DocumentReader<'_>, place: &str) -> Option<Value> {
    let found = reading.get(place)?;
    if found.is_object() || found.is_null() {
        return Some(found.clone());
    }
    let message = FileFinding::ShouldBe {
        wanted: Kind::ObjectOrNull,
    };
    reading.repair_value(Severity::Error, "wrong_type", place, message, Value::Null);
    Some(Value::Null)
}

fn read_variables(reading: &mut DocumentReader<'_>) -> Vec<String> {
    let Some(map) = reading.read_object("/environment/variables") else {
        return Vec::new();
    };
    for (name, value) in map {
        if !is_sealed(value) && !value.is_null() {
            let place = child_pointer("/environment/variables", name);
            let message = FileFinding::HoldsValue;
            reading.set_repaired(&place, Value::Null);
            let repair = Some(Repair::TakeValueOut);
            reading.add_finding(Severity::Warning, "secret_in_file", &place, message, repair);
        }
    }
    map.keys().cloned().collect()
}

/// True for a sealed value of another writer. It is unreadable, so it need not be removed.
fn is_sealed(value: &Value) -> bool {
    value
        .as_str()
        .is_some_and(|it| it.starts_with("encrypted:"))
}

fn read_provided(reading: &mut DocumentReader<'_>, known: Timestamp) -> Vec<ProvidedDependency> {
    let list = "/environment/dependencies";
    let good = reading.read_objects(list);
    let mut all = Vec::with_capacity(good.len());
    for &index in &good {
        let field = |name: &str| format!("{list}/{index}/{name}");
        all.push(ProvidedDependency {
            kind: reading.read_text(&field("type"), "env_variable"),
            name: reading.read_text(&field("name"), ""),
            at: reading.read_time_or(&field("providedAt"), known, format_utc),
        });
    }
    reading.retain_items(list, &good);
    all
}

fn read_phases(reading: &mut DocumentReader<'_>) -> Vec<u32> {
    let list = "/protocols/completedPhases";
    let items = reading.read_list(list);
    let number = |item: &Value| item.as_u64().and_then(|it| u32::try_from(it).ok());
    let phases: Vec<u32> = items.iter().filter_map(number).collect();
    if phases.len() != items.len() {
        let message = FileFinding::NotAllPhases;
        let value = phases.clone().into();
        reading.repair_value(Severity::Error, "wrong_type", list, message, value);
    }
    phases
}

fn write_checkpoint(checkpoint: &TaskCheckpoint, value: &mut Value) {
    let c = checkpoint;
    let blocked = c.blocked_by.map(BlockedBy::name);
    put_value(value, "/id", c.id.clone());
    put_value(value, "/taskId", c.task_id.clone());
    put_time(value, "/createdAt", Some(c.created_at), format_utc);
    put_value(value, "/createdBy", c.created_by);
    put_value(value, "/reason", c.reason);
    put_value(value, "/task/status", c.task_status.name());
    put_value(value, "/task/type", c.task_type.clone());
    put_value(value, "/task/currentPhase", c.task_phase);
    put_value(value, "/task/progress", c.progress);
    put_value(value, "/agent/status", c.agent_status.name());
    put_value(value, "/agent/pid", c.pid);
    put_value(value, "/agent/currentPhase", c.agent_phase);
    put_value(value, "/agent/currentStep", c.current_step.clone());
    put_value(value, "/agent/tokensUsed", c.tokens_used);
    put_value(value, "/agent/blockedBy", blocked);
    let list = "/conversationHistory/messages";
    put_list(value, list, &c.messages, |item, message| {
        put_value(item, "/role", message.role);
        put_value(item, "/content", message.content.clone());
        put_time(item, "/timestamp", Some(message.at), format_utc);
        if let Some(metadata) = &message.metadata {
            put_value(item, "/metadata", metadata.clone());
        }
    });
    let last = i64::try_from(c.messages.len()).unwrap_or(i64::MAX) - 1;
    put_value(value, "/conversationHistory/lastMessageIndex", last);
    let old = value.pointer("/environment/variables");
    let sealed = |name: &String| old?.get(name).filter(|it| is_sealed(it)).cloned();
    let variables: Map<String, Value> = c
        .variables
        .iter()
        .map(|name| (name.clone(), sealed(name).unwrap_or(Value::Null)))
        .collect();
    put_value(value, "/environment/variables", variables);
    let list = "/environment/dependencies";
    put_list(value, list, &c.dependencies, |item, provided| {
        put_value(item, "/type", provided.kind.clone());
        put_value(item, "/name", provided.name.clone());
        put_time(item, "/providedAt", Some(provided.at), format_utc);
    });
    put_value(value, "/workspace/path", c.workspace.clone());
    put_value(value, "/workspace/deliverables", c.deliverables.clone());
    put_time(
        value,
        "/workspace/lastModified",
        c.last_modified,
        format_utc,
    );
    let asked = c.pending_dependencies.clone();
    put_value(value, "/protocols/pendingDependencies", asked);
    let questions = c.pending_questions.clone();
    put_value(value, "/protocols/pendingQuestions", questions);
    let phases = c.completed_phases.clone();
    put_value(value, "/protocols/completedPhases", phases);
    for (name, optional) in [("sessionId", &c.session_id), ("codeRef", &c.code_ref)] {
        if optional.is_some() || value.get(name).is_some() {
            put_value(value, &child_pointer("", name), optional.clone());
        }
    }
}
