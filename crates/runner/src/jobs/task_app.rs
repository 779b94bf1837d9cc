//! Starts the result of a task for a reviewer: the command of its type, on a port of its own. The
//! process is no agent, but outlives the server like one.

use super::rebuild::end_attempt;
use super::{Jobs, RequestError};
use bowline_store::JobRow;
use bowline_supervisor::{Attempt, AttemptCondition, AttemptSpec, OutputStream, ShimHandle};
use bowline_words::message::ServerThing;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};

/// Bytes of its output that are shown, from the end.
const SHOWN_BYTES: u64 = 4_096;
/// Exit code of a shell that finds no such program.
const NOT_STARTED: i32 = 127;

/// Status of a task's app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskApp {
    /// True while its process is alive.
    pub running: bool,
    /// Port it was given; 0 before the first start.
    pub port: u16,
    /// Command that starts it, before `{port}` is filled in.
    pub command: Vec<String>,
    /// End of its standard output and error.
    pub output: String,
    /// Exit code, unless it was stopped on request or still runs.
    pub exit_code: Option<i32>,
}

/// Returns the folder with the starts of a task's app.
pub(super) fn app_folder(data: &Path, job: &str) -> PathBuf {
    data.join("apps").join(job)
}

/// Returns the starts of an app, the oldest first.
pub(super) fn app_attempts(folder: &Path) -> Vec<Attempt> {
    let count = std::fs::read_dir(folder).map_or(0, Iterator::count);
    let opened = (1..=count).map(|number| Attempt::open_existing(&folder.join(number.to_string())));
    opened.filter_map(Result::ok).collect()
}

/// Returns the end of the output, from the first whole line if it is longer.
fn output_tail(attempt: &Attempt, stream: OutputStream) -> String {
    let file = match stream {
        OutputStream::Out => "log",
        OutputStream::Err => "err",
    };
    let length = std::fs::metadata(attempt.folder().join(file)).map_or(0, |it| it.len());
    let from = length.saturating_sub(SHOWN_BYTES);
    let count = usize::try_from(SHOWN_BYTES).unwrap_or(0);
    let (_, bytes) = attempt.read_output(stream, from, count).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    match text.split_once('\n') {
        Some((_, rest)) if from > 0 => rest.to_owned(),
        _ => text.into_owned(),
    }
}

impl Jobs {
    fn app_command(&self, row: &JobRow) -> Result<Vec<String>, RequestError> {
        let name = row.about.type_name.as_ref();
        let config = self.config();
        let spec = name.and_then(|name| config.types.get(name));
        let command = spec.map(|spec| spec.app.clone()).unwrap_or_default();
        match command.is_empty() {
            true => Err(RequestError::NoSuch {
                what: ServerThing::App,
                id: row.id.clone(),
            }),
            false => Ok(command),
        }
    }

    /// Returns the status of a task's app, checked now.
    pub fn task_app(&self, row: &JobRow) -> Result<TaskApp, RequestError> {
        let command = self.app_command(row)?;
        let last = app_attempts(&app_folder(&self.config().data, &row.id)).pop();
        let mut app = TaskApp {
            running: false,
            port: 0,
            command,
            output: String::new(),
            exit_code: None,
        };
        if let Some(last) = last {
            app.port = last.spec().name.parse().unwrap_or(0);
            app.output =
                output_tail(&last, OutputStream::Out) + &output_tail(&last, OutputStream::Err);
            match last.condition() {
                Ok(AttemptCondition::Alive) => app.running = true,
                Ok(AttemptCondition::Ended(exit)) if !exit.asked => {
                    let by_signal = exit.signal.map(|signal| 128 + signal);
                    app.exit_code = Some(exit.code.or(by_signal).unwrap_or(NOT_STARTED));
                    app.output.extend(exit.start_error);
                }
                _ => {}
            }
        }
        Ok(app)
    }

    /// Starts the app of a task unless it runs.
    pub fn start_app(&self, row: &JobRow) -> Result<TaskApp, RequestError> {
        let command = self.app_command(row)?;
        let known = self.task_app(row)?;
        if known.running {
            return Ok(known);
        }
        let failed = |error: &dyn std::fmt::Display| RequestError::Failed(error.to_string());
        // Free now; another program that asks gets a different port for a while.
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|it| failed(&it))?;
        let port = listener.local_addr().map_err(|it| failed(&it))?.port();
        drop(listener);
        let folder = app_folder(&self.config().data, &row.id);
        std::fs::create_dir_all(&folder).map_err(|it| failed(&it))?;
        let number = app_attempts(&folder).len() + 1;
        let text = port.to_string();
        let words = command.iter().map(|word| word.replace("{port}", &text));
        let id = format!("{}-app{number}", row.id);
        let mut spec = AttemptSpec::new(&id, words.collect(), self.config().workspace(row));
        spec.name = text.clone();
        let attempt = Attempt::create(&folder.join(number.to_string()), spec);
        let attempt = attempt.map_err(|it| failed(&it))?;
        self.config()
            .shim
            .start_shim(&attempt)
            .map_err(|it| failed(&it))?;
        let mut environment = self.config().environment.clone();
        environment.insert("PORT".into(), text);
        let mut handle = ShimHandle::attach(&attempt, 0).map_err(|it| failed(&it))?;
        handle.start_agent(&environment).map_err(|it| failed(&it))?;
        self.task_app(row)
    }

    /// Stops the app of a task and waits until it has ended.
    pub fn stop_app(&self, row: &JobRow) -> Result<TaskApp, RequestError> {
        self.app_command(row)?;
        for attempt in app_attempts(&app_folder(&self.config().data, &row.id)) {
            end_attempt(attempt.folder());
        }
        self.task_app(row)
    }
}
