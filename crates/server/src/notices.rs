//! Tells people elsewhere: webhooks and Slack, from the store's outbox, at least once. Addresses are secrets: they are handed to
//! curl in a file for this user alone and appear in no argument, log, answer or note.

use crate::work::{Asked, Wish, Work};
use bowline_engine::clock::Clock;
use bowline_engine::formats::client_hooks::quoted;
use bowline_engine::formats::settings::Notify;
use bowline_engine::formats::time::utc;
use bowline_engine::machines::Timestamp;
use bowline_engine::process;
use bowline_engine::words::shown;
use bowline_store::{EffectEnd, EffectRow, Settle};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Weak;
use std::time::Duration;

/// How often the outbox is looked at.
const LOOK_TIME: Duration = Duration::from_secs(1);
/// How long one delivery may take.
const POST_TIME: Duration = Duration::from_secs(30);
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
        for (name, address, body) in both {
            if let Some(address) = address {
                let (delivered, note) = self.post(effect.id, name, address, body);
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

    /// Posts JSON; whether it was taken, and how that went.
    fn post(&self, id: u64, name: &str, address: &str, body: &Value) -> (bool, String) {
        let file = |end: &str| self.folder.join(format!("{id}.{name}.{end}"));
        let (config, content) = (file("curl"), file("json"));
        let escaped = address.replace('\\', "\\\\").replace('"', "\\\"");
        let settings = format!(
            "url = \"{escaped}\"\nrequest = \"POST\"\nheader = \"Content-Type: application/json\"\n\
             header = \"X-Bowline-Event-Id: {id}\"\ndata-binary = \"@{}\"\n",
            shown(&content)
        );
        let written = std::fs::create_dir_all(&self.folder)
            .and_then(|()| write(&config, &settings))
            .and_then(|()| write(&content, &body.to_string()));
        let told = match written {
            Err(error) => (false, error.to_string()),
            Ok(()) => {
                let command = format!(
                    "curl -s --max-time 20 -o /dev/null -w '%{{http_code}}' -K {}",
                    quoted(&shown(&config))
                );
                match process::run_in(&command, &self.folder, &self.variables, POST_TIME) {
                    Ok(ran) => {
                        let code = ran.output_tail.trim();
                        let taken = ran.exit_code == 0 && code.starts_with('2');
                        // What curl says of itself may hold the address; its codes do not.
                        let digits = code.len() == 3 && code.bytes().all(|it| it.is_ascii_digit());
                        let code = if digits { code } else { "-" };
                        (taken, format!("status {code}, curl {}", ran.exit_code))
                    }
                    Err(error) => (false, error.to_string()),
                }
            }
        };
        for path in [config, content] {
            let _ = std::fs::remove_file(path);
        }
        told
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

fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(text.as_bytes())
}
