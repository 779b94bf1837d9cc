//! Writes `docs/outward.txt`, every name that others meet, or compares it with the code (`--check`).
//!
//! A program of its own: it has the command line's definition as a module, which brings tests.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a chore talks to whoever runs it"
)]

#[path = "../../../../crates/cli/src/args/mod.rs"]
mod args;
mod contracts;
mod scan;
mod shapes;
mod stored;

use std::collections::BTreeSet;
use std::process::ExitCode;
use xtask::Outcome;
use xtask::shell::root;

const PAGE: &str = "docs/outward.txt";
const HEAD: &str = "\
Every name that others meet: programs that call Bowline, files and stores that older and newer programs share, agents.
Written by `cargo xtask outward` and compared by the tests. A name that changes here changes for everybody.
Lines of sections marked 'scan' are found in the sources by their spelling; the others come from the tables themselves.
";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        [] => write(),
        ["--check"] => check(),
        other => Err(format!("outward takes --check or nothing, not {other:?}")),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

fn write() -> Outcome {
    let sections = sections()?;
    std::fs::write(root().join(PAGE), page(&sections))
        .map_err(|error| format!("{PAGE}: {error}"))?;
    for (title, lines) in &sections {
        println!("{:5}  {title}", lines.len());
    }
    println!("wrote {PAGE}");
    Ok(())
}

/// Fails with the lines that differ.
fn check() -> Outcome {
    let page = page(&sections()?);
    let kept = std::fs::read_to_string(root().join(PAGE)).unwrap_or_default();
    if kept == page {
        println!("{PAGE} is up to date");
        return Ok(());
    }
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<BTreeSet<_>>();
    let (kept, found) = (lines(&kept), lines(&page));
    let gone = kept.difference(&found).map(|line| format!("- {line}\n"));
    let new = found.difference(&kept).map(|line| format!("+ {line}\n"));
    let changes: String = gone.chain(new).collect();
    Err(format!(
        "names that others meet have changed; where that is meant, run 'cargo xtask outward':\n{changes}"
    ))
}

type Section = (&'static str, BTreeSet<String>);

fn sections() -> Outcome<Vec<Section>> {
    let scanned = scan::names()?;
    Ok(vec![
        ("REST: routes, parameters, bodies, words", contracts::rest()),
        (
            "Command line: verbs, options, words",
            contracts::command_line(),
        ),
        ("Tools of the Model Context Protocol", contracts::tools()),
        ("Error codes", contracts::codes()?),
        (
            "State files and settings: keys and words, by schema",
            contracts::files()?,
        ),
        ("Store: tables, columns, indexes", contracts::tables()?),
        ("Stored states, effects, timers and steps", stored::lines()),
        (
            "Messages to agents that read markers",
            stored::messages_to_agents(),
        ),
        (
            "Markers, variables of other programs and other words in capitals (scan)",
            scanned.markers,
        ),
        ("Environment variables (scan)", scanned.variables),
        ("Metrics (scan)", scanned.metrics),
        (
            "Files and folders: names and parts of names (scan)",
            scanned.files,
        ),
        ("Constants that are names (scan)", scanned.constants),
        (
            "Records, protocols and journals: the keys of every derived format, by their set (scan)",
            scanned.shapes,
        ),
        ("Sets of words that stand for values (scan)", scanned.words),
        (
            "Keys of JSON that is read or written by hand (scan)",
            scanned.keys,
        ),
    ])
}

fn page(sections: &[Section]) -> String {
    let mut page = HEAD.to_owned();
    for (title, lines) in sections {
        page += &format!("\n# {title}\n");
        for line in lines {
            page += &format!("{line}\n");
        }
    }
    page
}
