//! What an agent is told about its task.

use super::note::Note;
use crate::core::ladder::{Rung, Verdict, climb};
use crate::core::text::{begin, end};
use bowline_engine::formats::orchestrate::Mode;
use bowline_engine::formats::tasks_md::wire::TaskRequest;
use bowline_engine::formats::tasks_md::{TaskId, TasksFile};
use std::path::Path;

/// The end of an earlier error that is repeated.
const ERROR_CHARS_MAX: usize = 2_000;
/// The text of a task that is repeated.
const BODY_CHARS_MAX: usize = 20_000;

/// What a prompt is made of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Facts<'a> {
    pub(super) project: &'a str,
    pub(super) id: &'a str,
    pub(super) plan: Option<(&'a TasksFile, &'a str)>,
    pub(super) room: &'a Path,
    /// It is a worktree that nobody else works in.
    pub(super) alone: bool,
    pub(super) mode: Mode,
    pub(super) promise: &'a str,
    pub(super) note: &'a Note,
}

/// The prompt of the next attempt.
pub(super) fn prompt(facts: &Facts<'_>) -> String {
    let mut out = String::new();
    let mut add = |text: &str| {
        out.push_str(text);
        out.push('\n');
    };
    let id = facts.id;
    let task = facts.plan.and_then(|(file, _)| file.task(id));
    if facts.mode == Mode::UltraThin {
        add(&request(facts));
    } else {
        let title = task.map_or("", |task| &task.title);
        add(&format!("Project {}: task {id}: {title}", facts.project));
    }
    if let Some((task, (file, text))) = task.zip(facts.plan) {
        if let Some(who) = &task.assignee {
            add(&format!("You work as {who}."));
        }
        let body = text.get(task.body.clone()).unwrap_or_default().trim();
        if facts.mode == Mode::UltraThin {
            add(&format!("{id}: {}", task.title));
        }
        if !body.is_empty() {
            add("");
            add(&begin(body, BODY_CHARS_MAX));
        }
        if facts.mode != Mode::UltraThin {
            let phase = file.phases.iter().find(|phase| phase.number == task.phase);
            let heading = phase.map_or("", |phase| &phase.title);
            add("");
            add(&format!("It belongs to phase {} {heading}", task.phase));
            let done = file.tasks.iter().filter(|it| it.done);
            let done: Vec<&str> = done.map(|it| it.id.as_str()).collect();
            if !done.is_empty() {
                add(&format!("Done before: {}", done.join(", ")));
            }
            if !task.dependencies.is_empty() {
                let needs: Vec<&str> = task.dependencies.iter().map(TaskId::as_str).collect();
                add(&format!("It builds on {}", needs.join(", ")));
            }
        }
    }
    add("");
    let room = facts.room.display();
    add(&match facts.alone {
        true => format!(
            "Work only in {room}, which is a worktree of your own. What you leave uncommitted is committed for you. Do not tick \
             the plan, switch branches, merge or push."
        ),
        false => format!("Work only in {room}; others may work there too. Do not tick the plan."),
    });
    again(facts.note, &mut add);
    add(&format!(
        "End with one line, and nothing behind it: DONE:{id} when it is done, or FAIL:{id}:reason in at most 100 characters."
    ));
    if facts.mode == Mode::Ralph {
        add(&format!(
            "Print {} when, and only when, everything of this task is done and checked; you are asked again until then.",
            facts.promise
        ));
    }
    out
}

/// What earlier attempts met, as much as the ladder says.
fn again(note: &Note, add: &mut impl FnMut(&str)) {
    if let Some(hunks) = note.hunks.as_deref().filter(|_| note.merge) {
        add("");
        add(
            "Your work does not fit to what landed before it. The conflicts are marked in your worktree: resolve them there, keep \
             what both sides meant, and take the marks away.",
        );
        add(hunks);
    }
    let Some(last) = note.failures.last() else {
        return;
    };
    let errors = note.failures.iter().map(|failure| failure.error.as_str());
    add("");
    match climb(errors) {
        Verdict::Again(Rung::Plain) => {
            add("An earlier attempt failed with:");
            add(&end(&last.error, ERROR_CHARS_MAX));
        }
        Verdict::Again(Rung::Analyse) => {
            add(
                "The same error came twice. Before you change anything, find out why, and write the cause down:",
            );
            add(&end(&last.error, ERROR_CHARS_MAX));
        }
        Verdict::Again(Rung::FullContext) | Verdict::GiveUp => {
            add("The same error keeps coming. All that is known of earlier attempts:");
            for failure in &note.failures {
                add(&format!("- attempt {}:", failure.attempt));
                add(&end(&failure.error, ERROR_CHARS_MAX));
            }
            add(
                "Go through it systematically: reproduce it, find the first thing that is wrong, change that alone, and check.",
            );
        }
    }
    add("");
}

fn request(facts: &Facts<'_>) -> String {
    let request = TaskId::new(facts.id).ok().map(TaskRequest::new);
    let path = facts.room.to_string_lossy();
    let request = request.map(|request| request.clone().with_worktree(&path).unwrap_or(request));
    request.map_or_else(|| format!("TASK_ID:{}", facts.id), |it| it.to_string())
}
