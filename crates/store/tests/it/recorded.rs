//! A store that an earlier build wrote, read row by row: what it holds is read as it was written.
//!
//! The recording is that of the command line's tests; its README says which build made it.

use bowline_machines::job::{Effect, Job, TimerKind};
use bowline_store::{
    EventQuery, JobQuery, RecordQuery, SecretKey, SpendQuery, SqliteStore, Store as _,
};
use rusqlite::Connection;
use serde::Deserialize as _;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

const RECORDING: &str = "../cli/tests/recorded/past.tar.gz";
const STORE: &str = "server/data/store.sqlite";

/// A copy of the store as the killed server left it.
struct Recorded {
    folder: tempfile::TempDir,
}

impl Recorded {
    fn unpack() -> Recorded {
        let folder = tempfile::tempdir().unwrap();
        let archive = Path::new(env!("CARGO_MANIFEST_DIR")).join(RECORDING);
        let mut tar = Command::new("tar");
        tar.arg("-xzf").arg(archive).arg("-C").arg(folder.path());
        tar.args([
            "--wildcards",
            "*/server/data/store.sqlite*",
            "*/server/data/key",
        ]);
        assert!(tar.status().unwrap().success());
        Recorded { folder }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("bowline-recorded").join(STORE)
    }

    fn open(&self) -> SqliteStore {
        SqliteStore::open(&self.path()).unwrap()
    }

    /// The columns of a query as they are stored; a column that is an object or a list is parsed.
    fn rows(&self, query: &str) -> Vec<Vec<Value>> {
        let connection = Connection::open(self.path()).unwrap();
        let mut statement = connection.prepare(query).unwrap();
        let width = statement.column_count();
        let row = |row: &rusqlite::Row<'_>| -> rusqlite::Result<Vec<Value>> {
            (0..width).map(|at| row.get(at).map(value)).collect()
        };
        let rows = statement.query_map([], row).unwrap();
        rows.map(Result::unwrap).collect()
    }
}

