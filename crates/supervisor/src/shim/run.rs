//! The shim's event loop: serves a closed list of sources without blocking.

use super::clients::Clients;
use super::control::Control;
use super::input::Input;
use super::mask::Mask;
use super::output::{CHUNK_BYTES, Output};
use super::own::write_owner;
use super::place::Place;
use super::relay::{Relays, SOCKET};
use super::{MYSELF, clients::IDLE_MS, clients::Received, end, start::spawn_patiently};
use crate::attempt::{Attempt, Owner, Stream, writable};
use crate::cgroup::Cgroup;
use crate::error::Refused;
use crate::exit::Exit;
use crate::process::{Descent, descent};
use crate::protocol::{
    Answer, Blocked, FEATURES, Flow, Hello, PROTOCOL, RawEnvironment, Request, State, Status, Want,
    environment_of,
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
enum Source {
    Signals,
    Listener,
    Relays,
    Place,
    Out,
    Err,
    Input,
    Client(usize),
}

#[derive(Debug)]
struct Agent {
    pid: i32,
    ended: Option<WaitStatus>,
}

#[derive(Debug)]
pub(super) struct Run {
    prefix: Vec<String>,
    attempt: Attempt,
    place: Place,
    owner: Owner,
    signals: SignalFd,
    listener: UnixListener,
    exit_file: File,
    born: Instant,
    fence: u64,
    agent: Option<Agent>,
    start_error: Option<String>,
    /// A client, or a signal to the shim, asked for the end.
    asked: bool,
    interrupts: u64,
    cgroup: Option<Cgroup>,
    control: Control,
    input: Input,
    mask: Mask,
    out: Option<Output>,
    err: Option<Output>,
    blocked: Option<Blocked>,
    retry: Option<Instant>,
    drain_until: Option<Instant>,
    clients: Clients,
    relays: Option<Relays>,
    buffer: Vec<u8>,
    version: u64,
    /// The status that `version` stands for.
    shown: Option<Status>,
    exit: Option<Exit>,
}

impl Run {
    pub(super) fn new(
        prefix: &[&str],
        attempt: Attempt,
        place: Place,
        owner: Owner,
        signals: SignalFd,
        listener: UnixListener,
        exit_file: File,
    ) -> Run {
        let born = Instant::now();
        Run {
            prefix: prefix.iter().map(|&word| word.to_owned()).collect(),
            fence: attempt.spec().fence,
            attempt,
            place,
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
            control: Control::new(born),
            input: Input::default(),
            mask: Mask::default(),
            out: None,
            err: None,
            blocked: None,
            retry: None,
            drain_until: None,
            clients: Clients::default(),
            relays: None,
            buffer: vec![0; CHUNK_BYTES],
            version: 0,
            shown: None,
            exit: None,
        }
    }

    /// Serves until the agent and all its descendants are gone, or no `go` came in time.
    pub(super) fn until_the_end(mut self) -> ExitCode {
        loop {
            let now = Instant::now();
            let gone = self.place.gone(now);
            if gone && self.control.goal() != Want::Ended {
                // An attempt that cannot be reached must not run on.
                self.control.turn(Want::Ended, now);
            }
            if self.agent.is_none() {
                let over = self.asked || self.start_error.is_some();
                if over {
                    return self.finish();
                }
                if gone || now >= self.go_until() {
                    // Nothing was started, so no end is written: another shim may still get `go`.
                    let _ = std::fs::remove_file(self.attempt.path("sock"));
                    return ExitCode::SUCCESS;
                }
            }
            if self.control.next.is_some_and(|next| next <= now) {
                let childless = self.chase(now);
                let bounds = &self.attempt.spec().bounds;
                let root = self.owner.pid;
                self.control
                    .step(now, root, childless, self.cgroup.as_ref(), bounds);
            }
            self.pump(now);
            self.input.look(now);
            if self.control.ended() && self.drained(now) {
                return self.finish();
            }
            self.refresh();
            let status = self.status();
            self.clients.serve(&status);
            self.wait_and_serve(now);
        }
    }

    fn go_until(&self) -> Instant {
        self.born + Duration::from_millis(self.attempt.spec().bounds.go_ms)
    }

    fn wait_and_serve(&mut self, now: Instant) {
        let ready = self.poll(now);
        let now = Instant::now();
        for source in ready {
            match source {
                Source::Signals => self.serve_signals(now),
                Source::Listener => self.serve_listener(),
                Source::Relays => {
                    if let Some(relays) = &mut self.relays {
                        relays.serve(&self.prefix, &self.attempt, self.owner.pid);
                    }
                }
                Source::Place => self.place.changed(now),
                // Pumped in every round.
                Source::Out | Source::Err => {}
                Source::Input => self.input.pump(),
                Source::Client(index) => self.serve_client(index, now),
            }
        }
    }

    fn poll(&self, now: Instant) -> Vec<Source> {
        let mut sources = vec![Source::Signals];
        let mut fds = vec![PollFd::new(&self.signals, PollFlags::IN)];
        if self.clients.have_room(now) {
            sources.push(Source::Listener);
            fds.push(PollFd::new(&self.listener, PollFlags::IN));
        }
        if let Some(watch) = &self.place.watch {
            sources.push(Source::Place);
            fds.push(PollFd::new(watch, PollFlags::IN));
        }
        // Nothing is started for an agent that is being ended.
        let open = self.relays.as_ref();
        let open = open.filter(|_| self.control.goal() != Want::Ended);
        if let Some(listener) = open.and_then(Relays::ready) {
            sources.push(Source::Relays);
            fds.push(PollFd::new(listener, PollFlags::IN));
        }
        for (source, output) in [(Source::Out, &self.out), (Source::Err, &self.err)] {
            let pipe = output.as_ref().and_then(|output| output.pipe.as_ref());
            if let Some(pipe) = pipe.filter(|_| self.blocked.is_none()) {
                sources.push(source);
                fds.push(PollFd::new(pipe, PollFlags::IN));
            }
        }
        if let Some(pipe) = self.input.wants_to_write() {
            sources.push(Source::Input);
            fds.push(PollFd::new(pipe, PollFlags::OUT));
        }
        for (index, client) in self.clients.all.iter().enumerate() {
            let mut flags = PollFlags::IN;
            flags.set(PollFlags::OUT, client.wants_to_write());
            sources.push(Source::Client(index));
            fds.push(PollFd::new(&client.stream, flags));
        }
        let deadlines = [
            self.agent.is_none().then(|| self.go_until()),
            self.control.next,
            self.retry,
            self.drain_until,
            self.input.next_look,
            // A new client may wait for an idle one to be replaced.
            self.clients
                .are_full()
                .then(|| now + Duration::from_millis(IDLE_MS)),
            Some(self.place.next),
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
            let own = || descent(sender, self.owner.pid) == Descent::Below;
            if signal.ssi_signo != child && signal.ssi_signo != too_big && !own() {
                self.asked = true;
                self.control.turn(Want::Ended, now);
            }
        }
        self.reap(now);
        self.control.look_again(now);
    }

    /// Reaps ended children. True if the kernel has none left, adopted descendants included.
    fn reap(&mut self, now: Instant) -> bool {
        for _ in 0..REAPS_MAX {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) => {
                    let pid = pid.as_raw_nonzero().get();
                    if let Some(agent) = self.agent.as_mut().filter(|agent| agent.pid == pid) {
                        agent.ended = Some(status);
                        self.control.agent_ended(now);
                    }
                    if let Some(relays) = &mut self.relays {
                        relays.ended(pid);
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
    fn chase(&mut self, now: Instant) -> bool {
        let mut childless = self.reap(now);
        let grace_ms = self.attempt.spec().bounds.grace_ms;
        for _ in 0..KILL_ROUNDS {
            if childless || !self.control.kills(grace_ms, now) {
                break;
            }
            self.control.kill_children(self.owner.pid);
            childless = self.reap(now);
        }
        childless
    }

    fn serve_listener(&mut self) {
        let mark = format!("{ATTEMPT_VARIABLE}={}", self.attempt.id());
        for _ in 0..ACCEPTS_MAX {
            if !self.clients.have_room(Instant::now()) {
                return;
            }
            let Ok((stream, _)) = self.listener.accept() else {
                return;
            };
            let hello = Answer {
                id: 0,
                hello: Some(Hello {
                    protocol: PROTOCOL,
                    features: FEATURES.iter().map(|&word| word.to_owned()).collect(),
                    attempt: self.attempt.id().to_owned(),
                    shim: self.owner.pid,
                }),
                status: Some(self.status()),
                ..Answer::default()
            };
            self.clients
                .welcome(stream, self.owner.start, &mark, &hello);
        }
    }

    fn serve_client(&mut self, index: usize, now: Instant) {
        while let Some(received) = self.clients.receive(index) {
            self.answer(index, received, now);
        }
    }

    fn answer(&mut self, index: usize, (envelope, body): Received, now: Instant) {
        let id = envelope.id;
        if let Request::Wait { version, out, err } = envelope.request {
            self.refresh();
            let status = self.status();
            if let Some(client) = self.clients.all.get_mut(index) {
                client.wait(id, version, out, err, &status);
            }
            return;
        }
        let done = self.obey(envelope.request, body, now);
        self.refresh();
        let status = self.status();
        let Some(client) = self.clients.all.get_mut(index) else {
            return;
        };
        match done {
            Ok(already) => client.answer(&Answer {
                id,
                already,
                status: Some(status),
                ..Answer::default()
            }),
            Err((why, told)) => client.refuse(id, why, &told),
        }
    }

    /// Carries out a request, unless it had been done (`true`) or must be refused.
    fn obey(
        &mut self,
        request: Request,
        body: Vec<u8>,
        now: Instant,
    ) -> Result<bool, (Refused, String)> {
        if let Some(fence) = request.fence() {
            if fence < self.fence {
                let told = format!("fencing number {fence} is older than {}", self.fence);
                return Err((Refused::FencedOut, told));
            }
            self.fence = fence;
        }
        match request {
            Request::Status {} | Request::Wait { .. } => Ok(false),
            Request::Go { raw, .. } => {
                if self.agent.is_some() {
                    return Ok(true);
                }
                let environment = environment_of(&body, raw)
                    .map_err(|error| (Refused::BadRequest, format!("environment: {error}")))?;
                if let Err(why) = self.go(environment) {
                    self.start_error = Some(why);
                }
                Ok(false)
            }
            Request::Want {
                state, generation, ..
            } => self.want(state, generation, now),
            Request::Input { seq, last, .. } => {
                if self.agent.is_none() {
                    return Err((Refused::NotRunning, "the agent has not begun".into()));
                }
                let bound = self.attempt.spec().bounds.input_bytes;
                self.input.accept(seq, body, last, bound).map_err(|why| {
                    let next = self.input.status().next;
                    (why, format!("message {seq} is not taken; next is {next}"))
                })
            }
            Request::Interrupt { seq, .. } => self.interrupt(seq),
            Request::Mask { .. } => {
                let values = serde_json::from_slice(&body)
                    .map_err(|error| (Refused::BadRequest, format!("values: {error}")))?;
                Ok(self.mask.add(values))
            }
            Request::Ack { out, err, .. } => {
                // A full disk has no room for output that has been processed.
                let keep = if self.blocked == Some(Blocked::DiskFull) {
                    self.retry = Some(now);
                    0
                } else {
                    self.attempt.spec().bounds.keep_bytes
                };
                for (output, offset) in [(&mut self.out, out), (&mut self.err, err)] {
                    if let Some(output) = output {
                        output.acknowledge(offset, keep);
                    }
                }
                Ok(false)
            }
        }
    }

    fn want(
        &mut self,
        want: Want,
        generation: u64,
        now: Instant,
    ) -> Result<bool, (Refused, String)> {
        let have = self.control.generation;
        let ending = self.asked && want != Want::Ended;
        if generation < have || generation == have && want != self.control.want || ending {
            let told = format!(
                "generation {generation} does not follow {have} ({})",
                self.control.want.word()
            );
            return Err((Refused::StaleGeneration, told));
        }
        if generation == have {
            return Ok(true);
        }
        self.control.generation = generation;
        self.asked |= want == Want::Ended;
        self.control.turn(want, now);
        Ok(false)
    }

    /// Sends SIGINT to the agent's group, as a terminal does. Each number is sent once.
    fn interrupt(&mut self, seq: u64) -> Result<bool, (Refused, String)> {
        if seq <= self.interrupts {
            return Ok(true);
        }
        let Some(agent) = self.agent.as_ref().filter(|agent| agent.ended.is_none()) else {
            return Err((Refused::NotRunning, "there is no agent to interrupt".into()));
        };
        self.interrupts = seq;
        // Not reaped yet, so the id is the agent's. Tools in other groups are the agent's matter.
        if let Some(group) = Pid::from_raw(agent.pid) {
            let _ = kill_process_group(group, Signal::INT);
        }
        Ok(false)
    }

    /// Starts the agent. The start is written down first, so that no other shim starts one.
    fn go(&mut self, environment: RawEnvironment) -> Result<(), String> {
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
                Err(_) if wanted.optional() => {}
                Err(error) => return Err(format!("cannot make a control group: {error}")),
            }
        }
        self.owner.go = true;
        write_owner(&self.place.lock, &self.owner)
            .map_err(|error| format!("cannot write the lock: {error}"))?;
        let log = |stream: Stream| {
            writable(&self.attempt.path(stream.file()))
                .map_err(|error| format!("cannot open the log: {error}"))
        };
        let (out, err) = (log(Stream::Out)?, log(Stream::Err)?);
        if spec.relay.is_some() {
            let relays = Relays::listen(&self.attempt, &environment)
                .map_err(|error| format!("cannot listen for the agent: {error}"))?;
            self.relays = Some(relays);
        }
        let relay = self.relays.as_ref().map(|_| self.attempt.path(SOCKET));
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
        let mut child = spawn_patiently(&mut stub)
            .map_err(|error| format!("cannot start in {}: {error}", spec.folder.display()))?;
        let pipe = |end: Option<OwnedFd>| -> Result<File, String> {
            let end = end.ok_or("a pipe is missing")?;
            ioctl_fionbio(&end, true).map_err(|error| error.to_string())?;
            Ok(File::from(end))
        };
        self.agent = Some(Agent {
            pid: child.id().cast_signed(),
            ended: None,
        });
        self.control.agent = Some(child.id().cast_signed());
        self.input = Input::new(pipe(child.stdin.take().map(OwnedFd::from))?);
        self.out = Some(Output::new(
            pipe(child.stdout.take().map(OwnedFd::from))?,
            out,
        ));
        self.err = Some(Output::new(
            pipe(child.stderr.take().map(OwnedFd::from))?,
            err,
        ));
        // A wanted state set before `go` counts from now on.
        self.control.look_again(Instant::now());
        Ok(())
    }

    /// Moves output into the logs, as far as bounds and the disk allow.
    fn pump(&mut self, now: Instant) {
        let bound = self.attempt.spec().bounds.unacknowledged_bytes;
        let held = |output: &Option<Output>| output.as_ref().map_or(0, Output::unacknowledged);
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
            if let Err(why) = output.pump(&self.mask, room, &mut self.buffer) {
                blocked = Some(why);
            }
        }
        let full = held(&self.out) + held(&self.err) >= bound && self.drain_until.is_none();
        self.blocked = blocked.or(full.then_some(Blocked::Unacknowledged));
        if blocked == Some(Blocked::DiskFull) {
            for output in [&mut self.out, &mut self.err].into_iter().flatten() {
                output.give_back(0);
            }
        }
        // A full disk does not report when there is room again.
        self.retry = blocked.map(|_| now + Duration::from_millis(RETRY_MS));
    }

    /// True if all output is in the logs, or the time for it is up.
    fn drained(&mut self, now: Instant) -> bool {
        let until = *self.drain_until.get_or_insert_with(|| {
            now + Duration::from_millis(self.attempt.spec().bounds.drain_ms)
        });
        self.pump(now);
        self.complete() || now >= until
    }

    fn complete(&self) -> bool {
        let outputs = [&self.out, &self.err];
        let mut open = outputs.into_iter().flatten();
        open.all(Output::complete)
    }

    /// Writes the end of the attempt, reports it to all clients, and exits.
    fn finish(mut self) -> ExitCode {
        let ended = self.agent.as_ref().and_then(|agent| agent.ended);
        let told = end::told_by_stub(&self.attempt, ended);
        let start_error = self.start_error.take().or(told);
        let unread = self.input.unread().map(|(mut unread, mut bytes)| {
            // A client that gave a secret can give it again.
            self.mask.cover(&mut bytes);
            unread.saved = end::save_unread(&self.attempt, &bytes).is_ok();
            unread
        });
        let mut complete = self.complete();
        for output in [&mut self.out, &mut self.err].into_iter().flatten() {
            complete &= output.give_up().is_ok();
            complete &= output.sync().is_ok();
        }
        let started = self.agent.is_some() && start_error.is_none();
        let exit = Exit {
            attempt: self.attempt.id().to_owned(),
            fence: self.fence,
            started,
            code: ended.and_then(WaitStatus::exit_status).filter(|_| started),
            signal: ended.and_then(WaitStatus::terminating_signal),
            start_error,
            asked: self.asked,
            out: flow(&self.out).end,
            err: flow(&self.err).end,
            out_acked: flow(&self.out).acked,
            err_acked: flow(&self.err).acked,
            complete,
            input_read: Some(self.input.last_read()),
            unread,
            left: std::mem::take(&mut self.control.left),
        };
        let written = end::write(&self.attempt, &self.exit_file, &exit);
        if let Some(cgroup) = self.cgroup.take().filter(|_| exit.left.is_empty()) {
            cgroup.remove();
        }
        // An end that is not on the disk is not reported.
        if written.is_ok() {
            self.exit = Some(exit);
            self.version += 1;
        }
        self.clients.farewell(&self.status());
        if self.relays.is_some() {
            let _ = std::fs::remove_file(self.attempt.path(SOCKET));
        }
        ExitCode::from(u8::from(written.is_err()))
    }

    /// Increments the version when the status has changed, apart from offsets.
    fn refresh(&mut self) {
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

    fn status(&self) -> Status {
        let state = if self.exit.is_some() {
            State::Ended
        } else if self.agent.is_none() {
            State::Waiting
        } else {
            self.control.state()
        };
        Status {
            version: self.version,
            state,
            want: self.control.want,
            generation: self.control.generation,
            fence: self.fence,
            agent: self.agent.as_ref().map(|agent| agent.pid),
            out: flow(&self.out),
            err: flow(&self.err),
            blocked: self.blocked,
            input: self.input.status(),
            interrupts: self.interrupts,
            exit: self.exit.clone(),
        }
    }
}

fn flow(output: &Option<Output>) -> Flow {
    output.as_ref().map(Output::flow).unwrap_or_default()
}
