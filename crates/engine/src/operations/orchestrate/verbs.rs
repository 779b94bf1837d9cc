//! Verbs that begin, change and query an orchestration.

use super::merge::{Ticks, merged};
use super::{Plan, Stamp, find_plan, plan_places, read_plan};
use crate::context::Context;
use crate::effects::Owed;
use crate::error::Error;
use crate::files::{Changed, KnownFile, Moved, Notice, View};
use crate::kinds::{FileKind, Orchestrate};
use crate::rebuild::{TASKS_FILES, run_of};
use crate::words::shown;
use crate::workspace::{self, git_top};
use bowline_formats::StateFormat as _;
use bowline_formats::finding::Read;
use bowline_formats::json::JsonDocument;
use bowline_formats::orchestrate::{self, Meta, Mode, OrchestrateFile};
use bowline_formats::tasks_md::set_tick;
use bowline_formats::tasks_md::wire::{DETAIL_CHARS_MAX, OneLine};
use bowline_machines::orchestrate::{
    Command, Config, Graph, Id, OrchestrateMachine, PhaseEnd, Refusal, Run, Status,
};
use bowline_machines::{Machine as _, RefusalSubject};
use bowline_statefiles::{ContentHash, write_whole};
use bowline_words::message::{self as words, Advice, Wrong};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Most tasks named if a short id matches several.
const FITTING_MAX: usize = 6;
/// Key of the plan in the state file.
const PLAN_KEY: &str = "tasks_file";

/// Options for a new orchestration.
#[derive(Debug, Clone)]
pub struct Begin {
    /// Path of the plan; `None` uses the usual one.
    pub plan: Option<PathBuf>,
    /// Mode in which work is handed out.
    pub mode: Mode,
    /// Most tasks in progress at once; 0 sets no limit.
    pub parallel: u32,
    /// Name of the project; `None` uses the heading of the plan.
    pub project: Option<String>,
}

impl Default for Begin {
    fn default() -> Self {
        Begin {
            plan: None,
            mode: Mode::Normal,
            parallel: Config::default().max_parallel,
            project: None,
        }
    }
}

/// Result of beginning an orchestration, or of rebuilding it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Begun {
    /// Name of the project.
    pub project: String,
    /// Number of all tasks.
    pub total: usize,
    /// Number of tasks that are done.
    pub done: usize,
    /// Number of the current phase.
    pub phase: u32,
}

/// Task after a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskMoved {
    /// Its full id.
    pub id: String,
    /// True if it failed for good.
    pub failed: bool,
    /// Attempts so far.
    pub attempts: u32,
    /// Limit of attempts.
    pub attempts_max: u32,
    /// Number of tasks blocked by failed ones.
    pub blocked: usize,
    /// Number of tasks that are done.
    pub done: usize,
    /// Number of all tasks.
    pub total: usize,
}

/// Result of finishing a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PhaseFinished {
    /// Phase that is current now.
    pub current: u32,
    /// True if no phase is left.
    pub all_done: bool,
}

#[derive(Debug, Clone)]
pub struct Orchestration {
    /// Working folder of the caller.
    folder: PathBuf,
    root: PathBuf,
    file: KnownFile,
}

impl Orchestration {
    /// Returns the orchestration of the project that a folder belongs to.
    pub fn at(context: &Context, folder: &Path) -> Self {
        let path = workspace::locate(context, FileKind::Orchestrate, folder);
        let root = path.parent().and_then(Path::parent).unwrap_or(folder);
        Orchestration {
            folder: workspace::absolute(folder),
            root: root.to_owned(),
            file: KnownFile::new(context, FileKind::Orchestrate, &path),
        }
    }

    pub fn file(&self) -> &KnownFile {
        &self.file
    }

    /// Returns the working folder of the caller.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the folder of run data outside the project: attempts, notes, scratch files.
    pub fn side(&self, context: &Context) -> PathBuf {
        let variable = |name| context.variables.get(name).map(std::ffi::OsStr::to_owned);
        let path = self.file.path.canonicalize();
        let path = path.unwrap_or_else(|_| self.file.path.clone());
        let key = ContentHash::of(path.as_os_str().as_encoded_bytes());
        bowline_gate::locate::state_home_in(variable)
            .join("bowline/orchestrate")
            .join(key.to_string())
    }

