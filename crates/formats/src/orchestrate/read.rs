//! Collects the data of the file, and derives the run from it.

use super::families::{self, DocumentFamily, FOREIGN, phase_word};
use super::{RunMode, VERSION, VERSION_MAJOR, check, natural_order, phase_of_id};
use crate::document_reader::DocumentReader;
use crate::finding::{Finding, ReadResult, Severity};
use crate::json::{JsonDocument, child_pointer};
use crate::tasks_md::TaskId;
use crate::time::format_utc;
use bowline_machines::orchestrate::{
    GraphError, LandingOutcome, NODES_MAX, NodeId, NodeSpec, NodeStatus, OrchestrateMachine,
    OrchestrationLimits, OrchestrationState, PhaseFacts, RunFacts, TaskFacts, TaskGraph, TaskTime,
};
use bowline_machines::{CodedRefusal as _, Machine as _, Timestamp};
use bowline_words::message::{FileFinding, Kind, Repair};
use serde_json::{Map, Value};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Represents an unknown time.
pub(super) const UNKNOWN_TIME: Timestamp = Timestamp(0);

/// Data of the file: its tasks in natural order, and everything known about them.
#[derive(Debug, Clone, PartialEq)]
pub struct OrchestrationFacts {
    /// Every task that is named anywhere, with its explicit dependencies.
    pub nodes: Vec<NodeSpec>,
    pub facts: RunFacts,
}

/// Reads the data of the file without deriving a run, for callers that have the graph from
/// elsewhere.
pub fn read_facts(document: &JsonDocument) -> Result<ReadResult<OrchestrationFacts>, Vec<Finding>> {
    up_to_date(document, |mut reading| {
        let known = collect_facts(&mut reading);
        Ok(reading.finish(known))
    })
}

/// Reads the run that the file alone describes.
pub(super) fn read_run(
    document: &JsonDocument,
) -> Result<ReadResult<OrchestrationState>, Vec<Finding>> {
    up_to_date(document, |mut reading| {
        let known = collect_facts(&mut reading);
        let graph = match TaskGraph::new(known.nodes) {
            Ok(graph) => Arc::new(graph),
            Err(error) => {
                let message = bad_graph(&error);
                return Err(reading.give_up("/dependencies", error.code(), message));
            }
        };
        let run = OrchestrationState::from_facts(graph, &known.facts);
        check::check_document(&mut reading, &run);
        for violation in OrchestrateMachine::violations(&run) {
            reading.add_violation("", &violation, None);
        }
        Ok(reading.finish(run))
    })
}

/// Describes why the tasks of a file do not form a graph.
fn bad_graph(error: &GraphError) -> FileFinding {
    match error {
        GraphError::DuplicateId { id } => FileFinding::NodeTwice { id: id.to_string() },
        GraphError::MissingDependency { id, dependency } => FileFinding::NodeWithoutDependency {
            id: id.to_string(),
            dependency: dependency.to_string(),
        },
        GraphError::CircularDependency { path } => FileFinding::NodesInCircle {
            path: path.join("->"),
        },
        GraphError::LaterPhase {
            id,
            phase,
            dependency,
            later,
        } => FileFinding::NodeOfLaterPhase {
            id: id.to_string(),
            phase: *phase,
            dependency: dependency.to_string(),
            later: *later,
        },
        GraphError::TooMany { count } => FileFinding::TooManyNodes {
            count: *count,
            max: NODES_MAX,
        },
    }
}

