//! The hooks in an agent client's settings: ours put in and taken out, everything else left alone.
//!
//! Claude Code (`.claude/settings.json`), Codex (`.codex/hooks.json`) and Gemini (`.gemini/settings.json`) share one layout:
//! events, each with a list of groups, each with a matcher and a list of handlers. Gemini has names of its own for the events.
//! OpenCode has no such settings but plugins, of which we write a whole one.

use serde_json::{Map, Value, json};

/// The program behind our handlers.
pub const PROGRAM: &str = "bowline-shim";
/// Seconds a client waits for the gate before it goes on without it.
const TIMEOUT_SECONDS: u32 = 10;

/// Files of a workspace by which a client asks our hooks, or can be told not to.
pub const GUARDS: &[&str] = &[
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".codex/config.toml",
    ".codex/hooks.json",
    ".gemini/settings.json",
    ".opencode/plugins/bowline.js",
];

/// A client's names for things in the shared layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// Claude Code and Codex.
    Claude,
    /// Gemini.
    Gemini,
}

impl Dialect {
    /// The events we listen to, and which tools for those that are about tools. The first is the one that can deny.
    const fn events(self) -> &'static [(&'static str, Option<&'static str>)] {
        match self {
            Dialect::Claude => &[
                ("PreToolUse", Some("*")),
                (
                    "PostToolUse",
                    Some("Write|Edit|MultiEdit|NotebookEdit|Bash|apply_patch"),
                ),
                ("SessionStart", None),
                ("UserPromptSubmit", None),
                ("PreCompact", None),
                ("Stop", None),
            ],
            Dialect::Gemini => &[
                ("BeforeTool", Some(".*")),
                ("AfterTool", Some("write_file|replace|run_shell_command")),
                ("SessionStart", None),
                ("BeforeAgent", None),
                ("AfterAgent", None),
            ],
        }
    }

    fn handler(self, event: &str, command: &str) -> Value {
        match self {
            Dialect::Claude => {
                let mut handler =
                    json!({"type": "command", "command": command, "timeout": TIMEOUT_SECONDS});
                if event == "PreToolUse" {
                    // A client new enough to know this word holds the tool when the gate cannot be asked.
                    handler["onFailure"] = json!("block");
                }
                handler
            }
            // This one counts in milliseconds.
            Dialect::Gemini => {
                let timeout = TIMEOUT_SECONDS * 1000;
                json!({"name": "bowline", "type": "command", "command": command, "timeout": timeout})
            }
        }
    }
}

/// Why our hooks cannot be put into a settings file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place} should be {wanted}")]
pub struct Unexpected {
    /// Where.
    pub place: String,
    /// What was expected there.
    pub wanted: &'static str,
}

/// The settings with our hooks in them, calling the program at a path. Older ones of ours are replaced.
pub fn installed(settings: &Value, program: &str, dialect: Dialect) -> Result<Value, Unexpected> {
    let mut settings = removed(settings)?;
    let command = format!("{} hook", quoted(program));
    let root = object(&mut settings, "the file")?;
    let hooks = root.entry("hooks").or_insert_with(|| json!({}));
    let hooks = object(hooks, "hooks")?;
    for (event, tools) in dialect.events() {
        let handler = dialect.handler(event, &command);
        let mut group = Map::new();
        if let Some(tools) = tools {
            group.insert("matcher".into(), json!(tools));
        }
        group.insert("hooks".into(), json!([handler]));
        let groups = hooks.entry(*event).or_insert_with(|| json!([]));
        list(groups, event)?.push(Value::Object(group));
    }
    Ok(settings)
}

/// The settings without our hooks, and without the empty lists they would leave.
pub fn removed(settings: &Value) -> Result<Value, Unexpected> {
    let mut settings = settings.clone();
    let root = object(&mut settings, "the file")?;
    let Some(hooks) = root.get_mut("hooks") else {
        return Ok(settings);
    };
    let hooks = object(hooks, "hooks")?;
    let mut emptied = Vec::new();
    for (event, groups) in hooks.iter_mut() {
        let groups = list(groups, event)?;
        let before = groups.len();
        groups.retain_mut(|group| {
            let Some(Value::Array(handlers)) = group.get_mut("hooks") else {
                return true;
            };
            let known = handlers.len();
            handlers.retain(|handler| !is_ours(handler));
            known == handlers.len() || !handlers.is_empty()
        });
        if groups.is_empty() && before > 0 {
            emptied.push(event.clone());
        }
    }
    let all = !emptied.is_empty() && emptied.len() == hooks.len();
    for event in emptied {
        hooks.shift_remove(&event);
    }
    if all {
        root.shift_remove("hooks");
    }
    Ok(settings)
}

/// A handler that calls our program, wherever it is.
fn is_ours(handler: &Value) -> bool {
    let command = handler.get("command").and_then(Value::as_str);
    let Some(program) = command.and_then(|command| command.strip_suffix(" hook")) else {
        return false;
    };
    let program = program.trim_end_matches('\'');
    program == PROGRAM || program.ends_with(&format!("/{PROGRAM}"))
}

/// How a plugin of ours begins.
const PLUGIN_BEGIN: &str = "// bowline: asks the gate of a develop run before every tool";

