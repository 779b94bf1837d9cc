//! Restricts a relay process, which executes the verbs of a sandboxed agent outside its sandbox.
//!
//! It writes the records of one run, which the agent may only read, and the run's file, which lies
//! in a folder that the agent writes. Any name there may become a link at any moment, for example
//! to the records. So nothing there is touched with the rights that the records need: each such
//! step is made by a thread in a sandbox without them, and the kernel refuses access through a link
//! to them. This protects writes; through a link the process reads only what the agent could have
//! read, too.

use crate::error::Error;
use crate::evidence_key;
use bowline_gate::locate;
use bowline_statefiles::{Disk, FileStat, RealDisk};
use bowline_supervisor::{AttemptSpec, Sandbox};
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// Restrictions of this process.
#[derive(Debug)]
struct RelayRestrictions {
    /// Sandbox for programs it runs: tests of the agent, and git with the programs that the
    /// repository has it run.
    agent: Sandbox,
    /// Sandbox for the run's file and the mark in the repository: the agent's, with the folders of
    /// those two.
    file: Sandbox,
}

static RESTRICTIONS: OnceLock<RelayRestrictions> = OnceLock::new();

/// Restricts this process to the verb of an agent: from now on it may access what the agent may,
/// and the records of the agent's run. To be called before any other thread is started; it cannot
/// be undone.
pub fn restrict_process(spec: &AttemptSpec, evidence_key: Option<PathBuf>) -> Result<(), Error> {
    let failed = |message: String| Error::ProgramFailed {
        program: "bowline".into(),
        message,
    };
    let (Some(agent), Some(relay)) = (&spec.sandbox, &spec.relay) else {
        return Err(failed("there is no sandbox this would come from".into()));
    };
    let records = records_folder();
    let records = records.canonicalize().unwrap_or(records);
    let mut file = agent.clone();
    let beside = relay.write.iter().filter(|it| !it.starts_with(&records));
    file.write.extend(beside.cloned());
    let mut whole = agent.clone();
    whole.write.extend(relay.write.iter().cloned());
    // Read now: later the agent could replace it by a link.
    if let Some(key) = evidence_key {
        evidence_key::load_key(&key);
    }
    whole.restrict_thread().map_err(failed)?;
    let agent = agent.clone();
    // Once is enough: nothing widens it again.
    let _ = RESTRICTIONS.set(RelayRestrictions { agent, file });
    Ok(())
}

/// True if this process executes the verb of a sandboxed agent.
pub(crate) fn is_restricted() -> bool {
    RESTRICTIONS.get().is_some()
}

/// Returns the path that the sandbox kept a program from, by what the program said of it.
pub(crate) fn denied_path(said: &str) -> Option<String> {
    let lines = said
        .lines()
        .filter(|line| line.ends_with("Permission denied"));
    let mut quoted = lines.filter_map(|line| line.split('\'').nth(1));
    let path = quoted.find(|path| path.starts_with('/'));
    path.filter(|_| is_restricted()).map(str::to_owned)
}

/// True if the agent that this process works for may read a path without links.
pub(crate) fn agent_may_read(path: &Path) -> bool {
    RESTRICTIONS
        .get()
        .is_some_and(|held| held.agent.may_read(path))
}

/// Runs a step with the rights of the agent that this process works for, if any; a folder of ours
/// may be written, too.
pub(crate) fn as_agent<T: Send>(
    ours: Option<&Path>,
    step: impl FnOnce() -> io::Result<T> + Send,
) -> io::Result<T> {
    let Some(held) = RESTRICTIONS.get() else {
        return step();
    };
    let mut sandbox = held.agent.clone();
    sandbox.write.extend(ours.map(Path::to_owned));
    run_in_sandbox(&sandbox, step)
}

