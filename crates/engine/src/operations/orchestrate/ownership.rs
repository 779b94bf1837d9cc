//! Exclusive hold on an orchestration's state file for a whole run: each change is durable at once,
//! the file is written occasionally.

use super::plan_and_state::{CountedTicks, merge_plan};
use super::verbs::{Orchestration, resolve_task};
use super::{FileStamp, PlanFile, RunNotification};
use crate::context::Context;
use crate::effects::PendingEffect;
use crate::error::Error;
use crate::files::ChangeRecord;
use crate::kinds::FileKind;
use bowline_formats::StateFormat as _;
use bowline_formats::json::JsonDocument;
use bowline_formats::orchestrate::{
    self, OrchestrateFile, OrchestrationMeta, RecordedStep, SlackEvents,
};
use bowline_formats::tasks_md::set_ticks;
use bowline_machines::Machine as _;
use bowline_machines::orchestrate::{
    Command, Effect, NodeId, NodeStatus, OrchestrateMachine, OrchestrationLimits,
    OrchestrationState,
};
use bowline_statefiles::{
    BatchStep, DocumentChange, StateFileGuard, WriteOutcome, write_atomically,
};
use serde_json::json;

/// Most conflicts with concurrent outside writes before giving up.
const TRIES_MAX: usize = 5;

/// Exclusive right to change an orchestration. Others learn who has it; dropping it releases the
/// right.
#[derive(Debug)]
pub struct OwnedOrchestration {
    orchestration: Orchestration,
    held: StateFileGuard,
    /// Number of lines in journals that were removed during this run.
    lost_lines: u64,
    run: OrchestrationState,
    document: JsonDocument,
    plan: Option<PlanFile>,
    /// Versions of the possible plan files at the last check.
    seen: Vec<Option<FileStamp>>,
    /// Text of the plan since we ticked it, unless it was changed from outside since.
    ticked: Option<String>,
    /// Changes that are decided but not durable yet.
    staged: Vec<BatchStep>,
    /// True if changes were committed that the file does not show yet.
    loose: bool,
    /// True if notifications are wanted.
    announces: bool,
    /// Notifications of staged changes with their index there, and of durable changes with the
    /// number of their journal line.
    staged_news: Vec<(usize, Vec<RunNotification>)>,
    news: Vec<(u64, Vec<RunNotification>)>,
}

impl Orchestration {
    /// Takes the file for a run, with the present plan. `limits` derives the limits of the run from
    /// those in the file.
    pub fn take_ownership(
        &self,
        context: &Context,
        limits: impl FnOnce(OrchestrationLimits) -> OrchestrationLimits,
    ) -> Result<OwnedOrchestration, Error> {
        if let Err(Error::Damaged { findings, .. }) = self.file().read_view(context) {
            self.file().restore_damaged(context, &findings)?;
        }
        let request = context.new_request();
        let held = self.file().file.lock_for_writing(&request)?;
        let Some(text) = held.snapshot().text()?.map(str::to_owned) else {
            return Err(self.file().no_file());
        };
        let document = JsonDocument::parse(text.as_bytes()).map_err(|_| self.unreadable_error())?;
        let seen = self.plan_stamps(&document);
        let plan = self.plan_beside(&document);
        let read = OrchestrateFile::read_state(&document);
        let read = read.map_err(|findings| self.file().damaged_error(findings))?;
        let run = plan
            .as_ref()
            .and_then(|plan| merge_plan(&document, &plan.file, CountedTicks::OfNewTasks))
            .unwrap_or(read.state);
        let config = limits(run.run_limits());
        let run = run.with_limits(config);
        let mut owned = OwnedOrchestration {
            orchestration: self.clone(),
            held,
            lost_lines: 0,
            run,
            document,
            plan,
            seen,
            ticked: None,
            staged: Vec::new(),
            loose: false,
            announces: false,
            staged_news: Vec::new(),
            news: Vec::new(),
        };
        // Steps are replayed on the file alone: it must have the graph they are decided on.
        owned.rewrite_file(context, "RUN")?;
        Ok(owned)
    }

    fn unreadable_error(&self) -> Error {
        self.file().damaged_error(Vec::new())
    }
}

impl OwnedOrchestration {
    /// Returns the current run.
    pub fn run(&self) -> &OrchestrationState {
        &self.run
    }

    /// Returns the plan as it was read.
    pub fn plan(&self) -> Option<&PlanFile> {
        self.plan.as_ref()
    }

