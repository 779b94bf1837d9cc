//! Parser for `bowline.toml`: agents, types of work, limits, notifications, and how runs behave.
//! The table `[develop]` has a parser of its own, because it is sealed.

use crate::agents::AgentProtocol;
use crate::agents::launch::BuiltInClient;
use crate::run_settings::{OrchestrateSettings, ThinkingSettings};
use bowline_words::message::BadSetting;
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::de::{DeTable, DeValue};

/// The whole file; every table may be absent.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct BowlineSettings {
    /// Defaults for tasks and agents.
    pub defaults: TaskDefaults,
    /// Agents by their name.
    pub agent: BTreeMap<String, AgentSettings>,
    /// Types of work by their name.
    #[serde(rename = "type")]
    pub types: BTreeMap<String, WorkType>,
    /// Limits on runs, time and money.
    pub limits: RunLimits,
    /// Receivers of notifications.
    pub notify: NotifySettings,
    /// Settings of the task server.
    pub server: ServerSettings,
    /// Settings of orchestrations.
    pub orchestrate: OrchestrateSettings,
    /// Settings of thinking runs.
    pub thinking: ThinkingSettings,
}

/// Defaults for tasks and agents.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TaskDefaults {
    /// Agent of tasks that name none.
    pub agent: Option<String>,
    /// Names of variables passed to every agent.
    pub env: Vec<String>,
}

/// An agent: either a command or a built-in client.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentSettings {
    /// Program and arguments; empty for a built-in client.
    #[serde(default)]
    pub command: Vec<String>,
    /// The built-in client to start.
    pub client: Option<BuiltInClient>,
    /// Model of a built-in client.
    pub model: Option<String>,
    /// Additional arguments of a built-in client.
    #[serde(default)]
    pub args: Vec<String>,
    /// Protocol that the command speaks.
    pub protocol: Option<AgentProtocol>,
    /// Names of additional variables passed to it.
    #[serde(default)]
    pub env: Vec<String>,
}

impl AgentSettings {
    /// Rejects an agent that is neither a command nor a built-in client, and arguments that would
    /// break the client's protocol.
    fn check_client(&self, name: &str) -> Result<(), BadSetting> {
        let agent = name.to_owned();
        let Some(client) = self.client else {
            return match &self.command[..] {
                [] if self.model.is_some() || !self.args.is_empty() => {
                    Err(BadSetting::NoClient { agent })
                }
                [] => Err(BadSetting::EmptyCommand { agent }),
                [program, ..] if program.is_empty() => Err(BadSetting::EmptyCommand { agent }),
                _ if self.model.is_some() || !self.args.is_empty() => {
                    Err(BadSetting::CommandAndClient { agent })
                }
                _ => Ok(()),
            };
        };
        if !self.command.is_empty() || self.protocol.is_some() {
            return Err(BadSetting::CommandAndClient { agent });
        }
        let client_name = client.name().to_owned();
        if let Some(model) = &self.model
            && (client.model_flag().is_none() || model.trim().is_empty() || model.starts_with('-'))
        {
            let (client, model) = (client_name, model.clone());
            return Err(BadSetting::NoModel {
                agent,
                client,
                model,
            });
        }
        match self.args.iter().find(|word| client.reserves_argument(word)) {
            Some(argument) => Err(BadSetting::ReservedArgument {
                agent,
                client: client_name,
                argument: argument.clone(),
            }),
            None => Ok(()),
        }
    }
}

/// A type of work with its phases.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WorkType {
    /// True if a process that exits with 0 has completed its phase.
    pub complete_on_exit: bool,
    /// Program and arguments by which a reviewer can start the result; `{port}` is filled in.
    pub app: Vec<String>,
    /// The phases, in order.
    pub phases: Vec<WorkPhase>,
}

