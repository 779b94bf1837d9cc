//! Routes requests to handlers. The table of routes is the only list of them.

use crate::auth::{Caller, Peer};
use crate::call::{Call, Reply, set};
use crate::problem::Problem;
use crate::serve::Shared;
use crate::work::JobRequest;
use crate::{
    asks, files, idempotency, mcp, page, permits, reports, scope, session, tasks, verbs,
    workspaces, world,
};
use axum::Router;
use axum::body::Body;
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, Request};
use axum::http::{HeaderMap, Response, StatusCode, header};
use axum::routing::{MethodFilter, any, on};
use bowline_engine::machines::job::Command;
use bowline_formats::rest::routes::{Access, Method, Operation, ROUTES, Route};
use bowline_words::Lang;
use bowline_words::message::ServerNo;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Bytes;
use percent_encoding::percent_decode_str;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Maximum size of a request's body.
pub(crate) const BODY_BYTES_MAX: usize = 1 << 20;
/// Timeout for receiving a body.
const BODY_TIME: Duration = Duration::from_secs(10);

/// A handler of a route; it runs on a thread that may block.
pub(crate) type Handler = fn(&Arc<Shared>, &Call) -> Reply;

/// Returns the handler of an operation.
fn handler(operation: Operation) -> Handler {
    match operation {
        Operation::Health => world::health,
        Operation::Ready => world::ready,
        Operation::Metrics => world::metrics,
        Operation::Openapi => world::openapi,
        Operation::GetSession => session::get,
        Operation::SignIn => session::sign_in,
        Operation::SignOut => session::sign_out,
        Operation::NewSignInLink => session::new_link,
        Operation::ListTasks => tasks::list,
        Operation::CreateTask => tasks::create,
        Operation::GetTask => tasks::get,
        Operation::EditTask => tasks::edit,
        Operation::DeleteTask => tasks::delete,
        Operation::SubmitTask => |shared, call| tasks::command(shared, call, Command::Submit),
        Operation::CancelTask => |shared, call| tasks::command(shared, call, Command::Cancel),
        Operation::PauseTask => |shared, call| tasks::command(shared, call, Command::Pause),
        Operation::ResumeTask => |shared, call| tasks::command(shared, call, Command::Resume),
        Operation::RetryTask => |shared, call| tasks::moved(shared, call, JobRequest::Retry),
        Operation::ArchiveTask => |shared, call| tasks::command(shared, call, Command::Archive),
        Operation::ApproveTask => asks::approve_task,
        Operation::RequestTaskChanges => asks::request_task_changes,
        Operation::RestoreTask => tasks::restore,
        Operation::SayToAgent => tasks::say,
        Operation::InterruptAgent => {
            |shared, call| tasks::command(shared, call, Command::Interrupt)
        }
        Operation::ListSayings => asks::sayings,
        Operation::GetAgent => tasks::agent,
        Operation::ListSpend => tasks::spend,
        Operation::ListPhases => tasks::phases,
        Operation::ListTransitions => tasks::transitions,
        Operation::ListCheckpoints => asks::checkpoints,
        Operation::CreateCheckpoint => {
            |shared, call| tasks::command(shared, call, Command::SaveCheckpoint)
        }
        Operation::ListReviews => asks::reviews,
        Operation::ListQuestions => asks::questions,
        Operation::ListDependencies => asks::dependencies,
        Operation::ListPermissions => asks::permissions,
        Operation::ListVerifications => asks::verifications,
        Operation::GetConversation => tasks::conversation,
        Operation::GetLogs => files::logs,
        Operation::ListArtifacts => files::artifacts,
        Operation::GetArtifact => files::artifact,
        Operation::GetArtifactsZip => files::zip,
        Operation::TaskEvents => world::task_events,
        Operation::Events => world::events,
        Operation::GetReview => asks::review,
        Operation::GetReviewDiff => files::review_diff,
        Operation::ApproveReview => asks::approve,
        Operation::RequestReviewChanges => asks::request_changes,
        Operation::AnswerQuestion => asks::answer,
        Operation::SkipQuestion => asks::skip,
        Operation::ProvideDependency => asks::provide,
        Operation::RejectDependency => asks::reject,
        Operation::PermitTool => asks::permit,
        Operation::DenyTool => asks::deny,
        Operation::PermitTools => permits::permit,
        Operation::DenyTools => permits::deny,
        Operation::ListPermissionRules => permits::rules,
        Operation::AddPermissionRule => permits::add_rule,
        Operation::TryPermissionRule => permits::try_rule,
        Operation::RemovePermissionRule => permits::remove_rule,
        Operation::WithdrawSaying => asks::withdraw,
        Operation::ForkCheckpoint => asks::fork,
        Operation::GetApp => |shared, call| tasks::app(shared, call, None),
        Operation::StartApp => |shared, call| tasks::app(shared, call, Some(true)),
        Operation::StopApp => |shared, call| tasks::app(shared, call, Some(false)),
        Operation::Act => permits::act,
        Operation::ListDeliveries => tasks::deliveries,
        Operation::GetInbox => asks::inbox,
        Operation::GetAgents => world::agents,
        Operation::ListNodes => world::nodes,
        Operation::GetStats => world::stats,
        Operation::ListLimits => world::limits,
        Operation::ListTypes => world::types,
        Operation::ListWorkspaces => workspaces::list,
        Operation::GetWorkspaceState => workspaces::state,
        Operation::ListWorkspaceTransitions => workspaces::transitions,
        Operation::GetNodeLog => workspaces::node_log,
        Operation::ListRescued => workspaces::rescued,
        Operation::WorkspaceVerb => verbs::verb,
        Operation::ReportPhaseComplete => reports::phase_complete,
        Operation::ReportDone => reports::done,
        Operation::ReportAsk => reports::ask,
        Operation::ReportNeed => reports::need,
        Operation::ReportError => reports::error,
        Operation::ReportStep => reports::step,
        Operation::ReportTokens => reports::tokens,
    }
}

