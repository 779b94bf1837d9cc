//! Chores that need the crates of Bowline: `cargo xtask` builds this program and hands its words over.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a chore talks to whoever runs it"
)]

mod docs;
mod drill;
mod rest;
mod walk;
mod web_words;

use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["docs"] => docs::write(),
        ["docs", "--check"] => docs::check(),
        ["rest", options @ ..] => rest::run(options),
        ["walk"] => walk::run(),
        ["drill-client", folder, notes, total] => drill::supervisor::client(folder, notes, total),
        ["drill-history-writer", seed, words @ ..] => drill::history::writer(seed, words),
        ["drill", name, options @ ..] => drill::run(name, options),
        other => Err(format!(
            "there is no chore {other:?}; see `cargo xtask help`"
        )),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}
