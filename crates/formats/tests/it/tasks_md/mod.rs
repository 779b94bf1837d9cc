//! `TASKS.md` as users write it: golden cases, properties, size.

mod diagrams;
mod golden;
mod hands;
mod plans;
mod properties;
mod rows;
mod shapes;
mod ticks;

use std::fmt::Write as _;

use bowline_formats::tasks_md::{TaskId, TaskProgress, TasksFile, parse_plan};

fn join(ids: &[TaskId]) -> String {
    ids.iter().map(TaskId::as_str).collect::<Vec<_>>().join(",")
}

/// Everything a file says, one line per fact.
fn describe(file: &TasksFile) -> String {
    let mut out = String::new();
    if let Some(project) = &file.project {
        writeln!(out, "project {project}").unwrap();
    }
    for phase in &file.phases {
        writeln!(
            out,
            "{} phase {} {:?} {}",
            phase.line, phase.number, phase.title, phase.slug
        )
        .unwrap();
    }
    for task in &file.tasks {
        let mark = match task.progress {
            TaskProgress::Open => ' ',
            TaskProgress::InProgress => '/',
            TaskProgress::Done => 'x',
        };
        let section = match task.section {
            0 => String::new(),
            section => format!(".{section}"),
        };
        write!(
            out,
            "{} [{mark}] {}{section}/{} {}",
            task.line, task.phase, task.id, task.title
        )
        .unwrap();
        if let Some(assignee) = &task.assignee {
            write!(out, " @{assignee}").unwrap();
        }
        if !task.dependencies.is_empty() {
            write!(out, " <{}", join(&task.dependencies)).unwrap();
        }
        if !task.parallel_with.is_empty() {
            write!(out, " ={}", join(&task.parallel_with)).unwrap();
        }
        if let Some(worktree) = &task.worktree {
            write!(out, " in {worktree}").unwrap();
        }
        out.push('\n');
    }
    for group in &file.groups {
        writeln!(
            out,
            "{} group {}: {}",
            group.line,
            group.id,
            join(&group.tasks)
        )
        .unwrap();
    }
    for edge in &file.edges {
        writeln!(out, "{} edge {}>{}", edge.line, edge.before, edge.after).unwrap();
    }
    for finding in &file.findings {
        writeln!(
            out,
            "{} {:?} {} {}",
            finding.line,
            finding.severity,
            finding.code.name(),
            join(&finding.path)
        )
        .unwrap();
    }
    out.lines()
        .map(|line| format!("{}\n", line.trim_end()))
        .collect()
}

/// Parses and compares with the expected description.
#[track_caller]
fn check(text: &str, expected: &str) {
    let expected: String = expected
        .trim()
        .lines()
        .map(|line| format!("{}\n", line.trim()))
        .collect();
    assert_eq!(describe(&parse_plan(text)), expected, "of:\n{text}");
}
