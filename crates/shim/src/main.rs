//! The small binary `bowline-shim`: what has to start fast and stay small. Says by its first argument what it is.

mod git_hook;
mod hook;

use bowline_formats::hook::Answer;
use std::io::Write as _;
use std::process::ExitCode;

/// Wrong usage.
const USAGE_CODE: u8 = 64;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let word = arguments.next().unwrap_or_default();
    match word.to_str() {
        Some("hook") => hook::main(arguments),
        Some("git-hook") => git_hook::main(arguments),
        _ => usage(),
    }
}

#[expect(clippy::print_stderr, reason = "whoever calls it wrongly is told")]
fn usage() -> ExitCode {
    eprintln!("usage: bowline-shim hook [EVENT] | git-hook NAME [ARGUMENT]...");
    ExitCode::from(USAGE_CODE)
}

/// Passes an answer on.
fn told(answer: &Answer) -> ExitCode {
    // A client that is gone does not need the words; the code is what counts.
    let _ = std::io::stdout().write_all(answer.stdout.as_bytes());
    let _ = std::io::stderr().write_all(answer.stderr.as_bytes());
    ExitCode::from(answer.code)
}
