//! Parses what people give to `bowline memory` as arguments and files.

use bowline_engine::Error;
use bowline_engine::formats::memory::path::VALUE_BYTES_MAX;
use bowline_engine::operations::memory::{NewStep, NewTask, TaskArtifact, parse_value};
use bowline_engine::words::{display_path, system_cause};
use bowline_words::message::{Advice, Why, Wrong};
use serde_json::Value;
use std::io::Read as _;
use std::path::Path;

/// Argument that means standard input where a value is expected: an argument cannot be as long as a
/// value may be.
const STDIN: &str = "-";

/// Parses a value: JSON if it is JSON, else text; `-` reads it from standard input.
pub(crate) fn value_argument(text: &str) -> Result<Value, Error> {
    if text != STDIN {
        return parse_value(text);
    }
    let bad = |error: std::io::Error| Error::BadInput {
        message: Wrong::ValueUnreadable {
            cause: system_cause(&error),
        },
        hint: Advice::GiveValue,
    };
    // Reads no more than it takes to refuse the value as too large.
    let limit = u64::try_from(2 * VALUE_BYTES_MAX).unwrap_or(u64::MAX);
    let mut input = String::new();
    let mut stdin = std::io::stdin().take(limit);
    stdin.read_to_string(&mut input).map_err(bad)?;
    parse_value(input.strip_suffix('\n').unwrap_or(&input))
}

/// Parses `name=…,agent=…,cluster=…,deps=1+2`.
pub(crate) fn parse_step(given: &str) -> Result<NewStep, Error> {
    let bad = |message: Wrong| Error::BadInput {
        message,
        hint: Advice::StepExample,
    };
    let mut step = NewStep::default();
    let mut keys = Vec::new();
    for part in given.split(',') {
        let (key, value) = part
            .split_once('=')
            .ok_or_else(|| bad(Wrong::NotKeyValue { text: part.into() }))?;
        let (key, value) = (key.trim(), value.trim());
        if keys.contains(&key) {
            return Err(bad(Wrong::GivenTwice { name: key.into() }));
        }
        keys.push(key);
        match key {
            "name" => step.name = value.to_owned(),
            "agent" => step.agent = value.to_owned(),
            "cluster" => step.cluster = value.to_owned(),
            "id" => {
                step.id = Some(
                    value
                        .parse()
                        .map_err(|_| bad(Wrong::NotAStepNumber { text: value.into() }))?,
                )
            }
            "deps" => {
                for number in value.split('+').filter(|number| !number.is_empty()) {
                    let id = number.trim().parse().map_err(|_| {
                        bad(Wrong::NotAStepNumber {
                            text: number.into(),
                        })
                    })?;
                    step.dependencies.push(id);
                }
            }
            other => return Err(bad(Wrong::NoStepField { name: other.into() })),
        }
    }
    Ok(step)
}

/// Reads a plan file with `goal`, `success_criteria` and `steps` as in the state file.
pub(crate) fn read_plan(path: &Path, new: &mut NewTask) -> Result<(), Error> {
    let bad = |why: Why| Error::BadInput {
        message: Wrong::InFile {
            path: display_path(path),
            why,
        },
        hint: Advice::PlanShape,
    };
    let text = std::fs::read_to_string(path).map_err(|error| {
        bad(Why::System {
            cause: system_cause(&error),
        })
    })?;
    let value: Value = serde_json::from_str(&text).map_err(|error| {
        bad(Why::NotJson {
            text: error.to_string(),
        })
    })?;
    if new.goal.is_empty() {
        new.goal = text_field(&value, "goal");
    }
    let criteria = value["success_criteria"].as_array().into_iter().flatten();
    new.success_criteria
        .extend(criteria.filter_map(Value::as_str).map(str::to_owned));
    let steps = value["steps"].as_array().ok_or_else(|| bad(Why::NoSteps))?;
    for step in steps {
        let number = |value: &Value| value.as_u64().and_then(|id| u32::try_from(id).ok());
        // The option --step calls them `deps`.
        let dependencies = match (&step["dependencies"], &step["deps"]) {
            (Value::Null, Value::Null) => &[],
            (Value::Array(ids), Value::Null) | (Value::Null, Value::Array(ids)) => ids.as_slice(),
            (given, Value::Null) | (Value::Null, given) => {
                return Err(bad(Why::NotStepNumbers {
                    text: given.to_string(),
                }));
            }
            (_, _) => return Err(bad(Why::DepsTwice)),
        };
        let id = match &step["id"] {
            Value::Null => None,
            given => {
                let id = number(given);
                Some(id.ok_or_else(|| {
                    bad(Why::NotAStepNumber {
                        text: given.to_string(),
                    })
                })?)
            }
        };
        new.steps.push(NewStep {
            id,
            name: text_field(step, "name"),
            agent: text_field(step, "agent"),
            cluster: text_field(step, "cluster"),
            dependencies: dependencies
                .iter()
                .map(|id| {
                    number(id).ok_or_else(|| {
                        bad(Why::NotAStepNumber {
                            text: id.to_string(),
                        })
                    })
                })
                .collect::<Result<_, _>>()?,
        });
    }
    Ok(())
}

pub(crate) fn parse_artifact(kind: &str, given: &str) -> TaskArtifact {
    let (path, description) = given.split_once(':').unwrap_or((given, ""));
    TaskArtifact {
        kind: kind.to_owned(),
        path: path.to_owned(),
        description: description.to_owned(),
    }
}

fn text_field(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}
