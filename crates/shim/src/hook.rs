//! `bowline-shim hook [EVENT]`: the gate hook as a process.

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

/// Reads the client's message on standard input and answers.
pub(crate) fn main(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let event = arguments.next();
    let event = event.as_deref().and_then(|it| it.to_str());
    let answer = bowline_gate::hook::answer(event, std::io::stdin().lock());
    // A client that is gone does not need the answer; the code is what counts.
    let _ = std::io::stdout().write_all(answer.stdout.as_bytes());
    let _ = std::io::stderr().write_all(answer.stderr.as_bytes());
    ExitCode::from(answer.code)
}
