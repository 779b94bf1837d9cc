//! Connects commands to the task server: finds it, sends requests, and prints its refusals.

use crate::args::task::ServerAddressArgs;
use crate::output::CommandOutput;
use bowline_engine::Context;
use bowline_engine::formats::rest::routes::{
    RouteRequest, TaskQuery, TypedRequest, get_task, list_dependencies, list_permissions,
    list_questions, list_tasks,
};
use bowline_engine::formats::rest::{Dependency, Page, Permission, Question, Task};
use bowline_engine::formats::rest::{DependencyStatus, PermissionStatus, QuestionStatusKind};
use bowline_engine::words::system_cause;
use bowline_server::client::{ApiClient, HttpResponse, RequestError};
use bowline_server::{find_data_folder, read_secret, serve_error_code};
use bowline_words::Lang;
use bowline_words::message::{ServeTrouble, ServerNo, ServerThing};
use serde::de::DeserializeOwned;
use serde_json::Value;
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

/// Items of one page of a list.
pub(crate) const PAGE_ITEMS: i64 = 1_000;

/// Exit code for a server that does not answer.
const UNREACHABLE_EXIT: u8 = 6;

/// A client of the task server that prints failures itself.
pub(crate) struct RemoteServer<'a> {
    pub(crate) output: &'a CommandOutput,
    pub(crate) client: ApiClient,
}

/// Result of a request whose failure is already printed; the error is the exit code.
pub(crate) type RemoteResult<T> = Result<T, ExitCode>;

/// Finds the server: by the arguments, the variables, or the data folder.
pub(crate) fn find_server<'a>(
    context: &Context,
    output: &'a CommandOutput,
    place: &ServerAddressArgs,
) -> RemoteResult<RemoteServer<'a>> {
    match create_client(context, place, output.lang) {
        Ok(client) => Ok(RemoteServer { output, client }),
        Err(trouble) => Err(print_server_trouble(output, &trouble)),
    }
}

/// Creates a client by the arguments, the variables, or the data folder; prints nothing.
pub(crate) fn create_client(
    context: &Context,
    place: &ServerAddressArgs,
    lang: Lang,
) -> Result<ApiClient, ServeTrouble> {
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
            let file = token
                .unwrap_or_else(|| find_data_folder(context, place.data.as_deref()).join("token"));
            let token = read_secret(&file).map_err(|error| error.into_trouble(&file))?;
            ApiClient::for_url(&url, Some(token), lang)
        }
        (None, token) => {
            let client = ApiClient::for_data_folder(
                &find_data_folder(context, place.data.as_deref()),
                lang,
            )?;
            match token {
                None => Ok(client),
                Some(file) => {
                    let token = read_secret(&file).map_err(|error| error.into_trouble(&file))?;
                    Ok(client.with_token(token))
                }
            }
        }
    }
}

/// Finds the server as the agent of an attempt.
pub(crate) fn find_as_agent<'a>(
    context: &Context,
    output: &'a CommandOutput,
) -> RemoteResult<RemoteServer<'a>> {
    match agent_client(context, output.lang) {
        None => {
            let (message, hint) = ServerNo::NeedsAgent.say(output.lang);
            Err(output.print_error_texts(NEEDS_AGENT, &message, &hint, 1))
        }
        Some(Ok(client)) => Ok(RemoteServer { output, client }),
        Some(Err(trouble)) => Err(print_server_trouble(output, &trouble)),
    }
}

/// Creates a client for the agent of a task; prints nothing. `None` outside an attempt of a task.
pub(crate) fn agent_client(
    context: &Context,
    lang: Lang,
) -> Option<Result<ApiClient, ServeTrouble>> {
    let variable = |name: &str| context.variables.get(name).map(PathBuf::from);
    let (url, file) = (variable(URL_VARIABLE)?, variable(AGENT_TOKEN_VARIABLE)?);
    let token = read_secret(&file).map_err(|error| error.into_trouble(&file));
    Some(token.and_then(|token| ApiClient::for_url(&url.to_string_lossy(), Some(token), lang)))
}

