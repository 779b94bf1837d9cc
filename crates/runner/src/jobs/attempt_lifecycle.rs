//! Lifecycle of attempts: start, recovery after a restart, input and verification.

use super::dispatcher::{AttemptProgress, JobDispatcher, ProcessUsage};
use super::effects::awaits_verification;
use super::prompt::MessageEncoder;
use super::store_change::is_agent_stopped;
use super::work_types::Verifier;
use super::{AgentSpec, attempt_id, prompt, verifier_id, workspace_metadata};
use crate::core::attempts::{AttemptEventKind, AttemptResume, AttemptStart, OutputProtocol};
use crate::core::clients::fill_template;
use crate::core::output_parser::FirstMessage;
use bowline_formats::agents::launch::{self, ClientSession};
use bowline_formats::agents::{
    AgentEventKind, AgentInputWriter, AgentProtocol, ResumePoint, ToAgent,
};
use bowline_formats::markers::CriterionStatus;
use bowline_formats::markers::check::check_env_name;
use bowline_machines::job::{Command, Effect, JobState, MessageToAgent, ProcessState};
use bowline_store::{
    CriterionRow, EffectResult, JobRow, RecordBody, SettledEffect, StoreError, StoreStep,
    random_token,
};
use bowline_supervisor::{AttemptSpec, WantedState};
use serde::Deserialize as _;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

impl JobDispatcher {
    /// Compares the store with the machine after a start: live agents are attached to at the offset
    /// that was processed, and jobs whose agent is gone are recovered. No job stays running without
    /// an agent.
    pub(super) fn reconcile(&mut self) {
        let rows: Vec<JobRow> = self.rows.values().cloned().collect();
        for row in rows
            .iter()
            .filter(|row| row.job.process == ProcessState::Live)
        {
            let attempt = row.job.attempt;
            let id = attempt_id(&row.id, attempt);
            let spawns = |it: &bowline_store::EffectRow| matches!(Effect::deserialize(&it.body), Ok(Effect::Spawn { attempt: of, .. }) if of == attempt);
            let intended = self
                .effects
                .get(&row.id)
                .is_some_and(|it| it.iter().any(spawns));
            if self.config.attempt_folder(&id).exists() {
                self.attach_if_started(row, attempt);
                let want = match &row.job.state {
                    JobState::Running => WantedState::Running,
                    life if is_agent_stopped(life) => WantedState::Paused,
                    _ => WantedState::Ended,
                };
                self.attempts.request_level(&id, want);
            } else if !intended && let Ok(change) = self.step(row, Command::Recover { attempt }) {
                self.stage_change(change);
            }
        }
    }

    /// Attaches to an attempt if its folder exists. True if the driver of agents knows it.
    pub(super) fn attach_if_started(&mut self, row: &JobRow, attempt: u32) -> bool {
        let id = attempt_id(&row.id, attempt);
        if self.live.contains_key(&id) {
            return true;
        }
        let folder = self.config.attempt_folder(&id);
        if !folder.exists() {
            return false;
        }
        let present = row.about.place.attempt == attempt;
        let resume = match present {
            true => row.about.place.resume,
            false => ResumePoint::default(),
        };
        if let Ok(token) = std::fs::read_to_string(self.config.token_file(&id)) {
            self.register_token(token, row, attempt);
        }
        let mut found = new_progress(row, attempt, false);
        if present && resume == ResumePoint::default() {
            found.first_message = self.first_message(row);
        }
        self.live.insert(id.clone(), found);
        let known = AttemptResume {
            folder,
            fence: u64::from(attempt),
            output_protocol: self.output_protocol(row),
            resume,
            session: row.about.session.clone(),
        };
        self.attempts.attach_agent(&id, known);
        // A failed store is noted, and the next dispatcher does it again.
        let _ = self.hide_provided_values(row, &id);
        true
    }

