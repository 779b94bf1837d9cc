#![expect(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

use super::{SendOutcome, ShimEvent, ShimProgram, ShimSession};
use crate::attempt::Attempt;
use crate::error::{ShimFailure, ShimRefusal, SupervisorError};
use crate::protocol::{
    BODY_BYTES_MAX, FEATURES, InputStatus, LINE_BYTES_MAX, LineBuffer, ObservedState,
    ObservedStatus, PROTOCOL, RefusalBody, RequestEnvelope, ShimGreeting, ShimResponse,
    StreamProgress, WantedState,
};
use crate::spec::AttemptSpec;
use proptest::prelude::*;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Resource, getrlimit, setrlimit};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

fn hello(attempt: &str) -> ShimGreeting {
    ShimGreeting {
        protocol: PROTOCOL,
        features: FEATURES.map(str::to_owned).to_vec(),
        attempt: attempt.to_owned(),
        shim: 4711,
    }
}

fn status(version: u64) -> ObservedStatus {
    ObservedStatus {
        version,
        state: ObservedState::Running,
        want: WantedState::Running,
        generation: 0,
        fence: 0,
        agent: None,
        out: StreamProgress::default(),
        err: StreamProgress::default(),
        blocked: None,
        input: InputStatus::default(),
        interrupts: 0,
        exit: None,
    }
}

fn line(answer: &ShimResponse) -> Vec<u8> {
    let mut line = serde_json::to_vec(answer).unwrap();
    line.push(b'\n');
    line
}

fn greeting(attempt: &str) -> Vec<u8> {
    line(&ShimResponse {
        hello: Some(hello(attempt)),
        status: Some(status(0)),
        ..ShimResponse::default()
    })
}

fn answer() -> impl Strategy<Value = ShimResponse> {
    let no = ("[a-z_]{1,12}|fenced_out", ".{0,20}");
    let no = prop::option::of(no.prop_map(|(code, message)| RefusalBody { code, message }));
    let status = prop::option::of(any::<u64>().prop_map(status));
    (any::<u64>(), any::<bool>(), status, no).prop_map(|(id, already, status, no)| ShimResponse {
        id,
        hello: None,
        already,
        status,
        no,
    })
}

/// Messages a shim may send, and messages that break the protocol.
fn said() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        12 => answer().prop_map(|answer| line(&answer)),
        1 => Just(greeting("a-1")),
        1 => Just(greeting("another")),
        1 => "[^\n]{0,30}\n".prop_map(String::into_bytes),
        1 => (LINE_BYTES_MAX - 20..LINE_BYTES_MAX + 20).prop_map(|count| {
            let mut long = line(&ShimResponse { id: 7, ..ShimResponse::default() });
            long.splice(..0, vec![b' '; count - long.len() + 1]);
            long
        }),
    ]
}

proptest! {
    #[test]
    fn any_chunking_of_the_bytes_gives_the_same_events(
        greets in prop::bool::weighted(0.9),
        lines in prop::collection::vec(said(), 0..12),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..40),
    ) {
        let mut bytes = if greets { greeting("a-1") } else { Vec::new() };
        bytes.extend(lines.concat());
        let whole = ShimSession::new("a-1", 0).receive(&bytes);
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let mut dialogue = ShimSession::new("a-1", 0);
        let pieces = cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]]);
        let events: Vec<ShimEvent> = pieces.flat_map(|piece| dialogue.receive(piece)).collect();
        prop_assert_eq!(&events, &whole);
        let broken = events.iter().position(|event| matches!(event, ShimEvent::Broken { .. }));
        prop_assert!(broken.is_none_or(|place| place + 1 == events.len()));
        if broken.is_none() {
            prop_assert_eq!(events.len(), lines.len() + usize::from(greets));
        }
    }
}

