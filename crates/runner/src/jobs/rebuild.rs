//! Rebuilds a lost store from metadata on disk: `.metadata/task.json` and `.checkpoints` of
//! workspaces (in `tasks/ID` of the data folder for folders that people named), and the log of
//! tasks that have not started.
//!
//! Files stay as they are, and a task continues in its folder. Values that people gave were only in
//! the store and are requested again. Agents of the old store are ended, because their open
//! requests are not known any more; the next agent resumes the client's session if the checkpoint
//! names it.

use super::folder_claims::real_path;
use super::request::RequestError;
use super::store_change::timer_key;
use super::unknown_agents::request_level;
use super::worker_pool::check_phase;
use super::{
    JobsConfig, TypeSpec, pending_log, request_handlers::new_id, workspace_metadata::METADATA_FILE,
    workspace_metadata::noted_removals,
};
use bowline_formats::StateFormat as _;
use bowline_formats::checkpoint::{CheckpointFile, FOLDER_NAME, TaskCheckpoint};
use bowline_formats::json::JsonDocument;
use bowline_formats::time::{format_utc, parse_time};
use bowline_formats::transition::{LINE_TYPE, Transition};
use bowline_machines::Timestamp;
use bowline_machines::job::{
    FailureCode, Job, JobFailure, JobState, PauseCause, PausedByKind, PhaseReview, Priority,
    ProcessState, ReviewStatus, StepProgress, TimerKind,
};
use bowline_store::{
    CheckpointRow, CommitOutcome, EventKind, JobAttributes, JobBudget, JobChange, JobRecord,
    NewEvent, OutputPosition, RecordBody, ReviewRow, Store, StoreStep, TimerChange,
};
use bowline_supervisor::{
    Attempt, AttemptCondition, ObservedState, ShimHandle, WantedState, sweep_attempt,
};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Time that an agent of the old store may take to end.
const ENDED_TIME: Duration = Duration::from_secs(20);
/// Bytes of a metadata file; a larger one is not read.
const FILE_BYTES_MAX: u64 = 4 << 20;

/// Result for one task that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RebuiltTask {
    /// Id of the task; the folder if no id can be read.
    pub id: String,
    pub title: String,
    /// Way in which the task was restored.
    pub how: RebuildResult,
}

/// Way in which a task was restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RebuildResult {
    /// It continues in this phase from its latest checkpoint.
    GoesOn(u32),
    /// It has no checkpoint: it starts with this phase, the first whose files are missing.
    Cold(u32),
    /// It keeps this status.
    Kept(&'static str),
    /// It cannot be restored, for this reason.
    Lost(String),
}

/// Returns the tasks that metadata on disk describes, each with its workspace; those that have
/// started come first. The metadata is none if it cannot be read.
fn tasks_in_metadata(
    config: &JobsConfig,
    attempts: &BTreeMap<String, (u32, PathBuf)>,
) -> std::io::Result<Vec<(PathBuf, Option<Value>)>> {
    let of_tasks: BTreeSet<PathBuf> = folder_entries(&config.data.join("tasks")).collect();
    let of_tasks = of_tasks.into_iter().map(|records| {
        let metadata = read_json(&records.join(METADATA_FILE));
        let named = metadata
            .as_ref()
            .map(|it| PathBuf::from(text_of(it, "workingDir")));
        (named.unwrap_or(records), metadata)
    });
    let mut folders: BTreeSet<PathBuf> = folder_entries(&config.data.join("workspaces")).collect();
    // Earlier versions wrote into folders that a person named.
    folders.extend(attempts.values().map(|(_, folder)| folder.clone()));
    let of_folders = folders.into_iter().map(|folder| {
        let metadata = read_json(&folder.join(METADATA_FILE));
        (folder, metadata)
    });
    let of_waiting = pending_log::read_lines(config)?.into_iter();
    let of_waiting = of_waiting.map(|metadata| {
        (
            PathBuf::from(text_of(&metadata, "workingDir")),
            Some(metadata),
        )
    });
    let all = of_tasks.chain(of_folders).chain(of_waiting);
    // A task that a person removed is not lost.
    let removed: BTreeSet<String> = noted_removals(config).into_iter().map(|it| it.id).collect();
    let gone = |metadata: &Option<Value>| {
        let id = metadata.as_ref().map(|it| text_of(it, "id"));
        id.is_some_and(|id| removed.contains(&id))
    };
    Ok(all.filter(|(_, metadata)| !gone(metadata)).collect())
}