/// Reads a document of this version, or the conversion of another one.
fn up_to_date<S>(
    document: &JsonDocument,
    read: impl FnOnce(DocumentReader<'_>) -> Result<ReadResult<S>, Vec<Finding>>,
) -> Result<ReadResult<S>, Vec<Finding>> {
    let (value, mut all) = match families::detect_family(document.value()) {
        DocumentFamily::Lists => return read(begin_reading(document)?),
        DocumentFamily::Other(value, findings) => (value, findings),
        DocumentFamily::Foreign => {
            let mut findings = DocumentReader::new(document)?.give_up(
                "",
                FOREIGN,
                FileFinding::NotAnOrchestration,
            );
            findings.retain(|finding| finding.code == FOREIGN);
            return Err(findings);
        }
    };
    let document = JsonDocument::new(value);
    match read(begin_reading(&document)?) {
        Ok(mut done) => {
            all.append(&mut done.findings);
            done.findings = all;
            Ok(done)
        }
        Err(mut findings) => {
            all.append(&mut findings);
            Err(all)
        }
    }
}

fn begin_reading(document: &JsonDocument) -> Result<DocumentReader<'_>, Vec<Finding>> {
    let mut reading = DocumentReader::new(document)?;
    // Without its lists the file has no progress: creating empty ones would lose it silently.
    if !reading.get("/tasks").is_some_and(Value::is_object) {
        let message = FileFinding::NoTaskLists;
        return Err(reading.give_up("/tasks", "missing_field", message));
    }
    // Many files have no version, and some have that of the program they are about.
    if reading.get("/version").is_some_and(families::is_version) {
        reading.check_version(VERSION_MAJOR, VERSION);
    }
    if let Some(mode) = reading.get("/mode") {
        read_mode(&mut reading, mode);
    }
    if reading.get("/project").is_some() {
        reading.read_text("/project", "");
    }
    Ok(reading)
}

/// Accepts other names of the modes; an unknown one becomes `normal`.
fn read_mode(reading: &mut DocumentReader<'_>, mode: &Value) {
    let word = mode.as_str().unwrap_or_default();
    if RunMode::from_name(word).is_none() {
        let message = FileFinding::ReadAsNormal {
            word: word.chars().take(40).collect(),
        };
        let normal = RunMode::Normal.name().into();
        let severity = match RunMode::other_name(word) {
            Some(_) => Severity::Note,
            None => Severity::Warning,
        };
        reading.repair_value(severity, "unknown_word", "/mode", message, normal);
    }
}

fn collect_facts(reading: &mut DocumentReader<'_>) -> OrchestrationFacts {
    let mut ids = IdTable::default();
    let claims = read_lists(reading, &mut ids);
    let dependencies = read_dependencies(reading, &mut ids);
    let config = read_config(reading);
    if reading.get("/execution").is_some() {
        reading.read_object("/execution");
    }
    let (started_at, updated_at) = read_times(reading);
    let current_phase = read_phase(reading);
    let worktree = reading
        .read_optional_text("/execution/worktree")
        .map(Arc::from);
    let mut claims = claims;
    let phases = read_checkpoints(reading, &mut ids, &mut claims);
    let traces = read_bookkeeping(reading, &mut ids, config);
    let said = claims.iter().filter(|(_, it)| *it == NodeStatus::Completed);
    let landed = |phase: &&PhaseFacts| {
        phase
            .landing
            .as_ref()
            .is_some_and(LandingOutcome::has_landed)
    };
    let recorded = phases.iter().filter(landed).flat_map(|phase| &phase.tasks);
    let completed: HashSet<&NodeId> = said.map(|(id, _)| id).chain(recorded).collect();
    let time = read_time(reading, completed.len());
    OrchestrationFacts {
        nodes: build_nodes(&ids, dependencies, &phases, &traces),
        facts: RunFacts {
            config,
            current_phase,
            worktree,
            started_at,
            updated_at,
            claims,
            traces: traces.into_iter().map(|(id, it)| (id, it.trace)).collect(),
            phases,
            time,
        },
    }
}

/// Returns the times of the start and of the last change. A missing time is taken from the other
/// one; if both are missing, they are [`UNKNOWN_TIME`], which is never written.
fn read_times(reading: &mut DocumentReader<'_>) -> (Timestamp, Timestamp) {
    let (started, updated) = ("/execution/started_at", "/execution/last_updated");
    let known = (reading.seen_time(started), reading.seen_time(updated));
    for (place, own, sibling) in [(started, known.0, known.1), (updated, known.1, known.0)] {
        let Some(found) = reading.get(place).filter(|_| own.is_none()) else {
            continue;
        };
        let (severity, message) = match found {
            Value::Null => (Severity::Note, FileFinding::SaysNoTime),
            Value::String(_) => (Severity::Error, FileFinding::IsNoTime),
            _ => (
                Severity::Error,
                FileFinding::ShouldBe { wanted: Kind::Time },
            ),
        };
        match sibling {
            Some(at) => {
                reading.repair_value(severity, "bad_time", place, message, format_utc(at).into())
            }
            None => reading.drop_key(severity, "bad_time", place, message),
        }
    }
    let started = known.0.or(known.1).unwrap_or(UNKNOWN_TIME);
    (started, known.1.unwrap_or(started))
}

