//! Connects commands to the task server: finds it, sends requests, and prints its refusals.

use crate::args::task::PlaceArgs;
use crate::output::Output;
use bowline_engine::Context;
use bowline_engine::webhook::encode_segment;
use bowline_engine::words::system;
use bowline_server::client::{Answer, Client};
use bowline_server::{code_of, data_folder, read_secret};
use bowline_words::Lang;
use bowline_words::message::{ServeTrouble, ServerNo, ServerThing};
use serde_json::{Value, json};
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Variable with the server's address, for agents and scripts.
pub(crate) const URL_VARIABLE: &str = "BOWLINE_URL";
/// Variable with the path of a person's token file.
const TOKEN_VARIABLE: &str = "BOWLINE_TOKEN_FILE";
/// Variable with the path of an attempt's token file.
const AGENT_TOKEN_VARIABLE: &str = "BOWLINE_AGENT_TOKEN_FILE";

/// Error code of a report that is not made by the agent of a task.
pub(crate) const NEEDS_AGENT: &str = "needs_agent";

/// Exit code for a server that does not answer.
const UNREACHABLE: u8 = 6;

/// A client of the task server that prints failures itself.
pub(crate) struct Remote<'a> {
    pub(crate) output: &'a Output,
    pub(crate) client: Client,
}

/// Result of a request whose failure is already printed; the error is the exit code.
pub(crate) type Told<T> = Result<T, ExitCode>;

/// Returns a text field of an answer; empty if there is none.
pub(crate) fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}

/// Returns the items on a page of answers.
pub(crate) fn items(page: &Value) -> impl Iterator<Item = &Value> {
    page["items"].as_array().into_iter().flatten()
}

/// Finds the server: by the arguments, the variables, or the data folder.
pub(crate) fn find<'a>(
    context: &Context,
    output: &'a Output,
    place: &PlaceArgs,
) -> Told<Remote<'a>> {
    match client(context, place, output.lang) {
        Ok(client) => Ok(Remote { output, client }),
        Err(trouble) => Err(tell(output, &trouble)),
    }
}

/// Creates a client by the arguments, the variables, or the data folder; prints nothing.
pub(crate) fn client(
    context: &Context,
    place: &PlaceArgs,
    lang: Lang,
) -> Result<Client, ServeTrouble> {
    let variable = |name: &str| context.variables.get(name).map(PathBuf::from);
    let url = place.server.clone().or_else(|| {
        let named = variable(URL_VARIABLE).filter(|_| place.data.is_none());
        named.map(|it| it.to_string_lossy().into_owned())
    });
    let token = place
        .token_file
        .clone()
        .or_else(|| variable(TOKEN_VARIABLE));
    match (url, token) {
        (Some(url), token) => {
            let file =
                token.unwrap_or_else(|| data_folder(context, place.data.as_deref()).join("token"));
            let token = read_secret(&file).map_err(|error| error.at(&file))?;
            Client::tcp(&url, Some(token), lang)
        }
        (None, token) => {
            let client = Client::of_data(&data_folder(context, place.data.as_deref()), lang)?;
            match token {
                None => Ok(client),
                Some(file) => {
                    let token = read_secret(&file).map_err(|error| error.at(&file))?;
                    Ok(client.with_token(token))
                }
            }
        }
    }
}

/// Finds the server as the agent of an attempt.
pub(crate) fn find_as_agent<'a>(context: &Context, output: &'a Output) -> Told<Remote<'a>> {
    match agent_client(context, output.lang) {
        None => {
            let (message, hint) = ServerNo::NeedsAgent.say(output.lang);
            Err(output.told(NEEDS_AGENT, &message, &hint, 1))
        }
        Some(Ok(client)) => Ok(Remote { output, client }),
        Some(Err(trouble)) => Err(tell(output, &trouble)),
    }
}

/// Creates a client for the agent of a task; prints nothing. `None` outside an attempt of a task.
pub(crate) fn agent_client(context: &Context, lang: Lang) -> Option<Result<Client, ServeTrouble>> {
    let variable = |name: &str| context.variables.get(name).map(PathBuf::from);
    let (url, file) = (variable(URL_VARIABLE)?, variable(AGENT_TOKEN_VARIABLE)?);
    let token = read_secret(&file).map_err(|error| error.at(&file));
    Some(token.and_then(|token| Client::tcp(&url.to_string_lossy(), Some(token), lang)))
}

/// Prints why the server cannot be used, and returns the exit code.
pub(crate) fn tell(output: &Output, trouble: &ServeTrouble) -> ExitCode {
    let exit = match trouble {
        ServeTrouble::Unreachable { .. } | ServeTrouble::BadAnswer { .. } => UNREACHABLE,
        // No server ever ran there.
        ServeTrouble::File { .. } => UNREACHABLE,
        ServeTrouble::BadAddress { .. }
        | ServeTrouble::NotAFolder { .. }
        | ServeTrouble::BadConfig { .. }
        | ServeTrouble::BadStore { .. } => 2,
        ServeTrouble::AlreadyServing { .. } => 5,
        ServeTrouble::OpenToOthers { .. }
        | ServeTrouble::StoreLost { .. }
        | ServeTrouble::FileThere { .. } => 1,
        ServeTrouble::StoreDamaged { .. } => 4,
        ServeTrouble::CannotListen { .. } | ServeTrouble::Store { .. } => 70,
    };
    tell_with_code(output, trouble, exit)
}

/// Prints why the server cannot be used, and returns the given exit code.
pub(crate) fn tell_with_code(output: &Output, trouble: &ServeTrouble, exit: u8) -> ExitCode {
    let (message, hint) = trouble.say(output.lang);
    output.told(code_of(trouble), &message, &hint, exit)
}