fn value(stored: rusqlite::types::Value) -> Value {
    use rusqlite::types::Value as Stored;
    match stored {
        Stored::Null => Value::Null,
        Stored::Integer(number) => number.into(),
        Stored::Real(number) => number.into(),
        Stored::Text(text) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        Stored::Blob(_) => panic!("the store has no blobs"),
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

/// Words for variants: of a word alone, or of an object the only key.
fn variant(value: &Value) -> String {
    let only = value.as_object().and_then(|it| it.keys().next());
    only.map_or_else(|| text(value).to_owned(), Clone::clone)
}

fn all_jobs() -> JobQuery {
    JobQuery {
        archived: true,
        ..JobQuery::default()
    }
}

fn list(words: &[&str]) -> BTreeSet<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

#[test]
fn every_task_is_read_and_written_as_it_was() {
    let past = Recorded::unpack();
    let raw = past.rows("SELECT id, version, state, about FROM job");
    let store = past.open();
    assert_eq!(store.list_jobs(&all_jobs()).unwrap().len(), raw.len());
    let (mut lives, mut keys) = (BTreeSet::new(), BTreeSet::new());
    let (mut queued, mut held) = (BTreeSet::new(), BTreeSet::new());
    for row in &raw {
        let [id, version, state, about] = &row[..] else {
            panic!("{row:?}");
        };
        let read = store.find_job(text(id)).unwrap().unwrap();
        assert_eq!(read.version, version.as_u64().unwrap());
        assert_eq!(serde_json::to_value(&*read.job).unwrap(), *state, "{id}");
        assert_eq!(serde_json::to_value(&*read.about).unwrap(), *about, "{id}");
        assert_eq!(Job::deserialize(state).unwrap(), *read.job, "{id}");
        lives.insert(variant(&state["life"]));
        let words = |list: &Value| list.as_array().cloned().unwrap_or_default();
        queued.extend(words(&state["unsaid"]).iter().map(variant));
        held.extend(words(&state["waiting"]).iter().map(variant));
        keys.extend(state.as_object().unwrap().keys().cloned());
        let lists = [
            read.job.queued_messages.len(),
            read.job.queued_markers.len(),
            read.job.questions.len(),
            read.job.dependencies.len(),
            read.job.permissions.len(),
            read.job.reviews.len(),
            read.job.depends_on.len(),
        ];
        let stored = [
            "unsaid",
            "waiting",
            "questions",
            "dependencies",
            "permissions",
            "reviews",
            "depends_on",
        ];
        assert_eq!(lists, stored.map(|key| words(&state[key]).len()), "{id}");
    }
    // The recording has what it is for: every state, and what waits in it.
    let every = [
        "asking",
        "completed",
        "draft",
        "failed",
        "needing",
        "paused",
        "pending",
        "permitting",
        "reviewing",
        "running",
        "verifying",
    ];
    assert_eq!(lives, list(&every));
    assert_eq!(queued, list(&["question_answer", "said"]));
    assert_eq!(held, list(&["custom_complete", "step"]));
    for key in [
        "archived",
        "begins_at",
        "depends_on",
        "dependencies",
        "exits",
        "permissions",
        "questions",
        "reached",
        "retried_by",
        "retry_of",
        "reviews",
        "reworks",
        "scheduled_for",
        "step",
        "tokens",
        "unsaid",
        "verifications",
        "waiting",
    ] {
        assert!(keys.contains(key), "no task has {key}");
    }
}

#[test]
fn every_record_is_read_and_written_as_it_was() {
    let past = Recorded::unpack();
    let raw = past.rows("SELECT id, job, kind, open, at, body FROM record");
    let store = past.open();
    let all = store.list_records(&RecordQuery::default()).unwrap();
    assert_eq!(all.len(), raw.len());
    let mut kinds = BTreeMap::new();
    for row in &raw {
        let read = store.find_record(text(&row[0])).unwrap().unwrap();
        let is = (
            read.job.as_str(),
            read.body.kind().name(),
            u64::from(read.open),
            read.at.0,
        );
        let was = (
            text(&row[1]),
            text(&row[2]),
            row[3].as_u64().unwrap(),
            row[4].as_i64().unwrap(),
        );
        assert_eq!(is, was, "{}", row[0]);
        assert_eq!(serde_json::to_value(&read.body).unwrap(), row[5]);
        *kinds.entry(text(&row[2]).to_owned()).or_insert(0) += 1;
    }
    let every = [
        "checkpoint",
        "dependency",
        "permission",
        "question",
        "review",
        "rule",
        "said",
        "verification",
    ];
    assert_eq!(kinds.into_keys().collect::<BTreeSet<_>>(), list(&every));
}

#[test]
fn every_effect_and_timer_that_waits_is_read_and_written_as_it_was() {
    let past = Recorded::unpack();
    let effects = past
        .rows("SELECT id, job, kind, body, at, due, tries FROM effect WHERE open = 1 ORDER BY id");
    // Those that are done are read by nobody, but an older program may have left any of them.
    let done = past.rows("SELECT kind, body FROM effect WHERE open = 0");
    let timers = past.rows("SELECT job, key, generation, due, body FROM timer");
    let store = past.open();
    let read = store.open_effects().unwrap();
    assert_eq!(read.len(), effects.len());
    let (mut kinds, mut settled) = (BTreeSet::new(), BTreeSet::new());
    for (row, effect) in effects.iter().zip(&read) {
        let is = (
            effect.id,
            effect.job.as_str(),
            effect.kind.as_str(),
            &effect.body,
        );
        assert_eq!(
            is,
            (
                row[0].as_u64().unwrap(),
                text(&row[1]),
                text(&row[2]),
                &row[3]
            )
        );
        let is = (effect.at.0, effect.due.0, u64::from(effect.tries));
        let was = (
            row[4].as_i64().unwrap(),
            row[5].as_i64().unwrap(),
            row[6].as_u64().unwrap(),
        );
        assert_eq!(is, was);
        kinds.insert(effect.kind.clone());
    }
    let every = effects.iter().map(|row| (&row[2], &row[3]));
    for (kind, body) in every.chain(done.iter().map(|row| (&row[0], &row[1]))) {
        let effect = Effect::deserialize(body).unwrap();
        let written = serde_json::to_value(&effect).unwrap();
        assert_eq!((effect.name(), &written), (text(kind), body));
        settled.insert(text(kind).to_owned());
    }
    assert_eq!(kinds, list(&["notify", "tell", "verify"]));
    let wanted = [
        "notify",
        "save_error_log",
        "signal",
        "snapshot",
        "spawn",
        "tell",
        "verify",
        "zip_artifacts",
    ];
    assert_eq!(settled, list(&wanted));
    let read = store.list_timers().unwrap();
    assert_eq!(read.len(), timers.len());
    let mut keys = BTreeSet::new();
    for row in &timers {
        let same = |it: &&bowline_store::TimerRow| {
            (it.job.as_str(), it.key.as_str()) == (text(&row[0]), text(&row[1]))
        };
        let timer = read.iter().find(same).unwrap();
        assert_eq!(
            (timer.generation, timer.due.0),
            (row[2].as_u64().unwrap(), row[3].as_i64().unwrap())
        );
        assert_eq!(timer.body, row[4]);
        let kind = TimerKind::deserialize(&timer.body).unwrap();
        assert_eq!(serde_json::to_value(&kind).unwrap(), row[4]);
        keys.insert(timer.key.split(':').next().unwrap_or_default().to_owned());
    }
    let wanted = [
        "checkpoint",
        "dependency",
        "question",
        "rate_limit_reset",
        "scheduled",
        "silence",
    ];
    assert_eq!(keys, list(&wanted));
}

#[test]
fn events_tries_requests_and_spend_are_read_as_they_were() {
    let past = Recorded::unpack();
    let events = past.rows("SELECT sequence, job, at, kind, body FROM event ORDER BY sequence");
    let tries = past.rows("SELECT effect, job, try_number, at, note FROM delivery");
    let requests = past.rows("SELECT id, answer FROM request");
    let spend =
        past.rows("SELECT day, job, agent, tokens, usd FROM spend ORDER BY day, job, agent");
    assert!(
        [&events, &tries, &requests, &spend]
            .iter()
            .all(|it| !it.is_empty())
    );
    let store = past.open();
    let read = store.list_events(&EventQuery::default()).unwrap();
    assert_eq!(read.len(), events.len());
    for (row, event) in events.iter().zip(&read) {
        let is = (
            event.sequence,
            event.job.as_str(),
            event.at.0,
            event.kind.name(),
            &event.body,
        );
        let was = (
            row[0].as_u64().unwrap(),
            text(&row[1]),
            row[2].as_i64().unwrap(),
            text(&row[3]),
            &row[4],
        );
        assert_eq!(is, was);
    }
    for row in &tries {
        let of_job = store.deliveries_of(text(&row[1])).unwrap();
        let same = of_job.iter().find(|it| {
            (it.effect, u64::from(it.try_number))
                == (row[0].as_u64().unwrap(), row[2].as_u64().unwrap())
        });
        let same = same.unwrap();
        assert_eq!(
            (same.at.0, same.note.as_str(), same.kind.as_str()),
            (row[3].as_i64().unwrap(), text(&row[4]), "notify")
        );
    }
    for row in &requests {
        assert_eq!(
            store.stored_response(text(&row[0])).unwrap().unwrap(),
            row[1]
        );
    }
    let read = store.list_spend(&SpendQuery::default()).unwrap();
    let is = read.iter().map(|it| {
        vec![
            it.day.into(),
            it.job.as_str().into(),
            it.agent.as_str().into(),
            it.tokens.into(),
            it.usd.into(),
        ]
    });
    assert_eq!(is.collect::<Vec<Vec<Value>>>(), spend);
}

#[test]
fn a_value_that_a_person_gave_is_opened_with_the_recorded_key() {
    let past = Recorded::unpack();
    let wanted = "SELECT job, body FROM record WHERE kind = 'dependency'";
    let rows = past.rows(wanted);
    let given = |row: &&Vec<Value>| row[1]["dependency"]["status"] == "provided";
    let given = rows.iter().find(given).unwrap();
    let (job, dependency) = (text(&given[0]), &given[1]["dependency"]);
    let key = SecretKey::open(&past.path().with_file_name("key")).unwrap();
    let purpose = format!("dependency {job} {}", text(&dependency["name"]));
    let value = key.open_sealed(&purpose, text(&dependency["sealed"]));
    assert_eq!(value.unwrap(), b"tea-value-one");
}
