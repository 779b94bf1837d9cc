//! `bowline scripted FILE`.

use crate::output::CommandOutput;
use bowline_engine::Error;
use bowline_scripted::{OUTPUT_GONE, ScriptedAgent};
use bowline_words::message::Label;
use serde_json::json;
use std::io;
use std::path::Path;
use std::process::ExitCode;

/// Plays the scenario in `file`, from the turn `turn` on.
pub(crate) fn run(
    output: &CommandOutput,
    folder: &Path,
    file: &Path,
    turn: usize,
) -> Result<ExitCode, Error> {
    let path = folder.join(file);
    let agent = ScriptedAgent::load(&path, folder, turn)?;
    if output.dry_run {
        let steps = agent.step_count();
        let text = format!("{}: {steps}", output.label(Label::Steps));
        output.print_outcome(json!({ "scenario": path, "steps": steps }), &[text]);
        return Ok(ExitCode::SUCCESS);
    }
    let code = agent.play().unwrap_or_else(|error| {
        // A closed pipe needs no error message.
        if error.kind() != io::ErrorKind::BrokenPipe {
            output.print_stderr(&format!("{}: {error}", output.label(Label::Error)));
        }
        OUTPUT_GONE
    });
    Ok(ExitCode::from(code))
}
