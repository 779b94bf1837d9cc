//! Agents that are hard to write in shell: this test program, run again with a word.

use bowline_supervisor::{Attempt, Handle};
use std::path::Path;

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
        "try_the_sandbox" => crate::sandbox::try_everything(),
        other => panic!("no such part: {other}"),
    }
}

/// Tries to attach to the shim it runs under.
fn ask_the_shim() {
    let attempt = Attempt::open(Path::new(&std::env::var("AT").unwrap())).unwrap();
    let told = match Handle::attach(&attempt, 99) {
        Ok(_) => "attached".to_owned(),
        Err(error) => error.code().to_owned(),
    };
    #[expect(clippy::print_stdout, reason = "what an agent says is its output")]
    {
        println!("{told}");
    }
}
