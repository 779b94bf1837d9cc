//! `bowline demo` as a process that is killed.

use crate::environment::TestEnvironment;
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

/// Starts a demo; where it listens.
fn demo(world: &TestEnvironment, line: &str) -> (Child, String) {
    let mut command = world.bowline(line);
    command.env_remove("BOWLINE_CLOCK");
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let errors = std::fs::File::create(world.path("demo.err")).unwrap();
    let mut child = command.stderr(errors).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let said = lines.next().map(Result::unwrap).unwrap_or_default();
    let url = said.strip_prefix("listening on ");
    let url = url.unwrap_or_else(|| panic!("{said}{}", world.read("demo.err")));
    (child, url.to_owned())
}

#[test]
fn a_killed_demo_is_reached_at_the_same_address_again() {
    let world = TestEnvironment::new();
    // The demo's own port is taken, by this or by somebody else, so that it has to choose.
    let taken = TcpListener::bind("127.0.0.1:7421");
    let (mut child, url) = demo(&world, "demo --dir shop");
    child.kill().unwrap();
    child.wait().unwrap();
    drop(taken);
    let (mut child, again) = demo(&world, "demo --again --dir shop");
    let id = child.id().to_string();
    let ended = Command::new("kill").arg(id).status().unwrap();
    assert!(ended.success() && child.wait().unwrap().success());
    assert_eq!(again, url);
}
