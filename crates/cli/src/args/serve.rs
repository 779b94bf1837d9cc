//! Arguments of `serve` and `demo`.

use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

/// How the log is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogForm {
    /// Lines for people
    Text,
    /// A JSON object per line
    Json,
    /// No log
    Off,
}

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Where to listen; port 0 picks a free one
    #[arg(long, value_name = "ADDR", default_value = bowline_server::LISTEN)]
    pub(crate) listen: String,
    /// Where jobs are kept: sqlite:PATH (default: in the data folder)
    #[arg(long, value_name = "URL")]
    pub(crate) store: Option<String>,
    /// The data folder (default: bowline in the folder of state)
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Agents at work at once (default: of the settings, else 3)
    #[arg(long, value_name = "N")]
    pub(crate) slots: Option<u32>,
    /// A folder whose state files are shown (default: this one)
    #[arg(long = "workspace", value_name = "DIR")]
    pub(crate) workspaces: Vec<PathBuf>,
    /// The settings (default: bowline.toml here, else the user's)
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// A further name the server is reached by
    #[arg(long = "host", value_name = "NAME")]
    pub(crate) hosts: Vec<String>,
    /// The key that values are encrypted with (default: in the data folder)
    #[arg(long, value_name = "FILE")]
    pub(crate) secret_key_file: Option<PathBuf>,
    /// Find tasks again that the store has lost, from what their workspaces tell, and then serve
    #[arg(long)]
    pub(crate) rebuild: bool,
    /// Start with an empty store even where folders have tasks that it does not know
    #[arg(long)]
    pub(crate) start_empty: bool,
    /// How the log is written, to standard error
    #[arg(long, value_name = "FORM", default_value = "text")]
    pub(crate) log: LogForm,
}

#[derive(Debug, Args)]
pub(crate) struct StoreArgs {
    #[command(subcommand)]
    pub(crate) verb: StoreVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum StoreVerb {
    /// Write a whole copy of the store to a new file, while the server runs or not
    Backup {
        /// The file to write; it must not be there
        file: PathBuf,
        /// The data folder (default: bowline in the folder of state)
        #[arg(long, value_name = "DIR")]
        data: Option<PathBuf>,
        /// Where jobs are kept: sqlite:PATH (default: in the data folder)
        #[arg(long, value_name = "URL")]
        store: Option<String>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Where to listen (default: where it did before in this folder, else port 7421, else a free one)
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<String>,
    /// Keep everything in this folder (default: a temporary one)
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Take up what a killed demo left, and leave nothing behind
    #[arg(long, hide = true, requires = "dir")]
    pub(crate) again: bool,
    /// Walk through it alone, and end
    #[arg(long)]
    pub(crate) check: bool,
}
