//! A connection whose both ends are in this process, and the folder that is worked in.

use bowline_engine::Context;
use bowline_formats::rest::routes::RouteRequest;
use bowline_mcp::{CallControl, SessionRole, TaskClient, ToolRefusal, ToolSession, serve_streams};
use bowline_words::Lang;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines};
use tokio::runtime::Runtime;

/// How long an answer may take.
const BOUND: Duration = Duration::from_secs(20);

/// A fake task server that records requests and sends prepared responses.
#[derive(Default)]
pub(crate) struct Server {
    pub(crate) asked: Mutex<Vec<(String, String, Value)>>,
    pub(crate) of_task: bool,
}

/// A task as a server sends it, with a key that we do not know.
fn task() -> Value {
    json!({
        "id": "task_1", "title": "T", "status": "review", "description": "long", "currentPhase": null, "totalPhases": 4,
        "progress": 0, "createdAt": "", "updatedAt": "", "allowedActions": [], "priority": "normal", "dependsOn": [],
        "waitingFor": [], "needsYou": true, "shareWorkspace": false, "archived": false, "tokensUsed": 0, "version": 1,
        "moves": 1, "newer": { "key": 1 },
        "agentState": { "status": "waiting_review", "alive": false, "tokensUsed": 0 },
    })
}

impl TaskClient for Server {
    fn send_request(&self, request: &RouteRequest) -> Result<Value, ToolRefusal> {
        let path = request.path.as_str();
        let asked = (
            request.route.method.name().into(),
            path.into(),
            request.body.clone().unwrap_or_default(),
        );
        self.asked.lock().unwrap().push(asked);
        let question = |id: &str, status: &str| {
            json!({
                "id": id, "taskId": "task_1", "question": "Which?", "options": [], "required": true, "status": status,
                "newer": 1,
            })
        };
        match path {
            _ if path.starts_with("/api/tasks?") => {
                Ok(json!({ "items": [task()], "nextCursor": null }))
            }
            "/api/tasks/task_1/questions" => Ok(json!({
                "items": [question("q_1", "answered"), question("q_2", "pending")],
            })),
            "/api/tasks/task_gone" => Err(ToolRefusal {
                code: "unknown_id".into(),
                message: "there is no task 'task_gone'".into(),
                hint: "look at the list for the ids there are".into(),
            }),
            _ => Ok(json!({ "id": "task_1", "status": "pending" })),
        }
    }

    fn is_of_task(&self) -> bool {
        self.of_task
    }
}

/// A client's end.
pub(crate) struct Wire {
    runtime: Runtime,
    to: DuplexStream,
    from: Lines<BufReader<DuplexStream>>,
    number: u64,
    /// What came unasked.
    pub(crate) heard: Vec<Value>,
    pub(crate) server: Arc<Server>,
    pub(crate) folder: PathBuf,
    _kept: Option<TempDir>,
}

impl Wire {
    /// A connection in a new folder; nothing is said yet.
    pub(crate) fn silent(role: SessionRole, server: Server) -> Wire {
        Wire::open(role, server, false)
    }

    /// Another client in the same folder.
    pub(crate) fn beside(&self) -> Wire {
        Wire::at(
            SessionRole::Agent,
            Server::default(),
            false,
            self.folder.clone(),
            None,
        )
        .greeted()
    }

    fn open(role: SessionRole, server: Server, confined: bool) -> Wire {
        let kept = TempDir::new().unwrap();
        let folder = kept.path().canonicalize().unwrap();
        Wire::at(role, server, confined, folder, Some(kept))
    }

