//! Works on phases without a run: creates the worktree of a phase and lands it on the target
//! branch.

use super::execute::completed_tasks;
use super::git_workers::land_complete_phase;
use super::ports::PhaseOutcome;
use super::repo::{PhasePlace, RunRepo};
use super::run::{is_locked, open_repo, read_settings};
use super::runtime::{phase_place, worktree_of};
use crate::core::failure::FailureReason;
use bowline_engine::files::ChangeOutcome;
use bowline_engine::machines::orchestrate::{OrchestrationState, PhaseEnd};
use bowline_engine::operations::orchestrate::{Orchestration, PhaseFinished, PlanFile, TaskMoved};
use bowline_engine::{Context, Error};
use bowline_words::message::Reason;
use std::path::PathBuf;

/// Starts a ready task and creates the worktree of its phase, on the phase's branch, if it is
/// missing. Phase 0, and everything outside of git, is worked on in the project itself.
pub fn start_task(
    context: &Context,
    orchestration: &Orchestration,
    name: &str,
    no_git: bool,
) -> Result<(ChangeOutcome<TaskMoved>, Option<PathBuf>), Error> {
    // Report what the rules refuse before git is touched.
    let would = orchestration.start_task(&dry_run_context(context), name)?;
    if context.dry_run {
        return Ok((would, None));
    }
    let place = match no_git {
        true => None,
        false => task_worktree(context, orchestration, &would.state.id)?,
    };
    Ok((orchestration.start_task(context, name)?, place))
}

/// Returns the worktree of a task's phase; none if the project itself is used.
fn task_worktree(
    context: &Context,
    orchestration: &Orchestration,
    id: &str,
) -> Result<Option<PathBuf>, Error> {
    let (_, run) = orchestration.read_run(context)?;
    let phase = run.graph().phase_of(id).unwrap_or(0);
    if phase == 0 {
        return Ok(None);
    }
    match open_manual_repo(context, orchestration, run) {
        Ok(Some(here)) => {
            here.repo.prepare_repository()?;
            here.repo
                .manual_worktree(&here.phase_place(orchestration, phase))
        }
        // Before the first commit there is nothing that a branch could start from.
        Ok(None) | Err(Error::NoCommit { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Lands a complete phase as a run would: merged, checked as merged, and only then marked finished.
/// Repeated after a crash, it finds what has landed.
pub fn finish_phase(
    context: &Context,
    orchestration: &Orchestration,
    phase: u32,
    no_git: bool,
) -> Result<ChangeOutcome<PhaseFinished>, Error> {
    let alone =
        |context: &Context| orchestration.finish_phase(context, phase, &PhaseEnd::NoGit, None);
    let would = alone(&dry_run_context(context))?;
    if context.dry_run {
        return Ok(would);
    }
    if no_git {
        return alone(context);
    }
    let (_, run) = orchestration.read_run(context)?;
    let Some(here) = open_manual_repo(context, orchestration, run)? else {
        return alone(context);
    };
    here.repo.prepare_repository()?;
    let failed = |why: Option<FailureReason>| Error::NoMerge {
        phase,
        why: why.map_or(Reason::Nothing, |why| why.reason),
    };
    let place = here.phase_place(orchestration, phase);
    if let Some(folder) = here.repo.uncommitted_worktree(&place)? {
        let why = here.repo.uncommitted_reason(&place, &folder);
        return Err(failed(Some(why.into())));
    }
    let phases = here.plan.as_ref().map(|plan| &plan.file.phases);
    let heading = phases.and_then(|phases| phases.iter().find(|it| it.number == phase));
    let title = heading.map(|it| it.title.clone()).unwrap_or_default();
    let outcome = land_complete_phase(
        &here.repo,
        &place,
        &title,
        &completed_tasks(&here.run, Some(phase)),
    )?;
    let following = here.run.graph().phase_numbers();
    let following = following.iter().copied().find(|it| *it > phase);
    let (root, plan) = (orchestration.root(), here.plan.as_ref());
    let worktree = following.and_then(|next| worktree_of(root, plan, Some(&here.repo), next));
    here.repo.remove_check_worktree()?;
    match outcome {
        PhaseOutcome::Blocked { why } | PhaseOutcome::LandingsGone { why } => {
            Err(failed(Some(why)))
        }
        PhaseOutcome::Ended { end, why } => {
            let finished = orchestration.finish_phase(context, phase, &end, worktree.as_ref())?;
            match end {
                PhaseEnd::Merged { .. } | PhaseEnd::NoGit => Ok(finished),
                PhaseEnd::ChecksRed | PhaseEnd::Conflict => Err(failed(why)),
            }
        }
    }
}

/// Reports tasks that landed but are no longer on the target branch or on the branch of their
/// phase. Outside of git there are none.
pub fn landings_gone(
    context: &Context,
    orchestration: &Orchestration,
) -> Result<Option<FailureReason>, Error> {
    let side = orchestration.data_folder(context);
    // Without a run nothing landed, and an active run checks this itself.
    if !side.join("run.json").is_file() || is_locked(&side.join("git.lock")) {
        return Ok(None);
    }
    let (_, run) = orchestration.read_run(context)?;
    let Some(here) = open_manual_repo(context, orchestration, run)? else {
        return Ok(None);
    };
    for phase in here.run.phases() {
        let branch = match phase.is_finished() {
            true => here.repo.target_branch().to_owned(),
            false => here.phase_place(orchestration, phase.number).branch,
        };
        let done = completed_tasks(&here.run, Some(phase.number));
        if !done.is_empty()
            && let Some(why) = here.repo.landings_gone(&branch, &done)?
        {
            return Ok(Some(why));
        }
    }
    Ok(None)
}

fn dry_run_context(context: &Context) -> Context {
    Context {
        dry_run: true,
        ..context.clone()
    }
}

/// An orchestration and its repository, with the git lock held.
struct ManualRepo {
    run: OrchestrationState,
    plan: Option<PlanFile>,
    repo: RunRepo,
}

impl ManualRepo {
    fn phase_place(&self, orchestration: &Orchestration, phase: u32) -> PhasePlace {
        let root = orchestration.root();
        phase_place(root, self.plan.as_ref(), Some(&self.repo), phase)
    }
}

/// Opens the repository of an orchestration; returns none outside of git.
fn open_manual_repo(
    context: &Context,
    orchestration: &Orchestration,
    run: OrchestrationState,
) -> Result<Option<ManualRepo>, Error> {
    let settings = read_settings(orchestration.root())?;
    let plan = orchestration.read_plan(context).ok();
    let (started_at, landing) = (run.started_at(), settings.orchestrate.land);
    let repo = open_repo(
        context,
        orchestration,
        started_at,
        plan.as_ref(),
        &settings,
        landing,
    )?;
    Ok(repo.map(|repo| ManualRepo { run, plan, repo }))
}
