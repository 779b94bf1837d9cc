//! An orchestration whose file somebody holds for a whole run: many moves, each durable at once, the file written now and then.

use super::merge::{Ticks, merged};
use super::verbs::{Orchestration, resolve};
use super::{Announced, Plan, Stamp};
use crate::context::Context;
use crate::effects::Owed;
use crate::error::Error;
use crate::files::Moved;
use crate::kinds::FileKind;
use bowline_formats::StateFormat as _;
use bowline_formats::json::JsonDocument;
use bowline_formats::orchestrate::{self, Meta, OrchestrateFile, RecordedStep, SlackWishes};
use bowline_formats::tasks_md::set_ticks;
use bowline_machines::Machine as _;
use bowline_machines::orchestrate::{Command, Config, Effect, Id, OrchestrateMachine, Run, Status};
use bowline_statefiles::{Change, Held, Step, Written, write_whole};
use serde_json::json;

/// How often somebody else may write the file in the very moment we do.
const TRIES_MAX: usize = 5;

/// The right to move an orchestration. Others are told who has it; it ends when this is dropped.
#[derive(Debug)]
pub struct Owned {
    orchestration: Orchestration,
    held: Held,
    /// Lines of journals that were removed under this run.
    lost_lines: u64,
    run: Run,
    document: JsonDocument,
    plan: Option<Plan>,
    /// What the places of plans held when they were last looked at.
    seen: Vec<Option<Stamp>>,
    /// The plan's text since we ticked it, where nobody else has changed it meanwhile.
    ticked: Option<String>,
    /// Moves that are decided and not durable yet.
    staged: Vec<Step>,
    /// Moves were committed that the file does not show.
    loose: bool,
    /// Somebody elsewhere wants to hear of it.
    announces: bool,
    /// News of moves that are staged, by their place there, and of durable ones, by the line that keeps them.
    staged_news: Vec<(usize, Vec<Announced>)>,
    news: Vec<(u64, Vec<Announced>)>,
}

impl Orchestration {
    /// Takes the file for a run, with the plan as it is now, and limits as `limits` makes them of those in the file.
    pub fn own(
        &self,
        context: &Context,
        limits: impl FnOnce(Config) -> Config,
    ) -> Result<Owned, Error> {
        if let Err(Error::Damaged { findings, .. }) = self.file().view(context) {
            self.file().recover(context, &findings)?;
        }
        let request = context.request();
        let held = self.file().file.hold(&request)?;
        let Some(text) = held.snapshot().text()?.map(str::to_owned) else {
            return Err(self.file().no_file());
        };
        let document = JsonDocument::parse(text.as_bytes()).map_err(|_| self.unreadable())?;
        let seen = self.plan_stamps(&document);
        let plan = self.plan_beside(&document);
        let read = OrchestrateFile::read(&document);
        let read = read.map_err(|findings| self.file().damaged(findings))?;
        let run = plan
            .as_ref()
            .and_then(|plan| merged(&document, &plan.file, Ticks::OfNewTasks))
            .unwrap_or(read.state);
        let config = limits(run.config());
        let run = run.with_config(config);
        let mut owned = Owned {
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
        // Steps are replayed on what the file alone tells: it must know the graph they are decided on.
        owned.rewrite(context, "RUN")?;
        Ok(owned)
    }

    fn unreadable(&self) -> Error {
        self.file().damaged(Vec::new())
    }
}

impl Owned {
    /// The run as it is now.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// The plan as it was read.
    pub fn plan(&self) -> Option<&Plan> {
        self.plan.as_ref()
    }

    /// What the run is called, and whom it tells.
    pub fn meta(&self) -> Meta {
        Meta::read(self.document.value())
    }

    /// The number of the last line of the journal: it has grown whenever somebody else takes the file. Lines of a journal that
    /// was removed under this run count, too: agents take orders under a number that only grows.
    pub fn sequence(&self) -> u64 {
        self.lost_lines + self.held.snapshot().seq
    }

