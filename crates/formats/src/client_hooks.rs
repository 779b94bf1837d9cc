//! Installs our hooks into an agent client's settings and removes them; everything else is left
//! alone.
//!
//! Claude Code (`.claude/settings.json`), Codex (`.codex/hooks.json`) and Gemini
//! (`.gemini/settings.json`) share one layout: events, each with a list of groups, each with a
//! matcher and a list of handlers. Gemini has its own names for the events. OpenCode has plugins
//! instead, of which we write a whole one.
//!
//! Files committed to a project work wherever they are checked out: they find the program by the
//! clone's own launcher or on `PATH`. Without the program they print a notice and let the call
//! continue. Only settings that a client keeps for one person contain a path of this machine; there
//! a gate that cannot be asked blocks the tool.

use serde_json::{Map, Value, json};

/// Name of the program that our handlers call.
pub const PROGRAM: &str = "bowline-shim";
/// Name of a small script in a clone's `.git` folder, by which a committed hook finds the program
/// of this machine.
pub const LAUNCHER: &str = "bowline-shim";
/// Option that marks a hook registered by a file of the project; the client's name follows. Older
/// files name none.
pub const SHARED: &str = "--shared";
/// Option that marks a hook registered by our plugin.
pub const PLUGIN: &str = "--plugin";
/// Notice that is printed where Bowline is not installed.
const ABSENT: &str =
    "bowline-shim is not on PATH: no gate is asked. Install Bowline, or go on without it.";
/// Seconds a client waits for the gate before it continues without it.
const TIMEOUT_SECONDS: u32 = 10;

/// Claude Code's settings file for one person.
pub const PERSONAL: &str = ".claude/settings.local.json";

/// Files of a workspace that enable or disable our hooks in a client.
pub const GUARDS: &[&str] = &[
    ".claude/settings.json",
    PERSONAL,
    ".codex/config.toml",
    ".codex/hooks.json",
    ".gemini/settings.json",
    ".opencode/plugins/bowline.js",
];

/// Returns the project files in which the named client finds hooks.
pub fn settings_of(client: &str) -> &'static [&'static str] {
    match client {
        "claude" => &[PERSONAL, ".claude/settings.json"],
        "codex" => &[".codex/hooks.json"],
        _ => &[],
    }
}

/// The way in which a hook finds the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShimLocation<'p> {
    /// By its absolute path on this machine.
    Path(&'p str),
    /// By launcher or `PATH`, wherever the file is checked out; holds the client's name.
    Anywhere(&'p str),
}

impl ShimLocation<'_> {
    fn hook_command(self, event: &str) -> String {
        let client = match self {
            ShimLocation::Path(program) => return format!("{} hook", quote_word(program)),
            ShimLocation::Anywhere(client) => client,
        };
        // Some clients show a person nothing of it, so the model gets the notice as well.
        let script = if event == "SessionStart" {
            let context_output = json!({"hookEventName": event, "additionalContext": ABSENT});
            let output = json!({"systemMessage": ABSENT, "hookSpecificOutput": context_output});
            let output = output.to_string().replace('"', "\\\"");
            format!("{{ echo \"{output}\"; exit 0; }}")
        } else {
            format!("{{ echo \"{ABSENT}\" >&2; exit 0; }}")
        };
        format!(
            "sh -c 's=${{CLAUDE_PROJECT_DIR:-${{GEMINI_PROJECT_DIR:-.}}}}/.git/{LAUNCHER}; [ -x \"$s\" ] || \
             s=$(command -v {PROGRAM}) || {script}; exec \"$s\" hook {SHARED} {client}'"
        )
    }
}

/// Returns the launcher script of a clone.
pub fn launcher_script(program: &str) -> String {
    format!(
        "#!/bin/sh\n# Put in by 'bowline init', taken out by 'bowline init --uninstall'.\nexec {} \"$@\"\n",
        quote_word(program)
    )
}

/// The two variants of the shared layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookLayout {
    /// Names used by Claude Code and Codex.
    Claude,
    /// Names used by Gemini.
    Gemini,
}

impl HookLayout {
    /// Returns the events we subscribe to, with a tool matcher for tool events. The first one can
    /// deny.
    const fn hook_events(self) -> &'static [(&'static str, Option<&'static str>)] {
        match self {
            HookLayout::Claude => &[
                ("PreToolUse", Some("*")),
                (
                    "PostToolUse",
                    Some("Write|Edit|MultiEdit|NotebookEdit|Bash|apply_patch"),
                ),
                ("SessionStart", None),
                ("SubagentStart", None),
                ("UserPromptSubmit", None),
                ("PreCompact", None),
                ("Stop", None),
            ],
            HookLayout::Gemini => &[
                ("BeforeTool", Some(".*")),
                ("AfterTool", Some("write_file|replace|run_shell_command")),
                ("SessionStart", None),
                ("BeforeAgent", None),
                ("AfterAgent", None),
            ],
        }
    }

    fn hook_handler(self, event: &str, reach: ShimLocation<'_>) -> Value {
        let command = reach.hook_command(event);
        match self {
            HookLayout::Claude => {
                let mut handler =
                    json!({"type": "command", "command": command, "timeout": TIMEOUT_SECONDS});
                if event == "PreToolUse" && matches!(reach, ShimLocation::Path(_)) {
                    // Clients that know this key block the tool when the gate cannot be asked.
                    handler["onFailure"] = json!("block");
                }
                handler
            }
            // Gemini counts in milliseconds.
            HookLayout::Gemini => {
                let timeout = TIMEOUT_SECONDS * 1000;
                json!({"name": "bowline", "type": "command", "command": command, "timeout": timeout})
            }
        }
    }
}