/// Returns the current phase of the file. A word that is no phase is kept, with a finding that asks
/// a person.
fn read_phase(reading: &mut DocumentReader<'_>) -> Option<u32> {
    let stated = reading
        .get("/execution/current_phase")
        .filter(|stated| !stated.is_null())?;
    let phase = phase_word(stated);
    let word = stated.as_str().is_some_and(|word| !word.trim().is_empty());
    if phase.is_none() && !word {
        let message = FileFinding::ShouldBe {
            wanted: Kind::WholeNumber,
        };
        reading.drop_key(
            Severity::Error,
            "wrong_type",
            "/execution/current_phase",
            message,
        );
    } else if phase.is_none() {
        let message = FileFinding::UnknownPhaseKept;
        reading.add_finding(
            Severity::Warning,
            "unknown_phase",
            "/execution/current_phase",
            message,
            None,
        );
    }
    phase
}

/// Interned ids, each shared by all values that name it.
#[derive(Default)]
struct IdTable<'d> {
    by_name: HashMap<&'d str, NodeId>,
    /// Ids in the order of the document: nearly natural order, so that sorting them is quick.
    met: Vec<NodeId>,
}

impl<'d> IdTable<'d> {
    /// Returns the id in a value, if it has one.
    fn id_in_value(&mut self, value: &'d Value) -> Option<NodeId> {
        let plain = value.as_str().and_then(|text| self.intern_id(text));
        plain.or_else(|| families::list_entry(value).and_then(|(id, _)| self.intern_id(id)))
    }

    fn intern_id(&mut self, text: &'d str) -> Option<NodeId> {
        if let Some(id) = self.by_name.get(text) {
            return Some(id.clone());
        }
        TaskId::new(text).ok()?;
        let id: NodeId = text.into();
        self.by_name.insert(text, id.clone());
        self.met.push(id.clone());
        Some(id)
    }

    /// Returns all ids in a list, and the number of elements that are none.
    fn ids_in_list(&mut self, items: &'d [Value]) -> (Vec<NodeId>, usize) {
        let ids: Vec<NodeId> = items
            .iter()
            .filter_map(|item| self.id_in_value(item))
            .collect();
        let bad = items.len() - ids.len();
        (ids, bad)
    }
}

fn read_lists<'d>(
    reading: &mut DocumentReader<'d>,
    ids: &mut IdTable<'d>,
) -> Vec<(NodeId, NodeStatus)> {
    let mut claims = Vec::new();
    for status in NodeStatus::ALL {
        let place = child_pointer("/tasks", status.name());
        if reading.get(&place).is_none_or(Value::is_null) {
            continue;
        }
        let (listed, bad) = ids.ids_in_list(reading.read_list(&place));
        if bad > 0 {
            let message = FileFinding::NoIds { count: bad };
            let repair = Some(Repair::LeaveThemOut);
            reading.add_finding(Severity::Error, "bad_id", &place, message, repair);
        }
        claims.extend(listed.into_iter().map(|id| (id, status)));
    }
    claims
}

