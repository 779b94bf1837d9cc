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
pub enum EntryLayout {
    /// Layout of Claude Code (`.mcp.json`).
    Servers,
    /// Layout of Gemini (`.gemini/settings.json`).
    Gemini,
    /// Layout of OpenCode (`opencode.json`).
    Opencode,
}

impl EntryLayout {
    const fn servers_key(self) -> &'static str {
        match self {
            EntryLayout::Servers | EntryLayout::Gemini => "mcpServers",
            EntryLayout::Opencode => "mcp",
        }
    }

    fn entry_value(self) -> Value {
        match self {
            EntryLayout::Servers => json!({ "command": NAME, "args": ["mcp"] }),
            EntryLayout::Gemini => {
                let mut value = EntryLayout::Servers.entry_value();
                for name in GEMINI_VARIABLES {
                    value["env"][name] = format!("${{{name}:-}}").into();
                }
                value
            }
            EntryLayout::Opencode => {
                json!({ "type": "local", "command": [NAME, "mcp"], "enabled": true })
            }
        }
    }

    /// True if this version or an earlier one wrote the entry.
    fn is_ours(self, found: &Value) -> bool {
        *found == self.entry_value()
            || self == EntryLayout::Gemini && *found == EntryLayout::Servers.entry_value()
    }
}

/// Gemini withholds variables with names like a secret's unless they are listed. These hold paths.
const GEMINI_VARIABLES: [&str; 2] = ["BOWLINE_TOKEN_FILE", "BOWLINE_AGENT_TOKEN_FILE"];

/// Returns the settings with our current entry. An entry of that name that we did not write stays;
/// so do settings, or a list of servers, that are not an object.
pub fn add_entry(settings: &Value, entry: EntryLayout) -> Value {
    let mut settings = settings.clone();
    if let Some(root) = settings.as_object_mut() {
        let servers = root.entry(entry.servers_key()).or_insert_with(|| json!({}));
        if let Some(servers) = servers.as_object_mut()
            && servers.get(NAME).is_none_or(|found| entry.is_ours(found))
        {
            servers.insert(NAME.to_owned(), entry.entry_value());
        }
    }
    settings
}

/// Returns the settings without our entry and without the empty list it would leave. An entry that
/// was edited by hand stays.
pub fn remove_entry(settings: &Value, entry: EntryLayout) -> Value {
    let mut settings = settings.clone();
    let Some(root) = settings.as_object_mut() else {
        return settings;
    };
    let servers = root
        .get_mut(entry.servers_key())
        .and_then(Value::as_object_mut);
    let ours =
        |servers: &&mut Map<String, Value>| servers.get(NAME).is_some_and(|it| entry.is_ours(it));
    let Some(servers) = servers.filter(ours) else {
        return settings;
    };
    servers.retain(|key, _| key != NAME);
    if servers.is_empty() {
        root.retain(|key, _| key != entry.servers_key());
    }
    settings
}

