//! `bowline-shim hook [EVENT]`: the gate hook as a process.

use crate::told;
use std::ffi::OsString;
use std::process::ExitCode;

/// Reads the client's message on standard input and answers.
pub(crate) fn main(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let event = arguments.next();
    let event = event.as_deref().and_then(|it| it.to_str());
    told(&bowline_gate::hook::answer(event, std::io::stdin().lock()))
}
