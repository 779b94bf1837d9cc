//! Builds the store change of a transition: events, effects, timers and the records that people
//! see.

use super::attempt_lifecycle::takes_interrupts;
use super::dispatcher::JobDispatcher;
use super::permissions::requested_permissions;
use super::prompt::ClientQuestion;
use crate::core::attempts::GREETINGS;
use bowline_formats::agents::AgentProtocol;
use bowline_formats::time::format_utc;
use bowline_formats::transition::{LINE_TYPE, Transition};
use bowline_machines::Timestamp;
use bowline_machines::job::{
    AgentDependency, AgentQuestion, Effect, Job, JobState, MessageStatus, MessageToAgent,
    PermissionStatus, PhaseReview, QuestionStatus, TimerKind, TransitionEntry, TransitionFact,
};
use bowline_store::{
    BegunStepRow, DependencyRow, EventKind, JobAttributes, JobChange, JobRecord, JobRow,
    MessageRow, NewEffect, NewEvent, NextJobState, OutputPosition, QuestionRow, RecordBody,
    ReviewRow, TimerChange, random_token,
};
use serde_json::{Map, Value, json};

/// Seconds of the window in which starts are counted.
const HOUR_S: i64 = 3_600;
/// Steps whose times are kept, and the characters of their names.
const STEPS_MAX: usize = 500;
const STEP_NAME_MAX: usize = 120;

/// Returns the key of a timer, unique in its job.
pub(super) fn timer_key(kind: &TimerKind) -> String {
    match kind {
        TimerKind::Question { id } | TimerKind::Dependency { id } => {
            format!("{}:{id}", kind.name())
        }
        TimerKind::Scheduled
        | TimerKind::RateLimitReset
        | TimerKind::Checkpoint
        | TimerKind::Silence
        | TimerKind::Turn => kind.name().to_owned(),
    }
}

pub(super) fn stored_effect(effect: &Effect, due: Timestamp) -> NewEffect {
    NewEffect {
        kind: effect.name().into(),
        body: json!(effect),
        due,
    }
}

fn transition_event(id: &str, moved: &TransitionEntry, at: Timestamp) -> NewEvent {
    let fact = |fact: &TransitionFact| match fact {
        TransitionFact::Number(number) => Value::from(*number),
        TransitionFact::Text(text) => Value::from(text.as_str()),
    };
    let metadata: Map<String, Value> = moved
        .metadata
        .iter()
        .map(|(name, value)| ((*name).to_owned(), fact(value)))
        .collect();
    let line = Transition {
        timestamp: format_utc(at),
        task_id: id.into(),
        line_type: LINE_TYPE.into(),
        entity: moved.entity.name().into(),
        from: Some(moved.from.into()),
        to: moved.to.into(),
        trigger: moved.trigger.name().into(),
        metadata: Value::Object(metadata),
        sequence: 0,
    };
    NewEvent {
        kind: EventKind::Transition,
        // Texts and numbers always serialise.
        body: serde_json::to_value(line).unwrap_or_default(),
    }
}

/// Returns the event that announces a record.
fn record_event(record: &JobRecord) -> NewEvent {
    let (kind, mut body) = match &record.body {
        RecordBody::Review(row) => (EventKind::Review, json!(row)),
        RecordBody::Question(row) => (EventKind::Question, json!(row)),
        RecordBody::Dependency(row) => (EventKind::Dependency, json!(row)),
        RecordBody::Permission(row) => (EventKind::Agent, json!({ "permission": row })),
        RecordBody::Checkpoint(row) => (EventKind::Agent, json!({ "checkpoint": row })),
        RecordBody::Verification(row) => (EventKind::Agent, json!({ "verification": row })),
        RecordBody::Said(row) => (EventKind::Agent, json!({ "said": row })),
        RecordBody::Rule(row) => (EventKind::Agent, json!({ "rule": row })),
    };
    if let Some(map) = body.as_object_mut() {
        map.remove("sealed");
        map.insert("id".into(), record.id.clone().into());
    }
    NewEvent { kind, body }
}