/// Writes a new file; a failure is printed.
pub(crate) fn write_new(output: &Output, path: &Path, bytes: &[u8]) -> Told<()> {
    let written = File::create_new(path).and_then(|mut file| file.write_all(bytes));
    written.map_err(|error| {
        let trouble = ServeTrouble::File {
            path: path.display().to_string(),
            cause: system(&error),
        };
        tell(output, &trouble)
    })
}

impl Remote<'_> {
    /// Sends a request; a refusal is printed.
    pub(crate) fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Told<Answer> {
        match self.client.ask(method, path, body, &[]) {
            Ok(answer) if (200..300).contains(&answer.status) => Ok(answer),
            Ok(answer) => Err(self.refused(&answer)),
            Err(trouble) => Err(tell(self.output, &trouble)),
        }
    }

    pub(crate) fn get(&self, path: &str) -> Told<Value> {
        Ok(self.ask("GET", path, None)?.json())
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Told<Value> {
        Ok(self.ask("POST", path, Some(body))?.json())
    }

    /// Prints a refusal of the server and returns its exit code.
    pub(crate) fn refused(&self, answer: &Answer) -> ExitCode {
        let body = answer.json();
        let error = &body["error"];
        let Some(code) = error["code"].as_str() else {
            let place = self.client.place();
            return tell(self.output, &ServeTrouble::BadAnswer { place });
        };
        let exit = match answer.status {
            400 | 405 | 413 | 415 => 2,
            404 | 410 => 3,
            503 => UNREACHABLE,
            500.. => 70,
            _ => 1,
        };
        if self.output.json {
            self.output.line(&json!({ "error": error }).to_string());
            return ExitCode::from(exit);
        }
        self.output
            .told(code, text(error, "message"), text(error, "hint"), exit)
    }

    /// Finds the whole id of a task by its beginning, with or without `task_`.
    pub(crate) fn task(&self, given: &str) -> Told<String> {
        let exact = self.client.ask(
            "GET",
            &format!("/api/tasks/{}", encode_segment(given)),
            None,
            &[],
        );
        if exact.is_ok_and(|answer| answer.status == 200) {
            return Ok(given.to_owned());
        }
        let tasks = self.all("/api/tasks?archived=true&limit=1000")?;
        let ids = tasks.iter().filter_map(|task| task["id"].as_str());
        let fits = |id: &&str| {
            id.starts_with(given)
                || id
                    .strip_prefix("task_")
                    .is_some_and(|rest| rest.starts_with(given))
        };
        let fitting = ids.filter(fits).map(str::to_owned).collect();
        self.only(ServerThing::Task, given, fitting)
    }

    /// Returns the items on all pages of a list.
    pub(crate) fn all(&self, path: &str) -> Told<Vec<Value>> {
        let mut all = Vec::new();
        let mut cursor = String::new();
        loop {
            let page = self.get(&format!("{path}{cursor}"))?;
            all.extend(items(&page).cloned());
            match page["nextCursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return Ok(all),
            }
        }
    }

    /// Returns the only match; otherwise prints an error.
    fn only(&self, what: ServerThing, given: &str, mut fitting: Vec<String>) -> Told<String> {
        let lang = self.output.lang;
        match fitting.len() {
            1 => Ok(fitting.remove(0)),
            0 => {
                let id = given.to_owned();
                let (message, hint) = ServerNo::NoSuch { what, id }.say(lang);
                Err(self.output.told("unknown_id", &message, &hint, 3))
            }
            _ => {
                let trouble = bowline_words::message::Trouble::AmbiguousId {
                    id: given.to_owned(),
                    fitting: fitting.join(", "),
                };
                let (message, hint) = trouble.say(lang);
                Err(self.output.told("ambiguous_id", &message, &hint, 2))
            }
        }
    }

    /// Prints that there is nothing of that kind.
    pub(crate) fn none(&self, what: ServerThing, given: &str) -> ExitCode {
        match self.only(what, given, Vec::new()) {
            Ok(_) => ExitCode::SUCCESS,
            Err(code) => code,
        }
    }

    /// Returns the pending items in a list of a task.
    pub(crate) fn pending(&self, task: &str, list: &str) -> Told<Vec<Value>> {
        let page = self.get(&format!("/api/tasks/{}/{list}", encode_segment(task)))?;
        let pending = items(&page).filter(|it| it["status"] == "pending");
        Ok(pending.cloned().collect())
    }

    /// Finds a question by its own id, or as the oldest open one of a task: several are answered
    /// one by one.
    pub(crate) fn question(&self, given: &str) -> Told<String> {
        if given.starts_with("q_") {
            return Ok(given.to_owned());
        }
        let open = self.pending(&self.task(given)?, "questions")?;
        let mut ids = open.iter().filter_map(|it| it["id"].as_str());
        let oldest = ids.next().map(str::to_owned);
        oldest.ok_or_else(|| self.none(ServerThing::Question, given))
    }

    /// Finds a needed value by its own id, or as the only open one of a task.
    pub(crate) fn needed(&self, given: &str, name: Option<&str>) -> Told<String> {
        if given.starts_with("dep_") {
            return Ok(given.to_owned());
        }
        let open = self.pending(&self.task(given)?, "dependencies")?;
        let open = open
            .iter()
            .filter(|it| name.is_none_or(|name| it["name"] == name));
        let ids = open.filter_map(|it| it["id"].as_str()).map(str::to_owned);
        self.only(
            ServerThing::Dependency,
            name.unwrap_or(given),
            ids.collect(),
        )
    }
}
