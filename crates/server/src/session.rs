//! Signing in and out.

use crate::auth::Caller;
use crate::error::ApiError;
use crate::http_request::{ApiRequest, HandlerResult, respond_empty, respond_json, set_header};
use crate::router::parse_query;
use crate::serve::SharedState;
use axum::body::Body;
use axum::http::{Response, StatusCode, header};
use bowline_formats::rest::{Role, Session, SignIn, SignInLink};
use bowline_words::message::ServerNo;
use std::sync::Arc;

/// Path of one-time links.
pub(crate) const LINK_PATH: &str = "/sign-in";

pub(crate) fn get_session(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    let (role, task_id) = match &call.caller {
        Caller::Person => (Role::Person, None),
        Caller::Agent { task, .. } => (Role::Agent, Some(task.clone())),
        Caller::Nobody | Caller::Reader | Caller::AgentReader(_) => (Role::Agent, None),
    };
    let session = Session {
        role,
        task_id,
        version: env!("CARGO_PKG_VERSION").into(),
        instance: shared.instance.clone(),
    };
    respond_json(call, &session)
}

pub(crate) fn sign_in(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    let given: SignIn = call.parse_body()?;
    if !shared.auth.is_token(given.token.trim()) {
        return Err(ServerNo::WrongToken.into());
    }
    let mut response = respond_empty(call)?;
    set_header(
        &mut response,
        header::SET_COOKIE,
        &new_session_cookie(shared)?,
    );
    Ok(response)
}

pub(crate) fn sign_out(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    let mut response = respond_empty(call)?;
    set_header(
        &mut response,
        header::SET_COOKIE,
        &shared.auth.sign_out_cookie(),
    );
    Ok(response)
}

pub(crate) fn new_sign_in_link(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    respond_json(
        call,
        &SignInLink {
            url: create_sign_in_link(shared)?,
        },
    )
}

/// Creates a one-time link and returns its address.
pub(crate) fn create_sign_in_link(shared: &SharedState) -> Result<String, ApiError> {
    let key = shared.auth.new_link();
    let key = key.map_err(|error| ApiError::internal(&error))?;
    Ok(format!("{}{LINK_PATH}?key={key}", shared.public_url))
}

/// Signs in a browser that follows a one-time link.
pub(crate) fn sign_in_by_link(shared: &SharedState, query: &str) -> Response<Body> {
    let key = parse_query(query)
        .into_iter()
        .find(|(name, _)| name == "key");
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SEE_OTHER;
    let good = key.is_some_and(|(_, key)| shared.auth.use_link(&key));
    match good.then(|| new_session_cookie(shared)) {
        Some(Ok(cookie)) => {
            set_header(&mut response, header::SET_COOKIE, &cookie);
            set_header(&mut response, header::LOCATION, "/");
        }
        Some(Err(_)) | None => set_header(&mut response, header::LOCATION, "/signin?used=1"),
    }
    response
}

fn new_session_cookie(shared: &SharedState) -> Result<String, ApiError> {
    let cookie = shared.auth.sign_in_cookie(shared.clock.now().0);
    cookie.map_err(|error| ApiError::internal(&error))
}