/// Returns the ids of people's messages among messages to an agent.
fn message_ids(messages: &[MessageToAgent]) -> Vec<String> {
    let id = |message: &MessageToAgent| match message {
        MessageToAgent::UserMessage { id, .. } => Some(id.clone()),
        _ => None,
    };
    messages.iter().filter_map(id).collect()
}

/// Returns the ids of people's messages that these effects hand to an agent.
fn handed_over(effects: &[Effect]) -> Vec<String> {
    let sent_ids = |effect: &Effect| match effect {
        Effect::SendMessage { messages: say, .. } => message_ids(say),
        _ => Vec::new(),
    };
    effects.iter().flat_map(sent_ids).collect()
}

impl JobDispatcher {
    /// Builds the store change for a transition of a job.
    pub(super) fn build_store_change(
        &self,
        before: &JobRow,
        next: Job,
        mut about: JobAttributes,
        effects: Vec<Effect>,
        at: Timestamp,
    ) -> JobChange {
        let id = &before.id;
        let mut change = JobChange::keep_state(id, before.version);
        let handed_over = handed_over(&effects);
        for mut effect in effects {
            match &mut effect {
                Effect::Log(moved) => {
                    change.events.push(transition_event(id, moved, at));
                    about.moves += 1;
                    continue;
                }
                Effect::Timer { at: due, kind } => {
                    change.timers.push(TimerChange::Set {
                        key: timer_key(kind),
                        due: *due,
                        body: json!(kind),
                    });
                    continue;
                }
                // The list of pending jobs is the queue; the code that decides the request creates
                // new jobs.
                Effect::Enqueue
                | Effect::RemoveFromQueue
                | Effect::CreateRetry { .. }
                | Effect::CreateFork { .. } => continue,
                Effect::Spawn { attempt, .. } => {
                    let counts_on = about.session.is_some() && self.is_greeted(before);
                    reset_attempt(&mut about, *attempt, counts_on, at);
                    // The greeting of such a client takes the first message numbers.
                    about.input_offset = match self.is_greeted(before) {
                        true => GREETINGS,
                        false => 0,
                    };
                }
                Effect::SendMessage {
                    attempt,
                    number,
                    messages: say,
                } => {
                    about.inputs += 1;
                    *number = about.inputs;
                    about.prompts_open += u32::from(self.is_prompt(*attempt, *number, say));
                }
                Effect::Interrupt { number, .. } => {
                    if takes_interrupts(self.agent_spec(before)) {
                        about.inputs += 1;
                        *number = about.inputs;
                    }
                }
                Effect::Signal { .. }
                | Effect::Snapshot(_)
                | Effect::Verify { .. }
                | Effect::Notify(_)
                | Effect::ZipArtifacts
                | Effect::SaveErrorLog
                | Effect::Remove => {}
            }
            change.effects.push(stored_effect(&effect, at));
        }
        self.update_records(before, &next, &handed_over, &mut change, at);
        if next.step != before.job.step {
            note_step(&mut about, &next, at);
        }
        if next.phase != before.job.phase && before.job.phase > 0 {
            about.phase_ref = self.saved_code(&about);
        }
        let stopped = is_agent_stopped(&next.state);
        about.waits_since = match (stopped, about.waits_since) {
            (false, _) => None,
            (true, since) => since.or(Some(at.0)),
        };
        if matches!(next.state, JobState::Completed { .. } | JobState::Failed(_)) {
            let keys = self.timer_keys(id).into_iter();
            change.timers = keys.map(|key| TimerChange::Clear { key }).collect();
        }
        about.updated_at = at.0;
        change.next = NextJobState::Is(next.into(), about.into());
        change
    }

    /// True if the client of a job is greeted before its first message.
    fn is_greeted(&self, row: &JobRow) -> bool {
        let agent = self.agent_spec(row);
        agent.is_some_and(|it| it.protocol == AgentProtocol::Acp)
    }

    /// True if an input starts a turn of the agent. The first one does; a reply to a request of the
    /// client does not.
    fn is_prompt(&self, attempt: u32, number: u64, say: &[MessageToAgent]) -> bool {
        let prompts = |it: &MessageToAgent| match it {
            MessageToAgent::Permitted { .. } | MessageToAgent::Denied { .. } => false,
            MessageToAgent::QuestionAnswer { question, .. } => {
                self.open_client_question(question, attempt).is_none()
            }
            _ => true,
        };
        number == 1 || say.iter().any(prompts)
    }

