//! The ports of a run in the world: the state file, git, and agents through their shims.

use super::announcer::Announcer;
use super::hearing::Hearing;
use super::jobs::{Jobs, Work, without_git};
use super::note::Note;
use super::ports::{Event, Job, Life, Ports, Told, Trouble};
use super::prompt::{Facts, prompt};
use super::repo::{PhasePlace, Repo, TaskPlace};
use super::run::{Heard, Screen};
use crate::core::attempts::{Attempts, Begin, Happened, Known, News, raw};
use crate::core::clients::{Ask, Client};
use bowline_engine::formats::agents::{
    Delivery, Event as Said, ProtocolError, Resume, ToAgent, What, Writer,
};
use bowline_engine::formats::orchestrate::Mode;
use bowline_engine::formats::run_settings::Settings;
use bowline_engine::formats::time;
use bowline_engine::machines::orchestrate::{Command, Effect, Id, Run};
use bowline_engine::operations::orchestrate::{Announced, Owned};
use bowline_engine::statefiles::write_whole;
use bowline_engine::supervisor::{Spec, Want};
use bowline_engine::{Context, Error};
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Sender;

/// The client of tasks for which nobody names one.
const CLIENT: &str = "claude";
/// The log of runs, below the root.
const LOG: &str = ".claude/orchestrate.log";
/// A longer one is cut to its end when a run begins.
const LOG_BYTES_MAX: u64 = 4 << 20;
const LOG_BYTES_KEPT: usize = 1 << 20;

/// An attempt that is under way.
struct Voice {
    task: Id,
    number: u32,
    hearing: Hearing,
}

pub(super) struct Real<'s> {
    pub(super) context: Context,
    pub(super) owned: Owned,
    pub(super) side: PathBuf,
    pub(super) repo: Option<Repo>,
    pub(super) jobs: Option<Jobs>,
    pub(super) attempts: Attempts,
    pub(super) heard: Sender<Heard>,
    pub(super) settings: Settings,
    /// The agent that somebody named for the whole run.
    pub(super) agent: Option<String>,
    pub(super) mode: Mode,
    pub(super) promise: String,
    pub(super) key: String,
    pub(super) project: String,
    pub(super) screen: &'s mut dyn Screen,
    pub(super) announcer: Option<Announcer>,
    voices: BTreeMap<Arc<str>, Voice>,
}

/// What a [`Real`] is made of.
pub(super) struct Parts<'s> {
    pub(super) context: Context,
    pub(super) owned: Owned,
    pub(super) side: PathBuf,
    pub(super) repo: Option<Repo>,
    pub(super) jobs: Option<Jobs>,
    pub(super) attempts: Attempts,
    pub(super) heard: Sender<Heard>,
    pub(super) settings: Settings,
    pub(super) agent: Option<String>,
    pub(super) mode: Mode,
    pub(super) promise: String,
    pub(super) key: String,
    pub(super) screen: &'s mut dyn Screen,
    pub(super) announcer: Option<Announcer>,
}

