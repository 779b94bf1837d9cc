//! What one more task costs beside those that wait already: nothing of the loop looks at all of
//! them.
//!
//! ```text
//! cargo run --release -p bowline-runner --example queue
//! ```
#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    reason = "an example prints, and ends where it cannot go on"
)]

use bowline_machines::job::Command;
use bowline_runner::jobs::{JobRequest, Jobs, JobsConfig, SubmittedRequest};
use bowline_store::{JobAttributes, MemoryStore, SecretKey};
use bowline_supervisor::ShimProgram;
use std::sync::Arc;
use std::time::Instant;

/// Tasks that are made at each size.
const MADE: usize = 500;

fn main() {
    let folder = std::env::temp_dir().join(format!("bowline-queue-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    let me = std::env::current_exe().expect("a program knows its path");
    let mut config = JobsConfig::new(&folder, ShimProgram::new(&me, &["shim"]));
    // Nobody is at work: everything waits.
    config.slots = 0;
    let key = SecretKey::open(&folder.join("key")).expect("the key can be made");
    let jobs = Jobs::start(config, Arc::new(MemoryStore::new()), key).expect("the loop begins");
    let make = |number: usize| {
        let about = JobAttributes {
            type_name: Some("custom".into()),
            ..JobAttributes::default()
        };
        let request = JobRequest::Create {
            title: format!("Tea {number}"),
            description: "A shop for tea".into(),
            depends_on: vec![],
            scheduled_for: None,
            about: Box::new(about),
            submit: false,
        };
        let asked = SubmittedRequest {
            key: None,
            version: None,
            request,
        };
        let made = jobs.submit(asked).expect("a task is made");
        made.row.expect("it is there").id
    };
    let mut there = 0;
    for size in [100, 1_000, 10_000, 100_000] {
        while there < size {
            submit(&jobs, make(there));
            there += 1;
        }
        let drafts: Vec<String> = (0..MADE).map(&make).collect();
        let begun = Instant::now();
        for id in drafts {
            submit(&jobs, id);
        }
        let each = begun.elapsed().as_micros() as f64 / MADE as f64;
        there += MADE;
        println!("{size:>7} waiting: {each:>7.1} µs for one more");
    }
    jobs.stop();
    std::fs::remove_dir_all(&folder).expect("what was made can be removed");
}

fn submit(jobs: &Jobs, task: String) {
    let asked = SubmittedRequest {
        key: None,
        version: None,
        request: JobRequest::Command(task, Command::Submit),
    };
    jobs.submit(asked).expect("a draft is submitted");
}
