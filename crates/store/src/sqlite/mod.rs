//! The store in a file: SQLite with a write-ahead log, every commit flushed, one thread that
//! writes.
//!
//! Steps that come in while a commit is under way go into the next one together: many callers share
//! one flush. Whoever comes alone and waits writes with its own hands: two changes of threads take
//! a third as long as a flush.

mod copy;
mod free_pages;
mod read;
mod schema;
mod wal_checkpointer;
mod write;

use self::wal_checkpointer::WalCheckpointer;
use self::write::EncodedStep;
use crate::advance::{CommitOutcome, StoreStep};
use crate::rows::{DeliveryRow, EffectRow, EventRow, JobRecord, JobRow, SpendRow, TimerRow};
use crate::{
    CommitHandle, EventQuery, JobQuery, PrunedCounts, RecordQuery, Resource, RetentionLimits,
    SpendQuery, Store, StoreError, lacking_resource, resource_of_error,
};
use bowline_machines::job::TaskStatus;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use rustix::fs::{FlockOperation, flock, fstatfs};
use serde_json::Value;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, TryRecvError, channel, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// The oldest engine without a known way to damage a write-ahead log.
const ENGINE_MIN: i32 = 3_051_003;
/// Steps of different callers in one commit.
const GROUP_MAX: usize = 512;
/// How long a reader waits for the moment in which the log is started anew.
const BUSY_MS: u64 = 5_000;
/// A log that grew larger, for want of a moment without readers, is cut to this size once it begins
/// anew.
const LOG_BYTES_KEPT: &str = "8388608";
/// Idle connections that read and are kept.
const READERS_IDLE_MAX: usize = 4;
/// Statements that a connection keeps compiled.
const STATEMENTS_MAX: usize = 64;
/// How long the lock of a process that has just ended may last: what it was about to start holds it
/// until it has begun.
const LOCK_WAIT_MS: u64 = 500;
/// Between two looks at the lock.
const LOCK_LOOK_MS: u64 = 5;
/// File systems of other machines: their locks cannot be trusted. NFS, SMB, CIFS, SMB2.
const REMOTE: [i64; 4] = [0x6969, 0x517b, 0xff53_4d42, 0xfe53_4d42];

/// A store in a file. One process has it; the lock file beside it says so.
#[derive(Debug)]
pub struct SqliteStore {
    path: PathBuf,
    readers: Mutex<Vec<Connection>>,
    orders: Option<Sender<WriterRequest>>,
    writer: Arc<StoreWriter>,
    thread: Option<JoinHandle<()>>,
    _lock: File,
}

/// The one connection that writes, and how many orders the thread has before it.
#[derive(Debug)]
struct StoreWriter {
    path: PathBuf,
    connection: Mutex<Connection>,
    ordered: AtomicUsize,
    log: WalCheckpointer,
}

/// Something for the thread that writes.
enum WriterRequest {
    Advance(Vec<EncodedStep>, CommitReply),
    Prune(
        RetentionLimits,
        SyncSender<Result<PrunedCounts, StoreError>>,
    ),
}

/// Where the outcomes of steps go, and whom to wake when they are there.
struct CommitReply(
    SyncSender<Result<Vec<CommitOutcome>, StoreError>>,
    Box<dyn FnOnce() + Send>,
);

impl CommitReply {
    fn send_reply(self, answer: Result<Vec<CommitOutcome>, StoreError>) {
        // Whoever asked may be gone.
        let _ = self.0.send(answer);
        (self.1)();
    }
}

impl StoreWriter {
    fn lock_connection(&self) -> MutexGuard<'_, Connection> {
        // A transaction that was not finished is taken back when it is dropped.
        self.connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Commits the steps of all callers at once.
    fn commit_callers(
        &self,
        connection: &mut Connection,
        callers: Vec<Vec<EncodedStep>>,
    ) -> Result<Vec<Vec<CommitOutcome>>, StoreError> {
        let steps = callers.iter().map(Vec::len).sum();
        let done = write::commit_group(connection, callers)
            .map_err(|it| classify_error(&self.path, it))?;
        self.log.on_commit(connection, steps);
        Ok(done)
    }