impl<'s> Real<'s> {
    pub(super) fn new(parts: Parts<'s>) -> Real<'s> {
        let project = parts.owned.meta().project;
        let real = Real {
            context: parts.context,
            owned: parts.owned,
            side: parts.side,
            repo: parts.repo,
            jobs: parts.jobs,
            attempts: parts.attempts,
            heard: parts.heard,
            settings: parts.settings,
            agent: parts.agent,
            mode: parts.mode,
            promise: parts.promise,
            key: parts.key,
            project,
            screen: parts.screen,
            announcer: parts.announcer,
            voices: BTreeMap::new(),
        };
        real.trim_log();
        real
    }

    fn note_path(&self, id: &Id) -> PathBuf {
        let name = format!("{}.json", Repo::name(id));
        self.side.join("tasks").join(name)
    }

    fn attempt_id(&self, id: &Id, number: u32) -> String {
        format!("{}-{}-{number}", self.key, Repo::name(id))
    }

    fn attempt_folder(&self, attempt: &str) -> PathBuf {
        self.side.join("attempts").join(attempt)
    }

    fn room_of(&self, id: &Id) -> PathBuf {
        match &self.repo {
            Some(repo) => repo.workplace_of(id),
            None => self.owned.orchestration().root().to_owned(),
        }
    }

    pub(super) fn task_place(&self, id: &Id) -> TaskPlace {
        let plan = self.owned.plan();
        let task = plan.and_then(|plan| plan.file.task(id));
        let phase = self.run().graph().phase_of(id).unwrap_or(0);
        TaskPlace {
            id: id.to_string(),
            title: task.map(|task| task.title.clone()).unwrap_or_default(),
            phase: self.phase_place(phase),
        }
    }

    /// Where a phase is worked on: as its plan says, else by its number and title. Phase 0 is the main line itself.
    fn phase_place(&self, number: u32) -> PhasePlace {
        let root = self.owned.orchestration().root();
        let target = self.repo.as_ref().map_or("", Repo::target).to_owned();
        if number == 0 {
            return PhasePlace {
                number,
                branch: target,
                folder: None,
            };
        }
        let file = self.owned.plan().map(|plan| &plan.file);
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
        PhasePlace {
            number,
            branch: branch.map_or(slug, |name| name.into_owned()),
            folder: Some(root.join(folder)),
        }
    }

    pub(super) fn client(&self, id: &Id) -> Result<Client, String> {
        let assignee = || {
            let task = self.owned.plan().and_then(|plan| plan.file.task(id));
            task.and_then(|task| task.assignee.clone())
        };
        let me = std::env::current_exe().unwrap_or_default();
        let named = |name: &str| Client::named(name, &self.settings, &me);
        if let Some(name) = &self.agent {
            return named(name).ok_or_else(|| format!("there is no agent '{name}'"));
        }
        // An assignee may be a role and no client: then the prompt says so.
        if let Some(client) = assignee().and_then(|name| named(&name)) {
            return Ok(client);
        }
        let name = self.settings.default_agent.as_deref().unwrap_or(CLIENT);
        named(name).ok_or_else(|| format!("there is no agent '{name}'"))
    }

    /// News of an attempt as the conductor wants them, where they say something to it.
    pub(super) fn news(&mut self, news: News) -> Option<Event> {
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
                Life::NotBegun { why: message }
            }
            Happened::Now(_)
            | Happened::Blocked(_)
            | Happened::Silent { .. }
            | Happened::Refused { .. }
            | Happened::Undelivered(_) => return None,
        };
        Some(Event::Attempt { id, number, life })
    }

    pub(super) fn log(&self, line: &str) {
        let path = self.owned.orchestration().root().join(LOG);
        let at = time::utc(self.context.now());
        let at = at.trim_end_matches('Z');
        let file = OpenOptions::new().append(true).create(true).open(path);
        // A log that cannot be written must not stop a run.
        let _ = file.and_then(|mut file| writeln!(file, "[{at}] [{}] {line}", self.project));
    }

    fn trim_log(&self) {
        let path = self.owned.orchestration().root().join(LOG);
        let long = path.metadata().is_ok_and(|it| it.len() > LOG_BYTES_MAX);
        if let (true, Ok(bytes)) = (long, std::fs::read(&path)) {
            let from = bytes.len().saturating_sub(LOG_BYTES_KEPT);
            let line = bytes[from..].iter().position(|byte| *byte == b'\n');
            let from = from + line.map_or(0, |at| at + 1);
            let _ = write_whole(&*self.context.disk, &path, &bytes[from..], None);
        }
    }

    fn begin_attempt(&mut self, id: &Id, note: &Note) -> Result<(), String> {
        let client = self.client(id)?;
        let room = self.room_of(id);
        let attempt = self.attempt_id(id, note.attempt);
        let plan = self.owned.plan();
        let text = prompt(&Facts {
            project: &self.project,
            id,
            plan: plan.map(|plan| (&plan.file, plan.text.as_str())),
            room: &room,
            mode: self.mode,
            promise: &self.promise,
            note,
        });
        let prompt_file = self.side.join("prompts").join(format!("{attempt}.md"));
        write_whole(&*self.context.disk, &prompt_file, text.as_bytes(), None)
            .map_err(|error| error.to_string())?;
        let phase = self.run().graph().phase_of(id).unwrap_or(0);
        let call = client.call(&Ask {
            prompt: &text,
            prompt_file: &prompt_file,
            workspace: &room,
            task: id,
            phase,
            session: note.session.as_deref(),
        });
        let mut environment: BTreeMap<String, String> = self
            .context
            .variables
            .texts()
            .filter(|(name, _)| client.gets(name, &self.settings))
            .collect();
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
        let mut spec = Spec::new(&attempt, call.command, room);
        spec.name = format!("{} {id}", self.project);
        spec.fence = self.owned.sequence();
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

    fn listen(&mut self, id: &Id, note: &Note, client: &Client) {
        let voice = Voice {
            task: id.clone(),
            number: note.attempt,
            hearing: Hearing::new(id, &self.promise, client.protocol),
        };
        let attempt = self.attempt_id(id, note.attempt);
        self.voices.insert(attempt.into(), voice);
    }

    fn not_begun(&self, id: &Id, number: u32, why: Option<String>) {
        let _ = self.heard.send(Heard::Event(Event::Attempt {
            id: id.clone(),
            number,
            life: Life::NotBegun { why },
        }));
    }
}

