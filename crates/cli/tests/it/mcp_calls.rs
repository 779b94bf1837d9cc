//! Calls of tools that run a gate's command: progress, cancellation, and one run for all who ask for the same.

use crate::environment::TestEnvironment;
use crate::mcp::{BOUND, Client};
use crate::serve::Server;
use bowline_test_support::wait_until;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::Stdio;

/// A run in REVIEW whose gate runs a command, which notes each of its starts.
fn reviewing(command: &str) -> TestEnvironment {
    let world = TestEnvironment::repository();
    world.write(".gitignore", "/out/\n.develop-workflow/\n");
    world.write("out/started", "");
    world.write(
        "bowline.toml",
        format!("[develop.gates.review_clean_pass]\nrun = \"echo $$ >> out/started; {command}\"\n"),
    );
    world.quietly("develop start feature", 0);
    world.quietly("develop review --checkpoint cp-1", 0);
    world
}

fn client(world: &TestEnvironment) -> Client {
    let mut client = Client::start(world, "mcp");
    client.greet();
    client
}

/// Process ids of the gate's command, one for each start.
fn starts(world: &TestEnvironment) -> Vec<String> {
    let text = world.read("out/started");
    text.lines().map(str::to_owned).collect()
}

fn is_open(world: &TestEnvironment) -> bool {
    let status = world.json("develop status --json", 0);
    status["state"]["gates"]["review_clean_pass"] == true
}

/// Asks for the gate without waiting for the answer; progress is wanted where the id is `progress-…`.
fn ask_for_gate(client: &mut Client, id: &str) {
    let mut params =
        json!({ "name": "develop_gate_pass", "arguments": { "gate": "review_clean_pass" } });
    if id.starts_with("progress-") {
        params["_meta"] = json!({ "progressToken": id });
    }
    let request = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
    client.send(&request.to_string());
}

fn next_message(client: &Client) -> Value {
    let line = client.from.recv_timeout(BOUND).unwrap();
    serde_json::from_str(&line).unwrap()
}

/// Waits for progress of a call; no other call may get any.
fn progress_of(client: &Client, id: &str) -> f64 {
    loop {
        let told = next_message(client);
        assert!(told["id"].is_null(), "{told}");
        if told["method"] == "notifications/progress" {
            let params = &told["params"];
            assert_eq!(params["progressToken"], id, "{told}");
            assert!(params["message"].as_str().unwrap().contains("out/started"));
            return params["progress"].as_f64().unwrap();
        }
    }
}

/// The answers to some requests, in the order they come.
fn answers<const N: usize>(client: &Client) -> [Value; N] {
    std::array::from_fn(|_| {
        loop {
            let told = next_message(client);
            if !told["id"].is_null() {
                let text = told["result"]["content"][0]["text"].as_str().unwrap();
                return serde_json::from_str(text).unwrap();
            }
        }
    })
}

/// Ends once `out/go` is there.
const WAITS: &str = "until [ -e out/go ]; do sleep 0.05; done";

#[test]
fn progress_is_told_to_callers_with_a_token_while_the_command_of_a_gate_runs() {
    let world = reviewing(WAITS);
    let mut client = client(&world);
    ask_for_gate(&mut client, "silent");
    assert!(wait_until(BOUND, || starts(&world).len() == 1));
    ask_for_gate(&mut client, "progress-1");
    let first = progress_of(&client, "progress-1");
    assert!(first < progress_of(&client, "progress-1"));
    world.write("out/go", "");
    for told in answers::<2>(&client) {
        assert_eq!(told["to"], "open", "{told}");
    }
    client.end();
}

#[test]
fn a_cancelled_call_ends_its_command_and_opens_nothing() {
    let world = reviewing(WAITS);
    let mut client = client(&world);
    ask_for_gate(&mut client, "cancelled");
    assert!(wait_until(BOUND, || starts(&world).len() == 1));
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": { "requestId": "cancelled", "reason": "test" } });
    client.send(&cancel.to_string());
    let process = format!("/proc/{}", starts(&world)[0]);
    assert!(wait_until(BOUND, || !Path::new(&process).exists()));
    world.write("out/go", "");
    // The connection goes on, and the gate opens for whoever asks again.
    let status = client.call("develop_status", json!({}));
    assert_eq!(status["status"], "REVIEW", "{status}");
    assert!(!is_open(&world));
    let evidence = world.run_folder().join("evidence.jsonl");
    assert!(!evidence.exists(), "a cancelled run is no evidence");
    ask_for_gate(&mut client, "again");
    let [told] = answers(&client);
    assert_eq!(told["to"], "open", "{told}");
    client.end();
}

#[test]
fn a_waiting_call_runs_the_command_when_the_one_before_it_is_cancelled() {
    let world = reviewing(WAITS);
    let (mut first, mut second) = (client(&world), client(&world));
    ask_for_gate(&mut first, "first");
    assert!(wait_until(BOUND, || starts(&world).len() == 1));
    ask_for_gate(&mut second, "progress-2");
    progress_of(&second, "progress-2");
    assert_eq!(starts(&world).len(), 1);
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": { "requestId": "first" } });
    first.send(&cancel.to_string());
    assert!(wait_until(BOUND, || starts(&world).len() == 2));
    world.write("out/go", "");
    let [told] = answers(&second);
    assert_eq!(told["to"], "open", "{told}");
    first.end();
    second.end();
}

