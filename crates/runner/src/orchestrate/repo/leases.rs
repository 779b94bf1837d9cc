//! Assigns names and ports to worktrees, so that the servers and databases of several agents do not
//! collide.
//!
//! Ports are leased from one file for all runs of a user. A lease lasts as long as its worktree,
//! and survives restarts.

use super::{HASH_LETTERS, RunRepo, git_error};
use bowline_engine::Error;
use bowline_engine::statefiles::{RealDisk, write_atomically};
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};

/// Default number of ports of a worktree.
const DEFAULT_PORT_COUNT: u16 = 4;
/// Default first port, below the range that systems use for outgoing connections.
const DEFAULT_FIRST_PORT: u16 = 21_000;
/// Maximum length of a slug: a label of a host name has at most 63 letters.
const SLUG_LETTERS_MAX: usize = 48;

/// Leased ports by worktree.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
struct PortLeases(BTreeMap<PathBuf, PortBlock>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct PortBlock {
    first: u16,
    count: u16,
}

impl PortBlock {
    fn port_numbers(self) -> impl Iterator<Item = u16> {
        (0..self.count).filter_map(move |at| self.first.checked_add(at))
    }
}

impl RunRepo {
    fn lease_file(&self) -> PathBuf {
        self.side.with_file_name("ports.json")
    }

    fn read_leases(&self) -> PortLeases {
        let text = std::fs::read(self.lease_file()).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    /// Leases ports for an existing worktree, unless it has them.
    pub(super) fn lease_ports(&self, folder: &Path) -> Result<(), Error> {
        let count = self
            .settings
            .orchestrate
            .ports
            .unwrap_or(DEFAULT_PORT_COUNT);
        let has = |leased: &PortLeases| leased.0.get(folder).is_some_and(|it| it.count == count);
        if count == 0 || has(&self.read_leases()) {
            return Ok(());
        }
        self.update_leases(|leased| {
            leased.0.remove(folder);
            let mut first = self
                .settings
                .orchestrate
                .first_port
                .unwrap_or(DEFAULT_FIRST_PORT);
            loop {
                let block = PortBlock { first, count };
                let Some(after) = first.checked_add(count) else {
                    // More worktrees than ports: this one gets none.
                    return;
                };
                let meets = |other: &PortBlock| {
                    other.first < after && first < other.first.saturating_add(other.count)
                };
                let free = |port: u16| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok();
                if !leased.0.values().any(meets) && block.port_numbers().all(free) {
                    leased.0.insert(folder.to_owned(), block);
                    return;
                }
                first = after;
            }
        })
    }

    /// Releases the ports of a worktree.
    pub(super) fn release_ports(&self, folder: &Path) -> Result<(), Error> {
        match self.read_leases().0.contains_key(folder) {
            true => self.update_leases(|leased| {
                leased.0.remove(folder);
            }),
            false => Ok(()),
        }
    }

    fn update_leases(&self, change: impl FnOnce(&mut PortLeases)) -> Result<(), Error> {
        let path = self.lease_file();
        let lock = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(path.with_extension("lock"))
            .map_err(|error| git_error("lease ports", &error))?;
        flock(&lock, FlockOperation::LockExclusive)
            .map_err(|error| git_error("lease ports", &error.into()))?;
        let mut leased = self.read_leases();
        leased.0.retain(|folder, _| folder.is_dir());
        change(&mut leased);
        let text = serde_json::to_vec(&leased).unwrap_or_default();
        write_atomically(&RealDisk, &path, &text, None).map_err(Error::File)
    }

    /// Returns the environment variables of a worktree: a name fit for hosts, databases and
    /// containers, and its ports.
    pub fn worktree_variables(&self, folder: &Path) -> Vec<(&'static str, String)> {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let plain = |letter: char| match letter.to_ascii_lowercase() {
            letter @ ('a'..='z' | '0'..='9') => letter,
            _ => '-',
        };
        let name: String = name.chars().map(plain).take(SLUG_LETTERS_MAX).collect();
        let run: String = self.run.chars().take(HASH_LETTERS).collect();
        let mut variables = vec![("BOWLINE_SLUG", format!("{name}-{run}"))];
        if let Some(block) = self.read_leases().0.get(folder) {
            let ports: Vec<String> = block.port_numbers().map(|port| port.to_string()).collect();
            variables.push(("BOWLINE_PORT", block.first.to_string()));
            variables.push(("BOWLINE_PORTS", ports.join(" ")));
        }
        variables
    }
}
