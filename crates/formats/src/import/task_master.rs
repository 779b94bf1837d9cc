//! Imports `tasks.json` of task-master: tags with tasks, and tasks with subtasks.

use super::{ImportDraft, ImportError, PlanImport, TaskDraft, is_over, text};
use crate::tasks_md::TaskProgress;
use bowline_words::message::Unplaced;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Maximum nesting of subtasks.
const DEPTH_MAX: usize = 16;
/// The tag that is current if none is named.
const MASTER: &str = "master";
/// Fields that are mapped to fields of a plan.
const PLACED: [&str; 7] = [
    "id",
    "title",
    "status",
    "dependencies",
    "subtasks",
    "assignee",
    "parentTaskId",
];

type RawMembers = BTreeMap<String, Box<RawValue>>;

/// Reads the current tag from task-master's own state file.
pub fn current_tag(state: &str) -> Option<String> {
    let state: Value = serde_json::from_str(state).ok()?;
    state["currentTag"].as_str().map(str::to_owned)
}

/// Imports `tasks.json`. Tasks of the current tag keep their ids; those of other tags get the tag
/// as a prefix, because ids start again in every tag.
///
/// # Errors
/// Fails with [`ImportError`] if it is not such a file, or has no tasks.
pub fn task_master(json: &str, current: Option<&str>) -> Result<PlanImport, ImportError> {
    let json = json.trim_start_matches('\u{feff}');
    let value: Value =
        serde_json::from_str(json).map_err(|error| ImportError::NotIts(error.to_string()))?;
    let root: RawMembers =
        serde_json::from_str(json).map_err(|error| ImportError::NotIts(error.to_string()))?;
    let Value::Object(map) = &value else {
        return Err(ImportError::NotIts(String::new()));
    };
    // `map` keeps the order of the file, `RawMembers` does not.
    let mut tags: Vec<(String, Vec<RawMembers>)> = Vec::new();
    let mut odd = 0;
    for (name, member) in map {
        let raw = &root[name];
        if name == "tasks" && member.is_array() {
            let (list, left) = list_objects(raw);
            tags.push((String::new(), list));
            odd += left;
        } else if member["tasks"].is_array() {
            let inside: RawMembers = serde_json::from_str(raw.get()).unwrap_or_default();
            let (list, left) = inside
                .get("tasks")
                .map_or((Vec::new(), 0), |it| list_objects(it));
            tags.push((name.clone(), list));
            odd += left;
        }
    }
    if tags.is_empty() {
        return Err(ImportError::NotIts(String::new()));
    }
    let known = |name: &str| tags.iter().any(|(tag, _)| tag == name);
    let bare = current.filter(|it| known(it)).map(str::to_owned);
    let bare = bare.or_else(|| known(MASTER).then(|| MASTER.to_owned()));
    let bare = bare.unwrap_or_else(|| tags[0].0.clone());
    let mut found = ImportDraft {
        project: project_of(&value),
        ..ImportDraft::default()
    };
    if odd > 0 {
        found.unplaced.push(Unplaced::NotATask { count: odd });
    }
    let mut prefixes = HashSet::new();
    for (tag, list) in &tags {
        let prefix = match *tag == bare {
            true => String::new(),
            false => prefix_of(tag, &mut prefixes),
        };
        let mut reader = TagImporter {
            name: tag,
            prefix,
            found: &mut found,
            known: HashSet::new(),
        };
        reader.collect_known_ids(list, "", 0);
        reader.import_tasks(list, "", &[], 0);
    }
    found.into_plan()
}

fn project_of(value: &Value) -> Option<String> {
    let places = ["/metadata/projectName", "/meta/projectName", "/projectName"];
    let name = places.iter().find_map(|it| value.pointer(it)?.as_str());
    name.map(str::to_owned)
}

