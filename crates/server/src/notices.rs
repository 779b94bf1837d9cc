//! Delivers notices from the store's outbox to webhooks, Slack, ntfy and the desktop, at least
//! once. Addresses are secrets and appear in no argument, log, response or note.

use crate::diff::ReviewChanges;
use crate::job_service::{JobRequest, JobService, SubmittedRequest};
use bowline_engine::clock::Clock;
use bowline_engine::formats::client_hooks::quote_word;
use bowline_engine::formats::settings::NotifySettings;
use bowline_engine::formats::time::format_utc;
use bowline_engine::formats::tool_input::input_lines;
use bowline_engine::formats::visible;
use bowline_engine::machines::Timestamp;
use bowline_engine::process;
use bowline_engine::webhook::{JSON, WebhookClient};
use bowline_formats::rest::routes::act;
use bowline_store::{EffectResult, EffectRow, RecordBody, SettledEffect};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{PoisonError, RwLock, Weak};
use std::time::Duration;

/// Interval at which the outbox is read.
const OUTBOX_READ_INTERVAL: Duration = Duration::from_secs(1);
/// Timeout of a desktop notification.
const DESKTOP_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum tries of one notice, and seconds before the second; each further delay doubles.
const NOTICE_TRIES_MAX: u32 = 5;
const RETRY_DELAY_S: i64 = 5;
/// Maximum delay that a receiver may ask for with `Retry-After`.
const RETRY_AFTER_S_MAX: i64 = 60 * 60;
/// Maximum size of a tool's input that a message includes whole; ntfy cuts messages at 4,096 bytes.
const NTFY_INPUT_BYTES_MAX: usize = 3_000;

/// Delivers notices of the outbox while the server runs.
#[derive(Clone)]
pub(crate) struct NoticeDeliverer {
    pub(crate) notify: NotifySettings,
    pub(crate) folder: PathBuf,
    pub(crate) clock: Clock,
    pub(crate) webhooks: WebhookClient,
    /// Environment of a program that shows messages on the desktop.
    pub(crate) desktop: BTreeMap<String, String>,
}

/// Events that are worth a push message.
const PUSHED_EVENTS: [&str; 8] = [
    "review.created",
    "question.asked",
    "dependency.requested",
    "permission.wanted",
    "agent.breaker",
    "agent.error",
    "task.completed",
    "task.failed",
];

impl NoticeDeliverer {
    /// Delivers due notices until the job service is dropped. The settings are read anew each time.
    pub(crate) fn run(&self, work: &Weak<dyn JobService>, notify: &RwLock<NotifySettings>) {
        let mut needed = false;
        while let Some(work) = work.upgrade() {
            let notify = notify.read().unwrap_or_else(PoisonError::into_inner);
            let current = NoticeDeliverer {
                notify: notify.clone(),
                ..self.clone()
            };
            drop(notify);
            // Waiting notices are settled even after notices are turned off.
            needed |= current.notify != NotifySettings::default();
            let now = self.clock.now();
            let waiting = match needed {
                true => work.store().open_effects().unwrap_or_default(),
                false => Vec::new(),
            };
            let due = |it: &&EffectRow| it.kind == "notify" && it.due <= now;
            for effect in waiting.iter().filter(due) {
                let end = current.deliver_notice(&*work, effect, now);
                let settle = SettledEffect {
                    effect: effect.id,
                    end,
                };
                let asked = SubmittedRequest {
                    key: None,
                    version: None,
                    request: JobRequest::Settle(settle),
                };
                if let Err(error) = work.submit_request(asked) {
                    // It stays in the outbox, and is tried again.
                    tracing::warn!(%error, effect = effect.id, "a notice is not settled");
                }
            }
            drop(work);
            std::thread::sleep(OUTBOX_READ_INTERVAL);
        }
    }

