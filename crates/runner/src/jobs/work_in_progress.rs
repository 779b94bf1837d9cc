//! Effects that workers execute, and removals of files that wait for them. It outlives the
//! dispatcher: a new one neither repeats an effect nor deletes files that are in use.

use super::{JobResponse, ReplyCallback};
use bowline_store::JobRow;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What workers have in hand.
#[derive(Default)]
pub(super) struct WorkInProgress(Mutex<State>);

#[derive(Default)]
struct State {
    /// Effects that were submitted and are not finished, with their jobs.
    effects: BTreeMap<u64, String>,
    /// Removed jobs whose files a worker still uses.
    removals: BTreeMap<String, (JobRow, ReplyCallback)>,
}

impl WorkInProgress {
    /// Notes an effect as submitted. False if it is in hand already: its outcome will come.
    pub(super) fn begin(&self, effect: u64, job: &str) -> bool {
        let mut state = self.state();
        state.effects.insert(effect, job.to_owned()).is_none()
    }

    /// Notes an effect as finished; returns the removal that waited for it alone.
    pub(super) fn finish(&self, effect: u64) -> Option<(JobRow, ReplyCallback)> {
        let mut state = self.state();
        let job = state.effects.remove(&effect)?;
        match state.is_used(&job) {
            true => None,
            false => state.removals.remove(&job),
        }
    }

    /// Returns the removal if no worker uses files of the job; otherwise [`Self::finish`] does so
    /// later.
    pub(super) fn remove(
        &self,
        row: JobRow,
        reply: ReplyCallback,
    ) -> Option<(JobRow, ReplyCallback)> {
        let mut state = self.state();
        if !state.is_used(&row.id) {
            return Some((row, reply));
        }
        // A dispatcher that has just begun asks again, with what the note of the removal says.
        // The first one knew the job.
        if state.removals.contains_key(&row.id) {
            drop(state);
            let (row, made) = (None, None);
            reply(Ok(JobResponse { row, made }));
        } else {
            state.removals.insert(row.id.clone(), (row, reply));
        }
        None
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn is_used(&self, job: &str) -> bool {
        self.effects.values().any(|it| it == job)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

    use super::WorkInProgress;
    use bowline_machines::job::Job;
    use bowline_store::{JobAttributes, JobRow};

    fn removed(attempt: u32) -> JobRow {
        let job = Job {
            attempt,
            ..Job::draft()
        };
        JobRow {
            id: "task_1".into(),
            version: 0,
            job: job.into(),
            about: JobAttributes::default().into(),
        }
    }

    #[test]
    fn files_are_removed_after_the_last_worker_as_the_first_request_knew_them() {
        let work = WorkInProgress::default();
        assert!(work.begin(1, "task_1") && work.begin(2, "task_1") && work.begin(3, "task_2"));
        assert!(!work.begin(1, "task_1"));
        assert!(work.remove(removed(4), Box::new(|_| {})).is_none());
        // A restarted dispatcher repeats it, from a note that could not be written.
        let (replied, replies) = std::sync::mpsc::channel();
        let again = work.remove(removed(0), Box::new(move |it| replied.send(it).unwrap()));
        assert!(again.is_none());
        assert!(replies.try_recv().unwrap().is_ok());
        assert!(work.finish(2).is_none());
        assert!(work.finish(2).is_none());
        let (row, _) = work.finish(1).unwrap();
        assert_eq!(row.job.attempt, 4);
        assert!(work.remove(removed(1), Box::new(|_| {})).is_some());
        assert!(work.finish(3).is_none());
    }
}
