//! Runs agents on a state file: one loop for every kind of work whose file others may change
//! meanwhile.
//!
//! The kind is behind [`Work`]: it names the units that are ready, changes the state file, writes
//! prompts and judges results. The loop has the rest: attempts, their records, limits, waiting, and
//! recovery from whatever ended an earlier run.
//!
//! **After a crash.** The state file changes first, then the record, then the attempt. A record
//! whose try differs from that of the state file was settled there and is ignored. Otherwise its
//! attempt continues: a live agent's output is read again from the start, and an agent that is gone
//! counts as it ended.

mod flight;
mod work;

pub use work::{After, Brief, Ended, Job, Outcome, Over, Report, Rules, Screen, Told, Unit, Work};

use super::attempts::{Attempts, Happened, News};
use super::breakers::{Breakers, Starts};
use super::note::{Note, Stage};
use super::stopper::Stopper;
use super::tidy::tidy;
use super::why::Why;
use bowline_engine::agent_run_lock::AgentRunLock;
use bowline_engine::agents::shim_program;
use bowline_engine::statefiles::{ContentHash, write_atomically};
use bowline_engine::supervisor::WantedState;
use bowline_engine::words::not_run;
use bowline_engine::{Context, Error, ExitClass};
use bowline_formats::settings::BowlineSettings;
use bowline_words::message::Reason;
use flight::Flight;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// Longest time between two reads of the state file: others may have changed it.
const LOOK_MS: i64 = 2_000;
/// Attempts in a row that never started, before that counts as a failure.
const NOT_BEGUN_MAX: u32 = 3;
/// Time in which a second request to leave ends the agents too.
const LEAVE_MS: i64 = 1_000;
/// Letters of a unit's id in a file name.
const NAME_CHARS_MAX: usize = 40;

enum Heard<C> {
    News(News),
    Checked(String, Box<C>),
    Leave,
    Stop,
}

/// Everything a run is made of.
pub struct Parts<'s> {
    pub context: Context,
    /// Exclusive right to run on this state file.
    pub place: AgentRunLock,
    /// Identity of the run in the state file: records of another one are ignored.
    pub identity: String,
    /// Name of the run for people, used in attempts.
    pub name: String,
    pub settings: BowlineSettings,
    pub rules: Rules,
    /// Observer of what happens.
    pub screen: &'s mut dyn Screen,
}

/// Runs a state file's work until all is done, nothing can go on, or the run is asked to leave.
/// `begun` receives the handle for that.
pub fn run<W: Work>(
    parts: Parts<'_>,
    work: W,
    begun: impl FnOnce(Stopper),
) -> Result<Report, Error> {
    let (heard, events) = channel();
    let sink = heard.clone();
    let attempts = Attempts::drive(shim_program(), move |news| {
        let _ = sink.send(Heard::News(news));
    })
    .map_err(|error| Error::ProgramFailed {
        program: "run".into(),
        message: error.to_string(),
    })?;
    let stopped = heard.clone();
    begun(Stopper::new(move |ending| {
        let _ = stopped.send(if ending { Heard::Stop } else { Heard::Leave });
    }));
    let Parts {
        context,
        place,
        identity,
        name,
        settings,
        rules,
        screen,
    } = parts;
    let breakers = Breakers::of(&settings.limits);
    let notes = notes_of(&place);
    let earlier = notes.iter().flat_map(|(_, note)| note.starts.clone());
    let earlier: Vec<i64> = earlier.collect();
    tidy(place.folder(), &|attempt| {
        let open = notes
            .iter()
            .filter(|(_, note)| note.stage == Stage::Running);
        let mut open = open.map(|(name, note)| format!("{name}-{}", note.attempt));
        open.any(|id| id == attempt)
    });
    let key = ContentHash::of_bytes(format!("{} {identity}", place.folder().display()).as_bytes());
    let mut crew = Crew {
        began_ms: context.clock.now_ms(),
        began: Instant::now(),
        key: key.to_string().chars().take(10).collect(),
        starts: Starts::new(breakers.starts_per_hour, earlier),
        breakers,
        context,
        place,
        name,
        settings,
        rules,
        screen,
        work,
        attempts,
        heard,
        flights: BTreeMap::new(),
        resting: BTreeMap::new(),
        limits: BTreeMap::new(),
        unbegun: BTreeMap::new(),
        started: 0,
        failed: Vec::new(),
        leaving_ms: None,
        ending: false,
        stopped: None,
    };
    crew.work_off(&events)
}

