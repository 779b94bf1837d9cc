//! What the file says beside the run: project, mode, and whom to tell.

use crate::reading::put;
use bowline_machines::named;
use serde_json::Value;
use std::fmt;

named! {
    /// How the work is handed to agents.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Mode {
        /// Prompts carry the whole context.
        Normal = "normal",
        /// Replies of one line.
        UltraThin = "ultra-thin",
        /// Each task repeats until it prints the promise.
        Ralph = "ralph",
    }
}

impl Mode {
    /// The mode that a word of other documents means.
    pub(super) fn other_name(name: &str) -> Option<Mode> {
        matches!(name, "auto-orchestrate" | "standard").then_some(Mode::Normal)
    }
}

/// An address that whoever knows it may post to: never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookUrl(String);

impl WebhookUrl {
    /// Keeps an address.
    pub fn new(url: impl Into<String>) -> Self {
        WebhookUrl(url.into())
    }

    /// The address itself, for the one who posts to it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for WebhookUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookUrl(…)")
    }
}

/// What the file says beside the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meta {
    /// What the project is called.
    pub project: String,
    /// How the work is handed out.
    pub mode: Mode,
    /// Where Slack listens.
    pub slack_webhook_url: Option<WebhookUrl>,
}

impl Meta {
    /// Reads it from a document of any version; what is missing or wrong gets its default.
    pub fn read(value: &Value) -> Meta {
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
        Meta {
            project: project.unwrap_or_default().into(),
            // Files of other families had no other mode; those of 2.0 began as ultra-thin.
            mode: match text("/mode") {
                Some(word) => Mode::from_name(word).unwrap_or(Mode::Normal),
                None if value.get("tasks").is_some() => Mode::UltraThin,
                None => Mode::Normal,
            },
            slack_webhook_url: url.filter(|url| !url.is_empty()).map(WebhookUrl::new),
        }
    }

    /// Writes it into a document.
    pub fn write(&self, value: &mut Value) {
        put(value, "/mode", self.mode.name());
        put(value, "/project", self.project.clone());
        let url = self.slack_webhook_url.as_ref().map(WebhookUrl::expose);
        // Some files have the address at the top; there it stays.
        let place = match value.get("slack_webhook_url") {
            Some(_) => "/slack_webhook_url",
            None => "/config/slack_webhook_url",
        };
        put(value, place, url);
    }
}

/// Of what Slack wants to hear: `slack_config` of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlackWishes {
    /// Every task that is done.
    pub task_complete: bool,
    /// Every task that failed.
    pub task_fail: bool,
    /// Every phase that is done, or did not land.
    pub phase_complete: bool,
}

impl SlackWishes {
    /// Reads them from a document; what it does not say is as the documents of the workflow have it.
    pub fn read(value: &Value) -> SlackWishes {
        let said = |name: &str| {
            let places = ["/slack_config/", "/config/slack_config/"];
            let mut said = places
                .iter()
                .filter_map(|place| value.pointer(&format!("{place}{name}")));
            said.find_map(Value::as_bool)
        };
        SlackWishes {
            task_complete: said("notify_on_task_complete").unwrap_or(false),
            task_fail: said("notify_on_task_fail").unwrap_or(true),
            phase_complete: said("notify_on_phase_complete")
                .or_else(|| said("notify_on_checkpoint"))
                .unwrap_or(true),
        }
    }

    /// Whether an event is wanted, by its word.
    pub fn wants(&self, event: &str) -> bool {
        match event {
            "task_done" => self.task_complete,
            "task_failed" => self.task_fail,
            "phase_done" | "phase_not_landed" => self.phase_complete,
            _ => true,
        }
    }
}
