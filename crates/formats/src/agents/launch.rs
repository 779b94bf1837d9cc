//! Command lines of the supported agent clients, as far as their protocol needs them. Permissions
//! are options that the user adds.

/// An agent client whose command line is built in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
pub enum BuiltInClient {
    /// Anthropic's Claude Code, `claude`.
    #[serde(rename = "claude")]
    Claude,
    /// OpenAI's Codex, `codex`.
    #[serde(rename = "codex")]
    Codex,
    /// Google's Gemini CLI, `gemini`.
    #[serde(rename = "gemini")]
    Gemini,
    /// OpenCode, started as `opencode`.
    #[serde(rename = "opencode")]
    OpenCode,
}

impl BuiltInClient {
    /// Returns its name, which is also its program.
    pub const fn name(self) -> &'static str {
        match self {
            BuiltInClient::Claude => "claude",
            BuiltInClient::Codex => "codex",
            BuiltInClient::Gemini => "gemini",
            BuiltInClient::OpenCode => "opencode",
        }
    }

    /// Returns the option that selects its model, if it has one.
    pub const fn model_flag(self) -> Option<&'static str> {
        match self {
            BuiltInClient::Claude | BuiltInClient::Codex | BuiltInClient::Gemini => Some("--model"),
            // `opencode acp` takes its model from opencode.json.
            BuiltInClient::OpenCode => None,
        }
    }

    /// True if an argument is part of its protocol, so that users must not set it.
    pub fn reserves_argument(self, argument: &str) -> bool {
        let reserved: &[&str] = match self {
            BuiltInClient::Claude => &[
                "-p",
                "--print",
                "--input-format",
                "--output-format",
                "--permission-prompt-tool",
                "--session-id",
                "-r",
                "--resume",
                "-c",
                "--continue",
                "--fork-session",
                "--no-session-persistence",
                "--replay-user-messages",
            ],
            BuiltInClient::Codex => &["exec", "resume", "review", "--json", "--ephemeral"],
            BuiltInClient::Gemini => &[
                "--acp",
                "--experimental-acp",
                "-p",
                "--prompt",
                "-i",
                "--prompt-interactive",
                "-o",
                "--output-format",
                "-r",
                "--resume",
                "--session-id",
            ],
            BuiltInClient::OpenCode => &["acp", "run", "serve"],
        };
        let name = argument.split_once('=').map_or(argument, |(name, _)| name);
        argument == "--" || argument.is_empty() || reserved.contains(&name)
    }
}

/// The session that a run of a client belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientSession<'a> {
    /// A new session.
    New {
        /// A UUID, for clients that let us choose the id. Written down before the start, it
        /// survives any crash.
        id: Option<&'a str>,
    },
    /// The session of an earlier run.
    Resume {
        /// The id from the event [`AgentEventKind::Session`](super::AgentEventKind::Session).
        id: &'a str,
    },
}

/// Returns the arguments of `claude`. Prompts are written to its standard input, which stays open;
/// `options` are the user's own.
pub fn claude_arguments(conversation: ClientSession<'_>, options: &[String]) -> Vec<String> {
    let mut arguments = owned_words(&[
        "-p",
        "--input-format",
        "stream-json",
        "--output-format",
        "stream-json",
        "--verbose",
        "--permission-prompt-tool",
        "stdio",
    ]);
    match conversation {
        ClientSession::New { id: None } => {}
        ClientSession::New { id: Some(id) } => arguments.extend(owned_words(&["--session-id", id])),
        ClientSession::Resume { id } => arguments.extend(owned_words(&["--resume", id])),
    }
    arguments.extend_from_slice(options);
    arguments
}

/// Returns the arguments of `codex` for one prompt; `options` are the user's own. Its standard
/// input must be empty.
pub fn codex_arguments(
    conversation: ClientSession<'_>,
    options: &[String],
    prompt: &str,
) -> Vec<String> {
    let mut arguments = owned_words(&["exec"]);
    // Options of `exec` come before its subcommand, so that they mean the same with and without it.
    arguments.extend_from_slice(options);
    if let ClientSession::Resume { .. } = conversation {
        arguments.extend(owned_words(&["resume"]));
    }
    arguments.extend(owned_words(&["--json", "--skip-git-repo-check"]));
    // After `--` nothing is parsed as an option, however the prompt begins.
    arguments.extend(owned_words(&["--"]));
    if let ClientSession::Resume { id } = conversation {
        arguments.extend(owned_words(&[id]));
    }
    arguments.extend(owned_words(&[prompt]));
    arguments
}

fn owned_words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}
