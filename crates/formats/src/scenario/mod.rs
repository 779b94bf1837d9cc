//! The scenario of a scripted agent: what it says and does, step by step. The format is described in `docs/scripted-agent.md`.

use bowline_machines::named;
use serde::Deserialize;
use thiserror::Error;

use crate::markers::{Category, DependencyType};

/// What a scripted agent plays.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// How it speaks.
    #[serde(default)]
    pub protocol: Speech,
    /// The id of its conversation, told where the protocol has one.
    #[serde(default = "usual_session")]
    pub session: String,
    /// Signals it does not react to.
    #[serde(default)]
    pub ignores: Vec<Ignored>,
    /// Whether its markers carry the nonce it was given.
    #[serde(default)]
    pub nonce: bool,
    /// What it does, in this order. Behind the last step it ends with code 0.
    #[serde(rename = "step", default)]
    pub steps: Vec<Step>,
}

fn usual_session() -> String {
    "00000000-0000-4000-8000-000000000001".to_owned()
}

/// The protocols it can speak.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Speech {
    /// Plain text with markers.
    #[default]
    Markers,
    /// As `claude` with streamed JSON.
    ClaudeStreamJson,
    /// As `codex exec --json`.
    CodexJson,
}

named! {
    /// A signal that can be ignored.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
    #[serde(rename_all = "UPPERCASE")]
    pub enum Ignored {
        /// SIGTERM
        Term = "TERM",
        /// SIGTSTP
        Tstp = "TSTP",
        /// SIGINT
        Int = "INT",
        /// SIGHUP
        Hup = "HUP",
    }
}

/// A stream that can be closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Closed {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// One thing it does.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Step {
    /// Says this, ended by a line end. `{input}` stands for the last message it was told.
    Say(String),
    /// Writes a file.
    Write {
        /// Where, from the folder it works in.
        path: String,
        /// What. `{input}` stands for the last message it was told.
        text: String,
        /// Behind what is in the file, instead of in its place.
        #[serde(default)]
        append: bool,
    },
    /// Uses a tool.
    Tool {
        /// Its name.
        name: String,
        /// What it gives back.
        #[serde(default)]
        output: String,
    },
    /// Asks leave for a tool and waits for the answer, in protocols where the client does. The answer is the next `{input}`.
    Leave {
        /// The tool.
        tool: String,
        /// What it would be used with.
        #[serde(default)]
        input: serde_json::Map<String, serde_json::Value>,
    },
    /// Begins a step of its plan.
    Progress {
        /// Which.
        step: u32,
        /// Of how many.
        of: u32,
        /// Its name.
        name: String,
    },
    /// Asks a person. Whether it waits for the answer is a step of its own, except in protocols where the client waits.
    Ask {
        /// The question.
        question: String,
        /// What it is about.
        category: Category,
        /// What to choose from.
        #[serde(default)]
        options: Vec<String>,
        /// What to take if nobody answers.
        default: Option<String>,
        /// Whether it needs the answer.
        #[serde(default = "yes")]
        required: bool,
    },
    /// Requests a dependency.
    Need {
        /// What kind of thing.
        #[serde(rename = "type")]
        kind: DependencyType,
        /// Its name.
        name: String,
        /// What it is for.
        description: String,
        /// What to take if it is not given.
        default: Option<String>,
        /// Whether it can go on without.
        #[serde(default = "yes")]
        required: bool,
    },
    /// Says that a phase is complete.
    Phase {
        /// Which, from 1.
        number: u32,
        /// Its name.
        name: Option<String>,
        /// What was made.
        #[serde(default)]
        files: Vec<String>,
    },
    /// Says that a task without phases is complete.
    Done {
        /// What was done.
        summary: Option<String>,
    },
    /// Reports an error of its own.
    Fail {
        /// Why.
        message: String,
        /// Whether that is the end. Otherwise a person is told and it goes on.
        #[serde(default = "yes")]
        fatal: bool,
    },
    /// Runs into a limit.
    Limit {
        /// Seconds until it is lifted.
        retry_after: Option<u64>,
        /// When it is lifted, in seconds since 1970.
        resets_at: Option<i64>,
    },
    /// Says what it used since the turn before.
    Usage {
        /// Tokens read.
        input: u64,
        /// Tokens written.
        output: u64,
        /// Dollars, told where the protocol has them.
        #[serde(default)]
        usd: f64,
    },
    /// Ends its turn and waits for a message: any (`""`), or one with this name, such as `REVIEW_APPROVED`.
    Wait(String),
    /// Ends its turn and waits for a message as [`Step::Wait`] does; whenever one named in `on` comes before it, plays `steps` and
    /// waits again.
    Loop {
        /// Messages that are answered.
        on: Vec<String>,
        /// What it does for each.
        #[serde(rename = "step")]
        steps: Vec<Step>,
        /// The message that ends it.
        until: String,
    },
    /// Goes on with its turn for ever, until it is interrupted or ended.
    Hold(bool),
    /// Does nothing for so many milliseconds.
    SleepMs(u64),
    /// Starts other processes that do nothing, and does not look after them.
    Fork {
        /// How many.
        #[serde(default = "one")]
        count: u32,
        /// How long each lasts.
        seconds: u64,
        /// Whether each is in a session of its own, as a daemon is.
        #[serde(default)]
        daemon: bool,
    },
    /// Prints much.
    Flood {
        /// How much.
        bytes: u64,
        /// Bytes in one line with its end; 0 for a single line without an end.
        #[serde(default = "usual_line")]
        line_bytes: u64,
    },
    /// Prints this as it is, also what the protocol does not allow.
    Raw(String),
    /// Closes one of its streams and goes on.
    Close(Closed),
    /// Becomes another program.
    Exec(Vec<String>),
    /// Ends by a signal, as a program does that breaks.
    Crash(bool),
    /// Ends with this code.
    Exit(u8),
}

impl Step {
    /// Whether it ends its turn with this step and waits for a message.
    pub fn waits(&self) -> bool {
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

/// Why a scenario cannot be played.
#[derive(Debug, Error)]
#[error("the scenario cannot be read: {problem}")]
pub struct ScenarioError {
    problem: String,
}

impl Scenario {
    /// Reads the text of a scenario file.
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        toml::from_str(text).map_err(|error| {
            let told = error.to_string();
            // The parser's own words for a step with several keys, or none, do not say what to do.
            let problem = match told.split_once("wanted exactly 1 element") {
                Some((place, _)) => format!("{place}a step has one key; begin each with [[step]]"),
                None => told.trim_end().to_owned(),
            };
            ScenarioError { problem }
        })
    }

    /// The first step of a run: behind the completion of the phase before `phase`, and behind `turns` waits from there on.
    pub fn first_step(&self, phase: u32, turns: usize) -> usize {
        let done = phase.saturating_sub(1);
        let behind = |place: Option<usize>| place.map_or(0, |place| place + 1);
        let begin = behind(self.steps.iter().rposition(
            |step| matches!(step, Step::Phase { number, .. } if *number == done && done > 0),
        ));
        let waits = self.steps[begin..]
            .iter()
            .enumerate()
            .filter(|(_, step)| step.waits());
        match turns.checked_sub(1) {
            None => begin,
            Some(turn) => begin + behind(waits.map(|(place, _)| place).nth(turn)),
        }
    }
}

#[cfg(test)]
mod tests;
