//! The scenario of a scripted agent: its output and actions, step by step. The format is described
//! in `docs/scripted-agent.md`.

use bowline_machines::job::DependencyKind;
use bowline_machines::named;
use serde::Deserialize;
use thiserror::Error;

use crate::markers::QuestionCategory;

/// Script of a scripted agent.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Output protocol of the agent.
    #[serde(default)]
    pub protocol: ScenarioProtocol,
    /// Id of its conversation, printed if the protocol has one.
    #[serde(default = "usual_session")]
    pub session: String,
    /// Signals that it ignores.
    #[serde(default)]
    pub ignores: Vec<IgnoredSignal>,
    /// True if its markers carry the nonce it was given.
    #[serde(default)]
    pub nonce: bool,
    /// Steps in the order in which they run. Behind the last step it exits with code 0.
    #[serde(rename = "step", default)]
    pub steps: Vec<ScenarioStep>,
}

fn usual_session() -> String {
    "00000000-0000-4000-8000-000000000001".to_owned()
}

/// Output protocols of a scripted agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScenarioProtocol {
    /// Plain text with markers.
    #[default]
    Markers,
    /// Output like that of `claude` with streamed JSON.
    ClaudeStreamJson,
    /// Output like that of `codex exec --json`.
    CodexJson,
}

named! {
    /// A signal that can be ignored.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum IgnoredSignal {
        /// `SIGTERM`
        Term = "TERM",
        /// `SIGTSTP`
        Tstp = "TSTP",
        /// `SIGINT`
        Int = "INT",
        /// `SIGHUP`
        Hup = "HUP",
    }
}

/// An output stream that can be closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClosedStream {
    Stdout,
    Stderr,
}

/// One step of a scenario.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ScenarioStep {
    /// Prints this text and a line end. `{input}` stands for the last message received.
    Say(String),
    /// Writes a file.
    Write {
        /// Path relative to the working folder.
        path: String,
        /// Content. `{input}` stands for the last message received.
        text: String,
        /// Appends to the file instead of replacing its content.
        #[serde(default)]
        append: bool,
    },
    /// Reports the use of a tool.
    Tool {
        name: String,
        /// Result of the tool.
        #[serde(default)]
        output: String,
    },
    /// Requests permission for a tool and waits for the answer, in protocols where the client does
    /// so. The answer is the next `{input}`.
    Leave {
        tool: String,
        /// Arguments of the tool.
        #[serde(default)]
        input: serde_json::Map<String, serde_json::Value>,
    },
    /// Begins a step of its plan.
    Progress {
        /// Number of the step.
        step: u32,
        /// Total number of steps.
        of: u32,
        name: String,
    },
    /// Asks a person. Waiting for the answer is a step of its own, except in protocols where the
    /// client waits.
    Ask {
        question: String,
        category: QuestionCategory,
        #[serde(default)]
        options: Vec<String>,
        /// Answer used if no person answers.
        default: Option<String>,
        /// False if it can continue without the answer.
        #[serde(default = "yes")]
        required: bool,
    },
    /// Requests a dependency.
    Need {
        #[serde(rename = "type")]
        kind: DependencyKind,
        name: String,
        /// Purpose of the value.
        description: String,
        /// Value used if none is supplied.
        default: Option<String>,
        /// False if it can continue without the value.
        #[serde(default = "yes")]
        required: bool,
    },
    /// Announces that a phase is complete.
    Phase {
        /// Number of the phase, from 1.
        number: u32,
        name: Option<String>,
        /// Files created in the phase.
        #[serde(default)]
        files: Vec<String>,
    },
    /// Announces that a task without phases is complete.
    Done { summary: Option<String> },
    /// Reports an error of its own.
    Fail {
        message: String,
        /// True if the error ends the agent. Otherwise a person is notified and it continues.
        #[serde(default = "yes")]
        fatal: bool,
    },
    /// Reports that it has reached a rate limit.
    Limit {
        /// Seconds until it is lifted.
        retry_after: Option<u64>,
        /// Time at which it is lifted, in seconds since 1970.
        resets_at: Option<i64>,
    },
    /// Reports its usage since the previous turn.
    Usage {
        /// Number of tokens read.
        input: u64,
        /// Number of tokens written.
        output: u64,
        /// Cost in US dollars, printed if the protocol has it.
        #[serde(default)]
        usd: f64,
    },
    /// Ends its turn and waits for a message: any (`""`), or one with this name, such as
    /// `REVIEW_APPROVED`.
    Wait(String),
    /// Ends its turn and waits for a message like [`ScenarioStep::Wait`]; whenever one named in
    /// `on` arrives first, runs `steps` and waits again.
    Loop {
        /// Messages on which `steps` run.
        on: Vec<String>,
        /// Steps to run for each such message.
        #[serde(rename = "step")]
        steps: Vec<ScenarioStep>,
        /// The message that ends the loop.
        until: String,
    },
    /// Continues its turn until it is interrupted or ended.
    Hold(bool),
    /// Sleeps for this number of milliseconds.
    SleepMs(u64),
    /// Starts other processes that only sleep, without waiting for them.
    Fork {
        /// Number of processes.
        #[serde(default = "one")]
        count: u32,
        /// Lifetime of each process in seconds.
        seconds: u64,
        /// True if each runs in a session of its own, like a daemon.
        #[serde(default)]
        daemon: bool,
    },
    /// Prints a large amount of output.
    Flood {
        /// Number of bytes to print.
        bytes: u64,
        /// Bytes per line with its end; 0 for a single line without an end.
        #[serde(default = "usual_line")]
        line_bytes: u64,
    },
    /// Prints this text unchanged, even if it violates the protocol.
    Raw(String),
    /// Closes one of its streams and continues.
    Close(ClosedStream),
    /// Replaces itself with another program.
    Exec(Vec<String>),
    /// Ends by a signal, like a program that crashes.
    Crash(bool),
    /// Exits with this code.
    Exit(u8),
}