    /// Returns the project name and the settings for notifications.
    pub fn read_meta(&self) -> OrchestrationMeta {
        OrchestrationMeta::from_document(self.document.value())
    }

    /// Returns the number of the last journal line, which grows whenever another process takes the
    /// file. Lines of a journal that was removed during this run count, too: agents obey orders
    /// under a number that only grows.
    pub fn sequence(&self) -> u64 {
        self.lost_lines + self.held.snapshot().seq
    }

    pub fn orchestration(&self) -> &Orchestration {
        &self.orchestration
    }

    /// Returns the task that a name refers to.
    pub fn resolve_task(&self, name: &str) -> Result<NodeId, Error> {
        resolve_task(self.run.graph(), name)
    }

    /// Applies a command and returns its effects, to be executed once [`Self::flush_staged`] has
    /// made it durable. A refused command changes nothing.
    pub fn stage_command(
        &mut self,
        context: &Context,
        command: Command,
    ) -> Result<Vec<Effect>, Error> {
        let at = context.now_for(FileKind::Orchestrate);
        let mut next = self.run.clone();
        let effects = OrchestrateMachine::advance(&mut next, command.clone(), at)
            .map_err(|refusal| Error::Refused(refusal.into()))?;
        let moved = self.change_record(&command, &next);
        let step = RecordedStep { at, command };
        let request = context.new_request();
        let file = self.orchestration.file();
        let step = BatchStep {
            id: request.id.clone(),
            at: request.at.clone(),
            logical: raw_step(&step),
            transition: Some(file.transition_line(context, self.document.value(), &moved)),
            effects: self.stage_notifications(&effects, &next),
        };
        self.staged.push(step);
        self.run = next;
        Ok(effects)
    }

    /// Makes all staged changes durable with one flush.
    pub fn flush_staged(&mut self, context: &Context) -> Result<(), Error> {
        if self.held.is_removed() {
            return self.hold_again(context);
        }
        if self.staged.is_empty() {
            return Ok(());
        }
        self.held
            .commit_steps(&context.new_request(), &self.staged)?;
        let (last, count) = (self.held.snapshot().seq, self.staged.len());
        self.staged.clear();
        self.loose = true;
        // Every step is a line of its own, the last one the newest.
        for (place, news) in self.staged_news.drain(..) {
            let behind = u64::try_from(count - 1 - place).unwrap_or_default();
            self.news.push((last.saturating_sub(behind), news));
        }
        Ok(())
    }

    /// Takes the file again after its folder was removed during the run, with lock and journal, and
    /// rewrites it.
    fn hold_again(&mut self, context: &Context) -> Result<(), Error> {
        let held = self
            .orchestration
            .file()
            .file
            .lock_for_writing(&context.new_request())?;
        self.lost_lines = self.sequence();
        self.held = held;
        self.read_theirs()?;
        // The document includes the staged changes and those in the lost journal.
        self.staged.clear();
        self.rewrite_file(context, "RUN")?;
        let news = self.staged_news.drain(..).map(|(_, news)| news);
        let last = self.held.snapshot().seq;
        self.news.extend(news.map(|news| (last, news)));
        Ok(())
    }

    /// Returns the notifications of a change that is about to be staged, as the journal keeps them.
    fn stage_notifications(
        &mut self,
        effects: &[Effect],
        run: &OrchestrationState,
    ) -> Option<Box<serde_json::value::RawValue>> {
        let news = RunNotification::from_effects(effects, run);
        if !self.announces || news.is_empty() {
            return None;
        }
        self.staged_news.push((self.staged.len(), news.clone()));
        Some(PendingEffect::Announce(news).to_raw())
    }

    /// Turns notifications on: from now on changes are stored with theirs until
    /// [`Self::settle_notifications`] settles them. Returns those that earlier runs left.
    pub fn enable_notifications(&mut self) -> Result<Vec<(u64, Vec<RunNotification>)>, Error> {
        self.announces = true;
        let pending = self.orchestration.file().file.pending_effects()?;
        let news = pending
            .iter()
            .filter_map(|one| match PendingEffect::of_raw(&one.effects) {
                Some(PendingEffect::Announce(news)) => Some((one.seq, news)),
                Some(PendingEffect::Tick { .. } | PendingEffect::PushHistory(_)) | None => None,
            });
        Ok(news.collect())
    }

    /// Returns new notifications of durable changes, each with the journal line that keeps it.
    pub fn take_news(&mut self) -> Vec<(u64, Vec<RunNotification>)> {
        std::mem::take(&mut self.news)
    }

