//! The git worker threads of a run: one for worktrees, one for landings, one for forecasts. Each
//! does one item at a time.

use super::ports::{ConductorEvent, FileOverlap, GitJob, LandOutcome, PhaseOutcome, RunRequest};
use super::repo::{
    ForecastCache, PhasePlace, RunRepo, TaskPlace, WorktreeOutcome, check_red, evidence_red,
    run_command, with_resume_command,
};
use super::run::LoopInput;
use crate::core::failure::FailureReason;
use bowline_engine::Error;
use bowline_engine::formats::run_settings::OrchestrateSettings;
use bowline_engine::machines::orchestrate::{NodeId, PhaseEnd};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Maximum number of tries to clean up after a task: a killed git is started again.
const CLEAN_TRIES_MAX: u32 = 6;
/// Wait between two of these tries.
const CLEAN_RETRY_PAUSE: Duration = Duration::from_millis(500);

/// A call of git with everything it needs to know, which its worker makes.
type GitWork = Box<dyn FnOnce(&RunRepo, &mut ForecastCache) -> Option<ConductorEvent> + Send>;

/// Sends items to the workers, which end when this is dropped.
pub(super) struct GitWorkers {
    worktrees: Sender<GitWork>,
    landings: Sender<GitWork>,
    forecasts: Sender<GitWork>,
    threads: Vec<JoinHandle<()>>,
}

impl GitWorkers {
    pub(super) fn spawn(repo: &RunRepo, inputs: &Sender<LoopInput>) -> std::io::Result<GitWorkers> {
        let mut threads = Vec::new();
        let mut begin = |name| -> std::io::Result<Sender<GitWork>> {
            let (send, thread) = spawn_worker(name, repo.for_thread(name), inputs.clone())?;
            threads.push(thread);
            Ok(send)
        };
        Ok(GitWorkers {
            worktrees: begin("rooms")?,
            landings: begin("landings")?,
            forecasts: begin("forecasts")?,
            threads,
        })
    }

    /// Waits until all queued items are done.
    pub(super) fn finish_queued(self) {
        drop((self.worktrees, self.landings, self.forecasts));
        for thread in self.threads {
            // A worker that panicked has nothing more to do.
            let _ = thread.join();
        }
    }

    pub(super) fn prepare_worktree(
        &self,
        task: TaskPlace,
        merge: bool,
        on: Option<NodeId>,
        fresh: bool,
    ) {
        send(&self.worktrees, move |repo, _| {
            let prepared = repo.prepare_worktree(&task, merge, on.as_deref(), fresh);
            let prepared = prepared.unwrap_or_else(|error| WorktreeOutcome::Failed {
                why: repo.explain_error(&error),
            });
            Some(ConductorEvent::WorktreePrepared {
                id: NodeId::from(task.id.as_str()),
                prepared,
            })
        });
    }

    /// Cleans up after the task with this name of a worktree.
    pub(super) fn clean_up(&self, name: String) {
        send(&self.worktrees, move |repo, _| {
            // The next run finds what cannot be cleaned up now.
            for _ in 0..CLEAN_TRIES_MAX {
                if repo.clean_task(&name).is_ok() {
                    break;
                }
                // The end of a lock's owner is noticed a little later.
                std::thread::sleep(CLEAN_RETRY_PAUSE);
            }
            None
        });
    }

    pub(super) fn forecast(&self, id: NodeId, others: Vec<NodeId>) {
        // An agent may be writing at this moment; a later forecast will succeed.
        send(&self.forecasts, move |repo, seen| {
            let overlaps = repo.forecast_overlaps(seen, &id, &others).ok()?;
            Some(ConductorEvent::Forecast { id, overlaps })
        });
    }

    pub(super) fn land_task(&self, task: TaskPlace, reserved: Vec<FileOverlap>) {
        send(&self.landings, move |repo, _| {
            let outcome = match repo.land_task(&task, &reserved) {
                Ok(LandOutcome::Blocked { why }) => LandOutcome::Blocked {
                    why: with_resume_command(why),
                },
                Ok(outcome) => outcome,
                Err(error) => LandOutcome::Blocked {
                    why: with_resume_command(repo.explain_error(&error)),
                },
            };
            Some(ConductorEvent::Landed {
                id: NodeId::from(task.id.as_str()),
                outcome,
            })
        });
    }