    fn at(
        role: SessionRole,
        server: Server,
        confined: bool,
        folder: PathBuf,
        kept: Option<TempDir>,
    ) -> Wire {
        let server = Arc::new(server);
        let session = ToolSession {
            context: Context::from_environment("test"),
            folder: folder.clone(),
            confined,
            files: true,
            lang: Lang::En,
            role,
            tasks: Arc::clone(&server) as Arc<dyn TaskClient>,
            call: CallControl::default(),
        };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let (to, input) = tokio::io::duplex(1 << 20);
        let (output, from) = tokio::io::duplex(1 << 20);
        runtime.spawn(async move {
            let _ = serve_streams(session, input, output).await;
        });
        Wire {
            runtime,
            to,
            from: BufReader::new(from).lines(),
            number: 0,
            heard: Vec::new(),
            server,
            folder,
            _kept: kept,
        }
    }

    /// The same, after the handshake of the older generation.
    pub(crate) fn new(role: SessionRole) -> Wire {
        Wire::with(role, Server::default())
    }

    pub(crate) fn with(role: SessionRole, server: Server) -> Wire {
        Wire::silent(role, server).greeted()
    }

    /// One whose folder may not be left.
    pub(crate) fn confined() -> Wire {
        Wire::open(SessionRole::Agent, Server::default(), true).greeted()
    }

    fn greeted(mut self) -> Wire {
        let wire = &mut self;
        let told = wire.ask(
            "initialize",
            json!({
                "protocolVersion": "2025-11-25", "capabilities": {},
                "clientInfo": { "name": "test", "version": "1" },
            }),
        );
        assert_eq!(told["result"]["protocolVersion"], "2025-11-25", "{told}");
        wire.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string());
        self
    }

    /// A line as it is.
    pub(crate) fn send(&mut self, line: &str) {
        let line = format!("{line}\n");
        let sent = self.to.write_all(line.as_bytes());
        self.runtime.block_on(sent).unwrap();
    }

    /// The next line.
    pub(crate) fn hear(&mut self) -> Value {
        let line = self.runtime.block_on(async {
            let line = tokio::time::timeout(BOUND, self.from.next_line()).await;
            line.unwrap().unwrap().unwrap()
        });
        serde_json::from_str(&line).unwrap()
    }

    /// A request, and its answer; what comes unasked meanwhile is kept.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        self.number += 1;
        let id = json!(self.number);
        self.ask_as(&id, method, params)
    }

    pub(crate) fn ask_as(&mut self, id: &Value, method: &str, params: Value) -> Value {
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.send(&request.to_string());
        loop {
            let told = self.hear();
            if told["id"] == *id {
                return told;
            }
            self.heard.push(told);
        }
    }

    /// A tool: whether it did what it was asked to, and what it says.
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> (bool, Value) {
        let told = self.ask(
            "tools/call",
            json!({ "name": tool, "arguments": arguments }),
        );
        let result = &told["result"];
        let text = result["content"][0]["text"].as_str();
        let text = text.unwrap_or_else(|| panic!("{tool}: {told}"));
        let body = serde_json::from_str(text).unwrap();
        (result["isError"] != true, body)
    }

    /// A tool that does what it is asked to.
    pub(crate) fn done(&mut self, tool: &str, arguments: Value) -> Value {
        let (good, body) = self.call(tool, arguments);
        assert!(good, "{tool}: {body}");
        body
    }

    /// A tool that refuses, with a code; gives the error.
    pub(crate) fn refused(&mut self, tool: &str, arguments: Value, code: &str) -> Value {
        let (good, body) = self.call(tool, arguments);
        let error = &body["error"];
        assert!(!good && error["code"] == code, "{tool}: {body}");
        let told = |name: &str| error[name].as_str().is_some_and(|text| !text.is_empty());
        assert!(told("message") && told("hint"), "{tool}: {body}");
        error.clone()
    }

    /// The next notification of a method, kept or to come.
    pub(crate) fn notified(&mut self, method: &str) -> Value {
        loop {
            let kept = self.heard.iter().position(|told| told["method"] == method);
            if let Some(kept) = kept {
                return self.heard.remove(kept);
            }
            let told = self.hear();
            self.heard.push(told);
        }
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}
