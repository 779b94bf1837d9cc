//! The small binary `bowline-shim`, which starts fast: agent shim, gate hook and git hook. The
//! first argument selects one.

mod git_hook;
mod hook;

use bowline_formats::hook::HookResponse;
use bowline_supervisor::shim;
use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

/// Exit code for wrong usage.
const USAGE_CODE: u8 = 64;

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let arguments = words.iter().skip(1).cloned();
    let first = words.first().and_then(|word| word.to_str());
    if let Some("hook" | "git-hook") = first {
        // The answer reports a panic: the default message would be shown by a client, and is lost
        // otherwise.
        std::panic::set_hook(Box::new(|_| {}));
    }
    match first {
        Some("hook") => hook::main(arguments),
        Some("git-hook") => git_hook::main(arguments),
        Some(word) if shim::WORDS.contains(&word) => shim::main(&[], &words),
        _ => print_usage(),
    }
}

#[expect(clippy::print_stderr, reason = "whoever calls it wrongly is told")]
fn print_usage() -> ExitCode {
    eprintln!("bowline-shim: started by bowline, by agent clients and by git, not by hand");
    ExitCode::from(USAGE_CODE)
}

/// Writes an answer of the gate to the standard streams and returns its exit code.
fn write_answer(answer: &HookResponse) -> ExitCode {
    // A client that is gone does not need the text; the code is what counts.
    let _ = std::io::stdout().write_all(answer.stdout.as_bytes());
    let _ = std::io::stderr().write_all(answer.stderr.as_bytes());
    ExitCode::from(answer.code)
}
