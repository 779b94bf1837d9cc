//! Builds the prompt of a task's next attempt.

use super::task_record::TaskRecord;
use crate::core::retry::{PromptDetail, RetryDecision, next_attempt};
use crate::core::text::{first_chars, last_chars};
use bowline_engine::formats::orchestrate::RunMode;
use bowline_engine::formats::tasks_md::wire::TaskRequest;
use bowline_engine::formats::tasks_md::{PlanTask, TaskId, TasksFile};
use bowline_engine::machines::orchestrate::{NodeStatus, OrchestrationState};
use std::path::Path;

/// Maximum length of an earlier error in the prompt; its end is kept.
const ERROR_CHARS_MAX: usize = 2_000;
/// Maximum length of a task's text in the prompt.
const BODY_CHARS_MAX: usize = 20_000;
/// Maximum number of completed tasks that a prompt names.
const DONE_MAX: usize = 40;

/// Inputs of a prompt.
#[derive(Debug, Clone, Copy)]
pub(super) struct PromptInputs<'a> {
    pub(super) project: &'a str,
    pub(super) id: &'a str,
    pub(super) plan: Option<(&'a TasksFile, &'a str)>,
    pub(super) run: &'a OrchestrationState,
    pub(super) worktree: &'a Path,
    /// The worktree belongs to this task alone.
    pub(super) alone: bool,
    pub(super) mode: RunMode,
    pub(super) promise: &'a str,
    pub(super) note: &'a TaskRecord,
}

/// Builds the prompt of the next attempt.
pub(super) fn build_prompt(facts: &PromptInputs<'_>) -> String {
    let mut out = String::new();
    let mut add = |text: &str| {
        out.push_str(text);
        out.push('\n');
    };
    let id = facts.id;
    let task = facts.plan.and_then(|(file, _)| file.task(id));
    if facts.mode == RunMode::UltraThin {
        add(&task_request(facts));
    } else {
        let title = task.map_or("", |task| &task.title);
        add(&format!("Project {}: task {id}: {title}", facts.project));
    }
    if let Some((task, (file, text))) = task.zip(facts.plan) {
        if let Some(who) = &task.assignee {
            add(&format!("You work as {who}."));
        }
        let body = text.get(task.body.clone()).unwrap_or_default().trim();
        if facts.mode == RunMode::UltraThin {
            add(&format!("{id}: {}", task.title));
        }
        if !body.is_empty() {
            add("");
            add(&first_chars(body, BODY_CHARS_MAX));
        }
        if facts.mode != RunMode::UltraThin {
            let phase = file.phases.iter().find(|phase| phase.number == task.phase);
            let heading = phase.map_or("", |phase| &phase.title);
            add("");
            add(&format!("It belongs to phase {} {heading}", task.phase));
            if let Some(done) = done_before(facts.run, file, task) {
                add(&done);
            }
            if !task.dependencies.is_empty() {
                let needs: Vec<&str> = task.dependencies.iter().map(TaskId::as_str).collect();
                add(&format!("It builds on {}", needs.join(", ")));
            }
        }
    }
    add("");
    let room = facts.worktree.display();
    add(&match facts.alone {
        true => format!(
            "Work only in {room}, which is a worktree of your own. What you leave uncommitted is committed for you. Do not tick \
             the plan, switch branches, merge or push."
        ),
        false => format!("Work only in {room}; others may work there too. Do not tick the plan."),
    });
    add_failures(facts.note, &mut add);
    add(&format!(
        "End with one line, and nothing behind it: DONE:{id} when it is done, or FAIL:{id}:reason in at most 100 characters."
    ));
    if facts.mode == RunMode::Ralph {
        add(&format!(
            "Print {} when, and only when, everything of this task is done and checked; you are asked again until then.",
            facts.promise
        ));
    }
    out
}

/// Lists the tasks completed before this one; of many, those nearest above it in the plan.
fn done_before(run: &OrchestrationState, file: &TasksFile, task: &PlanTask) -> Option<String> {
    let all = run.count_status(NodeStatus::Completed);
    let done = |it: &&PlanTask| {
        let node = run.find_node(it.id.as_str());
        node.is_some_and(|node| node.status == NodeStatus::Completed)
    };
    let place = file.tasks.partition_point(|it| it.line < task.line);
    let (above, below) = file.tasks.split_at(place);
    let near = above.iter().rev().chain(below).filter(done);
    let near: Vec<&str> = near
        .take(all.min(DONE_MAX))
        .map(|it| it.id.as_str())
        .collect();
    let names = near.join(", ");
    match all - near.len() {
        _ if near.is_empty() => None,
        0 => Some(format!("Done before: {names}")),
        more => Some(format!("Done before: {names} and {more} more")),
    }
}

