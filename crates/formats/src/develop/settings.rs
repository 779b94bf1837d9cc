//! `.develop-workflow.yaml`: a project's preferences for develop runs.

use serde::Deserialize;

/// Name of the file in the root of a project.
pub const FILE_NAME: &str = ".develop-workflow.yaml";

/// The settings that we read. The rest is for the agents.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DevelopSettings {
    /// `develop.implement.strategy`: a strategy, or `auto`.
    pub strategy: Option<String>,
    /// `develop.implement.max_retries`: attempts at a checkpoint.
    pub max_retries: Option<u32>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawSettingsFile {
    develop: Option<RawDevelopTable>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawDevelopTable {
    implement: Option<RawImplement>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawImplement {
    strategy: Option<String>,
    max_retries: Option<u32>,
}

/// Parses the file; an error is the first line of the parser's message.
pub fn parse_settings(text: &str) -> Result<DevelopSettings, String> {
    if text.trim().is_empty() {
        return Ok(DevelopSettings::default());
    }
    let raw: RawSettingsFile = serde_saphyr::from_str(text).map_err(|error| {
        let message = error.to_string();
        message.lines().next().unwrap_or_default().to_owned()
    })?;
    let implement = raw
        .develop
        .and_then(|develop| develop.implement)
        .unwrap_or_default();
    Ok(DevelopSettings {
        strategy: implement.strategy,
        max_retries: implement.max_retries,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_matters_is_read_and_the_rest_left_alone() {
        let text = "develop:\n  design: {multi_llm: true}\n  review:\n    max_iterations: 2\n  implement:\n    \
                    strategy: subagent\n    max_retries: 2\n    validate_each: true\ncommands:\n  design: /design\n";
        let settings = parse_settings(text).unwrap_or_default();
        assert_eq!(settings.strategy.as_deref(), Some("subagent"));
        assert_eq!(settings.max_retries, Some(2));
        for text in ["", "# nothing yet\n", "commands: {}\n", "develop:\n"] {
            assert_eq!(
                parse_settings(text),
                Ok(DevelopSettings::default()),
                "{text:?}"
            );
        }
        assert!(parse_settings("develop: [").is_err());
        assert!(parse_settings("develop: {implement: {max_retries: many}}").is_err());
    }
}