    /// Masks the values that people gave in the agent's output, before the agent can know them.
    fn hide_provided_values(&self, row: &JobRow, id: &str) -> Result<(), StoreError> {
        let values = self.provided_values(&row.id)?;
        if !values.is_empty() {
            let values = values.into_iter().map(|(_, value)| value).collect();
            self.attempts.hide_values(id, values);
        }
        Ok(())
    }

    /// Returns the values that were given to a job, by name.
    pub(super) fn provided_values(&self, job: &str) -> Result<Vec<(String, String)>, StoreError> {
        prompt::provided_values(&self.store, &self.key, job)
    }

    pub(super) fn agent_spec(&self, row: &JobRow) -> Option<&AgentSpec> {
        let name = row.about.agent.as_ref();
        self.config
            .agents
            .get(name.unwrap_or(&self.config.default_agent))
    }

    fn first_message(&self, row: &JobRow) -> FirstMessage {
        let protocol = self.agent_spec(row).map(|agent| agent.protocol);
        let now_ms = self.now().0.saturating_mul(1_000);
        FirstMessage::start_wait_for(protocol.unwrap_or(AgentProtocol::Markers), now_ms)
    }

    fn output_protocol(&self, row: &JobRow) -> OutputProtocol {
        let agent = self.agent_spec(row);
        OutputProtocol {
            protocol: agent.map_or(AgentProtocol::Markers, |agent| agent.protocol),
            nonce: Some(row.about.nonce.clone()),
        }
    }

    fn register_token(&self, token: String, row: &JobRow, attempt: u32) {
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        // Only the present attempt may act for its job.
        tokens.retain(|_, (job, _)| *job != row.id);
        tokens.insert(token, (row.id.clone(), attempt));
    }

    /// Revokes the token of an attempt that is over.
    pub(super) fn revoke_token(&self, job: &str, attempt: u32) {
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        tokens.retain(|_, (of, number)| of != job || *number != attempt);
        let _ = std::fs::remove_file(self.config.token_file(&attempt_id(job, attempt)));
    }

    /// Creates a token for this attempt alone, in a file that only its user can read.
    fn new_token(&self, row: &JobRow, attempt: u32) -> std::io::Result<PathBuf> {
        let file = self.config.token_file(&attempt_id(&row.id, attempt));
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let token = format!("{}{}", random_token(), random_token());
        let mut new = std::fs::OpenOptions::new();
        let new = new.write(true).create(true).truncate(true).mode(0o600);
        new.open(&file)?.write_all(token.as_bytes())?;
        self.register_token(token, row, attempt);
        Ok(file)
    }

    /// Starts the process of the present attempt, in a folder that is prepared.
    pub(super) fn start_attempt(&mut self, row: &JobRow) -> Result<(), String> {
        let id = &attempt_id(&row.id, row.job.attempt);
        let io = |error: std::io::Error| error.to_string();
        let agent = self.agent_spec(row).ok_or("no such agent")?.clone();
        let workspace = self.config.workspace(row);
        let say = self.first_messages(row, &self.own_first_messages(row));
        let phase = row.job.phase;
        let text =
            prompt::phase_prompt(&self.config, row, phase) + &self.conversation_so_far(row, &say);
        let opening = self.opening_prompt(row, &say, &text);
        let opening = opening.map_err(|error| error.to_string())?;
        let file = prompt::prompt_file(&self.config.record_folder(row), phase);
        // If the command names the file, it is the only way to give the process earlier unread
        // messages.
        let named = agent.command.iter().any(|it| it.contains("{prompt_file}"));
        prompt::write_prompt(&file, if named { &opening } else { &text }).map_err(io)?;
        workspace_metadata::describe(&self.config, row, self.now()).map_err(io)?;
        let token = self.new_token(row, row.job.attempt).map_err(io)?;
        let mut environment = self.agent_environment(row, &agent, &workspace, &file);
        environment.insert(
            "BOWLINE_AGENT_TOKEN_FILE".into(),
            token.to_string_lossy().into_owned(),
        );
        environment.insert("BOWLINE_NONCE".into(), row.about.nonce.clone());
        if row.job.attempt > 1 {
            environment.insert("BOWLINE_RESUME".into(), "1".into());
        }
        // A value whose name would change the agent itself is sent in a message only.
        let values = self
            .provided_values(&row.id)
            .map_err(|error| error.to_string())?;
        let named = values
            .iter()
            .filter(|(name, _)| check_env_name(name).is_ok());
        environment.extend(named.cloned());
        let command = agent_command(&agent, row, &opening, &file, &workspace);
        let mut spec = AttemptSpec::new(id, command, workspace);
        spec.name = row.job.title.clone();
        spec.fence = u64::from(row.job.attempt);
        let mut here = new_progress(row, row.job.attempt, false);
        here.begun_here = true;
        here.first_message = self.first_message(row);
        self.live.insert(id.to_owned(), here);
        let begin = AttemptStart {
            folder: self.config.attempt_folder(id),
            spec,
            environment,
            output_protocol: self.output_protocol(row),
            first_message: None,
            session: row.about.session.clone(),
            close_input: agent.protocol == AgentProtocol::CodexJson,
        };
        let values = values.into_iter().map(|(_, value)| value).collect();
        self.attempts.start_agent(begin, values);
        Ok(())
    }

