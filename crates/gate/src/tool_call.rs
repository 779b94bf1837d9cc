//! Classifies a tool call of a client by the tool's name and input: a command, writes of files, or
//! finished work.

use bowline_formats::hook::{HookMessage, first_text};
use serde_json::{Map, Value};

/// The effect of a tool call on files and commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolCall {
    /// The tool runs a command line in a shell.
    Shell {
        command: String,
        /// The folder it starts in, if the tool names one.
        folder: Option<String>,
    },
    /// The tool writes files.
    Write {
        /// Their paths as given; `None` stands for an unknown path.
        paths: Vec<Option<String>>,
    },
    /// The tool itself commits, pushes, or opens or merges a pull request.
    Finish { tool: String },
    /// The tool runs a command that cannot be read.
    Hidden { tool: String },
    /// The tool does none of these: it reads, searches or talks.
    Other,
}

impl ToolCall {
    /// Classifies the tool call of a message. A tool whose input cannot be read counts as the worst
    /// it could do.
    pub fn from_message(message: &HookMessage) -> ToolCall {
        classify_tool(&message.tool, &message.input)
    }
}

/// Tools that write nothing, although their names or fields suggest it.
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

/// Fields that hold a command line, or text typed into a program.
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

/// Tools that only run commands: without a readable command it is unknown what they run.
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

/// Classifies a tool for git or a git host; `None` if it neither commits, publishes nor changes
/// files.
fn classify_git_tool(tool: &str) -> Option<ToolCall> {
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
    let words = split_words(tool);
    let is_about = |word: &str| ABOUT.contains(&word) || word == "mcp";
    let about = words.iter().any(|it| ABOUT.contains(&it.as_str()));
    let own = split_words(tool.rsplit("__").next().unwrap_or(tool));
    let own: Vec<&str> = own.iter().map(String::as_str).collect();
    let has = |word: &str| own.contains(&word);
    let any = |list: &[&str]| list.iter().any(|it| has(it));
    let verb = own.iter().find(|it| !is_about(it));
    // Reviews and comments change no file of ours.
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

/// Splits a name into words: `createPullRequest`, `create_pull_request`, `create-pull-request`.
fn split_words(name: &str) -> Vec<String> {
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

/// Classifies a tool call by the tool's name and the fields of its input.
fn classify_tool(tool: &str, input: &Map<String, Value>) -> ToolCall {
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
    if let Some(call) = classify_git_tool(tool) {
        return call;
    }
    let given = || COMMAND_KEYS.iter().filter_map(|key| input.get(*key));
    let command = given().find(|value| value.is_string() || value.is_array());
    if plain.contains("patch") {
        let text = command.and_then(Value::as_str).unwrap_or_default();
        return ToolCall::Write {
            paths: patched_paths(text),
        };
    }
    // Text typed into a running shell is a command line too.
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
            Some(command) => shell_call(command, input),
            None if RUNNERS.contains(&plain.as_str()) || given().any(|it| !it.is_null()) => {
                hidden()
            }
            // Such tools ask for a shell's output or end it, without giving it a command.
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
    // Clients add tools that run a command under any name, such as one that watches a command's
    // output.
    match input.get("command").or_else(|| input.get("cmd")) {
        Some(command @ (Value::String(_) | Value::Array(_))) => shell_call(command, input),
        _ => ToolCall::Other,
    }
}

fn shell_call(command: &Value, input: &Map<String, Value>) -> ToolCall {
    ToolCall::Shell {
        command: command_text(command),
        folder: first_text(input, &["workdir", "cwd", "directory", "dir_path"]),
    }
}

/// Collects every path that an input names.
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

/// Renders a command given as text or as a list of words.
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

/// Lists the files of a patch in the format of codex or of diff; a single `None` if no path is
/// found.
pub fn patched_paths(text: &str) -> Vec<Option<String>> {
    const HEADS: [&str; 5] = [
        "*** Add File: ",
        "*** Update File: ",
        "*** Delete File: ",
        "*** Move to: ",
        "+++ b/",
    ];
    let paths: Vec<Option<String>> = text
        .lines()
        // Codex accepts its headings with blanks before them.
        .map(str::trim)
        .filter_map(|line| HEADS.iter().find_map(|head| line.strip_prefix(head)))
        .map(|path| Some(path.trim().to_owned()))
        .collect();
    if paths.is_empty() { vec![None] } else { paths }
}
