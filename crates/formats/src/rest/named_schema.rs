//! Schemas of the enums of `machines`, which does not depend on a schema library.

use bowline_machines::{Named, job};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::marker::PhantomData;

/// Stands for an enum of `machines` in a schema: its texts, each with its documentation.
pub(super) struct NamedSchema<T>(PhantomData<T>);

/// The name of an enum in the OpenAPI document.
pub(super) trait SchemaName: Named {
    const SCHEMA_NAME: &'static str;
}

macro_rules! schema_names {
    ($($name:ident = $text:literal,)+) => {
        $(impl SchemaName for job::$name {
            const SCHEMA_NAME: &'static str = $text;
        })+
    };
}

schema_names! {
    JobAction = "Action",
    AgentStatus = "AgentStatus",
    BlockedBy = "BlockedBy",
    DependencyKind = "DependencyType",
    DependencyStatus = "DependencyStatus",
    MessageStatus = "SayingStatus",
    PausedByKind = "PausedBy",
    PermissionStatus = "PermissionStatus",
    Priority = "Priority",
    QuestionStatusKind = "QuestionStatus",
    ReviewStatus = "ReviewStatus",
    TaskStatus = "TaskStatus",
}

impl<T: SchemaName> JsonSchema for NamedSchema<T> {
    fn schema_name() -> Cow<'static, str> {
        T::SCHEMA_NAME.into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let words = T::WORDS.iter().map(|(word, doc)| match doc.trim() {
            "" => json!({ "const": word }),
            doc => json!({ "const": word, "description": doc }),
        });
        let words: Vec<Value> = words.collect();
        json_schema!({ "description": T::DOC.trim(), "oneOf": words })
    }
}