    /// Returns the messages that wait to be the first input of the present attempt.
    fn own_first_messages(&self, row: &JobRow) -> Vec<MessageToAgent> {
        let waiting = self.effects.get(&row.id).into_iter().flatten();
        waiting
            .filter_map(|effect| match Effect::deserialize(&effect.body) {
                Ok(Effect::SendMessage {
                    attempt,
                    number: 1,
                    messages: say,
                }) if attempt == row.job.attempt => Some(say),
                _ => None,
            })
            .flatten()
            .collect()
    }

    /// Builds the prompt for a client that takes it on its command line.
    fn opening_prompt(
        &self,
        row: &JobRow,
        say: &[MessageToAgent],
        phase: &str,
    ) -> Result<String, StoreError> {
        let mut text = String::new();
        for message in say {
            let words = match message {
                MessageToAgent::PhaseStart { .. } => phase.to_owned(),
                other => {
                    let alone = std::slice::from_ref(other);
                    self.message_encoder(row, alone, true)?
                        .render_messages(alone)
                }
            };
            text.push_str(words.trim_end());
            text.push('\n');
        }
        Ok(text)
    }

    fn agent_environment(
        &self,
        row: &JobRow,
        agent: &AgentSpec,
        workspace: &Path,
        file: &Path,
    ) -> BTreeMap<String, String> {
        let mut environment = self.config.environment.clone();
        environment.extend(agent.environment.clone());
        let ours = [
            ("BOWLINE_TASK_ID", row.id.clone()),
            ("BOWLINE_PHASE", row.job.phase.to_string()),
            (
                "BOWLINE_WORKSPACE",
                workspace.to_string_lossy().into_owned(),
            ),
            ("BOWLINE_PROMPT_FILE", file.to_string_lossy().into_owned()),
        ];
        environment.extend(ours.map(|(name, value)| (name.to_owned(), value)));
        if let Some(url) = &self.config.url {
            environment.insert("BOWLINE_URL".into(), url.clone());
        }
        environment
    }

    /// Sends messages to an attempt under a number: sent again, they are delivered once.
    pub(super) fn send_messages(
        &mut self,
        row: &JobRow,
        id: &str,
        number: u64,
        say: &[MessageToAgent],
    ) {
        let Some(agent) = self.agent_spec(row).cloned() else {
            return;
        };
        let (first, seq) = (number == 1, self.input_number(row, number));
        let deaf = agent.protocol == AgentProtocol::CodexJson;
        if first && (deaf || prompt::is_prompt_in_command(&agent)) {
            // The command line has the prompt; its number is used up all the same.
            let nothing = crate::core::attempts::raw_message(String::new());
            self.attempts.send_input(id, seq, deaf, nothing);
            return;
        }
        let say = say.to_vec();
        // A value that cannot be masked is not sent; the failed store is noted, and the next
        // dispatcher sends it.
        let (Ok(spelling), Ok(())) = (
            self.message_encoder(row, &say, first),
            self.hide_provided_values(row, id),
        ) else {
            return;
        };
        let message = Box::new(move |writer: &mut AgentInputWriter| spelling.encode(writer, &say));
        self.attempts.send_input(id, seq, false, message);
    }

