//! From text to [`TasksFile`]: one pass over the lines, then ids are looked up and the whole is checked.

use std::collections::{HashMap, HashSet};

use super::fields::{self, Field, mentions};
use super::finding::{Finding, FindingCode};
use super::header::{Context, Header, TaskHeader, classify, list_item};
use super::id::{TaskId, is_known, leading_word};
use super::lines::{Line, Lines, Place};
use super::mermaid::{self, Link, Node};
use super::{Edge, PhaseHeading, Task, TasksFile, check, slug::slug};

/// Most edges that are read from the diagrams of one file.
pub const MERMAID_EDGES_MAX: usize = 1_000_000;

/// Longest part of a line that a message repeats, in characters.
const EXCERPT_CHARS_MAX: usize = 80;

/// Reads a `TASKS.md`. Never fails; a file without tasks has the finding [`FindingCode::ParseFail`].
#[must_use]
pub fn parse(text: &str) -> TasksFile {
    let mut reader = Reader::new(text);
    let mut lines = Lines::new(text);
    for line in lines.by_ref() {
        reader.line(&line);
    }
    if let Some(line) = lines.unclosed() {
        let message = "this code fence or comment is never closed; nothing after it was read";
        reader
            .findings
            .push(Finding::new(FindingCode::UnclosedBlock, line, message));
    }
    reader.finish()
}

/// A field whose ids are looked up once all headers are known.
struct PendingField<'a> {
    task: usize,
    field: Field,
    value: &'a str,
    line: usize,
}

/// A task whose body is being read.
struct OpenTask {
    /// Its position; none for a duplicate, whose body belongs to nobody.
    task: Option<usize>,
    level: Option<usize>,
}

/// A field without a value on its own line; list items below may fill it.
struct OpenField {
    field: Field,
    indent_min: usize,
}

