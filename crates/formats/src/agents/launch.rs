//! The command lines of the clients we know, as far as their protocol needs them. What an agent may do is the user's to add.

/// A client whose command line is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
pub enum BuiltInClient {
    /// Claude Code.
    #[serde(rename = "claude")]
    Claude,
    /// Codex.
    #[serde(rename = "codex")]
    Codex,
    /// Gemini.
    #[serde(rename = "gemini")]
    Gemini,
    /// OpenCode.
    #[serde(rename = "opencode")]
    OpenCode,
}

impl BuiltInClient {
    /// Its name, which is also its program.
    pub const fn name(self) -> &'static str {
        match self {
            BuiltInClient::Claude => "claude",
            BuiltInClient::Codex => "codex",
            BuiltInClient::Gemini => "gemini",
            BuiltInClient::OpenCode => "opencode",
        }
    }

    /// The argument that names its model, where it has one.
    pub const fn model_flag(self) -> Option<&'static str> {
        match self {
            BuiltInClient::Claude | BuiltInClient::Codex | BuiltInClient::Gemini => Some("--model"),
            // `opencode acp` takes its model from opencode.json.
            BuiltInClient::OpenCode => None,
        }
    }

    /// Whether an argument is part of its protocol, so that no user may set it.
    pub fn reserves(self, argument: &str) -> bool {
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

/// Which conversation a run belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conversation<'a> {
    /// A new one.
    New {
        /// Its id, a UUID, for clients that let us choose. Written down before the start, it survives any crash.
        id: Option<&'a str>,
    },
    /// That of an earlier run.
    Resume {
        /// Its id, from the event [`What::Session`](super::What::Session).
        id: &'a str,
    },
}

/// The arguments of `claude`. Prompts come on its standard input, which stays open; `options` are the user's own.
pub fn claude(conversation: Conversation<'_>, options: &[String]) -> Vec<String> {
    let mut arguments = words(&[
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
        Conversation::New { id: None } => {}
        Conversation::New { id: Some(id) } => arguments.extend(words(&["--session-id", id])),
        Conversation::Resume { id } => arguments.extend(words(&["--resume", id])),
    }
    arguments.extend_from_slice(options);
    arguments
}

/// The arguments of `codex` for one prompt; `options` are the user's own. Its standard input must be empty.
pub fn codex(conversation: Conversation<'_>, options: &[String], prompt: &str) -> Vec<String> {
    let mut arguments = words(&["exec"]);
    // Options of `exec` come before its subcommand, so that they mean the same with and without it.
    arguments.extend_from_slice(options);
    if let Conversation::Resume { .. } = conversation {
        arguments.extend(words(&["resume"]));
    }
    arguments.extend(words(&["--json", "--skip-git-repo-check"]));
    // Behind the dashes nothing is an option, whatever the prompt begins with.
    arguments.extend(words(&["--"]));
    if let Conversation::Resume { id } = conversation {
        arguments.extend(words(&[id]));
    }
    arguments.extend(words(&[prompt]));
    arguments
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}
