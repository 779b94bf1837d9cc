//! The `[develop]` table of `bowline.toml`: the command of each gate, and the files that must not
//! change unnoticed.

use bowline_machines::develop::Gate;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Name of the file in the root of a project.
pub const FILE_NAME: &str = "bowline.toml";

/// Time limit of a command if none is set.
pub const TIMEOUT_SECONDS_DEFAULT: u64 = 60 * 60;

/// Rules of a project for its gates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DevelopPolicy {
    /// Command of each gate that has one, by the gate's name.
    #[serde(default)]
    pub gates: BTreeMap<String, String>,
    /// Glob patterns of files that are sealed with the policy.
    #[serde(default)]
    pub protected: Vec<String>,
    /// Time limit of a command.
    pub timeout_seconds: u64,
    /// True if a gate becomes stale when the tree differs from the one its command ran on. If
    /// absent, true in a git repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<bool>,
    /// Additional environment variables that commands receive.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub environment: Vec<String>,
    /// Ignored files and folders made available in the checkout in which signed evidence is
    /// produced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub share: Vec<String>,
}

impl Default for DevelopPolicy {
    fn default() -> Self {
        DevelopPolicy {
            gates: BTreeMap::new(),
            protected: Vec::new(),
            timeout_seconds: TIMEOUT_SECONDS_DEFAULT,
            tree: None,
            environment: Vec::new(),
            share: Vec::new(),
        }
    }
}

impl DevelopPolicy {
    /// Returns the command of a gate.
    pub fn gate_command(&self, gate: Gate) -> Option<&str> {
        self.gates.get(gate.name()).map(String::as_str)
    }

    /// True if the tree that lands must be the tree that was tested.
    pub fn compares_trees(&self, in_repository: bool) -> bool {
        self.tree.unwrap_or(in_repository)
    }
}

/// Reasons why a policy is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// The file is not TOML, or not of the expected shape.
    #[error("cannot be read: {message}")]
    Unreadable {
        /// Message of the parser, in one line.
        message: String,
    },
    /// The table names an unknown gate.
    #[error("there is no gate '{name}'; there are {known}")]
    UnknownGate {
        name: String,
        /// Names of the gates that exist.
        known: String,
    },
    /// The command of a gate is empty.
    #[error("the command of gate '{name}' is empty")]
    EmptyCommand {
        /// Name of the gate.
        name: String,
    },
    /// A path leads out of the project.
    #[error("'{path}' is no path inside the project")]
    Outside { path: String },
    /// The timeout is not a positive duration.
    #[error("'{text}' is no time; write seconds, or 90s, 15m, 2h")]
    BadTime {
        /// The value in the file.
        text: String,
    },
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawPolicyFile {
    develop: RawPolicy,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RawPolicy {
    gates: BTreeMap<String, RawGate>,
    protected: Vec<String>,
    timeout: Option<RawTime>,
    tree: Option<bool>,
    environment: Vec<String>,
    share: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawGate {
    run: String,
}

/// True if a path stays below the root, whatever exists there.
fn is_inside_project(path: &str) -> bool {
    let plain = |part: &str| !matches!(part, "" | "." | "..");
    path.split('/').all(plain)
}

/// A number of seconds, or a number with its unit. An error holds the value as text.
struct RawTime(Result<u64, String>);

impl<'de> Deserialize<'de> for RawTime {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = toml::Value::deserialize(deserializer)?;
        let seconds = match &value {
            toml::Value::Integer(seconds) => u64::try_from(*seconds).ok(),
            toml::Value::String(text) => parse_seconds(text),
            _ => None,
        };
        Ok(RawTime(seconds.filter(|&seconds| seconds > 0).ok_or_else(
            || match value {
                toml::Value::String(text) => text,
                toml::Value::Integer(seconds) => seconds.to_string(),
                other => other.type_str().to_owned(),
            },
        )))
    }
}

pub(crate) fn parse_seconds(text: &str) -> Option<u64> {
    let (digits, unit) = match text.strip_suffix(['s', 'm', 'h']) {
        Some(digits) => (digits, text.chars().next_back()?),
        None => (text, 's'),
    };
    let number: u64 = digits.parse().ok()?;
    number.checked_mul(match unit {
        'h' => 60 * 60,
        'm' => 60,
        _ => 1,
    })
}

/// Parses `bowline.toml`; other tables are ignored.
pub fn parse_policy(text: &str) -> Result<DevelopPolicy, PolicyError> {
    let raw: RawPolicyFile = toml::from_str(text).map_err(|error| PolicyError::Unreadable {
        message: error.message().lines().collect::<Vec<_>>().join(" "),
    })?;
    let mut gates = BTreeMap::new();
    for (name, gate) in raw.develop.gates {
        if Gate::from_name(&name).is_none() {
            let known = Gate::ALL.map(Gate::name).join(", ");
            return Err(PolicyError::UnknownGate { name, known });
        }
        if gate.run.trim().is_empty() {
            return Err(PolicyError::EmptyCommand { name });
        }
        gates.insert(name, gate.run);
    }
    let timeout_seconds = match raw.develop.timeout {
        None => TIMEOUT_SECONDS_DEFAULT,
        Some(RawTime(Ok(seconds))) => seconds,
        Some(RawTime(Err(text))) => return Err(PolicyError::BadTime { text }),
    };
    if let Some(path) = raw
        .develop
        .share
        .iter()
        .find(|path| !is_inside_project(path))
    {
        let path = path.clone();
        return Err(PolicyError::Outside { path });
    }
    Ok(DevelopPolicy {
        gates,
        protected: raw.develop.protected,
        timeout_seconds,
        tree: raw.develop.tree,
        environment: raw.develop.environment,
        share: raw.develop.share,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_is_read_and_other_tables_are_left_alone() {
        let text = "[agent.mine]\ncommand = [\"x\"]\n[develop]\nprotected = [\"tests/**\"]\ntimeout = \"15m\"\n\
                    tree = true\n[develop.gates.architect_verified]\nrun = \"make test\"\n";
        let policy = parse_policy(text).unwrap_or_default();
        assert_eq!(
            policy.gate_command(Gate::ArchitectVerified),
            Some("make test")
        );
        assert_eq!(policy.gate_command(Gate::ReReviewClean), None);
        assert_eq!(policy.protected, ["tests/**"]);
        assert_eq!((policy.timeout_seconds, policy.tree), (900, Some(true)));
        assert_eq!(parse_policy(""), Ok(DevelopPolicy::default()));
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        let fail = |text: &str| {
            parse_policy(text)
                .err()
                .map(|error| error.to_string())
                .unwrap_or_default()
        };
        assert_eq!(
            fail("[develop.gates.reviewed]\nrun = \"x\""),
            "there is no gate 'reviewed'; there are review_clean_pass, architect_verified, re_review_clean"
        );
        assert_eq!(
            fail("[develop.gates.re_review_clean]\nrun = \" \""),
            "the command of gate 're_review_clean' is empty"
        );
        assert_eq!(
            fail("[develop]\ntimeout = \"soon\""),
            "'soon' is no time; write seconds, or 90s, 15m, 2h"
        );
        assert!(fail("[develop]\ntimeout = 0").starts_with("'0' is no time"));
        assert!(fail("[develop").starts_with("cannot be read: "));
        assert!(fail("[develop]\nprotect = []").starts_with("cannot be read: "));
        assert!(fail("develop = 3").starts_with("cannot be read: "));
    }
}