struct Crew<'s, W: Work> {
    /// Clock when the run began, and a monotonic watch since then: a clock that is set or stands
    /// still must not prolong a wait.
    began_ms: i64,
    began: Instant,
    key: String,
    breakers: Breakers,
    context: Context,
    place: AgentRunLock,
    name: String,
    settings: BowlineSettings,
    rules: Rules,
    screen: &'s mut dyn Screen,
    work: W,
    attempts: Attempts,
    heard: Sender<Heard<W::Checked>>,
    flights: BTreeMap<String, Flight>,
    /// Units that wait before they are tried again.
    resting: BTreeMap<String, i64>,
    /// End of the rate limit of each client.
    limits: BTreeMap<String, i64>,
    /// Attempts in a row that never started, by unit.
    unbegun: BTreeMap<String, u32>,
    starts: Starts,
    started: u32,
    failed: Vec<(String, Why)>,
    /// End of the time in which a stop ends the agents too; set by the first request to leave.
    leaving_ms: Option<i64>,
    ending: bool,
    stopped: Option<Error>,
}

impl<W: Work> Crew<'_, W> {
    fn now_ms(&self) -> i64 {
        let passed = i64::try_from(self.began.elapsed().as_millis());
        self.began_ms.saturating_add(passed.unwrap_or(i64::MAX))
    }

    fn work_off(&mut self, events: &Receiver<Heard<W::Checked>>) -> Result<Report, Error> {
        // Output alone does not change the state file.
        let mut moved = true;
        let mut open = true;
        loop {
            if moved {
                open = self.advance()?;
            }
            if let Some(ended) = self.ended(open)? {
                return Ok(self.report(ended));
            }
            let now = self.now_ms();
            let wake = self
                .wakes_ms()
                .map_or(LOOK_MS, |at| (at - now).clamp(0, LOOK_MS));
            let event = events.recv_timeout(Duration::from_millis(wake.unsigned_abs()));
            moved = match event {
                Ok(Heard::News(news)) => {
                    let words = matches!(news.what, Happened::Output { .. });
                    self.news(news)?;
                    !words
                }
                Ok(Heard::Checked(id, found)) => {
                    self.checked(&id, *found)?;
                    true
                }
                Ok(Heard::Leave) => {
                    self.leave();
                    true
                }
                Ok(Heard::Stop) => {
                    self.leave();
                    self.ending = true;
                    for (id, flight) in &self.flights {
                        if flight.note.stage == Stage::Running {
                            self.attempts
                                .want(&self.attempt_id(id, &flight.note), WantedState::Ended);
                        }
                    }
                    true
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => true,
            };
            self.look();
        }
    }

    /// Starts nothing new. A second request within [`LEAVE_MS`] ends the agents too.
    fn leave(&mut self) {
        if self.leaving_ms.is_none() {
            self.leaving_ms = Some(self.now_ms() + LEAVE_MS);
            if self.flights.values().any(Flight::runs) {
                self.told(Told::Leaving);
            }
        }
    }

    fn ended(&mut self, open: bool) -> Result<Option<Ended>, Error> {
        if let Some(at) = self.leaving_ms {
            let busy = self.flights.values().any(Flight::runs);
            let waits = busy && (self.ending || self.now_ms() < at);
            return Ok((!waits).then_some(Ended::Left));
        }
        if !self.flights.is_empty() {
            return Ok(None);
        }
        if let Some(error) = self.stopped.take() {
            return Ok(Some(Ended::Stopped(Box::new(error))));
        }
        if open {
            return Ok(None);
        }
        Ok(Some(match self.work.over()? {
            Over::Done => Ended::Done,
            Over::Stopped(error) => Ended::Stopped(error),
        }))
    }

    fn report(&mut self, ended: Ended) -> Report {
        let (done, total) = self.work.progress();
        let running = self.flights.iter();
        let running = running.filter(|(_, flight)| flight.runs());
        Report {
            ended,
            done,
            total,
            failed: std::mem::take(&mut self.failed),
            going_on: running.map(|(id, _)| id.clone()).collect(),
        }
    }

    fn wakes_ms(&self) -> Option<i64> {
        let resting = self.resting.values().copied();
        let flights = self.flights.values().filter_map(|flight| {
            let running = flight.runs() && flight.ended.is_none();
            let left = flight.time_ms.map(|max| max - flight.note.round_ms);
            let worked = self
                .breakers
                .worked_ms
                .map(|max| max - flight.note.worked_ms);
            let deadlines = [
                Some(flight.heard_ms.saturating_add(self.breakers.silent_ms)),
                left.map(|left| flight.since_ms.saturating_add(left)),
                worked.map(|left| flight.since_ms.saturating_add(left)),
                flight.first_message.due_ms(),
            ];
            deadlines.into_iter().flatten().min().filter(|_| running)
        });
        let idle = self.leaving_ms.is_some() || self.stopped.is_some();
        let leaving = self.leaving_ms.filter(|_| !self.ending);
        resting
            .filter(|_| !idle)
            .chain(flights)
            .chain(leaving)
            .min()
    }

    /// Starts every unit that may be started. False if nothing is left that this run may still do.
    fn advance(&mut self) -> Result<bool, Error> {
        if self.leaving_ms.is_some() || self.stopped.is_some() {
            return Ok(false);
        }
        loop {
            let units = self.work.ready()?;
            let now = self.now_ms();
            let waits =
                |id: &String, at: &i64| *at > now && units.iter().any(|unit| unit.id == *id);
            self.resting.retain(|id, at| waits(id, at));
            let free = |unit: &&Unit| {
                !self.flights.contains_key(&unit.id) && !self.resting.contains_key(&unit.id)
            };
            let Some(unit) = units.iter().find(free).cloned() else {
                return Ok(!units.is_empty());
            };
            if self.flights.len() >= self.rules.parallel {
                return Ok(true);
            }
            self.take_up(unit)?;
            if self.stopped.is_some() {
                return Ok(false);
            }
        }
    }

    /// Continues a unit from its record, starts it, or lets it wait.
    fn take_up(&mut self, unit: Unit) -> Result<(), Error> {
        let now = self.now_ms();
        let mut note = self.note(&unit.id);
        if note.round != unit.round || !unit.begun {
            note.settle();
        }
        if unit.round == 0 && !unit.begun {
            // A fresh start: earlier failures are ignored.
            note.failures.clear();
        }
        match (note.stage, note.reply.take()) {
            (Stage::Running, _) => return self.attach(unit, note),
            (Stage::Checking, Some(reply)) => {
                self.told(Told::Found {
                    id: unit.id.clone(),
                });
                return self.land(&unit, note, Outcome::Ended(reply));
            }
            (Stage::Checking | Stage::Idle, _) => note.stage = Stage::Idle,
        }
        let client = self.work.client(&unit)?;
        if let Err(missing) = client.check_installed(&self.context, &self.settings) {
            self.stopped = Some(missing);
            return Ok(());
        }
        let limit = self.limits.get(&client.name).copied().unwrap_or(0);
        let start = self.starts.full_until(now, 0).unwrap_or(now);
        let wait = note.not_before_ms.max(limit).max(start);
        if wait > now {
            self.resting.insert(unit.id, wait);
            return Ok(());
        }
        if let Some(why) = self.breakers.tripped(&note.used, note.worked_ms) {
            let id = unit.id;
            self.stopped = Some(Error::Breaker { id, why });
            return Ok(());
        }
        match self.work.before(&unit) {
            Ok(None) => {}
            Ok(Some(job)) => return self.follow(&unit, note, After::Check(job)),
            Err(error) => return self.refused(error),
        }
        if let Some(max) = self.rules.starts_max.filter(|max| self.started >= *max) {
            self.stopped = Some(Error::StartsSpent { max });
            return Ok(());
        }
        let unit = match unit.begun {
            true => unit,
            false => match self.work.start(&unit) {
                Ok(unit) => unit,
                Err(error) => return self.refused(error),
            },
        };
        self.begin(unit, note, &client)
    }

    /// Ends the run: a refusal of the rules once the running agents have ended, any other error at
    /// once.
    fn refused(&mut self, error: Error) -> Result<(), Error> {
        match error.exit_class() {
            ExitClass::Refused | ExitClass::NotFound => {
                self.stopped.get_or_insert(error);
                Ok(())
            }
            _ => Err(error),
        }
    }

    fn news(&mut self, news: News) -> Result<(), Error> {
        let named = |(id, flight): (&String, &Flight)| {
            (self.attempt_id(id, &flight.note) == *news.id).then(|| id.clone())
        };
        let Some(id) = self.flights.iter().find_map(named) else {
            return Ok(());
        };
        let now = self.now_ms();
        let Some(flight) = self.flights.get_mut(&id) else {
            return Ok(());
        };
        match news.what {
            Happened::Running { .. } => {
                flight.heard_ms = now;
                self.unbegun.remove(&id);
                Ok(())
            }
            Happened::Output {
                offset,
                bytes,
                events,
                resume,
            } => {
                flight.heard_ms = now;
                let words = flight.hearing.hear(&bytes, &events);
                for event in &events {
                    super::hearing::reply(&self.attempts, &news.id, event);
                }
                let upto = offset + bytes.len() as u64;
                self.attempts.processed(&news.id, upto, resume);
                self.said(&id, words)
            }
            Happened::Exited { exit, error_tail } => {
                let words = flight.hearing.over();
                self.said(&id, words)?;
                self.exited(&id, exit.code, exit.asked, &error_tail)
            }
            Happened::Lost(_) => self.failed(&id, Reason::Lost.into()),
            Happened::NotBegun { message } => {
                let count = self.unbegun.entry(id.clone()).or_default();
                *count += 1;
                match message {
                    Some(said) => {
                        let why = not_run(&said);
                        self.failed(&id, Reason::NotRun { why }.into())
                    }
                    None if *count >= NOT_BEGUN_MAX => self.failed(&id, Reason::NotBegun.into()),
                    None => self.begins_anew(&id, 0),
                }
            }
            Happened::Now(_)
            | Happened::Blocked(_)
            | Happened::Silent { .. }
            | Happened::Refused { .. }
            | Happened::InputRead { .. }
            | Happened::Undelivered(_) => Ok(()),
        }
    }

    fn failed(&mut self, id: &str, why: Why) -> Result<(), Error> {
        let Some(flight) = self.flights.remove(id) else {
            return Ok(());
        };
        self.land(&flight.unit, flight.note, Outcome::Failed(why))
    }

    /// Judges the outcome of an attempt. Its result is stored first: neither a crash nor a state
    /// file that takes no change now loses it.
    fn land(&mut self, unit: &Unit, mut note: Note, outcome: Outcome) -> Result<(), Error> {
        match &outcome {
            Outcome::Ended(reply) => {
                note.stage = Stage::Checking;
                note.reply = Some(reply.clone());
            }
            Outcome::Failed(_) => note.stage = Stage::Idle,
        }
        self.remember(&unit.id, &note)?;
        let broke = match &outcome {
            Outcome::Failed(Why {
                reason: Reason::Breaker { spent },
                ..
            }) => Some(spent.clone()),
            Outcome::Failed(_) | Outcome::Ended(_) => None,
        };
        let after = self.work.ended(unit, &note, outcome);
        if let Some(why) = broke {
            let id = unit.id.clone();
            self.stopped.get_or_insert(Error::Breaker { id, why });
        }
        match after {
            Ok(after) => self.follow(unit, note, after),
            Err(error) => self.refused(error),
        }
    }

    fn checked(&mut self, id: &str, found: W::Checked) -> Result<(), Error> {
        let Some(flight) = self.flights.remove(id) else {
            return Ok(());
        };
        match self.work.checked(&flight.unit, &flight.note, found) {
            Ok(after) => self.follow(&flight.unit, flight.note, after),
            Err(error) => self.refused(error),
        }
    }

    fn follow(
        &mut self,
        unit: &Unit,
        mut note: Note,
        after: After<W::Checked>,
    ) -> Result<(), Error> {
        let id = unit.id.clone();
        match after {
            After::Done => {
                note.settle();
                note.failures.clear();
                self.remember(&id, &note)?;
                let (done, total) = self.work.progress();
                self.told(Told::Done { id, done, total });
            }
            After::Again { wait_ms, why } => {
                note.failed(&why.to_string());
                note.settle();
                note.not_before_ms = self.now_ms() + wait_ms;
                self.remember(&id, &note)?;
                let again = true;
                self.told(Told::Failed { id, why, again });
            }
            After::GaveUp { why } => {
                note.failed(&why.to_string());
                note.settle();
                self.remember(&id, &note)?;
                self.failed.push((id.clone(), why.clone()));
                let again = false;
                self.told(Told::Failed { id, why, again });
            }
            After::Check(job) => {
                self.told(Told::Checking { id: id.clone() });
                let (heard, name) = (self.heard.clone(), id.clone());
                let thread = std::thread::Builder::new().name("check".into());
                let begun = thread.spawn(move || {
                    let found = Box::new(job());
                    let _ = heard.send(Heard::Checked(name, found));
                });
                begun.map_err(|error| Error::ProgramFailed {
                    program: "run".into(),
                    message: error.to_string(),
                })?;
                let flight = Flight::checking(unit.clone(), note, self.now_ms());
                self.flights.insert(id, flight);
            }
        }
        Ok(())
    }

    fn told(&mut self, told: Told) {
        self.screen.told(&told);
    }

    fn attempt_id(&self, id: &str, note: &Note) -> String {
        format!("{}-{}-{}", self.key, file_name(id), note.attempt)
    }

    fn path(&self, folder: &str, name: &str) -> PathBuf {
        self.place.folder().join(folder).join(name)
    }

    fn note(&self, id: &str) -> Note {
        let name = format!("{}-{}.json", self.key, file_name(id));
        let text = std::fs::read(self.path("notes", &name)).unwrap_or_default();
        // A record that cannot be read counts as none: its work starts anew.
        serde_json::from_slice(&text).unwrap_or_default()
    }

    fn remember(&self, id: &str, note: &Note) -> Result<(), Error> {
        let name = format!("{}-{}.json", self.key, file_name(id));
        let text = serde_json::to_vec(note).unwrap_or_default();
        write_atomically(&*self.context.disk, &self.path("notes", &name), &text, None)
            .map_err(Error::File)
    }
}

/// Returns the records of earlier runs, each with the prefix of its attempt ids.
fn notes_of(place: &AgentRunLock) -> Vec<(String, Note)> {
    let files = std::fs::read_dir(place.folder().join("notes"));
    let files = files.into_iter().flatten().flatten();
    let read = |entry: std::fs::DirEntry| {
        let path = entry.path();
        let name = path.file_stem()?.to_str()?.to_owned();
        let note = serde_json::from_slice(&std::fs::read(&path).ok()?).ok()?;
        Some((name, note))
    };
    files.filter_map(read).collect()
}

/// Returns a name for files: the id if it can be one, else a part of it and its hash.
fn file_name(id: &str) -> String {
    let plain = |letter: &char| letter.is_ascii_alphanumeric() || "-_".contains(*letter);
    let name: String = id.chars().filter(plain).take(NAME_CHARS_MAX).collect();
    match name == id {
        true => name,
        false => {
            let hash = ContentHash::of_bytes(id.as_bytes()).to_string();
            format!("{name}.{}", hash.chars().take(8).collect::<String>())
        }
    }
}
