//! `bowline orchestrate rehearse`: the plan over simulated time, with the rules and the conductor of a real run.

use crate::output::{Output, Tone};
use bowline_engine::formats::orchestrate::Mode;
use bowline_engine::operations::orchestrate::Orchestration;
use bowline_engine::{Context, Error};
use bowline_runner::orchestrate::{Config, Id, Run, Status};
use bowline_runner::orchestrate::{Ended, Odds, Options, rehearse_from, rules, settings_of};
use bowline_words::message::Told as Said;
use serde_json::json;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;

const MINUTE_MS: i64 = 60_000;
/// Tasks named whose failure would block most.
const NAMED_MAX: usize = 5;

/// What is asked for.
pub(crate) struct Wish {
    pub(crate) seeds: u64,
    pub(crate) minutes: (u32, u32),
    pub(crate) failing: u32,
    pub(crate) parallel: Option<u32>,
}

pub(crate) fn run(
    context: &Context,
    output: &Output,
    folder: &Path,
    wish: &Wish,
) -> Result<ExitCode, Error> {
    let orchestration = Orchestration::at(context, folder);
    let run = orchestration.prospect(context)?;
    let settings = settings_of(orchestration.root())?;
    let config = run.config();
    let run = run.with_config(Config {
        max_parallel: wish.parallel.unwrap_or(config.max_parallel),
        ..config
    });
    let rules = rules(&Options::default(), &settings, Mode::Normal);
    let odds = Odds {
        fails: u64::from(wish.failing.min(100)) * 10,
        ..Odds::NONE
    };
    let (from, to) = (wish.minutes.0.min(wish.minutes.1), wish.minutes.1);
    let takes = (i64::from(from) * MINUTE_MS, i64::from(to) * MINUTE_MS + 1);
    let mut times = Vec::new();
    let mut stalled = Vec::new();
    for seed in 0..wish.seeds.max(1) {
        let outcome = rehearse_from(run.clone(), &rules, odds, takes, seed)?;
        match outcome.ended {
            Ended::AllDone => times.push(outcome.took_ms),
            Ended::Stalled | Ended::Stuck { .. } | Ended::Left => stalled.push(seed),
        }
    }
    times.sort_unstable();
    let at = |percent: usize| {
        times
            .get((times.len().saturating_sub(1)) * percent / 100)
            .copied()
    };
    let worst = worst(&run);
    if output.json {
        let worst = worst
            .iter()
            .map(|(id, count)| json!({ "id": &**id, "blocks": count }));
        let body = json!({
            "kind": "orchestrate",
            "runs": wish.seeds.max(1),
            "finished": times.len(),
            "minutes": { "shortest": at(0).map(minutes), "median": at(50).map(minutes), "nineInTen": at(90).map(minutes), "longest": at(100).map(minutes) },
            "stalledSeeds": stalled,
            "wouldBlock": worst.collect::<Vec<_>>(),
        });
        output.line(&body.to_string());
        return Ok(ExitCode::SUCCESS);
    }
    let said = Said::Rehearsed {
        ended: times.len(),
        runs: wish.seeds.max(1),
    };
    output.line(&said.say(output.lang));
    if let (Some(least), Some(middle), Some(most)) = (at(0), at(50), at(90)) {
        let (least, middle, most) = (shown(least), shown(middle), shown(most));
        let said = Said::RehearsedTime {
            least,
            middle,
            most,
        };
        output.line(&said.say(output.lang));
    }
    for (id, count) in worst {
        let id = id.to_string();
        let said = Said::RehearsedBlocks { id, count };
        output.line(&output.tone(Tone::Faint, &said.say(output.lang)));
    }
    Ok(ExitCode::SUCCESS)
}

fn minutes(ms: i64) -> i64 {
    ms / MINUTE_MS
}

fn shown(ms: i64) -> String {
    let minutes = minutes(ms);
    format!("{}h{:02}", minutes / 60, minutes % 60)
}

/// The tasks whose failure would block most others.
fn worst(run: &Run) -> Vec<(Id, usize)> {
    let graph = run.graph();
    let open = run
        .nodes()
        .filter(|(_, node)| node.status != Status::Completed);
    let mut all: Vec<(Id, usize)> = open
        .map(|(id, _)| {
            let mut found = BTreeSet::new();
            let mut next = graph.dependents_of(id);
            while let Some(one) = next.pop() {
                if found.insert(one.clone()) {
                    next.extend(graph.dependents_of(&one));
                }
            }
            (id.clone(), found.len())
        })
        .filter(|(_, count)| *count > 0)
        .collect();
    all.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    all.truncate(NAMED_MAX);
    all
}
