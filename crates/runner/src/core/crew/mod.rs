//! Agents that work a state file off: one loop for every kind whose file others may change while it runs.
//!
//! The kind is behind [`Work`]: it says what can be done now, makes the moves in the state file, writes prompts, and judges what
//! came of an attempt. Everything else is here: attempts, what is remembered of them, limits, waiting, and going on after
//! anything that may have ended an earlier run.
//!
//! **After a crash.** The move of the state file comes first, then the note, then the attempt. A note whose try is not the one of
//! the state file was settled there and counts no more; one that is, is gone on with: a live agent is heard again from the
//! beginning of its output, and one that is gone counts as it ended.

mod flight;
mod work;

pub use work::{After, Brief, Ended, Job, Outcome, Over, Report, Rules, Screen, Told, Unit, Work};

use super::attempts::{Attempts, Happened, News};
use super::breakers::{Breakers, Starts};
use super::note::{Note, Stage};
use super::stopper::Stopper;
use super::tidy::tidy;
use super::why::Why;
use bowline_engine::agents::shim;
use bowline_engine::run_place::RunPlace;
use bowline_engine::statefiles::{ContentHash, write_whole};
use bowline_engine::supervisor::Want;
use bowline_engine::words::not_run;
use bowline_engine::{Context, Error, ExitClass};
use bowline_formats::settings::Settings;
use bowline_words::message::Reason;
use flight::Flight;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// Without any reason, the state file is looked at this often: others may have changed it.
const LOOK_MS: i64 = 2_000;
/// Attempts in a row that never began, before that counts as a failure.
const NOT_BEGUN_MAX: u32 = 3;
/// Whoever wants the agents ended too asks again within this time.
const LEAVE_MS: i64 = 1_000;
/// Letters of a name in a file name.
const NAME_CHARS_MAX: usize = 40;

enum Heard<C> {
    News(News),
    Checked(String, Box<C>),
    Leave,
    Stop,
}

/// What a run is made of.
pub struct Parts<'s> {
    /// The surroundings.
    pub context: Context,
    /// The right to run.
    pub place: RunPlace,
    /// Which run of the state file this is: what is remembered of another one does not count.
    pub identity: String,
    /// What the run is called.
    pub name: String,
    /// The settings of the project.
    pub settings: Settings,
    /// How it goes.
    pub rules: Rules,
    /// Who is shown what happens.
    pub screen: &'s mut dyn Screen,
}

/// Works a state file off, until everything is done, nothing can go on, or somebody wants it to leave. `begun` gets what others
/// need for that.
pub fn run<W: Work>(
    parts: Parts<'_>,
    work: W,
    begun: impl FnOnce(Stopper),
) -> Result<Report, Error> {
    let (heard, events) = channel();
    let sink = heard.clone();
    let attempts = Attempts::drive(shim(), move |news| {
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
    let key = ContentHash::of(format!("{} {identity}", place.folder().display()).as_bytes());
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
    /// The clock when the run began, and a watch since then: a clock that stands still or is set must not hold a wait up.
    began_ms: i64,
    began: Instant,
    key: String,
    breakers: Breakers,
    context: Context,
    place: RunPlace,
    name: String,
    settings: Settings,
    rules: Rules,
    screen: &'s mut dyn Screen,
    work: W,
    attempts: Attempts,
    heard: Sender<Heard<W::Checked>>,
    flights: BTreeMap<String, Flight>,
    /// Units that wait before they are tried again.
    resting: BTreeMap<String, i64>,
    /// Limits by client.
    limits: BTreeMap<String, i64>,
    /// Attempts in a row that never began.
    unbegun: BTreeMap<String, u32>,
    starts: Starts,
    started: u32,
    failed: Vec<(String, Why)>,
    /// Somebody wants it to leave, then.
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
        // Words of an agent move nothing in the state file.
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
                                .want(&self.attempt_id(id, &flight.note), Want::Ended);
                        }
                    }
                    true
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => true,
            };
            self.look();
        }
    }

    /// Nothing new is started. Who asks once more within a moment means the agents too.
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

    /// Starts what may be started; whether anything is left that this run may still do.
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

    /// Goes on with a unit wherever it stands, or lets it rest.
    fn take_up(&mut self, unit: Unit) -> Result<(), Error> {
        let now = self.now_ms();
        let mut note = self.note(&unit.id);
        if note.round != unit.round || !unit.begun {
            note.settle();
        }
        if unit.round == 0 && !unit.begun {
            // A fresh start: what went wrong before counts no more.
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

    /// What the rules do not allow ends the run once the agents at work have ended; anything else ends it at once.
    fn refused(&mut self, error: Error) -> Result<(), Error> {
        match error.class() {
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

    /// Judges what an attempt came to. What was handed back is durable first: a crash, or a state file that takes no moves now,
    /// does not lose it.
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
        // One that cannot be read is as none: its work is begun anew.
        serde_json::from_slice(&text).unwrap_or_default()
    }

    fn remember(&self, id: &str, note: &Note) -> Result<(), Error> {
        let name = format!("{}-{}.json", self.key, file_name(id));
        let text = serde_json::to_vec(note).unwrap_or_default();
        write_whole(&*self.context.disk, &self.path("notes", &name), &text, None)
            .map_err(Error::File)
    }
}

/// What earlier runs remember, each note with the beginning of the ids of its attempts.
fn notes_of(place: &RunPlace) -> Vec<(String, Note)> {
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

/// A name for files: the id where it can be one, else a part of it and its hash.
fn file_name(id: &str) -> String {
    let plain = |letter: &char| letter.is_ascii_alphanumeric() || "-_".contains(*letter);
    let name: String = id.chars().filter(plain).take(NAME_CHARS_MAX).collect();
    match name == id {
        true => name,
        false => {
            let hash = ContentHash::of(id.as_bytes()).to_string();
            format!("{name}.{}", hash.chars().take(8).collect::<String>())
        }
    }
}
