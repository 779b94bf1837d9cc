//! Verbs of `bowline memory`.

mod consistency;
mod tasks;
mod value_input;
mod values;

pub use bowline_formats::memory::agent_memory::AgentMemory;
pub use bowline_formats::memory::shared_context::SharedContext;
pub use bowline_machines::plan::{
    ActiveTask, DefaultSummary, FailureKind, HistoryEntry, NewStep, NewTask, PlanStep,
    PlanTaskStatus, StepStatus, TRIES_MAX, TaskArtifact, TaskContext as Request, TaskMemory,
    TaskResult, compute_statistics, find_similar,
};
pub use tasks::{FinishReport, RequestedTask, StepFailed};
pub use value_input::parse_value;

use crate::context::Context;
use crate::error::Error;
use crate::files::{ChangeOutcome, ChangeRecord, FileNotice, KnownFile};
use crate::kinds::{FileKind, TaskStateKind};
use bowline_formats::json::JsonDocument;
use bowline_formats::memory::agent_memory::{self, AgentMemoryFile};
use bowline_formats::memory::shared_context;
use bowline_formats::memory::task_history::{self, TaskHistoryFile};
use bowline_formats::memory::task_state;
use bowline_formats::time;
use bowline_machines::Machine as _;
use bowline_machines::plan::{Command, PlanMachine, PrunedHistory, next_id, prune_history};
use bowline_words::message as words;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::path::{Path, PathBuf};

/// Memory folder: the current task, its history, the shared context and the agents' memories.
#[derive(Debug, Clone)]
pub struct MemoryFolder {
    folder: PathBuf,
    state: KnownFile,
    history: KnownFile,
    shared: KnownFile,
}

/// Result of pruning.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PruneReport {
    /// Ids of tasks removed from the history.
    pub removed: Vec<String>,
    /// Ids of tasks reduced to their summary.
    pub summarised: Vec<String>,
    /// Agents whose caches were cut.
    pub agents: Vec<String>,
}

