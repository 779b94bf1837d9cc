//! Finds the state files of a workspace, and the root of each kind.

use crate::context::Context;
use crate::error::Error;
use crate::kinds::FileKind;
pub use bowline_gate::locate::WORKSPACE_VARIABLE;
pub(crate) use bowline_gate::locate::{absolute_path, git_top};
use bowline_gate::locate::{develop_file_of, main_worktree};
use std::path::{Path, PathBuf};

/// Depth of the search for state files below a root.
const SEARCH_DEPTH_MAX: usize = 4;
/// Most folders searched: a search in a home folder must not take minutes.
const SEARCH_FOLDERS_MAX: usize = 5_000;

/// Returns the path of a kind's file as seen from a folder: in the named workspace, the nearest
/// ancestor that has one, the main worktree of the same repository, the top of the repository, or
/// the folder itself.
pub fn locate_file(context: &Context, kind: FileKind, start: &Path) -> PathBuf {
    let relative = kind.relative_path();
    if let Some(named) = context.variables.get(WORKSPACE_VARIABLE) {
        return PathBuf::from(named).join(relative);
    }
    if kind == FileKind::Develop {
        return develop_file_of(start);
    }
    let start = absolute_path(start);
    if let Some(found) = start
        .ancestors()
        .map(|folder| folder.join(relative))
        .find(|path| kind.is_there(path))
    {
        return found;
    }
    let top = git_top(&start);
    if let Some(main) = top.as_deref().and_then(main_worktree) {
        let path = main.join(relative);
        if kind.is_there(&path) {
            return path;
        }
    }
    top.unwrap_or(start).join(relative)
}

/// Returns every state file at, above and up to some depth below a folder, nearest first.
pub fn discover_files(context: &Context, start: &Path) -> Vec<(FileKind, PathBuf)> {
    let mut found = Vec::new();
    for kind in FileKind::ALL {
        found.extend(
            kind.files_at(&locate_file(context, kind, start))
                .into_iter()
                .map(|path| (kind, path)),
        );
    }
    for (kind, path) in find_below(start, &FileKind::ALL, SEARCH_DEPTH_MAX).files {
        if !found.iter().any(|(_, known)| *known == path) {
            found.push((kind, path));
        }
    }
    found
}

/// Result of a search below a folder.
#[derive(Debug, Clone)]
pub struct FoundFiles {
    /// Files, the nearest folder first.
    pub files: Vec<(FileKind, PathBuf)>,
    /// True if every folder down to the wanted depth was searched.
    pub complete: bool,
}

/// Finds state files of some kinds in a folder and below it.
pub fn find_below(start: &Path, kinds: &[FileKind], depth_max: usize) -> FoundFiles {
    let mut files = Vec::new();
    let mut folders = vec![(absolute_path(start), 0)];
    let mut looked = 0;
    while let Some((folder, depth)) = folders.pop() {
        looked += 1;
        if looked > SEARCH_FOLDERS_MAX {
            return FoundFiles {
                files,
                complete: false,
            };
        }
        for &kind in kinds {
            let paths = kind.files_at(&folder.join(kind.relative_path()));
            files.extend(paths.into_iter().map(|path| (kind, path)));
        }
        if depth < depth_max {
            folders.extend(
                list_subfolders(&folder)
                    .into_iter()
                    .map(|below| (below, depth + 1)),
            );
        }
    }
    FoundFiles {
        files,
        complete: true,
    }
}

/// Returns the file that a person means by a path, a kind's name, or nothing at all.
pub fn resolve_file(
    context: &Context,
    start: &Path,
    named: Option<&str>,
) -> Result<(FileKind, PathBuf), Error> {
    let Some(named) = named else {
        let mut here: Vec<(FileKind, PathBuf)> = Vec::new();
        for kind in FileKind::ALL {
            // Files that only store data are requested by name.
            if kind.has_moves() {
                here.extend(
                    kind.files_at(&locate_file(context, kind, start))
                        .into_iter()
                        .map(|path| (kind, path)),
                );
            }
        }
        // The nearest is meant: a run in a folder of its own, not the memory of the project around
        // it.
        let depth = |kind: FileKind, path: &Path| {
            let below = Path::new(kind.relative_path()).components().count();
            path.components().count() - below
        };
        let nearest = here.iter().map(|(kind, path)| depth(*kind, path)).max();
        here.retain(|(kind, path)| Some(depth(*kind, path)) == nearest);
        return match here.len() {
            0 => Err(Error::NothingHere {
                path: absolute_path(start),
            }),
            1 => Ok(here.remove(0)),
            _ => Err(Error::Ambiguous {
                paths: here.into_iter().map(|(_, path)| path).collect(),
            }),
        };
    };
    if let Some(kind) = FileKind::from_name(named) {
        let place = locate_file(context, kind, start);
        let mut paths = kind.files_at(&place);
        return match paths.len() {
            0 => Err(Error::NoFile { kind, path: place }),
            1 => Ok((kind, paths.remove(0))),
            _ => Err(Error::Ambiguous { paths }),
        };
    }
    let path = absolute_path(start).join(named);
    if path.is_dir() {
        return resolve_file(context, &path, None);
    }
    match FileKind::of_path(&path) {
        Some(kind) => Ok((kind, path)),
        None => Err(Error::UnknownKind { path }),
    }
}

/// Returns the files that a person means by a name: every file of a folder, if it is one.
pub fn resolve_all(
    context: &Context,
    start: &Path,
    named: &str,
) -> Result<Vec<(FileKind, PathBuf)>, Error> {
    let folder = absolute_path(start).join(named);
    if FileKind::from_name(named).is_some() || !folder.is_dir() {
        return Ok(vec![resolve_file(context, start, Some(named))?]);
    }
    let mut found = find_below(&folder, &FileKind::ALL, SEARCH_DEPTH_MAX).files;
    // The named folder may be the one that a kind keeps its files in.
    let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
    let mut inside: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    inside.sort();
    let known = inside.into_iter().filter(|path| path.is_file());
    found.extend(known.filter_map(|path| Some((FileKind::of_path(&path)?, path))));
    let mut seen = std::collections::BTreeSet::new();
    found.retain(|(_, path)| seen.insert(path.clone()));
    match found.is_empty() {
        true => Err(Error::NothingHere { path: folder }),
        false => Ok(found),
    }
}

/// Returns the name of a folder, even if the path ends in `.` or `..`.
pub(crate) fn folder_name(folder: &Path) -> Option<String> {
    let folder = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    let absolute = folder.canonicalize().ok()?;
    Some(absolute.file_name()?.to_string_lossy().into_owned())
}

fn list_subfolders(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut below: Vec<PathBuf> = entries
        .flatten()
        // Not through links: they may form a cycle or lead out of the workspace.
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .filter(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            !name.starts_with('.') && name != "node_modules" && name != "target"
        })
        .map(|entry| entry.path())
        .collect();
    // Popped from the end: the first name comes first.
    below.sort_by(|a, b| b.cmp(a));
    below
}