/// A plugin for OpenCode that asks the program at a path. What cannot be asked is denied.
pub fn plugin(program: &str) -> String {
    let program = json!(program);
    let timeout = TIMEOUT_SECONDS * 1000;
    format!(
        r#"{PLUGIN_BEGIN}, and tells the agent where its work stands.
// Put in by 'bowline init', taken out by 'bowline init --uninstall'.
import {{ spawnSync }} from "node:child_process"

const shim = {program}

function ask(message) {{
  return spawnSync(shim, ["hook"], {{ input: JSON.stringify(message), encoding: "utf8", timeout: {timeout} }})
}}

export const Bowline = async ({{ directory }}) => ({{
  "tool.execute.before": async (input, output) => {{
    const asked = ask({{
      hook_event_name: "PreToolUse",
      session_id: input.sessionID,
      cwd: directory,
      tool_name: input.tool,
      tool_input: output.args,
    }})
    if (asked.status !== 0) throw new Error(asked.stderr || `[PHASE GATE] ${{shim}} cannot be asked`)
  }},
  "experimental.chat.system.transform": async (input, output) => {{
    const asked = ask({{ hook_event_name: "SessionStart", session_id: input.sessionID, cwd: directory }})
    if (asked.stdout) output.system.push(JSON.parse(asked.stdout).hookSpecificOutput.additionalContext)
  }},
}})
"#
    )
}

/// Whether a plugin is ours.
pub fn is_our_plugin(text: &[u8]) -> bool {
    text.starts_with(PLUGIN_BEGIN.as_bytes())
}

/// A path as one word of a shell.
pub fn quoted(path: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+@%:,=".contains(&byte);
    if !path.is_empty() && path.bytes().all(plain) {
        path.to_owned()
    } else {
        format!("'{}'", path.replace('\'', r"'\''"))
    }
}

fn object<'v>(value: &'v mut Value, place: &str) -> Result<&'v mut Map<String, Value>, Unexpected> {
    value.as_object_mut().ok_or_else(|| Unexpected {
        place: place.to_owned(),
        wanted: "an object",
    })
}

fn list<'v>(value: &'v mut Value, event: &str) -> Result<&'v mut Vec<Value>, Unexpected> {
    value.as_array_mut().ok_or_else(|| Unexpected {
        place: format!("hooks.{event}"),
        wanted: "a list",
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

    use super::*;

    fn theirs() -> Value {
        json!({
            "model": "some",
            "hooks": {
                "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "lint hook"}]}],
                "Notification": []
            }
        })
    }

    #[test]
    fn what_is_put_in_comes_out_again() {
        for settings in [theirs(), json!({}), json!({"hooks": {}})] {
            let ours = installed(&settings, "/opt/my tools/bowline-shim", Dialect::Claude).unwrap();
            let handler = &ours["hooks"]["Stop"][0]["hooks"][0]["command"];
            assert_eq!(handler, "'/opt/my tools/bowline-shim' hook");
            let left = removed(&ours).unwrap();
            let none = settings["hooks"].as_object().is_none_or(Map::is_empty);
            assert_eq!(left, if none { json!({}) } else { settings });
        }
    }

    #[test]
    fn putting_them_in_twice_is_once_and_another_path_replaces() {
        let once = installed(&theirs(), "/a/bowline-shim", Dialect::Claude).unwrap();
        assert_eq!(
            installed(&once, "/a/bowline-shim", Dialect::Claude).unwrap(),
            once
        );
        let moved = installed(&once, "/b/bowline-shim", Dialect::Claude).unwrap();
        assert!(!moved.to_string().contains("/a/bowline-shim"));
        assert_eq!(moved["hooks"]["PreToolUse"].as_array().unwrap().len(), 2);
        assert_eq!(
            moved["hooks"]["PreToolUse"][0],
            theirs()["hooks"]["PreToolUse"][0]
        );
    }

    #[test]
    fn another_shape_is_not_touched() {
        let wrong = json!({"hooks": {"Stop": "no list"}});
        let error = installed(&wrong, "/a/bowline-shim", Dialect::Claude).unwrap_err();
        assert_eq!(error.to_string(), "hooks.Stop should be a list");
        let error = installed(&json!([]), "x", Dialect::Gemini).unwrap_err();
        assert_eq!(error.place, "the file");
    }

    #[test]
    fn every_event_we_put_in_is_one_the_hook_knows() {
        use crate::hook::Event;
        for dialect in [Dialect::Claude, Dialect::Gemini] {
            let ours = installed(&json!({}), "/a/bowline-shim", dialect).unwrap();
            let hooks = ours["hooks"].as_object().unwrap();
            let events: Vec<Option<Event>> =
                hooks.keys().map(|name| Event::from_name(name)).collect();
            assert!(events.contains(&Some(Event::PreToolUse)));
            assert!(!events.contains(&None), "{hooks:?}");
            assert_eq!(removed(&ours).unwrap(), json!({}));
        }
    }

    #[test]
    fn a_plugin_has_its_program_as_a_text() {
        let text = plugin("/opt/a \"b\"/bowline-shim");
        assert!(text.contains(r#"const shim = "/opt/a \"b\"/bowline-shim""#));
        assert!(is_our_plugin(text.as_bytes()));
        assert!(!is_our_plugin(b"export const Theirs = 1\n"));
    }
}
