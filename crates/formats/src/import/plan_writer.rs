//! Writes an imported plan. The text is parsed back; parts that would be read differently are
//! written in a simpler form until they are not.

use super::{ImportError, ImportedPhase, ImportedTask, PlanImport};
use crate::tasks_md::{
    PLAN_BYTES_MAX, PlanFindingCode, PlanTask, TaskProgress, TasksFile, parse_plan,
};
use bowline_words::message::Unplaced;
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

/// Level of simplification: 0 unchanged, 1 letters and digits only, 2 omitted.
type Plainness = usize;
const PLAINEST: Plainness = 2;

/// Returns the header of a task up to its title.
pub(super) fn task_header(progress: TaskProgress, id: &str) -> String {
    let mark = match progress {
        TaskProgress::Open => ' ',
        TaskProgress::InProgress => '/',
        TaskProgress::Done => 'x',
    };
    // A bare number, or a name without a digit, is an id only behind the word `Task`.
    let number = id
        .bytes()
        .all(|byte| byte.is_ascii_digit() || b".-".contains(&byte));
    let wordy = !id.bytes().any(|byte| byte.is_ascii_digit());
    let word = if number || wordy { "Task " } else { "" };
    format!("### [{mark}] {word}{id}")
}

/// Writes the plan; also returns what could not be written in its usual place.
///
/// # Errors
/// Fails with [`ImportError::TooLarge`] if the plan would exceed the size limit.
pub fn write_plan(imported: &PlanImport) -> Result<(String, Vec<Unplaced>), ImportError> {
    let mut hand = PlanWriter {
        titles: vec![0; imported.tasks.len()],
        people: vec![0; imported.tasks.len()],
        phases: vec![0; imported.phases.len()],
        project: 0,
    };
    let meant: Vec<HashSet<&str>> = imported
        .tasks
        .iter()
        .map(|task| task.needs.iter().map(|id| id.as_str()).collect())
        .collect();
    loop {
        let text = hand.render_plan(imported);
        if text.len() >= PLAN_BYTES_MAX {
            return Err(ImportError::TooLarge);
        }
        if !hand.simplify_differences(imported, &meant, &parse_plan(&text)) {
            let retitled = imported.tasks.iter().enumerate();
            let retitled = retitled.filter(|(at, _)| hand.titles[*at] > 0);
            let retitled = retitled.map(|(_, task)| Unplaced::TitleInText {
                id: task.id.to_string(),
            });
            return Ok((text, retitled.collect()));
        }
    }
}

/// Level of simplification of each part.
struct PlanWriter {
    titles: Vec<Plainness>,
    people: Vec<Plainness>,
    phases: Vec<Plainness>,
    project: Plainness,
}

impl PlanWriter {
    fn render_plan(&self, imported: &PlanImport) -> String {
        let mut text = String::new();
        let project = imported.project.as_deref().unwrap_or_default();
        let _ = writeln!(text, "# TASKS: {}", simplify_text(project, self.project));
        push_fenced(&mut text, &imported.preface);
        let mut current = None;
        for (at, task) in imported.tasks.iter().enumerate() {
            if current != Some(task.phase) {
                current = Some(task.phase);
                let phase = &imported.phases[task.phase];
                let title = simplify_text(&phase.title, self.phases[task.phase]);
                let head = format!("\n## Phase {}: {title}", phase_label(phase));
                let _ = writeln!(text, "{}", head.trim_end_matches([':', ' ']));
            }
            self.render_task(&mut text, at, task);
        }
        text
    }

    fn render_task(&self, text: &mut String, at: usize, task: &ImportedTask) {
        let title = simplify_text(&task.title, self.titles[at]);
        let head = format!("{}: {title}", task_header(task.progress, task.id.as_str()));
        let _ = writeln!(text, "\n{}", head.trim_end_matches([':', ' ']));
        if !task.needs.is_empty() {
            let ids: Vec<&str> = task.needs.iter().map(|id| id.as_str()).collect();
            let _ = writeln!(text, "- **Depends on**: {}", ids.join(", "));
        }
        let mut more = String::new();
        if self.titles[at] > 0 {
            let _ = writeln!(more, "title: {}", task.title);
        }
        if let Some(who) = &task.assignee {
            match self.people[at] {
                0 => drop(writeln!(text, "- **Assignee**: {who}")),
                _ => drop(writeln!(more, "assignee: {who}")),
            }
        }
        more.push_str(&task.text);
        push_fenced(text, &more);
    }

