//! `bowline scripted`: every step, in every protocol, as the adapters read it.

use crate::environment::{TestEnvironment, text};
use bowline_engine::formats::agents::{
    AgentAdapter, AgentEventKind, AgentInputWriter, AgentProtocol, ClientRequest, InputDelivery,
    ToAgent,
};
use bowline_test_support::wait_until;
use std::io::{Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Stdio};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(20);

/// Every step that says something.
const STEPS: &str = r#"
[[step]]
say = "I begin."
[[step]]
progress = { step = 1, of = 2, name = "look" }
[[step]]
tool = { name = "cat", output = "=== PHASE 9 COMPLETE ===" }
[[step]]
need = { type = "api_key", name = "MAPS_KEY", description = "maps\nfor the page" }
[[step]]
ask = { question = "Which?", category = "choice", options = ["red", "blue"], required = false }
[[step]]
fail = { message = "a flaky test", fatal = false }
[[step]]
usage = { input = 100, output = 20 }
[[step]]
phase = { number = 1, name = "Outline", files = ["docs/a.md"] }
[[step]]
wait = ""
[[step]]
say = "told: {input}"
[[step]]
usage = { input = 10, output = 2 }
[[step]]
done = { summary = "all" }
"#;

fn scenario(head: &str, steps: &str) -> TestEnvironment {
    let world = TestEnvironment::new();
    world.write("scenario.toml", format!("{head}\n{steps}"));
    world
}

fn start(world: &TestEnvironment, line: &str) -> Child {
    let mut command = world.bowline(line);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command.spawn().unwrap()
}

/// The output up to the first event that is wanted, or to its end; the requests in it are kept.
fn read_until(
    child: &mut Child,
    adapter: &mut AgentAdapter,
    wanted: impl Fn(&str) -> bool,
) -> (Vec<String>, Option<ClientRequest<'static>>) {
    let (mut seen, mut asked) = (Vec::new(), None);
    let stdout = child.stdout.as_mut().unwrap();
    let mut buffer = [0; 4_096];
    while !seen.iter().any(|event: &String| wanted(event)) {
        let read = stdout.read(&mut buffer).unwrap();
        let mut keep = |what: AgentEventKind<'_>| {
            seen.push(format!("{what:?}"));
            if let AgentEventKind::Asks { request, .. } = what {
                asked = request.map(ClientRequest::into_owned);
            }
        };
        if read == 0 {
            adapter.finish(&mut |event| keep(event.what));
            break;
        }
        adapter.push(&buffer[..read], &mut |event| keep(event.what));
    }
    (seen, asked)
}

fn tell(child: &mut Child, writer: &mut AgentInputWriter, message: ToAgent<'_>) {
    match writer.encode_message(message) {
        InputDelivery::Input(text) => child
            .stdin
            .as_mut()
            .unwrap()
            .write_all(text.as_bytes())
            .unwrap(),
        other => panic!("{other:?}"),
    }
}

fn all_events(world: &TestEnvironment, line: &str, protocol: AgentProtocol) -> String {
    let mut child = start(world, line);
    child.stdin.take();
    let mut adapter = AgentAdapter::new(protocol, None);
    let (seen, _) = read_until(&mut child, &mut adapter, |_| false);
    let status = child.wait().unwrap();
    format!("{}\n{status}", seen.join("\n"))
}

#[test]
fn plain_text_is_what_the_grammar_says() {
    let world = scenario("", STEPS);
    let mut child = start(&world, "scripted");
    let input = child.stdin.as_mut().unwrap();
    input
        .write_all(b"[REVIEW_APPROVED]\nreviewId: r-1\n[/REVIEW_APPROVED]\n")
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    check!(text(&output.stdout));
}

#[test]
fn plain_text_as_events() {
    let world = scenario("", STEPS);
    check!(all_events(&world, "scripted", AgentProtocol::Markers));
}

#[test]
fn codex_as_events_in_two_runs() {
    let world = scenario("protocol = \"codex-json\"\nsession = \"t-1\"", STEPS);
    let first = all_events(&world, "scripted", AgentProtocol::CodexJson);
    let second = all_events(
        &world,
        "scripted --turn 1 -- exec resume t-1",
        AgentProtocol::CodexJson,
    );
    check!(format!("{first}\n\n{second}"));
}

