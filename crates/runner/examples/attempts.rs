//! Runs each argument as a shell command in an attempt of its own, all at once, and prints what
//! happens:
//!
//! ```text
//! cargo run -p bowline-runner --example attempts -- 'echo one' 'sleep 1; echo two' 'exit 3'
//! ```
//!
//! It is its own shim, which also serves the tests of this crate.
#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    reason = "an example prints, and ends where it cannot go on"
)]

use bowline_formats::agents::AgentProtocol;
use bowline_runner::core::attempts::{AttemptEventKind, AttemptLoop, AttemptStart, OutputProtocol};
use bowline_supervisor::{AttemptSpec, ShimProgram, shim};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::mpsc::channel;

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    if words.first().is_some_and(|word| word == "shim") {
        return shim::main(&["shim"], &words[1..]);
    }
    let me = std::env::current_exe().expect("a program knows its path");
    let folder = std::env::temp_dir().join(format!("attempts-{}", std::process::id()));
    let (sink, news) = channel();
    let attempts = AttemptLoop::spawn(ShimProgram::new(&me, &["shim"]), move |news| {
        let _ = sink.send(news);
    })
    .expect("a thread can be started");
    for (number, command) in words.iter().enumerate() {
        let id = format!("example-{}-{number}", std::process::id());
        let command = ["sh", "-c", &command.to_string_lossy()].map(str::to_owned);
        attempts.start_attempt(AttemptStart {
            folder: folder.join(&id),
            spec: AttemptSpec::new(&id, command.to_vec(), std::env::temp_dir()),
            environment: BTreeMap::from([("PATH".into(), "/usr/bin:/bin".into())]),
            output_protocol: OutputProtocol {
                protocol: AgentProtocol::Markers,
                nonce: None,
            },
            first_message: None,
            session: None,
            close_input: true,
        });
    }
    let mut left = words.len();
    while left > 0 {
        let Ok(news) = news.recv() else { break };
        match &news.kind {
            AttemptEventKind::Output {
                offset,
                bytes,
                events,
                resume,
            } => {
                println!("{} says {}", news.id, String::from_utf8_lossy(bytes).trim());
                for event in events {
                    println!("{} tells {:?}", news.id, event.what);
                }
                attempts.confirm_processed(&news.id, offset + bytes.len() as u64, *resume);
            }
            AttemptEventKind::Exited { .. }
            | AttemptEventKind::Lost(_)
            | AttemptEventKind::NeverStarted { .. } => {
                println!("{} is over: {:?}", news.id, news.kind);
                left -= 1;
            }
            other => println!("{} {other:?}", news.id),
        }
    }
    let _ = std::fs::remove_dir_all(&folder);
    ExitCode::SUCCESS
}
