//! Events of agents. The consequences of a piece of output are committed together with its offset,
//! so that after a crash nothing counts twice and nothing is missed.

use super::commit_queue::AfterCommit;
use super::dispatcher::JobDispatcher;
use super::message_delivery::is_over;
use super::request_handlers::new_id;
use super::store_change::timer_key;
use crate::core::attempts::{AttemptEvent, AttemptEventKind};
use crate::core::output_parser::{FirstMessage, is_valid_message};
use bowline_formats::agents::{AgentEvent, AgentEventKind, TokenUsage, TurnEnd, UsagePeriod};
use bowline_formats::markers::check::is_protected;
use bowline_formats::markers::{DependencyRequest, UserQuestion};
use bowline_formats::time::format_utc;
use bowline_formats::transition::{LINE_TYPE, Transition};
use bowline_machines::Timestamp;
use bowline_machines::job::{
    AgentDependency, AgentMarker, AgentQuestion, Command, JobState, PauseCause, PermissionRequest,
    PermissionStatus, ProcessState, ReportedStep, TimerKind,
};
use bowline_store::{
    EventKind, JobChange, JobRecord, JobRow, NewEvent, NextJobState, PermissionRow, QuestionRow,
    RecordBody, Resource, StoreStep, TimerChange,
};
use serde_json::json;
use std::sync::Arc;

/// Bytes of processed output after which the offset is stored at once.
const PLACE_BYTES: u64 = 256 << 10;
/// Seconds without output after which input sent during a turn counts as part of that turn. A
/// client may also begin a new turn with it.
const TURN_QUIET_S: i64 = 5;
/// Least seconds that a rate limit lasts, whatever the client says.
const LIMIT_S_MIN: i64 = 1;

impl JobDispatcher {
    pub(super) fn on_agent_event(&mut self, news: AttemptEvent) {
        let id = news.id.to_string();
        let Some(live) = self.live.get(&id) else {
            return;
        };
        let (job, number, verifies) = (live.job.clone(), live.number, live.verifies);
        let begun_here = live.begun_here;
        if verifies {
            self.on_verifier_event(&id, &job, number, news.kind);
            return;
        }
        match news.kind {
            AttemptEventKind::Output {
                offset,
                bytes,
                events,
                resume,
            } => {
                let upto = offset + bytes.len() as u64;
                self.on_output(&id, &job, number, upto, resume, events);
            }
            AttemptEventKind::Exited { exit, .. } => {
                let command = match (&exit.start_error, exit.started) {
                    (Some(error), _) => start_failure(number, error.clone()),
                    (None, false) => Command::Recover { attempt: number },
                    (None, true) => Command::AgentExit {
                        attempt: number,
                        code: exit.code,
                    },
                };
                self.on_attempt_over(&id, &job, command);
            }
            AttemptEventKind::Lost(_) => {
                let attempt = number;
                self.on_attempt_over(&id, &job, Command::Recover { attempt });
            }
            AttemptEventKind::NeverStarted { message } => {
                let attempt = number;
                let command = match message {
                    Some(message) if begun_here => start_failure(attempt, message),
                    // The earlier process was interrupted: the next attempt shows whether it can be
                    // started.
                    Some(_) | None => Command::Recover { attempt },
                };
                self.on_attempt_over(&id, &job, command);
            }
            AttemptEventKind::InputRead { upto } => self.on_input_read(&id, upto),
            AttemptEventKind::Running { .. }
            | AttemptEventKind::StateChanged(_)
            | AttemptEventKind::Blocked(_)
            | AttemptEventKind::ShimUnreachable { .. }
            | AttemptEventKind::Refused { .. }
            | AttemptEventKind::Undelivered(_) => {}
        }
    }

