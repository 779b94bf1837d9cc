//! Finds a develop run from any folder of its repository, and the side folder of the run.

use bowline_formats::develop::{FILE_NAME, FOLDER_NAME};
use bowline_statefiles::{ContentHash, FileLayout};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Names the workspace root explicitly.
pub const WORKSPACE_VARIABLE: &str = "BOWLINE_WORKSPACE";

/// The journal's name in the side folder.
const JOURNAL_NAME: &str = "state.json.journal.jsonl";
/// Linked worktrees searched at most.
const WORKTREES_MAX: usize = 256;

/// Finds the run's file as seen from a folder.
///
/// The order is: the named workspace; the nearest ancestor within the repository that has the file;
/// the main worktree; any other worktree, if there is a journal; the expected path, if only the
/// journal exists. Folders above the repository come last: a file there must not hide a run whose
/// own file was removed.
pub fn develop_file(start: &Path) -> PathBuf {
    match read_variable(WORKSPACE_VARIABLE).filter(|named| !named.is_empty()) {
        Some(named) => run_file_in(Path::new(&named)),
        None => develop_file_of(start),
    }
}

/// Finds the run's file without regard to the environment: a guard must not let its caller choose
/// the place.
pub fn develop_file_of(start: &Path) -> PathBuf {
    let start = absolute_path(start);
    let top = git_top(&start);
    let mut above = None;
    for folder in start.ancestors() {
        let file = run_file_in(folder);
        if is_entry(&file) {
            if top.as_deref().is_none_or(|top| folder.starts_with(top)) {
                return file;
            }
            above = Some(file);
            break;
        }
    }
    let Some(top) = top else {
        return run_file_in(&start);
    };
    let home = main_worktree(&top);
    if let Some(file) = home
        .as_deref()
        .map(run_file_in)
        .filter(|file| is_entry(file))
    {
        return file;
    }
    if has_journal(&run_file_in(&top)) {
        let elsewhere = linked_worktrees(&top)
            .into_iter()
            .map(|folder| run_file_in(&folder));
        return elsewhere
            .into_iter()
            .find(|file| is_entry(file))
            .unwrap_or_else(|| run_file_in(home.as_deref().unwrap_or(&top)));
    }
    above.unwrap_or_else(|| run_file_in(&top))
}

/// True if a run's file is at a path or expected there: it was removed while its journal still
/// names this path.
pub fn is_develop_file(file: &Path) -> bool {
    is_entry(file) || has_journal(file) && develop_file(root_of(file)) == absolute_path(file)
}

/// Returns the folder of everything about a run except its file. All worktrees of a repository
/// share it.
pub fn side_folder(file: &Path) -> PathBuf {
    let file = absolute_path(file);
    let root = root_of(&file);
    let shared = git_top(root).and_then(|top| git_common_dir(&top));
    let place = shared.unwrap_or_else(|| root.canonicalize().unwrap_or_else(|_| root.to_owned()));
    let key = ContentHash::of_bytes(place.as_os_str().as_encoded_bytes());
    state_home().join("bowline/develop").join(key.to_string())
}

/// Returns the folder that holds the seal and the evidence of each run.
pub fn runs_folder(file: &Path) -> PathBuf {
    side_folder(file).join("runs")
}

/// Returns the marker file in the side folder that exists once the journal does. Without its
/// journal the run is then damaged, not another program's.
pub fn journal_marker(file: &Path) -> PathBuf {
    side_folder(file).join("opened")
}

/// Returns the marker file in the repository's git folder that exists while a run of Bowline's is
/// open: if the side folder was removed, the run does not pass for another program's. `None`
/// outside git. Its folder holds nothing else, so that the helper of a sandboxed agent may write
/// this folder and nothing else of git's.
pub fn open_run_marker(file: &Path) -> Option<PathBuf> {
    let top = git_top(root_of(&absolute_path(file)))?;
    Some(git_common_dir(&top)?.join("bowline/develop-run"))
}

/// True if Bowline ever began a run here, even if its journal is gone.
pub fn has_begun(file: &Path) -> bool {
    journal_marker(file).exists() || open_run_marker(file).is_some_and(|witness| witness.exists())
}

/// Returns the layout of a run's file with its side folder.
pub fn run_layout(file: &Path) -> FileLayout {
    FileLayout::new(file).with_side_folder(side_folder(file))
}

