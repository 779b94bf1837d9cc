//! Data of the file beside the run: project, mode, and notification settings.

use crate::document_reader::put_value;
use bowline_machines::named;
use serde_json::Value;
use std::fmt;

named! {
    /// The way work is handed to agents.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum RunMode {
        /// Prompts carry the whole context.
        Normal = "normal",
        /// Agents reply with one line.
        UltraThin = "ultra-thin",
        /// Each task repeats until it prints the promise.
        Ralph = "ralph",
    }
}

impl RunMode {
    /// Maps a mode name of other documents to a mode.
    pub(super) fn other_name(name: &str) -> Option<RunMode> {
        matches!(name, "auto-orchestrate" | "standard").then_some(RunMode::Normal)
    }
}

/// A webhook URL. Knowing it is enough to post to it, so it is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookUrl(String);

impl WebhookUrl {
    /// Wraps a URL.
    pub fn new(url: impl Into<String>) -> Self {
        WebhookUrl(url.into())
    }

    /// Returns the URL itself, for posting to it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for WebhookUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookUrl(…)")
    }
}

/// Data of the file beside the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrchestrationMeta {
    /// Name of the project.
    pub project: String,
    pub mode: RunMode,
    pub slack_webhook_url: Option<WebhookUrl>,
}

impl OrchestrationMeta {
    /// Reads the data from a document of any version; missing or invalid values get their default.
    pub fn from_document(value: &Value) -> OrchestrationMeta {
        let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str);
        let url = [
            "/config/slack_webhook_url",
            "/slack_webhook_url",
            "/slackWebhookUrl",
            "/slack_webhook",
        ]
        .iter()
        .find_map(|place| text(place));
        let project = ["/project", "/project_name", "/projectName"]
            .iter()
            .find_map(|place| text(place));
        OrchestrationMeta {
            project: project.unwrap_or_default().into(),
            // Files of other families had no other mode; early files of version 2.0 were
            // ultra-thin.
            mode: match text("/mode") {
                Some(word) => RunMode::from_name(word).unwrap_or(RunMode::Normal),
                None if value.get("tasks").is_some() => RunMode::UltraThin,
                None => RunMode::Normal,
            },
            slack_webhook_url: url.filter(|url| !url.is_empty()).map(WebhookUrl::new),
        }
    }

    /// Writes the data into a document.
    pub fn write_to(&self, value: &mut Value) {
        put_value(value, "/mode", self.mode.name());
        put_value(value, "/project", self.project.clone());
        let url = self.slack_webhook_url.as_ref().map(WebhookUrl::expose);
        // A URL at the top level of the file stays there.
        let place = match value.get("slack_webhook_url") {
            Some(_) => "/slack_webhook_url",
            None => "/config/slack_webhook_url",
        };
        put_value(value, place, url);
    }
}

/// Selection of events sent to Slack: `slack_config` of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlackEvents {
    /// Send every task that is done.
    pub task_complete: bool,
    /// Send every task that failed.
    pub task_fail: bool,
    /// Send every phase that is done, or did not land.
    pub phase_complete: bool,
}

impl SlackEvents {
    /// Reads the selection from a document; missing values get the defaults of the workflow's
    /// documents.
    pub fn from_document(value: &Value) -> SlackEvents {
        let said = |name: &str| {
            let places = ["/slack_config/", "/config/slack_config/"];
            let mut said = places
                .iter()
                .filter_map(|place| value.pointer(&format!("{place}{name}")));
            said.find_map(Value::as_bool)
        };
        SlackEvents {
            task_complete: said("notify_on_task_complete").unwrap_or(false),
            task_fail: said("notify_on_task_fail").unwrap_or(true),
            phase_complete: said("notify_on_phase_complete")
                .or_else(|| said("notify_on_checkpoint"))
                .unwrap_or(true),
        }
    }

    /// True if the event of this name is selected. Events without a setting are always sent.
    pub fn includes_event(&self, event: &str) -> bool {
        match event {
            "task_done" => self.task_complete,
            "task_failed" => self.task_fail,
            "phase_done" | "phase_not_landed" => self.phase_complete,
            _ => true,
        }
    }
}
