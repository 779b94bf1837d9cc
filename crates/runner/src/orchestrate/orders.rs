//! Executes the conductor's orders after the decision behind them is durable.

use super::jobs::without_git;
use super::note::Note;
use super::ports::{Event, Job, Life, Told, Trouble};
use super::real::{Order, Real};
use super::repo::Repo;
use super::report::View;
use super::run::Heard;
use crate::core::attempts::{Known, raw};
use crate::core::tidy::PROMPTS;
use crate::core::why::Why;
use bowline_engine::formats::agents::ResumePoint;
use bowline_engine::formats::visible;
use bowline_engine::machines::orchestrate::{NodeId, NodeStatus, OrchestrationState};
use bowline_words::Lang;
use std::time::{Duration, Instant};

/// Minimum interval between updates of the plan's check boxes, besides the update at every stop.
pub(super) const TICK: Duration = Duration::from_millis(250);
/// At most one part in this many of a run's time is spent on these updates.
const TICK_SHARE: u32 = 100;

impl Real<'_> {
    /// Makes pending decisions durable, then executes the orders that follow from them.
    pub(super) fn flush(&mut self) -> Result<(), Trouble> {
        self.ledger.flush(&self.context)?;
        self.announce_news();
        for order in std::mem::take(&mut self.orders) {
            match order {
                Order::Ask(job) => self.ask_for(job),
                Order::Begin(id, note) => {
                    if let Err(why) = self.begin_attempt(&id, &note) {
                        self.not_begun(&id, note.attempt, Some(why));
                    }
                }
                Order::Attach(id, note) => self.attach_attempt(&id, &note),
                Order::Want(id, number, want) => {
                    self.attempts.want(&self.attempt_id(&id, number), want);
                }
                Order::Repeat(id, number) => self.repeat_prompt(&id, number),
                Order::HangUp(id, number) => {
                    if self.client(&id).is_ok_and(|client| client.talks()) {
                        let attempt = self.attempt_id(&id, number);
                        self.attempts.say(&attempt, None, true, raw(String::new()));
                    }
                }
                Order::Tick(id) => self.tick(id),
                Order::Tell(told, run) => self.tell_now(&told, run),
            }
        }
        Ok(())
    }

    /// Queues a task to be ticked in the project's own checkout. A landing has ticked it already if
    /// the plan is part of what lands.
    fn tick(&mut self, id: NodeId) {
        if !self.repo.as_ref().is_some_and(Repo::ticks) {
            self.ticks.push(id);
        }
    }

    /// Queues completed tasks that an earlier run did not tick.
    pub(super) fn tick_left(&mut self) {
        let plan = self.ledger.owned.plan();
        let open = |id: &NodeId| {
            let task = plan.and_then(|plan| plan.file.task(id));
            task.is_some_and(|task| !task.done)
        };
        let mut done = self.ledger.run().ids_with_status(NodeStatus::Completed);
        done.retain(open);
        if !self.repo.as_ref().is_some_and(Repo::ticks) {
            self.ticks.extend(done);
        }
    }

    /// Ticks the queued tasks if it is due. A large plan is read and written as a whole, so the
    /// interval grows with the time that takes.
    pub(super) fn tick_now_and_then(&mut self) {
        if self.ticked.elapsed() >= self.tick_after {
            self.tick_all();
        }
    }

    /// Ticks the queued tasks now.
    pub(super) fn tick_all(&mut self) {
        let ids = std::mem::take(&mut self.ticks);
        if ids.is_empty() {
            return;
        }
        let begun = Instant::now();
        if let Err(error) = self.ledger.owned.tick_tasks(&self.context, &ids) {
            self.log(&format!("NOT_TICKED:{}:{error}", ids.join(",")));
        }
        self.ticked = Instant::now();
        self.tick_after = TICK.max(begun.elapsed() * TICK_SHARE);
    }

    fn ask_for(&mut self, job: Job) {
        let Some(jobs) = &self.jobs else {
            let root = self.ledger.owned.orchestration().root().to_owned();
            let variables = self.context.variables.for_commands();
            return without_git(
                job,
                root,
                &self.settings.orchestrate,
                variables,
                &self.heard,
            );
        };
        match job {
            Job::Room {
                id,
                merge,
                on,
                fresh,
            } => jobs.prepare_worktree(self.task_place(&id), merge, on, fresh),
            Job::Land { id, reserved } => jobs.land_task(self.task_place(&id), reserved),
            Job::Clean { id } => jobs.clean_up(Repo::name(&id)),
            Job::Forecast { id, others } => jobs.forecast(id, others),
            Job::FinishPhase { phase } => {
                let file = self.ledger.owned.plan().map(|plan| &plan.file);
                let heading =
                    file.and_then(|file| file.phases.iter().find(|it| it.number == phase));
                let title = heading.map(|it| it.title.clone()).unwrap_or_default();
                let done = done_in(self.ledger.run(), Some(phase));
                jobs.finish_phase(self.phase_place(phase), title, done);
            }
        }
    }

    fn attach_attempt(&mut self, id: &NodeId, note: &Note) {
        let attempt = self.attempt_id(id, note.attempt);
        let folder = self.attempt_folder(&attempt);
        let Ok(client) = self.client(id) else {
            return self.not_begun(id, note.attempt, None);
        };
        if !folder.join("spec.json").is_file() {
            return self.not_begun(id, note.attempt, None);
        }
        self.listen(id, note, &client);
        let run = self.ledger.run().clone();
        self.tell_now(&Told::Found { id: id.clone() }, run);
        let known = Known {
            folder,
            fence: self.ledger.owned.sequence(),
            voice: crate::core::attempts::Voice {
                protocol: client.protocol,
                nonce: None,
            },
            resume: ResumePoint::default(),
            session: note.session.clone(),
        };
        self.attempts.attach(&attempt, known);
    }

    fn repeat_prompt(&mut self, id: &NodeId, number: u32) {
        let attempt = self.attempt_id(id, number);
        let path = self.side.join(PROMPTS).join(format!("{attempt}.md"));
        if let Ok(text) = std::fs::read_to_string(path) {
            let message = crate::core::attempts::prompt(text);
            self.attempts.say(&attempt, None, false, message);
        }
    }

    fn not_begun(&self, id: &NodeId, number: u32, why: Option<Why>) {
        let _ = self.heard.send(Heard::Event(Event::Attempt {
            id: id.clone(),
            number,
            life: Life::NotBegun { why },
        }));
    }

    fn tell_now(&mut self, told: &Told, run: OrchestrationState) {
        let line = match told {
            Told::Begun { id, attempt: 1 } => format!("EXECUTE:{id}"),
            Told::Begun { id, attempt } => format!("EXECUTE:{id}:attempt={attempt}"),
            Told::Found { id } => format!("ATTACH:{id}"),
            Told::Done { id } => format!("DONE:{id}"),
            Told::Failed { id, why, again } => {
                let word = if *again { "RETRY" } else { "FAIL" };
                format!("{word}:{id}:{}", why.line(Lang::En))
            }
            Told::Parked { id, seconds } => format!("PARKED:{id}:{seconds}s"),
            Told::Waits { why } => format!("WAIT:{why}"),
            Told::Leaving => "LEAVING".into(),
            Told::Cleaned { worktrees, bytes } => format!("CLEAN:{worktrees}:bytes={bytes}"),
            Told::NothingValid { id, seconds } => format!("NOTHING_VALID:{id}:{seconds}s"),
            Told::Short(shortage) => format!("SHORT:{shortage}"),
            Told::Overlap { id, overlap } => {
                let paths: Vec<String> = overlap
                    .paths
                    .iter()
                    .map(|path| visible::escape_name(path))
                    .collect();
                let paths = paths.join(",");
                format!("OVERLAP:{id}:{}:{paths}", overlap.with)
            }
            Told::Recalled { id, on } => format!("RECALL:{id}:{on}"),
            Told::Proposed { id, url } => format!("PROPOSED:{id}:{url}"),
            Told::PhaseDone { phase } => format!("PHASE_DONE:{phase}"),
            Told::PhaseNotLanded { phase, why } => format!("PHASE_NOT_LANDED:{phase}:{why}"),
        };
        self.log(&line.replace('\n', " "));
        self.screen.told(told, &View::of(run));
    }
}

/// Returns the completed tasks, of one phase or of all.
pub(super) fn done_in(run: &OrchestrationState, phase: Option<u32>) -> Vec<String> {
    let mut ids = run.ids_with_status(NodeStatus::Completed);
    ids.retain(|id| phase.is_none() || run.graph().phase_of(id) == phase);
    ids.iter().map(ToString::to_string).collect()
}