    /// Reads the plan: the one in the state file, else the first found in the usual places.
    pub fn plan(&self, context: &Context) -> Result<Plan, Error> {
        super::plan(context, &self.folder, None)
    }

    /// Returns the valid plan that belongs to a document, if there is one.
    pub(super) fn plan_beside(&self, document: &JsonDocument) -> Option<Plan> {
        let plan = super::own_plan::find(&self.root, document);
        plan.filter(|plan| plan.usable().is_ok())
    }

    /// Returns the versions of the possible plan files without reading them.
    pub(super) fn plan_stamps(&self, document: &JsonDocument) -> Vec<Option<Stamp>> {
        let told = orchestrate::plan_file(document.value());
        let stamp = |path: PathBuf| std::fs::metadata(path).ok().map(|it| Stamp::of(&it));
        plan_places(&self.root, told).map(stamp).collect()
    }

    /// Returns the run in the state file alone.
    pub(super) fn alone(&self, view: &View) -> Result<Run, Error> {
        Ok(self.read(&view.document)?.state)
    }

    fn read(&self, document: &JsonDocument) -> Result<Read<Run>, Error> {
        OrchestrateFile::read(document).map_err(|findings| self.file.damaged(findings))
    }

    /// Returns the view of the file and the run merged with its plan, on which every verb is based.
    pub fn run(&self, context: &Context) -> Result<(View, Run), Error> {
        let view = self.file.view(context)?;
        let plan = self.plan_beside(&view.document);
        let both = plan.and_then(|plan| merged(&view.document, &plan.file, Ticks::OfNewTasks));
        let run = match both {
            Some(run) => run,
            None => self.alone(&view)?,
        };
        Ok((view, run))
    }

    /// Returns the run of the state file, or if there is none, the run that its plan would begin
    /// with.
    pub fn prospect(&self, context: &Context) -> Result<Run, Error> {
        match self.run(context) {
            Err(Error::NoFile { .. }) => {
                let plan = self.plan(context)?;
                plan.usable()?;
                let document = self.first(context, &Begin::default(), &plan)?;
                Ok(self.read(&document)?.state)
            }
            run => run.map(|(_, run)| run),
        }
    }