/// Error for a settings file of unexpected shape.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place} should be {wanted}")]
pub struct UnexpectedShape {
    /// The offending place in the file.
    pub place: String,
    /// The shape that was expected there.
    pub wanted: &'static str,
}

/// Returns the settings with our hooks. Older entries of ours are replaced.
pub fn add_hooks(
    settings: &Value,
    reach: ShimLocation<'_>,
    dialect: HookLayout,
) -> Result<Value, UnexpectedShape> {
    let mut settings = remove_hooks(settings)?;
    let root = expect_object(&mut settings, "the file")?;
    let hooks = root.entry("hooks").or_insert_with(|| json!({}));
    let hooks = expect_object(hooks, "hooks")?;
    for (event, tools) in dialect.hook_events() {
        let handler = dialect.hook_handler(event, reach);
        let mut group = Map::new();
        if let Some(tools) = tools {
            group.insert("matcher".into(), json!(tools));
        }
        group.insert("hooks".into(), json!([handler]));
        let groups = hooks.entry(*event).or_insert_with(|| json!([]));
        expect_list(groups, event)?.push(Value::Object(group));
    }
    Ok(settings)
}

/// Returns the settings without our hooks and without the empty lists they would leave.
pub fn remove_hooks(settings: &Value) -> Result<Value, UnexpectedShape> {
    let mut settings = settings.clone();
    let root = expect_object(&mut settings, "the file")?;
    let Some(hooks) = root.get_mut("hooks") else {
        return Ok(settings);
    };
    let hooks = expect_object(hooks, "hooks")?;
    let mut emptied = Vec::new();
    for (event, groups) in hooks.iter_mut() {
        let groups = expect_list(groups, event)?;
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
        hooks.retain(|key, _| *key != event);
    }
    if all {
        root.retain(|key, _| key != "hooks");
    }
    Ok(settings)
}

/// True if the settings call our program before every tool.
pub fn has_gate_hook(settings: &str) -> bool {
    let Ok(settings) = serde_json::from_str::<Value>(settings) else {
        return false;
    };
    let groups = settings["hooks"]["PreToolUse"].as_array();
    let handlers = groups
        .into_iter()
        .flatten()
        .filter_map(|it| it["hooks"].as_array());
    handlers.flatten().any(is_ours)
}

/// True for a handler that calls our program, by any path.
fn is_ours(handler: &Value) -> bool {
    let command = handler.get("command").and_then(Value::as_str);
    let shared = format!(" hook {SHARED}");
    if command.is_some_and(|it| it.contains(PROGRAM) && it.contains(&shared)) {
        return true;
    }
    let Some(program) = command.and_then(|command| command.strip_suffix(" hook")) else {
        return false;
    };
    let program = program.trim_end_matches('\'');
    program == PROGRAM || program.ends_with(&format!("/{PROGRAM}"))
}

/// First line of our OpenCode plugin, by which it is recognised.
const PLUGIN_BEGIN: &str = "// bowline: asks the gate of a develop run before every tool";

/// Returns our plugin for OpenCode. Without the program it prints one notice and lets calls
/// continue; any other failure to ask denies the call.
pub fn opencode_plugin() -> String {
    let timeout = TIMEOUT_SECONDS * 1000;
    format!(
        r#"{PLUGIN_BEGIN}, and tells the agent where its work stands.
// Put in by 'bowline init', taken out by 'bowline init --uninstall'.
import {{ spawnSync }} from "node:child_process"
import {{ existsSync }} from "node:fs"
import {{ join }} from "node:path"

let warned = false

function ask(message) {{
  const own = join(message.cwd, ".git", "{LAUNCHER}")
  const shim = existsSync(own) ? own : "{PROGRAM}"
  const asked = spawnSync(shim, ["hook"], {{ input: JSON.stringify(message), encoding: "utf8", timeout: {timeout} }})
  if (asked.error?.code !== "ENOENT") return asked
  if (!warned) console.error("{ABSENT}")
  warned = true
  return {{ status: 0 }}
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
    if (asked.status !== 0) throw new Error(asked.stderr || "[PHASE GATE] {PROGRAM} cannot be asked")
  }},
  "experimental.chat.system.transform": async (input, output) => {{
    const asked = ask({{ hook_event_name: "SessionStart", session_id: input.sessionID, cwd: directory }})
    if (asked.stdout) output.system.push(JSON.parse(asked.stdout).hookSpecificOutput.additionalContext)
  }},
}})
"#
    )
}

