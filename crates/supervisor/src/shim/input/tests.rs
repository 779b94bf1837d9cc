//! Tests of the queue without a shim.
#![expect(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

use super::*;
use rustix::pipe::{PipeFlags, pipe_with};

const BOUND: u64 = 300_000;

fn piped() -> (File, InputQueue) {
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).unwrap();
    (File::from(reader), InputQueue::new(File::from(writer)))
}

#[test]
fn a_resend_is_taken_once_and_a_gap_is_refused() {
    let (mut reader, mut input) = piped();
    assert_eq!(
        input.accept_message(1, b"one".into(), false, BOUND),
        Ok(false)
    );
    assert_eq!(
        input.accept_message(1, b"one".into(), false, BOUND),
        Ok(true)
    );
    assert_eq!(
        input.accept_message(3, b"three".into(), false, BOUND),
        Err(ShimRefusal::InputGap)
    );
    assert_eq!(
        input.accept_message(2, b"two".into(), true, BOUND),
        Ok(false)
    );
    assert_eq!(
        input.accept_message(3, b"three".into(), false, BOUND),
        Err(ShimRefusal::InputClosed)
    );
    assert_eq!(
        input.accept_message(2, b"two".into(), true, BOUND),
        Ok(true)
    );
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    assert_eq!(text, "onetwo");
    assert_eq!(input.take_unread(), None);
}

#[test]
fn what_the_pipe_does_not_take_waits_up_to_a_bound() {
    let (mut reader, mut input) = piped();
    let big = vec![b'x'; 200_000];
    assert_eq!(
        input.accept_message(1, big.clone(), false, BOUND),
        Ok(false)
    );
    let status = input.status();
    assert!(status.queued > 0 && status.queued < 200_000, "{status:?}");
    assert_eq!(status.written, 0);
    assert_eq!(
        input.accept_message(2, big.clone(), false, BOUND),
        Err(ShimRefusal::InputFull)
    );
    let mut got = Vec::new();
    while input.wants_to_write().is_some() {
        let _ = (&mut reader).take(1 << 20).read_to_end(&mut got);
        input.write_queued();
    }
    let _ = reader.read_to_end(&mut got);
    assert_eq!(got, big);
    assert_eq!(input.status().written, 1);
}

#[test]
fn unread_input_is_the_end_of_the_stream_with_the_number_it_begins_in() {
    let (mut reader, mut input) = piped();
    for (seq, text) in [(1, "aaaa"), (2, "bbbb"), (3, "cccc")] {
        input
            .accept_message(seq, text.into(), seq == 3, BOUND)
            .unwrap();
    }
    let mut some = [0; 6];
    reader.read_exact(&mut some).unwrap();
    drop(reader);
    let (unread, bytes) = input.take_unread().unwrap();
    assert_eq!(bytes, b"bbcccc");
    assert_eq!((unread.from_seq, unread.bytes), (2, 6));
}

#[test]
fn nobody_reading_breaks_the_input_and_loses_nothing() {
    let (reader, mut input) = piped();
    input
        .accept_message(1, b"first".into(), false, BOUND)
        .unwrap();
    drop(reader);
    assert_eq!(
        input.accept_message(2, b"second".into(), false, BOUND),
        Ok(false)
    );
    assert!(input.status().closed);
    assert_eq!(
        input.accept_message(3, b"third".into(), false, BOUND),
        Err(ShimRefusal::InputClosed)
    );
    let (unread, bytes) = input.take_unread().unwrap();
    assert_eq!(bytes, b"firstsecond");
    assert_eq!(unread.from_seq, 1);
}

#[test]
fn a_message_is_read_when_its_last_byte_is_out_of_the_pipe() {
    let (mut reader, mut input) = piped();
    let now = Instant::now();
    for (seq, text) in [(1, "aaaa"), (2, "bbbb"), (3, "")] {
        input
            .accept_message(seq, text.into(), false, BOUND)
            .unwrap();
    }
    input.check_progress(now);
    assert_eq!(input.status().read, Some(0));
    assert!(input.next_look.is_some_and(|next| next > now));
    let mut some = [0; 6];
    reader.read_exact(&mut some).unwrap();
    input.check_progress(now);
    assert_eq!(input.status().read, Some(1), "half of the second is left");
    reader.read_exact(&mut some[..2]).unwrap();
    input.check_progress(now);
    assert_eq!((input.status().read, input.next_look), (Some(3), None));
    input
        .accept_message(4, b"cccc".into(), true, BOUND)
        .unwrap();
    input.check_progress(now);
    assert_eq!(
        input.status().read,
        Some(3),
        "also when the input is closed"
    );
    drop(reader);
    assert_eq!(input.take_unread().unwrap().0.from_seq, 4);
    assert_eq!(input.last_read(), 3);
}
