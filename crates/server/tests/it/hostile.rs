//! Callers that mean no good.

use crate::fake_job_service::{AGENT_TOKEN, World, refusal};
use crate::mcp::called;
use bowline_engine::machines::job::{Command, JobMachine};
use bowline_engine::machines::table::MachineCatalogue as _;
use bowline_formats::rest::routes::{HttpMethod, Operation, ROUTES, RouteAccess};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Sends bytes as they are; the status of the answer.
fn raw(world: &World, request: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(world.url.strip_prefix("http://").unwrap()).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    // A server may close the connection before everything is sent.
    let _ = stream.write_all(request.as_bytes());
    let mut text = Vec::new();
    let _ = stream.read_to_end(&mut text);
    let text = String::from_utf8_lossy(&text).into_owned();
    let status = text.get(9..12).and_then(|it| it.parse().ok()).unwrap_or(0);
    (status, text)
}

fn host(world: &World) -> &str {
    world.url.strip_prefix("http://").unwrap()
}

#[test]
fn without_the_token_nothing_but_health_is_told() {
    let world = World::new();
    let nobody =
        bowline_server::client::ApiClient::for_url(&world.url, None, bowline_words::Lang::En)
            .unwrap();
    let wrong = world.with_token("0000").without_retries();
    for route in ROUTES
        .iter()
        .filter(|route| route.operation != Operation::SignIn)
    {
        let path = route
            .path
            .replace(['{', '}'], "")
            .replace("kind", "thinking");
        let method = route.method.name();
        let body = json!({});
        let body = route.body.map(|_| &body);
        let status = nobody
            .send_request(method, &path, body, &[])
            .unwrap()
            .status;
        match route.access {
            // A word that was never given out opens nothing.
            RouteAccess::Open if path.starts_with("/api/actions/") => {
                assert_eq!(status, 404, "{path}")
            }
            RouteAccess::Open => assert_eq!(status, 200, "{path}"),
            RouteAccess::Read | RouteAccess::Person | RouteAccess::Agent => {
                assert_eq!(status, 401, "{path}")
            }
        }
    }
    let statuses: Vec<u16> = (0..40)
        .map(|_| {
            wrong
                .send_request("GET", "/api/stats", None, &[])
                .unwrap()
                .status
        })
        .collect();
    assert!(statuses[..10].iter().all(|it| *it == 401), "{statuses:?}");
    assert!(
        statuses[30..].contains(&429),
        "guesses are not slowed down: {statuses:?}"
    );
    // Whoever has the token is not kept out by them.
    assert_eq!(world.get("/api/stats").status, 200);
}

#[test]
fn an_agent_reads_and_reports_and_does_nothing_of_a_person() {
    let world = World::new();
    let agent = world.with_token(AGENT_TOKEN);
    for route in ROUTES.iter().filter(|it| it.access == RouteAccess::Person) {
        let path = route
            .path
            .replace(['{', '}'], "")
            .replace("kind", "thinking");
        let answer = agent
            .send_request(route.method.name(), &path, Some(&json!({})), &[])
            .unwrap();
        assert_eq!(answer.status, 403, "{path}");
        assert_eq!(answer.json()["error"]["code"], "needs_person", "{path}");
    }
    assert_eq!(
        agent
            .send_request("GET", "/api/tasks", None, &[])
            .unwrap()
            .status,
        200
    );
    let session = agent
        .send_request("GET", "/api/session", None, &[])
        .unwrap()
        .json();
    assert_eq!(
        (session["role"].clone(), session["taskId"].clone()),
        (json!("agent"), json!("task_agent"))
    );
    let person = world.post("/api/agent/done", &json!({}));
    assert_eq!(refusal(&person), (403, "needs_agent".into()));
}

