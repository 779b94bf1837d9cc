//! The shim's event loop: serves a closed list of sources without blocking.

use super::attempt_folder::AttemptFolder;
use super::clients::ClientConnections;
use super::control::ProcessControl;
use super::input::InputQueue;
use super::mask::SecretMask;
use super::output::{CHUNK_BYTES, OutputLog, output_progress};
use super::ownership::write_owner;
use super::relay::{RelayServer, SOCKET};
use super::{
    MYSELF, clients::IDLE_MS, clients::ReceivedRequest, exit_record, start::spawn_with_retries,
};
use crate::attempt::{Attempt, LockOwner, OutputStream, open_writable};
use crate::cgroup::Cgroup;
use crate::error::ShimRefusal;
use crate::exit::AttemptExit;
use crate::process::{ProcessRelation, process_relation};
use crate::protocol::{
    FEATURES, ObservedState, ObservedStatus, OutputBlockReason, PROTOCOL, RawEnvironment,
    ShimGreeting, ShimRequest, ShimResponse, WantedState, decode_environment,
};
use crate::{ATTEMPT_VARIABLE, RELAY_VARIABLE};
use nix::sys::signalfd::SignalFd;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionbio};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process_group, wait};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// Interval of retries when the disk is full.
const RETRY_MS: u64 = 200;
/// Connections accepted per round: an agent that keeps connecting must not block the shim.
const ACCEPTS_MAX: usize = 8;
/// Children reaped per round: some processes do nothing but fork and exit.
const REAPS_MAX: usize = 4096;
/// Rounds in which children are killed: their orphans become ours, for the next round.
const KILL_ROUNDS: usize = 20;

#[derive(Debug, Clone, Copy)]
enum EventSource {
    Signals,
    Listener,
    Relays,
    Folder,
    Out,
    Err,
    Input,
    Client(usize),
}

#[derive(Debug)]
struct AgentProcess {
    pid: i32,
    ended: Option<WaitStatus>,
}

#[derive(Debug)]
pub(super) struct ShimEventLoop {
    prefix: Vec<String>,
    attempt: Attempt,
    folder: AttemptFolder,
    owner: LockOwner,
    signals: SignalFd,
    listener: UnixListener,
    exit_file: File,
    born: Instant,
    fence: u64,
    agent: Option<AgentProcess>,
    start_error: Option<String>,
    /// A client, or a signal to the shim, asked for the end.
    asked: bool,
    interrupts: u64,
    cgroup: Option<Cgroup>,
    control: ProcessControl,
    input: InputQueue,
    mask: SecretMask,
    out: Option<OutputLog>,
    err: Option<OutputLog>,
    blocked: Option<OutputBlockReason>,
    retry: Option<Instant>,
    drain_until: Option<Instant>,
    clients: ClientConnections,
    relays: Option<RelayServer>,
    buffer: Vec<u8>,
    version: u64,
    /// The status that `version` stands for.
    shown: Option<ObservedStatus>,
    exit: Option<AttemptExit>,
}

impl ShimEventLoop {
    pub(super) fn new(
        prefix: &[&str],
        attempt: Attempt,
        place: AttemptFolder,
        owner: LockOwner,
        signals: SignalFd,
        listener: UnixListener,
        exit_file: File,
    ) -> ShimEventLoop {
        let born = Instant::now();
        ShimEventLoop {
            prefix: prefix.iter().map(|&word| word.to_owned()).collect(),
            fence: attempt.spec().fence,
            attempt,
            folder: place,
            owner,
            signals,
            listener,
            exit_file,
            born,
            agent: None,
            start_error: None,
            asked: false,
            interrupts: 0,
            cgroup: None,
            control: ProcessControl::new(born),
            input: InputQueue::default(),
            mask: SecretMask::default(),
            out: None,
            err: None,
            blocked: None,
            retry: None,
            drain_until: None,
            clients: ClientConnections::default(),
            relays: None,
            buffer: vec![0; CHUNK_BYTES],
            version: 0,
            shown: None,
            exit: None,
        }
    }

