//! Implements `bowline init`: hooks for agent clients and git, tool entries, and paths that git
//! ignores. All changes are planned first so that they can be shown; existing content stays.

mod git_hooks;
mod tool_entries;

use crate::context::Context;
use crate::error::Error;
use crate::words::{display_path, system_cause};
use crate::{history, process};
use bowline_formats::client_hooks::{self, HookLayout, LAUNCHER, PROGRAM, ShimLocation};
use bowline_formats::json::JsonDocument;
use bowline_gate::decision::has_closed_gate;
use bowline_gate::{locate, run_trust};
use bowline_statefiles::write_atomically;
use bowline_words::message::{Advice, Notice, Why, Wrong};
use serde_json::json;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Paths that git has to ignore: a run's own folder, a person's own settings, and files beside
/// state files.
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

/// Agent client whose settings we know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentClient {
    Claude,
    Codex,
    Gemini,
    Opencode,
}

impl AgentClient {
    pub const ALL: [AgentClient; 4] = [
        AgentClient::Claude,
        AgentClient::Codex,
        AgentClient::Gemini,
        AgentClient::Opencode,
    ];

    /// Returns the client's name on our command line and in its hooks.
    pub const fn name(self) -> &'static str {
        match self {
            AgentClient::Claude => "claude",
            AgentClient::Codex => "codex",
            AgentClient::Gemini => "gemini",
            AgentClient::Opencode => "opencode",
        }
    }

    /// Returns the project file that names our hooks, below the root of a workspace.
    pub const fn settings_path(self) -> &'static str {
        match self {
            AgentClient::Claude => ".claude/settings.json",
            AgentClient::Codex => ".codex/hooks.json",
            AgentClient::Gemini => ".gemini/settings.json",
            AgentClient::Opencode => ".opencode/plugins/bowline.js",
        }
    }

    /// Returns the project file for one person's settings, if the client has one.
    const fn personal_settings_path(self) -> Option<&'static str> {
        match self {
            AgentClient::Claude => Some(client_hooks::PERSONAL),
            AgentClient::Codex | AgentClient::Gemini | AgentClient::Opencode => None,
        }
    }

    /// Plans the changes of those files; empty if there is nothing to remove.
    fn plan_edits(self, root: &Path, program: Option<&str>) -> Result<Vec<FileEdit>, Error> {
        let path = root.join(self.settings_path());
        let anywhere = program.map(|_| ShimLocation::Anywhere(self.name()));
        let shared = match self {
            AgentClient::Claude | AgentClient::Codex => {
                plan_settings(&path, anywhere, HookLayout::Claude)?
            }
            AgentClient::Gemini => plan_settings(&path, anywhere, HookLayout::Gemini)?,
            AgentClient::Opencode => plan_plugin(path, program.is_some())?,
        };
        let personal = match self.personal_settings_path() {
            Some(file) => {
                let reach = program.map(ShimLocation::Path);
                plan_settings(&root.join(file), reach, HookLayout::Claude)?
            }
            None => None,
        };
        Ok(shared.into_iter().chain(personal).collect())
    }

    /// True if a workspace has files of this client.
    fn is_used(self, root: &Path) -> bool {
        Path::new(self.settings_path())
            .iter()
            .next()
            .is_some_and(|folder| root.join(folder).is_dir())
    }
}

/// Planned change of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEdit {
    pub path: PathBuf,
    /// Present content; `None` if the file is missing.
    pub before: Option<Vec<u8>>,
    /// Planned content; `None` removes the file.
    pub after: Option<Vec<u8>>,
    /// Planned executable bit; `None` leaves it as it is.
    pub executable: Option<bool>,
}

impl FileEdit {
    fn for_path(
        path: PathBuf,
        after: Option<Vec<u8>>,
        executable: Option<bool>,
    ) -> Result<Self, Error> {
        let before = read_optional(&path)?;
        Ok(FileEdit {
            path,
            before,
            after,
            executable,
        })
    }

    fn has_changes(&self) -> bool {
        self.before != self.after
    }
}

/// All planned changes.
#[derive(Debug, Clone)]
pub struct InstallPlan {
    /// Root of the workspace.
    pub root: PathBuf,
    pub clients: Vec<AgentClient>,
    /// True if the root is in a git repository.
    pub git: bool,
    /// True if the hooks are files of the work tree: then a linked worktree has them only once they
    /// are committed.
    pub hooks_in_tree: bool,
    /// Changed files, in the order in which they are written.
    pub edits: Vec<FileEdit>,
    /// Files whose tool entry is not ours, and stays.
    pub kept: Vec<PathBuf>,
}

