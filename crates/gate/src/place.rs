//! The workspace of a run, and whether a path is in it.

use crate::locate;
use crate::shell::UNKNOWN_NAME;
use bowline_formats::client_hooks;
use std::path::{Component, Path, PathBuf};

/// Links followed on the way to a file that is not there yet.
const LINKS_MAX: usize = 40;

/// The workspace of a run.
#[derive(Debug, Clone)]
pub struct Place {
    /// The folder the run is about.
    root: PathBuf,
    /// What its worktrees share.
    common: Option<PathBuf>,
    /// The run's file, links followed.
    state: PathBuf,
    /// Where Bowline keeps what belongs to runs.
    keeping: PathBuf,
    /// Files of the user by which clients and git ask, or are told not to.
    guards: Vec<PathBuf>,
}

impl Place {
    /// The workspace of the run whose file is at a path.
    pub fn of(file: &Path) -> Place {
        let file = locate::absolute(file);
        let root = real(locate::root_of(&file));
        let common = locate::git_top(&root).and_then(|top| locate::git_common_dir(&top));
        Place {
            root,
            common,
            state: real(&file),
            keeping: real(&locate::state_home().join("bowline")),
            guards: locate::guards_of_user(),
        }
    }

    /// The folder the run is about.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The run's file.
    pub fn state(&self) -> &Path {
        &self.state
    }

    /// Whether a path leads into the workspace: into its folder, or a worktree of the same repository.
    pub fn holds(&self, path: &Path) -> bool {
        let path = real(path);
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

    /// Whether a client or git would ask the gate no more, or not as before, if this path were changed.
    pub fn is_guard(&self, path: &Path) -> bool {
        let path = real(path);
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
            || self.guards.iter().any(|it| real(it) == path)
    }

    /// Whether git's hooks are below this path of the repository's own folder.
    pub fn holds_hooks(&self, path: &Path) -> bool {
        self.common
            .as_ref()
            .is_some_and(|common| real(path) == *common)
    }

    /// Whether a path is one of the files in which git keeps where branches lead: writing it moves one.
    pub fn is_reference(&self, path: &Path) -> bool {
        let path = real(path);
        let Some(below) = self
            .common
            .as_ref()
            .and_then(|common| path.strip_prefix(common).ok())
        else {
            return false;
        };
        let mut parts = below.iter().filter_map(|part| part.to_str());
        let first = match parts.next() {
            // A linked worktree has a HEAD, and references, of its own.
            Some("worktrees") => parts.nth(1),
            first => first,
        };
        matches!(first, Some("refs" | "packed-refs" | "HEAD" | "reftable"))
    }

    /// Whether a path is the run's file, or one of those that Bowline keeps about runs.
    pub fn is_state(&self, path: &Path) -> bool {
        let path = real(path);
        // A pattern beside it may be its name.
        let unknown = |it: &Component<'_>| it.as_os_str().to_string_lossy().contains(UNKNOWN_NAME);
        let known: PathBuf = path.components().take_while(|it| !unknown(it)).collect();
        let beside = known != path && Some(known.as_path()) == self.state.parent();
        let kept = path.starts_with(&self.keeping) && !self.is_temporary(&path);
        path == self.state || beside || kept
    }

    /// Whether a path is among the temporary files of a sandboxed agent, which are kept with its attempt.
    fn is_temporary(&self, path: &Path) -> bool {
        let below = path.strip_prefix(self.keeping.join("attempts"));
        let parts = below.map(|below| below.components().map(Component::as_os_str));
        parts.is_ok_and(|mut parts| parts.nth(1).is_some_and(|it| it == "tmp"))
    }

    /// Whether the run's file, or what Bowline keeps about it, goes when this path goes.
    pub fn holds_state(&self, path: &Path) -> bool {
        let path = real(path);
        self.state.starts_with(&path) || self.keeping.starts_with(&path)
    }
}

/// The path with its links followed, as far as it is there.
pub(crate) fn real(path: &Path) -> PathBuf {
    real_within(path, LINKS_MAX)
}

fn real_within(path: &Path, links: usize) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    // A link to nothing: what is written to it appears where it leads.
    if links > 0
        && let Ok(target) = path.read_link()
    {
        let folder = path.parent().unwrap_or(path);
        return real_within(&folder.join(target), links - 1);
    }
    match (path.parent(), path.components().next_back()) {
        (Some(parent), Some(Component::Normal(name))) => real_within(parent, links).join(name),
        (Some(parent), Some(Component::ParentDir)) => {
            let mut folder = real_within(parent, links);
            folder.pop();
            folder
        }
        (Some(parent), Some(Component::CurDir)) => real_within(parent, links),
        _ => path.to_owned(),
    }
}
