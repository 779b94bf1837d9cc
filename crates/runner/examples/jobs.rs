//! A whole task server without its surface: goes on with the jobs of a folder and is the person who
//! answers everything, until every job is over. Killed at any moment, the next one goes on:
//!
//! ```text
//! cargo run -p bowline-runner --example jobs -- FOLDER COUNT
//! ```
//!
//! It is its own shim and its own agents, which also serves the tests of this crate.
#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::panic,
    reason = "an example prints, and ends where it cannot go on"
)]

use bowline_formats::agents::AgentProtocol;
use bowline_machines::job::Command;
use bowline_runner::jobs::{
    AgentSpec, JobRequest, Jobs, JobsConfig, SubmittedRequest, TypeSpec, WorkPhase,
};
use bowline_store::{JobAttributes, JobQuery, RecordBody, RecordQuery, SecretKey, SqliteStore};
use bowline_supervisor::{ShimProgram, shim};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// Each agent notes its starts; nothing else in the workspace would show a second one.
const AGENT: &str = r#"
wait_for() { while IFS= read -r line; do case "$line" in *"$1"*) return;; esac; done; exit 9; }
echo start >> starts
if [ "$BOWLINE_PHASE" = 1 ]; then
  wait_for '[/PHASE_START]'
  printf '[USER_QUESTION]\ncategory: clarification\nquestion: Which tea?\nrequired: true\n[/USER_QUESTION]\n'
  wait_for question_answer
  echo answered >> heard
  echo tea > one.md
  echo '=== PHASE 1 COMPLETE ==='
  wait_for '[/PHASE_START]'
  echo approved >> heard
fi
echo tea > two.md
echo '=== PHASE 2 COMPLETE ==='
wait_for '[/PHASE_START]'
"#;

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    if words.first().is_some_and(|word| word == "shim") {
        return shim::main(&["shim"], &words[1..]);
    }
    let [folder, count] = words.as_slice() else {
        println!("usage: jobs FOLDER COUNT");
        return ExitCode::from(2);
    };
    let folder = Path::new(folder);
    let count: usize = count
        .to_str()
        .and_then(|count| count.parse().ok())
        .expect("a count is a number");
    std::fs::create_dir_all(folder).expect("the folder can be made");
    let jobs = begin(folder);
    for number in 0..count {
        ask(&jobs, format!("create-{number}"), create(number));
    }
    while !over(&jobs, count) {
        answer(&jobs);
        std::thread::sleep(Duration::from_millis(5));
    }
    jobs.stop();
    println!("over");
    ExitCode::SUCCESS
}

fn begin(folder: &Path) -> Jobs {
    let me = std::env::current_exe().expect("a program knows its path");
    let mut config = JobsConfig::new(folder, ShimProgram::new(&me, &["shim"]));
    config.slots = 4;
    let agent = AgentSpec {
        command: vec!["sh".into(), "-c".into(), AGENT.into()],
        protocol: AgentProtocol::Markers,
        environment: BTreeMap::new(),
        verifies: false,
    };
    config.agents.insert("sh".into(), agent);
    config.default_agent = "sh".into();
    config
        .environment
        .insert("PATH".into(), "/usr/bin:/bin".into());
    let phase = |name: &str, file: &str| WorkPhase {
        name: name.into(),
        deliverables: vec![file.into()],
        count: 1,
        review: true,
        ..WorkPhase::default()
    };
    let tea = TypeSpec {
        name: "tea".into(),
        phases: vec![phase("One", "one.md"), phase("Two", "two.md")],
        complete_on_exit: false,
        app: Vec::new(),
    };
    config.types.insert("tea".into(), tea);
    let store = SqliteStore::open(&folder.join("store.db")).expect("nobody else has the store");
    let key = SecretKey::open(&folder.join("key")).expect("the key can be read");
    match Jobs::start(config, Arc::new(store), key) {
        Ok(jobs) => jobs,
        Err(refused) => panic!("{refused:?}"),
    }
}

fn create(number: usize) -> JobRequest {
    JobRequest::Create {
        title: format!("Tea {number}"),
        description: "A shop for tea".into(),
        depends_on: vec![],
        scheduled_for: None,
        about: Box::new(JobAttributes {
            type_name: Some("tea".into()),
            ..JobAttributes::default()
        }),
        submit: true,
    }
}

/// Submits a request under a key of its own, so that after a kill it may be submitted again. What
/// is refused was decided before.
fn ask(jobs: &Jobs, key: String, request: JobRequest) {
    let asked = SubmittedRequest {
        key: Some(key),
        version: None,
        request,
    };
    if let Err(refused) = jobs.submit(asked) {
        println!("refused: {refused:?}");
    }
}

fn answer(jobs: &Jobs) {
    let open = RecordQuery {
        open: true,
        ..RecordQuery::default()
    };
    for record in jobs
        .store()
        .list_records(&open)
        .expect("the store can be read")
    {
        let command = match record.body {
            RecordBody::Question(_) => Command::Answer {
                question: record.id.clone(),
                text: "green".into(),
            },
            RecordBody::Review(_) => Command::Approve {
                review: record.id.clone(),
                comment: None,
            },
            _ => continue,
        };
        ask(
            jobs,
            format!("settle-{}", record.id),
            JobRequest::RecordCommand(command),
        );
    }
}

fn over(jobs: &Jobs, count: usize) -> bool {
    let all = jobs.store().list_jobs(&JobQuery::default());
    let all = all.expect("the store can be read");
    let effects = jobs.store().open_effects().expect("the store can be read");
    let ended = |row: &bowline_store::JobRow| {
        ["completed", "failed"].contains(&row.job.task_status().name())
    };
    all.len() == count && all.iter().all(ended) && effects.is_empty()
}
