//! The transition line: one move of one piece of work, as logs, `history --json` and events show it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One move.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Transition {
    /// When, UTC.
    pub timestamp: String,
    /// The task's id, or the path of the file for kinds without one.
    pub task_id: String,
    /// Always `state_transition`.
    #[serde(rename = "type")]
    pub line_type: String,
    /// What moved: `task`, `agent`, or the kind's own word (`stage`, `step`, `gate`, …).
    #[serde(default = "task")]
    pub entity: String,
    /// Where it stood; `null` when it is new.
    pub from: Option<String>,
    /// Where it stands now.
    pub to: String,
    /// The command that moved it, upper case.
    pub trigger: String,
    /// Facts of the move.
    pub metadata: Value,
    /// Rising within the file or the server. A journal line carries it as its own number and leaves it out here.
    #[serde(default, skip_serializing_if = "is_unnumbered")]
    pub sequence: u64,
}

/// Logs from before agents had lines of their own name no entity.
fn task() -> String {
    "task".into()
}

fn is_unnumbered(sequence: &u64) -> bool {
    *sequence == 0
}

/// The `type` of every transition line.
pub const LINE_TYPE: &str = "state_transition";
