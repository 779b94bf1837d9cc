//! The only channel out of a sandbox: for each connection from inside, a program is started outside
//! with the connection as its standard input and output. The data does not pass through the shim.

use super::MYSELF;
use crate::attempt::Attempt;
use crate::process::{ProcessRelation, process_relation};
use crate::protocol::RawEnvironment;
use crate::sandbox::Sandbox;
use crate::spec::AttemptSpec;
use crate::{ATTEMPT_VARIABLE, RELAY_VARIABLE};
use rustix::net::sockopt::socket_peercred;
use rustix::process::getuid;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Name of the socket in the attempt's folder.
pub(super) const SOCKET: &str = "relay";
/// Programs at once; further connections wait in the kernel's queue until one has ended.
const RUNNING_MAX: usize = 8;
/// Connections accepted before other sources have their turn.
const ACCEPTS_MAX: usize = 8;

/// The relay socket, and the programs started for its connections.
#[derive(Debug)]
pub(super) struct RelayServer {
    listener: UnixListener,
    environment: RawEnvironment,
    running: Vec<i32>,
}

impl RelayServer {
    /// Listens in the attempt's folder. The programs get the agent's environment and the attempt's
    /// mark: their work counts as the agent's.
    pub(super) fn listen_in(
        attempt: &Attempt,
        environment: &RawEnvironment,
    ) -> io::Result<RelayServer> {
        let folder = File::open(attempt.folder())?;
        // Short, however long the folder's own path is.
        let path = PathBuf::from(format!("/proc/self/fd/{}/{SOCKET}", folder.as_raw_fd()));
        let _ = std::fs::remove_file(&path);
        let listener = UnixListener::bind(&path)?;
        listener.set_nonblocking(true)?;
        let mut environment = environment.clone();
        environment.insert(ATTEMPT_VARIABLE.into(), attempt.id().into());
        environment.remove(OsStr::new(RELAY_VARIABLE));
        Ok(RelayServer {
            listener,
            environment,
            running: Vec::new(),
        })
    }

    /// Returns the socket to poll, while another program may be started.
    pub(super) fn pollable_listener(&self) -> Option<&UnixListener> {
        (self.running.len() < RUNNING_MAX).then_some(&self.listener)
    }

    /// Starts a program for each connection of a descendant of this shim. Other peers, another
    /// agent for one, are refused.
    pub(super) fn accept_connections(&mut self, prefix: &[String], attempt: &Attempt, shim: i32) {
        for _ in 0..ACCEPTS_MAX {
            if self.running.len() >= RUNNING_MAX {
                return;
            }
            let Ok((stream, _)) = self.listener.accept() else {
                return;
            };
            let below = socket_peercred(&stream).is_ok_and(|peer| {
                let pid = peer.pid.as_raw_nonzero().get();
                peer.uid == getuid() && process_relation(pid, shim) == ProcessRelation::Below
            });
            if below {
                // The client finds the connection closed when nothing could be started.
                let started = self.start_program(stream, prefix, attempt, shim);
                self.running.extend(started.ok());
            }
        }
    }

    fn start_program(
        &self,
        stream: UnixStream,
        prefix: &[String],
        attempt: &Attempt,
        shim: i32,
    ) -> io::Result<i32> {
        stream.set_nonblocking(false)?;
        let other = OwnedFd::from(stream.try_clone()?);
        let child = Command::new(MYSELF)
            .args(prefix)
            .arg(SOCKET)
            .arg(attempt.folder())
            .arg(shim.to_string())
            .env_clear()
            .envs(&self.environment)
            .current_dir("/")
            .process_group(0)
            .stdin(OwnedFd::from(stream))
            .stdout(other)
            .stderr(Stdio::null())
            .spawn()?;
        Ok(child.id().cast_signed())
    }

    /// Records that a child has ended.
    pub(super) fn remove_ended(&mut self, pid: i32) {
        self.running.retain(|one| *one != pid);
    }
}

/// Returns the sandbox of a relayed program: the agent's paths, and those it needs for its own
/// work. Paths that the agent names cannot lead it elsewhere.
pub(super) fn relay_sandbox(spec: &AttemptSpec, folder: &Path) -> Option<Sandbox> {
    let mut sandbox = spec.sandbox.clone()?;
    let relay = spec.relay.as_ref()?;
    sandbox.read.extend(relay.read.iter().cloned());
    sandbox.write.extend(relay.write.iter().cloned());
    // Its own children get the agent's sandbox, which it reads there.
    let spec = folder.join("spec.json").canonicalize();
    sandbox.read.extend(spec.ok());
    Some(sandbox)
}
