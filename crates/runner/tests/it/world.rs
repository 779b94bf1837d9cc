//! The loop that decides about jobs, with real shims, and a shell script in the place of an agent.

use bowline_formats::agents::AgentProtocol;
use bowline_machines::job::{Command, JobAction, allowed_actions};
use bowline_runner::jobs::{
    AgentSpec, JobRequest, JobResponse, Jobs, JobsConfig, RequestError, SubmittedRequest, TypeSpec,
    WorkPhase,
};
use bowline_store::{
    EventKind, EventQuery, JobAttributes, JobRecord, JobRow, RecordBody, RecordKind, RecordQuery,
    SecretKey, SqliteStore, Store,
};
use bowline_supervisor::ShimProgram;
use bowline_test_support::wait_until;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Nothing here takes this long unless it hangs.
pub(crate) const BOUND: Duration = Duration::from_secs(60);

/// What every agent here can do: wait for a line that holds something.
const WAIT: &str = r#"
wait_for() { while IFS= read -r line; do case "$line" in *"$1"*) return;; esac; done; exit 9; }
good() { head -c 600 /dev/zero | tr '\0' x > "$1"; }
"#;

fn shim() -> ShimProgram {
    let me = std::env::current_exe().unwrap();
    let built = me.parent().unwrap().parent().unwrap();
    ShimProgram::new(&built.join("examples/attempts"), &["shim"])
}

pub(crate) struct World {
    pub(crate) folder: tempfile::TempDir,
    jobs: Option<Jobs>,
    script: String,
    slots: u32,
    protocol: AgentProtocol,
    tune: fn(&mut JobsConfig),
}

fn phase(name: &str) -> WorkPhase {
    WorkPhase {
        name: name.into(),
        steps: vec!["idea".into(), "words".into()],
        deliverables: vec![format!("docs/{}/*.md", name.to_lowercase())],
        count: 1,
        min_chars: 500,
        placeholders: true,
        review: true,
        ..WorkPhase::default()
    }
}

fn start(
    folder: &std::path::Path,
    script: &str,
    slots: u32,
    protocol: AgentProtocol,
    tune: fn(&mut JobsConfig),
) -> Jobs {
    let store = Arc::new(SqliteStore::open(&folder.join("store.db")).unwrap());
    start_on(store, folder, script, slots, protocol, tune)
}

fn start_on(
    store: Arc<dyn Store>,
    folder: &std::path::Path,
    script: &str,
    slots: u32,
    protocol: AgentProtocol,
    tune: fn(&mut JobsConfig),
) -> Jobs {
    let mut config = JobsConfig::new(folder, shim());
    config.slots = slots;
    tune(&mut config);
    let agent = AgentSpec {
        command: vec!["sh".into(), "-c".into(), format!("{WAIT}{script}")],
        protocol,
        environment: BTreeMap::new(),
        verifies: false,
    };
    config.agents.insert("sh".into(), agent);
    config.default_agent = "sh".into();
    let path = std::env::var("PATH").unwrap();
    config.environment.insert("PATH".into(), path);
    let tea = TypeSpec {
        name: "tea".into(),
        phases: vec![phase("Planning"), phase("Design")],
        complete_on_exit: false,
        app: Vec::new(),
    };
    config.types.insert("tea".into(), tea);
    let key = SecretKey::open(&folder.join("key")).unwrap();
    Jobs::start(config, store, key).unwrap()
}

impl World {
    pub(crate) fn new(script: &str, slots: u32) -> World {
        World::speaking(AgentProtocol::Markers, script, slots)
    }

    pub(crate) fn speaking(protocol: AgentProtocol, script: &str, slots: u32) -> World {
        World::tuned(protocol, script, slots, |_| {})
    }

    pub(crate) fn tuned(
        protocol: AgentProtocol,
        script: &str,
        slots: u32,
        tune: fn(&mut JobsConfig),
    ) -> World {
        let folder = tempfile::tempdir().unwrap();
        let jobs = start(folder.path(), script, slots, protocol, tune);
        World {
            folder,
            jobs: Some(jobs),
            script: script.into(),
            slots,
            protocol,
            tune,
        }
    }