    /// The orchestration.
    pub fn orchestration(&self) -> &Orchestration {
        &self.orchestration
    }

    /// The task a name means.
    pub fn resolve(&self, name: &str) -> Result<Id, Error> {
        resolve(self.run.graph(), name)
    }

    /// Makes a move, and says what follows once it is durable, which [`Owned::flush`] makes it. A refused one changes nothing.
    pub fn stage(&mut self, context: &Context, command: Command) -> Result<Vec<Effect>, Error> {
        let at = context.now_for(FileKind::Orchestrate);
        let mut next = self.run.clone();
        let effects = OrchestrateMachine::advance(&mut next, command.clone(), at)
            .map_err(|refusal| Error::Refused(refusal.into()))?;
        let moved = self.moved(&command, &next);
        let step = RecordedStep { at, command };
        let request = context.request();
        let file = self.orchestration.file();
        let step = Step {
            id: request.id.clone(),
            at: request.at.clone(),
            logical: raw(&step),
            transition: Some(file.transition(context, self.document.value(), &moved)),
            effects: self.owed(&effects, &next),
        };
        self.staged.push(step);
        self.run = next;
        Ok(effects)
    }

    /// Makes all moves durable that are not, with one flush.
    pub fn flush(&mut self, context: &Context) -> Result<(), Error> {
        if self.held.is_removed() {
            return self.hold_again(context);
        }
        if self.staged.is_empty() {
            return Ok(());
        }
        self.held.commit(&context.request(), &self.staged)?;
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

    /// Takes the file anew after its folder was removed under the run, with lock and journal, and writes it as it should be.
    fn hold_again(&mut self, context: &Context) -> Result<(), Error> {
        let held = self.orchestration.file().file.hold(&context.request())?;
        self.lost_lines = self.sequence();
        self.held = held;
        self.read_theirs()?;
        // The document has what the staged moves and those in the lost journal led to.
        self.staged.clear();
        self.rewrite(context, "RUN")?;
        let news = self.staged_news.drain(..).map(|(_, news)| news);
        let last = self.held.snapshot().seq;
        self.news.extend(news.map(|news| (last, news)));
        Ok(())
    }

    /// What a move that is about to be staged owes to people elsewhere, as the journal keeps it.
    fn owed(&mut self, effects: &[Effect], run: &Run) -> Option<Box<serde_json::value::RawValue>> {
        let news = Announced::all(effects, run);
        if !self.announces || news.is_empty() {
            return None;
        }
        self.staged_news.push((self.staged.len(), news.clone()));
        Some(Owed::Announce(news).to_raw())
    }

    /// From here on moves are kept with the news they have for people elsewhere, until [`Owned::announced`] settles them.
    /// Gives back what earlier runs left.
    pub fn announce(&mut self) -> Result<Vec<(u64, Vec<Announced>)>, Error> {
        self.announces = true;
        let pending = self.orchestration.file().file.pending_effects()?;
        let news = pending
            .iter()
            .filter_map(|one| match Owed::of_raw(&one.effects) {
                Some(Owed::Announce(news)) => Some((one.seq, news)),
                Some(Owed::Tick { .. } | Owed::PushHistory(_)) | None => None,
            });
        Ok(news.collect())
    }

    /// News of moves that are durable, each with the line of the journal that keeps it.
    pub fn take_news(&mut self) -> Vec<(u64, Vec<Announced>)> {
        std::mem::take(&mut self.news)
    }

    /// News of a line were delivered, or given up.
    pub fn announced(&mut self, context: &Context, seq: u64) -> Result<(), Error> {
        self.held.effects_done(&context.request(), &[seq])?;
        Ok(())
    }

    /// Of what Slack wants to hear.
    pub fn slack_wishes(&self) -> SlackWishes {
        SlackWishes::read(self.document.value())
    }

    /// Writes the file, where it lacks moves.
    pub fn write(&mut self, context: &Context) -> Result<(), Error> {
        self.flush(context)?;
        if !self.loose {
            return Ok(());
        }
        let request = context.request();
        let text = self.next(context).text().to_owned();
        let written = match self.held.write(&request, &text) {
            Err(_) if self.held.is_removed() => return self.hold_again(context),
            written => written?,
        };
        match written {
            Written::Done { .. } => {
                self.document = JsonDocument::parse(text.as_bytes())
                    .map_err(|_| self.orchestration.unreadable())?;
                self.loose = false;
                Ok(())
            }
            Written::Theirs => self.adopt(context),
        }
    }

    /// Ticks tasks in the plan of the project's own checkout, where that did not come with a landing. The plan is read and written
    /// once; those it has no place for are left out.
    pub fn tick(&mut self, context: &Context, ids: &[Id]) -> Result<(), Error> {
        let told = orchestrate::plan_file(self.document.value());
        let Some(plan) = super::find_plan(self.orchestration.root(), told)? else {
            return Ok(());
        };
        let known = self
            .ticked
            .as_ref()
            .or(self.plan.as_ref().map(|it| &it.text));
        let ours = known == Some(&plan.text);
        let there = |id: &&Id| {
            plan.file
                .task(id)
                .is_some_and(|task| !task.marks.is_empty())
        };
        let ticks = ids.iter().filter(there).map(|id| (&**id, true));
        match set_ticks(&plan.text, ticks) {
            Ok(text) if text != plan.text => {
                write_whole(&*context.disk, &plan.path, text.as_bytes(), None)?;
                if ours {
                    self.seen = self.orchestration.plan_stamps(&self.document);
                    self.ticked = Some(text);
                }
                Ok(())
            }
            // Every one of them has a box.
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Takes over the plan as it is now; says whether its tasks are others than before. A large plan is read, and the run brought
    /// together with it, only where somebody else has touched it.
    pub fn reread_plan(&mut self, context: &Context) -> Result<bool, Error> {
        let seen = self.orchestration.plan_stamps(&self.document);
        if std::mem::replace(&mut self.seen, seen.clone()) == seen {
            return Ok(false);
        }
        self.ticked = None;
        self.write(context)?;
        let plan = self.orchestration.plan_beside(&self.document);
        let same = |one: &Option<Plan>, other: &Option<Plan>| {
            one.as_ref().map(|it| &it.text) == other.as_ref().map(|it| &it.text)
        };
        if same(&plan, &self.plan) {
            return Ok(false);
        }
        let run = plan
            .as_ref()
            .and_then(|plan| merged(&self.document, &plan.file, Ticks::OfNewTasks));
        self.plan = plan;
        let Some(run) = run.map(|run| run.with_config(self.run.config())) else {
            return Ok(false);
        };
        let changed = run.graph() != self.run.graph();
        if changed {
            self.run = run;
            self.rewrite(context, "REBUILD")?;
        }
        Ok(changed)
    }

    fn next(&self, context: &Context) -> JsonDocument {
        let mut value = match OrchestrateFile::read(&self.document) {
            Ok(read) => read.fixed,
            Err(_) => self.document.value().clone(),
        };
        OrchestrateFile::write(
            &self.run,
            &mut value,
            context.now_for(FileKind::Orchestrate),
        );
        self.document.reconcile(&value)
    }

    fn rewrite(&mut self, context: &Context, trigger: &'static str) -> Result<(), Error> {
        let request = context.request();
        for _ in 0..TRIES_MAX {
            let next = self.next(context);
            let word = OrchestrateMachine::status(&self.run);
            let moved = Moved::new("run", trigger, Some(word.into()), word);
            let file = self.orchestration.file();
            let change = Change {
                transition: Some(file.transition(context, next.value(), &moved)),
                ..Change::to(next.text())
            };
            match self.held.replace(&request, &change)? {
                Written::Done { .. } => {
                    self.document = next;
                    self.loose = false;
                    return Ok(());
                }
                Written::Theirs => self.read_theirs()?,
            }
        }
        Err(Error::File(bowline_statefiles::Error::Contended {
            path: self.orchestration.file().path.clone(),
            tries: TRIES_MAX,
        }))
    }

    /// Somebody wrote the file around the lock. What they say is done counts; for the rest, what was committed does.
    fn adopt(&mut self, context: &Context) -> Result<(), Error> {
        self.read_theirs()?;
        let theirs =
            OrchestrateFile::read(&self.document).map(|read| read.state.ids(Status::Completed));
        let done: Vec<Id> = theirs
            .unwrap_or_default()
            .into_iter()
            .filter(|id| {
                let ours = self.run.node(id).map(|node| node.status);
                ours.is_some_and(|ours| ours != Status::Completed && ours != Status::InProgress)
            })
            .collect();
        let at = context.now_for(FileKind::Orchestrate);
        for id in done {
            let command = Command::ForceComplete {
                id,
                by: bowline_machines::Actor::Person,
                reason: None,
            };
            // Their edit stands as far as the rules allow it.
            let _ = OrchestrateMachine::advance(&mut self.run, command, at);
        }
        self.rewrite(context, "ADOPT")
    }

    fn read_theirs(&mut self) -> Result<(), Error> {
        let text = self.held.snapshot().text()?.map(str::to_owned);
        // One that somebody took away is written again, from what we know.
        let Some(text) = text else {
            return Ok(());
        };
        // What they wrote and nobody can read is kept beside the file; ours goes on from what it knew.
        if let Ok(document) = JsonDocument::parse(text.as_bytes())
            && OrchestrateFile::read(&document).is_ok()
        {
            self.document = document;
        }
        Ok(())
    }

    fn moved(&self, command: &Command, next: &Run) -> Moved {
        let task = |id: &Id, trigger| {
            let status = |run: &Run| run.node(id).map_or("", |node| node.status.name());
            Moved::new(
                "task",
                trigger,
                Some(status(&self.run).into()),
                status(next),
            )
        };
        match command {
            Command::Start { id } => task(id, "START").with(json!({ "task": &**id })),
            Command::StartAhead { id } => task(id, "START_AHEAD").with(json!({ "task": &**id })),
            Command::Recall { id } => task(id, "RECALL").with(json!({ "task": &**id })),
            Command::Complete { id } => task(id, "COMPLETE").with(json!({ "task": &**id })),
            Command::Fail { id, reason, retry } => {
                task(id, "FAIL").with(json!({ "task": &**id, "reason": reason, "retry": retry }))
            }
            Command::ForceComplete { id, reason, .. } => {
                task(id, "FORCE_COMPLETE").with(json!({ "task": &**id, "reason": reason }))
            }
            Command::Retry { id } => task(id, "RETRY").with(json!({ "task": &**id })),
            Command::Lost { gone } => match gone.first() {
                Some(id) => task(id, "LOST").with(json!({ "task": &**id, "tasks": gone })),
                None => Moved::new("run", "LOST", None, OrchestrateMachine::status(next)),
            },
            Command::PhaseFinish { phase, .. } => {
                let word = |run: &Run| match run.phase(*phase).is_some_and(|it| it.finished()) {
                    true => "finished",
                    false => "complete",
                };
                let from = Some(word(&self.run).into());
                let moved = Moved::new("phase", "PHASE_FINISH", from, word(next));
                moved.with(json!({ "phase": phase, "git": true }))
            }
            Command::SetWorktree { path } => {
                let word = OrchestrateMachine::status(next);
                let moved = Moved::new("run", "SET_WORKTREE", Some(word.into()), word);
                moved.with(json!({ "worktree": path }))
            }
        }
    }
}

fn raw(step: &RecordedStep) -> Box<serde_json::value::RawValue> {
    // A struct of texts and numbers always serialises.
    serde_json::value::to_raw_value(step)
        .unwrap_or_else(|_| serde_json::value::RawValue::NULL.to_owned())
}