fn read_dependencies<'d>(
    reading: &mut DocumentReader<'d>,
    ids: &mut IdTable<'d>,
) -> HashMap<NodeId, Vec<NodeId>> {
    let mut all = HashMap::new();
    if reading.get("/dependencies").is_none() {
        return all;
    }
    let Some(map) = reading.read_object("/dependencies") else {
        return all;
    };
    let mut odd: Vec<(&str, Option<Value>)> = Vec::new();
    for (key, value) in map {
        let Some(id) = ids.intern_id(key) else {
            odd.push((key, None));
            continue;
        };
        // One dependency outside a list is still unambiguous.
        let (needs, bad) = match value {
            Value::Array(items) => ids.ids_in_list(items),
            one @ Value::String(_) => {
                let needs: Vec<NodeId> = ids.id_in_value(one).into_iter().collect();
                (needs, 1)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => (vec![], 1),
        };
        if bad > 0 {
            let texts: Vec<Value> = needs.iter().map(|id| Value::from(&**id)).collect();
            odd.push((key, Some(texts.into())));
        }
        all.insert(id, needs);
    }
    if let Some((first, _)) = odd.first() {
        let message = FileFinding::OddEntries { count: odd.len() };
        let place = child_pointer("/dependencies", first);
        let repair = Some(Repair::KeepIds);
        reading.add_finding(Severity::Error, "bad_id", &place, message, repair);
        if let Some(Value::Object(map)) = reading.fixed_mut().get_mut("dependencies") {
            let mut odd: HashMap<&str, Option<Value>> = odd.into_iter().collect();
            map.retain(|key, value| match odd.remove(key.as_str()) {
                None => true,
                Some(None) => false,
                Some(Some(needs)) => {
                    *value = needs;
                    true
                }
            });
        }
    }
    all
}

fn read_config(reading: &mut DocumentReader<'_>) -> OrchestrationLimits {
    if reading.get("/config").is_some() {
        reading.read_object("/config");
    }
    let default = OrchestrationLimits::default();
    let mut count =
        |name: &str, default| reading.read_optional_count(&child_pointer("/config", name), default);
    let config = OrchestrationLimits {
        max_parallel: count("max_parallel", default.max_parallel),
        retry_limit: count("retry_limit", default.retry_limit),
    };
    // The URL is a secret: a finding names its place and never its text.
    for place in ["/config/slack_webhook_url", "/slack_webhook_url"] {
        if let Some(found) = reading.get(place)
            && !found.is_string()
            && !found.is_null()
        {
            let message = FileFinding::ShouldBe {
                wanted: Kind::TextOrNull,
            };
            reading.repair_value(Severity::Error, "wrong_type", place, message, Value::Null);
        }
    }
    config
}

fn read_checkpoints<'d>(
    reading: &mut DocumentReader<'d>,
    ids: &mut IdTable<'d>,
    claims: &mut Vec<(NodeId, NodeStatus)>,
) -> Vec<PhaseFacts> {
    let mut phases = Vec::new();
    if reading.get("/checkpoints").is_none() {
        return phases;
    }
    let Some(map) = reading.read_object("/checkpoints") else {
        return phases;
    };
    for (key, item) in map {
        let Some(numbers) = phase_numbers(key) else {
            continue;
        };
        let place = child_pointer("/checkpoints", key);
        let field = |name: &str| child_pointer(&place, name);
        if !item.is_object() {
            reading.read_object(&place);
            continue;
        }
        let started_at = reading.read_time(&field("started_at"));
        let mut completed_at = reading.read_time(&field("completed_at"));
        if completed_at.is_some() && completed_at < started_at {
            let message = FileFinding::BeforeStart;
            let value = item["started_at"].clone();
            let here = field("completed_at");
            reading.repair_value(Severity::Error, "rule_broken", &here, message, value);
            completed_at = started_at;
        }
        let merged = match item.get("merged") {
            None => None,
            Some(Value::Bool(merged)) => Some(*merged),
            Some(_) => {
                let message = FileFinding::ShouldBe { wanted: Kind::Bool };
                reading.drop_key(Severity::Error, "wrong_type", &field("merged"), message);
                None
            }
        };
        let commit = reading.read_optional_text(&field("merge_commit"));
        let tasks = match item.get("tasks") {
            // A short form of the file has the number of tasks here.
            None => Vec::new(),
            Some(Value::Number(number)) if number.is_u64() => Vec::new(),
            Some(Value::Array(items)) => {
                let (tasks, bad) = ids.ids_in_list(items);
                if bad > 0 {
                    let message = FileFinding::NoIds { count: bad };
                    let kept: Vec<Value> = tasks.iter().map(|id| Value::from(&**id)).collect();
                    let here = field("tasks");
                    reading.repair_value(Severity::Error, "bad_id", &here, message, kept.into());
                }
                tasks
            }
            Some(_) => {
                let message = FileFinding::ShouldBe {
                    wanted: Kind::TaskList,
                };
                reading.drop_key(Severity::Error, "wrong_type", &field("tasks"), message);
                Vec::new()
            }
        };
        let landing = match (merged, commit) {
            (Some(true), Some(commit)) => Some(LandingOutcome::Merged {
                commit: commit.into(),
            }),
            (Some(true), None) => Some(LandingOutcome::WithoutMerge),
            (Some(false), _) => Some(LandingOutcome::Unmerged),
            (None, _) if completed_at.is_some() => Some(LandingOutcome::WithoutMerge),
            (None, _) => item
                .get("status")
                .filter(|it| *it == "completed")
                .map(|_| LandingOutcome::WithoutMerge),
        };
        if numbers.is_empty() && landing.as_ref().is_some_and(LandingOutcome::has_landed) {
            claims.extend(tasks.iter().map(|id| (id.clone(), NodeStatus::Completed)));
        }
        for number in numbers {
            phases.push(PhaseFacts {
                number,
                started_at,
                completed_at,
                landing: landing.clone(),
                tasks: tasks.clone(),
            });
        }
    }
    phases
}

