//! Arguments of `mcp`.

use super::task::ServerAddressArgs;
use clap::{Args, ValueEnum};

/// Role whose tools are offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RoleName {
    /// Tools that change nothing
    ReadOnly,
    /// Tools for agents
    Agent,
    /// Tools for a person, too; refused to agents
    Person,
}

#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    /// Role whose tools are offered
    #[arg(long, value_name = "ROLE", default_value = "agent")]
    pub(crate) role: RoleName,
    #[command(flatten)]
    pub(crate) place: ServerAddressArgs,
}
