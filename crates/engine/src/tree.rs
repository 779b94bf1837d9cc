//! The content of a work tree as one hash: what is tracked and what is not, but nothing that is ignored.

use crate::context::Context;
use crate::error::Error;
use crate::process::git;
use crate::words::{cannot_be_read, shown};
use crate::workspace;
use bowline_formats::develop::FOLDER_NAME;
use bowline_gate::locate;
use bowline_words::message::{Advice, Wrong};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// Files hashed of a folder that is no git repository; more are not a work tree but a disk.
const FILES_MAX: usize = 100_000;

/// The hash of the tree a run's root is in: `git:` and the tree's own id in a repository, else `files:` and a hash.
///
/// The user's index and objects are not touched: both are written to a folder that is removed again.
pub(crate) fn hash(context: &Context, root: &Path, side: &Path) -> Result<String, Error> {
    match workspace::git_top(root) {
        Some(top) => of_repository(context, &top, root, side),
        None => of_folder(root),
    }
}

fn of_repository(context: &Context, top: &Path, root: &Path, side: &Path) -> Result<String, Error> {
    let scratch = Scratch::new(context, side)?;
    let paths = git(
        top,
        &["rev-parse", "--git-path", "index", "--git-path", "objects"],
        &[],
    )?
    .good()?;
    let mut paths = paths.lines().map(|path| top.join(path));
    let (Some(index), Some(objects)) = (paths.next(), paths.next()) else {
        return Err(Error::ProgramFailed {
            program: "git".into(),
            message: "rev-parse said nothing".into(),
        });
    };
    let own_index = scratch.0.join("index");
    // With the user's index at hand git reads only files that changed.
    match fs::copy(&index, &own_index) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(failed(&index, &error));
        }
        Ok(_) | Err(_) => {}
    }
    let own_objects = scratch.0.join("objects");
    let variables: [(&str, &OsStr); 3] = [
        ("GIT_INDEX_FILE", own_index.as_os_str()),
        ("GIT_OBJECT_DIRECTORY", own_objects.as_os_str()),
        ("GIT_ALTERNATE_OBJECT_DIRECTORIES", objects.as_os_str()),
    ];
    fs::create_dir_all(&own_objects).map_err(|error| failed(&own_objects, &error))?;
    git(top, &["add", "-A", "--", "."], &variables)?.good()?;
    // The run's own file changes with every gate.
    let own = root
        .strip_prefix(top)
        .unwrap_or(Path::new(""))
        .join(FOLDER_NAME);
    let own = own.to_string_lossy();
    let rest = [
        "rm",
        "-r",
        "-q",
        "-f",
        "--cached",
        "--ignore-unmatch",
        "--",
        &own,
    ];
    git(top, &rest, &variables)?.good()?;
    let tree = git(top, &["write-tree"], &variables)?.good()?;
    Ok(format!("git:{tree}"))
}

/// A folder of our own that goes when it is no longer needed, and with the next one when we are killed.
struct Scratch(PathBuf);

impl Scratch {
    fn new(context: &Context, side: &Path) -> Result<Self, Error> {
        let folder = side.join("scratch");
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let owner = name.to_string_lossy();
            let owner = owner.rsplit('-').next().unwrap_or_default();
            let owner = u32::from_str_radix(owner, 16).unwrap_or(0);
            if !Path::new(&format!("/proc/{owner}")).exists() {
                fs::remove_dir_all(entry.path()).ok();
            }
        }
        let own = folder.join(context.request().id);
        fs::remove_dir_all(&own).ok();
        fs::create_dir_all(&own).map_err(|error| failed(&own, &error))?;
        Ok(Scratch(own))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

fn of_folder(root: &Path) -> Result<String, Error> {
    let mut hasher = blake3::Hasher::new();
    let mut count = 0;
    walk(root, &|_| true, &mut |path, entry| {
        count += 1;
        if count > FILES_MAX {
            return Err(Error::BadInput {
                message: Wrong::TooManyFiles {
                    path: shown(root),
                    max: FILES_MAX,
                },
                hint: Advice::UseGit,
            });
        }
        let digest = match bowline_gate::sealed::file_hash(&entry) {
            Ok(digest) => digest,
            // Somebody removed it while we looked.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(failed(&entry, &error)),
        };
        hasher.update(path.as_bytes());
        hasher.update(b"\0");
        hasher.update(digest.as_bytes());
        hasher.update(b"\n");
        Ok(())
    })?;
    Ok(format!("files:{}", short(&hasher)))
}

/// Every file below a root with its path from there, in order; not in `.git` nor in the run's own folder, and only in
/// folders that are `wanted`.
pub(crate) fn walk(
    root: &Path,
    wanted: &dyn Fn(&str) -> bool,
    visit: &mut dyn FnMut(String, PathBuf) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        let place = root.join(&folder);
        let entries = match fs::read_dir(&place) {
            Ok(entries) => entries,
            // Somebody removed it while we looked.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => return Err(failed(&place, &error)),
        };
        let mut names: Vec<_> = entries.flatten().collect();
        names.sort_by_key(fs::DirEntry::file_name);
        let mut below = Vec::new();
        for entry in names {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name == ".git" || name == FOLDER_NAME {
                continue;
            }
            let path = match folder.as_str() {
                "" => name.into_owned(),
                folder => format!("{folder}/{name}"),
            };
            let kind = match entry.file_type() {
                Ok(kind) => kind,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(error) => return Err(failed(&entry.path(), &error)),
            };
            if !kind.is_dir() {
                visit(path, entry.path())?;
            } else if wanted(&path) {
                below.push(path);
            }
        }
        // Popped from the end: the first name comes first.
        folders.extend(below.into_iter().rev());
    }
    Ok(())
}

fn short(hasher: &blake3::Hasher) -> String {
    let mut hex = hasher.finalize().to_hex().to_string();
    hex.truncate(32);
    hex
}

fn failed(path: &Path, error: &std::io::Error) -> Error {
    Error::BadInput {
        message: Wrong::OfFile {
            path: shown(path),
            why: cannot_be_read(error),
        },
        hint: Advice::ReadableProject,
    }
}

/// Whether git would show the folder of a run. Outside a repository nobody could.
pub(crate) fn is_shown_by_git(file: &Path) -> bool {
    let root = locate::root_of(file);
    if workspace::git_top(root).is_none() {
        return false;
    }
    let path = format!("{FOLDER_NAME}/state.json");
    let looked = git(root, &["check-ignore", "-q", "--no-index", &path], &[]);
    // A git that cannot be run shows nothing.
    looked.is_ok_and(|end| end.code == Some(1))
}
