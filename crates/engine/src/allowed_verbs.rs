//! Lists the verbs that a person may use on a state file now. Every verb is tried on the machine;
//! the input that a verb needs is listed with it.

use crate::context::Context;
use crate::develop::{RunRecords, contract_of};
use crate::error::Error;
use crate::files::{FileNotice, FileView, KnownFile};
use crate::history;
use crate::kinds::{DocumentState, FileKind};
use crate::operations::orchestrate;
use crate::words::display_path;
use crate::workspace::locate_file;
use bowline_formats::StateFormat as _;
use bowline_formats::orchestrate::OrchestrateFile;
use bowline_machines::develop::{
    ATTEMPTS_MAX, Command as Develop, DevelopMachine, DevelopPhase, DevelopRunState, FailureClass,
    Gate, ImplementationStrategy, StrategyChoice, SubmittedEvidence,
};
use bowline_machines::orchestrate::{
    Command as Node, NodeId, OrchestrateMachine, OrchestrationState as Orchestration, PhaseEnd,
};
use bowline_machines::plan::{
    Command as Plan, FailureKind, NewStep, NewTask, PlanMachine, StepStatus, TaskMemory, TaskResult,
};
use bowline_machines::thinking::QualityMetric;
use bowline_machines::{Actor, Machine as _, Timestamp};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Most tasks of an orchestration that are checked.
const NODES_MAX: usize = 2_000;
/// Most dated copies, and most runs with lessons, that are listed.
const NAMED_MAX: usize = 100;
/// Placeholder for text that a person will enter.
const TEXT_PLACEHOLDER: &str = "…";

/// Kind of input that a verb takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VerbInput {
    /// A sentence or a name.
    Text,
    /// An identifier, such as a failure code or the path of a value.
    Code,
    /// A file or another list item.
    Path,
    Command,
    /// The subject of the verb, from a list kept elsewhere.
    Id,
    /// The version of the file that the person saw.
    Version,
}

/// Verb that the rules allow, with its inputs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowedVerb {
    pub verb: &'static str,
    /// Possible subjects; empty if none has to be named.
    pub ids: Vec<String>,
    /// Required inputs.
    pub asks: Vec<VerbInput>,
    /// Optional inputs.
    pub takes: Vec<VerbInput>,
    /// Allowed values of a code; empty if it is free text.
    pub codes: Vec<&'static str>,
    /// Names of the numbers it takes.
    pub values: Vec<String>,
    /// Names of the optional texts it takes.
    pub texts: Vec<&'static str>,
    /// Commands that it runs, one per line.
    pub runs: Option<String>,
    /// True if the next verb cannot bring back what this one removes: the interface asks for
    /// confirmation.
    pub grave: bool,
}

impl AllowedVerb {
    fn new(verb: &'static str) -> Self {
        AllowedVerb {
            verb,
            ..AllowedVerb::default()
        }
    }

    fn with_id(self, id: impl Into<String>) -> Self {
        AllowedVerb {
            ids: vec![id.into()],
            ..self
        }
    }

    fn with_required(self, asks: &[VerbInput]) -> Self {
        AllowedVerb {
            asks: asks.to_vec(),
            ..self
        }
    }

    fn with_optional(self, said: VerbInput) -> Self {
        AllowedVerb {
            takes: vec![said],
            ..self
        }
    }

