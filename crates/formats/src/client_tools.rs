//! The entry by which an agent client starts our tools (MCP): put into its settings and taken out, everything else left alone.
//!
//! The program is named, not its path: these files are shared by those who work on a project, and it is elsewhere on each
//! machine. Where it is missing a client says so and goes on without.

use serde_json::{Map, Value, json};

/// The name of our entry.
pub const NAME: &str = "bowline";

/// How a client writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// Claude Code (`.mcp.json`) and Gemini (`.gemini/settings.json`).
    Servers,
    /// OpenCode (`opencode.json`).
    Opencode,
}

impl Entry {
    const fn key(self) -> &'static str {
        match self {
            Entry::Servers => "mcpServers",
            Entry::Opencode => "mcp",
        }
    }

    fn value(self) -> Value {
        match self {
            Entry::Servers => json!({ "command": NAME, "args": ["mcp"] }),
            Entry::Opencode => {
                json!({ "type": "local", "command": [NAME, "mcp"], "enabled": true })
            }
        }
    }
}

/// The settings with our entry. One of that name that is there already is somebody's own, and stays; so do settings that are no
/// object, or whose list of servers is none.
pub fn installed(settings: &Value, entry: Entry) -> Value {
    let mut settings = settings.clone();
    if let Some(root) = settings.as_object_mut() {
        let servers = root.entry(entry.key()).or_insert_with(|| json!({}));
        if let Some(servers) = servers.as_object_mut() {
            servers.entry(NAME).or_insert_with(|| entry.value());
        }
    }
    settings
}

/// The settings without our entry, and without the empty list it would leave. One that somebody changed is theirs.
pub fn removed(settings: &Value, entry: Entry) -> Value {
    let mut settings = settings.clone();
    let Some(root) = settings.as_object_mut() else {
        return settings;
    };
    let servers = root.get_mut(entry.key()).and_then(Value::as_object_mut);
    let Some(servers) = servers.filter(|servers| servers.get(NAME) == Some(&entry.value())) else {
        return settings;
    };
    servers.shift_remove(NAME);
    if servers.is_empty() {
        root.shift_remove(entry.key());
    }
    settings
}

/// Codex keeps its servers in TOML (`.codex/config.toml`). A table of its own can stand behind whatever there is. It starts them
/// with few variables: those by which state and the task in hand are found have to be named.
const CODEX: &str = "[mcp_servers.bowline]\ncommand = \"bowline\"\nargs = [\"mcp\"]\nenv_vars = [\"XDG_STATE_HOME\", \
                     \"XDG_CONFIG_HOME\", \"BOWLINE_WORKSPACE\", \"BOWLINE_URL\", \"BOWLINE_TOKEN_FILE\", \"BOWLINE_TASK_ID\", \
                     \"BOWLINE_AGENT_TOKEN_FILE\", \"BOWLINE_RELAY\"]\n";

/// The text with our table at its end; one of that name that is there already stays.
pub fn codex_installed(text: &str) -> String {
    let named = |line: &str| line.trim_start().starts_with("[mcp_servers.bowline");
    if text.lines().any(named) {
        return text.to_owned();
    }
    let between = match text {
        "" => "",
        text if text.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    format!("{text}{between}{CODEX}")
}

/// The text without our table, as it was before; one that somebody changed is theirs.
pub fn codex_removed(text: &str) -> String {
    let Some((before, after)) = text.split_once(CODEX) else {
        return text.to_owned();
    };
    match before.strip_suffix("\n\n") {
        // Whether the line before had an end of its own cannot be told; text files do.
        Some(kept) => format!("{kept}\n{after}"),
        None => format!("{before}{after}"),
    }
}

/// Whether settings have nothing but an empty object.
pub fn is_empty(settings: &Value) -> bool {
    settings.as_object().is_some_and(Map::is_empty)
}

#[cfg(test)]
mod tests {
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
        let text = "[mcp_servers.bowline]\ncommand = \"mine\"\n";
        assert_eq!(codex_installed(text), text);
        assert_eq!(codex_removed(text), text);
    }

    #[test]
    fn a_table_for_codex_stands_behind_what_is_there() {
        for text in ["", "model = \"x\"\n", "[a]\nb = 1\n\n"] {
            let ours = codex_installed(text);
            assert!(ours.ends_with(CODEX) && ours.starts_with(text));
            assert_eq!(codex_installed(&ours), ours);
            assert_eq!(codex_removed(&ours), text, "{text:?}");
            assert!(ours.parse::<toml::Table>().is_ok(), "{ours}");
        }
    }
}
