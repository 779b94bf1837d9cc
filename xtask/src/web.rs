//! The web page: its build, and its tests in a browser.
//!
//! Packages come from the npm registry by the lock file, and nothing of theirs is run while installing. What cannot run on a
//! machine is skipped with a word, or fails where `CI` is set.

use std::path::{Path, PathBuf};
use std::process::Command;
use xtask::Outcome;
use xtask::shell::{bowline, command, have, root, step};

/// Names a browser for the tests; without it, those that Debian installs are looked for.
pub(crate) const CHROMIUM: &str = "BOWLINE_CHROMIUM";

/// Builds the page into `web/dist`, from where the server takes it.
pub(crate) fn build() -> Outcome {
    packages()?;
    let page = root().join("web/dist/index.html");
    let before = looked_at(&page);
    step("web", &mut npm(&["run", "--silent", "build"]))?;
    // The server holds the page inside, and is compiled again when the page has another time: not for the same page.
    let (file, time) = match (before, looked_at(&page)) {
        (Some((old, time)), Some((new, _))) if old == new => (page, time),
        (Some(_), _) => return Ok(()),
        (None, _) => (
            root().join("crates/server/build.rs"),
            std::time::SystemTime::now(),
        ),
    };
    std::fs::File::options()
        .append(true)
        .open(&file)
        .and_then(|it| it.set_modified(time))
        .map_err(|error| format!("{}: {error}", file.display()))
}

/// The page as it is built, and when; the names in it tell the content of its other files.
fn looked_at(page: &Path) -> Option<(String, std::time::SystemTime)> {
    let time = std::fs::metadata(page).ok()?.modified().ok()?;
    Some((std::fs::read_to_string(page).ok()?, time))
}

/// Builds the page where that can be done: programs that are built next have it inside.
pub(crate) fn build_if_possible() -> Outcome {
    match have("npm", &["--version"]) {
        true => build(),
        false => skipped("npm does not answer"),
    }
}

/// Checks the types of the page that was built, and tests it in a browser against the real server.
pub(crate) fn test(bowline: &Path) -> Outcome {
    if !have("npm", &["--version"]) {
        return skipped("npm does not answer");
    }
    step("web types", &mut npm(&["run", "--silent", "check"]))?;
    step("web units", &mut npm(&["run", "--silent", "test"]))?;
    in_browser("e2e", bowline)
}

/// `docs/screenshots`.
pub(crate) fn pictures() -> Outcome {
    build()?;
    in_browser("shots", &bowline()?)
}

/// How fast the page is; the figures go to `docs/performance.md`.
pub(crate) fn measure() -> Outcome {
    build()?;
    in_browser("measure", &bowline()?)
}

/// Runs a script with a browser and the programs it needs.
fn in_browser(script: &str, bowline: &Path) -> Outcome {
    let chromium = match chromium() {
        Ok(chromium) => chromium,
        Err(why) => return skipped(&why),
    };
    let mut script = npm(&["run", "--silent", script]);
    script.env(CHROMIUM, chromium).env("BOWLINE", bowline);
    step("web in a browser", &mut script)
}

/// Installs the packages of the lock file where that is newer than what is there.
fn packages() -> Outcome {
    if !have("npm", &["--version"]) {
        return Err(
            "npm does not answer; the web page is built with Node.js 20.19 or newer".into(),
        );
    }
    let web = root().join("web");
    let time = |path: PathBuf| {
        std::fs::metadata(path)
            .and_then(|file| file.modified())
            .ok()
    };
    let wanted = time(web.join("package-lock.json"));
    // npm writes this file last.
    let installed = time(web.join("node_modules/.package-lock.json"));
    if installed.is_some() && installed >= wanted {
        return Ok(());
    }
    step(
        "web packages",
        // Not `ci`: the lock file names parts for this system only, and `ci` wants those of all others too.
        &mut npm(&[
            "install",
            "--no-save",
            "--ignore-scripts",
            "--loglevel=error",
        ]),
    )
}

fn npm(arguments: &[&str]) -> Command {
    let mut npm = command("npm", arguments);
    npm.current_dir(root().join("web"));
    npm
}

/// A browser: the one that is named, one of the system, or Debian's, which is installed where that is possible.
pub(crate) fn chromium() -> Outcome<PathBuf> {
    if let Some(named) = std::env::var_os(CHROMIUM) {
        return Ok(named.into());
    }
    let known = ["chromium", "chromium-browser", "google-chrome"];
    let found = || known.iter().find(|name| have(name, &["--version"]));
    if found().is_none() && have("apt-get", &["--version"]) && rustix::process::geteuid().is_root()
    {
        println!("installing chromium and fonts for Korean …");
        // A fresh machine has no lists, or old ones; where they cannot be had, what is there may do.
        let _ = command("apt-get", &["update", "-qq"]).status();
        let packages = ["chromium", "fonts-noto-cjk"];
        let mut install = command(
            "apt-get",
            &["install", "-y", "-qq", "--no-install-recommends"],
        );
        step(
            "chromium",
            install
                .args(packages)
                .env("DEBIAN_FRONTEND", "noninteractive"),
        )?;
    }
    let name =
        found().ok_or("there is no Chromium; install it, or name one with BOWLINE_CHROMIUM")?;
    Ok(PathBuf::from(name))
}

/// What cannot run here is said; in CI it fails.
fn skipped(why: &str) -> Outcome {
    if std::env::var_os("CI").is_some() {
        return Err(format!("the web page was not tested: {why}"));
    }
    println!("\n── the web page was not tested: {why}");
    Ok(())
}