/// Returns the ids of all tasks on disk, or of those that have started, whether or not the store
/// knows them.
pub fn tasks_on_disk(config: &JobsConfig, begun: bool) -> std::io::Result<BTreeSet<String>> {
    let tasks = tasks_in_metadata(config, &attempt_folders(config))?;
    let has_begun = |folder: &Path| folder.join(METADATA_FILE).exists();
    let tasks = tasks.into_iter().filter(|it| !begun || has_begun(&it.0));
    let ids = tasks.filter_map(|(_, metadata)| metadata);
    let ids = ids.map(|metadata| text_of(&metadata, "id"));
    Ok(ids.filter(|id| !id.is_empty()).collect())
}

/// Adds every task found on disk to the store, except those it has. No dispatcher may run.
pub fn rebuild(config: &JobsConfig, store: &dyn Store) -> Result<Vec<RebuiltTask>, RequestError> {
    let attempts = attempt_folders(config);
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    let tasks =
        tasks_in_metadata(config, &attempts).map_err(|it| RequestError::Failed(it.to_string()))?;
    // The metadata in a folder is newer than that of the log.
    for (folder, metadata) in tasks {
        let Some(metadata) = metadata else {
            if folder.starts_with(&config.data) && folder.join(FOLDER_NAME).is_dir() {
                found.push(RebuiltTask {
                    id: folder.to_string_lossy().into_owned(),
                    title: String::new(),
                    how: RebuildResult::Lost(format!("{METADATA_FILE} cannot be read")),
                });
            }
            continue;
        };
        let id = text_of(&metadata, "id");
        if id.is_empty() || !seen.insert(id.clone()) || store.find_job(&id)?.is_some() {
            continue;
        }
        let title = text_of(&metadata, "title");
        let last = attempts.get(&id).map_or(0, |(last, _)| *last);
        let task = FoundTask {
            config,
            metadata: &metadata,
            folder: &folder,
            attempt: last.max(1),
            // One after the other, so that not all wake at once.
            until: Timestamp(config.clock.now().0 + i64::try_from(found.len()).unwrap_or(0)),
        };
        let how = match task.rebuilt_change(&id) {
            Err(why) => RebuildResult::Lost(why),
            Ok((change, how)) => {
                for number in 1..=last {
                    end_attempt(&config.attempt_folder(&super::attempt_id(&id, number)));
                }
                let mut advance = StoreStep::empty_at(config.clock.now());
                advance.changes.push(change);
                match store.commit_steps(vec![advance])?.remove(0) {
                    CommitOutcome::Applied { .. } => how,
                    other => RebuildResult::Lost(other.to_string()),
                }
            }
        };
        found.push(RebuiltTask { id, title, how });
    }
    Ok(found)
}

/// One task with its metadata.
struct FoundTask<'a> {
    config: &'a JobsConfig,
    metadata: &'a Value,
    folder: &'a Path,
    attempt: u32,
    until: Timestamp,
}

