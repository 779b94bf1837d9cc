//! Compares the plan with the state file.

use super::plan_and_state::{CountedTicks, merge_plan};
use super::verbs::Orchestration;
use crate::context::Context;
use crate::error::Error;
use crate::files::FileView;
use bowline_machines::orchestrate::{NodeStatus, OrchestrationState};
use std::path::PathBuf;

/// Differences between plan and state file in one phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PhaseDifference {
    pub phase: u32,
    /// Tasks done in the plan but not in the state file.
    pub not_in_state: Vec<String>,
    /// Tasks done in the state file but not in the plan.
    pub not_in_plan: Vec<String>,
    /// Tasks of the plan that the state file does not know.
    pub unknown: Vec<String>,
    /// Tasks of the state file that the plan does not have.
    pub gone: Vec<String>,
}

/// Result of comparing plan and state file.
#[derive(Debug, Clone)]
pub struct PlanComparison {
    /// View of the state file.
    pub view: FileView,
    /// Path of the plan.
    pub plan: PathBuf,
    /// Phases that differ, in order.
    pub phases: Vec<PhaseDifference>,
}

impl Orchestration {
    /// Compares the ticked boxes of the plan with the completed tasks of the state file. Writes
    /// nothing.
    pub fn compare_plan(&self, context: &Context) -> Result<PlanComparison, Error> {
        let view = self.file().read_view(context)?;
        let plan = self.read_plan(context)?;
        plan.check_usable()?;
        let alone = self.run_without_plan(&view)?;
        let both = merge_plan(&view.document, &plan.file, CountedTicks::None);
        let both = both.unwrap_or_else(|| alone.clone());
        let mut phases = Vec::new();
        for &phase in both.graph().phase_numbers() {
            let ids = both.graph().tasks_of(phase);
            let those = |wanted: &dyn Fn(&str) -> bool| -> Vec<String> {
                let found = ids.iter().filter(|id| wanted(id));
                found.map(ToString::to_string).collect()
            };
            let done = |run: &OrchestrationState, id: &str| {
                let node = run.find_node(id);
                node.is_some_and(|node| node.status == NodeStatus::Completed)
            };
            let ticked = |id: &str| plan.file.task(id).map(|task| task.done);
            let difference = PhaseDifference {
                phase,
                not_in_state: those(&|id| ticked(id) == Some(true) && !done(&both, id)),
                not_in_plan: those(&|id| ticked(id) == Some(false) && done(&both, id)),
                unknown: those(&|id| !alone.graph().contains(id)),
                gone: those(&|id| ticked(id).is_none()),
            };
            let lists = [
                &difference.not_in_state,
                &difference.not_in_plan,
                &difference.unknown,
                &difference.gone,
            ];
            if lists.iter().any(|list| !list.is_empty()) {
                phases.push(difference);
            }
        }
        Ok(PlanComparison {
            view,
            plan: plan.path,
            phases,
        })
    }
}
