//! A server at its edges: what its agents print, settings that change, and browsers behind a proxy.

use crate::environment::TestEnvironment;
use crate::serve::{Server, live, started};
use bowline_server::client::Client;
use bowline_test_support::wait_until;
use bowline_words::Lang;
use serde_json::{Value, json};
use std::process::Command;
use std::time::Duration;

/// Nothing here takes this long unless it hangs.
const BOUND: Duration = Duration::from_secs(60);

/// An agent whose output would change the title of the terminal, its clipboard and what it shows.
const PRINTS: &str = r#"
[[step]]
say = "\u001b]0;owned\u0007\u001b]52;c;ZXZpbA==\u001b\\\u001b[2J\u001b[31mred\u001b[0m \u202Eend"
[[step]]
done = { summary = "tea" }
[[step]]
wait = "NEVER"
"#;

fn settings(world: &TestEnvironment, scenario: &str, more: &str) {
    world.write("agent.toml", scenario);
    let config = format!(
        "{more}\n[defaults]\nagent = \"tea\"\n[agent.tea]\ncommand = [\"{}\", \"scripted\", \"{}\"]\nprotocol = \"markers\"\n",
        env!("CARGO_BIN_EXE_bowline"),
        world.path("agent.toml").display(),
    );
    world.write("bowline.toml", config);
}

/// A server that writes its log.
fn serve(world: TestEnvironment) -> Server {
    let command = world.bowline("serve --listen 127.0.0.1:0 --data data --log text");
    let (child, url) = started(&world, live(command));
    Server { world, url, child }
}

#[test]
fn what_an_agent_prints_does_not_reach_the_terminal_as_orders() {
    let world = TestEnvironment::new();
    settings(&world, PRINTS, "");
    let server = serve(world);
    let made =
        server.done("task --data data new --title Tea --type custom --description Tea --submit");
    let task = made.trim();
    server.until(&format!("task --data data show {task}"), |it| {
        it["status"] == "completed"
    });
    let shown = server.done(&format!("task --data data logs {task}"));
    assert!(
        shown.contains("\u{1b}[31mred\u{1b}[0m ⟨U+202E⟩end"),
        "{shown:?}"
    );
    for part in ["owned", "52;c;", "\u{1b}]", "\u{1b}[2J", "\u{7}"] {
        assert!(!shown.contains(part), "{part:?}: {shown:?}");
    }
    let raw = server.done(&format!("task --data data logs {task} --raw"));
    assert!(raw.contains("\u{1b}]52;c;ZXZpbA==\u{1b}\\"), "{raw:?}");
}

fn hang_up(server: &Server) {
    let pid = server.child.id().to_string();
    let sent = Command::new("kill").args(["-HUP", &pid]).status();
    assert!(sent.unwrap().success());
}

fn log_has(server: &Server, count: usize, part: &str) {
    let found = || server.world.read("serve.err").matches(part).count() >= count;
    assert!(
        wait_until(BOUND, found),
        "{part}: {}",
        server.world.read("serve.err")
    );
}

#[test]
fn settings_are_read_again_on_a_hang_up_and_bad_ones_change_nothing() {
    let world = TestEnvironment::new();
    settings(&world, PRINTS, "[limits]\nslots = 2\n");
    let server = serve(world);
    let token = server.world.read("data/token");
    let client = Client::tcp(&server.url, Some(token.trim().into()), Lang::En).unwrap();
    let get = |path: &str| client.ask("GET", path, None, &[]).unwrap().json();
    let types = || -> Vec<String> {
        let page = get("/api/types");
        let items = page["items"].as_array().unwrap();
        let name = |it: &Value| it["name"].as_str().unwrap().to_owned();
        items.iter().map(name).collect()
    };
    assert_eq!(get("/api/stats")["slots"], 2);
    let leaflet = "[limits]\nslots = 5\n[[type.leaflet.phases]]\nname = \"Draft\"\n";
    settings(&server.world, PRINTS, leaflet);
    hang_up(&server);
    log_has(&server, 1, "the settings were read again");
    assert_eq!(get("/api/stats")["slots"], 5);
    assert!(types().contains(&"leaflet".to_owned()), "{:?}", types());
    let wanted = json!({ "title": "Tea", "type": "leaflet", "description": "Tea" });
    let made = client
        .ask("POST", "/api/tasks", Some(&wanted), &[])
        .unwrap();
    assert_eq!(made.status, 201, "{}", made.json());
    settings(&server.world, PRINTS, "[limits]\nslots = \"many\"\n");
    hang_up(&server);
    log_has(&server, 1, "the old ones stay");
    let log = server.world.read("serve.err");
    assert!(log.contains("bowline.toml cannot be used: line 2"), "{log}");
    assert_eq!(get("/api/stats")["slots"], 5);
    assert!(types().contains(&"leaflet".to_owned()));
}

#[test]
fn a_server_behind_https_has_cookies_for_https_alone() {
    let world = TestEnvironment::new();
    let server = "[server]\npublic_url = \"https://bow.example\"\n";
    settings(&world, PRINTS, server);
    let server = serve(world);
    let token = server.world.read("data/token");
    let client = Client::tcp(&server.url, Some(token.trim().into()), Lang::En).unwrap();
    let ask = |path: &str, body: Value| {
        let answer = client.ask("POST", path, Some(&body), &[]).unwrap();
        assert!((200..300).contains(&answer.status), "{}", answer.json());
        answer
    };
    let signed = ask("/api/session", json!({ "token": token.trim() }));
    let cookie = signed.header("set-cookie").unwrap().to_owned();
    assert!(cookie.ends_with("; Secure"), "{cookie}");
    let link = ask("/api/sign-in-links", json!({})).json();
    let link = link["url"].as_str().unwrap();
    assert!(
        link.starts_with("https://bow.example/sign-in?key="),
        "{link}"
    );
}
