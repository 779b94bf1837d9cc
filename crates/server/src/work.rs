//! What the server needs of the loop that decides about jobs. Synchronous: handlers wait on their own threads.

use bowline_engine::machines::job::{Marker, Refusal};
use bowline_formats::rest::{AgentPreset, FileDiff, TaskType, Utterance};
use bowline_store::{About, FileComment, JobRow, ReviewRow, Store, StoreError};
use std::path::PathBuf;
use std::sync::Arc;

/// The loop that decides about jobs.
pub trait Work: Send + Sync + 'static {
    /// Where jobs are kept.
    fn store(&self) -> Arc<dyn Store>;

    /// Has something decided, and made durable; the answer comes afterwards.
    fn ask(&self, asked: Asked) -> Result<Answered, Refused>;

    /// Whose token that is: task and attempt, while that attempt is the present one.
    fn agent_token(&self, text: &str) -> Option<(String, u32)>;

    /// The folder a job works in, once there is one.
    fn workspace(&self, row: &JobRow) -> Option<PathBuf>;

    /// What the attempts of a job printed: a file each, the oldest first.
    fn logs(&self, row: &JobRow) -> Vec<PathBuf>;

    /// The process of the present attempt, if it is there, looked at now.
    fn alive(&self, row: &JobRow) -> Option<u32>;

    /// What was said, from a number on.
    fn conversation(&self, row: &JobRow, from: u64, limit: usize) -> Vec<Utterance>;

    /// Values that were given to a job, in clear: files that hold one are not handed out by the bundle.
    fn secrets(&self, row: &JobRow) -> Vec<String>;

    /// What changed between the beginning of a phase and what is laid before a person.
    fn diff(&self, row: &JobRow, review: &ReviewRow) -> Result<Vec<FileDiff>, String>;

    /// The types of work.
    fn types(&self) -> Vec<TaskType>;

    /// The agents that can be started.
    fn agents(&self) -> Vec<AgentPreset>;

    /// Agents that may run at once, and that do.
    fn slots(&self) -> (u32, u32);
}

/// Something somebody wants.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// Given by whoever asks: the same one is never carried out twice.
    pub request: Option<String>,
    /// The version of the job the wish is about; any when absent.
    pub version: Option<u64>,
    /// What.
    pub wish: Wish,
}

/// What somebody wants of jobs. Ids are whole.
#[derive(Clone, PartialEq)]
#[expect(missing_docs, reason = "each is the verb it stands for")]
pub enum Wish {
    Create {
        title: String,
        description: String,
        depends_on: Vec<String>,
        scheduled_for: Option<i64>,
        about: Box<About>,
        submit: bool,
    },
    Edit {
        task: String,
        edit: Box<Edit>,
    },
    Submit {
        task: String,
    },
    Cancel {
        task: String,
    },
    Pause {
        task: String,
    },
    Resume {
        task: String,
    },
    Retry {
        task: String,
    },
    Archive {
        task: String,
    },
    Delete {
        task: String,
    },
    Checkpoint {
        task: String,
    },
    Restore {
        task: String,
        checkpoint: String,
    },
    Fork {
        checkpoint: String,
    },
    Say {
        task: String,
        text: String,
    },
    Interrupt {
        task: String,
    },
    Approve {
        review: String,
        comment: Option<String>,
    },
    RequestChanges {
        review: String,
        feedback: String,
        comments: Vec<FileComment>,
    },
    Answer {
        question: String,
        text: String,
    },
    Skip {
        question: String,
    },
    Provide {
        dependency: String,
        value: String,
    },
    Reject {
        dependency: String,
        reason: String,
    },
    Permit {
        permission: String,
    },
    Deny {
        permission: String,
        reason: String,
    },
    /// The agent of an attempt says something exactly.
    Said {
        task: String,
        attempt: u32,
        marker: Box<Marker>,
    },
    Tokens {
        task: String,
        attempt: u32,
        used: u64,
    },
}

impl std::fmt::Debug for Wish {
    /// Never a value that was given.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Wish")
    }
}

/// Changes to a draft; `None` leaves a field alone.
#[derive(Debug, Clone, Default, PartialEq)]
#[expect(missing_docs, reason = "each is the field it changes")]
pub struct Edit {
    pub title: Option<String>,
    pub description: Option<String>,
    pub type_name: Option<String>,
    pub priority: Option<bowline_store::Priority>,
    pub depends_on: Option<Vec<String>>,
    pub agent: Option<String>,
    pub scheduled_for: Option<Option<i64>>,
    pub label: Option<Option<String>>,
    pub budget: Option<bowline_store::Budget>,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Answered {
    /// The job afterwards; the new one of a retry or a fork; nothing when it was deleted.
    pub row: Option<JobRow>,
    /// The question, dependency or saying that was made.
    pub made: Option<String>,
}

/// Why nothing came of it.
#[derive(Debug)]
pub enum Refused {
    /// A rule.
    Rule(Refusal),
    /// There is no such thing.
    NoSuch {
        /// Task, review, …
        what: &'static str,
        /// Which.
        id: String,
    },
    /// The job moved on.
    Changed {
        /// Its version now.
        version: u64,
    },
    /// The request's id was used for something else.
    RequestReused,
    /// There is no such type of work.
    UnknownType {
        /// As it was named.
        name: String,
    },
    /// There is no such agent.
    UnknownAgent {
        /// As it was named.
        name: String,
    },
    /// A value that a dependency does not take.
    BadValue {
        /// Why not.
        why: String,
    },
    /// An answer that is nearly an option.
    NearMiss {
        /// As it was given.
        answer: String,
        /// The option that is meant.
        suggestion: String,
    },
    /// The server stops.
    Draining,
    /// The store failed.
    Store(StoreError),
    /// Something else failed.
    Failed(String),
}
