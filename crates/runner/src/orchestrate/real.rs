//! Runtime of a real run: implements the conductor's ports with the state file, git, and agents in
//! their shims.

use super::announcer::Announcer;
use super::hearing::Hearing;
use super::jobs::Jobs;
use super::ledger::Ledger;
use super::note::Note;
use super::ports::{Event, Job, Life, Ports, Shortage, Told, Trouble};
use super::prompt::{Facts, prompt};
use super::repo::{PhasePlace, Repo, TaskPlace};
use super::run::{Heard, Screen};
use super::space::shortage;
use crate::core::attempts::{Attempts, Begin, Happened, News};
use crate::core::clients::{Ask, Client};
use crate::core::hearing::reply;
use crate::core::tidy::{ATTEMPTS, PROMPTS};
use crate::core::why::Why;
use bowline_engine::formats::agents::AgentProtocol;
use bowline_engine::formats::orchestrate::RunMode;
use bowline_engine::formats::settings::BowlineSettings;
use bowline_engine::formats::time;
use bowline_engine::machines::orchestrate::{
    Command, Effect, NodeId, NodeStatus, OrchestrationState,
};
use bowline_engine::operations::orchestrate::PlanFile;
use bowline_engine::statefiles::write_atomically;
use bowline_engine::supervisor::{AttemptSpec, WantedState};
use bowline_engine::words::not_run;
use bowline_engine::{Context, Error};
use bowline_words::message::Reason;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

/// Time for which a check for free resources stays valid.
const ROOMY: Duration = Duration::from_millis(100);
/// Log of runs, relative to the project's root.
const LOG: &str = ".claude/orchestrate.log";
/// Size from which the log is cut to its end when a run starts.
const LOG_BYTES_MAX: u64 = 4 << 20;
const LOG_BYTES_KEPT: usize = 1 << 20;

/// An attempt whose events are received.
pub(super) struct Voice {
    task: NodeId,
    number: u32,
    hearing: Hearing,
}

pub(super) struct Real<'s> {
    pub(super) context: Context,
    pub(super) ledger: Ledger,
    pub(super) side: PathBuf,
    pub(super) repo: Option<Repo>,
    pub(super) jobs: Option<Jobs>,
    pub(super) attempts: Attempts,
    pub(super) heard: Sender<Heard>,
    pub(super) settings: BowlineSettings,
    /// The agent that the caller named for the whole run.
    pub(super) agent: Option<String>,
    pub(super) mode: RunMode,
    pub(super) promise: String,
    pub(super) key: String,
    pub(super) project: String,
    pub(super) screen: &'s mut dyn Screen,
    pub(super) announcer: Option<Announcer>,
    pub(super) voices: BTreeMap<Arc<str>, Voice>,
    /// Orders to execute after the next flush.
    pub(super) orders: Vec<Order>,
    /// Tasks to be ticked in the plan, the time of the last update and the wait before the next.
    pub(super) ticks: Vec<NodeId>,
    pub(super) ticked: Instant,
    pub(super) tick_after: Duration,
    /// Time of the last check that found enough resources.
    pub(super) roomy: Option<Instant>,
}

/// A call of [`Ports`], deferred until the decision behind it is durable.
pub(super) enum Order {
    Ask(Job),
    Begin(NodeId, Note),
    Attach(NodeId, Note),
    Want(NodeId, u32, WantedState),
    Repeat(NodeId, u32),
    HangUp(NodeId, u32),
    Tick(NodeId),
    /// With the run as it was at that time.
    Tell(Told, OrchestrationState),
}

