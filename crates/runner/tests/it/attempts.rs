//! Attempts through real shims: whoever drives them may go and come back.

use bowline_formats::agents::{AgentEventKind, AgentProtocol, ResumePoint};
use bowline_runner::core::attempts::{
    AgentMessage, AttemptEvent, AttemptEventKind, AttemptLoop, AttemptResume, AttemptStart,
    OutputProtocol, raw_message,
};
use bowline_supervisor::{
    Attempt, AttemptCondition, AttemptExit, AttemptSpec, ObservedState, ShimProgram, WantedState,
};
use bowline_test_support::wait_until;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// Nothing here takes this long unless it hangs.
const BOUND: Duration = Duration::from_secs(40);

/// The example of this crate is a shim.
fn shim() -> ShimProgram {
    let me = std::env::current_exe().unwrap();
    let built = me.parent().unwrap().parent().unwrap();
    ShimProgram::new(&built.join("examples/attempts"), &["shim"])
}

struct World {
    folder: tempfile::TempDir,
    attempts: AttemptLoop,
    news: Receiver<AttemptEvent>,
}

fn driver() -> (AttemptLoop, Receiver<AttemptEvent>) {
    let (sink, news) = channel();
    let attempts = AttemptLoop::spawn(shim(), move |news| {
        let _ = sink.send(news);
    });
    (attempts.unwrap(), news)
}

fn voice() -> OutputProtocol {
    OutputProtocol {
        protocol: AgentProtocol::Markers,
        nonce: None,
    }
}

impl World {
    fn new() -> World {
        let (attempts, news) = driver();
        World {
            folder: tempfile::tempdir().unwrap(),
            attempts,
            news,
        }
    }

    fn id(&self, name: &str) -> String {
        let place = self.folder.path().file_name().unwrap().to_str().unwrap();
        format!("runner-{}{place}-{name}", std::process::id())
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join("attempts").join(name)
    }

    fn begin(&self, name: &str, script: &str, first: Option<AgentMessage>, close_input: bool) {
        let command = ["sh", "-c", script].map(str::to_owned).to_vec();
        self.begin_command(name, command, first, close_input);
    }

    fn begin_command(
        &self,
        name: &str,
        command: Vec<String>,
        first: Option<AgentMessage>,
        close_input: bool,
    ) {
        self.attempts
            .start_attempt(self.beginning(name, command, first, close_input));
    }

    fn beginning(
        &self,
        name: &str,
        command: Vec<String>,
        first: Option<AgentMessage>,
        close_input: bool,
    ) -> AttemptStart {
        let mut spec = AttemptSpec::new(&self.id(name), command, self.folder.path().to_owned());
        spec.bounds.grace_ms = 300;
        let path = std::env::var("PATH").unwrap();
        AttemptStart {
            folder: self.at(name),
            spec,
            environment: BTreeMap::from([("PATH".into(), path)]),
            output_protocol: voice(),
            first_message: first,
            session: None,
            close_input,
        }
    }

    /// A driver that knows nothing but what was written down.
    fn again(&mut self, name: &str, resume: ResumePoint) {
        let (attempts, news) = driver();
        (self.attempts, self.news) = (attempts, news);
        let known = AttemptResume {
            folder: self.at(name),
            fence: 1,
            output_protocol: voice(),
            resume,
            session: None,
        };
        self.attempts.attach_attempt(&self.id(name), known);
    }

    fn next(&self) -> AttemptEvent {
        self.news.recv_timeout(BOUND).unwrap()
    }

    /// Takes news until one satisfies.
    fn until<T>(&self, mut wanted: impl FnMut(&AttemptEventKind) -> Option<T>) -> T {
        loop {
            let news = self.next();
            if let Some(found) = wanted(&news.kind) {
                return found;
            }
            if let AttemptEventKind::Output {
                offset,
                bytes,
                resume,
                ..
            } = &news.kind
            {
                let upto = offset + bytes.len() as u64;
                self.attempts.confirm_processed(&news.id, upto, *resume);
            }
            let over = matches!(
                news.kind,
                AttemptEventKind::Exited { .. }
                    | AttemptEventKind::Lost(_)
                    | AttemptEventKind::NeverStarted { .. }
            );
            assert!(!over, "over: {:?}", news.kind);
        }
    }

