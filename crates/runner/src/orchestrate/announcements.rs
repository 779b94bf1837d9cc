//! Announces the progress of a run outside of it: to Slack and to a webhook.
//!
//! Posts are sent from a thread of their own, so that an address that does not answer holds up
//! nothing. The journal keeps what is not delivered yet.

use super::ports::{RunNotice, RunRequest};
use super::run::LoopInput;
use super::runtime::{DeferredOrder, RunRuntime};
use crate::core::failure::FailureReason;
use bowline_engine::formats::orchestrate::{OrchestrationMeta, SlackEvents};
use bowline_engine::formats::settings::BowlineSettings;
use bowline_engine::formats::time;
use bowline_engine::operations::orchestrate::{
    NotificationKind, OwnedOrchestration, RunNotification,
};
use bowline_engine::webhook::{JSON, WebhookClient};
use bowline_engine::{Context, Error};
use bowline_words::Lang;
use bowline_words::message::Announcement;
use serde_json::{Value, json};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// Maximum number of tries to deliver one post. The second waits one second, the third two.
const TRIES_MAX: u32 = 3;
/// The longest wait before the next try that the receiver may ask for.
const RETRY_AFTER_S_MAX: u64 = 10;
/// Time that the end of a run waits for the delivery of its announcements.
const DELIVERY_WAIT_MS_MAX: u64 = 15_000;
/// The environment variable with the address of Slack, used if neither the state file nor the
/// settings name one.
const SLACK_VARIABLE: &str = "SLACK_WEBHOOK_URL";

/// Renders an announcement as text. `why` is the failure's reason, known only if it failed in this
/// run.
pub fn render_announcement(
    news: &RunNotification,
    why: Option<&FailureReason>,
    project: &str,
    lang: Lang,
) -> String {
    let project = project.to_owned();
    let (done, total) = (news.done, news.total);
    let (tasks, phase) = (news.tasks.join(", "), news.phase.unwrap_or(0));
    let why = why.map(|why| why.render_line(lang));
    let error = why.or_else(|| news.error.clone()).unwrap_or_default();
    let said = match news.news {
        NotificationKind::Started => Announcement::Started {
            project,
            done,
            total,
        },
        NotificationKind::TaskDone => Announcement::TaskDone {
            project,
            id: tasks,
            done,
            total,
        },
        NotificationKind::TaskFailed => Announcement::TaskFailed {
            project,
            id: tasks,
            error,
        },
        NotificationKind::PhaseDone => Announcement::PhaseDone {
            project,
            phase,
            done,
            total,
        },
        NotificationKind::PhaseNotLanded => Announcement::PhaseNotLanded { project, phase },
        NotificationKind::AllDone => Announcement::AllDone { project, total },
        NotificationKind::Stalled => Announcement::Stalled {
            project,
            ids: tasks,
            done,
            total,
        },
    };
    said.say(lang)
}

/// A post of one announcement to one address.
struct AnnouncementPost {
    /// Key by which the receiver recognises a duplicate.
    id: String,
    name: &'static str,
    address: String,
    body: Value,
}

/// The posts that result from one move.
struct PostBatch {
    /// Sequence number of the journal line; none for the start of the run.
    seq: Option<u64>,
    posts: Vec<AnnouncementPost>,
}

/// Hands announcements to the delivery thread.
pub(super) struct AnnouncementSender {
    to: Sender<PostBatch>,
    slack: Option<String>,
    webhook: Option<String>,
    slack_filter: SlackEvents,
    project: String,
    key: String,
    /// Journal lines handed over that are not delivered or given up yet.
    pub(super) open: usize,
}

impl AnnouncementSender {
    /// Starts the delivery thread; returns none if no address is configured.
    pub(super) fn spawn(
        context: &Context,
        owned: &OwnedOrchestration,
        settings: &BowlineSettings,
        key: &str,
        inputs: &Sender<LoopInput>,
    ) -> Option<AnnouncementSender> {
        let OrchestrationMeta {
            project,
            slack_webhook_url,
            ..
        } = owned.read_meta();
        let variable = || {
            let value = context.variables.get(SLACK_VARIABLE)?.to_str()?;
            Some(value.to_owned()).filter(|it| !it.is_empty())
        };
        let slack = slack_webhook_url.map(|url| url.expose().to_owned());
        let slack = slack
            .or_else(|| settings.notify.slack.clone())
            .or_else(variable);
        let webhook = settings.notify.webhook.clone();
        if slack.is_none() && webhook.is_none() {
            return None;
        }
        let webhooks = WebhookClient::default();
        let (to, posts) = channel::<PostBatch>();
        let inputs = inputs.clone();
        let spawned = std::thread::Builder::new().spawn(move || {
            for post in posts {
                let mut notes = Vec::new();
                for letter in &post.posts {
                    if let Err(note) = deliver_post(&webhooks, letter) {
                        notes.push(format!("{}: {note}", letter.name));
                    }
                }
                let delivered = LoopInput::Announced {
                    seq: post.seq,
                    trouble: (!notes.is_empty()).then(|| notes.join(", ")),
                };
                if inputs.send(delivered).is_err() {
                    return;
                }
            }
        });
        spawned.ok()?;
        Some(AnnouncementSender {
            to,
            slack,
            webhook,
            slack_filter: owned.slack_events(),
            project,
            key: key.to_owned(),
            open: 0,
        })
    }