impl Real<'_> {
    pub(super) fn attempt_id(&self, id: &NodeId, number: u32) -> String {
        format!("{}-{}-{number}", self.key, Repo::name(id))
    }

    pub(super) fn attempt_folder(&self, attempt: &str) -> PathBuf {
        self.side.join(ATTEMPTS).join(attempt)
    }

    fn room_of(&self, id: &NodeId) -> PathBuf {
        match &self.repo {
            Some(repo) => repo.workplace_of(id),
            None => self.ledger.owned.orchestration().root().to_owned(),
        }
    }

    pub(super) fn task_place(&self, id: &NodeId) -> TaskPlace {
        let plan = self.ledger.owned.plan();
        let task = plan.and_then(|plan| plan.file.task(id));
        let phase = self.run().graph().phase_of(id).unwrap_or(0);
        TaskPlace {
            id: id.to_string(),
            title: task.map(|task| task.title.clone()).unwrap_or_default(),
            phase: self.phase_place(phase),
        }
    }

    pub(super) fn phase_place(&self, number: u32) -> PhasePlace {
        let owned = &self.ledger.owned;
        let root = owned.orchestration().root();
        phase_place(root, owned.plan(), self.repo.as_ref(), number)
    }

    pub(super) fn client(&self, id: &NodeId) -> Result<Client, Why> {
        let client = Client::chosen(&self.settings, self.agent.as_deref(), self.assignee(id));
        client.map_err(|name| Reason::NoAgent { name }.into())
    }

    /// Returns the assignee of a task. It may name a role and no client: then the prompt says so.
    fn assignee(&self, id: &str) -> Option<&str> {
        let task = self.ledger.owned.plan().and_then(|plan| plan.file.task(id));
        task.and_then(|task| task.assignee.as_deref())
    }

    /// Checks that every agent is installed that an open task would be started with.
    pub(super) fn check_agents(&self, last_phase: Option<u32>) -> Result<(), Error> {
        let run = self.run();
        let wanted =
            |id: &NodeId| last_phase.is_none_or(|last| run.graph().phase_of(id) <= Some(last));
        let open = run
            .nodes()
            .filter(|(id, node)| node.status != NodeStatus::Completed && wanted(id));
        let assignees: BTreeSet<Option<&str>> = open.map(|(id, _)| self.assignee(id)).collect();
        for assignee in assignees {
            let client = Client::chosen(&self.settings, self.agent.as_deref(), assignee);
            let client = client.map_err(|name| Error::NoAgent { name })?;
            client.check_installed(&self.context, &self.settings)?;
        }
        Ok(())
    }

    /// Converts an attempt's event for the conductor; returns none if it has nothing to decide.
    pub(super) fn news(&mut self, news: News) -> Option<Event> {
        if let Some(repo) = &self.repo {
            match &news.what {
                // A git of the agent may have been killed, with it or before.
                Happened::Exited { .. } | Happened::Lost(_) => repo.records().cut_off(&news.id),
                _ => {}
            }
        }
        let voice = self.voices.get_mut(&news.id)?;
        let (id, number) = (voice.task.clone(), voice.number);
        let life = match news.what {
            Happened::Running { .. } => Life::Running,
            Happened::Output {
                offset,
                bytes,
                events,
                resume,
            } => {
                let words = voice.hearing.hear(&bytes, &events);
                for event in &events {
                    reply(&self.attempts, &news.id, event);
                }
                let upto = offset + bytes.len() as u64;
                self.attempts.processed(&news.id, upto, resume);
                Life::Said(words)
            }
            Happened::Exited { exit, error_tail } => {
                let words = voice.hearing.over();
                let tail = match error_tail.trim() {
                    "" => voice.hearing.tail().to_owned(),
                    tail => tail.to_owned(),
                };
                self.voices.remove(&news.id);
                let _ = self.heard.send(Heard::Event(Event::Attempt {
                    id: id.clone(),
                    number,
                    life: Life::Exited {
                        code: exit.code,
                        asked: exit.asked,
                        tail,
                    },
                }));
                Life::Said(words)
            }
            Happened::Lost(_) => {
                self.voices.remove(&news.id);
                Life::Lost
            }
            Happened::NotBegun { message } => {
                self.voices.remove(&news.id);
                Life::NotBegun {
                    why: message.map(|said| {
                        let why = not_run(&said);
                        Reason::NotRun { why }.into()
                    }),
                }
            }
            Happened::Now(_)
            | Happened::Blocked(_)
            | Happened::Silent { .. }
            | Happened::Refused { .. }
            | Happened::InputRead { .. }
            | Happened::Undelivered(_) => return None,
        };
        Some(Event::Attempt { id, number, life })
    }

    pub(super) fn log(&self, line: &str) {
        let path = self.ledger.owned.orchestration().root().join(LOG);
        let at = time::format_utc(self.context.now());
        let at = at.trim_end_matches('Z');
        let file = OpenOptions::new().append(true).create(true).open(path);
        // A log that cannot be written must not stop a run.
        let line = format!("[{at}] [{}] {line}\n", self.project);
        let _ = file.and_then(|mut file| file.write_all(line.as_bytes()));
    }

    pub(super) fn trim_log(&self) {
        let path = self.ledger.owned.orchestration().root().join(LOG);
        let long = path.metadata().is_ok_and(|it| it.len() > LOG_BYTES_MAX);
        if let (true, Ok(bytes)) = (long, std::fs::read(&path)) {
            let from = bytes.len().saturating_sub(LOG_BYTES_KEPT);
            let line = bytes[from..].iter().position(|byte| *byte == b'\n');
            let from = from + line.map_or(0, |at| at + 1);
            let _ = write_atomically(&*self.context.disk, &path, &bytes[from..], None);
        }
    }

    pub(super) fn begin_attempt(&mut self, id: &NodeId, note: &Note) -> Result<(), Why> {
        let client = self.client(id)?;
        let room = self.room_of(id);
        let attempt = self.attempt_id(id, note.attempt);
        let plan = self.ledger.owned.plan();
        let text = prompt(&Facts {
            project: &self.project,
            id,
            plan: plan.map(|plan| (&plan.file, plan.text.as_str())),
            run: self.run(),
            room: &room,
            alone: self.repo.is_some(),
            mode: self.mode,
            promise: &self.promise,
            note,
        });
        let prompt_file = self.side.join(PROMPTS).join(format!("{attempt}.md"));
        // The agent dies with the machine, so the prompt needs no flush, which would delay the
        // whole run.
        std::fs::create_dir_all(self.side.join(PROMPTS))
            .and_then(|()| std::fs::write(&prompt_file, &text))
            .map_err(|error| {
                let program = prompt_file.display().to_string();
                let message = error.to_string();
                Why::from(Error::ProgramFailed { program, message })
            })?;
        let phase = self.run().graph().phase_of(id).unwrap_or(0);
        let call = client.call(&Ask {
            prompt: &text,
            prompt_file: &prompt_file,
            workspace: &room,
            task: id,
            phase,
            session: note.session.as_deref(),
        });
        let mut environment =
            client.environment(self.context.variables.text_pairs(), &self.settings);
        for (name, value) in [
            ("BOWLINE_TASK_ID", id.to_string()),
            ("BOWLINE_PHASE", phase.to_string()),
            ("BOWLINE_TRY", note.attempt.to_string()),
            (
                "BOWLINE_PROMPT_FILE",
                prompt_file.to_string_lossy().into_owned(),
            ),
        ] {
            environment.insert(name.to_owned(), value);
        }
        if let Some(repo) = &self.repo {
            let own = repo.variables(&repo.room_of(id)).into_iter();
            environment.extend(own.map(|(name, value)| (name.to_owned(), value)));
        }
        let mut spec = AttemptSpec::new(&attempt, call.command, room);
        spec.name = format!("{} {id}", self.project);
        spec.fence = self.ledger.owned.sequence();
        if let Some(repo) = &self.repo {
            repo.records().add_record(&attempt);
        }
        self.listen(id, note, &client);
        self.attempts.begin(Begin {
            folder: self.attempt_folder(&attempt),
            spec,
            environment,
            voice: call.voice,
            first: call.first,
            session: call.session,
            close_input: call.close_input,
        });
        Ok(())
    }

    pub(super) fn listen(&mut self, id: &NodeId, note: &Note, client: &Client) {
        let voice = Voice {
            task: id.clone(),
            number: note.attempt,
            hearing: Hearing::new(id, &self.promise, client.protocol),
        };
        let attempt = self.attempt_id(id, note.attempt);
        self.voices.insert(attempt.into(), voice);
    }
}

