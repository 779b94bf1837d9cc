//! Routes requests to handlers. The table of routes is the only list of them.

use crate::auth::{Caller, ConnectionPeer};
use crate::error::ApiError;
use crate::http_request::{ApiRequest, HandlerResult, set_header};
use crate::job_service::JobRequest;
use crate::serve::SharedState;
use crate::{
    agent_reports, decisions, files, fleet, idempotency, mcp, permissions, scope, session, tasks,
    verbs, web_page, workspaces,
};
use axum::Router;
use axum::body::Body;
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, Request};
use axum::http::{HeaderMap, Response, StatusCode, header};
use axum::routing::{MethodFilter, any, on};
use bowline_engine::machines::job::Command;
use bowline_formats::rest::routes::{ApiRoute, HttpMethod, Operation, ROUTES, RouteAccess};
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
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// A handler of a route; it runs on a thread that may block.
pub(crate) type RouteHandler = fn(&Arc<SharedState>, &ApiRequest) -> HandlerResult;

/// Returns the handler of an operation.
fn handler(operation: Operation) -> RouteHandler {
    match operation {
        Operation::Health => fleet::get_health,
        Operation::Ready => fleet::get_readiness,
        Operation::Metrics => fleet::get_metrics,
        Operation::Openapi => fleet::get_openapi,
        Operation::GetSession => session::get_session,
        Operation::SignIn => session::sign_in,
        Operation::SignOut => session::sign_out,
        Operation::NewSignInLink => session::new_sign_in_link,
        Operation::ListTasks => tasks::list_tasks,
        Operation::CreateTask => tasks::create_task,
        Operation::GetTask => tasks::get_task,
        Operation::EditTask => tasks::edit_task,
        Operation::DeleteTask => tasks::delete_task,
        Operation::SubmitTask => |shared, call| tasks::command(shared, call, Command::Submit),
        Operation::CancelTask => |shared, call| tasks::command(shared, call, Command::Cancel),
        Operation::PauseTask => |shared, call| tasks::command(shared, call, Command::Pause),
        Operation::ResumeTask => |shared, call| tasks::command(shared, call, Command::Resume),
        Operation::RetryTask => |shared, call| tasks::submit_verb(shared, call, JobRequest::Retry),
        Operation::ArchiveTask => |shared, call| tasks::command(shared, call, Command::Archive),
        Operation::ApproveTask => decisions::approve_task,
        Operation::RequestTaskChanges => decisions::request_task_changes,
        Operation::RestoreTask => tasks::restore_task,
        Operation::SayToAgent => tasks::send_message,
        Operation::InterruptAgent => {
            |shared, call| tasks::command(shared, call, Command::Interrupt)
        }
        Operation::ListSayings => decisions::list_messages,
        Operation::GetAgent => tasks::get_agent,
        Operation::ListSpend => tasks::list_spend,
        Operation::ListPhases => tasks::list_phases,
        Operation::ListTransitions => tasks::list_transitions,
        Operation::ListCheckpoints => decisions::list_checkpoints,
        Operation::CreateCheckpoint => {
            |shared, call| tasks::command(shared, call, Command::SaveCheckpoint)
        }
        Operation::ListReviews => decisions::list_reviews,
        Operation::ListQuestions => decisions::list_questions,
        Operation::ListDependencies => decisions::list_dependencies,
        Operation::ListPermissions => decisions::list_permissions,
        Operation::ListVerifications => decisions::list_verifications,
        Operation::GetConversation => tasks::get_conversation,
        Operation::GetLogs => files::get_logs,
        Operation::ListArtifacts => files::list_artifacts,
        Operation::GetArtifact => files::get_artifact,
        Operation::GetArtifactsZip => files::get_artifacts_zip,
        Operation::TaskEvents => fleet::stream_task_events,
        Operation::Events => fleet::stream_events,
        Operation::GetReview => decisions::get_review,
        Operation::GetReviewDiff => files::get_review_diff,
        Operation::ApproveReview => decisions::approve_review,
        Operation::RequestReviewChanges => decisions::request_review_changes,
        Operation::AnswerQuestion => decisions::answer_question,
        Operation::SkipQuestion => decisions::skip_question,
        Operation::ProvideDependency => decisions::provide_dependency,
        Operation::RejectDependency => decisions::reject_dependency,
        Operation::PermitTool => decisions::permit_tool,
        Operation::DenyTool => decisions::deny_tool,
        Operation::PermitTools => permissions::permit_tools,
        Operation::DenyTools => permissions::deny_tools,
        Operation::ListPermissionRules => permissions::list_rules,
        Operation::AddPermissionRule => permissions::add_rule,
        Operation::TryPermissionRule => permissions::try_rule,
        Operation::RemovePermissionRule => permissions::remove_rule,
        Operation::WithdrawSaying => decisions::withdraw_message,
        Operation::ForkCheckpoint => decisions::fork_checkpoint,
        Operation::GetApp => |shared, call| tasks::respond_with_app(shared, call, None),
        Operation::StartApp => |shared, call| tasks::respond_with_app(shared, call, Some(true)),
        Operation::StopApp => |shared, call| tasks::respond_with_app(shared, call, Some(false)),
        Operation::Act => permissions::run_sealed_action,
        Operation::ListDeliveries => tasks::list_deliveries,
        Operation::GetInbox => decisions::get_inbox,
        Operation::GetAgents => fleet::get_agents,
        Operation::ListNodes => fleet::list_nodes,
        Operation::GetStats => fleet::get_stats,
        Operation::ListLimits => fleet::list_limits,
        Operation::ListTypes => fleet::list_types,
        Operation::ListWorkspaces => workspaces::list_workspaces,
        Operation::GetWorkspaceState => workspaces::get_workspace_state,
        Operation::ListWorkspaceTransitions => workspaces::list_workspace_transitions,
        Operation::GetNodeLog => workspaces::get_node_log,
        Operation::ListRescued => workspaces::list_rescued,
        Operation::WorkspaceVerb => verbs::run_verb,
        Operation::ReportPhaseComplete => agent_reports::report_phase_complete,
        Operation::ReportDone => agent_reports::report_done,
        Operation::ReportAsk => agent_reports::report_question,
        Operation::ReportNeed => agent_reports::report_dependency,
        Operation::ReportError => agent_reports::report_error,
        Operation::ReportStep => agent_reports::report_step,
        Operation::ReportTokens => agent_reports::report_tokens,
    }
}

