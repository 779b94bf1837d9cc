//! Arguments of `serve` and `demo`.

use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Format of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Human-readable lines
    Text,
    /// One JSON object per line
    Json,
    /// No log
    Off,
}

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Address to listen on; port 0 picks a free port
    #[arg(long, value_name = "ADDR", default_value = bowline_server::DEFAULT_LISTEN_ADDRESS)]
    pub(crate) listen: String,
    /// Store of the tasks: sqlite:PATH (default: in the data folder)
    #[arg(long, value_name = "URL")]
    pub(crate) store: Option<String>,
    /// Data folder (default: bowline in the user's state folder)
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Number of agents that run at once (default: from the settings, else 3)
    #[arg(long, value_name = "N")]
    pub(crate) slots: Option<u32>,
    /// Folder whose state files are shown (repeatable; default: the current folder)
    #[arg(long = "workspace", value_name = "DIR")]
    pub(crate) workspaces: Vec<PathBuf>,
    /// Settings file (default: bowline.toml here, else the user's)
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Additional host name of the server (repeatable)
    #[arg(long = "host", value_name = "NAME")]
    pub(crate) hosts: Vec<String>,
    /// Key file for encrypting values (default: in the data folder)
    #[arg(long, value_name = "FILE")]
    pub(crate) secret_key_file: Option<PathBuf>,
    /// Rebuild tasks that the store has lost from their workspaces, then serve
    #[arg(long)]
    pub(crate) rebuild: bool,
    /// Start with an empty store even if folders have tasks that it does not know
    #[arg(long)]
    pub(crate) start_empty: bool,
    /// Format of the log on standard error
    #[arg(long, value_name = "FORM", default_value = "text")]
    pub(crate) log: LogFormat,
}

#[derive(Debug, Args)]
pub(crate) struct StoreArgs {
    #[command(subcommand)]
    pub(crate) verb: StoreVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum StoreVerb {
    /// Copy the whole store to a new file; the server may be running
    Backup {
        /// File to write; must not exist
        file: PathBuf,
        /// Data folder (default: bowline in the user's state folder)
        #[arg(long, value_name = "DIR")]
        data: Option<PathBuf>,
        /// Store of the tasks: sqlite:PATH (default: in the data folder)
        #[arg(long, value_name = "URL")]
        store: Option<String>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Address to listen on (default: the last one of this folder, else port 7421 or a free one)
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<String>,
    /// Folder for all data (default: a temporary folder)
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Resume a killed demo, and leave nothing behind
    #[arg(long, hide = true, requires = "dir")]
    pub(crate) again: bool,
    /// Run through the demo without a person, then exit
    #[arg(long)]
    pub(crate) check: bool,
}