struct Reader<'a> {
    text: &'a str,
    plain_words: bool,
    project: Option<String>,
    project_seen: bool,
    phases: Vec<PhaseHeading>,
    phase_numbers: HashSet<u32>,
    /// Number and heading level of the phase we are in.
    phase: Option<(u32, usize)>,
    tasks: Vec<Task>,
    index: HashMap<TaskId, usize>,
    open: Option<OpenTask>,
    open_field: Option<OpenField>,
    pending: Vec<PendingField<'a>>,
    diagram: Vec<(usize, &'a str)>,
    diagram_number: usize,
    links: Vec<Link<'a>>,
    findings: Vec<Finding>,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str) -> Self {
        let plain_words = !Lines::new(text).any(|line| {
            line.place == Place::Text
                && matches!(classify(line.text, Context::default()), Some(Header::Task(task)) if is_known(task.id))
        });
        Self {
            text,
            plain_words,
            project: None,
            project_seen: false,
            phases: Vec::new(),
            phase_numbers: HashSet::new(),
            phase: None,
            tasks: Vec::new(),
            index: HashMap::new(),
            open: None,
            open_field: None,
            pending: Vec::new(),
            diagram: Vec::new(),
            diagram_number: 0,
            links: Vec::new(),
            findings: Vec::new(),
        }
    }

    fn line(&mut self, line: &Line<'a>) {
        if let Place::Mermaid(number) = line.place {
            if number != self.diagram_number {
                self.end_diagram();
                self.diagram_number = number;
            }
            self.diagram.push((line.number, line.text));
            return;
        }
        let context = Context {
            inside_heading_task: self.open.as_ref().is_some_and(|open| open.level.is_some()),
            under_phase: self.phase.is_some(),
            plain_words: self.plain_words,
        };
        match classify(line.text, context) {
            Some(Header::Task(header)) => self.task(line, &header),
            Some(Header::Phase {
                number,
                title,
                level,
            }) => {
                self.close_task(line.start);
                self.phase = Some((number, level));
                if self.phase_numbers.insert(number) {
                    let (title, slug) = (title.to_owned(), slug(title));
                    self.phases.push(PhaseHeading {
                        number,
                        title,
                        slug,
                        line: line.number,
                    });
                }
            }
            Some(Header::Section {
                level,
                text,
                unread,
            }) => self.section(line, level, text, unread),
            None => self.body_line(line),
        }
    }

    fn task(&mut self, line: &Line<'a>, header: &TaskHeader<'a>) {
        self.close_task(line.start);
        let Ok(id) = TaskId::new(header.id) else {
            return;
        };
        if let Some(&first) = self.index.get(&id) {
            let first_line = self.tasks[first].line;
            let message =
                format!("task `{id}` is already on line {first_line}; this one is not read");
            let finding = Finding::new(FindingCode::DuplicateId, line.number, message);
            self.findings
                .push(finding.with_lines([first_line]).with_path([id]));
            self.open = Some(OpenTask {
                task: None,
                level: header.level,
            });
            return;
        }
        let phase = self.task_phase(line, header, &id);
        if header.title.is_empty() {
            let message = format!("task `{id}` has no title");
            self.findings.push(
                Finding::new(FindingCode::EmptyTitle, line.number, message).with_path([id.clone()]),
            );
        }
        if let Some(mark) = header
            .mark
            .filter(|mark| !matches!(mark, ' ' | '\t' | 'x' | 'X'))
        {
            let message = format!("the box of task `{id}` holds `{mark}`; it counts as not done");
            self.findings.push(
                Finding::new(FindingCode::UnknownTick, line.number, message)
                    .with_path([id.clone()]),
            );
        }
        self.open = Some(OpenTask {
            task: Some(self.tasks.len()),
            level: header.level,
        });
        self.index.insert(id.clone(), self.tasks.len());
        self.tasks.push(Task {
            id,
            phase,
            title: header.title.to_owned(),
            done: matches!(header.mark, Some('x' | 'X')),
            assignee: None,
            dependencies: Vec::new(),
            parallel_with: Vec::new(),
            line: line.number,
            tick: header.tick.map(|tick| line.start + tick),
            body: line.end..line.end,
        });
    }

    fn task_phase(&mut self, line: &Line<'a>, header: &TaskHeader<'a>, id: &TaskId) -> u32 {
        let around = self.phase.map(|(number, _)| number);
        let own = id.first_number();
        if !id.has_known_shape() {
            return header.stated_phase.or(around).or(own).unwrap_or(0);
        }
        let own = own.unwrap_or(0);
        if let Some(other) = header.stated_phase.or(around).filter(|other| *other != own) {
            let message = format!(
                "task `{id}` is written under phase {other}, but its id says phase {own}, which counts"
            );
            self.findings.push(
                Finding::new(FindingCode::PhaseMismatch, line.number, message)
                    .with_path([id.clone()]),
            );
        }
        own
    }

    fn section(&mut self, line: &Line<'a>, level: usize, text: &'a str, unread: bool) {
        if unread {
            let text = excerpt(text);
            let message =
                format!("heading `{text}` has a tick box but no task id; it is not a task");
            self.findings.push(Finding::new(
                FindingCode::UnreadHeader,
                line.number,
                message,
            ));
        }
        if level == 1 && !self.project_seen {
            self.project_seen = true;
            self.project = project_name(text);
        }
        if self
            .phase
            .is_some_and(|(_, phase_level)| level <= phase_level)
        {
            self.phase = None;
        }
        let deeper = self
            .open
            .as_ref()
            .is_some_and(|open| open.level.is_some_and(|open| level > open));
        if !deeper {
            self.close_task(line.start);
        }
        self.open_field = None;
    }

    fn body_line(&mut self, line: &Line<'a>) {
        let Some(task) = self.open.as_ref().and_then(|open| open.task) else {
            return;
        };
        let mut named = false;
        let mut open_field = None;
        let trimmed = line.text.trim_start();
        let indent = line.text.len() - trimmed.len();
        let listed = list_item(trimmed).is_some();
        fields::each_field(line.text, |field, value| {
            named = true;
            if value.is_empty() {
                open_field = Some(OpenField {
                    field,
                    indent_min: if listed { indent + 1 } else { 0 },
                });
            } else {
                self.pending.push(PendingField {
                    task,
                    field,
                    value,
                    line: line.number,
                });
            }
        });
        if named {
            self.open_field = open_field;
        } else if let Some(OpenField { field, indent_min }) = self.open_field {
            match fields::continuation(line.text, indent_min) {
                Some(value) => self.pending.push(PendingField {
                    task,
                    field,
                    value,
                    line: line.number,
                }),
                None if line.text.trim().is_empty() => {}
                None => self.open_field = None,
            }
        }
    }

    fn close_task(&mut self, end: usize) {
        self.open_field = None;
        if let Some(OpenTask {
            task: Some(task), ..
        }) = self.open.take()
        {
            self.tasks[task].body.end = end;
        }
    }

    fn end_diagram(&mut self) {
        let chart = mermaid::read(&self.diagram, MERMAID_EDGES_MAX - self.links.len());
        self.diagram.clear();
        self.links.extend(chart.links);
        for line in chart.unread {
            let message = "this line of the diagram was not understood to its end";
            self.findings
                .push(Finding::new(FindingCode::UnreadMermaid, line, message));
        }
        if let Some(line) = chart.over_limit {
            let message = format!(
                "the diagrams have more than {MERMAID_EDGES_MAX} edges; the rest was not read"
            );
            self.findings
                .push(Finding::new(FindingCode::TooManyEdges, line, message));
        }
    }

    fn finish(mut self) -> TasksFile {
        self.close_task(self.text.len());
        self.end_diagram();
        let mut needs = vec![Vec::new(); self.tasks.len()];
        for field in std::mem::take(&mut self.pending) {
            self.look_up(&field, &mut needs);
        }
        let edges = self.look_up_links(&mut needs);
        for task in &mut self.tasks {
            keep_first(&mut task.dependencies);
            keep_first(&mut task.parallel_with);
        }
        for needed in &mut needs {
            keep_first(needed);
        }
        let mut file = TasksFile {
            project: self.project,
            phases: self.phases,
            tasks: self.tasks,
            edges,
            findings: self.findings,
            index: self.index,
            needs,
        };
        check::check(&mut file);
        file
    }

    fn look_up(&mut self, pending: &PendingField<'a>, needs: &mut [Vec<usize>]) {
        if pending.field == Field::Assignee {
            if self.tasks[pending.task].assignee.is_none() {
                self.tasks[pending.task].assignee =
                    fields::assignee(pending.value).map(str::to_owned);
            }
            return;
        }
        let found = mentions(pending.value, &self.index);
        let named = found
            .tasks
            .iter()
            .map(|at| self.tasks[*at].id.clone())
            .collect::<Vec<_>>();
        let missing = found
            .missing
            .iter()
            .filter_map(|id| TaskId::new(id).ok())
            .collect::<Vec<_>>();
        let id = self.tasks[pending.task].id.clone();
        if pending.field == Field::Parallel {
            for other in missing {
                let message =
                    format!("task `{id}` may run beside `{other}`, which is not in the file");
                let finding = Finding::new(FindingCode::MissingParallel, pending.line, message);
                self.findings.push(finding.with_path([id.clone(), other]));
            }
            self.tasks[pending.task].parallel_with.extend(named);
            return;
        }
        needs[pending.task].extend(found.tasks);
        for other in &missing {
            self.findings.push(missing_dep(&id, other, pending.line));
        }
        self.tasks[pending.task]
            .dependencies
            .extend(named.into_iter().chain(missing));
        for text in found.unread {
            let text = excerpt(text);
            let message = format!("`{text}` in the dependencies of `{id}` names no task");
            self.findings.push(
                Finding::new(FindingCode::UnreadDep, pending.line, message).with_path([id.clone()]),
            );
        }
        if found.range {
            let message =
                format!("a range in the dependencies of `{id}` counts only for its two ends");
            self.findings
                .push(Finding::new(FindingCode::UnreadDep, pending.line, message).with_path([id]));
        }
    }

    fn look_up_links(&mut self, needs: &mut [Vec<usize>]) -> Vec<Edge> {
        let mut edges = Vec::new();
        for link in std::mem::take(&mut self.links) {
            let before = self.node(link.before);
            let after = self.node(link.after);
            match (before, after) {
                (Found::Task(before), Found::Task(after)) => {
                    needs[after].push(before);
                    let (before, after) =
                        (self.tasks[before].id.clone(), self.tasks[after].id.clone());
                    edges.push(Edge {
                        before,
                        after,
                        line: link.line,
                    });
                }
                (Found::Missing(before), Found::Task(after)) => {
                    let finding = missing_dep(&self.tasks[after].id, &before, link.line);
                    self.findings.push(finding);
                }
                (Found::Task(_) | Found::Missing(_) | Found::Other, Found::Missing(after)) => {
                    let message =
                        format!("the diagram leads to `{after}`, which is not in the file");
                    let finding = Finding::new(FindingCode::MissingNode, link.line, message);
                    self.findings.push(finding.with_path([after]));
                }
                (Found::Missing(before), Found::Other) => {
                    let message =
                        format!("the diagram starts from `{before}`, which is not in the file");
                    let finding = Finding::new(FindingCode::MissingNode, link.line, message);
                    self.findings.push(finding.with_path([before]));
                }
                (Found::Task(_) | Found::Other, Found::Other) | (Found::Other, Found::Task(_)) => {}
            }
        }
        edges
    }

    /// The task a node stands for: by its id, else by the id its label starts with.
    fn node(&self, node: Node<'_>) -> Found {
        let label = node
            .label
            .map_or("", |label| leading_word(label).trim_end_matches(['.', '-']));
        for word in [node.id, label] {
            if let Some(&task) = self.index.get(word) {
                return Found::Task(task);
            }
        }
        let known = [node.id, label].into_iter().find(|word| is_known(word));
        known
            .and_then(|word| TaskId::new(word).ok())
            .map_or(Found::Other, Found::Missing)
    }
}