/// Returns the branch and folder of a phase: as first recorded, else named after the plan. Phase 0
/// is the target branch itself, and so is every phase if work lands by pull request.
pub(super) fn phase_place(
    root: &Path,
    plan: Option<&PlanFile>,
    repo: Option<&Repo>,
    number: u32,
) -> PhasePlace {
    let target = repo.map_or("", Repo::target).to_owned();
    if number == 0 || repo.is_some_and(Repo::proposes) {
        return PhasePlace {
            number,
            branch: target,
            folder: None,
        };
    }
    let file = plan.map(|plan| &plan.file);
    let slug = file.map_or_else(|| format!("phase-{number}"), |file| file.phase_slug(number));
    let heading = file.and_then(|file| file.phases.iter().find(|it| it.number == number));
    let told = heading.and_then(|heading| heading.worktree.as_deref());
    let told = told.map(Path::new).filter(|path| {
        let inside = |part| matches!(part, std::path::Component::Normal(_));
        path.components().all(inside)
    });
    let folder = told.map_or_else(|| Path::new("worktree").join(&slug), Path::to_owned);
    let name = folder.file_name().map(|name| name.to_string_lossy());
    let branch = name.filter(|name| plain(name));
    let place = PhasePlace {
        number,
        branch: branch.map_or(slug, |name| name.into_owned()),
        folder: Some(root.join(folder)),
    };
    match repo {
        Some(repo) => repo.settle(place),
        None => place,
    }
}

