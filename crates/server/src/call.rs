//! An authenticated request, and the responses that handlers build.

use crate::auth::Caller;
use crate::problem::Problem;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use bowline_formats::rest::read_body;
use bowline_formats::rest::routes::Route;
use bowline_words::Lang;
use bowline_words::message::ServerNo;
use hyper::body::{Bytes, Frame};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::mpsc;

/// Maximum length of an idempotency key in bytes.
const REQUEST_ID_MAX: usize = 100;

/// An authenticated request.
pub(crate) struct Call {
    pub(crate) route: &'static Route,
    pub(crate) params: Vec<(String, String)>,
    pub(crate) query: Vec<(String, String)>,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) caller: Caller,
    pub(crate) lang: Lang,
}

impl Call {
    /// Returns a path parameter. The table of routes names it, so it is present.
    pub(crate) fn param(&self, name: &str) -> &str {
        let found = self.params.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value)
    }

    pub(crate) fn query(&self, name: &str) -> Option<&str> {
        let found = self.query.iter().find(|(known, _)| known == name);
        found
            .map(|(_, value)| value.as_str())
            .filter(|value| !value.is_empty())
    }

    /// Parses a number from the query string.
    pub(crate) fn number<T: std::str::FromStr>(
        &self,
        name: &'static str,
    ) -> Result<Option<T>, Problem> {
        let Some(value) = self.query(name) else {
            return Ok(None);
        };
        let wrong = || ServerNo::NotInQuery {
            name,
            value: value.chars().take(80).collect(),
        };
        Ok(Some(value.parse().map_err(|_| wrong())?))
    }

    /// Parses the body; an absent body is `{}`.
    pub(crate) fn body<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        read_body(&self.body).map_err(|fault| Problem::No(ServerNo::BadBody { fault }))
    }

    /// Returns the idempotency key. Agents have a separate set of keys per attempt.
    pub(crate) fn request_id(&self) -> Result<Option<String>, Problem> {
        let Some(value) = self.headers.get("idempotency-key") else {
            return Ok(None);
        };
        match value.to_str() {
            Ok(text) if !text.is_empty() && text.len() <= REQUEST_ID_MAX => {
                Ok(Some(match &self.caller {
                    Caller::Agent { task, attempt } => format!("{task}\n{attempt}\n{text}"),
                    Caller::Nobody | Caller::Person | Caller::Reader | Caller::AgentReader(_) => {
                        text.to_owned()
                    }
                }))
            }
            Ok(_) | Err(_) => Err(bad_header("Idempotency-Key")),
        }
    }

    /// Returns the version that the caller has seen, from `If-Match`.
    pub(crate) fn version(&self) -> Result<Option<u64>, Problem> {
        let Some(value) = self.headers.get(header::IF_MATCH) else {
            return Ok(None);
        };
        let text = value.to_str().unwrap_or_default().trim_matches('"');
        match text {
            "*" => Ok(None),
            text => match text.parse() {
                Ok(version) => Ok(Some(version)),
                Err(_) => Err(bad_header("If-Match")),
            },
        }
    }
}

pub(crate) fn bad_header(name: &'static str) -> Problem {
    Problem::No(ServerNo::NotInQuery {
        name,
        value: "…".into(),
    })
}

/// The result of a handler.
pub(crate) type Reply = Result<Response<Body>, Problem>;

/// Builds a JSON response with the status of the route.
pub(crate) fn json(call: &Call, value: &impl Serialize) -> Reply {
    let bytes = serde_json::to_vec(value).map_err(|error| Problem::internal(&error))?;
    let mut response = Response::new(Body::from(bytes));
    *response.status_mut() = StatusCode::from_u16(call.route.status).unwrap_or(StatusCode::OK);
    set(&mut response, header::CONTENT_TYPE, "application/json");
    Ok(response)
}

/// Builds an empty response with the status of the route.
pub(crate) fn empty(call: &Call) -> Reply {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::from_u16(call.route.status).unwrap_or(StatusCode::OK);
    Ok(response)
}

/// Builds a response with a body of this content type.
pub(crate) fn bytes(content_type: &'static str, bytes: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(bytes.into());
    set(&mut response, header::CONTENT_TYPE, content_type);
    response
}

/// Sets a header; does nothing if the value is not a valid one.
pub(crate) fn set(response: &mut Response<Body>, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
}

/// A streamed body, fed through a channel.
pub(crate) struct Piped(pub(crate) mpsc::Receiver<Bytes>);

impl hyper::body::Body for Piped {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = self.0.poll_recv(context);
        next.map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }
}
