//! Resolves the roots of a sandboxed agent: those a person names, those its client needs, and those
//! Bowline needs. Links are followed before anything is granted.

use super::develop_access::DevelopRunAccess;
use super::presets;
use super::toolchains;
use crate::context::Context;
use crate::error::Error;
use crate::words::{display_path, system_cause};
use bowline_supervisor::{RelaySpec, Sandbox};
use bowline_words::message::{Advice, Wrong};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

/// Most links followed for one root.
const LINKS_MAX: usize = 40;

/// First argument by which `bowline` executes the requests of a sandboxed agent.
pub const RELAY_WORD: &str = "relay";

/// Sandbox requested by a person.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SandboxRequest {
    /// Working folder of the person.
    pub here: PathBuf,
    /// Further roots to read.
    pub read: Vec<PathBuf>,
    /// Further roots to write.
    pub write: Vec<PathBuf>,
    /// TCP ports to connect to; `None` allows all.
    pub connect: Option<Vec<u16>>,
    /// TCP ports to listen on; `None` allows all.
    pub listen: Option<Vec<u16>>,
    /// Starts the agent even where the kernel cannot enforce all of it.
    pub best_effort: bool,
}

/// Resolved sandbox of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxGrant {
    /// Working folder of the agent, without links.
    pub folder: PathBuf,
    pub sandbox: Sandbox,
    /// Client whose roots are included.
    pub client: Option<&'static str>,
    /// Folders of programs that its `PATH` names and that are not granted.
    pub missing: Vec<PathBuf>,
    /// Folders that must exist to be granted; made when the agent is started.
    pub(super) make: Vec<PathBuf>,
    /// Private settings folder, if its client needs one.
    pub(super) home: Option<presets::PrivateHome>,
    /// Channel by which the agent reaches Bowline; `None` if its verbs are not relayed.
    pub(super) relay: Option<RelaySpec>,
}

impl SandboxGrant {
    /// Resolves the sandbox around a working folder. `state` is the folder of Bowline's own
    /// records.
    pub(super) fn resolve_request(
        context: &Context,
        request: &SandboxRequest,
        folder: &Path,
        command: &[String],
        state: &Path,
    ) -> Result<SandboxGrant, Error> {
        let mut places = Vec::new();
        // A removed folder has no path, and nothing is resolved against it.
        if request.here.is_absolute() {
            places.push(resolve_root(&request.here, &[])?);
        }
        let folder = resolve_root(folder, &places)?;
        places.push(folder.clone());
        let program = std::env::current_exe().map_err(|source| Error::ProgramFailed {
            program: "bowline".into(),
            message: source.to_string(),
        })?;
        let mut write = vec![folder.clone()];
        for root in &request.write {
            match resolve_root(root, &places) {
                Ok(root) => {
                    places.push(root.clone());
                    write.push(root);
                }
                Err(Error::BadInput { .. }) if request.best_effort => {}
                // A missing root may be where Bowline's own files will be.
                Err(error @ Error::BadInput { .. }) => {
                    keeps_ours(&[follow_links(root)], &[state, &program])?;
                    return Err(error);
                }
                Err(error) => return Err(error),
            }
        }
        let preset = presets::preset_for(&context.variables, command);
        let mut make: Vec<PathBuf> = preset.make.iter().map(|it| follow_links(it)).collect();
        write.extend(existing_roots(preset.write, &make));
        let kept =
            keeps_ours(&write, &[state, &program]).and_then(|()| holds_no_home(context, &write));
        // Unless the sandbox protects Bowline's files, nothing is executed for the agent outside.
        let relayed = kept.is_ok();
        if !request.best_effort {
            kept?;
        }
        let mut run = DevelopRunAccess::for_folder(context, &folder, &write);
        if run_is_too_wide(context, &run, state, &program) {
            run = DevelopRunAccess::default();
        }
        make.extend(run.make.iter().map(|it| follow_links(it)));
        let mut read = Vec::new();
        for root in &request.read {
            read.push(resolve_root(root, &places)?);
        }
        read.extend(preset.read);
        read.extend(task_records(context));
        let mut relay = RelaySpec {
            program: program.clone(),
            words: vec![RELAY_WORD.into()],
            ..RelaySpec::default()
        };
        // The agent and its client's hooks run these programs, wherever they are installed.
        read.extend([program.with_file_name("bowline-shim"), program]);
        read.extend(run.side.iter().chain(&run.read).cloned());
        relay.write = run.side.into_iter().chain(run.write).collect();
        relay.read.extend(context.evidence_key.clone());
        let settings = toolchains::git_settings(&context.variables, &folder, &write);
        read.extend(settings);
        let mut sandbox = Sandbox::with_writable(write);
        sandbox.read.extend(existing_roots(read, &make));
        sandbox.connect.clone_from(&request.connect);
        sandbox.listen.clone_from(&request.listen);
        sandbox.best_effort = request.best_effort;
        relay.read = existing_roots(relay.read, &make);
        relay.write = existing_roots(relay.write, &make);
        let missing = toolchains::missing_tools(&context.variables, &sandbox, command);
        Ok(SandboxGrant {
            folder,
            sandbox,
            client: preset.client,
            missing,
            make,
            home: preset.home,
            relay: relayed.then_some(relay),
        })
    }
}