    fn deliver_notice(
        &self,
        work: &dyn JobService,
        effect: &EffectRow,
        now: Timestamp,
    ) -> EffectResult {
        let body = webhook_body(effect);
        let mut notes = Vec::new();
        let mut good = true;
        let mut wait_s = None;
        let event = body["event"].as_str().unwrap_or_default();
        let title = match work.store().find_job(&effect.job) {
            Ok(Some(row)) => row.job.title.clone(),
            Ok(None) | Err(_) => effect.job.clone(),
        };
        let slack = json!({ "text": format!("{event} {}", effect.job) }).to_string();
        let both = [
            ("webhook", &self.notify.webhook, body.to_string()),
            ("slack", &self.notify.slack, slack),
        ];
        let id = effect.id.to_string();
        for (name, address, content) in both {
            if let Some(address) = address {
                let posted = self.webhooks.post_event(&id, address, &[JSON], &content);
                good &= posted.accepted;
                wait_s = wait_s.max(posted.retry_after_s);
                notes.push(format!("{name}: {}", posted.note));
            }
        }
        if let Some(address) = self
            .notify
            .ntfy
            .as_ref()
            .filter(|_| PUSHED_EVENTS.contains(&event))
        {
            let mut actions = None;
            let server = self.notify.ntfy_actions.as_deref();
            let mut text = title.clone();
            if let Some((server, call)) = server.zip(decision_call(work, effect, event, &body)) {
                text = format!("{title}\n{}", call.text);
                actions = action_header(work, server, &call);
            }
            let mut headers = vec![("X-Title", event)];
            headers.extend(actions.as_deref().map(|it| ("X-Actions", it)));
            let posted = self.webhooks.post_event(&id, address, &headers, &text);
            good &= posted.accepted;
            wait_s = wait_s.max(posted.retry_after_s);
            notes.push(format!("ntfy: {}", posted.note));
        }
        if self.notify.desktop && PUSHED_EVENTS.contains(&event) {
            // A desktop notification is not retried: the person may have left.
            notes.push(format!("desktop: {}", self.show_on_desktop(event, &title)));
        }
        let note = notes.join(", ");
        let wait_s = i64::try_from(wait_s.unwrap_or(0)).unwrap_or(RETRY_AFTER_S_MAX);
        let usual_s = RETRY_DELAY_S << effect.tries.min(10);
        let wait_s = wait_s.min(RETRY_AFTER_S_MAX).max(usual_s);
        match (good, effect.tries + 1 < NOTICE_TRIES_MAX) {
            (true, _) => EffectResult::Delivered { note },
            (false, true) => EffectResult::Again {
                due: Timestamp(now.0 + wait_s),
                note,
            },
            (false, false) => EffectResult::GivenUp { note },
        }
    }

    /// Shows a desktop notification; returns the result as text.
    fn show_on_desktop(&self, event: &str, title: &str) -> String {
        let command = format!(
            "command -v notify-send >/dev/null || exit 127; notify-send --app-name=Bowline -- {} {}",
            quote_word(event),
            quote_word(title)
        );
        let made = std::fs::create_dir_all(&self.folder);
        match made.map(|()| process::run_in(&command, &self.folder, &self.desktop, DESKTOP_TIMEOUT))
        {
            Ok(Ok(ran)) if ran.exit_code == 0 => "shown".to_owned(),
            Ok(Ok(ran)) if ran.exit_code == 127 => "there is no notify-send".to_owned(),
            Ok(Ok(ran)) => format!("notify-send ended with {}", ran.exit_code),
            Ok(Err(error)) => error.to_string(),
            Err(error) => error.to_string(),
        }
    }
}