/// Builds the router: REST routes, sign-in links, MCP and the web page.
pub(crate) fn build_router(shared: &Arc<SharedState>) -> Router {
    let mut router = Router::new();
    for route in &ROUTES {
        let handler = handler(route.operation);
        let filter = match route.method {
            HttpMethod::Get => MethodFilter::GET,
            HttpMethod::Post => MethodFilter::POST,
            HttpMethod::Patch => MethodFilter::PATCH,
            HttpMethod::Delete => MethodFilter::DELETE,
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
                    Ok(params) => dispatch_request(shared, route, handler, params, request).await,
                    // A path that is not UTF-8 matches nothing.
                    Err(_) => no_route(&request),
                }
            }
        };
        router = router.route(&path, on(filter, answer));
    }
    let tools = mcp::McpEndpoint::new(shared, &router);
    let signing = Arc::clone(shared);
    let sign_in = move |request: Request| {
        let shared = Arc::clone(&signing);
        async move { session::sign_in_by_link(&shared, request.uri().query().unwrap_or_default()) }
    };
    router
        .route(session::LINK_PATH, on(MethodFilter::GET, sign_in))
        .route(
            mcp::MCP_PATH,
            any(move |request| tools.clone().handle_request(request)),
        )
        .fallback(async |request: Request| {
            let path = request.uri().path();
            let of_page = request.method() == axum::http::Method::GET
                || request.method() == axum::http::Method::HEAD;
            if of_page && path != "/api" && !path.starts_with("/api/") {
                return web_page::serve_page(path, request.headers());
            }
            no_route(&request)
        })
        .method_not_allowed_fallback(async |request: Request| {
            let path = request.uri().path();
            let fits = |route: &&ApiRoute| {
                let (mut wanted, mut given) = (route.path.split('/'), path.split('/'));
                route.path.split('/').count() == path.split('/').count()
                    && wanted.all(|part| {
                        given
                            .next()
                            .is_some_and(|it| part.starts_with('{') || part == it)
                    })
            };
            // Literal segments take precedence over parameters, as in routing.
            let open = |route: &&ApiRoute| route.path.matches('{').count();
            let fitting: Vec<&ApiRoute> = ROUTES.iter().filter(fits).collect();
            let least = fitting.iter().map(open).min();
            let fitting = fitting.iter().filter(|it| Some(open(it)) == least);
            let allowed: Vec<&str> = fitting.map(|it| it.method.name()).collect();
            ApiError::Server(ServerNo::WrongMethod {
                method: request.method().as_str().chars().take(20).collect(),
                allowed: allowed.join(", "),
            })
            .to_response(request_language(request.headers()))
        })
}