/// Builds the router: REST routes, sign-in links, MCP and the web page.
pub(crate) fn router(shared: &Arc<Shared>) -> Router {
    let mut router = Router::new();
    for route in &ROUTES {
        let handler = handler(route.operation);
        let filter = match route.method {
            Method::Get => MethodFilter::GET,
            Method::Post => MethodFilter::POST,
            Method::Patch => MethodFilter::PATCH,
            Method::Delete => MethodFilter::DELETE,
        };
        // The path of an artifact may contain folders.
        let path = route
            .path
            .replace("/artifacts/{path}", "/artifacts/{*path}");
        let shared = Arc::clone(shared);
        let answer = move |params: Result<RawPathParams, RawPathParamsRejection>,
                           request: Request| {
            let shared = Arc::clone(&shared);
            async move {
                match params {
                    Ok(params) => dispatch(shared, route, handler, params, request).await,
                    // A path that is not UTF-8 matches nothing.
                    Err(_) => no_route(&request),
                }
            }
        };
        router = router.route(&path, on(filter, answer));
    }
    let tools = mcp::Endpoint::new(shared, &router);
    let signing = Arc::clone(shared);
    let sign_in = move |request: Request| {
        let shared = Arc::clone(&signing);
        async move { session::by_link(&shared, request.uri().query().unwrap_or_default()) }
    };
    router
        .route(session::LINK_PATH, on(MethodFilter::GET, sign_in))
        .route(mcp::PATH, any(move |request| tools.clone().answer(request)))
        .fallback(async |request: Request| {
            let path = request.uri().path();
            let of_page = request.method() == axum::http::Method::GET
                || request.method() == axum::http::Method::HEAD;
            if of_page && path != "/api" && !path.starts_with("/api/") {
                return page::serve(path, request.headers());
            }
            no_route(&request)
        })
        .method_not_allowed_fallback(async |request: Request| {
            let path = request.uri().path();
            let fits = |route: &&Route| {
                let (mut wanted, mut given) = (route.path.split('/'), path.split('/'));
                route.path.split('/').count() == path.split('/').count()
                    && wanted.all(|part| {
                        given
                            .next()
                            .is_some_and(|it| part.starts_with('{') || part == it)
                    })
            };
            // Literal segments take precedence over parameters, as in routing.
            let open = |route: &&Route| route.path.matches('{').count();
            let fitting: Vec<&Route> = ROUTES.iter().filter(fits).collect();
            let least = fitting.iter().map(open).min();
            let fitting = fitting.iter().filter(|it| Some(open(it)) == least);
            let allowed: Vec<&str> = fitting.map(|it| it.method.name()).collect();
            Problem::No(ServerNo::WrongMethod {
                method: request.method().as_str().chars().take(20).collect(),
                allowed: allowed.join(", "),
            })
            .response(language(request.headers()))
        })
}

