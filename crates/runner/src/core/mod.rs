//! Shared parts of every kind of work that runs agents. Nothing here depends on a particular kind.

pub mod attempt_record;
pub mod attempts;
pub mod breakers;
pub mod cleanup;
pub mod clients;
pub mod failure;
pub mod output_parser;
pub mod retry;
pub mod state_file_runner;
pub mod stop_handle;
pub mod text;

/// Exit code of a process that cannot continue.
const EXIT_FAILURE: i32 = 70;

/// Runs the body of a thread that the process cannot do without. A panic in it ends the process:
/// agents go on in their shims, and the next process finds them.
fn or_end_process(body: impl FnOnce()) {
    #[expect(
        clippy::exit,
        reason = "a process that stays without this thread stands still for ever"
    )]
    if std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)).is_err() {
        std::process::exit(EXIT_FAILURE);
    }
}

/// Renders an error and its causes in one line.
pub fn error_chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

/// Quotes a word for a POSIX shell. Always in quotes: unquoted, some words are keywords or set a
/// variable.
pub(crate) fn shell_quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}
