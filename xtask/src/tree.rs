//! What ARCHITECTURE.md promises about the tree as a whole, checked.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot unwrap has failed, and says where"
)]

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use xtask::shell::{cargo, command, root};

/// Which of our crates may use which. Planned crates have their line already.
const ARROWS: [(&str, &[&str]); 19] = [
    ("bowline-words", &[]),
    ("bowline-machines", &[]),
    ("bowline-statefiles", &[]),
    ("bowline-supervisor", &[]),
    ("bowline-formats", &["bowline-machines", "bowline-words"]),
    ("bowline-store", &["bowline-formats", "bowline-machines"]),
    (
        "bowline-gate",
        &[
            "bowline-formats",
            "bowline-machines",
            "bowline-statefiles",
            "bowline-words",
        ],
    ),
    (
        "bowline-engine",
        &[
            "bowline-formats",
            "bowline-gate",
            "bowline-machines",
            "bowline-statefiles",
            "bowline-supervisor",
            "bowline-words",
        ],
    ),
    (
        "bowline-runner",
        &[
            "bowline-engine",
            "bowline-formats",
            "bowline-machines",
            "bowline-store",
            "bowline-supervisor",
            "bowline-words",
        ],
    ),
    (
        "bowline-server",
        &[
            "bowline-engine",
            "bowline-formats",
            "bowline-mcp",
            "bowline-runner",
            "bowline-store",
            "bowline-words",
        ],
    ),
    (
        "bowline-mcp",
        &[
            "bowline-engine",
            "bowline-formats",
            "bowline-runner",
            "bowline-words",
        ],
    ),
    (
        "bowline-scripted",
        &[
            "bowline-engine",
            "bowline-runner",
            "bowline-server",
            "bowline-words",
        ],
    ),
    (
        "bowline",
        &[
            "bowline-engine",
            "bowline-gate",
            "bowline-mcp",
            "bowline-runner",
            "bowline-scripted",
            "bowline-server",
            "bowline-words",
        ],
    ),
    (
        "bowline-shim",
        &[
            "bowline-formats",
            "bowline-gate",
            "bowline-machines",
            "bowline-statefiles",
            "bowline-supervisor",
        ],
    ),
    // Test doubles implement the traits of the crates they stand in for.
    (
        "bowline-test-support",
        &["bowline-statefiles", "bowline-store", "bowline-supervisor"],
    ),
    ("bowline-benches", TOOLS),
    ("bowline-fuzz-targets", TOOLS),
    ("chores", TOOLS),
    // A newcomer's demo does not wait for two builds of everything.
    ("xtask", &[]),
];

/// Chores and benchmarks stand outside: they may use everything.
const TOOLS: &[&str] = &[
    "bowline-engine",
    "bowline-formats",
    "bowline-gate",
    "bowline-machines",
    "bowline-mcp",
    "bowline-runner",
    "bowline-server",
    "bowline-statefiles",
    "bowline-store",
    "bowline-supervisor",
    "bowline-test-support",
    "bowline-words",
    "xtask",
];

/// What a crate may use of others, where that is a promise.
const OUTSIDE_ONLY: [(&str, &[&str]); 2] = [
    ("bowline-machines", &["imbl", "serde", "thiserror"]),
    ("bowline-words", &[]),
];

/// What a crate must never use.
const OUTSIDE_NEVER: [(&str, &[&str]); 3] = [
    ("bowline-gate", &["clap", "tokio", "schemars"]),
    ("bowline-shim", &["clap", "tokio", "schemars"]),
    ("bowline-formats", &["tokio", "rustix", "tempfile"]),
];

