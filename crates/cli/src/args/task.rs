//! Arguments of `task`, and of `agent` for the agents of tasks.

use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

// Where the server is. A doc comment would take the place of what the commands are about.
#[derive(Debug, Clone, Args)]
pub(crate) struct PlaceArgs {
    /// The server's address (default: BOWLINE_URL, else the server of the data folder)
    #[arg(long, value_name = "URL", global = true)]
    pub(crate) server: Option<String>,
    /// The file with its token (default: BOWLINE_TOKEN_FILE)
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) token_file: Option<PathBuf>,
    /// The server's data folder (default: bowline in the folder of state)
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) data: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct TaskArgs {
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    #[command(subcommand)]
    pub(crate) verb: TaskVerb,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PriorityName {
    /// Before all others
    Critical,
    /// Before most
    High,
    /// In its turn
    Normal,
    /// When nothing else waits
    Low,
}

impl PriorityName {
    pub(crate) fn name(self) -> &'static str {
        match self {
            PriorityName::Critical => "critical",
            PriorityName::High => "high",
            PriorityName::Normal => "normal",
            PriorityName::Low => "low",
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct NewArgs {
    /// What it is called
    #[arg(long, default_value = "")]
    pub(crate) title: String,
    /// create_app, modify_app, workflow, custom, or a type of bowline.toml
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) task_type: Option<String>,
    /// What is wanted
    #[arg(long, default_value = "")]
    pub(crate) description: String,
    /// How urgent it is
    #[arg(long)]
    pub(crate) priority: Option<PriorityName>,
    /// A task that must be completed first
    #[arg(long, value_name = "TASK")]
    pub(crate) depends_on: Vec<String>,
    /// The agent that does it
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// An existing folder to work in (default: a new one)
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// Work in that folder even while another task holds it
    #[arg(long, requires = "workspace")]
    pub(crate) share_workspace: bool,
    /// Not before, for instance 2026-11-16T09:30:00Z
    #[arg(long, value_name = "TIME")]
    pub(crate) at: Option<String>,
    /// A word to find it by
    #[arg(long)]
    pub(crate) label: Option<String>,
    /// What it may use at the most: tokens=N,usd=N,minutes=N
    #[arg(long, value_name = "LIMITS")]
    pub(crate) budget: Option<String>,
    /// Put it into the queue at once
    #[arg(long)]
    pub(crate) submit: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CapsuleArgs {
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    /// The task; the beginning of its id will do
    pub(crate) task: String,
    /// The file to write (default: TASK.capsule.json here)
    #[arg(long, value_name = "FILE")]
    pub(crate) to: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// The capsule
    pub(crate) file: PathBuf,
    /// Show what the agent printed as well
    #[arg(long)]
    pub(crate) output: bool,
}

/// A task, by the beginning of its id.
#[derive(Debug, Args)]
pub(crate) struct OneTask {
    /// The task; the beginning of its id will do
    pub(crate) task: String,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TaskVerb {
    /// Make a task, and print its id
    New(Box<NewArgs>),
    /// List tasks, the newest first
    List {
        /// Only those with this status
        #[arg(long)]
        status: Option<String>,
        /// Only those of this type
        #[arg(long = "type", value_name = "TYPE")]
        task_type: Option<String>,
        /// Only those with this text in title or description
        #[arg(long, value_name = "TEXT")]
        search: Option<String>,
        /// The archived ones too
        #[arg(long)]
        archived: bool,
    },
    /// Show a task, its agent, and what it waits for
    Show(OneTask),
    /// Show what waits for a person
    Inbox,
    /// Put a draft into the queue
    Submit(OneTask),
    /// Give a task up
    Cancel(OneTask),
    /// Stop its agent
    Pause(OneTask),
    /// Let its agent go on
    Resume(OneTask),
    /// Approve the phase under review
    Approve {
        /// The task
        task: String,
        /// A word for the agent
        #[arg(long)]
        comment: Option<String>,
    },
    /// Have the phase under review changed
    RequestChanges {
        /// The task
        task: String,
        /// What to change
        #[arg(long, value_name = "TEXT")]
        feedback: String,
    },
    /// Answer the question of a task
    Answer {
        /// The task or the question
        #[arg(value_name = "TASK|QUESTION")]
        id: String,
        /// The answer
        text: String,
    },
    /// Leave an optional question without an answer
    Skip {
        /// The task or the question
        #[arg(value_name = "TASK|QUESTION")]
        id: String,
    },
    /// Give a value that a task needs; it is read from the standard input or asked for, and never shown
    Provide {
        /// The task or the dependency
        #[arg(value_name = "TASK|DEPENDENCY")]
        id: String,
        /// The name of what is needed, where a task needs several
        name: Option<String>,
    },
    /// Refuse what a task needs
    Reject {
        /// The task or the dependency
        #[arg(value_name = "TASK|DEPENDENCY")]
        id: String,
        /// Why
        #[arg(long, default_value = "")]
        reason: String,
    },
    /// Let tool calls go on: those named, or all that a task waits for
    Permit {
        /// Tasks or permissions
        #[arg(value_name = "TASK|PERMISSION", required = true)]
        ids: Vec<String>,
    },
    /// Refuse tool calls: those named, or all that a task waits for
    Deny {
        /// Tasks or permissions
        #[arg(value_name = "TASK|PERMISSION", required = true)]
        ids: Vec<String>,
        /// Why
        #[arg(long, default_value = "")]
        reason: String,
    },
    /// Have tool calls answered by rules
    #[command(subcommand)]
    Rule(RuleVerb),
    /// Make a new task in the place of a failed one, and print its id
    Retry(OneTask),
    /// Hide a completed task from the list
    Archive(OneTask),
    /// Remove a task and all that belongs to it
    Delete(OneTask),
    /// Show what its agent printed
    Logs {
        /// The task
        task: String,
        /// Go on while it prints
        #[arg(short, long)]
        follow: bool,
        /// Only the last N bytes
        #[arg(long, value_name = "N")]
        last: Option<u32>,
        /// Print the bytes as they are, with whatever a terminal obeys
        #[arg(long)]
        raw: bool,
    },
    /// Show all tasks, and redraw when something happens
    Watch,
    /// List the moves of a task and its agent
    Transitions(OneTask),
    /// List its checkpoints, the newest first
    Checkpoints(OneTask),
    /// Save a checkpoint now
    Checkpoint(OneTask),
    /// Set a task back to a checkpoint
    Restore {
        /// The task
        task: String,
        /// The checkpoint
        checkpoint: String,
    },
    /// Make a new task that begins at a checkpoint, and print its id
    Fork {
        /// The checkpoint
        checkpoint: String,
        /// Title of the new task [default: that of the task and the phase]
        #[arg(long)]
        title: Option<String>,
        /// Tell the agent what to do differently
        #[arg(long, value_name = "TEXT")]
        message: Option<String>,
        /// Make a draft and start no agent
        #[arg(long)]
        draft: bool,
    },
    /// List the files it has made, or get them
    Artifacts {
        /// The task
        task: String,
        /// Write them into this ZIP file
        #[arg(long, value_name = "FILE")]
        zip: Option<PathBuf>,
    },
    /// Say something to the agent; it hears it when it listens
    Say {
        /// The task
        task: String,
        /// What
        text: String,
    },
    /// Take back what was said and is not delivered yet
    Unsay {
        /// The message
        #[arg(value_name = "MESSAGE")]
        id: String,
    },
    /// List what was said to the agent, and whether it has it
    Sayings(OneTask),
    /// Interrupt what the agent does
    Interrupt(OneTask),
}

/// Rules for tool calls.
#[derive(Debug, Subcommand)]
pub(crate) enum RuleVerb {
    /// List the rules
    List,
    /// Make a rule; with --dry-run only show what it would have answered so far
    Add {
        /// The tool, as permissions name it
        #[arg(long)]
        tool: String,
        /// What a field of its input must be; * stands for any letters of one command or path
        #[arg(long = "input", value_name = "FIELD=PATTERN")]
        input: Vec<String>,
        /// Refuse instead of permit
        #[arg(long)]
        deny: bool,
        /// What the agent is told when it is refused
        #[arg(long, default_value = "", requires = "deny")]
        reason: String,
        /// Only in this task
        #[arg(long)]
        task: Option<String>,
    },
    /// Take a rule back
    Remove {
        /// The rule
        id: String,
    },
}

// What the agent of a task reports about it. A doc comment would take the place of what the command is about.
#[derive(Debug, Subcommand)]
pub(crate) enum AgentVerb {
    /// A phase is done
    PhaseComplete {
        /// Which, from 1
        phase: u32,
        /// A file that was made
        #[arg(long = "file", value_name = "PATH")]
        files: Vec<String>,
    },
    /// Ask a person
    Ask {
        /// The question
        question: String,
        /// One of the only answers allowed
        #[arg(long = "option", value_name = "TEXT")]
        options: Vec<String>,
        /// Taken when nobody answers
        #[arg(long)]
        default: Option<String>,
        /// Only a person's answer will do
        #[arg(long)]
        required: bool,
    },
    /// Request something from a person
    Need {
        /// api_key, env_variable, service, file, permission or package
        #[arg(value_name = "TYPE")]
        kind: String,
        /// Its name
        name: String,
        /// What it is for
        #[arg(long, default_value = "")]
        description: String,
        /// Taken when it is not provided
        #[arg(long)]
        default: Option<String>,
        /// The task fails without it
        #[arg(long)]
        required: bool,
    },
    /// Report an error
    Error {
        /// What happened
        message: String,
        /// It cannot go on
        #[arg(long, conflicts_with = "retry_after")]
        fatal: bool,
        /// It can go on after so many seconds
        #[arg(long, value_name = "SECONDS")]
        retry_after: Option<u64>,
    },
    /// Begin a step, for instance 3/9
    Step {
        /// Which of how many
        #[arg(value_name = "K/N")]
        step: String,
        /// Its name
        #[arg(default_value = "")]
        name: String,
    },
    /// Count tokens
    Tokens {
        /// How many more
        used: u64,
        /// Dollars more, where they are known
        #[arg(long, value_name = "DOLLARS")]
        usd: Option<f64>,
    },
    /// The work of a task without phases is done
    Done,
}
