//! The contract of a design: its checkpoints, each with its tests, its command and its
//! dependencies.
//!
//! A contract is a file of its own (YAML or JSON), or a fenced block of a Markdown document.

use serde::{Deserialize, Serialize};

/// Maximum number of checkpoints in a contract.
pub const CHECKPOINTS_MAX: usize = 200;

/// Name of the file that stores the contract in the folder of a run.
pub const FILE_NAME: &str = "contract.json";

/// One checkpoint of a contract.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedCheckpoint {
    /// Id in the state file.
    pub id: String,
    /// Description in one line.
    pub description: String,
    /// Command that proves the checkpoint.
    pub command: Option<String>,
    /// Ids of the checkpoints that must be done before.
    pub dependencies: Vec<String>,
    /// Files it changes; empty if the contract does not say.
    pub files: Vec<String>,
}

/// Reasons why a contract is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ContractError {
    /// No part of the text is a contract.
    #[error("has no 'checkpoints:' that can be read: {message}")]
    Unreadable {
        /// First line of the parser's message.
        message: String,
    },
    #[error("has no checkpoints")]
    Empty,
    /// There are more than [`CHECKPOINTS_MAX`] checkpoints.
    #[error("has {count} checkpoints; at most {CHECKPOINTS_MAX} are possible")]
    TooMany { count: usize },
    /// An id is used twice.
    #[error("names checkpoint '{id}' twice")]
    Duplicate { id: String },
    #[error("has a checkpoint without an id")]
    NoId,
    /// A dependency names a checkpoint that does not exist.
    #[error("says that '{id}' needs '{missing}', which is not there")]
    Dangling {
        id: String,
        /// The dependency that does not exist.
        missing: String,
    },
    /// Checkpoints depend on each other.
    #[error("has checkpoints that need each other: {}", ids.join(", "))]
    Cycle {
        /// Ids of the checkpoints in the cycle.
        ids: Vec<String>,
    },
}

