//! The command line.

pub(crate) mod agents;
pub(crate) mod choice;
mod deferred;
pub(crate) mod develop;
pub(crate) mod mcp;
pub(crate) mod memory;
pub(crate) mod orchestrate;
pub(crate) mod serve;
pub(crate) mod task;
#[cfg(test)]
mod tests;

pub(crate) use deferred::DeferredArgs;

use bowline_engine::operations::thinking::ThinkingStage;
use bowline_words::Lang;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Durable state for the work of AI agents: legal transitions, gates and recovery.
///
/// Without a command, shows the state files here and the commands that are possible next.
#[derive(Debug, Parser)]
#[command(name = "bowline", version)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) common: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: Option<CliCommand>,
}

/// Heading of the options that every command has.
const GLOBAL: &str = "Global options";

/// Options of every command.
#[derive(Debug, Clone, Args)]
pub(crate) struct GlobalArgs {
    /// Run as if started in this folder
    #[arg(short = 'C', value_name = "DIR", global = true, help_heading = GLOBAL)]
    pub(crate) folder: Option<PathBuf>,
    /// Print JSON instead of text
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub(crate) json: bool,
    /// Language of the output (default: from the locale)
    #[arg(long, value_name = "LANG", global = true, help_heading = GLOBAL)]
    pub(crate) lang: Option<LangName>,
    /// Show what would happen without writing anything
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub(crate) dry_run: bool,
}

/// Language of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LangName {
    /// English
    En,
    /// 한국어
    Ko,
}

impl From<LangName> for Lang {
    fn from(name: LangName) -> Lang {
        match name {
            LangName::En => Lang::En,
            LangName::Ko => Lang::Ko,
        }
    }
}