/// Bans that a crate's `clippy.toml` must hold.
const BANS: [(&str, &[&str]); 6] = [
    (
        "machines",
        &[
            "std::time::SystemTime::now",
            "std::time::Instant::now",
            "std::env::var",
            "std::fs::read",
            "std::fs::write",
            "std::fs::File",
            "std::thread::spawn",
            "std::process::Command::new",
            "std::collections::HashMap",
        ],
    ),
    (
        "formats",
        &[
            "std::time::SystemTime::now",
            "jiff::Timestamp::now",
            "std::fs::read",
            "std::fs::write",
            "std::path::Path",
            "std::path::PathBuf",
            "std::process::Command::new",
        ],
    ),
    (
        "statefiles",
        &["std::time::SystemTime::now", "std::process::Command::new"],
    ),
    (
        "gate",
        &["std::time::SystemTime::now", "std::process::Command::new"],
    ),
    (
        "runner",
        &["std::time::SystemTime::now", "std::process::Command::new"],
    ),
    (
        "engine",
        &[
            "std::time::SystemTime::now",
            "jiff::Timestamp::now",
            "jiff::Zoned::now",
            "std::fs::rename",
            "std::fs::write",
            "std::process::Command::new",
        ],
    ),
];

/// Calls of the product's sources that only some places may make.
const ONLY_IN: [(&str, &[&str]); 8] = [
    // What is done about a panic is for programs to say.
    ("panic::set_hook(", &["crates/cli/", "crates/shim/"]),
    ("SystemTime::now(", &["crates/engine/src/clock.rs"]),
    ("Timestamp::now(", &["crates/engine/src/clock.rs"]),
    ("Zoned::now(", &["crates/engine/src/clock.rs"]),
    (
        "fs::rename(",
        &["crates/statefiles/", "crates/test-support/"],
    ),
    ("renameat", &["crates/statefiles/", "crates/test-support/"]),
    (
        "Command::new(",
        &[
            "crates/supervisor/",
            "crates/shim/",
            "crates/test-support/",
            // Not a part of us but an agent, who does as agents do.
            "crates/scripted/src/agent/processes.rs",
            // Evidence commands and git, bounded and guarded.
            "crates/engine/src/process.rs",
            // What only git knows, on the rare ways where it decides.
            "crates/gate/src/hook/host_environment.rs",
        ],
    ),
    (
        "env::var",
        &[
            // Programs, and what only tests use: one of them is told a seed.
            "crates/runner/src/jobs/simulation",
            "crates/cli/",
            "crates/shim/",
            "crates/test-support/",
            // An agent, which reads what agents are given.
            "crates/scripted/src/agent/",
            // The locale, asked by programs and by the hook.
            "crates/words/src/lang.rs",
            // All that an operation is given; the clock is a part of it.
            "crates/engine/src/context.rs",
            "crates/engine/src/clock.rs",
            // Who this process is, which nobody can say for it.
            "crates/engine/src/actor.rs",
            // What is started here has the variables of this process; their secrets are masked in what it prints.
            "crates/engine/src/process.rs",
            // The hook, which has no context: its variables, and where the side folders of runs are.
            "crates/gate/src/locate.rs",
            // By its mark a shim that an agent starts is known as the agent's.
            "crates/supervisor/src/client/start.rs",
        ],
    ),
];

const ARCHITECTURE_LINES_MAX: usize = 250;
const RUST_LINES_MAX: usize = 700;
const README_LINES_MAX: usize = 120;

#[test]
fn arrows_between_our_crates() {
    let packages = packages();
    let ours: BTreeSet<&str> = packages.iter().map(name).collect();
    let table = BTreeMap::from(ARROWS);
    let mut wrong = Vec::new();
    for package in &packages {
        let user = name(package);
        let allowed = table
            .get(user)
            .unwrap_or_else(|| panic!("{user} is not in the table of arrows"));
        for dependency in package["dependencies"].as_array().unwrap() {
            let used = name(dependency);
            let testing = dependency["kind"] == "dev"
                && (used == "bowline-test-support" || used == "bowline");
            if ours.contains(used) && !allowed.contains(&used) && !testing {
                wrong.push(format!("{user} -> {used}"));
            }
        }
    }
    assert!(wrong.is_empty(), "forbidden arrows: {wrong:?}");
}

#[test]
fn arrows_to_crates_of_others() {
    let packages = packages();
    let mut wrong = Vec::new();
    for package in &packages {
        let user = name(package);
        let dependencies = package["dependencies"].as_array().unwrap();
        let normal = dependencies.iter().filter(|one| one["kind"].is_null());
        for used in normal.map(name) {
            let only = OUTSIDE_ONLY.iter().find(|(crate_, _)| *crate_ == user);
            let never = OUTSIDE_NEVER.iter().find(|(crate_, _)| *crate_ == user);
            if only.is_some_and(|(_, allowed)| !allowed.contains(&used))
                || never.is_some_and(|(_, banned)| banned.contains(&used))
            {
                wrong.push(format!("{user} -> {used}"));
            }
        }
    }
    assert!(wrong.is_empty(), "forbidden dependencies: {wrong:?}");
}

