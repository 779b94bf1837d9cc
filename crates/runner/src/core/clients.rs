//! Agent clients that can be started: the built-in ones and those that a person configured.

use super::attempts::{OutputProtocol, prompt_message, raw_message};
use bowline_engine::{Context, Error};
use bowline_formats::agents::AgentProtocol;
use bowline_formats::agents::launch::{self, ClientSession};
use bowline_formats::settings::BowlineSettings;
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Variables that every agent gets if they are set.
const COMMON_VARIABLES: [&str; 9] = [
    "PATH", "HOME", "LANG", "LC_ALL", "TERM", "USER", "LOGNAME", "SHELL", "TMPDIR",
];

/// Names of the built-in clients.
pub const BUILT_IN_CLIENTS: [&str; 5] = ["claude", "codex", "gemini", "opencode", "scripted"];

/// Client used if neither the caller nor the settings name one.
const DEFAULT_CLIENT: &str = "claude";

/// A program that runs an agent, with its protocol, arguments and environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientProgram {
    /// Name in the settings, or of the built-in client.
    pub name: String,
    /// Protocol of its output and input.
    pub protocol: AgentProtocol,
    template: CommandTemplate,
    /// Names of variables that it gets; a trailing `*` matches any rest.
    env: Vec<String>,
    /// Additional arguments of a built-in client: its model, and what a person configured.
    options: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum CommandTemplate {
    Claude,
    Codex,
    /// The whole command line, with placeholders.
    Command(Vec<String>),
}

/// Describes one start of a client.
#[derive(Debug, Clone, Copy)]
pub struct LaunchRequest<'a> {
    /// Text of the prompt.
    pub prompt: &'a str,
    /// File that holds the same prompt.
    pub prompt_file: &'a Path,
    /// Folder that the client works in.
    pub workspace: &'a Path,
    /// Id of the task it works on.
    pub task: &'a str,
    /// Number of the phase; fills `{phase}`.
    pub phase: u32,
    /// Session to resume; none starts a new one.
    pub session: Option<&'a str>,
}

/// Command line and first input of a started client.
pub struct LaunchCommand {
    /// Program and arguments.
    pub command: Vec<String>,
    /// First message on standard input.
    pub first_message: Option<super::attempts::AgentMessage>,
    /// True if standard input is closed after the first message.
    pub close_input: bool,
    /// Session to resume, for protocols that name it in a message and not in the arguments.
    pub session: Option<String>,
    /// Protocol of its output and input.
    pub output_protocol: OutputProtocol,
}

impl ClientProgram {
    /// Returns the client of a name: configured in the settings, or built in. `myself` is the path
    /// of this program.
    pub fn named(name: &str, settings: &BowlineSettings, myself: &Path) -> Option<ClientProgram> {
        let Some(agent) = settings.agent.get(name) else {
            return ClientProgram::built_in(name, myself);
        };
        let Some(client) = agent.client else {
            return Some(ClientProgram {
                name: name.to_owned(),
                protocol: agent.protocol.unwrap_or_default(),
                template: CommandTemplate::Command(agent.command.clone()),
                env: agent.env.clone(),
                options: Vec::new(),
            });
        };
        let model = client.model_flag().zip(agent.model.as_ref());
        let model = model.map(|(flag, model)| [flag.to_owned(), model.clone()]);
        let mut known = ClientProgram::built_in(client.name(), myself)?;
        known.name = name.to_owned();
        known.env.extend(agent.env.iter().cloned());
        known.options = model.into_iter().flatten().collect();
        known.options.extend(agent.args.iter().cloned());
        Some(known)
    }

    /// Returns the built-in client of a name.
    fn built_in(name: &str, myself: &Path) -> Option<ClientProgram> {
        let words = |words: &[&str]| {
            CommandTemplate::Command(words.iter().map(|&it| it.to_owned()).collect())
        };
        let me = myself.to_string_lossy();
        let (protocol, how, env): (AgentProtocol, CommandTemplate, &[&str]) = match name {
            "claude" => (
                AgentProtocol::ClaudeStreamJson,
                CommandTemplate::Claude,
                &[
                    "ANTHROPIC_*",
                    "CLAUDE_CONFIG_DIR",
                    "CLAUDE_CODE_OAUTH_TOKEN",
                ],
            ),
            "codex" => (
                AgentProtocol::CodexJson,
                CommandTemplate::Codex,
                &["OPENAI_*", "CODEX_HOME", "CODEX_API_KEY"],
            ),
            "gemini" => (
                AgentProtocol::Acp,
                words(&["gemini", "--acp"]),
                &["GEMINI_*", "GOOGLE_*"],
            ),
            "opencode" => (
                AgentProtocol::Acp,
                words(&["opencode", "acp"]),
                &["OPENCODE_*", "XDG_*", "ANTHROPIC_*", "OPENAI_*"],
            ),
            "scripted" => (AgentProtocol::Markers, words(&[&me, "scripted"]), &[]),
            _ => return None,
        };
        Some(ClientProgram {
            name: name.to_owned(),
            protocol,
            template: how,
            env: env.iter().map(|&it| it.to_owned()).collect(),
            options: Vec::new(),
        })
    }