/// A phase of a type of work.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkPhase {
    /// Name of the phase.
    pub name: String,
    /// Names of its steps.
    #[serde(default)]
    pub steps: Vec<String>,
    /// File patterns; each must match a file.
    #[serde(default)]
    pub deliverables: Vec<String>,
    /// Minimum length of each deliverable in characters.
    #[serde(default)]
    pub min_chars: usize,
    /// True if deliverables are searched for placeholders.
    #[serde(default = "yes")]
    pub placeholders: bool,
    /// Command that must exit with 0.
    #[serde(default)]
    pub check: Vec<String>,
    /// Agent that verifies the phase; `None` for no verification.
    pub verifier: Option<String>,
    /// True if a person must approve the phase.
    #[serde(default = "yes")]
    pub review: bool,
    /// Path of a file with its prompt.
    pub prompt: Option<String>,
}

fn yes() -> bool {
    true
}

/// Limits on runs, time and money.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RunLimits {
    pub slots: Option<u32>,
    pub retry_after: Option<Seconds>,
    pub reworks: Option<u32>,
    pub question_timeout: Option<Seconds>,
    pub dependency_timeout: Option<Seconds>,
    pub runs_per_hour: Option<usize>,
    pub turns: Option<u32>,
    pub tokens: Option<u64>,
    pub usd: Option<f64>,
    pub wall_time: Option<Seconds>,
    pub no_progress: Option<Seconds>,
    pub pause_max: Option<Seconds>,
}

/// Receivers of notifications. Addresses are secrets: only their host is shown.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NotifySettings {
    /// Address that gets every event as JSON.
    pub webhook: Option<String>,
    /// Address of a Slack webhook.
    pub slack: Option<String>,
    /// Full address of an ntfy topic.
    pub ntfy: Option<String>,
    /// Address of the server that ntfy buttons call to answer. The ntfy relay sees these buttons.
    pub ntfy_actions: Option<String>,
    /// True for desktop notifications on the machine that serves.
    pub desktop: bool,
}

impl std::fmt::Debug for NotifySettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let is_set = |it: &Option<String>| it.is_some();
        f.debug_struct("Notify")
            .field("webhook", &is_set(&self.webhook))
            .field("slack", &is_set(&self.slack))
            .field("ntfy", &is_set(&self.ntfy))
            .field("desktop", &self.desktop)
            .finish()
    }
}

/// Settings of the task server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServerSettings {
    /// Origin at which browsers reach it, for instance through a proxy: scheme, name and port.
    #[serde(deserialize_with = "origin")]
    pub public_url: Option<String>,
}

/// Parses the origin of a server; a trailing slash is removed.
fn origin<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let schemes = ["https://", "http://"];
    let host = schemes.iter().find_map(|scheme| text.strip_prefix(scheme));
    let host = host.map(|host| host.strip_suffix('/').unwrap_or(host));
    let plain = |letter: char| letter.is_ascii_alphanumeric() || ".-:[]".contains(letter);
    match host {
        Some(host) if !host.is_empty() && host.chars().all(plain) => {
            Ok(Some(text.trim_end_matches('/').to_ascii_lowercase()))
        }
        _ => Err(serde::de::Error::custom(format!(
            "'{text}' is no address; write https://NAME"
        ))),
    }
}

/// A number of seconds, written as an integer or with a unit: `90s`, `15m`, `2h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seconds(pub i64);

impl Seconds {
    /// Returns the duration in milliseconds.
    pub fn as_ms(self) -> i64 {
        self.0.saturating_mul(1_000)
    }

    fn parse_value(value: &toml::Value) -> Result<Seconds, String> {
        let seconds = match value {
            toml::Value::Integer(seconds) => Some(*seconds).filter(|it| *it >= 0),
            toml::Value::String(text) => {
                crate::develop::policy::parse_seconds(text).and_then(|it| i64::try_from(it).ok())
            }
            _ => None,
        };
        seconds.map(Seconds).ok_or_else(|| not_a_time(value))
    }
}

