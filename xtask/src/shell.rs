//! Running other programs from the root of the repository.

use crate::Outcome;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const POLL_MS: u64 = 100;
/// How long PyPI may take.
const INSTALL_SECONDS_MAX: u64 = 300;

/// The root of the repository.
pub fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).to_owned()
}

/// A program to be run from the root.
pub fn command(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root());
    command
}

/// Runs a step and says how long it took.
pub fn step(title: &str, command: &mut Command) -> Outcome {
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

/// The programs of a virtual environment with these packages of PyPI below `target/`; made where it is not there.
pub fn python(name: &str, packages: &[&str]) -> Outcome<PathBuf> {
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    // The versions are part of the path, so that others never pass for these.
    let folder = target.join(name).join(packages.join("+"));
    let (bin, stamp) = (folder.join("bin"), folder.join("installed"));
    if !stamp.is_file() {
        println!("installing {} …", packages.join(", "));
        let mut venv = command("python3", &["-m", "venv"]);
        within("python3 -m venv", venv.arg(&folder), INSTALL_SECONDS_MAX)?;
        let mut pip = Command::new(bin.join("python"));
        pip.args(["-m", "pip", "install", "--quiet"]);
        pip.arg("--disable-pip-version-check").args(packages);
        within("pip", &mut pip, INSTALL_SECONDS_MAX)?;
        std::fs::write(&stamp, "").map_err(|error| format!("{}: {error}", stamp.display()))?;
    }
    Ok(bin)
}

/// Runs a program that must end well, and in time.
pub fn within(what: &str, command: &mut Command, seconds: u64) -> Outcome {
    let failed = |error| format!("{what}: {error}");
    let mut child = command.stdin(Stdio::null()).spawn().map_err(failed)?;
    let end = Instant::now() + Duration::from_secs(seconds);
    loop {
        match child.try_wait().map_err(failed)? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => return Err(format!("{what}: {status}")),
            None if Instant::now() >= end => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("{what} takes more than {seconds} s"));
            }
            None => std::thread::sleep(Duration::from_millis(POLL_MS)),
        }
    }
}

/// Whether a program answers.
pub fn have(program: &str, arguments: &[&str]) -> bool {
    command(program, arguments)
        .output()
        .is_ok_and(|output| output.status.success())
}

/// The cargo that runs us.
pub fn cargo() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".into())
}

/// The name of this machine's target, for builds that must tell programs from the compiler's plug-ins.
pub fn host() -> Outcome<String> {
    let version = command("rustc", &["-vV"])
        .output()
        .map_err(|error| format!("rustc: {error}"))?;
    let version = String::from_utf8_lossy(&version.stdout);
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.ok_or("rustc does not name its host")?.to_owned())
}

/// Where cargo puts what it builds in the profile of tests.
pub fn built() -> PathBuf {
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    target.join("debug")
}

/// Tells a chore that the programs it needs are in [`built`] already, and of the features they shall have.
pub const BUILT_VARIABLE: &str = "BOWLINE_BUILT";

/// Builds `bowline`, with the shim it starts agents by, in the profile of tests and returns its path.
pub fn bowline() -> Outcome<PathBuf> {
    if std::env::var_os(BUILT_VARIABLE).is_none() {
        build(&["bowline", "bowline-shim"])?;
    }
    Ok(built().join("bowline"))
}

/// Builds packages in the profile of tests. Those that are built at once are built with the same features, and share crates.
pub fn build(packages: &[&str]) -> Outcome {
    // Not quietly: the first time takes minutes, and cargo says how far it is.
    let mut build = command(&cargo(), &["build"]);
    for package in packages {
        build.args(["--package", package]);
    }
    match build.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("cargo build: {status}")),
        Err(error) => Err(format!("cargo build: {error}")),
    }
}

/// A folder in the temporary directory that is removed at the end.
pub struct Scratch(pub PathBuf);

impl Scratch {
    /// Makes it, with a name that tells what it is for.
    pub fn new(name: &str) -> Outcome<Self> {
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
