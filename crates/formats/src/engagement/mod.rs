//! Reader for `feedback/engagement.json`: values measured after a piece of work was published.
//!
//! Other programs write the file: an object of measured values by name, each a number or a text
//! such as `"6.8%"`. It may also have `target`, `learnings` and `improvements`.

use serde_json::{Map, Value};

/// Members that are not measured values.
const NOT_MEASURED: [&str; 3] = ["target", "targets", "metric"];
/// The metric that is meant if several were measured and none is named.
pub const METRIC_DEFAULT: &str = "engagement_rate";

/// One measured value with its target and notes.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredEngagement {
    /// Name of the metric.
    pub metric: String,
    /// The measured value; a percentage is given as a fraction.
    pub actual: f64,
    /// The target, if the file has one.
    pub target: Option<f64>,
    /// Lessons learned from the result.
    pub learnings: Vec<String>,
    /// Suggestions for the next time.
    pub improvements: Vec<String>,
}

/// Reasons why the file has no usable value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EngagementError {
    /// The file is not a JSON object.
    #[error("is not a JSON object: {0}")]
    NotAnObject(String),
    /// The wanted metric is absent or not a number.
    #[error("has no number '{name}'; it has {}", if known.is_empty() { "none at all".to_owned() } else { known.join(", ") })]
    NoMetric {
        /// Name of the wanted metric.
        name: String,
        /// Names of the metrics in the file.
        known: Vec<String>,
    },
    /// There are several metrics and none is selected.
    #[error("has several numbers and does not say which is meant: {}", known.join(", "))]
    Ambiguous {
        /// Names of the metrics in the file.
        known: Vec<String>,
    },
    /// The target is not a number.
    #[error("has a target that is no number: {0}")]
    BadTarget(String),
}

/// Parses a number as people write it; a percentage becomes a fraction. `None` if it is not finite.
pub fn parse_number(text: &str) -> Option<f64> {
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

/// Reads the file. `wanted` selects the metric; the default is the file's `metric`, else the only
/// value, else [`METRIC_DEFAULT`].
pub fn read_engagement(
    text: &str,
    wanted: Option<&str>,
) -> Result<MeasuredEngagement, EngagementError> {
    let value: Value = serde_json::from_str(text)
        .map_err(|error| EngagementError::NotAnObject(error.to_string()))?;
    let Value::Object(file) = &value else {
        return Err(EngagementError::NotAnObject(
            "something else is in it".into(),
        ));
    };
    let known: Vec<String> = file
        .iter()
        .filter(|(name, value)| {
            !NOT_MEASURED.contains(&name.as_str()) && number_of_value(value).is_some()
        })
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
    let Some(actual) = file.get(&metric).and_then(number_of_value) else {
        return Err(EngagementError::NoMetric {
            name: metric,
            known,
        });
    };
    let own = file.get("targets").and_then(|targets| targets.get(&metric));
    let target = match own.or_else(|| file.get("target")) {
        None | Some(Value::Null) => None,
        Some(target) => Some(
            number_of_value(target)
                .ok_or_else(|| EngagementError::BadTarget(target.to_string()))?,
        ),
    };
    Ok(MeasuredEngagement {
        actual,
        target,
        learnings: text_list(file, "learnings"),
        improvements: text_list(file, "improvements"),
        metric,
    })
}

fn number_of_value(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => parse_number(text),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn text_list(file: &Map<String, Value>, name: &str) -> Vec<String> {
    let items = file.get(name).and_then(Value::as_array);
    let items = items.into_iter().flatten().filter_map(Value::as_str);
    items.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests;