fn not_a_time(value: &toml::Value) -> String {
    let text = match value {
        toml::Value::Integer(seconds) => seconds.to_string(),
        toml::Value::String(text) => text.clone(),
        other => other.type_str().to_owned(),
    };
    format!("'{text}' is no time; write seconds, or 90s, 15m, 2h")
}

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = toml::Value::deserialize(deserializer)?;
        let seconds = Seconds::parse_value(&value).map_err(serde::de::Error::custom)?;
        match seconds.0 {
            0 => Err(serde::de::Error::custom(not_a_time(&value))),
            _ => Ok(seconds),
        }
    }
}

/// Parses a duration that may be zero.
pub(crate) fn from_zero<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Seconds>, D::Error> {
    let value = toml::Value::deserialize(deserializer)?;
    let seconds = Seconds::parse_value(&value).map_err(serde::de::Error::custom)?;
    Ok(Some(seconds))
}

impl BowlineSettings {
    /// Parses `bowline.toml` and checks its agents and types.
    pub fn parse(text: &str) -> Result<BowlineSettings, BadSetting> {
        let settings: BowlineSettings =
            toml::from_str(text).map_err(|error| parser_error(text, &error))?;
        for (name, agent) in &settings.agent {
            agent.check_client(name)?;
        }
        for (name, kind) in &settings.types {
            if kind.phases.is_empty() {
                return Err(BadSetting::NoPhases { name: name.clone() });
            }
        }
        Ok(settings)
    }
}

/// Converts a parser error to one with line and key.
fn parser_error(text: &str, error: &toml::de::Error) -> BadSetting {
    let said = error.message().lines().collect::<Vec<_>>().join(" ");
    let at = error.span().map_or(0, |span| span.start);
    let line = 1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count();
    let Ok(table) = DeTable::parse(text) else {
        return BadSetting::NotToml { line, said };
    };
    let key = key_at(table.get_ref(), at).unwrap_or_default();
    match key.split('.').next() {
        // The parser's message may contain the value, and addresses are secrets.
        Some("notify") => BadSetting::Notify { line, key },
        Some(_) | None => BadSetting::Key { line, key, said },
    }
}

