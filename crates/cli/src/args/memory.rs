//! The command line of `bowline memory`.

use super::choice;
use bowline_engine::operations::memory::{FailureKind, TaskResult};
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct MemoryArgs {
    /// Memory folder (default: the nearest .claude/memory upwards)
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) dir: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) verb: MemoryVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum MemoryVerb {
    /// Create the memory files
    Init,
    /// Current task: start, pause, resume, recover, finish
    #[command(subcommand)]
    Task(MemoryTaskVerb),
    /// Steps of the current task
    #[command(subcommand)]
    Step(StepVerb),
    /// Values that agents share
    #[command(subcommand)]
    Context(ContextVerb),
    /// Memory of one agent
    #[command(subcommand)]
    Agent(MemoryAgentVerb),
    /// Run agents for the steps of the current task; resumes where it stopped
    Run {
        /// Number of steps at once
        #[arg(long, value_name = "N", default_value_t = bowline_runner::drivers::memory::DEFAULT_PARALLEL)]
        parallel: usize,
        /// Agent for all steps (default: the step's own, then 'agent' in 'defaults', then claude)
        #[arg(long, value_name = "NAME")]
        agent: Option<String>,
    },
    /// Show the finished tasks
    History,
    /// Prune history and caches to their limits
    Prune,
    /// Back up every memory file as a dated copy
    Backup,
    /// Restore a dated copy
    Restore {
        /// Backup name, or its beginning (default: the newest of the current task)
        which: Option<String>,
    },
    /// Show the status of the current task
    Status,
}

#[derive(Debug, Subcommand)]
pub(crate) enum MemoryTaskVerb {
    /// Start a task, or queue it behind the current one
    New {
        /// Name of the task
        name: String,
        /// Goal of the task
        #[arg(long, default_value = "")]
        goal: String,
        /// Success criterion (repeatable)
        #[arg(long = "criterion", value_name = "TEXT")]
        criteria: Vec<String>,
        /// Request in its original words
        #[arg(long, default_value = "")]
        request: String,
        /// Constraint to respect (repeatable)
        #[arg(long = "constraint", value_name = "TEXT")]
        constraints: Vec<String>,
        /// Resource that may be used (repeatable)
        #[arg(long = "resource", value_name = "TEXT")]
        resources: Vec<String>,
        /// Lead agent of the task
        #[arg(long)]
        orchestrator: Option<String>,
        /// Step (repeatable): name=…,agent=…,cluster=…,deps=1+2
        #[arg(long = "step", value_name = "STEP")]
        steps: Vec<String>,
        /// JSON plan file with goal, success_criteria and steps
        #[arg(long, value_name = "FILE", conflicts_with = "steps")]
        plan: Option<PathBuf>,
    },
    /// Pause the current task
    Pause,
    /// Resume the paused task
    Resume,
    /// Cancel the task and move it to the history
    Cancel,
    /// Finish the task and move it to the history
    Finish {
        /// Result of the task (default: derived from the steps)
        #[arg(long, value_parser = choice::task_result_parser())]
        result: Option<TaskResult>,
        /// Summary of the work in one sentence
        #[arg(long)]
        summary: Option<String>,
        /// Lesson for the next task (repeatable)
        #[arg(long = "lesson", value_name = "TEXT")]
        lessons: Vec<String>,
        /// Number of tokens spent
        #[arg(long, value_name = "N")]
        tokens: Option<u64>,
    },
    /// Reopen a failed task (people only)
    Recover {
        /// Reason why it should succeed now
        #[arg(long)]
        reason: Option<String>,
    },
    /// Remove a waiting task from the queue
    Drop {
        /// Task id, or its beginning
        id: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum StepVerb {
    /// Add a step
    Add {
        /// name=…,agent=…,cluster=…,deps=1+2
        step: String,
    },
    /// Start a step, or retry a failed one
    Start {
        /// Number of the step
        id: u32,
    },
    /// Complete a step
    #[command(alias = "done")]
    Complete {
        /// Number of the step
        id: u32,
        /// Result of the step, as JSON or text
        #[arg(long, value_name = "JSON", allow_negative_numbers = true)]
        output: Option<String>,
        /// File the step produced, with a description (repeatable)
        #[arg(long = "artifact", value_name = "PATH[:DESC]")]
        artifacts: Vec<String>,
        /// Data the step produced that is no file of the work (repeatable)
        #[arg(long = "data", value_name = "PATH[:DESC]")]
        data: Vec<String>,
    },
    /// Mark a try of a step as failed
    Fail {
        /// Number of the step
        id: u32,
        /// Type of the failure
        #[arg(long = "type", value_name = "TYPE", default_value = "transient", value_parser = choice::failure_kind_parser())]
        kind: FailureKind,
        /// Error message for people
        #[arg(long)]
        message: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ContextVerb {
    /// Print a value
    Get {
        /// Dotted path, such as shared_data.current_topic
        path: String,
    },
    /// Set a value
    Set {
        /// Dotted path, such as shared_data.current_topic
        path: String,
        /// Value, as JSON or else as text; - reads standard input
        #[arg(allow_negative_numbers = true)]
        value: String,
    },
    /// Append a value to a list
    Append {
        /// Dotted path of the list, such as shared_data.notes; created if missing
        path: String,
        /// Value, as JSON or else as text; - reads standard input
        #[arg(allow_negative_numbers = true)]
        value: String,
    },
    /// Sessions of the shared context
    #[command(subcommand)]
    Session(SessionVerb),
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionVerb {
    /// Start a new session
    New,
}

#[derive(Debug, Subcommand)]
pub(crate) enum MemoryAgentVerb {
    /// Print a value
    Get {
        /// Name of the agent
        name: String,
        /// Dotted path, such as preferences.default_tone
        path: String,
    },
    /// Set a value
    Set {
        /// Name of the agent
        name: String,
        /// Dotted path, such as preferences.default_tone
        path: String,
        /// Value, as JSON or else as text; - reads standard input
        #[arg(allow_negative_numbers = true)]
        value: String,
    },
    /// Append a value to a list
    Append {
        /// Name of the agent
        name: String,
        /// Dotted path of the list, such as cache.recent_topics; created if missing
        path: String,
        /// Value, as JSON or else as text; - reads standard input
        #[arg(allow_negative_numbers = true)]
        value: String,
    },
}
