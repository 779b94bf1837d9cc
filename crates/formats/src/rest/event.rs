//! Server-sent events.

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
        /// An agent printed; `data` is `{offset, text}`. It has no id: missed output is in `/logs`.
        Log = "log",
        /// A review was opened or decided.
        Review = "review",
        /// A question was asked or settled.
        Question = "question",
        /// A dependency was requested or settled.
        Dependency = "dependency",
        /// A task or its agent changed without a transition: a draft was edited, a permission
        /// requested, a message sent.
        Agent = "agent",
        /// A state file of a workspace changed; `data` is `{workspaceId, kind}`. It has no id and
        /// an empty `taskId`.
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
    pub timestamp: String,
    /// The event's name, again.
    #[serde(rename = "type")]
    pub event_type: EventName,
    /// Content of the event, by its type.
    pub data: Value,
}