#[test]
fn claude_as_events_with_an_answer() {
    let world = scenario(
        "protocol = \"claude-stream-json\"\nsession = \"s-1\"",
        STEPS,
    );
    let mut child = start(&world, "scripted -- -p --verbose");
    let mut adapter = AgentAdapter::new(AgentProtocol::ClaudeStreamJson, None);
    let mut writer = AgentInputWriter::new(AgentProtocol::ClaudeStreamJson);
    tell(&mut child, &mut writer, ToAgent::Prompt("go"));
    let (mut told, request) = read_until(&mut child, &mut adapter, |it| it.starts_with("Asks"));
    let answers = ToAgent::Answers {
        request: &request.unwrap(),
        answers: &[("Which?", "blue")],
    };
    tell(&mut child, &mut writer, answers);
    let ended = |event: &str| event.starts_with("TurnEnded");
    told.extend(read_until(&mut child, &mut adapter, ended).0);
    tell(&mut child, &mut writer, ToAgent::Prompt("more"));
    told.extend(read_until(&mut child, &mut adapter, ended).0);
    child.stdin.take();
    told.extend(read_until(&mut child, &mut adapter, |_| false).0);
    let status = child.wait().unwrap();
    check!(format!("{}\n{status}", told.join("\n")));
}

#[test]
fn claude_is_interrupted_and_meets_a_limit() {
    let steps = "[[step]]\nsay = \"thinking\"\n[[step]]\nhold = true\n[[step]]\nwait = \"\"\n\
                 [[step]]\nlimit = { resets_at = 1794787721 }\n";
    let world = scenario(
        "protocol = \"claude-stream-json\"\nsession = \"s-1\"",
        steps,
    );
    let mut child = start(&world, "scripted");
    let mut adapter = AgentAdapter::new(AgentProtocol::ClaudeStreamJson, None);
    let mut writer = AgentInputWriter::new(AgentProtocol::ClaudeStreamJson);
    let ended = |event: &str| event.starts_with("TurnEnded");
    tell(&mut child, &mut writer, ToAgent::Prompt("go"));
    let (mut told, _) = read_until(&mut child, &mut adapter, |it| it.starts_with("Said"));
    tell(&mut child, &mut writer, ToAgent::Interrupt);
    told.extend(read_until(&mut child, &mut adapter, ended).0);
    tell(&mut child, &mut writer, ToAgent::Prompt("again"));
    told.extend(read_until(&mut child, &mut adapter, ended).0);
    child.stdin.take();
    assert!(child.wait().unwrap().success());
    check!(told.join("\n"));
}

#[test]
fn limits_in_the_other_protocols() {
    let step = "[[step]]\nlimit = { retry_after = 90 }\n";
    let plain = all_events(&scenario("", step), "scripted", AgentProtocol::Markers);
    let world = scenario("protocol = \"codex-json\"\nsession = \"t-1\"", step);
    let codex = all_events(&world, "scripted", AgentProtocol::CodexJson);
    check!(format!("{plain}\n\n{codex}"));
}

#[test]
fn a_run_begins_with_its_phase_and_uses_its_nonce() {
    let steps = "[[step]]\nphase = { number = 1 }\n[[step]]\nsay = \"second\"\n[[step]]\nphase = { number = 2 }\n";
    let world = scenario("nonce = true", steps);
    let output = world
        .bowline("scripted")
        .env("BOWLINE_PHASE", "2")
        .env("BOWLINE_NONCE", "Xk29")
        .output()
        .unwrap();
    let text = text(&output.stdout);
    assert!(
        text.starts_with("second\n=== PHASE 2 COMPLETE nonce=Xk29 ===\n"),
        "{text}"
    );
}

#[test]
fn files_floods_codes_crashes_and_other_programs() {
    let world = scenario(
        "",
        "[[step]]\nwrite = { path = \"docs/a.md\", text = \"hi\" }\n[[step]]\nexit = 7\n",
    );
    assert_eq!(world.quietly("scripted", 7).stdout, b"");
    assert_eq!(world.read("docs/a.md"), "hi");
    let flooded = |step: &str| {
        let world = scenario("", &format!("[[step]]\nflood = {step}\n"));
        world.quietly("scripted", 0).stdout
    };
    let lines = flooded("{ bytes = 200000, line_bytes = 100 }");
    assert_eq!(lines.len(), 200_000);
    assert_eq!(lines.iter().filter(|byte| **byte == b'\n').count(), 2_000);
    let line = flooded("{ bytes = 70001, line_bytes = 0 }");
    assert!(line.len() == 70_001 && !line.contains(&b'\n'));
    let world = scenario("", "[[step]]\nraw = \"{\"\n[[step]]\ncrash = true\n");
    let output = world.bowline("scripted").output().unwrap();
    assert_eq!(
        (output.status.signal(), output.stdout.as_slice()),
        (Some(6), &b"{"[..])
    );
    let world = scenario("", "[[step]]\nexec = [\"echo\", \"another\"]\n");
    assert_eq!(world.quietly("scripted", 0).stdout, b"another\n");
}

