//! What happens, as it happens.

#[cfg(feature = "openapi")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The `event:` of a server-sent event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub enum EventName {
    /// A task or an agent moved; `data` is the transition line.
    Transition,
    /// An agent printed; `data` is `{offset, text}`. It has no id: what was missed is in `/logs`.
    Log,
    /// A review was opened or decided.
    Review,
    /// A question was asked or settled.
    Question,
    /// A dependency was requested or settled.
    Dependency,
    /// Something about a task or its agent changed that is no transition: a draft was edited, a permission asked for, a message sent.
    Agent,
    /// A state file of a workspace changed; `taskId` is empty and `data` is `{workspaceId, kind}`. It has no id.
    Workspace,
}

impl EventName {
    /// The word on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            EventName::Transition => "transition",
            EventName::Log => "log",
            EventName::Review => "review",
            EventName::Question => "question",
            EventName::Dependency => "dependency",
            EventName::Agent => "agent",
            EventName::Workspace => "workspace",
        }
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
