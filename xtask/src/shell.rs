//! Running other programs from the root of the repository.

use crate::Outcome;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).to_owned()
}

/// A program to be run from the root.
pub(crate) fn command(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root());
    command
}

/// Runs a step and says how long it took.
pub(crate) fn step(title: &str, command: &mut Command) -> Outcome {
    println!("\n── {title}");
    let begun = Instant::now();
    let status = command
        .status()
        .map_err(|error| format!("{title}: {error}"))?;
    if !status.success() {
        return Err(format!("{title}: {status}"));
    }
    println!("── {title}: {:.1} s", begun.elapsed().as_secs_f64());
    Ok(())
}

/// Whether a program answers.
pub(crate) fn have(program: &str, arguments: &[&str]) -> bool {
    command(program, arguments)
        .output()
        .is_ok_and(|output| output.status.success())
}

/// The cargo that runs us.
pub(crate) fn cargo() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".into())
}

/// The name of this machine's target, for builds that must tell programs from the compiler's plug-ins.
pub(crate) fn host() -> Outcome<String> {
    let version = command("rustc", &["-vV"])
        .output()
        .map_err(|error| format!("rustc: {error}"))?;
    let version = String::from_utf8_lossy(&version.stdout);
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.ok_or("rustc does not name its host")?.to_owned())
}

/// Builds `bowline`, with the shim it starts agents by, in the profile of tests and returns its path.
pub(crate) fn bowline() -> Outcome<PathBuf> {
    let mut build = command(&cargo(), &["build", "--quiet"]);
    let status = build
        .args(["--package", "bowline", "--package", "bowline-shim"])
        .status();
    match status {
        Ok(status) if status.success() => {}
        Ok(status) => return Err(format!("cargo build: {status}")),
        Err(error) => return Err(format!("cargo build: {error}")),
    }
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    Ok(target.join("debug").join("bowline"))
}

/// A folder in the temporary directory that is removed at the end.
pub(crate) struct Scratch(pub(crate) PathBuf);

impl Scratch {
    pub(crate) fn new(name: &str) -> Outcome<Self> {
        let path = std::env::temp_dir().join(format!("bowline-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Scratch(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
