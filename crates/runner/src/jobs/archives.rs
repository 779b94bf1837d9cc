//! Files kept of a task that has ended: an archive of its results, and its error log.

use super::worker_pool::deliverable_files;
use std::io::Write as _;
use std::path::{Path, PathBuf};

fn holds_secret(bytes: &[u8], secrets: &[String]) -> bool {
    secrets
        .iter()
        .filter(|secret| !secret.is_empty())
        .any(|secret| {
            bytes
                .windows(secret.len())
                .any(|it| it == secret.as_bytes())
        })
}

/// Writes everything the task made to a zip file, without files that contain a secret value.
pub(super) fn archive_workspace(
    workspace: &Path,
    to: &Path,
    secrets: &[String],
) -> std::io::Result<()> {
    if let Some(folder) = to.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut zip = bowline_formats::zip::ZipWriter::new();
    let mut out = std::fs::File::create(to)?;
    for name in deliverable_files(workspace).0 {
        let content = std::fs::read(workspace.join(&name))?;
        if holds_secret(&content, secrets) {
            continue;
        }
        if let Some(head) = zip.add_entry(&name, &content) {
            out.write_all(&head)?;
            out.write_all(&content)?;
        }
    }
    out.write_all(&zip.central_directory())?;
    out.sync_all()
}

/// Writes the error output of all attempts to one file, with secret values masked.
pub(super) fn collect_error_log(
    from: &[PathBuf],
    to: &Path,
    secrets: &[String],
) -> std::io::Result<()> {
    if let Some(folder) = to.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut whole = String::new();
    for file in from {
        let bytes = std::fs::read(file).unwrap_or_default();
        whole.push_str(&String::from_utf8_lossy(&bytes));
    }
    for secret in secrets.iter().filter(|it| !it.is_empty()) {
        whole = whole.replace(secret.as_str(), &"*".repeat(secret.len()));
    }
    std::fs::write(to, whole)
}
