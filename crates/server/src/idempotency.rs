//! Handles `Idempotency-Key`: a repeated request gets the response of the first time, and nothing
//! is done twice.
//!
//! A response is stored before it is sent. If the process is killed after a change of a task and
//! before its response is stored, the dispatcher recognises the key and responds with the current
//! task. Refusals change nothing and are not stored.

use crate::auth::Caller;
use crate::error::ApiError;
use crate::http_request::{ApiRequest, HandlerResult, set_header};
use crate::router::RouteHandler;
use crate::serve::SharedState;
use axum::body::Body;
use axum::http::{Response, StatusCode, header};
use bowline_formats::rest::routes::{HttpMethod, Operation};
use bowline_store::{IdempotentRequest, Store, StoreStep};
use bowline_words::message::ServerNo;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use tokio::runtime::Handle;

/// Routes whose responses are secrets: they are not stored, and each request makes a new one.
const SECRET_RESPONSES: [Operation; 1] = [Operation::NewSignInLink];

/// Keys of requests that are being handled.
#[derive(Debug, Default)]
pub(crate) struct KeysInUse {
    keys: Mutex<HashSet<String>>,
    released: Condvar,
}

/// Exclusive use of a key. Others with the same key wait until it is dropped.
struct HeldKey<'k> {
    all: &'k KeysInUse,
    key: String,
}

impl KeysInUse {
    fn hold_key(&self, key: String) -> HeldKey<'_> {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        while !keys.insert(key.clone()) {
            let waited = self.released.wait(keys);
            keys = waited.unwrap_or_else(PoisonError::into_inner);
        }
        HeldKey { all: self, key }
    }
}

impl Drop for HeldKey<'_> {
    fn drop(&mut self) {
        let keys = self.all.keys.lock();
        keys.unwrap_or_else(PoisonError::into_inner)
            .remove(&self.key);
        self.all.released.notify_all();
    }
}

/// Handles a request, or repeats the response stored under its key. Runs on a thread that may
/// block.
pub(crate) fn handle_once(
    shared: &Arc<SharedState>,
    call: &ApiRequest,
    handler: RouteHandler,
) -> HandlerResult {
    let key = match call.route.method {
        HttpMethod::Get => None,
        _ if SECRET_RESPONSES.contains(&call.route.operation) => None,
        HttpMethod::Post | HttpMethod::Patch | HttpMethod::Delete => call.idempotency_key()?,
    };
    let Some(key) = key else {
        return handler(shared, call);
    };
    let store = shared.job_service()?.store();
    // A header has no newline, so this differs from the dispatcher's own keys.
    let key = shared.keys_in_use.hold_key(format!("response\n{key}"));
    let content = content_hash(shared, call);
    if let Some(kept) = store.stored_response(&key.key)? {
        return repeat_response(&kept, &content);
    }
    let response = handler(shared, call)?;
    // A cookie belongs to one browser; signing in twice is harmless.
    match response.headers().contains_key(header::SET_COOKIE) {
        true => Ok(response),
        false => keep_response(shared, &*store, &key.key, content, response),
    }
}

/// Returns a keyed hash of the content and its caller: the body may be a secret that could be
/// guessed.
fn content_hash(shared: &SharedState, call: &ApiRequest) -> String {
    let caller = match &call.caller {
        Caller::Agent { task, attempt } => format!("{task} {attempt}"),
        Caller::Nobody | Caller::Person | Caller::Reader | Caller::AgentReader(_) => {
            call.caller.name().to_owned()
        }
    };
    let head = format!(
        "{caller}\n{} {:?} {:?}\n",
        call.route.operation.name(),
        call.params,
        call.query
    );
    let mut content = head.into_bytes();
    content.extend_from_slice(call.body.trim_ascii());
    shared.auth.hash_content(&content)
}

fn repeat_response(kept: &Value, content: &str) -> HandlerResult {
    if kept["content"] != content {
        return Err(ServerNo::RequestReused.into());
    }
    let status = kept["status"]
        .as_u64()
        .and_then(|it| u16::try_from(it).ok());
    let status = status.and_then(|it| StatusCode::from_u16(it).ok());
    let body = kept["body"].as_str().unwrap_or_default();
    Ok(json_response(
        status.unwrap_or(StatusCode::OK),
        body.to_owned(),
    ))
}

fn json_response(status: StatusCode, body: String) -> Response<Body> {
    let is_empty = body.is_empty();
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    if !is_empty {
        set_header(&mut response, header::CONTENT_TYPE, "application/json");
    }
    response
}

fn keep_response(
    shared: &SharedState,
    store: &dyn Store,
    key: &str,
    content: String,
    response: Response<Body>,
) -> HandlerResult {
    let status = response.status();
    let body = Handle::current().block_on(response.into_body().collect());
    let body = body.map_err(|error| ApiError::internal(&error))?.to_bytes();
    let body = String::from_utf8_lossy(&body).into_owned();
    let mut step = StoreStep::empty_at(shared.clock.now());
    step.request = Some(IdempotentRequest {
        id: key.to_owned(),
        answer: json!({ "content": content, "status": status.as_u16(), "body": body }),
        print: content,
    });
    // The change is done: respond even if the response cannot be stored.
    if let Err(error) = store.commit_steps(vec![step]) {
        tracing::warn!(%error, "a response was not kept for its Idempotency-Key");
    }
    Ok(json_response(status, body))
}
