//! Resolves the names in fields and diagrams to tasks, and reports invalid names.

use super::fields::PlanField;
use super::finding::{PlanFinding, PlanFindingCode};
use super::id::{IdCertainty, TaskId, id_certainty, leading_id};
use super::mermaid::{ChartLink, ChartNode};
use super::parse::{PendingField, message_excerpt, without_comment};
use super::references::{
    NameIndex, ParsedReferences, ResolvedName, TaskReference, full_end, parse_references,
};
use super::{DiagramEdge, EDGES_MAX};
use bowline_words::message::InPlan;
use std::collections::HashMap;

/// Resolver of the names in a plan, with its results so far.
pub(super) struct NameResolver<'t> {
    pub(super) names: NameIndex<'t>,
    pub(super) needs: Vec<Vec<usize>>,
    pub(super) written: Vec<Vec<TaskId>>,
    pub(super) beside: Vec<Vec<TaskId>>,
    pub(super) findings: Vec<PlanFinding>,
    reported_too_many: bool,
    /// Tasks by title, `None` for repeated titles; built on first use.
    titles: Option<HashMap<String, Option<usize>>>,
}

impl<'t> NameResolver<'t> {
    pub(super) fn new(names: NameIndex<'t>, tasks: usize, findings: Vec<PlanFinding>) -> Self {
        NameResolver {
            names,
            needs: vec![Vec::new(); tasks],
            written: vec![Vec::new(); tasks],
            beside: vec![Vec::new(); tasks],
            findings,
            reported_too_many: false,
            titles: None,
        }
    }

    /// Resolves the tasks in a field, for all of its owners.
    pub(super) fn resolve_field(&mut self, pending: &PendingField<'_>, owners: &[usize]) {
        let value = without_comment(pending.value);
        let ParsedReferences { refs, unread } =
            parse_references(value, &|word| self.names.knows_word(word));
        let Some(&first) = owners.first() else { return };
        let id = self.names.task_at(first).id.clone();
        let drawn = refs.len() > 1 && value.contains(['→', '>']);
        for one in refs {
            // `T1.1 완료 후 T1.2와 병렬`: the second runs in parallel.
            let field = match one {
                TaskReference::One(name) if says_parallel(value, name) => PlanField::Beside,
                _ => pending.field,
            };
            let pending = &PendingField { field, ..*pending };
            for &task in owners {
                // `T1.1 → T1.2` at T1.2 describes the path to itself; without the arrow it would be
                // a cycle.
                let own = matches!(one, TaskReference::One(name) if name == self.names.task_at(task).id.as_str());
                if own && drawn {
                    continue;
                }
                self.resolve_reference(pending, one, task);
                if self.names.is_exhausted() {
                    if !std::mem::replace(&mut self.reported_too_many, true) {
                        self.findings.push(too_many(pending.line));
                    }
                    return;
                }
            }
        }
        for text in unread
            .into_iter()
            .filter(|_| pending.field == PlanField::Needs)
        {
            if let Some(named) = self.task_with_title(text) {
                for &task in owners.iter().filter(|task| **task != named) {
                    self.written[task].push(self.names.task_at(named).id.clone());
                    self.needs[task].push(named);
                }
                continue;
            }
            let message = InPlan::NamesNoTask {
                text: message_excerpt(text).to_string(),
                id: id.to_string(),
            };
            let finding = PlanFinding::new(PlanFindingCode::UnreadDep, pending.line, message);
            self.findings.push(finding.with_path([id.clone()]));
        }
    }

    /// Returns the only task with this title, for plans that name dependencies by title.
    fn task_with_title(&mut self, text: &str) -> Option<usize> {
        let titles = self.titles.get_or_insert_with(|| {
            let mut titles = HashMap::new();
            for at in 0..self.needs.len() {
                let title = bare_letters(&self.names.task_at(at).title);
                let same = titles.entry(title).or_insert(Some(at));
                if *same != Some(at) {
                    *same = None;
                }
            }
            titles
        });
        let whole = bare_letters(text);
        let bare = ["완료후", "완료"]
            .iter()
            .find_map(|end| whole.strip_suffix(end));
        let found = titles.get(&whole).or_else(|| titles.get(bare?));
        found.copied().flatten().filter(|_| !whole.is_empty())
    }