    /// Begins an orchestration: reads the plan and writes the state file. Refused if one exists,
    /// and for a plan that cannot be executed.
    pub fn init(&self, context: &Context, begin: &Begin) -> Result<Changed<Begun>, Error> {
        if self.file.kind.is_there(&self.file.path) {
            // An unreadable file is reported as such; a journal that ends with the removal of its
            // file belongs to an earlier run.
            match self.file.view(context) {
                Ok(_) => {
                    return Err(Error::AlreadyExists {
                        path: self.file.path.clone(),
                    });
                }
                Err(Error::NoFile { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        let plan = match &begin.plan {
            Some(path) => read_plan(&self.folder.join(path))?,
            None => self.plan(context)?,
        };
        let document = self.first(context, begin, &plan)?;
        let metadata = json!({ "plan": plan.path, "tasks": plan.file.tasks.len() });
        let moved = Moved::new("run", "INIT", None, self.standing(&document)?).with(metadata);
        self.begun(self.file.create(context, &document, moved)?)
    }

    /// Creates the document of a new run.
    fn first(&self, context: &Context, begin: &Begin, plan: &Plan) -> Result<JsonDocument, Error> {
        plan.usable()?;
        let now = context.now_for(FileKind::Orchestrate);
        let config = Config {
            max_parallel: begin.parallel,
            ..Config::default()
        };
        let run = run_of(&plan.file, config, now).ok_or_else(|| Error::BadInput {
            message: Wrong::NoGraph {
                path: shown(&plan.path),
            },
            hint: Advice::SeePlan,
        })?;
        let named = begin.project.clone().or_else(|| plan.file.project.clone());
        let meta = Meta {
            project: named
                .or_else(|| workspace::folder_name(&self.root))
                .unwrap_or_default(),
            mode: begin.mode,
            slack_webhook_url: None,
        };
        let document = orchestrate::new_document(&meta, &run, now);
        // A plan in a usual place need not be named.
        let found = TASKS_FILES.map(|name| self.root.join(name));
        let found = found.iter().find(|path| path.is_file());
        if same(found, &plan.path) {
            return Ok(document);
        }
        let within = workspace::absolute(&plan.path);
        let name = within.strip_prefix(&self.root).unwrap_or(&within);
        let mut value = document.value().clone();
        value[PLAN_KEY] = json!(name);
        Ok(document.reconcile(&value))
    }

    fn begun(&self, changed: Changed) -> Result<Changed<Begun>, Error> {
        let run = self.alone(&changed.view)?;
        let summary = super::glance_at(changed.view.clone())?.summary;
        let metrics = run.metrics();
        Ok(changed.telling(Begun {
            project: summary.meta.project,
            total: metrics.total_tasks,
            done: metrics.completed_count,
            phase: run.current_phase(),
        }))
    }

    fn standing(&self, document: &JsonDocument) -> Result<&'static str, Error> {
        Ok(OrchestrateMachine::status(&self.read(document)?.state))
    }

    pub fn start(&self, context: &Context, name: &str) -> Result<Changed<TaskMoved>, Error> {
        self.on_task(context, name, "START", &json!({}), |id| Command::Start {
            id,
        })
    }

    /// Completes a task and ticks it in the plan.
    pub fn complete(&self, context: &Context, name: &str) -> Result<Changed<TaskMoved>, Error> {
        let complete = |id| Command::Complete { id };
        let changed = self.on_task(context, name, "COMPLETE", &json!({}), complete)?;
        self.ticked(context, changed)
    }

    /// Ends a task as failed: for good, or to be tried again while the limit allows.
    pub fn fail(
        &self,
        context: &Context,
        name: &str,
        reason: Option<&str>,
        retry: bool,
    ) -> Result<Changed<TaskMoved>, Error> {
        let reason = said(reason)?;
        let metadata = json!({ "reason": reason, "retry": retry });
        self.on_task(context, name, "FAIL", &metadata, |id| {
            let reason = reason.as_deref().map(Arc::from);
            Command::Fail { id, reason, retry }
        })
    }

    /// Resets a failed task for new attempts.
    pub fn retry(&self, context: &Context, name: &str) -> Result<Changed<TaskMoved>, Error> {
        self.on_task(context, name, "RETRY", &json!({}), |id| Command::Retry {
            id,
        })
    }

    /// Completes a task in any state, and ticks it in the plan. Needs a person.
    pub fn force_complete(
        &self,
        context: &Context,
        name: &str,
        reason: Option<&str>,
    ) -> Result<Changed<TaskMoved>, Error> {
        let reason = said(reason)?;
        let metadata = json!({ "reason": reason });
        let changed = self.on_task(context, name, "FORCE_COMPLETE", &metadata, |id| {
            Command::ForceComplete {
                id,
                by: context.actor(),
                reason: reason.as_deref().map(Arc::from),
            }
        })?;
        self.ticked(context, changed)
    }

    /// Finishes a complete phase with the result `end` of its merge. The next phase is worked on in
    /// `worktree`.
    pub fn finish_phase(
        &self,
        context: &Context,
        phase: u32,
        end: &PhaseEnd,
        worktree: Option<&Arc<str>>,
    ) -> Result<Changed<PhaseFinished>, Error> {
        let metadata = json!({ "phase": phase, "git": *end != PhaseEnd::NoGit });
        let changed = self.transact(
            context,
            |_| {
                Ok(Command::PhaseFinish {
                    phase,
                    end: end.clone(),
                    worktree: worktree.cloned(),
                })
            },
            |before, after| {
                let word = |run: &Run| match run.phase(phase).is_some_and(|it| it.finished()) {
                    true => "finished",
                    false => "complete",
                };
                Moved::new(
                    "phase",
                    "PHASE_FINISH",
                    Some(word(before).into()),
                    word(after),
                )
                .with(metadata.clone())
            },
        )?;
        let finished = PhaseFinished {
            current: changed.state.current_phase(),
            all_done: changed.state.all_done(),
        };
        Ok(changed.telling(finished))
    }

    /// Takes over the plan: new tasks, changed dependencies, and every ticked box. Other data of
    /// the file stays. Creates the file if there is none.
    pub fn rebuild(&self, context: &Context) -> Result<Changed<Begun>, Error> {
        let plan = self.plan(context)?;
        plan.usable()?;
        if !self.file.kind.is_there(&self.file.path) {
            return self.init(context, &Begin::default());
        }
        let word = |document: &JsonDocument| self.standing(document).ok();
        let changed = self.file.adjust(context, |document| {
            let run = merged(document, &plan.file, Ticks::All);
            let run = run.ok_or_else(|| Error::BadInput {
                message: Wrong::NoGraphTogether {
                    path: shown(&plan.path),
                },
                hint: Advice::SeeVerify,
            })?;
            let mut value = self.read(document)?.fixed;
            OrchestrateFile::write(&run, &mut value, context.now_for(FileKind::Orchestrate));
            let next = document.reconcile(&value);
            let from = word(document).map(str::to_owned);
            let moved = Moved::new("run", "REBUILD", from, OrchestrateMachine::status(&run));
            Ok((next, moved.with(json!({ "plan": plan.path }))))
        })?;
        self.begun(changed)
    }

    /// Executes one command on one task.
    fn on_task(
        &self,
        context: &Context,
        name: &str,
        trigger: &'static str,
        metadata: &Value,
        command: impl Fn(Id) -> Command,
    ) -> Result<Changed<TaskMoved>, Error> {
        let changed = self.transact(
            context,
            |run| Ok(command(resolve(run.graph(), name)?)),
            |before, after| {
                let id = resolve(before.graph(), name).unwrap_or_else(|_| name.into());
                let status = |run: &Run| run.node(&id).map_or("", |node| node.status.name());
                let mut metadata = metadata.clone();
                metadata["task"] = json!(&*id);
                let from = Some(status(before).into());
                let mut moved = Moved::new("task", trigger, from, status(after)).with(metadata);
                if status(after) == Status::Completed.name() {
                    moved.effects = Some(Owed::Tick {
                        task: id.to_string(),
                        folder: self.folder.clone(),
                    });
                }
                moved
            },
        )?;
        let run = &changed.state;
        let id = resolve(run.graph(), name).unwrap_or_else(|_| name.into());
        let node = run.node(&id);
        let metrics = run.metrics();
        let moved = TaskMoved {
            id: id.to_string(),
            failed: node.is_some_and(|node| node.status == Status::Failed),
            attempts: node.map_or(0, |node| node.attempts),
            attempts_max: run.config().retry_limit,
            blocked: run.count(Status::Blocked),
            done: metrics.completed_count,
            total: metrics.total_tasks,
        };
        Ok(changed.telling(moved))
    }

    fn transact(
        &self,
        context: &Context,
        command: impl Fn(&Run) -> Result<Command, Error>,
        describe: impl Fn(&Run, &Run) -> Moved,
    ) -> Result<Changed<Run>, Error> {
        self.file.transact_on::<Orchestrate>(
            context,
            |document, alone| {
                let plan = self.plan_beside(document);
                let both = plan.and_then(|plan| merged(document, &plan.file, Ticks::OfNewTasks));
                both.unwrap_or(alone)
            },
            |_, run, _| command(run),
            describe,
        )
    }

    /// Executes pending ticks of plans, and adds notices about those that failed.
    fn ticked<S>(&self, context: &Context, mut changed: Changed<S>) -> Result<Changed<S>, Error> {
        if context.dry_run {
            return Ok(changed);
        }
        let request = context.request();
        // Under the lock, so that two processes that tick at once both leave their mark.
        let mut held = self.file.file.hold(&request)?;
        for pending in self.file.file.pending_effects()? {
            let Some(Owed::Tick { task: id, folder }) = Owed::of_raw(&pending.effects) else {
                continue;
            };
            match self.tick(context, &changed.view.document, &folder, &id) {
                Ok(untold) => changed.view.notices.extend(untold),
                // Tried again with the next task that is completed.
                Err(error) => {
                    changed.view.notices.push(Notice::Keeper {
                        code: "not_ticked",
                        words: words::Notice::NotTickedYet {
                            id,
                            why: error.to_string(),
                        },
                    });
                    continue;
                }
            }
            held.effects_done(&request, &[pending.seq])?;
        }
        Ok(changed)
    }

    /// Ticks a task in the plan of the checkout that a folder is in. Returns a notice if the plan
    /// has no box for it.
    pub(super) fn tick(
        &self,
        context: &Context,
        document: &JsonDocument,
        folder: &Path,
        id: &str,
    ) -> Result<Option<Notice>, Error> {
        let told = orchestrate::plan_file(document.value());
        let top = git_top(folder).filter(|top| *top != self.root);
        let here = top.and_then(|top| find_plan(&top, told).ok().flatten());
        let plan = match here {
            Some(plan) => Some(plan),
            None => find_plan(&self.root, told)?,
        };
        let untold = |words: words::Notice| {
            Ok(Some(Notice::Keeper {
                code: "not_ticked",
                words,
            }))
        };
        let Some(plan) = plan else {
            return untold(words::Notice::NoPlanToTick { id: id.into() });
        };
        match set_tick(&plan.text, id, true) {
            Ok(text) if text == plan.text => Ok(None),
            Ok(text) => {
                write_whole(&*context.disk, &plan.path, text.as_bytes(), None)?;
                Ok(None)
            }
            Err(error) => untold(words::Notice::NotTicked {
                id: id.into(),
                why: error.to_string(),
            }),
        }
    }
}

impl Plan {
    /// Fails if the plan cannot be executed.
    pub(crate) fn usable(&self) -> Result<(), Error> {
        match self.file.blocking() {
            None => Ok(()),
            Some(finding) => Err(Error::BadPlan {
                path: self.path.clone(),
                finding: Box::new(finding.clone()),
            }),
        }
    }
}

/// True if both paths lead to the same file.
fn same(found: Option<&PathBuf>, path: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    found.is_some_and(|found| real(found) == real(path))
}

/// Shortens a reason to one line of limited length.
fn said(reason: Option<&str>) -> Result<Option<String>, Error> {
    let Some(reason) = reason else {
        return Ok(None);
    };
    let line = OneLine::new(reason, DETAIL_CHARS_MAX);
    match line.is_empty() {
        true => Err(Error::Refused(
            Refusal::Empty {
                what: RefusalSubject::Reason,
            }
            .into(),
        )),
        false => Ok(Some(line.as_str().to_owned())),
    }
}

/// Returns the task that a name refers to: its id, or the end of exactly one id. A name without a
/// match is left for the rules to refuse.
pub(super) fn resolve(graph: &Graph, name: &str) -> Result<Id, Error> {
    if graph.contains(name) || name.is_empty() {
        return Ok(name.into());
    }
    let ends = |id: &&Id| {
        let rest = id.strip_suffix(name);
        rest.is_some_and(|rest| rest.ends_with('-'))
    };
    let mut fitting = graph.ids().iter().filter(ends);
    match (fitting.next(), fitting.next()) {
        (None, _) => Ok(name.into()),
        (Some(id), None) => Ok(id.clone()),
        (Some(first), Some(second)) => Err(Error::AmbiguousTask {
            name: name.to_owned(),
            fitting: [first, second]
                .into_iter()
                .chain(fitting)
                .take(FITTING_MAX)
                .map(ToString::to_string)
                .collect(),
        }),
    }
}
