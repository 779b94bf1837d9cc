//! Delivery of messages to attempts.
//!
//! A message is an effect that is done when a process has read it. If an attempt ends without
//! reading it, it stays an effect and becomes part of the next attempt's first message, in the
//! order of the decisions.

use super::attempt_id;
use super::commit_queue::AfterCommit;
use super::conversation_history;
use super::dispatcher::JobDispatcher;
use super::effects::EffectProgress;
use bowline_formats::agents::AgentProtocol;
use bowline_machines::job::{Job, JobState, MessageStatus, MessageToAgent, ProcessState};
use bowline_store::{EffectResult, JobChange, JobRow, SettledEffect, StoreStep};

/// A message for an attempt that no process is known to have read.
#[derive(Debug, Clone)]
pub(super) struct UnreadMessage {
    pub(super) effect: u64,
    /// Number of the message in its attempt; 0 for an effect without a message that ends with the
    /// attempt.
    pub(super) number: u64,
    pub(super) say: Vec<MessageToAgent>,
}

impl UnreadMessage {
    fn settled_effect(&self) -> SettledEffect {
        SettledEffect {
            effect: self.effect,
            end: EffectResult::Done,
        }
    }
}

/// True if the job is completed or failed.
pub(super) fn is_over(job: &Job) -> bool {
    matches!(job.state, JobState::Completed { .. } | JobState::Failed(_))
}

impl JobDispatcher {
    /// Sends a message to its attempt, or keeps it for the next one.
    pub(super) fn deliver_message(
        &mut self,
        row: &JobRow,
        attempt: u32,
        message: UnreadMessage,
    ) -> EffectProgress {
        if is_over(&row.job) {
            self.withdraw_unread(row, vec![message]);
            return EffectProgress::Kept;
        }
        let id = attempt_id(&row.id, attempt);
        // Once started, the next attempt has in its first message what this one has not read.
        let present = self
            .config
            .attempt_folder(&attempt_id(&row.id, row.job.attempt))
            .exists();
        let replaced = attempt < row.job.attempt && present;
        if replaced || !self.attach_if_started(row, attempt) {
            self.keep_unread(row, vec![message]);
            return EffectProgress::Kept;
        }
        let (number, mut handed) = (message.number, Vec::new());
        let listens = row.job.attempt == attempt && row.job.process == ProcessState::Live;
        if listens && number == 1 {
            let say = self.first_messages(row, &message.say);
            self.send_messages(row, &id, number, &say);
            // They are read with it, or move to the next attempt with it.
            let before = self.unread.remove(&row.id).unwrap_or_default();
            handed.extend(before.into_iter().map(|it| UnreadMessage { number, ..it }));
        } else if listens {
            self.send_messages(row, &id, number, &message.say);
        }
        handed.push(message);
        self.note_handed_over(&id, handed);
        EffectProgress::Kept
    }

    /// Notes messages as handed to an attempt.
    pub(super) fn note_handed_over(&mut self, id: &str, handed: Vec<UnreadMessage>) {
        let Some(live) = self.live.get_mut(id) else {
            return;
        };
        live.handed_over.extend(handed);
        let read = live.read;
        self.mark_read(id, read);
    }

    /// Returns the first messages of a new process: those that earlier ones have not read, then its
    /// own.
    pub(super) fn first_messages(
        &self,
        row: &JobRow,
        own: &[MessageToAgent],
    ) -> Vec<MessageToAgent> {
        let before = self.unread.get(&row.id).into_iter().flatten();
        let before = before.flat_map(|it| it.say.clone());
        let mut say: Vec<MessageToAgent> = before.chain(own.iter().cloned()).collect();
        // Only the start of the present phase is kept.
        let begins = |it: &MessageToAgent| matches!(it, MessageToAgent::PhaseStart { .. });
        let present = MessageToAgent::PhaseStart {
            phase: row.job.phase,
        };
        let last = say.iter().rposition(|it| *it == present);
        let mut place = 0..;
        say.retain(|it| {
            let place = place.next();
            !begins(it) || place == last
        });
        super::attempt_lifecycle::prepend_phase_start(row, &mut say);
        say
    }

