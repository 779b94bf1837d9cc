//! Installs our MCP server into an agent client's settings and removes it; everything else is left
//! alone.
//!
//! The entry names the program, not its path: these files are shared by all who work on a project,
//! and paths differ between machines. A client without the program reports that and continues.

use serde_json::{Map, Value, json};

/// Name of our entry and of the program it starts.
pub const NAME: &str = "bowline";

/// The layouts of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// Layout of Claude Code (`.mcp.json`).
    Servers,
    /// Layout of Gemini (`.gemini/settings.json`).
    Gemini,
    /// Layout of OpenCode (`opencode.json`).
    Opencode,
}

impl Entry {
    const fn key(self) -> &'static str {
        match self {
            Entry::Servers | Entry::Gemini => "mcpServers",
            Entry::Opencode => "mcp",
        }
    }

    fn value(self) -> Value {
        match self {
            Entry::Servers => json!({ "command": NAME, "args": ["mcp"] }),
            Entry::Gemini => {
                let mut value = Entry::Servers.value();
                for name in GEMINI_VARIABLES {
                    value["env"][name] = format!("${{{name}:-}}").into();
                }
                value
            }
            Entry::Opencode => {
                json!({ "type": "local", "command": [NAME, "mcp"], "enabled": true })
            }
        }
    }

    /// True if this version or an earlier one wrote the entry.
    fn is_ours(self, found: &Value) -> bool {
        *found == self.value() || self == Entry::Gemini && *found == Entry::Servers.value()
    }
}

/// Gemini withholds variables with names like a secret's unless they are listed. These hold paths.
const GEMINI_VARIABLES: [&str; 2] = ["BOWLINE_TOKEN_FILE", "BOWLINE_AGENT_TOKEN_FILE"];

/// Returns the settings with our current entry. An entry of that name that we did not write stays;
/// so do settings, or a list of servers, that are not an object.
pub fn installed(settings: &Value, entry: Entry) -> Value {
    let mut settings = settings.clone();
    if let Some(root) = settings.as_object_mut() {
        let servers = root.entry(entry.key()).or_insert_with(|| json!({}));
        if let Some(servers) = servers.as_object_mut()
            && servers.get(NAME).is_none_or(|found| entry.is_ours(found))
        {
            servers.insert(NAME.to_owned(), entry.value());
        }
    }
    settings
}

/// Returns the settings without our entry and without the empty list it would leave. An entry that
/// was edited by hand stays.
pub fn removed(settings: &Value, entry: Entry) -> Value {
    let mut settings = settings.clone();
    let Some(root) = settings.as_object_mut() else {
        return settings;
    };
    let servers = root.get_mut(entry.key()).and_then(Value::as_object_mut);
    let ours =
        |servers: &&mut Map<String, Value>| servers.get(NAME).is_some_and(|it| entry.is_ours(it));
    let Some(servers) = servers.filter(ours) else {
        return settings;
    };
    servers.shift_remove(NAME);
    if servers.is_empty() {
        root.shift_remove(entry.key());
    }
    settings
}

/// True if the settings have an entry of our name that we did not write.
pub fn is_theirs(settings: &Value, entry: Entry) -> bool {
    let found = settings.get(entry.key()).and_then(|it| it.get(NAME));
    found.is_some_and(|found| !entry.is_ours(found))
}

/// Codex keeps its servers in TOML (`.codex/config.toml`). A separate table can be appended to any
/// file.
const CODEX: &str = "[mcp_servers.bowline]\ncommand = \"bowline\"\nargs = [\"mcp\"]\n";
/// Codex passes few variables to servers: those that locate the state and the current task must be
/// listed. The table of an earlier version ends before this.
const CODEX_VARIABLES: &str = "env_vars = [\"XDG_STATE_HOME\", \"XDG_CONFIG_HOME\", \"BOWLINE_WORKSPACE\", \"BOWLINE_URL\", \
                               \"BOWLINE_TOKEN_FILE\", \"BOWLINE_TASK_ID\", \"BOWLINE_AGENT_TOKEN_FILE\", \
                               \"BOWLINE_RELAY\"]\n";

