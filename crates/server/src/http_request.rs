//! An authenticated request, and the responses that handlers build.

use crate::auth::Caller;
use crate::error::ApiError;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use bowline_formats::rest::read_body;
use bowline_formats::rest::routes::ApiRoute;
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
const IDEMPOTENCY_KEY_BYTES_MAX: usize = 100;

/// An authenticated request.
pub(crate) struct ApiRequest {
    pub(crate) route: &'static ApiRoute,
    pub(crate) params: Vec<(String, String)>,
    pub(crate) query: Vec<(String, String)>,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) caller: Caller,
    pub(crate) lang: Lang,
}

impl ApiRequest {
    /// Returns a path parameter. The table of routes names it, so it is present.
    pub(crate) fn path_param(&self, name: &str) -> &str {
        let found = self.params.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value)
    }

    pub(crate) fn query_param(&self, name: &str) -> Option<&str> {
        let found = self.query.iter().find(|(known, _)| known == name);
        found
            .map(|(_, value)| value.as_str())
            .filter(|value| !value.is_empty())
    }

    /// Parses a number from the query string.
    pub(crate) fn query_number<T: std::str::FromStr>(
        &self,
        name: &'static str,
    ) -> Result<Option<T>, ApiError> {
        let Some(value) = self.query_param(name) else {
            return Ok(None);
        };
        let wrong = || ServerNo::NotInQuery {
            name,
            value: value.chars().take(80).collect(),
        };
        Ok(Some(value.parse().map_err(|_| wrong())?))
    }

    /// Parses the body; an absent body is `{}`.
    pub(crate) fn parse_body<T: DeserializeOwned>(&self) -> Result<T, ApiError> {
        read_body(&self.body).map_err(|fault| ApiError::Server(ServerNo::BadBody { fault }))
    }

    /// Returns the idempotency key. Agents have a separate set of keys per attempt.
    pub(crate) fn idempotency_key(&self) -> Result<Option<String>, ApiError> {
        let Some(value) = self.headers.get("idempotency-key") else {
            return Ok(None);
        };
        match value.to_str() {
            Ok(text) if !text.is_empty() && text.len() <= IDEMPOTENCY_KEY_BYTES_MAX => {
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
    pub(crate) fn expected_version(&self) -> Result<Option<u64>, ApiError> {
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

pub(crate) fn bad_header(name: &'static str) -> ApiError {
    ApiError::Server(ServerNo::NotInQuery {
        name,
        value: "…".into(),
    })
}

/// The result of a handler.
pub(crate) type HandlerResult = Result<Response<Body>, ApiError>;

/// Builds a JSON response with the status of the route.
pub(crate) fn respond_json(call: &ApiRequest, value: &impl Serialize) -> HandlerResult {
    let bytes = serde_json::to_vec(value).map_err(|error| ApiError::internal(&error))?;
    let mut response = Response::new(Body::from(bytes));
    *response.status_mut() = StatusCode::from_u16(call.route.status).unwrap_or(StatusCode::OK);
    set_header(&mut response, header::CONTENT_TYPE, "application/json");
    Ok(response)
}

/// Builds an empty response with the status of the route.
pub(crate) fn respond_empty(call: &ApiRequest) -> HandlerResult {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::from_u16(call.route.status).unwrap_or(StatusCode::OK);
    Ok(response)
}

/// Builds a response with a body of this content type.
pub(crate) fn bytes_response(content_type: &'static str, bytes: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(bytes.into());
    set_header(&mut response, header::CONTENT_TYPE, content_type);
    response
}

/// Sets a header; does nothing if the value is not a valid one.
pub(crate) fn set_header(response: &mut Response<Body>, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
}

/// A streamed body, fed through a channel.
pub(crate) struct ChannelBody(pub(crate) mpsc::Receiver<Bytes>);

impl hyper::body::Body for ChannelBody {
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
