//! Invariants of every run: each is checked on all tasks, never on the counts kept beside them.

use super::run::SectionCounts;
use super::{Run, Status};
use crate::kernel::Violation;
use imbl::OrdSet;

/// Returns the invariants that do not hold; all of them hold in every run that commands can reach.
pub(super) fn violations(run: &Run) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut note = |rule, place: &str, detail: String| {
        found.push(Violation {
            rule,
            place: place.into(),
            detail,
        });
    };
    let limit = run.config.retry_limit.max(1);
    let mut counts = [0; 6];
    let mut completed = vec![0; run.phases.len()];
    let mut sections = vec![SectionCounts::default(); run.graph.sections_len()];
    for node in run.graph.nodes() {
        let (id, state) = (run.graph.id(node), run.at(node));
        let status = state.status;
        counts[status.index()] += 1;
        completed[run.graph.place(node)] += usize::from(status == Status::Completed);
        let section = &mut sections[run.graph.section_place(node)];
        section.open += u32::from(status != Status::Completed);
        section.obstructing += u32::from(status.obstructs());
        let needs = || {
            let needs = run.graph.needs(node).iter();
            needs.map(|&need| run.at(need).status)
        };
        let open = needs().filter(|&need| need != Status::Completed).count();
        let obstructions = needs().filter(|&need| need.obstructs()).count();
        if (state.open_needs as usize, state.obstructions as usize) != (open, obstructions) {
            let detail = format!(
                "counts {} open and {} obstructed dependencies, has {open} and {obstructions}",
                state.open_needs, state.obstructions
            );
            note("kept_dependency_counts_are_true", id, detail);
        }
        let earlier = || run.graph.earlier_section_tasks(node).map(|it| run.at(it));
        let obstructed = obstructions > 0 || earlier().any(|it| it.status.obstructs());
        let blocked = status.is_derived() && obstructed;
        if blocked != (status == Status::Blocked) {
            let detail = format!("is {} behind {obstructions} obstructions", status.name());
            note("blocked_exactly_behind_a_failure", id, detail);
        }
        let current = run.graph.place(node) == run.current;
        let held = earlier().any(|it| it.status != Status::Completed);
        let ready = status.is_derived() && open == 0 && !held && current;
        if ready != (status == Status::Ready) {
            let detail = format!("is {} with {open} open dependencies", status.name());
            note("ready_exactly_when_free_in_the_current_phase", id, detail);
        }
        if state.attempts > limit {
            let detail = format!("{} runs of {limit}", state.attempts);
            note("attempts_within_limit", id, detail);
        }
        if state.started_at.is_some() && status != Status::InProgress {
            note(
                "started_only_in_progress",
                id,
                format!("is {}", status.name()),
            );
        }
        if state.error.is_some() && status == Status::Completed {
            note("completed_without_error", id, "has an error".into());
        }
    }
    if counts != run.counts {
        let detail = format!("{:?} instead of {counts:?}", run.counts);
        note("kept_counts_are_true", "run", detail);
    }
    if !run.sections.iter().eq(&sections) {
        note("kept_section_counts_are_true", "run", "differ".into());
    }
    for (kept, status) in [
        (&run.ready, Status::Ready),
        (&run.running, Status::InProgress),
        (&run.failed, Status::Failed),
    ] {
        let nodes = run.graph.nodes();
        let real: OrdSet<u32> = nodes
            .filter(|&node| run.at(node).status == status)
            .collect();
        if *kept != real {
            note("kept_sets_are_true", status.name(), "differs".into());
        }
    }
    for (phase, completed) in run.phases.iter().zip(completed) {
        let place = format!("phase {}", phase.number);
        if phase.completed != completed {
            let detail = format!("counts {}, has {completed}", phase.completed);
            note("kept_phase_counts_are_true", &place, detail);
        }
        if phase.landing.is_some() && completed != phase.total {
            let detail = format!("{completed} of {} tasks completed", phase.total);
            note("landed_phase_is_complete", &place, detail);
        }
        if phase.completed_at.is_some() && !phase.finished() {
            note("completed_at_only_when_finished", &place, "is open".into());
        }
        if phase.completed_at.is_some() && phase.completed_at < phase.started_at {
            note("times_in_order", &place, "ends before it starts".into());
        }
    }
    let open = run.phases.iter().position(|phase| !phase.finished());
    if run.current != open.unwrap_or(run.phases.len()) {
        let detail = format!("at place {}", run.current);
        note("current_phase_is_the_first_unfinished", "run", detail);
    }
    if run.updated_at < run.started_at {
        note(
            "times_in_order",
            "run",
            "was changed before it began".into(),
        );
    }
    found
}
