//! Fuzzes every parser for a bounded time, with the stable compiler and no tool but a C++ compiler.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use xtask::Outcome;
use xtask::shell::{cargo, command, host, root};

/// Each target's share unless `--seconds` says otherwise.
const SECONDS: u64 = 5;
/// An input that takes longer is a finding.
const INPUT_SECONDS_MAX: u32 = 10;
/// Longer inputs only make everything slow; sizes beyond are the business of tests.
const INPUT_BYTES_MAX: u32 = 16_384;
const TARGET_VARIABLE: &str = "BOWLINE_FUZZ_TARGET";

/// What `cargo fuzz` would pass, less the address sanitizer, which needs a nightly compiler and would find little in a
/// program without `unsafe`.
const INSTRUMENTATION: [&str; 6] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "--cfg=fuzzing",
];

pub(crate) fn run(options: &[&str]) -> Outcome {
    let (seconds, wanted) = match options {
        ["--seconds", seconds, rest @ ..] => {
            let seconds = seconds
                .parse()
                .map_err(|_| format!("--seconds {seconds}: not a number"))?;
            (seconds, rest)
        }
        rest => (SECONDS, rest),
    };
    let targets = targets()?;
    if let Some(unknown) = wanted
        .iter()
        .find(|name| !targets.iter().any(|it| it == *name))
    {
        return Err(format!(
            "no target '{unknown}'; there are: {}",
            targets.join(", ")
        ));
    }
    let program = build()?;
    let mut found = Vec::new();
    for target in targets {
        if (wanted.is_empty() || wanted.contains(&target.as_str()))
            && let Some(input) = fuzz(&program, &target, seconds)?
        {
            found.push((target, input));
        }
    }
    if found.is_empty() {
        println!("\nnothing found");
        return Ok(());
    }
    let program = shown(&program);
    let replays: Vec<String> = found
        .iter()
        .map(|(target, input)| format!("  {TARGET_VARIABLE}={target} {program} {}", shown(input)))
        .collect();
    Err(format!(
        "inputs that break a promise; to see one again:\n{}",
        replays.join("\n")
    ))
}

/// The targets are the folders of seeds; a test keeps the two the same.
fn targets() -> Outcome<Vec<String>> {
    let seeds = root().join("fuzz/seeds");
    let entries = fs::read_dir(&seeds).map_err(|error| format!("{}: {error}", seeds.display()))?;
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    names.sort();
    Ok(names)
}

/// Builds the fuzzer, in a target folder of its own: everything in it is instrumented.
fn build() -> Outcome<PathBuf> {
    let host = host()?;
    let folder = root().join("fuzz");
    let status = command(&cargo(), &["build", "--release", "--target", &host])
        .current_dir(&folder)
        .env("CARGO_TARGET_DIR", folder.join("target"))
        .env("CARGO_ENCODED_RUSTFLAGS", INSTRUMENTATION.join("\u{1f}"))
        .status()
        .map_err(|error| format!("cargo build: {error}"))?;
    if !status.success() {
        return Err(format!("cargo build: {status}"));
    }
    Ok(folder
        .join("target")
        .join(host)
        .join("release/bowline-fuzz"))
}

/// Fuzzes one target; the input, when one breaks it.
fn fuzz(program: &Path, target: &str, seconds: u64) -> Outcome<Option<PathBuf>> {
    let folder = root().join("fuzz");
    let (corpus, artifacts) = (
        folder.join("corpus").join(target),
        folder.join("artifacts").join(target),
    );
    for folder in [&corpus, &artifacts] {
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    println!("── {target}");
    let before = newest(&artifacts);
    let output = Command::new(program)
        .env(TARGET_VARIABLE, target)
        .arg(&corpus)
        .arg(folder.join("seeds").join(target))
        .arg(root().join("crates/formats/tests/golden"))
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-timeout={INPUT_SECONDS_MAX}"))
        .arg(format!("-max_len={INPUT_BYTES_MAX}"))
        .arg(format!("-artifact_prefix={}/", artifacts.display()))
        .output()
        .map_err(|error| format!("{}: {error}", program.display()))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        println!("{}", said.lines().last().unwrap_or_default());
        return Ok(None);
    }
    println!("{said}");
    match newest(&artifacts) {
        after if after != before => Ok(after),
        _ => Err(format!("{target}: {}", output.status)),
    }
}

/// The file that was written last.
fn newest(folder: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?;
    entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            Some((entry.metadata().ok()?.modified().ok()?, entry.path()))
        })
        .max()
        .map(|(_, path)| path)
}

/// A path as one would type it in the root of the repository.
fn shown(path: &Path) -> String {
    path.strip_prefix(root())
        .unwrap_or(path)
        .display()
        .to_string()
}
