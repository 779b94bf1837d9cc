//! One line on each other state file that is seen from a folder.

use super::card::shorten_text;
use super::state_facts;
use crate::lang::Lang;
use crate::locate;
use crate::run_trust::RunTrust;
use bowline_words::message::{Card, Other, Status};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Larger files are mentioned but not read.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Renders a line for each file that exists.
pub(super) fn state_file_lines(trust: &RunTrust, folder: &Path, lang: Lang) -> Vec<String> {
    let root = match trust {
        RunTrust::Run(believed) => Some(locate::root_of(&believed.path).to_owned()),
        RunTrust::Missing { path, .. } | RunTrust::Damaged { path, .. } => {
            Some(locate::root_of(path).to_owned())
        }
        RunTrust::Nothing => locate::git_top(&locate::absolute_path(folder)),
    };
    // A linked worktree has no files that git ignores; the shared ones are in the main worktree.
    let main = root.as_deref().and_then(locate::main_worktree);
    let mut folders: Vec<PathBuf> = vec![locate::absolute_path(folder)];
    folders.extend(root);
    folders.extend(main);
    type Describe = fn(&Value) -> Other;
    let files: [(&str, &str, Describe); 3] = [
        ("thinking", "thinking_state.json", describe_thinking),
        ("memory", ".claude/memory/task-state.json", describe_memory),
        (
            "orchestrate",
            ".claude/orchestrate-state.json",
            describe_orchestration,
        ),
    ];
    let mut lines = Vec::new();
    for (kind, name, describe) in files {
        let Some(path) = folders
            .iter()
            .map(|folder| folder.join(name))
            .find(|path| path.is_file())
        else {
            continue;
        };
        let value = read_json(&path);
        let said = match &value {
            Some(value) => describe(value),
            None => Other::Unreadable,
        };
        lines.push(Card::AlsoHere { kind, name, said }.say(lang));
        let more = value.iter().flat_map(|value| match kind {
            "thinking" => state_facts::thinking_cards(value),
            "memory" => state_facts::memory_cards(value, &path),
            _ => Vec::new(),
        });
        lines.extend(more.map(|line| line.say(lang)));
    }
    lines
}

pub(super) fn read_json(path: &Path) -> Option<Value> {
    if std::fs::metadata(path).ok()?.len() > FILE_BYTES_MAX {
        return None;
    }
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}

fn text_at(value: &Value, pointer: &str) -> String {
    shorten_text(
        value
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or("?"),
    )
}

fn describe_thinking(value: &Value) -> Other {
    Other::Thinking {
        id: text_at(value, "/task_id"),
        stage: text_at(value, "/current_stage"),
        status: Status::from_word(&text_at(value, "/overall_status")),
    }
}

fn describe_memory(value: &Value) -> Other {
    match value.pointer("/current_task").filter(|it| it.is_object()) {
        Some(task) => Other::Memory {
            name: text_at(task, "/name"),
            status: Status::from_word(&text_at(task, "/status")),
            step: state_facts::current_step(task),
        },
        None => Other::NoTask,
    }
}

fn describe_orchestration(value: &Value) -> Other {
    let count = |list: &str| {
        let list = value.pointer(&format!("/tasks/{list}"));
        list.and_then(Value::as_array).map_or(0, Vec::len)
    };
    Other::Orchestration {
        project: text_at(value, "/project"),
        done: count("completed"),
        running: count("in_progress"),
        ready: count("ready"),
        failed: count("failed"),
    }
}
