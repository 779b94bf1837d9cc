//! The real agent clients, for the tests that use them: installed from the npm registry into a folder below `target/`.
//!
//! The versions are fixed, so that a test fails because we changed and not because they did. Nothing of them is run while
//! installing, and what cannot be installed is skipped with a word.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use xtask::Outcome;
use xtask::shell::{cargo, command, have, root, step, within};

/// How long the registry may take; the packages have some hundred megabytes.
const INSTALL_SECONDS_MAX: u64 = 180;

/// Where the tests note what they have seen a client do.
const SEEN_VARIABLE: &str = "BOWLINE_CLIENTS_SEEN";
const PAGE: &str = "docs/agents/README.md";
const BEGIN: &str = "<!-- clients: written by `cargo xtask clients` -->\n";
const END: &str = "<!-- end of clients -->";

/// A client, and how the tests are told where it is.
struct Client {
    variable: &'static str,
    /// As people call it.
    name: &'static str,
    package: &'static str,
    version: &'static str,
    /// What npm is told besides.
    options: &'static [&'static str],
    /// The program below the folder of packages; `*` is any one name, since it depends on the platform.
    program: &'static [&'static str],
}

const CLIENTS: [Client; 7] = [
    Client {
        variable: "BOWLINE_CLAUDE",
        name: "Claude Code",
        package: "@anthropic-ai/claude-code",
        version: "2.1.326",
        options: &[],
        program: &["@anthropic-ai", "claude-code-*", "claude"],
    },
    Client {
        variable: "BOWLINE_CODEX",
        name: "Codex",
        package: "@openai/codex",
        version: "0.169.0",
        options: &[],
        program: &["@openai", "codex-*", "vendor", "*", "bin", "codex"],
    },
    Client {
        variable: "BOWLINE_GEMINI",
        name: "Gemini",
        package: "@google/gemini-cli",
        version: "0.61.0",
        options: &["--omit=optional"],
        program: &["@google", "gemini-cli", "bundle", "gemini.js"],
    },
    Client {
        variable: "BOWLINE_OPENCODE",
        name: "OpenCode",
        package: "opencode-ai",
        version: "1.18.33",
        options: &[],
        program: &["opencode-linux-*", "bin", "opencode"],
    },
    Client {
        variable: "BOWLINE_CLAUDE_ACP",
        name: "claude-agent-acp",
        package: "@agentclientprotocol/claude-agent-acp",
        version: "0.99.1",
        // It would bring a `claude` of its own, as large as the one above, which serves it as well.
        options: &["--omit=optional"],
        program: &[
            "@agentclientprotocol",
            "claude-agent-acp",
            "dist",
            "index.js",
        ],
    },
    Client {
        variable: "BOWLINE_CODEX_ACP",
        name: "codex-acp",
        package: "@agentclientprotocol/codex-acp",
        version: "2.6.0",
        // As above, of a `codex`.
        options: &["--omit=optional"],
        program: &["@agentclientprotocol", "codex-acp", "dist", "index.js"],
    },
    Client {
        variable: "BOWLINE_INSPECTOR",
        name: "MCP Inspector",
        package: "@modelcontextprotocol/inspector",
        version: "2.12.0",
        options: &[],
        program: &[
            "@modelcontextprotocol",
            "inspector",
            "clients",
            "launcher",
            "build",
            "index.js",
        ],
    },
];

fn folder() -> PathBuf {
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    target.join("clients")
}

/// Installs what is not there, and gives the environment in which the tests find the clients. Variables that are set already
/// are left alone.
pub(crate) fn environment() -> Vec<(&'static str, PathBuf)> {
    let folder = folder();
    let mut found = Vec::new();
    for client in CLIENTS {
        if std::env::var_os(client.variable).is_some() {
            continue;
        }
        match client.installed(&folder.join(client.variable)) {
            Ok(program) => found.push((client.variable, program)),
            Err(why) => println!(
                "{} {} is not installed, and its tests do not run: {why}",
                client.package, client.version
            ),
        }
    }
    found
}

/// Runs the tests that use the clients, and no others; what they have seen becomes the table of the page.
pub(crate) fn run() -> Outcome {
    let seen = folder().join("seen");
    let failed = |error: std::io::Error| format!("{}: {error}", seen.display());
    if seen.exists() {
        std::fs::remove_dir_all(&seen).map_err(failed)?;
    }
    std::fs::create_dir_all(&seen).map_err(failed)?;
    let environment = environment();
    let whole = environment.len() == CLIENTS.len();
    // Of the whole workspace: what the test command has built is not built again with other features.
    let mut tests = command(&cargo(), &["nextest", "run", "--workspace"]);
    tests.args(["--no-capture", "--no-fail-fast"]);
    tests.args([
        "-E",
        "test(clients::) & (package(bowline) | package(bowline-shim))",
    ]);
    tests.env(SEEN_VARIABLE, &seen);
    step("clients", tests.envs(environment))?;
    if !whole {
        println!("{PAGE} is left as it is: not every client is here in its own version");
        return Ok(());
    }
    let page = root().join(PAGE);
    let failed = |error: std::io::Error| format!("{PAGE}: {error}");
    let text = std::fs::read_to_string(&page).map_err(failed)?;
    let marks = text
        .split_once(BEGIN)
        .and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    let (before, after) =
        marks.ok_or_else(|| format!("{PAGE}: the marks of the table are gone"))?;
    let table = table(&seen)?;
    std::fs::write(&page, format!("{before}{BEGIN}\n{table}\n{END}{after}")).map_err(failed)?;
    println!("wrote {PAGE}");
    Ok(())
}