    /// All it says, and how it ends.
    fn to_the_end(&self) -> (String, Vec<AgentEventKind<'static>>, AttemptExit, String) {
        let (mut said, mut told) = (Vec::new(), Vec::new());
        let (exit, error_tail) = self.until(|what| match what {
            AttemptEventKind::Output { bytes, events, .. } => {
                said.extend_from_slice(bytes);
                told.extend(events.iter().map(|event| event.what.clone()));
                None
            }
            AttemptEventKind::Exited { exit, error_tail } => {
                Some(((**exit).clone(), error_tail.clone()))
            }
            _ => None,
        });
        (String::from_utf8(said).unwrap(), told, exit, error_tail)
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let folders = std::fs::read_dir(self.folder.path().join("attempts"));
        for folder in folders.into_iter().flatten().flatten() {
            let Ok(attempt) = Attempt::open_existing(&folder.path()) else {
                continue;
            };
            let over = wait_until(BOUND, || {
                !matches!(attempt.condition(), Ok(AttemptCondition::Alive))
            });
            assert!(over || std::thread::panicking(), "{} lives", attempt.id());
        }
    }
}

#[test]
fn an_agent_is_told_something_answers_and_ends() {
    let world = World::new();
    let script = "read word; echo \"got $word\"; echo '[STEP] 1/2'; echo oops >&2; exit 3";
    world.begin("one", script, Some(raw_message("hello\n".into())), false);
    let (said, _, exit, error) = world.to_the_end();
    assert!(said.starts_with("got hello\n"), "{said}");
    assert_eq!((exit.code, exit.asked), (Some(3), false));
    assert_eq!(error, "oops\n");
}

#[test]
fn words_without_a_line_end_and_markers_are_told() {
    let world = World::new();
    let script = "echo '=== PHASE 2 COMPLETE ==='; printf 'no end'; read rest";
    world.begin("one", script, None, false);
    let phase = world.until(|what| match what {
        AttemptEventKind::Output { events, .. } => {
            events.iter().find_map(|event| match &event.what {
                AgentEventKind::PhaseComplete { phase, .. } => Some(*phase),
                _ => None,
            })
        }
        _ => None,
    });
    assert_eq!(phase, 2);
    world
        .attempts
        .send_message(&world.id("one"), None, true, raw_message("\n".into()));
    let exit = world.until(|what| match what {
        AttemptEventKind::Exited { exit, .. } => Some(exit.code),
        _ => None,
    });
    assert_eq!(exit, Some(0));
}

#[test]
fn a_driver_that_comes_back_goes_on_where_the_first_one_was() {
    let mut world = World::new();
    let script = "echo first; read word; echo \"second $word\"";
    world.begin("one", script, None, false);
    let resume = world.until(|what| match what {
        AttemptEventKind::Output { resume, .. } => Some(*resume),
        _ => None,
    });
    assert_eq!(resume.at.offset, 6);
    world.again("one", resume);
    let next = world.until(|what| match what {
        AttemptEventKind::Running { status } => Some(status.input.next),
        _ => None,
    });
    assert_eq!(next, 1);
    let id = world.id("one");
    // The same message twice under one number is delivered once.
    for _ in 0..2 {
        world
            .attempts
            .send_message(&id, Some(1), false, raw_message("word\n".into()));
    }
    let (said, _, exit, _) = world.to_the_end();
    assert_eq!((said.as_str(), exit.code), ("second word\n", Some(0)));
    // Whoever comes after the end receives all of it again, from where it says.
    world.again("one", ResumePoint::default());
    let (said, _, exit, _) = world.to_the_end();
    assert_eq!(said, "first\nsecond word\n");
    assert_eq!(exit.code, Some(0));
}

#[test]
fn orders_are_levels_that_are_looked_at() {
    let world = World::new();
    world.begin("one", "while :; do sleep 0.05; done", None, true);
    let id = world.id("one");
    for (want, goal) in [
        (WantedState::Paused, ObservedState::Paused),
        (WantedState::Running, ObservedState::Running),
    ] {
        world.attempts.set_wanted_state(&id, want);
        world.until(|what| {
            matches!(what, AttemptEventKind::StateChanged(now) if *now == goal).then_some(())
        });
    }
    world.attempts.set_wanted_state(&id, WantedState::Ended);
    let (_, _, exit, _) = world.to_the_end();
    assert!(exit.asked);
}

#[test]
fn a_lost_shim_is_told_and_what_it_left_is_ended() {
    let world = World::new();
    world.begin("one", "echo up; sleep 600", None, true);
    world.until(|what| matches!(what, AttemptEventKind::Output { .. }).then_some(()));
    let lock = std::fs::read_to_string(world.at("one").join("lock")).unwrap();
    let pid = lock.split("\"pid\":").nth(1).unwrap();
    let pid: i32 = pid.split(',').next().unwrap().trim().parse().unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    let left = world.until(|what| match what {
        AttemptEventKind::Lost(swept) => Some(swept.left.clone()),
        _ => None,
    });
    assert_eq!(left, Vec::<i32>::new());
}