#[test]
fn what_is_said_and_heard() {
    let mut dialogue = ShimSession::new("a-1", 5);
    let early = dialogue.request_interrupt(1).unwrap_err();
    assert_eq!(early.code(), ShimRefusal::Unsupported.code());
    assert_eq!(dialogue.request_state(WantedState::Paused, 3).unwrap(), 1);
    assert_eq!(dialogue.send_input(1, b"hi\n", true).unwrap(), 2);
    let text = std::str::from_utf8(dialogue.outgoing_bytes()).unwrap();
    let expected = concat!(
        r#"{"id":1,"do":{"want":{"fence":5,"state":"paused","generation":3}}}"#,
        "\n",
        r#"{"id":2,"do":{"input":{"fence":5,"seq":1,"bytes":3,"last":true}}}"#,
        "\nhi\n"
    );
    assert_eq!(text, expected);
    dialogue.mark_written(expected.len() - 2);
    assert_eq!(dialogue.outgoing_bytes(), b"i\n");
    let greeted = ShimEvent::Greeted {
        hello: hello("a-1"),
        status: status(0),
    };
    assert_eq!(dialogue.receive(&greeting("a-1")), [greeted]);
    let told = concat!(
        r#"{"id":2,"already":true,"status":null,"new":"field"}"#,
        "\n",
        r#"{"id":1,"no":{"code":"stale_generation","message":"older"}}"#,
        "\n[]\n{}\n"
    );
    let mut events = dialogue.receive(told.as_bytes());
    let broken = events.pop().unwrap();
    assert!(matches!(broken, ShimEvent::Broken { .. }), "{broken:?}");
    let done = ShimEvent::Done {
        id: 2,
        sent: SendOutcome::Already,
        status: None,
    };
    let refused = ShimEvent::Refused {
        id: 1,
        why: ShimRefusal::StaleGeneration,
        message: "older".into(),
    };
    assert_eq!(events, [done, refused]);
    assert_eq!(dialogue.receive(&greeting("a-1")), [], "nothing after it");
}

#[test]
fn what_waits_to_be_written_is_bounded_and_an_order_still_goes() {
    let mut dialogue = ShimSession::new("a-1", 0);
    let full = |asked: Result<u64, SupervisorError>| {
        asked.unwrap_err().code() == ShimRefusal::InputFull.code()
    };
    let most = vec![b'x'; usize::try_from(BODY_BYTES_MAX).unwrap()];
    assert!(full(dialogue.send_input(
        1,
        &[most.as_slice(), b"x"].concat(),
        false
    )));
    assert_eq!(dialogue.send_input(1, &most, false).unwrap(), 1);
    assert!(full(dialogue.send_input(2, &most, false)));
    assert_eq!(dialogue.request_state(WantedState::Ended, 1).unwrap(), 2);
    let taken = (0..10_000).take_while(|_| dialogue.request_status().is_ok());
    assert!((100..5_000).contains(&taken.count()));
    dialogue.mark_written(dialogue.outgoing_bytes().len());
    assert!(dialogue.send_input(2, &most, false).is_ok());
}

/// Minimal shim: greets, reads requests, and answers each with the number of bytes it has as the
/// version.
struct Peer {
    stream: UnixStream,
    lines: LineBuffer,
    open: Option<RequestEnvelope>,
    answers: Vec<u8>,
    input: u64,
}

impl Peer {
    fn serve(&mut self) {
        let there = loop {
            match self.lines.read_more(&mut self.stream) {
                Ok(true) => {}
                Ok(false) => break false,
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::WouldBlock);
                    break true;
                }
            }
        };
        assert!(there, "nobody hangs up");
        loop {
            let Some(open) = self.open.take() else {
                let Some(line) = self.lines.next_line().unwrap() else {
                    break;
                };
                self.open = Some(serde_json::from_slice(&line).unwrap());
                continue;
            };
            let Some(body) = self.lines.take_body(open.request.body_bytes()) else {
                self.open = Some(open);
                break;
            };
            self.input += body.len() as u64;
            self.answers.extend(line(&ShimResponse {
                id: open.id,
                status: Some(status(self.input)),
                ..ShimResponse::default()
            }));
        }
    }
}

/// Writes as much as the socket takes, a little at a time, so that every response is split
/// somewhere.
fn write_some(stream: &mut UnixStream, bytes: &[u8]) -> usize {
    match stream.write(&bytes[..bytes.len().min(1_000)]) {
        Ok(count) => count,
        Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
        Err(error) => panic!("{error}"),
    }
}

