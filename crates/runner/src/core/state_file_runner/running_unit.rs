//! One running unit: how its attempt starts, what it reports and how it ends.

use super::{AttemptOutcome, StateFileRunner, StateFileWork, WorkProgress, WorkUnit, file_name};
use crate::core::attempt_record::{AgentReply, AttemptRecord, AttemptStage};
use crate::core::attempts::{AttemptResume, AttemptStart, OutputProtocol, raw_message};
use crate::core::breakers::add_start;
use crate::core::cleanup::{ATTEMPTS_FOLDER, PROMPTS_FOLDER, RESULTS_FOLDER};
use crate::core::clients::{ClientProgram, LaunchRequest};
use crate::core::failure::FailureReason;
use crate::core::output_parser::{FirstMessage, OutputParser, OutputSignal};
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
pub(super) struct RunningUnit {
    pub(super) unit: WorkUnit,
    pub(super) note: AttemptRecord,
    pub(super) parser: OutputParser,
    /// Start of its attempt.
    pub(super) since_ms: i64,
    pub(super) last_output_ms: i64,
    pub(super) first_message: FirstMessage,
    /// Time that this try may take.
    pub(super) time_ms: Option<i64>,
    /// Reason for which the run ended it.
    pub(super) end_reason: Option<FailureReason>,
    client: String,
    talks: bool,
    words: String,
    failed: Option<FailureReason>,
    limited_until_ms: Option<i64>,
    /// Its turn is over: it only has to exit.
    turn_over: bool,
    /// Dollars of this attempt that the record has already.
    usd: f64,
}

impl RunningUnit {
    fn with_client(
        unit: WorkUnit,
        note: AttemptRecord,
        client: &ClientProgram,
        now: i64,
    ) -> RunningUnit {
        RunningUnit {
            client: client.name.clone(),
            talks: client.accepts_input(),
            ..RunningUnit::new(unit, note, client.protocol, now)
        }
    }

    fn new(unit: WorkUnit, note: AttemptRecord, protocol: AgentProtocol, now: i64) -> RunningUnit {
        RunningUnit {
            unit,
            note,
            parser: OutputParser::new(protocol),
            since_ms: now,
            last_output_ms: now,
            first_message: FirstMessage::start_wait_for(protocol, now),
            time_ms: None,
            end_reason: None,
            client: String::new(),
            talks: false,
            words: String::new(),
            failed: None,
            limited_until_ms: None,
            turn_over: false,
            usd: 0.0,
        }
    }

    /// Creates one without an agent, whose result is being checked.
    pub(super) fn new_checking(unit: WorkUnit, note: AttemptRecord, now: i64) -> RunningUnit {
        RunningUnit::new(unit, note, AgentProtocol::Markers, now)
    }

    /// True if an agent works on it.
    pub(super) fn has_agent(&self) -> bool {
        self.note.stage == AttemptStage::Running
    }

    fn append_words(&mut self, line: &str) {
        self.words.push_str(line);
        self.words.push('\n');
        if self.words.len() > 2 * WORDS_BYTES_MAX {
            let from = self.words.len() - WORDS_BYTES_MAX;
            self.words.drain(..self.words.ceil_char_boundary(from));
        }
    }
}