/// Describes the failures of earlier attempts, in as much detail as the retry policy asks for.
fn add_failures(note: &TaskRecord, add: &mut impl FnMut(&str)) {
    let marked = note.merge && !note.renewed;
    if let Some(hunks) = note.hunks.as_deref().filter(|_| marked) {
        add("");
        add(
            "Your work does not fit to what landed before it. The conflicts are marked in your worktree: resolve them there, keep \
             what both sides meant, and take the marks away.",
        );
        add(hunks);
    }
    if note.renewed {
        add("");
        add(
            "Your worktree is new. What the earlier one held is kept: `git for-each-ref refs/bowline/rescue refs/bowline/task` lists \
             it.",
        );
    }
    let Some(last) = note.failures.last() else {
        return;
    };
    let errors = note.failures.iter().map(|failure| failure.error.as_str());
    add("");
    match next_attempt(errors) {
        RetryDecision::Retry(PromptDetail::Plain) => {
            add("An earlier attempt failed with:");
            add(&last_chars(&last.error, ERROR_CHARS_MAX));
        }
        RetryDecision::Retry(PromptDetail::Analyse) => {
            add(
                "The same error came twice. Before you change anything, find out why, and write the cause down:",
            );
            add(&last_chars(&last.error, ERROR_CHARS_MAX));
        }
        RetryDecision::Retry(PromptDetail::FullContext) | RetryDecision::GiveUp => {
            add("The same error keeps coming. All that is known of earlier attempts:");
            for failure in &note.failures {
                add(&format!("- attempt {}:", failure.attempt));
                add(&last_chars(&failure.error, ERROR_CHARS_MAX));
            }
            add(
                "Go through it systematically: reproduce it, find the first thing that is wrong, change that alone, and check.",
            );
        }
    }
    add("");
}

fn task_request(facts: &PromptInputs<'_>) -> String {
    let request = TaskId::new(facts.id).ok().map(TaskRequest::new);
    let path = facts.worktree.to_string_lossy();
    let request = request.map(|request| request.clone().with_worktree(&path).unwrap_or(request));
    request.map_or_else(|| format!("TASK_ID:{}", facts.id), |it| it.to_string())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "what is not there fails the test")]

    use super::*;
    use bowline_engine::formats::tasks_md;
    use bowline_engine::machines::Timestamp;
    use bowline_engine::machines::orchestrate::{NodeSpec, RunFacts, TaskGraph};
    use std::sync::Arc;

    #[test]
    fn a_prompt_names_what_was_done_near_its_task_and_stays_short() {
        let lines = (1..=100).map(|number| format!("### [ ] T1.{number}: Work\n"));
        let file = tasks_md::parse_plan(&format!("## Phase 1: All\n{}", lines.collect::<String>()));
        let nodes = file.tasks.iter().map(|task| NodeSpec {
            id: task.id.as_str().into(),
            phase: 1,
            section: 0,
            dependencies: Vec::new(),
        });
        let graph = Arc::new(TaskGraph::new(nodes.collect()).unwrap());
        let rendered = |done: Vec<usize>| {
            let done = done.into_iter();
            let done = done.map(|number| (format!("T1.{number}").into(), NodeStatus::Completed));
            let facts = RunFacts {
                claims: done.collect(),
                ..RunFacts::starting_at(Timestamp(0))
            };
            let run = OrchestrationState::from_facts(graph.clone(), &facts);
            done_before(&run, &file, file.task("T1.50").unwrap())
        };
        assert_eq!(rendered(Vec::new()), None);
        let few = rendered(vec![3, 49, 99]);
        assert_eq!(few.as_deref(), Some("Done before: T1.49, T1.3, T1.99"));
        let many = rendered((1..=100).filter(|number| *number != 50).collect()).unwrap();
        assert!(many.starts_with("Done before: T1.49, T1.48, "), "{many}");
        assert!(many.ends_with(", T1.10 and 59 more"), "{many}");
    }
}
