//! Checks a plan once all tasks and dependencies are known.

use bowline_words::message::InPlan;
use std::collections::{BTreeMap, HashSet};

use super::TasksFile;
use super::finding::{PlanFinding, PlanFindingCode, path_text};
use super::graph::find_cycles;
use super::id::TaskId;
use super::parse::message_excerpt;
use super::survey::LooseBoxes;
use crate::finding::Severity;

/// Maximum number of cycles reported for one file.
pub const CYCLES_REPORTED_MAX: usize = 20;

/// Adds the findings about the whole plan, reduces errors about done tasks to warnings, and sorts
/// all findings by line.
pub(super) fn check_plan(file: &mut TasksFile, boxes: &LooseBoxes<'_>) {
    let mut findings = std::mem::take(&mut file.findings);
    if file.tasks.is_empty() {
        let (line, message) = match boxes.first {
            None => (1, InPlan::NoTask),
            Some((line, text)) => {
                let (count, text) = (boxes.count, message_excerpt(text).to_owned());
                (line, InPlan::OnlyBoxes { count, text })
            }
        };
        findings.push(PlanFinding::new(PlanFindingCode::ParseFail, line, message));
    } else {
        check_phases(file, &mut findings);
    }
    check_later_phases(file, &mut findings);
    check_cycles(file, &mut findings);
    forgive_done(file, &mut findings);
    findings.sort_by_key(|finding| (finding.line, finding.code));
    file.findings = findings;
}

/// Checks that phases count up from 0 or 1 without gaps, and that each heading has tasks.
fn check_phases(file: &TasksFile, findings: &mut Vec<PlanFinding>) {
    let mut first_lines: BTreeMap<u32, usize> = BTreeMap::new();
    for heading in &file.phases {
        first_lines.insert(heading.number, heading.line);
    }
    let mut with_tasks = HashSet::new();
    for task in &file.tasks {
        with_tasks.insert(task.phase);
        first_lines.entry(task.phase).or_insert(task.line);
    }
    let mut expected = 0;
    for (&number, &line) in &first_lines {
        if number > expected && !(expected == 0 && number == 1) {
            let last = number - 1;
            let message = if last == expected {
                InPlan::PhaseGap {
                    phase: expected,
                    before: number,
                }
            } else {
                InPlan::PhasesGap {
                    first: expected,
                    last,
                    before: number,
                }
            };
            findings.push(PlanFinding::new(PlanFindingCode::PhaseGap, line, message));
        }
        expected = number.saturating_add(1);
    }
    for heading in file
        .phases
        .iter()
        .filter(|heading| !with_tasks.contains(&heading.number))
    {
        let message = InPlan::EmptyPhase {
            phase: heading.number,
        };
        findings.push(PlanFinding::new(
            PlanFindingCode::EmptyPhase,
            heading.line,
            message,
        ));
    }
}

fn check_later_phases(file: &TasksFile, findings: &mut Vec<PlanFinding>) {
    for (task, needs) in file.tasks.iter().zip(&file.needs) {
        for needed in needs
            .iter()
            .map(|at| &file.tasks[*at])
            .filter(|needed| needed.phase > task.phase)
        {
            let message = InPlan::NeedsLater {
                id: task.id.to_string(),
                own: task.phase,
                needed: needed.id.to_string(),
                phase: needed.phase,
            };
            let finding = PlanFinding::new(PlanFindingCode::LaterPhaseDep, task.line, message);
            findings.push(
                finding
                    .with_lines([needed.line])
                    .with_path([task.id.clone(), needed.id.clone()]),
            );
        }
    }
}

/// Reduces errors about done tasks to warnings: nothing waits for them any more.
fn forgive_done(file: &TasksFile, findings: &mut [PlanFinding]) {
    let done = |id: &TaskId| file.task(id.as_str()).is_some_and(|task| task.done);
    for finding in findings {
        let over = match finding.code {
            PlanFindingCode::MissingDep
            | PlanFindingCode::AmbiguousDep
            | PlanFindingCode::WrongPhase => finding.path.first().is_some_and(done),
            PlanFindingCode::LaterPhaseDep | PlanFindingCode::CircularDep => {
                finding.path.iter().any(done)
            }
            _ => false,
        };
        if over {
            finding.severity = Severity::Warning;
        }
    }
}

fn check_cycles(file: &TasksFile, findings: &mut Vec<PlanFinding>) {
    // A done task waits for nothing: cycles through one are reported only if there are no others.
    let open = file.tasks.iter().zip(&file.needs);
    let open: Vec<Vec<usize>> = open
        .map(|(task, needs)| match task.done {
            true => Vec::new(),
            false => needs.clone(),
        })
        .collect();
    let mut found = find_cycles(&open, CYCLES_REPORTED_MAX);
    if found.is_empty() {
        found = find_cycles(&file.needs, CYCLES_REPORTED_MAX);
    }
    for cycle in found {
        let tasks = cycle.iter().map(|at| &file.tasks[*at]);
        let path: Vec<_> = tasks
            .clone()
            .chain(tasks.clone().take(1))
            .map(|task| task.id.clone())
            .collect();
        let message = InPlan::Circle {
            path: path_text(&path),
        };
        let line = file.tasks[cycle[0]].line;
        let finding = PlanFinding::new(PlanFindingCode::CircularDep, line, message);
        findings.push(
            finding
                .with_lines(tasks.map(|task| task.line))
                .with_path(path),
        );
    }
}