/// An agent reads its own task and those that it depends on, over every route, and by the tools too.
#[test]
fn an_agent_reads_its_own_task_and_those_it_depends_on() {
    let world = World::new();
    world.job_service.put_running("task_before");
    world.job_service.put_running("task_other");
    let mut states = JobMachine::sample_states().into_iter();
    let (_, mut job) = states.find(|(name, _)| *name == "running").unwrap();
    job.depends_on = vec!["task_before".into()];
    world.job_service.put("task_agent", &job);
    let (_, reviewed) = JobMachine::sample_states()
        .into_iter()
        .find(|(_, job)| job.open_review().is_some())
        .unwrap();
    world.job_service.put("task_reviewed", &reviewed);
    let review = reviewed.open_review().unwrap().id.clone();
    let agent = world.with_token(AGENT_TOKEN);
    let ask = |path: &str| agent.send_request("GET", path, None, &[]).unwrap();
    let of_task = ROUTES.iter().filter(|route| {
        route.access == RouteAccess::Read && route.path.starts_with("/api/tasks/{id}")
    });
    for route in of_task.filter(|route| route.operation != Operation::TaskEvents) {
        let at = |task: &str| {
            let path = route.path.replace("{id}", task).replace("{path}", "a.md");
            ask(&path)
        };
        assert_eq!(refusal(&at("task_other")), (404, "unknown_id".into()));
        for task in ["task_agent", "task_before"] {
            let known = at(task);
            // No app and no such file: of this task all the same.
            let good = known.status == 200
                || !known.json()["error"]["message"]
                    .as_str()
                    .unwrap_or_default()
                    .contains("no task");
            assert!(good, "{} of {task}: {}", route.path, known.json());
        }
    }
    assert_eq!(ask("/api/tasks/task_other/events").status, 404);
    for path in [
        format!("/api/reviews/{review}"),
        format!("/api/reviews/{review}/diff"),
    ] {
        assert_eq!(refusal(&ask(&path)), (404, "unknown_id".into()), "{path}");
    }
    let listed = ask("/api/tasks?limit=1").json();
    let ids = |page: &Value, key: &str| -> Vec<String> {
        let items = page["items"].as_array().unwrap();
        items
            .iter()
            .map(|it| it[key].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(listed["items"].as_array().unwrap().len(), 1);
    let mut all = ids(&ask("/api/tasks").json(), "id");
    all.sort();
    assert_eq!(all, ["task_agent", "task_before"]);
    assert_eq!(
        ids(&ask("/api/inbox").json(), "taskId"),
        Vec::<String>::new()
    );
    let live = ask("/api/agents").json();
    let live = live["live"].as_array().unwrap().iter();
    assert!(
        live.clone().all(|it| it["taskId"] != "task_other"),
        "{live:?}"
    );
    for path in [
        "/metrics",
        "/api/stats",
        "/api/permission-rules",
        "/api/workspaces",
    ] {
        assert_eq!(refusal(&ask(path)), (403, "needs_person".into()), "{path}");
    }
    // By the tools: the same routes, with the same rights.
    let (good, told) = called(&agent, "task_list", json!({}));
    assert!(good && !told.to_string().contains("task_other"), "{told}");
    // Events of other tasks are not sent.
    let mut heard = Vec::new();
    let streamed = agent.stream_events("/api/events", Some(0), |name, _, data| {
        let data: Value = serde_json::from_str(data).unwrap_or_default();
        if name != "hello" {
            heard.push(data["taskId"].as_str().unwrap_or_default().to_owned());
        } else {
            world
                .job_service
                .decide("task_other", Command::Pause)
                .unwrap();
            world
                .job_service
                .decide("task_agent", Command::Pause)
                .unwrap();
        }
        heard.last().is_none_or(|it| it != "task_agent")
    });
    assert!(streamed.unwrap().is_none());
    assert!(!heard.contains(&"task_other".to_owned()), "{heard:?}");
}

/// Browsers hold the cookies of all ports of a host in one jar.
#[test]
fn two_servers_on_one_host_do_not_sign_each_other_out() {
    let worlds = [World::new(), World::new()];
    let mut jar: BTreeMap<String, String> = BTreeMap::new();
    for world in &worlds {
        let body = json!({ "token": world.token() });
        let signed = world
            .person()
            .send_request("POST", "/api/session", Some(&body), &[]);
        let signed = signed.unwrap();
        let cookie = signed.header("set-cookie").unwrap();
        let (name, value) = cookie.split(';').next().unwrap().split_once('=').unwrap();
        jar.insert(name.to_owned(), value.to_owned());
    }
    let pairs: Vec<String> = jar
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    for world in &worlds {
        let request = format!(
            "GET /api/stats HTTP/1.1\r\nHost: {}\r\nCookie: {}\r\nConnection: close\r\n\r\n",
            host(world),
            pairs.join("; ")
        );
        assert_eq!(raw(world, &request).0, 200, "{:?}", jar.keys());
    }
}

#[test]
fn foreign_names_and_pages_are_refused() {
    let world = World::new();
    let token = world.token();
    let ask = |host: &str, more: &str| {
        let text = format!(
            "GET /api/stats HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n{more}\r\n"
        );
        raw(&world, &text).0
    };
    let own = host(&world);
    assert_eq!(ask(own, ""), 200);
    assert_eq!(ask("evil.example", ""), 403);
    assert_eq!(ask(&own.replace("127.0.0.1", "rebound.example"), ""), 403);
    assert_eq!(ask(own, "Origin: http://evil.example\r\n"), 403);
    assert_eq!(ask(own, "Origin: null\r\n"), 403);
    assert_eq!(ask(own, &format!("Origin: http://{own}\r\n")), 200);
    assert_eq!(ask(own, "Sec-Fetch-Site: cross-site\r\n"), 403);
    // Programs on the way may believe the first, and this one the last.
    assert_eq!(ask(own, &format!("Host: {own}\r\n")), 400);
    assert_eq!(ask(own, "Host: evil.example\r\n"), 400);
    let target = |named: &str| {
        let text = format!(
            "GET http://{named}/api/stats HTTP/1.1\r\nHost: {own}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
        );
        raw(&world, &text).0
    };
    assert_eq!((target("evil.example"), target(own)), (400, 200));
    // Health too: a foreign page learns nothing.
    let text = "GET /healthz HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n";
    assert_eq!(raw(&world, text).0, 403);
}

#[test]
fn a_browser_signs_in_once_by_its_link() {
    let world = World::new();
    let path = world.link.strip_prefix(&world.url).unwrap();
    let get = |path: &str, cookie: &str| {
        let own = host(&world);
        raw(
            &world,
            &format!(
                "GET {path} HTTP/1.1\r\nHost: {own}\r\nCookie: {cookie}\r\nConnection: close\r\n\r\n"
            ),
        )
    };
    let (status, text) = get(path, "");
    assert_eq!(status, 303);
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("set-cookie: "))
        .expect("a cookie");
    assert!(
        line.contains("HttpOnly") && line.contains("SameSite=Strict"),
        "{line}"
    );
    let cookie = line.split(';').next().unwrap();
    assert_eq!(get("/api/stats", cookie).0, 200);
    assert_eq!(get("/api/stats", &cookie[..cookie.len() - 2]).0, 401);
    let (status, text) = get(path, "");
    assert_eq!(status, 303);
    assert!(
        text.contains("location: /signin?used=1") && !text.contains("set-cookie"),
        "{text}"
    );
}

#[test]
fn bodies_that_are_too_big_no_json_or_odd_are_refused() {
    let world = World::new();
    let token = world.token();
    let own = host(&world).to_owned();
    let post = |kind: &str, body: &str, length: usize| {
        let head = format!(
            "POST /api/tasks HTTP/1.1\r\nHost: {own}\r\nAuthorization: Bearer {token}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
        );
        raw(&world, &format!("{head}{body}")).0
    };
    let json = "application/json";
    assert_eq!(post(json, "", 5 << 20), 413);
    assert_eq!(post(json, &"x".repeat(2 << 20), 2 << 20), 413);
    assert_eq!(post("text/plain", "{}", 2), 415);
    assert_eq!(post(json, "{", 1), 400);
    assert_eq!(post(json, "[1]", 3), 400);
    assert_eq!(post(json, "{\"title\":1}", 11), 400);
    assert_eq!(post(json, "{\"odd\":1}", 9), 400);
    let chunks = format!(
        "POST /api/tasks HTTP/1.1\r\nHost: {own}\r\nAuthorization: Bearer {token}\r\nContent-Type: {json}\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n200000\r\n{}\r\n0\r\n\r\n",
        "x".repeat(0x20_0000)
    );
    assert_eq!(raw(&world, &chunks).0, 413);
    assert_eq!(
        raw(
            &world,
            &format!(
                "GET /{} HTTP/1.1\r\nHost: {own}\r\n\r\n",
                "a".repeat(100_000)
            )
        )
        .0 / 100,
        4
    );
    assert_eq!(raw(&world, "nonsense\r\n\r\n").0, 400);
    let deep = format!("{}{}", "[".repeat(50_000), "]".repeat(50_000));
    assert_eq!(post(json, &deep, deep.len()), 400);
    assert_eq!(world.get("/api/stats").status, 200);
}

#[test]
fn a_client_that_dawdles_is_cut_off_and_bothers_nobody() {
    let world = World::new();
    let own = host(&world).to_owned();
    let begun = Instant::now();
    // Some say nothing more, one sends a byte of its head a second, one a byte of its body.
    let mut silent: Vec<TcpStream> = (0..50).map(|_| TcpStream::connect(&own).unwrap()).collect();
    let head = format!("POST /api/tasks HTTP/1.1\r\nHost: {own}\r\n");
    for stream in &mut silent {
        stream
            .write_all(format!("{head}X-Slow: ").as_bytes())
            .unwrap();
    }
    let token = world.token();
    let body = format!(
        "{head}Authorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
    );
    let trickles = [format!("{head}X-Slow: "), body].map(|begin| {
        let mut stream = TcpStream::connect(&own).unwrap();
        stream.write_all(begin.as_bytes()).unwrap();
        std::thread::spawn(move || until_cut_off(stream))
    });
    for _ in 0..10 {
        let asked = Instant::now();
        assert_eq!(world.get("/api/stats").status, 200);
        assert!(asked.elapsed() < Duration::from_secs(5));
    }
    for trickle in trickles {
        let sent = trickle.join().unwrap();
        assert!(sent <= 20, "{sent} bytes, one a second");
    }
    for mut stream in silent {
        stream
            .set_read_timeout(Some(Duration::from_secs(30)))
            .unwrap();
        // The server closes it; with or without a word.
        let _ = stream.read_to_end(&mut Vec::new());
    }
    assert!(
        begun.elapsed() < Duration::from_secs(40),
        "they were never cut off"
    );
    assert_eq!(world.get("/api/stats").status, 200);
}

/// Sends a byte a second until the server answers or closes; how many it took.
fn until_cut_off(mut stream: TcpStream) -> usize {
    let second = Duration::from_secs(1);
    stream.set_read_timeout(Some(second)).unwrap();
    for sent in 0..60 {
        let heard = stream
            .write_all(b"a")
            .and_then(|()| stream.read(&mut [0; 64]));
        match heard {
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Ok(_) | Err(_) => return sent,
        }
    }
    60
}

/// Two thousand listeners: served, or asked to come back; and the interface responds all the while.
#[test]
fn thousands_of_listeners() {
    let world = World::new();
    let (token, own) = (world.token(), host(&world).to_owned());
    let request =
        format!("GET /api/events HTTP/1.1\r\nHost: {own}\r\nAuthorization: Bearer {token}\r\n\r\n");
    let (mut served, mut refused) = (Vec::new(), 0);
    let before = memory_kib();
    for index in 0..2_000 {
        let Ok(mut stream) = TcpStream::connect(&own) else {
            // This process has no more descriptors: the server has met as many as it can here.
            break;
        };
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut head = [0; 256];
        let count = stream.read(&mut head).unwrap_or(0);
        let head = String::from_utf8_lossy(&head[..count]).into_owned();
        match head.get(9..12) {
            Some("200") => served.push(stream),
            Some("503" | "429") => {
                assert!(head.to_lowercase().contains("retry-after"), "{head}");
                refused += 1;
            }
            _ => panic!("listener {index}: {head:?}"),
        }
        if index % 250 == 0 {
            let begun = Instant::now();
            let client = bowline_server::client::ApiClient::for_data_folder(
                &world.folder.path().join("data"),
                bowline_words::Lang::En,
            );
            let answer = client
                .unwrap()
                .send_request("GET", "/healthz", None, &[])
                .unwrap();
            assert_eq!(answer.status, 200);
            assert!(begun.elapsed() < Duration::from_secs(5));
        }
    }
    let count = served.len();
    assert!(count >= 100, "{count} served, {refused} refused");
    // Both ends of every connection are in this process.
    let grown = memory_kib().saturating_sub(before);
    assert!(grown < 100 << 10, "{grown} KiB for {count} listeners");
    // Connected listeners get events, and one that leaves makes room.
    world.post("/api/tasks", &json!({ "title": "Tea" }));
    let told = served.iter_mut().take(50).all(|stream| {
        let mut heard = Vec::new();
        let mut piece = [0; 512];
        while !String::from_utf8_lossy(&heard).contains("data:") {
            match stream.read(&mut piece) {
                Ok(read) if read > 0 => heard.extend_from_slice(&piece[..read]),
                Ok(_) | Err(_) => return false,
            }
        }
        true
    });
    assert!(told, "somebody was told nothing");
    drop(served);
    let left = bowline_test_support::wait_until(Duration::from_secs(30), || {
        raw(
            &world,
            &request
                .replace("/api/events", "/api/stats")
                .replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"),
        )
        .0 == 200
    });
    assert!(left, "nobody made room");
}

/// What this process holds.
fn memory_kib() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|rest| rest.trim().strip_suffix(" kB"));
    kib.unwrap().trim().parse().unwrap()
}

