//! `bowline orchestrate timeline`.

use crate::args::choice::TimelineFormat;
use crate::output::CommandOutput;
use bowline_engine::formats::time::format_utc;
use bowline_engine::operations::orchestrate::{Timeline, save_file};
use bowline_engine::words::display_path;
use bowline_engine::{Context, Error};
use bowline_words::message::Confirmation;
use serde_json::{Value, json};
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn print_timeline(
    context: &Context,
    output: &CommandOutput,
    timeline: &Timeline,
    format: TimelineFormat,
    file: Option<&Path>,
    force: bool,
) -> Result<ExitCode, Error> {
    // `--json` on standard output wins over the format of the picture.
    let text = match (format, output.json && file.is_none()) {
        (TimelineFormat::Svg, false) => timeline.to_svg(output.lang),
        (TimelineFormat::Json, _) | (_, true) => format!("{}\n", to_json(timeline)),
    };
    match file {
        Some(file) => {
            save_file(context, file, &text, force)?;
            let body = json!({
                "kind": "orchestrate",
                "path": file,
                "criticalPath": timeline.critical,
                "busySeconds": timeline.busy_seconds,
            });
            let path = display_path(file);
            output.print_outcome(body, &[Confirmation::FileWritten { path }.say(output.lang)]);
        }
        None => output.print_raw(&text),
    }
    Ok(ExitCode::SUCCESS)
}

fn to_json(timeline: &Timeline) -> Value {
    let tasks = timeline.bars.iter().map(|bar| {
        let attempts = bar.tries.iter().map(
            |one| json!({ "from": format_utc(one.from), "to": format_utc(one.to), "ended": one.end.name() }),
        );
        json!({
            "id": bar.id,
            "title": bar.title,
            "phase": bar.phase,
            "status": bar.status.name(),
            "critical": bar.critical,
            "attempts": attempts.collect::<Vec<_>>(),
        })
    });
    let phases = timeline.lanes.iter().map(|lane| {
        json!({
            "number": lane.number,
            "title": lane.title,
            "from": lane.span.map(|it| format_utc(it.0)),
            "to": lane.span.map(|it| format_utc(it.1)),
        })
    });
    json!({
        "kind": "orchestrate",
        "project": timeline.project,
        "from": timeline.span().map(|it| format_utc(it.0)),
        "to": timeline.span().map(|it| format_utc(it.1)),
        "busySeconds": timeline.busy_seconds,
        "phases": phases.collect::<Vec<_>>(),
        "tasks": tasks.collect::<Vec<_>>(),
        "criticalPath": timeline.critical,
    })
}
