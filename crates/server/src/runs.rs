//! Orchestrations that people start on the page. Each run is what `bowline orchestrate run` would be, on a thread of this
//! process; its agents belong to their shims, and go on when the server leaves.

use crate::problem::Problem;
use bowline_engine::Context;
use bowline_engine::operations::orchestrate::{Announced, Orchestration};
use bowline_runner::orchestrate::{
    Options, Screen, Stopper, Told, Used, View, Why, announcement, run,
};
use bowline_words::Lang;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long whoever starts a run is kept waiting until it has begun; what an earlier one left may take its time.
const BEGIN_TIME: Duration = Duration::from_secs(60);
/// How long runs may take to leave when the server stops.
const LEAVE_TIME: Duration = Duration::from_secs(10);
/// How often that is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// The runs of this server.
#[derive(Default)]
pub(crate) struct Runs(Mutex<Vec<Run>>);

struct Run {
    stopper: Stopper,
    thread: JoinHandle<()>,
}

impl Runs {
    /// Starts a run, and says what is in its way. What comes of it is in its state file.
    pub(crate) fn start(
        &self,
        context: &Context,
        orchestration: Orchestration,
        agent: Option<String>,
        lang: Lang,
    ) -> Result<(), Problem> {
        let (begun, begins) = sync_channel(2);
        let context = context.clone();
        let path = orchestration.file().path.clone();
        let work = move || {
            let options = Options {
                agent,
                ..Options::default()
            };
            let (said, mut quiet) = (begun.clone(), Quiet(lang));
            let begun_with = |stopper| drop(said.send(Ok(stopper)));
            match run(&context, &orchestration, &options, &mut quiet, begun_with) {
                Ok(report) => tracing::info!(path = %path.display(), ended = ?report.ended, "run"),
                Err(error) => {
                    tracing::warn!(path = %path.display(), %error, "run");
                    // Nobody listens any more once it has begun.
                    let _ = begun.try_send(Err(error));
                }
            }
        };
        let thread = std::thread::Builder::new().name("orchestration".into());
        let thread = thread
            .spawn(work)
            .map_err(|error| Problem::internal(&error))?;
        match begins.recv_timeout(BEGIN_TIME) {
            Ok(Ok(stopper)) => {
                let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                all.retain(|it| !it.thread.is_finished());
                all.push(Run { stopper, thread });
                Ok(())
            }
            Ok(Err(error)) => Err(Problem::Engine(error)),
            // It goes on; the file says when it has begun.
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Ok(()),
        }
    }

    /// Lets all runs leave: nothing new is started, and agents go on.
    pub(crate) fn leave(&self) {
        let all = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        for run in &all {
            run.stopper.leave();
        }
        let end = Instant::now() + LEAVE_TIME;
        while all.iter().any(|it| !it.thread.is_finished()) && Instant::now() < end {
            std::thread::sleep(LOOK);
        }
    }
}

/// Nobody watches here: the page reads the state file.
struct Quiet(Lang);

impl Screen for Quiet {
    fn told(&mut self, _: &Told, _: &View) {}

    fn plan_changed(&mut self, _: &View) {}

    fn used(&mut self, _: &str, _: Used) {}

    fn announce(&self, news: &Announced, why: Option<&Why>, project: &str) -> String {
        announcement(news, why, project, self.0)
    }
}
