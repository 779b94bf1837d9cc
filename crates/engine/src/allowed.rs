//! Lists the verbs that a person may use on a state file now. Every verb is tried on the machine;
//! the input that a verb needs is listed with it.

use crate::context::Context;
use crate::develop::{Known, contract_of};
use crate::error::Error;
use crate::files::{KnownFile, Notice, View};
use crate::history;
use crate::kinds::{FileKind, State};
use crate::operations::orchestrate;
use crate::words::shown;
use crate::workspace::locate;
use bowline_formats::StateFormat as _;
use bowline_formats::orchestrate::OrchestrateFile;
use bowline_machines::develop::{
    ATTEMPTS_MAX, Choice, Command as Develop, DevelopMachine, Evidence, FailureClass, Gate, Phase,
    Run, Strategy,
};
use bowline_machines::orchestrate::{
    Command as Node, Id, OrchestrateMachine, PhaseEnd, Run as Orchestration,
};
use bowline_machines::plan::{
    Command as Plan, FailureKind, Memory, NewStep, NewTask, PlanMachine, StepStatus, TaskResult,
};
use bowline_machines::thinking::Metric;
use bowline_machines::{Actor, Machine as _, Timestamp};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Most tasks of an orchestration that are checked.
const NODES_MAX: usize = 2_000;
/// Most dated copies, and most runs with lessons, that are listed.
const NAMED_MAX: usize = 100;
/// Placeholder for text that a person will enter.
const SAID: &str = "…";

/// Kind of input that a verb takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {
    /// A sentence or a name.
    Text,
    /// A word for programs.
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
pub struct Allowed {
    pub verb: &'static str,
    /// Possible subjects; empty if none has to be named.
    pub ids: Vec<String>,
    /// Required inputs.
    pub asks: Vec<Said>,
    /// Optional inputs.
    pub takes: Vec<Said>,
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

impl Allowed {
    fn verb(verb: &'static str) -> Self {
        Allowed {
            verb,
            ..Allowed::default()
        }
    }

    fn on(self, id: impl Into<String>) -> Self {
        Allowed {
            ids: vec![id.into()],
            ..self
        }
    }

    fn asks(self, asks: &[Said]) -> Self {
        Allowed {
            asks: asks.to_vec(),
            ..self
        }
    }

    fn takes(self, said: Said) -> Self {
        Allowed {
            takes: vec![said],
            ..self
        }
    }

