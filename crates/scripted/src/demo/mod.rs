//! `bowline demo`: a task server with scripted agents, without a key or a network.

mod garden;

use bowline_engine::Context;
use bowline_engine::formats::rest::routes::{
    PageQuery, TaskQuery, answer_question, approve_review, create_task, get_agent, get_artifact,
    get_inbox, list_tasks, list_transitions, provide_dependency, request_review_changes,
};
use bowline_engine::formats::rest::{
    AnswerRequest, Approval, ChangeRequest, InboxKind, NewTask, ProvideRequest, sent_name,
};
use bowline_engine::formats::settings::{AgentSettings, BowlineSettings};
use bowline_engine::machines::job::{Command, Priority, TaskStatus};
use bowline_runner::jobs::{DESIGN, PLANNING};
use bowline_server::client::{ApiClient, RequestError};
use bowline_server::job_service::{JobRequest, SubmittedRequest};
use bowline_server::jobs::{JobQuery, Jobs, JobsSetup};
use bowline_server::{ADDRESS_FILE, ServerOptions, ServerStopHandle};
use bowline_words::Lang;
use bowline_words::message::{Cause, ServeTrouble, TaskOutput};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Port of the demo, if it is free.
const PORT: u16 = 7421;
/// Time to wait until the address of an earlier run is free.
const ADDRESS_TIMEOUT: Duration = Duration::from_secs(3);
/// Time that `--check` waits for the next expected event.
const EVENT_TIMEOUT: Duration = Duration::from_secs(60);
/// Interval between two polls.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Returns, by phase, the file into which the shop's agent writes what a review asked for.
fn rework_files() -> [String; 4] {
    let last = |folder: &str, names: &[&str]| {
        let name = names.last().copied().unwrap_or_default();
        format!("docs/{folder}/{name}.md")
    };
    [
        last("planning", &PLANNING),
        last("design", &DESIGN),
        "src/main.txt".to_owned(),
        "docs/testing.md".to_owned(),
    ]
}

/// Builds the scenario of the shop's agent: a question, a rate limit, a phase that fails its check
/// at first, a needed value, four phases. Changes that a review asks for are made as often as they
/// are asked for.
fn shop_scenario() -> String {
    let mut text = String::new();
    let mut step = |line: &str| {
        let _ = writeln!(text, "[[step]]\n{line}\n");
    };
    let page = |folder: &str, name: &str| {
        let line =
            format!("{name}: what the tea shop needs here, in whole sentences that say why. ");
        let body = line.repeat(10);
        format!(
            "write = {{ path = \"docs/{folder}/{name}.md\", text = \"\"\"# {name}\n\n{body}\n\"\"\" }}"
        )
    };
    let files = rework_files();
    let reviewed = |number: usize, name: &str, until: &str| {
        let phase = format!("phase = {{ number = {number}, name = \"{name}\" }}");
        let path = &files[number - 1];
        format!(
            "{phase}\n\n[[step]]\nloop = {{ on = [\"REVIEW_REJECTED\", \"REWORK\"], until = \"{until}\", step = [\n\
             {{ say = \"I do what the review asks for.\" }},\n{{ sleep_ms = 500 }},\n\
             {{ write = {{ path = \"{path}\", append = true, text = \"\"\"\n## SubmittedRequest for in review\n\n```\n{{input}}\n```\n\"\"\" }} }},\n\
             {{ {phase} }},\n] }}"
        )
    };
    step("say = \"I look at what is wanted.\"");
    step(
        "ask = { question = \"Which tea does the shop sell first?\", category = \"choice\", options = [\"green\", \"black\"] }",
    );
    step("wait = \"question_answer\"");
    step("say = \"So it is {input} tea.\"");
    step("limit = { retry_after = 2 }");
    for (index, name) in PLANNING.iter().enumerate() {
        step(&format!(
            "progress = {{ step = {}, of = 9, name = \"{name}\" }}",
            index + 1
        ));
        // The last page is written only after the check of the phase has missed it.
        if index < 8 {
            step(&page("planning", name));
        }
        step("sleep_ms = 60");
    }
    step("phase = { number = 1, name = \"Planning\" }");
    step("wait = \"REWORK\"");
    step(&page("planning", PLANNING[8]));
    step(&reviewed(1, "Planning", "PHASE_START"));
    for (index, name) in DESIGN.iter().enumerate() {
        step(&format!(
            "progress = {{ step = {}, of = 5, name = \"{name}\" }}",
            index + 1
        ));
        step(&page("design", name));
        step("sleep_ms = 60");
    }
    step(&reviewed(2, "Design", "PHASE_START"));
    step(
        "need = { type = \"api_key\", name = \"PAYMENT_KEY\", description = \"the payment service\" }",
    );
    step("wait = \"DEPENDENCY_PROVIDED\"");
    step("write = { path = \"src/main.txt\", text = \"a shop\\n\" }");
    step(&reviewed(3, "Development", "PHASE_START"));
    step("say = \"All tests pass.\"");
    step("write = { path = \"docs/testing.md\", text = \"# Testing\\n\\nAll tests pass.\\n\" }");
    step(&reviewed(4, "Testing", "NEVER"));
    text
}

