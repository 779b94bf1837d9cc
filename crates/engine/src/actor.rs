//! Who gives a command: a person, or an agent whatever it says of itself.

use bowline_machines::Actor;

/// Variables that agent clients set for everything they run.
pub const AGENT_VARIABLES: [&str; 9] = [
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
    let mut pid = parent_of("self");
    for _ in 0..ANCESTORS_MAX {
        let Some(current) = pid.filter(|&pid| pid > 1) else {
            break;
        };
        // Another user's environment cannot be read; such an ancestor is no agent of ours.
        let environment = std::fs::read(format!("/proc/{current}/environ")).unwrap_or_default();
        if mentions_agent(&environment) {
            return Actor::Agent;
        }
        pid = parent_of(&current.to_string());
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

fn parent_of(pid: &str) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
    line.trim().parse().ok()
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
}