    fn with_texts(self, names: &[&'static str]) -> Self {
        AllowedVerb {
            texts: names.to_vec(),
            ..self
        }
    }

    fn with_ids(self, ids: Vec<String>) -> Self {
        AllowedVerb { ids, ..self }
    }

    fn with_grave(self, grave: bool) -> Self {
        AllowedVerb { grave, ..self }
    }

    fn with_codes(self, codes: impl IntoIterator<Item = &'static str>) -> Self {
        AllowedVerb {
            codes: codes.into_iter().collect(),
            ..self.with_optional(VerbInput::Code)
        }
    }
}

/// Returns the verbs a person may use on a viewed file, given the other state files of its
/// workspace.
pub fn allowed_verbs(
    context: &Context,
    file: &KnownFile,
    view: &FileView,
    beside: &[(FileKind, PathBuf)],
) -> Result<Vec<AllowedVerb>, Error> {
    let at = context.now_for(view.kind);
    let mut all = match &view.examined.state {
        // Stages follow each other: the advised verbs are all there are.
        DocumentState::Thinking(_) => of_thinking(view, beside),
        DocumentState::TaskState(memory) => of_memory(memory, at),
        DocumentState::Develop(run) => of_develop(context, file, view, run.as_deref(), at)?,
        DocumentState::Orchestrate => match OrchestrateFile::read_state(&view.document) {
            Ok(read) => of_orchestration(&read.state, at),
            Err(findings) => return Err(file.damaged_error(findings)),
        },
        DocumentState::TaskHistory(_) => vec![AllowedVerb::new("prune")],
        DocumentState::SharedContext(_) => {
            let [set, append] = of_values();
            vec![set, append, AllowedVerb::new("session-new")]
        }
        DocumentState::AgentMemory(_) => of_values().to_vec(),
    };
    if view.kind.command_noun() == FileKind::TaskState.command_noun() {
        let copies = file.file.archived_copies()?;
        let names = copies.iter().filter_map(|path| path.file_name());
        let names: Vec<String> = names
            .map(|name| name.to_string_lossy().into_owned())
            .take(NAMED_MAX)
            .collect();
        if !names.is_empty() {
            let copy = AllowedVerb::new("restore-copy").with_ids(names);
            all.push(copy.with_required(&[VerbInput::Version]));
        }
    }
    let has_repair = |notice: &FileNotice| notice.to_finding().repair.is_some();
    if view.examined.needs_repair() || view.notices.iter().any(has_repair) {
        all.push(AllowedVerb::new("repair"));
    }
    if view.version > 1 {
        // Decided again under the lock, which a view does not take.
        if history::can_undo(file, view) {
            all.push(AllowedVerb::new("undo").with_required(&[VerbInput::Version]));
        }
        all.push(AllowedVerb::new("restore").with_required(&[VerbInput::Id, VerbInput::Version]));
    }
    Ok(all)
}

/// Returns the verbs for a file that cannot be viewed.
pub fn allowed_despite(error: &Error) -> Vec<AllowedVerb> {
    match error {
        Error::Damaged { .. } => vec![AllowedVerb::new("repair")],
        _ => Vec::new(),
    }
}

/// Returns what a person may begin in a folder with these files: at most one memory, develop run
/// and orchestration, and a thinking run in every folder.
pub fn allowed_beginnings(
    context: &Context,
    root: &Path,
    there: &[(FileKind, PathBuf)],
) -> Vec<(FileKind, AllowedVerb)> {
    let has = |kind: FileKind| {
        let place = root.join(kind.relative_path());
        there.iter().any(|(_, path)| *path == place)
    };
    let new = AllowedVerb::new("new").with_texts(&["title", "goal"]);
    let mut all = vec![(
        FileKind::Thinking,
        match has(FileKind::Thinking) {
            true => new.with_required(&[VerbInput::Code, VerbInput::Path]),
            false => new
                .with_required(&[VerbInput::Code])
                .with_optional(VerbInput::Path),
        },
    )];
    if !has(FileKind::TaskState) {
        all.push((FileKind::TaskState, new_task()));
    }
    // A file in a folder above is not begun here.
    let own = |kind| locate_file(context, kind, root) == root.join(FileKind::relative_path(kind));
    if !has(FileKind::Develop) && own(FileKind::Develop) {
        let start = AllowedVerb::new("start").with_required(&[VerbInput::Text]);
        all.push((FileKind::Develop, start));
    }
    if !has(FileKind::Orchestrate) && own(FileKind::Orchestrate) {
        let begin = match orchestrate::load_plan(context, root, None) {
            Ok(plan) if plan.check_usable().is_ok() => {
                let name = plan.path.strip_prefix(root).unwrap_or(&plan.path);
                Some(AllowedVerb::new("init").with_id(display_path(name)))
            }
            Err(Error::NoPlan { .. }) => {
                Some(AllowedVerb::new("import").with_required(&[VerbInput::Path]))
            }
            Ok(_) | Err(_) => None,
        };
        all.extend(begin.map(|begin| (FileKind::Orchestrate, begin)));
    }
    all
}

fn new_task() -> AllowedVerb {
    let new = AllowedVerb::new("task-new").with_required(&[VerbInput::Text]);
    new.with_texts(&["goal", "request"])
}

/// Verbs that take a path and a value.
fn of_values() -> [AllowedVerb; 2] {
    ["set", "append"]
        .map(|verb| AllowedVerb::new(verb).with_required(&[VerbInput::Code, VerbInput::Text]))
}

fn of_thinking(view: &FileView, beside: &[(FileKind, PathBuf)]) -> Vec<AllowedVerb> {
    let Some(sheet) = view.sheet() else {
        return Vec::new();
    };
    let scores = sheet.run.evaluation.scores.iter();
    let scores = scores.map(|one| one.name.clone()).collect();
    let metrics = QualityMetric::ALL.map(|it| it.name().to_owned()).to_vec();
    let numbers = |verb, values| AllowedVerb {
        values,
        ..AllowedVerb::new(verb)
    };
    let next = view.examined.next.iter();
    let mut all: Vec<AllowedVerb> = next
        .filter_map(|next| {
            let allowed = match next.verb {
                "start" if next.options.is_empty() => AllowedVerb::new("start"),
                "start" => AllowedVerb::new("start").with_required(&[VerbInput::Text]),
                "complete" if next.options.is_empty() => AllowedVerb::new("complete"),
                "complete" => AllowedVerb::new("complete").with_required(&[VerbInput::Path]),
                "output" => AllowedVerb::new("output").with_required(&[VerbInput::Path]),
                "fail" => {
                    AllowedVerb::new("fail").with_required(&[VerbInput::Code, VerbInput::Text])
                }
                _ => return None,
            };
            Some(allowed.with_id(next.target.clone().unwrap_or_default()))
        })
        .collect();
    // The work may be evaluated, and evaluated again, at any time.
    all.push(numbers("evaluate", scores));
    all.push(numbers("quality", metrics));
    let measured = ["actual", "target"].map(str::to_owned).to_vec();
    let feedback = numbers("feedback", measured).with_required(&[VerbInput::Text]);
    all.push(feedback.with_texts(&["learning", "improvement"]));
    let others = beside
        .iter()
        .filter(|(kind, path)| *kind == FileKind::Thinking && *path != view.path);
    let others = others.filter_map(|(_, path)| path.parent().map(display_path));
    let others: Vec<String> = others.take(NAMED_MAX).collect();
    if !others.is_empty() {
        all.push(AllowedVerb::new("feedback-apply").with_ids(others));
    }
    all
}

fn of_memory(memory: &TaskMemory, at: Timestamp) -> Vec<AllowedVerb> {
    let may = |command: Plan| PlanMachine::step(memory, command, at).is_ok();
    let task = NewTask {
        id: TEXT_PLACEHOLDER.to_owned(),
        name: TEXT_PLACEHOLDER.to_owned(),
        ..NewTask::default()
    };
    let step = NewStep {
        name: TEXT_PLACEHOLDER.to_owned(),
        ..NewStep::default()
    };
    let recover = Plan::TaskRecover {
        by: Actor::Person,
        reason: None,
    };
    let finish = Plan::TaskFinish {
        result: None,
        summary: None,
        lessons: Vec::new(),
        tokens: None,
    };
    let results = TaskResult::ALL.map(TaskResult::name);
    let steps = memory.current.iter().flat_map(|task| &task.plan.steps);
    let undone = steps.map(|step| step.status);
    let undone = undone.into_iter().any(|it| it != StepStatus::Completed);
    let finished = AllowedVerb::new("finish")
        .with_codes(results)
        .with_texts(&["lesson"]);
    let mut finished = finished.with_grave(undone);
    finished.takes.insert(0, VerbInput::Text);
    let whole = [
        (AllowedVerb::new("pause"), Plan::TaskPause),
        (AllowedVerb::new("resume"), Plan::TaskResume),
        (
            AllowedVerb::new("recover").with_optional(VerbInput::Text),
            recover,
        ),
        (finished, finish),
        (
            AllowedVerb::new("cancel").with_grave(true),
            Plan::TaskCancel,
        ),
        (
            AllowedVerb::new("step-add").with_required(&[VerbInput::Text]),
            Plan::StepAdd(step),
        ),
        (new_task(), Plan::NewTask(task)),
    ];
    let mut all: Vec<AllowedVerb> = whole
        .into_iter()
        .filter_map(|(allowed, command)| may(command).then_some(allowed))
        .collect();
    let steps = memory.current.iter().flat_map(|task| &task.plan.steps);
    for id in steps.map(|step| step.id) {
        let kinds = FailureKind::ALL.map(FailureKind::name);
        let mut failed = AllowedVerb::new("step-fail").with_codes(kinds);
        failed.asks.push(VerbInput::Text);
        let moves = [
            (AllowedVerb::new("step-start"), Plan::StepStart { id }),
            (
                AllowedVerb::new("step-complete").with_optional(VerbInput::Text),
                Plan::StepComplete {
                    id,
                    output: None,
                    artifacts: Vec::new(),
                },
            ),
            (
                failed,
                Plan::StepFail {
                    id,
                    kind: FailureKind::Transient,
                    message: TEXT_PLACEHOLDER.to_owned(),
                },
            ),
        ];
        let moves = moves
            .into_iter()
            .filter(|(_, command)| may(command.clone()));
        all.extend(moves.map(|(allowed, _)| allowed.with_id(id.to_string())));
    }
    let waiting = memory.queue.iter().map(|task| task.id.clone());
    let ids: Vec<String> = waiting.collect();
    if !ids.is_empty() {
        all.push(AllowedVerb::new("task-drop").with_ids(ids).with_grave(true));
    }
    all.push(AllowedVerb::new("backup"));
    all.push(AllowedVerb::new("prune"));
    all
}

fn of_develop(
    context: &Context,
    file: &KnownFile,
    view: &FileView,
    run: Option<&DevelopRunState>,
    at: Timestamp,
) -> Result<Vec<AllowedVerb>, Error> {
    let known = RunRecords::from_journal(context, file, view.history.as_ref())?;
    let seal = known.read_seal(context)?;
    let contract = contract_of(context, &known.folder)?;
    let state = run.cloned();
    let may = |command: Develop| DevelopMachine::step(&state, command, at).is_ok();
    let by = Actor::Person;
    let start = Develop::Start {
        feature: TEXT_PLACEHOLDER.to_owned(),
        fresh: false,
        by,
    };
    let review = Develop::Review {
        checkpoints: Vec::new(),
    };
    let implement = Develop::Implement {
        choice: StrategyChoice::Named(ImplementationStrategy::Direct),
    };
    let adopt = Develop::Adopt {
        owned: known.ledger.adopted,
    };
    let whole = [
        (
            AllowedVerb::new("start").with_required(&[VerbInput::Text]),
            start,
        ),
        (
            AllowedVerb::new("review").with_optional(VerbInput::Path),
            review,
        ),
        (AllowedVerb::new("implement"), implement),
        (AllowedVerb::new("pr"), Develop::Pr),
        (AllowedVerb::new("done"), Develop::Done),
        (AllowedVerb::new("adopt"), adopt),
    ];
    let whole = whole
        .into_iter()
        .filter(|(_, command)| may(command.clone()));
    let mut all: Vec<AllowedVerb> = whole.map(|(allowed, _)| allowed).collect();
    let Some(run) = run else {
        return Ok(all);
    };
    all.push(AllowedVerb::new("seal"));
    for gate in Gate::ALL {
        let on = |allowed: AllowedVerb| allowed.with_id(gate.name());
        let runs = seal.as_ref().and_then(|seal| seal.rules.gate_command(gate));
        let evidence = match runs {
            Some(_) => SubmittedEvidence::Sealed {
                exit_code: 0,
                stale: false,
            },
            None => SubmittedEvidence::Given { exit_code: 0 },
        };
        let asked: &[VerbInput] = if runs.is_some() {
            &[]
        } else {
            &[VerbInput::Command]
        };
        let pass = AllowedVerb {
            runs: runs.map(str::to_owned),
            ..AllowedVerb::new("gate-pass").with_required(asked)
        };
        let by_hand = SubmittedEvidence::ByHand {
            reason: TEXT_PLACEHOLDER.to_owned(),
        };
        let passes = |evidence| may(Develop::GatePass { gate, evidence, by });
        if !run.gates.is_open(gate) {
            all.extend(passes(evidence).then(|| on(pass)));
            let word = AllowedVerb::new("gate-by-hand").with_required(&[VerbInput::Text]);
            all.extend(passes(by_hand).then(|| on(word)));
        } else if may(Develop::GateReset { gate }) {
            all.push(on(AllowedVerb::new("gate-reset")));
        }
    }
    for one in &run.checkpoints {
        let (id, attempts_max) = (one.id.clone(), ATTEMPTS_MAX);
        let on = |allowed: AllowedVerb| allowed.with_id(one.id.clone());
        let starts = |override_reason| Develop::CheckpointStart {
            id: id.clone(),
            override_reason,
            by,
        };
        if may(starts(None)) {
            all.push(on(AllowedVerb::new("checkpoint-start")));
        } else if may(starts(Some(TEXT_PLACEHOLDER.to_owned()))) {
            all.push(on(
                AllowedVerb::new("checkpoint-start").with_required(&[VerbInput::Text])
            ));
        }
        let pass = Develop::CheckpointPass {
            id: id.clone(),
            evidence: SubmittedEvidence::None,
            attempts_max,
        };
        if may(pass) {
            let planned = contract.iter().find(|it| it.id == id);
            let runs = planned.and_then(|it| it.command.clone());
            let pass = AllowedVerb::new("checkpoint-pass");
            all.push(on(match runs {
                Some(_) => AllowedVerb { runs, ..pass },
                None => pass.with_optional(VerbInput::Command),
            }));
        }
        let fail = Develop::CheckpointFail {
            id,
            class: FailureClass::LogicError,
            attempts_max,
        };
        if may(fail) {
            let classes = FailureClass::ALL.map(FailureClass::name);
            all.push(on(AllowedVerb::new("checkpoint-fail").with_codes(classes)));
        }
    }
    let back = DevelopPhase::ALL.into_iter();
    let back = back.filter(|&phase| may(Develop::Back { phase, by }));
    let ids: Vec<String> = back.map(|phase| phase.name().to_owned()).collect();
    if !ids.is_empty() {
        all.push(AllowedVerb::new("back").with_ids(ids));
    }
    if may(Develop::Reset { by }) {
        all.push(AllowedVerb::new("reset").with_grave(true));
    }
    Ok(all)
}

fn of_orchestration(run: &Orchestration, at: Timestamp) -> Vec<AllowedVerb> {
    let may = |command: Node| OrchestrateMachine::step(run, command, at).is_ok();
    let phase = run.current_phase();
    let finish = Node::PhaseFinish {
        phase,
        end: PhaseEnd::NoGit,
        worktree: None,
    };
    let mut all = Vec::new();
    if may(finish) {
        all.push(AllowedVerb::new("phase-finish").with_id(phase.to_string()));
    }
    let nodes = &run.graph().ids()[..run.graph().len().min(NODES_MAX)];
    let on_each = |allowed: AllowedVerb, command: &dyn Fn(NodeId) -> Node| {
        let ids = nodes.iter().filter(|id| may(command(NodeId::clone(id))));
        let ids: Vec<String> = ids.map(ToString::to_string).collect();
        (!ids.is_empty()).then_some(AllowedVerb { ids, ..allowed })
    };
    all.extend(on_each(AllowedVerb::new("start"), &|id| Node::Start { id }));
    all.extend(on_each(AllowedVerb::new("complete"), &|id| {
        Node::Complete { id }
    }));
    all.extend(on_each(AllowedVerb::new("retry"), &|id| Node::Retry { id }));
    let reason: Option<Arc<str>> = Some(TEXT_PLACEHOLDER.into());
    let fail = AllowedVerb::new("fail").with_required(&[VerbInput::Text]);
    all.extend(on_each(fail, &|id| Node::Fail {
        id,
        reason: reason.clone(),
        retry: false,
    }));
    let force = AllowedVerb::new("force-complete").with_optional(VerbInput::Text);
    all.extend(on_each(force, &|id| Node::ForceComplete {
        id,
        by: Actor::Person,
        reason: None,
    }));
    let metrics = run.metrics();
    if metrics.completed_count < metrics.total_tasks {
        all.push(AllowedVerb {
            runs: Some("bowline orchestrate run".to_owned()),
            ..AllowedVerb::new("run").with_texts(&["agent"])
        });
    }
    all.push(AllowedVerb::new("rebuild"));
    let restore = AllowedVerb::new("rescue-restore").with_required(&[VerbInput::Id]);
    all.push(restore.with_texts(&["branch"]));
    all.push(
        AllowedVerb::new("rescue-drop")
            .with_required(&[VerbInput::Id])
            .with_grave(true),
    );
    all
}