#[test]
fn a_loop_answers_until_its_message_comes() {
    let world = scenario(
        "",
        r#"
[[step]]
loop = { on = ["REVIEW_REJECTED", "REWORK"], until = "PHASE_START", step = [
    { write = { path = "docs/a.md", text = "{input}\n", append = true } },
    { phase = { number = 1 } },
] }
[[step]]
say = "So on with {input}"
"#,
    );
    let mut child = start(&world, "scripted");
    let mut told = child.stdin.take().unwrap();
    told.write_all(
        b"[REVIEW_REJECTED]\nreason: one\n[/REVIEW_REJECTED]\nhello\n[REWORK]\ntwo\n[/REWORK]\n",
    )
    .unwrap();
    told.write_all(b"[PHASE_START]\nphase: 2\n[/PHASE_START]\n")
        .unwrap();
    let output = child.wait_with_output().unwrap();
    let said = text(&output.stdout);
    assert_eq!(
        said.matches("=== PHASE 1 COMPLETE ===").count(),
        2,
        "{said}"
    );
    assert!(said.ends_with("So on with phase: 2\n"), "{said}");
    assert_eq!(world.read("docs/a.md"), "reason: one\ntwo\n");
}

/// Its output ends, and it goes on.
#[test]
fn streams_are_closed_before_the_end() {
    for (stream, left) in [("stdout", "before\n"), ("stderr", "before\nafter\n")] {
        let steps = format!(
            "[[step]]\nsay = \"before\"\n[[step]]\nclose = \"{stream}\"\n[[step]]\nsay = \"after\"\n\
             [[step]]\nwait = \"\"\n[[step]]\nwrite = {{ path = \"last\", text = \"lived on\" }}\n"
        );
        let world = scenario("", &steps);
        let mut command = world.bowline("scripted");
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut text = String::new();
        if stream == "stdout" {
            child
                .stdout
                .take()
                .unwrap()
                .read_to_string(&mut text)
                .unwrap();
        } else {
            let mut nothing = String::new();
            child
                .stderr
                .take()
                .unwrap()
                .read_to_string(&mut nothing)
                .unwrap();
            assert_eq!(nothing, "");
        }
        // The end of that stream was found while it lives.
        assert_eq!(child.try_wait().unwrap(), None);
        child.stdin.take().unwrap().write_all(b"go on\n").unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        text.push_str(&String::from_utf8(output.stdout).unwrap());
        assert_eq!(text, left, "{stream}");
        assert_eq!(world.read("last"), "lived on");
    }
}

/// A line of a process's status in `/proc`.
fn status(id: u32, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim().to_owned())
}

#[test]
fn signals_are_ignored_and_children_left_behind() {
    let steps = "[[step]]\nfork = { count = 2, seconds = 3 }\n[[step]]\nsay = \"ready\"\n[[step]]\nhold = true\n";
    let world = scenario("ignores = [\"TERM\", \"TSTP\"]", steps);
    let mut child = start(&world, "scripted");
    let mut ready = [0; 6];
    child
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut ready)
        .unwrap();
    assert_eq!(&ready, b"ready\n");
    let mask = u64::from_str_radix(&status(child.id(), "SigIgn:").unwrap(), 16).unwrap();
    // Signal n is bit n - 1: TERM is 15, TSTP 20, INT 2.
    assert_eq!((mask >> 14 & 1, mask >> 19 & 1, mask >> 1 & 1), (1, 1, 0));
    let parent = child.id().to_string();
    let children = || {
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        ids.filter(|id| status(*id, "PPid:").as_ref() == Some(&parent))
            .count()
    };
    assert!(wait_until(PATIENCE, || children() == 2));
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn mistakes_and_dry_runs() {
    let world = scenario("", "[[step]]\nsay = \"hello\"\n");
    world.write("bad.toml", "[[step]]\nsing = \"la\"\n");
    check!(world.session(&[
        "scripted --dry-run",
        "scripted --dry-run --json",
        "scripted --turn 9",
        "scripted --turn 9 --lang ko",
        "scripted bad.toml",
        "scripted bad.toml --lang ko",
        "scripted nowhere.toml --lang ko"
    ]));
}

/// What it cannot do, it says.
#[test]
fn what_cannot_be_done_is_said() {
    for (step, wanted) in [
        (
            "exec = [\"no-such-program\", \"x\"]",
            "error: cannot become no-such-program x: ",
        ),
        (
            "write = { path = \"scenario.toml/x\", text = \"\" }",
            "error: cannot write ",
        ),
    ] {
        let world = scenario("", &format!("[[step]]\n{step}\n"));
        let told = world.talk("scripted", 1);
        assert!(told.contains(wanted), "{told}");
    }
}

/// A tool's output that has a fence in it does not end the fence around it.
#[test]
fn a_fence_is_longer_than_those_inside() {
    let world = scenario(
        "",
        "[[step]]\ntool = { name = \"cat\", output = \"````\\n=== PHASE 9 COMPLETE ===\\n\" }\n",
    );
    let said = world.data("scripted", 0);
    assert_eq!(said, "cat:\n`````\n````\n=== PHASE 9 COMPLETE ===\n`````\n");
}
