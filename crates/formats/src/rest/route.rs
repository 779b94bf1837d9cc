//! The parts of a route, and the requests that clients of ours make of it.

use bowline_machines::named;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
#[cfg(feature = "openapi")]
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::Value;
use std::fmt::Display;
use std::marker::PhantomData;

named! {
    /// The HTTP method of a route.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum HttpMethod {
        Get = "GET",
        Post = "POST",
        Patch = "PATCH",
        Delete = "DELETE",
    }
}

named! {
    /// The callers that a route allows.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum RouteAccess {
        /// Everybody, without a token.
        Open = "open",
        /// Every caller with a token, agents too.
        Read = "read",
        /// A person.
        Person = "person",
        /// The agent of a task, by the token of its attempt.
        Agent = "agent",
    }
}

/// The type of a body.
#[derive(Debug, Clone, Copy)]
pub struct BodyShape {
    /// Its name in the table of routes.
    pub name: &'static str,
    /// Writes its schema.
    #[cfg(feature = "openapi")]
    pub schema: fn(&mut SchemaGenerator) -> Schema,
}

impl BodyShape {
    #[cfg(feature = "openapi")]
    pub(super) const fn of<T: JsonSchema>(name: &'static str) -> Self {
        let schema = SchemaGenerator::subschema_for::<T>;
        BodyShape { name, schema }
    }

    #[cfg(not(feature = "openapi"))]
    pub(super) const fn of<T>(name: &'static str) -> Self {
        let _: PhantomData<T> = PhantomData;
        BodyShape { name }
    }
}

/// The body of a successful response.
#[derive(Debug, Clone, Copy)]
pub enum ResponseContent {
    /// JSON of this shape.
    Json(BodyShape),
    /// Plain text.
    Text,
    /// A file as it is.
    Bytes,
    /// A ZIP file.
    Zip,
    /// Server-sent events, each with an `EventBody`.
    Events,
    /// Nothing.
    Empty,
}

/// A parameter behind the question mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueryParameter {
    /// Its name.
    pub name: &'static str,
    /// Purpose of the parameter.
    pub about: &'static str,
    /// True for a whole number, false for a text.
    pub number: bool,
}

/// The value of a query parameter.
pub(super) trait QueryValue: Display {
    /// True for a whole number.
    const NUMBER: bool = false;
}

impl QueryValue for String {}
impl QueryValue for bool {}
impl QueryValue for i64 {
    const NUMBER: bool = true;
}

/// The query parameters of a route.
pub trait RouteQuery {
    /// The parameters, in order.
    const PARAMETERS: &'static [QueryParameter];
    /// Returns the values that are set, by name.
    fn pairs(&self) -> Vec<(&'static str, String)>;
}

/// Declares the query parameters of a route: a type for clients, and the rows of the OpenAPI
/// document.
macro_rules! route_query {
    ($(#[$doc:meta])* $name:ident { $($field:ident: $type:ty = $word:literal $about:expr,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Default)]
        pub struct $name { $(pub $field: Option<$type>,)+ }

        impl RouteQuery for $name {
            const PARAMETERS: &'static [QueryParameter] = &[$(
                QueryParameter { name: $word, about: $about, number: <$type as QueryValue>::NUMBER },
            )+];

            fn pairs(&self) -> Vec<(&'static str, String)> {
                let pairs = [$(($word, self.$field.as_ref().map(ToString::to_string)),)+];
                let set = pairs.into_iter();
                set.filter_map(|(name, value)| Some((name, value?))).collect()
            }
        }
    };
}
pub(super) use route_query;

/// One thing the server does.
#[derive(Debug, Clone, Copy)]
pub struct ApiRoute {
    /// Its name for programs.
    pub operation: super::routes::Operation,
    pub method: HttpMethod,
    /// Path, with parameters in braces.
    pub path: &'static str,
    pub access: RouteAccess,
    /// Parameters of the query.
    pub query: &'static [QueryParameter],
    /// The shape of the body, where there is one.
    pub body: Option<BodyShape>,
    /// The status of a success.
    pub status: u16,
    pub answer: ResponseContent,
    /// Summary for people.
    pub summary: &'static str,
}