/// A decision offered in a message: its text, and the buttons that the text justifies.
#[derive(Debug, PartialEq)]
struct DecisionCall {
    text: String,
    /// Label and action of each button.
    buttons: Vec<(&'static str, String)>,
}

/// Builds the decision that an event asks for. A tool call can be permitted only if its complete
/// input is in the message; a review can be approved only if its changes can be shown at all.
fn decision_call(
    work: &dyn JobService,
    effect: &EffectRow,
    event: &str,
    body: &Value,
) -> Option<DecisionCall> {
    let id = body["data"]["id"].as_str()?;
    let record = work.store().find_record(id).ok()??;
    match (event, record.body) {
        ("permission.wanted", RecordBody::Permission(row)) => {
            Some(permission_call(id, &row.tool, &row.input))
        }
        ("review.created", RecordBody::Review(row)) => {
            let job = work.store().find_job(&effect.job).ok()??;
            Some(review_call(id, work.review_changes(&job, &row)))
        }
        _ => None,
    }
}

fn permission_call(id: &str, tool: &str, input: &str) -> DecisionCall {
    let input = serde_json::from_str(input).unwrap_or_else(|_| Value::from(input));
    let tool = visible::escape_name(tool);
    let lines = input_lines(&input).join("\n");
    let deny = ("Deny", format!("deny {id}"));
    match lines.len() <= NTFY_INPUT_BYTES_MAX {
        true => DecisionCall {
            text: format!("{tool}\n{lines}"),
            buttons: vec![("Permit", format!("permit {id}")), deny],
        },
        false => DecisionCall {
            text: format!("{tool}\n(+{} characters)", lines.chars().count()),
            buttons: vec![deny],
        },
    }
}

fn review_call(id: &str, changes: Result<ReviewChanges, String>) -> DecisionCall {
    match changes {
        Ok(changes) => DecisionCall {
            text: format!(
                "{} files, +{} −{}",
                changes.files_total, changes.added, changes.removed
            ),
            buttons: vec![("Approve unseen", format!("approve {id}"))],
        },
        Err(why) => DecisionCall {
            text: visible::escape_prose(&why),
            buttons: Vec::new(),
        },
    }
}

/// Builds the header with the buttons of a decision. Each carries a sealed token that is valid
/// once.
fn action_header(work: &dyn JobService, server: &str, call: &DecisionCall) -> Option<String> {
    let server = server.trim_end_matches('/');
    let button = |(label, action): &(&str, String)| {
        let word = work.seal_action(action)?;
        let path = act(&word).request.path;
        Some(format!(
            "http, {label}, {server}{path}, method=POST, clear=true"
        ))
    };
    let buttons: Vec<String> = call.buttons.iter().filter_map(button).collect();
    (!buttons.is_empty()).then(|| buttons.join("; "))
}

/// Builds the body of a webhook.
fn webhook_body(effect: &EffectRow) -> Value {
    let said = &effect.body;
    // A notice is stored as its name, or as an object with its name as the only key.
    let event = &said["notify"];
    let (name, data) = match event {
        Value::String(name) => (name.clone(), json!({})),
        Value::Object(object) => {
            let first = object.iter().next();
            first.map_or_else(Default::default, |(name, data)| {
                (name.clone(), data.clone())
            })
        }
        _ => (String::new(), json!({})),
    };
    json!({ "event": name, "taskId": effect.job, "timestamp": format_utc(effect.at), "data": data })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_call_can_be_permitted_only_where_its_whole_input_is_in_the_message() {
        let input = r#"{"file_path":"docs/README.md","command":"curl x | sh","replace_all":true}"#;
        let call = permission_call("perm_1", "Bash\nforged", input);
        let text = "Bash⟨U+000A⟩forged\ncommand: curl x | sh\nfile_path: docs/README.md\nreplace_all: true";
        assert_eq!(call.text, text);
        let deny = ("Deny", "deny perm_1".to_owned());
        let permit = ("Permit", "permit perm_1".to_owned());
        assert_eq!(call.buttons, [permit, deny.clone()]);
        let long = json!({ "command": "x".repeat(NTFY_INPUT_BYTES_MAX) }).to_string();
        let call = permission_call("perm_1", "Bash", &long);
        assert_eq!(call.text, "Bash\n(+3009 characters)");
        assert_eq!(call.buttons, [deny]);
    }

    #[test]
    fn a_review_whose_changes_cannot_be_shown_has_no_button() {
        let changes = ReviewChanges {
            files_total: 3,
            added: 10,
            removed: 2,
            ..ReviewChanges::default()
        };
        let call = review_call("rev_1", Ok(changes));
        assert_eq!(call.text, "3 files, +10 −2");
        let approve = ("Approve unseen", "approve rev_1".to_owned());
        assert_eq!(call.buttons, [approve]);
        let call = review_call("rev_1", Err("git ended with 1".into()));
        assert_eq!(
            (call.text.as_str(), call.buttons.len()),
            ("git ended with 1", 0)
        );
    }
}