fn no_route(request: &Request) -> Response<Body> {
    let path = request.uri().path().chars().take(200).collect();
    Problem::No(ServerNo::NoRoute { path }).response(language(request.headers()))
}

/// Authenticates a request, runs its handler on a thread that may block, and logs the result.
async fn dispatch(
    shared: Arc<Shared>,
    route: &'static Route,
    handler: Handler,
    params: RawPathParams,
    request: Request,
) -> Response<Body> {
    let begun = Instant::now();
    let lang = language(request.headers());
    let mut who = "nobody";
    let reply = match let_in(&shared, route, &params, request, lang).await {
        Ok(call) => {
            who = call.caller.name();
            let shared = Arc::clone(&shared);
            let answered = tokio::task::spawn_blocking(move || {
                scope::check(&shared, &call)?;
                idempotency::answer(&shared, &call, handler)
            });
            answered
                .await
                .unwrap_or_else(|error| Err(Problem::internal(&error)))
        }
        Err(problem) => Err(problem),
    };
    let code = reply.as_ref().err().map(|it| it.code().to_owned());
    let code = code.unwrap_or_default();
    let response = reply.unwrap_or_else(|problem| problem.response(lang));
    let status = response.status().as_u16();
    let ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    // Logs the pattern, not the path: paths may contain private text.
    tracing::info!(
        method = route.method.name(),
        path = route.path,
        status,
        code,
        who,
        ms,
        "request"
    );
    shared.metrics.count(response.status());
    response
}

async fn let_in(
    shared: &Arc<Shared>,
    route: &'static Route,
    params: &RawPathParams,
    request: Request,
    lang: Lang,
) -> Result<Call, Problem> {
    let (parts, body) = request.into_parts();
    let peer = parts
        .extensions
        .get::<Peer>()
        .ok_or(ServerNo::NoToken)?
        .clone();
    let caller = caller(shared, peer, &parts.headers)?;
    permit(route, &caller)?;
    let body = match route.body {
        Some(_) => read(body, &parts.headers).await?,
        None => Bytes::new(),
    };
    let pair = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    Ok(Call {
        route,
        params: params.iter().map(pair).collect(),
        query: pairs(parts.uri.query().unwrap_or_default()),
        headers: parts.headers,
        body,
        caller,
        lang,
    })
}

pub(crate) fn caller(shared: &Shared, peer: Peer, headers: &HeaderMap) -> Result<Caller, Problem> {
    let agent = |text: &str| shared.work().ok()?.agent_token(text);
    let found = shared
        .auth
        .caller(peer.clone(), headers, shared.clock.now().0, agent);
    found.map_err(|no| {
        shared.rates.wrong_token(&peer);
        // A valid token is never slowed down by wrong ones from the same address.
        Problem::No(shared.rates.may_guess(&peer).err().unwrap_or(no))
    })
}

/// Checks that a caller may use a route.
fn permit(route: &Route, caller: &Caller) -> Result<(), Problem> {
    match (route.access, caller) {
        (Access::Open, _) => Ok(()),
        (Access::Read | Access::Person | Access::Agent, Caller::Nobody) => {
            Err(ServerNo::NoToken.into())
        }
        (
            Access::Read,
            Caller::Person | Caller::Reader | Caller::AgentReader(_) | Caller::Agent { .. },
        ) => Ok(()),
        (Access::Person, Caller::Person) => Ok(()),
        (Access::Person, Caller::Reader | Caller::AgentReader(_) | Caller::Agent { .. }) => {
            Err(ServerNo::NeedsPerson { what: "do that" }.into())
        }
        (Access::Agent, Caller::Agent { .. }) => Ok(()),
        (Access::Agent, Caller::Person | Caller::Reader | Caller::AgentReader(_)) => {
            Err(ServerNo::NeedsAgent.into())
        }
    }
}