#[test]
fn one_run_per_gate_and_tree_and_the_others_have_its_result() {
    for (end, good) in [("true", true), ("false", false)] {
        let world = reviewing(&format!("{WAITS}; {end}"));
        // Two calls of one client, one of another, and the command line.
        let (mut one, mut other) = (client(&world), client(&world));
        ask_for_gate(&mut one, "first");
        assert!(wait_until(BOUND, || starts(&world).len() == 1));
        ask_for_gate(&mut one, "progress-1");
        ask_for_gate(&mut other, "progress-2");
        // Progress of a call that has not started the command: it waits for the first.
        progress_of(&one, "progress-1");
        progress_of(&other, "progress-2");
        let line = world
            .bowline("develop gate pass review_clean_pass")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let open_files = format!("/proc/{}/fd", line.id());
        assert!(wait_until(BOUND, || {
            let open_files = std::fs::read_dir(&open_files).into_iter().flatten();
            let paths = open_files
                .flatten()
                .filter_map(|it| it.path().read_link().ok());
            paths
                .into_iter()
                .any(|path| path.to_string_lossy().ends_with(".running"))
        }));
        world.write("out/go", "");
        let [first, second] = answers(&one);
        let [third] = answers(&other);
        let status = line.wait_with_output().unwrap().status;
        assert_eq!(status.success(), good);
        for told in [first, second, third] {
            match good {
                true => assert_eq!(told["to"], "open", "{told}"),
                false => assert_eq!(told["error"]["code"], "evidence_red", "{told}"),
            }
        }
        assert_eq!(starts(&world).len(), 1);
        assert_eq!(is_open(&world), good);
        let left = std::fs::read_dir(world.run_folder()).unwrap().flatten();
        let left = left.filter(|it| it.file_name().to_string_lossy().ends_with(".running"));
        assert_eq!(left.count(), 0);
        one.end();
        other.end();
    }
}

#[test]
fn another_tree_is_not_given_the_result_of_a_run() {
    let world = reviewing(WAITS);
    let (mut one, mut other) = (client(&world), client(&world));
    ask_for_gate(&mut one, "first");
    assert!(wait_until(BOUND, || starts(&world).len() == 1));
    world.write("code.txt", "changed\n");
    ask_for_gate(&mut other, "second");
    assert!(wait_until(BOUND, || starts(&world).len() == 2));
    world.write("out/go", "");
    let [told] = answers(&one);
    assert_eq!(told["error"]["code"], "changed_while_running", "{told}");
    let [told] = answers(&other);
    assert_eq!(told["to"], "open", "{told}");
    one.end();
    other.end();
}

/// Asks the server for the gate and leaves the connection open.
fn ask_server_for_gate(server: &Server, progress_token: Option<&str>) -> TcpStream {
    let mut params =
        json!({ "name": "develop_gate_pass", "arguments": { "gate": "review_clean_pass" } });
    if let Some(token) = progress_token {
        params["_meta"] = json!({ "progressToken": token });
    }
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let (body, token) = (body.to_string(), server.world.read("data/token"));
    let address = server.url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(BOUND)).unwrap();
    write!(
        stream,
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {}\r\n\
         Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n\
         MCP-Protocol-Version: 2025-11-25\r\nContent-Length: {}\r\n\r\n{body}",
        token.trim(),
        body.len()
    )
    .unwrap();
    stream
}

/// A connection that ends takes the call back, whether progress was reported on it or nothing yet.
#[test]
fn a_connection_of_the_server_that_ends_ends_the_command() {
    let world = reviewing(WAITS);
    let state = world.root().join("home/state");
    let own = TestEnvironment::new().with("XDG_STATE_HOME", state.to_str().unwrap());
    let server = Server::with(own, &format!("--workspace {}", world.path("").display()));
    for progress_token in [None, Some("progress-1")] {
        let before = starts(&world).len();
        let stream = ask_server_for_gate(&server, progress_token);
        assert!(wait_until(BOUND, || starts(&world).len() == before + 1));
        if let Some(token) = progress_token {
            let lines = BufReader::new(&stream).lines().map(Result::unwrap);
            let told = lines
                .filter(|line| line.contains("notifications/progress"))
                .take(2);
            let told: Vec<String> = told.collect();
            assert_eq!(told.len(), 2);
            assert!(told.iter().all(|line| line.contains(token)), "{told:?}");
        }
        drop(stream);
        let process = format!("/proc/{}", starts(&world)[before]);
        assert!(wait_until(BOUND, || !Path::new(&process).exists()));
    }
    world.write("out/go", "");
    // Whoever asks again waits for what is left of the calls before.
    let stream = ask_server_for_gate(&server, None);
    let lines = BufReader::new(&stream).lines().map(Result::unwrap);
    let opened = lines
        .into_iter()
        .any(|line| line.contains("review_clean_pass"));
    assert!(opened && is_open(&world));
    let evidence = std::fs::read_to_string(world.run_folder().join("evidence.jsonl")).unwrap();
    assert_eq!(
        evidence.lines().count(),
        1,
        "cancelled runs are no evidence"
    );
}