/// Returns the folder with the prompt of a server task, if it is outside the workspace: `tasks/ID`
/// of the server's data folder.
fn task_records(context: &Context) -> Option<PathBuf> {
    let prompt = Path::new(context.variables.get("BOWLINE_PROMPT_FILE")?);
    let task = context.variables.get("BOWLINE_TASK_ID")?;
    let records = prompt.parent()?.parent()?;
    let is_tasks = records.parent()?.file_name()? == "tasks";
    (is_tasks && records.file_name()? == task && prompt.is_absolute()).then(|| records.to_owned())
}

/// Resolves roots and removes duplicates. Roots that neither exist nor will be made are dropped:
/// they cannot be granted.
fn existing_roots(roots: Vec<PathBuf>, make: &[PathBuf]) -> Vec<PathBuf> {
    let mut real: Vec<PathBuf> = Vec::new();
    for root in roots.iter().map(|root| follow_links(root)) {
        if !real.contains(&root) && (root.exists() || make.contains(&root)) {
            real.push(root);
        }
    }
    real
}

/// Refuses roots that hold Bowline's records or programs. An agent that could write the records
/// could claim a good end; one that could write the program could replace it.
fn keeps_ours(write: &[PathBuf], ours: &[&Path]) -> Result<(), Error> {
    for own in ours {
        let own = follow_links(own);
        let holds = |root: &&PathBuf| own.starts_with(root) || root.starts_with(&own);
        if let Some(root) = write.iter().find(holds) {
            return Err(Error::StateInSandbox {
                root: root.clone(),
                folder: own,
            });
        }
    }
    Ok(())
}

/// Refuses roots that hold the whole home or the whole machine.
fn holds_no_home(context: &Context, roots: &[PathBuf]) -> Result<(), Error> {
    let home = context.variables.get("HOME");
    let home = home.map_or_else(|| PathBuf::from("/"), |it| follow_links(Path::new(it)));
    match roots.iter().find(|root| home.starts_with(root)) {
        None => Ok(()),
        Some(root) => Err(Error::BadInput {
            message: Wrong::HoldsHome {
                path: display_path(root),
            },
            hint: Advice::NameInnerFolders,
        }),
    }
}

/// True if a run would grant more than its tree and its records: a run may lie in a folder that
/// holds everything.
fn run_is_too_wide(
    context: &Context,
    run: &DevelopRunAccess,
    state: &Path,
    program: &Path,
) -> bool {
    let real =
        |roots: &[PathBuf]| -> Vec<PathBuf> { roots.iter().map(|it| follow_links(it)).collect() };
    let (read, write) = (real(&run.read), real(&run.write));
    keeps_ours(&read, &[state]).is_err()
        || keeps_ours(&write, &[state, program]).is_err()
        || holds_no_home(context, &read).is_err()
        || holds_no_home(context, &write).is_err()
}

/// Follows the links of a path as far as it exists.
fn follow_links(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => follow_links(parent).join(name),
        _ => path.to_owned(),
    }
}

/// Resolves a named root. Refuses a link that lies in a folder that agents write and leads out of
/// it: an earlier agent may have made it, and its choice must not be granted.
fn resolve_root(path: &Path, places: &[PathBuf]) -> Result<PathBuf, Error> {
    let missing = |error: io::Error| Error::BadInput {
        message: match error.kind() {
            io::ErrorKind::NotFound => Wrong::NotThere {
                path: display_path(path),
            },
            _ => Wrong::NotGranted {
                path: display_path(path),
                cause: system_cause(&error),
            },
        },
        hint: Advice::NameExisting,
    };
    let whole = std::path::absolute(path).map_err(missing)?;
    let mut left: VecDeque<OsString> = path_steps(&whole).collect();
    let mut at = PathBuf::from("/");
    let mut crossed: Vec<(PathBuf, &PathBuf)> = Vec::new();
    let mut links = 0;
    while let Some(word) = left.pop_front() {
        if word == ".." {
            at.pop();
            continue;
        }
        let next = at.join(&word);
        match next.read_link() {
            Ok(target) => {
                links += 1;
                if links > LINKS_MAX {
                    return Err(missing(io::Error::other("too many links")));
                }
                let within = places.iter().filter(|place| at.starts_with(place));
                crossed.extend(within.map(|place| (next.clone(), place)));
                if target.is_absolute() {
                    at = PathBuf::from("/");
                }
                for word in path_steps(&target).rev() {
                    left.push_front(word);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => at = next,
            Err(error) => return Err(missing(error)),
        }
    }
    match crossed.iter().find(|(_, place)| !at.starts_with(place)) {
        Some((link, _)) => Err(Error::RootThroughLink {
            link: link.clone(),
            target: at,
        }),
        None => Ok(at),
    }
}

/// Returns the names in a path, and the steps up.
fn path_steps(path: &Path) -> impl DoubleEndedIterator<Item = OsString> + '_ {
    path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    })
}
