//! Tells people elsewhere: webhooks and Slack, from the store's outbox, at least once.

use crate::work::{Asked, Wish, Work};
use bowline_engine::clock::Clock;
use bowline_engine::formats::settings::Notify;
use bowline_engine::formats::time::utc;
use bowline_engine::machines::Timestamp;
use bowline_engine::post::Poster;
use bowline_store::{EffectEnd, EffectRow, Settle};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Weak;
use std::time::Duration;

/// How often the outbox is looked at.
const LOOK_TIME: Duration = Duration::from_secs(1);
/// Tries of one notice, and seconds before the second; each further one waits twice as long.
const TRIES_MAX: u32 = 5;
const AGAIN_S: i64 = 5;

/// Delivers what waits in the outbox, while the server is there.
pub(crate) struct Deliverer {
    pub(crate) notify: Notify,
    pub(crate) folder: PathBuf,
    pub(crate) clock: Clock,
    pub(crate) variables: BTreeMap<String, String>,
}

impl Deliverer {
    /// Until the work is gone.
    pub(crate) fn run(&self, work: &Weak<dyn Work>) {
        while let Some(work) = work.upgrade() {
            let now = self.clock.now();
            let waiting = work.store().effects().unwrap_or_default();
            let due = |it: &&EffectRow| it.kind == "notify" && it.due <= now;
            for effect in waiting.iter().filter(due) {
                let end = self.deliver(effect, now);
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

    fn deliver(&self, effect: &EffectRow, now: Timestamp) -> EffectEnd {
        let body = body(effect);
        let mut notes = Vec::new();
        let mut good = true;
        let slack = json!({ "text": format!("{} {}", body["event"].as_str().unwrap_or_default(), effect.job) });
        let both = [
            ("webhook", &self.notify.webhook, &body),
            ("slack", &self.notify.slack, &slack),
        ];
        let id = effect.id.to_string();
        let poster = Poster {
            folder: self.folder.clone(),
            variables: self.variables.clone(),
        };
        for (name, address, body) in both {
            if let Some(address) = address {
                let (delivered, note) = poster.post(&id, name, address, body);
                good &= delivered;
                notes.push(format!("{name}: {note}"));
            }
        }
        let note = notes.join(", ");
        match (good, effect.tries + 1 < TRIES_MAX) {
            (true, _) => EffectEnd::Delivered { note },
            (false, true) => EffectEnd::Again {
                due: Timestamp(now.0 + (AGAIN_S << effect.tries.min(10))),
                note,
            },
            (false, false) => EffectEnd::GivenUp { note },
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