    /// Collects what is needed to encode messages. A new process (`first`) has values in its
    /// environment and no conversation.
    fn message_encoder(
        &self,
        row: &JobRow,
        say: &[MessageToAgent],
        first: bool,
    ) -> Result<MessageEncoder, StoreError> {
        let records = self.config.record_folder(row);
        let values = match first {
            true => None,
            false => Some(self.provided_values(&row.id)?),
        };
        let mut spelling = MessageEncoder {
            prompts: Vec::new(),
            values,
            permissions: Vec::new(),
            asked: Vec::new(),
        };
        for message in say {
            match message {
                MessageToAgent::PhaseStart { phase } => {
                    let file = prompt::prompt_file(&records, *phase);
                    let mut text = prompt::phase_prompt(&self.config, row, *phase);
                    if first {
                        text += &self.conversation_so_far(row, say);
                    }
                    // The message contains the prompt too; the file is for agents that prefer to
                    // read it.
                    let _ = prompt::write_prompt(&file, &text);
                    let type_name = row.about.type_name.as_deref().unwrap_or("custom");
                    let spec = self.config.types.get(type_name);
                    let name = spec.and_then(|spec| spec.phase(*phase));
                    let name = name.map_or_else(|| format!("Phase {phase}"), |it| it.name.clone());
                    let file = file.to_string_lossy().into_owned();
                    spelling.prompts.push((*phase, name, file, text));
                }
                MessageToAgent::Permitted { permission }
                | MessageToAgent::Denied { permission, .. } => {
                    if let Some(RecordBody::Permission(it)) =
                        self.record(permission).map(|it| it.body)
                    {
                        let known = (permission.clone(), it.request_id, it.request_body);
                        spelling.permissions.push(known);
                    }
                }
                MessageToAgent::QuestionAnswer { question, .. } => {
                    spelling
                        .asked
                        .extend(self.open_client_question(question, row.job.attempt));
                }
                _ => {}
            }
        }
        Ok(spelling)
    }

    /// Interrupts an attempt: by a numbered message if its client takes one, else by a signal.
    pub(super) fn interrupt_attempt(&mut self, row: &JobRow, id: &str, number: u64) {
        if !takes_interrupts(self.agent_spec(row)) {
            self.attempts.interrupt_agent(id);
            return;
        }
        let seq = self.input_number(row, number).filter(|_| number > 0);
        let message =
            Box::new(|writer: &mut AgentInputWriter| writer.encode_message(ToAgent::Interrupt));
        self.attempts.send_input(id, seq, false, message);
    }

