//! One line on each other state file that is seen from a folder.

use super::card::short;
use super::recall;
use crate::belief::Belief;
use crate::lang::Lang;
use crate::locate;
use bowline_words::message::{Card, Other, Status};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Larger files are mentioned but not read.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Renders a line for each file that exists.
pub(super) fn lines(belief: &Belief, folder: &Path, lang: Lang) -> Vec<String> {
    let root = match belief {
        Belief::Run(believed) => Some(locate::root_of(&believed.path).to_owned()),
        Belief::Missing { path, .. } | Belief::Damaged { path, .. } => {
            Some(locate::root_of(path).to_owned())
        }
        Belief::Nothing => locate::git_top(&locate::absolute(folder)),
    };
    // A linked worktree has no files that git ignores; the shared ones are in the main worktree.
    let main = root.as_deref().and_then(locate::main_worktree);
    let mut folders: Vec<PathBuf> = vec![locate::absolute(folder)];
    folders.extend(root);
    folders.extend(main);
    type Describe = fn(&Value) -> Other;
    let files: [(&str, &str, Describe); 3] = [
        ("thinking", "thinking_state.json", thinking),
        ("memory", ".claude/memory/task-state.json", memory),
        ("orchestrate", ".claude/orchestrate-state.json", orchestrate),
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
        let value = read(&path);
        let said = match &value {
            Some(value) => describe(value),
            None => Other::Unreadable,
        };
        lines.push(Card::AlsoHere { kind, name, said }.say(lang));
        let more = value.iter().flat_map(|value| match kind {
            "thinking" => recall::thinking(value),
            "memory" => recall::memory(value, &path),
            _ => Vec::new(),
        });
        lines.extend(more.map(|line| line.say(lang)));
    }
    lines
}

pub(super) fn read(path: &Path) -> Option<Value> {
    if std::fs::metadata(path).ok()?.len() > FILE_BYTES_MAX {
        return None;
    }
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}

fn text(value: &Value, pointer: &str) -> String {
    short(
        value
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or("?"),
    )
}

fn thinking(value: &Value) -> Other {
    Other::Thinking {
        id: text(value, "/task_id"),
        stage: text(value, "/current_stage"),
        status: Status::of(&text(value, "/overall_status")),
    }
}

fn memory(value: &Value) -> Other {
    match value.pointer("/current_task").filter(|it| it.is_object()) {
        Some(task) => Other::Memory {
            name: text(task, "/name"),
            status: Status::of(&text(task, "/status")),
            step: recall::current_step(task),
        },
        None => Other::NoTask,
    }
}

fn orchestrate(value: &Value) -> Other {
    let count = |list: &str| {
        let list = value.pointer(&format!("/tasks/{list}"));
        list.and_then(Value::as_array).map_or(0, Vec::len)
    };
    Other::Orchestration {
        project: text(value, "/project"),
        done: count("completed"),
        running: count("in_progress"),
        ready: count("ready"),
        failed: count("failed"),
    }
}