    /// Chooses a client: the one named for everything, the one of a role, or the default. A role
    /// need not be a client; the error is the name of a client that does not exist.
    pub fn choose_client(
        settings: &BowlineSettings,
        named: Option<&str>,
        role: Option<&str>,
    ) -> Result<ClientProgram, String> {
        let me = std::env::current_exe().unwrap_or_default();
        let of = |name: &str| ClientProgram::named(name, settings, &me);
        if let (None, Some(client)) = (named, role.and_then(of)) {
            return Ok(client);
        }
        let name = named.or(settings.defaults.agent.as_deref());
        let name = name.unwrap_or(DEFAULT_CLIENT);
        of(name).ok_or_else(|| name.to_owned())
    }

    /// True if the client takes messages while it runs.
    pub fn accepts_input(&self) -> bool {
        match self.protocol {
            AgentProtocol::Markers | AgentProtocol::CodexJson => false,
            AgentProtocol::ClaudeStreamJson | AgentProtocol::Acp => true,
        }
    }

    /// Returns program and arguments as configured, before placeholders are filled and options
    /// added.
    pub fn command_words(&self) -> Vec<String> {
        match &self.template {
            CommandTemplate::Claude => vec!["claude".to_owned()],
            CommandTemplate::Codex => vec!["codex".to_owned()],
            CommandTemplate::Command(words) => words.clone(),
        }
    }

    /// Fails if the client's program is not installed. A relative path may not exist yet: the
    /// workspace may still build it.
    pub fn check_installed(
        &self,
        context: &Context,
        settings: &BowlineSettings,
    ) -> Result<(), Error> {
        let words = self.command_words();
        let Some(program) = words.first().filter(|word| !word.contains('{')) else {
            return Ok(());
        };
        let environment = self.environment(context.variables.text_pairs(), settings);
        let there = match (program.starts_with('/'), program.contains('/')) {
            (true, _) => is_executable(Path::new(program)),
            (false, true) => true,
            (false, false) => environment.get("PATH").is_none_or(|path| {
                std::env::split_paths(path).any(|folder| is_executable(&folder.join(program)))
            }),
        };
        match there {
            true => Ok(()),
            false => Err(Error::AgentNotInstalled {
                name: self.name.clone(),
                program: program.clone(),
            }),
        }
    }

    /// Filters our variables to those that the client gets.
    pub fn environment(
        &self,
        ours: impl Iterator<Item = (String, String)>,
        settings: &BowlineSettings,
    ) -> BTreeMap<String, String> {
        ours.filter(|(name, _)| self.receives_variable(name, settings))
            .collect()
    }

    /// True if the client gets a variable.
    fn receives_variable(&self, variable: &str, settings: &BowlineSettings) -> bool {
        is_common_variable(variable, settings) || named(variable, &self.env)
    }

    /// Builds the command line and the first input for a start.
    pub fn launch_command(&self, ask: &LaunchRequest<'_>) -> LaunchCommand {
        let output_protocol = OutputProtocol {
            protocol: self.protocol,
            nonce: None,
        };
        let conversation = match ask.session {
            Some(id) => ClientSession::Resume { id },
            None => ClientSession::New { id: None },
        };
        let text = ask.prompt.to_owned();
        match &self.template {
            CommandTemplate::Claude => LaunchCommand {
                command: with_program(
                    "claude",
                    launch::claude_arguments(conversation, &self.options),
                ),
                first_message: Some(prompt_message(text)),
                close_input: false,
                session: None,
                output_protocol,
            },
            CommandTemplate::Codex => LaunchCommand {
                command: with_program(
                    "codex",
                    launch::codex_arguments(conversation, &self.options, &text),
                ),
                first_message: None,
                close_input: true,
                session: None,
                output_protocol,
            },
            CommandTemplate::Command(words) => {
                let filled = words.iter().map(|word| fill_word(word, ask));
                let filled = filled.chain(self.options.iter().cloned());
                let named = words.iter().any(|word| word.contains("{prompt"));
                let first = match (named, self.protocol) {
                    (true, _) | (false, AgentProtocol::CodexJson) => None,
                    (false, AgentProtocol::Markers) => {
                        Some(raw_message(with_trailing_newline(text)))
                    }
                    (false, AgentProtocol::ClaudeStreamJson | AgentProtocol::Acp) => {
                        Some(prompt_message(text))
                    }
                };
                let acp = self.protocol == AgentProtocol::Acp;
                LaunchCommand {
                    command: filled.collect(),
                    first_message: first,
                    close_input: !self.accepts_input(),
                    session: ask.session.filter(|_| acp).map(str::to_owned),
                    output_protocol,
                }
            }
        }
    }
}

