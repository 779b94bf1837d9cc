//! `bowline init`: hooks for agent clients and for git, the entry of our tools, and what git ignores. Everything is planned first, so that it can
//! be shown; what is there already stays.

mod git_hooks;
mod tools;

use crate::context::Context;
use crate::error::Error;
use crate::words::{shown, system};
use crate::{history, process};
use bowline_formats::client_hooks::{self, Dialect, LAUNCHER, PROGRAM, Reach};
use bowline_formats::json::JsonDocument;
use bowline_gate::verdict::has_closed_gate;
use bowline_gate::{belief, locate};
use bowline_statefiles::write_whole;
use bowline_words::message::{Advice, Notice as Told, Why, Wrong};
use serde_json::json;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// What git is told to ignore: a run's own folder, a person's own settings, and what lies beside state files.
const IGNORED: [&str; 7] = [
    ".develop-workflow/",
    client_hooks::PERSONAL,
    "thinking_state.json.*",
    ".claude/memory/*.json.*",
    ".claude/memory/agents/*.json.*",
    ".claude/memory/backup/",
    ".claude/orchestrate-state.json.*",
];
const IGNORED_BEGIN: &str = "# bowline";
const IGNORED_END: &str = "# end of bowline";

/// An agent client whose settings we know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Client {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// Gemini.
    Gemini,
    /// OpenCode.
    Opencode,
}

impl Client {
    /// All clients.
    pub const ALL: [Client; 4] = [
        Client::Claude,
        Client::Codex,
        Client::Gemini,
        Client::Opencode,
    ];

    /// The client's name on our command line and in its hooks.
    pub const fn name(self) -> &'static str {
        match self {
            Client::Claude => "claude",
            Client::Codex => "codex",
            Client::Gemini => "gemini",
            Client::Opencode => "opencode",
        }
    }

    /// The file of the project that names our hooks, below the root of a workspace.
    pub const fn settings(self) -> &'static str {
        match self {
            Client::Claude => ".claude/settings.json",
            Client::Codex => ".codex/hooks.json",
            Client::Gemini => ".gemini/settings.json",
            Client::Opencode => ".opencode/plugins/bowline.js",
        }
    }

    /// The file in which it keeps what is one person's, where it has one in a project.
    const fn personal(self) -> Option<&'static str> {
        match self {
            Client::Claude => Some(client_hooks::PERSONAL),
            Client::Codex | Client::Gemini | Client::Opencode => None,
        }
    }

    /// Those files with our hooks in or out; none where there is nothing to take out.
    fn edits(self, root: &Path, program: Option<&str>) -> Result<Vec<Edit>, Error> {
        let path = root.join(self.settings());
        let anywhere = program.map(|_| Reach::Anywhere(self.name()));
        let shared = match self {
            Client::Claude | Client::Codex => settings(&path, anywhere, Dialect::Claude)?,
            Client::Gemini => settings(&path, anywhere, Dialect::Gemini)?,
            Client::Opencode => plugin(path, program.is_some())?,
        };
        let personal = match self.personal() {
            Some(file) => {
                let reach = program.map(Reach::Path);
                settings(&root.join(file), reach, Dialect::Claude)?
            }
            None => None,
        };
        Ok(shared.into_iter().chain(personal).collect())
    }

    /// Whether a workspace has something of this client.
    fn is_used(self, root: &Path) -> bool {
        Path::new(self.settings())
            .iter()
            .next()
            .is_some_and(|folder| root.join(folder).is_dir())
    }
}

/// One file that is to be another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// Which.
    pub path: PathBuf,
    /// What is in it; `None` where it is missing.
    pub before: Option<Vec<u8>>,
    /// What will be in it; `None` when it goes.
    pub after: Option<Vec<u8>>,
    /// Whether it is to be run; `None` leaves that as it is.
    pub executable: Option<bool>,
}

impl Edit {
    fn of(path: PathBuf, after: Option<Vec<u8>>, executable: Option<bool>) -> Result<Self, Error> {
        let before = read(&path)?;
        Ok(Edit {
            path,
            before,
            after,
            executable,
        })
    }

    fn changes(&self) -> bool {
        self.before != self.after
    }
}

/// What is to be done, all of it.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The root of the workspace.
    pub root: PathBuf,
    /// The clients served.
    pub clients: Vec<Client>,
    /// Whether the root is in a git repository.
    pub git: bool,
    /// The hooks are files of the work tree, so a linked worktree has them only when they are committed.
    pub hooks_in_tree: bool,
    /// Files that change, in the order in which they are written.
    pub edits: Vec<Edit>,
    /// Files whose entry for our tools is somebody's own, and stays.
    pub kept: Vec<PathBuf>,
}