impl<W: StateFileWork> StateFileRunner<'_, W> {
    /// Starts an attempt; its record is durable before anything runs.
    pub(super) fn start_attempt(
        &mut self,
        unit: WorkUnit,
        mut note: AttemptRecord,
        client: &ClientProgram,
    ) -> Result<(), Error> {
        let now = self.now_ms();
        note.attempt += 1;
        note.round = unit.round;
        note.before = note.used;
        note.began_ms = now;
        add_start(&mut note.starts, now);
        let brief = self.work.attempt_brief(&unit, &note)?;
        let attempt = self.attempt_id(&unit.id, &note);
        let prompt_file = self.path_in(PROMPTS_FOLDER, &format!("{attempt}.md"));
        let result_file = self.path_in(RESULTS_FOLDER, &format!("{attempt}.json"));
        let disk = self.context.disk.clone();
        write_atomically(&*disk, &prompt_file, brief.prompt.as_bytes(), None)
            .map_err(Error::File)?;
        // The agent writes the result; its folder has to exist.
        let results = self.place.folder().join(RESULTS_FOLDER);
        let _ = disk.create_folders(&results);
        let call = client.launch_command(&LaunchRequest {
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
        note.stage = AttemptStage::Running;
        self.write_record(&unit.id, &note)?;
        self.starts.record_start(now);
        self.started += 1;
        let number = note.attempt;
        let id = unit.id.clone();
        let mut running_unit = RunningUnit::with_client(unit, note, client, now);
        running_unit.time_ms = brief.time_ms;
        self.running.insert(id.clone(), running_unit);
        self.attempts.start_attempt(AttemptStart {
            folder: self.path_in(ATTEMPTS_FOLDER, &attempt),
            spec,
            environment,
            output_protocol: call.output_protocol,
            first_message: call.first_message,
            session: call.session,
            close_input: call.close_input,
        });
        let attempt = number;
        self.show_progress(WorkProgress::Begun { id, attempt });
        Ok(())
    }

    /// Continues an attempt of an earlier run, whatever its state.
    pub(super) fn attach_attempt(
        &mut self,
        unit: WorkUnit,
        mut note: AttemptRecord,
    ) -> Result<(), Error> {
        let client = self.work.unit_client(&unit)?;
        let attempt = self.attempt_id(&unit.id, &note);
        let folder = self.path_in(ATTEMPTS_FOLDER, &attempt);
        if !folder.join("spec.json").is_file() {
            // It was never created.
            note.stage = AttemptStage::Idle;
            return self.write_record(&unit.id, &note);
        }
        // Its output is read from the start, and counted again.
        note.used = note.before;
        self.show_progress(WorkProgress::Found {
            id: unit.id.clone(),
        });
        let known = AttemptResume {
            folder,
            fence: self.place.run_number(),
            output_protocol: OutputProtocol {
                protocol: client.protocol,
                nonce: None,
            },
            resume: ResumePoint::default(),
            session: note.session.clone(),
        };
        let brief = self.work.attempt_brief(&unit, &note)?;
        let id = unit.id.clone();
        let now = self.now_ms();
        let began = note.began_ms.min(now);
        let mut running_unit = RunningUnit::with_client(unit, note, &client, now);
        running_unit.time_ms = brief.time_ms;
        // The time while no run was there is working time too.
        running_unit.since_ms = began;
        self.running.insert(id, running_unit);
        self.attempts.attach_attempt(&attempt, known);
        Ok(())
    }

    pub(super) fn on_signals(&mut self, id: &str, words: Vec<OutputSignal>) -> Result<(), Error> {
        let now = self.now_ms();
        let (breakers, attempts) = (self.breakers.clone(), self.attempts.clone());
        let Some(running_unit) = self.running.get_mut(id) else {
            return Ok(());
        };
        let attempt = format!(
            "{}-{}-{}",
            self.key,
            file_name(id),
            running_unit.note.attempt
        );
        let mut learnt = false;
        for word in words {
            match word {
                OutputSignal::AnyOutput | OutputSignal::Complete | OutputSignal::Promise => {}
                OutputSignal::ValidMessage => {
                    running_unit.first_message = FirstMessage::already_received()
                }
                OutputSignal::Line(line) => {
                    if let Some(why) = parse_fail_line(&line, id) {
                        running_unit.failed = Some(FailureReason::from_text(why));
                    }
                    running_unit.append_words(&line);
                }
                OutputSignal::Failed(why) => {
                    running_unit.failed = Some(FailureReason::from_text(&why))
                }
                OutputSignal::Session(session) => {
                    learnt |= running_unit.note.session.as_ref() != Some(&session);
                    running_unit.note.session = Some(session);
                }
                OutputSignal::RateLimited(lifted) => {
                    let until =
                        lifted.end_ms(now, running_unit.limited_until_ms, breakers.retry_after_ms);
                    running_unit.limited_until_ms = Some(until);
                    attempts.set_wanted_state(&attempt, WantedState::Ended);
                }
                OutputSignal::UsageReported { tokens, usd } => {
                    running_unit
                        .note
                        .used
                        .add_reported(tokens, usd, &mut running_unit.usd);
                }
                OutputSignal::TurnEnded => {
                    running_unit.note.used.turns += 1;
                    running_unit.turn_over = true;
                    learnt = true;
                    if running_unit.talks {
                        attempts.send_message(&attempt, None, true, raw_message(String::new()));
                    }
                }
            }
        }
        if let Some(spent) =
            breakers.exceeded_limit(&running_unit.note.used, running_unit.note.worked_ms)
            && running_unit.end_reason.is_none()
            && !running_unit.turn_over
        {
            running_unit.end_reason = Some(Reason::Breaker { spent }.into());
            attempts.set_wanted_state(&attempt, WantedState::Ended);
        }
        if learnt {
            let note = running_unit.note.clone();
            self.write_record(id, &note)?;
        }
        Ok(())
    }

    pub(super) fn on_exit(
        &mut self,
        id: &str,
        code: Option<i32>,
        asked: bool,
        error_tail: &str,
    ) -> Result<(), Error> {
        let now = self.now_ms();
        let Some(running_unit) = self.running.get_mut(id) else {
            return Ok(());
        };
        let took = (now - running_unit.since_ms).max(0);
        running_unit.note.worked_ms += took;
        running_unit.note.round_ms += took;
        if let Some(until) = running_unit.limited_until_ms {
            self.limits.insert(running_unit.client.clone(), until);
            let seconds = (until - now).max(0) / 1_000;
            self.show_progress(WorkProgress::Parked {
                id: id.to_owned(),
                seconds,
            });
            return self.requeue_unit(id, until);
        }
        if let Some(why) = running_unit
            .end_reason
            .take()
            .or_else(|| running_unit.failed.take())
        {
            return self.fail_unit(id, why);
        }
        if asked {
            // A person ended it, and not because of the work.
            return self.requeue_unit(id, 0);
        }
        if code != Some(0) {
            let how = match code {
                Some(code) => Reason::ExitCode { code },
                None => Reason::Signal,
            };
            let tail = match error_tail.trim() {
                "" => running_unit.parser.text_tail().trim(),
                tail => tail,
            };
            let why = FailureReason::with_detail(how, tail);
            return self.fail_unit(id, why);
        }
        let Some(running_unit) = self.running.remove(id) else {
            return Ok(());
        };
        let attempt = self.attempt_id(id, &running_unit.note);
        let file = self.path_in(RESULTS_FOLDER, &format!("{attempt}.json"));
        let reply = AgentReply {
            result: result_in_file(&file).or_else(|| result_in_text(&running_unit.words)),
            words: running_unit.words,
        };
        self.judge_outcome(
            &running_unit.unit,
            running_unit.note,
            AttemptOutcome::Ended(reply),
        )
    }

    /// Ends an attempt that does not count; the unit is tried again.
    pub(super) fn requeue_unit(&mut self, id: &str, not_before_ms: i64) -> Result<(), Error> {
        let Some(running_unit) = self.running.remove(id) else {
            return Ok(());
        };
        let mut note = running_unit.note;
        note.stage = AttemptStage::Idle;
        note.not_before_ms = not_before_ms;
        self.write_record(id, &note)
    }

    /// Ends agents that exceed a limit, and reports clients that sent no valid message in time.
    pub(super) fn enforce_limits(&mut self) {
        let now = self.now_ms();
        let running = self.running.iter_mut();
        let running = running.filter(|(_, running_unit)| {
            running_unit.has_agent() && running_unit.end_reason.is_none()
        });
        let late = running.filter_map(|(id, running_unit)| {
            Some((id.clone(), running_unit.first_message.overdue_s(now)?))
        });
        for (id, seconds) in late.collect::<Vec<_>>() {
            self.show_progress(WorkProgress::NothingValid { id, seconds });
        }
        let ids: Vec<String> = self.running.keys().cloned().collect();
        for id in ids {
            let Some(running_unit) = self.running.get_mut(&id) else {
                continue;
            };
            if !running_unit.has_agent() || running_unit.end_reason.is_some() {
                continue;
            }
            let took = now - running_unit.since_ms;
            let time = running_unit
                .time_ms
                .filter(|max| running_unit.note.round_ms + took >= *max);
            let worked = self
                .breakers
                .exceeded_working_time(running_unit.note.worked_ms + took);
            let silent = now - running_unit.last_output_ms >= self.breakers.silent_ms;
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
            running_unit.end_reason = Some(why.into());
            let attempt = format!(
                "{}-{}-{}",
                self.key,
                file_name(&id),
                running_unit.note.attempt
            );
            self.attempts.set_wanted_state(&attempt, WantedState::Ended);
        }
    }
}

/// Returns the reason if a line says that this unit failed: `FAIL:ID:reason`.
fn parse_fail_line<'l>(line: &'l str, id: &str) -> Option<&'l str> {
    let rest = line.trim_matches(['*', '`', ' ']).strip_prefix("FAIL:")?;
    Some(rest.strip_prefix(id)?.strip_prefix(':')?.trim())
}

fn result_in_file(path: &Path) -> Option<Value> {
    let short = path.metadata().ok()?.len() <= RESULT_BYTES_MAX;
    let text = std::fs::read(path).ok().filter(|_| short)?;
    serde_json::from_slice(&text).ok()
}

/// Returns the last result between its marks. Agents like to add a code fence around or inside of
/// it.
fn result_in_text(words: &str) -> Option<Value> {
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
        assert_eq!(result_in_text(words), Some(json!({ "a": 2 })));
        assert_eq!(result_in_text("[RESULT]\nnot JSON\n[/RESULT]"), None);
        assert_eq!(result_in_text("nothing"), None);
    }

    #[test]
    fn only_a_line_about_this_unit_fails_it() {
        assert_eq!(
            parse_fail_line("FAIL:planning:no sources", "planning"),
            Some("no sources")
        );
        let nothing = parse_fail_line("**FAIL:cp-1:**", "cp-1").map(FailureReason::from_text);
        assert_eq!(nothing, Some(Reason::Nothing.into()));
        assert_eq!(parse_fail_line("FAIL:test_x", "planning"), None);
        assert_eq!(parse_fail_line("FAIL:planning2:x", "planning"), None);
    }
}
