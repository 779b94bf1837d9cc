//! A process of its own that does what `bowline` does, on a disk that takes its time before every single operation.

use crate::drill::common::{Random, pause};
use bowline_engine::files::{ChangeOutcome, KnownFile};
use bowline_engine::history::RestoreOptions;
use bowline_engine::operations::memory::{FinishReport, MemoryFolder, NewTask};
use bowline_engine::operations::thinking::{ThinkingRun, ThinkingStage};
use bowline_engine::{Context, Error, ExitClass, doctor, history, workspace};
use bowline_test_support::{DiskFault, FaultyDisk};
use bowline_words::message::{Advice, Wrong};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use xtask::Outcome;

/// The disk waits at most so long.
const DELAY_MICROS_MAX: u64 = 3_000;

/// Whether [`run`] can do what a command line says.
pub(super) fn knows(words: &[&str]) -> bool {
    matches!(
        words,
        ["memory", "context", "append" | "set", _, _]
            | ["memory", "agent", "append", _, _, _]
            | ["memory", "task", "new" | "finish" | "cancel", ..]
            | ["thinking", "output", "planning", _]
            | ["undo", ..]
            | ["restore", ..]
            | ["doctor", "--repair", _]
    )
}

/// Does it in this folder and prints the answer as `bowline --json` does.
pub(crate) fn run(seed: &str, words: &[&str]) -> Outcome {
    let seed = seed.parse().map_err(|_| format!("'{seed}' is no number"))?;
    let dice = Mutex::new(Random(seed));
    let disk = FaultyDisk::new(0, DiskFault::Io, false).with_hook(move |_| {
        let micros = dice
            .lock()
            .map_or(0, |mut dice| dice.below(DELAY_MICROS_MAX));
        pause(Duration::from_micros(micros));
    });
    let mut context = Context::from_environment(&words.join(" "));
    context.disk = Arc::new(disk);
    let answer = act(&context, words).unwrap_or_else(|error| {
        let failed = matches!(error.exit_class(), ExitClass::Failure);
        json!({ "error": { "code": error.code(), "message": error.to_string(), "failed": failed } })
    });
    println!("{answer}");
    Ok(())
}

fn act(context: &Context, words: &[&str]) -> Result<Value, Error> {
    let here = Path::new(".");
    let memory = MemoryFolder::in_folder(context, &here.join(bowline_engine::kinds::MEMORY_FOLDER));
    let file = |name: &str| {
        let (kind, path) = workspace::resolve_file(context, here, Some(name))?;
        Ok::<_, Error>(KnownFile::new(context, kind, &path))
    };
    let changed = match words {
        ["memory", "context", "append", path, value] => {
            memory.context_append(context, path, &Value::from(*value))?
        }
        ["memory", "context", "set", path, value] => {
            memory.context_set(context, path, &Value::from(*value))?
        }
        ["memory", "agent", "append", name, path, value] => {
            memory.agent_append(context, name, path, &Value::from(*value))?
        }
        ["memory", "task", "new", name, ..] => {
            let new = NewTask {
                name: (*name).to_owned(),
                ..NewTask::default()
            };
            memory.task_new(context, &new)?.with_state(())
        }
        ["memory", "task", "finish", ..] => {
            let changed = memory.task_finish(context, FinishReport::default())?;
            changed.with_state(())
        }
        ["memory", "task", "cancel"] => memory.task_cancel(context)?.with_state(()),
        ["thinking", "output", "planning", path] => {
            let paths = [(*path).to_owned()];
            ThinkingRun::in_folder(context, here)
                .record_outputs(context, ThinkingStage::Planning, &paths)?
                .with_state(())
        }
        ["undo", name, options @ ..] => history::undo_transition(
            context,
            &file(name)?,
            RestoreOptions::from_now(!options.is_empty()),
        )?
        .with_state(()),
        ["restore", name, sequence, ..] => {
            let sequence = sequence.parse().map_err(|_| Error::BadInput {
                message: Wrong::NotATransition {
                    number: (*sequence).into(),
                },
                hint: Advice::Nothing,
            })?;
            history::restore_version(
                context,
                &file(name)?,
                sequence,
                RestoreOptions::from_now(true),
            )?
        }
        ["doctor", "--repair", name] => {
            let diagnosis = doctor::repair_file(context, &file(name)?)?;
            let repairs: Vec<String> = diagnosis.repairs.iter().map(ToString::to_string).collect();
            return Ok(json!({ "healthy": diagnosis.is_healthy(), "repairs": repairs }));
        }
        _ => {
            return Err(Error::BadInput {
                message: Wrong::NoSuchOperation {
                    words: words.join(" "),
                },
                hint: Advice::Nothing,
            });
        }
    };
    Ok(answer(&changed))
}

fn answer(changed: &ChangeOutcome) -> Value {
    json!({
        "path": changed.view.path,
        "sequence": changed.view.sequence,
        "to": changed.moved.to,
    })
}