/// Plans to put everything in. Without clients those that are used here are taken, and Claude Code when none is. A person's
/// move while a gate is closed: it changes which hooks ask the gate.
pub fn plan(
    context: &Context,
    start: &Path,
    clients: &[Client],
    shim: &Path,
) -> Result<Plan, Error> {
    let root = root_of(start);
    if !context.dry_run && has_closed_gate(&belief::of_folder(&root)) {
        history::person(context, "init")?;
    }
    let mut clients = clients.to_vec();
    if clients.is_empty() {
        clients.extend(Client::ALL.into_iter().filter(|one| one.is_used(&root)));
    }
    if clients.is_empty() {
        clients.push(Client::Claude);
    }
    let program = shim.to_string_lossy();
    let mut edits = Vec::new();
    for client in &clients {
        edits.extend(client.edits(&root, Some(&program))?);
    }
    edits.extend(launcher(&root, Some(&program))?);
    let git = locate::git_top(&root).is_some();
    let mut hooks_in_tree = false;
    if git {
        let folder = hooks_folder(&root)?;
        hooks_in_tree = folder.starts_with(&root)
            && !locate::git_common_dir(&root).is_some_and(|common| folder.starts_with(common));
        edits.extend(git_hooks::put_in(&folder, shim)?);
        edits.push(ignored(&root, true)?);
    }
    let kept = tools::plan(&root, &clients, true, &mut edits)?;
    edits.retain(Edit::changes);
    Ok(Plan {
        root,
        clients,
        git,
        hooks_in_tree,
        edits,
        kept,
    })
}

/// Why git does not ask the gates of the run whose file is at a path, though `bowline init` was run there. Reads only.
pub(crate) fn git_hooks_off(run_file: &Path) -> Option<Told> {
    let top = locate::git_top(locate::root_of(run_file))?;
    let common = locate::git_common_dir(&top)?;
    // Where nobody ran it nothing is missed.
    if !common.join(LAUNCHER).exists() {
        return None;
    }
    let folder = match hooks_folder(&top) {
        Ok(folder) => folder,
        Err(Error::BadInput {
            message: Wrong::SharedHooks { path },
            ..
        }) => return Some(Told::GitHooksElsewhere { path }),
        Err(_) => return None,
    };
    git_hooks::first_off(&folder)
}

/// Plans to take everything out again. A person's move: these are the gates.
pub fn plan_removal(context: &Context, start: &Path) -> Result<Plan, Error> {
    history::person(context, "init --uninstall")?;
    let root = root_of(start);
    let mut edits = Vec::new();
    for client in Client::ALL {
        edits.extend(client.edits(&root, None)?);
    }
    edits.extend(launcher(&root, None)?);
    let git = locate::git_top(&root).is_some();
    if git {
        edits.extend(git_hooks::take_out(&hooks_folder(&root)?)?);
        edits.push(ignored(&root, false)?);
    }
    let kept = tools::plan(&root, &Client::ALL, false, &mut edits)?;
    edits.retain(Edit::changes);
    Ok(Plan {
        root,
        clients: Client::ALL.to_vec(),
        git,
        hooks_in_tree: false,
        edits,
        kept,
    })
}

/// Carries a plan out, file by file. Each is whole before and after; a second run finishes what a first one did not.
pub fn carry_out(context: &Context, plan: &Plan) -> Result<(), Error> {
    if context.dry_run {
        return Ok(());
    }
    for edit in &plan.edits {
        match &edit.after {
            Some(bytes) => write_whole(&*context.disk, &edit.path, bytes, edit.executable)?,
            None => context
                .disk
                .unlink(&edit.path)
                .map_err(|error| unreadable("remove", &edit.path, error))?,
        }
    }
    Ok(())
}

/// The shim that belongs to this program: beside it.
pub fn shim() -> Result<PathBuf, Error> {
    let beside = std::env::current_exe()
        .ok()
        .map(|program| program.with_file_name(PROGRAM))
        .filter(|path| path.is_file());
    beside.ok_or_else(|| Error::BadInput {
        message: Wrong::NoShimBeside {
            program: PROGRAM.into(),
        },
        hint: Advice::InstallBoth,
    })
}

/// The settings of a client with our hooks in or out; `None` where there is nothing to take out.
fn settings(
    path: &Path,
    reach: Option<Reach<'_>>,
    dialect: Dialect,
) -> Result<Option<Edit>, Error> {
    let before = read(path)?;
    let document = match &before {
        None if reach.is_none() => return Ok(None),
        None => JsonDocument::new(json!({})),
        Some(bytes) => document_in(path, bytes)?,
    };
    let value = match reach {
        Some(reach) => client_hooks::installed(document.value(), reach, dialect),
        None => client_hooks::removed(document.value()),
    };
    let value = value.map_err(|error| {
        let text = error.to_string();
        to_be_mended(path, Why::Hooks { text })
    })?;
    let ours_alone = reach.is_none() && value == json!({});
    let after = (!ours_alone).then(|| document.reconcile(&value).text().as_bytes().to_vec());
    Ok(Some(Edit {
        path: path.to_owned(),
        before,
        after,
        executable: None,
    }))
}