/// Scenario of a second, small task.
const NOTE: &str = "[[step]]\nsay = \"A note.\"\n\n[[step]]\nwrite = { path = \"note.md\", text = \"# Note\\n\" }\n\n\
[[step]]\ndone = { summary = \"a note\" }\n\n[[step]]\nwait = \"NEVER\"\n";

/// Where the demo keeps its data, and how it ends.
#[derive(Debug, Clone)]
pub struct DemoOptions {
    /// Address to listen on; `None` means the last one of the folder, else the demo's own port.
    pub listen: Option<String>,
    /// Folder for all data; `None` means a temporary one.
    pub folder: Option<PathBuf>,
    /// Resume a killed demo, and leave nothing behind.
    pub again: bool,
    /// Do what a person would do, then end.
    pub check: bool,
}

/// Prints the lines of the demo in a language.
pub trait DemoOutput: Clone + Send + 'static {
    fn lang(&self) -> Lang;
    /// Prints a line of data on stdout.
    fn print_data(&self, line: &str);
    /// Prints a message on stderr.
    fn print_message(&self, line: &str);
}

/// Starts the demo on a server that answers requests: its address, a sign-in link, its stopper.
pub type StartDemo = Box<dyn FnOnce(&str, &str, ServerStopHandle)>;
/// Ends the agents of the demo after the last answer of the server.
pub type EndDemo = Box<dyn FnOnce(&Jobs)>;

/// Runs the demo on the server that `serve` starts and runs until it is stopped. Returns why the
/// demo failed, if it did; an error means that the server failed.
pub fn run_demo<F: From<ServeTrouble>>(
    context: &Context,
    output: &impl DemoOutput,
    demo: &DemoOptions,
    serve: impl FnOnce(&ServerOptions, &JobsSetup, StartDemo, EndDemo) -> Result<(), F>,
) -> Result<Option<String>, F> {
    let (options, setup) = prepare_demo(demo)?;
    let data = options.data.clone();
    let garden = options.workspaces.first().cloned();
    let gardening = garden.map(|folder| {
        let context = context.clone();
        let place = data.parent().unwrap_or(&data).to_owned();
        std::thread::spawn(move || garden::run_plan(&context, &folder, &place))
    });
    let failed = Arc::new(Mutex::new(None));
    let outcome = Arc::clone(&failed);
    let (output, check) = (output.clone(), demo.check);
    // Without a folder to come back to, the agents are ended.
    let leaves = demo.folder.is_none() || demo.check || demo.again;
    let start = move |url: &str, link: &str, stopper: ServerStopHandle| {
        let (url, link) = (url.to_owned(), link.to_owned());
        std::thread::spawn(move || {
            let lang = output.lang();
            let client = ApiClient::for_data_folder(&data, lang);
            let token = bowline_server::read_secret(&data.join("token"));
            let result = client.map_err(|it| it.say(lang).0).and_then(|client| {
                let client = client.with_token(token.unwrap_or_default());
                play_demo(&output, &client, &url, &link, &data, check)
            });
            let result = result.and_then(|()| match gardening.filter(|_| check) {
                None => Ok(()),
                Some(work) => await_garden(&output, work),
            });
            if !check && result.is_ok() {
                let place = data.parent().unwrap_or(&data).to_owned();
                offer_to_kill(&output, &place);
                return;
            }
            *outcome.lock().unwrap_or_else(PoisonError::into_inner) = result.err();
            stopper.stop();
        });
    };
    let end = move |jobs: &Jobs| {
        if leaves {
            cancel_all_tasks(jobs)
        }
    };
    serve(&options, &setup, Box::new(start), Box::new(end))?;
    Ok(failed.lock().unwrap_or_else(PoisonError::into_inner).take())
}

