//! A server at its edges: what its agents print, settings that change, and browsers behind a proxy.

use crate::environment::TestEnvironment;
use crate::serve::{Server, live, started};
use bowline_server::client::ApiClient;
use bowline_test_support::{MissingRequirement, skip_test, wait_until};
use bowline_words::Lang;
use serde_json::{Value, json};
use std::io::Read as _;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
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

/// An agent whose step would change the title of the terminal.
const STEPS: &str = r#"
[[step]]
say = "Step 1/2: \u001b]0;step\u0007\u001b[31;7mred"
[[step]]
wait = "NEVER"
"#;

#[test]
fn a_watch_on_a_terminal_shows_titles_and_steps_without_their_escapes() {
    let world = TestEnvironment::new();
    settings(&world, STEPS, "");
    let server = serve(world);
    let token = server.world.read("data/token");
    let client = ApiClient::for_url(&server.url, Some(token.trim().into()), Lang::En).unwrap();
    let title = "\u{1b}]0;title\u{7}\u{1b}[31;7mred";
    let wanted = json!({ "title": title, "type": "custom", "description": "Tea", "submit": true });
    let made = client.send_request("POST", "/api/tasks", Some(&wanted), &[]);
    assert_eq!(made.unwrap().status, 201);
    server.until("task --data data list", |it| {
        let step = &it["items"][0]["agentState"]["currentStep"];
        step.as_str().is_some_and(|it| it.contains("step"))
    });
    let line = format!("{} task --data data watch", env!("CARGO_BIN_EXE_bowline"));
    let mut script = live(server.world.program("script"));
    script.args(["-qec", &line, "/dev/null"]);
    script.stdin(Stdio::piped()).stdout(Stdio::piped());
    let Ok(mut child) = script.spawn() else {
        skip_test(
            MissingRequirement::Program,
            "there is no 'script' to make a terminal with",
        );
        return;
    };
    let mut screen = child.stdout.take().unwrap();
    let shown = Arc::new(Mutex::new(Vec::new()));
    let drawn = Arc::clone(&shown);
    let reader = std::thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(count @ 1..) = screen.read(&mut bytes) {
            drawn.lock().unwrap().extend_from_slice(&bytes[..count]);
        }
    });
    let text = || String::from_utf8_lossy(&shown.lock().unwrap()).into_owned();
    let both = ["⟨U+001B⟩]0;title", "⟨U+001B⟩]0;step"];
    let there = wait_until(BOUND, || both.iter().all(|it| text().contains(it)));
    child.kill().unwrap();
    child.wait().unwrap();
    reader.join().unwrap();
    assert!(there, "{:?}", text());
    for part in ["\u{1b}]", "\u{7}", "\u{1b}[31;7m"] {
        assert!(!text().contains(part), "{part:?}: {:?}", text());
    }
}

/// A client that prints its usage and nothing of its protocol.
#[test]
fn a_task_whose_client_sends_no_valid_message_says_so_after_30_seconds() {
    let world = TestEnvironment::new();
    world.write(
        "agent.sh",
        "echo 'usage: client [options]'; exec sleep 600\n",
    );
    world.write(
        "bowline.toml",
        format!(
            "[defaults]\nagent = \"script\"\n[agent.script]\nprotocol = \"claude-stream-json\"\ncommand = [\"sh\", {:?}]\n",
            world.path("agent.sh").display().to_string()
        ),
    );
    let server = serve(world);
    let made =
        server.done("task --data data new --title Tea --type custom --description Tea --submit");
    let token = server.world.read("data/token");
    let client = ApiClient::for_url(&server.url, Some(token.trim().into()), Lang::En).unwrap();
    let path = format!("/api/tasks/{}/transitions", made.trim());
    let moves = || {
        client
            .send_request("GET", &path, None, &[])
            .unwrap()
            .json()
            .to_string()
    };
    let told = wait_until(BOUND, || moves().contains("NO_VALID_MESSAGE"));
    assert!(told, "{}", moves());
    assert_eq!(moves().matches("NO_VALID_MESSAGE").count(), 1);
    assert!(moves().contains("\"seconds\":30"), "{}", moves());
}

/// An agent that asks on the socket without its token, also in the name of another agent.
#[test]
fn an_agent_without_its_token_reads_its_own_task_on_the_socket() {
    let world = TestEnvironment::new();
    let out = world.path("").display().to_string();
    let agent = r#"
ask() { curl -s -o "$OUT/$BOWLINE_TASK_ID.$1" -w '%{http_code}' --unix-socket "$OUT/data/sock" "http://x/api/tasks$2" > "$OUT/$BOWLINE_TASK_ID.$1.code"; }
unset BOWLINE_AGENT_TOKEN_FILE
other=$(cat "$OUT/other" 2> /dev/null)
if [ -n "$other" ]; then
  ask own "/$BOWLINE_TASK_ID"
  (export BOWLINE_ATTEMPT="$other-1"; ask other "/$other"; ask list "")
  echo 'Step 1/2: asked'
fi
exec sleep 600
"#;
    world.write("agent.sh", agent.replace("$OUT", out.trim_end_matches('/')));
    world.write(
        "bowline.toml",
        format!(
            "[defaults]\nagent = \"script\"\n[agent.script]\ncommand = [\"sh\", {:?}]\n",
            world.path("agent.sh").display().to_string()
        ),
    );
    let server = serve(world);
    let new = "task --data data new --title Tea --type custom --description Tea --submit";
    let other = server.done(new).trim().to_owned();
    server.until(&format!("task --data data show {other}"), |it| {
        it["status"] == "in_progress"
    });
    server.world.write("other", &other);
    let task = server.done(new).trim().to_owned();
    server.until(&format!("task --data data show {task}"), |it| {
        it["agentState"]["currentStep"] == "asked"
    });
    let read = |name: &str| server.world.read(&format!("{task}.{name}"));
    assert_eq!(read("own.code"), "200", "{}", read("own"));
    assert_eq!(read("other.code"), "404", "{}", read("other"));
    let list: Value = serde_json::from_str(&read("list")).unwrap();
    assert_eq!(list["items"].as_array().unwrap().len(), 1, "{list}");
    assert_eq!(list["items"][0]["id"], task);
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
    let client = ApiClient::for_url(&server.url, Some(token.trim().into()), Lang::En).unwrap();
    let get = |path: &str| client.send_request("GET", path, None, &[]).unwrap().json();
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
        .send_request("POST", "/api/tasks", Some(&wanted), &[])
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
    let client = ApiClient::for_url(&server.url, Some(token.trim().into()), Lang::En).unwrap();
    let ask = |path: &str, body: Value| {
        let answer = client.send_request("POST", path, Some(&body), &[]).unwrap();
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
