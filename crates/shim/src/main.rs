//! The small binary `bowline-shim`: a mere dispatch on its first word.

use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    match words.first().and_then(|word| word.to_str()) {
        Some(word) if bowline_supervisor::shim::WORDS.contains(&word) => {
            bowline_supervisor::shim::main(&[], &words)
        }
        _ => usage(),
    }
}

fn usage() -> ExitCode {
    #[expect(
        clippy::print_stderr,
        reason = "a program called the wrong way says so"
    )]
    {
        eprintln!("bowline-shim: started by bowline, not by hand");
    }
    ExitCode::from(2)
}