    fn resolve_reference(
        &mut self,
        pending: &PendingField<'_>,
        one: TaskReference<'_>,
        task: usize,
    ) {
        let own = self.names.task_at(task);
        let found = match one {
            TaskReference::One(name) => self.names.resolve_name(name, Some(task)),
            TaskReference::Joined(first, end) => {
                match self.names.resolve_name(&full_end(first, end), Some(task)) {
                    ResolvedName::Missing => {
                        return self.resolve_reference(pending, TaskReference::One(end), task);
                    }
                    found => found,
                }
            }
            TaskReference::Range(first, end) => {
                match self.names.tasks_in_range(first, end, Some(task)) {
                    Ok(tasks) => {
                        ResolvedName::Tasks(tasks.into_iter().filter(|at| *at != task).collect())
                    }
                    Err(end) => return self.report_missing(pending, end, task),
                }
            }
            TaskReference::Prefix(stem) => {
                let tasks = self.names.wildcard_tasks(stem);
                if tasks.is_empty() {
                    return self.report_missing(pending, stem.trim_end_matches(['-', '.']), task);
                }
                ResolvedName::Tasks(tasks.into_iter().filter(|at| *at != task).collect())
            }
            TaskReference::Phase(number) => {
                // Earlier phases come first in any case.
                if number >= own.phase && pending.field == PlanField::Needs {
                    let message = InPlan::NamesPhase {
                        id: own.id.to_string(),
                        own: own.phase,
                        phase: number,
                    };
                    let finding =
                        PlanFinding::new(PlanFindingCode::UnreadDep, pending.line, message);
                    self.findings.push(finding.with_path([own.id.clone()]));
                }
                return;
            }
        };
        match (found, one) {
            // A step of the task itself.
            (ResolvedName::Tasks(tasks), TaskReference::One(name))
                if tasks == [task] && self.names.is_step(name) => {}
            (ResolvedName::Tasks(tasks), _) => {
                let ids = tasks.iter().map(|at| self.names.task_at(*at).id.clone());
                if pending.field == PlanField::Beside {
                    self.beside[task].extend(ids.filter(|id| *id != own.id));
                } else {
                    self.written[task].extend(ids);
                    self.needs[task].extend(tasks);
                }
            }
            (ResolvedName::Ambiguous(tasks), TaskReference::One(name)) => {
                let ids: Vec<TaskId> = tasks
                    .iter()
                    .map(|at| self.names.task_at(*at).id.clone())
                    .collect();
                let message = InPlan::CouldBe {
                    name: name.to_string(),
                    id: own.id.to_string(),
                    ids: ids.iter().map(ToString::to_string).collect(),
                };
                let code = match pending.field {
                    PlanField::Beside => PlanFindingCode::MissingParallel,
                    _ => PlanFindingCode::AmbiguousDep,
                };
                let finding = PlanFinding::new(code, pending.line, message);
                self.findings
                    .push(finding.with_path(std::iter::once(own.id.clone()).chain(ids)));
            }
            (ResolvedName::Own, TaskReference::One(name)) => {
                let message = InPlan::OwnGroup {
                    id: own.id.to_string(),
                    group: name.to_string(),
                };
                let finding = PlanFinding::new(PlanFindingCode::UnreadDep, pending.line, message);
                self.findings.push(finding.with_path([own.id.clone()]));
            }
            (ResolvedName::Missing, TaskReference::One(name)) => {
                self.report_missing(pending, name, task)
            }
            (ResolvedName::Ambiguous(_) | ResolvedName::Own | ResolvedName::Missing, _) => {}
        }
    }

    fn report_missing(&mut self, pending: &PendingField<'_>, name: &str, task: usize) {
        let id = self.names.task_at(task).id.clone();
        let Ok(other) = TaskId::new(name) else { return };
        let finding = match pending.field {
            PlanField::Beside => {
                let message = InPlan::NothingBeside {
                    id: id.to_string(),
                    other: other.to_string(),
                };
                PlanFinding::new(PlanFindingCode::MissingParallel, pending.line, message)
                    .with_path([id, other])
            }
            _ => {
                self.written[task].push(other.clone());
                missing_dep(&id, &other, pending.line)
            }
        };
        self.findings.push(finding);
    }

    /// Resolves the arrows of the diagrams.
    pub(super) fn resolve_links(&mut self, links: Vec<ChartLink<'_>>) -> Vec<DiagramEdge> {
        let mut edges = Vec::new();
        for link in links {
            let (before, after) = (
                self.resolve_node(link.before),
                self.resolve_node(link.after),
            );
            match (before, after) {
                (ArrowEnd::Tasks(before), ArrowEnd::Tasks(after)) => {
                    if edges
                        .len()
                        .saturating_add(before.len().saturating_mul(after.len()))
                        > EDGES_MAX
                    {
                        self.findings.push(too_many(link.line));
                        return edges;
                    }
                    for &last in &after {
                        let one = before.len() == 1 && after.len() == 1;
                        for &first in before.iter().filter(|first| one || **first != last) {
                            self.needs[last].push(first);
                            let id = |at: usize| self.names.task_at(at).id.clone();
                            edges.push(DiagramEdge {
                                before: id(first),
                                after: id(last),
                                line: link.line,
                            });
                        }
                    }
                }
                (ArrowEnd::Missing(before), ArrowEnd::Tasks(after)) => {
                    for last in after {
                        let finding = missing_dep(&self.names.task_at(last).id, &before, link.line);
                        self.findings.push(finding);
                    }
                }
                (_, ArrowEnd::Missing(node)) | (ArrowEnd::Missing(node), ArrowEnd::Other) => {
                    let message = InPlan::NothingDrawn {
                        id: node.to_string(),
                    };
                    let finding =
                        PlanFinding::new(PlanFindingCode::MissingNode, link.line, message);
                    self.findings.push(finding.with_path([node]));
                }
                (ArrowEnd::Tasks(_) | ArrowEnd::Other, ArrowEnd::Other)
                | (ArrowEnd::Other, ArrowEnd::Tasks(_)) => {}
            }
        }
        edges
    }