/// Maximum number of phases that one checkpoint covers.
const PHASES_TOGETHER_MAX: u32 = 20;

/// Returns the phases in `phase_N` and `phase_3_4`; none for `phase_5_t1`, which is part of a
/// phase.
fn phase_numbers(key: &str) -> Option<Vec<u32>> {
    let rest = key.strip_prefix("phase_")?;
    let numbers: Option<Vec<u32>> = rest.split('_').map(|part| part.parse().ok()).collect();
    Some(match numbers.as_deref() {
        Some([one]) => vec![*one],
        Some([first, last]) if first < last && last - first < PHASES_TOGETHER_MAX => {
            (*first..=*last).collect()
        }
        Some(_) | None => Vec::new(),
    })
}

struct TaskNote {
    trace: TaskFacts,
    phase: Option<u32>,
    section: u32,
}

/// Reads our additions to the documented keys, which exist only for some tasks.
fn read_bookkeeping<'d>(
    reading: &mut DocumentReader<'d>,
    ids: &mut IdTable<'d>,
    config: OrchestrationLimits,
) -> Vec<(NodeId, TaskNote)> {
    let mut traces = Vec::new();
    let tasks = match reading.get("/bookkeeping") {
        None => return traces,
        Some(_) => match reading
            .read_object("/bookkeeping")
            .map(|it| it.get("tasks"))
        {
            None | Some(None) => return traces,
            Some(Some(_)) => reading.read_object("/bookkeeping/tasks"),
        },
    };
    let limit = config.retry_limit.max(1);
    for (key, item) in tasks.into_iter().flatten() {
        let place = || child_pointer("/bookkeeping/tasks", key);
        let known = ids.by_name.get(key.as_str()).cloned();
        let (Some(id), Value::Object(item)) = (known, item) else {
            let message = FileFinding::NotOfThisRun;
            reading.drop_key(Severity::Warning, "unlisted_task", &place(), message);
            continue;
        };
        let mut attempts = read_count(reading, item, "attempts", &place).unwrap_or(0);
        if attempts > limit {
            let message = FileFinding::TooManyAttempts { attempts };
            let here = child_pointer(&place(), "attempts");
            reading.repair_value(
                Severity::Error,
                "out_of_range",
                &here,
                message,
                limit.into(),
            );
            attempts = limit;
        }
        let text = |reading: &mut DocumentReader<'d>, name: &str| match item.get(name) {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(text.clone()),
            Some(_) => reading.read_optional_text(&child_pointer(&place(), name)),
        };
        let phase = read_count(reading, item, "phase", &place);
        let section = read_count(reading, item, "section", &place).unwrap_or(0);
        let error = text(reading, "error").map(Arc::from);
        let started_at = match item.get("started_at") {
            None | Some(Value::Null) => None,
            Some(_) => reading.read_time(&child_pointer(&place(), "started_at")),
        };
        let trace = TaskFacts {
            attempts,
            started_at,
            error,
        };
        traces.push((
            id,
            TaskNote {
                trace,
                phase,
                section,
            },
        ));
    }
    traces
}

