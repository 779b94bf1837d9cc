//! Notices of a run to people elsewhere: Slack and webhooks, on loopback.

use crate::environment::TestEnvironment;
use bowline_test_support::wait_until;
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const BOUND: Duration = Duration::from_secs(60);

/// Whoever listens: every body that was posted, with its path and event id.
struct Listener {
    address: String,
    heard: Arc<Mutex<Vec<(String, String, Value)>>>,
}

impl Listener {
    fn new(status: &'static str) -> Listener {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let heard: Arc<Mutex<Vec<(String, String, Value)>>> = Arc::default();
        let to = Arc::clone(&heard);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = BufReader::new(stream.unwrap());
                let (mut path, mut id, mut length) = (String::new(), String::new(), 0);
                loop {
                    let mut line = String::new();
                    if stream.read_line(&mut line).unwrap_or(0) <= 2 {
                        break;
                    }
                    if path.is_empty() {
                        path = line.split(' ').nth(1).unwrap_or_default().to_owned();
                    } else if let Some((name, value)) = line.split_once(':') {
                        match name.to_ascii_lowercase().as_str() {
                            "content-length" => length = value.trim().parse().unwrap(),
                            "x-bowline-event-id" => id = value.trim().to_owned(),
                            _ => {}
                        }
                    }
                }
                let mut body = vec![0; length];
                stream.read_exact(&mut body).unwrap();
                let body = serde_json::from_slice(&body).unwrap_or_default();
                to.lock().unwrap().push((path, id, body));
                let answer = format!(
                    "HTTP/1.1 {status}\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"
                );
                let _ = stream.get_mut().write_all(answer.as_bytes());
            }
        });
        Listener { address, heard }
    }

    fn texts(&self, path: &str) -> Vec<String> {
        let heard = self.heard.lock().unwrap();
        let here = heard.iter().filter(|it| it.0 == path);
        here.map(|it| it.2["text"].as_str().unwrap_or_default().to_owned())
            .collect()
    }
}

const PLAN: &str =
    "# TASKS: 나루터\n## Phase 0: Quay\n- [ ] T0.1: One\n## Phase 1: Boat\n- [ ] T1.1: Two\n";

/// A project outside of git whose agent is a shell script.
fn project(agent: &str, settings: &str) -> TestEnvironment {
    let world = TestEnvironment::new();
    world.write("TASKS.md", PLAN);
    let script = world.root().join("agent.sh");
    std::fs::write(&script, agent).unwrap();
    let command = script.display().to_string();
    world.write(
        "bowline.toml",
        format!(
            "[defaults]\nagent = \"script\"\n[agent.script]\ncommand = [\"sh\", {command:?}]\n\
             [orchestrate]\nbackoff = 0\nretry_limit = 1\n{settings}"
        ),
    );
    world
}

fn run(world: &TestEnvironment, line: &str) -> std::process::Output {
    let mut command = world.bowline(line);
    command.env_remove("BOWLINE_CLOCK").output().unwrap()
}

const GOOD: &str = "echo DONE:$BOWLINE_TASK_ID\n";

#[test]
fn slack_hears_of_phases_and_failures_by_the_address_of_the_state_file_first() {
    let (slack, other) = (Listener::new("200 OK"), Listener::new("200 OK"));
    let hook = format!("{}/services/SE/CR/ET", slack.address);
    let world = project(
        GOOD,
        &format!("[notify]\nslack = \"{}/never\"\n", other.address),
    )
    .with("SLACK_WEBHOOK_URL", &format!("{}/variable", other.address));
    world.quietly("orchestrate init", 0);
    let state = ".claude/orchestrate-state.json";
    let text = world.read(state);
    let text = text.replace(
        "\"slack_webhook_url\": null",
        &format!("\"slack_webhook_url\": \"{hook}\""),
    );
    world.write(state, text);
    let output = run(&world, "orchestrate run");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(
        slack.texts("/services/SE/CR/ET"),
        [
            "[나루터] the run begins: 0/2 tasks are done",
            "[나루터] phase 0 is done (1/2)",
            "[나루터] phase 1 is done (2/2)",
            "[나루터] all 2 tasks are done",
        ]
    );
    assert_eq!(other.heard.lock().unwrap().len(), 0);
    // The address is in no output and no log.
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    let log = world.read(".claude/orchestrate.log");
    let shown = run(&world, "orchestrate status --json");
    for text in [
        said,
        log,
        String::from_utf8_lossy(&shown.stdout).into_owned(),
    ] {
        assert!(!text.contains("SE/CR/ET"), "{text}");
    }
}

