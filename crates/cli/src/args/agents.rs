//! Arguments of `run-agent` and `attach`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Strictness of the sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SandboxMode {
    /// Start only if the kernel enforces everything
    Strict,
    /// Enforce what the kernel supports
    BestEffort,
}

/// Use of a control group for the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CgroupMode {
    /// Create one if this user may
    Auto,
    /// Create none
    Off,
    /// Start only if one can be created
    Require,
}

/// Parses bytes, with `K`, `M` or `G` for powers of 1024.
fn parse_size(text: &str) -> Result<u64, String> {
    let (number, exponent) = match text.strip_suffix(['K', 'M', 'G', 'k', 'm', 'g']) {
        Some(number) => match text.as_bytes().last() {
            Some(b'K' | b'k') => (number, 10),
            Some(b'M' | b'm') => (number, 20),
            _ => (number, 30),
        },
        None => (text, 0),
    };
    let number: u64 = number.parse().map_err(|_| "not a size such as 512M")?;
    let bytes = number.checked_mul(1 << exponent);
    bytes
        .filter(|bytes| *bytes > 0)
        .ok_or_else(|| "not a possible size".into())
}

/// Parses a share of one processor, in percent.
fn parse_percent(text: &str) -> Result<u32, String> {
    let number = text.strip_suffix('%').unwrap_or(text).parse();
    number
        .ok()
        .filter(|percent| (1..=100_000).contains(percent))
        .ok_or_else(|| "not a share such as 50%".into())
}

#[derive(Debug, Args)]
pub(crate) struct RunAgentArgs {
    /// Human-readable name (default: the program)
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Working folder of the agent (default: the current folder)
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Start the agent, print its id and exit
    #[arg(long)]
    pub(crate) detach: bool,
    /// Keep the agent's standard input open for 'attach ID --send'
    #[arg(long)]
    pub(crate) open_input: bool,
    /// Restrict the agent to its folder and to reading the system
    #[arg(long, value_name = "MODE", num_args = 0..=1, require_equals = true, default_missing_value = "strict")]
    pub(crate) sandbox: Option<SandboxMode>,
    /// Additional path the sandboxed agent may read (repeatable)
    #[arg(long = "read", value_name = "PATH", requires = "sandbox")]
    pub(crate) read: Vec<PathBuf>,
    /// Additional path the sandboxed agent may write (repeatable)
    #[arg(long = "write", value_name = "PATH", requires = "sandbox")]
    pub(crate) write: Vec<PathBuf>,
    /// TCP port the sandboxed agent may connect to (repeatable; default: any)
    #[arg(long = "connect", value_name = "PORT", requires = "sandbox")]
    pub(crate) connect: Vec<u16>,
    /// TCP port the sandboxed agent may listen on (repeatable; default: any)
    #[arg(long = "listen", value_name = "PORT", requires = "sandbox")]
    pub(crate) listen: Vec<u16>,
    /// Control group for the agent: freezes, ends and limits it as a whole
    #[arg(long, value_name = "MODE", default_value = "auto")]
    pub(crate) cgroup: CgroupMode,
    /// Memory limit for all its processes together, such as 512M
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) memory_max: Option<u64>,
    /// Limit for the number of its processes
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) pids_max: Option<u64>,
    /// Processor time limit for all its processes together, in percent of one processor
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent)]
    pub(crate) cpu_max: Option<u32>,
    /// Show what this kernel enforces, or what a given command would be granted; runs nothing
    #[arg(long)]
    pub(crate) sandbox_report: bool,
    /// Program and its arguments
    #[arg(
        trailing_var_arg = true,
        value_name = "CMD",
        required_unless_present = "sandbox_report"
    )]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct AttachArgs {
    /// Attempt id, or its beginning; without it, list all; 'check' shows which agents can start
    pub(crate) id: Option<String>,
    /// Show output from this byte on (default: where it was last shown)
    #[arg(long, value_name = "BYTE", requires = "id", conflicts_with_all = ["pause", "resume", "end", "interrupt", "send", "close_input"])]
    pub(crate) from: Option<u64>,
    /// Pause all processes of the agent
    #[arg(long, requires = "id", group = "order")]
    pub(crate) pause: bool,
    /// Resume the paused processes
    #[arg(long, requires = "id", group = "order")]
    pub(crate) resume: bool,
    /// End all processes of the agent, or what is left of a lost attempt
    #[arg(long, requires = "id", group = "order", alias = "kill")]
    pub(crate) end: bool,
    /// Interrupt the agent, like Ctrl-C in a terminal
    #[arg(long, requires = "id", group = "order")]
    pub(crate) interrupt: bool,
    /// Write a line to the agent's standard input
    #[arg(long, value_name = "TEXT", requires = "id", conflicts_with = "order")]
    pub(crate) send: Option<String>,
    /// Close the agent's standard input
    #[arg(long, requires = "id", conflicts_with = "order")]
    pub(crate) close_input: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_shares_are_read() {
        for (text, wanted) in [("1", 1), ("4K", 4096), ("512M", 512 << 20), ("2g", 2 << 30)] {
            assert_eq!(parse_size(text), Ok(wanted), "{text}");
        }
        for text in ["", "M", "0", "0G", "-1", "1.5G", "1T", "99999999999999G"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
        assert_eq!(
            (parse_percent("50%"), parse_percent("250")),
            (Ok(50), Ok(250))
        );
        for text in ["", "%", "0", "0%", "-5%", "x", "100001"] {
            assert!(parse_percent(text).is_err(), "{text}");
        }
    }
}