    fn on_output(
        &mut self,
        id: &str,
        job: &str,
        number: u32,
        upto: u64,
        resume: bowline_formats::agents::ResumePoint,
        events: Vec<AgentEvent<'static>>,
    ) {
        let Ok(row) = self.row(job) else { return };
        if row.job.attempt != number || row.job.process == ProcessState::Gone {
            // Output of an attempt that is over is acknowledged, so that it can end, and ignored.
            // Only usage still counts: a client reports the cost of a turn after the text that
            // ended the task.
            self.attempts.acknowledge_output(id, upto, resume);
            self.count_late(row, number, events);
            return;
        }
        if events.iter().any(is_valid_message)
            && let Some(live) = self.live.get_mut(id)
        {
            live.first_message = FirstMessage::already_received();
        }
        let mut caused = false;
        for event in events {
            caused |= self.on_output_event(job, number, event);
        }
        let now = self.now().0;
        let written = row.about.place.resume.at.offset;
        let Some(live) = self.live.get_mut(id) else {
            return;
        };
        live.unwritten = Some((upto, resume));
        let stale = row.about.output_at.is_none_or(|at| at < now);
        if caused || stale || upto.saturating_sub(written) >= PLACE_BYTES {
            self.store_offset(id);
        }
    }

    fn count_late(&mut self, mut row: JobRow, attempt: u32, events: Vec<AgentEvent<'static>>) {
        if row.job.attempt != attempt {
            // The next attempt counts its own cost already.
            return;
        }
        let mut used = false;
        for event in events {
            if let AgentEventKind::Usage(usage) = event.what {
                count_usage(&mut row, usage);
                used = true;
            }
        }
        if used {
            let change = JobChange::replace_state(&row.id, row.version, row.job, row.about);
            self.stage_change(change);
        }
    }

    /// Stores offsets of processed output that have waited for a tick.
    pub(super) fn store_offsets(&mut self) {
        let waiting = self
            .live
            .iter()
            .filter(|(_, live)| live.unwritten.is_some());
        let ids: Vec<String> = waiting.map(|(id, _)| id.clone()).collect();
        if !ids.is_empty() {
            self.await_commits();
        }
        let now = self.now().0;
        for id in ids {
            let job = self.live.get(&id).map(|live| live.job.clone());
            let row = job.and_then(|job| self.row(&job).ok());
            if row.is_some_and(|row| row.about.output_at.is_none_or(|at| at < now)) {
                self.store_offset(&id);
            }
        }
    }

    fn store_offset(&mut self, id: &str) {
        let Some(live) = self.live.get_mut(id) else {
            return;
        };
        let Some((upto, resume)) = live.unwritten.take() else {
            return;
        };
        let (job, number) = (live.job.clone(), live.number);
        let Ok(mut row) = self.row(&job) else { return };
        if row.job.attempt != number {
            self.attempts.acknowledge_output(id, upto, resume);
            return;
        }
        let about = row.attributes_mut();
        about.place.resume = resume;
        about.output_at = Some(self.now().0);
        let mut advance = StoreStep::empty_at(self.now());
        let change = JobChange::replace_state(&job, row.version, row.job, row.about);
        advance.changes.push(change);
        let after = AfterCommit::Processed {
            attempt: id.into(),
            upto,
            resume,
        };
        self.stage_step(advance, after);
    }

    /// Reports clients that have sent no valid message in time.
    pub(super) fn report_silent_clients(&mut self) {
        let now_ms = self.now().0.saturating_mul(1_000);
        let late = self.live.values_mut().filter_map(|live| {
            let seconds = live.first_message.overdue_s(now_ms)?;
            Some((live.job.clone(), live.number, seconds))
        });
        let late: Vec<_> = late.collect();
        if !late.is_empty() {
            self.await_commits();
        }
        for (job, attempt, seconds) in late {
            let Ok(row) = self.row(&job) else { continue };
            let message = format!(
                "the client has sent no valid message for {seconds} seconds; the task's log has what it printed"
            );
            let marker = AgentMarker::ErrorNotify { message };
            if row.job.state == JobState::Running
                && let Ok(mut change) = self.step(&row, Command::MarkerRead { attempt, marker })
            {
                let status = row.job.agent_status().name();
                let line = Transition {
                    timestamp: format_utc(self.now()),
                    task_id: job,
                    line_type: LINE_TYPE.into(),
                    entity: "agent".into(),
                    from: Some(status.into()),
                    to: status.into(),
                    trigger: "NO_VALID_MESSAGE".into(),
                    metadata: json!({ "seconds": seconds }),
                    sequence: 0,
                };
                change.events.push(NewEvent {
                    kind: EventKind::Transition,
                    // Texts and numbers always serialise.
                    body: serde_json::to_value(line).unwrap_or_default(),
                });
                self.stage_change(change);
            }
        }
    }