async fn read(body: Body, headers: &HeaderMap) -> Result<Bytes, Problem> {
    let too_big = || {
        Problem::No(ServerNo::BodyTooBig {
            max: BODY_BYTES_MAX,
        })
    };
    let said = headers.get(header::CONTENT_LENGTH);
    let length = said.and_then(|it| it.to_str().ok()?.parse::<usize>().ok());
    if length.is_some_and(|length| length > BODY_BYTES_MAX) {
        return Err(too_big());
    }
    let collected = Limited::new(body, BODY_BYTES_MAX).collect();
    let bytes = match tokio::time::timeout(BODY_TIME, collected).await {
        Ok(Ok(collected)) => collected.to_bytes(),
        Ok(Err(error)) if error.is::<LengthLimitError>() => return Err(too_big()),
        Ok(Err(_)) | Err(_) => return Err(ServerNo::TooSlow.into()),
    };
    let json = headers.get(header::CONTENT_TYPE).is_some_and(|value| {
        let value = value.to_str().unwrap_or_default().to_ascii_lowercase();
        value.split(';').next().map(str::trim) == Some("application/json")
    });
    if !bytes.is_empty() && !json {
        return Err(ServerNo::NotJson.into());
    }
    Ok(bytes)
}

/// Returns the first supported language of `Accept-Language`.
pub(crate) fn language(headers: &HeaderMap) -> Lang {
    let value = headers.get(header::ACCEPT_LANGUAGE);
    let text = value.and_then(|it| it.to_str().ok()).unwrap_or_default();
    let wanted = text.split(',').find_map(|tag| {
        let tag = tag.trim().to_ascii_lowercase();
        match tag.get(..2) {
            Some("ko") => Some(Lang::Ko),
            Some("en") => Some(Lang::En),
            Some(_) | None => None,
        }
    });
    wanted.unwrap_or_default()
}

/// Parses and decodes a query string, `a=b&c=d`.
pub(crate) fn pairs(query: &str) -> Vec<(String, String)> {
    let parts = query.split('&').filter(|part| !part.is_empty());
    let pair = |part: &str| {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        (decoded(name), decoded(value))
    };
    parts.map(pair).collect()
}

fn decoded(text: &str) -> String {
    let spaced = text.replace('+', " ");
    percent_decode_str(&spaced).decode_utf8_lossy().into_owned()
}

/// Handles one request of a connection: checks before routing, the route, and headers that every
/// response has.
pub(crate) async fn answer(
    shared: Arc<Shared>,
    router: Router,
    peer: Peer,
    mut request: Request,
) -> Response<Body> {
    use tower_service::Service as _;
    let lang = language(request.headers());
    let api = request.uri().path().starts_with("/api/");
    let checked = shared
        .names
        .check(&peer, request.uri(), request.headers())
        .and_then(|()| shared.rates.request(&peer));
    let mut response = match checked {
        Ok(()) => {
            request.extensions_mut().insert(peer);
            let mut router = router;
            match router.call(request).await {
                Ok(response) => response,
                Err(never) => match never {},
            }
        }
        Err(no) => {
            shared.metrics.count(StatusCode::FORBIDDEN);
            Problem::No(no).response(lang)
        }
    };
    set(&mut response, header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(&mut response, header::REFERRER_POLICY, "no-referrer");
    if !response
        .headers()
        .contains_key(header::CONTENT_SECURITY_POLICY)
    {
        set(&mut response, header::CONTENT_SECURITY_POLICY, page::POLICY);
    }
    if api && !response.headers().contains_key(header::CACHE_CONTROL) {
        set(&mut response, header::CACHE_CONTROL, "no-store");
    }
    let _ = shared.metrics.requests.fetch_add(1, Ordering::Relaxed);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_decoded() {
        let expected = [("q", "a b&c"), ("ok", ""), ("한", "글%")];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(pairs("q=a+b%26c&ok&%ED%95%9C=글%"), expected);
        for (odd, expected) in [
            ("%", "%"),
            ("%4", "%4"),
            ("%zz+", "%zz "),
            ("%%41%2B", "%A+"),
            ("a%FFb", "a\u{fffd}b"),
            ("%글", "%글"),
        ] {
            assert_eq!(decoded(odd), expected);
        }
    }

    #[test]
    fn the_language_is_the_first_that_we_speak() {
        let of = |text: &'static str| {
            let value = axum::http::HeaderValue::from_static(text);
            language(&HeaderMap::from_iter([(header::ACCEPT_LANGUAGE, value)]))
        };
        assert_eq!(of("fr, ko-KR;q=0.9, en"), Lang::Ko);
        assert_eq!(of("en-US, ko"), Lang::En);
        assert_eq!(of("de"), Lang::En);
    }
}
