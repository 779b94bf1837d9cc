//! Chores of this repository: `cargo xtask test | clients | clocks | rest | web | demo | walk | install | docs | outward | drill | bench | fuzz`.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a chore talks to whoever runs it"
)]

mod bench;
mod clients;
mod clocks;
mod fuzz;
#[cfg(test)]
mod names;
mod reaper;
mod release;
#[cfg(test)]
mod stored_names;
mod test;
#[cfg(test)]
mod tree;
mod web;

use std::process::{Command, ExitCode};
use xtask::Outcome;
use xtask::shell::{BUILT_VARIABLE, bowline, build, built, command};

const HELP: &str = "\
cargo xtask test                everything CI runs: format, lints, tests, docs, small drills
cargo xtask clients             the tests with the real agent clients, which are installed below target/
cargo xtask web                 the web page, built into web/dist with packages of the npm registry
    --test                      its tests in a real browser against a real server
    --pictures                  docs/screenshots: every page in both languages and themes
    --measure                   how fast it is
cargo xtask rest [--examples N] [--seed N]
                                the REST interface of a real server against docs/openapi.json, by Schemathesis (PyPI)
cargo xtask demo [OPTION]...    the task server with scripted agents: no key, no network; --check walks through it alone
cargo xtask clocks              how long the demo and the tests take in a fresh clone, with nothing built
cargo xtask walk                a walk through the commands, in a temporary folder
cargo xtask install [--root DIR] the programs as they are released, in DIR/bin (default: cargo's own)
cargo xtask docs [--check]      write the generated pages of docs/, or check that they are up to date
cargo xtask outward [--check]   write docs/outward.txt, every name that others meet, or check that it is up to date
cargo xtask bench [--quick] [--rounds N] [--write] [NAME]...
    transition | journal | markers | agents | ready-set | growth | shims | agent-start | agent-output
            figures beside their floors; --write puts them into docs/
cargo xtask fuzz [--seconds N] [TARGET]...
    feeds every parser with inputs found by coverage, N seconds each (5); needs a C++ compiler
cargo xtask drill NAME [--KEY N]...
    gates     --count 200                                   a gate is passed and the process killed at every moment
    supervisor --clients 500 --shims 100                    clients and shims of agents killed at random
    orchestrate --kills 200 --tasks 60 --phases 5 [--seed N] a run of many agents, killed and gone on with
    server    --kills 300 --agents 50 [--seed N]            the task server and shims killed while agents and a person work
    churn     --tasks 20000 --clients 16 --kills 30 --full-disks 5 --no-descriptors 5 [--minutes 20] [--seed N]
                                                            tasks created, awaited and deleted, with faults in between
    upgrade   --times 50 --agents 100 [--reboots 3]         the programs exchanged under agents, and the machine going down
    history   --operations 10000 --processes 32 [--seed N] [--keep-going 1]
              every verb that writes at once, with kills, stops, slow disks, foreign editors, undo, restore and repair;
              then every answer is held against the history
";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["test"] => reaper::around("everything"),
        ["everything"] => test::run(),
        ["clients"] => clients::run(),
        ["web"] => web::build(),
        ["web", "--test"] => web::build().and_then(|()| web::test(&bowline()?)),
        ["web", "--pictures"] => web::pictures(),
        ["web", "--measure"] => web::measure(),
        ["demo", options @ ..] => demo(options),
        ["clocks"] => clocks::run(),
        ["install", options @ ..] => release::install(options),
        ["docs", ..] => build(&["chores"]).and_then(|()| chore("chores", &words)),
        ["outward", options @ ..] => build(&["chores"]).and_then(|()| chore("outward", options)),
        ["drill" | "rest" | "walk", ..] => {
            build(&["chores", "bowline", "bowline-shim"]).and_then(|()| chore("chores", &words))
        }
        ["bench", options @ ..] => bench::run(options),
        ["fuzz", options @ ..] => fuzz::run(options),
        [] | ["help" | "--help" | "-h"] => {
            println!("{HELP}");
            Ok(())
        }
        [other, ..] => Err(format!("unknown chore '{other}'\n\n{HELP}")),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

/// The task server with scripted agents, until Ctrl-C or the end of `--check`.
fn demo(options: &[&str]) -> Outcome {
    if let Err(why) = web::build_if_possible() {
        println!("the web page could not be built, and the demo goes on without: {why}");
    }
    println!("building Bowline, which takes some minutes the first time …");
    run(Command::new(bowline()?).arg("demo").args(options))
}

/// Runs a chore that needs the crates of Bowline, by a program of the package `chores`.
fn chore(program: &str, words: &[&str]) -> Outcome {
    let program = built().join(program);
    run(command(&program.to_string_lossy(), words).env(BUILT_VARIABLE, "1"))
}

fn run(command: &mut Command) -> Outcome {
    let name = command.get_program().to_string_lossy().into_owned();
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{name}: {status}")),
        Err(error) => Err(format!("{name}: {error}")),
    }
}
