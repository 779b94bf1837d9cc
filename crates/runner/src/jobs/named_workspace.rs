//! Checks folders that people name as workspaces; no agent may work in some of them.

use std::path::Path;

/// Reason why a folder cannot be a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkspaceFault {
    /// The path does not exist.
    Missing,
    /// It is a file, or something else that is no folder.
    NotAFolder,
    /// It is the server's data folder, or contains it.
    HoldsData,
    /// It lies inside the server's data folder.
    InsideData,
}

impl std::fmt::Display for WorkspaceFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            WorkspaceFault::Missing => "does not exist",
            WorkspaceFault::NotAFolder => "is not a folder",
            WorkspaceFault::HoldsData => "holds the data folder of the server",
            WorkspaceFault::InsideData => "lies inside the data folder of the server",
        })
    }
}

/// Checks a folder that a person named, by its real path.
pub(super) fn check_workspace(data: &Path, folder: &Path) -> Result<(), WorkspaceFault> {
    let real = folder.canonicalize().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotADirectory => WorkspaceFault::NotAFolder,
        _ => WorkspaceFault::Missing,
    })?;
    if !real.is_dir() {
        return Err(WorkspaceFault::NotAFolder);
    }
    // A path that cannot be resolved contains nothing.
    let data = data.canonicalize().unwrap_or_else(|_| data.to_owned());
    if data.starts_with(&real) {
        return Err(WorkspaceFault::HoldsData);
    }
    match real.starts_with(&data) {
        true => Err(WorkspaceFault::InsideData),
        false => Ok(()),
    }
}
