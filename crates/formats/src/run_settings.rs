//! The tables of `bowline.toml` that are about agents and the runs of them.
//!
//! Other tables are not looked at; a key that is not known in one of these is an error, and so is a value that makes no sense.

use crate::agents::Protocol;
use crate::settings::Notify;
use serde::Deserialize;
use std::collections::BTreeMap;

/// What is said of agents and runs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Settings {
    /// The agent of work that names none.
    pub default_agent: Option<String>,
    /// Variables handed to every agent, by name.
    pub env: Vec<String>,
    /// Agents by name.
    pub agents: BTreeMap<String, Agent>,
    /// How much, how often, how long.
    pub limits: Limits,
    /// Of orchestrations.
    pub orchestrate: Orchestrate,
    /// Whom to tell.
    pub notify: Notify,
}

/// An agent that a person has described.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    /// Program and arguments, with placeholders.
    pub command: Vec<String>,
    /// How its output is read.
    pub protocol: Protocol,
    /// Further variables handed to it, by name.
    pub env: Vec<String>,
}

/// Limits of one piece of work, and of all together.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// Wait after a rate limit that does not say how long, in seconds.
    pub retry_after_s: u64,
    /// Agent starts per hour.
    pub runs_per_hour: Option<u64>,
    /// Turns of one task.
    pub turns: Option<u64>,
    /// Tokens of one task.
    pub tokens: Option<u64>,
    /// Money of one task.
    pub usd: Option<f64>,
    /// Time of one task, in seconds.
    pub wall_time_s: Option<u64>,
    /// Time without output, in seconds.
    pub no_progress_s: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            retry_after_s: 60,
            runs_per_hour: None,
            turns: None,
            tokens: None,
            usd: None,
            wall_time_s: None,
            no_progress_s: None,
        }
    }
}

/// The table `[orchestrate]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Orchestrate {
    /// Commands that must end with 0 before a phase is merged.
    pub checks: Vec<Vec<String>>,
    /// A command that must end with 0 before a task counts as done.
    pub evidence: Vec<String>,
    /// `normal`, `ultra-thin` or `ralph`.
    pub mode: Option<String>,
    /// Tasks at once; 0 sets no limit.
    pub max_parallel: Option<u32>,
    /// Runs of one task in all.
    pub retry_limit: Option<u32>,
    /// What an agent prints in mode ralph when it is done.
    pub completion_promise: Option<String>,
    /// Repetitions of one task in mode ralph.
    pub max_iterations: Option<u32>,
    /// Wait before a failed task is tried again, in seconds; doubled each time.
    pub backoff_s: Option<u64>,
    /// Ignored files and folders that every worktree gets as links.
    pub link: Vec<String>,
    /// The same as copies.
    pub copy: Vec<String>,
    /// A command run in every new worktree.
    pub setup: Vec<String>,
}