fn no_route(request: &Request) -> Response<Body> {
    let path = request.uri().path().chars().take(200).collect();
    ApiError::Server(ServerNo::NoRoute { path }).to_response(request_language(request.headers()))
}

/// Authenticates a request, runs its handler on a thread that may block, and logs the result.
async fn dispatch_request(
    shared: Arc<SharedState>,
    route: &'static ApiRoute,
    handler: RouteHandler,
    params: RawPathParams,
    request: Request,
) -> Response<Body> {
    let begun = Instant::now();
    let lang = request_language(request.headers());
    let mut who = "nobody";
    let reply = match authenticate_request(&shared, route, &params, request, lang).await {
        Ok(call) => {
            who = call.caller.name();
            let shared = Arc::clone(&shared);
            let answered = tokio::task::spawn_blocking(move || {
                scope::check_scope(&shared, &call)?;
                idempotency::handle_once(&shared, &call, handler)
            });
            answered
                .await
                .unwrap_or_else(|error| Err(ApiError::internal(&error)))
        }
        Err(problem) => Err(problem),
    };
    let code = reply.as_ref().err().map(|it| it.code().to_owned());
    let code = code.unwrap_or_default();
    let response = reply.unwrap_or_else(|problem| problem.to_response(lang));
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
    shared.metrics.count_response(response.status());
    response
}

async fn authenticate_request(
    shared: &Arc<SharedState>,
    route: &'static ApiRoute,
    params: &RawPathParams,
    request: Request,
    lang: Lang,
) -> Result<ApiRequest, ApiError> {
    let (parts, body) = request.into_parts();
    let peer = parts
        .extensions
        .get::<ConnectionPeer>()
        .ok_or(ServerNo::NoToken)?
        .clone();
    let caller = identify_caller(shared, peer, &parts.headers)?;
    check_access(route, &caller)?;
    let body = match route.body {
        Some(_) => receive_body(body, &parts.headers).await?,
        None => Bytes::new(),
    };
    let pair = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    Ok(ApiRequest {
        route,
        params: params.iter().map(pair).collect(),
        query: parse_query(parts.uri.query().unwrap_or_default()),
        headers: parts.headers,
        body,
        caller,
        lang,
    })
}

pub(crate) fn identify_caller(
    shared: &SharedState,
    peer: ConnectionPeer,
    headers: &HeaderMap,
) -> Result<Caller, ApiError> {
    let agent = |text: &str| shared.job_service().ok()?.agent_token(text);
    let found = shared
        .auth
        .identify_caller(peer.clone(), headers, shared.clock.now().0, agent);
    found.map_err(|no| {
        shared.rate_limits.count_wrong_token(&peer);
        // A valid token is never slowed down by wrong ones from the same address.
        ApiError::Server(
            shared
                .rate_limits
                .check_guess_limit(&peer)
                .err()
                .unwrap_or(no),
        )
    })
}