/// Runs a step in a sandbox. A thread's sandbox is inherited by its children, and ends with the
/// thread.
pub(crate) fn run_in_sandbox<T: Send>(
    sandbox: &Sandbox,
    step: impl FnOnce() -> io::Result<T> + Send,
) -> io::Result<T> {
    std::thread::scope(|scope| {
        let done = std::thread::Builder::new().spawn_scoped(scope, || {
            sandbox.restrict_thread().map_err(io::Error::other)?;
            step()
        })?;
        let gone = |_| Err(io::ErrorKind::Other.into());
        done.join().unwrap_or_else(gone)
    })
}

/// Returns the folder of the records of all develop runs.
fn records_folder() -> PathBuf {
    locate::state_home().join("bowline/develop")
}

/// Returns the disk for state files and evidence.
pub(crate) fn state_disk() -> Arc<dyn Disk> {
    match RESTRICTIONS.get() {
        None => Arc::new(RealDisk),
        Some(held) => Arc::new(SplitDisk {
            records: records_folder(),
            file: &held.file,
        }),
    }
}

/// Disk with separate rights for the records and for everything else. No step is made with both; a
/// move from one to the other is refused as between two devices, and done by copying.
#[derive(Debug)]
struct SplitDisk {
    records: PathBuf,
    file: &'static Sandbox,
}

impl SplitDisk {
    /// True if a path is below the records, by its text alone: nothing on the disk decides which
    /// rights are used.
    fn is_record(&self, path: &Path) -> bool {
        let climbs = path.components().any(|part| part == Component::ParentDir);
        path.starts_with(&self.records) && !climbs
    }

    fn access_path<T: Send>(
        &self,
        path: &Path,
        step: impl FnOnce(&RealDisk) -> io::Result<T> + Send,
    ) -> io::Result<T> {
        match self.is_record(path) {
            true => step(&RealDisk),
            false => run_in_sandbox(self.file, || step(&RealDisk)),
        }
    }

    fn access_both(
        &self,
        from: &Path,
        to: &Path,
        step: impl FnOnce(&RealDisk) -> io::Result<()> + Send,
    ) -> io::Result<()> {
        match self.is_record(from) == self.is_record(to) {
            true => self.access_path(from, step),
            false => Err(io::ErrorKind::CrossesDevices.into()),
        }
    }
}

impl Disk for SplitDisk {
    fn stat(&self, path: &Path) -> io::Result<Option<FileStat>> {
        RealDisk.stat(path)
    }

    fn read_link(&self, path: &Path) -> io::Result<PathBuf> {
        RealDisk.read_link(path)
    }

    fn open_read(&self, path: &Path) -> io::Result<(File, FileStat)> {
        self.access_path(path, |disk| disk.open_read(path))
    }

    fn create_new(&self, path: &Path) -> io::Result<File> {
        self.access_path(path, |disk| disk.create_new(path))
    }

    fn create_unnamed(&self, folder: &Path) -> io::Result<File> {
        self.access_path(folder, |disk| disk.create_unnamed(folder))
    }

    fn name_file(&self, file: &File, path: &Path) -> io::Result<()> {
        self.access_path(path, |disk| disk.name_file(file, path))
    }

    fn open_append(&self, path: &Path) -> io::Result<(File, bool)> {
        self.access_path(path, |disk| disk.open_append(path))
    }

    fn open_write(&self, path: &Path) -> io::Result<File> {
        self.access_path(path, |disk| disk.open_write(path))
    }

    fn read(&self, file: &File, limit: u64) -> io::Result<Vec<u8>> {
        RealDisk.read(file, limit)
    }

    fn read_at(&self, file: &File, offset: u64, bytes: usize) -> io::Result<Vec<u8>> {
        RealDisk.read_at(file, offset, bytes)
    }

    fn write(&self, file: &File, bytes: &[u8]) -> io::Result<()> {
        RealDisk.write(file, bytes)
    }

    fn truncate(&self, file: &File, bytes: u64) -> io::Result<()> {
        RealDisk.truncate(file, bytes)
    }

