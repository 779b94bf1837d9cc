//! Imports Backlog.md: one Markdown file with front matter per task.

use super::{ImportDraft, ImportError, PlanImport, TaskDraft, is_over, text};
use crate::tasks_md::TaskProgress;
use bowline_words::message::Unplaced;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};

/// Status words of a done task, whatever a project calls its columns.
const DONE: [&str; 4] = ["done", "complete", "completed", "closed"];
/// Keys of the front matter that are mapped to fields of a plan.
const PLACED: [&str; 8] = [
    "id",
    "title",
    "status",
    "assignee",
    "dependencies",
    "depends_on",
    "parent",
    "parent_task_id",
];

/// A file of the backlog folder.
#[derive(Debug, Clone)]
pub struct BacklogFile {
    /// File name, used in notes about it.
    pub name: String,
    pub text: String,
    /// True if the file is in the folder of completed tasks.
    pub completed: bool,
}

/// Imports the files of a backlog; `config` is the text of its `config.yml`.
///
/// # Errors
/// Fails with [`ImportError`] if none of the files is a task.
pub fn import_backlog(
    pages: &[BacklogFile],
    config: Option<&str>,
) -> Result<PlanImport, ImportError> {
    let config: BTreeMap<String, Value> = config
        .and_then(|text| serde_saphyr::from_str(text).ok())
        .unwrap_or_default();
    let mut found = ImportDraft {
        project: config.get("project_name").map(text::text_of_value),
        ..ImportDraft::default()
    };
    let columns = config.get("statuses").and_then(Value::as_array);
    // Tasks end in the last column of a board.
    let last = columns.and_then(|it| it.last()).map(text::text_of_value);
    let mut entries: Vec<BacklogTask> = Vec::new();
    for page in pages {
        match BacklogTask::parse(page) {
            Some(entry) => entries.push(entry),
            None => found.unplaced.push(Unplaced::FileUnread {
                name: page.name.clone(),
            }),
        }
    }
    entries.sort_by_cached_key(|entry| natural_sort_key(&entry.id));
    let mut names: HashMap<String, String> = HashMap::new();
    for entry in &mut entries {
        let again = names.contains_key(&entry.id.to_lowercase());
        if again {
            let new = (2..).map(|number| format!("{}-{number}", entry.id));
            let free = new
                .into_iter()
                .find(|it| !names.contains_key(&it.to_lowercase()));
            let new = free.unwrap_or_default();
            found.unplaced.push(Unplaced::IdTwice {
                id: entry.id.clone(),
                new: new.clone(),
            });
            entry.id = new;
        }
        names.insert(entry.id.to_lowercase(), entry.id.clone());
    }
    let prefix = entries.first().and_then(|it| it.id.rsplit_once('-'));
    let prefix = prefix.map(|(prefix, _)| format!("{prefix}-").to_lowercase());
    // A bare number means the task of that number; letters match in either case.
    let meant = |name: &str| {
        let name = name.trim().trim_start_matches(['#', '@']);
        let whole = names.get(&name.to_lowercase());
        let bare = || names.get(&format!("{}{}", prefix.as_deref()?, name.to_lowercase()));
        whole
            .or_else(bare)
            .cloned()
            .unwrap_or_else(|| name.to_owned())
    };
    let parents: Vec<Option<String>> = entries
        .iter()
        .map(|entry| entry.parent.as_deref().map(meant))
        .collect();
    let needs: Vec<Vec<String>> = entries
        .iter()
        .map(|entry| entry.needs.iter().map(|it| meant(it)).collect())
        .collect();
    let place: HashMap<&str, usize> = entries
        .iter()
        .enumerate()
        .map(|(at, entry)| (entry.id.as_str(), at))
        .collect();
    for (at, entry) in entries.iter().enumerate() {
        let mut draft = TaskDraft {
            key: entry.id.clone(),
            title: entry.title.clone(),
            assignee: entry.assignee.clone(),
            needs: needs[at].clone(),
            ..TaskDraft::default()
        };
        set_draft_progress(&mut draft, entry, last.as_deref(), &mut found);
        if let Some(parent) = parents[at].as_deref() {
            draft.keep_value("parent", parent);
            // A subtask that waits for no sibling can start when its parent could.
            let beside = |it: &String| {
                let other = place
                    .get(it.as_str())
                    .and_then(|&at| parents[at].as_deref());
                other == Some(parent)
            };
            if !draft.needs.iter().any(beside)
                && let Some(&above) = place.get(parent)
            {
                draft.follows.extend(needs[above].iter().cloned());
            }
        }
        let parts = (0..entries.len()).filter(|it| parents[*it].as_deref() == Some(&*entry.id));
        let parts: Vec<usize> = parts.collect();
        // A subtask that needs its parent comes after it.
        let first = parts.iter().filter(|&&it| !needs[it].contains(&entry.id));
        draft
            .follows
            .extend(first.map(|&it| entries[it].id.clone()));
        let open = parts.iter().filter(|&&it| {
            let mut part = TaskDraft::default();
            set_draft_progress(
                &mut part,
                &entries[it],
                last.as_deref(),
                &mut ImportDraft::default(),
            );
            part.progress != TaskProgress::Done
        });
        let open = open.count();
        if draft.progress == TaskProgress::Done {
            found.done_with_open_parts(&entry.id, open);
        }
        for (name, value) in &entry.rest {
            found.keep_field(&mut draft, name, &text::text_of_value(value));
        }
        draft.keep_value("task", &entry.body);
        found.drafts.push(draft);
    }
    found.into_plan()
}