    /// Queues the announcements of one journal line. `say` renders the text for people.
    pub(super) fn queue_posts(
        &mut self,
        seq: Option<u64>,
        at: bowline_engine::machines::Timestamp,
        news: &[RunNotification],
        say: &dyn Fn(&RunNotification, &str) -> String,
    ) {
        let number = seq.map_or_else(|| "begin".to_owned(), |seq| seq.to_string());
        let mut letters = Vec::new();
        for (place, one) in news.iter().enumerate() {
            let id = format!("{}-{number}-{place}", self.key);
            let text = say(one, &self.project);
            if let Some(address) = self
                .slack
                .clone()
                .filter(|_| self.slack_filter.includes_event(one.news.name()))
            {
                letters.push(AnnouncementPost {
                    id: id.clone(),
                    name: "slack",
                    address,
                    body: slack_body(one, &text),
                });
            }
            if let Some(address) = self.webhook.clone() {
                letters.push(AnnouncementPost {
                    id,
                    name: "webhook",
                    address,
                    body: json!({
                        "event": one.news.name(),
                        "project": self.project,
                        "timestamp": time::format_utc(at),
                        "text": text,
                        "data": one,
                    }),
                });
            }
        }
        if self
            .to
            .send(PostBatch {
                seq,
                posts: letters,
            })
            .is_ok()
        {
            self.open += 1;
        }
    }
}

impl RunRuntime<'_> {
    /// Turns notifications on, and queues those that earlier runs left and the start of this run.
    pub(super) fn start_announcing(&mut self) -> Result<(), Error> {
        let Some(announcer) = &mut self.announcer else {
            return Ok(());
        };
        let left = self.journal.owned.enable_notifications()?;
        let at = self.context.now();
        // The reasons of earlier runs are known only as the state file has them.
        let say = |news: &RunNotification, project: &str| {
            self.screen.announcement_text(news, None, project)
        };
        for (seq, news) in left {
            announcer.queue_posts(Some(seq), at, &news, &say);
        }
        let begins = RunNotification::run_started(self.journal.owned.run());
        announcer.queue_posts(None, at, &[begins], &say);
        Ok(())
    }

    /// Announces what has become durable since the last call.
    pub(super) fn announce_news(&mut self) {
        let news = self.journal.owned.take_news();
        let Some(announcer) = &mut self.announcer else {
            return;
        };
        let at = self.context.now();
        let say = |news: &RunNotification, project: &str| {
            // The pending notice to the screen has the reason in every language.
            let why = self
                .orders
                .iter()
                .find_map(|order| reason_of_failure(order, news));
            self.screen.announcement_text(news, why, project)
        };
        for (seq, news) in news {
            announcer.queue_posts(Some(seq), at, &news, &say);
        }
    }

    /// Marks a journal line as delivered or given up. A receiver that does not answer never stops a
    /// run.
    pub(super) fn mark_announced(
        &mut self,
        seq: Option<u64>,
        trouble: Option<String>,
    ) -> Result<(), Error> {
        if let Some(announcer) = &mut self.announcer {
            announcer.open = announcer.open.saturating_sub(1);
        }
        if let Some(trouble) = trouble {
            self.write_log(&format!("NOT_ANNOUNCED:{trouble}"));
        }
        match seq {
            Some(seq) => self.journal.owned.settle_notifications(&self.context, seq),
            None => Ok(()),
        }
    }

    /// Waits for open deliveries, up to [`DELIVERY_WAIT_MS_MAX`]; the next run sends the rest.
    pub(super) fn await_deliveries(&mut self, events: &Receiver<LoopInput>) -> Result<(), Error> {
        let end = Instant::now() + Duration::from_millis(DELIVERY_WAIT_MS_MAX);
        while self.announcer.as_ref().is_some_and(|it| it.open > 0) {
            let left = end.saturating_duration_since(Instant::now());
            match events.recv_timeout(left) {
                Ok(LoopInput::Announced { seq, trouble }) => self.mark_announced(seq, trouble)?,
                // A second request to stop ends the wait.
                Ok(LoopInput::Request(RunRequest::Stop)) => return Ok(()),
                Ok(_) => {}
                Err(_) => return Ok(()),
            }
        }
        Ok(())
    }
}

/// Returns why the task of an announcement failed, if a pending order reports it.
fn reason_of_failure<'o>(
    order: &'o DeferredOrder,
    news: &RunNotification,
) -> Option<&'o FailureReason> {
    match order {
        DeferredOrder::ShowNotice(RunNotice::Failed { id, why, .. }, _)
            if news.news == NotificationKind::TaskFailed =>
        {
            news.tasks.iter().any(|task| **task == **id).then_some(why)
        }
        _ => None,
    }
}

/// Builds the body for Slack. The end of a phase or of the whole run adds a small table.
fn slack_body(one: &RunNotification, text: &str) -> Value {
    let mut body = json!({ "text": text });
    if matches!(
        one.news,
        NotificationKind::PhaseDone | NotificationKind::AllDone
    ) {
        let percent = match one.total {
            0 => 100,
            total => one.done * 100 / total,
        };
        body["blocks"] = json!([
            { "type": "section", "text": { "type": "plain_text", "text": text } },
            { "type": "section", "fields": [
                { "type": "mrkdwn", "text": format!("*{}/{}*", one.done, one.total) },
                { "type": "mrkdwn", "text": format!("*{percent}%*") },
            ] },
        ]);
    }
    body
}

fn deliver_post(webhooks: &WebhookClient, letter: &AnnouncementPost) -> Result<(), String> {
    let mut note = String::new();
    let mut wait_s = 0;
    for attempt in 0..TRIES_MAX {
        if attempt > 0 {
            std::thread::sleep(Duration::from_secs(u64::from(attempt).max(wait_s)));
        }
        let body = letter.body.to_string();
        let posted = webhooks.post_event(&letter.id, &letter.address, &[JSON], &body);
        if posted.accepted {
            return Ok(());
        }
        wait_s = posted.retry_after_s.unwrap_or(0).min(RETRY_AFTER_S_MAX);
        note = posted.note;
    }
    Err(note)
}
