//! Settings of thinking runs: `shared/configs/core_values.yaml` and
//! `shared/configs/quality_standards.yaml`.

use bowline_machines::thinking::{ThinkingStage, ValueWeights};
use serde::Deserialize;

/// Path of the core values, relative to a folder above the task.
pub const CORE_VALUES: &str = "shared/configs/core_values.yaml";
/// Path of the quality standards, relative to a folder above the task.
pub const QUALITY_STANDARDS: &str = "shared/configs/quality_standards.yaml";

/// Rounding tolerance for weights, which must add up to one.
const WEIGHT_SLACK: f64 = 0.001;

/// Reasons why settings are invalid.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ThinkingSettingsError {
    /// The file is not YAML, or not of the expected shape.
    #[error("cannot be read: {message}")]
    Unreadable {
        /// First line of the parser's message.
        message: String,
    },
    /// The weights do not add up to one.
    #[error("weights add up to {sum}, not to 1")]
    Weights { sum: f64 },
    /// A number is not finite, or a weight is negative.
    #[error("'{name}' has the unusable number {value}")]
    Number {
        /// Name of the core value or criterion.
        name: String,
        value: f64,
    },
    /// A standard names an unknown stage.
    #[error("'{name}' is not a stage")]
    Stage { name: String },
}

/// One criterion with its threshold.
#[derive(Debug, Clone, PartialEq)]
pub struct QualityStandard {
    /// Name: a metric of the run, or a criterion of `thinking/reflection/quality_check.json`.
    pub criterion: String,
    /// Minimum value.
    pub threshold: f64,
    /// Stage at which it is checked.
    pub stage: ThinkingStage,
}

/// The standards of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct QualityStandards {
    pub standards: Vec<QualityStandard>,
    /// Minimum number of words of the newest draft before `creation` is complete.
    pub min_words: Option<u64>,
}

#[derive(Deserialize)]
struct RawValues {
    values: Vec<RawValue>,
}

#[derive(Deserialize)]
struct RawValue {
    name: String,
    weight: f64,
}

#[derive(Deserialize)]
struct RawStandards {
    #[serde(default)]
    standards: Vec<RawStandard>,
    min_words: Option<u64>,
}

#[derive(Deserialize)]
struct RawStandard {
    criterion: String,
    threshold: f64,
    stage: Option<String>,
}

/// Parses `core_values.yaml`: `values: [{name, weight, definition}]`.
pub fn core_values(text: &str) -> Result<ValueWeights, ThinkingSettingsError> {
    let raw: RawValues = parse_yaml(text)?;
    for value in &raw.values {
        if !value.weight.is_finite() || value.weight < 0.0 {
            return Err(ThinkingSettingsError::Number {
                name: value.name.clone(),
                value: value.weight,
            });
        }
    }
    let sum: f64 = raw.values.iter().map(|value| value.weight).sum();
    if (sum - 1.0).abs() > WEIGHT_SLACK {
        return Err(ThinkingSettingsError::Weights { sum });
    }
    Ok(ValueWeights(
        raw.values
            .into_iter()
            .map(|value| (value.name, value.weight))
            .collect(),
    ))
}

/// Parses `quality_standards.yaml`: `standards: [{criterion, threshold, stage}]` and `min_words`. A
/// standard without a stage is checked at `reflection`, where quality is judged.
pub fn quality_standards(text: &str) -> Result<QualityStandards, ThinkingSettingsError> {
    let raw: RawStandards = parse_yaml(text)?;
    let mut standards = Vec::new();
    for one in raw.standards {
        if !one.threshold.is_finite() {
            return Err(ThinkingSettingsError::Number {
                name: one.criterion,
                value: one.threshold,
            });
        }
        let stage = match one.stage {
            None => ThinkingStage::Reflection,
            Some(name) => {
                ThinkingStage::from_name(&name).ok_or(ThinkingSettingsError::Stage { name })?
            }
        };
        standards.push(QualityStandard {
            criterion: one.criterion,
            threshold: one.threshold,
            stage,
        });
    }
    Ok(QualityStandards {
        standards,
        min_words: raw.min_words,
    })
}

fn parse_yaml<'t, T: Deserialize<'t>>(text: &'t str) -> Result<T, ThinkingSettingsError> {
    serde_saphyr::from_str(text).map_err(|error| ThinkingSettingsError::Unreadable {
        message: error
            .to_string()
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_read_and_must_add_up() {
        let text = "values:\n  - name: 명료함\n    weight: 0.6\n    definition: 읽기 쉽다\n  - {name: depth, weight: 0.4}\n";
        assert_eq!(
            core_values(text),
            Ok(ValueWeights(vec![
                ("명료함".into(), 0.6),
                ("depth".into(), 0.4)
            ]))
        );
        let fail = |text: &str| {
            core_values(text)
                .err()
                .map(|error| error.to_string())
                .unwrap_or_default()
        };
        assert_eq!(
            fail("values: [{name: a, weight: 0.5}]"),
            "weights add up to 0.5, not to 1"
        );
        assert!(fail("values: 3").starts_with("cannot be read"));
        assert!(fail("values: [{name: a, weight: .nan}]").contains("unusable"));
        assert!(fail(":\n  - [").starts_with("cannot be read"));
    }

    #[test]
    fn standards_have_a_stage_and_drafts_a_length() {
        let text = "min_words: 500\nstandards:\n  - {criterion: tone, threshold: 8}\n  - {criterion: completeness, threshold: 0.9, stage: creation}\n";
        let standards = quality_standards(text).unwrap_or_default();
        assert_eq!(standards.min_words, Some(500));
        let stages: Vec<ThinkingStage> = standards.standards.iter().map(|one| one.stage).collect();
        assert_eq!(stages, [ThinkingStage::Reflection, ThinkingStage::Creation]);
        assert!(
            quality_standards("standards: [{criterion: a, threshold: 1, stage: lunch}]").is_err()
        );
        assert_eq!(
            quality_standards("min_words: 10")
                .unwrap_or_default()
                .standards,
            []
        );
    }
}
