//! One running unit: how its attempt starts, what it reports and how it ends.

use super::{Crew, Outcome, Told, Unit, Work, file_name};
use crate::core::attempts::{Begin, Known, Voice, raw};
use crate::core::breakers::one_more;
use crate::core::clients::{Ask, Client};
use crate::core::hearing::{FirstMessage, Hearing, Word};
use crate::core::note::{Note, Reply, Stage};
use crate::core::tidy::{ATTEMPTS, PROMPTS, RESULTS};
use crate::core::why::Why;
use bowline_engine::Error;
use bowline_engine::statefiles::write_atomically;
use bowline_engine::supervisor::{AttemptSpec, WantedState};
use bowline_formats::agents::{AgentProtocol, ResumePoint};
use bowline_words::message::Reason;
use serde_json::Value;
use std::path::Path;

/// Bytes of the agent's own text that are kept from its end, where a result stands.
const WORDS_BYTES_MAX: usize = 256 << 10;
/// Bytes of a result file; a longer one is not read.
const RESULT_BYTES_MAX: u64 = 1 << 20;

/// A unit in hand.
pub(super) struct Flight {
    pub(super) unit: Unit,
    pub(super) note: Note,
    pub(super) hearing: Hearing,
    /// Start of its attempt.
    pub(super) since_ms: i64,
    pub(super) heard_ms: i64,
    pub(super) first_message: FirstMessage,
    /// Time that this try may take.
    pub(super) time_ms: Option<i64>,
    /// Reason for which the run ended it.
    pub(super) ended: Option<Why>,
    client: String,
    talks: bool,
    words: String,
    failed: Option<Why>,
    limited: Option<i64>,
    /// Its turn is over: it only has to exit.
    over: bool,
    /// Dollars of this attempt that the record has already.
    usd: f64,
}

impl Flight {
    fn of(unit: Unit, note: Note, client: &Client, now: i64) -> Flight {
        Flight {
            client: client.name.clone(),
            talks: client.talks(),
            ..Flight::new(unit, note, client.protocol, now)
        }
    }

    fn new(unit: Unit, note: Note, protocol: AgentProtocol, now: i64) -> Flight {
        Flight {
            unit,
            note,
            hearing: Hearing::new(protocol),
            since_ms: now,
            heard_ms: now,
            first_message: FirstMessage::awaited_from(protocol, now),
            time_ms: None,
            ended: None,
            client: String::new(),
            talks: false,
            words: String::new(),
            failed: None,
            limited: None,
            over: false,
            usd: 0.0,
        }
    }

    /// Creates one without an agent, whose result is being checked.
    pub(super) fn checking(unit: Unit, note: Note, now: i64) -> Flight {
        Flight::new(unit, note, AgentProtocol::Markers, now)
    }

    /// True if an agent works on it.
    pub(super) fn runs(&self) -> bool {
        self.note.stage == Stage::Running
    }

    fn keep(&mut self, line: &str) {
        self.words.push_str(line);
        self.words.push('\n');
        if self.words.len() > 2 * WORDS_BYTES_MAX {
            let from = self.words.len() - WORDS_BYTES_MAX;
            self.words.drain(..self.words.ceil_char_boundary(from));
        }
    }
}

