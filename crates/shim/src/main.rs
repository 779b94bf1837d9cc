//! The small binary `bowline-shim`: what has to start fast and stay small. Its first word says what it is.

mod git_hook;
mod hook;

use bowline_formats::hook::Answer;
use bowline_supervisor::shim;
use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

/// Wrong usage.
const USAGE_CODE: u8 = 64;

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let arguments = words.iter().skip(1).cloned();
    let first = words.first().and_then(|word| word.to_str());
    if let Some("hook" | "git-hook") = first {
        // The answer tells of a panic: a word in a log nobody reads is no use, and a client would show it.
        std::panic::set_hook(Box::new(|_| {}));
    }
    match first {
        Some("hook") => hook::main(arguments),
        Some("git-hook") => git_hook::main(arguments),
        Some(word) if shim::WORDS.contains(&word) => shim::main(&[], &words),
        _ => usage(),
    }
}

#[expect(clippy::print_stderr, reason = "whoever calls it wrongly is told")]
fn usage() -> ExitCode {
    eprintln!("bowline-shim: started by bowline, by agent clients and by git, not by hand");
    ExitCode::from(USAGE_CODE)
}

/// Passes an answer on.
fn told(answer: &Answer) -> ExitCode {
    // A client that is gone does not need the words; the code is what counts.
    let _ = std::io::stdout().write_all(answer.stdout.as_bytes());
    let _ = std::io::stderr().write_all(answer.stderr.as_bytes());
    ExitCode::from(answer.code)
}
