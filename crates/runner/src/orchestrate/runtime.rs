//! Runtime of a real run: implements the conductor's ports with the state file, git, and agents in
//! their shims.

use super::announcements::AnnouncementSender;
use super::capacity::find_shortage;
use super::git_workers::GitWorkers;
use super::ports::{
    ConductorEvent, ConductorPorts, GitJob, ResourceShortage, RunError, RunNotice, TaskAgentEvent,
};
use super::prompt::{PromptInputs, build_prompt};
use super::repo::{PhasePlace, RunRepo, TaskPlace};
use super::run::{LoopInput, RunScreen};
use super::run_journal::RunJournal;
use super::task_output::TaskOutputParser;
use super::task_record::TaskRecord;
use crate::core::attempts::{AttemptEvent, AttemptEventKind, AttemptLoop, AttemptStart};
use crate::core::cleanup::{ATTEMPTS_FOLDER, PROMPTS_FOLDER};
use crate::core::clients::{ClientProgram, LaunchRequest};
use crate::core::failure::FailureReason;
use crate::core::output_parser::reply_unattended;
use bowline_engine::formats::agents::AgentProtocol;
use bowline_engine::formats::orchestrate::RunMode;
use bowline_engine::formats::settings::BowlineSettings;
use bowline_engine::formats::time;
use bowline_engine::machines::orchestrate::{
    Command, Effect, NodeId, NodeStatus, OrchestrationState,
};
use bowline_engine::operations::orchestrate::PlanFile;
use bowline_engine::statefiles::write_atomically;
use bowline_engine::supervisor::{AttemptSpec, WantedState};
use bowline_engine::words::not_run;
use bowline_engine::{Context, Error};
use bowline_words::message::Reason;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

/// Time for which a check for free resources stays valid.
const CAPACITY_CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// Log of runs, relative to the project's root.
const LOG_PATH: &str = ".claude/orchestrate.log";
/// Size from which the log is cut to its end when a run starts.
const LOG_BYTES_MAX: u64 = 4 << 20;
const LOG_BYTES_KEPT: usize = 1 << 20;

/// An attempt whose events are received.
pub(super) struct LiveAttempt {
    task: NodeId,
    number: u32,
    parser: TaskOutputParser,
}

pub(super) struct RunRuntime<'s> {
    pub(super) context: Context,
    pub(super) journal: RunJournal,
    pub(super) side: PathBuf,
    pub(super) repo: Option<RunRepo>,
    pub(super) jobs: Option<GitWorkers>,
    pub(super) attempts: AttemptLoop,
    pub(super) inputs: Sender<LoopInput>,
    pub(super) settings: BowlineSettings,
    /// The agent that the caller named for the whole run.
    pub(super) agent: Option<String>,
    pub(super) mode: RunMode,
    pub(super) promise: String,
    pub(super) key: String,
    pub(super) project: String,
    pub(super) screen: &'s mut dyn RunScreen,
    pub(super) announcer: Option<AnnouncementSender>,
    pub(super) live_attempts: BTreeMap<Arc<str>, LiveAttempt>,
    /// Orders to execute after the next flush.
    pub(super) orders: Vec<DeferredOrder>,
    /// Tasks to be ticked in the plan, the time of the last update and the wait before the next.
    pub(super) ticks: Vec<NodeId>,
    pub(super) ticked: Instant,
    pub(super) tick_after: Duration,
    /// Time of the last check that found enough resources.
    pub(super) capacity_checked_at: Option<Instant>,
}

/// A call of [`ConductorPorts`], deferred until the decision behind it is durable.
pub(super) enum DeferredOrder {
    Submit(GitJob),
    Begin(NodeId, TaskRecord),
    Attach(NodeId, TaskRecord),
    Want(NodeId, u32, WantedState),
    Repeat(NodeId, u32),
    CloseInput(NodeId, u32),
    Tick(NodeId),
    /// With the run as it was at that time.
    ShowNotice(RunNotice, OrchestrationState),
}

