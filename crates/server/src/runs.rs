//! Runs that people start on the page. Each does the same as `bowline KIND run`, on a thread of
//! this process; its agents belong to their shims and continue when the server stops.

use crate::error::ApiError;
use crate::serve::SharedState;
use crate::workspaces::publish_changes;
use bowline_engine::operations::develop::DevelopRun;
use bowline_engine::operations::memory::MemoryFolder;
use bowline_engine::operations::orchestrate::{Orchestration, RunNotification};
use bowline_engine::operations::thinking::ThinkingRun;
use bowline_engine::{Context, Error};
use bowline_runner::core::state_file_runner;
use bowline_runner::core::stop_handle::StopHandle;
use bowline_runner::drivers::{develop, memory, thinking};
use bowline_runner::orchestrate::{
    AttemptUsage, FailureReason, RunNotice, RunOptions, RunScreen, RunView, render_announcement,
    run,
};
use bowline_words::Lang;
use bowline_words::message::ServerNo;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Maximum time to wait until a run has started; cleaning up after an earlier one may take long.
const START_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum time to wait for runs when the server stops.
const DETACH_TIMEOUT: Duration = Duration::from_secs(10);
/// Polling interval of that wait.
const DETACH_POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The runs in this process.
#[derive(Default)]
pub(crate) struct ActiveRuns(Mutex<Vec<ActiveRun>>);

struct ActiveRun {
    path: PathBuf,
    stopper: StopHandle,
    over: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl ActiveRun {
    fn is_over(&self) -> bool {
        self.over.load(Ordering::SeqCst) || self.thread.is_finished()
    }
}

/// The kinds of work that can run in this process.
pub(crate) enum RunnableWork {
    Orchestration(Orchestration),
    Thinking(ThinkingRun),
    Memory(Box<MemoryFolder>),
    Develop(DevelopRun),
}

impl RunnableWork {
    fn state_file_path(&self) -> &Path {
        match self {
            RunnableWork::Orchestration(it) => &it.file().path,
            RunnableWork::Thinking(it) => &it.file().path,
            RunnableWork::Memory(it) => &it.state_file().path,
            RunnableWork::Develop(it) => &it.file().path,
        }
    }

    /// Runs it to the end and returns its result for the log.
    fn run(
        &self,
        context: &Context,
        agent: Option<String>,
        lang: Lang,
        begun: impl FnOnce(StopHandle),
    ) -> Result<String, Error> {
        let mut quiet = QuietScreen(lang);
        let ended_text = |report: state_file_runner::WorkReport| report.ended.to_string();
        match self {
            RunnableWork::Orchestration(it) => {
                let options = RunOptions {
                    agent,
                    ..RunOptions::default()
                };
                let report = run(context, it, &options, &mut quiet, begun)?;
                Ok(report.ended.to_string())
            }
            RunnableWork::Thinking(it) => {
                let options = thinking::ThinkingOptions {
                    agent,
                    ..thinking::ThinkingOptions::default()
                };
                thinking::run(context, it, &options, &mut quiet, begun).map(ended_text)
            }
            RunnableWork::Memory(it) => {
                let options = memory::MemoryOptions {
                    agent,
                    ..memory::MemoryOptions::default()
                };
                memory::run(context, it, &options, &mut quiet, begun).map(ended_text)
            }
            RunnableWork::Develop(it) => {
                let options = develop::DevelopOptions {
                    agent,
                    ..develop::DevelopOptions::default()
                };
                develop::run(context, it, &options, &mut quiet, begun).map(ended_text)
            }
        }
    }
}

impl ActiveRuns {
    /// Starts a run; returns the error that prevents it. Later results are in its state file.
    pub(crate) fn start_run(
        &self,
        shared: &Arc<SharedState>,
        what: RunnableWork,
        agent: Option<String>,
        lang: Lang,
    ) -> Result<(), ApiError> {
        let (begun, begins) = sync_channel(2);
        let (context, weak_shared) = (shared.context.clone(), Arc::downgrade(shared));
        let over = Arc::new(AtomicBool::new(false));
        let ended = over.clone();
        let path = what.state_file_path().to_owned();
        let of_run = path.clone();
        let work = move || {
            let said = begun.clone();
            let begun_with = |stopper| drop(said.send(Ok(stopper)));
            match what.run(&context, agent, lang, begun_with) {
                Ok(ended) => tracing::info!(path = %path.display(), ended, "run"),
                Err(error) => {
                    tracing::warn!(path = %path.display(), %error, "run");
                    // Nothing receives this once the run has started.
                    let _ = begun.try_send(Err(error));
                }
            }
            // The file may have its last change already: this event tells pages that it can be run
            // again.
            ended.store(true, Ordering::SeqCst);
            if let Some(shared) = weak_shared.upgrade() {
                publish_changes(&shared, &[path]);
            }
        };
        let thread = std::thread::Builder::new().name("run".into());
        let thread = thread.spawn(work).map_err(|_| ServerNo::Exhausted)?;
        match begins.recv_timeout(START_TIMEOUT) {
            Ok(Ok(stopper)) => {
                let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                all.retain(|it| !it.is_over());
                all.push(ActiveRun {
                    path: of_run,
                    stopper,
                    over,
                    thread,
                });
                Ok(())
            }
            Ok(Err(error)) => Err(ApiError::Engine(error)),
            // It continues; the file shows when it has started.
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Ok(()),
        }
    }

    /// Stops the run of a file with its agents. Returns true if there is one here.
    pub(crate) fn stop_run(&self, path: &Path) -> bool {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = all.iter().find(|it| it.path == path && !it.is_over());
        found.map(|it| it.stopper.stop()).is_some()
    }

    /// True if a run of this file is active here.
    pub(crate) fn is_active(&self, path: &Path) -> bool {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().any(|it| it.path == path && !it.is_over())
    }

    /// Makes all runs detach: nothing new is started, and agents continue.
    pub(crate) fn detach_all(&self) {
        let all = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        for run in &all {
            run.stopper.leave();
        }
        let end = Instant::now() + DETACH_TIMEOUT;
        while all.iter().any(|it| !it.is_over()) && Instant::now() < end {
            std::thread::sleep(DETACH_POLL_INTERVAL);
        }
    }
}

/// A display without output: the page reads the state file.
struct QuietScreen(Lang);

impl RunScreen for QuietScreen {
    fn show_notice(&mut self, _: &RunNotice, _: &RunView) {}

    fn plan_changed(&mut self, _: &RunView) {}

    fn update_usage(&mut self, _: &str, _: AttemptUsage) {}

    fn announcement_text(
        &self,
        news: &RunNotification,
        why: Option<&FailureReason>,
        project: &str,
    ) -> String {
        render_announcement(news, why, project, self.0)
    }
}

impl state_file_runner::WorkScreen for QuietScreen {
    fn show_progress(&mut self, _: &state_file_runner::WorkProgress) {}
}
