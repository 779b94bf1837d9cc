//! Signing in and out.

use crate::auth::Caller;
use crate::call::{Call, Reply, empty, json, set};
use crate::problem::Problem;
use crate::router::pairs;
use crate::serve::Shared;
use axum::body::Body;
use axum::http::{Response, StatusCode, header};
use bowline_formats::rest::{Role, Session, SignIn, SignInLink};
use bowline_words::message::ServerNo;
use std::sync::Arc;

/// Path of one-time links.
pub(crate) const LINK_PATH: &str = "/sign-in";

pub(crate) fn get(shared: &Arc<Shared>, call: &Call) -> Reply {
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
    json(call, &session)
}

pub(crate) fn sign_in(shared: &Arc<Shared>, call: &Call) -> Reply {
    let given: SignIn = call.body()?;
    if !shared.auth.is_token(given.token.trim()) {
        return Err(ServerNo::WrongToken.into());
    }
    let mut response = empty(call)?;
    set(&mut response, header::SET_COOKIE, &cookie(shared)?);
    Ok(response)
}

pub(crate) fn sign_out(shared: &Arc<Shared>, call: &Call) -> Reply {
    let mut response = empty(call)?;
    set(&mut response, header::SET_COOKIE, &shared.auth.no_session());
    Ok(response)
}

pub(crate) fn new_link(shared: &Arc<Shared>, call: &Call) -> Reply {
    json(call, &SignInLink { url: link(shared)? })
}

/// Creates a one-time link and returns its address.
pub(crate) fn link(shared: &Shared) -> Result<String, Problem> {
    let key = shared.auth.new_link();
    let key = key.map_err(|error| Problem::internal(&error))?;
    Ok(format!("{}{LINK_PATH}?key={key}", shared.public_url))
}

/// Signs in a browser that follows a one-time link.
pub(crate) fn by_link(shared: &Shared, query: &str) -> Response<Body> {
    let key = pairs(query).into_iter().find(|(name, _)| name == "key");
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SEE_OTHER;
    let good = key.is_some_and(|(_, key)| shared.auth.use_link(&key));
    match good.then(|| cookie(shared)) {
        Some(Ok(cookie)) => {
            set(&mut response, header::SET_COOKIE, &cookie);
            set(&mut response, header::LOCATION, "/");
        }
        Some(Err(_)) | None => set(&mut response, header::LOCATION, "/signin?used=1"),
    }
    response
}

fn cookie(shared: &Shared) -> Result<String, Problem> {
    let cookie = shared.auth.session(shared.clock.now().0);
    cookie.map_err(|error| Problem::internal(&error))
}