impl MemoryFolder {
    /// Returns the memory in a folder.
    pub fn in_folder(context: &Context, folder: &Path) -> Self {
        let file = |kind, name: &str| KnownFile::new(context, kind, &folder.join(name));
        MemoryFolder {
            folder: folder.to_owned(),
            state: file(FileKind::TaskState, task_state::FILE_NAME),
            history: file(FileKind::TaskHistory, task_history::FILE_NAME),
            shared: file(FileKind::SharedContext, shared_context::FILE_NAME),
        }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the current task and the queue behind it.
    pub fn read_memory(&self, context: &Context) -> Result<TaskMemory, Error> {
        let view = self.state.view_or_empty(context)?;
        Ok(view.memory().cloned().unwrap_or_default())
    }

    /// Returns the file of the current task.
    pub fn state_file(&self) -> &KnownFile {
        &self.state
    }

    /// Returns the file of the tasks that are over.
    pub fn history_file(&self) -> &KnownFile {
        &self.history
    }

    /// Returns the file of the shared context.
    pub fn shared_file(&self) -> &KnownFile {
        &self.shared
    }

    /// Returns the memory file of an agent.
    pub fn agent_file(&self, context: &Context, name: &str) -> Result<KnownFile, Error> {
        if !agent_memory::is_name(name) {
            return Err(Error::BadInput {
                message: words::Wrong::NotAnAgentName { name: name.into() },
                hint: words::Advice::SmallLetters,
            });
        }
        // Dated copies of all files of the memory are in one folder.
        let own = [&self.state, &self.history, &self.shared];
        if own
            .iter()
            .any(|file| file.path.file_stem().is_some_and(|stem| stem == name))
        {
            return Err(Error::BadInput {
                message: words::Wrong::MemoryFileName { name: name.into() },
                hint: words::Advice::OtherAgentName,
            });
        }
        let path = self
            .folder
            .join(agent_memory::FOLDER_NAME)
            .join(format!("{name}.json"));
        Ok(KnownFile::new(context, FileKind::AgentMemory, &path))
    }

    /// Creates missing files, and restores those of which only the journal is left. Returns their
    /// kinds.
    pub fn create_files(&self, context: &Context) -> Result<Vec<FileKind>, Error> {
        let mut made = Vec::new();
        for file in [&self.state, &self.history, &self.shared] {
            if file.create_initial(context)? || file.bring_back(context)? {
                made.push(file.kind);
            }
        }
        Ok(made)
    }

    /// Creates files that never existed. A lost file is restored by the change itself, which then
    /// reports it.
    fn make_missing(&self, context: &Context) -> Result<(), Error> {
        for file in [&self.state, &self.history, &self.shared] {
            file.create_initial(context)?;
        }
        Ok(())
    }

    /// Executes one command on the current task.
    fn execute_command(
        &self,
        context: &Context,
        (entity, trigger): (&'static str, &'static str),
        metadata: Value,
        command: &Command,
    ) -> Result<ChangeOutcome<TaskMemory>, Error> {
        if !self.state.kind.is_there(&self.state.path) {
            // A refused command creates no files.
            PlanMachine::step(&TaskMemory::default(), command.clone(), context.now())
                .map_err(|refusal| Error::Refused(refusal.into()))?;
        }
        self.make_missing(context)?;
        self.on_task(context, entity, trigger, metadata, |_| Ok(command.clone()))
    }

    fn on_task(
        &self,
        context: &Context,
        entity: &'static str,
        trigger: &'static str,
        metadata: Value,
        command: impl Fn(&TaskMemory) -> Result<Command, Error>,
    ) -> Result<ChangeOutcome<TaskMemory>, Error> {
        let mut repaired = self.settle_effects(context)?;
        repaired.extend(self.clear_finished(context)?);
        let describe = |before: &TaskMemory, after: &TaskMemory| {
            let status = |memory: &TaskMemory| step_or_task(memory, entity, &metadata);
            let id = |memory: &TaskMemory| memory.current.as_ref().map(|task| task.id.clone());
            // The status of a finished task is its end, not the status of the task that follows it.
            let to = match trigger {
                "FINISH" if id(before) != id(after) => Some("completed".into()),
                "CANCEL" if id(before) != id(after) => Some("cancelled".into()),
                _ => status(after),
            };
            let to = to.unwrap_or_else(|| "none".into());
            let mut metadata = metadata.clone();
            if trigger == "NEW" {
                // The line has the id of the current task, which need not be the new one.
                let queued = after.queue.last().map(|queued| queued.id.clone());
                metadata["id"] = json!(queued.or_else(|| id(after)));
            }
            ChangeRecord::new(entity, trigger, status(before), to).with_metadata(metadata)
        };
        let outcome = self
            .state
            .execute_command::<TaskStateKind>(context, command, describe);
        let mut changed = match outcome {
            Ok(changed) => changed,
            // Refused all the same; but the repair must be reported.
            Err(error) if context.dry_run => return Err(error),
            Err(error) => return Err(error.after_repairs(repaired)),
        };
        changed.view.notices.splice(0..0, repaired);
        let settled = self.settle_effects(context).and_then(|notices| {
            // The caches of its agents are no longer needed.
            if matches!(trigger, "FINISH" | "CANCEL") && !context.dry_run {
                self.prune_caches(context)?;
            }
            Ok(notices)
        });
        match settled {
            Ok(notices) => changed.view.notices.extend(notices),
            // The change is committed, and the result says so; its history entry stays pending for
            // the next command.
            Err(error) => changed.view.notices.push(FileNotice::Keeper {
                code: "history_owed",
                words: words::Notice::HistoryNotWritten {
                    error: error.to_string(),
                },
            }),
        }
        Ok(changed)
    }

    /// Begins another session and returns its id. Shared values stay until they are set.
    pub fn session_new(&self, context: &Context) -> Result<ChangeOutcome<String>, Error> {
        self.make_missing(context)?;
        let today = time::format_utc(context.now());
        let day = today.split('T').next().unwrap_or_default();
        let moved = ChangeRecord {
            important: true,
            ..ChangeRecord::new("session", "SESSION_NEW", None, "started")
        };
        let mut id = String::new();
        let changed = self
            .shared
            .edit_state::<shared_context::SharedContextFile>(context, &moved, |shared| {
                id = next_id("session", day, [shared.session_id.as_str()]);
                shared.session_id.clone_from(&id);
                shared.session_started_at = context.now();
                Ok(true)
            })?;
        let changed = changed.ok_or_else(|| Error::NothingHere {
            path: self.folder.clone(),
        })?;
        Ok(changed.with_state(id))
    }

    /// Stores a dated copy of every file of the memory. Returns the copies; a dry run returns the
    /// files.
    pub fn back_up(&self, context: &Context) -> Result<Vec<PathBuf>, Error> {
        let mut copies = Vec::new();
        for file in self.all_files(context) {
            if !file.kind.is_there(&file.path) {
                continue;
            }
            if context.dry_run {
                copies.push(file.path);
            } else {
                copies.extend(file.archive_copy(context)?);
            }
        }
        Ok(copies)
    }

    /// Restores a dated copy: the named one, or the newest of the current task. Returns its name,
    /// or an empty text if another source was better. Needs a person.
    pub fn restore_copy(
        &self,
        context: &Context,
        which: Option<&str>,
        seen: Option<u64>,
    ) -> Result<ChangeOutcome<String>, Error> {
        crate::history::require_person(context, "restore")?;
        let name = |path: &Path| {
            path.file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned()
        };
        if which.is_none() && self.state.path.symlink_metadata().is_err() {
            // Any other source is better than the newest dated copy, or is that copy.
            return self.bring_back_state(context);
        }
        let wanted = which.unwrap_or("task-state-");
        let missing = || Error::NoCopy {
            which: wanted.to_owned(),
            folder: self.folder.join("backup"),
        };
        let wanted_of = |file: &KnownFile| -> Result<Option<PathBuf>, Error> {
            let copies = file.file.archived_copies()?.into_iter();
            let fitting: Vec<PathBuf> = copies
                .filter(|path| name(path).starts_with(wanted))
                .collect();
            // The newest readable copy; if there is none, the newest one, whose error is reported.
            let whole = |path: &&PathBuf| {
                let text = std::fs::read_to_string(path).unwrap_or_default();
                file.is_good(&text)
            };
            Ok(fitting.iter().find(whole).or(fitting.first()).cloned())
        };
        let mut its_file = None;
        for file in self.all_files(context) {
            if wanted_of(&file)?.is_some() {
                its_file = Some(file);
                break;
            }
        }
        let file = its_file.ok_or_else(missing)?;
        let taken = RefCell::new(String::new());
        let changed = file.replace_seen(context, |_, now| {
            file.check_current(seen, now)?;
            // Chosen again under the lock: another command may have made a copy since.
            let copy = wanted_of(&file)?.ok_or_else(missing)?;
            let bad = |why: words::Why| Error::bad_file(&copy, why, words::Advice::ChooseCopy);
            let bytes =
                std::fs::read(&copy).map_err(|error| bad(crate::words::cannot_be_read(&error)))?;
            let earlier = JsonDocument::parse(&bytes).map_err(|error| {
                bad(words::Why::Damaged {
                    found: Box::new(error.to_message()),
                })
            })?;
            let to = crate::kinds::examine_document(file.kind, &earlier)
                .map_err(|findings| Error::Damaged {
                    path: copy.clone(),
                    findings,
                })?
                .status;
            taken.replace(name(&copy));
            let moved = ChangeRecord {
                important: true,
                ..ChangeRecord::new("file", "RESTORE", None, to)
            };
            let moved = moved.with_metadata(json!({ "copy": name(&copy) }));
            Ok((Some(earlier), moved))
        })?;
        Ok(changed.with_state(taken.into_inner()))
    }

    /// Restores the file of the current task after it was removed.
    fn bring_back_state(&self, context: &Context) -> Result<ChangeOutcome<String>, Error> {
        let state = &self.state;
        if !state.kind.is_there(&state.path) {
            return Err(Error::NoCopy {
                which: "task-state-".into(),
                folder: self.folder.join("backup"),
            });
        }
        let restore_notice = match state.read_view(context) {
            Err(Error::Damaged { findings, .. }) if !context.dry_run => state
                .restore_damaged(context, &findings)?
                .map(|it| it.notice),
            Err(error) => return Err(error),
            // Committed, but not in place yet.
            Ok(_) => {
                state.bring_back(context)?;
                None
            }
        };
        let mut view = state.read_view(context)?;
        view.notices.extend(restore_notice);
        let moved = ChangeRecord::new("file", "RESTORE", None, view.examined.status.clone());
        Ok(ChangeOutcome {
            view,
            moved,
            state: String::new(),
        })
    }

    /// Returns every file of the memory, the agents' last.
    fn all_files(&self, context: &Context) -> Vec<KnownFile> {
        let agents = FileKind::AgentMemory.files_at(&self.folder.join(agent_memory::FOLDER_NAME));
        let agents = agents
            .iter()
            .map(|path| KnownFile::new(context, FileKind::AgentMemory, path));
        [
            self.state.clone(),
            self.history.clone(),
            self.shared.clone(),
        ]
        .into_iter()
        .chain(agents)
        .collect()
    }

    /// Reduces history and caches to what is kept.
    pub fn prune_files(&self, context: &Context) -> Result<PruneReport, Error> {
        let mut report = PruneReport::default();
        self.settle_effects(context)?;
        if self.history.read_view(context).is_ok() {
            let moved = ChangeRecord {
                important: true,
                ..ChangeRecord::new("history", "PRUNE", None, "pruned")
            };
            self.history
                .edit_state::<TaskHistoryFile>(context, &moved, |entries| {
                    let pruned = prune_history(entries, context.now());
                    let changed = pruned != PrunedHistory::default();
                    report.removed = pruned.removed;
                    report.summarised = pruned.summarised;
                    Ok(changed)
                })?;
        }
        report.agents = self.prune_caches(context)?;
        Ok(report)
    }

    /// Reduces the agents' caches to what is kept. Returns the agents.
    fn prune_caches(&self, context: &Context) -> Result<Vec<String>, Error> {
        let mut agents = Vec::new();
        for path in FileKind::AgentMemory.files_at(&self.folder.join(agent_memory::FOLDER_NAME)) {
            let file = KnownFile::new(context, FileKind::AgentMemory, &path);
            let moved = ChangeRecord {
                important: true,
                ..ChangeRecord::new("cache", "PRUNE", None, "pruned")
            };
            let mut cut = None;
            file.edit_state::<AgentMemoryFile>(context, &moved, |memory| {
                let pruned = agent_memory::prune_cache(memory, context.now());
                cut = pruned.as_ref().map(|_| memory.agent.clone());
                Ok(pruned.map(|pruned| *memory = pruned).is_some())
            })?;
            agents.extend(cut);
        }
        Ok(agents)
    }
}

fn step_or_task(memory: &TaskMemory, entity: &str, metadata: &Value) -> Option<String> {
    let task = memory.current.as_ref()?;
    let step = metadata["step"]
        .as_u64()
        .and_then(|id| u32::try_from(id).ok());
    match step
        .filter(|_| entity == "step")
        .and_then(|id| task.plan.find_step(id))
    {
        Some(step) => Some(step.status.name().to_owned()),
        None => Some(task.status.name().to_owned()),
    }
}