    /// The same over a store of the test.
    pub(crate) fn over<S: Store + 'static>(
        script: &str,
        store: impl FnOnce(&std::path::Path) -> S,
    ) -> (World, Arc<S>) {
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(store(&folder.path().join("store.db")));
        let (slots, protocol) = (1, AgentProtocol::Markers);
        let jobs = start_on(
            store.clone(),
            folder.path(),
            script,
            slots,
            protocol,
            |_| {},
        );
        let world = World {
            folder,
            jobs: Some(jobs),
            script: script.into(),
            slots,
            protocol,
            tune: |_| {},
        };
        (world, store)
    }

    /// The loop ends, and another one goes on with what is durable.
    pub(crate) fn again(mut self) -> World {
        let jobs = self.jobs.take().unwrap();
        jobs.stop();
        drop(jobs);
        let jobs = start(
            self.folder.path(),
            &self.script,
            self.slots,
            self.protocol,
            self.tune,
        );
        self.jobs = Some(jobs);
        self
    }

    pub(crate) fn jobs(&self) -> &Jobs {
        self.jobs.as_ref().unwrap()
    }

    pub(crate) fn ask(&self, request: JobRequest) -> Result<JobResponse, RequestError> {
        self.jobs().submit(SubmittedRequest {
            key: None,
            version: None,
            request,
        })
    }

    /// Requests a command about the record that it names.
    pub(crate) fn decide(&self, command: Command) -> Result<JobResponse, RequestError> {
        self.ask(JobRequest::RecordCommand(command))
    }

    pub(crate) fn create(&self, type_name: &str) -> String {
        let about = JobAttributes {
            type_name: Some(type_name.into()),
            ..JobAttributes::default()
        };
        let made = self.ask(JobRequest::Create {
            title: "Tea shop".into(),
            description: "A shop for tea".into(),
            depends_on: vec![],
            scheduled_for: None,
            about: Box::new(about),
            submit: true,
        });
        made.unwrap().row.unwrap().id
    }

    pub(crate) fn row(&self, id: &str) -> JobRow {
        self.jobs().store().find_job(id).unwrap().unwrap()
    }

    pub(crate) fn row_in(&self, store: &dyn Store, id: &str) -> JobRow {
        store.find_job(id).unwrap().unwrap()
    }

    pub(crate) fn pair(&self, id: &str) -> (&'static str, &'static str) {
        let job = self.row(id).job;
        (job.task_status().name(), job.agent_status().name())
    }

    pub(crate) fn until(&self, id: &str, pair: (&str, &str)) {
        let mut last = None;
        let reached = wait_until(BOUND, || {
            last = Some(self.pair(id));
            last == Some(pair)
        });
        assert!(
            reached,
            "{last:?} instead of {pair:?}: {:#?}",
            self.row(id).job
        );
    }

    pub(crate) fn open(&self, id: &str, kind: RecordKind) -> JobRecord {
        let mut found = Vec::new();
        let wanted = RecordQuery {
            job: Some(id.into()),
            kind: Some(kind),
            open: true,
        };
        let there = wait_until(BOUND, || {
            found = self.jobs().store().list_records(&wanted).unwrap();
            !found.is_empty()
        });
        assert!(there, "no open {}", kind.name());
        found.remove(0)
    }

    pub(crate) fn records(&self, id: &str, kind: RecordKind) -> Vec<RecordBody> {
        let wanted = RecordQuery {
            job: Some(id.into()),
            kind: Some(kind),
            open: false,
        };
        let rows = self.jobs().store().list_records(&wanted).unwrap();
        rows.into_iter().map(|it| it.body).collect()
    }

    /// The latest checkpoint, once there is one.
    pub(crate) fn saved(&self, id: &str) -> String {
        let there = wait_until(BOUND, || self.row(id).about.checkpoint.is_some());
        assert!(there, "no checkpoint");
        self.row(id).about.checkpoint.clone().unwrap().0
    }

    /// Transitions of the task as `from>to trigger`.
    pub(crate) fn transitions(&self, id: &str, entity: &str) -> Vec<String> {
        let wanted = EventQuery {
            job: Some(id.into()),
            kind: Some(EventKind::Transition),
            ..EventQuery::default()
        };
        let events = self.jobs().store().list_events(&wanted).unwrap();
        let lines = events.into_iter().filter(|it| it.body["entity"] == entity);
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        lines
            .map(|it| {
                let (from, to) = (text(&it.body["from"]), text(&it.body["to"]));
                format!("{from}>{to} {}", text(&it.body["trigger"]))
            })
            .collect()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if self.jobs.is_none() {
            return;
        }
        for row in self.jobs().store().open_jobs().unwrap_or_default() {
            if allowed_actions(&row.job).contains(&JobAction::Cancel) {
                let _ = self.ask(JobRequest::Command(row.id, Command::Cancel));
            }
        }
        self.jobs().stop();
    }
}