/// Prints why the server cannot be used, and returns the exit code.
pub(crate) fn print_server_trouble(output: &CommandOutput, trouble: &ServeTrouble) -> ExitCode {
    let exit = match trouble {
        ServeTrouble::Unreachable { .. } | ServeTrouble::BadAnswer { .. } => UNREACHABLE_EXIT,
        // No server ever ran there.
        ServeTrouble::File { .. } => UNREACHABLE_EXIT,
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
    print_trouble_with_code(output, trouble, exit)
}

/// Prints why the server cannot be used, and returns the given exit code.
pub(crate) fn print_trouble_with_code(
    output: &CommandOutput,
    trouble: &ServeTrouble,
    exit: u8,
) -> ExitCode {
    let (message, hint) = trouble.say(output.lang);
    output.print_error_texts(serve_error_code(trouble), &message, &hint, exit)
}

/// Writes a new file; a failure is printed.
pub(crate) fn write_new(output: &CommandOutput, path: &Path, bytes: &[u8]) -> RemoteResult<()> {
    let written = File::create_new(path).and_then(|mut file| file.write_all(bytes));
    written.map_err(|error| {
        let trouble = ServeTrouble::File {
            path: path.display().to_string(),
            cause: system_cause(&error),
        };
        print_server_trouble(output, &trouble)
    })
}

impl RemoteServer<'_> {
    /// Sends a request; a failure is printed.
    pub(crate) fn fetch(&self, request: &RouteRequest) -> RemoteResult<HttpResponse> {
        let answer = self.client.fetch(request);
        answer.map_err(|error| self.failed(error))
    }

    /// Sends a request and returns the JSON of the response as it was sent.
    pub(crate) fn json<T>(&self, request: &TypedRequest<T>) -> RemoteResult<Value> {
        Ok(self.fetch(&request.request)?.json())
    }

    /// Sends a request and reads the response.
    pub(crate) fn get<T: DeserializeOwned>(&self, request: &TypedRequest<T>) -> RemoteResult<T> {
        self.read(&self.json(request)?)
    }

    pub(crate) fn read<T: DeserializeOwned>(&self, json: &Value) -> RemoteResult<T> {
        let read = self.client.read(json);
        read.map_err(|trouble| print_server_trouble(self.output, &trouble))
    }

    /// Sends a request and prints the response: as it was sent in JSON mode, else the given lines.
    pub(crate) fn done<T: DeserializeOwned>(
        &self,
        request: &TypedRequest<T>,
        lines: impl FnOnce(&T) -> Vec<String>,
    ) -> RemoteResult<ExitCode> {
        let json = self.json(request)?;
        let lines = match self.output.json {
            true => Vec::new(),
            false => lines(&self.read(&json)?),
        };
        self.output.print_outcome(json, &lines);
        Ok(ExitCode::SUCCESS)
    }

    /// Prints why a request failed and returns the exit code.
    pub(crate) fn failed(&self, error: RequestError) -> ExitCode {
        let (status, error, json) = match error {
            RequestError::Trouble(trouble) => return print_server_trouble(self.output, &trouble),
            RequestError::Refused {
                status,
                error,
                json,
            } => (status, error, json),
        };
        let exit = match status {
            400 | 405 | 413 | 415 => 2,
            404 | 410 => 3,
            503 => UNREACHABLE_EXIT,
            500.. => 70,
            _ => 1,
        };
        if self.output.json {
            self.output.print_line(&json.to_string());
            return ExitCode::from(exit);
        }
        self.output
            .print_error_texts(&error.code, &error.message, &error.hint, exit)
    }

    /// Finds the whole id of a task by its beginning, with or without `task_`.
    pub(crate) fn resolve_task(&self, given: &str) -> RemoteResult<String> {
        if self.client.fetch(&get_task(given).request).is_ok() {
            return Ok(given.to_owned());
        }
        let tasks: Vec<Task> = self.all(|cursor| {
            list_tasks(&TaskQuery {
                archived: Some(true),
                limit: Some(PAGE_ITEMS),
                cursor,
                ..TaskQuery::default()
            })
        })?;
        let fits = |id: &String| {
            id.starts_with(given)
                || id
                    .strip_prefix("task_")
                    .is_some_and(|rest| rest.starts_with(given))
        };
        let fitting = tasks.into_iter().map(|task| task.id).filter(fits).collect();
        self.single_match(ServerThing::Task, given, fitting)
    }

    /// Returns the items on all pages of a list.
    pub(crate) fn all<T: DeserializeOwned>(
        &self,
        page: impl Fn(Option<String>) -> TypedRequest<Page<T>>,
    ) -> RemoteResult<Vec<T>> {
        let mut all = Vec::new();
        let mut cursor = None;
        loop {
            let page = self.get(&page(cursor))?;
            all.extend(page.items);
            match page.next_cursor {
                Some(next) => cursor = Some(next),
                None => return Ok(all),
            }
        }
    }

    /// Returns the only match; otherwise prints an error.
    fn single_match(
        &self,
        what: ServerThing,
        given: &str,
        mut fitting: Vec<String>,
    ) -> RemoteResult<String> {
        let lang = self.output.lang;
        match fitting.len() {
            1 => Ok(fitting.remove(0)),
            0 => {
                let id = given.to_owned();
                let (message, hint) = ServerNo::NoSuch { what, id }.say(lang);
                Err(self
                    .output
                    .print_error_texts("unknown_id", &message, &hint, 3))
            }
            _ => {
                let trouble = bowline_words::message::Trouble::AmbiguousId {
                    id: given.to_owned(),
                    fitting: fitting.join(", "),
                };
                let (message, hint) = trouble.say(lang);
                Err(self
                    .output
                    .print_error_texts("ambiguous_id", &message, &hint, 2))
            }
        }
    }

    /// Prints that there is nothing of that kind.
    pub(crate) fn print_no_match(&self, what: ServerThing, given: &str) -> ExitCode {
        match self.single_match(what, given, Vec::new()) {
            Ok(_) => ExitCode::SUCCESS,
            Err(code) => code,
        }
    }

    /// Returns the items of a list of a task that are pending.
    pub(crate) fn pending<T: DeserializeOwned>(
        &self,
        list: &TypedRequest<Page<T>>,
        is_pending: impl FnMut(&T) -> bool,
    ) -> RemoteResult<Vec<T>> {
        let page = self.get(list)?;
        Ok(page.items.into_iter().filter(is_pending).collect())
    }

    pub(crate) fn open_questions(&self, task: &str) -> RemoteResult<Vec<Question>> {
        self.pending(&list_questions(task), |it| {
            it.status == QuestionStatusKind::Pending
        })
    }

    pub(crate) fn open_dependencies(&self, task: &str) -> RemoteResult<Vec<Dependency>> {
        self.pending(&list_dependencies(task), |it| {
            it.status == DependencyStatus::Pending
        })
    }

    pub(crate) fn open_permissions(&self, task: &str) -> RemoteResult<Vec<Permission>> {
        self.pending(&list_permissions(task), |it| {
            it.status == PermissionStatus::Pending
        })
    }

    /// Finds a question by its own id, or as the oldest open one of a task: several are answered
    /// one by one.
    pub(crate) fn resolve_question(&self, given: &str) -> RemoteResult<String> {
        if given.starts_with("q_") {
            return Ok(given.to_owned());
        }
        let open = self.open_questions(&self.resolve_task(given)?)?;
        let oldest = open.into_iter().next().map(|it| it.id);
        oldest.ok_or_else(|| self.print_no_match(ServerThing::Question, given))
    }

    /// Finds a needed value by its own id, or as the only open one of a task.
    pub(crate) fn resolve_dependency(
        &self,
        given: &str,
        name: Option<&str>,
    ) -> RemoteResult<String> {
        if given.starts_with("dep_") {
            return Ok(given.to_owned());
        }
        let open = self
            .open_dependencies(&self.resolve_task(given)?)?
            .into_iter();
        let open = open.filter(|it| name.is_none_or(|name| it.name == name));
        self.single_match(
            ServerThing::Dependency,
            name.unwrap_or(given),
            open.map(|it| it.id).collect(),
        )
    }
}
