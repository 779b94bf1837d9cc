//! `run` of thinking, memory and develop, with scripts for agents.

mod develop;
mod memory;
mod reasons;
mod thinking;

use crate::environment::TestEnvironment;
use bowline_test_support::wait_until;
use serde_json::Value;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

/// Nothing here takes this long unless it hangs.
const BOUND: Duration = Duration::from_secs(60);

/// A project whose agent is a shell script. It can find its way: every prompt it was given is kept in `seen/`.
fn project(agent: &str, settings: &str) -> TestEnvironment {
    let world = TestEnvironment::new();
    equip(&world, agent, settings);
    world
}

/// Puts the agent and the settings of [`project`] into a world.
fn equip(world: &TestEnvironment, agent: &str, settings: &str) {
    let root = world.root();
    let seen = root.join("seen");
    std::fs::create_dir_all(&seen).unwrap();
    let script = root.join("agent.sh");
    let text = format!(
        "seen='{}'\necho x >> \"$seen/starts-$BOWLINE_TASK_ID\"\n\
         cp \"$BOWLINE_PROMPT_FILE\" \"$seen/$BOWLINE_TASK_ID-$BOWLINE_TRY.md\"\n{agent}",
        seen.display()
    );
    std::fs::write(&script, text).unwrap();
    let command = script.display().to_string();
    world.write(
        "bowline.toml",
        format!(
            "[defaults]\nagent = \"script\"\n[agent.script]\ncommand = [\"sh\", {command:?}]\n{settings}"
        ),
    );
}

/// The command in this world; time goes on in it.
fn bowline(world: &TestEnvironment, words: &str) -> Command {
    let mut command = world.bowline(words);
    command.env_remove("BOWLINE_CLOCK");
    command
}

/// Everything a command says, and its exit code.
fn ran(world: &TestEnvironment, words: &str) -> (String, Option<i32>) {
    said(&bowline(world, words).output().unwrap())
}

fn said(output: &Output) -> (String, Option<i32>) {
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    (text, output.status.code())
}

/// A command that must end well.
fn good(world: &TestEnvironment, words: &str) -> String {
    let (text, code) = ran(world, words);
    assert_eq!(code, Some(0), "{words}\n{text}");
    text
}

/// What a command with `--json` answers.
fn answer(world: &TestEnvironment, words: &str) -> (Value, Option<i32>) {
    let output = bowline(world, words).output().unwrap();
    let body = serde_json::from_slice(&output.stdout);
    let body = body.unwrap_or_else(|_| panic!("{words}: {output:?}"));
    (body, output.status.code())
}

/// Begins a command that goes on.
fn begun(world: &TestEnvironment, words: &str) -> Child {
    let mut command = bowline(world, words);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// A file that an agent kept.
fn seen(world: &TestEnvironment, name: &str) -> String {
    std::fs::read_to_string(world.root().join("seen").join(name)).unwrap_or_default()
}

/// How often the agent of something was started.
fn starts(world: &TestEnvironment, id: &str) -> usize {
    seen(world, &format!("starts-{id}")).lines().count()
}

/// Waits until an agent says that it is there.
fn until_seen(world: &TestEnvironment, name: &str) {
    let there = || world.root().join("seen").join(name).exists();
    assert!(wait_until(BOUND, there), "{name} never came");
}

fn kill(pid: &str) {
    let done = Command::new("kill").args(["-9", pid.trim()]).status();
    assert!(done.unwrap().success());
}

fn interrupt(child: &Child) {
    let done = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(done.unwrap().success());
}