fn set_draft_progress(
    draft: &mut TaskDraft,
    entry: &BacklogTask,
    last: Option<&str>,
    found: &mut ImportDraft,
) {
    let status = entry.status.to_lowercase();
    let done = entry.completed
        || is_over(&status)
        || last.is_some_and(|last| last.to_lowercase() == status);
    draft.progress = match status.as_str() {
        _ if done => TaskProgress::Done,
        "in progress" | "in-progress" | "doing" | "review" | "in review" => {
            TaskProgress::InProgress
        }
        _ => TaskProgress::Open,
    };
    let plain = ["", "to do", "todo", "in progress"].contains(&status.as_str());
    if !plain && !DONE.contains(&status.as_str()) {
        draft.keep_value("status", &entry.status);
        let (id, status) = (draft.key.clone(), entry.status.clone());
        found.unplaced.push(match done {
            true => Unplaced::CountsAsDone { id, status },
            false => Unplaced::StatusInText { id, status },
        });
    }
}

struct BacklogTask {
    id: String,
    title: String,
    status: String,
    assignee: Option<String>,
    needs: Vec<String>,
    parent: Option<String>,
    rest: BTreeMap<String, Value>,
    body: String,
    completed: bool,
}

impl BacklogTask {
    fn parse(page: &BacklogFile) -> Option<BacklogTask> {
        let clean = text::clean_text(page.text.trim_start_matches('\u{feff}'));
        let inside = clean.strip_prefix("---")?.trim_start_matches([' ', '\t']);
        let inside = inside.strip_prefix('\n')?;
        let end = inside
            .find("\n---")
            .map_or_else(|| inside.starts_with("---").then_some(0), |at| Some(at + 1))?;
        let (front, body) = inside.split_at(end);
        let body = body.trim_start_matches('-');
        let map: BTreeMap<String, Value> = serde_saphyr::from_str(front).ok()?;
        let one = |name: &str| {
            map.get(name)
                .map(text::text_of_value)
                .filter(|it| !it.is_empty())
        };
        let list = |name: &str| match map.get(name) {
            Some(Value::Array(list)) => list.iter().map(text::text_of_value).collect(),
            Some(Value::String(text)) => text.split(',').map(|it| it.trim().to_owned()).collect(),
            Some(other) => vec![text::text_of_value(other)],
            None => Vec::new(),
        };
        let mut needs: Vec<String> = list("dependencies");
        needs.extend(list("depends_on"));
        needs.retain(|it| !it.is_empty());
        let people: Vec<String> = list("assignee");
        let people: Vec<&str> = people.iter().map(|it| it.trim_start_matches('@')).collect();
        let people = people.join(" + ");
        let markers = |line: &&str| {
            let line = line.trim();
            !(line.starts_with("<!--") && line.ends_with("-->"))
        };
        let body: Vec<&str> = body.lines().filter(markers).collect();
        let body = body.join("\n");
        let mut rest = map.clone();
        rest.retain(|name, _| !PLACED.contains(&name.as_str()));
        Some(BacklogTask {
            id: one("id")?.trim().to_owned(),
            title: one("title").unwrap_or_default(),
            status: one("status").unwrap_or_default(),
            assignee: Some(people).filter(|it| !it.is_empty()),
            needs,
            parent: one("parent_task_id").or_else(|| one("parent")),
            rest,
            body,
            completed: page.completed,
        })
    }
}

/// Sort key that orders `task-2` before `task-10`.
fn natural_sort_key(id: &str) -> Vec<(bool, u64, String)> {
    let mut parts = Vec::new();
    let mut rest = id;
    while let Some(first) = rest.chars().next() {
        let digit = first.is_ascii_digit();
        let end = rest
            .find(|c: char| c.is_ascii_digit() != digit)
            .unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        let number = part.parse().unwrap_or(u64::MAX);
        parts.push((!digit, if digit { number } else { 0 }, part.to_lowercase()));
        rest = after;
    }
    parts
}
