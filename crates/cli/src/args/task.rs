//! Arguments of `task`, and of `agent` for the agents of tasks.

use bowline_engine::formats::rest::Priority;
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

// The address of the server. A doc comment would replace the help line of the commands.
#[derive(Debug, Clone, Args)]
pub(crate) struct ServerAddressArgs {
    /// Server address (default: BOWLINE_URL, else the server of the data folder)
    #[arg(long, value_name = "URL", global = true)]
    pub(crate) server: Option<String>,
    /// Token file of the server (default: BOWLINE_TOKEN_FILE)
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) token_file: Option<PathBuf>,
    /// Data folder of the server (default: bowline in the user's state folder)
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) data: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct TaskArgs {
    #[command(flatten)]
    pub(crate) place: ServerAddressArgs,
    #[command(subcommand)]
    pub(crate) verb: TaskVerb,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PriorityName {
    /// Before all other tasks
    Critical,
    /// Before most other tasks
    High,
    /// In its turn
    Normal,
    /// After all other tasks
    Low,
}

impl From<PriorityName> for Priority {
    fn from(name: PriorityName) -> Self {
        match name {
            PriorityName::Critical => Priority::Critical,
            PriorityName::High => Priority::High,
            PriorityName::Normal => Priority::Normal,
            PriorityName::Low => Priority::Low,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct NewTaskArgs {
    /// Title of the task
    #[arg(long, default_value = "")]
    pub(crate) title: String,
    /// Type: create_app, modify_app, workflow, custom, or one from bowline.toml
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) task_type: Option<String>,
    /// Description of the work
    #[arg(long, default_value = "")]
    pub(crate) description: String,
    /// Priority in the queue
    #[arg(long)]
    pub(crate) priority: Option<PriorityName>,
    /// Task that must be completed first (repeatable)
    #[arg(long, value_name = "TASK")]
    pub(crate) depends_on: Vec<String>,
    /// Agent for the task
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Existing folder to work in (default: a new one)
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// Use the folder even while another task holds it
    #[arg(long, requires = "workspace")]
    pub(crate) share_workspace: bool,
    /// Earliest start time, such as 2026-11-16T09:30:00Z
    #[arg(long, value_name = "TIME")]
    pub(crate) at: Option<String>,
    /// Label to find the task by
    #[arg(long)]
    pub(crate) label: Option<String>,
    /// Budget: tokens=N,usd=N,minutes=N
    #[arg(long, value_name = "LIMITS")]
    pub(crate) budget: Option<String>,
    /// Submit the task at once
    #[arg(long)]
    pub(crate) submit: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CapsuleArgs {
    #[command(flatten)]
    pub(crate) place: ServerAddressArgs,
    /// Task id, or its beginning
    pub(crate) task: String,
    /// File to write (default: TASK.capsule.json here)
    #[arg(long, value_name = "FILE")]
    pub(crate) to: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// Capsule file to replay
    pub(crate) file: PathBuf,
    /// Also show the output of the agent
    #[arg(long)]
    pub(crate) output: bool,
}

/// Names a task by its id, or the beginning of it.
#[derive(Debug, Args)]
pub(crate) struct TaskIdArgs {
    /// Task id, or its beginning
    pub(crate) task: String,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TaskVerb {
    /// Create a task and print its id
    New(Box<NewTaskArgs>),
    /// List tasks, newest first
    List {
        /// Only tasks with this status
        #[arg(long)]
        status: Option<String>,
        /// Only tasks of this type
        #[arg(long = "type", value_name = "TYPE")]
        task_type: Option<String>,
        /// Only tasks with this text in title or description
        #[arg(long, value_name = "TEXT")]
        search: Option<String>,
        /// Include archived tasks
        #[arg(long)]
        archived: bool,
    },
    /// Show a task, its agent and what it waits for
    Show(TaskIdArgs),
    /// Show what waits for a person's decision
    Inbox,
    /// Submit a draft to the queue
    Submit(TaskIdArgs),
    /// Cancel a task
    Cancel(TaskIdArgs),
    /// Pause the agent of a task
    Pause(TaskIdArgs),
    /// Resume the agent of a task
    Resume(TaskIdArgs),
    /// Approve the phase under review
    Approve {
        /// Task id, or its beginning
        task: String,
        /// Comment for the agent
        #[arg(long)]
        comment: Option<String>,
    },
    /// Request changes to the phase under review
    RequestChanges {
        /// Task id, or its beginning
        task: String,
        /// Changes to make
        #[arg(long, value_name = "TEXT")]
        feedback: String,
    },
    /// Answer a question of a task
    Answer {
        /// Task or question id
        #[arg(value_name = "TASK|QUESTION")]
        id: String,
        /// Text of the answer
        text: String,
    },
    /// Skip an optional question
    Skip {
        /// Task or question id
        #[arg(value_name = "TASK|QUESTION")]
        id: String,
    },
    /// Provide a value that a task needs, from standard input or a prompt; never shown
    Provide {
        /// Task or dependency id
        #[arg(value_name = "TASK|DEPENDENCY")]
        id: String,
        /// Name of the value, if the task needs several
        name: Option<String>,
    },
    /// Refuse a value that a task needs
    Reject {
        /// Task or dependency id
        #[arg(value_name = "TASK|DEPENDENCY")]
        id: String,
        /// Reason for the refusal
        #[arg(long, default_value = "")]
        reason: String,
    },
    /// Permit tool calls: the named ones, or all that a task waits for
    Permit {
        /// Task or permission ids
        #[arg(value_name = "TASK|PERMISSION", required = true)]
        ids: Vec<String>,
    },
    /// Deny tool calls: the named ones, or all that a task waits for
    Deny {
        /// Task or permission ids
        #[arg(value_name = "TASK|PERMISSION", required = true)]
        ids: Vec<String>,
        /// Reason for the refusal
        #[arg(long, default_value = "")]
        reason: String,
    },
    /// Rules that answer tool calls
    #[command(subcommand)]
    Rule(RuleVerb),
    /// Create a task that replaces a failed one, and print its id
    Retry(TaskIdArgs),
    /// Hide a completed task from the list
    Archive(TaskIdArgs),
    /// Delete a task and everything that belongs to it
    Delete(TaskIdArgs),
    /// Show the output of a task's agent
    Logs {
        /// Task id, or its beginning
        task: String,
        /// Keep printing new output
        #[arg(short, long)]
        follow: bool,
        /// Show only the last N bytes
        #[arg(long, value_name = "N")]
        last: Option<u32>,
        /// Print the raw bytes, terminal control sequences included
        #[arg(long)]
        raw: bool,
    },
    /// Show all tasks and redraw at every event
    Watch,
    /// List the transitions of a task and its agent
    Transitions(TaskIdArgs),
    /// List the checkpoints of a task, newest first
    Checkpoints(TaskIdArgs),
    /// Save a checkpoint of a task now
    Checkpoint(TaskIdArgs),
    /// Restore a task to a checkpoint
    Restore {
        /// Task id, or its beginning
        task: String,
        /// Id of the checkpoint
        checkpoint: String,
    },
    /// Create a task that starts at a checkpoint, and print its id
    Fork {
        /// Id of the checkpoint
        checkpoint: String,
        /// Title of the new task (default: title and phase of the old one)
        #[arg(long)]
        title: Option<String>,
        /// Instructions for the agent of the new task
        #[arg(long, value_name = "TEXT")]
        message: Option<String>,
        /// Create a draft and start no agent
        #[arg(long)]
        draft: bool,
    },
    /// List the files a task has produced, or download them
    Artifacts {
        /// Task id, or its beginning
        task: String,
        /// ZIP file to write the files to
        #[arg(long, value_name = "FILE")]
        zip: Option<PathBuf>,
    },
    /// Send a message to the agent; delivered when the agent reads input
    Say {
        /// Task id, or its beginning
        task: String,
        /// Text of the message
        text: String,
    },
    /// Withdraw a message that is not delivered yet
    #[command(name = "unsay")]
    WithdrawMessage {
        /// Id of the message
        #[arg(value_name = "MESSAGE")]
        id: String,
    },
    /// List the messages to the agent and their delivery status
    #[command(name = "sayings")]
    Messages(TaskIdArgs),
    /// Interrupt the agent of a task
    Interrupt(TaskIdArgs),
}

/// Rules for tool calls.
#[derive(Debug, Subcommand)]
pub(crate) enum RuleVerb {
    /// List the rules
    List,
    /// Create a rule; with --dry-run, only show what it would have answered so far
    Add {
        /// Name of the tool, as in permissions
        #[arg(long)]
        tool: String,
        /// Pattern of an input field (repeatable); * matches any letters of one command or path
        #[arg(long = "input", value_name = "FIELD=PATTERN")]
        input: Vec<String>,
        /// Deny instead of permit
        #[arg(long)]
        deny: bool,
        /// Reason that the agent is given for the denial
        #[arg(long, default_value = "", requires = "deny")]
        reason: String,
        /// Apply the rule to this task only
        #[arg(long)]
        task: Option<String>,
    },
    /// Remove a rule
    Remove {
        /// Id of the rule
        id: String,
    },
}

// Reports of a task's agent. A doc comment would replace the help line of the command.
#[derive(Debug, Subcommand)]
pub(crate) enum AgentReportVerb {
    /// Report a completed phase
    PhaseComplete {
        /// Number of the phase, from 1
        phase: u32,
        /// File that was produced (repeatable)
        #[arg(long = "file", value_name = "PATH")]
        files: Vec<String>,
    },
    /// Ask a person a question
    Ask {
        /// Text of the question
        question: String,
        /// Allowed answer (repeatable)
        #[arg(long = "option", value_name = "TEXT")]
        options: Vec<String>,
        /// Answer to use if nobody answers
        #[arg(long)]
        default: Option<String>,
        /// Require the answer of a person
        #[arg(long)]
        required: bool,
    },
    /// Request a value or resource from a person
    Need {
        /// Type: api_key, env_variable, service, file, permission or package
        #[arg(value_name = "TYPE")]
        kind: String,
        /// Name of the value or resource
        name: String,
        /// Purpose of the request
        #[arg(long, default_value = "")]
        description: String,
        /// Value to use if none is provided
        #[arg(long)]
        default: Option<String>,
        /// Fail the task if it is not provided
        #[arg(long)]
        required: bool,
    },
    /// Report an error
    Error {
        /// Error message for people
        message: String,
        /// Report that the agent cannot continue
        #[arg(long, conflicts_with = "retry_after")]
        fatal: bool,
        /// Seconds after which the agent can continue
        #[arg(long, value_name = "SECONDS")]
        retry_after: Option<u64>,
    },
    /// Report the start of a step, such as 3/9
    Step {
        /// Number and total of the steps, such as 3/9
        #[arg(value_name = "K/N")]
        step: String,
        /// Name of the step
        #[arg(default_value = "")]
        name: String,
    },
    /// Report used tokens
    Tokens {
        /// Number of additional tokens
        used: u64,
        /// Additional cost in dollars, if known
        #[arg(long, value_name = "DOLLARS")]
        usd: Option<f64>,
    },
    /// Report that a task without phases is done
    Done,
}
