//! The command line of `bowline develop`.

use super::choice;
use bowline_engine::operations::develop::{DevelopPhase, FailureClass, Gate};
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct DevelopArgs {
    #[command(subcommand)]
    pub(crate) verb: DevelopVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DevelopVerb {
    /// Start a run in phase DESIGN; a person's start seals the policy
    Start {
        /// Feature to build, in one line
        feature: String,
        /// Discard an open run and start a new one
        #[arg(long)]
        fresh: bool,
    },
    /// Enter REVIEW with the checkpoints of the design
    Review {
        /// Checkpoint, in the order of work (repeatable)
        #[arg(long = "checkpoint", value_name = "ID", num_args = 1.., value_delimiter = ',')]
        checkpoints: Vec<String>,
        /// Contract, or design document with one, that names the checkpoints
        #[arg(long, value_name = "FILE")]
        contract: Option<PathBuf>,
    },
    /// Gates: open one with evidence, or close it
    #[command(subcommand)]
    Gate(GateVerb),
    /// Enter IMPLEMENT
    Implement {
        /// Implementation strategy (default: from .develop-workflow.yaml, else auto)
        #[arg(long, value_name = "STRATEGY", value_parser = choice::strategy_parser())]
        strategy: Option<String>,
    },
    /// Checkpoints: three attempts each, then a person decides
    #[command(subcommand)]
    Checkpoint(CheckpointVerb),
    /// Run agents for the checkpoints until their commands pass; resumes where it stopped
    Run(DevelopRunArgs),
    /// Enter PR
    Pr,
    /// Finish the run
    Done,
    /// Go back to an earlier phase; closes the gates after it
    Back {
        /// Phase to go back to
        #[arg(ignore_case = true, value_parser = choice::phase_parser())]
        phase: DevelopPhase,
    },
    /// Show the status of the run and the next step; writes nothing
    Resume,
    /// Discard the run
    Reset,
    /// Take over a run that another program started; closes its gates
    Adopt,
    /// Seal the gates' commands and the protected files as they are now
    Seal,
    /// Export the evidence of the run to one signed file
    #[command(subcommand)]
    Evidence(EvidenceVerb),
    /// Show the status of the run
    Status,
}

#[derive(Debug, Args)]
pub(crate) struct DevelopRunArgs {
    /// Feature to start a run for, if no run is open
    #[arg(requires = "auto")]
    pub(crate) feature: Option<String>,
    /// Run every phase without a person, as far as the sealed gate commands allow
    #[arg(long)]
    pub(crate) auto: bool,
    /// Agent for the run (default: 'agent' in the table 'defaults', then claude)
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Maximum number of agents to start
    #[arg(long, value_name = "N")]
    pub(crate) max_iterations: Option<u32>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum EvidenceVerb {
    /// Verify the run and write its evidence to a file, for 'bowline verify --evidence FILE --key
    /// FILE'
    Export {
        /// File to write, outside the work tree; '-' is standard output
        file: PathBuf,
        /// Key to sign the evidence with (default: from BOWLINE_EVIDENCE_KEY_FILE)
        #[arg(long, value_name = "FILE")]
        key: Option<PathBuf>,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum GateVerb {
    /// Run the sealed command and open the gate if it exits with 0
    #[command(alias = "open")]
    Pass {
        /// Name of the gate
        #[arg(value_parser = choice::gate_parser())]
        name: Gate,
        /// Command of a person's choice if none is sealed; otherwise it only adds evidence
        #[arg(long, value_name = "CMD")]
        run: Option<String>,
        /// Reason for opening the gate without a command (people only)
        #[arg(long, value_name = "REASON", conflicts_with = "run")]
        by_hand: Option<String>,
        /// Sign evidence of a command even if no sandbox hides the signing key from it
        #[arg(long, conflicts_with = "by_hand")]
        unsandboxed_signing: bool,
    },
    /// Close the gate and those after it
    Reset {
        /// Name of the gate
        #[arg(value_parser = choice::gate_parser())]
        name: Gate,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum CheckpointVerb {
    /// Start the first attempt
    Start {
        /// Id of the checkpoint
        id: String,
        /// Reason for reopening an escalated checkpoint (people only)
        #[arg(long = "override", value_name = "REASON")]
        override_reason: Option<String>,
    },
    /// Pass the attempt, unless the given command fails
    Pass {
        /// Id of the checkpoint
        id: String,
        /// Command that must exit with 0
        #[arg(long, value_name = "CMD")]
        run: Option<String>,
        /// Sign evidence of a command even if no sandbox hides the signing key from it
        #[arg(long)]
        unsandboxed_signing: bool,
    },
    /// Mark the attempt as failed
    Fail {
        /// Id of the checkpoint
        id: String,
        /// Class of the failure
        #[arg(
            long,
            value_name = "CLASS",
            ignore_case = true,
            default_value = "LOGIC_ERROR",
            value_parser = choice::failure_class_parser()
        )]
        class: FailureClass,
    },
}