/// Filters our variables to those that every program started for a task gets: a client, a check,
/// git.
pub fn environment(
    ours: impl Iterator<Item = (String, String)>,
    settings: &BowlineSettings,
) -> BTreeMap<String, String> {
    ours.filter(|(name, _)| is_common_variable(name, settings))
        .collect()
}

fn is_common_variable(variable: &str, settings: &BowlineSettings) -> bool {
    COMMON_VARIABLES.contains(&variable)
        || variable.starts_with("XDG_")
        || named(variable, &settings.defaults.env)
}

fn named(variable: &str, names: &[String]) -> bool {
    names.iter().any(|name| match name.strip_suffix('*') {
        Some(beginning) => variable.starts_with(beginning),
        None => variable == name,
    })
}

fn is_executable(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

fn with_program(program: &str, arguments: Vec<String>) -> Vec<String> {
    let mut command = vec![program.to_owned()];
    command.extend(arguments);
    command
}

fn with_trailing_newline(mut text: String) -> String {
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

/// Fills the placeholders in one word of a command line.
fn fill_word(word: &str, ask: &LaunchRequest<'_>) -> String {
    fill_template(
        word,
        &[
            ("{prompt_file}", &ask.prompt_file.to_string_lossy()),
            ("{prompt}", ask.prompt),
            ("{workspace}", &ask.workspace.to_string_lossy()),
            ("{task_id}", ask.task),
            ("{phase}", &ask.phase.to_string()),
        ],
    )
}

/// Fills a template in one pass: placeholders inside of a value are not filled again.
pub(crate) fn fill_template(template: &str, values: &[(&str, &str)]) -> String {
    let mut text = String::new();
    let mut rest = template;
    while let Some(at) = rest.find('{') {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        match values.iter().find(|(name, _)| rest.starts_with(name)) {
            Some((name, value)) => {
                text.push_str(value);
                rest = &rest[name.len()..];
            }
            None => {
                text.push('{');
                rest = &rest[1..];
            }
        }
    }
    text + rest
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]
    use super::*;

    fn ask(prompt: &str) -> LaunchRequest<'_> {
        LaunchRequest {
            prompt,
            prompt_file: Path::new("/p/file"),
            workspace: Path::new("/w"),
            task: "T1.1",
            phase: 1,
            session: None,
        }
    }

    #[test]
    fn placeholders_are_filled_once() {
        let asked = ask("say {phase} {x}");
        assert_eq!(fill_word("--p={prompt}", &asked), "--p=say {phase} {x}");
        assert_eq!(
            fill_word("{task_id}@{workspace}:{phase}{", &asked),
            "T1.1@/w:1{"
        );
    }

    #[test]
    fn a_described_client_comes_before_a_known_one() {
        let text = "[agent.claude]\ncommand = [\"mine\", \"{prompt_file}\"]\nenv = [\"MY_*\"]\n";
        let settings = BowlineSettings::parse(text).unwrap();
        let me = Path::new("/bin/bowline");
        let client = ClientProgram::named("claude", &settings, me).unwrap();
        assert_eq!(client.protocol, AgentProtocol::Markers);
        assert_eq!(
            client.launch_command(&ask("x")).command,
            ["mine", "/p/file"]
        );
        assert!(
            client.receives_variable("MY_KEY", &settings)
                && client.receives_variable("PATH", &settings)
        );
        assert!(!client.receives_variable("CLAUDECODE", &settings));
        let plain = ClientProgram::named("claude", &BowlineSettings::default(), me).unwrap();
        let call = plain.launch_command(&ask("x"));
        assert_eq!(call.command[0], "claude");
        assert!(call.first_message.is_some() && !call.close_input);
        let text = "[agent.big]\nclient = \"claude\"\nmodel = \"opus\"\nargs = [\"--effort\", \"high\"]\n\
                    [agent.o]\nclient = \"codex\"\nmodel = \"o9\"\n[agent.g]\nclient = \"gemini\"\nmodel = \"g3\"\n";
        let described = BowlineSettings::parse(text).unwrap();
        let command = |name: &str, session| {
            let client = ClientProgram::named(name, &described, me).unwrap();
            assert_eq!(client.name, name);
            let asked = ask("x");
            client
                .launch_command(&LaunchRequest { session, ..asked })
                .command
                .join(" ")
        };
        let options = "--model opus --effort high";
        assert!(
            command("big", None).ends_with(options),
            "{}",
            command("big", None)
        );
        let again = command("big", Some("s1"));
        assert!(
            again.contains("--resume s1") && again.ends_with(options),
            "{again}"
        );
        let codex = command("o", Some("s2"));
        assert!(
            codex.starts_with("codex exec --model o9 resume --json"),
            "{codex}"
        );
        assert_eq!(command("g", None), "gemini --acp --model g3");
        assert_eq!(
            ClientProgram::named("backend-specialist", &settings, me),
            None
        );
    }
}
