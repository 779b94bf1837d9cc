//! What the known clients need besides the system and the folder they work in.
//!
//! A client's own folder holds what it remembers, and also its settings: hooks, permissions, programs it starts. An agent that
//! could change those would take its hooks out, and have programs run outside by the person's next session. Landlock cannot
//! take a file out of a folder that may be written, so that only those parts are writable where a client keeps what it
//! remembers. A client that insists on writing beside its settings gets a folder of its own in which they are links.

use crate::context::Variables;
use std::ffi::OsStr;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// The roots of one client.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Preset {
    pub(super) client: Option<&'static str>,
    pub(super) read: Vec<PathBuf>,
    pub(super) write: Vec<PathBuf>,
    /// Those of them that are folders, and made if they are not there.
    pub(super) make: Vec<PathBuf>,
    pub(super) home: Option<Home>,
}

/// A folder of its own for a client that writes beside its settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Home {
    variable: &'static str,
    /// The client's folder below what the variable names.
    below: &'static str,
    /// What is linked from there: each name, and where it leads.
    links: Vec<(&'static str, PathBuf)>,
}

impl Home {
    /// Makes it in a folder; gives the variable that leads the client there.
    pub(super) fn make(&self, folder: &Path) -> io::Result<(String, String)> {
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

/// Where a client keeps its own things.
struct Client {
    name: &'static str,
    folders: &'static [Folder],
}

/// One of its folders.
struct Folder {
    /// Names it, or with `below` the folder above it; else it is in the home folder.
    variable: &'static str,
    below: &'static str,
    /// Its path in the home folder.
    home: &'static str,
    /// Folders in it that the client writes, made if they are not there; `.` is all of it.
    write: &'static [&'static str],
    /// Files in it that the client writes, if they are there: what it has to prove who it is, which it renews.
    files: &'static [&'static str],
    /// What else is in it that a client needs which gets a folder of its own; for others, nothing.
    settings: &'static [&'static str],
}

/// The rest of a folder: no variable leads to it, and nothing in it is written or needed.
const UNTOUCHED: Folder = Folder {
    variable: "",
    below: "",
    home: "",
    write: &[],
    files: &[],
    settings: &[],
};

const CLIENTS: [Client; 4] = [
    Client {
        name: "claude",
        folders: &[
            Folder {
                variable: "CLAUDE_CONFIG_DIR",
                home: ".claude",
                write: &["projects", "session-env", "shell-snapshots", "todos"],
                files: &[".credentials.json"],
                ..UNTOUCHED
            },
            Folder {
                home: ".claude.json",
                ..UNTOUCHED
            },
        ],
    },
    Client {
        name: "codex",
        folders: &[Folder {
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
    Client {
        name: "gemini",
        folders: &[Folder {
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
    Client {
        name: "opencode",
        folders: &[
            Folder {
                variable: "XDG_DATA_HOME",
                below: "opencode",
                home: ".local/share/opencode",
                write: &["."],
                ..UNTOUCHED
            },
            Folder {
                variable: "XDG_STATE_HOME",
                below: "opencode",
                home: ".local/state/opencode",
                write: &["."],
                ..UNTOUCHED
            },
            Folder {
                variable: "XDG_CACHE_HOME",
                below: "opencode",
                home: ".cache/opencode",
                write: &["."],
                ..UNTOUCHED
            },
            Folder {
                variable: "XDG_CONFIG_HOME",
                below: "opencode",
                home: ".config/opencode",
                ..UNTOUCHED
            },
        ],
    },
];

impl Folder {
    fn path(&self, variables: &Variables) -> Option<PathBuf> {
        match variables.get(self.variable) {
            Some(named) => Some(PathBuf::from(named).join(self.below)),
            None => Some(PathBuf::from(variables.get("HOME")?).join(self.home)),
        }
    }
}

/// The roots for a command, when its program is a client that is known.
pub(super) fn of(variables: &Variables, command: &[String]) -> Preset {
    let Some(program) = command
        .first()
        .and_then(|word| found(variables, OsStr::new(word)))
    else {
        return Preset::default();
    };
    let named = |client: &&Client| Path::new(&command[0]).file_stem() == Some(client.name.as_ref());
    let Some(client) = CLIENTS.iter().find(named) else {
        return Preset::default();
    };
    let mut preset = Preset {
        client: Some(client.name),
        ..Preset::default()
    };
    for folder in client.folders {
        let Some(own) = folder.path(variables) else {
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
            preset.home = Some(Home {
                variable: folder.variable,
                below: folder.below,
                links: parts.iter().map(|name| (*name, own.join(name))).collect(),
            });
        }
        preset.read.push(own);
    }
    preset.write.extend(preset.make.iter().cloned());
    preset.read.extend(installed(&program));
    preset
        .read
        .extend(found(variables, OsStr::new("node")).and_then(|node| node.canonicalize().ok()));
    preset
}

/// The program by its name, as a shell finds it.
pub(super) fn found(variables: &Variables, name: &OsStr) -> Option<PathBuf> {
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

/// The program itself, and the packages it is one of.
fn installed(program: &Path) -> Vec<PathBuf> {
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
