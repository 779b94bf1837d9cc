//! Invariants of every run: each is checked on all tasks, never on the counts kept beside them.

use super::run::SectionCounts;
use super::{NodeStatus, OrchestrationState};
use crate::kernel::Violation;
use imbl::OrdSet;

/// Returns the invariants that do not hold; all of them hold in every run that commands can reach.
pub(super) fn find_violations(run: &OrchestrationState) -> Vec<Violation> {
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
    for node in run.graph.node_indexes() {
        let (id, state) = (run.graph.id_at(node), run.node_at(node));
        let status = state.status;
        counts[status.count_index()] += 1;
        completed[run.graph.phase_index(node)] += usize::from(status == NodeStatus::Completed);
        let section = &mut sections[run.graph.section_index(node)];
        section.open += u32::from(status != NodeStatus::Completed);
        section.obstructing += u32::from(status.obstructs_dependents());
        let needs = || {
            let needs = run.graph.needed_nodes(node).iter();
            needs.map(|&need| run.node_at(need).status)
        };
        let open = needs()
            .filter(|&need| need != NodeStatus::Completed)
            .count();
        let obstructions = needs().filter(|&need| need.obstructs_dependents()).count();
        if (state.open_needs as usize, state.obstructions as usize) != (open, obstructions) {
            let detail = format!(
                "counts {} open and {} obstructed dependencies, has {open} and {obstructions}",
                state.open_needs, state.obstructions
            );
            note("kept_dependency_counts_are_true", id, detail);
        }
        let earlier = || {
            run.graph
                .earlier_section_tasks(node)
                .map(|it| run.node_at(it))
        };
        let obstructed = obstructions > 0 || earlier().any(|it| it.status.obstructs_dependents());
        let blocked = status.is_derived() && obstructed;
        if blocked != (status == NodeStatus::Blocked) {
            let detail = format!("is {} behind {obstructions} obstructions", status.name());
            note("blocked_exactly_behind_a_failure", id, detail);
        }
        let current = run.graph.phase_index(node) == run.current;
        let held = earlier().any(|it| it.status != NodeStatus::Completed);
        let ready = status.is_derived() && open == 0 && !held && current;
        if ready != (status == NodeStatus::Ready) {
            let detail = format!("is {} with {open} open dependencies", status.name());
            note("ready_exactly_when_free_in_the_current_phase", id, detail);
        }
        if state.attempts > limit {
            let detail = format!("{} runs of {limit}", state.attempts);
            note("attempts_within_limit", id, detail);
        }
        if state.started_at.is_some() && status != NodeStatus::InProgress {
            note(
                "started_only_in_progress",
                id,
                format!("is {}", status.name()),
            );
        }
        if state.error.is_some() && status == NodeStatus::Completed {
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
        (&run.ready, NodeStatus::Ready),
        (&run.running, NodeStatus::InProgress),
        (&run.failed, NodeStatus::Failed),
    ] {
        let nodes = run.graph.node_indexes();
        let real: OrdSet<u32> = nodes
            .filter(|&node| run.node_at(node).status == status)
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
        if phase.completed_at.is_some() && !phase.is_finished() {
            note("completed_at_only_when_finished", &place, "is open".into());
        }
        if phase.completed_at.is_some() && phase.completed_at < phase.started_at {
            note("times_in_order", &place, "ends before it starts".into());
        }
    }
    let open = run.phases.iter().position(|phase| !phase.is_finished());
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
