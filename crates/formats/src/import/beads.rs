//! Imports `issues.jsonl` of beads: one issue per line.

use super::{ImportDraft, ImportError, PlanImport, TaskDraft, is_over, status_word, text};
use crate::tasks_md::TaskProgress;
use bowline_words::message::Unplaced;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Fields that are kept as text.
const KEPT: [&str; 13] = [
    "priority",
    "issue_type",
    "labels",
    "external_ref",
    "estimated_minutes",
    "due_at",
    "defer_until",
    "description",
    "design",
    "acceptance_criteria",
    "notes",
    "comments",
    "close_reason",
];
/// Fields that are mapped to fields of a plan.
const PLACED: [&str; 5] = ["id", "title", "status", "dependencies", "assignee"];

/// Imports `issues.jsonl`.
///
/// # Errors
/// Fails with [`ImportError`] if no line is an issue.
pub fn import_beads(jsonl: &str) -> Result<PlanImport, ImportError> {
    let mut found = ImportDraft::default();
    let mut issues: Vec<(String, Map<String, Value>)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    let (mut gone, mut left): (HashSet<String>, BTreeMap<String, usize>) = Default::default();
    for (at, line) in jsonl.trim_start_matches('\u{feff}').lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let issue = match serde_json::from_str(line) {
            Ok(Value::Object(issue)) => issue,
            Ok(_) | Err(_) => Map::new(),
        };
        let Some(id) = issue
            .get("id")
            .map(text::text_of_value)
            .filter(|it| !it.is_empty())
        else {
            let line = at + 1;
            found.unplaced.push(Unplaced::LineUnread { line });
            continue;
        };
        let status = issue
            .get("status")
            .map(text::text_of_value)
            .unwrap_or_default();
        if ["tombstone", "deleted"].contains(&status.to_ascii_lowercase().as_str()) {
            found.unplaced.push(Unplaced::Deleted { id: id.clone() });
            gone.insert(id);
            continue;
        }
        match places.get(&id) {
            // The later line is the newer one.
            Some(&place) => {
                found.unplaced.push(Unplaced::LaterLineCounts {
                    id: id.clone(),
                    line: at + 1,
                });
                issues[place].1 = issue;
            }
            None => {
                places.insert(id.clone(), issues.len());
                issues.push((id, issue));
            }
        }
    }
    let links = collect_links(&issues);
    let mut parents: HashMap<&str, &str> = HashMap::new();
    let mut children: HashMap<&str, Vec<&str>> = HashMap::new();
    for link in links.iter().filter(|link| link.sort == "parent-child") {
        if places.contains_key(&link.from) && places.contains_key(&link.to) {
            parents.insert(&link.from, &link.to);
            children.entry(&link.to).or_default().push(&link.from);
        }
    }
    let mut named_by: HashMap<&str, Vec<&IssueLink>> = HashMap::new();
    for link in &links {
        named_by.entry(&link.from).or_default().push(link);
    }
    let links_of = |id: &str| named_by.get(id).into_iter().flatten().copied();
    let epic = |id: &str| {
        let issue = places.get(id).map(|&at| &issues[at].1);
        issue.is_some_and(|it| it.get("issue_type").and_then(Value::as_str) == Some("epic"))
            && children.contains_key(id)
    };
    for (id, issue) in &issues {
        let mut draft = TaskDraft {
            key: id.clone(),
            title: issue
                .get("title")
                .map(text::text_of_value)
                .unwrap_or_default(),
            assignee: issue.get("assignee").map(text::text_of_value),
            ..TaskDraft::default()
        };
        draft.assignee = draft.assignee.filter(|who| !who.is_empty());
        set_draft_progress(&mut draft, issue, &mut found);
        for link in links_of(id) {
            match link.sort.as_str() {
                "blocks" if gone.contains(&link.to) => {}
                "blocks" => draft.needs.push(link.to.clone()),
                "parent-child" => {
                    let parent = places.get(&link.to).map(|&at| &issues[at].1);
                    let title = parent
                        .and_then(|it| it.get("title"))
                        .map(text::text_of_value);
                    let title = title.unwrap_or_default();
                    draft.keep_value("parent", &format!("{} {title}", link.to));
                }
                sort => {
                    draft.keep_value(sort, &link.to);
                    found.unplaced.push(Unplaced::LinkInText {
                        id: id.clone(),
                        link: sort.to_owned(),
                        other: link.to.clone(),
                    });
                }
            }
        }
        // The blockers of an epic block its issues too.
        let (mut above, mut seen) = (parents.get(id.as_str()), HashSet::new());
        while let Some(parent) = above.filter(|parent| epic(parent) && seen.insert(**parent)) {
            let needs = links_of(parent).filter(|it| it.sort == "blocks");
            draft.follows.extend(needs.map(|it| it.to.clone()));
            above = parents.get(parent);
        }
        for name in KEPT {
            let value = issue.get(name).map(text::text_of_value).unwrap_or_default();
            found.keep_field(&mut draft, name, &value);
        }
        for name in issue.keys().map(String::as_str) {
            if !KEPT.contains(&name) && !PLACED.contains(&name) {
                *left.entry(name.to_owned()).or_default() += 1;
            }
        }
        if !epic(id) {
            found.drafts.push(draft);
            continue;
        }
        let parts = children.get(id.as_str()).cloned().unwrap_or_default();
        found.unplaced.push(Unplaced::Grouped {
            id: id.clone(),
            title: text::one_line(&draft.title),
            parts: parts.len(),
        });
        if draft.progress == TaskProgress::Done {
            let open = parts
                .iter()
                .filter(|part| !is_closed(&issues, &places, part))
                .count();
            found.done_with_open_parts(id, open);
        }
        let head = format!("{id}: {}\n", text::one_line(&draft.title));
        found.preface.push_str(&format!("{head}{}\n", draft.text));
        let parts = parts.into_iter().map(str::to_owned);
        found.groups.insert(id.clone(), parts.collect());
    }
    let left = left.into_iter();
    let left = left.map(|(name, tasks)| Unplaced::FieldLeftOut { name, tasks });
    found.unplaced.extend(left);
    if issues.is_empty() && gone.is_empty() {
        return Err(ImportError::NotIts(String::new()));
    }
    found.into_plan()
}