/// Why settings cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// Not TOML, or not of the expected shape.
    #[error("{message}")]
    Unreadable {
        /// What the parser says, in one line.
        message: String,
    },
    /// An agent without a program.
    #[error("agent '{name}' has no command")]
    NoCommand {
        /// The agent.
        name: String,
    },
    /// A protocol nobody speaks.
    #[error("agent '{name}' speaks '{protocol}', which nobody understands")]
    UnknownProtocol {
        /// The agent.
        name: String,
        /// The word.
        protocol: String,
    },
    /// A time that is none.
    #[error("'{text}' is no time; write seconds, or 90s, 15m, 2h")]
    BadTime {
        /// What stands there.
        text: String,
    },
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawFile {
    defaults: RawDefaults,
    agent: BTreeMap<String, RawAgent>,
    limits: RawLimits,
    orchestrate: RawOrchestrate,
    notify: Notify,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RawDefaults {
    agent: Option<String>,
    env: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RawAgent {
    command: Vec<String>,
    protocol: Option<String>,
    env: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawLimits {
    retry_after: Option<RawTime>,
    runs_per_hour: Option<u64>,
    turns: Option<u64>,
    tokens: Option<u64>,
    usd: Option<f64>,
    wall_time: Option<RawTime>,
    no_progress: Option<RawTime>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RawOrchestrate {
    checks: Vec<Vec<String>>,
    evidence: Vec<String>,
    mode: Option<String>,
    max_parallel: Option<u32>,
    retry_limit: Option<u32>,
    completion_promise: Option<String>,
    max_iterations: Option<u32>,
    backoff: Option<RawTime>,
    link: Vec<String>,
    copy: Vec<String>,
    setup: Vec<String>,
}

#[derive(Deserialize)]
#[serde(transparent)]
struct RawTime(toml::Value);

impl RawTime {
    fn seconds(self) -> Result<u64, SettingsError> {
        let seconds = match &self.0 {
            toml::Value::Integer(seconds) => u64::try_from(*seconds).ok(),
            toml::Value::String(text) => crate::develop::policy::seconds(text),
            _ => None,
        };
        seconds.ok_or_else(|| SettingsError::BadTime {
            text: match self.0 {
                toml::Value::String(text) => text,
                toml::Value::Integer(number) => number.to_string(),
                other => other.type_str().to_owned(),
            },
        })
    }
}

fn time(raw: Option<RawTime>) -> Result<Option<u64>, SettingsError> {
    raw.map(RawTime::seconds).transpose()
}

/// Reads `bowline.toml`.
pub fn read(text: &str) -> Result<Settings, SettingsError> {
    let raw: RawFile = toml::from_str(text).map_err(|error| SettingsError::Unreadable {
        message: error.message().lines().collect::<Vec<_>>().join(" "),
    })?;
    let mut agents = BTreeMap::new();
    for (name, agent) in raw.agent {
        if agent.command.first().is_none_or(String::is_empty) {
            return Err(SettingsError::NoCommand { name });
        }
        let word = agent.protocol.as_deref();
        let Some(protocol) = Protocol::from_name(word.unwrap_or("markers")) else {
            let protocol = agent.protocol.unwrap_or_default();
            return Err(SettingsError::UnknownProtocol { name, protocol });
        };
        let (command, env) = (agent.command, agent.env);
        agents.insert(
            name,
            Agent {
                command,
                protocol,
                env,
            },
        );
    }
    let (limits, run) = (raw.limits, raw.orchestrate);
    Ok(Settings {
        default_agent: raw.defaults.agent,
        env: raw.defaults.env,
        agents,
        limits: Limits {
            retry_after_s: time(limits.retry_after)?.unwrap_or(Limits::default().retry_after_s),
            runs_per_hour: limits.runs_per_hour,
            turns: limits.turns,
            tokens: limits.tokens,
            usd: limits.usd,
            wall_time_s: time(limits.wall_time)?,
            no_progress_s: time(limits.no_progress)?,
        },
        orchestrate: Orchestrate {
            checks: run.checks,
            evidence: run.evidence,
            mode: run.mode,
            max_parallel: run.max_parallel,
            retry_limit: run.retry_limit,
            completion_promise: run.completion_promise,
            max_iterations: run.max_iterations,
            backoff_s: time(run.backoff)?,
            link: run.link,
            copy: run.copy,
            setup: run.setup,
        },
        notify: raw.notify,
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]
    use super::*;

    #[test]
    fn agents_and_runs_are_read_and_other_tables_left_alone() {
        let text = "[defaults]\nagent = \"mine\"\n[agent.mine]\ncommand = [\"my-agent\", \"{prompt_file}\"]\n\
                    protocol = \"codex-json\"\n[limits]\nretry_after = \"2m\"\nslots = 3\nno_progress = 90\n\
                    [orchestrate]\nevidence = [\"make\", \"check\"]\nbackoff = 0\nmax_parallel = 4\n\
                    [develop]\nanything = 1\n";
        let settings = read(text).unwrap();
        assert_eq!(settings.default_agent.as_deref(), Some("mine"));
        assert_eq!(settings.agents["mine"].protocol, Protocol::CodexJson);
        assert_eq!(settings.limits.retry_after_s, 120);
        assert_eq!(settings.limits.no_progress_s, Some(90));
        assert_eq!(settings.orchestrate.evidence, ["make", "check"]);
        assert_eq!(settings.orchestrate.backoff_s, Some(0));
        assert_eq!(read("").unwrap(), Settings::default());
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        let fail = |text: &str| read(text).unwrap_err().to_string();
        assert_eq!(fail("[agent.x]\n"), "agent 'x' has no command");
        assert_eq!(
            fail("[agent.x]\ncommand = [\"x\"]\nprotocol = \"smoke\""),
            "agent 'x' speaks 'smoke', which nobody understands"
        );
        assert_eq!(
            fail("[limits]\nwall_time = \"soon\""),
            "'soon' is no time; write seconds, or 90s, 15m, 2h"
        );
        assert!(fail("[orchestrate]\nchekcs = []").contains("chekcs"));
    }
}