    fn prune_store(
        &self,
        connection: &mut Connection,
        kept: &RetentionLimits,
    ) -> Result<PrunedCounts, StoreError> {
        let pruned = write::prune_rows(connection, kept)
            .and_then(|pruned| free_pages::release_free_pages(connection).map(|()| pruned));
        self.log.truncate_if_idle(connection);
        pruned.map_err(|it| classify_error(&self.path, it))
    }
}

fn encode_steps(steps: Vec<StoreStep>) -> Vec<EncodedStep> {
    steps.into_iter().map(EncodedStep::from).collect()
}

fn writer_ended() -> StoreError {
    StoreError::failed(std::io::Error::other("the writer has ended"))
}

impl SqliteStore {
    /// Opens the store in this file; makes it when there is none, and brings an older one up to
    /// date.
    pub fn open(path: &Path) -> Result<SqliteStore, StoreError> {
        let lock = lock_store(path)?;
        check_environment(path, &lock)?;
        let mut writer =
            open_connection(path, OpenFlags::default()).map_err(|it| classify_error(path, it))?;
        if let Err(error) = copy::check_integrity(&writer, "quick_check", path) {
            // What is set aside is as it was found: the log is not brought into a damaged file.
            let _ = writer.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
            return Err(error);
        }
        // Room that is not given back is used again later: nothing else depends on it.
        let _ = free_pages::enable_auto_vacuum(&writer);
        schema::migrate(&mut writer).map_err(|it| classify_error(path, it))?;
        let (orders, inbox) = channel();
        let writer = Arc::new(StoreWriter {
            path: path.to_owned(),
            connection: Mutex::new(writer),
            ordered: AtomicUsize::new(0),
            log: WalCheckpointer::open(path).map_err(|it| classify_error(path, it))?,
        });
        let served = writer.clone();
        let thread = std::thread::Builder::new()
            .name("store-writer".into())
            .spawn(move || run_writer(&served, &inbox))
            .map_err(StoreError::failed)?;
        Ok(SqliteStore {
            path: path.to_owned(),
            readers: Mutex::new(Vec::new()),
            orders: Some(orders),
            writer,
            thread: Some(thread),
            _lock: lock,
        })
    }

    /// Looks at every page and every row of the store in this file, and changes nothing. No process
    /// may have it.
    pub fn verify_file(path: &Path) -> Result<(), StoreError> {
        let _lock = lock_store(path)?;
        // An empty file is a store without anything in it, and cannot be read as one.
        if std::fs::metadata(path).map_or(0, |it| it.len()) == 0 {
            return Ok(());
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let whole = || {
            let connection = open_connection(path, flags)?;
            copy::check_integrity(&connection, "integrity_check", path)?;
            if copy::is_new(&connection)? {
                return Ok(());
            }
            read::list_jobs(
                &connection,
                &JobQuery {
                    archived: true,
                    ..JobQuery::default()
                },
            )?;
            read::list_records(&connection, &RecordQuery::default())?;
            read::open_effects(&connection)?;
            read::list_timers(&connection).map(drop)
        };
        whole().map_err(|it| classify_error(path, it))
    }

    /// Writes a whole copy of the store in this file to a new one, whoever has it.
    pub fn backup_file(path: &Path, to: &Path) -> Result<(), StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let from = open_connection(path, flags).map_err(|it| classify_error(path, it))?;
        copy::copy_database(&from, to).map_err(|it| classify_error(path, it))
    }

    /// Hands something to the thread that writes. Nobody answers where that has ended.
    fn send_to_writer<T>(
        &self,
        order: impl FnOnce(SyncSender<Result<T, StoreError>>) -> WriterRequest,
    ) -> Receiver<Result<T, StoreError>> {
        let (answer, answers) = sync_channel(1);
        if let Some(orders) = &self.orders {
            self.writer.ordered.fetch_add(1, Ordering::SeqCst);
            let _ = orders.send(order(answer));
        }
        answers
    }

    /// Reads on a connection of its own, which is kept for the next reader.
    fn with_reader<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let readers = || self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = readers().pop();
        let connection = match kept {
            Some(connection) => connection,
            None => {
                let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
                open_connection(&self.path, flags).map_err(|it| classify_error(&self.path, it))?
            }
        };
        let answer = read(&connection).map_err(|it| classify_error(&self.path, it))?;
        // One that failed is closed: the next reader gets a new one.
        let mut readers = readers();
        if readers.len() < READERS_IDLE_MAX {
            readers.push(connection);
        }
        Ok(answer)
    }
}

