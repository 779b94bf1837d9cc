//! Finds the plan that belongs to a state file: the one it names, or a usual one, unless nearly
//! none of its tasks is in it.

use super::{PlanFile, find_plan};
use crate::files::FileNotice;
use crate::words::display_path;
use bowline_formats::json::JsonDocument;
use bowline_formats::orchestrate::{OrchestrationFacts, plan_file, read_facts};
use bowline_words::message as words;
use std::collections::{BTreeSet, HashSet};
use std::path::Path;

/// Fewest tasks that tell plans apart.
const TASKS_MIN: usize = 3;
/// At least one in so many tasks of a state file is in its own plan.
const SHARE_MIN: usize = 10;

/// Returns the plan of a state file if it exists, can be read, and belongs to it.
pub(super) fn find_own_plan(root: &Path, document: &JsonDocument) -> Option<PlanFile> {
    let plan = find_plan(root, plan_file(document.value())).ok().flatten();
    plan.filter(|plan| foreign_tasks(&named_tasks(document), plan).is_none())
}

/// Returns notices about the plan of a state file: the named one is missing, or the one found has
/// other tasks.
pub(crate) fn plan_notices(root: &Path, document: &JsonDocument) -> Vec<FileNotice> {
    let named = plan_file(document.value());
    let missing = named.filter(|name| !root.join(name).exists());
    let missing = missing.map(|name| FileNotice::Keeper {
        code: "plan_not_there",
        words: words::Notice::PlanNotThere { path: name.into() },
    });
    let plan = find_plan(root, named).ok().flatten();
    let other = plan.and_then(|plan| {
        let foreign = foreign_tasks(&named_tasks(document), &plan)?;
        let path = display_path(plan.path.strip_prefix(root).unwrap_or(&plan.path));
        Some(FileNotice::Keeper {
            code: "another_plan",
            words: words::Notice::AnotherPlan { path, foreign },
        })
    });
    missing.into_iter().chain(other).collect()
}

/// Returns the ids of the tasks that a state file names.
fn named_tasks(document: &JsonDocument) -> BTreeSet<String> {
    let Ok(read) = read_facts(document) else {
        return BTreeSet::new();
    };
    let OrchestrationFacts { nodes, facts } = read.state;
    let claimed = facts.claims.iter().map(|(id, _)| id.to_string());
    let all = nodes.iter().map(|node| node.id.to_string());
    all.chain(claimed).collect()
}

/// Returns the number of tasks that are not in a plan, if nearly all are not. An id may also stand
/// there without its phase, as the name of a group, or in its text.
fn foreign_tasks(ids: &BTreeSet<String>, plan: &PlanFile) -> Option<usize> {
    let file = &plan.file;
    let tasks = file.tasks.iter().map(|task| task.id.as_str());
    let groups = file.groups.iter().map(|group| group.id.as_str());
    let words = plan
        .text
        .split(|it: char| !(it.is_alphanumeric() || "-_.".contains(it)));
    let words = words.map(|word| word.trim_matches(['-', '_', '.']));
    let named = tasks.clone().chain(groups).chain(words);
    let mut known: HashSet<&str> = named.collect();
    known.extend(tasks.filter_map(without_phase));
    let is_there = |id: &&String| {
        let short = without_phase(id);
        known.contains(id.as_str()) || short.is_some_and(|short| known.contains(short))
    };
    let there = ids.iter().filter(is_there).count();
    let foreign = ids.len() >= TASKS_MIN && there * SHARE_MIN <= ids.len();
    foreign.then(|| ids.len() - there)
}

/// Returns the part of an id after its phase: `T1.2` of `P1-T1.2`.
fn without_phase(id: &str) -> Option<&str> {
    let (_, short) = id.rsplit_once('-')?;
    let digit = short.contains(|it: char| it.is_ascii_digit());
    (digit && short.starts_with(char::is_alphabetic)).then_some(short)
}
