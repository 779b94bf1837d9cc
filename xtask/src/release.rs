//! The programs as they are released: built for speed, linked statically, and put where a shell finds them.

use crate::web;
use std::path::{Path, PathBuf};
use xtask::Outcome;
use xtask::shell::{cargo, command, have, host, root};

/// What a user gets, by package and program.
const PROGRAMS: [&str; 2] = ["bowline", SHIM];

/// Started twice for every agent, and made of nothing but Rust.
const SHIM: &str = "bowline-shim";

/// Builds packages as they are released, and says where their programs are, in the same order.
///
/// They are linked statically: half of what a small program takes to start is the search for its libraries, and one file
/// runs on any machine. They stand at a fixed place in memory: moving them took the other half, 20,000 addresses to be
/// corrected before the first instruction of ours, at every hook and every verb. The target is named so that the settings
/// reach the programs and not the compiler's own plug-ins, which cannot be static.
pub(crate) fn build(packages: &[&str]) -> Outcome<Vec<PathBuf>> {
    let host = host()?;
    let small = small(&host);
    let of = |package: &str| if package == SHIM { &small } else { &host };
    let mut targets = vec![&host, &small];
    targets.dedup();
    for target in targets {
        let packages: Vec<&str> = packages
            .iter()
            .copied()
            .filter(|it| of(it) == target)
            .collect();
        if !packages.is_empty() {
            build_for(target, &packages)?;
        }
    }
    let folder =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let place = |package: &&str| folder.join(of(package)).join("release").join(package);
    Ok(packages.iter().map(place).collect())
}

fn build_for(target: &str, packages: &[&str]) -> Outcome {
    let flags = format!(
        "target.{target}.rustflags=[\"-Ctarget-feature=+crt-static\", \"-Crelocation-model=static\"]"
    );
    let mut build = command(&cargo(), &["build", "--release", "--locked"]);
    build.args(["--target", target, "--config", &flags]);
    for package in packages {
        build.args(["--package", package]);
    }
    let status = build
        .status()
        .map_err(|error| format!("cargo build: {error}"))?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("cargo build: {status}")),
    }
}

/// The same machine with a C library that starts in half the time: the usual one first asks the processor what it can do,
/// question by question, and inside a virtual machine each of them is answered by the host.
fn small(host: &str) -> String {
    let small = host.replace("linux-gnu", "linux-musl");
    if small == *host || have("rustup", &["target", "add", &small]) {
        return small;
    }
    println!("note: agents would start faster with a shim for {small}, which rustup did not add");
    host.to_owned()
}

/// `cargo xtask install [--root DIR]`: the programs in `DIR/bin`, by default where cargo puts its own.
pub(crate) fn install(options: &[&str]) -> Outcome {
    let home = match options {
        [] => std::env::var_os("CARGO_HOME")
            .map(PathBuf::from)
            .or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")))
            .ok_or("neither CARGO_HOME nor HOME is set; say --root DIR")?,
        ["--root", folder] => std::path::absolute(folder).map_err(|error| error.to_string())?,
        _ => return Err("install takes --root DIR and nothing else".into()),
    };
    web::build()?;
    let built = build(&PROGRAMS)?;
    let bin = home.join("bin");
    place(&built, &bin)?;
    for program in PROGRAMS {
        println!("installed {}", bin.join(program).display());
    }
    let searched = std::env::var_os("PATH").unwrap_or_default();
    if !std::env::split_paths(&searched).any(|folder| folder == bin) {
        println!("note: {} is not in PATH", bin.display());
    }
    Ok(())
}

/// Copies programs beside their goals and renames: one that runs keeps its old file, and nobody starts half of one.
pub(crate) fn place(programs: &[PathBuf], bin: &Path) -> Outcome {
    std::fs::create_dir_all(bin).map_err(|error| format!("{}: {error}", bin.display()))?;
    for program in programs {
        let to = bin.join(program.file_name().unwrap_or_default());
        let beside = to.with_extension("new");
        std::fs::copy(program, &beside)
            .and_then(|_| std::fs::rename(&beside, &to))
            .map_err(|error| format!("{}: {error}", to.display()))?;
    }
    Ok(())
}
