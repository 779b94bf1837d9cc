//! Leaves a shim behind that is nobody's child.

use super::MYSELF;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

/// Starts the shim and leaves, so that it goes to whoever adopts orphans. The shim says on standard output, which it
/// inherits, when it is ready.
pub(super) fn start(prefix: &[&str], folder: &Path) -> ExitCode {
    let spawned = Command::new(MYSELF)
        .args(prefix)
        .arg("agent")
        .arg(folder)
        .current_dir("/")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    match spawned {
        Ok(_) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