#[test]
fn what_is_not_there_and_the_wrong_method_are_said_in_json() {
    let world = World::new();
    let lost = world.get("/api/nothing");
    assert_eq!(refusal(&lost), (404, "no_route".into()));
    let wrong = world
        .person()
        .send_request("PUT", "/api/tasks", Some(&json!({})), &[])
        .unwrap();
    assert_eq!(refusal(&wrong), (405, "wrong_method".into()));
    assert_eq!(wrong.header("allow"), Some("GET, POST"));
    for route in ROUTES
        .iter()
        .filter(|route| route.path.contains("{id}") && route.access != RouteAccess::Agent)
    {
        let path = route
            .path
            .replace("{id}", "task_none")
            .replace("{kind}", "thinking")
            .replace("{path}", "x")
            .replace("{verb}", "start");
        let body = match route.operation {
            Operation::RequestTaskChanges | Operation::RequestReviewChanges => {
                json!({"feedback": "x"})
            }
            Operation::RestoreTask => json!({"checkpointId": "cp_none"}),
            Operation::SayToAgent => json!({"text": "x"}),
            Operation::AnswerQuestion => json!({"answer": "x"}),
            Operation::ProvideDependency => json!({"value": "x"}),
            _ => json!({}),
        };
        let body = Some(&body).filter(|_| route.method != HttpMethod::Get);
        let answer = world
            .person()
            .send_request(route.method.name(), &path, body, &[])
            .unwrap();
        assert_eq!(
            answer.status,
            404,
            "{} {path}: {}",
            route.method.name(),
            answer.json()
        );
        assert_eq!(answer.json()["error"]["code"], "unknown_id", "{path}");
    }
}