    /// Serves until the agent and all its descendants are gone, or no `go` came in time.
    pub(super) fn serve_until_end(mut self) -> ExitCode {
        loop {
            let now = Instant::now();
            let gone = self.folder.check_removed(now);
            if gone && self.control.goal() != WantedState::Ended {
                // An attempt that cannot be reached must not run on.
                self.control.set_goal(WantedState::Ended, now);
            }
            if self.agent.is_none() {
                let over = self.asked || self.start_error.is_some();
                if over {
                    return self.finish_attempt();
                }
                if gone || now >= self.start_deadline() {
                    // Nothing was started, so no end is written: another shim may still get `go`.
                    let _ = std::fs::remove_file(self.attempt.file_path("sock"));
                    return ExitCode::SUCCESS;
                }
            }
            if self.control.next.is_some_and(|next| next <= now) {
                let childless = self.reap_and_kill(now);
                let bounds = &self.attempt.spec().bounds;
                let root = self.owner.pid;
                self.control
                    .scan_and_act(now, root, childless, self.cgroup.as_ref(), bounds);
            }
            self.copy_output(now);
            self.input.check_progress(now);
            if self.control.is_finished() && self.is_drained(now) {
                return self.finish_attempt();
            }
            self.refresh_version();
            let status = self.status();
            self.clients.answer_due_waits(&status);
            self.wait_and_serve(now);
        }
    }

    fn start_deadline(&self) -> Instant {
        self.born + Duration::from_millis(self.attempt.spec().bounds.go_ms)
    }

    fn wait_and_serve(&mut self, now: Instant) {
        let ready = self.poll_sources(now);
        let now = Instant::now();
        for source in ready {
            match source {
                EventSource::Signals => self.serve_signals(now),
                EventSource::Listener => self.serve_listener(),
                EventSource::Relays => {
                    if let Some(relays) = &mut self.relays {
                        relays.accept_connections(&self.prefix, &self.attempt, self.owner.pid);
                    }
                }
                EventSource::Folder => self.folder.discard_events(now),
                // Pumped in every round.
                EventSource::Out | EventSource::Err => {}
                EventSource::Input => self.input.write_queued(),
                EventSource::Client(index) => self.serve_client(index, now),
            }
        }
    }

    fn poll_sources(&self, now: Instant) -> Vec<EventSource> {
        let mut sources = vec![EventSource::Signals];
        let mut fds = vec![PollFd::new(&self.signals, PollFlags::IN)];
        if self.clients.has_room(now) {
            sources.push(EventSource::Listener);
            fds.push(PollFd::new(&self.listener, PollFlags::IN));
        }
        if let Some(watch) = &self.folder.watch {
            sources.push(EventSource::Folder);
            fds.push(PollFd::new(watch, PollFlags::IN));
        }
        // Nothing is started for an agent that is being ended.
        let open = self.relays.as_ref();
        let open = open.filter(|_| self.control.goal() != WantedState::Ended);
        if let Some(listener) = open.and_then(RelayServer::pollable_listener) {
            sources.push(EventSource::Relays);
            fds.push(PollFd::new(listener, PollFlags::IN));
        }
        for (source, output) in [(EventSource::Out, &self.out), (EventSource::Err, &self.err)] {
            let pipe = output.as_ref().and_then(|output| output.pipe.as_ref());
            if let Some(pipe) = pipe.filter(|_| self.blocked.is_none()) {
                sources.push(source);
                fds.push(PollFd::new(pipe, PollFlags::IN));
            }
        }
        if let Some(pipe) = self.input.wants_to_write() {
            sources.push(EventSource::Input);
            fds.push(PollFd::new(pipe, PollFlags::OUT));
        }
        for (index, client) in self.clients.all.iter().enumerate() {
            let mut flags = PollFlags::IN;
            flags.set(PollFlags::OUT, client.wants_to_write());
            sources.push(EventSource::Client(index));
            fds.push(PollFd::new(&client.stream, flags));
        }
        let deadlines = [
            self.agent.is_none().then(|| self.start_deadline()),
            self.control.next,
            self.retry,
            self.drain_until,
            self.input.next_look,
            // A new client may wait for an idle one to be replaced.
            self.clients
                .is_full()
                .then(|| now + Duration::from_millis(IDLE_MS)),
            Some(self.folder.next),
        ];
        let timeout = deadlines
            .into_iter()
            .flatten()
            .min()
            .map(|until| until.saturating_duration_since(now))
            .and_then(|duration| Timespec::try_from(duration).ok());
        // Interrupted or not: the next round checks everything again.
        if poll(&mut fds, timeout.as_ref()).is_err() {
            return Vec::new();
        }
        let ready = sources.into_iter().zip(fds);
        ready
            .filter(|(_, fd)| !fd.revents().is_empty())
            .map(|(source, _)| source)
            .collect()
    }