impl<W: Work> Crew<'_, W> {
    /// Starts an attempt; its record is durable before anything runs.
    pub(super) fn begin(
        &mut self,
        unit: Unit,
        mut note: Note,
        client: &Client,
    ) -> Result<(), Error> {
        let now = self.now_ms();
        note.attempt += 1;
        note.round = unit.round;
        note.before = note.used;
        note.began_ms = now;
        one_more(&mut note.starts, now);
        let brief = self.work.brief(&unit, &note)?;
        let attempt = self.attempt_id(&unit.id, &note);
        let prompt_file = self.path(PROMPTS, &format!("{attempt}.md"));
        let result_file = self.path(RESULTS, &format!("{attempt}.json"));
        let disk = self.context.disk.clone();
        write_atomically(&*disk, &prompt_file, brief.prompt.as_bytes(), None)
            .map_err(Error::File)?;
        // The agent writes the result; its folder has to exist.
        let results = self.place.folder().join(RESULTS);
        let _ = disk.create_folders(&results);
        let call = client.call(&Ask {
            prompt: &brief.prompt,
            prompt_file: &prompt_file,
            workspace: &brief.folder,
            task: &unit.id,
            phase: brief.number,
            session: note.session.as_deref(),
        });
        let mut environment =
            client.environment(self.context.variables.text_pairs(), &self.settings);
        let shown = |path: &Path| path.to_string_lossy().into_owned();
        let own = [
            ("BOWLINE_TASK_ID", unit.id.clone()),
            ("BOWLINE_TRY", note.attempt.to_string()),
            ("BOWLINE_PROMPT_FILE", shown(&prompt_file)),
            ("BOWLINE_RESULT_FILE", shown(&result_file)),
        ];
        for (name, value) in own.into_iter().chain(brief.variables) {
            environment.insert(name.to_owned(), value);
        }
        let mut spec = AttemptSpec::new(&attempt, call.command, brief.folder);
        spec.name = format!("{} {}", self.name, unit.id);
        spec.fence = self.place.run_number();
        note.stage = Stage::Running;
        self.remember(&unit.id, &note)?;
        self.starts.begun(now);
        self.started += 1;
        let number = note.attempt;
        let id = unit.id.clone();
        let mut flight = Flight::of(unit, note, client, now);
        flight.time_ms = brief.time_ms;
        self.flights.insert(id.clone(), flight);
        self.attempts.begin(Begin {
            folder: self.path(ATTEMPTS, &attempt),
            spec,
            environment,
            voice: call.voice,
            first: call.first,
            session: call.session,
            close_input: call.close_input,
        });
        let attempt = number;
        self.told(Told::Begun { id, attempt });
        Ok(())
    }

    /// Continues an attempt of an earlier run, whatever its state.
    pub(super) fn attach(&mut self, unit: Unit, mut note: Note) -> Result<(), Error> {
        let client = self.work.client(&unit)?;
        let attempt = self.attempt_id(&unit.id, &note);
        let folder = self.path(ATTEMPTS, &attempt);
        if !folder.join("spec.json").is_file() {
            // It was never created.
            note.stage = Stage::Idle;
            return self.remember(&unit.id, &note);
        }
        // Its output is read from the start, and counted again.
        note.used = note.before;
        self.told(Told::Found {
            id: unit.id.clone(),
        });
        let known = Known {
            folder,
            fence: self.place.run_number(),
            voice: Voice {
                protocol: client.protocol,
                nonce: None,
            },
            resume: ResumePoint::default(),
            session: note.session.clone(),
        };
        let brief = self.work.brief(&unit, &note)?;
        let id = unit.id.clone();
        let now = self.now_ms();
        let began = note.began_ms.min(now);
        let mut flight = Flight::of(unit, note, &client, now);
        flight.time_ms = brief.time_ms;
        // The time while no run was there is working time too.
        flight.since_ms = began;
        self.flights.insert(id, flight);
        self.attempts.attach(&attempt, known);
        Ok(())
    }

    pub(super) fn said(&mut self, id: &str, words: Vec<Word>) -> Result<(), Error> {
        let now = self.now_ms();
        let (breakers, attempts) = (self.breakers.clone(), self.attempts.clone());
        let Some(flight) = self.flights.get_mut(id) else {
            return Ok(());
        };
        let attempt = format!("{}-{}-{}", self.key, file_name(id), flight.note.attempt);
        let mut learnt = false;
        for word in words {
            match word {
                Word::Something | Word::Complete | Word::Promise => {}
                Word::Valid => flight.first_message = FirstMessage::arrived(),
                Word::Line(line) => {
                    if let Some(why) = failure(&line, id) {
                        flight.failed = Some(Why::said(why));
                    }
                    flight.keep(&line);
                }
                Word::Failed(why) => flight.failed = Some(Why::said(&why)),
                Word::Session(session) => {
                    learnt |= flight.note.session.as_ref() != Some(&session);
                    flight.note.session = Some(session);
                }
                Word::Limit(lifted) => {
                    let until = lifted.ms(now, flight.limited, breakers.retry_after_ms);
                    flight.limited = Some(until);
                    attempts.want(&attempt, WantedState::Ended);
                }
                Word::Used { tokens, usd } => {
                    flight.note.used.add(tokens, usd, &mut flight.usd);
                }
                Word::TurnEnded => {
                    flight.note.used.turns += 1;
                    flight.over = true;
                    learnt = true;
                    if flight.talks {
                        attempts.say(&attempt, None, true, raw(String::new()));
                    }
                }
            }
        }
        if let Some(spent) = breakers.tripped(&flight.note.used, flight.note.worked_ms)
            && flight.ended.is_none()
            && !flight.over
        {
            flight.ended = Some(Reason::Breaker { spent }.into());
            attempts.want(&attempt, WantedState::Ended);
        }
        if learnt {
            let note = flight.note.clone();
            self.remember(id, &note)?;
        }
        Ok(())
    }

    pub(super) fn exited(
        &mut self,
        id: &str,
        code: Option<i32>,
        asked: bool,
        error_tail: &str,
    ) -> Result<(), Error> {
        let now = self.now_ms();
        let Some(flight) = self.flights.get_mut(id) else {
            return Ok(());
        };
        let took = (now - flight.since_ms).max(0);
        flight.note.worked_ms += took;
        flight.note.round_ms += took;
        if let Some(until) = flight.limited {
            self.limits.insert(flight.client.clone(), until);
            let seconds = (until - now).max(0) / 1_000;
            self.told(Told::Parked {
                id: id.to_owned(),
                seconds,
            });
            return self.begins_anew(id, until);
        }
        if let Some(why) = flight.ended.take().or_else(|| flight.failed.take()) {
            return self.failed(id, why);
        }
        if asked {
            // A person ended it, and not because of the work.
            return self.begins_anew(id, 0);
        }
        if code != Some(0) {
            let how = match code {
                Some(code) => Reason::ExitCode { code },
                None => Reason::Signal,
            };
            let tail = match error_tail.trim() {
                "" => flight.hearing.tail().trim(),
                tail => tail,
            };
            let why = Why::with(how, tail);
            return self.failed(id, why);
        }
        let Some(flight) = self.flights.remove(id) else {
            return Ok(());
        };
        let attempt = self.attempt_id(id, &flight.note);
        let file = self.path(RESULTS, &format!("{attempt}.json"));
        let reply = Reply {
            result: in_file(&file).or_else(|| in_words(&flight.words)),
            words: flight.words,
        };
        self.land(&flight.unit, flight.note, Outcome::Ended(reply))
    }

    /// Ends an attempt that does not count; the unit is tried again.
    pub(super) fn begins_anew(&mut self, id: &str, not_before_ms: i64) -> Result<(), Error> {
        let Some(flight) = self.flights.remove(id) else {
            return Ok(());
        };
        let mut note = flight.note;
        note.stage = Stage::Idle;
        note.not_before_ms = not_before_ms;
        self.remember(id, &note)
    }

    /// Ends agents that exceed a limit, and reports clients that sent no valid message in time.
    pub(super) fn look(&mut self) {
        let now = self.now_ms();
        let running = self.flights.iter_mut();
        let running = running.filter(|(_, flight)| flight.runs() && flight.ended.is_none());
        let late = running
            .filter_map(|(id, flight)| Some((id.clone(), flight.first_message.overdue_s(now)?)));
        for (id, seconds) in late.collect::<Vec<_>>() {
            self.told(Told::NothingValid { id, seconds });
        }
        let ids: Vec<String> = self.flights.keys().cloned().collect();
        for id in ids {
            let Some(flight) = self.flights.get_mut(&id) else {
                continue;
            };
            if !flight.runs() || flight.ended.is_some() {
                continue;
            }
            let took = now - flight.since_ms;
            let time = flight
                .time_ms
                .filter(|max| flight.note.round_ms + took >= *max);
            let worked = self.breakers.worked_out(flight.note.worked_ms + took);
            let silent = now - flight.heard_ms >= self.breakers.silent_ms;
            let why = match (time, worked, silent) {
                (Some(max), ..) => Reason::TooLong {
                    seconds: max / 1_000,
                },
                (None, Some(spent), _) => Reason::Breaker { spent },
                (None, None, true) => Reason::Silent {
                    seconds: self.breakers.silent_ms / 1_000,
                },
                (None, None, false) => continue,
            };
            flight.ended = Some(why.into());
            let attempt = format!("{}-{}-{}", self.key, file_name(&id), flight.note.attempt);
            self.attempts.want(&attempt, WantedState::Ended);
        }
    }
}

