//! Relays an agent's commands out of its sandbox. Inside, state files can be read but not written:
//! a command that changes them goes to the agent's shim, which starts a `bowline` outside. Output
//! and exit code are the same.

use crate::args::develop::DevelopVerb;
use crate::args::{Cli, CliCommand, DeferredArgs};
use crate::output::CommandOutput;
use bowline_engine::context::EVIDENCE_KEY_VARIABLE;
use bowline_engine::kinds::FileKind;
use bowline_engine::supervisor::relay::{self, RelayRequest, RelayStream};
use bowline_engine::supervisor::{ATTEMPT_VARIABLE, Attempt, RELAY_VARIABLE};
use bowline_engine::{Context, Error, relay_process, workspace};
use bowline_words::message::{Advice, Unrelayed, Wrong};
use std::ffi::OsString;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// First argument of the process outside that runs a command relayed from inside.
pub(crate) const RELAYED_WORD: &str = "relayed";

/// Argument that means standard input where a value is expected.
const STDIN: &str = "-";
/// Limit of relayed standard input, larger than any value may be.
const INPUT_BYTES_MAX: u64 = 1 << 20;

/// Serves the relay connection of one agent.
pub(crate) fn serve_relay(folder: Option<&OsString>) -> ExitCode {
    match folder {
        Some(folder) => relay::serve_connection(&[RELAYED_WORD], Path::new(folder)),
        None => ExitCode::FAILURE,
    }
}

/// Prepares this process to run an agent's command: it ends with the connection, may touch the
/// agent's roots and the records of its run, and starts its children in the agent's sandbox.
pub(crate) fn confine_process(folder: &Path) -> Result<Attempt, Error> {
    let attempt = Attempt::open_existing(folder)?;
    relay::end_with_parent().map_err(|source| Error::ProgramFailed {
        program: "bowline".into(),
        message: source.to_string(),
    })?;
    let key = std::env::var_os(EVIDENCE_KEY_VARIABLE).map(PathBuf::from);
    relay_process::restrict_process(attempt.spec(), key)?;
    Ok(attempt)
}

/// Checks that a command may run on behalf of the agent of `attempt`.
pub(crate) fn check_relayed_command(
    cli: &Cli,
    attempt: &Attempt,
    words: &[OsString],
) -> Result<(), Error> {
    let refused = |reason: Unrelayed| Error::NotRelayed {
        what: crate::commands::first_words(words),
        reason,
    };
    let of_it = std::env::var_os(ATTEMPT_VARIABLE).is_some_and(|it| it == attempt.id());
    let Some(sandbox) = attempt.spec().sandbox.as_ref().filter(|_| of_it) else {
        return Err(refused(Unrelayed::NoSandbox));
    };
    if !is_relayed(cli) {
        return Err(refused(Unrelayed::NoVerb));
    }
    let here = std::env::current_dir().and_then(|here| here.canonicalize());
    let of_agent = |here: &PathBuf| sandbox.write.iter().any(|root| here.starts_with(root));
    let Some(here) = here.ok().filter(of_agent) else {
        return Err(refused(Unrelayed::OtherFolder));
    };
    // Only for a clear message: a link made later leads nowhere that the agent could not write
    // itself.
    let from = cli
        .common
        .folder
        .as_ref()
        .map_or(here.clone(), |it| here.join(it));
    let context = Context::from_environment("relay");
    let file = workspace::locate_file(&context, FileKind::Develop, &from);
    match file.ancestors().take(2).find(|it| it.is_symlink()) {
        None => Ok(()),
        Some(link) => Err(refused(Unrelayed::Link {
            path: link.display().to_string(),
        })),
    }
}

/// True for agents' verbs that write the records of a run or need a scratch folder beside them.
/// Every other command runs inside, with the agent's own rights.
fn is_relayed(cli: &Cli) -> bool {
    match &cli.command {
        Some(CliCommand::Develop(DeferredArgs(args))) => match args.verb {
            DevelopVerb::Resume
            | DevelopVerb::Status
            | DevelopVerb::Evidence(_)
            | DevelopVerb::Run(_) => false,
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
        Some(CliCommand::Verify { .. }) => true,
        Some(
            CliCommand::Thinking(_)
            | CliCommand::Memory(_)
            | CliCommand::Orchestrate(_)
            | CliCommand::Task(_)
            | CliCommand::Serve(_)
            | CliCommand::Store(_)
            | CliCommand::Demo(_)
            | CliCommand::Capsule(_)
            | CliCommand::Replay(_)
            | CliCommand::Agent { .. }
            | CliCommand::Doctor { .. }
            | CliCommand::Init { .. }
            | CliCommand::Hook { .. }
            | CliCommand::Mcp(_)
            | CliCommand::RunAgent(_)
            | CliCommand::Attach(_)
            | CliCommand::Status { .. }
            | CliCommand::History { .. }
            | CliCommand::Undo { .. }
            | CliCommand::Restore { .. }
            | CliCommand::Schema { .. }
            | CliCommand::Explain { .. }
            | CliCommand::Scripted { .. }
            | CliCommand::Completions { .. },
        )
        | None => false,
    }
}

/// Relays a command if this process is inside a sandbox and the command is one that is relayed;
/// otherwise `None`.
pub(crate) fn relay_if_inside(
    cli: &Cli,
    output: &CommandOutput,
    words: &[OsString],
) -> Option<Result<ExitCode, Error>> {
    let socket = std::env::var_os(RELAY_VARIABLE)?;
    let mut words = words.to_vec();
    if cli.common.lang.is_none() {
        // The caller's language, not that of the process that started the agent.
        words.insert(0, format!("--lang={}", output.lang.name()).into());
    }
    is_relayed(cli).then(|| relay_command(Path::new(&socket), &words))
}

fn relay_command(socket: &Path, words: &[OsString]) -> Result<ExitCode, Error> {
    let bad = |message: Wrong| Error::BadInput {
        message,
        hint: Advice::Utf8,
    };
    let words = words.iter().map(|word| word.to_str().map(str::to_owned));
    let words: Option<Vec<String>> = words.collect();
    let words = words.ok_or_else(|| bad(Wrong::WordNotText))?;
    let folder = std::env::current_dir().map_err(|_| Error::NoFolder {
        path: PathBuf::from("."),
    })?;
    let mut input = String::new();
    if words.iter().any(|word| word == STDIN) {
        let mut stdin = std::io::stdin().take(INPUT_BYTES_MAX);
        stdin
            .read_to_string(&mut input)
            .map_err(|_| bad(Wrong::InputNotText))?;
    }
    let code = relay::run_outside(
        socket,
        &RelayRequest::new(words, folder, input),
        |what, bytes| {
            match what {
                RelayStream::Out => {
                    crate::output::record_stdout_result(std::io::stdout().write_all(bytes))
                }
                // A failed write to stderr is ignored, as in every other command.
                RelayStream::Err => drop(std::io::stderr().write_all(bytes)),
            }
        },
    )?;
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX)))
}
