//! The command line of `bowline develop`.

use super::choice;
use bowline_engine::operations::develop::{FailureClass, Gate, Phase};
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct DevelopArgs {
    #[command(subcommand)]
    pub(crate) verb: DevelopVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DevelopVerb {
    /// Begin a run in phase DESIGN; a person's start seals the policy
    Start {
        /// What is to be built, in a line
        feature: String,
        /// Throw an open run away and begin anew
        #[arg(long)]
        fresh: bool,
    },
    /// Enter REVIEW with the checkpoints of the design
    Review {
        /// A checkpoint, in the order of work
        #[arg(long = "checkpoint", value_name = "ID", num_args = 1.., value_delimiter = ',')]
        checkpoints: Vec<String>,
        /// A contract, or a design document with one, that names the checkpoints
        #[arg(long, value_name = "FILE")]
        contract: Option<PathBuf>,
    },
    /// Gates: open one by evidence, or close it
    #[command(subcommand)]
    Gate(GateVerb),
    /// Enter IMPLEMENT
    Implement {
        /// Who implements (default: from .develop-workflow.yaml, else auto)
        #[arg(long, value_name = "STRATEGY", value_parser = choice::strategy())]
        strategy: Option<String>,
    },
    /// Checkpoints: three attempts each, then a person decides
    #[command(subcommand)]
    Checkpoint(CheckpointVerb),
    /// Work the checkpoints off by agents, each until its command is green; goes on where it was
    Run(RunArgs),
    /// Enter PR
    Pr,
    /// Finish the run
    Done,
    /// Go back to an earlier phase; gates behind it close
    Back {
        /// The phase
        #[arg(ignore_case = true, value_parser = choice::phase())]
        phase: Phase,
    },
    /// Say where the run stands and what comes next; writes nothing
    Resume,
    /// Throw the run away
    Reset,
    /// Take over a run that another program began; its gates close
    Adopt,
    /// Seal the gates' commands and the protected files as they are now
    Seal,
    /// Take the evidence of the run along, in one signed file
    #[command(subcommand)]
    Evidence(EvidenceVerb),
    /// Show where the run stands
    Status,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Begin a run for this, where none is open
    #[arg(requires = "auto")]
    pub(crate) feature: Option<String>,
    /// Every phase without a person, as far as the sealed commands of the gates allow
    #[arg(long)]
    pub(crate) auto: bool,
    /// The agent (default: 'agent' in the table 'defaults', then claude)
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Agents started at the most
    #[arg(long, value_name = "N")]
    pub(crate) max_iterations: Option<u32>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum EvidenceVerb {
    /// Verify the run and write its evidence to one file, for 'bowline verify --evidence' elsewhere
    Export {
        /// The file, outside the work tree; '-' is standard output
        file: PathBuf,
        /// The key the evidence is signed with (default: from BOWLINE_EVIDENCE_KEY_FILE)
        #[arg(long, value_name = "FILE")]
        key: Option<PathBuf>,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum GateVerb {
    /// Run the sealed command, and open the gate when it ends with 0
    #[command(alias = "open")]
    Pass {
        /// The gate
        #[arg(value_parser = choice::gate())]
        name: Gate,
        /// A command of a person's own, where none is sealed; else it only adds evidence
        #[arg(long, value_name = "CMD")]
        run: Option<String>,
        /// A person's reason to open it without a command
        #[arg(long, value_name = "REASON", conflicts_with = "run")]
        by_hand: Option<String>,
        /// Sign evidence of a command that no sandbox keeps from the signing key
        #[arg(long, conflicts_with = "by_hand")]
        unsandboxed_signing: bool,
    },
    /// Close the gate, and those after it
    Reset {
        /// The gate
        #[arg(value_parser = choice::gate())]
        name: Gate,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum CheckpointVerb {
    /// Begin the first attempt
    Start {
        /// The checkpoint
        id: String,
        /// A person's reason to reopen one that escalated
        #[arg(long = "override", value_name = "REASON")]
        override_reason: Option<String>,
    },
    /// End an attempt well; a command that fails makes it a failed one
    Pass {
        /// The checkpoint
        id: String,
        /// A command that must end with 0
        #[arg(long, value_name = "CMD")]
        run: Option<String>,
        /// Sign evidence of a command that no sandbox keeps from the signing key
        #[arg(long)]
        unsandboxed_signing: bool,
    },
    /// End an attempt badly
    Fail {
        /// The checkpoint
        id: String,
        /// Why
        #[arg(
            long,
            value_name = "CLASS",
            ignore_case = true,
            default_value = "LOGIC_ERROR",
            value_parser = choice::class()
        )]
        class: FailureClass,
    },
}