/// Returns a free id prefix for a tag.
fn prefix_of(tag: &str, taken: &mut HashSet<String>) -> String {
    let mut plain = text::hyphenate_words(tag);
    if plain.is_empty() {
        plain = "tag".to_owned();
    }
    let more = (2..).map(|number| format!("{plain}-{number}-"));
    let mut all = std::iter::once(format!("{plain}-")).chain(more);
    let free = all.find(|it| taken.insert(it.clone()));
    free.unwrap_or_default()
}

/// Returns the objects of a list, and the number of its other elements.
fn list_objects(raw: &RawValue) -> (Vec<RawMembers>, usize) {
    let list: Vec<Box<RawValue>> = serde_json::from_str(raw.get()).unwrap_or_default();
    let all = list.len();
    let list: Vec<RawMembers> = list
        .iter()
        .filter_map(|it| serde_json::from_str(it.get()).ok())
        .collect();
    let left = all - list.len();
    (list, left)
}

/// Reads a name given as text or as a number. A number keeps its digits: `2.10` is not `2.1`.
fn name_text(raw: &RawValue) -> Option<String> {
    match serde_json::from_str(raw.get()).ok()? {
        Value::String(text) => Some(text.trim().to_owned()).filter(|it| !it.is_empty()),
        Value::Number(_) => Some(raw.get().to_owned()),
        _ => None,
    }
}

fn member_value(entry: &RawMembers, name: &str) -> Value {
    let raw = entry.get(name);
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok())
        .unwrap_or_default()
}

fn subtask_list(entry: &RawMembers) -> (Vec<RawMembers>, usize) {
    entry
        .get("subtasks")
        .map_or((Vec::new(), 0), |it| list_objects(it))
}

/// Returns the name of a task within its parent: the id of a subtask may be prefixed with the
/// parent's id.
fn local_id(entry: &RawMembers, parent: &str, at: usize) -> String {
    let id = entry.get("id").and_then(|raw| name_text(raw));
    let id = id.unwrap_or_else(|| (at + 1).to_string());
    let own = id.strip_prefix(parent).and_then(|it| it.strip_prefix('.'));
    own.filter(|_| !parent.is_empty())
        .map_or(id.clone(), str::to_owned)
}

fn join_ids(parent: &str, local: &str) -> String {
    match parent.is_empty() {
        true => local.to_owned(),
        false => format!("{parent}.{local}"),
    }
}

/// Importer of one tag.
struct TagImporter<'f> {
    name: &'f str,
    prefix: String,
    found: &'f mut ImportDraft,
    /// Every id of the tag, without the prefix.
    known: HashSet<String>,
}