/// The start of a text, for a message.
fn excerpt(text: &str) -> &str {
    text.char_indices()
        .nth(EXCERPT_CHARS_MAX)
        .map_or(text, |(end, _)| &text[..end])
}

/// What a node of a diagram is.
enum Found {
    Task(usize),
    Missing(TaskId),
    Other,
}

fn missing_dep(id: &TaskId, other: &TaskId, line: usize) -> Finding {
    let message = format!("task `{id}` needs `{other}`, which is not in the file");
    Finding::new(FindingCode::MissingDep, line, message).with_path([id.clone(), other.clone()])
}

/// Drops repeats, keeps the order.
fn keep_first<T: Clone + Eq + std::hash::Hash>(list: &mut Vec<T>) {
    if list.len() > 1 {
        let mut seen = HashSet::with_capacity(list.len());
        list.retain(|entry| seen.insert(entry.clone()));
    }
}

/// The title of the file without a leading `TASKS:`; `# TASKS` alone names no project.
fn project_name(heading: &str) -> Option<String> {
    const PREFIX: &str = "tasks";
    let name = match heading.get(..PREFIX.len()) {
        Some(head) if head.eq_ignore_ascii_case(PREFIX) => {
            let rest = heading[PREFIX.len()..].trim_start();
            match rest.strip_prefix([':', '：']) {
                Some(name) => name.trim(),
                None if rest.is_empty() || rest.eq_ignore_ascii_case(".md") => "",
                None => heading,
            }
        }
        _ => heading,
    };
    (!name.is_empty()).then(|| name.to_owned())
}