/// Plans an installation. Without clients, those used here are chosen, or Claude Code if none is.
/// Needs a person while a gate is closed: it changes which hooks ask the gate.
pub fn plan_install(
    context: &Context,
    start: &Path,
    clients: &[AgentClient],
    shim: &Path,
) -> Result<InstallPlan, Error> {
    let root = root_of(start);
    if !context.dry_run && has_closed_gate(&run_trust::assess_folder(&root)) {
        history::require_person(context, "init")?;
    }
    let mut clients = clients.to_vec();
    if clients.is_empty() {
        clients.extend(
            AgentClient::ALL
                .into_iter()
                .filter(|one| one.is_used(&root)),
        );
    }
    if clients.is_empty() {
        clients.push(AgentClient::Claude);
    }
    let program = shim.to_string_lossy();
    let mut edits = Vec::new();
    for client in &clients {
        edits.extend(client.plan_edits(&root, Some(&program))?);
    }
    edits.extend(plan_launcher(&root, Some(&program))?);
    let git = locate::git_top(&root).is_some();
    let mut hooks_in_tree = false;
    if git {
        let folder = hooks_folder(&root)?;
        hooks_in_tree = folder.starts_with(&root)
            && !locate::git_common_dir(&root).is_some_and(|common| folder.starts_with(common));
        edits.extend(git_hooks::put_in(&folder, shim)?);
        edits.push(plan_exclude_list(&root, true)?);
    }
    let kept = tool_entries::plan_tool_entries(&root, &clients, true, &mut edits)?;
    edits.retain(FileEdit::has_changes);
    Ok(InstallPlan {
        root,
        clients,
        git,
        hooks_in_tree,
        edits,
        kept,
    })
}

/// Returns the reason for which git does not ask the gates of a run, though `bowline init` was run
/// there. Reads only.
pub(crate) fn git_hooks_off(run_file: &Path) -> Option<Notice> {
    let top = locate::git_top(locate::root_of(run_file))?;
    let common = locate::git_common_dir(&top)?;
    // Without `bowline init` no hooks are expected.
    if !common.join(LAUNCHER).exists() {
        return None;
    }
    let folder = match hooks_folder(&top) {
        Ok(folder) => folder,
        Err(Error::BadInput {
            message: Wrong::SharedHooks { path },
            ..
        }) => return Some(Notice::GitHooksElsewhere { path }),
        Err(_) => return None,
    };
    git_hooks::first_off(&folder)
}

/// Plans to remove everything. Needs a person: these hooks are the gates.
pub fn plan_removal(context: &Context, start: &Path) -> Result<InstallPlan, Error> {
    history::require_person(context, "init --uninstall")?;
    let root = root_of(start);
    let mut edits = Vec::new();
    for client in AgentClient::ALL {
        edits.extend(client.plan_edits(&root, None)?);
    }
    edits.extend(plan_launcher(&root, None)?);
    let git = locate::git_top(&root).is_some();
    if git {
        edits.extend(git_hooks::take_out(&hooks_folder(&root)?)?);
        edits.push(plan_exclude_list(&root, false)?);
    }
    let kept = tool_entries::plan_tool_entries(&root, &AgentClient::ALL, false, &mut edits)?;
    edits.retain(FileEdit::has_changes);
    Ok(InstallPlan {
        root,
        clients: AgentClient::ALL.to_vec(),
        git,
        hooks_in_tree: false,
        edits,
        kept,
    })
}

/// Executes a plan file by file. Each file is replaced atomically; a second run completes an
/// interrupted one.
pub fn carry_out(context: &Context, plan: &InstallPlan) -> Result<(), Error> {
    if context.dry_run {
        return Ok(());
    }
    for edit in &plan.edits {
        match &edit.after {
            Some(bytes) => write_atomically(&*context.disk, &edit.path, bytes, edit.executable)?,
            None => context
                .disk
                .unlink(&edit.path)
                .map_err(|error| file_error("remove", &edit.path, error))?,
        }
    }
    Ok(())
}

