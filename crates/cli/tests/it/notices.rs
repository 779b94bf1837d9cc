//! Notices of a server to people elsewhere, received by a fake ntfy on loopback.

use crate::environment::TestEnvironment;
use crate::serve::Server;
use bowline_test_support::wait_until;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const BOUND: Duration = Duration::from_secs(60);

/// A client that asks leave for a short input and for one that no message holds.
const CLIENT: &str = r#"
protocol = "claude-stream-json"
[[step]]
leave = { tool = "Bash", input = { command = "cargo test", file_path = "docs/README.md" } }
[[step]]
leave = { tool = "Bash", input = { command = "LONG" } }
[[step]]
wait = "NEVER"
"#;

/// A message: its headers `X-…` by their lines, and its text.
type Message = (Vec<String>, String);

/// Takes every message that is posted.
fn fake_ntfy() -> (String, Arc<Mutex<Vec<Message>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/topic", listener.local_addr().unwrap());
    let heard: Arc<Mutex<Vec<Message>>> = Arc::default();
    let to = Arc::clone(&heard);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let (mut headers, mut length) = (Vec::new(), 0);
            loop {
                let mut line = String::new();
                if stream.read_line(&mut line).unwrap_or(0) <= 2 {
                    break;
                }
                let line = line.trim_end();
                let small = line.to_ascii_lowercase();
                if let Some(value) = small.strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                } else if small.starts_with("x-title") || small.starts_with("x-actions") {
                    headers.push(line.to_owned());
                }
            }
            let mut body = vec![0; length];
            stream.read_exact(&mut body).unwrap();
            let text = String::from_utf8(body).unwrap();
            to.lock().unwrap().push((headers, text));
            let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
            let _ = stream.get_mut().write_all(answer);
        }
    });
    (address, heard)
}

#[test]
fn ntfy_gets_the_input_of_a_tool_and_a_button_to_permit_what_it_shows_whole() {
    let (address, heard) = fake_ntfy();
    let world = TestEnvironment::new();
    world.write("agent.toml", CLIENT.replace("LONG", &"x".repeat(4_000)));
    world.write(
        "bowline.toml",
        format!(
            "[defaults]\nagent = \"tea\"\n[agent.tea]\ncommand = [\"{}\", \"scripted\", \"{}\"]\nprotocol = \"claude-stream-json\"\n\
             [notify]\nntfy = \"{address}\"\nntfy_actions = \"https://bow.example\"\n",
            env!("CARGO_BIN_EXE_bowline"),
            world.path("agent.toml").display(),
        ),
    );
    let server = Server::of(world);
    let task = server.new_task();
    let message = |number: usize| -> Message {
        let there = wait_until(BOUND, || heard.lock().unwrap().len() > number);
        let heard = heard.lock().unwrap();
        assert!(there, "{heard:?}\n{}", server.world.read("serve.err"));
        heard[number].clone()
    };
    let buttons = |(headers, _): &Message| -> Vec<String> {
        assert_eq!(headers[0], "x-title: permission.wanted");
        let actions = headers[1].strip_prefix("x-actions: ").unwrap();
        let label = |button: &str| {
            let parts: Vec<&str> = button.split(", ").collect();
            assert_eq!(parts[0], "http");
            assert!(parts[2].starts_with("https://bow.example/api/actions/"));
            parts[1].to_owned()
        };
        actions.split("; ").map(label).collect()
    };
    let short = message(0);
    assert_eq!(buttons(&short), ["Permit", "Deny"]);
    let text = "Tea\nBash\ncommand: cargo test\nfile_path: docs/README.md";
    assert_eq!(short.1, text);
    server.done(&format!("task --data data permit {task}"));
    let long = message(1);
    assert_eq!(buttons(&long), ["Deny"]);
    assert_eq!(long.1, "Tea\nBash\n(+4009 characters)");
}
