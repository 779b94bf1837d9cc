//! An agent that plays a scenario, to try whole pipelines without a model.

mod input;
mod processes;
mod protocol_writer;

pub(crate) use processes::become_this_again;

use bowline_engine::Error;
use bowline_engine::formats::scenario::{Scenario, ScenarioProtocol, ScenarioStep};
use bowline_engine::words::{display_path, system_cause};
use bowline_words::message::{Advice, Why, Wrong};
use input::MessageReader;
use protocol_writer::ProtocolWriter;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Variable with the phase that an agent is started for.
const PHASE_VARIABLE: &str = "BOWLINE_PHASE";
/// Variable with the nonce for the agent's markers.
const NONCE_VARIABLE: &str = "BOWLINE_NONCE";

/// Exit code if the agent's output can no longer be written.
pub const OUTPUT_GONE: u8 = 1;
/// Exit code of `codex` after a failed turn.
const TURN_FAILED: u8 = 1;

/// An agent that is ready to play its scenario.
pub struct ScriptedAgent {
    scenario: Scenario,
    folder: PathBuf,
    phase: u32,
    turn: usize,
}

impl ScriptedAgent {
    /// Reads the scenario in the file `path`, to be played in `folder` from the turn `turn` on.
    pub fn load(path: &Path, folder: &Path, turn: usize) -> Result<Self, Error> {
        let text = std::fs::read_to_string(path).map_err(|error| Error::BadInput {
            message: Wrong::Scenario {
                path: display_path(path),
                cause: system_cause(&error),
            },
            hint: Advice::NameScenario,
        })?;
        let scenario = Scenario::parse(&text).map_err(|error| Error::BadInput {
            message: Wrong::InFile {
                path: display_path(path),
                why: Why::BadScenario {
                    text: error.to_string(),
                },
            },
            hint: Advice::ScenarioSteps,
        })?;
        let phase = std::env::var(PHASE_VARIABLE).ok();
        let phase = phase.and_then(|phase| phase.parse().ok()).unwrap_or(1);
        let begin = scenario.first_step(phase, 0);
        let rest = scenario.steps[begin..].iter();
        let waits = rest.filter(|step| step.ends_turn()).count();
        if turn > waits {
            return Err(Error::BadInput {
                message: Wrong::NoSuchTurn { turn, last: waits },
                hint: Advice::SmallerTurn,
            });
        }
        Ok(Self {
            scenario,
            folder: folder.to_owned(),
            phase,
            turn,
        })
    }

    /// Returns the number of steps in the scenario.
    pub fn step_count(&self) -> usize {
        self.scenario.steps.len()
    }

    /// Plays to the end on the standard streams of this process and returns the exit code. An
    /// error means that the output is no longer read.
    pub fn play(&self) -> io::Result<u8> {
        processes::ignore_signals(&self.scenario.ignores)?;
        ScenarioPlayer::new(&self.scenario, &self.folder).play(self.phase, self.turn)
    }
}

/// Adds the attempted action to an error.
fn with_action(what: &'static str, of: &str) -> impl Fn(io::Error) -> io::Error {
    let of = of.to_owned();
    move |error| io::Error::new(error.kind(), format!("cannot {what} {of}: {error}"))
}

struct ScenarioPlayer<'a> {
    scenario: &'a Scenario,
    folder: &'a Path,
    output: ProtocolWriter,
    input: MessageReader,
    /// Text of the last message that was received.
    last_text: String,
}

/// Outcome of a step: the next step, or the end with an exit code.
enum StepOutcome {
    Step,
    End(u8),
}

impl<'a> ScenarioPlayer<'a> {
    fn new(scenario: &'a Scenario, folder: &'a Path) -> Self {
        let nonce = std::env::var(NONCE_VARIABLE)
            .ok()
            .filter(|_| scenario.nonce);
        Self {
            scenario,
            folder,
            output: ProtocolWriter::new(scenario.protocol, scenario.session.clone(), nonce),
            input: MessageReader::new(scenario.protocol),
            last_text: String::new(),
        }
    }

    /// Plays to the end and returns the exit code. An error means that the output is no longer
    /// read.
    fn play(&mut self, phase: u32, turn: usize) -> io::Result<u8> {
        // This client prints nothing before its first message.
        if self.scenario.protocol == ScenarioProtocol::ClaudeStreamJson
            && self.wait_for_message(&[""])?.is_none()
        {
            return Ok(0);
        }
        let first = self.scenario.first_step(phase, turn);
        let (before, steps) = self.scenario.steps.split_at(first);
        for step in before {
            if let ScenarioStep::Usage { input, output, .. } = step {
                self.output.count_earlier_usage(*input, *output);
            }
        }
        for step in steps {
            if let StepOutcome::End(code) = self.play_step(step)? {
                return Ok(code);
            }
        }
        self.output.end_turn()?;
        if self.scenario.protocol == ScenarioProtocol::ClaudeStreamJson {
            while self.wait_for_message(&[""])?.is_some() {}
        }
        Ok(0)
    }

