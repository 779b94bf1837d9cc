//! Agents that are hard to write in shell: this test program, run again with a word.

use bowline_supervisor::{Attempt, ShimHandle};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;

/// Names the part to play.
const PART: &str = "BOWLINE_TEST_PART";

/// A command that plays a part.
pub(crate) fn acting(part: &str) -> Vec<String> {
    let program = std::env::current_exe().unwrap();
    let words = [
        "env",
        &format!("{PART}={part}"),
        program.to_str().unwrap(),
        "--exact",
        "actors::entry",
        "--ignored",
        "--nocapture",
    ];
    words.map(str::to_owned).to_vec()
}

#[test]
#[ignore = "the entry point of agents"]
fn entry() {
    match std::env::var(PART).unwrap().as_str() {
        "ask_the_shim" => ask_the_shim(),
        "leave_a_connection" => leave_a_connection(),
        "connect_all_the_time" => connect_all_the_time(),
        "try_the_sandbox" => crate::sandbox::try_everything(),
        other => panic!("no such part: {other}"),
    }
}

/// Tries to attach to the shim it runs under.
fn ask_the_shim() {
    let attempt = Attempt::open_existing(Path::new(&std::env::var("AT").unwrap())).unwrap();
    let told = match ShimHandle::attach(&attempt, 99) {
        Ok(_) => "attached".to_owned(),
        Err(error) => error.code().to_owned(),
    };
    #[expect(clippy::print_stdout, reason = "what an agent says is its output")]
    {
        println!("{told}");
    }
}

/// Connects to its shim, hands the connection to another process, and ends. The other one says what
/// it is told.
fn leave_a_connection() {
    let folder = std::env::var("AT").unwrap();
    let stream = UnixStream::connect(Path::new(&folder).join("sock")).unwrap();
    let left = Command::new("head")
        .args(["-n", "1"])
        .stdin(OwnedFd::from(stream))
        .spawn();
    // Not waited for: it must outlive this process.
    std::mem::forget(left.unwrap());
}

/// Connects to its shim again and again, from several threads, until it is ended.
fn connect_all_the_time() {
    let path = Path::new(&std::env::var("AT").unwrap()).join("sock");
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let path = path.clone();
            std::thread::spawn(move || while UnixStream::connect(&path).is_ok() {})
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}