/// Returns the folder of a phase as the state file names it.
pub(super) fn worktree_of(
    root: &Path,
    plan: Option<&PlanFile>,
    repo: Option<&Repo>,
    phase: u32,
) -> Option<Arc<str>> {
    repo?;
    let folder = phase_place(root, plan, repo, phase).folder?;
    let path = folder.strip_prefix(root).unwrap_or(&folder);
    Some(path.to_string_lossy().into())
}

/// True if a name can be both a branch and a folder.
fn plain(name: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let ends = |end| name.starts_with(end) || name.ends_with(end);
    !name.is_empty()
        && name.bytes().all(letter)
        && !ends('.')
        && !name.starts_with('-')
        && !name.contains("..")
        && !name.ends_with(".lock")
}

impl Ports for Real<'_> {
    fn now_ms(&self) -> i64 {
        self.context.clock.now_ms()
    }

    fn run(&self) -> &OrchestrationState {
        self.ledger.owned.run()
    }

    fn commit(&mut self, command: Command) -> Result<Vec<Effect>, Trouble> {
        // A task that a person completes has no landing that would tick it.
        let forced = matches!(command, Command::ForceComplete { .. });
        let effects = self.ledger.commit(&self.context, command)?;
        for effect in &effects {
            if let Effect::TickTask(id) = effect {
                match forced {
                    true => self.ticks.push(id.clone()),
                    false => self.orders.push(Order::Tick(id.clone())),
                }
            }
        }
        Ok(effects)
    }

    fn shortage(&mut self) -> Option<Shortage> {
        if self.roomy.is_some_and(|at| at.elapsed() < ROOMY) {
            return None;
        }
        let root = self.ledger.owned.orchestration().root();
        let short = shortage(&[root, &self.side], self.settings.orchestrate.free);
        self.roomy = short.is_none().then(Instant::now);
        short
    }

    fn touches(&self, id: &NodeId) -> Vec<String> {
        let task = self.ledger.owned.plan().and_then(|plan| plan.file.task(id));
        task.map(|task| task.touches.clone()).unwrap_or_default()
    }

    fn note(&mut self, id: &NodeId) -> Note {
        let note = self.ledger.note(id);
        self.screen.used(id, note.used);
        note
    }

    fn starts(&self) -> Vec<i64> {
        self.ledger.starts()
    }

    fn remember(&mut self, id: &NodeId, note: &Note) -> Result<(), Trouble> {
        self.screen.used(id, note.used);
        self.ledger.remember(id, note);
        Ok(())
    }

    fn ask(&mut self, job: Job) {
        self.orders.push(Order::Ask(job));
    }

    fn begin(&mut self, id: &NodeId, note: &Note) {
        self.orders.push(Order::Begin(id.clone(), note.clone()));
    }

    fn attach(&mut self, id: &NodeId, note: &Note) {
        self.orders.push(Order::Attach(id.clone(), note.clone()));
    }

    fn want(&mut self, id: &NodeId, number: u32, want: WantedState) {
        self.orders.push(Order::Want(id.clone(), number, want));
    }

    fn repeat(&mut self, id: &NodeId, number: u32) -> bool {
        let hears = self.client(id).is_ok_and(|client| client.talks());
        if hears {
            self.orders.push(Order::Repeat(id.clone(), number));
        }
        hears
    }

    fn hang_up(&mut self, id: &NodeId, number: u32) {
        self.orders.push(Order::HangUp(id.clone(), number));
    }

    fn worktree_of(&self, phase: u32) -> Option<Arc<str>> {
        let owned = &self.ledger.owned;
        let root = owned.orchestration().root();
        worktree_of(root, owned.plan(), self.repo.as_ref(), phase)
    }

    fn agent_of(&self, id: &NodeId) -> String {
        self.client(id)
            .map(|client| client.name)
            .unwrap_or_default()
    }

    fn speaks_protocol(&self, id: &NodeId) -> bool {
        let client = self.client(id);
        client.is_ok_and(|client| client.protocol != AgentProtocol::Markers)
    }

    fn tell(&mut self, told: Told) {
        let run = self.run().clone();
        self.orders.push(Order::Tell(told, run));
    }
}