    /// Returns the client's request behind a question if its attempt still waits for the reply.
    pub(super) fn open_client_question(
        &self,
        question: &str,
        attempt: u32,
    ) -> Option<ClientQuestion> {
        let RecordBody::Question(row) = self.record(question)?.body else {
            return None;
        };
        let request = row.request.filter(|_| row.attempt == attempt)?;
        Some(ClientQuestion {
            question: question.into(),
            request,
            text: row.question,
        })
    }

    /// Returns the ref of the code in the latest checkpoint.
    pub(super) fn saved_code(&self, about: &JobAttributes) -> Option<String> {
        let (id, _) = about.checkpoint.as_ref()?;
        match self.record(id)?.body {
            RecordBody::Checkpoint(saved) => saved.code_ref,
            _ => None,
        }
    }

    /// Updates the records of reviews, questions, dependencies, permissions and messages that
    /// changed.
    fn update_records(
        &self,
        before: &JobRow,
        next: &Job,
        handed_over: &[String],
        change: &mut JobChange,
        at: Timestamp,
    ) {
        let old = &before.job;
        let mut found = Vec::new();
        for review in next.reviews.iter().filter(|it| !old.reviews.contains(it)) {
            found.push(self.review_record(before, review));
        }
        let questions = next.questions.iter();
        for question in questions.filter(|it| !old.questions.contains(it)) {
            found.push(self.question_record(before, question, next, at));
        }
        let needed = next.dependencies.iter();
        for needed in needed.filter(|it| !old.dependencies.contains(it)) {
            found.push(self.dependency_record(before, needed, next, at));
        }
        for record in found {
            change.events.push(record_event(&record));
            change.records.push(record);
        }
        // A permission that is no longer pending was withdrawn, or its attempt is gone.
        for gone in
            requested_permissions(old).filter(|id| !requested_permissions(next).any(|it| it == *id))
        {
            if let Some(record) =
                self.settled_permission(gone, PermissionStatus::Withdrawn, None, at)
            {
                change.events.push(record_event(&record));
                change.records.push(record);
            }
        }
        let (were, are) = (
            message_ids(&old.queued_messages),
            message_ids(&next.queued_messages),
        );
        let gone = were.iter().filter(|id| !are.contains(id));
        for id in gone.filter(|id| !handed_over.contains(id)) {
            // A person withdrew it, or the task ended first.
            self.settle_message(id, MessageStatus::Withdrawn, change, at);
        }
    }

    /// Settles the record of a message that was delivered or never will be.
    pub(super) fn settle_message(
        &self,
        id: &str,
        status: MessageStatus,
        change: &mut JobChange,
        at: Timestamp,
    ) {
        let Some(mut record) = self.record(id) else {
            return;
        };
        if let RecordBody::Said(MessageRow {
            status: was,
            settled_at,
            ..
        }) = &mut record.body
        {
            *was = status;
            *settled_at = Some(at.0);
        }
        change.events.push(record_event(&record));
        change.records.push(record);
    }

    /// Adds a record to a change, with the event that announces it.
    pub(super) fn add_record(change: &mut JobChange, record: JobRecord) {
        change.events.push(record_event(&record));
        change.records.retain(|it| it.id != record.id);
        change.records.push(record);
    }

    pub(super) fn settled_permission(
        &self,
        id: &str,
        status: PermissionStatus,
        reason: Option<String>,
        at: Timestamp,
    ) -> Option<JobRecord> {
        let mut record = self.record(id)?;
        let RecordBody::Permission(row) = &mut record.body else {
            return None;
        };
        if row.status != PermissionStatus::Pending {
            return None;
        }
        row.status = status;
        row.reason = reason;
        row.settled_at = Some(at.0);
        record.open = false;
        Some(record)
    }

