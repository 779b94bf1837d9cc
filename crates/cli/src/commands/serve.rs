//! `bowline serve`.

use super::remote::{print_server_trouble, print_trouble_with_code};
use crate::args::serve::{LogFormat, ServeArgs};
use crate::output::CommandOutput;
use bowline_engine::formats::settings::BowlineSettings;
use bowline_engine::{Context, Error};
use bowline_server::jobs::{
    DispatcherHealth, JobsSetup, RebuildResult, RebuiltTask, config_file, read_settings, start_jobs,
};
use bowline_server::store_files::{merge_store_log, outage_trouble, rebuild_store};
use bowline_server::{Server, ServerOptions, find_data_folder, log_to_stderr};
use bowline_words::message::{ServeTrouble, TaskOutput};
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub(crate) fn run(
    context: &Context,
    output: &CommandOutput,
    folder: &Path,
    args: &ServeArgs,
) -> Result<ExitCode, Error> {
    let prepared = prepare_server(context, folder, args).map_err(ServeFailure::from);
    let done = prepared.and_then(|(options, setup)| {
        match args.log {
            LogFormat::Off => {}
            LogFormat::Text => log_to_stderr(false),
            LogFormat::Json => log_to_stderr(true),
        }
        if output.dry_run {
            let line = TaskOutput::WouldServe.say(output.lang);
            output.print_line(&format!("{line} {}", options.data.display()));
            return Ok(());
        }
        if args.rebuild {
            print_rebuilt(output, &rebuild_store(context, &setup)?);
        }
        let ready = |url: &str, link: &str, _| {
            output.print_line(&format!("listening on {url}"));
            crate::output::record_stdout_result(std::io::stdout().flush());
            let line = TaskOutput::SignInOnce.say(output.lang);
            output.print_stderr(&format!("{line} {link}"));
        };
        serve_until_stopped(context, &options, &setup, ready, |_| {})
    });
    Ok(match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.print_failure(output),
    })
}

/// Prints which tasks were rebuilt and which were lost.
fn print_rebuilt(output: &CommandOutput, found: &[RebuiltTask]) {
    for task in found {
        let (id, title) = (task.id.clone(), task.title.clone());
        let said = match &task.how {
            RebuildResult::GoesOn(phase) => TaskOutput::RebuiltGoesOn {
                id,
                title,
                phase: *phase,
            },
            RebuildResult::Cold(phase) => TaskOutput::RebuiltCold {
                id,
                title,
                phase: *phase,
            },
            RebuildResult::Kept(status) => TaskOutput::RebuiltKept {
                id,
                title,
                status: (*status).to_owned(),
            },
            RebuildResult::Lost(why) => TaskOutput::RebuiltNot {
                id,
                why: why.clone(),
            },
        };
        output.print_stderr(&said.say(output.lang));
    }
    let lost = |task: &&RebuiltTask| matches!(task.how, RebuildResult::Lost(_));
    let lost = found.iter().filter(lost).count();
    let done = TaskOutput::RebuiltAll {
        count: found.len() - lost,
        lost,
    };
    output.print_stderr(&done.say(output.lang));
}

/// A failure of `serve`, before it runs or while it runs.
pub(crate) enum ServeFailure {
    /// The server could not start.
    NotStarted(ServeTrouble),
    /// The server gave up while it ran. Agents go on in their shims.
    Stopped(ServeTrouble),
}

impl From<ServeTrouble> for ServeFailure {
    fn from(trouble: ServeTrouble) -> Self {
        ServeFailure::NotStarted(trouble)
    }
}

impl ServeFailure {
    /// Prints the failure and returns its exit code.
    pub(crate) fn print_failure(&self, output: &CommandOutput) -> ExitCode {
        match self {
            ServeFailure::NotStarted(trouble) => print_server_trouble(output, trouble),
            // A service manager restarts the server on this code, whatever the cause.
            ServeFailure::Stopped(trouble) => print_trouble_with_code(output, trouble, 70),
        }
    }
}

/// Serves until a signal or the stopper; calls `ready` with the address and a sign-in link once
/// requests are answered.
pub(crate) fn serve_until_stopped(
    context: &Context,
    options: &ServerOptions,
    setup: &JobsSetup,
    ready: impl FnOnce(&str, &str, bowline_server::ServerStopHandle),
    last: impl FnOnce(&bowline_server::jobs::Jobs),
) -> Result<(), ServeFailure> {
    let server = Server::bind(options)?;
    server.hold_lock_for_commands();
    let (url, link) = (server.url().to_owned(), server.sign_in_link()?);
    let stopper = server.stop_handle();
    let mut held = None;
    let ended = server.run(
        |publisher| {
            let (work, jobs) = start_jobs(context, setup, &url, publisher)?;
            held = Some(jobs);
            Ok(work)
        },
        || ready(&url, &link, stopper),
    );
    // Only after the last answer: acknowledged changes are durable, and agents keep running.
    if let Some(jobs) = held {
        last(&jobs);
        let health = jobs.health();
        jobs.stop();
        if let DispatcherHealth::Failed(outage) = health {
            return Err(ServeFailure::Stopped(outage_trouble(setup, &outage)));
        }
        merge_store_log(&jobs);
    }
    Ok(ended?)
}

/// Returns the file that the address of a store names.
pub(super) fn store_path(
    folder: &Path,
    url: Option<&str>,
) -> Result<Option<PathBuf>, ServeTrouble> {
    let Some(url) = url else {
        return Ok(None);
    };
    match url.strip_prefix("sqlite:") {
        Some(path) => Ok(Some(folder.join(path.trim_start_matches("//")))),
        None => Err(ServeTrouble::BadStore {
            url: url.to_owned(),
        }),
    }
}

fn prepare_server(
    context: &Context,
    folder: &Path,
    args: &ServeArgs,
) -> Result<(ServerOptions, JobsSetup), ServeTrouble> {
    let bad = || ServeTrouble::BadAddress {
        address: args.listen.clone(),
    };
    let listen: SocketAddr = args.listen.parse().map_err(|_| bad())?;
    let named = args.data.as_ref().map(|data| folder.join(data));
    let data = find_data_folder(context, named.as_deref());
    let mut workspaces = Vec::new();
    let here = [PathBuf::from(".")];
    let wanted: &[PathBuf] = match args.workspaces.is_empty() {
        true => &here,
        false => &args.workspaces,
    };
    for workspace in wanted {
        let path = folder.join(workspace);
        let whole = path.canonicalize().ok().filter(|it| it.is_dir());
        workspaces.push(whole.ok_or_else(|| ServeTrouble::NotAFolder {
            path: path.display().to_string(),
        })?);
    }
    let store = store_path(folder, args.store.as_deref())?;
    let config = config_file(context, folder, args.config.as_deref());
    let options = ServerOptions {
        listen,
        data: data.clone(),
        hosts: args.hosts.clone(),
        workspaces,
        public_url: read_settings(config.as_deref())?.server.public_url,
    };
    let setup = JobsSetup {
        data,
        config,
        store,
        key: args.secret_key_file.as_ref().map(|it| folder.join(it)),
        slots: args.slots,
        more: BowlineSettings::default(),
        // `--rebuild` also decides about tasks that cannot be found again.
        start_empty: args.start_empty || args.rebuild,
    };
    Ok((options, setup))
}
