//! The small binary `bowline-shim`: what has to start fast and stay small. Says by its first argument what it is.

mod hook;

use std::process::ExitCode;

/// Wrong usage.
const USAGE_CODE: u8 = 64;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let word = arguments.next().unwrap_or_default();
    match word.to_str() {
        Some("hook") => hook::main(arguments),
        _ => usage(),
    }
}

#[expect(clippy::print_stderr, reason = "whoever calls it wrongly is told")]
fn usage() -> ExitCode {
    eprintln!("usage: bowline-shim hook [EVENT]");
    ExitCode::from(USAGE_CODE)
}
