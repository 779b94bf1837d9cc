//! Messages of agent clients to a hook, and the hook's responses.
//!
//! Claude Code and Codex send the same message; Gemini, OpenCode and Cursor differ in names.
//! Unknown fields are ignored and missing ones have a default: clients add fields with every
//! version.

use serde_json::{Map, Value, json};

/// Hook events of agent clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookEvent {
    /// A tool is about to be used.
    PreToolUse,
    /// A tool was used.
    PostToolUse,
    /// A session starts, is resumed, or was cleared or compacted.
    SessionStart,
    /// An agent starts a subagent.
    SubagentStart,
    /// The session is about to be compacted.
    PreCompact,
    /// The agent wants to stop.
    Stop,
    /// A person sent a prompt.
    UserPromptSubmit,
}

impl HookEvent {
    /// All events, in order of declaration.
    pub const ALL: [HookEvent; 7] = [
        HookEvent::PreToolUse,
        HookEvent::PostToolUse,
        HookEvent::SessionStart,
        HookEvent::SubagentStart,
        HookEvent::PreCompact,
        HookEvent::Stop,
        HookEvent::UserPromptSubmit,
    ];

    /// Returns the name used on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            HookEvent::PreToolUse => "pre-tool-use",
            HookEvent::PostToolUse => "post-tool-use",
            HookEvent::SessionStart => "session-start",
            HookEvent::SubagentStart => "subagent-start",
            HookEvent::PreCompact => "pre-compact",
            HookEvent::Stop => "stop",
            HookEvent::UserPromptSubmit => "user-prompt-submit",
        }
    }

    /// Returns the name used in a response to the client.
    pub const fn client_name(self) -> &'static str {
        match self {
            HookEvent::PreToolUse => "PreToolUse",
            HookEvent::PostToolUse => "PostToolUse",
            HookEvent::SessionStart => "SessionStart",
            HookEvent::SubagentStart => "SubagentStart",
            HookEvent::PreCompact => "PreCompact",
            HookEvent::Stop => "Stop",
            HookEvent::UserPromptSubmit => "UserPromptSubmit",
        }
    }

    /// Parses the event's name in the spelling of any client.
    pub fn from_name(name: &str) -> Option<HookEvent> {
        let plain: String = name
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .map(|letter| letter.to_ascii_lowercase())
            .collect();
        Some(match plain.as_str() {
            "pretooluse"
            | "beforetool"
            | "beforeshellexecution"
            | "toolexecutebefore"
            | "permissionrequest" => HookEvent::PreToolUse,
            "posttooluse" | "aftertool" | "toolexecuteafter" | "afterfileedit" => {
                HookEvent::PostToolUse
            }
            "sessionstart" => HookEvent::SessionStart,
            "subagentstart" => HookEvent::SubagentStart,
            "precompact" | "precompress" => HookEvent::PreCompact,
            "stop" | "afteragent" => HookEvent::Stop,
            "userpromptsubmit" | "beforeagent" | "beforesubmitprompt" => {
                HookEvent::UserPromptSubmit
            }
            _ => return None,
        })
    }
}

/// One message of a client to a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookMessage {
    /// The event; `None` if its name is unknown.
    pub event: Option<HookEvent>,
    /// Working folder of the session.
    pub cwd: Option<String>,
    /// Name of the tool; empty if there is none.
    pub tool: String,
    /// Input of the tool; empty if it cannot be read.
    pub input: Map<String, Value>,
    /// Trigger of a session start: startup, resume, clear, compact.
    pub source: String,
    /// True if the agent continues because a hook kept it from stopping.
    pub stop_hook_active: bool,
    /// Id of the session, for counters that reset with it.
    pub session_id: String,
}

/// Reasons why a message cannot be parsed.
#[derive(Debug, thiserror::Error)]
pub enum HookError {
    /// The message is not JSON.
    #[error("the client's message is not JSON")]
    NotJson(#[source] serde_json::Error),
    /// The message is JSON but not an object.
    #[error("the client's message is no object")]
    NotAnObject,
}

impl HookMessage {
    /// Parses the JSON message of any supported client.
    pub fn parse(bytes: &[u8]) -> Result<HookMessage, HookError> {
        let value: Value = serde_json::from_slice(bytes).map_err(HookError::NotJson)?;
        let Value::Object(map) = value else {
            return Err(HookError::NotAnObject);
        };
        let text = |keys: &[&str]| first_text(&map, keys);
        let event = text(&["hook_event_name", "hookEventName", "event"]);
        let tool = text(&["tool_name", "toolName", "tool"]).unwrap_or_default();
        let input = ["tool_input", "toolInput", "args", "input"]
            .iter()
            .find_map(|key| map.get(*key)?.as_object());
        let (tool, input) = match input {
            Some(input) => (tool, input.clone()),
            // Clients with an event per tool have the fields at the top level.
            None if tool.is_empty() && map.contains_key("command") => ("shell".into(), map.clone()),
            None => (tool, Map::new()),
        };
        let active = ["stop_hook_active", "stopHookActive"]
            .iter()
            .any(|key| map.get(*key).and_then(Value::as_bool) == Some(true));
        Ok(HookMessage {
            event: event.as_deref().and_then(HookEvent::from_name),
            cwd: text(&["cwd", "workspace", "directory"]),
            tool,
            input,
            source: text(&["source", "trigger"]).unwrap_or_default(),
            stop_hook_active: active,
            session_id: text(&["session_id", "sessionID", "conversation_id"]).unwrap_or_default(),
        })
    }
}

/// Returns the first of the given fields that is a non-empty text.
pub fn first_text(map: &Map<String, Value>, keys: &[&str]) -> Option<String> {
    keys.iter()
        .find_map(|key| map.get(*key)?.as_str())
        .filter(|text| !text.is_empty())
        .map(str::to_owned)
}

/// The response of a hook to its client.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HookResponse {
    /// Output for the client: JSON or nothing.
    pub stdout: String,
    /// Message for the agent if the call is denied.
    pub stderr: String,
    /// Exit code: 0 continues, 2 denies.
    pub code: u8,
}

impl HookResponse {
    /// Returns an empty response: the call continues.
    pub fn silent() -> Self {
        HookResponse::default()
    }

    /// Returns a denial with its reason.
    pub fn deny(reason: impl Into<String>) -> Self {
        HookResponse {
            stderr: reason.into(),
            code: 2,
            ..HookResponse::default()
        }
    }

    /// Returns a response that adds text to the agent's context.
    pub fn add_context(event: HookEvent, words: &str) -> Self {
        let value = json!({
            "hookSpecificOutput": {"hookEventName": event.client_name(), "additionalContext": words}
        });
        HookResponse {
            stdout: format!("{value}\n"),
            ..HookResponse::default()
        }
    }

    /// Returns a response that keeps the agent from stopping, with the reason.
    pub fn keep_working(reason: &str) -> Self {
        let value = json!({"decision": "block", "reason": reason});
        HookResponse {
            stdout: format!("{value}\n"),
            ..HookResponse::default()
        }
    }
}
