//! Invariants of every job that commands can reach, and of every job that is read from the store.

use super::{Job, Life, MARKERS_WAITING_MAX, Process};
use crate::kernel::Violation;

pub(super) fn violations(job: &Job) -> Vec<Violation> {
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
        open_reviews == usize::from(job.life == Life::Reviewing),
        format!("{open_reviews} reviews are open"),
    );
    rule(
        "question_open_exactly_while_asking",
        job.open_question().is_some() == (job.life == Life::Asking),
        format!("the agent is {}", job.agent_status().name()),
    );
    rule(
        "dependency_open_exactly_while_needing",
        job.open_dependency().is_some() == (job.life == Life::Needing),
        format!("the agent is {}", job.agent_status().name()),
    );
    rule(
        "permission_open_exactly_while_permitting",
        job.permissions.is_empty() != (job.life == Life::Permitting),
        format!("the agent is {}", job.agent_status().name()),
    );
    rule(
        "reworks_within_limit",
        job.reworks <= job.limits.reworks_max,
        format!("{} reworks", job.reworks),
    );
    rule(
        "progress_within_hundred",
        job.progress() <= 100 && job.reached.of > 0 && job.reached.done <= job.reached.of,
        format!("progress is {}", job.progress()),
    );
    rule(
        "markers_waiting_within_limit",
        job.waiting.len() <= MARKERS_WAITING_MAX,
        format!("{} markers wait", job.waiting.len()),
    );
    let at_rest = job.waiting.is_empty() && job.unsaid.is_empty();
    match &job.life {
        Life::Running => rule(
            "running_has_a_process_and_heard_everything",
            at_rest && job.process == Process::Live,
            format!("{} markers wait", job.waiting.len()),
        ),
        Life::Draft | Life::Pending | Life::Completed { .. } | Life::Failed(_) => rule(
            "nothing_runs_or_waits_outside_work",
            at_rest && job.process == Process::Gone,
            format!("{} markers wait", job.waiting.len()),
        ),
        Life::Paused(_)
        | Life::Asking
        | Life::Needing
        | Life::Permitting
        | Life::Verifying { .. }
        | Life::Reviewing => {}
    }
    let begun = match job.life {
        Life::Draft | Life::Pending => Some(false),
        // A task cancelled in the queue has failed without having begun.
        Life::Failed(_) => None,
        Life::Running
        | Life::Paused(_)
        | Life::Asking
        | Life::Needing
        | Life::Permitting
        | Life::Verifying { .. }
        | Life::Reviewing
        | Life::Completed { .. } => Some(true),
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
        complete || job.life == Life::Draft,
        "title, type or description is missing".into(),
    );
    rule(
        "archived_only_when_completed",
        !job.archived || matches!(job.life, Life::Completed { .. }),
        "is archived".into(),
    );
    rule(
        "retried_only_when_failed",
        job.retried_by.is_none() || matches!(job.life, Life::Failed(_)),
        "is retried".into(),
    );
    found
}
