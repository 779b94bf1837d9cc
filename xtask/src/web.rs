//! The web page: its words, its build, and its tests in a browser.
//!
//! Packages come from the npm registry by the lock file, and nothing of theirs is run while installing. What cannot run on a
//! machine is skipped with a word, or fails where `CI` is set.

use crate::Outcome;
use crate::shell::{bowline, command, have, root, step};
use bowline_words::Lang;
use bowline_words::message::Web;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the words of the page are, from the root.
pub(crate) const WORDS: &str = "web/src/lib/words.ts";

/// Names a browser for the tests; without it, those that Debian installs are looked for.
const CHROMIUM: &str = "BOWLINE_CHROMIUM";

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
pub(crate) fn test() -> Outcome {
    if !have("npm", &["--version"]) {
        return skipped("npm does not answer");
    }
    step("web types", &mut npm(&["run", "--silent", "check"]))?;
    step("web units", &mut npm(&["run", "--silent", "test"]))?;
    in_browser("e2e")
}

/// `docs/screenshots`.
pub(crate) fn pictures() -> Outcome {
    build()?;
    in_browser("shots")
}

/// How fast the page is; the figures go to `docs/performance.md`.
pub(crate) fn measure() -> Outcome {
    build()?;
    in_browser("measure")
}

/// Runs a script with a browser and the programs it needs.
fn in_browser(script: &str) -> Outcome {
    let chromium = match chromium() {
        Ok(chromium) => chromium,
        Err(why) => return skipped(&why),
    };
    let bowline = bowline()?;
    let mut script = npm(&["run", "--silent", script]);
    script.env(CHROMIUM, chromium).env("BOWLINE", bowline);
    step("web in a browser", &mut script)
}

/// The words of the page in every language, as a module with their types.
pub(crate) fn words() -> String {
    let mut text = String::from(
        "// Written by `cargo xtask docs` from crates/words: change the tables there.\n\n",
    );
    text.push_str("export const words = {\n");
    for (name, lang) in [("en", Lang::En), ("ko", Lang::Ko)] {
        let _ = writeln!(text, "  {name}: {{");
        for (word, message) in Web::ALL {
            let sentence = serde_json::Value::from(message.say(lang));
            let _ = writeln!(text, "    {}: {sentence},", camel(word));
        }
        text.push_str("  },\n");
    }
    text.push_str("} as const;\n\nexport type Word = keyof typeof words.en;\n\n");
    text.push_str("/** The names of what a sentence takes. */\nexport interface Parameters {\n");
    for (word, message) in Web::ALL {
        let names: Vec<String> = parameters(&message.say(Lang::En))
            .iter()
            .map(|name| format!("'{name}'"))
            .collect();
        let names = if names.is_empty() {
            "never".into()
        } else {
            names.join(" | ")
        };
        let _ = writeln!(text, "  {}: {names};", camel(word));
    }
    text.push_str("}\n");
    text
}

fn camel(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_lowercase().chain(letters).collect()
    })
}

/// The names in braces, each once.
fn parameters(sentence: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for part in sentence.split('{').skip(1) {
        if let Some((name, _)) = part.split_once('}')
            && !names.contains(&name)
        {
            names.push(name);
        }
    }
    names
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
fn chromium() -> Outcome<PathBuf> {
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

#[cfg(test)]
mod tests {
    use super::{parameters, words};
    use bowline_words::Lang;
    use bowline_words::message::Web;

    #[test]
    fn both_languages_take_the_same_parameters_and_no_particle_is_left_to_fit() {
        for (name, message) in Web::ALL {
            let (english, korean) = (message.say(Lang::En), message.say(Lang::Ko));
            let sorted = |sentence| {
                let mut names = parameters(sentence);
                names.sort_unstable();
                names.join(" ")
            };
            assert_eq!(sorted(&english), sorted(&korean), "{name}");
            // A particle that depends on a value cannot be chosen before the value is there.
            for particle in ["은", "는", "이", "가", "을", "를", "과", "와", "으로", "로"]
            {
                let after = format!("}}{particle} ");
                assert!(!korean.contains(&after), "{name}: {korean}");
            }
        }
    }

    #[test]
    fn the_module_has_every_word_in_both_languages() {
        let text = words();
        let lines = text.matches("\n    board: ").count();
        assert_eq!(lines, 2, "{text}");
        assert!(text.contains("  ago: 'age';\n"), "{text}");
        assert!(text.contains("  board: never;\n"), "{text}");
    }
}