/// Checks that a caller may use a route.
fn check_access(route: &ApiRoute, caller: &Caller) -> Result<(), ApiError> {
    match (route.access, caller) {
        (RouteAccess::Open, _) => Ok(()),
        (RouteAccess::Read | RouteAccess::Person | RouteAccess::Agent, Caller::Nobody) => {
            Err(ServerNo::NoToken.into())
        }
        (
            RouteAccess::Read,
            Caller::Person | Caller::Reader | Caller::AgentReader(_) | Caller::Agent { .. },
        ) => Ok(()),
        (RouteAccess::Person, Caller::Person) => Ok(()),
        (RouteAccess::Person, Caller::Reader | Caller::AgentReader(_) | Caller::Agent { .. }) => {
            Err(ServerNo::NeedsPerson { what: "do that" }.into())
        }
        (RouteAccess::Agent, Caller::Agent { .. }) => Ok(()),
        (RouteAccess::Agent, Caller::Person | Caller::Reader | Caller::AgentReader(_)) => {
            Err(ServerNo::NeedsAgent.into())
        }
    }
}

async fn receive_body(body: Body, headers: &HeaderMap) -> Result<Bytes, ApiError> {
    let too_big = || {
        ApiError::Server(ServerNo::BodyTooBig {
            max: BODY_BYTES_MAX,
        })
    };
    let said = headers.get(header::CONTENT_LENGTH);
    let length = said.and_then(|it| it.to_str().ok()?.parse::<usize>().ok());
    if length.is_some_and(|length| length > BODY_BYTES_MAX) {
        return Err(too_big());
    }
    let collected = Limited::new(body, BODY_BYTES_MAX).collect();
    let bytes = match tokio::time::timeout(BODY_TIMEOUT, collected).await {
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
pub(crate) fn request_language(headers: &HeaderMap) -> Lang {
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
pub(crate) fn parse_query(query: &str) -> Vec<(String, String)> {
    let parts = query.split('&').filter(|part| !part.is_empty());
    let pair = |part: &str| {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        (decode_component(name), decode_component(value))
    };
    parts.map(pair).collect()
}

fn decode_component(text: &str) -> String {
    let spaced = text.replace('+', " ");
    percent_decode_str(&spaced).decode_utf8_lossy().into_owned()
}

/// Handles one request of a connection: checks before routing, the route, and headers that every
/// response has.
pub(crate) async fn handle_request(
    shared: Arc<SharedState>,
    router: Router,
    peer: ConnectionPeer,
    mut request: Request,
) -> Response<Body> {
    use tower_service::Service as _;
    let lang = request_language(request.headers());
    let api = request.uri().path().starts_with("/api/");
    let checked = shared
        .allowed_hosts
        .check_request(&peer, request.uri(), request.headers())
        .and_then(|()| shared.rate_limits.count_request(&peer));
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
            shared.metrics.count_response(StatusCode::FORBIDDEN);
            ApiError::Server(no).to_response(lang)
        }
    };
    set_header(&mut response, header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    set_header(&mut response, header::REFERRER_POLICY, "no-referrer");
    if !response
        .headers()
        .contains_key(header::CONTENT_SECURITY_POLICY)
    {
        set_header(
            &mut response,
            header::CONTENT_SECURITY_POLICY,
            web_page::PAGE_SECURITY_POLICY,
        );
    }
    if api && !response.headers().contains_key(header::CACHE_CONTROL) {
        set_header(&mut response, header::CACHE_CONTROL, "no-store");
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
        assert_eq!(parse_query("q=a+b%26c&ok&%ED%95%9C=글%"), expected);
        for (odd, expected) in [
            ("%", "%"),
            ("%4", "%4"),
            ("%zz+", "%zz "),
            ("%%41%2B", "%A+"),
            ("a%FFb", "a\u{fffd}b"),
            ("%글", "%글"),
        ] {
            assert_eq!(decode_component(odd), expected);
        }
    }

    #[test]
    fn the_language_is_the_first_that_we_speak() {
        let of = |text: &'static str| {
            let value = axum::http::HeaderValue::from_static(text);
            request_language(&HeaderMap::from_iter([(header::ACCEPT_LANGUAGE, value)]))
        };
        assert_eq!(of("fr, ko-KR;q=0.9, en"), Lang::Ko);
        assert_eq!(of("en-US, ko"), Lang::En);
        assert_eq!(of("de"), Lang::En);
    }
}