    /// Lands a phase; `done` are the ids of its completed tasks.
    pub(super) fn finish_phase(&self, phase: PhasePlace, title: String, done: Vec<String>) {
        send(&self.landings, move |repo, _| {
            let outcome = land_complete_phase(repo, &phase, &title, &done);
            let blocked = |error| PhaseOutcome::Blocked {
                why: with_resume_command(repo.explain_error(&error)),
            };
            Some(ConductorEvent::PhaseEnded {
                phase: phase.number,
                outcome: outcome.unwrap_or_else(blocked),
            })
        });
    }
}

fn send(
    worker: &Sender<GitWork>,
    work: impl FnOnce(&RunRepo, &mut ForecastCache) -> Option<ConductorEvent> + Send + 'static,
) {
    // The workers live as long as their senders do.
    let _ = worker.send(Box::new(work));
}

fn spawn_worker(
    name: &str,
    repo: RunRepo,
    inputs: Sender<LoopInput>,
) -> std::io::Result<(Sender<GitWork>, JoinHandle<()>)> {
    let (send, work) = channel::<GitWork>();
    let thread = std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(move || {
            let mut seen = ForecastCache::default();
            while let Ok(work) = work.recv() {
                if let Some(event) = work(&repo, &mut seen)
                    && inputs.send(LoopInput::Event(event)).is_err()
                {
                    return;
                }
            }
        })?;
    Ok((send, thread))
}

/// Lands a phase whose tasks are all on its branch.
pub(super) fn land_complete_phase(
    repo: &RunRepo,
    phase: &PhasePlace,
    title: &str,
    done: &[String],
) -> Result<PhaseOutcome, Error> {
    if let Some(why) = repo.landings_gone(&phase.branch, done)? {
        return Ok(PhaseOutcome::LandingsGone { why });
    }
    Ok(match repo.land_phase(phase, title)? {
        PhaseOutcome::Blocked { why } => PhaseOutcome::Blocked {
            why: with_resume_command(why),
        },
        ended @ (PhaseOutcome::Ended { .. } | PhaseOutcome::LandingsGone { .. }) => ended,
    })
}

/// Carries out an operation outside of git: all tasks work in the project itself, which is checked
/// in place.
pub(super) fn without_git(
    job: GitJob,
    root: PathBuf,
    settings: &OrchestrateSettings,
    environment: BTreeMap<String, String>,
    inputs: &Sender<LoopInput>,
) {
    let commands = match &job {
        GitJob::Land { .. } => vec![settings.evidence.clone()],
        GitJob::FinishPhase { .. } => settings.checks.clone(),
        GitJob::PrepareWorktree { .. } | GitJob::Clean { .. } | GitJob::Forecast { .. } => {
            Vec::new()
        }
    };
    let over = |job: GitJob, why: Option<FailureReason>| match job {
        GitJob::PrepareWorktree { id, .. } => Some(ConductorEvent::WorktreePrepared {
            id,
            prepared: WorktreeOutcome::Ready { renewed: false },
        }),
        GitJob::Land { id, .. } => {
            let outcome = match why.map(evidence_red) {
                Some(why) => LandOutcome::Red { why },
                None => LandOutcome::Done,
            };
            Some(ConductorEvent::Landed { id, outcome })
        }
        GitJob::FinishPhase { phase } => {
            let end = match why {
                Some(_) => PhaseEnd::ChecksRed,
                None => PhaseEnd::NoGit,
            };
            let why = why.map(check_red);
            let outcome = PhaseOutcome::Ended { end, why };
            Some(ConductorEvent::PhaseEnded { phase, outcome })
        }
        GitJob::Clean { .. } | GitJob::Forecast { .. } => None,
    };
    let send_event = |inputs: &Sender<LoopInput>, event: Option<ConductorEvent>| {
        if let Some(event) = event {
            let _ = inputs.send(LoopInput::Event(event));
        }
    };
    // Without a command no thread is needed.
    if commands.iter().all(Vec::is_empty) {
        return send_event(inputs, over(job, None));
    }
    let (inputs, fallback) = (inputs.clone(), inputs.clone());
    let work = move || {
        send_event(
            &inputs,
            over(job, first_failure(&commands, &root, &environment)),
        )
    };
    if std::thread::Builder::new().spawn(work).is_err() {
        let _ = fallback.send(LoopInput::Request(RunRequest::Leave));
    }
}

/// Runs commands in order; returns the failure of the first that fails.
fn first_failure(
    commands: &[Vec<String>],
    folder: &Path,
    environment: &BTreeMap<String, String>,
) -> Option<FailureReason> {
    let commands = commands.iter().filter(|words| !words.is_empty());
    commands
        .map(|words| {
            run_command(words, folder, environment).unwrap_or_else(|error| Some(error.into()))
        })
        .find_map(|why| why)
}
