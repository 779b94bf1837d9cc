//! `feedback/engagement.json`: what was measured once a piece of work met the world.
//!
//! The file is somebody else's: an object of measured values by name, each a number or a text such as `"6.8%"`. A
//! `target`, `learnings` and `improvements` may stand beside them.

use serde_json::{Map, Value};

/// Members that are no measured value.
const NOT_MEASURED: [&str; 3] = ["target", "targets", "metric"];
/// The value meant when several were measured and nobody says which.
pub const METRIC_DEFAULT: &str = "engagement_rate";

/// What the file says of one measured value.
#[derive(Debug, Clone, PartialEq)]
pub struct Engagement {
    /// Name of the value.
    pub metric: String,
    /// The value, percent as a fraction.
    pub actual: f64,
    /// What was hoped for, where the file says.
    pub target: Option<f64>,
    /// What was learnt.
    pub learnings: Vec<String>,
    /// What to do otherwise.
    pub improvements: Vec<String>,
}

/// Why a file tells nothing about an engagement.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EngagementError {
    /// It is no JSON object.
    #[error("is not a JSON object: {0}")]
    NotAnObject(String),
    /// The wanted value is not in it, or is no number.
    #[error("has no number '{name}'; it has {}", if known.is_empty() { "none at all".to_owned() } else { known.join(", ") })]
    NoMetric {
        /// The wanted name.
        name: String,
        /// The names it has.
        known: Vec<String>,
    },
    /// Several values, and nothing says which is meant.
    #[error("has several numbers and does not say which is meant: {}", known.join(", "))]
    Ambiguous {
        /// The names it has.
        known: Vec<String>,
    },
    /// A target that is no number.
    #[error("has a target that is no number: {0}")]
    BadTarget(String),
}

/// A number as people write it; percent becomes a fraction. `None` where it is no finite number.
pub fn number(text: &str) -> Option<f64> {
    let trimmed = text.trim();
    let (digits, percent) = match trimmed.strip_suffix('%') {
        Some(digits) => (digits, true),
        None => (trimmed, false),
    };
    let value: f64 = digits.trim().parse().ok()?;
    if !value.is_finite() {
        return None;
    }
    // Through the decimal text, so that 6.8% is 0.068 and not 0.06799999999999999.
    let value = if percent {
        (value * 1e10).round() / 1e12
    } else {
        value
    };
    Some(value)
}

/// Reads the file. `wanted` names the value that is meant; without it the file's `metric`, the only value, or
/// [`METRIC_DEFAULT`].
pub fn read(text: &str, wanted: Option<&str>) -> Result<Engagement, EngagementError> {
    let value: Value = serde_json::from_str(text)
        .map_err(|error| EngagementError::NotAnObject(error.to_string()))?;
    let Value::Object(file) = &value else {
        return Err(EngagementError::NotAnObject(
            "something else is in it".into(),
        ));
    };
    let known: Vec<String> = file
        .iter()
        .filter(|(name, value)| !NOT_MEASURED.contains(&name.as_str()) && shown(value).is_some())
        .map(|(name, _)| name.clone())
        .collect();
    let named = wanted.or_else(|| file.get("metric").and_then(Value::as_str));
    let metric = match (named, known.as_slice()) {
        (Some(name), _) => name.to_owned(),
        (None, [only]) => only.clone(),
        (None, names) if names.iter().any(|name| name == METRIC_DEFAULT) => METRIC_DEFAULT.into(),
        (None, []) => {
            let name = METRIC_DEFAULT.into();
            return Err(EngagementError::NoMetric { name, known });
        }
        (None, _) => return Err(EngagementError::Ambiguous { known }),
    };
    let Some(actual) = file.get(&metric).and_then(shown) else {
        return Err(EngagementError::NoMetric {
            name: metric,
            known,
        });
    };
    let own = file.get("targets").and_then(|targets| targets.get(&metric));
    let target = match own.or_else(|| file.get("target")) {
        None | Some(Value::Null) => None,
        Some(target) => {
            Some(shown(target).ok_or_else(|| EngagementError::BadTarget(target.to_string()))?)
        }
    };
    Ok(Engagement {
        actual,
        target,
        learnings: texts(file, "learnings"),
        improvements: texts(file, "improvements"),
        metric,
    })
}

fn shown(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => number(text),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn texts(file: &Map<String, Value>, name: &str) -> Vec<String> {
    let items = file.get(name).and_then(Value::as_array);
    let items = items.into_iter().flatten().filter_map(Value::as_str);
    items.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests;