    /// Starts the agent that verifies a finished phase. False if the type has none.
    pub(super) fn start_verifier(
        &mut self,
        effect: u64,
        row: &JobRow,
        verification: u32,
        files: &[String],
    ) -> bool {
        let spec = row.about.type_name.as_ref();
        let spec = spec.and_then(|name| self.config.types.get(name));
        let verifier = spec.and_then(|spec| spec.phase(row.job.phase));
        let agent = match verifier.map(|phase| &phase.verifier) {
            None | Some(Verifier::Nobody) => return false,
            Some(Verifier::Own) => self.agent_spec(row).filter(|agent| agent.verifies),
            Some(Verifier::Named(name)) => self.config.agents.get(name),
        };
        let Some(agent) = agent.cloned() else {
            return false;
        };
        let id = verifier_id(&row.id, verification);
        let workspace = self.config.workspace(row);
        let text = prompt::verification_prompt(&self.config, row, row.job.phase, files);
        let file = self.config.record_folder(row);
        let file = file
            .join(".metadata")
            .join(format!("verify-{verification}.md"));
        let _ = prompt::write_prompt(&file, &text);
        self.verifying.insert(row.id.clone(), effect);
        let mut looking = new_progress(row, verification, true);
        looking.since = self.now().0;
        looking.protocol = agent.protocol;
        looking.files = files.to_vec();
        self.live.insert(id.clone(), looking);
        let output_protocol = OutputProtocol {
            protocol: agent.protocol,
            nonce: None,
        };
        let folder = self.config.attempt_folder(&id);
        if folder.exists() {
            // It was started by an earlier process of ours: all its output is read again.
            let known = AttemptResume {
                folder,
                fence: 0,
                output_protocol,
                resume: ResumePoint::default(),
                session: None,
            };
            self.attempts.attach_agent(&id, known);
            return true;
        }
        let mut environment = self.agent_environment(row, &agent, &workspace, &file);
        environment.insert("BOWLINE_VERIFY".into(), "1".into());
        let mut fresh = row.clone();
        fresh.attributes_mut().session = None;
        let spec = AttemptSpec::new(
            &id,
            agent_command(&agent, &fresh, &text, &file, &workspace),
            workspace,
        );
        let sends_prompt =
            !prompt::is_prompt_in_command(&agent) && agent.protocol != AgentProtocol::CodexJson;
        let first = sends_prompt.then(|| crate::core::attempts::prompt_message(text));
        let begin = AttemptStart {
            folder,
            spec,
            environment,
            output_protocol,
            first_message: first,
            session: None,
            close_input: agent.protocol == AgentProtocol::CodexJson,
        };
        self.attempts.start_agent(begin, Vec::new());
        true
    }

    /// Ends verifying agents that take too long or whose verification no job waits for.
    pub(super) fn end_verifiers(&mut self) {
        let now = self.now().0;
        let limit = i64::try_from(self.config.verify_s).unwrap_or(i64::MAX);
        for job in self.verifying.keys() {
            let Ok(row) = self.row(job) else { continue };
            let id = verifier_id(job, row.job.verifications);
            let of = self
                .live
                .iter()
                .filter(|(_, it)| it.verifies && it.job == *job);
            for (known, live) in of {
                let needed = *known == id && awaits_verification(&row, live.number);
                if !needed || now.saturating_sub(live.since) > limit {
                    self.attempts.request_level(known, WantedState::Ended);
                }
            }
        }
    }

    /// Handles events of a verifying agent: its result, or an end without one, which counts as
    /// failed. Either counts only once its process is over, so that none is left behind.
    pub(super) fn on_verifier_event(
        &mut self,
        id: &str,
        job: &str,
        ticket: u32,
        what: AttemptEventKind,
    ) {
        let (used, criteria, files) = match what {
            AttemptEventKind::Output {
                offset,
                bytes,
                events,
                resume,
            } => {
                self.attempts
                    .acknowledge_output(id, offset + bytes.len() as u64, resume);
                let Some(live) = self.live.get_mut(id) else {
                    return;
                };
                let mut ended = false;
                for event in events {
                    match event.what {
                        AgentEventKind::Verified { criteria } => live.found = Some(criteria),
                        AgentEventKind::Usage(usage) => live.used.add_usage(usage),
                        AgentEventKind::TurnEnded(_) => ended = true,
                        _ => {}
                    }
                }
                // A client with turns reports the cost only at the end of one.
                ended |= live.protocol == AgentProtocol::Markers;
                if ended && live.found.is_some() {
                    self.attempts.request_level(id, WantedState::Ended);
                }
                return;
            }
            AttemptEventKind::Exited { .. }
            | AttemptEventKind::Lost(_)
            | AttemptEventKind::NeverStarted { .. } => match self.live.remove(id) {
                Some(live) => (live.used, live.found, live.files),
                None => return,
            },
            _ => return,
        };
        let Some(effect) = self.verifying.remove(job) else {
            return;
        };
        let Ok(mut row) = self.row(job) else { return };
        // After a crash its output is read again from the start: usage counts once, with the
        // result.
        let state = row.job_mut();
        state.tokens = state.tokens.saturating_add(used.tokens);
        row.attributes_mut().cost_before_usd += used.usd;
        let mut issues = Vec::new();
        let mut rows = Vec::new();
        match criteria {
            None => issues.push("verifier_failed: the verifying agent gave no result".to_owned()),
            Some(criteria) => {
                for it in criteria {
                    let passed = it.status == CriterionStatus::Passed;
                    if !passed {
                        let details = it.details.clone().unwrap_or_default();
                        let advice = it.suggestion.clone().unwrap_or_default();
                        issues.push(format!("{}: {details} {advice}", it.id).trim().to_owned());
                    }
                    rows.push(CriterionRow {
                        id: it.id,
                        passed,
                        details: it.details,
                        suggestion: it.suggestion,
                    });
                }
            }
        }
        self.busy.remove(job);
        let mut advance = StoreStep::empty_at(self.now());
        advance
            .changes
            .extend(self.record_verification(&row, ticket, issues, rows, files));
        advance.settled.push(SettledEffect {
            effect,
            end: EffectResult::Done,
        });
        if let Some(of) = self.effects.get_mut(job) {
            of.retain(|it| it.id != effect);
        }
        self.stage_step(advance, super::commit_queue::AfterCommit::Nothing);
    }
}

