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

pub(crate) use deferred::Deferred;

use bowline_engine::operations::thinking::Stage;
use bowline_words::Lang;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Holds the work of AI agents: durable state, legal moves, gates and recovery.
///
/// Without a command it shows what is here and what can be done next.
#[derive(Debug, Parser)]
#[command(name = "bowline", version)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// Where the options of every command stand on a help page.
const GLOBAL: &str = "Global options";

/// Options of every command.
#[derive(Debug, Clone, Args)]
pub(crate) struct Common {
    /// Work as if started in this folder
    #[arg(short = 'C', value_name = "DIR", global = true, help_heading = GLOBAL)]
    pub(crate) folder: Option<PathBuf>,
    /// Print JSON instead of text
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub(crate) json: bool,
    /// Language of texts (default: from the locale)
    #[arg(long, value_name = "LANG", global = true, help_heading = GLOBAL)]
    pub(crate) lang: Option<LangName>,
    /// Say what would happen, and write nothing
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub(crate) dry_run: bool,
}

/// A language of texts.
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
pub(crate) enum Command {
    /// Thinking runs: four stages with outputs, tries and scores
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Thinking(Deferred<ThinkingArgs>),
    /// The memory of agents: one current task, its history, shared context
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Memory(Deferred<memory::MemoryArgs>),
    /// Develop runs: five phases, gates that open on evidence, checkpoints
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Develop(Deferred<develop::DevelopArgs>),
    /// Orchestrations: a plan of tasks, worked off phase by phase
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Orchestrate(Deferred<orchestrate::OrchestrateArgs>),
    /// Tasks of the server: phases, reviews, questions, and the agents that work on them
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Task(Deferred<task::TaskArgs>),
    /// Serve tasks: queue, agents, reviews, the web page
    Serve(Deferred<serve::ServeArgs>),
    /// The store of the server: copies of it
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Store(Deferred<serve::StoreArgs>),
    /// Serve with scripted agents: everything to see, no key, no network
    Demo(Deferred<serve::DemoArgs>),
    /// Write all that happened to a task into one file, without secrets
    Capsule(Deferred<task::CapsuleArgs>),
    /// Play a capsule back, without a server
    Replay(Deferred<task::ReplayArgs>),
    /// Report on a task, as the agent that works on it
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Agent {
        #[command(subcommand)]
        verb: Deferred<task::AgentVerb>,
    },
    /// Check the evidence of a develop run against the tree as it is now
    Verify {
        /// The key the evidence must be signed with
        #[arg(long, value_name = "FILE")]
        key: Option<PathBuf>,
        /// Check this file of evidence against the checkout; nothing of the run has to be here
        #[arg(long, value_name = "FILE", requires = "key")]
        evidence: Option<PathBuf>,
    },
    /// Install the hooks of agent clients and of git; shows what changes, keeps what is there
    Init {
        /// An agent client (default: those used here, else claude)
        #[arg(long = "agent", value_name = "NAME")]
        clients: Vec<ClientName>,
        /// Take them out again
        #[arg(long)]
        uninstall: bool,
    },
    /// Answer an agent client: its hook message on standard input, exit code 2 to deny
    Hook {
        /// pre-tool-use, post-tool-use, session-start, pre-compact, stop or user-prompt-submit; else the message names it
        event: Option<std::ffi::OsString>,
    },
    /// Serve the verbs as tools of agent clients (MCP), on standard input and output
    Mcp(Deferred<mcp::McpArgs>),
    /// Run one agent that outlives this command, and show its output
    RunAgent(Deferred<agents::RunAgentArgs>),
    /// Show the output of an agent again, or control it; list all when no id is given
    #[command(alias = "agents")]
    Attach(Deferred<agents::AttachArgs>),
    /// Show where a state file stands
    Status {
        /// A path or a kind; all that is here when left away
        what: Option<String>,
    },
    /// List the transitions of a state file
    History {
        /// A path or a kind
        what: Option<String>,
        /// Show only the last N
        #[arg(short = 'n', long, value_name = "N", alias = "limit")]
        last: Option<usize>,
    },
    /// Take the last transition back
    Undo {
        /// A path or a kind
        what: Option<String>,
        /// Go back even across transitions that had effects outside the file
        #[arg(long)]
        state_only: bool,
    },
    /// Bring a state file back as it was after a transition
    Restore {
        /// A path or a kind, then the transition's number; the number alone will do when one file is here
        #[arg(num_args = 1..=2, value_name = "PATH|KIND|SEQ", required = true)]
        what: Vec<String>,
        /// Go back even across transitions that had effects outside the file
        #[arg(long)]
        state_only: bool,
    },
    /// Check state files, and repair them
    Doctor {
        /// Paths or kinds; all that is here when left away
        what: Vec<String>,
        /// Repair what can be repaired
        #[arg(long, alias = "fix")]
        repair: bool,
    },
    /// Print the JSON Schema of a file kind
    Schema {
        /// The kind; a list of kinds when left away
        kind: Option<String>,
    },
    /// Explain an error or finding code
    Explain {
        /// The code; a list of codes when left away
        code: Option<String>,
    },
    /// Play a scenario as an agent, to try out what supervises agents
    Scripted {
        /// The scenario
        #[arg(default_value = "scenario.toml")]
        file: PathBuf,
        /// Begin behind the N-th wait, as a client does that is resumed
        #[arg(long, value_name = "N", default_value_t = 0)]
        turn: usize,
        /// Arguments of the client it stands for; they are passed over
        #[arg(last = true, hide = true)]
        client: Vec<String>,
    },
    /// Print shell completions
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ThinkingArgs {
    /// The task folder (default: the nearest folder upwards that has a thinking_state.json)
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) dir: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) verb: ThinkingVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ThinkingVerb {
    /// Make a new run in a task folder
    New {
        /// Id of the task
        id: String,
        /// Title for people (default: the id)
        #[arg(long)]
        title: Option<String>,
        /// What the task is for (on a terminal it is asked for)
        #[arg(long)]
        goal: Option<String>,
    },
    /// Begin a stage, or try a failed one again
    Start {
        /// The stage
        #[arg(value_parser = choice::stage())]
        stage: Stage,
        /// A person's reason to reopen a stage that used up its tries
        #[arg(long = "override", value_name = "REASON")]
        override_reason: Option<String>,
    },
    /// Record files a stage has made so far
    Output {
        /// The stage
        #[arg(value_parser = choice::stage())]
        stage: Stage,
        /// Paths relative to the task folder
        #[arg(required = true, value_name = "PATH")]
        paths: Vec<String>,
    },
    /// End a stage well; its outputs must exist
    Complete {
        /// The stage
        #[arg(value_parser = choice::stage(), required_unless_present = "outputs")]
        stage: Option<Stage>,
        /// A further output, relative to the task folder
        #[arg(long = "output", value_name = "PATH", num_args = 1..)]
        outputs: Vec<String>,
    },
    /// End a stage badly
    Fail {
        /// The stage
        #[arg(value_parser = choice::stage())]
        stage: Stage,
        /// A word for programs
        #[arg(long)]
        code: String,
        /// A sentence for people
        #[arg(long)]
        message: String,
    },
    /// Score the work against the core values, 0 to 10
    Evaluate {
        /// NAME=SCORE, for instance practicality=8
        #[arg(required = true, value_name = "NAME=SCORE")]
        scores: Vec<String>,
    },
    /// Record quality metrics, 0 to 1
    Quality {
        /// NAME=VALUE, for instance completeness=0.75
        #[arg(required = true, value_name = "NAME=VALUE")]
        metrics: Vec<String>,
    },
    /// Lessons from execution, and for the next task
    #[command(subcommand)]
    Feedback(FeedbackVerb),
    /// Work the stages off by agents, one after the other; goes on where it was
    Run {
        /// The agent of all stages (default: 'agent' in the table 'defaults', then claude)
        #[arg(long, value_name = "NAME")]
        agent: Option<String>,
        /// Only this stage
        #[arg(long, value_name = "STAGE", value_parser = choice::stage())]
        stage: Option<Stage>,
    },
    /// Show where the run stands
    Status {
        /// Show every run in the folder and below it, one line each
        #[arg(long)]
        all: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum FeedbackVerb {
    /// Record what came of the work
    Record {
        /// NAME=VALUE of what was measured, for instance engagement_rate=6.8%; with --from the NAME alone
        #[arg(long, value_name = "NAME=VALUE", required_unless_present = "from")]
        metric: Option<String>,
        /// What was hoped for, for instance 5%
        #[arg(long, required_unless_present = "from")]
        target: Option<String>,
        /// A JSON file with what was measured, for instance feedback/engagement.json
        #[arg(long, value_name = "FILE")]
        from: Option<PathBuf>,
        /// Something learnt
        #[arg(long = "learning", value_name = "TEXT")]
        learnings: Vec<String>,
        /// Something to do otherwise
        #[arg(long = "improvement", value_name = "TEXT")]
        improvements: Vec<String>,
        /// A stage the lesson is for (default: all)
        #[arg(long = "stage", value_name = "STAGE", value_parser = choice::stage())]
        stages: Vec<Stage>,
    },
    /// Take over what another task learnt
    Apply {
        /// The other task's folder
        #[arg(long, value_name = "DIR")]
        from: PathBuf,
    },
}
