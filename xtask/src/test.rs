//! Everything CI runs, in the order of what fails fastest.

use crate::shell::{cargo, command, have, step};
use crate::{Outcome, clients, docs, drill, web};

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
    docs::check()?;
    web::build_if_possible()?;
    let clients = clients::environment();
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
    web::test()?;
    drill::run("hammer", &["--processes", "16", "--updates", "160"])?;
    drill::run(
        "hammer",
        &["--processes", "16", "--updates", "160", "--foreign", "1"],
    )?;
    drill::run("kills", &["--processes", "16", "--updates", "160"])?;
    drill::run("gates", &["--count", "20"])?;
    drill::run("memory", &["--processes", "16", "--updates", "160"])?;
    drill::run("history", &["--operations", "400", "--processes", "16"])?;
    drill::run("supervisor", &["--clients", "40", "--shims", "10"])?;
    drill::run(
        "orchestrate",
        &["--kills", "8", "--tasks", "20", "--phases", "2"],
    )?;
    drill::run("server", &["--kills", "10", "--agents", "8"])?;
    drill::run(
        "upgrade",
        &["--times", "3", "--agents", "8", "--reboots", "1"],
    )?;
    println!("\nall green");
    Ok(())
}