/// The answer of a route that is no JSON: its bytes.
#[derive(Debug)]
pub enum RawResponse {}

/// A request of a route. It has no `Debug`: a body may be a secret.
#[derive(Clone)]
pub struct RouteRequest {
    /// The route.
    pub route: &'static ApiRoute,
    /// Path and query, percent-encoded.
    pub path: String,
    /// The JSON body.
    pub body: Option<Value>,
}

/// A request of a route whose successful response has this type.
#[derive(Clone)]
pub struct TypedRequest<T> {
    /// The request.
    pub request: RouteRequest,
    answer: PhantomData<fn() -> T>,
}

impl<T> TypedRequest<T> {
    /// Creates a request, with values for the parameters of the path in their order.
    pub(super) fn new(route: &'static ApiRoute, parameters: &[&str]) -> Self {
        let mut values = parameters.iter();
        let segments = route.path.split('/').map(|segment| match segment {
            part if part.starts_with('{') => encode_segment(values.next().unwrap_or(&"")),
            part => part.to_owned(),
        });
        let path = segments.collect::<Vec<_>>().join("/");
        TypedRequest {
            request: RouteRequest {
                route,
                path,
                body: None,
            },
            answer: PhantomData,
        }
    }

    pub(super) fn query(mut self, query: &impl RouteQuery) -> Self {
        for (index, (name, value)) in query.pairs().into_iter().enumerate() {
            let mark = if index == 0 { '?' } else { '&' };
            let value = encode_segment(&value);
            self.request.path.push_str(&format!("{mark}{name}={value}"));
        }
        self
    }

    pub(super) fn body(mut self, body: &impl Serialize) -> Self {
        // Shapes have no map with keys other than texts, so this does not fail.
        self.request.body = Some(serde_json::to_value(body).unwrap_or_default());
        self
    }

    /// Reads the response as another type, for instance with items as they are sent.
    #[must_use]
    pub fn reading<U>(self) -> TypedRequest<U> {
        TypedRequest {
            request: self.request,
            answer: PhantomData,
        }
    }
}

/// Counts the parameters of a path.
pub(super) const fn parameter_count(path: &str) -> usize {
    let bytes = path.as_bytes();
    let (mut index, mut count) = (0, 0);
    while index < bytes.len() {
        if bytes[index] == b'{' {
            count += 1;
        }
        index += 1;
    }
    count
}

/// Characters that a path segment keeps.
const PATH_SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// Percent-encodes a path segment of an address.
pub fn encode_segment(text: &str) -> String {
    utf8_percent_encode(text, PATH_SEGMENT).to_string()
}

#[cfg(test)]
mod tests {
    use super::super::Nothing;
    use super::super::routes::{
        DiffQuery, LogQuery, TaskQuery, get_artifact, get_logs, get_review_diff, list_tasks,
        submit_task,
    };
    use super::*;

    #[test]
    fn a_segment_is_encoded_byte_by_byte() {
        assert_eq!(encode_segment("a/b ~.-_é"), "a%2Fb%20~.-_%C3%A9");
    }

    #[test]
    fn requests_are_made_by_the_table() {
        assert_eq!(
            get_artifact("t", "a/b").request.path,
            "/api/tasks/t/artifacts/a%2Fb"
        );
        let logs = LogQuery {
            offset: Some(-9),
            limit: None,
        };
        assert_eq!(
            get_logs("a b", &logs).request.path,
            "/api/tasks/a%20b/logs?offset=-9"
        );
        let whole = get_review_diff("rev_1", &DiffQuery::default());
        assert_eq!(whole.request.path, "/api/reviews/rev_1/diff");
        let query = TaskQuery {
            q: Some("a&b".into()),
            archived: Some(true),
            ..TaskQuery::default()
        };
        assert_eq!(
            list_tasks(&query).request.path,
            "/api/tasks?q=a%26b&archived=true"
        );
        let submit = submit_task("t").request;
        assert_eq!(submit.route.method, HttpMethod::Post);
        assert_eq!(submit.body, serde_json::to_value(Nothing {}).ok());
    }
}