/// Returns the shim beside this program.
pub fn installed_shim() -> Result<PathBuf, Error> {
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

/// Plans a change of a client's settings; `None` if there is nothing to remove.
fn plan_settings(
    path: &Path,
    reach: Option<ShimLocation<'_>>,
    dialect: HookLayout,
) -> Result<Option<FileEdit>, Error> {
    let before = read_optional(path)?;
    let document = match &before {
        None if reach.is_none() => return Ok(None),
        None => JsonDocument::new(json!({})),
        Some(bytes) => document_in(path, bytes)?,
    };
    let value = match reach {
        Some(reach) => client_hooks::add_hooks(document.value(), reach, dialect),
        None => client_hooks::remove_hooks(document.value()),
    };
    let value = value.map_err(|error| {
        let text = error.to_string();
        to_be_mended(path, Why::Hooks { text })
    })?;
    let ours_alone = reach.is_none() && value == json!({});
    let after = (!ours_alone).then(|| document.reconcile(&value).text().as_bytes().to_vec());
    Ok(Some(FileEdit {
        path: path.to_owned(),
        before,
        after,
        executable: None,
    }))
}

fn document_in(path: &Path, bytes: &[u8]) -> Result<JsonDocument, Error> {
    JsonDocument::parse(bytes).map_err(|error| {
        let found = Box::new(error.to_message());
        to_be_mended(path, Why::Found { found })
    })
}

/// Returns the error for client settings that cannot be edited as they are.
fn to_be_mended(path: &Path, why: Why) -> Error {
    Error::BadInput {
        message: Wrong::InFile {
            path: display_path(path),
            why,
        },
        hint: Advice::MendNothingChanged,
    }
}

/// Plans a change of our plugin, which is the whole file; a file of that name that is not ours is
/// left alone.
fn plan_plugin(path: PathBuf, put_in: bool) -> Result<Option<FileEdit>, Error> {
    let after = put_in.then(|| client_hooks::opencode_plugin().into_bytes());
    let edit = FileEdit::for_path(path, after, None)?;
    match &edit.before {
        Some(text) if !client_hooks::is_our_plugin(text) && put_in => Err(Error::BadInput {
            message: Wrong::NotOurs {
                path: display_path(&edit.path),
            },
            hint: Advice::MoveNothingChanged,
        }),
        Some(text) => Ok(client_hooks::is_our_plugin(text).then_some(edit)),
        None => Ok(put_in.then_some(edit)),
    }
}

/// Plans a change of the launcher, by which hooks of committed files find this machine's program:
/// it is in the clone and is never committed.
fn plan_launcher(root: &Path, program: Option<&str>) -> Result<Option<FileEdit>, Error> {
    let common = locate::git_top(root).and_then(|top| locate::git_common_dir(&top));
    let Some(common) = common else {
        return Ok(None);
    };
    let after = program.map(|program| client_hooks::launcher_script(program).into_bytes());
    Ok(Some(FileEdit::for_path(
        common.join(LAUNCHER),
        after,
        Some(true),
    )?))
}

/// Plans a change of the repository's exclude list, which is not committed.
fn plan_exclude_list(root: &Path, put_in: bool) -> Result<FileEdit, Error> {
    let common = locate::git_top(root).and_then(|top| locate::git_common_dir(&top));
    let path = common.unwrap_or_default().join("info/exclude");
    let before = read_optional(&path)?;
    let text = String::from_utf8_lossy(before.as_deref().unwrap_or_default()).into_owned();
    let mut after = String::new();
    if put_in {
        // At the beginning, so that existing lines keep their bytes, even a missing line end, and
        // take precedence.
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
    Ok(FileEdit {
        path,
        before,
        after,
        executable: None,
    })
}

/// Returns the folder in which git looks for the hooks of a repository.
fn hooks_folder(root: &Path) -> Result<PathBuf, Error> {
    // Our own git is run without hooks, as its last setting says; the settings before it are the
    // user's.
    let known = process::run_git(
        root,
        &["config", "--type=path", "--get-all", "core.hooksPath"],
        &[],
    )?;
    let mut known: Vec<&str> = known.stdout.lines().collect();
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
            path: display_path(&folder),
        },
        hint: Advice::OwnHooks,
    })
}

fn root_of(start: &Path) -> PathBuf {
    let start = locate::absolute_path(start);
    locate::git_top(&start).unwrap_or(start)
}

fn is_executable(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|meta| meta.permissions().mode() & 0o111 != 0)
}

fn read_optional(path: &Path) -> Result<Option<Vec<u8>>, Error> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(file_error("read", path, error)),
    }
}

fn file_error(what: &'static str, path: &Path, error: std::io::Error) -> Error {
    Error::BadInput {
        message: Wrong::CannotDo {
            action: what,
            path: display_path(path),
            cause: system_cause(&error),
        },
        hint: Advice::SeePermissions,
    }
}