impl FoundTask<'_> {
    fn rebuilt_change(&self, id: &str) -> Result<(JobChange, RebuildResult), String> {
        let name = text_of(self.metadata, "type");
        let spec = self.config.types.get(&name);
        let spec = spec.ok_or_else(|| format!("its type '{name}' is not in the settings"))?;
        let now = self.config.clock.now();
        let saved = checkpoint_files(&[&self.config.data.join("tasks").join(id), self.folder], id);
        let latest = saved.last().map(|(_, it)| it);
        let mut job = Job {
            title: text_of(self.metadata, "title"),
            description: text_of(self.metadata, "description"),
            kind: Some(spec.kind()),
            limits: self.config.limits,
            depends_on: texts_of(self.metadata, "dependsOn"),
            scheduled_for: time_of(self.metadata, "scheduledFor"),
            retry_of: self.metadata["retryOf"].as_str().map(str::to_owned),
            tokens: latest.map_or(0, |it| it.tokens_used),
            ..Job::draft()
        };
        let about = self.rebuilt_about(id, &name, latest, now);
        let mut records = Vec::new();
        let mut timers = Vec::new();
        let how = self.rebuilt_state(&mut job, spec, latest, &mut records, &mut timers);
        for record in &mut records {
            id.clone_into(&mut record.job);
        }
        records.extend(
            saved
                .iter()
                .map(|(file, it)| checkpoint_record(id, file, it, self.attempt)),
        );
        let line = Transition {
            timestamp: format_utc(now),
            task_id: id.into(),
            line_type: LINE_TYPE.into(),
            entity: "task".into(),
            from: None,
            to: job.task_status().name().into(),
            trigger: "RECOVER".into(),
            metadata: json!({ "rebuilt": true, "checkpointId": latest.map(|it| &it.id) }),
            sequence: 0,
        };
        let mut change = JobChange::replace_state(id, 0, job, about);
        change.events.push(NewEvent {
            kind: EventKind::Transition,
            // Texts and numbers always serialise.
            body: serde_json::to_value(line).unwrap_or_default(),
        });
        (change.records, change.timers) = (records, timers);
        Ok((change, how))
    }

    fn rebuilt_about(
        &self,
        id: &str,
        type_name: &str,
        latest: Option<&TaskCheckpoint>,
        now: Timestamp,
    ) -> JobAttributes {
        let own = self.config.data.join("workspaces").join(id);
        let named = (self.folder != own).then(|| self.folder.to_string_lossy().into_owned());
        let budget = &self.metadata["budget"];
        JobAttributes {
            type_name: Some(type_name.into()),
            priority: Priority::from_name(&text_of(self.metadata, "priority")).unwrap_or_default(),
            agent: self.metadata["agent"].as_str().map(str::to_owned),
            real_workspace: named.as_ref().map(|_| {
                let real = real_path(self.folder);
                real.to_string_lossy().into_owned()
            }),
            workspace: named,
            share_workspace: self.metadata["shareWorkspace"] == true,
            label: self.metadata["label"].as_str().map(str::to_owned),
            budget: JobBudget {
                tokens: budget["tokens"].as_u64(),
                usd: budget["usd"].as_f64(),
                minutes: budget["minutes"].as_u64(),
            },
            created_at: time_of(self.metadata, "createdAt").unwrap_or(now).0,
            updated_at: now.0,
            place: OutputPosition {
                attempt: self.attempt,
                ..OutputPosition::default()
            },
            session: latest.and_then(|it| it.session_id.clone()),
            checkpoint: latest.map(|it| (it.id.clone(), it.created_at.0)),
            ..JobAttributes::default()
        }
    }

    /// Restores the state of task and agent.
    fn rebuilt_state(
        &self,
        job: &mut Job,
        spec: &TypeSpec,
        latest: Option<&TaskCheckpoint>,
        records: &mut Vec<JobRecord>,
        timers: &mut Vec<TimerChange>,
    ) -> RebuildResult {
        let status = text_of(self.metadata, "status");
        if status == "pending" {
            job.state = JobState::Pending;
            if let Some(due) = job.scheduled_for {
                timers.push(set_timer(TimerKind::Scheduled, due));
            }
            return RebuildResult::Kept("pending");
        }
        let total = job.total_phases().max(1);
        let recorded = self.metadata["currentPhase"].as_u64();
        let phase = latest.and_then(|it| it.task_phase);
        let phase = recorded.and_then(|it| u32::try_from(it).ok()).or(phase);
        job.phase = match latest {
            Some(_) => phase.unwrap_or(1).clamp(1, total),
            None => self.unfinished_phase(spec, total),
        };
        let started = time_of(self.metadata, "startedAt").unwrap_or(self.until);
        (job.attempt, job.process) = (self.attempt, ProcessState::Gone);
        job.started_at = Some(started);
        let at = time_of(self.metadata, "updatedAt").unwrap_or(started);
        match status.as_str() {
            "completed" => {
                (job.phase, job.reached) = (total, StepProgress::END);
                job.archived = self.metadata["archived"] == true;
                job.state = JobState::Completed { at };
                RebuildResult::Kept("completed")
            }
            "failed" => {
                job.state = JobState::Failed(stored_failure(&self.metadata["failure"], at));
                RebuildResult::Kept("failed")
            }
            "review" if latest.is_some() => {
                job.reached = StepProgress::END;
                let review = PhaseReview {
                    id: new_id("rev"),
                    phase: job.phase,
                    status: ReviewStatus::Pending,
                    deliverables: latest.map(|it| it.deliverables.clone()).unwrap_or_default(),
                    comment: None,
                    created_at: at,
                    reviewed_at: None,
                };
                records.push(JobRecord {
                    id: review.id.clone(),
                    job: String::new(),
                    open: true,
                    at,
                    body: RecordBody::Review(ReviewRow {
                        phase: job.phase,
                        status: review.status,
                        deliverables: review.deliverables.clone(),
                        code_ref: latest.and_then(|it| it.code_ref.clone()),
                        ..ReviewRow::default()
                    }),
                });
                job.reviews.push(review);
                job.state = JobState::Reviewing;
                RebuildResult::Kept("review")
            }
            _ if text_of(self.metadata, "pausedBy") == PausedByKind::Person.name() => {
                job.state = JobState::Paused(PauseCause::Person);
                RebuildResult::Kept("paused")
            }
            _ => {
                let until = self.until;
                job.state = JobState::Paused(PauseCause::Breaker {
                    reason: "the store was rebuilt".into(),
                    until: Some(until),
                });
                timers.push(set_timer(TimerKind::RateLimitReset, until));
                match latest {
                    Some(_) => RebuildResult::GoesOn(job.phase),
                    None => RebuildResult::Cold(job.phase),
                }
            }
        }
    }

    /// Returns the first phase whose files are missing.
    fn unfinished_phase(&self, spec: &TypeSpec, total: u32) -> u32 {
        let left = spec.phases.iter().take_while(|phase| {
            let mut files_only = (*phase).clone();
            files_only.check.clear();
            let environment = BTreeMap::new();
            let checked = check_phase(self.folder, &files_only, Duration::ZERO, &environment);
            !phase.deliverables.is_empty() && checked.is_ok_and(|(issues, _)| issues.is_empty())
        });
        let done = u32::try_from(left.count()).unwrap_or(0);
        (done + 1).min(total)
    }
}