    /// Handles one event of an agent. True if it had consequences.
    fn on_output_event(&mut self, job: &str, attempt: u32, event: AgentEvent<'static>) -> bool {
        let Ok(mut row) = self.row(job) else {
            return false;
        };
        if row.job.attempt != attempt || row.job.process == ProcessState::Gone {
            self.count_late(row, attempt, vec![event]);
            return false;
        }
        row.attributes_mut().place.resume = event.resume;
        // The cost of a turn is reported with its end.
        let ends = matches!(
            event.what,
            AgentEventKind::TurnEnded(_) | AgentEventKind::Usage(_)
        );
        let begins = !ends && std::mem::take(&mut row.attributes_mut().turn_over);
        let mut records = Vec::new();
        let markers = match self.markers_of(&mut row, event.what, &mut records) {
            Some(markers) => markers,
            None if begins => vec![],
            None => return false,
        };
        if markers.is_empty() {
            // The event changes what is remembered, and needs no decision.
            let waits = row.about.turn_over && row.about.prompts_open > 0;
            let mut change = JobChange::replace_state(job, row.version, row.job, row.about);
            if waits {
                change.timers.push(TimerChange::Set {
                    key: timer_key(&TimerKind::Turn),
                    due: Timestamp(self.now().0 + TURN_QUIET_S),
                    body: json!(TimerKind::Turn),
                });
            }
            self.stage_change(change);
            self.break_over_budget(job);
            return true;
        }
        // Visible before the step, so that the records built from it have what only people need.
        for record in &records {
            self.open.insert(record.id.clone(), record.clone());
        }
        for marker in markers {
            let Ok(mut now) = self.row(job) else {
                return true;
            };
            // This step also stores what was remembered above.
            now.about = row.about.clone();
            match self.step(&now, Command::MarkerRead { attempt, marker }) {
                Ok(mut change) => {
                    for record in records.extract_if(.., |it| is_permission(it)) {
                        JobDispatcher::add_record(&mut change, record);
                    }
                    if let NextJobState::Is(_, about) = &change.next {
                        row.about = Arc::clone(about);
                    }
                    self.stage_change(change);
                }
                Err(_) => {
                    // A marker that is refused now changes nothing; its offset is still stored.
                    let change = JobChange::replace_state(job, now.version, now.job, now.about);
                    self.stage_change(change);
                }
            }
        }
        self.break_over_budget(job);
        true
    }