impl ScenarioStep {
    /// True if it ends its turn with this step and waits for a message.
    pub fn ends_turn(&self) -> bool {
        matches!(self, Self::Wait(_) | Self::Loop { .. })
    }
}

fn yes() -> bool {
    true
}

fn one() -> u32 {
    1
}

fn usual_line() -> u64 {
    80
}

/// The error of a scenario that cannot be parsed.
#[derive(Debug, Error)]
#[error("the scenario cannot be read: {problem}")]
pub struct ScenarioError {
    problem: String,
}

impl Scenario {
    /// Parses the text of a scenario file.
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        toml::from_str(text).map_err(|error| {
            let message = error.to_string();
            // The parser's message for a step with several keys, or none, does not say how to fix
            // it.
            let problem = match message.split_once("wanted exactly 1 element") {
                Some((place, _)) => format!("{place}a step has one key; begin each with [[step]]"),
                None => message.trim_end().to_owned(),
            };
            ScenarioError { problem }
        })
    }

    /// Returns the index of the first step of a run: behind the completion of the phase before
    /// `phase`, and behind `turns` waits from there on.
    pub fn first_step(&self, phase: u32, turns: usize) -> usize {
        let done = phase.saturating_sub(1);
        let behind = |place: Option<usize>| place.map_or(0, |place| place + 1);
        let begin = behind(self.steps.iter().rposition(
            |step| matches!(step, ScenarioStep::Phase { number, .. } if *number == done && done > 0),
        ));
        let waits = self.steps[begin..]
            .iter()
            .enumerate()
            .filter(|(_, step)| step.ends_turn());
        match turns.checked_sub(1) {
            None => begin,
            Some(turn) => begin + behind(waits.map(|(place, _)| place).nth(turn)),
        }
    }
}

#[cfg(test)]
mod tests;
