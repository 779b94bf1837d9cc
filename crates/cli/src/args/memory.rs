//! The command line of `bowline memory`.

use super::choice;
use bowline_engine::operations::memory::{FailureKind, TaskResult};
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct MemoryArgs {
    /// The memory folder (default: the nearest .claude/memory upwards)
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) dir: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) verb: MemoryVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum MemoryVerb {
    /// Make the files of the memory
    Init,
    /// The current task: begin, pause, resume, recover, end
    #[command(subcommand)]
    Task(TaskVerb),
    /// Steps of the current task
    #[command(subcommand)]
    Step(StepVerb),
    /// What agents share
    #[command(subcommand)]
    Context(ContextVerb),
    /// What one agent remembers
    #[command(subcommand)]
    Agent(AgentVerb),
    /// Work the steps of the current task off by agents, several at once; goes on where it was
    Run {
        /// Steps at once
        #[arg(long, value_name = "N", default_value_t = bowline_runner::drivers::memory::PARALLEL)]
        parallel: usize,
        /// The agent of all steps (default: the step's own, then 'agent' in the table 'defaults', then claude)
        #[arg(long, value_name = "NAME")]
        agent: Option<String>,
    },
    /// The tasks that are over
    History,
    /// Cut history and caches to what is kept
    Prune,
    /// Keep a dated copy of every file of the memory
    Backup,
    /// Bring a dated copy back
    Restore {
        /// A name in the backup folder, or its beginning (default: the newest of the current task)
        which: Option<String>,
    },
    /// Show where the current task stands
    Status,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TaskVerb {
    /// Begin a task, or queue it behind the current one
    New {
        /// What it is called
        name: String,
        /// What is to be reached
        #[arg(long, default_value = "")]
        goal: String,
        /// How to tell that it is reached
        #[arg(long = "criterion", value_name = "TEXT")]
        criteria: Vec<String>,
        /// The request in the words of whoever made it
        #[arg(long, default_value = "")]
        request: String,
        /// What must be kept to
        #[arg(long = "constraint", value_name = "TEXT")]
        constraints: Vec<String>,
        /// What may be used
        #[arg(long = "resource", value_name = "TEXT")]
        resources: Vec<String>,
        /// Who leads it
        #[arg(long)]
        orchestrator: Option<String>,
        /// A step: name=…,agent=…,cluster=…,deps=1+2
        #[arg(long = "step", value_name = "STEP")]
        steps: Vec<String>,
        /// A plan as JSON: goal, success_criteria and steps
        #[arg(long, value_name = "FILE", conflicts_with = "steps")]
        plan: Option<PathBuf>,
    },
    /// Set the task aside
    Pause,
    /// Take it up again
    Resume,
    /// Give it up; it goes to the history
    Cancel,
    /// End it; it goes to the history
    Finish {
        /// What it came to (default: told from the steps)
        #[arg(long, value_parser = choice::result())]
        result: Option<TaskResult>,
        /// What was done, in a sentence
        #[arg(long)]
        summary: Option<String>,
        /// What to do better next time
        #[arg(long = "lesson", value_name = "TEXT")]
        lessons: Vec<String>,
        /// Tokens spent
        #[arg(long, value_name = "N")]
        tokens: Option<u64>,
    },
    /// Reopen a failed task; a person's move
    Recover {
        /// Why it will go better now
        #[arg(long)]
        reason: Option<String>,
    },
    /// Take a waiting task out of the queue
    Drop {
        /// Its id, or the beginning of it
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
    /// Begin a step, or try a failed one again
    Start {
        /// Its number
        id: u32,
    },
    /// End a step well
    #[command(alias = "done")]
    Complete {
        /// Its number
        id: u32,
        /// What came out, as JSON or text
        #[arg(long, value_name = "JSON", allow_negative_numbers = true)]
        output: Option<String>,
        /// A file it made, with a description
        #[arg(long = "artifact", value_name = "PATH[:DESC]")]
        artifacts: Vec<String>,
        /// Data it made that is no file of the work, with a description
        #[arg(long = "data", value_name = "PATH[:DESC]")]
        data: Vec<String>,
    },
    /// End a try of a step badly
    Fail {
        /// Its number
        id: u32,
        /// What kind of failure
        #[arg(long = "type", value_name = "TYPE", default_value = "transient", value_parser = choice::failure())]
        kind: FailureKind,
        /// What went wrong
        #[arg(long)]
        message: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ContextVerb {
    /// Print a value
    Get {
        /// Dotted path, for instance shared_data.current_topic
        path: String,
    },
    /// Set a value
    Set {
        /// Dotted path, for instance shared_data.current_topic
        path: String,
        /// JSON if it is JSON, else text; - reads it from stdin
        #[arg(allow_negative_numbers = true)]
        value: String,
    },
    /// Add a value to the end of a list
    Append {
        /// Dotted path of the list, for instance shared_data.notes; made where it is missing
        path: String,
        /// JSON if it is JSON, else text; - reads it from stdin
        #[arg(allow_negative_numbers = true)]
        value: String,
    },
    /// Sessions
    #[command(subcommand)]
    Session(SessionVerb),
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionVerb {
    /// Begin another session
    New,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AgentVerb {
    /// Print a value
    Get {
        /// The agent's name
        name: String,
        /// Dotted path, for instance preferences.default_tone
        path: String,
    },
    /// Set a value
    Set {
        /// The agent's name
        name: String,
        /// Dotted path, for instance preferences.default_tone
        path: String,
        /// JSON if it is JSON, else text; - reads it from stdin
        #[arg(allow_negative_numbers = true)]
        value: String,
    },
    /// Add a value to the end of a list
    Append {
        /// The agent's name
        name: String,
        /// Dotted path of the list, for instance cache.recent_topics; made where it is missing
        path: String,
        /// JSON if it is JSON, else text; - reads it from stdin
        #[arg(allow_negative_numbers = true)]
        value: String,
    },
}
