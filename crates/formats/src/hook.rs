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
    /// The conversation is about to be compacted.
    PreCompact,
    /// The agent wants to stop.
    Stop,
    /// A person sent a prompt.
    UserPromptSubmit,
}

impl Event {
    /// All events.
    pub const ALL: [Event; 6] = [
        Event::PreToolUse,
        Event::PostToolUse,
        Event::SessionStart,
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
            "precompact" | "precompress" => Event::PreCompact,
            "stop" | "afteragent" => Event::Stop,
            "userpromptsubmit" | "beforeagent" | "beforesubmitprompt" => Event::UserPromptSubmit,
            _ => return None,
        })
    }
}

/// What a tool is asked to do, as far as files and commands go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolCall {
    /// A command line for a shell.
    Shell {
        /// The whole text.
        command: String,
        /// The folder it starts in, when the tool says so.
        folder: Option<String>,
    },
    /// Files are written.
    Write {
        /// Their paths as given; `None` stands for one that cannot be told.
        paths: Vec<Option<String>>,
    },
    /// Work is committed, pushed or put up for merging by a tool of its own.
    Finish {
        /// The tool's name.
        tool: String,
    },
    /// A command runs that cannot be read.
    Hidden {
        /// The tool's name.
        tool: String,
    },
    /// Neither: reading, searching, talking.
    Other,
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
    /// What it is asked to do.
    pub call: ToolCall,
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
        let call = match input {
            Some(input) => tool_call(&tool, input),
            // A client with an event per tool has the fields at the top.
            None if tool.is_empty() && map.contains_key("command") => tool_call("shell", &map),
            // A tool whose input cannot be read is taken for what it could do at the worst.
            None => tool_call(&tool, &Map::new()),
        };
        let active = ["stop_hook_active", "stopHookActive"]
            .iter()
            .any(|key| map.get(*key).and_then(Value::as_bool) == Some(true));
        Ok(HookMessage {
            event: event.as_deref().and_then(Event::from_name),
            cwd: text(&["cwd", "workspace", "directory"]),
            tool,
            call,
            source: text(&["source", "trigger"]).unwrap_or_default(),
            stop_hook_active: active,
            session_id: text(&["session_id", "sessionID", "conversation_id"]).unwrap_or_default(),
        })
    }
}

fn first_text(map: &Map<String, Value>, keys: &[&str]) -> Option<String> {
    keys.iter()
        .find_map(|key| map.get(*key)?.as_str())
        .filter(|text| !text.is_empty())
        .map(str::to_owned)
}

/// Tools that write nothing, though their names or fields look like it.
const HARMLESS: [&str; 14] = [
    "read",
    "glob",
    "grep",
    "ls",
    "todowrite",
    "todoread",
    "webfetch",
    "websearch",
    "task",
    "notebookread",
    "list",
    "readfile",
    "searchfilecontent",
    "readmanyfiles",
];

/// Fields that hold a command line, or what is typed into a program.
const COMMAND_KEYS: [&str; 9] = [
    "command",
    "cmd",
    "script",
    "code",
    "patch",
    "input",
    "patchText",
    "chars",
    "keys",
];

/// Tools that do nothing but run a command: without one that can be read it is not known what they run.
const RUNNERS: [&str; 9] = [
    "bash",
    "shell",
    "localshell",
    "execcommand",
    "executecommand",
    "runcommand",
    "runinterminal",
    "runshellcommand",
    "runterminalcmd",
];

/// What a tool does that is about git or a host of it, if it commits, publishes or changes files.
fn of_git(tool: &str) -> Option<ToolCall> {
    const ABOUT: [&str; 8] = [
        "git",
        "github",
        "gitlab",
        "gitea",
        "forgejo",
        "bitbucket",
        "codecommit",
        "gitkraken",
    ];
    const READING: [&str; 12] = [
        "get", "list", "search", "read", "show", "view", "find", "fetch", "describe", "status",
        "diff", "log",
    ];
    const FINISHING: [&str; 8] = [
        "commit", "push", "merge", "rebase", "cherry", "revert", "pull", "am",
    ];
    const CHANGING: [&str; 6] = ["create", "update", "delete", "write", "upload", "edit"];
    const WRITING: [&str; 4] = ["checkout", "switch", "restore", "stash"];
    let words = words_of(tool);
    let is_about = |word: &str| ABOUT.contains(&word) || word == "mcp";
    let about = words.iter().any(|it| ABOUT.contains(&it.as_str()));
    let own = words_of(tool.rsplit("__").next().unwrap_or(tool));
    let own: Vec<&str> = own.iter().map(String::as_str).collect();
    let has = |word: &str| own.contains(&word);
    let any = |list: &[&str]| list.iter().any(|it| has(it));
    let verb = own.iter().find(|it| !is_about(it));
    // A word on somebody's work is none on a file of ours, whatever it is about.
    if about && any(&["review", "comment", "reviewers"]) {
        return Some(ToolCall::Other);
    }
    if verb.is_some_and(|it| READING.contains(it)) || own.last() == Some(&"read") {
        return None;
    }
    let finish = || {
        Some(ToolCall::Finish {
            tool: tool.to_owned(),
        })
    };
    let request = any(&["pull", "merge"]) && has("request");
    let remote_file = any(&["file", "files", "contents"])
        && (any(&CHANGING) && about || has("push") || has("create") && has("or") && has("update"));
    if request {
        let opens = any(&["create", "open", "new", "accept"]);
        let merges = own.first() == Some(&"merge") || verb == Some(&"merge");
        let moves = has("update") && has("branch");
        return (opens || merges || moves).then(finish).flatten();
    }
    if remote_file || about && any(&FINISHING) {
        return finish();
    }
    (about && any(&WRITING)).then(|| ToolCall::Write { paths: vec![None] })
}

