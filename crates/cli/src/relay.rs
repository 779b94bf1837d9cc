//! The way of an agent's verbs out of its sandbox. Inside, the state can be read and not written: what changes it is handed to
//! the agent's shim, which starts a `bowline` outside for it; the output and the exit code are the same.

use crate::args::develop::DevelopVerb;
use crate::args::orchestrate::OrchestrateVerb;
use crate::args::{Cli, Command, Deferred, ThinkingVerb};
use crate::output::Output;
use bowline_engine::supervisor::relay::{self, Asked, Printed};
use bowline_engine::supervisor::{ATTEMPT_VARIABLE, Attempt, RELAY_VARIABLE};
use bowline_engine::{Error, process};
use std::ffi::OsString;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The first word by which this program carries out, outside, what an agent asked for inside.
pub(crate) const RELAYED_WORD: &str = "relayed";

/// Means the standard input where a value is asked for.
const STDIN: &str = "-";
/// More of the standard input than any value may have.
const INPUT_BYTES_MAX: u64 = 1 << 20;

/// Serves one agent's connection.
pub(crate) fn serve(folder: Option<&OsString>) -> ExitCode {
    match folder {
        Some(folder) => relay::serve(&[RELAYED_WORD], Path::new(folder)),
        None => ExitCode::FAILURE,
    }
}

/// Prepares this process for an agent's command: it ends with the connection, and what it starts is in the agent's sandbox.
pub(crate) fn confine(folder: &Path) -> Result<Attempt, Error> {
    let attempt = Attempt::open(folder)?;
    relay::end_with_parent().map_err(|source| Error::ProgramFailed {
        program: "bowline".into(),
        message: source.to_string(),
    })?;
    if let Some(sandbox) = &attempt.spec().sandbox {
        process::confine(sandbox.clone());
    }
    Ok(attempt)
}

/// Whether a command may be carried out for the agent of an attempt.
pub(crate) fn permit(cli: &Cli, attempt: &Attempt, words: &[OsString]) -> Result<(), Error> {
    let refused = |reason: &str| Error::NotRelayed {
        what: crate::commands::first_words(words),
        reason: reason.to_owned(),
    };
    let of_it = std::env::var_os(ATTEMPT_VARIABLE).is_some_and(|it| it == attempt.id());
    let Some(sandbox) = attempt.spec().sandbox.as_ref().filter(|_| of_it) else {
        return Err(refused("there is no sandbox it would come from"));
    };
    if !is_relayed(cli) {
        return Err(refused("it is no verb of an agent that changes the state"));
    }
    let here = std::env::current_dir().and_then(|here| here.canonicalize());
    let inside = here.is_ok_and(|here| sandbox.write.iter().any(|root| here.starts_with(root)));
    match inside {
        true => Ok(()),
        false => Err(refused("it was given in a folder the agent may not write")),
    }
}

/// The verbs of agents that change the state, or need a scratch folder beside it. Everything else is done where it is asked
/// for, as far as the sandbox allows.
fn is_relayed(cli: &Cli) -> bool {
    match &cli.command {
        Some(Command::Thinking(Deferred(args))) => match args.verb {
            ThinkingVerb::Status { .. } => false,
            ThinkingVerb::New { .. }
            | ThinkingVerb::Start { .. }
            | ThinkingVerb::Output { .. }
            | ThinkingVerb::Complete { .. }
            | ThinkingVerb::Fail { .. }
            | ThinkingVerb::Evaluate { .. }
            | ThinkingVerb::Quality { .. }
            | ThinkingVerb::Feedback(_) => true,
        },
        Some(Command::Develop(Deferred(args))) => match args.verb {
            DevelopVerb::Resume | DevelopVerb::Status | DevelopVerb::Evidence(_) => false,
            DevelopVerb::Start { .. }
            | DevelopVerb::Review { .. }
            | DevelopVerb::Gate(_)
            | DevelopVerb::Implement { .. }
            | DevelopVerb::Checkpoint(_)
            | DevelopVerb::Pr
            | DevelopVerb::Done
            | DevelopVerb::Back { .. }
            | DevelopVerb::Reset
            | DevelopVerb::Adopt
            | DevelopVerb::Seal => true,
        },
        Some(Command::Orchestrate(Deferred(args))) => match args.verb {
            OrchestrateVerb::Plan { .. }
            | OrchestrateVerb::Status
            | OrchestrateVerb::Next { .. }
            | OrchestrateVerb::Verify
            | OrchestrateVerb::Graph { .. }
            | OrchestrateVerb::ForceComplete { .. } => false,
            OrchestrateVerb::Init { .. }
            | OrchestrateVerb::Start { .. }
            | OrchestrateVerb::Complete { .. }
            | OrchestrateVerb::Fail { .. }
            | OrchestrateVerb::Retry { .. }
            | OrchestrateVerb::Phase(_)
            | OrchestrateVerb::Rebuild => true,
        },
        Some(Command::Memory(_) | Command::Verify { .. }) => true,
        Some(Command::Doctor { repair, .. }) => *repair,
        Some(
            Command::Init { .. }
            | Command::Hook { .. }
            | Command::RunAgent(_)
            | Command::Attach(_)
            | Command::Status { .. }
            | Command::History { .. }
            | Command::Undo { .. }
            | Command::Restore { .. }
            | Command::Schema { .. }
            | Command::Explain { .. }
            | Command::Scripted { .. }
            | Command::Completions { .. },
        )
        | None => false,
    }
}

/// Has a command carried out outside, when this is the inside of a sandbox and the command is one for that.
pub(crate) fn ask(
    cli: &Cli,
    output: &Output,
    words: &[OsString],
) -> Option<Result<ExitCode, Error>> {
    let socket = std::env::var_os(RELAY_VARIABLE)?;
    let mut words = words.to_vec();
    if cli.common.lang.is_none() {
        // The language of whoever asks, not of whoever started the agent.
        let lang = output.say("en", "ko");
        words.insert(0, format!("--lang={lang}").into());
    }
    is_relayed(cli).then(|| asked(Path::new(&socket), &words))
}

fn asked(socket: &Path, words: &[OsString]) -> Result<ExitCode, Error> {
    let bad = |message: &str| Error::BadInput {
        message: message.to_owned(),
        hint: "use text that is UTF-8".into(),
    };
    let words = words.iter().map(|word| word.to_str().map(str::to_owned));
    let words: Option<Vec<String>> = words.collect();
    let words = words.ok_or_else(|| bad("a word of the command is not text"))?;
    let folder = std::env::current_dir().map_err(|_| Error::NoFolder {
        path: PathBuf::from("."),
    })?;
    let mut input = String::new();
    if words.iter().any(|word| word == STDIN) {
        let mut stdin = std::io::stdin().take(INPUT_BYTES_MAX);
        stdin
            .read_to_string(&mut input)
            .map_err(|_| bad("the standard input cannot be read as text"))?;
    }
    let code = relay::ask(socket, &Asked::new(words, folder, input), |what, bytes| {
        match what {
            Printed::Out => crate::output::printed(std::io::stdout().write_all(bytes)),
            // Whoever does not listen misses the talk, as with every other command.
            Printed::Err => drop(std::io::stderr().write_all(bytes)),
        }
    })?;
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX)))
}