impl RunRuntime<'_> {
    pub(super) fn attempt_id(&self, id: &NodeId, number: u32) -> String {
        format!("{}-{}-{number}", self.key, RunRepo::task_name(id))
    }

    pub(super) fn attempt_folder(&self, attempt: &str) -> PathBuf {
        self.side.join(ATTEMPTS_FOLDER).join(attempt)
    }

    fn task_folder(&self, id: &NodeId) -> PathBuf {
        match &self.repo {
            Some(repo) => repo.workspace_of(id),
            None => self.journal.owned.orchestration().root().to_owned(),
        }
    }

    pub(super) fn task_place(&self, id: &NodeId) -> TaskPlace {
        let plan = self.journal.owned.plan();
        let task = plan.and_then(|plan| plan.file.task(id));
        let phase = self.run_state().graph().phase_of(id).unwrap_or(0);
        TaskPlace {
            id: id.to_string(),
            title: task.map(|task| task.title.clone()).unwrap_or_default(),
            phase: self.phase_place(phase),
        }
    }

    pub(super) fn phase_place(&self, number: u32) -> PhasePlace {
        let owned = &self.journal.owned;
        let root = owned.orchestration().root();
        phase_place(root, owned.plan(), self.repo.as_ref(), number)
    }

    pub(super) fn task_client(&self, id: &NodeId) -> Result<ClientProgram, FailureReason> {
        let client =
            ClientProgram::choose_client(&self.settings, self.agent.as_deref(), self.assignee(id));
        client.map_err(|name| Reason::NoAgent { name }.into())
    }

    /// Returns the assignee of a task. It may name a role and no client: then the prompt says so.
    fn assignee(&self, id: &str) -> Option<&str> {
        let task = self
            .journal
            .owned
            .plan()
            .and_then(|plan| plan.file.task(id));
        task.and_then(|task| task.assignee.as_deref())
    }

    /// Checks that every agent is installed that an open task would be started with.
    pub(super) fn check_agents(&self, last_phase: Option<u32>) -> Result<(), Error> {
        let run = self.run_state();
        let wanted =
            |id: &NodeId| last_phase.is_none_or(|last| run.graph().phase_of(id) <= Some(last));
        let open = run
            .nodes()
            .filter(|(id, node)| node.status != NodeStatus::Completed && wanted(id));
        let assignees: BTreeSet<Option<&str>> = open.map(|(id, _)| self.assignee(id)).collect();
        for assignee in assignees {
            let client =
                ClientProgram::choose_client(&self.settings, self.agent.as_deref(), assignee);
            let client = client.map_err(|name| Error::NoAgent { name })?;
            client.check_installed(&self.context, &self.settings)?;
        }
        Ok(())
    }

    /// Converts an attempt's event for the conductor; returns none if it has nothing to decide.
    pub(super) fn on_attempt_event(&mut self, news: AttemptEvent) -> Option<ConductorEvent> {
        if let Some(repo) = &self.repo {
            match &news.kind {
                // A git of the agent may have been killed, with it or before.
                AttemptEventKind::Exited { .. } | AttemptEventKind::Lost(_) => {
                    repo.git_records().cut_off(&news.id)
                }
                _ => {}
            }
        }
        let live = self.live_attempts.get_mut(&news.id)?;
        let (id, number) = (live.task.clone(), live.number);
        let life = match news.kind {
            AttemptEventKind::Running { .. } => TaskAgentEvent::Running,
            AttemptEventKind::Output {
                offset,
                bytes,
                events,
                resume,
            } => {
                let words = live.parser.parse_output(&bytes, &events);
                for event in &events {
                    reply_unattended(&self.attempts, &news.id, event);
                }
                let upto = offset + bytes.len() as u64;
                self.attempts.confirm_processed(&news.id, upto, resume);
                TaskAgentEvent::Signals(words)
            }
            AttemptEventKind::Exited { exit, error_tail } => {
                let words = live.parser.finish_output();
                let tail = match error_tail.trim() {
                    "" => live.parser.text_tail().to_owned(),
                    tail => tail.to_owned(),
                };
                self.live_attempts.remove(&news.id);
                let _ = self.inputs.send(LoopInput::Event(ConductorEvent::Attempt {
                    id: id.clone(),
                    number,
                    event: TaskAgentEvent::Exited {
                        code: exit.code,
                        asked: exit.asked,
                        tail,
                    },
                }));
                TaskAgentEvent::Signals(words)
            }
            AttemptEventKind::Lost(_) => {
                self.live_attempts.remove(&news.id);
                TaskAgentEvent::Lost
            }
            AttemptEventKind::NeverStarted { message } => {
                self.live_attempts.remove(&news.id);
                TaskAgentEvent::NeverStarted {
                    why: message.map(|said| {
                        let why = not_run(&said);
                        Reason::NotRun { why }.into()
                    }),
                }
            }
            AttemptEventKind::StateChanged(_)
            | AttemptEventKind::Blocked(_)
            | AttemptEventKind::ShimUnreachable { .. }
            | AttemptEventKind::Refused { .. }
            | AttemptEventKind::InputRead { .. }
            | AttemptEventKind::Undelivered(_) => return None,
        };
        Some(ConductorEvent::Attempt {
            id,
            number,
            event: life,
        })
    }

    pub(super) fn write_log(&self, line: &str) {
        let path = self.journal.owned.orchestration().root().join(LOG_PATH);
        let at = time::format_utc(self.context.now());
        let at = at.trim_end_matches('Z');
        let file = OpenOptions::new().append(true).create(true).open(path);
        // A log that cannot be written must not stop a run.
        let line = format!("[{at}] [{}] {line}\n", self.project);
        let _ = file.and_then(|mut file| file.write_all(line.as_bytes()));
    }

    pub(super) fn trim_log(&self) {
        let path = self.journal.owned.orchestration().root().join(LOG_PATH);
        let long = path.metadata().is_ok_and(|it| it.len() > LOG_BYTES_MAX);
        if let (true, Ok(bytes)) = (long, std::fs::read(&path)) {
            let from = bytes.len().saturating_sub(LOG_BYTES_KEPT);
            let line = bytes[from..].iter().position(|byte| *byte == b'\n');
            let from = from + line.map_or(0, |at| at + 1);
            let _ = write_atomically(&*self.context.disk, &path, &bytes[from..], None);
        }
    }

    pub(super) fn start_attempt(
        &mut self,
        id: &NodeId,
        note: &TaskRecord,
    ) -> Result<(), FailureReason> {
        let client = self.task_client(id)?;
        let room = self.task_folder(id);
        let attempt = self.attempt_id(id, note.attempt);
        let plan = self.journal.owned.plan();
        let text = build_prompt(&PromptInputs {
            project: &self.project,
            id,
            plan: plan.map(|plan| (&plan.file, plan.text.as_str())),
            run: self.run_state(),
            worktree: &room,
            alone: self.repo.is_some(),
            mode: self.mode,
            promise: &self.promise,
            note,
        });
        let prompt_file = self.side.join(PROMPTS_FOLDER).join(format!("{attempt}.md"));
        // The agent dies with the machine, so the prompt needs no flush, which would delay the
        // whole run.
        std::fs::create_dir_all(self.side.join(PROMPTS_FOLDER))
            .and_then(|()| std::fs::write(&prompt_file, &text))
            .map_err(|error| {
                let program = prompt_file.display().to_string();
                let message = error.to_string();
                FailureReason::from(Error::ProgramFailed { program, message })
            })?;
        let phase = self.run_state().graph().phase_of(id).unwrap_or(0);
        let call = client.launch_command(&LaunchRequest {
            prompt: &text,
            prompt_file: &prompt_file,
            workspace: &room,
            task: id,
            phase,
            session: note.session.as_deref(),
        });
        let mut environment =
            client.environment(self.context.variables.text_pairs(), &self.settings);
        for (name, value) in [
            ("BOWLINE_TASK_ID", id.to_string()),
            ("BOWLINE_PHASE", phase.to_string()),
            ("BOWLINE_TRY", note.attempt.to_string()),
            (
                "BOWLINE_PROMPT_FILE",
                prompt_file.to_string_lossy().into_owned(),
            ),
        ] {
            environment.insert(name.to_owned(), value);
        }
        if let Some(repo) = &self.repo {
            let own = repo.worktree_variables(&repo.worktree_of(id)).into_iter();
            environment.extend(own.map(|(name, value)| (name.to_owned(), value)));
        }
        let mut spec = AttemptSpec::new(&attempt, call.command, room);
        spec.name = format!("{} {id}", self.project);
        spec.fence = self.journal.owned.sequence();
        if let Some(repo) = &self.repo {
            repo.git_records().add_record(&attempt);
        }
        self.track_attempt(id, note, &client);
        self.attempts.start_attempt(AttemptStart {
            folder: self.attempt_folder(&attempt),
            spec,
            environment,
            output_protocol: call.output_protocol,
            first_message: call.first_message,
            session: call.session,
            close_input: call.close_input,
        });
        Ok(())
    }

    pub(super) fn track_attempt(&mut self, id: &NodeId, note: &TaskRecord, client: &ClientProgram) {
        let live = LiveAttempt {
            task: id.clone(),
            number: note.attempt,
            parser: TaskOutputParser::new(id, &self.promise, client.protocol),
        };
        let attempt = self.attempt_id(id, note.attempt);
        self.live_attempts.insert(attempt.into(), live);
    }
}