/// True if the client of an agent is interrupted by a message and not by a signal.
pub(super) fn takes_interrupts(agent: Option<&AgentSpec>) -> bool {
    let protocol = agent.map(|it| it.protocol);
    matches!(
        protocol,
        Some(AgentProtocol::ClaudeStreamJson | AgentProtocol::Acp)
    )
}

fn new_progress(row: &JobRow, number: u32, verifies: bool) -> AttemptProgress {
    AttemptProgress {
        job: row.id.clone(),
        number,
        verifies,
        since: 0,
        begun_here: false,
        first_message: FirstMessage::already_received(),
        unwritten: None,
        handed_over: Vec::new(),
        read: 0,
        protocol: AgentProtocol::Markers,
        found: None,
        files: Vec::new(),
        used: ProcessUsage::default(),
    }
}

/// Puts the start of the phase in front of the first messages. A process that resumes a session
/// knows its phase, unless there is nothing else to send.
pub(super) fn prepend_phase_start(row: &JobRow, say: &mut Vec<MessageToAgent>) {
    let phase = row.job.phase;
    let has_phase_start = say
        .iter()
        .any(|it| matches!(it, MessageToAgent::PhaseStart { .. }));
    if has_phase_start || row.about.session.is_some() && !say.is_empty() {
        return;
    }
    say.insert(0, MessageToAgent::PhaseStart { phase });
}

/// Builds the command line of an agent.
fn agent_command(
    agent: &AgentSpec,
    row: &JobRow,
    text: &str,
    file: &Path,
    workspace: &Path,
) -> Vec<String> {
    let conversation = match &row.about.session {
        Some(id) => ClientSession::Resume { id },
        None => ClientSession::New { id: None },
    };
    let known = |arguments: Vec<String>| {
        let mut words = agent.command.clone();
        words.extend(arguments);
        words
    };
    match (agent.protocol, agent.command.len()) {
        (AgentProtocol::ClaudeStreamJson, 1) => {
            return known(launch::claude_arguments(conversation, &[]));
        }
        (AgentProtocol::CodexJson, 1) => {
            return known(launch::codex_arguments(conversation, &[], text));
        }
        _ => {}
    }
    let (file, workspace) = (file.to_string_lossy(), workspace.to_string_lossy());
    let phase = row.job.phase.to_string();
    let values: [(&str, &str); 5] = [
        ("{prompt_file}", &file),
        ("{prompt}", text),
        ("{workspace}", &workspace),
        ("{task_id}", &row.id),
        ("{phase}", &phase),
    ];
    agent
        .command
        .iter()
        .map(|word| fill_template(word, &values))
        .collect()
}
