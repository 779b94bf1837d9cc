//! Verbs that begin, change and query an orchestration.

use super::plan_and_state::{CountedTicks, merge_plan};
use super::{FileStamp, PlanFile, find_plan, plan_places, read_plan};
use crate::context::Context;
use crate::effects::PendingEffect;
use crate::error::Error;
use crate::files::{ChangeOutcome, ChangeRecord, FileNotice, FileView, KnownFile};
use crate::kinds::{FileKind, OrchestrateKind};
use crate::rebuild::{TASKS_FILES, run_of};
use crate::words::display_path;
use crate::workspace::{self, git_top};
use bowline_formats::StateFormat as _;
use bowline_formats::finding::ReadResult;
use bowline_formats::json::JsonDocument;
use bowline_formats::orchestrate::{self, OrchestrateFile, OrchestrationMeta, RunMode};
use bowline_formats::tasks_md::set_tick;
use bowline_formats::tasks_md::wire::{DETAIL_CHARS_MAX, OneLine};
use bowline_machines::orchestrate::{
    Command, NodeId, NodeStatus, OrchestrateMachine, OrchestrationLimits, OrchestrationState,
    PhaseEnd, Refusal, TaskGraph,
};
use bowline_machines::{Machine as _, RefusalSubject};
use bowline_statefiles::{ContentHash, write_atomically};
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
pub struct OrchestrationOptions {
    /// Path of the plan; `None` uses the usual one.
    pub plan: Option<PathBuf>,
    /// Mode in which work is handed out.
    pub mode: RunMode,
    /// Most tasks in progress at once; 0 sets no limit.
    pub parallel: u32,
    /// Name of the project; `None` uses the heading of the plan.
    pub project: Option<String>,
}

impl Default for OrchestrationOptions {
    fn default() -> Self {
        OrchestrationOptions {
            plan: None,
            mode: RunMode::Normal,
            parallel: OrchestrationLimits::default().max_parallel,
            project: None,
        }
    }
}

