//! The guides for newcomers: every command in them is run, and prints what the page says.
//!
//! In a block marked `console` a line with `$ ` is a command for the shell, and the lines up to the next one are what it
//! prints, errors included; lines with `> ` right behind a command belong to it. `[..]` stands for anything within a line. `INSTA_UPDATE=always` writes the pages anew; lines
//! with `[..]` that still fit are kept.

use crate::environment::{NOW_SECONDS, TestEnvironment, text};
use bowline_engine::formats::time;
use bowline_engine::machines::Timestamp;
use std::path::Path;

/// Time goes by between two commands, so that durations are shown.
const COMMAND_SECONDS: i64 = 180;
const ANYTHING: &str = "[..]";

#[test]
fn thinking() {
    follow("thinking.md", 30);
}

#[test]
fn memory() {
    follow("memory.md", 40);
}

#[test]
fn develop() {
    follow("develop.md", 36);
}

#[test]
fn orchestrate() {
    follow("orchestrate.md", 30);
}

#[test]
fn agents() {
    follow("agents/claude.md", 6);
    follow("agents/codex.md", 3);
    follow("agents/gemini.md", 3);
    follow("agents/opencode.md", 3);
    follow("agents/acp.md", 2);
}

fn follow(page: &str, commands_min: usize) {
    // Both guides show what only a person may do.
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs")
        .join(page);
    let text = std::fs::read_to_string(&path).unwrap();
    let mut follower = Follower {
        world: TestEnvironment::new(),
        folder: String::new(),
        commands: 0,
    };
    let written = follower.page(&text);
    assert!(
        follower.commands >= commands_min,
        "only {} commands",
        follower.commands
    );
    if std::env::var("INSTA_UPDATE").as_deref() == Ok("always") {
        std::fs::write(&path, written).unwrap();
        return;
    }
    for (number, (said, found)) in text.lines().zip(written.lines()).enumerate() {
        assert_eq!(said, found, "docs/{page}:{}", number + 1);
    }
    assert_eq!(text, written, "docs/{page}");
}

struct Follower {
    world: TestEnvironment,
    /// Where the reader stands, below the workspace.
    folder: String,
    commands: usize,
}

impl Follower {
    /// The page with what the commands really print.
    fn page(&mut self, text: &str) -> String {
        let mut out = String::new();
        let mut lines = text.lines().peekable();
        let mut console = false;
        while let Some(line) = lines.next() {
            out.push_str(line);
            out.push('\n');
            if line.starts_with("```") {
                console = !console && line == "```console";
            }
            let Some(command) = line.strip_prefix("$ ").filter(|_| console) else {
                continue;
            };
            let mut command = command.to_owned();
            while let Some(more) = lines.next_if(|line| *line == ">" || line.starts_with("> ")) {
                out.push_str(more);
                out.push('\n');
                command.push('\n');
                command.push_str(more.trim_start_matches('>').strip_prefix(' ').unwrap_or(""));
            }
            let mut said = Vec::new();
            while let Some(next) = lines.next_if(|line| !line.starts_with("$ ") && *line != "```") {
                said.push(next);
            }
            let found = self.run(&command);
            let found: Vec<&str> = found.lines().collect();
            for (place, line) in found.iter().enumerate() {
                let kept = said.get(place).filter(|said| fits(said, line));
                out.push_str(kept.unwrap_or(line));
                out.push('\n');
            }
        }
        out
    }

    /// What a command prints, with the folder of the reader called `~`.
    fn run(&mut self, command: &str) -> String {
        self.commands += 1;
        let now = i64::try_from(NOW_SECONDS).unwrap();
        let passed = COMMAND_SECONDS * i64::try_from(self.commands).unwrap();
        let binary = Path::new(env!("CARGO_BIN_EXE_bowline")).parent().unwrap();
        let paths = std::env::var("PATH").unwrap_or_default();
        let script = format!("cd './{}' && {{ {command}\n}} 2>&1 && pwd >&2", self.folder);
        let output = self
            .world
            .program("sh")
            .args(["-c", &script])
            .env("PATH", format!("{}:{paths}", binary.display()))
            .env("BOWLINE_CLOCK", time::format_utc(Timestamp(now + passed)))
            .output()
            .unwrap();
        let root = self.world.path("");
        let root = root.to_str().unwrap().trim_end_matches('/');
        let stands = text(&output.stderr);
        if let Some(folder) = stands.trim().strip_prefix(root) {
            self.folder = folder.trim_start_matches('/').to_owned();
        }
        let text = text(&output.stdout);
        text.replace(root, "~/guide")
    }
}

/// Whether a line of the page stands for a line that was printed.
fn fits(said: &str, found: &str) -> bool {
    let mut parts = said.split(ANYTHING);
    let Some(mut rest) = parts.next().and_then(|first| found.strip_prefix(first)) else {
        return false;
    };
    if !said.contains(ANYTHING) {
        return rest.is_empty();
    }
    for part in parts {
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    rest.is_empty() || said.ends_with(ANYTHING)
}

#[test]
fn a_wildcard_stands_for_anything_within_a_line() {
    assert!(fits("a [..] c", "a b b c") && fits("[..]", "") && fits("a", "a"));
    assert!(fits("a[..]", "abc") && fits("[..]c", "abc"));
    assert!(!fits("a [..] c", "a b d") && !fits("a", "ab") && !fits("b[..]", "ab"));
}