/// Returns the branch and folder of a phase: as first recorded, else named after the plan. Phase 0
/// is the target branch itself, and so is every phase if work lands by pull request.
pub(super) fn phase_place(
    root: &Path,
    plan: Option<&PlanFile>,
    repo: Option<&RunRepo>,
    number: u32,
) -> PhasePlace {
    let target = repo.map_or("", RunRepo::target_branch).to_owned();
    if number == 0 || repo.is_some_and(RunRepo::lands_by_pull_request) {
        return PhasePlace {
            number,
            branch: target,
            folder: None,
        };
    }
    let file = plan.map(|plan| &plan.file);
    let slug = file.map_or_else(|| format!("phase-{number}"), |file| file.phase_slug(number));
    let heading = file.and_then(|file| file.phases.iter().find(|it| it.number == number));
    let named_folder = heading.and_then(|heading| heading.worktree.as_deref());
    let named_folder = named_folder.map(Path::new).filter(|path| {
        let inside = |part| matches!(part, std::path::Component::Normal(_));
        path.components().all(inside)
    });
    let folder = named_folder.map_or_else(|| Path::new("worktree").join(&slug), Path::to_owned);
    let name = folder.file_name().map(|name| name.to_string_lossy());
    let branch = name.filter(|name| is_plain_name(name));
    let place = PhasePlace {
        number,
        branch: branch.map_or(slug, |name| name.into_owned()),
        folder: Some(root.join(folder)),
    };
    match repo {
        Some(repo) => repo.recorded_phase_place(place),
        None => place,
    }
}