/// Result of beginning an orchestration, or of rebuilding it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartedOrchestration {
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
    pub fn in_folder(context: &Context, folder: &Path) -> Self {
        let path = workspace::locate_file(context, FileKind::Orchestrate, folder);
        let root = path.parent().and_then(Path::parent).unwrap_or(folder);
        Orchestration {
            folder: workspace::absolute_path(folder),
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
    pub fn data_folder(&self, context: &Context) -> PathBuf {
        let variable = |name| context.variables.get(name).map(std::ffi::OsStr::to_owned);
        let path = self.file.path.canonicalize();
        let path = path.unwrap_or_else(|_| self.file.path.clone());
        let key = ContentHash::of_bytes(path.as_os_str().as_encoded_bytes());
        bowline_gate::locate::state_home_in(variable)
            .join("bowline/orchestrate")
            .join(key.to_string())
    }

    /// Reads the plan: the one in the state file, else the first found in the usual places.
    pub fn read_plan(&self, context: &Context) -> Result<PlanFile, Error> {
        super::load_plan(context, &self.folder, None)
    }

    /// Returns the valid plan that belongs to a document, if there is one.
    pub(super) fn plan_beside(&self, document: &JsonDocument) -> Option<PlanFile> {
        let plan = super::own_plan::find_own_plan(&self.root, document);
        plan.filter(|plan| plan.check_usable().is_ok())
    }

    /// Returns the versions of the possible plan files without reading them.
    pub(super) fn plan_stamps(&self, document: &JsonDocument) -> Vec<Option<FileStamp>> {
        let named = orchestrate::plan_file(document.value());
        let stamp = |path: PathBuf| {
            std::fs::metadata(path)
                .ok()
                .map(|it| FileStamp::of_metadata(&it))
        };
        plan_places(&self.root, named).map(stamp).collect()
    }

    /// Returns the run in the state file alone.
    pub(super) fn run_without_plan(&self, view: &FileView) -> Result<OrchestrationState, Error> {
        Ok(self.parse_document(&view.document)?.state)
    }

    fn parse_document(
        &self,
        document: &JsonDocument,
    ) -> Result<ReadResult<OrchestrationState>, Error> {
        OrchestrateFile::read_state(document).map_err(|findings| self.file.damaged_error(findings))
    }

    /// Returns the view of the file and the run merged with its plan, on which every verb is based.
    pub fn read_run(&self, context: &Context) -> Result<(FileView, OrchestrationState), Error> {
        let view = self.file.read_view(context)?;
        let plan = self.plan_beside(&view.document);
        let both =
            plan.and_then(|plan| merge_plan(&view.document, &plan.file, CountedTicks::OfNewTasks));
        let run = match both {
            Some(run) => run,
            None => self.run_without_plan(&view)?,
        };
        Ok((view, run))
    }

    /// Returns the run of the state file, or if there is none, the run that its plan would begin
    /// with.
    pub fn prospective_run(&self, context: &Context) -> Result<OrchestrationState, Error> {
        match self.read_run(context) {
            Err(Error::NoFile { .. }) => {
                let plan = self.read_plan(context)?;
                plan.check_usable()?;
                let document =
                    self.first_document(context, &OrchestrationOptions::default(), &plan)?;
                Ok(self.parse_document(&document)?.state)
            }
            run => run.map(|(_, run)| run),
        }
    }

    /// Begins an orchestration: reads the plan and writes the state file. Refused if one exists,
    /// and for a plan that cannot be executed.
    pub fn create_run(
        &self,
        context: &Context,
        begin: &OrchestrationOptions,
    ) -> Result<ChangeOutcome<StartedOrchestration>, Error> {
        if self.file.kind.is_there(&self.file.path) {
            // An unreadable file is reported as such; a journal that ends with the removal of its
            // file belongs to an earlier run.
            match self.file.read_view(context) {
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
            None => self.read_plan(context)?,
        };
        let document = self.first_document(context, begin, &plan)?;
        let metadata = json!({ "plan": plan.path, "tasks": plan.file.tasks.len() });
        let moved = ChangeRecord::new("run", "INIT", None, self.status_word(&document)?)
            .with_metadata(metadata);
        self.started_outcome(self.file.create_file(context, &document, moved)?)
    }

    /// Creates the document of a new run.
    fn first_document(
        &self,
        context: &Context,
        begin: &OrchestrationOptions,
        plan: &PlanFile,
    ) -> Result<JsonDocument, Error> {
        plan.check_usable()?;
        let now = context.now_for(FileKind::Orchestrate);
        let config = OrchestrationLimits {
            max_parallel: begin.parallel,
            ..OrchestrationLimits::default()
        };
        let run = run_of(&plan.file, config, now).ok_or_else(|| Error::BadInput {
            message: Wrong::NoGraph {
                path: display_path(&plan.path),
            },
            hint: Advice::SeePlan,
        })?;
        let named = begin.project.clone().or_else(|| plan.file.project.clone());
        let meta = OrchestrationMeta {
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
        if is_same_file(found, &plan.path) {
            return Ok(document);
        }
        let within = workspace::absolute_path(&plan.path);
        let name = within.strip_prefix(&self.root).unwrap_or(&within);
        let mut value = document.value().clone();
        value[PLAN_KEY] = json!(name);
        Ok(document.reconcile(&value))
    }

    fn started_outcome(
        &self,
        changed: ChangeOutcome,
    ) -> Result<ChangeOutcome<StartedOrchestration>, Error> {
        let run = self.run_without_plan(&changed.view)?;
        let summary = super::overview_from_view(changed.view.clone())?.summary;
        let metrics = run.metrics();
        Ok(changed.with_state(StartedOrchestration {
            project: summary.meta.project,
            total: metrics.total_tasks,
            done: metrics.completed_count,
            phase: run.current_phase(),
        }))
    }

    fn status_word(&self, document: &JsonDocument) -> Result<&'static str, Error> {
        Ok(OrchestrateMachine::status_name(
            &self.parse_document(document)?.state,
        ))
    }

    pub fn start_task(
        &self,
        context: &Context,
        name: &str,
    ) -> Result<ChangeOutcome<TaskMoved>, Error> {
        self.on_task(context, name, "START", &json!({}), |id| Command::Start {
            id,
        })
    }

    /// Completes a task and ticks it in the plan.
    pub fn complete_task(
        &self,
        context: &Context,
        name: &str,
    ) -> Result<ChangeOutcome<TaskMoved>, Error> {
        let complete = |id| Command::Complete { id };
        let changed = self.on_task(context, name, "COMPLETE", &json!({}), complete)?;
        self.execute_ticks(context, changed)
    }

    /// Ends a task as failed: for good, or to be tried again while the limit allows.
    pub fn fail_task(
        &self,
        context: &Context,
        name: &str,
        reason: Option<&str>,
        retry: bool,
    ) -> Result<ChangeOutcome<TaskMoved>, Error> {
        let reason = shorten_reason(reason)?;
        let metadata = json!({ "reason": reason, "retry": retry });
        self.on_task(context, name, "FAIL", &metadata, |id| {
            let reason = reason.as_deref().map(Arc::from);
            Command::Fail { id, reason, retry }
        })
    }

    /// Resets a failed task for new attempts.
    pub fn retry_task(
        &self,
        context: &Context,
        name: &str,
    ) -> Result<ChangeOutcome<TaskMoved>, Error> {
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
    ) -> Result<ChangeOutcome<TaskMoved>, Error> {
        let reason = shorten_reason(reason)?;
        let metadata = json!({ "reason": reason });
        let changed = self.on_task(context, name, "FORCE_COMPLETE", &metadata, |id| {
            Command::ForceComplete {
                id,
                by: context.actor(),
                reason: reason.as_deref().map(Arc::from),
            }
        })?;
        self.execute_ticks(context, changed)
    }

    /// Finishes a complete phase with the result `end` of its merge. The next phase is worked on in
    /// `worktree`.
    pub fn finish_phase(
        &self,
        context: &Context,
        phase: u32,
        end: &PhaseEnd,
        worktree: Option<&Arc<str>>,
    ) -> Result<ChangeOutcome<PhaseFinished>, Error> {
        let metadata = json!({ "phase": phase, "git": *end != PhaseEnd::NoGit });
        let changed = self.execute_command(
            context,
            |_| {
                Ok(Command::PhaseFinish {
                    phase,
                    end: end.clone(),
                    worktree: worktree.cloned(),
                })
            },
            |before, after| {
                let word = |run: &OrchestrationState| match run
                    .find_phase(phase)
                    .is_some_and(|it| it.is_finished())
                {
                    true => "finished",
                    false => "complete",
                };
                ChangeRecord::new(
                    "phase",
                    "PHASE_FINISH",
                    Some(word(before).into()),
                    word(after),
                )
                .with_metadata(metadata.clone())
            },
        )?;
        let finished = PhaseFinished {
            current: changed.state.current_phase(),
            all_done: changed.state.all_done(),
        };
        Ok(changed.with_state(finished))
    }

    /// Takes over the plan: new tasks, changed dependencies, and every ticked box. Other data of
    /// the file stays. Creates the file if there is none.
    pub fn rebuild_run(
        &self,
        context: &Context,
    ) -> Result<ChangeOutcome<StartedOrchestration>, Error> {
        let plan = self.read_plan(context)?;
        plan.check_usable()?;
        if !self.file.kind.is_there(&self.file.path) {
            return self.create_run(context, &OrchestrationOptions::default());
        }
        let word = |document: &JsonDocument| self.status_word(document).ok();
        let changed = self.file.change_document(context, |document| {
            let run = merge_plan(document, &plan.file, CountedTicks::All);
            let run = run.ok_or_else(|| Error::BadInput {
                message: Wrong::NoGraphTogether {
                    path: display_path(&plan.path),
                },
                hint: Advice::SeeVerify,
            })?;
            let mut value = self.parse_document(document)?.fixed;
            OrchestrateFile::write_state(&run, &mut value, context.now_for(FileKind::Orchestrate));
            let next = document.reconcile(&value);
            let from = word(document).map(str::to_owned);
            let moved = ChangeRecord::new(
                "run",
                "REBUILD",
                from,
                OrchestrateMachine::status_name(&run),
            );
            Ok((next, moved.with_metadata(json!({ "plan": plan.path }))))
        })?;
        self.started_outcome(changed)
    }

    /// Executes one command on one task.
    fn on_task(
        &self,
        context: &Context,
        name: &str,
        trigger: &'static str,
        metadata: &Value,
        command: impl Fn(NodeId) -> Command,
    ) -> Result<ChangeOutcome<TaskMoved>, Error> {
        let changed = self.execute_command(
            context,
            |run| Ok(command(resolve_task(run.graph(), name)?)),
            |before, after| {
                let id = resolve_task(before.graph(), name).unwrap_or_else(|_| name.into());
                let status = |run: &OrchestrationState| {
                    run.find_node(&id).map_or("", |node| node.status.name())
                };
                let mut metadata = metadata.clone();
                metadata["task"] = json!(&*id);
                let from = Some(status(before).into());
                let mut moved =
                    ChangeRecord::new("task", trigger, from, status(after)).with_metadata(metadata);
                if status(after) == NodeStatus::Completed.name() {
                    moved.effects = Some(PendingEffect::Tick {
                        task: id.to_string(),
                        folder: self.folder.clone(),
                    });
                }
                moved
            },
        )?;
        let run = &changed.state;
        let id = resolve_task(run.graph(), name).unwrap_or_else(|_| name.into());
        let node = run.find_node(&id);
        let metrics = run.metrics();
        let moved = TaskMoved {
            id: id.to_string(),
            failed: node.is_some_and(|node| node.status == NodeStatus::Failed),
            attempts: node.map_or(0, |node| node.attempts),
            attempts_max: run.run_limits().retry_limit,
            blocked: run.count_status(NodeStatus::Blocked),
            done: metrics.completed_count,
            total: metrics.total_tasks,
        };
        Ok(changed.with_state(moved))
    }

    fn execute_command(
        &self,
        context: &Context,
        command: impl Fn(&OrchestrationState) -> Result<Command, Error>,
        describe: impl Fn(&OrchestrationState, &OrchestrationState) -> ChangeRecord,
    ) -> Result<ChangeOutcome<OrchestrationState>, Error> {
        self.file.execute_command_on::<OrchestrateKind>(
            context,
            |document, alone| {
                let plan = self.plan_beside(document);
                let both = plan
                    .and_then(|plan| merge_plan(document, &plan.file, CountedTicks::OfNewTasks));
                both.unwrap_or(alone)
            },
            |_, run, _| command(run),
            describe,
        )
    }

    /// Executes pending ticks of plans, and adds notices about those that failed.
    fn execute_ticks<S>(
        &self,
        context: &Context,
        mut changed: ChangeOutcome<S>,
    ) -> Result<ChangeOutcome<S>, Error> {
        if context.dry_run {
            return Ok(changed);
        }
        let request = context.new_request();
        // Under the lock, so that two processes that tick at once both leave their mark.
        let mut held = self.file.file.lock_for_writing(&request)?;
        for pending in self.file.file.pending_effects()? {
            let Some(PendingEffect::Tick { task: id, folder }) =
                PendingEffect::of_raw(&pending.effects)
            else {
                continue;
            };
            match self.tick_task(context, &changed.view.document, &folder, &id) {
                Ok(notice) => changed.view.notices.extend(notice),
                // Tried again with the next task that is completed.
                Err(error) => {
                    changed.view.notices.push(FileNotice::Keeper {
                        code: "not_ticked",
                        words: words::Notice::NotTickedYet {
                            id,
                            why: error.to_string(),
                        },
                    });
                    continue;
                }
            }
            held.record_executed_effects(&request, &[pending.seq])?;
        }
        Ok(changed)
    }

    /// Ticks a task in the plan of the folder's checkout, or else in the project's. Returns a
    /// notice if the plan has no box for it.
    pub(super) fn tick_task(
        &self,
        context: &Context,
        document: &JsonDocument,
        folder: &Path,
        id: &str,
    ) -> Result<Option<FileNotice>, Error> {
        let named = orchestrate::plan_file(document.value());
        let top = git_top(folder).filter(|top| *top != self.root);
        let here = top.and_then(|top| find_plan(&top, named).ok().flatten());
        let plan = match here {
            Some(plan) => Some(plan),
            None => find_plan(&self.root, named)?,
        };
        let tick_notice = |words: words::Notice| {
            Ok(Some(FileNotice::Keeper {
                code: "not_ticked",
                words,
            }))
        };
        let Some(plan) = plan else {
            return tick_notice(words::Notice::NoPlanToTick { id: id.into() });
        };
        match set_tick(&plan.text, id, true) {
            Ok(text) if text == plan.text => Ok(None),
            Ok(text) => {
                write_atomically(&*context.disk, &plan.path, text.as_bytes(), None)?;
                Ok(None)
            }
            Err(error) => tick_notice(words::Notice::NotTicked {
                id: id.into(),
                why: error.to_string(),
            }),
        }
    }
}

impl PlanFile {
    /// Fails if the plan cannot be executed.
    pub(crate) fn check_usable(&self) -> Result<(), Error> {
        match self.file.blocking_finding() {
            None => Ok(()),
            Some(finding) => Err(Error::BadPlan {
                path: self.path.clone(),
                finding: Box::new(finding.clone()),
            }),
        }
    }
}

/// True if both paths lead to the same file.
fn is_same_file(found: Option<&PathBuf>, path: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    found.is_some_and(|found| real(found) == real(path))
}

/// Shortens a reason to one line of limited length.
fn shorten_reason(reason: Option<&str>) -> Result<Option<String>, Error> {
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
pub(super) fn resolve_task(graph: &TaskGraph, name: &str) -> Result<NodeId, Error> {
    if graph.contains(name) || name.is_empty() {
        return Ok(name.into());
    }
    let ends = |id: &&NodeId| {
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