    fn serve_signals(&mut self, now: Instant) {
        let child = nix::sys::signal::Signal::SIGCHLD as u32;
        let too_big = nix::sys::signal::Signal::SIGXFSZ as u32;
        while let Ok(Some(signal)) = self.signals.read_signal() {
            // A signal that ends the shim ends its agent, unless it comes from the agent itself.
            let sender = signal.ssi_pid.cast_signed();
            let own = || process_relation(sender, self.owner.pid) == ProcessRelation::Below;
            if signal.ssi_signo != child && signal.ssi_signo != too_big && !own() {
                self.asked = true;
                self.control.set_goal(WantedState::Ended, now);
            }
        }
        self.reap_children(now);
        self.control.schedule_scan(now);
    }

    /// Reaps ended children. True if the kernel has none left, adopted descendants included.
    fn reap_children(&mut self, now: Instant) -> bool {
        for _ in 0..REAPS_MAX {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) => {
                    let pid = pid.as_raw_nonzero().get();
                    if let Some(agent) = self.agent.as_mut().filter(|agent| agent.pid == pid) {
                        agent.ended = Some(status);
                        self.control.agent_ended(now);
                    }
                    if let Some(relays) = &mut self.relays {
                        relays.remove_ended(pid);
                    }
                }
                Ok(None) => return false,
                Err(Errno::INTR) => {}
                Err(error) => return error == Errno::CHILD,
            }
        }
        false
    }

    /// Reaps ended children, and kills them after the grace period. True if none is left.
    fn reap_and_kill(&mut self, now: Instant) -> bool {
        let mut childless = self.reap_children(now);
        let grace_ms = self.attempt.spec().bounds.grace_ms;
        for _ in 0..KILL_ROUNDS {
            if childless || !self.control.grace_is_over(grace_ms, now) {
                break;
            }
            self.control.kill_children(self.owner.pid);
            childless = self.reap_children(now);
        }
        childless
    }

    fn serve_listener(&mut self) {
        let mark = format!("{ATTEMPT_VARIABLE}={}", self.attempt.id());
        for _ in 0..ACCEPTS_MAX {
            if !self.clients.has_room(Instant::now()) {
                return;
            }
            let Ok((stream, _)) = self.listener.accept() else {
                return;
            };
            let hello = ShimResponse {
                id: 0,
                hello: Some(ShimGreeting {
                    protocol: PROTOCOL,
                    features: FEATURES.iter().map(|&word| word.to_owned()).collect(),
                    attempt: self.attempt.id().to_owned(),
                    shim: self.owner.pid,
                }),
                status: Some(self.status()),
                ..ShimResponse::default()
            };
            self.clients
                .accept_client(stream, self.owner.start, &mark, &hello);
        }
    }

    fn serve_client(&mut self, index: usize, now: Instant) {
        while let Some(received) = self.clients.receive_from(index) {
            self.answer_request(index, received, now);
        }
    }

    fn answer_request(&mut self, index: usize, (envelope, body): ReceivedRequest, now: Instant) {
        let id = envelope.id;
        if let ShimRequest::Wait { version, out, err } = envelope.request {
            self.refresh_version();
            let status = self.status();
            if let Some(client) = self.clients.all.get_mut(index) {
                client.register_wait(id, version, out, err, &status);
            }
            return;
        }
        let done = self.execute_request(envelope.request, body, now);
        self.refresh_version();
        let status = self.status();
        let Some(client) = self.clients.all.get_mut(index) else {
            return;
        };
        match done {
            Ok(already) => client.queue_response(&ShimResponse {
                id,
                already,
                status: Some(status),
                ..ShimResponse::default()
            }),
            Err((why, message)) => client.queue_refusal(id, why, &message),
        }
    }

    /// Carries out a request, unless it had been done (`true`) or must be refused.
    fn execute_request(
        &mut self,
        request: ShimRequest,
        body: Vec<u8>,
        now: Instant,
    ) -> Result<bool, (ShimRefusal, String)> {
        if let Some(fence) = request.fence() {
            if fence < self.fence {
                let message = format!("fencing number {fence} is older than {}", self.fence);
                return Err((ShimRefusal::FencedOut, message));
            }
            self.fence = fence;
        }
        match request {
            ShimRequest::Status {} | ShimRequest::Wait { .. } => Ok(false),
            ShimRequest::Go { raw, .. } => {
                if self.agent.is_some() {
                    return Ok(true);
                }
                let environment = decode_environment(&body, raw)
                    .map_err(|error| (ShimRefusal::BadRequest, format!("environment: {error}")))?;
                if let Err(why) = self.start_agent(environment) {
                    self.start_error = Some(why);
                }
                Ok(false)
            }
            ShimRequest::Want {
                state, generation, ..
            } => self.set_wanted_state(state, generation, now),
            ShimRequest::Input { seq, last, .. } => {
                if self.agent.is_none() {
                    return Err((ShimRefusal::NotRunning, "the agent has not begun".into()));
                }
                let bound = self.attempt.spec().bounds.input_bytes;
                self.input
                    .accept_message(seq, body, last, bound)
                    .map_err(|why| {
                        let next = self.input.status().next;
                        (why, format!("message {seq} is not taken; next is {next}"))
                    })
            }
            ShimRequest::Interrupt { seq, .. } => self.interrupt_agent(seq),
            ShimRequest::Mask { .. } => {
                let values = serde_json::from_slice(&body)
                    .map_err(|error| (ShimRefusal::BadRequest, format!("values: {error}")))?;
                Ok(self.mask.add_values(values))
            }
            ShimRequest::Ack { out, err, .. } => {
                // A full disk has no room for output that has been processed.
                let keep = if self.blocked == Some(OutputBlockReason::DiskFull) {
                    self.retry = Some(now);
                    0
                } else {
                    self.attempt.spec().bounds.keep_bytes
                };
                for (output, offset) in [(&mut self.out, out), (&mut self.err, err)] {
                    if let Some(output) = output {
                        output.acknowledge_until(offset, keep);
                    }
                }
                Ok(false)
            }
        }
    }

    fn set_wanted_state(
        &mut self,
        want: WantedState,
        generation: u64,
        now: Instant,
    ) -> Result<bool, (ShimRefusal, String)> {
        let have = self.control.generation;
        let ending = self.asked && want != WantedState::Ended;
        if generation < have || generation == have && want != self.control.want || ending {
            let message = format!(
                "generation {generation} does not follow {have} ({})",
                self.control.want.wire_word()
            );
            return Err((ShimRefusal::StaleGeneration, message));
        }
        if generation == have {
            return Ok(true);
        }
        self.control.generation = generation;
        self.asked |= want == WantedState::Ended;
        self.control.set_goal(want, now);
        Ok(false)
    }

    /// Sends SIGINT to the agent's group, as a terminal does. Each number is sent once.
    fn interrupt_agent(&mut self, seq: u64) -> Result<bool, (ShimRefusal, String)> {
        if seq <= self.interrupts {
            return Ok(true);
        }
        let Some(agent) = self.agent.as_ref().filter(|agent| agent.ended.is_none()) else {
            return Err((
                ShimRefusal::NotRunning,
                "there is no agent to interrupt".into(),
            ));
        };
        self.interrupts = seq;
        // Not reaped yet, so the id is the agent's. Tools in other groups are the agent's matter.
        if let Some(group) = Pid::from_raw(agent.pid) {
            let _ = kill_process_group(group, Signal::INT);
        }
        Ok(false)
    }

    /// Starts the agent. The start is written down first, so that no other shim starts one.
    fn start_agent(&mut self, environment: RawEnvironment) -> Result<(), String> {
        let spec = self.attempt.spec();
        // The shim itself runs in `/`, so a relative folder would be resolved there.
        if !spec.folder.is_absolute() {
            let folder = spec.folder.display();
            return Err(format!("cannot start in {folder}: not a whole path"));
        }
        if let Some(wanted) = &spec.cgroup {
            match Cgroup::create(wanted, &spec.attempt) {
                Ok(cgroup) => {
                    self.owner.cgroup = Some(cgroup.path().to_owned());
                    self.cgroup = Some(cgroup);
                }
                Err(_) if wanted.is_optional() => {}
                Err(error) => return Err(format!("cannot make a control group: {error}")),
            }
        }
        self.owner.go = true;
        write_owner(&self.folder.lock, &self.owner)
            .map_err(|error| format!("cannot write the lock: {error}"))?;
        let log = |stream: OutputStream| {
            open_writable(&self.attempt.file_path(stream.file_name()))
                .map_err(|error| format!("cannot open the log: {error}"))
        };
        let (out, err) = (log(OutputStream::Out)?, log(OutputStream::Err)?);
        if spec.relay.is_some() {
            let relays = RelayServer::listen_in(&self.attempt, &environment)
                .map_err(|error| format!("cannot listen for the agent: {error}"))?;
            self.relays = Some(relays);
        }
        let relay = self.relays.as_ref().map(|_| self.attempt.file_path(SOCKET));
        let mut stub = Command::new(MYSELF);
        stub.args(&self.prefix)
            .arg("exec")
            .arg(self.attempt.folder())
            .arg(self.owner.pid.to_string())
            .env_clear()
            .envs(environment)
            .env(ATTEMPT_VARIABLE, &spec.attempt)
            .envs(relay.map(|path| (RELAY_VARIABLE, path)))
            .current_dir(&spec.folder)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = spawn_with_retries(&mut stub)
            .map_err(|error| format!("cannot start in {}: {error}", spec.folder.display()))?;
        let pipe = |end: Option<OwnedFd>| -> Result<File, String> {
            let end = end.ok_or("a pipe is missing")?;
            ioctl_fionbio(&end, true).map_err(|error| error.to_string())?;
            Ok(File::from(end))
        };
        self.agent = Some(AgentProcess {
            pid: child.id().cast_signed(),
            ended: None,
        });
        self.control.agent = Some(child.id().cast_signed());
        self.input = InputQueue::new(pipe(child.stdin.take().map(OwnedFd::from))?);
        self.out = Some(OutputLog::new(
            pipe(child.stdout.take().map(OwnedFd::from))?,
            out,
        ));
        self.err = Some(OutputLog::new(
            pipe(child.stderr.take().map(OwnedFd::from))?,
            err,
        ));
        // A wanted state set before `go` counts from now on.
        self.control.schedule_scan(Instant::now());
        Ok(())
    }

    /// Moves output into the logs, as far as bounds and the disk allow.
    fn copy_output(&mut self, now: Instant) {
        let bound = self.attempt.spec().bounds.unacknowledged_bytes;
        let held =
            |output: &Option<OutputLog>| output.as_ref().map_or(0, OutputLog::unacknowledged_bytes);
        let mut blocked = None;
        for error_stream in [false, true] {
            let used = held(&self.out) + held(&self.err);
            // Once no process is left, the pipes contain all there will be.
            let room = if self.drain_until.is_some() {
                u64::MAX
            } else {
                bound.saturating_sub(used)
            };
            let output = if error_stream {
                &mut self.err
            } else {
                &mut self.out
            };
            let Some(output) = output else {
                continue;
            };
            if let Err(why) = output.copy_to_log(&self.mask, room, &mut self.buffer) {
                blocked = Some(why);
            }
        }
        let full = held(&self.out) + held(&self.err) >= bound && self.drain_until.is_none();
        self.blocked = blocked.or(full.then_some(OutputBlockReason::Unacknowledged));
        if blocked == Some(OutputBlockReason::DiskFull) {
            for output in [&mut self.out, &mut self.err].into_iter().flatten() {
                output.free_acknowledged(0);
            }
        }
        // A full disk does not report when there is room again.
        self.retry = blocked.map(|_| now + Duration::from_millis(RETRY_MS));
    }

    /// True if all output is in the logs, or the time for it is up.
    fn is_drained(&mut self, now: Instant) -> bool {
        let until = *self.drain_until.get_or_insert_with(|| {
            now + Duration::from_millis(self.attempt.spec().bounds.drain_ms)
        });
        self.copy_output(now);
        self.is_output_complete() || now >= until
    }

    fn is_output_complete(&self) -> bool {
        let outputs = [&self.out, &self.err];
        let mut open = outputs.into_iter().flatten();
        open.all(OutputLog::is_complete)
    }

    /// Writes the end of the attempt, reports it to all clients, and exits.
    fn finish_attempt(mut self) -> ExitCode {
        let ended = self.agent.as_ref().and_then(|agent| agent.ended);
        let stub_error = exit_record::read_stub_error(&self.attempt, ended);
        let start_error = self.start_error.take().or(stub_error);
        let unread = self.input.take_unread().map(|(mut unread, mut bytes)| {
            // A client that gave a secret can give it again.
            self.mask.mask_text(&mut bytes);
            unread.saved = exit_record::save_unread(&self.attempt, &bytes).is_ok();
            unread
        });
        let mut complete = self.is_output_complete();
        for output in [&mut self.out, &mut self.err].into_iter().flatten() {
            complete &= output.close_and_flush().is_ok();
            complete &= output.sync_log().is_ok();
        }
        let started = self.agent.is_some() && start_error.is_none();
        let exit = AttemptExit {
            attempt: self.attempt.id().to_owned(),
            fence: self.fence,
            started,
            code: ended.and_then(WaitStatus::exit_status).filter(|_| started),
            signal: ended.and_then(WaitStatus::terminating_signal),
            start_error,
            asked: self.asked,
            out: output_progress(&self.out).end,
            err: output_progress(&self.err).end,
            out_acked: output_progress(&self.out).acked,
            err_acked: output_progress(&self.err).acked,
            complete,
            input_read: Some(self.input.last_read()),
            unread,
            left: std::mem::take(&mut self.control.left),
        };
        let written = exit_record::write_exit(&self.attempt, &self.exit_file, &exit);
        if let Some(cgroup) = self.cgroup.take().filter(|_| exit.left.is_empty()) {
            cgroup.remove();
        }
        // An end that is not on the disk is not reported.
        if written.is_ok() {
            self.exit = Some(exit);
            self.version += 1;
        }
        self.clients.send_final_status(&self.status());
        if self.relays.is_some() {
            let _ = std::fs::remove_file(self.attempt.file_path(SOCKET));
        }
        ExitCode::from(u8::from(written.is_err()))
    }

    /// Increments the version when the status has changed, apart from offsets.
    fn refresh_version(&mut self) {
        let mut now = self.status();
        for flow in [&mut now.out, &mut now.err] {
            (flow.end, flow.acked) = (0, 0);
        }
        now.version = 0;
        if self.shown.as_ref() != Some(&now) {
            self.version += 1;
            self.shown = Some(now);
        }
    }

    fn status(&self) -> ObservedStatus {
        let state = if self.exit.is_some() {
            ObservedState::Ended
        } else if self.agent.is_none() {
            ObservedState::Waiting
        } else {
            self.control.state()
        };
        ObservedStatus {
            version: self.version,
            state,
            want: self.control.want,
            generation: self.control.generation,
            fence: self.fence,
            agent: self.agent.as_ref().map(|agent| agent.pid),
            out: output_progress(&self.out),
            err: output_progress(&self.err),
            blocked: self.blocked,
            input: self.input.status(),
            interrupts: self.interrupts,
            exit: self.exit.clone(),
        }
    }
}