/// The program may be anything: one that neither reports nor exits is killed, with an error.
#[test]
fn a_program_that_is_silent_in_the_place_of_the_shim_is_ended() {
    let folder = tempfile::TempDir::new().unwrap();
    let spec = AttemptSpec::new("quiet", vec!["true".into()], folder.path().to_owned());
    let attempt = Attempt::create(&folder.path().join("quiet"), spec).unwrap();
    let note = folder.path().join("pid");
    let script = format!("echo $$ > {}; exec sleep 600", note.display());
    let quiet = ShimProgram::new(Path::new("/bin/sh"), &["-c", &script]);
    let started = quiet
        .with_ready_time(Duration::from_millis(500))
        .start_shim(&attempt);
    assert!(
        matches!(
            &started,
            Err(SupervisorError::NotStarted {
                why: ShimFailure::Slow { ms: 500 },
                ..
            })
        ),
        "{started:?}"
    );
    let pid = std::fs::read_to_string(note).unwrap();
    assert!(!Path::new("/proc").join(pid.trim()).exists());
}

#[test]
fn one_thread_has_a_thousand_dialogues_over_sockets() {
    const COUNT: usize = 1_000;
    const MESSAGES: u64 = 3;
    const MESSAGE: [u8; 3_000] = [b'm'; 3_000];
    // Two ends each: more than many systems let a process have open by default.
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).unwrap();
    let mut sides = Vec::new();
    let mut peers = Vec::new();
    for number in 0..COUNT {
        let (ours, theirs) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        theirs.set_nonblocking(true).unwrap();
        let attempt = format!("a-{number}");
        sides.push((ours, ShimSession::new(&attempt, 1), Vec::new()));
        peers.push(Peer {
            stream: theirs,
            lines: LineBuffer::default(),
            open: None,
            answers: greeting(&attempt),
            input: 0,
        });
    }
    let expected = usize::try_from(MESSAGES).unwrap() + 2;
    let patience = Timespec {
        tv_sec: 20,
        tv_nsec: 0,
    };
    while sides.iter().any(|(_, _, events)| events.len() < expected) {
        let wishes = |waiting: bool| match waiting {
            true => PollFlags::IN | PollFlags::OUT,
            false => PollFlags::IN,
        };
        let mut fds: Vec<PollFd<'_>> = Vec::with_capacity(2 * COUNT);
        fds.extend(sides.iter().map(|(stream, dialogue, _)| {
            PollFd::new(stream, wishes(!dialogue.outgoing_bytes().is_empty()))
        }));
        fds.extend(
            peers
                .iter()
                .map(|peer| PollFd::new(&peer.stream, wishes(!peer.answers.is_empty()))),
        );
        assert_ne!(poll(&mut fds, Some(&patience)).unwrap(), 0, "nobody moves");
        let moved: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        let (ours, theirs) = moved.split_at(COUNT);
        for ((stream, dialogue, events), _) in
            sides.iter_mut().zip(ours).filter(|(_, moved)| **moved)
        {
            let mut chunk = [0; 700];
            match stream.read(&mut chunk) {
                Ok(count) => {
                    for event in dialogue.receive(&chunk[..count]) {
                        if let ShimEvent::Greeted { .. } = event {
                            for seq in 1..=MESSAGES {
                                dialogue.send_input(seq, &MESSAGE, false).unwrap();
                            }
                            dialogue.request_state(WantedState::Ended, 1).unwrap();
                        }
                        events.push(event);
                    }
                }
                Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
            }
            let count = write_some(stream, dialogue.outgoing_bytes());
            dialogue.mark_written(count);
        }
        for (peer, _) in peers.iter_mut().zip(theirs).filter(|(_, moved)| **moved) {
            peer.serve();
            let count = write_some(&mut peer.stream, &peer.answers);
            peer.answers.drain(..count);
        }
    }
    for (number, (_, _, events)) in sides.into_iter().enumerate() {
        let mut all = vec![ShimEvent::Greeted {
            hello: hello(&format!("a-{number}")),
            status: status(0),
        }];
        all.extend((1..=MESSAGES + 1).map(|id| ShimEvent::Done {
            id,
            sent: SendOutcome::Accepted,
            status: Some(status(id.min(MESSAGES) * MESSAGE.len() as u64)),
        }));
        assert_eq!(events, all);
    }
}
