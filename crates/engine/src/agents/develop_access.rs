//! Access that a sandboxed agent gets to the develop run of its folder.
//!
//! Files that say where the run is may have been written by an earlier agent. They are trusted only
//! where the repository, in a folder that no agent writes, confirms them.

use crate::context::Context;
use bowline_gate::locate;
use std::path::{Path, PathBuf};

/// Paths of the develop run of a folder, granted so that its gates are decided inside the sandbox
/// as they are outside.
#[derive(Debug, Default)]
pub(super) struct DevelopRunAccess {
    /// Folder of journal, seal and evidence. The agent reads it; the relay process writes it. The
    /// agent may be the one that begins the run.
    pub(super) side: Option<PathBuf>,
    /// Further roots for the agent to read: the tree of the run.
    pub(super) read: Vec<PathBuf>,
    /// Further roots for the relay process to write.
    pub(super) write: Vec<PathBuf>,
    /// Those that are Bowline's own folders, made if they are missing.
    pub(super) make: Vec<PathBuf>,
}

impl DevelopRunAccess {
    /// Returns the run of a folder whose agent may write the roots `agents`; empty where it is not
    /// trusted.
    pub(super) fn for_folder(
        context: &Context,
        folder: &Path,
        agents: &[PathBuf],
    ) -> DevelopRunAccess {
        DevelopRunAccess::trusted_access(context, folder, agents).unwrap_or_default()
    }

    fn trusted_access(
        context: &Context,
        folder: &Path,
        agents: &[PathBuf],
    ) -> Option<DevelopRunAccess> {
        let file = locate::develop_file(folder);
        let root = locate::root_of(&file);
        let tops = [locate::git_top(root), locate::git_top(folder)];
        let mut shared = Vec::new();
        for top in &tops {
            let common = top.as_deref().map(|top| trusted_git_folder(top, agents));
            shared.push(match common {
                Some(found) => Some(found?),
                None => None,
            });
        }
        // A repository can list any folder as its worktree; the folder has to confirm it.
        let named = context.variables.get(locate::WORKSPACE_VARIABLE).is_some();
        let same = shared[0].is_some() && shared[0] == shared[1];
        if !folder.starts_with(root) && !same && !named {
            return None;
        }
        let mut run = DevelopRunAccess {
            side: Some(locate::side_folder(&file)),
            ..DevelopRunAccess::default()
        };
        run.make.extend(run.side.clone());
        if locate::is_develop_file(&file) {
            let witness = locate::open_run_marker(&file);
            let witness = witness.as_deref().and_then(Path::parent);
            // What the agent may write itself needs no grant; elsewhere a link may have been made
            // by an earlier agent.
            let more = |path: &&Path| {
                !path.is_symlink() && !agents.iter().any(|root| path.starts_with(root))
            };
            for folder in [witness, file.parent()].into_iter().flatten().filter(more) {
                run.write.push(folder.to_owned());
            }
            run.make.extend(witness.filter(more).map(Path::to_owned));
            // The shared git folder of the worktrees may be elsewhere.
            run.read.extend(shared.into_iter().flatten());
            run.read.push(root.to_owned());
            run.read.extend(tops.into_iter().flatten());
        }
        Some(run)
    }
}

/// Returns the shared git folder of a repository's worktrees, if it is trusted.
///
/// A `.git` that leads elsewhere is trusted where git itself put it: it names
/// `<shared>/worktrees/<name>` of a repository, in a folder that this agent cannot write, and that
/// folder names it. Further files there, such as `commondir`, prove nothing more. A person who
/// grants the shared folder itself means this very repository.
fn trusted_git_folder(top: &Path, agents: &[PathBuf]) -> Option<PathBuf> {
    let git = top.join(".git");
    let kind = git.symlink_metadata().ok()?.file_type();
    let common = match kind.is_file() {
        true => linked_git_folder(top, &git, agents)?,
        false if kind.is_dir() => git.canonicalize().ok()?,
        false => return None,
    };
    // Every other reader uses the path that is written there.
    (locate::git_common_dir(top)? == common).then_some(common)
}

fn linked_git_folder(top: &Path, git: &Path, agents: &[PathBuf]) -> Option<PathBuf> {
    let link = std::fs::read_to_string(git).ok()?;
    let own = top.join(link.strip_prefix("gitdir:")?.trim());
    let own = own.canonicalize().ok()?;
    let worktrees = own.parent()?;
    let common = worktrees.parent()?.to_owned();
    let planted = |root: &PathBuf| own.starts_with(root) && *root != common;
    if !worktrees.ends_with("worktrees") || agents.iter().any(planted) {
        return None;
    }
    let back = std::fs::read_to_string(own.join("gitdir")).ok()?;
    let back = own.join(back.trim()).canonicalize().ok()?;
    let real = common.join("HEAD").is_file()
        && ["objects", "refs"]
            .iter()
            .all(|it| common.join(it).is_dir());
    (real && back == git.canonicalize().ok()?).then_some(common)
}