#[test]
fn a_webhook_hears_everything_with_the_number_of_the_event_and_slack_by_variable() {
    let ears = Listener::new("200 OK");
    let agent = "[ \"$BOWLINE_TASK_ID\" = T0.1 ] && { echo FAIL:T0.1:no ink; exit 0; }\necho DONE:$BOWLINE_TASK_ID\n";
    let world = project(
        agent,
        &format!("[notify]\nwebhook = \"{}/all\"\n", ears.address),
    )
    .with("SLACK_WEBHOOK_URL", &format!("{}/slack", ears.address));
    let output = run(&world, "orchestrate run --lang ko");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let events: Vec<String> = {
        let heard = ears.heard.lock().unwrap();
        let all = heard.iter().filter(|it| it.0 == "/all");
        all.map(|it| it.2["event"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(events, ["started", "task_failed", "stalled"]);
    assert_eq!(
        ears.texts("/slack"),
        [
            "[나루터] 실행을 시작합니다: 작업 0/2 완료",
            "[나루터] T0.1 실패: no ink",
            "[나루터] 0/2에서 멈췄습니다. 실패: T0.1",
        ]
    );
    let ids: Vec<String> = ears
        .heard
        .lock()
        .unwrap()
        .iter()
        .map(|it| it.1.clone())
        .collect();
    assert!(ids.iter().all(|id| !id.is_empty()), "{ids:?}");
    // A settled notice is not sent again.
    let before = ears.heard.lock().unwrap().len();
    run(&world, "orchestrate run --resume");
    let told = || ears.heard.lock().unwrap().len();
    assert!(wait_until(BOUND, || told() >= before + 2));
    assert_eq!(told(), before + 2, "only that it began again");
}

#[test]
fn why_a_task_failed_is_told_in_the_language_of_the_run() {
    for (lang, told) in [
        ("en", "[나루터] T0.1 failed: exit code 4: no ink"),
        ("ko", "[나루터] T0.1 실패: 종료 코드 4: no ink"),
    ] {
        let ears = Listener::new("200 OK");
        let notify = format!(
            "[notify]\nslack = \"{0}/slack\"\nwebhook = \"{0}/all\"\n",
            ears.address
        );
        let world = project("echo 'no ink' >&2; exit 4\n", &notify);
        let output = run(&world, &format!("orchestrate run --lang {lang}"));
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        for path in ["/slack", "/all"] {
            let texts = ears.texts(path);
            assert!(texts.iter().any(|text| text == told), "{texts:?}");
        }
        // What programs read is what the state file has.
        let heard = ears.heard.lock().unwrap();
        let failed = heard.iter().find(|it| it.2["event"] == "task_failed");
        assert_eq!(failed.unwrap().2["data"]["error"], "exit code 4: no ink");
    }
}

#[test]
fn an_address_that_fails_stops_nothing() {
    let refusing = Listener::new("500 Oh");
    let world = project(
        GOOD,
        &format!("[notify]\nslack = \"{}/x\"\n", refusing.address),
    );
    let output = run(&world, "orchestrate run --json");
    assert!(output.status.success(), "{output:?}");
    let body: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(body["ended"], "done");
    let log = world.read(".claude/orchestrate.log");
    assert!(log.contains("NOT_ANNOUNCED:slack: status 500"), "{log}");
    assert!(!log.contains("127.0.0.1"), "{log}");
}
