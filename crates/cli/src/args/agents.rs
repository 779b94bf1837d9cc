//! Arguments of `run-agent` and `attach`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// How strictly the sandbox is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SandboxMode {
    /// Start nothing unless the kernel enforces all of it
    Strict,
    /// Enforce what the kernel can
    BestEffort,
}

#[derive(Debug, Args)]
pub(crate) struct RunAgentArgs {
    /// A name for people (default: the program)
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Where the agent works (default: here)
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Start it, print its id, and leave
    #[arg(long)]
    pub(crate) detach: bool,
    /// Keep its standard input open for 'attach ID --send'
    #[arg(long)]
    pub(crate) open_input: bool,
    /// Let it touch only the system (reading) and its folder
    #[arg(long, value_name = "MODE", num_args = 0..=1, require_equals = true, default_missing_value = "strict")]
    pub(crate) sandbox: Option<SandboxMode>,
    /// A further root the sandboxed agent may read
    #[arg(long = "read", value_name = "PATH", requires = "sandbox")]
    pub(crate) read: Vec<PathBuf>,
    /// A further root the sandboxed agent may write
    #[arg(long = "write", value_name = "PATH", requires = "sandbox")]
    pub(crate) write: Vec<PathBuf>,
    /// A TCP port the sandboxed agent may connect to (default: any)
    #[arg(long = "connect", value_name = "PORT", requires = "sandbox")]
    pub(crate) connect: Vec<u16>,
    /// A TCP port the sandboxed agent may listen on (default: any)
    #[arg(long = "listen", value_name = "PORT", requires = "sandbox")]
    pub(crate) listen: Vec<u16>,
    /// Say what this kernel enforces, and run nothing
    #[arg(long)]
    pub(crate) sandbox_report: bool,
    /// The program and its arguments
    #[arg(
        last = true,
        value_name = "CMD",
        required_unless_present = "sandbox_report"
    )]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct AttachArgs {
    /// The attempt, by the first letters of its id; a list of all when left away
    pub(crate) id: Option<String>,
    /// Show output from this byte on (default: from where it was last shown)
    #[arg(long, value_name = "BYTE", requires = "id", conflicts_with_all = ["pause", "resume", "end", "send", "close_input"])]
    pub(crate) from: Option<u64>,
    /// Stop all its processes
    #[arg(long, requires = "id", group = "order")]
    pub(crate) pause: bool,
    /// Let them go on
    #[arg(long, requires = "id", group = "order")]
    pub(crate) resume: bool,
    /// End all its processes; of a lost attempt, what is left of it
    #[arg(long, requires = "id", group = "order")]
    pub(crate) end: bool,
    /// Write a line to its standard input
    #[arg(long, value_name = "TEXT", requires = "id", conflicts_with = "order")]
    pub(crate) send: Option<String>,
    /// Close its standard input
    #[arg(long, requires = "id", conflicts_with = "order")]
    pub(crate) close_input: bool,
}
