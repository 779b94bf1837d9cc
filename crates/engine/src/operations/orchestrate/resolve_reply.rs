//! Answers which tasks can be started now.

use super::RunOverview;
use super::plan_and_state::{CountedTicks, merge_plan};
use super::verbs::Orchestration;
use crate::context::Context;
use crate::error::Error;
use bowline_formats::StateFormat as _;
use bowline_formats::orchestrate::OrchestrateFile;
use bowline_formats::tasks_md::TaskId;
use bowline_formats::tasks_md::wire::{ErrorCode, ReadyGroups, ResolveReply};
use bowline_machines::orchestrate::{NextWork, NodeId, OrchestrationState, next_work};

/// Returns the reply in the one-line protocol; a failure comes with the error behind it.
pub fn resolve_reply(
    context: &Context,
    run: &Orchestration,
    phase: Option<u32>,
) -> (ResolveReply, Option<Error>) {
    match try_resolve(context, run, phase) {
        Ok(reply) => (reply, None),
        Err(error) => {
            let code = match &error {
                Error::NoPlan { .. } => ErrorCode::TASKS_NOT_FOUND,
                Error::NoFile { .. } => ErrorCode::STATE_NOT_FOUND,
                Error::BadPlan { finding, .. } => {
                    return (ResolveReply::from(&**finding), Some(error));
                }
                _ => ErrorCode::STATE_CORRUPT,
            };
            (
                ResolveReply::error_line(code, &error.to_string()),
                Some(error),
            )
        }
    }
}

fn try_resolve(
    context: &Context,
    orchestration: &Orchestration,
    phase: Option<u32>,
) -> Result<ResolveReply, Error> {
    let view = match orchestration.file().read_view(context) {
        Err(error @ Error::NoFile { .. }) => {
            // Without a plan there is nothing to begin with, either.
            orchestration.read_plan(context)?;
            return Err(error);
        }
        view => view?,
    };
    let RunOverview {
        view,
        plan,
        summary,
    } = super::overview_from_view(view)?;
    let run = match &plan {
        Some(plan) => {
            plan.check_usable()?;
            merge_plan(&view.document, &plan.file, CountedTicks::OfNewTasks)
        }
        None => None,
    };
    let run = match run {
        Some(run) => run,
        None => {
            let read =
                OrchestrateFile::read_state(&view.document).map_err(|findings| Error::Damaged {
                    path: view.path.clone(),
                    findings,
                })?;
            // A file that names only completed tasks does not know the others.
            let whole = summary.counted && summary.total <= read.state.graph().len();
            if plan.is_none() && !whole {
                return Err(Error::NoPlan {
                    path: orchestration.root().to_owned(),
                });
            }
            read.state
        }
    };
    let current = run.current_phase();
    Ok(match phase {
        Some(phase) if !run.graph().phase_numbers().contains(&phase) => {
            ResolveReply::error_line(ErrorCode::NO_PHASE, &format!("there is no phase {phase}"))
        }
        Some(phase) if phase < current || run.all_done() => ResolveReply::PhaseDone(phase),
        Some(phase) if phase > current => ResolveReply::error_line(
            ErrorCode::PHASE_NOT_CURRENT,
            &format!("phase {current} comes first"),
        ),
        Some(_) | None => reply_for_run(&run),
    })
}

fn reply_for_run(run: &OrchestrationState) -> ResolveReply {
    match next_work(run) {
        NextWork::Ready(ids) => {
            let ids = ids.iter().filter_map(|id| TaskId::new(id).ok());
            ReadyGroups::now(ids).map_or(ResolveReply::Wait, ResolveReply::Ready)
        }
        NextWork::Wait => ResolveReply::Wait,
        NextWork::PhaseDone(phase) => ResolveReply::PhaseDone(phase),
        NextWork::AllDone => ResolveReply::AllDone,
        NextWork::Stalled(ids) => stalled_reply(&ids),
    }
}

fn stalled_reply(ids: &[NodeId]) -> ResolveReply {
    let ids = ids.iter().filter_map(|id| TaskId::new(id).ok());
    ResolveReply::Stalled(ids.collect())
}