/// An agent client that has hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ClientName {
    /// Claude Code
    Claude,
    /// Codex
    Codex,
    /// Gemini
    Gemini,
    /// OpenCode
    Opencode,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    /// Thinking runs: four stages with outputs, retries and scores
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Thinking(DeferredArgs<ThinkingArgs>),
    /// Agent memory: current task, task history and shared context
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Memory(DeferredArgs<memory::MemoryArgs>),
    /// Develop runs: five phases, gates that open on evidence, checkpoints
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Develop(DeferredArgs<develop::DevelopArgs>),
    /// Orchestrations: a plan of tasks, run phase by phase
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Orchestrate(DeferredArgs<orchestrate::OrchestrateArgs>),
    /// Tasks of the server: phases, reviews, questions and their agents
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Task(DeferredArgs<task::TaskArgs>),
    /// Run the task server: queue, agents, reviews and the web page
    Serve(DeferredArgs<serve::ServeArgs>),
    /// Back up the store of the server
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Store(DeferredArgs<serve::StoreArgs>),
    /// Run a demo server with scripted agents; needs no key and no network
    Demo(DeferredArgs<serve::DemoArgs>),
    /// Export the full record of a task to one file, without secrets
    Capsule(DeferredArgs<task::CapsuleArgs>),
    /// Replay a capsule without a server
    Replay(DeferredArgs<task::ReplayArgs>),
    /// Report on a task as its agent
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Agent {
        #[command(subcommand)]
        verb: DeferredArgs<task::AgentReportVerb>,
    },
    /// Check the evidence of a develop run against the current tree
    Verify {
        /// Key the evidence must be signed with
        #[arg(long, value_name = "FILE")]
        key: Option<PathBuf>,
        /// Evidence file to check against the checkout; the run itself need not be here
        #[arg(long, value_name = "FILE", requires = "key")]
        evidence: Option<PathBuf>,
    },
    /// Install hooks for agent clients and git; shows every change, keeps existing content
    Init {
        /// Agent client (repeatable; default: those used here, else claude)
        #[arg(long = "agent", value_name = "NAME")]
        clients: Vec<ClientName>,
        /// Remove the installed hooks
        #[arg(long)]
        uninstall: bool,
    },
    /// Answer an agent client's hook message on standard input; exit code 2 denies
    Hook {
        /// Hook event, such as pre-tool-use, session-start or stop (default: named by the message)
        event: Option<std::ffi::OsString>,
    },
    /// Serve the commands as MCP tools on standard input and output
    Mcp(DeferredArgs<mcp::McpArgs>),
    /// Run an agent that outlives this command, and show its output
    RunAgent(DeferredArgs<agents::RunAgentArgs>),
    /// Show the output of an agent or control it; without an id, list all agents
    #[command(alias = "agents")]
    Attach(DeferredArgs<agents::AttachArgs>),
    /// Show the status of a state file
    Status {
        /// Path or kind of file (default: all files here)
        what: Option<String>,
    },
    /// List the transitions of a state file
    History {
        /// Path or kind of file
        what: Option<String>,
        /// Show only the last N transitions
        #[arg(short = 'n', long, value_name = "N", alias = "limit")]
        last: Option<usize>,
    },
    /// Undo the last transition
    Undo {
        /// Path or kind of file
        what: Option<String>,
        /// Restore the file alone, even across transitions with effects outside it
        #[arg(long)]
        state_only: bool,
    },
    /// Restore a state file as it was after a transition
    Restore {
        /// Path or kind, then the number of a transition; the number alone if one file is here
        #[arg(num_args = 1..=2, value_name = "PATH|KIND|SEQ", required = true)]
        what: Vec<String>,
        /// Restore the file alone, even across transitions with effects outside it
        #[arg(long)]
        state_only: bool,
    },
    /// Check and repair state files
    Doctor {
        /// Paths or kinds of files (default: all files here)
        what: Vec<String>,
        /// Repair what can be repaired
        #[arg(long, alias = "fix")]
        repair: bool,
    },
    /// Print the JSON Schema of a file kind
    Schema {
        /// Kind of file; without it, list the kinds
        kind: Option<String>,
    },
    /// Explain an error or finding code
    Explain {
        /// Code to explain; without it, list the codes
        code: Option<String>,
    },
    /// Run a scripted agent that plays a scenario, for tests without a model
    Scripted {
        /// Scenario file to play
        #[arg(default_value = "scenario.toml")]
        file: PathBuf,
        /// Start after the N-th wait, like a resumed client
        #[arg(long, value_name = "N", default_value_t = 0)]
        turn: usize,
        /// Arguments of the client it stands for; ignored
        #[arg(last = true, hide = true)]
        client: Vec<String>,
    },
    /// Print a shell completion script
    Completions {
        /// Shell to print the script for
        shell: clap_complete::Shell,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ThinkingArgs {
    /// Task folder (default: nearest folder upwards with a thinking_state.json)
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) dir: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) verb: ThinkingVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ThinkingVerb {
    /// Create a run in a task folder
    New {
        /// Id of the task
        id: String,
        /// Human-readable title (default: the id)
        #[arg(long)]
        title: Option<String>,
        /// Goal of the task (asked for on a terminal)
        #[arg(long)]
        goal: Option<String>,
    },
    /// Start a stage, or retry a failed one
    Start {
        /// Stage of the run
        #[arg(value_parser = choice::stage_parser())]
        stage: ThinkingStage,
        /// Reason for reopening a stage that has no retries left (people only)
        #[arg(long = "override", value_name = "REASON")]
        override_reason: Option<String>,
    },
    /// Record the files a stage has produced so far
    Output {
        /// Stage of the run
        #[arg(value_parser = choice::stage_parser())]
        stage: ThinkingStage,
        /// Paths relative to the task folder
        #[arg(required = true, value_name = "PATH")]
        paths: Vec<String>,
    },
    /// Complete a stage; its outputs must exist
    Complete {
        /// Stage of the run
        #[arg(value_parser = choice::stage_parser(), required_unless_present = "outputs")]
        stage: Option<ThinkingStage>,
        /// Further output, relative to the task folder (repeatable)
        #[arg(long = "output", value_name = "PATH", num_args = 1..)]
        outputs: Vec<String>,
    },
    /// Mark a stage as failed
    Fail {
        /// Stage of the run
        #[arg(value_parser = choice::stage_parser())]
        stage: ThinkingStage,
        /// Error code for programs
        #[arg(long)]
        code: String,
        /// Error message for people
        #[arg(long)]
        message: String,
    },
    /// Score the work against the core values, 0 to 10
    Evaluate {
        /// NAME=SCORE, such as practicality=8
        #[arg(required = true, value_name = "NAME=SCORE")]
        scores: Vec<String>,
    },
    /// Record quality metrics, 0 to 1
    Quality {
        /// NAME=VALUE, such as completeness=0.75
        #[arg(required = true, value_name = "NAME=VALUE")]
        metrics: Vec<String>,
    },
    /// Record results, and apply lessons of other tasks
    #[command(subcommand)]
    Feedback(FeedbackVerb),
    /// Run agents for the stages, one after another; resumes where it stopped
    Run {
        /// Agent for all stages (default: 'agent' in the table 'defaults', then claude)
        #[arg(long, value_name = "NAME")]
        agent: Option<String>,
        /// Run only this stage
        #[arg(long, value_name = "STAGE", value_parser = choice::stage_parser())]
        stage: Option<ThinkingStage>,
    },
    /// Show the status of the run
    Status {
        /// Show every run in the folder and below it, one line each
        #[arg(long)]
        all: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum FeedbackVerb {
    /// Record the result of the work
    Record {
        /// Measured NAME=VALUE, such as engagement_rate=6.8%; with --from, the NAME alone
        #[arg(long, value_name = "NAME=VALUE", required_unless_present = "from")]
        metric: Option<String>,
        /// Target value, such as 5%
        #[arg(long, required_unless_present = "from")]
        target: Option<String>,
        /// JSON file with the measured values, such as feedback/engagement.json
        #[arg(long, value_name = "FILE")]
        from: Option<PathBuf>,
        /// Lesson learned (repeatable)
        #[arg(long = "learning", value_name = "TEXT")]
        learnings: Vec<String>,
        /// Improvement for the next task (repeatable)
        #[arg(long = "improvement", value_name = "TEXT")]
        improvements: Vec<String>,
        /// Stage the lessons apply to (repeatable; default: all)
        #[arg(long = "stage", value_name = "STAGE", value_parser = choice::stage_parser())]
        stages: Vec<ThinkingStage>,
    },
    /// Apply the lessons of another task
    Apply {
        /// Folder of the other task
        #[arg(long, value_name = "DIR")]
        from: PathBuf,
    },
}
