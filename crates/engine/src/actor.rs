//! Who gives a command: a person, or an agent whatever it says of itself.

use bowline_machines::Actor;
use std::fs::File;
use std::io::Read as _;

/// Variables that agent clients set for everything they run.
pub const AGENT_VARIABLES: [&str; 10] = [
    bowline_supervisor::ATTEMPT_VARIABLE,
    "BOWLINE_AGENT_TOKEN_FILE",
    "CLAUDECODE",
    "CLAUDE_CODE_SESSION_ID",
    "CODEX_SANDBOX",
    "CODEX_SANDBOX_NETWORK_DISABLED",
    "CODEX_THREAD_ID",
    "GEMINI_CLI",
    "OPENCODE",
    "OPENCODE_SESSION",
];

/// More than most environments have. A file in `/proc` has no size to go by, and a reader that begins small asks the
/// kernel a dozen times for what it can say at once.
const PROC_BYTES_FIRST: usize = 8 * 1024;

/// Ancestors looked at; deeper trees of processes do not occur in practice.
const ANCESTORS_MAX: usize = 64;

/// An agent when one of [`AGENT_VARIABLES`] is set in our own environment or an ancestor's, else a person.
pub fn detect() -> Actor {
    if AGENT_VARIABLES
        .iter()
        .any(|name| std::env::var_os(name).is_some())
    {
        return Actor::Agent;
    }
    let mut pid = Some(std::os::unix::process::parent_id());
    for _ in 0..ANCESTORS_MAX {
        let Some(current) = pid.filter(|&pid| pid > 1) else {
            break;
        };
        // Another user's environment cannot be read; such an ancestor is no agent of ours.
        let environment = proc(current, "environ").unwrap_or_default();
        if mentions_agent(&environment) {
            return Actor::Agent;
        }
        pid = proc(current, "stat").and_then(|stat| parent_in(&stat));
    }
    Actor::Person
}

fn mentions_agent(environment: &[u8]) -> bool {
    environment.split(|&byte| byte == 0).any(|entry| {
        let name = entry.split(|&byte| byte == b'=').next().unwrap_or_default();
        AGENT_VARIABLES
            .iter()
            .any(|variable| variable.as_bytes() == name)
    })
}

/// What the kernel says of a process; nothing when it is gone or another user's.
fn proc(pid: u32, what: &str) -> Option<Vec<u8>> {
    let mut file = File::open(format!("/proc/{pid}/{what}")).ok()?;
    let mut bytes = vec![0; PROC_BYTES_FIRST];
    let mut filled = 0;
    loop {
        match file.read(&mut bytes[filled..]).ok()? {
            0 => break,
            read => filled += read,
        }
        if filled == bytes.len() {
            bytes.resize(2 * filled, 0);
        }
    }
    bytes.truncate(filled);
    Some(bytes)
}

/// The parent in a process's `stat` line: the second word after its name, which stands in brackets and may hold anything.
fn parent_in(stat: &[u8]) -> Option<u32> {
    let name_end = stat.iter().rposition(|&byte| byte == b')')?;
    let rest = str::from_utf8(&stat[name_end + 1..]).ok()?;
    rest.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_counts_by_its_whole_name() {
        assert!(mentions_agent(b"A=1\0CLAUDECODE=1\0"));
        assert!(mentions_agent(b"GEMINI_CLI=\0"));
        assert!(!mentions_agent(
            b"XCLAUDECODE=1\0CLAUDECODED=1\0NOTE=CLAUDECODE\0"
        ));
        assert!(!mentions_agent(b""));
    }

    #[test]
    fn the_parent_is_found_whatever_the_process_calls_itself() {
        assert_eq!(parent_in(b"77 (sh) S 12 77 77 0 -1"), Some(12));
        assert_eq!(parent_in(b"77 (a) S 9 (b) R 12 77"), Some(12));
        assert_eq!(parent_in(b"77 (sh"), None);
        let us = proc(std::process::id(), "stat").and_then(|stat| parent_in(&stat));
        assert_eq!(us, Some(std::os::unix::process::parent_id()));
    }
}
