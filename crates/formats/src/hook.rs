//! Messages of agent clients to a hook, and what a hook answers.
//!
//! Claude Code and codex send the same message; gemini, opencode and cursor differ in names. Everything that is not
//! needed is ignored, and what is missing has a default: clients add fields with every version.

use serde_json::{Map, Value, json};

/// What happens in a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A tool is about to be used.
    PreToolUse,
    /// A tool was used.
    PostToolUse,
    /// A conversation begins, goes on, or was cleared or compacted.
    SessionStart,
    /// An agent starts another one for a part of its work.
    SubagentStart,
    /// The conversation is about to be compacted.
    PreCompact,
    /// The agent wants to stop.
    Stop,
    /// A person sent a prompt.
    UserPromptSubmit,
}

impl Event {
    /// All events.
    pub const ALL: [Event; 7] = [
        Event::PreToolUse,
        Event::PostToolUse,
        Event::SessionStart,
        Event::SubagentStart,
        Event::PreCompact,
        Event::Stop,
        Event::UserPromptSubmit,
    ];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Event::PreToolUse => "pre-tool-use",
            Event::PostToolUse => "post-tool-use",
            Event::SessionStart => "session-start",
            Event::SubagentStart => "subagent-start",
            Event::PreCompact => "pre-compact",
            Event::Stop => "stop",
            Event::UserPromptSubmit => "user-prompt-submit",
        }
    }

    /// The name in a client's answer.
    pub const fn outward(self) -> &'static str {
        match self {
            Event::PreToolUse => "PreToolUse",
            Event::PostToolUse => "PostToolUse",
            Event::SessionStart => "SessionStart",
            Event::SubagentStart => "SubagentStart",
            Event::PreCompact => "PreCompact",
            Event::Stop => "Stop",
            Event::UserPromptSubmit => "UserPromptSubmit",
        }
    }

    /// The event with that name, as any client spells it.
    pub fn from_name(name: &str) -> Option<Event> {
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
            | "permissionrequest" => Event::PreToolUse,
            "posttooluse" | "aftertool" | "toolexecuteafter" | "afterfileedit" => {
                Event::PostToolUse
            }
            "sessionstart" => Event::SessionStart,
            "subagentstart" => Event::SubagentStart,
            "precompact" | "precompress" => Event::PreCompact,
            "stop" | "afteragent" => Event::Stop,
            "userpromptsubmit" | "beforeagent" | "beforesubmitprompt" => Event::UserPromptSubmit,
            _ => return None,
        })
    }
}

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookMessage {
    /// What happens; `None` when the message names an event that is not known.
    pub event: Option<Event>,
    /// The folder of the session.
    pub cwd: Option<String>,
    /// The tool's name.
    pub tool: String,
    /// What it is given; nothing where that cannot be read.
    pub input: Map<String, Value>,
    /// Why a session starts: startup, resume, clear, compact.
    pub source: String,
    /// The agent goes on because a hook told it to.
    pub stop_hook_active: bool,
    /// The session, for a count that ends with it.
    pub session_id: String,
}

/// Why a message cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum HookError {
    /// It is not JSON.
    #[error("the client's message is not JSON")]
    NotJson(#[source] serde_json::Error),
    /// It is JSON, but no object.
    #[error("the client's message is no object")]
    NotAnObject,
}

impl HookMessage {
    /// Reads a message.
    pub fn read(bytes: &[u8]) -> Result<HookMessage, HookError> {
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
            // A client with an event per tool has the fields at the top.
            None if tool.is_empty() && map.contains_key("command") => ("shell".into(), map.clone()),
            None => (tool, Map::new()),
        };
        let active = ["stop_hook_active", "stopHookActive"]
            .iter()
            .any(|key| map.get(*key).and_then(Value::as_bool) == Some(true));
        Ok(HookMessage {
            event: event.as_deref().and_then(Event::from_name),
            cwd: text(&["cwd", "workspace", "directory"]),
            tool,
            input,
            source: text(&["source", "trigger"]).unwrap_or_default(),
            stop_hook_active: active,
            session_id: text(&["session_id", "sessionID", "conversation_id"]).unwrap_or_default(),
        })
    }
}

/// The first of some fields that is a text with anything in it.
pub fn first_text(map: &Map<String, Value>, keys: &[&str]) -> Option<String> {
    keys.iter()
        .find_map(|key| map.get(*key)?.as_str())
        .filter(|text| !text.is_empty())
        .map(str::to_owned)
}

/// What a hook says to its client.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// For the client; JSON or nothing.
    pub stdout: String,
    /// For the agent, when it is denied.
    pub stderr: String,
    /// 0 goes on, 2 denies.
    pub code: u8,
}

impl Answer {
    /// Goes on without a word.
    pub fn silent() -> Self {
        Answer::default()
    }

    /// Denies with a reason.
    pub fn deny(reason: impl Into<String>) -> Self {
        Answer {
            stderr: reason.into(),
            code: 2,
            ..Answer::default()
        }
    }

    /// Puts words into the agent's context.
    pub fn context(event: Event, words: &str) -> Self {
        let value = json!({
            "hookSpecificOutput": {"hookEventName": event.outward(), "additionalContext": words}
        });
        Answer {
            stdout: format!("{value}\n"),
            ..Answer::default()
        }
    }

    /// Keeps an agent from stopping, and says why.
    pub fn go_on(reason: &str) -> Self {
        let value = json!({"decision": "block", "reason": reason});
        Answer {
            stdout: format!("{value}\n"),
            ..Answer::default()
        }
    }
}
