//! Invariants of every job that commands can reach, and of every job that is read from the store.

use super::{Job, JobState, MARKERS_WAITING_MAX, ProcessState};
use crate::kernel::Violation;

pub(super) fn find_violations(job: &Job) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut rule = |rule: &'static str, holds: bool, detail: String| {
        if !holds {
            found.push(Violation {
                rule,
                place: job.task_status().name().into(),
                detail,
            });
        }
    };
    let open_reviews = job.reviews.iter().filter(|review| review.is_open()).count();
    rule(
        "one_review_open_exactly_in_review",
        open_reviews == usize::from(job.state == JobState::Reviewing),
        format!("{open_reviews} reviews are open"),
    );
    rule(
        "question_open_exactly_while_asking",
        job.open_question().is_some() == (job.state == JobState::Asking),
        format!("the agent is {}", job.agent_status().name()),
    );
    rule(
        "dependency_open_exactly_while_needing",
        job.open_dependency().is_some() == (job.state == JobState::Needing),
        format!("the agent is {}", job.agent_status().name()),
    );
    rule(
        "permission_open_exactly_while_permitting",
        job.permissions.is_empty() != (job.state == JobState::Permitting),
        format!("the agent is {}", job.agent_status().name()),
    );
    rule(
        "reworks_within_limit",
        job.reworks <= job.limits.reworks_max,
        format!("{} reworks", job.reworks),
    );
    rule(
        "progress_within_hundred",
        job.progress_percent() <= 100 && job.reached.of > 0 && job.reached.done <= job.reached.of,
        format!("progress is {}", job.progress_percent()),
    );
    rule(
        "markers_waiting_within_limit",
        job.queued_markers.len() <= MARKERS_WAITING_MAX,
        format!("{} markers wait", job.queued_markers.len()),
    );
    let at_rest = job.queued_markers.is_empty() && job.queued_messages.is_empty();
    match &job.state {
        JobState::Running => rule(
            "running_has_a_process_and_heard_everything",
            at_rest && job.process == ProcessState::Live,
            format!("{} markers wait", job.queued_markers.len()),
        ),
        JobState::Draft | JobState::Pending | JobState::Completed { .. } | JobState::Failed(_) => {
            rule(
                "nothing_runs_or_waits_outside_work",
                at_rest && job.process == ProcessState::Gone,
                format!("{} markers wait", job.queued_markers.len()),
            )
        }
        JobState::Paused(_)
        | JobState::Asking
        | JobState::Needing
        | JobState::Permitting
        | JobState::Verifying { .. }
        | JobState::Reviewing => {}
    }
    let begun = match job.state {
        JobState::Draft | JobState::Pending => Some(false),
        // A task cancelled in the queue has failed without having begun.
        JobState::Failed(_) => None,
        JobState::Running
        | JobState::Paused(_)
        | JobState::Asking
        | JobState::Needing
        | JobState::Permitting
        | JobState::Verifying { .. }
        | JobState::Reviewing
        | JobState::Completed { .. } => Some(true),
    };
    let signs = [job.attempt > 0, job.phase > 0, job.started_at.is_some()];
    rule(
        "attempt_phase_and_start_exactly_when_begun",
        signs
            .iter()
            .all(|sign| *sign == begun.unwrap_or(job.attempt > 0)),
        format!("attempt {}, phase {}", job.attempt, job.phase),
    );
    rule(
        "phase_within_type",
        job.phase <= job.total_phases(),
        format!("phase {} of {}", job.phase, job.total_phases()),
    );
    let complete =
        !job.title.trim().is_empty() && !job.description.trim().is_empty() && job.kind.is_some();
    rule(
        "only_a_draft_is_incomplete",
        complete || job.state == JobState::Draft,
        "title, type or description is missing".into(),
    );
    rule(
        "archived_only_when_completed",
        !job.archived || matches!(job.state, JobState::Completed { .. }),
        "is archived".into(),
    );
    rule(
        "retried_only_when_failed",
        job.retried_by.is_none() || matches!(job.state, JobState::Failed(_)),
        "is retried".into(),
    );
    found
}