/// Returns the workspace root of a run: the folder that holds `.develop-workflow/`.
pub fn root_of(file: &Path) -> &Path {
    file.parent().and_then(Path::parent).unwrap_or(file)
}

/// Returns `$XDG_STATE_HOME`, or its default.
pub fn state_home() -> PathBuf {
    state_home_in(read_variable)
}

/// Reads a variable of this process. The gate reads variables only here.
pub(crate) fn read_variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// Returns the user's settings files that register or disable the gate in clients, or its hooks in
/// git.
pub(crate) fn guards_of_user() -> Vec<PathBuf> {
    let set = |name: &str| {
        let value = read_variable(name).filter(|value| !value.is_empty());
        value.map(PathBuf::from)
    };
    let Some(home) = set("HOME") else {
        return Vec::new();
    };
    let config = set("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config"));
    let claude = set("CLAUDE_CONFIG_DIR").unwrap_or_else(|| home.join(".claude"));
    let codex = set("CODEX_HOME").unwrap_or_else(|| home.join(".codex"));
    let git = set("GIT_CONFIG_GLOBAL").unwrap_or_else(|| home.join(".gitconfig"));
    vec![
        claude.join("settings.json"),
        claude.join("settings.local.json"),
        home.join(".claude.json"),
        codex.join("config.toml"),
        codex.join("hooks.json"),
        home.join(".gemini/settings.json"),
        home.join(".gemini/trustedFolders.json"),
        config.join("opencode/opencode.json"),
        git,
        config.join("git/config"),
    ]
}

/// Returns the state home according to another environment.
pub fn state_home_in(variable: impl Fn(&'static str) -> Option<OsString>) -> PathBuf {
    let set = variable("XDG_STATE_HOME").filter(|value| !value.is_empty());
    set.map(PathBuf::from).unwrap_or_else(|| {
        let home = variable("HOME").map_or_else(|| PathBuf::from("."), PathBuf::from);
        home.join(".local/state")
    })
}

/// Makes a path absolute without resolving links.
pub fn absolute_path(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// Returns the top folder of the repository or worktree that contains a folder.
pub fn git_top(start: &Path) -> Option<PathBuf> {
    start
        .ancestors()
        .find(|folder| folder.join(".git").exists())
        .map(Path::to_owned)
}

/// Returns the main worktree of the repository of a worktree; the main worktree returns itself.
pub fn main_worktree(top: &Path) -> Option<PathBuf> {
    let common = git_common_dir(top)?;
    (common.file_name()? == ".git")
        .then(|| common.parent().map(Path::to_owned))
        .flatten()
}

/// Returns the git folder that all worktrees of a repository share.
pub fn git_common_dir(top: &Path) -> Option<PathBuf> {
    let git = top.join(".git");
    if git.is_dir() {
        return git.canonicalize().ok();
    }
    let link = std::fs::read_to_string(&git).ok()?;
    let folder = top.join(link.strip_prefix("gitdir:")?.trim());
    match std::fs::read_to_string(folder.join("commondir")) {
        Ok(common) => folder.join(common.trim()).canonicalize().ok(),
        // A submodule shares its git folder with no worktree.
        Err(_) => folder.canonicalize().ok(),
    }
}

/// Lists the linked worktrees of a repository from git's own records.
fn linked_worktrees(top: &Path) -> Vec<PathBuf> {
    let Some(common) = git_common_dir(top) else {
        return Vec::new();
    };
    let entries = std::fs::read_dir(common.join("worktrees"))
        .into_iter()
        .flatten()
        .flatten();
    let mut found: Vec<PathBuf> = entries
        .take(WORKTREES_MAX)
        .filter_map(|entry| {
            let link = std::fs::read_to_string(entry.path().join("gitdir")).ok()?;
            Some(Path::new(link.trim()).parent()?.to_owned())
        })
        .collect();
    found.sort();
    found
}

fn run_file_in(root: &Path) -> PathBuf {
    root.join(FOLDER_NAME).join(FILE_NAME)
}

/// True for a dangling link and a pipe too: the reader reports the error.
fn is_entry(file: &Path) -> bool {
    file.symlink_metadata().is_ok()
}

fn has_journal(file: &Path) -> bool {
    side_folder(file).join(JOURNAL_NAME).exists()
}