/// The words a name is made of: `createPullRequest`, `create_pull_request`, `create-pull-request`.
fn words_of(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut small = false;
    for letter in name.chars() {
        if !letter.is_ascii_alphanumeric() || letter.is_ascii_uppercase() && small {
            words.push(String::new());
        }
        small = letter.is_ascii_lowercase();
        if let Some(word) = words.last_mut().filter(|_| letter.is_ascii_alphanumeric()) {
            word.push(letter.to_ascii_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// What a tool is asked to do, by its name and the fields of its input.
fn tool_call(tool: &str, input: &Map<String, Value>) -> ToolCall {
    let plain: String = tool
        .rsplit("__")
        .next()
        .unwrap_or(tool)
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|letter| letter.to_ascii_lowercase())
        .collect();
    if HARMLESS.contains(&plain.as_str()) {
        return ToolCall::Other;
    }
    if let Some(call) = of_git(tool) {
        return call;
    }
    let given = || COMMAND_KEYS.iter().filter_map(|key| input.get(*key));
    let command = given().find(|value| value.is_string() || value.is_array());
    if plain.contains("patch") {
        let text = command.and_then(Value::as_str).unwrap_or_default();
        return ToolCall::Write {
            paths: patched(text),
        };
    }
    // What is typed into a shell that runs already is a command line as well.
    let shells = [
        "bash",
        "shell",
        "exec",
        "terminal",
        "runcommand",
        "process",
        "writestdin",
        "sendkeys",
    ];
    if shells.iter().any(|name| plain.contains(name)) {
        let hidden = || ToolCall::Hidden {
            tool: tool.to_owned(),
        };
        return match command {
            Some(Value::Array(words)) if !words.iter().all(Value::is_string) => hidden(),
            Some(command) => shell(command, input),
            None if RUNNERS.contains(&plain.as_str()) || given().any(|it| !it.is_null()) => {
                hidden()
            }
            // Tools that are about a shell without giving it a command: asking for its output, ending it.
            None => ToolCall::Other,
        };
    }
    let writers = [
        "write", "edit", "replace", "create", "insert", "append", "move", "rename", "delete",
        "remove", "update", "save",
    ];
    if writers.iter().any(|verb| plain.contains(verb)) {
        let paths = paths_in(input);
        if !paths.is_empty() {
            return ToolCall::Write {
                paths: paths.into_iter().map(Some).collect(),
            };
        }
        if matches!(
            plain.as_str(),
            "write" | "edit" | "multiedit" | "notebookedit"
        ) {
            return ToolCall::Write { paths: vec![None] };
        }
    }
    // Clients invent tools that run a command under any name, such as one that watches what it prints.
    match input.get("command").or_else(|| input.get("cmd")) {
        Some(command @ (Value::String(_) | Value::Array(_))) => shell(command, input),
        _ => ToolCall::Other,
    }
}

fn shell(command: &Value, input: &Map<String, Value>) -> ToolCall {
    ToolCall::Shell {
        command: command_text(command),
        folder: first_text(input, &["workdir", "cwd", "directory", "dir_path"]),
    }
}

/// Every path an input names.
fn paths_in(input: &Map<String, Value>) -> Vec<String> {
    const KEYS: [&str; 12] = [
        "file_path",
        "filePath",
        "notebook_path",
        "path",
        "filename",
        "file",
        "destination",
        "target",
        "new_path",
        "old_path",
        "source",
        "absolute_path",
    ];
    let mut paths: Vec<String> = KEYS
        .iter()
        .filter_map(|key| Some(input.get(*key)?.as_str()?.to_owned()))
        .collect();
    for key in ["edits", "files", "changes"] {
        for item in input
            .get(key)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            if let Some(item) = item.as_object() {
                paths.extend(first_text(item, &KEYS));
            }
        }
    }
    paths
}

/// A command given as text, or as the words of a program.
fn command_text(command: &Value) -> String {
    match command {
        Value::String(text) => text.clone(),
        Value::Array(words) => {
            let quoted: Vec<String> = words
                .iter()
                .map(|word| {
                    format!(
                        "'{}'",
                        word.as_str().unwrap_or_default().replace('\'', "'\\''")
                    )
                })
                .collect();
            quoted.join(" ")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

/// The files of a patch in the form of codex, or of diff; `None` where none can be told.
pub fn patched(text: &str) -> Vec<Option<String>> {
    const HEADS: [&str; 5] = [
        "*** Add File: ",
        "*** Update File: ",
        "*** Delete File: ",
        "*** Move to: ",
        "+++ b/",
    ];
    let paths: Vec<Option<String>> = text
        .lines()
        // Codex reads its heads wherever they stand in the line.
        .map(str::trim)
        .filter_map(|line| HEADS.iter().find_map(|head| line.strip_prefix(head)))
        .map(|path| Some(path.trim().to_owned()))
        .collect();
    if paths.is_empty() { vec![None] } else { paths }
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