/// Names what the machine lacks where that is why the database failed.
fn classify_error(path: &Path, error: StoreError) -> StoreError {
    let StoreError::Failed(failed) = &error else {
        return error;
    };
    use rusqlite::Error as Sql;
    let sql = failed.downcast_ref::<Sql>();
    let code = match sql {
        Some(Sql::SqliteFailure(failure, _)) => Some(failure.code),
        _ => None,
    };
    // A value that is not of its column's type was not written by us.
    let is_damage = match sql {
        Some(Sql::SqliteFailure(failure, message)) => {
            let is_header = message.as_deref() == Some("unsupported file format");
            let code = failure.code;
            is_header || matches!(code, ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
        }
        Some(
            Sql::FromSqlConversionFailure(..)
            | Sql::InvalidColumnType(..)
            | Sql::IntegralValueOutOfRange(..)
            | Sql::Utf8Error(..),
        ) => true,
        _ => false,
    };
    if is_damage {
        return StoreError::DamagedFile {
            path: path.display().to_string(),
            why: failed.to_string(),
        };
    }
    let resource = match code {
        Some(ErrorCode::DiskFull) => Some(Resource::Disk),
        Some(ErrorCode::OutOfMemory) => Some(Resource::Memory),
        Some(ErrorCode::CannotOpen) => lacking_resource(path).or_else(|| lacked_descriptors(path)),
        Some(ErrorCode::SystemIoFailure) => lacking_resource(path),
        _ => resource_of_error(&**failed),
    };
    match resource {
        Some(resource) => StoreError::Exhausted {
            resource,
            path: path.display().to_string(),
        },
        None => error,
    }
}

/// The database could not be opened a moment ago and can be now: another thread has let go of a
/// descriptor since.
fn lacked_descriptors(path: &Path) -> Option<Resource> {
    let writable = |path: &Path| rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok();
    let is_open_to_us = writable(path) && path.parent().is_some_and(writable);
    is_open_to_us.then_some(Resource::Descriptors)
}

/// Everything that was ordered is written before the store is let go.
impl Drop for SqliteStore {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn lock_store(path: &Path) -> Result<File, StoreError> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&name)
        .map_err(StoreError::failed)?;
    for _ in 0..=LOCK_WAIT_MS / LOCK_LOOK_MS {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(file),
            Err(rustix::io::Errno::WOULDBLOCK) => {
                std::thread::sleep(Duration::from_millis(LOCK_LOOK_MS));
            }
            Err(error) => return Err(StoreError::failed(error)),
        }
    }
    Err(StoreError::Locked {
        path: path.display().to_string(),
    })
}

fn check_environment(path: &Path, file: &File) -> Result<(), StoreError> {
    let bad = |why: String| StoreError::Unsafe {
        path: path.display().to_string(),
        why,
    };
    if rusqlite::version_number() < ENGINE_MIN {
        let version = rusqlite::version();
        return Err(bad(format!("SQLite {version} is too old")));
    }
    let kind = fstatfs(file).map_err(StoreError::failed)?.f_type;
    #[expect(
        clippy::useless_conversion,
        reason = "the width of the field differs between machines"
    )]
    let kind = i64::from(kind) & 0xffff_ffff;
    match REMOTE.contains(&kind) {
        true => Err(bad("it is on a file system of another machine".into())),
        false => Ok(()),
    }
}