/// Returns the innermost key whose name or value covers an offset of the text.
fn key_at(table: &DeTable<'_>, at: usize) -> Option<String> {
    table.iter().find_map(|(key, value)| {
        let name = key.get_ref();
        let inner = match value.get_ref() {
            DeValue::Table(inner) => key_at(inner, at),
            DeValue::Array(all) => all.iter().find_map(|one| match one.get_ref() {
                DeValue::Table(inner) => key_at(inner, at),
                _ => None,
            }),
            _ => None,
        };
        let here = || key.span().contains(&at) || value.span().contains(&at);
        match inner {
            Some(inner) => Some(format!("{name}.{inner}")),
            None => here().then(|| name.to_string()),
        }
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]
    use super::*;

    #[test]
    fn settings_are_read_and_other_tables_left_alone() {
        let text = "[defaults]\nagent = \"mine\"\n[agent.mine]\ncommand = [\"x\", \"{prompt_file}\"]\n\
                    [[type.leaflet.phases]]\nname = \"Draft\"\ndeliverables = [\"drafts/*.md\"]\nreview = false\n\
                    [limits]\nslots = 5\nretry_after = \"2m\"\n[develop]\ntree = true\n[notify]\nslack = \"https://s3cret\"\n\
                    [orchestrate]\nevidence = [\"make\", \"check\"]\nbackoff = 0\n[thinking]\nstage_timeout = \"45m\"\n";
        let settings = BowlineSettings::parse(text).unwrap();
        assert_eq!(settings.defaults.agent.as_deref(), Some("mine"));
        assert_eq!(settings.agent["mine"].protocol, None);
        let phase = &settings.types["leaflet"].phases[0];
        assert_eq!(
            (phase.review, phase.placeholders, phase.verifier.as_deref()),
            (false, true, None)
        );
        assert_eq!(settings.limits.retry_after, Some(Seconds(120)));
        assert_eq!(settings.orchestrate.evidence, ["make", "check"]);
        assert_eq!(settings.orchestrate.backoff, Some(Seconds(0)));
        assert_eq!(settings.thinking.stage_timeout, Some(Seconds(2_700)));
        assert_eq!(
            BowlineSettings::parse("").unwrap(),
            BowlineSettings::default()
        );
        assert!(!format!("{settings:?}").contains("s3cret"));
        let server = |text: &str| BowlineSettings::parse(text).map(|it| it.server.public_url);
        assert_eq!(
            server("[server]\npublic_url = \"https://Bow.example:8443/\""),
            Ok(Some("https://bow.example:8443".into()))
        );
        for bad in ["bow.example", "https://", "https://a/b", "ftp://a"] {
            assert!(
                server(&format!("[server]\npublic_url = \"{bad}\"")).is_err(),
                "{bad}"
            );
        }
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        let wrong = |text: &str| BowlineSettings::parse(text).unwrap_err().to_string();
        assert_eq!(
            wrong("[agent.a]\ncommand = []"),
            "agent 'a' has an empty command"
        );
        assert_eq!(wrong("[type.t]"), "type 't' has no phases");
        assert!(wrong("[limits]\nretry_after = \"soon\"").starts_with("line 2: 'soon' is no time"));
        assert!(wrong("[limits]\nslot = 3").contains("slot"));
        assert!(wrong("[limits]\nwall_time = 0").starts_with("line 2: '0' is no time"));
        assert!(wrong("[orchestrate]\nchekcs = []").contains("chekcs"));
        assert!(wrong("[agent.x]\ncommand = [\"x\"]\nprotocol = \"smoke\"").contains("smoke"));
        let found = |text: &str| BowlineSettings::parse(text).unwrap_err();
        let notify = |line, key: &str| BadSetting::Notify {
            line,
            key: key.into(),
        };
        assert_eq!(
            found("[notify]\nwebhook = [\"https://s3cret\"]"),
            notify(2, "notify.webhook")
        );
        assert_eq!(found("[notify]\n\nslack = 5"), notify(3, "notify.slack"));
        assert_eq!(
            found("notify = { desktop = \"https://s3cret\" }"),
            notify(1, "notify.desktop")
        );
        let key = |text: &str| match found(text) {
            BadSetting::Key { line, key, .. } => (line, key),
            other => panic!("{other:?}"),
        };
        assert_eq!(key("[limits]\nslot = 3"), (2, "limits.slot".into()));
        let phases = "[[type.a.phases]]\nname = \"x\"\n[[type.a.phases]]\nname = 3\n";
        assert_eq!(key(phases), (4, "type.a.phases.name".into()));
        assert!(matches!(
            found("[limits]\nslots = \n"),
            BadSetting::NotToml { line: 2, .. }
        ));
    }

    #[test]
    fn a_built_in_client_takes_a_model_and_arguments_but_not_those_of_its_protocol() {
        let read = |text: &str| BowlineSettings::parse(&format!("[agent.x]\n{text}"));
        let good = read("client = \"claude\"\nmodel = \"opus\"\nargs = [\"--effort\", \"high\"]\n");
        assert_eq!(good.unwrap().agent["x"].client, Some(BuiltInClient::Claude));
        for (text, part) in [
            (
                "client = \"claude\"\nargs = [\"--output-format=text\"]\n",
                "--output-format",
            ),
            ("client = \"codex\"\nargs = [\"--\"]\n", "'--'"),
            ("client = \"gemini\"\nargs = [\"-p\"]\n", "'-p'"),
            ("client = \"opencode\"\nmodel = \"m\"\n", "opencode"),
            ("client = \"claude\"\nmodel = \"--print\"\n", "--print"),
            ("client = \"claude\"\ncommand = [\"x\"]\n", "mixes"),
            ("command = [\"x\"]\nmodel = \"m\"\n", "mixes"),
            ("model = \"m\"\n", "no client"),
            ("client = \"vim\"\n", "vim"),
            ("args = []\n", "empty command"),
        ] {
            let fault = read(text).unwrap_err().to_string();
            assert!(fault.contains(part), "{text}: {fault}");
        }
    }
}
