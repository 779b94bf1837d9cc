//! The transition line: one transition of one piece of work, in logs, `history --json` and events.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One transition of one piece of work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Transition {
    /// Time of the transition in UTC.
    pub timestamp: String,
    /// The task's id, or the path of the file for kinds without one.
    pub task_id: String,
    /// Always `state_transition`.
    #[serde(rename = "type")]
    pub line_type: String,
    /// The entity that changed: `task`, `agent`, or the kind's own word (`stage`, `step`, `gate`,
    /// …).
    #[serde(default = "task")]
    pub entity: String,
    /// The status before; `null` for a new entity.
    pub from: Option<String>,
    /// The status after the transition.
    pub to: String,
    /// The command that caused it, in upper case.
    pub trigger: String,
    /// Further facts of the transition.
    pub metadata: Value,
    /// Rises within the file or the server; a journal line carries it as its own number.
    #[serde(default, skip_serializing_if = "is_unnumbered")]
    pub sequence: u64,
}

/// Default of `entity`: older logs lack it, and all their lines are about tasks.
fn task() -> String {
    "task".into()
}

fn is_unnumbered(sequence: &u64) -> bool {
    *sequence == 0
}

/// Value of `type` in every transition line.
pub const LINE_TYPE: &str = "state_transition";