fn document_in(path: &Path, bytes: &[u8]) -> Result<JsonDocument, Error> {
    JsonDocument::parse(bytes).map_err(|error| {
        let found = Box::new(error.found());
        to_be_mended(path, Why::Found { found })
    })
}

/// Settings of a client that cannot be edited as they are.
fn to_be_mended(path: &Path, why: Why) -> Error {
    Error::BadInput {
        message: Wrong::InFile {
            path: shown(path),
            why,
        },
        hint: Advice::MendNothingChanged,
    }
}

/// A plugin of ours, the whole file; one of that name that somebody else wrote is left alone.
fn plugin(path: PathBuf, put_in: bool) -> Result<Option<Edit>, Error> {
    let after = put_in.then(|| client_hooks::plugin().into_bytes());
    let edit = Edit::of(path, after, None)?;
    match &edit.before {
        Some(text) if !client_hooks::is_our_plugin(text) && put_in => Err(Error::BadInput {
            message: Wrong::NotOurs {
                path: shown(&edit.path),
            },
            hint: Advice::MoveNothingChanged,
        }),
        Some(text) => Ok(client_hooks::is_our_plugin(text).then_some(edit)),
        None => Ok(put_in.then_some(edit)),
    }
}

/// Where hooks of committed files find the program of this machine: in the clone, and in nothing that is sent on.
fn launcher(root: &Path, program: Option<&str>) -> Result<Option<Edit>, Error> {
    let common = locate::git_top(root).and_then(|top| locate::git_common_dir(&top));
    let Some(common) = common else {
        return Ok(None);
    };
    let after = program.map(|program| client_hooks::launcher(program).into_bytes());
    Ok(Some(Edit::of(common.join(LAUNCHER), after, Some(true))?))
}

/// The repository's own list of what is ignored, which is not part of the work.
fn ignored(root: &Path, put_in: bool) -> Result<Edit, Error> {
    let common = locate::git_top(root).and_then(|top| locate::git_common_dir(&top));
    let path = common.unwrap_or_default().join("info/exclude");
    let before = read(&path)?;
    let text = String::from_utf8_lossy(before.as_deref().unwrap_or_default()).into_owned();
    let mut after = String::new();
    if put_in {
        // In front, so that what is there keeps its bytes, a missing line end too, and has the last word.
        let block = [IGNORED_BEGIN]
            .into_iter()
            .chain(IGNORED)
            .chain([IGNORED_END]);
        block.for_each(|line| after.push_str(&format!("{line}\n")));
    }
    let mut ours = false;
    for line in text.split_inclusive('\n') {
        let bare = line.trim_end_matches(['\r', '\n']);
        ours |= bare == IGNORED_BEGIN;
        if !ours {
            after.push_str(line);
        }
        ours &= bare != IGNORED_END;
    }
    let after = (before.is_some() || !after.is_empty()).then(|| after.into_bytes());
    Ok(Edit {
        path,
        before,
        after,
        executable: None,
    })
}

/// Where git looks for the hooks of a repository.
fn hooks_folder(root: &Path) -> Result<PathBuf, Error> {
    // Our own git is told to have no hooks; what it was told before that is the user's.
    let known = process::git(
        root,
        &["config", "--type=path", "--get-all", "core.hooksPath"],
        &[],
    )?;
    let mut known: Vec<&str> = known.printed.lines().collect();
    known.pop();
    let top = locate::git_top(root).unwrap_or_else(|| root.to_owned());
    let common = locate::git_common_dir(&top).unwrap_or_else(|| top.clone());
    let Some(folder) = known.last().map(|folder| top.join(folder)) else {
        return Ok(common.join("hooks"));
    };
    if folder.starts_with(&top) || folder.starts_with(&common) {
        return Ok(folder);
    }
    Err(Error::BadInput {
        message: Wrong::SharedHooks {
            path: shown(&folder),
        },
        hint: Advice::OwnHooks,
    })
}

fn root_of(start: &Path) -> PathBuf {
    let start = locate::absolute(start);
    locate::git_top(&start).unwrap_or(start)
}

fn is_executable(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|meta| meta.permissions().mode() & 0o111 != 0)
}

fn read(path: &Path) -> Result<Option<Vec<u8>>, Error> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unreadable("read", path, error)),
    }
}

fn unreadable(what: &'static str, path: &Path, error: std::io::Error) -> Error {
    Error::BadInput {
        message: Wrong::CannotDo {
            action: what,
            path: shown(path),
            cause: system(&error),
        },
        hint: Advice::SeePermissions,
    }
}