/// True if the plugin file is ours.
pub fn is_our_plugin(text: &[u8]) -> bool {
    text.starts_with(PLUGIN_BEGIN.as_bytes())
}

/// Quotes one word for a shell. Letters of every script stay readable.
pub fn quote_word(word: &str) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || "/._-+@%:,".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

fn expect_object<'v>(
    value: &'v mut Value,
    place: &str,
) -> Result<&'v mut Map<String, Value>, UnexpectedShape> {
    value.as_object_mut().ok_or_else(|| UnexpectedShape {
        place: place.to_owned(),
        wanted: "an object",
    })
}

fn expect_list<'v>(
    value: &'v mut Value,
    event: &str,
) -> Result<&'v mut Vec<Value>, UnexpectedShape> {
    value.as_array_mut().ok_or_else(|| UnexpectedShape {
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
            let ours = add_hooks(
                &settings,
                ShimLocation::Path("/opt/my tools/bowline-shim"),
                HookLayout::Claude,
            )
            .unwrap();
            let handler = &ours["hooks"]["Stop"][0]["hooks"][0]["command"];
            assert_eq!(handler, "'/opt/my tools/bowline-shim' hook");
            let left = remove_hooks(&ours).unwrap();
            let none = settings["hooks"].as_object().is_none_or(Map::is_empty);
            assert_eq!(left, if none { json!({}) } else { settings });
        }
    }

    #[test]
    fn putting_them_in_twice_is_once_and_another_path_replaces() {
        let once = add_hooks(
            &theirs(),
            ShimLocation::Path("/a/bowline-shim"),
            HookLayout::Claude,
        )
        .unwrap();
        assert_eq!(
            add_hooks(
                &once,
                ShimLocation::Path("/a/bowline-shim"),
                HookLayout::Claude
            )
            .unwrap(),
            once
        );
        let moved = add_hooks(
            &once,
            ShimLocation::Path("/b/bowline-shim"),
            HookLayout::Claude,
        )
        .unwrap();
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
        let error = add_hooks(
            &wrong,
            ShimLocation::Path("/a/bowline-shim"),
            HookLayout::Claude,
        )
        .unwrap_err();
        assert_eq!(error.to_string(), "hooks.Stop should be a list");
        let error = add_hooks(&json!([]), ShimLocation::Path("x"), HookLayout::Gemini).unwrap_err();
        assert_eq!(error.place, "the file");
    }

    #[test]
    fn every_event_we_put_in_is_one_the_hook_knows() {
        use crate::hook::HookEvent;
        for dialect in [HookLayout::Claude, HookLayout::Gemini] {
            let ours = add_hooks(&json!({}), ShimLocation::Anywhere("gemini"), dialect).unwrap();
            let hooks = ours["hooks"].as_object().unwrap();
            let events: Vec<Option<HookEvent>> = hooks
                .keys()
                .map(|name| HookEvent::from_name(name))
                .collect();
            assert!(events.contains(&Some(HookEvent::PreToolUse)));
            assert!(!events.contains(&None), "{hooks:?}");
            assert_eq!(remove_hooks(&ours).unwrap(), json!({}));
        }
    }

    #[test]
    fn a_plugin_names_no_path_and_is_known_as_ours() {
        let text = opencode_plugin();
        assert!(
            text.contains(r#"existsSync(own) ? own : "bowline-shim""#),
            "{text}"
        );
        assert!(is_our_plugin(text.as_bytes()));
        assert!(!is_our_plugin(b"export const Theirs = 1\n"));
    }

    #[test]
    fn a_committed_hook_has_no_path_of_this_machine_and_never_holds_a_tool_by_failing() {
        let once = add_hooks(
            &theirs(),
            ShimLocation::Path("/a/bowline-shim"),
            HookLayout::Claude,
        )
        .unwrap();
        let ours = add_hooks(&once, ShimLocation::Anywhere("claude"), HookLayout::Claude).unwrap();
        let text = ours.to_string();
        assert!(
            !text.contains("/a/") && !text.contains("onFailure"),
            "{text}"
        );
        assert_eq!(remove_hooks(&ours).unwrap(), theirs());
        // An older version named no client.
        let earlier = text.replace("--shared claude", "--shared");
        assert_ne!(earlier, text);
        let earlier = serde_json::from_str(&earlier).unwrap();
        assert_eq!(remove_hooks(&earlier).unwrap(), theirs());
    }

    #[test]
    fn words_are_quoted_for_a_shell() {
        for (word, expected) in [
            ("a/b.c", "a/b.c"),
            ("항구", "항구"),
            ("", "''"),
            ("a b", "'a b'"),
            ("it's", r"'it'\''s'"),
            ("A=b", "'A=b'"),
            ("$x", "'$x'"),
        ] {
            assert_eq!(quote_word(word), expected);
        }
    }
}