    /// Converts an event into markers for the state machine. `None` if nothing has to be stored or
    /// decided.
    fn markers_of(
        &self,
        row: &mut JobRow,
        what: AgentEventKind<'static>,
        records: &mut Vec<JobRecord>,
    ) -> Option<Vec<AgentMarker>> {
        let at = self.now();
        let record = |id: &str, body: RecordBody| JobRecord {
            id: id.into(),
            job: row.id.clone(),
            open: true,
            at,
            body,
        };
        Some(match what {
            AgentEventKind::Session { id, .. } => {
                row.attributes_mut().session = Some(id.into_owned());
                vec![]
            }
            AgentEventKind::Initialized | AgentEventKind::Said(_) => return None,
            AgentEventKind::ToolUsed { .. } | AgentEventKind::PhaseStarting { .. } => return None,
            AgentEventKind::Retrying { .. }
            | AgentEventKind::Ignored { .. }
            | AgentEventKind::Verified { .. } => return None,
            AgentEventKind::Asks { request, questions } => {
                let mut markers = Vec::new();
                for asked in questions {
                    let id = new_id("q");
                    records.push(record(
                        &id,
                        RecordBody::Question(QuestionRow {
                            category: asked.category.name().into(),
                            expires_at: Some(at.0 + row.job.limits.question_timeout_s),
                            request: request
                                .as_ref()
                                .map(|it| (it.id.to_string(), it.body.to_string())),
                            attempt: row.job.attempt,
                            ..question_row(&asked)
                        }),
                    ));
                    markers.push(AgentMarker::Question(new_question(id, asked)));
                }
                markers
            }
            AgentEventKind::WantsPermission {
                request,
                tool,
                input,
            } => {
                let id = new_id("perm");
                let body = PermissionRow {
                    attempt: row.job.attempt,
                    tool: tool.to_string(),
                    input: input.to_string(),
                    request_id: request.id.to_string(),
                    request_body: request.body.to_string(),
                    status: PermissionStatus::Pending,
                    ..PermissionRow::default()
                };
                records.push(record(&id, RecordBody::Permission(body)));
                vec![AgentMarker::Permission(PermissionRequest {
                    id,
                    request: request.id.into_owned(),
                    tool: tool.into_owned(),
                })]
            }
            AgentEventKind::Withdrawn { request } => vec![AgentMarker::Withdrawn {
                request: request.into_owned(),
            }],
            AgentEventKind::Needs(needed) if is_protected(&needed.name) => {
                vec![AgentMarker::Malformed {
                    details: protected_name_notice(&needed.name),
                }]
            }
            AgentEventKind::Needs(needed) => {
                vec![AgentMarker::DependencyRequest(new_dependency(needed))]
            }
            AgentEventKind::PhaseComplete {
                phase,
                deliverables,
                ..
            } => vec![AgentMarker::PhaseComplete {
                phase,
                deliverables,
            }],
            AgentEventKind::TaskComplete { .. } => vec![AgentMarker::CustomComplete],
            AgentEventKind::Step { step, of, name } => vec![AgentMarker::Step(ReportedStep {
                number: step,
                of,
                name,
            })],
            AgentEventKind::Limit {
                until,
                retry_after_s,
                ..
            } => {
                let after = retry_after_s.and_then(|it| i64::try_from(it).ok());
                let after = after.map(|after| at.0.saturating_add(after));
                let stated = until.map(|until| until.as_second()).or(after);
                let until = match (stated, row.about.limited_until) {
                    // A client that stated the end of a limit also ends its turn with it, and then
                    // does not repeat it.
                    (None, Some(known)) => known,
                    (stated, _) => {
                        let until = stated.unwrap_or(at.0 + self.config.retry_after_s);
                        until.max(at.0 + LIMIT_S_MIN) + self.wake_delay_s()
                    }
                };
                row.attributes_mut().limited_until = Some(until);
                vec![AgentMarker::RateLimit {
                    until: Timestamp(until),
                }]
            }
            AgentEventKind::Usage(usage) => {
                count_usage(row, usage);
                vec![]
            }
            AgentEventKind::TurnEnded(end) => {
                let about = row.attributes_mut();
                about.prompts_open = about.prompts_open.saturating_sub(1);
                about.turns += 1;
                about.limited_until = None;
                about.turn_over = true;
                let idle = row.about.prompts_open == 0;
                match end {
                    TurnEnd::Completed | TurnEnd::OutOfBudget | TurnEnd::Refused if idle => {
                        vec![AgentMarker::TurnEnded {
                            question: new_id("q"),
                        }]
                    }
                    TurnEnd::Limited if idle => vec![AgentMarker::TurnLimited],
                    TurnEnd::Completed
                    | TurnEnd::OutOfBudget
                    | TurnEnd::Refused
                    | TurnEnd::Interrupted
                    | TurnEnd::Limited
                    | TurnEnd::Failed => vec![],
                }
            }
            AgentEventKind::Failed { message, details } => vec![AgentMarker::ErrorFatal {
                message: message.into_owned(),
                details: details.map(std::borrow::Cow::into_owned),
            }],
            AgentEventKind::Noticed { message, .. } => vec![AgentMarker::ErrorNotify {
                message: message.into_owned(),
            }],
            AgentEventKind::Malformed(bad) => vec![AgentMarker::Malformed {
                details: bad.to_string(),
            }],
            AgentEventKind::ProtocolError(_) => return None,
        })
    }

    /// Returns the seconds by which the next paused task wakes later than the others, so that not
    /// all wake at once.
    fn wake_delay_s(&self) -> i64 {
        let parked = |row: &&JobRow| {
            matches!(
                row.job.state,
                JobState::Paused(PauseCause::RateLimit { .. })
            )
        };
        i64::try_from(self.rows.values().filter(parked).count()).unwrap_or(0)
    }

