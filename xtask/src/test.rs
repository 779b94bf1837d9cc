//! Everything CI runs, in the order of what fails fastest.

use crate::{clients, web};
use xtask::Outcome;
use xtask::shell::{BUILT_VARIABLE, built, cargo, command, have, step};

/// Small ones; see CONTRIBUTING.md for those to run before a release.
const DRILLS: [&str; 7] = [
    "drill gates --count 20",
    "drill history --operations 400 --processes 16",
    "drill supervisor --clients 40 --shims 10",
    "drill orchestrate --kills 8 --tasks 24 --phases 2",
    "drill server --kills 10 --agents 8",
    "drill churn --tasks 300 --clients 8 --kills 3 --full-disks 1 --no-descriptors 1",
    "drill upgrade --times 3 --agents 8 --reboots 1",
];

pub(crate) fn run() -> Outcome {
    let cargo = cargo();
    let cargo = cargo.as_str();
    step("format", &mut command(cargo, &["fmt", "--all", "--check"]))?;
    let clippy = [
        "clippy",
        "--workspace",
        "--all-targets",
        "--quiet",
        "--",
        "-D",
        "warnings",
    ];
    step("lints", &mut command(cargo, &clippy))?;
    web::build_if_possible()?;
    let mut clients = clients::environment();
    // Tests with real clients look at the page as well. Without a browser they say that they are skipped.
    if let Ok(chromium) = web::chromium() {
        clients.push((web::CHROMIUM, chromium));
    }
    if have(cargo, &["nextest", "--version"]) {
        step(
            "tests",
            command(cargo, &["nextest", "run", "--workspace", "--profile", "ci"]).envs(clients),
        )?;
    } else {
        println!("cargo-nextest is not installed; using the test runner of cargo");
        step(
            "tests",
            command(cargo, &["test", "--workspace", "--all-targets", "--quiet"]).envs(clients),
        )?;
    }
    step(
        "doc tests",
        &mut command(cargo, &["test", "--workspace", "--doc", "--quiet"]),
    )?;
    let mut doc = command(cargo, &["doc", "--workspace", "--no-deps", "--quiet"]);
    step("documentation", doc.env("RUSTDOCFLAGS", "-D warnings"))?;
    web::test(&built().join("bowline"))?;
    // What the tests have built: the same programs with other features would be another build of everything.
    for drill in DRILLS {
        let words: Vec<&str> = drill.split(' ').collect();
        let chores = built().join("chores");
        let mut drill = command(&chores.to_string_lossy(), &words);
        step(&words.join(" "), drill.env(BUILT_VARIABLE, "1"))?;
    }
    println!("\nall green");
    Ok(())
}
