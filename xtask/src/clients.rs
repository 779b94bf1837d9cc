//! The real agent clients, for the tests that use them: installed from the npm registry into a folder below `target/`.
//!
//! The versions are fixed, so that a test fails because we changed and not because they did. Nothing of them is run while
//! installing, and what cannot be installed is skipped with a word.

use crate::Outcome;
use crate::shell::{cargo, command, have, root, step, within};
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// How long the registry may take; the packages have some hundred megabytes.
const INSTALL_SECONDS_MAX: u64 = 180;

/// A client, and how the tests are told where it is.
struct Client {
    variable: &'static str,
    package: &'static str,
    version: &'static str,
    /// What npm is told besides.
    options: &'static [&'static str],
    /// The program below the folder of packages; `*` is any one name, since it depends on the platform.
    program: &'static [&'static str],
}

const CLIENTS: [Client; 5] = [
    Client {
        variable: "BOWLINE_CLAUDE",
        package: "@anthropic-ai/claude-code",
        version: "2.1.325",
        options: &[],
        program: &["@anthropic-ai", "claude-code-*", "claude"],
    },
    Client {
        variable: "BOWLINE_CODEX",
        package: "@openai/codex",
        version: "0.166.0",
        options: &[],
        program: &["@openai", "codex-*", "vendor", "*", "bin", "codex"],
    },
    Client {
        variable: "BOWLINE_GEMINI",
        package: "@google/gemini-cli",
        version: "0.61.0",
        options: &["--omit=optional"],
        program: &["@google", "gemini-cli", "bundle", "gemini.js"],
    },
    Client {
        variable: "BOWLINE_OPENCODE",
        package: "opencode-ai",
        version: "1.18.33",
        options: &[],
        program: &["opencode-linux-*", "bin", "opencode"],
    },
    Client {
        variable: "BOWLINE_CLAUDE_ACP",
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
];

/// Installs what is not there, and gives the environment in which the tests find the clients. Variables that are set already
/// are left alone.
pub(crate) fn environment() -> Vec<(&'static str, PathBuf)> {
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let folder = target.join("clients");
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

/// Runs the tests that use the clients, and no others.
pub(crate) fn run() -> Outcome {
    let mut tests = command(&cargo(), &["nextest", "run", "--no-capture"]);
    tests.args(["--package", "bowline-shim", "--package", "bowline"]);
    tests.arg("clients::");
    step("clients", tests.envs(environment()))
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
