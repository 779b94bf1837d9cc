//! The arguments of a call, checked against those its tool accepts.

use crate::answer::{ToolError, ToolRefusal};
use crate::table::{ParameterType, ToolParameter, ToolVerb};
use bowline_formats::rest::read_body;
use bowline_words::Lang;
use bowline_words::message::{ServerNo, ToolNo};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Checked arguments: each has the right type, required ones are present, and there are no others.
pub(crate) struct ToolArguments {
    values: Map<String, Value>,
}

impl ToolArguments {
    /// Checks the arguments of a call.
    pub(crate) fn from_call(
        verb: &ToolVerb,
        mut values: Map<String, Value>,
        lang: Lang,
    ) -> Result<Self, ToolError> {
        let no = |no: ToolNo| Err(ToolError::from_tool_fault(&no, lang));
        let tool = verb.name;
        // `null` counts as absent: some clients send every argument they know.
        values.retain(|_, value| !value.is_null());
        if let Some(name) = values.keys().find(|name| verb.parameter(name).is_none()) {
            let name = name.chars().take(80).collect();
            let shape = verb.parameter_text();
            return no(ToolNo::TakesNo { tool, name, shape });
        }
        for arg in verb.takes {
            match values.get_mut(arg.name) {
                None if arg.needed => {
                    let (name, shape) = (arg.name, verb.parameter_text());
                    return no(ToolNo::Lacks { tool, name, shape });
                }
                None => {}
                Some(value) => {
                    coerce_value(arg, value);
                    if !matches_kind(arg.kind, value) {
                        let (name, shape) = (arg.name, verb.parameter_text());
                        let wanted = arg.kind.type_text();
                        return no(ToolNo::NotOf {
                            name,
                            wanted,
                            shape,
                        });
                    }
                }
            }
        }
        Ok(ToolArguments { values })
    }

    /// Returns a text argument, if present.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.values.get(name).and_then(Value::as_str)
    }

    /// Returns a required text argument.
    pub(crate) fn required_text(&self, name: &str) -> &str {
        self.text(name).unwrap_or_default()
    }

    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.values.get(name).and_then(Value::as_u64)
    }

    /// Returns a required number as the id of a step or phase; one that is too large matches
    /// nothing.
    pub(crate) fn required_id(&self, name: &str) -> u32 {
        let number = self.number(name).unwrap_or_default();
        u32::try_from(number).unwrap_or(u32::MAX)
    }

    pub(crate) fn is_set(&self, name: &str) -> bool {
        self.values.get(name).and_then(Value::as_bool) == Some(true)
    }

    pub(crate) fn texts(&self, name: &str) -> Vec<String> {
        let items = self.values.get(name).and_then(Value::as_array);
        let items = items.into_iter().flatten().filter_map(Value::as_str);
        items.map(str::to_owned).collect()
    }

    pub(crate) fn numbers(&self, name: &str) -> Vec<(String, f64)> {
        let items = self.values.get(name).and_then(Value::as_object);
        let items = items.into_iter().flatten();
        items
            .filter_map(|(name, value)| Some((name.clone(), value.as_f64()?)))
            .collect()
    }

    pub(crate) fn float(&self, name: &str) -> f64 {
        let value = self.values.get(name).and_then(Value::as_f64);
        value.unwrap_or_default()
    }

    pub(crate) fn value(&self, name: &str) -> Option<&Value> {
        self.values.get(name)
    }

    /// Returns all arguments as they were given.
    pub(crate) fn all_values(&self) -> &Map<String, Value> {
        &self.values
    }

    /// Reads all arguments as the body of a request to the task server.
    pub(crate) fn body<T: DeserializeOwned>(&self, lang: Lang) -> Result<T, ToolError> {
        let text = Value::Object(self.values.clone()).to_string();
        read_body(text.as_bytes()).map_err(|fault| {
            let (message, hint) = ServerNo::BadBody { fault }.say(lang);
            ToolError::Rendered(ToolRefusal {
                code: "bad_input".to_owned(),
                message,
                hint,
            })
        })
    }
}

/// Converts what models write instead of the right type: numbers and flags as text, one text
/// instead of a list.
fn coerce_value(arg: &ToolParameter, value: &mut Value) {
    let settled = match (arg.kind, &*value) {
        (ParameterType::Number | ParameterType::Float, Value::String(text)) => {
            serde_json::from_str(text.trim())
                .ok()
                .filter(Value::is_number)
        }
        (ParameterType::Flag, Value::String(text)) => text.trim().parse().ok().map(Value::Bool),
        (ParameterType::Texts, Value::String(_)) => Some(Value::Array(vec![value.take()])),
        (ParameterType::Text, Value::Number(number)) => Some(Value::String(number.to_string())),
        _ => None,
    };
    if let Some(settled) = settled {
        *value = settled;
    }
}

fn matches_kind(kind: ParameterType, value: &Value) -> bool {
    match kind {
        ParameterType::Text => value.is_string(),
        ParameterType::Word(words) => value.as_str().is_some_and(|word| words.contains(&word)),
        ParameterType::Number => value.is_u64(),
        ParameterType::Float => value.is_number(),
        ParameterType::Flag => value.is_boolean(),
        ParameterType::Texts => value
            .as_array()
            .is_some_and(|items| items.iter().all(Value::is_string)),
        ParameterType::Numbers => value
            .as_object()
            .is_some_and(|map| map.values().all(Value::is_number)),
        ParameterType::Objects => value
            .as_array()
            .is_some_and(|items| items.iter().all(Value::is_object)),
        ParameterType::Object => value.is_object(),
        ParameterType::Any(_) => true,
    }
}