/// Codex asks a person to approve tools that change something, and `codex exec` refuses them. Ours
/// are guarded by the rules of the run. A mode that a person has set stays.
const CODEX_APPROVAL: &str = "default_tools_approval_mode = \"approve\"\n";

/// Our entry as it is found in the settings of Codex.
enum Found {
    Nothing,
    /// It starts our program as we do; a person may have added options.
    Ours {
        /// Lines that earlier versions did not write.
        missing: String,
    },
    /// It has another command, or the file is not TOML.
    Theirs,
}

fn found(text: &str) -> Found {
    let Ok(root) = text.parse::<toml::Table>() else {
        return Found::Theirs;
    };
    let Some(entry) = root.get("mcp_servers").and_then(|it| it.get(NAME)) else {
        return Found::Nothing;
    };
    let args = toml::Value::from(vec!["mcp"]);
    match entry.get("command") == Some(&NAME.into()) && entry.get("args") == Some(&args) {
        true => {
            let lines = [
                ("env_vars", CODEX_VARIABLES),
                ("default_tools_approval_mode", CODEX_APPROVAL),
            ];
            let missing = lines.iter().filter(|(key, _)| entry.get(key).is_none());
            Found::Ours {
                missing: missing.map(|(_, line)| *line).collect(),
            }
        }
        false => Found::Theirs,
    }
}

/// Returns the text with our table: appended if absent, completed if an earlier version wrote it.
/// `None` if that would change a person's own entry.
pub fn codex_installed(text: &str) -> Option<String> {
    let after = match found(text) {
        Found::Theirs => return None,
        Found::Ours { missing } => text.replacen(CODEX, &format!("{CODEX}{missing}"), 1),
        Found::Nothing => {
            let between = match text {
                "" => "",
                text if text.ends_with('\n') => "\n",
                _ => "\n\n",
            };
            format!("{text}{between}{CODEX}{CODEX_VARIABLES}{CODEX_APPROVAL}")
        }
    };
    matches!(found(&after), Found::Ours { missing } if missing.is_empty()).then_some(after)
}

/// Returns the text without our table and the options added to it. `None` if an entry of our name
/// would remain.
pub fn codex_removed(text: &str) -> Option<String> {
    match found(text) {
        Found::Theirs => return None,
        Found::Nothing => return Some(text.to_owned()),
        Found::Ours { .. } => {}
    }
    let (before, rest) = text.split_once(CODEX)?;
    let (mut end, mut at) = (0, 0);
    for line in rest
        .split_inclusive('\n')
        .take_while(|it| !it.starts_with('['))
    {
        at += line.len();
        // Comments before the next table belong to that table.
        if !line.trim().is_empty() && !line.starts_with('#') {
            end = at;
        }
    }
    let after = &rest[end..];
    let after = match before.strip_suffix("\n\n") {
        // The missing newline of the line before cannot be restored; text files end with one.
        Some(kept) => format!("{kept}\n{after}"),
        None => format!("{before}{after}"),
    };
    matches!(found(&after), Found::Nothing).then_some(after)
}