#[derive(Deserialize)]
struct RawContract {
    #[serde(default)]
    checkpoints: Option<Vec<RawCheckpoint>>,
    #[serde(default)]
    contract: Option<Box<RawContract>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawCheckpoint {
    id: String,
    description: Option<String>,
    validation: Option<RawValidation>,
    dependencies: Option<Vec<String>>,
    files: Option<Vec<String>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawValidation {
    command: Option<String>,
}

/// Parses a contract, or the first contract in a document.
pub fn parse_contract(text: &str) -> Result<Vec<PlannedCheckpoint>, ContractError> {
    let mut message = String::new();
    let blocks = fenced_blocks(text);
    // A document mentions checkpoints in prose too; if it has fenced blocks, only these count.
    let candidates = if blocks.is_empty() {
        vec![text.to_owned()]
    } else {
        blocks
    };
    for candidate in candidates {
        if !candidate.contains("checkpoints") {
            continue;
        }
        match serde_saphyr::from_str::<RawContract>(&candidate) {
            Ok(raw) => {
                let inner = raw.contract.and_then(|inner| inner.checkpoints);
                if let Some(found) = raw.checkpoints.or(inner) {
                    return check_checkpoints(found);
                }
            }
            Err(error) => {
                let error = error.to_string();
                message = error.lines().next().unwrap_or_default().to_owned();
            }
        }
    }
    if message.is_empty() {
        message = "none was found".to_owned();
    }
    Err(ContractError::Unreadable { message })
}

/// Returns the fenced blocks of a Markdown document that may hold data.
fn fenced_blocks(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut open: Option<(&str, bool, String)> = None;
    for line in text.lines() {
        let bare = line.trim_start();
        match &mut open {
            None => {
                let fence = ["```", "~~~"].into_iter().find(|it| bare.starts_with(it));
                if let Some(fence) = fence {
                    let word = bare.trim_start_matches(['`', '~']).trim().to_lowercase();
                    let data = ["", "yaml", "yml", "json"].contains(&word.as_str());
                    open = Some((fence, data, String::new()));
                }
            }
            Some((fence, data, body)) => {
                if bare.starts_with(*fence) {
                    if *data {
                        found.push(std::mem::take(body));
                    }
                    open = None;
                } else {
                    body.push_str(line);
                    body.push('\n');
                }
            }
        }
    }
    found
}

fn check_checkpoints(raw: Vec<RawCheckpoint>) -> Result<Vec<PlannedCheckpoint>, ContractError> {
    match raw.len() {
        0 => return Err(ContractError::Empty),
        count if count > CHECKPOINTS_MAX => return Err(ContractError::TooMany { count }),
        _ => {}
    }
    let mut planned: Vec<PlannedCheckpoint> = Vec::with_capacity(raw.len());
    for one in raw {
        let id = short_id(&one.id);
        if id.is_empty() {
            return Err(ContractError::NoId);
        }
        if planned.iter().any(|known| known.id == id) {
            return Err(ContractError::Duplicate { id });
        }
        let command = one.validation.and_then(|validation| validation.command);
        planned.push(PlannedCheckpoint {
            id,
            description: one.description.unwrap_or_default(),
            command: command.filter(|command| !command.trim().is_empty()),
            dependencies: one
                .dependencies
                .unwrap_or_default()
                .iter()
                .map(|id| short_id(id))
                .collect(),
            files: one.files.unwrap_or_default(),
        });
    }
    for one in &planned {
        for needed in &one.dependencies {
            if !planned.iter().any(|known| known.id == *needed) {
                return Err(ContractError::Dangling {
                    id: one.id.clone(),
                    missing: needed.clone(),
                });
            }
        }
    }
    check_order(&planned)?;
    Ok(planned)
}

/// Shortens an id: contracts write `checkpoint-1`, the state file `cp-1`.
fn short_id(id: &str) -> String {
    let id = id.trim();
    match id.strip_prefix("checkpoint-") {
        Some(number) if number.bytes().all(|byte| byte.is_ascii_digit()) => format!("cp-{number}"),
        Some(_) | None => id.to_owned(),
    }
}

/// Checks for cycles: repeatedly removes checkpoints without remaining dependencies.
fn check_order(planned: &[PlannedCheckpoint]) -> Result<(), ContractError> {
    let mut left: Vec<&PlannedCheckpoint> = planned.iter().collect();
    loop {
        let waits = |one: &PlannedCheckpoint| {
            let mut needed = one.dependencies.iter();
            needed.any(|id| left.iter().any(|other| other.id == *id))
        };
        let next: Vec<&PlannedCheckpoint> = left.iter().copied().filter(|one| waits(one)).collect();
        if next.is_empty() {
            return Ok(());
        }
        if next.len() == left.len() {
            let ids = next.into_iter().map(|one| one.id.clone()).collect();
            return Err(ContractError::Cycle { ids });
        }
        left = next;
    }
}

/// True if no checkpoint depends on another, and no two change the same file.
pub fn are_independent(planned: &[PlannedCheckpoint]) -> bool {
    let shares = |index: usize, one: &PlannedCheckpoint| {
        planned[..index]
            .iter()
            .any(|other| one.files.iter().any(|file| other.files.contains(file)))
    };
    planned
        .iter()
        .enumerate()
        .all(|(index, one)| one.dependencies.is_empty() && !shares(index, one))
}

/// True if one file is changed by all of them.
pub fn share_a_file(planned: &[PlannedCheckpoint]) -> bool {
    let [first, rest @ ..] = planned else {
        return false;
    };
    !rest.is_empty()
        && first
            .files
            .iter()
            .any(|file| rest.iter().all(|one| one.files.contains(file)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DESIGN: &str = "\
# Ferry times

The checkpoints: see below.

```ts
interface Times { checkpoints: string[] }
```

```yaml
checkpoints:
  - id: checkpoint-1
    description: read the timetable
    interface: [\"parse(text)\"]
    tests: [\"tests/parse.rs\"]
    validation:
      command: cargo test parse
      expected: all tests pass
  - id: search
    dependencies: [checkpoint-1]
    files: [src/search.rs]
```
";

    fn fail(text: &str) -> String {
        parse_contract(text)
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default()
    }

    #[test]
    fn a_contract_is_found_in_a_design_document() {
        let planned = parse_contract(DESIGN).unwrap_or_default();
        let ids: Vec<&str> = planned.iter().map(|one| one.id.as_str()).collect();
        assert_eq!(ids, ["cp-1", "search"]);
        assert_eq!(planned[0].command.as_deref(), Some("cargo test parse"));
        assert_eq!(planned[1].dependencies, ["cp-1"]);
        assert!(!are_independent(&planned) && !share_a_file(&planned));
    }

    #[test]
    fn a_contract_may_be_a_file_of_its_own() {
        let json = r#"{"contract": {"checkpoints": [{"id": "a", "files": ["x"]}, {"id": "b", "files": ["x", "y"]}]}}"#;
        let planned = parse_contract(json).unwrap_or_default();
        assert_eq!(planned.len(), 2);
        assert!(share_a_file(&planned) && !are_independent(&planned));
        let apart =
            parse_contract("checkpoints: [{id: a}, {id: b, files: [y]}]").unwrap_or_default();
        assert!(are_independent(&apart) && !share_a_file(&apart));
    }

    #[test]
    fn what_cannot_be_worked_on_is_refused() {
        assert_eq!(fail("checkpoints: []"), "has no checkpoints");
        assert_eq!(
            fail("checkpoints: [{id: cp-1}, {id: checkpoint-1}]"),
            "names checkpoint 'cp-1' twice"
        );
        assert_eq!(
            fail("checkpoints: [{description: x}]"),
            "has a checkpoint without an id"
        );
        assert_eq!(
            fail("checkpoints: [{id: a, dependencies: [b]}]"),
            "says that 'a' needs 'b', which is not there"
        );
        assert_eq!(
            fail("checkpoints: [{id: a, dependencies: [b]}, {id: b, dependencies: [a]}, {id: c}]"),
            "has checkpoints that need each other: a, b"
        );
        assert!(fail("# nothing here").contains("none was found"));
        assert!(fail("checkpoints: {").starts_with("has no 'checkpoints:' that can be read"));
        let many: Vec<String> = (0..=CHECKPOINTS_MAX)
            .map(|n| format!("{{id: c{n}}}"))
            .collect();
        assert!(fail(&format!("checkpoints: [{}]", many.join(","))).contains("at most"));
    }
}
