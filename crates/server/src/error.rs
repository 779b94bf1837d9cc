//! Errors of requests: code, status and message of each.

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use bowline_engine::machines::CodedRefusal as _;
use bowline_engine::machines::job::{JobRefusalSubject, Refusal, TaskStatus};
use bowline_engine::{Error, ExitClass};
use bowline_formats::rest::{ErrorBody, ErrorTold};
use bowline_runner::orchestrate::control_socket::SocketError;
use bowline_words::Lang;
use bowline_words::message::{JobNo, ServerNo, ServerThing, Status};

/// An error of a request.
#[derive(Debug)]
pub(crate) enum ApiError {
    /// An error of the server itself.
    Server(ServerNo),
    /// A refusal by the rules of jobs.
    JobRefusal(Refusal),
    /// An error of an operation on a state file.
    Engine(Error),
    /// A refusal by the run that owns a state file.
    RunRefusal(SocketError),
}

impl From<ServerNo> for ApiError {
    fn from(no: ServerNo) -> Self {
        ApiError::Server(no)
    }
}

impl From<Error> for ApiError {
    fn from(error: Error) -> Self {
        ApiError::Engine(error)
    }
}

impl ApiError {
    /// Returns the error for an unknown id.
    pub(crate) fn no_such(what: ServerThing, id: &str) -> Self {
        let id = id.chars().take(80).collect();
        ApiError::Server(ServerNo::NoSuch { what, id })
    }

    /// Logs an unexpected error and returns an internal one.
    pub(crate) fn internal(error: &dyn std::fmt::Display) -> Self {
        tracing::error!(%error, "request failed");
        ApiError::Server(ServerNo::Internal)
    }

    /// Returns the stable error code.
    pub(crate) fn code(&self) -> &str {
        match self {
            ApiError::Server(no) => code_and_status(no).0,
            ApiError::JobRefusal(refusal) => refusal.code(),
            ApiError::Engine(error) => error.code(),
            ApiError::RunRefusal(refused) => &refused.code,
        }
    }

    pub(crate) fn status(&self) -> StatusCode {
        match self {
            ApiError::Server(no) => code_and_status(no).1,
            ApiError::JobRefusal(Refusal::Unknown { .. }) => StatusCode::NOT_FOUND,
            // The same status as without a run.
            ApiError::RunRefusal(refused) if refused.code == "no_task" => StatusCode::NOT_FOUND,
            ApiError::JobRefusal(_) | ApiError::RunRefusal(_) => StatusCode::CONFLICT,
            ApiError::Engine(error) => match error.exit_class() {
                ExitClass::Refused | ExitClass::Locked | ExitClass::Damaged => StatusCode::CONFLICT,
                ExitClass::Usage => StatusCode::BAD_REQUEST,
                ExitClass::NotFound => StatusCode::NOT_FOUND,
                ExitClass::Failure => StatusCode::INTERNAL_SERVER_ERROR,
            },
        }
    }

    /// Renders message, hint and details in a language.
    pub(crate) fn render_detail(&self, lang: Lang) -> ErrorTold {
        let (message, hint) = match self {
            ApiError::Server(no) => no.say(lang),
            ApiError::JobRefusal(refusal) => job_message(refusal).say(lang),
            ApiError::Engine(error) => error.render_message(lang),
            ApiError::RunRefusal(refused) => (refused.message.clone(), refused.hint.clone()),
        };
        let mut detail = ErrorTold {
            code: self.code().into(),
            message,
            hint,
            ..ErrorTold::default()
        };
        match self {
            ApiError::Server(ServerNo::UnknownType { name, known }) => {
                detail.valid_types = known.split(", ").map(str::to_owned).collect();
                detail.suggestion = nearest_word(name, &detail.valid_types);
            }
            ApiError::Server(ServerNo::NearMiss { suggestion, .. }) => {
                detail.suggestion = Some(suggestion.clone());
            }
            ApiError::Server(ServerNo::EventGone { oldest, .. }) => detail.oldest = Some(*oldest),
            ApiError::JobRefusal(Refusal::NotAllowed { allowed, .. }) => {
                detail.allowed_actions = allowed.iter().map(|it| it.name().to_owned()).collect();
            }
            ApiError::Server(_)
            | ApiError::JobRefusal(_)
            | ApiError::Engine(_)
            | ApiError::RunRefusal(_) => {}
        }
        detail
    }

