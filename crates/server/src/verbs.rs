//! Verbs that people apply to state files: the same operations as on the command line.

use crate::allowed_verbs::{
    actions_despite_error, all_verbs, allowed_actions, file_verbs, runnable_work,
};
use crate::error::ApiError;
use crate::http_request::{ApiRequest, HandlerResult, respond_json};
use crate::runs::RunnableWork;
use crate::serve::SharedState;
use crate::verb_results::{describe_change, with_evidence};
use crate::workspace_init;
use crate::workspaces::{leads_out, requested_files, root_of};
use bowline_engine::context::ExpectedVersion;
use bowline_engine::files::{FileView, KnownFile};
use bowline_engine::history::RestoreOptions;
use bowline_engine::kinds::FileKind;
use bowline_engine::machines::develop::{DevelopPhase, FailureClass, Gate};
use bowline_engine::machines::plan::TaskResult;
use bowline_engine::machines::thinking::{MeasuredOutcome, ThinkingStage};
use bowline_engine::operations::develop::{DevelopRun, GateProof};
use bowline_engine::operations::memory::{
    FailureKind, FinishReport, MemoryFolder, NewStep, NewTask, Request, parse_value,
};
use bowline_engine::operations::orchestrate::Orchestration;
use bowline_engine::operations::thinking::ThinkingRun;
use bowline_engine::words::display_path;
use bowline_engine::{Context, Error, doctor, history};
use bowline_formats::rest::{VerbRequest, WorkspaceChange};
use bowline_runner::orchestrate::control_socket::{self, SocketRequest};
use bowline_runner::orchestrate::manual;
use bowline_words::Lang;
use bowline_words::message::{Confirmation, ServerNo, ServerThing};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Seconds after which a client retries when too many checks run.
const CHECK_RETRY_SECONDS: u64 = 5;
/// Maximum number of characters of an id, and of an id that is repeated in an error.
const ID_CHARS_MAX: usize = 300;
const ERROR_VALUE_CHARS_MAX: usize = 80;

/// Verbs that run commands of the project.
const COMMAND_VERBS: [&str; 3] = ["gate-pass", "checkpoint-pass", "phase-finish"];

pub(crate) fn run_verb(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    let asked: VerbRequest = call.parse_body()?;
    let files = requested_files(shared, call)?;
    let (kind, verb) = (call.path_param("kind"), call.path_param("verb"));
    let known = all_verbs(kind);
    let Some(&verb) = known.iter().find(|it| **it == verb) else {
        return Err(ServerNo::NoSuchVerb {
            verb: verb.chars().take(80).collect(),
            known: known.join(", "),
        }
        .into());
    };
    let named = asked.file.as_deref();
    // If several files of a memory have the verb, the current task is meant.
    let knows = |kind: FileKind| {
        let moves = kind.has_moves() || !file_verbs(FileKind::TaskState).contains(&verb);
        moves && file_verbs(kind).contains(&verb)
    };
    let mut fitting = files
        .iter()
        .filter(|(kind, path)| named.map_or(knows(*kind), |it| display_path(path) == it));
    let (file_kind, path) = match (fitting.next(), fitting.next()) {
        (Some((file_kind, path)), None) if file_verbs(*file_kind).contains(&verb) => {
            (*file_kind, path)
        }
        (Some(_), Some(_)) => return Err(missing_verb_field(verb, "file")),
        _ if workspace_init::start_verbs(kind).contains(&verb) => {
            let change = workspace_init::start_work(shared, call, verb, &asked)?;
            return respond_json(call, &change);
        }
        _ => {
            return Err(ApiError::no_such(
                ServerThing::StateFile,
                named.unwrap_or(kind),
            ));
        }
    };
    let _place = match COMMAND_VERBS.contains(&verb) {
        true => Some(shared.checks.try_acquire().map_err(|_| {
            let seconds = CHECK_RETRY_SECONDS;
            ApiError::Server(ServerNo::TooManyRequests { seconds })
        })?),
        false => None,
    };
    let root = shared.workspaces.find_folder(call.path_param("id"))?;
    if leads_out(root, path) {
        let path = display_path(path);
        return Err(ServerNo::LeadsOut { path }.into());
    }
    let seen = call.expected_version()?;
    let context = Context {
        // A command of the project takes time; changes made meanwhile do not concern it.
        seen: match seen.filter(|_| !COMMAND_VERBS.contains(&verb)) {
            Some(version) => ExpectedVersion::of_file(path, version),
            None => ExpectedVersion::default(),
        },
        ..shared.context.clone()
    };
    let asks = RequestedVerb {
        shared,
        context: &context,
        kind: file_kind,
        path,
        verb,
        request: &asked,
        state_files: &files,
        seen,
        lang: call.lang,
    };
    respond_json(call, &asks.apply_verb()?)
}

