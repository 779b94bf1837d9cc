//! The clients side by side: what differs between them when they are given a prompt, our tools or a file to write.

use super::{Guarded, codex, gemini, installed, sandboxed, tools};
use bowline_test_support::model_server::{ModelReply, ModelServer};
use serde_json::{Value, json};
use std::process::Command;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Claude,
    Codex,
    Gemini,
    Opencode,
}

impl Kind {
    pub(super) const ALL: [Kind; 4] = [Kind::Claude, Kind::Codex, Kind::Gemini, Kind::Opencode];

    pub(super) const fn variable(self) -> &'static str {
        match self {
            Kind::Claude => "BOWLINE_CLAUDE",
            Kind::Codex => "BOWLINE_CODEX",
            Kind::Gemini => "BOWLINE_GEMINI",
            Kind::Opencode => "BOWLINE_OPENCODE",
        }
    }

    /// As `bowline init --agent` calls it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Kind::Claude => "claude",
            Kind::Codex => "codex",
            Kind::Gemini => "gemini",
            Kind::Opencode => "opencode",
        }
    }

    pub(super) fn installed(self) -> Option<String> {
        installed(self.variable())
    }

    /// A run with one prompt in a folder that is trusted, as are its hooks.
    pub(super) fn run(
        self,
        world: &Guarded,
        program: &str,
        model: &ModelServer,
        prompt: &str,
    ) -> Command {
        match self {
            Kind::Claude => {
                let mut client = tools::claude(world, program, model);
                client
                    .args(["-p", prompt, "--output-format", "stream-json", "--verbose"])
                    .args(["--permission-mode", "acceptEdits", "--allowedTools"])
                    .arg("Bash,Write,Edit,Agent,mcp__bowline,mcp__plugin_bowline_bowline");
                client
            }
            Kind::Codex => {
                let mut client = codex::trusting(world, program, model);
                client.args(["--dangerously-bypass-hook-trust", prompt]);
                client
            }
            Kind::Gemini => {
                gemini::settings(world);
                let mut client = world.client(program);
                gemini::arguments(&mut client, model, prompt);
                client
            }
            Kind::Opencode => {
                sandboxed::opencode_settings(world, model);
                let mut client = world.client(program);
                sandboxed::opencode_arguments(&mut client, prompt);
                client
            }
        }
    }

    /// A call of one of our tools, by the name this client gives it.
    pub(super) fn tool(self, name: &str, input: Value) -> ModelReply {
        let name = match self {
            Kind::Claude | Kind::Codex => format!("mcp__bowline__{name}"),
            Kind::Gemini => format!("mcp_bowline_{name}"),
            Kind::Opencode => format!("bowline_{name}"),
        };
        ModelReply::tool_call("I do it.", &name, input)
    }

    /// What comes before a call: one of them looks for tools of servers before it calls any.
    pub(super) fn looks_for(self, words: &str) -> Vec<ModelReply> {
        match self {
            Kind::Codex => vec![codex::looks_for(words)],
            Kind::Claude | Kind::Gemini | Kind::Opencode => Vec::new(),
        }
    }

    /// A command in the client's own shell.
    pub(super) fn shell(self, command: &str) -> ModelReply {
        let described = json!({ "command": command, "description": "does it" });
        let (tool, input) = match self {
            Kind::Claude => ("Bash", described),
            Kind::Codex => ("exec_command", json!({ "cmd": command })),
            Kind::Gemini => ("run_shell_command", described),
            Kind::Opencode => ("bash", described),
        };
        ModelReply::tool_call("I do it.", tool, input)
    }

    /// Writes a file by the client's own tool.
    pub(super) fn write(self, world: &Guarded, path: &str) -> ModelReply {
        let file = world.0.path(path);
        let (tool, input) = match self {
            Kind::Claude => ("Write", json!({ "file_path": file, "content": "{}\n" })),
            Kind::Codex => (
                "apply_patch",
                json!(format!(
                    "*** Begin Patch\n*** Add File: {path}\n+{{}}\n*** End Patch\n"
                )),
            ),
            Kind::Gemini => (
                "write_file",
                json!({ "file_path": file, "content": "{}\n" }),
            ),
            Kind::Opencode => ("write", json!({ "filePath": file, "content": "{}\n" })),
        };
        ModelReply::tool_call("I write.", tool, input)
    }
}