impl TagImporter<'_> {
    fn collect_known_ids(&mut self, list: &[RawMembers], parent: &str, depth: usize) {
        for (at, entry) in list.iter().enumerate() {
            let id = join_ids(parent, &local_id(entry, parent, at));
            if depth < DEPTH_MAX {
                self.collect_known_ids(&subtask_list(entry).0, &id, depth + 1);
            }
            self.known.insert(id);
        }
    }

    /// Resolves a dependency to a task: for a subtask, its siblings first.
    fn resolve_need(&self, name: &str, parent: &str) -> String {
        let beside = join_ids(parent, name);
        let found = match self.known.contains(&beside) {
            true => &beside,
            false => name,
        };
        format!("{}{found}", self.prefix)
    }

    fn import_tasks(
        &mut self,
        list: &[RawMembers],
        parent: &str,
        inherited: &[String],
        depth: usize,
    ) {
        let mut names: HashMap<String, usize> = HashMap::new();
        for (at, entry) in list.iter().enumerate() {
            let id = join_ids(parent, &local_id(entry, parent, at));
            let again = names.entry(id.clone()).or_default();
            *again += 1;
            let mut draft = TaskDraft {
                key: format!("{}{id}", self.prefix),
                title: text::text_of_value(&member_value(entry, "title")),
                ..TaskDraft::default()
            };
            if *again > 1 {
                draft.key = format!("{}-{again}", draft.key);
                self.found.unplaced.push(Unplaced::IdTwice {
                    id: format!("{}{id}", self.prefix),
                    new: draft.key.clone(),
                });
            }
            self.set_draft_progress(&mut draft, entry);
            let who = text::text_of_value(&member_value(entry, "assignee"));
            draft.assignee = Some(who).filter(|who| !who.is_empty());
            self.import_needs(&mut draft, entry, parent);
            if !self.prefix.is_empty() && !self.name.is_empty() {
                draft.keep_value("tag", self.name);
            }
            self.keep_other_fields(&mut draft, entry);
            // A subtask that waits for no sibling can start when its parent could.
            let beside = |need: &String| {
                let inside = need.strip_prefix(&self.prefix).unwrap_or(need);
                !parent.is_empty() && inside.starts_with(&format!("{parent}."))
            };
            if !draft.needs.iter().any(beside) {
                draft.follows.extend(inherited.iter().cloned());
            }
            let (inner, odd) = subtask_list(entry);
            if odd > 0 {
                self.found.unplaced.push(Unplaced::NotATask { count: odd });
            }
            let mut before = draft.needs.clone();
            before.extend(draft.follows.iter().cloned());
            let key = draft.key.clone();
            let done = draft.progress == TaskProgress::Done;
            // A task is done after its subtasks.
            for (at, part) in inner.iter().enumerate() {
                let name = join_ids(&id, &local_id(part, &id, at));
                draft.follows.push(format!("{}{name}", self.prefix));
            }
            self.found.drafts.push(draft);
            if depth >= DEPTH_MAX || inner.is_empty() {
                continue;
            }
            let first = self.found.drafts.len();
            self.import_tasks(&inner, &id, &before, depth + 1);
            let new = &self.found.drafts[first..];
            let open = new
                .iter()
                .filter(|it| it.progress != TaskProgress::Done)
                .count();
            if done {
                self.found.done_with_open_parts(&key, open);
            }
        }
    }

    fn set_draft_progress(&mut self, draft: &mut TaskDraft, entry: &RawMembers) {
        let status = text::text_of_value(&member_value(entry, "status"));
        let (progress, needs_note) = match status.to_ascii_lowercase().as_str() {
            "" | "pending" => (TaskProgress::Open, false),
            "in-progress" | "in_progress" => (TaskProgress::InProgress, false),
            "review" => (TaskProgress::InProgress, true),
            "done" | "completed" => (TaskProgress::Done, false),
            _ if is_over(&status) => (TaskProgress::Done, true),
            _ => (TaskProgress::Open, true),
        };
        draft.progress = progress;
        if needs_note {
            draft.keep_value("status", &status);
            let id = draft.key.clone();
            self.found.unplaced.push(match progress {
                TaskProgress::Done => Unplaced::CountsAsDone { id, status },
                TaskProgress::Open | TaskProgress::InProgress => {
                    Unplaced::StatusInText { id, status }
                }
            });
        }
    }

    fn import_needs(&mut self, draft: &mut TaskDraft, entry: &RawMembers, parent: &str) {
        let raw = entry.get("dependencies");
        let list: Vec<Box<RawValue>> = raw
            .and_then(|raw| serde_json::from_str(raw.get()).ok())
            .unwrap_or_default();
        for name in list.iter().filter_map(|raw| name_text(raw)) {
            let need = self.resolve_need(&name, parent);
            let whole = need.strip_prefix(&self.prefix) == Some(parent) && !parent.is_empty();
            match whole {
                // A subtask cannot wait for the parent that waits for it.
                true => self.found.unplaced.push(Unplaced::OrderLeftOut {
                    id: draft.key.clone(),
                    other: need,
                }),
                false => draft.needs.push(need),
            }
        }
    }

    fn keep_other_fields(&mut self, draft: &mut TaskDraft, entry: &RawMembers) {
        let first = ["priority", "description", "details", "testStrategy"];
        let rest = entry.keys().map(String::as_str);
        let rest = rest.filter(|name| !first.contains(name) && !PLACED.contains(name));
        for name in first.into_iter().chain(rest) {
            let value = text::text_of_value(&member_value(entry, name));
            self.found.keep_field(draft, name, &value);
        }
    }
}
