//! Loads the key that evidence is signed with, and keeps it from the tested code.
//!
//! The key is read once, when the process starts. From then on no process of the same user can read
//! the memory, the environment or the open files of this one. The shell or CI runner above it still
//! has the key's path in its environment, so commands whose evidence is signed run in a sandbox:
//! there the kernel keeps them from the key's file and from every process outside.

use crate::context::{Context, EnvVars};
use crate::error::Error;
use crate::history::require_person;
use crate::relay_process;
use bowline_supervisor::{Sandbox, close_inherited};
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Name of the option that needs a person.
const UNSANDBOXED: &str = "--unsandboxed-signing";

/// Cache folders of build tools in a home; writable if they exist.
const CACHES: [&str; 9] = [
    ".cache",
    ".cargo/git",
    ".cargo/registry",
    ".gradle",
    ".ivy2",
    ".m2",
    ".npm",
    ".pnpm-store",
    "go/pkg",
];

/// Devices that tests write besides those of every program.
const DEVICES: [&str; 3] = ["/dev/ptmx", "/dev/pts", "/dev/shm"];

/// Path of the key as it was named, and its content when this process started.
static KEY: OnceLock<(PathBuf, Vec<u8>)> = OnceLock::new();

/// Reads the key, and hides this process from others of the same user. Only the first call has an
/// effect.
pub(crate) fn load_key(path: &Path) {
    // An error is reported when the key is needed: most commands do not need it.
    set_dumpable_behavior(DumpableBehavior::NotDumpable).ok();
    KEY.get_or_init(|| {
        let bytes = fs::read(path).unwrap_or_default();
        if let Ok(found) = fs::metadata(path) {
            close_inherited(found.dev(), found.ino());
        }
        (path.to_owned(), bytes)
    });
}

/// Returns the content of a key file; for the loaded key, its content at that time.
pub(crate) fn read_key(path: &Path) -> io::Result<Vec<u8>> {
    let loaded = KEY
        .get()
        .filter(|(known, bytes)| known == path && !bytes.is_empty());
    match loaded {
        Some((_, bytes)) => Ok(bytes.clone()),
        None => fs::read(path),
    }
}

/// Way of keeping a command whose evidence is signed from the key.
#[derive(Debug)]
pub(crate) enum SigningConfinement {
    /// In this sandbox.
    Sandbox(Sandbox),
    /// In the sandbox of the agent that this process works for.
    Agent,
    /// Not confined: a person accepts that.
    Unsandboxed,
}

impl SigningConfinement {
    /// Decides how to confine a command that may write `write`. Fails if this kernel cannot do it.
    pub(crate) fn choose_confinement(
        context: &Context,
        key: &Path,
        write: Vec<PathBuf>,
    ) -> Result<Self, Error> {
        if context.unsandboxed_signing {
            require_person(context, UNSANDBOXED)?;
            return Ok(SigningConfinement::Unsandboxed);
        }
        // A key that is no longer a path, such as a pipe, cannot be opened by others either.
        let key = key.canonicalize().ok();
        if relay_process::is_restricted() {
            return match key.is_some_and(|key| relay_process::agent_may_read(&key)) {
                true => Err(sandbox_error(
                    "the sandbox of the agent grants the key's file",
                )),
                false => Ok(SigningConfinement::Agent),
            };
        }
        let sandbox = sandbox_around(&context.variables, key.as_deref(), write);
        relay_process::run_in_sandbox(&sandbox, || Ok(()))
            .map_err(|error| sandbox_error(&error.to_string()))?;
        Ok(SigningConfinement::Sandbox(sandbox))
    }
}

fn sandbox_error(message: &str) -> Error {
    Error::NoSigningSandbox {
        message: message.to_owned(),
    }
}

/// Builds a sandbox that reads everything but the key, and writes `write`, temporary files and the
/// caches of build tools.
fn sandbox_around(variables: &EnvVars, key: Option<&Path>, mut write: Vec<PathBuf>) -> Sandbox {
    write.push(temporary_folder(variables));
    write.push(PathBuf::from("/var/tmp"));
    write.extend(variables.get("XDG_CACHE_HOME").map(PathBuf::from));
    if let Some(home) = variables.get("HOME").map(PathBuf::from) {
        write.extend(CACHES.map(|cache| home.join(cache)));
    }
    write.extend(DEVICES.map(PathBuf::from));
    let real = write.iter().filter_map(|path| path.canonicalize().ok());
    let holds_key = |path: &PathBuf| key.is_some_and(|key| key.starts_with(path));
    let mut sandbox = Sandbox::with_writable(real.filter(|path| !holds_key(path)).collect());
    sandbox.read = match key {
        Some(key) => everything_but(key),
        None => vec![PathBuf::from("/")],
    };
    sandbox
}

/// Returns the folder for temporary files in this environment.
fn temporary_folder(variables: &EnvVars) -> PathBuf {
    let named = variables.get("TMPDIR").map(PathBuf::from);
    named.unwrap_or_else(|| PathBuf::from("/tmp"))
}

/// True if the usual folder for temporary files is granted; false if the key lies in it.
pub(crate) fn may_use_temporary(variables: &EnvVars, sandbox: &Sandbox) -> bool {
    let folder = temporary_folder(variables).canonicalize();
    folder.is_ok_and(|folder| sandbox.write.contains(&folder))
}

/// Returns all paths beside the ancestors of a file: together everything but that file. Links are
/// left out; their targets are granted where they lie.
fn everything_but(file: &Path) -> Vec<PathBuf> {
    let on_the_way = file.ancestors().skip(1);
    let entries =
        on_the_way.flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten());
    let plain = entries.filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_symlink()));
    let paths = plain.map(|entry| entry.path());
    paths.filter(|path| !file.starts_with(path)).collect()
}