/// Returns the folder of a phase as the state file names it.
pub(super) fn worktree_of(
    root: &Path,
    plan: Option<&PlanFile>,
    repo: Option<&RunRepo>,
    phase: u32,
) -> Option<Arc<str>> {
    repo?;
    let folder = phase_place(root, plan, repo, phase).folder?;
    let path = folder.strip_prefix(root).unwrap_or(&folder);
    Some(path.to_string_lossy().into())
}

/// True if a name can be both a branch and a folder.
fn is_plain_name(name: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let ends = |end| name.starts_with(end) || name.ends_with(end);
    !name.is_empty()
        && name.bytes().all(letter)
        && !ends('.')
        && !name.starts_with('-')
        && !name.contains("..")
        && !name.ends_with(".lock")
}

impl ConductorPorts for RunRuntime<'_> {
    fn now_ms(&self) -> i64 {
        self.context.clock.now_ms()
    }

    fn run_state(&self) -> &OrchestrationState {
        self.journal.owned.run()
    }

    fn apply_command(&mut self, command: Command) -> Result<Vec<Effect>, RunError> {
        // A task that a person completes has no landing that would tick it.
        let forced = matches!(command, Command::ForceComplete { .. });
        let effects = self.journal.stage_command(&self.context, command)?;
        for effect in &effects {
            if let Effect::TickTask(id) = effect {
                match forced {
                    true => self.ticks.push(id.clone()),
                    false => self.orders.push(DeferredOrder::Tick(id.clone())),
                }
            }
        }
        Ok(effects)
    }

    fn resource_shortage(&mut self) -> Option<ResourceShortage> {
        if self
            .capacity_checked_at
            .is_some_and(|at| at.elapsed() < CAPACITY_CHECK_INTERVAL)
        {
            return None;
        }
        let root = self.journal.owned.orchestration().root();
        let short = find_shortage(&[root, &self.side], self.settings.orchestrate.free);
        self.capacity_checked_at = short.is_none().then(Instant::now);
        short
    }

    fn declared_paths(&self, id: &NodeId) -> Vec<String> {
        let task = self
            .journal
            .owned
            .plan()
            .and_then(|plan| plan.file.task(id));
        task.map(|task| task.touches.clone()).unwrap_or_default()
    }

    fn task_record(&mut self, id: &NodeId) -> TaskRecord {
        let note = self.journal.task_record(id);
        self.screen.update_usage(id, note.used);
        note
    }

    fn recorded_starts(&self) -> Vec<i64> {
        self.journal.recorded_starts()
    }

    fn store_record(&mut self, id: &NodeId, note: &TaskRecord) -> Result<(), RunError> {
        self.screen.update_usage(id, note.used);
        self.journal.store_record(id, note);
        Ok(())
    }

    fn request_job(&mut self, job: GitJob) {
        self.orders.push(DeferredOrder::Submit(job));
    }

    fn request_start(&mut self, id: &NodeId, note: &TaskRecord) {
        self.orders
            .push(DeferredOrder::Begin(id.clone(), note.clone()));
    }

    fn request_attach(&mut self, id: &NodeId, note: &TaskRecord) {
        self.orders
            .push(DeferredOrder::Attach(id.clone(), note.clone()));
    }

    fn request_state(&mut self, id: &NodeId, number: u32, want: WantedState) {
        self.orders
            .push(DeferredOrder::Want(id.clone(), number, want));
    }

    fn request_repeat(&mut self, id: &NodeId, number: u32) -> bool {
        let accepts_input = self
            .task_client(id)
            .is_ok_and(|client| client.accepts_input());
        if accepts_input {
            self.orders.push(DeferredOrder::Repeat(id.clone(), number));
        }
        accepts_input
    }

    fn request_input_close(&mut self, id: &NodeId, number: u32) {
        self.orders
            .push(DeferredOrder::CloseInput(id.clone(), number));
    }

    fn phase_worktree(&self, phase: u32) -> Option<Arc<str>> {
        let owned = &self.journal.owned;
        let root = owned.orchestration().root();
        worktree_of(root, owned.plan(), self.repo.as_ref(), phase)
    }

    fn agent_name(&self, id: &NodeId) -> String {
        self.task_client(id)
            .map(|client| client.name)
            .unwrap_or_default()
    }

    fn speaks_protocol(&self, id: &NodeId) -> bool {
        let client = self.task_client(id);
        client.is_ok_and(|client| client.protocol != AgentProtocol::Markers)
    }

    fn queue_notice(&mut self, notice: RunNotice) {
        let run = self.run_state().clone();
        self.orders.push(DeferredOrder::ShowNotice(notice, run));
    }
}
