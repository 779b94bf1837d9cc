//! `bowline orchestrate rehearse`: simulates the plan with the rules and the conductor of a real
//! run.

use crate::output::{CommandOutput, TextTone};
use bowline_engine::operations::orchestrate::Orchestration;
use bowline_engine::{Context, Error};
use bowline_runner::orchestrate::{SimulationOptions, simulate_runs};
use bowline_words::message::OutputNote;
use serde_json::json;
use std::path::Path;
use std::process::ExitCode;

const MINUTE_MS: i64 = 60_000;

pub(crate) fn run(
    context: &Context,
    output: &CommandOutput,
    folder: &Path,
    options: &SimulationOptions,
) -> Result<ExitCode, Error> {
    let orchestration = Orchestration::in_folder(context, folder);
    let prospect = simulate_runs(context, &orchestration, options)?;
    let times = &prospect.took_ms;
    let at = |percent: usize| {
        times
            .get((times.len().saturating_sub(1)) * percent / 100)
            .copied()
    };
    if output.json {
        let worst = prospect.worst.iter();
        let worst = worst.map(|(id, count)| json!({ "id": id, "blocks": count }));
        let body = json!({
            "kind": "orchestrate",
            "runs": prospect.runs,
            "finished": times.len(),
            "minutes": { "shortest": at(0).map(whole_minutes), "median": at(50).map(whole_minutes), "nineInTen": at(90).map(whole_minutes), "longest": at(100).map(whole_minutes) },
            "stalledSeeds": prospect.stalled,
            "wouldBlock": worst.collect::<Vec<_>>(),
        });
        output.print_line(&body.to_string());
        return Ok(ExitCode::SUCCESS);
    }
    let said = OutputNote::Rehearsed {
        ended: times.len(),
        runs: prospect.runs,
    };
    output.print_line(&said.say(output.lang));
    if let (Some(least), Some(middle), Some(most)) = (at(0), at(50), at(90)) {
        let (least, middle, most) = (
            format_hours(least),
            format_hours(middle),
            format_hours(most),
        );
        let said = OutputNote::RehearsedTime {
            least,
            middle,
            most,
        };
        output.print_line(&said.say(output.lang));
    }
    for (id, count) in prospect.worst {
        let said = OutputNote::RehearsedBlocks { id, count };
        output.print_line(&output.colour_text(TextTone::Faint, &said.say(output.lang)));
    }
    Ok(ExitCode::SUCCESS)
}

fn whole_minutes(ms: i64) -> i64 {
    ms / MINUTE_MS
}

fn format_hours(ms: i64) -> String {
    let minutes = whole_minutes(ms);
    format!("{}h{:02}", minutes / 60, minutes % 60)
}