    fn copy_permissions(&self, file: &File, like: &FileStat) -> io::Result<()> {
        RealDisk.copy_permissions(file, like)
    }

    fn sync_data(&self, file: &File) -> io::Result<()> {
        RealDisk.sync_data(file)
    }

    fn sync_all(&self, file: &File) -> io::Result<()> {
        RealDisk.sync_all(file)
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        self.access_path(path, |disk| disk.sync_folder(path))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.access_both(from, to, |disk| disk.rename(from, to))
    }

    fn exchange(&self, one: &Path, other: &Path) -> io::Result<()> {
        self.access_both(one, other, |disk| disk.exchange(one, other))
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.access_both(from, to, |disk| disk.rename_new(from, to))
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.access_both(from, to, |disk| disk.link(from, to))
    }

    fn unlink(&self, path: &Path) -> io::Result<()> {
        self.access_path(path, |disk| disk.unlink(path))
    }

    fn list_names(&self, folder: &Path) -> io::Result<Vec<OsString>> {
        self.access_path(folder, |disk| disk.list_names(folder))
    }

    fn create_folders(&self, path: &Path) -> io::Result<()> {
        self.access_path(path, |disk| disk.create_folders(path))
    }

    fn try_lock(&self, file: &File) -> io::Result<bool> {
        RealDisk.try_lock(file)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]
    use super::*;
    use bowline_supervisor::SandboxSupport;
    use bowline_test_support::{MissingRequirement, skip_test};
    use std::os::unix::fs::symlink;

    /// A path of the agent that leads to the records, from the start or later: no step on it has
    /// the rights for them.
    #[test]
    fn a_step_on_a_path_of_the_agent_does_not_reach_the_records() {
        if !SandboxSupport::detect_features()
            .feature_rows()
            .iter()
            .all(|(_, _, there)| *there)
        {
            return skip_test(
                MissingRequirement::WholeSandbox,
                "this kernel enforces a part of the sandbox only",
            );
        }
        let world = tempfile::tempdir().unwrap();
        let world = world.path().canonicalize().unwrap();
        let (records, project) = (world.join("records"), world.join("project"));
        for folder in [&records, &project] {
            std::fs::create_dir(folder).unwrap();
        }
        symlink(&records, project.join("link")).unwrap();
        let sandbox = Sandbox::with_writable(vec![project.clone()]);
        let disk = SplitDisk {
            records: records.clone(),
            file: Box::leak(Box::new(sandbox)),
        };
        drop(disk.create_new(&records.join("seal")).unwrap());
        drop(disk.create_new(&project.join("state")).unwrap());
        let linked = project.join("link");
        let climbing = records.join("../records/new");
        let denied = [
            disk.create_new(&linked.join("new")).map(drop),
            disk.create_new(&climbing).map(drop),
            disk.open_append(&linked.join("seal")).map(drop),
            disk.open_write(&linked.join("seal")).map(drop),
            disk.unlink(&linked.join("seal")),
            disk.create_folders(&linked.join("folder")),
            disk.exchange(&project.join("state"), &linked.join("seal")),
            disk.rename(&project.join("state"), &linked.join("seal")),
        ];
        for (number, done) in denied.into_iter().enumerate() {
            let kind = done.unwrap_err().kind();
            let refused = [
                io::ErrorKind::PermissionDenied,
                io::ErrorKind::CrossesDevices,
            ];
            assert!(refused.contains(&kind), "{number}: {kind}");
        }
        let across = disk.rename(&project.join("state"), &records.join("seal"));
        assert_eq!(across.unwrap_err().kind(), io::ErrorKind::CrossesDevices);
        assert_eq!(disk.list_names(&records).unwrap(), ["seal"]);
        disk.rename(&records.join("seal"), &records.join("other"))
            .unwrap();
        disk.rename(&project.join("state"), &project.join("other"))
            .unwrap();
    }
}
