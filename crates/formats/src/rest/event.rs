//! What happens, as it happens.

use bowline_machines::named;
#[cfg(feature = "openapi")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

named! {
    /// The `event:` of a server-sent event.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    #[cfg_attr(feature = "openapi", derive(JsonSchema), schemars(rename_all = "snake_case"))]
    pub enum EventName {
        /// A task or an agent moved; `data` is the transition line.
        Transition = "transition",
        /// An agent printed; `data` is `{offset, text}`. It has no id: what was missed is in `/logs`.
        Log = "log",
        /// A review was opened or decided.
        Review = "review",
        /// A question was asked or settled.
        Question = "question",
        /// A dependency was requested or settled.
        Dependency = "dependency",
        /// Something about a task or its agent changed that is no transition: a draft was edited, a permission asked for, a message sent.
        Agent = "agent",
        /// A state file of a workspace changed; `taskId` is empty and `data` is `{workspaceId, kind}`. It has no id.
        Workspace = "workspace",
    }
}

/// The `data:` of a server-sent event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct EventBody {
    /// The task; empty for an event of none.
    pub task_id: String,
    /// Rising over the whole server; the event's id. 0 where the event has none.
    pub sequence: u64,
    /// When.
    pub timestamp: String,
    /// The event's name, again.
    #[serde(rename = "type")]
    pub event_type: EventName,
    /// What happened.
    pub data: Value,
}
