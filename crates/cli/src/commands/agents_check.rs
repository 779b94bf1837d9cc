//! `bowline agents check`: reports which configured agents can be started here.

use super::remote::print_server_trouble;
use crate::output::{CommandOutput, TextTone};
use bowline_engine::formats::client_hooks::quote_word;
use bowline_engine::{Context, Error, process};
use bowline_server::jobs::{config_file, is_installed, known_agents};
use bowline_words::message::TaskOutput;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

/// Time limit for a program to print its version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(20);
/// Most characters of a version that are shown.
const VERSION_MAX: usize = 80;

pub(crate) fn run(
    context: &Context,
    output: &CommandOutput,
    folder: &Path,
) -> Result<ExitCode, Error> {
    let config = config_file(context, folder, None);
    let (agents, usual) = match known_agents(context, config.as_deref()) {
        Ok(known) => known,
        Err(trouble) => return Ok(print_server_trouble(output, &trouble)),
    };
    let mut items = Vec::new();
    let mut lines = Vec::new();
    let mut good = true;
    for (name, agent) in &agents {
        let program = agent.command.first().cloned().unwrap_or_default();
        let found = is_installed(&program);
        let is_default = *name == usual;
        good &= found || !is_default;
        let version = found
            .then(|| program_version(context, folder, &program))
            .flatten();
        let missing = (!found).then(|| {
            let program = program.clone();
            TaskOutput::AgentMissing { program }.say(output.lang)
        });
        let next = (!found).then(|| TaskOutput::AgentInstall { program }.say(output.lang));
        let state = match (&missing, &version) {
            (Some(missing), _) => output.colour_text(TextTone::Bad, missing),
            (None, Some(version)) => {
                let ready =
                    output.colour_text(TextTone::Good, &TaskOutput::AgentReady.say(output.lang));
                format!("{ready}: {version}")
            }
            (None, None) => {
                let ready =
                    output.colour_text(TextTone::Good, &TaskOutput::AgentReady.say(output.lang));
                format!("{ready} ({})", TaskOutput::AgentUnsure.say(output.lang))
            }
        };
        let usual = match is_default {
            true => format!("  ({})", TaskOutput::AgentDefault.say(output.lang)),
            false => String::new(),
        };
        lines.push(format!(
            "{name:<12} {:<18} {state}{usual}",
            agent.protocol.name()
        ));
        if let Some(next) = &next {
            lines.push(output.colour_text(TextTone::Faint, &format!("    {next}")));
        }
        items.push(json!({
            "name": name, "protocol": agent.protocol.name(), "command": agent.command, "found": found,
            "version": version, "isDefault": is_default, "missing": missing, "next": next,
        }));
    }
    output.print_outcome(json!({ "items": items, "ok": good }), &lines);
    Ok(match good {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(1),
    })
}

/// Returns the first line that a program prints for `--version`, if it ends with 0 and the line has
/// a digit.
fn program_version(context: &Context, folder: &Path, program: &str) -> Option<String> {
    let variables: BTreeMap<String, String> = ["PATH", "HOME"]
        .iter()
        .filter_map(|name| {
            let value = context.variables.get(name)?.to_str()?;
            Some(((*name).to_owned(), value.to_owned()))
        })
        .collect();
    let command = format!("{} --version </dev/null", quote_word(program));
    let ran = process::run_in(&command, folder, &variables, VERSION_TIMEOUT).ok()?;
    let line = ran.output_tail.lines().find(|it| !it.trim().is_empty())?;
    let line: String = line.trim().chars().take(VERSION_MAX).collect();
    (ran.exit_code == 0 && line.bytes().any(|it| it.is_ascii_digit())).then_some(line)
}