    /// Returns the tasks of a node: by the id at the start of its label, otherwise by its own name.
    fn resolve_node(&self, node: ChartNode<'_>) -> ArrowEnd {
        let label = node.label.map_or("", leading_id);
        let exact = self.names.is_id(node.id);
        let words = if exact {
            [node.id, label]
        } else {
            [label, node.id]
        };
        for word in words {
            if !word.is_empty()
                && let ResolvedName::Tasks(tasks) = self.names.resolve_name(word, None)
            {
                return ArrowEnd::Tasks(tasks);
            }
        }
        // `A[Login<br/>T1.1]`: the only id in a label.
        if let Some(text) = node.label {
            // Many arrows may lead to one label.
            let end = text.char_indices().nth(LABEL_CHARS_MAX);
            let text = end.map_or(text, |(end, _)| &text[..end]);
            let words = text.split(|c: char| !super::id::is_word_char(c) || !c.is_ascii());
            let mut ids = words.map(leading_id).filter(|it| self.names.is_id(it));
            if let (Some(id), None) = (ids.next(), ids.next())
                && let ResolvedName::Tasks(tasks) = self.names.resolve_name(id, None)
            {
                return ArrowEnd::Tasks(tasks);
            }
        }
        // If the label has an id, the name of the node is arbitrary.
        let named = id_certainty(label).is_some();
        if let Some(task) = self.names.task_of_node(node.id).filter(|_| !named) {
            return ArrowEnd::Tasks(vec![task]);
        }
        let strong = |word: &str| {
            id_certainty(word) == Some(IdCertainty::Strong)
                && (word.contains('.') || word.contains('-'))
        };
        let word = match (named, node.label) {
            (true, _) => label,
            (false, None) => node.id,
            (false, Some(_)) => "",
        };
        match TaskId::new(word) {
            Ok(id) if strong(word) => ArrowEnd::Missing(id),
            Ok(_) | Err(_) => ArrowEnd::Other,
        }
    }
}

/// Returns the letters and digits of a text in lower case.
fn bare_letters(text: &str) -> String {
    let letters = text.chars().filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

/// English phrase before a task that runs in parallel.
const BESIDE: &str = "parallel with";

/// Maximum characters of a label searched for an id.
const LABEL_CHARS_MAX: usize = 200;

/// True if the words around a name in a value say that it runs in parallel.
fn says_parallel(value: &str, name: &str) -> bool {
    let start = super::head::place_in(value, name);
    let (before, after) = (&value[..start], &value[start + name.len()..]);
    let after = after.trim_start_matches(['`', '*', ' ']);
    let korean = ["와", "과", "랑", "이랑", "와 동시에"]
        .iter()
        .any(|particle| {
            let rest = after.strip_prefix(particle).map(str::trim_start);
            rest.is_some_and(|rest| rest.starts_with("병렬"))
        });
    let before = before.trim_end_matches(['`', '*', ' ']);
    let english = before
        .get(before.len().saturating_sub(BESIDE.len())..)
        .is_some_and(|end| end.eq_ignore_ascii_case(BESIDE));
    korean || english
}

/// The resolved end of an arrow.
enum ArrowEnd {
    Tasks(Vec<usize>),
    Missing(TaskId),
    Other,
}

pub(super) fn too_many(line: usize) -> PlanFinding {
    let message = InPlan::TooManyEdges { max: EDGES_MAX };
    PlanFinding::new(PlanFindingCode::TooManyEdges, line, message)
}

fn missing_dep(id: &TaskId, other: &TaskId, line: usize) -> PlanFinding {
    let message = InPlan::NothingNeeded {
        id: id.to_string(),
        other: other.to_string(),
    };
    PlanFinding::new(PlanFindingCode::MissingDep, line, message)
        .with_path([id.clone(), other.clone()])
}
