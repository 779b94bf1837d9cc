//! Roots that the known clients need besides the system and their working folder.
//!
//! A client's own folder holds what it remembers, and also its settings: hooks, permissions,
//! programs it starts. An agent that could change those would take its hooks out, and have programs
//! run outside by the person's next session. Landlock cannot take a file out of a folder that may
//! be written, so that only those parts are writable where a client keeps what it remembers. A
//! client that insists on writing beside its settings gets a folder of its own in which they are
//! links.

use crate::context::EnvVars;
use std::ffi::OsStr;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Read and write roots of one client.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ClientPreset {
    pub(super) client: Option<&'static str>,
    pub(super) read: Vec<PathBuf>,
    pub(super) write: Vec<PathBuf>,
    /// Those of `write` that are folders and are made if they are missing.
    pub(super) make: Vec<PathBuf>,
    pub(super) home: Option<PrivateHome>,
}

/// Private settings folder for a client that insists on writing beside its settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PrivateHome {
    variable: &'static str,
    /// Folder of the client below the one that the variable names.
    below: &'static str,
    /// Links in that folder: name and target.
    links: Vec<(&'static str, PathBuf)>,
}

impl PrivateHome {
    /// Makes the folder inside `folder`; returns the variable that points the client to it.
    pub(super) fn create_in(&self, folder: &Path) -> io::Result<(String, String)> {
        let home = folder.join("home");
        let own = home.join(self.below);
        std::fs::create_dir_all(&own)?;
        for (name, target) in self.links.iter().filter(|(_, target)| target.exists()) {
            std::os::unix::fs::symlink(target, own.join(name))?;
        }
        Ok((
            self.variable.to_owned(),
            home.to_string_lossy().into_owned(),
        ))
    }
}

/// Known client and its folders.
struct KnownClient {
    name: &'static str,
    folders: &'static [ClientFolder],
}

/// One folder of a client.
struct ClientFolder {
    /// Variable that names the folder, or with `below` the folder above it. If it is not set, the
    /// folder is in the home folder.
    variable: &'static str,
    below: &'static str,
    /// Path in the home folder.
    home: &'static str,
    /// Folders inside that the client writes, made if they are missing; `.` is the whole folder.
    write: &'static [&'static str],
    /// Files inside that the client writes if they exist: credentials, which it renews.
    files: &'static [&'static str],
    /// Further entries needed by a client that gets a private settings folder; empty for others.
    settings: &'static [&'static str],
}

/// Defaults of a folder: no variable, nothing written, nothing needed.
const UNTOUCHED: ClientFolder = ClientFolder {
    variable: "",
    below: "",
    home: "",
    write: &[],
    files: &[],
    settings: &[],
};

const CLIENTS: [KnownClient; 4] = [
    KnownClient {
        name: "claude",
        folders: &[
            ClientFolder {
                variable: "CLAUDE_CONFIG_DIR",
                home: ".claude",
                write: &["projects", "session-env", "shell-snapshots", "todos"],
                files: &[".credentials.json"],
                ..UNTOUCHED
            },
            ClientFolder {
                home: ".claude.json",
                ..UNTOUCHED
            },
        ],
    },
    KnownClient {
        name: "codex",
        folders: &[ClientFolder {
            variable: "CODEX_HOME",
            home: ".codex",
            write: &["archived_sessions", "sessions"],
            files: &["auth.json"],
            settings: &[
                "AGENTS.md",
                "config.toml",
                "hooks.json",
                "managed_config.toml",
                "memories",
                "plugins",
                "prompts",
                "rules",
                "skills",
            ],
            ..UNTOUCHED
        }],
    },
    KnownClient {
        name: "gemini",
        folders: &[ClientFolder {
            variable: "GEMINI_CLI_HOME",
            below: ".gemini",
            home: ".gemini",
            write: &["history", "tmp"],
            files: &["google_accounts.json", "oauth_creds.json"],
            settings: &[
                ".env",
                "GEMINI.md",
                "agents",
                "commands",
                "extensions",
                "installation_id",
                "policies",
                "settings.json",
                "skills",
                "trustedFolders.json",
            ],
        }],
    },
    KnownClient {
        name: "opencode",
        folders: &[
            ClientFolder {
                variable: "XDG_DATA_HOME",
                below: "opencode",
                home: ".local/share/opencode",
                write: &["."],
                ..UNTOUCHED
            },
            ClientFolder {
                variable: "XDG_STATE_HOME",
                below: "opencode",
                home: ".local/state/opencode",
                write: &["."],
                ..UNTOUCHED
            },
            ClientFolder {
                variable: "XDG_CACHE_HOME",
                below: "opencode",
                home: ".cache/opencode",
                write: &["."],
                ..UNTOUCHED
            },
            ClientFolder {
                variable: "XDG_CONFIG_HOME",
                below: "opencode",
                home: ".config/opencode",
                ..UNTOUCHED
            },
        ],
    },
];

impl ClientFolder {
    fn folder_path(&self, variables: &EnvVars) -> Option<PathBuf> {
        match variables.get(self.variable) {
            Some(named) => Some(PathBuf::from(named).join(self.below)),
            None => Some(PathBuf::from(variables.get("HOME")?).join(self.home)),
        }
    }
}

/// Returns the roots for a command whose program is a known client; empty for others.
pub(super) fn preset_for(variables: &EnvVars, command: &[String]) -> ClientPreset {
    let Some(program) = command
        .first()
        .and_then(|word| find_program(variables, OsStr::new(word)))
    else {
        return ClientPreset::default();
    };
    let named =
        |client: &&KnownClient| Path::new(&command[0]).file_stem() == Some(client.name.as_ref());
    let Some(client) = CLIENTS.iter().find(named) else {
        return ClientPreset::default();
    };
    let mut preset = ClientPreset {
        client: Some(client.name),
        ..ClientPreset::default()
    };
    for folder in client.folders {
        let Some(own) = folder.folder_path(variables) else {
            continue;
        };
        for part in folder.write {
            let part = match *part {
                "." => own.clone(),
                part => own.join(part),
            };
            preset.make.push(part);
        }
        preset
            .write
            .extend(folder.files.iter().map(|file| own.join(file)));
        if !folder.settings.is_empty() {
            let parts = [folder.settings, folder.write, folder.files].concat();
            preset.home = Some(PrivateHome {
                variable: folder.variable,
                below: folder.below,
                links: parts.iter().map(|name| (*name, own.join(name))).collect(),
            });
        }
        preset.read.push(own);
    }
    preset.write.extend(preset.make.iter().cloned());
    preset.read.extend(program_roots(&program));
    preset.read.extend(
        find_program(variables, OsStr::new("node")).and_then(|node| node.canonicalize().ok()),
    );
    preset
}

/// Finds a program by its name, as a shell does.
pub(super) fn find_program(variables: &EnvVars, name: &OsStr) -> Option<PathBuf> {
    let path = Path::new(name);
    if path.components().count() > 1 {
        return path.is_file().then(|| path.to_owned());
    }
    let folders = variables.get("PATH")?;
    std::env::split_paths(folders)
        .map(|folder| folder.join(name))
        .find(|path| {
            path.metadata()
                .is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
        })
}

/// Returns the program itself and the `node_modules` folder that contains it.
fn program_roots(program: &Path) -> Vec<PathBuf> {
    let Ok(real) = program.canonicalize() else {
        return Vec::new();
    };
    let packages = real
        .ancestors()
        .filter(|folder| folder.ends_with("node_modules"));
    let packages = packages.last().map(Path::to_owned);
    [Some(real.clone()), packages]
        .into_iter()
        .flatten()
        .collect()
}