    /// Compares the intended plan with the parsed one and raises the level of parts that differ.
    /// True if a level was raised.
    fn simplify_differences(
        &mut self,
        imported: &PlanImport,
        meant: &[HashSet<&str>],
        read: &TasksFile,
    ) -> bool {
        let mut again = false;
        let mut more = |level: &mut Plainness| {
            if *level < PLAINEST {
                *level += 1;
                again = true;
            }
        };
        let project = imported.project.as_deref().unwrap_or_default();
        if read.project.as_deref().unwrap_or_default() != simplify_text(project, self.project) {
            more(&mut self.project);
        }
        for (at, phase) in imported.phases.iter().enumerate() {
            let used = imported.tasks.iter().any(|task| task.phase == at);
            let title = title_of(read, phase);
            if used && title != Some(&*simplify_text(&phase.title, self.phases[at])) {
                more(&mut self.phases[at]);
            }
        }
        let needs: HashMap<&str, HashSet<&str>> = read
            .dependencies()
            .map(|(id, needs)| (id.as_str(), needs.iter().map(|it| it.as_str()).collect()))
            .collect();
        let odd: HashSet<usize> = read.findings.iter().map(|it| it.line).collect();
        for (at, task) in imported.tasks.iter().enumerate() {
            let found = read.task(task.id.as_str());
            let same = found.is_some_and(|found| {
                let known = needs.get(task.id.as_str());
                found.title == simplify_text(&task.title, self.titles[at])
                    && found.progress == task.progress
                    && known.map_or(meant[at].is_empty(), |known| *known == meant[at])
                    && (!odd.contains(&found.line) || only_of_order(read, found))
            });
            let who = found.and_then(|found| found.assignee.as_deref());
            let wanted = task.assignee.as_deref().filter(|_| self.people[at] == 0);
            let field = self.people[at] == 0 && task.assignee.is_some();
            if who != wanted && field {
                more(&mut self.people[at]);
            }
            // Without an assignee field it can only come from the title, so the title is simplified
            // by one level.
            if !same || (who != wanted && !field) {
                more(&mut self.titles[at]);
            }
        }
        again
    }
}

/// Appends text in a fence, where nothing is a task, a field or a box.
fn push_fenced(text: &mut String, inside: &str) {
    if inside.trim().is_empty() {
        return;
    }
    let mut fence = "~~~".to_owned();
    while inside.contains(&fence) {
        fence.push('~');
    }
    let _ = writeln!(
        text,
        "\n{fence}text\n{}\n{fence}",
        inside.trim_matches('\n')
    );
}

/// True if all findings about a task concern the intended order, not how the task is written.
fn only_of_order(read: &TasksFile, task: &PlanTask) -> bool {
    let here = read.findings.iter().filter(|it| it.line == task.line);
    here.map(|it| it.code).all(|code| {
        matches!(
            code,
            PlanFindingCode::CircularDep
                | PlanFindingCode::EmptyTitle
                | PlanFindingCode::PhaseMismatch
        )
    })
}

/// Returns the number of a phase as in its heading.
fn phase_label(phase: &ImportedPhase) -> String {
    match phase.section {
        0 => phase.number.to_string(),
        section => format!("{}.{section}", phase.number),
    }
}

fn title_of<'a>(read: &'a TasksFile, phase: &ImportedPhase) -> Option<&'a str> {
    let heading = read.phases.iter().find(|it| it.number == phase.number)?;
    if phase.section == 0 {
        return Some(&heading.title);
    }
    let mut sections = heading.sections.iter();
    let section = sections.find(|it| it.number == phase.section)?;
    Some(&section.title)
}

/// Simplifies a text to the given level.
fn simplify_text(text: &str, level: Plainness) -> String {
    match level {
        0 => text.to_owned(),
        1 => {
            let letters = text
                .chars()
                .map(|c| if c.is_alphanumeric() { c } else { ' ' });
            let text: String = letters.collect();
            text.split_whitespace().collect::<Vec<_>>().join(" ")
        }
        _ => String::new(),
    }
}
