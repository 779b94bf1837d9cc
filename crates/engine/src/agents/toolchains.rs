//! Git settings and toolchains in the user's home, as far as a sandboxed agent needs them.

use super::presets;
use crate::context::EnvVars;
use crate::process;
use bowline_supervisor::Sandbox;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// User settings of git that name a further file for git to read.
const FILE_SETTINGS: [&[u8]; 4] = [
    b"core.excludesfile",
    b"core.attributesfile",
    b"commit.template",
    b"include.path",
];

/// Returns the files with the user's settings of git: git exits with 128 if one exists and cannot
/// be read.
///
/// Only files are returned, one by one: logins are kept beside them. What a file names that an
/// agent may write is an agent's choice, so then none of the named ones counts.
pub(super) fn git_settings(
    variables: &EnvVars,
    folder: &Path,
    written_by_agents: &[PathBuf],
) -> Vec<PathBuf> {
    let home = variables.get("HOME").map(PathBuf::from);
    let config = match variables.get("XDG_CONFIG_HOME") {
        Some(config) => Some(PathBuf::from(config)),
        None => home.as_ref().map(|home| home.join(".config")),
    };
    let usual = ["config", "ignore", "attributes"]
        .map(|name| Some(config.as_ref()?.join("git").join(name)));
    let mut files: Vec<PathBuf> = usual.into_iter().flatten().collect();
    files.extend(home.as_ref().map(|home| home.join(".gitconfig")));
    files.extend(variables.get("GIT_CONFIG_GLOBAL").map(PathBuf::from));

    let list = [
        "config",
        "--global",
        "--includes",
        "--show-origin",
        "-z",
        "--list",
    ];
    let listed = process::run_git(folder, &list, &[]);
    let listed = listed.ok().filter(|end| end.code == Some(0));
    let listed = listed.map(|end| end.bytes).unwrap_or_default();
    let (sources, named) = files_of(&listed, home.as_deref());
    let is_agents = |path: &PathBuf| {
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        written_by_agents.iter().any(|root| real.starts_with(root))
    };
    if !sources.iter().any(is_agents) {
        files.extend(sources.into_iter().chain(named));
    }
    files.retain(|path| path.is_absolute() && path.is_file());
    files
}

/// Splits `git config --show-origin -z --list` into the files with settings and the files that
/// settings name.
fn files_of(listed: &[u8], home: Option<&Path>) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let (mut sources, mut named) = (Vec::new(), Vec::new());
    let mut parts = listed.split(|&byte| byte == 0);
    while let (Some(origin), Some(setting)) = (parts.next(), parts.next()) {
        let Some(source) = origin.strip_prefix(b"file:") else {
            continue;
        };
        let source = PathBuf::from(OsStr::from_bytes(source));
        let mut halves = setting.splitn(2, |&byte| byte == b'\n');
        let (name, value) = (
            halves.next().unwrap_or_default(),
            halves.next().unwrap_or_default(),
        );
        let conditional = name.starts_with(b"includeif.") && name.ends_with(b".path");
        if conditional || FILE_SETTINGS.contains(&name) {
            let value = Path::new(OsStr::from_bytes(value));
            named.extend(match (value.strip_prefix("~"), home) {
                (Ok(below), Some(home)) => Some(home.join(below)),
                (Ok(_), None) => None,
                (Err(_), _) => source.parent().map(|folder| folder.join(value)),
            });
        }
        if !sources.contains(&source) {
            sources.push(source);
        }
    }
    (sources, named)
}

/// Returns the folders that `PATH`, or the agent's program, leads to and that the sandbox does not
/// grant: mostly toolchains in the home. Each is as wide as its programs need and never holds the
/// home.
pub(super) fn missing_tools(
    variables: &EnvVars,
    sandbox: &Sandbox,
    command: &[String],
) -> Vec<PathBuf> {
    let home = variables.get("HOME").map(PathBuf::from);
    let home = home.and_then(|home| home.canonicalize().ok());
    let home = home.unwrap_or_else(|| PathBuf::from("/"));
    let path = variables
        .get("PATH")
        .map(OsString::from)
        .unwrap_or_default();
    let program = command.first().map(OsStr::new);
    let program = program.and_then(|program| presets::find_program(variables, program));
    let program = program.and_then(|it| Some(it.canonicalize().ok()?.parent()?.to_owned()));
    // Our programs are granted one by one.
    let ours = std::env::current_exe().ok();
    let ours = ours.as_deref().and_then(Path::parent);
    let mut missing: Vec<PathBuf> = Vec::new();
    for folder in std::env::split_paths(&path).chain(program) {
        let Ok(folder) = folder.canonicalize() else {
            continue;
        };
        if ours == Some(folder.as_path()) {
            continue;
        }
        for root in toolchain_root(variables, &home, &folder) {
            let holds_home = home.starts_with(&root);
            let known = missing.iter().any(|it| root.starts_with(it));
            if !holds_home && !known && !sandbox.may_read(&root) {
                missing.push(root);
            }
        }
    }
    missing
}

/// Returns the root of the programs in a folder: the folder above `bin` or `shims`, unless
/// everything shares it.
fn toolchain_root(variables: &EnvVars, home: &Path, folder: &Path) -> Vec<PathBuf> {
    let own = match (folder.file_name().and_then(OsStr::to_str), folder.parent()) {
        (Some("bin" | "sbin" | "shims"), Some(parent))
            if parent != home.join(".local") && !home.starts_with(parent) =>
        {
            parent.to_owned()
        }
        _ => folder.to_owned(),
    };
    // The entries that rustup puts into cargo's folder are links to itself; it keeps the compilers
    // elsewhere.
    let rustup = folder.join("rustup").exists().then(|| {
        let named = variables.get("RUSTUP_HOME").map(PathBuf::from);
        named.unwrap_or_else(|| home.join(".rustup"))
    });
    let rustup = rustup.and_then(|it| it.canonicalize().ok());
    [Some(own), rustup].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_settings_name_are_found_wherever_they_are_relative_to() {
        let listed = b"file:/h/.gitconfig\0user.name\nA\nB\0file:/h/.gitconfig\0include.path\nmore/x\0\
            file:/h/more/x\0core.excludesfile\n~/.ignored\0file:/h/more/x\0includeif.gitdir:~/w/.path\n/w/set\0\
            command line:\0core.attributesfile\n/etc/shadow\0";
        let (sources, named) = files_of(listed, Some(Path::new("/h")));
        assert_eq!(sources, ["/h/.gitconfig", "/h/more/x"].map(PathBuf::from));
        let wanted = ["/h/more/x", "/h/.ignored", "/w/set"];
        assert_eq!(named, wanted.map(PathBuf::from));
    }
}
