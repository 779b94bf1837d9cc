//! `bowline hook [EVENT]`: the same as `bowline-shim hook`, for installations with only this
//! binary.

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

/// Reads the client's hook message from standard input and writes the answer.
pub(crate) fn run(event: Option<&OsString>) -> ExitCode {
    let event = event.and_then(|it| it.to_str());
    if matches!(event, Some("--help" | "-h")) {
        return print_help();
    }
    // The answer already reports a panic; a client would also show the default message on stderr.
    std::panic::set_hook(Box::new(|_| {}));
    let registered = bowline_gate::hook::HookRegistration::Personal;
    let answer = bowline_gate::hook::answer_client(event, &registered, std::io::stdin().lock());
    // A client that has gone away needs no answer; the exit code is what counts.
    let _ = std::io::stdout().write_all(answer.stdout.as_bytes());
    let _ = std::io::stderr().write_all(answer.stderr.as_bytes());
    ExitCode::from(answer.code)
}

fn print_help() -> ExitCode {
    crate::output::write_stdout(
        "Answers an agent client's hook message on standard input; exit code 2 denies\n\n\
         Usage: bowline hook [EVENT]\n\n\
         Events: pre-tool-use, post-tool-use, session-start, subagent-start, pre-compact, stop,\n\
         user-prompt-submit; without one, the message names it\n",
    );
    crate::output::finish_output(ExitCode::SUCCESS, bowline_words::Lang::from_environment())
}