/// What works where: a row for each thing that was seen, the most common first, and a column for each client.
fn table(seen: &Path) -> Outcome<String> {
    let mut rows: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let failed = |error: std::io::Error| format!("{}: {error}", seen.display());
    for entry in std::fs::read_dir(seen).map_err(failed)? {
        let note = std::fs::read_to_string(entry.map_err(failed)?.path()).map_err(failed)?;
        if let Some((client, what)) = note.split_once('\t') {
            let clients = rows.entry(what.to_owned()).or_default();
            clients.insert(client.to_owned());
        }
    }
    let mut rows: Vec<_> = rows.into_iter().collect();
    rows.sort_by_key(|(_, clients)| std::cmp::Reverse(clients.len()));
    let heads = CLIENTS.map(|client| format!(" {} {} |", client.name, client.version));
    let mut table = format!(
        "| |{}\n|---|{}\n",
        heads.concat(),
        ":-:|".repeat(CLIENTS.len())
    );
    for (what, clients) in rows {
        let cells = CLIENTS.map(|client| match clients.contains(client.variable) {
            true => " ✓ |",
            false => " |",
        });
        table += &format!("| {what} |{}\n", cells.concat());
    }
    Ok(table)
}

impl Client {
    /// The program, which is fetched if it is not there in this version.
    fn installed(&self, folder: &Path) -> Outcome<PathBuf> {
        let packages = folder.join("node_modules");
        // The version is part of the path, so another one never passes for this one.
        let stamp = folder.join(format!("installed-{}", self.version));
        if !stamp.is_file() {
            self.install(folder)?;
            std::fs::write(&stamp, "").map_err(|error| format!("{}: {error}", stamp.display()))?;
        }
        find(&packages, self.program).ok_or_else(|| "it has no program for this platform".into())
    }

    fn install(&self, folder: &Path) -> Outcome {
        if !have("npm", &["--version"]) {
            return Err("npm does not answer".into());
        }
        std::fs::create_dir_all(folder)
            .map_err(|error| format!("{}: {error}", folder.display()))?;
        println!("installing {} {} …", self.package, self.version);
        let package = format!("{}@{}", self.package, self.version);
        let mut npm = command("npm", &["install", "--prefix"]);
        npm.arg(folder).args([
            "--no-audit",
            "--no-fund",
            "--ignore-scripts",
            "--loglevel=error",
        ]);
        npm.args(self.options);
        within(
            "npm",
            npm.arg(package).stdout(Stdio::null()),
            INSTALL_SECONDS_MAX,
        )
    }
}

/// The first file at `path` below `folder`; a part may end in `*`.
fn find(folder: &Path, path: &[&str]) -> Option<PathBuf> {
    let [part, rest @ ..] = path else {
        return folder.is_file().then(|| folder.to_owned());
    };
    let Some(beginning) = part.strip_suffix('*') else {
        return find(&folder.join(part), rest);
    };
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder)
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let name = path.file_name().map(|name| name.to_string_lossy());
            name.is_some_and(|name| name.starts_with(beginning))
        })
        .collect();
    entries.sort();
    entries.iter().find_map(|entry| find(entry, rest))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

    use super::*;

    /// What the tests say they have seen: the texts of their calls, and texts of constants, by which some call.
    fn said() -> [BTreeSet<String>; 2] {
        let [mut texts, mut constants] = [BTreeSet::new(), BTreeSet::new()];
        for folder in ["cli", "shim"] {
            let folder = root().join("crates").join(folder).join("tests/it/clients");
            for entry in std::fs::read_dir(folder).unwrap() {
                let source = std::fs::read_to_string(entry.unwrap().path()).unwrap();
                let calls = source.split("record_client_result(").skip(1);
                let calls = calls.filter_map(|rest| Some(rest.split_once(");")?.0));
                let calls = calls.map(|call| call.trim_end().trim_end_matches(','));
                let text = |call: &str| {
                    let text = call.strip_suffix('"')?.rsplit_once('"')?.1;
                    Some(text.to_owned())
                };
                texts.extend(calls.filter_map(text));
                let named = source.split(": &str = \"").skip(1);
                constants.extend(named.filter_map(|it| Some(it.split_once("\";")?.0.to_owned())));
            }
        }
        [texts, constants]
    }

    /// The table is not made here, for the clients are not: but it must be there, of these versions, and its rows must be what the
    /// tests say.
    #[test]
    fn the_table_of_the_page_is_that_of_these_tests() {
        let page = std::fs::read_to_string(root().join(PAGE)).unwrap();
        let table = page.split_once(BEGIN).unwrap().1.split_once(END).unwrap().0;
        let mut lines = table.lines().filter(|line| line.starts_with('|'));
        // `cargo xtask clients` writes it.
        let head = lines.next().unwrap();
        for client in CLIENTS {
            let column = format!(" {} {} |", client.name, client.version);
            assert!(head.contains(&column), "{column} is not in {head}");
        }
        let rows = lines.skip(1).filter_map(|line| line.split(" |").next());
        let rows: BTreeSet<String> = rows.map(|row| row.replacen("| ", "", 1)).collect();
        let [texts, constants] = said();
        let stale = "the table is stale: `cargo xtask clients`";
        assert!(texts.is_subset(&rows), "{stale}: {texts:#?} {rows:#?}");
        let known: BTreeSet<String> = texts.union(&constants).cloned().collect();
        assert!(rows.is_subset(&known), "{stale}: {rows:#?} {known:#?}");
    }
}
