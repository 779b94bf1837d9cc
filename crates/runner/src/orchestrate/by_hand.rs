//! Phases that are worked on without a run: the place for their work, and its way onto the main line.

use super::ports::PhaseEnded;
use super::real::{phase_place, worktree_of};
use super::repo::Repo;
use super::run::{key_of, open_repo, settings_of};
use crate::core::why::Why;
use bowline_engine::files::Changed;
use bowline_engine::machines::orchestrate::PhaseEnd;
use bowline_engine::operations::orchestrate::{Orchestration, Owned, PhaseFinished, TaskMoved};
use bowline_engine::{Context, Error};
use bowline_words::message::Reason;
use std::path::PathBuf;

/// Begins a ready task, and makes the place of its phase where it is not there: a worktree on the phase's branch. Phase 0, and
/// everything outside of git, is worked on in the project itself.
pub fn start(
    context: &Context,
    orchestration: &Orchestration,
    name: &str,
    no_git: bool,
) -> Result<(Changed<TaskMoved>, Option<PathBuf>), Error> {
    // What the rules refuse is said before git is touched.
    let would = orchestration.start(&dry(context), name)?;
    if context.dry_run {
        return Ok((would, None));
    }
    let place = match no_git {
        true => None,
        false => place_of(context, orchestration, &would.state.id)?,
    };
    Ok((orchestration.start(context, name)?, place))
}

/// The worktree of a task's phase; nothing where the project itself is the place.
fn place_of(
    context: &Context,
    orchestration: &Orchestration,
    id: &str,
) -> Result<Option<PathBuf>, Error> {
    let owned = own(context, orchestration)?;
    let phase = owned.run().graph().phase_of(id).unwrap_or(0);
    if phase == 0 {
        return Ok(None);
    }
    let Some(repo) = repo_of(context, &owned)? else {
        return Ok(None);
    };
    repo.stand(&phase_place(&owned, Some(&repo), phase))
}

/// Lands a complete phase as a run would: merged, checked as merged, and only then called finished. Repeated after a crash, it
/// finds what has landed.
pub fn finish_phase(
    context: &Context,
    orchestration: &Orchestration,
    phase: u32,
    no_git: bool,
) -> Result<Changed<PhaseFinished>, Error> {
    let alone =
        |context: &Context| orchestration.finish_phase(context, phase, &PhaseEnd::NoGit, None);
    let would = alone(&dry(context))?;
    if context.dry_run {
        return Ok(would);
    }
    if no_git {
        return alone(context);
    }
    let owned = own(context, orchestration)?;
    let Some(repo) = repo_of(context, &owned)? else {
        drop(owned);
        return alone(context);
    };
    let failed = |why: Option<Why>| Error::NoMerge {
        phase,
        why: why.map_or(Reason::Nothing, |why| why.reason),
    };
    let place = phase_place(&owned, Some(&repo), phase);
    if let Some(folder) = repo.uncommitted(&place)? {
        let folder = folder.display().to_string();
        return Err(failed(Some(Reason::Uncommitted { folder }.into())));
    }
    let phases = owned.plan().map(|plan| &plan.file.phases);
    let heading = phases.and_then(|phases| phases.iter().find(|it| it.number == phase));
    let title = heading.map(|it| it.title.clone()).unwrap_or_default();
    let outcome = repo.finish(&place, &title)?;
    let following = owned.run().graph().phases();
    let following = following.iter().copied().find(|it| *it > phase);
    let worktree = following.and_then(|next| worktree_of(&owned, Some(&repo), next));
    repo.leave()?;
    drop((owned, repo));
    match outcome {
        PhaseEnded::Blocked { why } => Err(failed(Some(why))),
        PhaseEnded::Ended { end, why } => {
            let finished = orchestration.finish_phase(context, phase, &end, worktree.as_ref())?;
            match end {
                PhaseEnd::Merged { .. } | PhaseEnd::NoGit => Ok(finished),
                PhaseEnd::ChecksRed | PhaseEnd::Conflict => Err(failed(why)),
            }
        }
    }
}

fn dry(context: &Context) -> Context {
    Context {
        dry_run: true,
        ..context.clone()
    }
}

/// The state file, which nobody else changes meanwhile.
fn own(context: &Context, orchestration: &Orchestration) -> Result<Owned, Error> {
    orchestration.own(context, |config| config)
}

/// The repository around it.
fn repo_of(context: &Context, owned: &Owned) -> Result<Option<Repo>, Error> {
    let orchestration = owned.orchestration();
    let settings = settings_of(orchestration.root())?;
    let side = orchestration.side(context);
    let key = key_of(orchestration, owned.run().started_at());
    let landing = settings.orchestrate.land;
    open_repo(context, owned, &side, &key, &settings, landing)
}
