//! The paths of a run's workspace: which of them belong to it, guard it, or hold its state.

use crate::locate;
use crate::shell::UNKNOWN_NAME;
use bowline_formats::client_hooks;
use std::path::{Component, Path, PathBuf};

/// Links followed on the way to a file that does not exist yet.
const LINKS_MAX: usize = 40;

/// The paths of a run's workspace.
#[derive(Debug, Clone)]
pub struct WorkspacePaths {
    /// The folder the run is about.
    root: PathBuf,
    /// The git folder that its worktrees share.
    common: Option<PathBuf>,
    /// The run's file, links followed.
    state: PathBuf,
    /// Bowline's folder in the state home.
    keeping: PathBuf,
    /// Settings files of the user that register or disable the gate's hooks.
    guards: Vec<PathBuf>,
}

impl WorkspacePaths {
    /// Collects the paths for the run whose file is at `file`.
    pub fn for_run_file(file: &Path) -> WorkspacePaths {
        let file = locate::absolute_path(file);
        let root = resolve_links(locate::root_of(&file));
        let common = locate::git_top(&root).and_then(|top| locate::git_common_dir(&top));
        WorkspacePaths {
            root,
            common,
            state: resolve_links(&file),
            keeping: resolve_links(&locate::state_home().join("bowline")),
            guards: locate::guards_of_user(),
        }
    }

    /// Returns the folder the run is about.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the run's file.
    pub fn state_file(&self) -> &Path {
        &self.state
    }

    /// True if a path leads into the workspace: into its folder or into a worktree of the same
    /// repository.
    pub fn contains_path(&self, path: &Path) -> bool {
        let path = resolve_links(path);
        if path.starts_with(&self.root) {
            return true;
        }
        let Some(common) = &self.common else {
            return false;
        };
        path.starts_with(common)
            || locate::git_top(&path)
                .and_then(|top| locate::git_common_dir(&top))
                .is_some_and(|other| other == *common)
    }

    /// True if a change of this path could keep a client or git from asking the gate.
    pub fn is_guard(&self, path: &Path) -> bool {
        let path = resolve_links(path);
        let of_git = self.common.as_ref().is_some_and(|common| {
            let of_worktree = path.ends_with("config.worktree") && path.starts_with(common);
            path.starts_with(common.join("hooks"))
                || path == common.join("config")
                || path == common.join(client_hooks::LAUNCHER)
                || of_worktree
        });
        let of_a_client = |file: &&str| path == self.root.join(file);
        of_git
            || client_hooks::GUARDS.iter().any(of_a_client)
            || self.guards.iter().any(|it| resolve_links(it) == path)
    }

    /// True if the path is the repository's git folder, which holds the hooks.
    pub fn holds_hooks(&self, path: &Path) -> bool {
        self.common
            .as_ref()
            .is_some_and(|common| resolve_links(path) == *common)
    }

    /// True if git keeps references in this path: writing it moves a branch.
    pub fn is_reference(&self, path: &Path) -> bool {
        let path = resolve_links(path);
        let Some(below) = self
            .common
            .as_ref()
            .and_then(|common| path.strip_prefix(common).ok())
        else {
            return false;
        };
        let mut parts = below.iter().filter_map(|part| part.to_str());
        let first = match parts.next() {
            // A linked worktree has its own HEAD and references.
            Some("worktrees") => parts.nth(1),
            first => first,
        };
        matches!(first, Some("refs" | "packed-refs" | "HEAD" | "reftable"))
    }

    /// True if a path is the run's file, or one of the files that Bowline keeps about runs.
    pub fn is_state(&self, path: &Path) -> bool {
        let path = resolve_links(path);
        // A pattern in the same folder may match the file's name.
        let unknown = |it: &Component<'_>| it.as_os_str().to_string_lossy().contains(UNKNOWN_NAME);
        let known: PathBuf = path.components().take_while(|it| !unknown(it)).collect();
        let beside = known != path && Some(known.as_path()) == self.state.parent();
        let kept = path.starts_with(&self.keeping) && !self.is_temporary(&path);
        path == self.state || beside || kept
    }

    /// True if a path is among the temporary files of a sandboxed agent, which lie beside its
    /// attempt's records.
    fn is_temporary(&self, path: &Path) -> bool {
        let below = path.strip_prefix(self.keeping.join("attempts"));
        let parts = below.map(|below| below.components().map(Component::as_os_str));
        parts.is_ok_and(|mut parts| parts.nth(1).is_some_and(|it| it == "tmp"))
    }

    /// True if removing this path removes the run's file or Bowline's records about it.
    pub fn holds_state(&self, path: &Path) -> bool {
        let path = resolve_links(path);
        self.state.starts_with(&path) || self.keeping.starts_with(&path)
    }
}

/// Resolves the links of a path, as far as it exists.
pub(crate) fn resolve_links(path: &Path) -> PathBuf {
    resolve_links_within(path, LINKS_MAX)
}

fn resolve_links_within(path: &Path, links: usize) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    // A dangling link: writing to it creates its target.
    if links > 0
        && let Ok(target) = path.read_link()
    {
        let folder = path.parent().unwrap_or(path);
        return resolve_links_within(&folder.join(target), links - 1);
    }
    match (path.parent(), path.components().next_back()) {
        (Some(parent), Some(Component::Normal(name))) => {
            resolve_links_within(parent, links).join(name)
        }
        (Some(parent), Some(Component::ParentDir)) => {
            let mut folder = resolve_links_within(parent, links);
            folder.pop();
            folder
        }
        (Some(parent), Some(Component::CurDir)) => resolve_links_within(parent, links),
        _ => path.to_owned(),
    }
}
