//! The git worker threads of a run: one for worktrees, one for landings, one for forecasts. Each
//! does one item at a time.

use super::ports::{Event, Job, Landed, Overlap, PhaseEnded, Wish};
use super::repo::{
    Forecasts, PhasePlace, Prepared, Repo, TaskPlace, check_red, command, evidence_red,
    with_way_out,
};
use super::run::Heard;
use crate::core::why::Why;
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
const CLEAN_PAUSE: Duration = Duration::from_millis(500);

/// A call of git with everything it needs to know, which its worker makes.
type Work = Box<dyn FnOnce(&Repo, &mut Forecasts) -> Option<Event> + Send>;

/// Sends items to the workers, which end when this is dropped.
pub(super) struct Jobs {
    rooms: Sender<Work>,
    landings: Sender<Work>,
    forecasts: Sender<Work>,
    threads: Vec<JoinHandle<()>>,
}

impl Jobs {
    pub(super) fn begin(repo: &Repo, heard: &Sender<Heard>) -> std::io::Result<Jobs> {
        let mut threads = Vec::new();
        let mut begin = |name| -> std::io::Result<Sender<Work>> {
            let (send, thread) = thread(name, repo.beside(name), heard.clone())?;
            threads.push(thread);
            Ok(send)
        };
        Ok(Jobs {
            rooms: begin("rooms")?,
            landings: begin("landings")?,
            forecasts: begin("forecasts")?,
            threads,
        })
    }

    /// Waits until all queued items are done.
    pub(super) fn finish(self) {
        drop((self.rooms, self.landings, self.forecasts));
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
        send(&self.rooms, move |repo, _| {
            let prepared = repo.room(&task, merge, on.as_deref(), fresh);
            let prepared = prepared.unwrap_or_else(|error| Prepared::Failed {
                why: repo.why(&error),
            });
            Some(Event::Room {
                id: NodeId::from(task.id.as_str()),
                prepared,
            })
        });
    }

    /// Cleans up after the task with this name of a worktree.
    pub(super) fn clean_up(&self, name: String) {
        send(&self.rooms, move |repo, _| {
            // The next run finds what cannot be cleaned up now.
            for _ in 0..CLEAN_TRIES_MAX {
                if repo.clean(&name).is_ok() {
                    break;
                }
                // The end of a lock's owner is noticed a little later.
                std::thread::sleep(CLEAN_PAUSE);
            }
            None
        });
    }

    pub(super) fn forecast(&self, id: NodeId, others: Vec<NodeId>) {
        // An agent may be writing at this moment; a later forecast will succeed.
        send(&self.forecasts, move |repo, seen| {
            let overlaps = repo.forecast(seen, &id, &others).ok()?;
            Some(Event::Forecast { id, overlaps })
        });
    }

    pub(super) fn land_task(&self, task: TaskPlace, reserved: Vec<Overlap>) {
        send(&self.landings, move |repo, _| {
            let outcome = match repo.land(&task, &reserved) {
                Ok(Landed::Blocked { why }) => Landed::Blocked {
                    why: with_way_out(why),
                },
                Ok(outcome) => outcome,
                Err(error) => Landed::Blocked {
                    why: with_way_out(repo.why(&error)),
                },
            };
            Some(Event::Landed {
                id: NodeId::from(task.id.as_str()),
                outcome,
            })
        });
    }

    /// Lands a phase; `done` are the ids of its completed tasks.
    pub(super) fn finish_phase(&self, phase: PhasePlace, title: String, done: Vec<String>) {
        send(&self.landings, move |repo, _| {
            let outcome = finish(repo, &phase, &title, &done);
            let blocked = |error| PhaseEnded::Blocked {
                why: with_way_out(repo.why(&error)),
            };
            Some(Event::PhaseEnded {
                phase: phase.number,
                outcome: outcome.unwrap_or_else(blocked),
            })
        });
    }
}

fn send(
    worker: &Sender<Work>,
    work: impl FnOnce(&Repo, &mut Forecasts) -> Option<Event> + Send + 'static,
) {
    // The workers live as long as their senders do.
    let _ = worker.send(Box::new(work));
}

fn thread(
    name: &str,
    repo: Repo,
    heard: Sender<Heard>,
) -> std::io::Result<(Sender<Work>, JoinHandle<()>)> {
    let (send, work) = channel::<Work>();
    let thread = std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(move || {
            let mut seen = Forecasts::default();
            while let Ok(work) = work.recv() {
                if let Some(event) = work(&repo, &mut seen)
                    && heard.send(Heard::Event(event)).is_err()
                {
                    return;
                }
            }
        })?;
    Ok((send, thread))
}

/// Lands a phase whose tasks are all on its branch.
pub(super) fn finish(
    repo: &Repo,
    phase: &PhasePlace,
    title: &str,
    done: &[String],
) -> Result<PhaseEnded, Error> {
    if let Some(why) = repo.landings_gone(&phase.branch, done)? {
        return Ok(PhaseEnded::LandingsGone { why });
    }
    Ok(match repo.finish(phase, title)? {
        PhaseEnded::Blocked { why } => PhaseEnded::Blocked {
            why: with_way_out(why),
        },
        ended @ (PhaseEnded::Ended { .. } | PhaseEnded::LandingsGone { .. }) => ended,
    })
}

/// Carries out an operation outside of git: all tasks work in the project itself, which is checked
/// in place.
pub(super) fn without_git(
    job: Job,
    root: PathBuf,
    settings: &OrchestrateSettings,
    environment: BTreeMap<String, String>,
    heard: &Sender<Heard>,
) {
    let commands = match &job {
        Job::Land { .. } => vec![settings.evidence.clone()],
        Job::FinishPhase { .. } => settings.checks.clone(),
        Job::Room { .. } | Job::Clean { .. } | Job::Forecast { .. } => Vec::new(),
    };
    let over = |job: Job, why: Option<Why>| match job {
        Job::Room { id, .. } => Some(Event::Room {
            id,
            prepared: Prepared::Ready { renewed: false },
        }),
        Job::Land { id, .. } => {
            let outcome = match why.map(evidence_red) {
                Some(why) => Landed::Red { why },
                None => Landed::Done,
            };
            Some(Event::Landed { id, outcome })
        }
        Job::FinishPhase { phase } => {
            let end = match why {
                Some(_) => PhaseEnd::ChecksRed,
                None => PhaseEnd::NoGit,
            };
            let why = why.map(check_red);
            let outcome = PhaseEnded::Ended { end, why };
            Some(Event::PhaseEnded { phase, outcome })
        }
        Job::Clean { .. } | Job::Forecast { .. } => None,
    };
    let tell = |heard: &Sender<Heard>, event: Option<Event>| {
        if let Some(event) = event {
            let _ = heard.send(Heard::Event(event));
        }
    };
    // Without a command no thread is needed.
    if commands.iter().all(Vec::is_empty) {
        return tell(heard, over(job, None));
    }
    let (heard, told) = (heard.clone(), heard.clone());
    let work = move || tell(&heard, over(job, red(&commands, &root, &environment)));
    if std::thread::Builder::new().spawn(work).is_err() {
        let _ = told.send(Heard::Wish(Wish::Leave));
    }
}

/// Runs commands in order; returns the failure of the first that fails.
fn red(
    commands: &[Vec<String>],
    folder: &Path,
    environment: &BTreeMap<String, String>,
) -> Option<Why> {
    let commands = commands.iter().filter(|words| !words.is_empty());
    commands
        .map(|words| command(words, folder, environment).unwrap_or_else(|error| Some(error.into())))
        .find_map(|why| why)
}
