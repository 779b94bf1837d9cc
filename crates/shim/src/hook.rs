//! `bowline-shim hook [EVENT] [--shared]`: the gate hook as a process.

use crate::told;
use bowline_formats::client_hooks::SHARED;
use std::ffi::OsString;
use std::process::ExitCode;

/// Reads the client's message on standard input and answers.
pub(crate) fn main(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let mut words: Vec<OsString> = arguments.collect();
    let shared = words.iter().position(|it| it == SHARED);
    // Asked by a committed file: a person's own settings ask as well, and once is enough.
    if let Some(at) = shared {
        words.remove(at);
        if bowline_gate::hook::is_asked_by_person() {
            return ExitCode::SUCCESS;
        }
    }
    let event = words.into_iter().next();
    let event = event.as_deref().and_then(|it| it.to_str());
    told(&bowline_gate::hook::answer(event, std::io::stdin().lock()))
}
