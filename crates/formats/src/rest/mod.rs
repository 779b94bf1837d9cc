//! The bodies of the task server's REST interface, and the table of its routes.
//!
//! `docs/openapi.json` is made from both. Everything here is a shape: the machines decide which
//! values may occur together.

mod asks;
mod event;
#[cfg(feature = "openapi")]
mod named_schema;
#[cfg(feature = "openapi")]
pub mod openapi;
mod requests;
mod route;
pub mod routes;
mod task;
mod world;

pub use asks::*;
pub use bowline_machines::job::{
    AgentStatus, DependencyStatus, PermissionStatus, Priority, QuestionStatusKind, ReviewStatus,
    TaskStatus,
};
pub use event::*;
pub use requests::*;
pub use task::*;
pub use world::*;

use bowline_words::message::BodyFault;
use serde::de::DeserializeOwned;

#[cfg(feature = "openapi")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One page of a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
#[cfg_attr(feature = "openapi", schemars(rename = "{T}Page"))]
pub struct Page<T> {
    /// In the order of the list.
    pub items: Vec<T>,
    /// Hand it in as `cursor` for what follows; `null` at the end.
    pub next_cursor: Option<String>,
}

impl<T> Page<T> {
    /// A list that is whole.
    pub fn single_page(items: Vec<T>) -> Self {
        Page {
            items,
            next_cursor: None,
        }
    }
}

/// Every answer that is no success.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct ErrorBody {
    pub error: ErrorTold,
}

/// An error, with its cause and a hint.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct ErrorTold {
    /// For programs, `snake_case`; `bowline explain CODE` tells more.
    pub code: String,
    /// For people, in the language they asked for.
    pub message: String,
    /// The next thing to do.
    pub hint: String,
    /// The types there are, when an unknown one was named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub valid_types: Vec<String>,
    /// The nearest known name to one that is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
    /// Actions that are allowed now, when the requested one is not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_actions: Vec<String>,
    /// The oldest event that is still kept, when an older one was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oldest: Option<u64>,
}

/// A question that takes no body is asked with none, or with an empty object.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct Nothing {}

/// Returns the text by which a status or another choice is sent.
pub fn sent_name(choice: &impl Serialize) -> String {
    let sent = serde_json::to_value(choice).unwrap_or_default();
    sent.as_str().unwrap_or_default().to_owned()
}

/// Parses the body of a request; an absent body is `{}`.
pub fn read_body<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, BodyFault> {
    let bytes: &[u8] = match bytes.trim_ascii() {
        b"" => b"{}",
        bytes => bytes,
    };
    // serde would take a list for the fields in their order.
    if !bytes.starts_with(b"{") {
        return Err(BodyFault::Json {
            line: 1,
            column: 1,
            said: "it is no object".into(),
        });
    }
    serde_json::from_slice(bytes).map_err(|error| BodyFault::Json {
        line: error.line(),
        column: error.column(),
        said: error.to_string(),
    })
}
