//! Benchmarks, run by `cargo xtask bench`: every figure stands beside its floor, taken in the same run.
//!
//! The tables go to standard output as Markdown; what is being measured right now goes to standard error.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark talks to whoever runs it"
)]

mod agents;
mod dag;
mod graphs;
mod growth;
mod hook;
mod jobs;
mod journal;
mod lookback;
mod markers;
mod measure;
mod options;
mod output;
mod raw;
mod ready_set;
mod report;
mod server;
mod shims;
mod transition;

use options::Options;
use report::Report;
use std::process::ExitCode;

/// A benchmark that could not be taken says why.
type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// Takes one benchmark.
type Bench = fn(&Options) -> Outcome<Report>;

/// The benchmarks in the order they are run.
const ALL: [(&str, Bench); 19] = [
    ("transition", transition::run),
    ("lookback", lookback::run),
    ("hook", hook::run),
    ("journal", journal::run),
    ("markers", markers::run),
    ("agents", agents::run),
    ("ready-set", ready_set::run),
    ("growth", growth::run),
    ("dag", dag::engine),
    ("dag-shims", dag::shims),
    ("dag-growth", dag::growth),
    ("jobs", jobs::one),
    ("jobs-many", jobs::many),
    ("jobs-growth", jobs::growth),
    ("server", server::restart),
    ("server-agents", server::agents),
    ("shims", shims::shims),
    ("agent-start", shims::start),
    ("agent-output", shims::output),
];

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("benches: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Outcome {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let options = Options::parse(&words)?;
    let chosen: Vec<_> = ALL.iter().filter(|(name, _)| options.wants(name)).collect();
    if chosen.is_empty() {
        let names: Vec<&str> = ALL.iter().map(|(name, _)| *name).collect();
        return Err(format!("no such benchmark; there are: {}", names.join(", ")).into());
    }
    for (name, bench) in chosen {
        eprintln!("measuring {name} …");
        let report = bench(&options).map_err(|error| format!("{name}: {error}"))?;
        println!("{report}");
    }
    Ok(())
}