fn set_timer(kind: TimerKind, due: Timestamp) -> TimerChange {
    TimerChange::Set {
        key: timer_key(&kind),
        due,
        body: json!(kind),
    }
}

fn stored_failure(failure: &Value, at: Timestamp) -> JobFailure {
    let code = FailureCode::from_name(&text_of(failure, "code"));
    JobFailure {
        code: code.unwrap_or(FailureCode::AgentFatal),
        message: text_of(failure, "message"),
        details: None,
        at: time_of(failure, "at").unwrap_or(at),
    }
}

fn checkpoint_record(id: &str, file: &str, saved: &TaskCheckpoint, attempt: u32) -> JobRecord {
    JobRecord {
        id: saved.id.clone(),
        job: id.into(),
        open: false,
        at: saved.created_at,
        body: RecordBody::Checkpoint(CheckpointRow {
            created_by: saved.created_by.into(),
            reason: saved.reason.into(),
            attempt,
            status: saved.task_status,
            phase: saved.task_phase.unwrap_or(0),
            step: None,
            progress: saved.progress,
            file: format!("{FOLDER_NAME}/{file}"),
            code_ref: saved.code_ref.clone(),
            session: saved.session_id.clone(),
        }),
    }
}

fn folder_entries(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let all = std::fs::read_dir(folder).into_iter().flatten().flatten();
    all.map(|entry| entry.path())
}