/// A name that can be a branch and a folder.
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

/// Answers what a client asks while nobody is there: tools may be used in its own worktree, and questions it decides itself.
fn reply(attempts: &Attempts, attempt: &str, event: &Said<'static>) {
    let say = |message: Box<dyn FnMut(&mut Writer) -> Delivery + Send>| {
        attempts.say(attempt, None, false, message);
    };
    match &event.what {
        What::WantsPermission { request, .. } => {
            let request = request.clone();
            say(Box::new(move |writer| {
                writer.write(ToAgent::Permit { request: &request })
            }));
        }
        What::Asks {
            request: Some(request),
            ..
        } => {
            let request = request.clone();
            say(Box::new(move |writer| {
                writer.write(ToAgent::Deny {
                    request: &request,
                    reason: "nobody is here to answer; decide yourself and say what you assumed",
                })
            }));
        }
        What::ProtocolError(ProtocolError::Unsupported { request, .. }) => {
            let request = request.clone();
            say(Box::new(move |writer| {
                writer.write(ToAgent::Unsupported { request: &request })
            }));
        }
        _ => {}
    }
}

impl Ports for Real<'_> {
    fn now_ms(&self) -> i64 {
        self.context.clock.now_ms()
    }

    fn run(&self) -> &Run {
        self.owned.run()
    }

    fn commit(&mut self, command: Command) -> Result<Vec<Effect>, Trouble> {
        let effects = self.owned.commit(&self.context, command)?;
        if let (Some(announcer), Some((seq, news))) =
            (&mut self.announcer, self.owned.news(&effects))
        {
            let say = |news: &Announced, project: &str| self.screen.announce(news, project);
            announcer.tell(Some(seq), self.context.now(), &news, &say);
        }
        for effect in &effects {
            if let Effect::TickTask(id) = effect {
                let landed = self.repo.as_ref().is_some_and(Repo::ticks);
                // The landing brought it, unless the plan is not a part of what lands.
                if !landed && let Err(error) = self.owned.tick(&self.context, id) {
                    self.log(&format!("NOT_TICKED:{id}:{error}"));
                }
            }
        }
        Ok(effects)
    }

    fn waits_for_section(&self, id: &Id) -> bool {
        !self.owned.waits_for(id).is_empty()
    }

    fn note(&mut self, id: &Id) -> Note {
        let text = std::fs::read(self.note_path(id)).unwrap_or_default();
        // One that cannot be read is as none: its task is begun anew.
        let note: Note = serde_json::from_slice(&text).unwrap_or_default();
        self.screen.used(id, note.used);
        note
    }

    fn remember(&mut self, id: &Id, note: &Note) -> Result<(), Trouble> {
        self.screen.used(id, note.used);
        let text = serde_json::to_vec(note).unwrap_or_default();
        write_whole(&*self.context.disk, &self.note_path(id), &text, None).map_err(Error::File)
    }

    fn ask(&mut self, job: Job) {
        let Some(jobs) = &self.jobs else {
            let root = self.owned.orchestration().root().to_owned();
            return without_git(job, root, &self.settings.orchestrate, &self.heard);
        };
        jobs.ask(match &job {
            Job::Room { id, merge } => Work::Room {
                task: self.task_place(id),
                merge: *merge,
            },
            Job::Land { id } => Work::Land {
                task: self.task_place(id),
            },
            Job::Clean { id } => Work::Clean {
                task: self.task_place(id),
            },
            Job::FinishPhase { phase } => {
                let file = self.owned.plan().map(|plan| &plan.file);
                let heading =
                    file.and_then(|file| file.phases.iter().find(|it| it.number == *phase));
                Work::Finish {
                    phase: self.phase_place(*phase),
                    title: heading.map(|it| it.title.clone()).unwrap_or_default(),
                }
            }
        });
    }

    fn begin(&mut self, id: &Id, note: &Note) {
        if let Err(why) = self.begin_attempt(id, note) {
            self.not_begun(id, note.attempt, Some(why));
        }
    }

    fn attach(&mut self, id: &Id, note: &Note) {
        let attempt = self.attempt_id(id, note.attempt);
        let folder = self.attempt_folder(&attempt);
        let Ok(client) = self.client(id) else {
            return self.not_begun(id, note.attempt, None);
        };
        if !folder.join("spec.json").is_file() {
            return self.not_begun(id, note.attempt, None);
        }
        self.listen(id, note, &client);
        self.tell(Told::Found { id: id.clone() });
        let known = Known {
            folder,
            fence: self.owned.sequence(),
            voice: crate::core::attempts::Voice {
                protocol: client.protocol,
                nonce: None,
            },
            resume: Resume::default(),
            session: note.session.clone(),
        };
        self.attempts.attach(&attempt, known);
    }

    fn want(&mut self, id: &Id, number: u32, want: Want) {
        self.attempts.want(&self.attempt_id(id, number), want);
    }

    fn repeat(&mut self, id: &Id, number: u32) -> bool {
        let Ok(client) = self.client(id) else {
            return false;
        };
        let attempt = self.attempt_id(id, number);
        let path = self.side.join("prompts").join(format!("{attempt}.md"));
        let Ok(text) = std::fs::read_to_string(path) else {
            return false;
        };
        if !client.talks() {
            return false;
        }
        let message = crate::core::attempts::prompt(text);
        self.attempts.say(&attempt, None, false, message);
        true
    }

    fn hang_up(&mut self, id: &Id, number: u32) {
        if self.client(id).is_ok_and(|client| client.talks()) {
            let attempt = self.attempt_id(id, number);
            self.attempts.say(&attempt, None, true, raw(String::new()));
        }
    }

    fn worktree_of(&self, phase: u32) -> Option<Arc<str>> {
        self.repo.as_ref()?;
        let root = self.owned.orchestration().root();
        let folder = self.phase_place(phase).folder?;
        let path = folder.strip_prefix(root).unwrap_or(&folder);
        Some(path.to_string_lossy().into())
    }

    fn agent_of(&self, id: &Id) -> String {
        self.client(id)
            .map(|client| client.name)
            .unwrap_or_default()
    }

    fn tell(&mut self, told: Told) {
        let line = match &told {
            Told::Begun { id, attempt: 1 } => format!("EXECUTE:{id}"),
            Told::Begun { id, attempt } => format!("EXECUTE:{id}:attempt={attempt}"),
            Told::Found { id } => format!("ATTACH:{id}"),
            Told::Done { id } => format!("DONE:{id}"),
            Told::Failed { id, error, again } => match again {
                true => format!("RETRY:{id}:{error}"),
                false => format!("FAIL:{id}:{error}"),
            },
            Told::Parked { id, seconds } => format!("PARKED:{id}:{seconds}s"),
            Told::Waits { why } => format!("WAIT:{why}"),
            Told::PhaseDone { phase } => format!("PHASE_DONE:{phase}"),
            Told::PhaseNotLanded { phase, why } => format!("PHASE_NOT_LANDED:{phase}:{why}"),
        };
        self.log(&line.replace('\n', " "));
        self.screen.told(&told, self.owned.run());
    }
}