    fn review_record(&self, before: &JobRow, review: &PhaseReview) -> JobRecord {
        let mut row = match self.record(&review.id).map(|it| it.body) {
            Some(RecordBody::Review(row)) => row,
            _ => ReviewRow::default(),
        };
        row.phase = review.phase;
        row.status = review.status;
        row.comment = review.comment.clone();
        row.reviewed_at = review.reviewed_at.map(|at| at.0);
        JobRecord {
            id: review.id.clone(),
            job: before.id.clone(),
            open: review.is_open(),
            at: review.created_at,
            body: RecordBody::Review(row),
        }
    }

    fn question_record(
        &self,
        before: &JobRow,
        question: &AgentQuestion,
        next: &Job,
        at: Timestamp,
    ) -> JobRecord {
        let known = self.record(&question.id);
        let asked_at = known.as_ref().map_or(at, |it| it.at);
        let mut row = match known.map(|it| it.body) {
            Some(RecordBody::Question(row)) => row,
            _ => QuestionRow {
                expires_at: Some(at.0 + next.limits.question_timeout_s),
                ..QuestionRow::default()
            },
        };
        row.question = question.text.clone();
        row.options = question.options.clone();
        row.default = question.default.clone();
        row.required = question.required;
        row.status = question.status.kind();
        if let QuestionStatus::Answered(answer) = &question.status {
            row.answer = Some(answer.clone());
        }
        if !question.is_open() {
            row.settled_at = Some(at.0);
        }
        JobRecord {
            id: question.id.clone(),
            job: before.id.clone(),
            open: question.is_open(),
            at: asked_at,
            body: RecordBody::Question(row),
        }
    }

    fn dependency_record(
        &self,
        before: &JobRow,
        needed: &AgentDependency,
        next: &Job,
        at: Timestamp,
    ) -> JobRecord {
        let known = self.record(&needed.id);
        let asked_at = known.as_ref().map_or(at, |it| it.at);
        let mut row = match known.map(|it| it.body) {
            Some(RecordBody::Dependency(row)) => row,
            _ => DependencyRow {
                expires_at: Some(at.0 + next.limits.dependency_timeout_s),
                ..DependencyRow::default()
            },
        };
        row.kind = needed.kind;
        row.name = needed.name.clone();
        row.description = needed.description.clone();
        row.default = needed.default.clone();
        row.required = needed.required;
        row.status = needed.status;
        if !needed.is_open() {
            row.settled_at = Some(at.0);
        }
        JobRecord {
            id: needed.id.clone(),
            job: before.id.clone(),
            open: needed.is_open(),
            at: asked_at,
            body: RecordBody::Dependency(row),
        }
    }
}

/// Stores when a step began. Later steps were of an earlier round of the phase and are dropped.
fn note_step(about: &mut JobAttributes, next: &Job, at: Timestamp) {
    let Some(step) = &next.step else {
        return;
    };
    let (phase, number) = (next.phase, step.number);
    about
        .steps
        .retain(|it| (it.phase, it.number) < (phase, number));
    if about.steps.len() < STEPS_MAX {
        about.steps.push(BegunStepRow {
            phase,
            number,
            name: step.name.chars().take(STEP_NAME_MAX).collect(),
            at: at.0,
        });
    }
}

/// Resets what belongs to an attempt. The cost stays if the client counts over its whole session.
fn reset_attempt(about: &mut JobAttributes, attempt: u32, counts_on: bool, at: Timestamp) {
    about.place = OutputPosition {
        attempt,
        ..OutputPosition::default()
    };
    about.nonce = random_token();
    about.inputs = 0;
    about.prompts_open = 0;
    about.limited_until = None;
    about.turn_over = false;
    if !counts_on {
        about.cost_before_usd += about.cost_usd;
        about.cost_usd = 0.0;
    }
    about.attempt_at = Some(at.0);
    about.output_at = Some(at.0);
    about.starts.retain(|start| *start > at.0 - HOUR_S);
    about.starts.push(at.0);
}

/// True if the agent of a job in this state has a process that is stopped.
pub(super) fn is_agent_stopped(life: &JobState) -> bool {
    match life {
        JobState::Paused(_)
        | JobState::Asking
        | JobState::Needing
        | JobState::Permitting
        | JobState::Verifying { .. }
        | JobState::Reviewing => true,
        JobState::Draft
        | JobState::Pending
        | JobState::Running
        | JobState::Completed { .. }
        | JobState::Failed(_) => false,
    }
}