/// Returns the last attempt of each task, and the folder it works in.
fn attempt_folders(config: &JobsConfig) -> BTreeMap<String, (u32, PathBuf)> {
    let mut last: BTreeMap<String, (u32, PathBuf)> = BTreeMap::new();
    for folder in folder_entries(&config.data.join("attempts")) {
        let name = folder.file_name().and_then(|it| it.to_str());
        let parts = name.and_then(|it| it.rsplit_once('-'));
        let Some((id, number)) = parts.and_then(|(id, it)| Some((id, it.parse::<u32>().ok()?)))
        else {
            continue;
        };
        let Ok(attempt) = Attempt::open_existing(&folder) else {
            continue;
        };
        let known = last.entry(id.to_owned()).or_default();
        if number >= known.0 {
            *known = (number, attempt.spec().folder.clone());
        }
    }
    last
}

/// Ends the process of an attempt, and everything it left behind.
pub(super) fn end_attempt(folder: &Path) {
    let Ok(attempt) = Attempt::open_existing(folder) else {
        return;
    };
    match attempt.condition() {
        Ok(AttemptCondition::Alive) => {}
        Ok(AttemptCondition::Lost) => {
            // The next check finds what cannot be swept.
            let _ = sweep_attempt(&attempt);
            return;
        }
        Ok(AttemptCondition::Ended(_) | AttemptCondition::Intended) | Err(_) => return,
    }
    let Ok(mut handle) = ShimHandle::attach(&attempt, 0) else {
        return;
    };
    if request_level(&mut handle, WantedState::Ended).is_err() {
        return;
    }
    let begun = Instant::now();
    while handle.last_status().state != ObservedState::Ended && begun.elapsed() < ENDED_TIME {
        let status = handle.last_status();
        let (out, err) = (status.out.end, status.err.end);
        // Its output is not read any more; unacknowledged, it would not exit.
        if handle.acknowledge_output(out, err).is_err()
            || handle
                .wait_for_change(out, err, Duration::from_secs(1))
                .is_err()
        {
            return;
        }
    }
}

/// Returns the checkpoints of a task in these folders, the oldest first.
fn checkpoint_files(folders: &[&Path], id: &str) -> Vec<(String, TaskCheckpoint)> {
    let files = folders
        .iter()
        .flat_map(|it| folder_entries(&it.join(FOLDER_NAME)));
    let mut saved: Vec<(String, TaskCheckpoint)> = files
        .filter_map(|file| {
            let name = file.file_name()?.to_str()?.to_owned();
            let bytes = name
                .starts_with("checkpoint_")
                .then(|| std::fs::read(&file));
            let document = JsonDocument::parse(&bytes?.ok()?).ok()?;
            let read = CheckpointFile::read_state(&document).ok()?;
            Some((name, read.state))
        })
        .filter(|(_, it)| it.task_id == id)
        .collect();
    saved.sort_by(|one, other| one.0.cmp(&other.0));
    saved
}

fn read_json(path: &Path) -> Option<Value> {
    let small = std::fs::metadata(path).ok()?.len() <= FILE_BYTES_MAX;
    let bytes = small.then(|| std::fs::read(path).ok()).flatten()?;
    serde_json::from_slice(&bytes).ok()
}

fn text_of(object: &Value, name: &str) -> String {
    object[name].as_str().unwrap_or_default().to_owned()
}

fn texts_of(object: &Value, name: &str) -> Vec<String> {
    let all = object[name].as_array().into_iter().flatten();
    all.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn time_of(object: &Value, name: &str) -> Option<Timestamp> {
    parse_time(object[name].as_str()?)
}