/// True if the settings are an empty object.
pub fn is_empty(settings: &Value) -> bool {
    settings.as_object().is_some_and(Map::is_empty)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

    use super::*;

    #[test]
    fn what_is_put_in_comes_out_again() {
        let theirs = json!({ "mcpServers": { "other": { "command": "x" } }, "model": 1 });
        for settings in [json!({}), theirs] {
            let ours = installed(&settings, Entry::Servers);
            assert_eq!(ours["mcpServers"]["bowline"]["command"], "bowline");
            assert_eq!(installed(&ours, Entry::Servers), ours);
            assert_eq!(removed(&ours, Entry::Servers), settings);
        }
        let earlier = installed(&json!({}), Entry::Servers);
        let gemini = installed(&earlier, Entry::Gemini);
        assert_eq!(gemini, installed(&json!({}), Entry::Gemini));
        assert_ne!(gemini, earlier);
        for settings in [earlier, gemini] {
            assert_eq!(removed(&settings, Entry::Gemini), json!({}));
        }
        let opencode = installed(&json!({ "model": "m" }), Entry::Opencode);
        assert_eq!(opencode["mcp"]["bowline"]["command"][1], "mcp");
        assert_eq!(removed(&opencode, Entry::Opencode), json!({ "model": "m" }));
    }

    #[test]
    fn what_somebody_wrote_under_our_name_is_theirs() {
        let own = json!({ "mcpServers": { "bowline": { "command": "/my/bowline", "args": ["mcp", "--role", "read-only"] } } });
        assert_eq!(installed(&own, Entry::Servers), own);
        assert_eq!(removed(&own, Entry::Servers), own);
        for odd in [json!([]), json!({ "mcpServers": 1 })] {
            assert_eq!(installed(&odd, Entry::Servers), odd);
            assert_eq!(removed(&odd, Entry::Servers), odd);
        }
        assert!(is_theirs(&own, Entry::Servers));
        for text in [
            "[mcp_servers.bowline]\ncommand = \"mine\"\n",
            "mcp_servers = { bowline = { command = \"bowline\", args = [\"mcp\", \"--role\", \"read-only\"] } }\n",
            "no TOML",
        ] {
            assert_eq!(codex_installed(text), None);
            assert_eq!(codex_removed(text), None);
        }
        // A list in which no table of ours can stand behind the others.
        let closed = "mcp_servers = { other = { command = \"x\" } }\n";
        assert_eq!(codex_installed(closed), None);
        assert_eq!(codex_removed(closed).as_deref(), Some(closed));
    }

    #[test]
    fn a_table_for_codex_stands_behind_what_is_there() {
        for text in ["", "model = \"x\"\n", "[a]\nb = 1\n\n"] {
            let ours = codex_installed(text).unwrap();
            let lines = format!("{CODEX_VARIABLES}{CODEX_APPROVAL}");
            assert!(ours.ends_with(&lines) && ours.starts_with(text));
            assert_eq!(codex_installed(&ours).as_ref(), Some(&ours));
            assert_eq!(codex_removed(&ours).as_deref(), Some(text), "{text:?}");
        }
    }

    #[test]
    fn a_table_of_an_earlier_version_is_completed_and_removed() {
        let theirs = "model = \"x\"\n";
        let more = "tool_timeout_sec = 900\n";
        let other = "\n# Theirs.\n[mcp_servers.other]\ncommand = \"x\"\n";
        for more in ["", more] {
            let earlier = format!("{theirs}\n{CODEX}{more}{other}");
            let later = format!("{theirs}\n{CODEX}{CODEX_VARIABLES}{more}{other}");
            let now = format!("{theirs}\n{CODEX}{CODEX_VARIABLES}{CODEX_APPROVAL}{more}{other}");
            assert_eq!(codex_installed(&earlier).as_ref(), Some(&now));
            let completed = codex_installed(&later).unwrap();
            assert_eq!(completed.matches(CODEX_APPROVAL).count(), 1);
            assert_eq!(codex_installed(&completed).as_ref(), Some(&completed));
            for text in [earlier, later, completed, now] {
                assert_eq!(codex_removed(&text), Some(format!("{theirs}{other}")));
            }
        }
        let asking = format!("{CODEX}{CODEX_VARIABLES}default_tools_approval_mode = \"prompt\"\n");
        assert_eq!(codex_installed(&asking).as_ref(), Some(&asking));
        // What would be left without a command is no entry that the client can read.
        let deeper = format!("{CODEX}[mcp_servers.bowline.env]\nA = \"1\"\n");
        assert_eq!(codex_removed(&deeper), None);
    }
}