    fn play_step(&mut self, step: &ScenarioStep) -> io::Result<StepOutcome> {
        match step {
            ScenarioStep::Say(text) => self
                .output
                .print_words(&text.replace("{input}", &self.last_text))?,
            ScenarioStep::Raw(text) => protocol_writer::print_text(text)?,
            ScenarioStep::Write { path, text, append } => {
                let path = self.folder.join(path);
                let text = text.replace("{input}", &self.last_text);
                let parent = path.parent().map_or(Ok(()), std::fs::create_dir_all);
                let mut file = OpenOptions::new();
                file.create(true).append(*append);
                file.write(true).truncate(!append);
                parent
                    .and_then(|()| file.open(&path))
                    .and_then(|mut file| file.write_all(text.as_bytes()))
                    .map_err(with_action("write", &path.display().to_string()))?;
            }
            ScenarioStep::Tool { name, output } => self.output.print_tool_use(name, output)?,
            ScenarioStep::Ask { .. } => {
                if self.output.print_question(step)? {
                    return self.wait_or_end(&["control_response"]);
                }
            }
            ScenarioStep::Leave { tool, input } => {
                if self.output.request_permission(tool, input)? {
                    return self.wait_or_end(&["control_response"]);
                }
            }
            ScenarioStep::Progress { .. }
            | ScenarioStep::Need { .. }
            | ScenarioStep::Phase { .. }
            | ScenarioStep::Done { .. }
            | ScenarioStep::Fail { .. } => self.output.print_marker(step)?,
            ScenarioStep::Limit {
                retry_after,
                resets_at,
            } => {
                self.output.report_limit(*retry_after, *resets_at)?;
                if self.scenario.protocol == ScenarioProtocol::CodexJson {
                    return Ok(StepOutcome::End(TURN_FAILED));
                }
            }
            ScenarioStep::Usage { input, output, usd } => {
                self.output.count_usage(*input, *output, *usd)
            }
            ScenarioStep::Wait(name) => {
                self.output.end_turn()?;
                return self.wait_or_end(&[name]);
            }
            ScenarioStep::Loop { on, steps, until } => return self.play_loop(on, steps, until),
            ScenarioStep::Hold(_) => return self.hold_turn(),
            ScenarioStep::SleepMs(ms) => std::thread::sleep(Duration::from_millis(*ms)),
            ScenarioStep::Fork {
                count,
                seconds,
                daemon,
            } => processes::start_sleepers(*count, *seconds, *daemon)
                .map_err(with_action("start", "a process"))?,
            ScenarioStep::Flood { bytes, line_bytes } => {
                protocol_writer::print_flood(*bytes, *line_bytes)?
            }
            ScenarioStep::Close(stream) => processes::close_stream(*stream)?,
            ScenarioStep::Exec(command) => {
                let error = processes::become_another(command);
                return Err(with_action("become", &command.join(" "))(error));
            }
            ScenarioStep::Crash(_) => std::process::abort(),
            ScenarioStep::Exit(code) => return Ok(StepOutcome::End(*code)),
        }
        Ok(StepOutcome::Step)
    }

    /// Plays `steps` for each message named in `on`, until another one comes.
    fn play_loop(
        &mut self,
        on: &[String],
        steps: &[ScenarioStep],
        until: &str,
    ) -> io::Result<StepOutcome> {
        let names: Vec<&str> = on.iter().map(String::as_str).chain([until]).collect();
        loop {
            self.output.end_turn()?;
            match self.wait_for_message(&names)? {
                None => return Ok(StepOutcome::End(0)),
                Some(name) if !on.contains(&name) => return Ok(StepOutcome::Step),
                Some(_) => {}
            }
            for step in steps {
                if let StepOutcome::End(code) = self.play_step(step)? {
                    return Ok(StepOutcome::End(code));
                }
            }
        }
    }

    fn wait_or_end(&mut self, names: &[&str]) -> io::Result<StepOutcome> {
        Ok(if self.wait_for_message(names)?.is_some() {
            StepOutcome::Step
        } else {
            StepOutcome::End(0)
        })
    }

    /// Waits for a message with one of these names, or any for `""`; returns its name, `None` at
    /// the end of the input.
    fn wait_for_message(&mut self, names: &[&str]) -> io::Result<Option<String>> {
        // This client gets its next message as the prompt of its next run.
        if self.scenario.protocol == ScenarioProtocol::CodexJson {
            return Ok(None);
        }
        while let Some(message) = self.input.next_message()? {
            if message.name == "interrupt" {
                self.output.acknowledge_interrupt(&message.text)?;
            } else if names.contains(&"") || names.contains(&message.name.as_str()) {
                self.last_text = message.text;
                return Ok(Some(message.name));
            }
        }
        Ok(None)
    }

    /// Stays in the turn until it is interrupted, where the protocol has a message for that, or
    /// ended.
    fn hold_turn(&mut self) -> io::Result<StepOutcome> {
        if self.scenario.protocol != ScenarioProtocol::ClaudeStreamJson {
            loop {
                std::thread::park();
            }
        }
        while let Some(message) = self.input.next_message()? {
            if message.name == "interrupt" {
                self.output.acknowledge_interrupt(&message.text)?;
                self.output.end_interrupted_turn()?;
                return Ok(StepOutcome::Step);
            }
        }
        Ok(StepOutcome::End(0))
    }
}