/// Replaces this process at once when a person types `k`, and the same command resumes from what is
/// on disk. Nothing is cleaned up, as with `kill -9`.
fn offer_to_kill(output: &impl DemoOutput, place: &Path) {
    if !std::io::stdin().is_terminal() {
        return;
    }
    output.print_message(&TaskOutput::OfferToDie.say(output.lang()));
    let mut line = String::new();
    while std::io::stdin()
        .read_line(&mut line)
        .is_ok_and(|read| read > 0)
    {
        if line.trim() == "k" {
            let words = ["demo", "--again", "--dir"].map(OsString::from);
            let words = words.into_iter().chain([place.as_os_str().to_owned()]);
            let error = crate::agent::become_this_again(words);
            output.print_message(&error.to_string());
        }
        line.clear();
    }
}

/// Waits for the orchestration and reports that it is done.
fn await_garden(
    output: &impl DemoOutput,
    work: JoinHandle<Result<(), String>>,
) -> Result<(), String> {
    work.join().unwrap_or_else(|_| Err("the garden".into()))?;
    output.print_message(&format!("✓ {}", TaskOutput::GardenDone.say(output.lang())));
    Ok(())
}

/// Cancels every task of the demo and waits until its agents have ended.
fn cancel_all_tasks(jobs: &Jobs) {
    let ask = |request: JobRequest| {
        // A task that cannot be cancelled has no agent.
        let _ = jobs.submit(SubmittedRequest {
            key: None,
            version: None,
            request,
        });
    };
    let all = jobs
        .store()
        .list_jobs(&JobQuery::default())
        .unwrap_or_default();
    let began = Instant::now();
    loop {
        for row in jobs.store().open_jobs().unwrap_or_default() {
            if let Some(review) = row.job.open_review() {
                let (review, feedback) = (review.id.clone(), "the demo ends".to_owned());
                let comments = Vec::new();
                ask(JobRequest::RequestChanges {
                    review,
                    feedback,
                    comments,
                });
            }
            ask(JobRequest::Command(row.id.clone(), Command::Cancel));
        }
        // An agent may have asked for another review between the two requests.
        if !all.iter().any(|row| jobs.alive(row)) || began.elapsed() > EVENT_TIMEOUT {
            return;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Picks the address when none is given: the one this data folder was served at before, so that
/// open pages survive a kill, else the demo's own port. If that is taken, the system chooses one.
fn usual_address(data: &Path) -> SocketAddr {
    let recorded = std::fs::read_to_string(data.join(ADDRESS_FILE)).unwrap_or_default();
    let recorded = recorded.trim().trim_start_matches("http://").parse().ok();
    let usual: SocketAddr = recorded.unwrap_or((Ipv4Addr::LOCALHOST, PORT).into());
    let began = Instant::now();
    while TcpListener::bind(usual).is_err() {
        // A process that was just killed, or a lingering connection, may still hold the recorded
        // address.
        if recorded.is_none() || began.elapsed() > ADDRESS_TIMEOUT {
            return SocketAddr::new(usual.ip(), 0);
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    usual
}

fn prepare_demo(demo: &DemoOptions) -> Result<(ServerOptions, JobsSetup), ServeTrouble> {
    let place = match &demo.folder {
        Some(folder) => folder.clone(),
        None => std::env::temp_dir().join(format!("bowline-demo-{}", std::process::id())),
    };
    let write = |name: &str, text: &str| -> Result<PathBuf, ServeTrouble> {
        let path = place.join(name);
        std::fs::create_dir_all(&place)
            .and_then(|()| std::fs::write(&path, text))
            .map_err(|error| ServeTrouble::File {
                path: path.display().to_string(),
                cause: bowline_engine::words::system_cause(&error),
            })?;
        Ok(path)
    };
    let me = std::env::current_exe().map_err(|error| ServeTrouble::Store {
        cause: Cause::Other {
            text: error.to_string(),
        },
    })?;
    let agent = |file: PathBuf| AgentSettings {
        command: vec![
            me.display().to_string(),
            "scripted".into(),
            file.display().to_string(),
        ],
        ..AgentSettings::default()
    };
    let mut more = BowlineSettings::default();
    more.agent.insert(
        "shopkeeper".into(),
        agent(write("shop.toml", &shop_scenario())?),
    );
    more.agent
        .insert("clerk".into(), agent(write("note.toml", NOTE)?));
    let data = place.join("data");
    let listen = match &demo.listen {
        Some(address) => address.parse().map_err(|_| ServeTrouble::BadAddress {
            address: address.clone(),
        })?,
        None => usual_address(&data),
    };
    let options = ServerOptions {
        listen,
        data: data.clone(),
        hosts: Vec::new(),
        public_url: None,
        workspaces: vec![
            garden::write_plan(&place).map_err(|error| ServeTrouble::File {
                path: place.display().to_string(),
                cause: bowline_engine::words::system_cause(&error),
            })?,
        ],
    };
    let setup = JobsSetup {
        data,
        config: None,
        store: None,
        key: None,
        slots: None,
        more,
        start_empty: false,
    };
    Ok((options, setup))
}

/// Explains why a request failed.
fn failed(error: RequestError, lang: Lang) -> String {
    match error {
        RequestError::Refused { status, json, .. } => format!("{status} {json}"),
        RequestError::Trouble(trouble) => trouble.say(lang).0,
    }
}

/// Creates the tasks and prints what there is to see; with `check`, also does what a person would.
fn play_demo(
    output: &impl DemoOutput,
    client: &ApiClient,
    url: &str,
    link: &str,
    data: &Path,
    check: bool,
) -> Result<(), String> {
    let failed = |error| failed(error, output.lang());
    let tasks = || client.call(&list_tasks(&TaskQuery::default()));
    let known = tasks().map_err(failed)?.items;
    for task in &known {
        // After a kill all tasks are still there, and no agent was restarted.
        let agent = client.call(&get_agent(&task.id)).map_err(failed)?;
        let again = TaskOutput::FoundAgain {
            title: task.title.clone(),
            status: task.status.name().to_owned(),
            starts: u64::from(agent.attempt),
        };
        output.print_message(&format!("✓ {}", again.say(output.lang())));
    }
    if known.is_empty() {
        let new = |title: &str, task_type: &str, description: &str| NewTask {
            title: title.to_owned(),
            task_type: Some(task_type.to_owned()),
            description: description.to_owned(),
            ..NewTask::default()
        };
        let create = |task: NewTask| client.call(&create_task(&task)).map_err(failed);
        let shop = create(NewTask {
            agent: Some("shopkeeper".into()),
            priority: Priority::High,
            submit: true,
            ..new("A shop for tea", "create_app", "Sell tea, green and black.")
        })?;
        create(NewTask {
            agent: Some("clerk".into()),
            submit: true,
            ..new("A note about the shop", "custom", "One page.")
        })?;
        create(NewTask {
            depends_on: vec![shop.id],
            ..new("Tell the neighbours", "workflow", "When the shop is open.")
        })?;
    }
    output.print_data(&format!("listening on {url}"));
    let place = data.display();
    for line in [
        format!("{} {link}", TaskOutput::PageOnce.say(output.lang())),
        TaskOutput::OtherTerminal.say(output.lang()),
        format!("  bowline task --data {place} watch"),
        format!("  bowline task --data {place} inbox"),
        format!("  bowline task --data {place} answer TASK green"),
        format!("  echo tea-payment-key-1 | bowline task --data {place} provide TASK"),
        format!("  bowline task --data {place} approve TASK"),
        format!(
            "  bowline -C {} orchestrate status",
            data.parent().unwrap_or(data).join("garden").display()
        ),
        format!(
            "  kill -9 {}; bowline demo --dir {}",
            std::process::id(),
            data.parent().unwrap_or(data).display()
        ),
        TaskOutput::NothingLost.say(output.lang()),
    ] {
        output.print_message(&line);
    }
    if !check {
        return Ok(());
    }
    let began = Instant::now();
    let mut last = Instant::now();
    let (mut answers, mut values, mut approvals) = (0, 0, 0);
    let mut changes = 0;
    let wanted = |number: usize| format!("Say it in {number} words");
    loop {
        for item in client.call(&get_inbox()).map_err(failed)?.items {
            let id = item.id.as_str();
            let (request, count) = match item.kind {
                InboxKind::Question => {
                    let answer = "green".to_owned();
                    let request = answer_question(id, &AnswerRequest { answer });
                    (request, &mut answers)
                }
                InboxKind::Dependency => {
                    let value = "tea-payment-key-1".to_owned();
                    let request = provide_dependency(id, &ProvideRequest { value });
                    (request, &mut values)
                }
                // The first phase is sent back twice, every other once.
                InboxKind::Review if changes < approvals + 2 => {
                    let request = ChangeRequest {
                        feedback: wanted(changes),
                        comments: Vec::new(),
                    };
                    (request_review_changes(id, &request), &mut changes)
                }
                InboxKind::Review => {
                    let comment = Some("good".to_owned());
                    let request = approve_review(id, &Approval { comment });
                    (request, &mut approvals)
                }
                InboxKind::Permission | InboxKind::Task => {
                    return Err(format!("nobody expected {item:?}"));
                }
            };
            match client.call(&request) {
                Ok(_) => {
                    *count += 1;
                    last = Instant::now();
                    output.print_message(&format!("✓ {}", sent_name(&item.kind)));
                }
                // Somebody else, or a timer, was faster.
                Err(RequestError::Refused { .. }) => {}
                Err(error) => return Err(failed(error)),
            }
        }
        let tasks = tasks().map_err(failed)?.items;
        let of = |kind: &str| {
            let mut all = tasks.iter();
            let found = all.find(|it| it.task_type.as_deref() == Some(kind));
            found.ok_or_else(|| format!("there is no {kind}"))
        };
        let (shop, note) = (of("create_app")?, of("custom")?);
        if [shop.status, note.status].contains(&TaskStatus::Failed) {
            return Err(format!(
                "a task failed: {:?} {:?}",
                shop.failure, note.failure
            ));
        }
        if [shop.status, note.status] == [TaskStatus::Completed; 2] {
            if (answers, values, approvals, changes) != (1, 1, 4, 5) {
                return Err(format!(
                    "{answers} answers, {values} values, {approvals} approvals and {changes} requests for changes; \
                     1, 1, 4 and 5 were expected"
                ));
            }
            for number in 0..changes {
                let path = &rework_files()[number.saturating_sub(1)];
                let file = client.fetch(&get_artifact(&shop.id, path).request);
                let file = file.map_err(failed)?.body;
                if !String::from_utf8_lossy(&file).contains(&wanted(number)) {
                    return Err(format!("{path} does not have {:?}", wanted(number)));
                }
            }
            let page = PageQuery {
                limit: Some(1000),
                cursor: None,
            };
            let lines = client.call(&list_transitions(&shop.id, &page));
            let lines = lines.map_err(failed)?.items;
            let has = |trigger: &str| lines.iter().any(|it| it.trigger == trigger);
            for trigger in [
                "SUBMIT",
                "ASSIGN",
                "USER_QUESTION",
                "ANSWER",
                "RATE_LIMIT",
                "RATE_LIMIT_RESET",
                "VERIFICATION_FAILED",
                "PHASE_COMPLETE",
                "DEPENDENCY_REQUEST",
                "DEPENDENCY_PROVIDED",
                "REQUEST_CHANGES",
                "APPROVE",
            ] {
                if !has(trigger) {
                    return Err(format!("the history has no {trigger}"));
                }
            }
            let seconds = began.elapsed().as_secs();
            output.print_message(&format!(
                "✓ {} ({seconds} s)",
                TaskOutput::AllHappened.say(output.lang())
            ));
            return Ok(());
        }
        if last.elapsed() > EVENT_TIMEOUT {
            return Err(format!("nothing happens any more: {shop:?} {note:?}"));
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}