/// What is secret is in no answer and in no file but its own.
#[test]
fn the_token_is_nowhere_but_in_its_file() {
    let world = World::new();
    let token = world.token();
    use std::os::unix::fs::PermissionsExt as _;
    let data = world.folder.path().join("data");
    let mode = |name: &str| {
        std::fs::metadata(data.join(name))
            .unwrap()
            .permissions()
            .mode()
            & 0o777
    };
    assert_eq!(
        (mode("token"), mode("sock"), mode("")),
        (0o600, 0o600, 0o700)
    );
    for route in ROUTES.iter().filter(|route| {
        route.method == HttpMethod::Get
            && !route.path.contains('{')
            && !route.path.ends_with("events")
    }) {
        let text = String::from_utf8_lossy(&world.get(route.path).body).into_owned();
        assert!(!text.contains(&token), "{}", route.path);
    }
    for entry in std::fs::read_dir(&data).unwrap().flatten() {
        let bytes = std::fs::read(entry.path()).unwrap_or_default();
        let there = String::from_utf8_lossy(&bytes).contains(&token);
        assert_eq!(
            there,
            entry.file_name() == "token",
            "{:?}",
            entry.file_name()
        );
    }
}

/// A child of an agent that found the person's token is an agent still, whatever it asks for.
#[test]
fn on_the_socket_it_counts_who_asks() {
    let world = World::new();
    let socket = world.folder.path().join("data/sock");
    let ask = |variables: &[(&str, &str)], token: &str, what: &str| -> (u16, Value) {
        let script = "import socket,sys\ns=socket.socket(socket.AF_UNIX);s.connect(sys.argv[1])\ns.sendall((sys.argv[3]+' HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n'+sys.argv[2]+'Content-Type: application/json\\r\\nContent-Length: 2\\r\\n\\r\\n{}').encode())\nd=b''\nwhile True:\n  p=s.recv(9999)\n  if not p: break\n  d+=p\nsys.stdout.write(d.decode())";
        let mut command = std::process::Command::new("python3");
        command
            .args(["-c", script])
            .arg(&socket)
            .args([token, what])
            .env_clear()
            .envs(variables.iter().copied());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        let out = command.output().unwrap();
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        let status = text.get(9..12).and_then(|it| it.parse().ok());
        let body = text.split_once("\r\n\r\n").map(|(_, body)| body);
        let body = body.and_then(|body| serde_json::from_str(body).ok());
        (
            status.unwrap_or_else(|| panic!("{out:?}")),
            body.unwrap_or_default(),
        )
    };
    let role = |variables: &[(&str, &str)], token: &str| {
        ask(variables, token, "GET /api/session").1["role"].clone()
    };
    let bearer = format!("Authorization: Bearer {}\r\n", world.token());
    assert_eq!(role(&[("BOWLINE_ACTOR", "person")], ""), "person");
    assert_eq!(role(&[], ""), "agent");
    assert_eq!(role(&[], &bearer), "person");
    let agent: &[(&str, &str)] = &[("CLAUDECODE", "1"), ("BOWLINE_ACTOR", "person")];
    assert_eq!(role(&agent[..1], &bearer), "agent");
    assert_eq!(role(agent, &bearer), "agent");
    // It reads its own task and what that one depends on; nothing of tasks where none is found.
    world.job_service.put_running("task_before");
    world.job_service.put_running("task_other");
    let mut states = JobMachine::sample_states().into_iter();
    let (_, mut job) = states.find(|(name, _)| *name == "running").unwrap();
    job.depends_on = vec!["task_before".into()];
    world.job_service.put("task_agent", &job);
    let own: &[(&str, &str)] = &[("BOWLINE_ATTEMPT", "task_agent-1")];
    for (variables, token) in [(own, ""), (own, bearer.as_str()), (&agent[..1], "")] {
        let reads = |what: &str| ask(variables, token, &format!("GET /api/{what}"));
        let found = variables == own;
        for (task, wanted) in [("agent", found), ("before", found), ("other", false)] {
            let status = reads(&format!("tasks/task_{task}")).0;
            assert_eq!(
                status,
                if wanted { 200 } else { 404 },
                "{task} {variables:?}"
            );
        }
        let listed = reads("tasks").1["items"].as_array().unwrap().len();
        assert_eq!(listed, if found { 2 } else { 0 });
        assert_eq!(reads("stats").0, 403);
        assert_eq!(reads("nodes").0, 200);
        assert_eq!(reads("workspaces").0, 200);
    }
    assert_eq!(ask(&[], "", "GET /api/tasks/task_other").0, 200);
    // Every sixth of a person's verbs, so that it does not take all day; over TCP all of them are tried above.
    for route in ROUTES
        .iter()
        .filter(|it| it.access == RouteAccess::Person)
        .step_by(6)
    {
        let path = route
            .path
            .replace(['{', '}'], "")
            .replace("kind", "thinking");
        let (status, body) = ask(agent, &bearer, &format!("{} {path}", route.method.name()));
        assert_eq!(status, 403, "{path}");
        assert_eq!(body["error"]["code"], "needs_person", "{path}");
    }
}