    /// Builds the error response.
    pub(crate) fn to_response(&self, lang: Lang) -> Response<Body> {
        let body = ErrorBody {
            error: self.render_detail(lang),
        };
        let text = serde_json::to_vec(&body).unwrap_or_default();
        let mut response = Response::new(Body::from(text));
        *response.status_mut() = self.status();
        let headers = response.headers_mut();
        let json = HeaderValue::from_static("application/json");
        headers.insert(header::CONTENT_TYPE, json);
        let wait = match self {
            ApiError::Server(ServerNo::TooManyRequests { seconds }) => Some(*seconds),
            ApiError::Server(
                ServerNo::TooManyConnections
                | ServerNo::Draining
                | ServerNo::Starting
                | ServerNo::DiskFull
                | ServerNo::Exhausted
                | ServerNo::StoreDown,
            ) => Some(1),
            ApiError::Server(_)
            | ApiError::JobRefusal(_)
            | ApiError::Engine(_)
            | ApiError::RunRefusal(_) => None,
        };
        if let Some(seconds) = wait {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if let ApiError::Server(ServerNo::WrongMethod { allowed, .. }) = self
            && let Ok(allowed) = HeaderValue::from_str(allowed)
        {
            headers.insert(header::ALLOW, allowed);
        }
        response
    }
}

/// Returns error code and status.
fn code_and_status(no: &ServerNo) -> (&'static str, StatusCode) {
    match no {
        ServerNo::NoToken | ServerNo::WrongToken => ("unauthorized", StatusCode::UNAUTHORIZED),
        ServerNo::ForeignHost { .. } => ("foreign_host", StatusCode::FORBIDDEN),
        ServerNo::TwoHosts => ("two_hosts", StatusCode::BAD_REQUEST),
        ServerNo::ForeignOrigin { .. } => ("foreign_origin", StatusCode::FORBIDDEN),
        ServerNo::NeedsPerson { .. } => ("needs_person", StatusCode::FORBIDDEN),
        ServerNo::NeedsAgent => ("needs_agent", StatusCode::FORBIDDEN),
        ServerNo::NoRoute { .. } => ("no_route", StatusCode::NOT_FOUND),
        ServerNo::WrongMethod { .. } => ("wrong_method", StatusCode::METHOD_NOT_ALLOWED),
        ServerNo::NoSuch { .. } => ("unknown_id", StatusCode::NOT_FOUND),
        ServerNo::NoSuchVerb { .. } => ("no_such_verb", StatusCode::NOT_FOUND),
        ServerNo::NotInQuery { .. }
        | ServerNo::BadBody { .. }
        | ServerNo::BadTime { .. }
        | ServerNo::NotOneOf { .. }
        | ServerNo::VerbLacks { .. } => ("bad_input", StatusCode::BAD_REQUEST),
        ServerNo::UnknownType { .. } => ("unknown_type", StatusCode::BAD_REQUEST),
        ServerNo::UnknownAgent { .. } => ("unknown_agent", StatusCode::BAD_REQUEST),
        ServerNo::WorkspaceMissing { .. }
        | ServerNo::WorkspaceNotAFolder { .. }
        | ServerNo::WorkspaceHoldsData { .. }
        | ServerNo::WorkspaceInsideData { .. } => ("bad_workspace", StatusCode::BAD_REQUEST),
        ServerNo::ProtectedName { .. } => ("env_name_protected", StatusCode::BAD_REQUEST),
        ServerNo::BadValue { .. } => ("bad_value", StatusCode::BAD_REQUEST),
        ServerNo::OutsideWorkspace { .. } => ("outside_workspace", StatusCode::BAD_REQUEST),
        ServerNo::LeadsOut { .. } => ("outside_workspace", StatusCode::CONFLICT),
        ServerNo::NotJson => ("not_json", StatusCode::UNSUPPORTED_MEDIA_TYPE),
        ServerNo::BodyTooBig { .. } => ("body_too_big", StatusCode::PAYLOAD_TOO_LARGE),
        ServerNo::TooBigToSend { .. } => ("too_big_to_send", StatusCode::PAYLOAD_TOO_LARGE),
        ServerNo::DiffFailed { .. } => ("diff_failed", StatusCode::CONFLICT),
        ServerNo::TooSlow => ("too_slow", StatusCode::BAD_REQUEST),
        ServerNo::TooManyRequests { .. } => ("too_many_requests", StatusCode::TOO_MANY_REQUESTS),
        ServerNo::TooManyConnections => ("too_many_connections", StatusCode::SERVICE_UNAVAILABLE),
        ServerNo::Draining => ("draining", StatusCode::SERVICE_UNAVAILABLE),
        ServerNo::Starting => ("starting", StatusCode::SERVICE_UNAVAILABLE),
        ServerNo::DiskFull => ("disk_full", StatusCode::SERVICE_UNAVAILABLE),
        ServerNo::Exhausted => ("exhausted", StatusCode::SERVICE_UNAVAILABLE),
        ServerNo::StoreDown => ("store_failed", StatusCode::SERVICE_UNAVAILABLE),
        ServerNo::Cycle { .. } => ("circular_dependency", StatusCode::CONFLICT),
        ServerNo::Changed { .. } => ("changed", StatusCode::CONFLICT),
        ServerNo::RequestReused => ("request_reused", StatusCode::CONFLICT),
        ServerNo::NearMiss { .. } => ("not_an_option", StatusCode::CONFLICT),
        ServerNo::EventGone { .. } => ("event_gone", StatusCode::GONE),
        ServerNo::Internal => ("internal", StatusCode::INTERNAL_SERVER_ERROR),
    }
}

/// Converts a refusal of the job machine to a message.
fn job_message(refusal: &Refusal) -> JobNo {
    match refusal {
        Refusal::NotAllowed {
            command: "cancel",
            task: TaskStatus::Review,
            ..
        } => JobNo::CancelInReview,
        Refusal::NotAllowed {
            command,
            task,
            agent,
            allowed,
        } => {
            let allowed: Vec<&str> = allowed.iter().map(|action| action.name()).collect();
            JobNo::NotAllowed {
                command,
                task: Status::from_word(task.name()),
                agent: Status::from_word(agent.name()),
                allowed: allowed.join(", "),
            }
        }
        Refusal::Incomplete { missing } => JobNo::Incomplete {
            missing: missing.join(", "),
        },
        Refusal::ScheduledLater { .. } => JobNo::ScheduledLater,
        Refusal::WaitingForTasks { tasks } => JobNo::WaitingForTasks {
            tasks: tasks.join(", "),
        },
        Refusal::WorkspaceBusy { by } => JobNo::WorkspaceBusy { by: by.clone() },
        Refusal::StaleAttempt { .. } | Refusal::StaleVerification { .. } => JobNo::Stale,
        Refusal::Unknown { what, id } => JobNo::Unknown {
            what: subject_thing(*what),
            id: id.clone(),
        },
        Refusal::Settled { what, id, status } => JobNo::Settled {
            what: subject_thing(*what),
            id: id.clone(),
            status,
        },
        Refusal::Empty { what } => JobNo::Empty {
            what: subject_thing(*what),
        },
        Refusal::NotAnOption { answer, options } => JobNo::NotAnOption {
            answer: answer.clone(),
            options: options.join(", "),
        },
        Refusal::QuestionRequired { id } => JobNo::QuestionRequired { id: id.clone() },
        Refusal::NotDue { .. } => JobNo::NotDue,
        Refusal::TooManyWaiting => JobNo::TooManyWaiting,
        Refusal::NoSuchPhase { phase, total } => JobNo::NoSuchPhase {
            phase: *phase,
            total: *total,
        },
        Refusal::AlreadyRetried { by } => JobNo::AlreadyRetried { by: by.clone() },
        Refusal::DependedOn { tasks } => JobNo::DependedOn {
            tasks: tasks.join(", "),
        },
    }
}

fn subject_thing(subject: JobRefusalSubject) -> ServerThing {
    match subject {
        JobRefusalSubject::Review => ServerThing::Review,
        JobRefusalSubject::Question => ServerThing::Question,
        JobRefusalSubject::Dependency => ServerThing::Dependency,
        JobRefusalSubject::Permission => ServerThing::Permission,
        JobRefusalSubject::Message => ServerThing::Message,
        JobRefusalSubject::Feedback => ServerThing::Feedback,
        JobRefusalSubject::Answer => ServerThing::Answer,
        JobRefusalSubject::PhaseList => ServerThing::PhaseList,
    }
}

/// Returns the most similar known word, if one is similar enough.
fn nearest_word(word: &str, known: &[String]) -> Option<String> {
    let alike = |known: &str| {
        let length = known.chars().count().max(word.chars().count()).max(1);
        100 - strsim::levenshtein(word, known).min(length) * 100 / length
    };
    let best = known.iter().max_by_key(|one| alike(one))?;
    (alike(best) >= 60).then(|| best.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_of_a_job_keeps_its_words_and_is_korean() {
        for what in JobRefusalSubject::ALL {
            let (message, _) = job_message(&Refusal::Empty { what }).say(Lang::En);
            assert_eq!(message, Refusal::Empty { what }.to_string());
            let told = subject_thing(what).say(Lang::Ko);
            assert!(told.chars().all(|it| it == ' ' || it > '가'), "{told}");
        }
    }
}