    /// Returns the number of a message as the shim counts. `None` for attempts of a client that was
    /// greeted before messages were numbered behind the greeting.
    pub(super) fn input_number(&self, row: &JobRow, number: u64) -> Option<u64> {
        let greeted = self.agent_spec(row).map(|it| it.protocol) == Some(AgentProtocol::Acp);
        match (greeted, row.about.input_offset) {
            (true, 0) => None,
            (_, offset) => Some(number + offset),
        }
    }

    /// Handles an attempt that has read its input up to a number of its shim.
    pub(super) fn on_input_read(&mut self, id: &str, upto: u64) {
        let Some(live) = self.live.get(id) else {
            return;
        };
        let Ok(row) = self.row(&live.job) else { return };
        let unnumbered = self.input_number(&row, 0).is_none();
        let offset = if unnumbered {
            1
        } else {
            row.about.input_offset
        };
        self.mark_read(id, upto.saturating_sub(offset));
    }

    fn mark_read(&mut self, id: &str, upto: u64) {
        let Some(live) = self.live.get_mut(id) else {
            return;
        };
        live.read = live.read.max(upto);
        let read = live
            .handed_over
            .extract_if(.., |it| it.number > 0 && it.number <= upto);
        let read: Vec<UnreadMessage> = read.collect();
        if read.is_empty() {
            return;
        }
        let job = live.job.clone();
        let at = self.now();
        let mut advance = StoreStep::empty_at(at);
        advance
            .settled
            .extend(read.iter().map(UnreadMessage::settled_effect));
        if let Ok(mut row) = self.row(&job) {
            let words: Vec<&MessageToAgent> = read.iter().flat_map(|it| &it.say).collect();
            for message in &words {
                if let Some(entry) = conversation_history::entry_id(&row.job, message) {
                    conversation_history::note_entry(row.attributes_mut(), entry);
                }
            }
            let mut change = JobChange::replace_state(&job, row.version, row.job, row.about);
            for message in words {
                if let MessageToAgent::UserMessage { id, .. } = message {
                    self.settle_message(id, MessageStatus::Delivered, &mut change, at);
                }
            }
            advance.changes.push(change);
        }
        self.stage_step(advance, AfterCommit::Nothing);
    }

    /// Keeps the messages that an attempt has not read for the next one. Replies to its client are
    /// dropped with it.
    pub(super) fn keep_unread(&mut self, row: &JobRow, unread: Vec<UnreadMessage>) {
        let mut advance = StoreStep::empty_at(self.now());
        for mut it in unread {
            let dies = |it: &MessageToAgent| {
                let settled = matches!(
                    it,
                    MessageToAgent::Permitted { .. } | MessageToAgent::Denied { .. }
                );
                let old =
                    matches!(it, MessageToAgent::PhaseStart { phase } if *phase != row.job.phase);
                settled || old
            };
            it.say.retain(|message| !dies(message));
            match it.say.is_empty() {
                true => advance.settled.push(it.settled_effect()),
                false => self.unread.entry(row.id.clone()).or_default().push(it),
            }
        }
        if !advance.settled.is_empty() {
            self.stage_step(advance, AfterCommit::Nothing);
        }
    }

    /// Withdraws messages that no process will read because their task has ended.
    pub(super) fn withdraw_unread(&mut self, row: &JobRow, unread: Vec<UnreadMessage>) {
        let mut advance = StoreStep::empty_at(self.now());
        let mut change = JobChange::keep_state(&row.id, row.version);
        self.settle_withdrawn(&unread, &mut change, &mut advance.settled);
        if !change.records.is_empty() {
            advance.changes.push(change);
        }
        self.stage_step(advance, AfterCommit::Nothing);
    }

    /// Settles messages that no process will read, and marks those of people as withdrawn.
    pub(super) fn settle_withdrawn(
        &self,
        unread: &[UnreadMessage],
        change: &mut JobChange,
        settled: &mut Vec<SettledEffect>,
    ) {
        settled.extend(unread.iter().map(UnreadMessage::settled_effect));
        for message in unread.iter().flat_map(|it| &it.say) {
            if let MessageToAgent::UserMessage { id, .. } = message {
                self.settle_message(id, MessageStatus::Withdrawn, change, self.now());
            }
        }
    }
}
