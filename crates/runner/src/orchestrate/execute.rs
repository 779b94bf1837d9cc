//! Executes the conductor's orders after the decision behind them is durable.

use super::git_workers::without_git;
use super::ports::{ConductorEvent, GitJob, RunError, RunNotice, TaskAgentEvent};
use super::repo::RunRepo;
use super::report::RunView;
use super::run::LoopInput;
use super::runtime::{DeferredOrder, RunRuntime};
use super::task_record::TaskRecord;
use crate::core::attempts::{AttemptResume, raw_message};
use crate::core::cleanup::PROMPTS_FOLDER;
use crate::core::failure::FailureReason;
use bowline_engine::formats::agents::ResumePoint;
use bowline_engine::formats::visible;
use bowline_engine::machines::orchestrate::{NodeId, NodeStatus, OrchestrationState};
use bowline_words::Lang;
use std::time::{Duration, Instant};

/// Minimum interval between updates of the plan's check boxes, besides the update at every stop.
pub(super) const TICK_INTERVAL: Duration = Duration::from_millis(250);
/// At most one part in this many of a run's time is spent on these updates.
const TICK_SHARE: u32 = 100;

impl RunRuntime<'_> {
    /// Makes pending decisions durable, then executes the orders that follow from them.
    pub(super) fn flush_and_execute(&mut self) -> Result<(), RunError> {
        self.journal.flush(&self.context)?;
        self.announce_news();
        for order in std::mem::take(&mut self.orders) {
            match order {
                DeferredOrder::Submit(job) => self.submit_job(job),
                DeferredOrder::Begin(id, note) => {
                    if let Err(why) = self.start_attempt(&id, &note) {
                        self.report_never_started(&id, note.attempt, Some(why));
                    }
                }
                DeferredOrder::Attach(id, note) => self.attach_attempt(&id, &note),
                DeferredOrder::Want(id, number, want) => {
                    self.attempts
                        .set_wanted_state(&self.attempt_id(&id, number), want);
                }
                DeferredOrder::Repeat(id, number) => self.repeat_prompt(&id, number),
                DeferredOrder::CloseInput(id, number) => {
                    if self
                        .task_client(&id)
                        .is_ok_and(|client| client.accepts_input())
                    {
                        let attempt = self.attempt_id(&id, number);
                        self.attempts.send_message(
                            &attempt,
                            None,
                            true,
                            raw_message(String::new()),
                        );
                    }
                }
                DeferredOrder::Tick(id) => self.queue_tick(id),
                DeferredOrder::ShowNotice(notice, run) => self.show_notice(&notice, run),
            }
        }
        Ok(())
    }

    /// Queues a task to be ticked in the project's own checkout. A landing has ticked it already if
    /// the plan is part of what lands.
    fn queue_tick(&mut self, id: NodeId) {
        if !self.repo.as_ref().is_some_and(RunRepo::ticks_plan) {
            self.ticks.push(id);
        }
    }

    /// Queues completed tasks that an earlier run did not tick.
    pub(super) fn queue_missed_ticks(&mut self) {
        let plan = self.journal.owned.plan();
        let open = |id: &NodeId| {
            let task = plan.and_then(|plan| plan.file.task(id));
            task.is_some_and(|task| !task.done)
        };
        let mut done = self
            .journal
            .run_state()
            .ids_with_status(NodeStatus::Completed);
        done.retain(open);
        if !self.repo.as_ref().is_some_and(RunRepo::ticks_plan) {
            self.ticks.extend(done);
        }
    }

    /// Ticks the queued tasks if it is due. A large plan is read and written as a whole, so the
    /// interval grows with the time that takes.
    pub(super) fn tick_if_due(&mut self) {
        if self.ticked.elapsed() >= self.tick_after {
            self.tick_queued();
        }
    }

    /// Ticks the queued tasks now.
    pub(super) fn tick_queued(&mut self) {
        let ids = std::mem::take(&mut self.ticks);
        if ids.is_empty() {
            return;
        }
        let begun = Instant::now();
        if let Err(error) = self.journal.owned.tick_tasks(&self.context, &ids) {
            self.write_log(&format!("NOT_TICKED:{}:{error}", ids.join(",")));
        }
        self.ticked = Instant::now();
        self.tick_after = TICK_INTERVAL.max(begun.elapsed() * TICK_SHARE);
    }

    fn submit_job(&mut self, job: GitJob) {
        let Some(jobs) = &self.jobs else {
            let root = self.journal.owned.orchestration().root().to_owned();
            let variables = self.context.variables.for_commands();
            return without_git(
                job,
                root,
                &self.settings.orchestrate,
                variables,
                &self.inputs,
            );
        };
        match job {
            GitJob::PrepareWorktree {
                id,
                merge,
                on,
                fresh,
            } => jobs.prepare_worktree(self.task_place(&id), merge, on, fresh),
            GitJob::Land { id, reserved } => jobs.land_task(self.task_place(&id), reserved),
            GitJob::Clean { id } => jobs.clean_up(RunRepo::task_name(&id)),
            GitJob::Forecast { id, others } => jobs.forecast(id, others),
            GitJob::FinishPhase { phase } => {
                let file = self.journal.owned.plan().map(|plan| &plan.file);
                let heading =
                    file.and_then(|file| file.phases.iter().find(|it| it.number == phase));
                let title = heading.map(|it| it.title.clone()).unwrap_or_default();
                let done = completed_tasks(self.journal.run_state(), Some(phase));
                jobs.finish_phase(self.phase_place(phase), title, done);
            }
        }
    }

    fn attach_attempt(&mut self, id: &NodeId, note: &TaskRecord) {
        let attempt = self.attempt_id(id, note.attempt);
        let folder = self.attempt_folder(&attempt);
        let Ok(client) = self.task_client(id) else {
            return self.report_never_started(id, note.attempt, None);
        };
        if !folder.join("spec.json").is_file() {
            return self.report_never_started(id, note.attempt, None);
        }
        self.track_attempt(id, note, &client);
        let run = self.journal.run_state().clone();
        self.show_notice(&RunNotice::Found { id: id.clone() }, run);
        let known = AttemptResume {
            folder,
            fence: self.journal.owned.sequence(),
            output_protocol: crate::core::attempts::OutputProtocol {
                protocol: client.protocol,
                nonce: None,
            },
            resume: ResumePoint::default(),
            session: note.session.clone(),
        };
        self.attempts.attach_attempt(&attempt, known);
    }

    fn repeat_prompt(&mut self, id: &NodeId, number: u32) {
        let attempt = self.attempt_id(id, number);
        let path = self.side.join(PROMPTS_FOLDER).join(format!("{attempt}.md"));
        if let Ok(text) = std::fs::read_to_string(path) {
            let message = crate::core::attempts::prompt_message(text);
            self.attempts.send_message(&attempt, None, false, message);
        }
    }

    fn report_never_started(&self, id: &NodeId, number: u32, why: Option<FailureReason>) {
        let _ = self.inputs.send(LoopInput::Event(ConductorEvent::Attempt {
            id: id.clone(),
            number,
            event: TaskAgentEvent::NeverStarted { why },
        }));
    }

    fn show_notice(&mut self, notice: &RunNotice, run: OrchestrationState) {
        let line = match notice {
            RunNotice::Begun { id, attempt: 1 } => format!("EXECUTE:{id}"),
            RunNotice::Begun { id, attempt } => format!("EXECUTE:{id}:attempt={attempt}"),
            RunNotice::Found { id } => format!("ATTACH:{id}"),
            RunNotice::Done { id } => format!("DONE:{id}"),
            RunNotice::Failed { id, why, again } => {
                let word = if *again { "RETRY" } else { "FAIL" };
                format!("{word}:{id}:{}", why.render_line(Lang::En))
            }
            RunNotice::Parked { id, seconds } => format!("PARKED:{id}:{seconds}s"),
            RunNotice::Waits { why } => format!("WAIT:{why}"),
            RunNotice::Leaving => "LEAVING".into(),
            RunNotice::Cleaned { worktrees, bytes } => format!("CLEAN:{worktrees}:bytes={bytes}"),
            RunNotice::NothingValid { id, seconds } => format!("NOTHING_VALID:{id}:{seconds}s"),
            RunNotice::Short(shortage) => format!("SHORT:{shortage}"),
            RunNotice::Overlap { id, overlap } => {
                let paths: Vec<String> = overlap
                    .paths
                    .iter()
                    .map(|path| visible::escape_name(path))
                    .collect();
                let paths = paths.join(",");
                format!("OVERLAP:{id}:{}:{paths}", overlap.with)
            }
            RunNotice::Recalled { id, on } => format!("RECALL:{id}:{on}"),
            RunNotice::Proposed { id, url } => format!("PROPOSED:{id}:{url}"),
            RunNotice::PhaseDone { phase } => format!("PHASE_DONE:{phase}"),
            RunNotice::PhaseNotLanded { phase, why } => format!("PHASE_NOT_LANDED:{phase}:{why}"),
        };
        self.write_log(&line.replace('\n', " "));
        self.screen.show_notice(notice, &RunView::new(run));
    }
}

/// Returns the completed tasks, of one phase or of all.
pub(super) fn completed_tasks(run: &OrchestrationState, phase: Option<u32>) -> Vec<String> {
    let mut ids = run.ids_with_status(NodeStatus::Completed);
    ids.retain(|id| phase.is_none() || run.graph().phase_of(id) == phase);
    ids.iter().map(ToString::to_string).collect()
}