    fn texts(self, names: &[&'static str]) -> Self {
        Allowed {
            texts: names.to_vec(),
            ..self
        }
    }

    fn among(self, ids: Vec<String>) -> Self {
        Allowed { ids, ..self }
    }

    fn grave(self, grave: bool) -> Self {
        Allowed { grave, ..self }
    }

    fn codes(self, codes: impl IntoIterator<Item = &'static str>) -> Self {
        Allowed {
            codes: codes.into_iter().collect(),
            ..self.takes(Said::Code)
        }
    }
}

/// Returns the verbs a person may use on a viewed file, given the other state files of its
/// workspace.
pub fn allowed(
    context: &Context,
    file: &KnownFile,
    view: &View,
    beside: &[(FileKind, PathBuf)],
) -> Result<Vec<Allowed>, Error> {
    let at = context.now_for(view.kind);
    let mut all = match &view.examined.state {
        // Stages follow each other: the advised verbs are all there are.
        State::Thinking(_) => of_thinking(view, beside),
        State::TaskState(memory) => of_memory(memory, at),
        State::Develop(run) => of_develop(context, file, view, run.as_deref(), at)?,
        State::Orchestrate => match OrchestrateFile::read(&view.document) {
            Ok(read) => of_orchestration(&read.state, at),
            Err(findings) => return Err(file.damaged(findings)),
        },
        State::TaskHistory(_) => vec![Allowed::verb("prune")],
        State::SharedContext(_) => {
            let [set, append] = of_values();
            vec![set, append, Allowed::verb("session-new")]
        }
        State::AgentMemory(_) => of_values().to_vec(),
    };
    if view.kind.noun() == FileKind::TaskState.noun() {
        let copies = file.file.archived()?;
        let names = copies.iter().filter_map(|path| path.file_name());
        let names: Vec<String> = names
            .map(|name| name.to_string_lossy().into_owned())
            .take(NAMED_MAX)
            .collect();
        if !names.is_empty() {
            let copy = Allowed::verb("restore-copy").among(names);
            all.push(copy.asks(&[Said::Version]));
        }
    }
    let told = |notice: &Notice| notice.to_finding().repair.is_some();
    if view.examined.needs_repair() || view.notices.iter().any(told) {
        all.push(Allowed::verb("repair"));
    }
    if view.version > 1 {
        // Decided again under the lock, which a view does not take.
        if history::can_undo(file, view) {
            all.push(Allowed::verb("undo").asks(&[Said::Version]));
        }
        all.push(Allowed::verb("restore").asks(&[Said::Id, Said::Version]));
    }
    Ok(all)
}

/// Returns the verbs for a file that cannot be viewed.
pub fn allowed_despite(error: &Error) -> Vec<Allowed> {
    match error {
        Error::Damaged { .. } => vec![Allowed::verb("repair")],
        _ => Vec::new(),
    }
}

/// Returns what a person may begin in a folder with these files: at most one memory, develop run
/// and orchestration, and a thinking run in every folder.
pub fn beginnings(
    context: &Context,
    root: &Path,
    there: &[(FileKind, PathBuf)],
) -> Vec<(FileKind, Allowed)> {
    let has = |kind: FileKind| {
        let place = root.join(kind.relative_path());
        there.iter().any(|(_, path)| *path == place)
    };
    let new = Allowed::verb("new").texts(&["title", "goal"]);
    let mut all = vec![(
        FileKind::Thinking,
        match has(FileKind::Thinking) {
            true => new.asks(&[Said::Code, Said::Path]),
            false => new.asks(&[Said::Code]).takes(Said::Path),
        },
    )];
    if !has(FileKind::TaskState) {
        all.push((FileKind::TaskState, new_task()));
    }
    // A file in a folder above is not begun here.
    let own = |kind| locate(context, kind, root) == root.join(FileKind::relative_path(kind));
    if !has(FileKind::Develop) && own(FileKind::Develop) {
        let start = Allowed::verb("start").asks(&[Said::Text]);
        all.push((FileKind::Develop, start));
    }
    if !has(FileKind::Orchestrate) && own(FileKind::Orchestrate) {
        let begin = match orchestrate::plan(context, root, None) {
            Ok(plan) if plan.usable().is_ok() => {
                let name = plan.path.strip_prefix(root).unwrap_or(&plan.path);
                Some(Allowed::verb("init").on(shown(name)))
            }
            Err(Error::NoPlan { .. }) => Some(Allowed::verb("import").asks(&[Said::Path])),
            Ok(_) | Err(_) => None,
        };
        all.extend(begin.map(|begin| (FileKind::Orchestrate, begin)));
    }
    all
}

fn new_task() -> Allowed {
    let new = Allowed::verb("task-new").asks(&[Said::Text]);
    new.texts(&["goal", "request"])
}

/// Verbs that take a path and a value.
fn of_values() -> [Allowed; 2] {
    ["set", "append"].map(|verb| Allowed::verb(verb).asks(&[Said::Code, Said::Text]))
}

fn of_thinking(view: &View, beside: &[(FileKind, PathBuf)]) -> Vec<Allowed> {
    let Some(sheet) = view.sheet() else {
        return Vec::new();
    };
    let scores = sheet.run.evaluation.scores.iter();
    let scores = scores.map(|one| one.name.clone()).collect();
    let metrics = Metric::ALL.map(|it| it.name().to_owned()).to_vec();
    let numbers = |verb, values| Allowed {
        values,
        ..Allowed::verb(verb)
    };
    let next = view.examined.next.iter();
    let mut all: Vec<Allowed> = next
        .filter_map(|next| {
            let allowed = match next.verb {
                "start" if next.options.is_empty() => Allowed::verb("start"),
                "start" => Allowed::verb("start").asks(&[Said::Text]),
                "complete" if next.options.is_empty() => Allowed::verb("complete"),
                "complete" => Allowed::verb("complete").asks(&[Said::Path]),
                "output" => Allowed::verb("output").asks(&[Said::Path]),
                "fail" => Allowed::verb("fail").asks(&[Said::Code, Said::Text]),
                _ => return None,
            };
            Some(allowed.on(next.target.clone().unwrap_or_default()))
        })
        .collect();
    // The work may be evaluated, and evaluated again, at any time.
    all.push(numbers("evaluate", scores));
    all.push(numbers("quality", metrics));
    let measured = ["actual", "target"].map(str::to_owned).to_vec();
    let feedback = numbers("feedback", measured).asks(&[Said::Text]);
    all.push(feedback.texts(&["learning", "improvement"]));
    let others = beside
        .iter()
        .filter(|(kind, path)| *kind == FileKind::Thinking && *path != view.path);
    let others = others.filter_map(|(_, path)| path.parent().map(shown));
    let others: Vec<String> = others.take(NAMED_MAX).collect();
    if !others.is_empty() {
        all.push(Allowed::verb("feedback-apply").among(others));
    }
    all
}

fn of_memory(memory: &Memory, at: Timestamp) -> Vec<Allowed> {
    let may = |command: Plan| PlanMachine::step(memory, command, at).is_ok();
    let task = NewTask {
        id: SAID.to_owned(),
        name: SAID.to_owned(),
        ..NewTask::default()
    };
    let step = NewStep {
        name: SAID.to_owned(),
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
    let finished = Allowed::verb("finish").codes(results).texts(&["lesson"]);
    let mut finished = finished.grave(undone);
    finished.takes.insert(0, Said::Text);
    let whole = [
        (Allowed::verb("pause"), Plan::TaskPause),
        (Allowed::verb("resume"), Plan::TaskResume),
        (Allowed::verb("recover").takes(Said::Text), recover),
        (finished, finish),
        (Allowed::verb("cancel").grave(true), Plan::TaskCancel),
        (
            Allowed::verb("step-add").asks(&[Said::Text]),
            Plan::StepAdd(step),
        ),
        (new_task(), Plan::NewTask(task)),
    ];
    let mut all: Vec<Allowed> = whole
        .into_iter()
        .filter_map(|(allowed, command)| may(command).then_some(allowed))
        .collect();
    let steps = memory.current.iter().flat_map(|task| &task.plan.steps);
    for id in steps.map(|step| step.id) {
        let kinds = FailureKind::ALL.map(FailureKind::name);
        let mut failed = Allowed::verb("step-fail").codes(kinds);
        failed.asks.push(Said::Text);
        let moves = [
            (Allowed::verb("step-start"), Plan::StepStart { id }),
            (
                Allowed::verb("step-complete").takes(Said::Text),
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
                    message: SAID.to_owned(),
                },
            ),
        ];
        let moves = moves
            .into_iter()
            .filter(|(_, command)| may(command.clone()));
        all.extend(moves.map(|(allowed, _)| allowed.on(id.to_string())));
    }
    let waiting = memory.queue.iter().map(|task| task.id.clone());
    let ids: Vec<String> = waiting.collect();
    if !ids.is_empty() {
        all.push(Allowed::verb("task-drop").among(ids).grave(true));
    }
    all.push(Allowed::verb("backup"));
    all.push(Allowed::verb("prune"));
    all
}

fn of_develop(
    context: &Context,
    file: &KnownFile,
    view: &View,
    run: Option<&Run>,
    at: Timestamp,
) -> Result<Vec<Allowed>, Error> {
    let known = Known::at(context, file, view.history.as_ref())?;
    let seal = known.seal(context)?;
    let contract = contract_of(context, &known.folder)?;
    let state = run.cloned();
    let may = |command: Develop| DevelopMachine::step(&state, command, at).is_ok();
    let by = Actor::Person;
    let start = Develop::Start {
        feature: SAID.to_owned(),
        fresh: false,
        by,
    };
    let review = Develop::Review {
        checkpoints: Vec::new(),
    };
    let implement = Develop::Implement {
        choice: Choice::Named(Strategy::Direct),
    };
    let adopt = Develop::Adopt {
        owned: known.ledger.adopted,
    };
    let whole = [
        (Allowed::verb("start").asks(&[Said::Text]), start),
        (Allowed::verb("review").takes(Said::Path), review),
        (Allowed::verb("implement"), implement),
        (Allowed::verb("pr"), Develop::Pr),
        (Allowed::verb("done"), Develop::Done),
        (Allowed::verb("adopt"), adopt),
    ];
    let whole = whole
        .into_iter()
        .filter(|(_, command)| may(command.clone()));
    let mut all: Vec<Allowed> = whole.map(|(allowed, _)| allowed).collect();
    let Some(run) = run else {
        return Ok(all);
    };
    all.push(Allowed::verb("seal"));
    for gate in Gate::ALL {
        let on = |allowed: Allowed| allowed.on(gate.name());
        let runs = seal.as_ref().and_then(|seal| seal.rules.command(gate));
        let evidence = match runs {
            Some(_) => Evidence::Sealed {
                exit_code: 0,
                stale: false,
            },
            None => Evidence::Given { exit_code: 0 },
        };
        let asked: &[Said] = if runs.is_some() {
            &[]
        } else {
            &[Said::Command]
        };
        let pass = Allowed {
            runs: runs.map(str::to_owned),
            ..Allowed::verb("gate-pass").asks(asked)
        };
        let by_hand = Evidence::ByHand {
            reason: SAID.to_owned(),
        };
        let passes = |evidence| may(Develop::GatePass { gate, evidence, by });
        if !run.gates.is_open(gate) {
            all.extend(passes(evidence).then(|| on(pass)));
            let word = Allowed::verb("gate-by-hand").asks(&[Said::Text]);
            all.extend(passes(by_hand).then(|| on(word)));
        } else if may(Develop::GateReset { gate }) {
            all.push(on(Allowed::verb("gate-reset")));
        }
    }
    for one in &run.checkpoints {
        let (id, attempts_max) = (one.id.clone(), ATTEMPTS_MAX);
        let on = |allowed: Allowed| allowed.on(one.id.clone());
        let starts = |override_reason| Develop::CheckpointStart {
            id: id.clone(),
            override_reason,
            by,
        };
        if may(starts(None)) {
            all.push(on(Allowed::verb("checkpoint-start")));
        } else if may(starts(Some(SAID.to_owned()))) {
            all.push(on(Allowed::verb("checkpoint-start").asks(&[Said::Text])));
        }
        let pass = Develop::CheckpointPass {
            id: id.clone(),
            evidence: Evidence::None,
            attempts_max,
        };
        if may(pass) {
            let planned = contract.iter().find(|it| it.id == id);
            let runs = planned.and_then(|it| it.command.clone());
            let pass = Allowed::verb("checkpoint-pass");
            all.push(on(match runs {
                Some(_) => Allowed { runs, ..pass },
                None => pass.takes(Said::Command),
            }));
        }
        let fail = Develop::CheckpointFail {
            id,
            class: FailureClass::LogicError,
            attempts_max,
        };
        if may(fail) {
            let classes = FailureClass::ALL.map(FailureClass::name);
            all.push(on(Allowed::verb("checkpoint-fail").codes(classes)));
        }
    }
    let back = Phase::ALL.into_iter();
    let back = back.filter(|&phase| may(Develop::Back { phase, by }));
    let ids: Vec<String> = back.map(|phase| phase.name().to_owned()).collect();
    if !ids.is_empty() {
        all.push(Allowed::verb("back").among(ids));
    }
    if may(Develop::Reset { by }) {
        all.push(Allowed::verb("reset").grave(true));
    }
    Ok(all)
}

fn of_orchestration(run: &Orchestration, at: Timestamp) -> Vec<Allowed> {
    let may = |command: Node| OrchestrateMachine::step(run, command, at).is_ok();
    let phase = run.current_phase();
    let finish = Node::PhaseFinish {
        phase,
        end: PhaseEnd::NoGit,
        worktree: None,
    };
    let mut all = Vec::new();
    if may(finish) {
        all.push(Allowed::verb("phase-finish").on(phase.to_string()));
    }
    let nodes = &run.graph().ids()[..run.graph().len().min(NODES_MAX)];
    let on_each = |allowed: Allowed, command: &dyn Fn(Id) -> Node| {
        let ids = nodes.iter().filter(|id| may(command(Id::clone(id))));
        let ids: Vec<String> = ids.map(ToString::to_string).collect();
        (!ids.is_empty()).then_some(Allowed { ids, ..allowed })
    };
    all.extend(on_each(Allowed::verb("start"), &|id| Node::Start { id }));
    all.extend(on_each(Allowed::verb("complete"), &|id| Node::Complete {
        id,
    }));
    all.extend(on_each(Allowed::verb("retry"), &|id| Node::Retry { id }));
    let reason: Option<Arc<str>> = Some(SAID.into());
    let fail = Allowed::verb("fail").asks(&[Said::Text]);
    all.extend(on_each(fail, &|id| Node::Fail {
        id,
        reason: reason.clone(),
        retry: false,
    }));
    let force = Allowed::verb("force-complete").takes(Said::Text);
    all.extend(on_each(force, &|id| Node::ForceComplete {
        id,
        by: Actor::Person,
        reason: None,
    }));
    let metrics = run.metrics();
    if metrics.completed_count < metrics.total_tasks {
        all.push(Allowed {
            runs: Some("bowline orchestrate run".to_owned()),
            ..Allowed::verb("run").texts(&["agent"])
        });
    }
    all.push(Allowed::verb("rebuild"));
    let restore = Allowed::verb("rescue-restore").asks(&[Said::Id]);
    all.push(restore.texts(&["branch"]));
    all.push(Allowed::verb("rescue-drop").asks(&[Said::Id]).grave(true));
    all
}
