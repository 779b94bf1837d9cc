//! `/mcp`: the MCP tools over HTTP, with the rights of the token. No sessions: each request is
//! complete, and tools about tasks call the REST routes with the same rights.

use crate::auth::{Caller, ConnectionPeer};
use crate::error::ApiError;
use crate::router::{BODY_BYTES_MAX, identify_caller, parse_query, request_language};
use crate::serve::SharedState;
use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, Response, header};
use bowline_formats::rest::routes::RouteRequest;
use bowline_formats::rest::{ErrorBody, ErrorTold};
use bowline_mcp::{CallControl, SessionRole, TaskClient, ToolHandler, ToolRefusal, ToolSession};
use bowline_words::Lang;
use bowline_words::message::ServerNo;
use http_body_util::{BodyExt as _, Limited};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde::Deserialize as _;
use serde_json::Value;
use std::sync::Arc;
use std::time::Instant;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tower_service::Service as _;

/// Path of the endpoint.
pub(crate) const MCP_PATH: &str = "/mcp";
/// Tool calls at once. Each may wait for a route, which needs a thread of its own.
const TOOL_CALLS_MAX: usize = 8;
/// Maximum size of a route's response that a tool reads.
const RESPONSE_BYTES_MAX: usize = 4 << 20;

/// The MCP endpoint; shared by all connections.
#[derive(Clone)]
pub(crate) struct McpEndpoint {
    shared: Arc<SharedState>,
    routes: Router,
    calls: Arc<Semaphore>,
}

impl McpEndpoint {
    pub(crate) fn new(shared: &Arc<SharedState>, routes: &Router) -> Self {
        McpEndpoint {
            shared: Arc::clone(shared),
            routes: routes.clone(),
            calls: Arc::new(Semaphore::new(TOOL_CALLS_MAX)),
        }
    }

    /// Handles one message of a client, and logs it.
    pub(crate) async fn handle_request(self, request: Request) -> Response<Body> {
        let (begun, shared) = (Instant::now(), Arc::clone(&self.shared));
        let method = request.method().as_str().to_owned();
        let (who, response) = self.call_tools(request).await;
        let status = response.status().as_u16();
        let ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        tracing::info!(method, path = MCP_PATH, status, who, ms, "request");
        shared.metrics.count_response(response.status());
        response
    }

    async fn call_tools(self, request: Request) -> (&'static str, Response<Body>) {
        let lang = request_language(request.headers());
        let let_in = {
            let (endpoint, request) = (self.clone(), request_parts(&request));
            tokio::task::spawn_blocking(move || endpoint.open_session(request, lang)).await
        };
        let session = match let_in {
            Ok(Ok(session)) => session,
            Ok(Err(problem)) => return ("nobody", problem.to_response(lang)),
            Err(error) => return ("nobody", ApiError::internal(&error).to_response(lang)),
        };
        let who = session.role.name();
        // Host and Origin are checked before routing.
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .with_max_request_body_bytes(BODY_BYTES_MAX)
            .disable_allowed_hosts();
        let tools = ToolHandler::with_call_limit(session, self.calls);
        let sessions = Arc::new(NeverSessionManager::default());
        let service = StreamableHttpService::new(move || Ok(tools.clone()), sessions, config);
        (who, service.handle(request).await.map(Body::new))
    }

    /// Determines role, folder and task access for a request.
    fn open_session(&self, asked: RequestParts, lang: Lang) -> Result<ToolSession, ApiError> {
        let peer = asked.peer.clone().ok_or(ServerNo::NoToken)?;
        let caller = identify_caller(&self.shared, peer, &asked.headers)?;
        let role = match &caller {
            Caller::Nobody => return Err(ServerNo::NoToken.into()),
            Caller::Person => SessionRole::Person,
            Caller::Reader | Caller::AgentReader(_) => SessionRole::ReadOnly,
            Caller::Agent { .. } => SessionRole::Agent,
        };
        // An agent works on files itself, with its own rights; here they would be the server's.
        let folder = match role {
            SessionRole::Agent => None,
            SessionRole::ReadOnly | SessionRole::Person => self
                .shared
                .workspaces
                .find_or_first(asked.workspace.as_deref())?,
        };
        Ok(ToolSession {
            context: self.shared.context.clone(),
            confined: true,
            files: folder.is_some(),
            folder: folder.unwrap_or_default(),
            lang,
            role,
            tasks: Arc::new(RouterTaskClient {
                routes: self.routes.clone(),
                of_task: matches!(caller, Caller::Agent { .. }),
                handle: Handle::current(),
                parts: asked,
            }),
            call: CallControl::default(),
        })
    }
}

/// The parts of a request that are needed before its body is read.
#[derive(Clone)]
struct RequestParts {
    peer: Option<ConnectionPeer>,
    headers: HeaderMap,
    workspace: Option<String>,
}

fn request_parts(request: &Request) -> RequestParts {
    let known = [
        header::AUTHORIZATION,
        header::COOKIE,
        header::ACCEPT_LANGUAGE,
    ];
    let headers = request.headers();
    let kept = known.into_iter().filter_map(|name| {
        let value = headers.get(&name)?.clone();
        Some((name, value))
    });
    let query = parse_query(request.uri().query().unwrap_or_default());
    let mut workspace = query.into_iter().filter(|(name, _)| name == "workspace");
    RequestParts {
        peer: request.extensions().get::<ConnectionPeer>().cloned(),
        headers: kept.collect(),
        workspace: workspace.next().map(|(_, id)| id),
    }
}

/// Calls the server's own routes with the caller's credentials.
struct RouterTaskClient {
    routes: Router,
    of_task: bool,
    handle: Handle,
    parts: RequestParts,
}

fn refused(error: ErrorTold) -> ToolRefusal {
    ToolRefusal {
        code: error.code,
        message: error.message,
        hint: error.hint,
    }
}

impl TaskClient for RouterTaskClient {
    fn send_request(&self, request: &RouteRequest) -> Result<Value, ToolRefusal> {
        let failed = |what: &dyn std::fmt::Display| {
            refused(ApiError::internal(what).render_detail(Lang::En))
        };
        let text = request.body.as_ref().map(Value::to_string);
        let mut request = axum::http::Request::builder()
            .method(request.route.method.name())
            .uri(&request.path)
            .header(header::CONTENT_TYPE, "application/json")
            .body(Body::from(text.unwrap_or_default()))
            .map_err(|error| failed(&error))?;
        for (name, value) in &self.parts.headers {
            request.headers_mut().insert(name, value.clone());
        }
        if let Some(peer) = self.parts.peer.clone() {
            request.extensions_mut().insert(peer);
        }
        let mut routes = self.routes.clone();
        let answered = self.handle.block_on(async move {
            let response = match routes.call(request).await {
                Ok(response) => response,
                Err(never) => match never {},
            };
            let good = response.status().is_success();
            let body = Limited::new(response.into_body(), RESPONSE_BYTES_MAX).collect();
            body.await.map(|body| (good, body.to_bytes()))
        });
        let (good, bytes) = answered.map_err(|error| failed(&error))?;
        let text = || Value::from(String::from_utf8_lossy(&bytes));
        let json: Value = serde_json::from_slice(&bytes).unwrap_or_else(|_| text());
        if good {
            return Ok(json);
        }
        let error = ErrorBody::deserialize(&json).map(|body| body.error);
        Err(refused(error.unwrap_or_default()))
    }

    fn is_of_task(&self) -> bool {
        self.of_task
    }
}