fn read_count(
    reading: &mut DocumentReader<'_>,
    item: &Map<String, Value>,
    name: &str,
    place: &impl Fn() -> String,
) -> Option<u32> {
    let value = item.get(name)?;
    if value.is_null() {
        let message = FileFinding::SaysNothing;
        let here = child_pointer(&place(), name);
        reading.drop_key(Severity::Warning, "missing_field", &here, message);
        return None;
    }
    match value.as_u64().and_then(|count| u32::try_from(count).ok()) {
        Some(count) => Some(count),
        None => reading.read_count(&child_pointer(&place(), name)),
    }
}

/// Returns the duration of tasks: as stored, otherwise derived from the average.
fn read_time(reading: &mut DocumentReader<'_>, completed: usize) -> TaskTime {
    let book = reading.get("/bookkeeping");
    let kept = |name: &str| book.is_some_and(|book| book.get(name).is_some());
    if kept("task_seconds") || kept("timed_tasks") {
        let seconds = reading.read_whole_or("/bookkeeping/task_seconds", 0);
        return TaskTime {
            seconds: i64::try_from(seconds).unwrap_or(i64::MAX),
            tasks: reading.read_count_or("/bookkeeping/timed_tasks", 0),
        };
    }
    let average = reading.get("/metrics/average_task_time_seconds");
    time_from_average(average, completed)
}

/// Derives the total duration from an average and a number of tasks.
pub(super) fn time_from_average(average: Option<&Value>, completed: usize) -> TaskTime {
    let average = average.and_then(whole_seconds).unwrap_or(0);
    let tasks = u32::try_from(completed).unwrap_or(u32::MAX);
    match average.saturating_mul(i64::from(tasks)) {
        seconds if seconds > 0 => TaskTime { seconds, tasks },
        _ => TaskTime::default(),
    }
}

/// Returns a number of seconds with fractions rounded.
pub(super) fn whole_seconds(value: &Value) -> Option<i64> {
    let rounded = value.as_f64()?.round();
    format!("{rounded:.0}").parse().ok()
}

fn build_nodes(
    ids: &IdTable<'_>,
    mut dependencies: HashMap<NodeId, Vec<NodeId>>,
    phases: &[PhaseFacts],
    traces: &[(NodeId, TaskNote)],
) -> Vec<NodeSpec> {
    let recorded = phases
        .iter()
        .flat_map(|phase| phase.tasks.iter().map(|id| (id, phase.number)));
    let recorded: HashMap<&NodeId, u32> = recorded.collect();
    let noted = traces.iter().filter_map(|(id, it)| Some((id, it.phase?)));
    let noted: HashMap<&NodeId, u32> = noted.collect();
    let sections = traces.iter().map(|(id, it)| (id, it.section));
    let sections: HashMap<&NodeId, u32> = sections.collect();
    let phase = |id: &NodeId| {
        let phase_from_id = || phase_of_id(id).or_else(|| recorded.get(id).copied());
        noted.get(id).copied().or_else(phase_from_id).unwrap_or(0)
    };
    let mut nodes: Vec<NodeSpec> = ids
        .met
        .iter()
        .map(|id| NodeSpec {
            id: id.clone(),
            phase: phase(id),
            section: sections.get(id).copied().unwrap_or(0),
            dependencies: dependencies.remove(id).unwrap_or_default(),
        })
        .collect();
    nodes.sort_by(|a, b| {
        a.phase
            .cmp(&b.phase)
            .then_with(|| natural_order::compare_natural(&a.id, &b.id))
    });
    nodes
}