    /// Settles the notifications of a line: they were delivered or given up.
    pub fn settle_notifications(&mut self, context: &Context, seq: u64) -> Result<(), Error> {
        self.held
            .record_executed_effects(&context.new_request(), &[seq])?;
        Ok(())
    }

    /// Returns the notifications wanted for Slack.
    pub fn slack_events(&self) -> SlackEvents {
        SlackEvents::from_document(self.document.value())
    }

    /// Writes the file if it lacks changes.
    pub fn write_file(&mut self, context: &Context) -> Result<(), Error> {
        self.flush_staged(context)?;
        if !self.loose {
            return Ok(());
        }
        let request = context.new_request();
        let text = self.next_document(context).text().to_owned();
        let written = match self.held.write_document(&request, &text) {
            Err(_) if self.held.is_removed() => return self.hold_again(context),
            written => written?,
        };
        match written {
            WriteOutcome::Done { .. } => {
                self.document = JsonDocument::parse(text.as_bytes())
                    .map_err(|_| self.orchestration.unreadable_error())?;
                self.loose = false;
                Ok(())
            }
            WriteOutcome::Theirs => self.adopt_edit(context),
        }
    }

    /// Ticks tasks in the plan of the project's own checkout, unless a merge has done so. The plan
    /// is read and written once; tasks without a box are left out.
    pub fn tick_tasks(&mut self, context: &Context, ids: &[NodeId]) -> Result<(), Error> {
        let named = orchestrate::plan_file(self.document.value());
        let Some(plan) = super::find_plan(self.orchestration.root(), named)? else {
            return Ok(());
        };
        let known = self
            .ticked
            .as_ref()
            .or(self.plan.as_ref().map(|it| &it.text));
        let ours = known == Some(&plan.text);
        let there = |id: &&NodeId| {
            plan.file
                .task(id)
                .is_some_and(|task| !task.marks.is_empty())
        };
        let ticks = ids.iter().filter(there).map(|id| (&**id, true));
        match set_ticks(&plan.text, ticks) {
            Ok(text) if text != plan.text => {
                write_atomically(&*context.disk, &plan.path, text.as_bytes(), None)?;
                if ours {
                    self.seen = self.orchestration.plan_stamps(&self.document);
                    self.ticked = Some(text);
                }
                Ok(())
            }
            // All of them are ticked already.
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Rereads the plan; returns true if its tasks changed. A large plan is read, and merged with
    /// the run, only if its file has changed.
    pub fn reread_plan(&mut self, context: &Context) -> Result<bool, Error> {
        let seen = self.orchestration.plan_stamps(&self.document);
        if std::mem::replace(&mut self.seen, seen.clone()) == seen {
            return Ok(false);
        }
        self.ticked = None;
        self.write_file(context)?;
        let plan = self.orchestration.plan_beside(&self.document);
        let same = |one: &Option<PlanFile>, other: &Option<PlanFile>| {
            one.as_ref().map(|it| &it.text) == other.as_ref().map(|it| &it.text)
        };
        if same(&plan, &self.plan) {
            return Ok(false);
        }
        let run = plan
            .as_ref()
            .and_then(|plan| merge_plan(&self.document, &plan.file, CountedTicks::OfNewTasks));
        self.plan = plan;
        let Some(run) = run.map(|run| run.with_limits(self.run.run_limits())) else {
            return Ok(false);
        };
        let changed = run.graph() != self.run.graph();
        if changed {
            self.run = run;
            self.rewrite_file(context, "REBUILD")?;
        }
        Ok(changed)
    }

    fn next_document(&self, context: &Context) -> JsonDocument {
        let mut value = match OrchestrateFile::read_state(&self.document) {
            Ok(read) => read.fixed,
            Err(_) => self.document.value().clone(),
        };
        OrchestrateFile::write_state(
            &self.run,
            &mut value,
            context.now_for(FileKind::Orchestrate),
        );
        self.document.reconcile(&value)
    }

    fn rewrite_file(&mut self, context: &Context, trigger: &'static str) -> Result<(), Error> {
        let request = context.new_request();
        for _ in 0..TRIES_MAX {
            let next = self.next_document(context);
            let word = OrchestrateMachine::status_name(&self.run);
            let moved = ChangeRecord::new("run", trigger, Some(word.into()), word);
            let file = self.orchestration.file();
            let change = DocumentChange {
                transition: Some(file.transition_line(context, next.value(), &moved)),
                ..DocumentChange::replace_with(next.text())
            };
            match self.held.replace_document(&request, &change)? {
                WriteOutcome::Done { .. } => {
                    self.document = next;
                    self.loose = false;
                    return Ok(());
                }
                WriteOutcome::Theirs => self.read_theirs()?,
            }
        }
        Err(Error::File(bowline_statefiles::StateFileError::Contended {
            path: self.orchestration.file().path.clone(),
            tries: TRIES_MAX,
        }))
    }

    /// Adopts an outside edit made around the lock. Tasks it marks as completed count; for the
    /// rest, the committed changes do.
    fn adopt_edit(&mut self, context: &Context) -> Result<(), Error> {
        self.read_theirs()?;
        let theirs = OrchestrateFile::read_state(&self.document)
            .map(|read| read.state.ids_with_status(NodeStatus::Completed));
        let done: Vec<NodeId> = theirs
            .unwrap_or_default()
            .into_iter()
            .filter(|id| {
                let ours = self.run.find_node(id).map(|node| node.status);
                ours.is_some_and(|ours| {
                    ours != NodeStatus::Completed && ours != NodeStatus::InProgress
                })
            })
            .collect();
        let at = context.now_for(FileKind::Orchestrate);
        for id in done {
            let command = Command::ForceComplete {
                id,
                by: bowline_machines::Actor::Person,
                reason: None,
            };
            // Their edit counts as far as the rules allow it.
            let _ = OrchestrateMachine::advance(&mut self.run, command, at);
        }
        self.rewrite_file(context, "ADOPT")
    }

    fn read_theirs(&mut self) -> Result<(), Error> {
        let text = self.held.snapshot().text()?.map(str::to_owned);
        // A removed file is written again from our state.
        let Some(text) = text else {
            return Ok(());
        };
        // An unreadable edit is kept beside the file; the run continues from the previous document.
        if let Ok(document) = JsonDocument::parse(text.as_bytes())
            && OrchestrateFile::read_state(&document).is_ok()
        {
            self.document = document;
        }
        Ok(())
    }

    fn change_record(&self, command: &Command, next: &OrchestrationState) -> ChangeRecord {
        let task = |id: &NodeId, trigger| {
            let status =
                |run: &OrchestrationState| run.find_node(id).map_or("", |node| node.status.name());
            ChangeRecord::new(
                "task",
                trigger,
                Some(status(&self.run).into()),
                status(next),
            )
        };
        match command {
            Command::Start { id } => task(id, "START").with_metadata(json!({ "task": &**id })),
            Command::StartAhead { id } => {
                task(id, "START_AHEAD").with_metadata(json!({ "task": &**id }))
            }
            Command::Recall { id } => task(id, "RECALL").with_metadata(json!({ "task": &**id })),
            Command::Complete { id } => {
                task(id, "COMPLETE").with_metadata(json!({ "task": &**id }))
            }
            Command::Fail { id, reason, retry } => task(id, "FAIL")
                .with_metadata(json!({ "task": &**id, "reason": reason, "retry": retry })),
            Command::ForceComplete { id, reason, .. } => {
                task(id, "FORCE_COMPLETE").with_metadata(json!({ "task": &**id, "reason": reason }))
            }
            Command::Retry { id } => task(id, "RETRY").with_metadata(json!({ "task": &**id })),
            Command::Lost { gone } => match gone.first() {
                Some(id) => task(id, "LOST").with_metadata(json!({ "task": &**id, "tasks": gone })),
                None => {
                    ChangeRecord::new("run", "LOST", None, OrchestrateMachine::status_name(next))
                }
            },
            Command::PhaseFinish { phase, .. } => {
                let word = |run: &OrchestrationState| match run
                    .find_phase(*phase)
                    .is_some_and(|it| it.is_finished())
                {
                    true => "finished",
                    false => "complete",
                };
                let from = Some(word(&self.run).into());
                let moved = ChangeRecord::new("phase", "PHASE_FINISH", from, word(next));
                moved.with_metadata(json!({ "phase": phase, "git": true }))
            }
            Command::SetWorktree { path } => {
                let word = OrchestrateMachine::status_name(next);
                let moved = ChangeRecord::new("run", "SET_WORKTREE", Some(word.into()), word);
                moved.with_metadata(json!({ "worktree": path }))
            }
        }
    }
}

fn raw_step(step: &RecordedStep) -> Box<serde_json::value::RawValue> {
    // A struct of texts and numbers always serialises.
    serde_json::value::to_raw_value(step)
        .unwrap_or_else(|_| serde_json::value::RawValue::NULL.to_owned())
}