/// Returns the reason if a line says that this unit failed: `FAIL:ID:reason`.
fn failure<'l>(line: &'l str, id: &str) -> Option<&'l str> {
    let rest = line.trim_matches(['*', '`', ' ']).strip_prefix("FAIL:")?;
    Some(rest.strip_prefix(id)?.strip_prefix(':')?.trim())
}

fn in_file(path: &Path) -> Option<Value> {
    let short = path.metadata().ok()?.len() <= RESULT_BYTES_MAX;
    let text = std::fs::read(path).ok().filter(|_| short)?;
    serde_json::from_slice(&text).ok()
}

/// Returns the last result between its marks. Agents like to add a code fence around or inside of
/// it.
fn in_words(words: &str) -> Option<Value> {
    let (before, _) = words.rsplit_once("[/RESULT]")?;
    let (_, text) = before.rsplit_once("[RESULT]")?;
    let text = text.trim().trim_start_matches("```json");
    serde_json::from_str(text.trim_matches(['`', '\n', ' '])).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_last_result_between_its_marks_counts() {
        let words = "[RESULT]\n{\"a\":1}\n[/RESULT]\nno, rather:\n[RESULT]\n```json\n{\"a\":2}\n```\n[/RESULT]\nbye\n";
        assert_eq!(in_words(words), Some(json!({ "a": 2 })));
        assert_eq!(in_words("[RESULT]\nnot JSON\n[/RESULT]"), None);
        assert_eq!(in_words("nothing"), None);
    }

    #[test]
    fn only_a_line_about_this_unit_fails_it() {
        assert_eq!(
            failure("FAIL:planning:no sources", "planning"),
            Some("no sources")
        );
        let nothing = failure("**FAIL:cp-1:**", "cp-1").map(Why::said);
        assert_eq!(nothing, Some(Reason::Nothing.into()));
        assert_eq!(failure("FAIL:test_x", "planning"), None);
        assert_eq!(failure("FAIL:planning2:x", "planning"), None);
    }
}