/// One crate that switches it on changes how every tagged enum with floats is read in the whole binary.
#[test]
fn arbitrary_precision_is_off_everywhere() {
    let arguments = [
        "tree",
        "--workspace",
        "--offline",
        "--edges",
        "normal,build,dev",
        "--prefix",
        "none",
        "--format",
        "{p} features={f}",
    ];
    let tree = output(&cargo(), &arguments);
    let lines: Vec<&str> = tree
        .lines()
        .filter(|line| line.starts_with("serde_json "))
        .collect();
    assert!(!lines.is_empty(), "serde_json is not in the tree:\n{tree}");
    for line in lines {
        assert!(!line.contains("arbitrary_precision"), "{line}");
    }
}

#[test]
fn promised_bans_are_in_force() {
    for (crate_, banned) in BANS {
        let path = root().join("crates").join(crate_).join("clippy.toml");
        let text = std::fs::read_to_string(&path).unwrap();
        for call in banned {
            assert!(
                text.contains(&format!("path = \"{call}\"")),
                "{} does not ban {call}",
                path.display()
            );
        }
    }
}

/// Behind the lints, because not every crate has a `clippy.toml` and an `expect` is quickly written.
#[test]
fn only_some_places_read_the_clock_and_the_environment_rename_and_spawn() {
    let mut wrong = Vec::new();
    for file in tracked() {
        let source = file.starts_with("crates/") && file.contains("/src/") && file.ends_with(".rs");
        if !source || file.ends_with("tests.rs") {
            continue;
        }
        let text = read(&file);
        let product = text.split("#[cfg(test)]").next().unwrap();
        for (call, places) in ONLY_IN {
            if has_call(product, call) && !places.iter().any(|place| file.starts_with(place)) {
                wrong.push(format!("{file}: {call}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// True if a call is there by its own name: `NextCommand::new` is no `Command::new`.
fn has_call(text: &str, call: &str) -> bool {
    text.match_indices(call).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        before.is_none_or(|it| !it.is_alphanumeric() && it != '_')
    })
}

/// Answers of the engine come as types: whoever looks into a document has missed one.
#[test]
fn the_cli_takes_answers_as_types() {
    let mut wrong = Vec::new();
    for file in tracked() {
        if !file.starts_with("crates/cli/src/") || !file.ends_with(".rs") {
            continue;
        }
        let text = read(&file);
        for call in [
            "engine::machines",
            "bowline_machines",
            "moved.metadata",
            "moved.trigger",
        ] {
            if text.contains(call) {
                wrong.push(format!("{file}: {call}"));
            }
        }
        // The document itself is printed in one place.
        if text.contains("document.value()") && file != "crates/cli/src/output.rs" {
            wrong.push(format!("{file}: document.value()"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Every sentence is in `words`; the formats read what Korean plans and settings say.
#[test]
fn korean_is_spoken_in_one_place() {
    const SPOKEN: [&str; 2] = ["crates/words/", "crates/formats/src/"];
    // Tells the paragraphs of a page apart by their letters.
    const APART: &str = "crates/cli/src/commands/explain.rs";
    let hangul = |letter: char| ('가'..='힣').contains(&letter);
    for file in tracked() {
        let source = file.starts_with("crates/") && file.contains("/src/") && file.ends_with(".rs");
        let spoken = SPOKEN.iter().any(|place| file.starts_with(place));
        if !source || spoken || file == APART || file.ends_with("tests.rs") {
            continue;
        }
        let text = read(&file);
        let product = text.split("#[cfg(test)]").next().unwrap();
        let stray = product
            .lines()
            .find(|line| line.contains(hangul) && !line.trim_start().starts_with("//"));
        assert!(stray.is_none(), "{file}: {stray:?}");
    }
}

/// Other crates hand over enums: a text that is matched stays English when it changes. Rules of the
/// machines have names with underscores, which are codes.
#[test]
fn korean_matches_no_english_text() {
    const COMPARISONS: [&str; 9] = [
        "starts_with(",
        "ends_with(",
        "strip_prefix(",
        "strip_suffix(",
        "contains(",
        "find(",
        "split_once(",
        "==",
        "!=",
    ];
    let mut wrong = Vec::new();
    for file in tracked() {
        // Lines of help are found by the path of their command.
        let korean = file.starts_with("crates/words/src/korean/") && !file.contains("/help/");
        if !korean || file.ends_with("tests.rs") {
            continue;
        }
        let text = read(&file);
        let code = text
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"));
        let code = code.collect::<Vec<_>>().join("\n").replace("\\\"", "");
        let parts: Vec<&str> = code.split('"').collect();
        // Every other part is a literal.
        for around in parts.windows(3).step_by(2) {
            let [before, literal, after] = around else {
                continue;
            };
            let (before, after) = (before.trim_end(), after.trim_start());
            let matched = ["=>", "|", "]", "if "]
                .iter()
                .any(|it| after.starts_with(it))
                || COMPARISONS.iter().any(|it| before.ends_with(it));
            if matched && !literal.contains('_') {
                wrong.push(format!("{file}: {literal}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// `skip` of `test-support` is a failure in CI where nothing excuses it; another way would pass by not running.
#[test]
fn a_test_does_not_run_in_one_way_only() {
    const HELPER: &str = "crates/test-support/src/skip.rs";
    const CHILDREN: &str = "#[ignore = \"the entry point of ";
    let sources = tracked().into_iter().filter(|file| file.ends_with(".rs"));
    for file in sources.filter(|file| file != HELPER && file != "xtask/src/tree.rs") {
        let text = read(&file);
        let stray = |line: &&str| {
            line.contains("skipped: ") || line.contains("#[ignore") && !line.starts_with(CHILDREN)
        };
        let stray: Vec<&str> = text.lines().filter(stray).collect();
        assert!(stray.is_empty(), "{file}: {stray:?}");
    }
}

#[test]
fn documents_and_sources_stay_short() {
    let lines = |file: &str| read(file).lines().count();
    let architecture = lines("ARCHITECTURE.md");
    assert!(
        architecture < ARCHITECTURE_LINES_MAX,
        "ARCHITECTURE.md has {architecture} lines"
    );
    for file in tracked() {
        let max = match file.as_str() {
            file if file.ends_with(".rs") => RUST_LINES_MAX,
            file if file.ends_with("README.md") => README_LINES_MAX,
            _ => continue,
        };
        let count = lines(&file);
        assert!(count <= max, "{file} has {count} lines; {max} are allowed");
    }
}

/// A file of tests that is no module would silently never run.
#[test]
fn no_test_file_is_forgotten() {
    let mains = tracked()
        .into_iter()
        .filter(|file| file.ends_with("/tests/it/main.rs"));
    for main in mains.collect::<Vec<_>>() {
        check_declared(Path::new(&main));
    }
}

/// Every file and folder beside a module is declared in it.
fn check_declared(parent: &Path) {
    let declared = read(parent.to_str().unwrap());
    for entry in std::fs::read_dir(root().join(parent.parent().unwrap())).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap();
        let source = path.is_dir() && path.join("mod.rs").exists();
        if !source && path.extension().is_none_or(|it| it != "rs") {
            continue;
        }
        let known = path.file_name() == parent.file_name()
            || declared.lines().any(|line| line == format!("mod {stem};"));
        assert!(
            known,
            "{} is not declared in {}",
            path.display(),
            parent.display()
        );
        if source {
            check_declared(&parent.with_file_name(stem).join("mod.rs"));
        }
    }
}

#[test]
fn every_crate_has_a_readme() {
    for package in packages() {
        let manifest = PathBuf::from(package["manifest_path"].as_str().unwrap());
        let folder = manifest.parent().unwrap();
        if folder.parent().unwrap().ends_with("crates") {
            assert!(
                folder.join("README.md").is_file(),
                "{} has no README.md",
                folder.display()
            );
        }
    }
}

/// A path of somebody's machine helps nobody else.
#[test]
fn no_path_of_a_machine() {
    // Put together here, so that this file does not find itself.
    let folders = ["work", "root", "home", "Users"].map(|name| format!("/{name}/"));
    let outside = ["..", "shared"].join("/");
    let mut wrong = Vec::new();
    for file in tracked() {
        let Ok(text) = std::fs::read_to_string(root().join(&file)) else {
            continue;
        };
        for (number, line) in text.lines().enumerate() {
            let absolute = folders.iter().any(|folder| begins_a_path(line, folder));
            if absolute || line.contains(&outside) {
                wrong.push(format!("{file}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Packages come from whatever registry npm is set to, and are what was looked at: the lock file has hashes and no address.
#[test]
fn the_web_page_names_no_host() {
    let lock: Value = serde_json::from_str(&read("web/package-lock.json")).unwrap();
    for (name, package) in lock["packages"].as_object().unwrap() {
        assert!(package.get("resolved").is_none(), "{name} names a host");
        let fetched = !name.is_empty() && package.get("link").is_none();
        assert!(!fetched || package["integrity"].is_string(), "{name}");
    }
    for file in tracked().iter().filter(|file| file.starts_with("web/src/")) {
        let text = read(file);
        // Markup of others is made into elements in one place, which sanitises it.
        assert!(!text.contains("{@html"), "{file} has @html");
        let mut addresses = text.match_indices("://").map(|(at, _)| &text[..at]);
        assert!(
            !addresses.any(|before| before.ends_with("http") || before.ends_with("https")),
            "{file} names an address"
        );
    }
}

#[test]
fn links_between_documents_lead_somewhere() {
    let mut wrong = Vec::new();
    // Plans that stand for those of other people lead to places of theirs.
    let ours = |file: &&String| file.ends_with(".md") && !file.contains("/tests/plans/");
    for file in tracked().iter().filter(ours) {
        let folder = root().join(file).parent().unwrap().to_owned();
        let text = read(file);
        for link in links(&text) {
            let path = link.split('#').next().unwrap_or_default();
            if !path.is_empty() && !path.contains("://") && !folder.join(path).exists() {
                wrong.push(format!("{file}: {link}"));
            }
        }
    }
    assert!(wrong.is_empty(), "links that lead nowhere: {wrong:#?}");
}

#[test]
fn a_path_begins_after_something_that_is_no_path() {
    assert!(begins_a_path("cd /opt/me", "/opt/"));
    assert!(begins_a_path("(/opt/me)", "/opt/"));
    assert!(!begins_a_path("[DIR]/opt/me", "/opt/"));
    assert!(!begins_a_path("a/opt/me", "/opt/"));
}

/// Whether an absolute path with this beginning stands in a line.
fn begins_a_path(line: &str, beginning: &str) -> bool {
    line.match_indices(beginning).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        before.is_none_or(|letter| !letter.is_alphanumeric() && !"]}./_-$".contains(letter))
    })
}

/// The targets of `[text](target)` outside of code.
fn links(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut fenced = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        if fenced {
            continue;
        }
        // Every other part stands between backticks.
        for part in line.split('`').step_by(2) {
            let targets = part.split("](").skip(1);
            found.extend(targets.filter_map(|rest| rest.split([')', ' ']).next()));
        }
    }
    found
}

pub(crate) fn packages() -> Vec<Value> {
    let arguments = [
        "metadata",
        "--format-version",
        "1",
        "--no-deps",
        "--offline",
    ];
    let metadata: Value = serde_json::from_str(&output(&cargo(), &arguments)).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

fn name(value: &Value) -> &str {
    value["name"].as_str().unwrap()
}

/// Every file under version control that is still there.
pub(crate) fn tracked() -> Vec<String> {
    let files = output("git", &["ls-files"]);
    let there = |file: &&str| root().join(file).is_file();
    files.lines().filter(there).map(str::to_owned).collect()
}

pub(crate) fn read(file: &str) -> String {
    std::fs::read_to_string(root().join(Path::new(file))).unwrap()
}

fn output(program: &str, arguments: &[&str]) -> String {
    let output = command(program, arguments).output().unwrap();
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}
