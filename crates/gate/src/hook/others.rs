//! The other state files that are seen from a folder, a line for each.

use super::card::short;
use crate::belief::Belief;
use crate::lang::Lang;
use crate::locate;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Larger files are named and not read.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// A line for each file that is there.
pub(super) fn lines(belief: &Belief, folder: &Path, lang: Lang) -> Vec<String> {
    let root = match belief {
        Belief::Run(believed) => Some(locate::root_of(&believed.path).to_owned()),
        Belief::Missing { path, .. } | Belief::Damaged { path, .. } => {
            Some(locate::root_of(path).to_owned())
        }
        Belief::Nothing => locate::git_top(&locate::absolute(folder)),
    };
    let mut folders: Vec<PathBuf> = vec![locate::absolute(folder)];
    folders.extend(root);
    type Describe = fn(&Value) -> String;
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
        let said = match read(&path) {
            Some(value) => describe(&value),
            None => lang
                .say("cannot be read here", "여기서는 읽을 수 없음")
                .to_owned(),
        };
        let show = format!("bowline status {kind}");
        lines.push(match lang {
            Lang::En => format!("Also here: {kind} ({name}): {said}. See `{show}`."),
            Lang::Ko => format!("함께 있음: {kind} ({name}): {said}. `{show}`로 확인하세요."),
        });
    }
    lines
}

fn read(path: &Path) -> Option<Value> {
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

fn thinking(value: &Value) -> String {
    format!(
        "'{}', stage {}, {}",
        text(value, "/task_id"),
        text(value, "/current_stage"),
        text(value, "/overall_status")
    )
}

fn memory(value: &Value) -> String {
    match value.pointer("/current_task").filter(|it| it.is_object()) {
        Some(task) => format!(
            "'{}', {}{}",
            text(task, "/name"),
            text(task, "/status"),
            step(task)
        ),
        None => "no current task".to_owned(),
    }
}

fn step(task: &Value) -> String {
    let number = task.pointer("/current_step").and_then(Value::as_u64);
    number.map_or_else(String::new, |number| format!(", step {number}"))
}

fn orchestrate(value: &Value) -> String {
    let count = |list: &str| {
        let list = value.pointer(&format!("/tasks/{list}"));
        list.and_then(Value::as_array).map_or(0, Vec::len)
    };
    format!(
        "'{}', {} done, {} running, {} ready, {} failed",
        text(value, "/project"),
        count("completed"),
        count("in_progress"),
        count("ready"),
        count("failed")
    )
}
