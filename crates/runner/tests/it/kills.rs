//! The process that decides about jobs, killed at any moment.

use bowline_store::{EventKind, EventQuery, JobQuery, SqliteStore, Store};
use bowline_test_support::wait_until;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const JOBS: usize = 5;
/// Moments after the start, in milliseconds: in the beginning, among the agents, and near the end.
const MOMENTS_MS: [u64; 8] = [20, 45, 70, 110, 160, 230, 320, 450];
/// Nothing here takes this long unless it hangs.
const BOUND: Duration = Duration::from_secs(120);

fn program() -> PathBuf {
    let me = std::env::current_exe().unwrap();
    let built = me.parent().unwrap().parent().unwrap();
    built.join("examples/jobs")
}

fn begin(folder: &Path) -> Child {
    #[expect(
        clippy::disallowed_methods,
        reason = "the process is not an agent but the one that is tested"
    )]
    Command::new(program())
        .arg(folder)
        .arg(JOBS.to_string())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

fn lines(file: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn killed_at_any_moment_everything_happens_once_and_no_agent_is_started_anew() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    for moment in MOMENTS_MS {
        let mut child = begin(&data);
        // The moment itself is the point; only an end would be sooner.
        let _ended = wait_until(Duration::from_millis(moment), || {
            matches!(child.try_wait(), Ok(Some(_)))
        });
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let mut child = begin(&data);
    let over = wait_until(BOUND, || matches!(child.try_wait(), Ok(Some(_))));
    if !over {
        child.kill().unwrap();
    }
    assert!(child.wait().unwrap().success());
    let store = SqliteStore::open(&data.join("store.db")).unwrap();
    let rows = store.list_jobs(&JobQuery::default()).unwrap();
    assert_eq!(rows.len(), JOBS, "each request made one task");
    for row in rows {
        assert_eq!(row.job.task_status().name(), "completed", "{:?}", row.job);
        assert_eq!((row.job.questions.len(), row.job.reviews.len()), (1, 2));
        let workspace = data.join("workspaces").join(&row.id);
        let starts = lines(&workspace.join("starts")).len();
        // One whose start itself was cut short is started anew under the next number; never twice
        // under the same.
        assert!(starts <= row.job.attempt as usize, "{starts} {:?}", row.job);
        assert_eq!(starts, 1, "agents go on without us");
        assert_eq!(lines(&workspace.join("heard")), ["answered", "approved"]);
        let wanted = EventQuery {
            job: Some(row.id.clone()),
            kind: Some(EventKind::Transition),
            ..EventQuery::default()
        };
        let events = store.list_events(&wanted).unwrap();
        let of = |trigger: &str| {
            let task = |it: &&bowline_store::EventRow| {
                it.body["entity"] == "task" && it.body["trigger"] == trigger
            };
            events.iter().filter(task).count()
        };
        assert_eq!(
            (of("SUBMIT"), of("ASSIGN"), of("PHASE_COMPLETE")),
            (1, 1, 2)
        );
        assert_eq!(of("APPROVE"), 3, "two approvals, the last one in two steps");
    }
    assert!(store.open_effects().unwrap().is_empty());
}