/// A connection that keeps what is promised: every setting is read back.
fn open_connection(path: &Path, flags: OpenFlags) -> Result<Connection, StoreError> {
    let connection = Connection::open_with_flags(path, flags).map_err(StoreError::failed)?;
    let wait = Duration::from_millis(BUSY_MS);
    connection.busy_timeout(wait).map_err(StoreError::failed)?;
    // All of ours: one that is pushed out is compiled anew with every row.
    connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    let writes = flags.contains(OpenFlags::SQLITE_OPEN_READ_WRITE);
    let settings: &[(&str, &str, &str)] = &[
        ("journal_mode", "wal", "wal"),
        ("synchronous", "full", "2"),
        ("foreign_keys", "on", "1"),
        // Never within a commit: see `wal_checkpointer`.
        ("wal_autocheckpoint", "0", "0"),
        ("journal_size_limit", LOG_BYTES_KEPT, LOG_BYTES_KEPT),
    ];
    for (name, value, wanted) in settings {
        if writes {
            let set = format!("PRAGMA {name} = {value}");
            // Some settings answer with a row, others with none.
            let mut statement = connection.prepare(&set).map_err(StoreError::failed)?;
            let mut rows = statement.query([]).map_err(StoreError::failed)?;
            while rows.next().map_err(StoreError::failed)?.is_some() {}
        } else if *name != "journal_mode" {
            continue;
        }
        let found = connection
            .query_row(&format!("PRAGMA {name}"), [], |row| {
                row.get::<_, rusqlite::types::Value>(0)
            })
            .map_err(StoreError::failed)?;
        let found = match found {
            rusqlite::types::Value::Integer(number) => number.to_string(),
            rusqlite::types::Value::Text(text) => text,
            other => other.data_type().to_string(),
        };
        if found != *wanted {
            return Err(StoreError::Unsafe {
                path: path.display().to_string(),
                why: format!("{name} is {found} and cannot be {wanted}"),
            });
        }
    }
    Ok(connection)
}

/// The thread that writes: takes what is there, commits it in one go, and answers.
fn run_writer(writer: &StoreWriter, inbox: &Receiver<WriterRequest>) {
    while let Ok(first) = inbox.recv() {
        let mut group = Vec::new();
        let mut prunes = Vec::new();
        let mut take = |order| match order {
            WriterRequest::Advance(steps, answer) => group.push((steps, answer)),
            WriterRequest::Prune(kept, answer) => prunes.push((kept, answer)),
        };
        take(first);
        inbox.try_iter().take(GROUP_MAX).for_each(take);
        let orders = group.len() + prunes.len();
        let (steps, answers): (Vec<_>, Vec<_>) = group.into_iter().unzip();
        let mut connection = writer.lock_connection();
        let done = match steps.is_empty() {
            true => Ok(Vec::new()),
            false => writer.commit_callers(&mut connection, steps),
        };
        let pruned = prunes.into_iter().map(|(kept, answer)| {
            let pruned = writer.prune_store(&mut connection, &kept);
            move || answer.send(pruned)
        });
        let pruned: Vec<_> = pruned.collect();
        drop(connection);
        // Before anybody is answered: whoever comes next and alone finds nothing before it.
        writer.ordered.fetch_sub(orders, Ordering::SeqCst);
        match done {
            Ok(outcomes) => {
                let each = answers.into_iter().zip(outcomes);
                each.for_each(|(answer, outcomes)| answer.send_reply(Ok(outcomes)));
            }
            Err(error) => {
                for answer in answers {
                    answer.send_reply(Err(error.clone()));
                }
            }
        }
        for answer in pruned {
            let _ = answer();
        }
    }
}

impl Store for SqliteStore {
    fn commit_steps(&self, steps: Vec<StoreStep>) -> Result<Vec<CommitOutcome>, StoreError> {
        let steps = encode_steps(steps);
        // What was ordered before is written before.
        if self.writer.ordered.load(Ordering::SeqCst) == 0
            && let Ok(mut connection) = self.writer.connection.try_lock()
        {
            let mut done = self.writer.commit_callers(&mut connection, vec![steps])?;
            return Ok(done.pop().unwrap_or_default());
        }
        let answers = self.send_to_writer(|answer| {
            WriterRequest::Advance(steps, CommitReply(answer, Box::new(|| {})))
        });
        answers.recv().map_err(|_| writer_ended())?
    }

    fn begin_commit(&self, steps: Vec<StoreStep>, ready: Box<dyn FnOnce() + Send>) -> CommitHandle {
        let steps = encode_steps(steps);
        let answers =
            self.send_to_writer(|answer| WriterRequest::Advance(steps, CommitReply(answer, ready)));
        Box::new(move |wait| match wait {
            true => Some(answers.recv().unwrap_or_else(|_| Err(writer_ended()))),
            false => match answers.try_recv() {
                Ok(answer) => Some(answer),
                Err(TryRecvError::Empty) => None,
                Err(TryRecvError::Disconnected) => Some(Err(writer_ended())),
            },
        })
    }

