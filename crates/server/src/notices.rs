//! Tells people elsewhere: webhooks, Slack, ntfy and the desktop, from the store's outbox, at least once. Addresses are secrets and
//! appear in no argument, log, answer or note.

use crate::work::{Asked, Wish, Work};
use bowline_engine::clock::Clock;
use bowline_engine::formats::client_hooks::quoted;
use bowline_engine::formats::settings::Notify;
use bowline_engine::formats::time::utc;
use bowline_engine::machines::Timestamp;
use bowline_engine::post::{JSON, Poster};
use bowline_engine::process;
use bowline_store::{EffectEnd, EffectRow, Settle};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{PoisonError, RwLock, Weak};
use std::time::Duration;

/// How often the outbox is looked at.
const LOOK_TIME: Duration = Duration::from_secs(1);
/// How long a message on the desktop may take.
const SHOW_TIME: Duration = Duration::from_secs(30);
/// Tries of one notice, and seconds before the second; each further one waits twice as long.
const TRIES_MAX: u32 = 5;
const AGAIN_S: i64 = 5;
/// The longest wait that whoever is told may ask for.
const RETRY_AFTER_S_MAX: i64 = 60 * 60;

/// Delivers what waits in the outbox, while the server is there.
#[derive(Clone)]
pub(crate) struct Deliverer {
    pub(crate) notify: Notify,
    pub(crate) folder: PathBuf,
    pub(crate) clock: Clock,
    pub(crate) variables: BTreeMap<String, String>,
    /// The same with what leads to the desktop of whoever serves.
    pub(crate) desktop: BTreeMap<String, String>,
}

/// Events that a person would want to be called for.
const CALLS: [&str; 8] = [
    "review.created",
    "question.asked",
    "dependency.requested",
    "permission.wanted",
    "agent.breaker",
    "agent.error",
    "task.completed",
    "task.failed",
];

impl Deliverer {
    /// Delivers to whom the settings name, as they are at the time, until the work is gone.
    pub(crate) fn run(&self, work: &Weak<dyn Work>, notify: &RwLock<Notify>) {
        let mut needed = false;
        while let Some(work) = work.upgrade() {
            let notify = notify.read().unwrap_or_else(PoisonError::into_inner);
            let current = Deliverer {
                notify: notify.clone(),
                ..self.clone()
            };
            drop(notify);
            // What waits is settled also when nobody is told any more.
            needed |= current.notify != Notify::default();
            let now = self.clock.now();
            let waiting = match needed {
                true => work.store().effects().unwrap_or_default(),
                false => Vec::new(),
            };
            let due = |it: &&EffectRow| it.kind == "notify" && it.due <= now;
            for effect in waiting.iter().filter(due) {
                let end = current.deliver(&*work, effect, now);
                let settle = Settle {
                    effect: effect.id,
                    end,
                };
                let asked = Asked {
                    request: None,
                    version: None,
                    wish: Wish::Settle(settle),
                };
                if let Err(error) = work.ask(asked) {
                    // It stays in the outbox, and is tried again.
                    tracing::warn!(?error, effect = effect.id, "a notice is not settled");
                }
            }
            drop(work);
            std::thread::sleep(LOOK_TIME);
        }
    }

    fn deliver(&self, work: &dyn Work, effect: &EffectRow, now: Timestamp) -> EffectEnd {
        let body = body(effect);
        let mut notes = Vec::new();
        let mut good = true;
        let mut wait_s = None;
        let event = body["event"].as_str().unwrap_or_default();
        let title = match work.store().job(&effect.job) {
            Ok(Some(row)) => row.job.title.clone(),
            Ok(None) | Err(_) => effect.job.clone(),
        };
        let slack = json!({ "text": format!("{event} {}", effect.job) }).to_string();
        let both = [
            ("webhook", &self.notify.webhook, body.to_string()),
            ("slack", &self.notify.slack, slack),
        ];
        let json = [JSON.to_owned()];
        let id = effect.id.to_string();
        let poster = Poster {
            folder: self.folder.clone(),
            variables: self.variables.clone(),
        };
        for (name, address, content) in both {
            if let Some(address) = address {
                let posted = poster.post(&id, name, address, &json, &content);
                good &= posted.taken;
                wait_s = wait_s.max(posted.retry_after_s);
                notes.push(format!("{name}: {}", posted.note));
            }
        }
        if let Some(address) = self.notify.ntfy.as_ref().filter(|_| CALLS.contains(&event)) {
            let mut headers = vec![format!("X-Title: {event}")];
            headers.extend(self.buttons(work, event, &body));
            let posted = poster.post(&id, "ntfy", address, &headers, &title);
            good &= posted.taken;
            wait_s = wait_s.max(posted.retry_after_s);
            notes.push(format!("ntfy: {}", posted.note));
        }
        if self.notify.desktop && CALLS.contains(&event) {
            // One that cannot be shown now is not shown later: nobody sits there.
            notes.push(format!("desktop: {}", self.show(event, &title)));
        }
        let note = notes.join(", ");
        let wait_s = i64::try_from(wait_s.unwrap_or(0)).unwrap_or(RETRY_AFTER_S_MAX);
        let usual_s = AGAIN_S << effect.tries.min(10);
        let wait_s = wait_s.min(RETRY_AFTER_S_MAX).max(usual_s);
        match (good, effect.tries + 1 < TRIES_MAX) {
            (true, _) => EffectEnd::Delivered { note },
            (false, true) => EffectEnd::Again {
                due: Timestamp(now.0 + wait_s),
                note,
            },
            (false, false) => EffectEnd::GivenUp { note },
        }
    }

    /// Buttons for the one thing an event asks, where they are wanted: each is a word that counts once.
    fn buttons(&self, work: &dyn Work, event: &str, body: &Value) -> Option<String> {
        let server = self.notify.ntfy_actions.as_ref()?.trim_end_matches('/');
        let id = body["data"]["id"].as_str()?;
        let choices: &[(&str, &str)] = match event {
            "review.created" => &[("Approve", "approve")],
            "permission.wanted" => &[("Permit", "permit"), ("Deny", "deny")],
            _ => return None,
        };
        let button = |(label, verb): &(&str, &str)| {
            let word = work.seal_action(&format!("{verb} {id}"))?;
            Some(format!(
                "http, {label}, {server}/api/actions/{word}, method=POST, clear=true"
            ))
        };
        let buttons: Vec<String> = choices.iter().filter_map(button).collect();
        Some(format!("X-Actions: {}", buttons.join("; ")))
    }

    /// Shows a message on the desktop; how that went.
    fn show(&self, event: &str, title: &str) -> String {
        let command = format!(
            "command -v notify-send >/dev/null || exit 127; notify-send --app-name=Bowline -- {} {}",
            quoted(event),
            quoted(title)
        );
        let made = std::fs::create_dir_all(&self.folder);
        match made.map(|()| process::run_in(&command, &self.folder, &self.desktop, SHOW_TIME)) {
            Ok(Ok(ran)) if ran.exit_code == 0 => "shown".to_owned(),
            Ok(Ok(ran)) if ran.exit_code == 127 => "there is no notify-send".to_owned(),
            Ok(Ok(ran)) => format!("notify-send ended with {}", ran.exit_code),
            Ok(Err(error)) => error.to_string(),
            Err(error) => error.to_string(),
        }
    }
}

/// What a webhook gets.
fn body(effect: &EffectRow) -> Value {
    let said = &effect.body;
    // A notice is written as its word, or as an object with its word as the only key.
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
    json!({ "event": name, "taskId": effect.job, "timestamp": utc(effect.at), "data": data })
}
