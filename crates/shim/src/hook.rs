//! `bowline-shim hook [EVENT] [--shared CLIENT | --plugin]`: the gate hook as a process.

use crate::write_answer;
use bowline_gate::hook::HookRegistration;
use std::ffi::OsString;
use std::process::ExitCode;

/// Reads the client's message on standard input and answers.
pub(crate) fn main(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let words: Vec<OsString> = arguments.collect();
    let words = words.iter().filter_map(|it| it.to_str());
    let (event, registered) = HookRegistration::from_words(words);
    write_answer(&bowline_gate::hook::answer_client(
        event,
        &registered,
        std::io::stdin().lock(),
    ))
}