fn is_closed(
    issues: &[(String, Map<String, Value>)],
    places: &HashMap<String, usize>,
    id: &str,
) -> bool {
    let status = places.get(id).and_then(|&at| issues[at].1.get("status"));
    let word = status.and_then(Value::as_str).unwrap_or_default();
    progress_of(word) == TaskProgress::Done
}

/// A dependency record from one issue to another.
struct IssueLink {
    from: String,
    to: String,
    sort: String,
}

fn collect_links(issues: &[(String, Map<String, Value>)]) -> Vec<IssueLink> {
    let mut links = Vec::new();
    for (id, issue) in issues {
        let list = issue.get("dependencies").and_then(Value::as_array);
        for one in list.into_iter().flatten() {
            let name = |key: &str| {
                one.get(key)
                    .map(text::text_of_value)
                    .filter(|it| !it.is_empty())
            };
            let to = match one {
                Value::String(to) => Some(to.clone()),
                _ => name("depends_on_id"),
            };
            if let Some(to) = to {
                links.push(IssueLink {
                    from: name("issue_id").unwrap_or_else(|| id.clone()),
                    to,
                    sort: name("type").unwrap_or_else(|| "blocks".into()),
                });
            }
        }
    }
    links
}

fn set_draft_progress(draft: &mut TaskDraft, issue: &Map<String, Value>, found: &mut ImportDraft) {
    let status = issue
        .get("status")
        .map(text::text_of_value)
        .unwrap_or_default();
    draft.progress = progress_of(&status);
    if matches!(status.as_str(), "" | "open" | "in_progress" | "closed") {
        return;
    }
    draft.keep_value("status", &status);
    let id = draft.key.clone();
    let done = draft.progress == TaskProgress::Done;
    found.unplaced.push(match done {
        true => Unplaced::CountsAsDone { id, status },
        false => Unplaced::StatusInText { id, status },
    });
}

/// Maps a status word to the progress of an issue. A task that was given up counts as done, since
/// nothing waits for it.
fn progress_of(status: &str) -> TaskProgress {
    match status_word(status).as_str() {
        "in_progress" | "started" | "doing" | "active" | "review" | "in_review" | "hooked" => {
            TaskProgress::InProgress
        }
        _ if is_over(status) => TaskProgress::Done,
        _ => TaskProgress::Open,
    }
}