/// True if the settings have an entry of our name that we did not write.
pub fn is_theirs(settings: &Value, entry: EntryLayout) -> bool {
    let found = settings
        .get(entry.servers_key())
        .and_then(|it| it.get(NAME));
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
enum CodexEntry {
    Nothing,
    /// It starts our program as we do; a person may have added options.
    Ours {
        /// Lines that earlier versions did not write.
        missing: String,
    },
    /// It has another command, or the file is not TOML.
    Theirs,
}

fn find_codex_entry(text: &str) -> CodexEntry {
    let Ok(root) = text.parse::<toml::Table>() else {
        return CodexEntry::Theirs;
    };
    let Some(entry) = root.get("mcp_servers").and_then(|it| it.get(NAME)) else {
        return CodexEntry::Nothing;
    };
    let args = toml::Value::from(vec!["mcp"]);
    match entry.get("command") == Some(&NAME.into()) && entry.get("args") == Some(&args) {
        true => {
            let lines = [
                ("env_vars", CODEX_VARIABLES),
                ("default_tools_approval_mode", CODEX_APPROVAL),
            ];
            let missing = lines.iter().filter(|(key, _)| entry.get(key).is_none());
            CodexEntry::Ours {
                missing: missing.map(|(_, line)| *line).collect(),
            }
        }
        false => CodexEntry::Theirs,
    }
}

/// Returns the text with our table: appended if absent, completed if an earlier version wrote it.
/// `None` if that would change a person's own entry.
pub fn add_codex_entry(text: &str) -> Option<String> {
    let after = match find_codex_entry(text) {
        CodexEntry::Theirs => return None,
        CodexEntry::Ours { missing } => text.replacen(CODEX, &format!("{CODEX}{missing}"), 1),
        CodexEntry::Nothing => {
            let between = match text {
                "" => "",
                text if text.ends_with('\n') => "\n",
                _ => "\n\n",
            };
            format!("{text}{between}{CODEX}{CODEX_VARIABLES}{CODEX_APPROVAL}")
        }
    };
    matches!(find_codex_entry(&after), CodexEntry::Ours { missing } if missing.is_empty())
        .then_some(after)
}

/// Returns the text without our table and the options added to it. `None` if an entry of our name
/// would remain.
pub fn remove_codex_entry(text: &str) -> Option<String> {
    match find_codex_entry(text) {
        CodexEntry::Theirs => return None,
        CodexEntry::Nothing => return Some(text.to_owned()),
        CodexEntry::Ours { .. } => {}
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
    matches!(find_codex_entry(&after), CodexEntry::Nothing).then_some(after)
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
            let ours = add_entry(&settings, EntryLayout::Servers);
            assert_eq!(ours["mcpServers"]["bowline"]["command"], "bowline");
            assert_eq!(add_entry(&ours, EntryLayout::Servers), ours);
            assert_eq!(remove_entry(&ours, EntryLayout::Servers), settings);
        }
        let earlier = add_entry(&json!({}), EntryLayout::Servers);
        let gemini = add_entry(&earlier, EntryLayout::Gemini);
        assert_eq!(gemini, add_entry(&json!({}), EntryLayout::Gemini));
        assert_ne!(gemini, earlier);
        for settings in [earlier, gemini] {
            assert_eq!(remove_entry(&settings, EntryLayout::Gemini), json!({}));
        }
        let opencode = add_entry(&json!({ "model": "m" }), EntryLayout::Opencode);
        assert_eq!(opencode["mcp"]["bowline"]["command"][1], "mcp");
        assert_eq!(
            remove_entry(&opencode, EntryLayout::Opencode),
            json!({ "model": "m" })
        );
    }

    #[test]
    fn what_somebody_wrote_under_our_name_is_theirs() {
        let own = json!({ "mcpServers": { "bowline": { "command": "/my/bowline", "args": ["mcp", "--role", "read-only"] } } });
        assert_eq!(add_entry(&own, EntryLayout::Servers), own);
        assert_eq!(remove_entry(&own, EntryLayout::Servers), own);
        for odd in [json!([]), json!({ "mcpServers": 1 })] {
            assert_eq!(add_entry(&odd, EntryLayout::Servers), odd);
            assert_eq!(remove_entry(&odd, EntryLayout::Servers), odd);
        }
        assert!(is_theirs(&own, EntryLayout::Servers));
        for text in [
            "[mcp_servers.bowline]\ncommand = \"mine\"\n",
            "mcp_servers = { bowline = { command = \"bowline\", args = [\"mcp\", \"--role\", \"read-only\"] } }\n",
            "no TOML",
        ] {
            assert_eq!(add_codex_entry(text), None);
            assert_eq!(remove_codex_entry(text), None);
        }
        // A list in which no table of ours can stand behind the others.
        let closed = "mcp_servers = { other = { command = \"x\" } }\n";
        assert_eq!(add_codex_entry(closed), None);
        assert_eq!(remove_codex_entry(closed).as_deref(), Some(closed));
    }

    #[test]
    fn a_table_for_codex_stands_behind_what_is_there() {
        for text in ["", "model = \"x\"\n", "[a]\nb = 1\n\n"] {
            let ours = add_codex_entry(text).unwrap();
            let lines = format!("{CODEX_VARIABLES}{CODEX_APPROVAL}");
            assert!(ours.ends_with(&lines) && ours.starts_with(text));
            assert_eq!(add_codex_entry(&ours).as_ref(), Some(&ours));
            assert_eq!(remove_codex_entry(&ours).as_deref(), Some(text), "{text:?}");
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
            assert_eq!(add_codex_entry(&earlier).as_ref(), Some(&now));
            let completed = add_codex_entry(&later).unwrap();
            assert_eq!(completed.matches(CODEX_APPROVAL).count(), 1);
            assert_eq!(add_codex_entry(&completed).as_ref(), Some(&completed));
            for text in [earlier, later, completed, now] {
                assert_eq!(remove_codex_entry(&text), Some(format!("{theirs}{other}")));
            }
        }
        let asking = format!("{CODEX}{CODEX_VARIABLES}default_tools_approval_mode = \"prompt\"\n");
        assert_eq!(add_codex_entry(&asking).as_ref(), Some(&asking));
        // What would be left without a command is no entry that the client can read.
        let deeper = format!("{CODEX}[mcp_servers.bowline.env]\nA = \"1\"\n");
        assert_eq!(remove_codex_entry(&deeper), None);
    }
}