    /// Stops a job that has used up its budget.
    fn break_over_budget(&mut self, job: &str) {
        let Ok(row) = self.row(job) else { return };
        let (own, usual) = (row.about.budget, self.config.budget);
        let budget = bowline_store::JobBudget {
            tokens: own.tokens.or(usual.tokens),
            usd: own.usd.or(usual.usd),
            minutes: own.minutes.or(usual.minutes),
        };
        let cost = row.about.total_cost_usd();
        let minutes = row.job.started_at.map_or(0, |start| {
            u64::try_from(self.now().seconds_since(start) / 60).unwrap_or(0)
        });
        let reason = if budget.tokens.is_some_and(|most| row.job.tokens > most) {
            format!("more than {} tokens", budget.tokens.unwrap_or(0))
        } else if budget.usd.is_some_and(|most| cost > most) {
            format!("more than {} USD", budget.usd.unwrap_or(0.0))
        } else if budget.minutes.is_some_and(|most| minutes > most) {
            format!("more than {} minutes", budget.minutes.unwrap_or(0))
        } else if row.about.turns > self.config.turns_max {
            format!("more than {} turns", self.config.turns_max)
        } else {
            return;
        };
        let command = Command::Breaker {
            reason,
            ends: false,
            until: None,
        };
        if let Ok(change) = self.step(&row, command) {
            self.stage_change(change);
        }
    }

    /// Handles the last event of an attempt.
    fn on_attempt_over(&mut self, id: &str, job: &str, command: Command) {
        self.store_offset(id);
        let Some(live) = self.live.remove(id) else {
            return;
        };
        self.revoke_token(job, live.number);
        match self.row(job) {
            Ok(row) if !is_over(&row.job) => self.keep_unread(&row, live.handed_over),
            Ok(row) => self.withdraw_unread(&row, live.handed_over),
            // Its effects are gone with it; a failed store is noted, and nothing is settled.
            Err(_) => return,
        }
        if let Ok(row) = self.row(job)
            && row.job.attempt == live.number
            && row.job.process == ProcessState::Live
            && let Ok(change) = self.step(&row, command)
        {
            self.stage_change(change);
        }
    }
}

/// Returns the message to an agent that requests a protected variable.
fn protected_name_notice(name: &str) -> String {
    format!("the environment variable '{name}' is protected: ask under another name")
}

/// Returns the command for an attempt that could not be started. Without a resource of the machine
/// it counts as lost.
fn start_failure(attempt: u32, message: String) -> Command {
    match Resource::named_in(&message) {
        Some(_) => Command::Recover { attempt },
        None => Command::SpawnFailed { attempt, message },
    }
}

/// Adds the usage that a client reports. Reads from a cache count no tokens; their cost is in the
/// dollars.
fn count_usage(row: &mut JobRow, usage: TokenUsage) {
    let (job, about) = (Arc::make_mut(&mut row.job), Arc::make_mut(&mut row.about));
    let total = usage.input.saturating_add(usage.output);
    let more = match usage.since {
        UsagePeriod::Turn => total,
        UsagePeriod::Session => {
            let before = std::mem::replace(&mut about.session_tokens, total);
            total.saturating_sub(before)
        }
    };
    job.tokens = job.tokens.saturating_add(more);
    if let Some(cost) = usage.cost_usd.filter(|it| it.is_finite() && *it >= 0.0) {
        if cost < about.cost_usd {
            // The client began to count anew.
            about.cost_before_usd += about.cost_usd;
        }
        about.cost_usd = cost;
    }
}

fn is_permission(record: &JobRecord) -> bool {
    matches!(record.body, RecordBody::Permission(_))
}

fn new_question(id: String, asked: UserQuestion) -> AgentQuestion {
    AgentQuestion {
        options: asked.options,
        default: asked.default,
        ..AgentQuestion::without_options(id, asked.question, asked.required)
    }
}

fn question_row(asked: &UserQuestion) -> QuestionRow {
    QuestionRow {
        question: asked.question.clone(),
        options: asked.options.clone(),
        default: asked.default.clone(),
        required: asked.required,
        ..QuestionRow::default()
    }
}

fn new_dependency(needed: DependencyRequest) -> AgentDependency {
    AgentDependency {
        kind: needed.kind,
        description: needed.description,
        default: needed.default,
        ..AgentDependency::on_env_variable(new_id("dep"), needed.name, needed.required)
    }
}
