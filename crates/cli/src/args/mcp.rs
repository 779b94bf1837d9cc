//! Arguments of `mcp`.

use super::task::PlaceArgs;
use clap::{Args, ValueEnum};

/// Whose tools are offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RoleName {
    /// Tools that change nothing
    ReadOnly,
    /// The verbs of agents
    Agent,
    /// A person's verbs too; refused to whoever is no person
    Person,
}

#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    /// Whose tools are offered
    #[arg(long, value_name = "ROLE", default_value = "agent")]
    pub(crate) role: RoleName,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
}