pub(crate) fn missing_verb_field(verb: &str, field: &'static str) -> ApiError {
    let verb = verb.to_owned();
    ApiError::Server(ServerNo::VerbLacks { verb, field })
}

/// A verb requested for a file.
struct RequestedVerb<'a> {
    shared: &'a Arc<SharedState>,
    context: &'a Context,
    kind: FileKind,
    path: &'a Path,
    verb: &'a str,
    request: &'a VerbRequest,
    /// All state files of the workspace.
    state_files: &'a [(FileKind, PathBuf)],
    /// The version that the caller has seen.
    seen: Option<u64>,
    lang: Lang,
}

impl RequestedVerb<'_> {
    fn apply_verb(&self) -> Result<WorkspaceChange, ApiError> {
        let (context, file) = (self.context, self.known_file());
        if self.verb == "repair" {
            let repairs = doctor::repair_file(context, &file)?.repairs;
            return self.reread_file(repairs.iter().map(|it| it.say(self.lang)).collect());
        }
        self.check_allowed(file.read_view(context))?;
        match self.verb {
            "undo" | "restore" => {
                let back = RestoreOptions {
                    seen: Some(self.required_version()?),
                    state_only: false,
                };
                let changed = match self.verb {
                    "undo" => history::undo_transition(context, &file, back)?.with_state(()),
                    _ => history::restore_version(
                        context,
                        &file,
                        u64::from(self.required_number()?),
                        back,
                    )?,
                };
                return Ok(describe_change(&changed, self.lang));
            }
            _ => {}
        }
        if let ("run" | "stop", Some(what)) =
            (self.verb, runnable_work(context, self.kind, self.path))
        {
            let runs = &self.shared.runs;
            match self.verb {
                "run" => {
                    let agent = self.named_text("agent").map(str::to_owned);
                    // The version seen has no meaning for what the run does later.
                    runs.start_run(self.shared, what, agent, self.lang)?;
                }
                _ if runs.stop_run(self.path) => {}
                _ => {
                    let path = self.path.to_owned();
                    return Err(Error::NobodyRuns { path }.into());
                }
            }
            return self.reread_file(Vec::new());
        }
        match self.kind {
            FileKind::Thinking => self.apply_to_thinking(),
            FileKind::Develop => self.apply_to_develop(),
            FileKind::Orchestrate => self.apply_to_orchestration(),
            FileKind::TaskState
            | FileKind::TaskHistory
            | FileKind::SharedContext
            | FileKind::AgentMemory => self.apply_to_memory(),
        }
    }

    /// Refuses verbs that the file does not allow now: an unreadable file allows only what is
    /// offered for it, and a version must be the current one. A run that owns the file decides by
    /// itself about versions.
    fn check_allowed(&self, looked: Result<FileView, Error>) -> Result<(), ApiError> {
        match looked {
            Err(error @ Error::Damaged { .. }) => {
                match actions_despite_error(&error)
                    .iter()
                    .any(|it| it.verb == self.verb)
                {
                    true => Ok(()),
                    false => Err(error.into()),
                }
            }
            Ok(view) if self.seen.is_some_and(|seen| view.version != seen) => {
                let of_run =
                    self.kind == FileKind::Orchestrate && control_socket::is_open(self.path);
                match of_run || self.verb == "stop" {
                    true => Ok(()),
                    false => Err(Error::MovedOn { path: view.path }.into()),
                }
            }
            Ok(_) | Err(_) => Ok(()),
        }
    }

    fn known_file(&self) -> KnownFile {
        KnownFile::new(self.context, self.kind, self.path)
    }

    fn required_version(&self) -> Result<u64, ApiError> {
        self.seen.ok_or_else(|| self.missing_field("If-Match"))
    }

    /// Returns a text by its name, if it is not empty.
    fn named_text(&self, name: &str) -> Option<&str> {
        let text = self.request.texts.get(name)?.trim();
        (!text.is_empty()).then_some(text)
    }

    fn missing_field(&self, field: &'static str) -> ApiError {
        missing_verb_field(self.verb, field)
    }

    /// Returns the error for an unknown value, with the known ones.
    fn unknown_value(&self, field: &'static str, value: &str, known: &[&str]) -> ApiError {
        let known = match known.len() {
            0 => self.possible_ids(),
            _ => known.join(", "),
        };
        ApiError::Server(ServerNo::NotOneOf {
            verb: self.verb.to_owned(),
            field,
            value: value.chars().take(ERROR_VALUE_CHARS_MAX).collect(),
            known,
        })
    }

    /// Lists the ids that the verb applies to now.
    fn possible_ids(&self) -> String {
        let file = self.known_file();
        let view = file.read_view(self.context);
        let all = view.map(|view| allowed_actions(self.shared, &file, &view, self.state_files));
        let all = all.unwrap_or_default().into_iter();
        let ids: Vec<String> = all
            .filter(|it| it.verb == self.verb)
            .flat_map(|it| it.ids)
            .collect();
        match ids.is_empty() {
            true => "–".to_owned(),
            false => ids.join(", "),
        }
    }

    fn required_id(&self) -> Result<&str, ApiError> {
        let id = self
            .request
            .id
            .as_deref()
            .ok_or_else(|| self.missing_field("id"))?;
        match id.chars().nth(ID_CHARS_MAX) {
            None => Ok(id),
            Some(_) => Err(self.unknown_value("id", id, &[])),
        }
    }

    /// Resolves the id.
    fn parse_id<T>(
        &self,
        find: impl FnOnce(&str) -> Option<T>,
        known: &[&str],
    ) -> Result<T, ApiError> {
        let id = self.required_id()?;
        find(id).ok_or_else(|| self.unknown_value("id", id, known))
    }

    fn required_number(&self) -> Result<u32, ApiError> {
        let plain = |id: &&str| id.bytes().all(|it| it.is_ascii_digit());
        self.parse_id(|id| Some(id).filter(plain)?.parse().ok(), &[])
    }

    fn optional_text(&self) -> Option<&str> {
        self.request.text.as_deref()
    }

    fn required_text(&self) -> Result<&str, ApiError> {
        self.optional_text()
            .ok_or_else(|| self.missing_field("text"))
    }

    /// Resolves the code; `None` if none is given.
    fn parse_code<T>(
        &self,
        find: impl FnOnce(&str) -> Option<T>,
        known: &[&str],
    ) -> Result<Option<T>, ApiError> {
        let code = self.request.code.as_deref();
        code.map(|code| find(code).ok_or_else(|| self.unknown_value("code", code, known)))
            .transpose()
    }

    fn required_paths(&self) -> Result<&[String], ApiError> {
        let paths = self.request.paths.as_slice();
        (!paths.is_empty())
            .then_some(paths)
            .ok_or_else(|| self.missing_field("paths"))
    }

    fn root_folder(&self) -> std::path::PathBuf {
        root_of(self.kind, self.path)
    }

    fn apply_to_thinking(&self) -> Result<WorkspaceChange, ApiError> {
        let (context, paths) = (self.context, &self.request.paths);
        let run = ThinkingRun::in_folder(context, &self.root_folder());
        let stage = || {
            self.parse_id(
                ThinkingStage::from_name,
                &ThinkingStage::ALL.map(ThinkingStage::name),
            )
        };
        let values = || {
            let pairs = self.request.values.iter();
            let pairs = pairs.map(|(name, value)| (name.clone(), *value));
            let pairs: Vec<(String, f64)> = pairs.collect();
            match pairs.is_empty() {
                true => Err(self.missing_field("values")),
                false => Ok(pairs),
            }
        };
        let value = |name| {
            let value = self.request.values.get(name).copied();
            value.ok_or_else(|| self.missing_field("values"))
        };
        let changed = match self.verb {
            "start" => run.start_stage(context, stage()?, self.optional_text())?,
            "complete" => run.complete_stage(context, stage()?, paths)?,
            "output" => run.record_outputs(context, stage()?, self.required_paths()?)?,
            "evaluate" => run.evaluate_work(context, &values()?)?,
            "quality" => run.record_metrics(context, &values()?)?,
            "feedback" => {
                let execution = MeasuredOutcome {
                    metric: self.required_text()?.to_owned(),
                    actual: value("actual")?,
                    target: value("target")?,
                    learnings: optional_item(self.named_text("learning")),
                    improvements: optional_item(self.named_text("improvement")),
                    stages: Vec::new(),
                };
                run.record_outcome(context, &execution)?
            }
            "feedback-apply" => {
                // Only folders of the workspace: an id gives no access to others.
                let folders = self
                    .state_files
                    .iter()
                    .filter_map(|(_, path)| path.parent());
                let mut folders =
                    folders.filter(|it| self.request.id.as_ref() == Some(&display_path(it)));
                let from = folders.next();
                let id = self.request.id.as_deref();
                let from = from.ok_or_else(|| match id {
                    Some(id) => self.unknown_value("id", id, &[]),
                    None => self.missing_field("id"),
                })?;
                run.apply_lessons(context, from)?
            }
            _ => {
                let code = self.request.code.as_deref();
                let code = code.ok_or_else(|| self.missing_field("code"))?;
                run.fail_stage(
                    context,
                    stage()?,
                    code,
                    self.optional_text().unwrap_or_default(),
                )?
            }
        };
        Ok(describe_change(&changed, self.lang))
    }

    fn apply_to_memory(&self) -> Result<WorkspaceChange, ApiError> {
        let context = self.context;
        // Memories of agents are in a subfolder.
        let up = 1 + usize::from(self.kind == FileKind::AgentMemory);
        let folder = self.path.ancestors().nth(up).unwrap_or(self.path);
        let memory = MemoryFolder::in_folder(context, folder);
        let summary = self.optional_text().map(str::to_owned);
        let changed = match self.verb {
            "pause" => memory.task_pause(context)?.with_state(()),
            "resume" => memory.task_resume(context)?.with_state(()),
            "cancel" => memory.task_cancel(context)?.with_state(()),
            "recover" => memory
                .task_recover(context, self.optional_text())?
                .with_state(()),
            "finish" => {
                let finish = FinishReport {
                    result: self.parse_code(
                        TaskResult::from_name,
                        &TaskResult::ALL.map(TaskResult::name),
                    )?,
                    summary,
                    lessons: optional_item(self.named_text("lesson")),
                    ..FinishReport::default()
                };
                memory.task_finish(context, finish)?.with_state(())
            }
            "task-new" => {
                let new = new_task(self.required_text()?, self.request);
                memory.task_new(context, &new)?.with_state(())
            }
            "set" | "append" => {
                let path = self.request.code.as_deref();
                let path = path.ok_or_else(|| self.missing_field("code"))?;
                let (append, value) = (self.verb == "append", parse_value(self.required_text()?)?);
                let agent = self.path.file_stem().unwrap_or_default().to_string_lossy();
                match (self.kind == FileKind::AgentMemory, append) {
                    (true, true) => memory.agent_append(context, &agent, path, &value)?,
                    (true, false) => memory.agent_set(context, &agent, path, &value)?,
                    (false, true) => memory.context_append(context, path, &value)?,
                    (false, false) => memory.context_set(context, path, &value)?,
                }
            }
            "session-new" => memory.session_new(context)?.with_state(()),
            "backup" => {
                let copies = memory.back_up(context)?;
                return self.reread_file(copies.iter().map(|path| display_path(path)).collect());
            }
            "prune" => {
                let report = memory.prune_files(context)?;
                let did = Confirmation::Pruned {
                    removed: report.removed.len(),
                    summarised: report.summarised.len(),
                    agents: report.agents.len(),
                };
                return self.reread_file(vec![did.say(self.lang)]);
            }
            "restore-copy" => {
                let copy = self.required_id()?;
                let changed =
                    memory.restore_copy(context, Some(copy), Some(self.required_version()?))?;
                changed.with_state(())
            }
            "task-drop" => memory
                .task_drop(context, self.required_id()?)?
                .with_state(()),
            "step-add" => {
                let new = NewStep {
                    name: self.required_text()?.to_owned(),
                    ..NewStep::default()
                };
                memory.step_add(context, new)?.with_state(())
            }
            "step-start" => memory
                .step_start(context, self.required_number()?)?
                .with_state(()),
            "step-complete" => {
                let (output, made) = (summary.map(Value::String), Vec::new());
                let changed =
                    memory.step_complete(context, self.required_number()?, output.as_ref(), made);
                changed?.with_state(())
            }
            _ => {
                let kind = self.parse_code(
                    FailureKind::from_name,
                    &FailureKind::ALL.map(FailureKind::name),
                )?;
                let kind = kind.unwrap_or(FailureKind::Transient);
                let changed = memory.step_fail(
                    context,
                    self.required_number()?,
                    kind,
                    self.required_text()?,
                );
                changed?.with_state(())
            }
        };
        Ok(describe_change(&changed, self.lang))
    }

    fn apply_to_develop(&self) -> Result<WorkspaceChange, ApiError> {
        let context = self.context;
        let run = DevelopRun::in_folder(context, &self.root_folder());
        let gate = || self.parse_id(Gate::from_name, &Gate::ALL.map(Gate::name));
        let command = self.request.command.as_deref();
        let passes = |proof| {
            run.gate_pass(context, gate()?, proof, &())
                .map_err(ApiError::from)
        };
        let changed = match self.verb {
            "start" => run
                .start_run(context, self.required_text()?, false)?
                .with_state(()),
            "review" => run
                .enter_review(context, &self.request.paths, None)?
                .with_state(()),
            "implement" => run
                .enter_implement(context, self.optional_text())?
                .with_state(()),
            "pr" => run.enter_pr(context)?.with_state(()),
            "done" => run.finish_run(context)?.with_state(()),
            "back" => {
                let phase = self.parse_id(
                    DevelopPhase::from_name,
                    &DevelopPhase::ALL.map(DevelopPhase::name),
                )?;
                run.go_back(context, phase)?.with_state(())
            }
            "seal" => run.seal_run(context)?.with_state(()),
            "adopt" => run.adopt_run(context)?.with_state(()),
            "reset" => run.discard_run(context)?.with_state(()),
            "gate-pass" => {
                let proof = GateProof {
                    run: command,
                    by_hand: None,
                };
                return Ok(with_evidence(&passes(proof)?, self.lang));
            }
            "gate-by-hand" => {
                let proof = GateProof {
                    run: None,
                    by_hand: Some(self.required_text()?),
                };
                return Ok(with_evidence(&passes(proof)?, self.lang));
            }
            "checkpoint-start" => {
                let changed =
                    run.checkpoint_start(context, self.required_id()?, self.optional_text())?;
                changed.with_state(())
            }
            "checkpoint-pass" => {
                // The command that is shown beside the button.
                let planned = run.run_contract(context)?;
                let planned = planned
                    .iter()
                    .find(|it| Some(&it.id) == self.request.id.as_ref());
                let command = command.or(planned.and_then(|it| it.command.as_deref()));
                let passed = run.checkpoint_pass(context, self.required_id()?, command, &())?;
                return Ok(with_evidence(&passed, self.lang));
            }
            "checkpoint-fail" => {
                let class = self.parse_code(
                    FailureClass::from_name,
                    &FailureClass::ALL.map(FailureClass::name),
                )?;
                let class = class.unwrap_or(FailureClass::LogicError);
                run.checkpoint_fail(context, self.required_id()?, class)?
                    .with_state(())
            }
            _ => run.gate_reset(context, gate()?)?.with_state(()),
        };
        Ok(describe_change(&changed, self.lang))
    }

    fn apply_to_orchestration(&self) -> Result<WorkspaceChange, ApiError> {
        let (context, text) = (self.context, self.optional_text());
        let run = Orchestration::in_folder(context, &self.root_folder());
        if self.verb == "fail" {
            self.required_text()?;
        }
        if let Some(request) = self.control_request()? {
            match control_socket::send_request(self.path, &request, self.lang) {
                Some(answer) => match answer.error {
                    Some(refused) => return Err(ApiError::RunRefusal(refused)),
                    None => return self.reread_file(Vec::new()),
                },
                None if matches!(self.verb, "pause" | "continue" | "stop") => {
                    let path = self.path.to_owned();
                    return Err(Error::NobodyRuns { path }.into());
                }
                None => {}
            }
        }
        let changed = match self.verb {
            "start" => manual::start_task(context, &run, self.required_id()?, false)?
                .0
                .with_state(()),
            "complete" => run
                .complete_task(context, self.required_id()?)?
                .with_state(()),
            "fail" => run
                .fail_task(context, self.required_id()?, text, false)?
                .with_state(()),
            "retry" => run.retry_task(context, self.required_id()?)?.with_state(()),
            "force-complete" => run
                .force_complete(context, self.required_id()?, text)?
                .with_state(()),
            "phase-finish" => {
                let phase = self.required_number()?;
                manual::finish_phase(context, &run, phase, false)?.with_state(())
            }
            "run" => {
                let agent = self.named_text("agent").map(str::to_owned);
                let run = RunnableWork::Orchestration(run);
                self.shared
                    .runs
                    .start_run(self.shared, run, agent, self.lang)?;
                return self.reread_file(Vec::new());
            }
            "rescue-restore" => {
                let rescued = run.rescued_as(self.required_id()?)?;
                let branch = self.named_text("branch");
                let restored = run.restore_rescued(context, rescued, branch, None)?;
                let did = Confirmation::RescueRestored {
                    name: restored.rescued.name,
                    branch: restored.branch,
                };
                return self.reread_file(vec![did.say(self.lang)]);
            }
            "rescue-drop" => {
                let rescued = run.rescued_as(self.required_id()?)?;
                run.drop_rescued(context, &rescued)?;
                let name = rescued.name;
                return self.reread_file(vec![Confirmation::RescueDropped { name }.say(self.lang)]);
            }
            _ => run.rebuild_run(context)?.with_state(()),
        };
        Ok(describe_change(&changed, self.lang))
    }

    /// Returns the request for the run that owns the file, if the verb is one that a run decides.
    fn control_request(&self) -> Result<Option<SocketRequest>, ApiError> {
        let id = || self.required_id().map(str::to_owned);
        let reason = self.request.text.clone();
        Ok(Some(match self.verb {
            "pause" => SocketRequest::Pause {},
            "continue" => SocketRequest::Continue {},
            "stop" => SocketRequest::Stop {},
            "start" => SocketRequest::Start { id: id()? },
            "complete" => SocketRequest::Complete { id: id()? },
            "fail" => SocketRequest::Fail {
                id: id()?,
                reason,
                retry: false,
            },
            "retry" => SocketRequest::Retry { id: id()? },
            "force-complete" => SocketRequest::ForceComplete {
                id: id()?,
                reason,
                person: true,
            },
            _ => return Ok(None),
        }))
    }

    /// Reads the file again after something else has changed it.
    fn reread_file(&self, messages: Vec<String>) -> Result<WorkspaceChange, ApiError> {
        let view = self.known_file().read_view(self.context)?;
        Ok(WorkspaceChange {
            path: display_path(&view.path),
            from: None,
            to: Some(view.examined.status.clone()),
            sequence: Some(view.sequence),
            state: view.masked_document(),
            told: messages,
            evidence: Vec::new(),
        })
    }
}

/// Builds a new task of a memory.
pub(crate) fn new_task(name: &str, asked: &VerbRequest) -> NewTask {
    let text = |name: &str| asked.texts.get(name).cloned().unwrap_or_default();
    NewTask {
        name: name.to_owned(),
        goal: text("goal"),
        context: Request {
            user_request: text("request"),
            ..Request::default()
        },
        ..NewTask::default()
    }
}

fn optional_item(text: Option<&str>) -> Vec<String> {
    text.map(str::to_owned).into_iter().collect()
}