    fn reopen(&self) -> Result<(), StoreError> {
        let fresh = open_connection(&self.path, OpenFlags::default());
        let fresh = fresh.map_err(|it| classify_error(&self.path, it))?;
        *self.writer.lock_connection() = fresh;
        self.readers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
        Ok(())
    }

    fn prune_rows(&self, kept: &RetentionLimits) -> Result<PrunedCounts, StoreError> {
        let answers = self.send_to_writer(|answer| WriterRequest::Prune(*kept, answer));
        answers.recv().map_err(|_| writer_ended())?
    }

    fn merge_log(&self) -> Result<(), StoreError> {
        // A reader that is open keeps the log from being emptied.
        self.readers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
        let connection = self.writer.lock_connection();
        let merged = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0));
        match merged.map_err(|it| classify_error(&self.path, StoreError::failed(it)))? {
            false => Ok(()),
            true => Err(StoreError::Locked {
                path: self.path.display().to_string(),
            }),
        }
    }

    fn write_backup(&self, to: &Path) -> Result<(), StoreError> {
        self.with_reader(|from| copy::copy_database(from, to))
    }

    fn find_job(&self, id: &str) -> Result<Option<JobRow>, StoreError> {
        self.with_reader(|connection| read::find_job(connection, id))
    }

    fn list_jobs(&self, wanted: &JobQuery) -> Result<Vec<JobRow>, StoreError> {
        self.with_reader(|connection| read::list_jobs(connection, wanted))
    }

    fn open_jobs(&self) -> Result<Vec<JobRow>, StoreError> {
        self.with_reader(read::open_jobs)
    }

    fn count_by_status(&self) -> Result<Vec<(TaskStatus, u64)>, StoreError> {
        self.with_reader(read::count_by_status)
    }

    fn dependents_of(&self, id: &str) -> Result<Vec<String>, StoreError> {
        self.with_reader(|connection| read::dependents_of(connection, id))
    }

    fn find_record(&self, id: &str) -> Result<Option<JobRecord>, StoreError> {
        self.with_reader(|connection| read::find_record(connection, id))
    }

    fn list_records(&self, wanted: &RecordQuery) -> Result<Vec<JobRecord>, StoreError> {
        self.with_reader(|connection| read::list_records(connection, wanted))
    }

    fn list_events(&self, wanted: &EventQuery) -> Result<Vec<EventRow>, StoreError> {
        self.with_reader(|connection| read::list_events(connection, wanted))
    }

    fn feed_range(&self) -> Result<(u64, u64), StoreError> {
        self.with_reader(read::feed_range)
    }

    fn open_effects(&self) -> Result<Vec<EffectRow>, StoreError> {
        self.with_reader(read::open_effects)
    }

    fn deliveries_of(&self, job: &str) -> Result<Vec<DeliveryRow>, StoreError> {
        self.with_reader(|connection| read::deliveries_of(connection, job))
    }

    fn list_timers(&self) -> Result<Vec<TimerRow>, StoreError> {
        self.with_reader(read::list_timers)
    }

    fn list_spend(&self, wanted: &SpendQuery) -> Result<Vec<SpendRow>, StoreError> {
        self.with_reader(|connection| read::list_spend(connection, wanted))
    }

    fn stored_response(&self, id: &str) -> Result<Option<Value>, StoreError> {
        self.with_reader(|connection| read::stored_response(connection, id))
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

    use super::{Resource, StoreError, classify_error};
    use rusqlite::{Error, ffi};

    #[test]
    fn a_database_that_can_be_opened_again_was_lacking_a_descriptor() {
        let could_not_open = || {
            let code = ffi::Error::new(ffi::SQLITE_CANTOPEN);
            StoreError::failed(Error::SqliteFailure(code, None))
        };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.sqlite");
        let missing = classify_error(&path, could_not_open());
        assert!(matches!(missing, StoreError::Failed(_)), "{missing}");
        std::fs::write(&path, "").unwrap();
        let there = classify_error(&path, could_not_open());
        let StoreError::Exhausted { resource, .. } = there else {
            panic!("{there}");
        };
        assert_eq!(resource, Resource::Descriptors);
    }
}