#[test]
fn what_cannot_be_started_says_why() {
    let world = World::new();
    world.begin_command("one", vec!["/nowhere/at/all".into()], None, true);
    let message = world.until(|what| match what {
        AttemptEventKind::NeverStarted { message } => Some(message.clone()),
        _ => None,
    });
    assert!(message.unwrap().contains("/nowhere/at/all"));
    // A folder that is taken is another attempt's.
    world.begin("one", "true", None, true);
    let message = world.until(|what| match what {
        AttemptEventKind::NeverStarted { message } => Some(message.clone()),
        _ => None,
    });
    assert!(message.unwrap().contains("already"));
}

#[test]
fn output_is_read_no_faster_than_it_is_taken() {
    let world = World::new();
    let script = "i=0; while [ $i -lt 400 ]; do i=$((i+1)); printf '%8192d' $i; done";
    world.begin("one", script, None, true);
    let mut taken = Vec::new();
    let mut bytes_seen = 0;
    // Nothing is processed: no more comes than is allowed, and then none at all.
    loop {
        let patience = match bytes_seen < 1 << 20 {
            true => BOUND,
            false => Duration::from_millis(300),
        };
        match world.news.recv_timeout(patience).map(|news| news.kind) {
            Ok(AttemptEventKind::Output {
                offset,
                bytes,
                resume,
                ..
            }) => {
                bytes_seen += bytes.len();
                taken.push((offset + bytes.len() as u64, resume));
            }
            Ok(_) => {}
            Err(_) => break,
        }
    }
    assert!((1 << 20..2 << 20).contains(&bytes_seen), "{bytes_seen}");
    for (upto, resume) in taken {
        world
            .attempts
            .confirm_processed(&world.id("one"), upto, resume);
    }
    let (said, _, exit, _) = world.to_the_end();
    assert_eq!(exit.out, 400 * 8192);
    assert_eq!(bytes_seen + said.len(), 400 * 8192);
}

#[test]
fn many_at_once_are_driven_by_one_thread() {
    const MANY: usize = 60;
    let world = World::new();
    for number in 0..MANY {
        let script = format!("read word; echo \"$word\"; exit {}", number % 7);
        let word = raw_message(format!("word-{number}\n"));
        world.begin(&format!("n{number}"), &script, Some(word), true);
    }
    let mut said: BTreeMap<String, String> = BTreeMap::new();
    let mut codes = BTreeMap::new();
    while codes.len() < MANY {
        let news = world.next();
        match news.kind {
            AttemptEventKind::Output {
                offset,
                bytes,
                resume,
                ..
            } => {
                let upto = offset + bytes.len() as u64;
                said.entry(news.id.to_string())
                    .or_default()
                    .push_str(std::str::from_utf8(&bytes).unwrap());
                world.attempts.confirm_processed(&news.id, upto, resume);
            }
            AttemptEventKind::Exited { exit, .. } => {
                codes.insert(news.id.to_string(), exit.code);
            }
            AttemptEventKind::Lost(_)
            | AttemptEventKind::NeverStarted { .. }
            | AttemptEventKind::Refused { .. } => {
                panic!("{news:?}");
            }
            _ => {}
        }
    }
    for number in 0..MANY {
        let id = world.id(&format!("n{number}"));
        assert_eq!(said[&id], format!("word-{number}\n"));
        assert_eq!(codes[&id], Some(i32::try_from(number % 7).unwrap()));
    }
}

#[test]
fn secrets_reach_the_agent_and_never_its_log() {
    let world = World::new();
    let script = "printf sk-fir; sleep 0.05; echo st-key; read line; printf %s. \"$line\"; echo \"$line\" >&2";
    let command = ["sh", "-c", script].map(str::to_owned).to_vec();
    let begin = world.beginning("a", command, None, false);
    world
        .attempts
        .start_attempt_masked(begin, vec!["sk-first-key".into()]);
    world.until(|what| matches!(what, AttemptEventKind::Running { .. }).then_some(()));
    let id = world.id("a");
    world.attempts.mask_values(&id, vec!["second-key".into()]);
    world
        .attempts
        .send_message(&id, None, true, raw_message("second-key\n".into()));
    world.until(|what| matches!(what, AttemptEventKind::Exited { .. }).then_some(()));
    let attempt = bowline_supervisor::Attempt::open_existing(&world.at("a")).unwrap();
    let read = |stream| attempt.read_output(stream, 0, 1000).unwrap().1;
    let out = String::from_utf8(read(bowline_supervisor::OutputStream::Out)).unwrap();
    assert_eq!(out, "************\n**********.");
    assert_eq!(read(bowline_supervisor::OutputStream::Err), b"**********\n");
}
