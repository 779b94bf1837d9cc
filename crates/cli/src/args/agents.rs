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

/// Whether the agent gets a control group of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CgroupMode {
    /// Where this user may make one
    Auto,
    /// Never
    Off,
    /// Start nothing without one
    Require,
}

/// Bytes, with `K`, `M` or `G` for powers of 1024.
fn bytes(text: &str) -> Result<u64, String> {
    let (number, shift) = match text.strip_suffix(['K', 'M', 'G', 'k', 'm', 'g']) {
        Some(number) => match text.as_bytes().last() {
            Some(b'K' | b'k') => (number, 10),
            Some(b'M' | b'm') => (number, 20),
            _ => (number, 30),
        },
        None => (text, 0),
    };
    let number: u64 = number.parse().map_err(|_| "not a size such as 512M")?;
    let bytes = number.checked_mul(1 << shift);
    bytes
        .filter(|bytes| *bytes > 0)
        .ok_or_else(|| "not a possible size".into())
}

/// A share of one processor.
fn percent(text: &str) -> Result<u32, String> {
    let number = text.strip_suffix('%').unwrap_or(text).parse();
    number
        .ok()
        .filter(|percent| (1..=100_000).contains(percent))
        .ok_or_else(|| "not a share such as 50%".into())
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
    /// Give it a control group of its own: frozen, ended and limited as a whole
    #[arg(long, value_name = "MODE", default_value = "auto")]
    pub(crate) cgroup: CgroupMode,
    /// Limit the memory of all its processes together, such as 512M
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub(crate) memory_max: Option<u64>,
    /// Limit the number of its processes
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) pids_max: Option<u64>,
    /// Limit the processor time of all its processes together, in percent of one processor
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub(crate) cpu_max: Option<u32>,
    /// Say what this kernel enforces, or with a command what it would be granted, and run nothing
    #[arg(long)]
    pub(crate) sandbox_report: bool,
    /// The program and its arguments
    #[arg(
        trailing_var_arg = true,
        value_name = "CMD",
        required_unless_present = "sandbox_report"
    )]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct AttachArgs {
    /// The attempt, by the first letters of its id; a list of all when left away; check to see which agents can be started
    pub(crate) id: Option<String>,
    /// Show output from this byte on (default: from where it was last shown)
    #[arg(long, value_name = "BYTE", requires = "id", conflicts_with_all = ["pause", "resume", "end", "interrupt", "send", "close_input"])]
    pub(crate) from: Option<u64>,
    /// Stop all its processes
    #[arg(long, requires = "id", group = "order")]
    pub(crate) pause: bool,
    /// Let them go on
    #[arg(long, requires = "id", group = "order")]
    pub(crate) resume: bool,
    /// End all its processes; of a lost attempt, what is left of it
    #[arg(long, requires = "id", group = "order", alias = "kill")]
    pub(crate) end: bool,
    /// Interrupt it, as Ctrl-C in a terminal does
    #[arg(long, requires = "id", group = "order")]
    pub(crate) interrupt: bool,
    /// Write a line to its standard input
    #[arg(long, value_name = "TEXT", requires = "id", conflicts_with = "order")]
    pub(crate) send: Option<String>,
    /// Close its standard input
    #[arg(long, requires = "id", conflicts_with = "order")]
    pub(crate) close_input: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_shares_are_read() {
        for (text, wanted) in [("1", 1), ("4K", 4096), ("512M", 512 << 20), ("2g", 2 << 30)] {
            assert_eq!(bytes(text), Ok(wanted), "{text}");
        }
        for text in ["", "M", "0", "0G", "-1", "1.5G", "1T", "99999999999999G"] {
            assert!(bytes(text).is_err(), "{text}");
        }
        assert_eq!((percent("50%"), percent("250")), (Ok(50), Ok(250)));
        for text in ["", "%", "0", "0%", "-5%", "x", "100001"] {
            assert!(percent(text).is_err(), "{text}");
        }
    }
}
