//! Durable transitions of tasks of the server: through the loop that decides, against raw commits of the same rows, and
//! beside other programs that keep the steps of a piece of work.

use crate::Outcome;
use crate::measure::{Contender, Samples, in_turns, time};
use crate::options::Options;
use crate::raw::{self, Recording, Row};
use crate::report::{Bound, Report};
use bowline_machines::job;
use bowline_runner::jobs::{DraftEdit, JobRequest, Jobs, JobsConfig, SubmittedRequest};
use bowline_store::{
    JobAttributes, JobChange, JobRow, MemoryStore, SecretKey, SqliteStore, Store, StoreStep,
};
use bowline_supervisor::ShimProgram;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
use std::time::Duration;

/// Steps of one piece of work, each durable before the next: made, changed three times, submitted.
const STEPS: usize = 5;
const LAST: usize = STEPS - 1;
const CALLERS: usize = 64;
/// Rounds in which the stores are small.
const EARLY: usize = 3;
const SIZES: [usize; 5] = [10, 100, 1_000, 10_000, 100_000];
/// Pieces of work per round of growth.
const MEASURED: usize = 40;
const OF_RAW_MIN: f64 = 0.8;
const OF_RAW_MANY_MIN: f64 = 0.6;
const DBOS_MIN: f64 = 10.0;
const LANGGRAPH_MIN: f64 = 4.0;
const GROWTH_MAX: f64 = 2.0;

fn start(folder: &Path, store: Arc<dyn Store>) -> Outcome<Jobs> {
    std::fs::create_dir_all(folder)?;
    let me = std::env::current_exe()?;
    let mut config = JobsConfig::new(folder, ShimProgram::new(&me, &["shim"]));
    // Nobody is at work: everything waits.
    config.slots = 0;
    let key = SecretKey::open(&folder.join("key"))?;
    Jobs::start(config, store, key).map_err(|refused| format!("{refused:?}").into())
}

fn asked(request: JobRequest) -> SubmittedRequest {
    SubmittedRequest {
        key: None,
        version: None,
        request,
    }
}

/// The next step of a task, after so many.
fn step(done: usize, task: &str, number: usize) -> JobRequest {
    let task = task.to_owned();
    match done {
        0 => JobRequest::Create {
            title: format!("Tea {number}"),
            description: "A shop for tea".into(),
            depends_on: vec![],
            scheduled_for: None,
            about: Box::new(JobAttributes {
                type_name: Some("custom".into()),
                ..JobAttributes::default()
            }),
            submit: false,
        },
        LAST => JobRequest::Command(task, job::Command::Submit),
        round => JobRequest::Edit {
            task,
            edit: Box::new(DraftEdit {
                description: Some(format!("A shop for tea, {round}")),
                ..DraftEdit::default()
            }),
        },
    }
}

/// Has a step done, after so many of its task, and says which task that is.
fn take(jobs: &Jobs, done: usize, task: &str, number: usize) -> Outcome<String> {
    let answered = jobs.submit(asked(step(done, task, number)));
    let answered = answered.map_err(|refused| format!("{refused:?}"))?;
    Ok(answered.row.ok_or("no task")?.id)
}

/// The five steps of one task.
fn five(jobs: &Jobs, number: usize) -> Outcome {
    let mut task = String::new();
    for done in 0..STEPS {
        task = take(jobs, done, &task, number)?;
    }
    Ok(())
}

/// Many callers at once, each with tasks of its own and a thread that waits for its answers, until so many steps are taken. All of
/// them are there from the first step to the last: threads that begin or have ended are no callers.
fn in_threads(jobs: &Jobs, steps: usize) -> Outcome<Duration> {
    let (begin, begun) = (Barrier::new(CALLERS + 1), AtomicUsize::new(0));
    let call = || -> Result<(), String> {
        begin.wait();
        let mut task = String::new();
        for step in 0.. {
            let number = begun.fetch_add(1, Ordering::Relaxed);
            if number >= steps {
                break;
            }
            task = take(jobs, step % STEPS, &task, number).map_err(|it| it.to_string())?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let callers: Vec<_> = (0..CALLERS).map(|_| scope.spawn(call)).collect();
        begin.wait();
        let (taken, done) = time(|| {
            callers.into_iter().try_for_each(|caller| {
                let done = caller.join().map_err(|_| "a caller panicked".to_owned());
                done.flatten()
            })
        });
        Ok(done.map(|()| taken)?)
    })
}

/// The same with one thread for all of them: as many steps are under way, and only what decides on them is measured.
fn at_once(jobs: &Jobs, steps: usize) -> Outcome {
    let (answers, answered) = channel();
    let mut begun = 0;
    let mut ask = |done: usize, task: &str| {
        let answers = answers.clone();
        jobs.submit_then(
            asked(step(done % STEPS, task, begun)),
            Box::new(move |it| {
                let _ = answers.send((done + 1, it));
            }),
        );
        begun += 1;
        begun
    };
    let (mut asked, mut ended) = (0, 0);
    while asked < CALLERS {
        asked = ask(0, "");
    }
    while ended < steps {
        let (done, it) = answered.recv()?;
        let row = it.map_err(|refused| format!("{refused:?}"))?.row;
        ended += 1;
        if asked < steps {
            asked = ask(done, &row.ok_or("no task")?.id);
        }
    }
    Ok(())
}

/// The steps of `tasks` tasks as the store was given them, commit by commit.
fn recorded(folder: &Path, tasks: usize) -> Outcome<Vec<Vec<StoreStep>>> {
    std::fs::create_dir_all(folder)?;
    let store = Arc::new(Recording::open(&folder.join("store"))?);
    let jobs = start(folder, Arc::clone(&store) as Arc<dyn Store>)?;
    (0..tasks).try_for_each(|number| five(&jobs, number))?;
    jobs.stop();
    Ok(store.take())
}

/// One caller, five steps in a row.
pub(crate) fn one(options: &Options) -> Outcome<Report> {
    let scratch = options.scratch("jobs")?;
    let (rounds, each) = (options.rounds(21, 5), 20);
    let commits = recorded(&scratch.path().join("recorded"), (rounds + 1) * each)?;
    let commits: Vec<Vec<Row>> = commits
        .iter()
        .map(|steps| steps.iter().flat_map(raw::rows).collect())
        .filter(|rows: &Vec<Row>| !rows.is_empty())
        .collect();
    if commits.len() != (rounds + 1) * each * STEPS {
        return Err(format!(
            "{} commits for {} steps",
            commits.len(),
            (rounds + 1) * each * STEPS
        )
        .into());
    }
    let folder = scratch.path().join("measured");
    std::fs::create_dir_all(&folder)?;
    let jobs = start(&folder, Arc::new(SqliteStore::open(&folder.join("store"))?))?;
    let mut db = raw::connect(&scratch.path().join("raw"))?;
    let mut contenders: Vec<Contender<'_>> = vec![
        Box::new(|round| {
            let of_round = &commits[round * each * STEPS..(round + 1) * each * STEPS];
            let (taken, done) = time(|| {
                of_round
                    .iter()
                    .try_for_each(|rows| raw::commit(&mut db, rows))
            });
            done.map(|()| taken)
        }),
        Box::new(|round| {
            let (taken, done) =
                time(|| (0..each).try_for_each(|one| five(&jobs, round * each + one)));
            done.map(|()| taken)
        }),
    ];
    let samples = in_turns(rounds, &mut contenders)?;
    drop(contenders);
    jobs.stop();
    let per_five = |samples: &Samples| samples.median().as_secs_f64() / each as f64;
    let (floor, ours) = (per_five(&samples[0]), per_five(&samples[1]));
    let mut rows = vec![
        row("five raw commits of the same rows", floor, floor),
        row("**five steps of a task, through the loop**", ours, floor),
    ];
    let mut kept = floor / ours >= OF_RAW_MIN;
    let mut found = format!("{:.0} % of raw", 100.0 * floor / ours);
    for (name, script, least) in [
        (
            "LangGraph, `SqliteSaver`, `durability=\"sync\"`",
            "langgraph_steps.py",
            LANGGRAPH_MIN,
        ),
        ("DBOS (Python), SQLite", "dbos_steps.py", DBOS_MIN),
    ] {
        let short = name.split([',', ' ']).next().unwrap_or(name);
        match peer(options, script, scratch.path())? {
            Some(seconds) => {
                rows.push(row(name, seconds, floor));
                kept &= seconds / ours >= least;
                found.push_str(&format!(", {:.1} times {short}", seconds / ours));
            }
            None => {
                kept = false;
                found.push_str(&format!(", {short} not installed"));
            }
        }
    }
    Ok(Report {
        name: "jobs",
        about: format!(
            "One caller takes a task through {STEPS} durable steps, one after the other: every step is asked of the loop that \
             decides, and answered once its rows are flushed. Beside it raw commits of exactly these rows with the same settings \
             of SQLite, and five steps of a function kept by other programs on the same disk. {rounds} rounds of {each} in turns; \
             the other programs once, {PEER_RUNS} runs."
        ),
        columns: &["", "ms per five steps", "steps/s", "time, of the floor"],
        rows,
        bound: Some(Bound {
            promise: "at least 80 % of raw commits, 4 times LangGraph and 10 times DBOS",
            found,
            kept,
        }),
    })
}

fn row(name: &str, seconds: f64, floor: f64) -> Vec<String> {
    vec![
        name.to_owned(),
        format!("{:.2}", seconds * 1e3),
        format!("{:.0}", STEPS as f64 / seconds),
        format!("{:.2}", seconds / floor),
    ]
}

/// Pieces of work that a peer does.
const PEER_RUNS: usize = 100;

/// Seconds that another program takes for five steps; nothing where it is not installed.
fn peer(options: &Options, script: &str, scratch: &Path) -> Outcome<Option<f64>> {
    let Some(python) = &options.python else {
        return Ok(None);
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("peers")
        .join(script);
    let folder = scratch.join("peer");
    std::fs::create_dir_all(&folder)?;
    let ran = Command::new(python)
        .arg(script)
        .arg(&folder)
        .arg(PEER_RUNS.to_string())
        .current_dir(&folder)
        .env("HOME", &folder)
        .output()?;
    let text = String::from_utf8_lossy(&ran.stdout);
    let last = text.lines().last().unwrap_or_default();
    match last.parse() {
        Ok(seconds) => Ok(Some(seconds)),
        Err(_) => Err(format!("{last}{}", String::from_utf8_lossy(&ran.stderr)).into()),
    }
}

/// The steps of tasks one after the other, in the commits that so many callers come to: the same step of that many tasks.
fn batches(steps: &[Vec<Row>]) -> Vec<Vec<Row>> {
    let at_once = steps.chunks(CALLERS * STEPS);
    at_once
        .flat_map(|some| {
            (0..STEPS).map(|step| {
                let of_each = some.iter().skip(step).step_by(STEPS);
                of_each.flatten().cloned().collect()
            })
        })
        .collect()
}

/// Many callers at once.
pub(crate) fn many(options: &Options) -> Outcome<Report> {
    let scratch = options.scratch("jobs-many")?;
    let (rounds, each) = (options.rounds(15, 3), 24);
    let tasks = CALLERS * each;
    let steps = recorded(&scratch.path().join("recorded"), (rounds + 1) * tasks)?;
    let steps: Vec<Vec<Row>> = steps.iter().flatten().map(raw::rows).collect();
    let steps: Vec<Vec<Row>> = steps.into_iter().filter(|rows| !rows.is_empty()).collect();
    // Each has a store of its own, which grows with its own tasks.
    let begin = |name: &str| -> Outcome<Jobs> {
        let folder = scratch.path().join(name);
        std::fs::create_dir_all(&folder)?;
        start(&folder, Arc::new(SqliteStore::open(&folder.join("store"))?))
    };
    let (of_one, of_many) = (begin("one")?, begin("many")?);
    let mut db = raw::connect(&scratch.path().join("raw"))?;
    let mut contenders: Vec<Contender<'_>> = vec![
        Box::new(|round| {
            let of_round = &steps[round * tasks * STEPS..(round + 1) * tasks * STEPS];
            let batches = batches(of_round);
            let (taken, done) = time(|| {
                batches
                    .iter()
                    .try_for_each(|rows| raw::commit(&mut db, rows))
            });
            done.map(|()| taken)
        }),
        Box::new(|_| {
            let (taken, done) = time(|| at_once(&of_one, tasks * STEPS));
            done.map(|()| taken)
        }),
        Box::new(|_| in_threads(&of_many, tasks * STEPS)),
    ];
    let samples = in_turns(rounds, &mut contenders)?;
    drop(contenders);
    of_one.stop();
    of_many.stop();
    let speed = |samples: &Samples| (tasks * STEPS) as f64 / samples.median().as_secs_f64();
    let row = |name: &str, of: usize| {
        let share = |of: &Samples, floor: &Samples| format!("{:.2}", speed(of) / speed(floor));
        vec![
            name.to_owned(),
            format!("{:.0}", speed(&samples[of])),
            share(&samples[of], &samples[0]),
            share(&samples[of].first(EARLY), &samples[0].first(EARLY)),
        ]
    };
    let found = speed(&samples[2]) / speed(&samples[0]);
    Ok(Report {
        name: "jobs-many",
        about: format!(
            "{CALLERS} callers at once, each with tasks of its own, five durable steps each, against raw commits of the same rows in \
             the same company: one step of {CALLERS} tasks in each. Each caller has a thread, which is woken for every answer and is \
             there from the first step to the last; beside it the same with one thread for all of them. {rounds} rounds of {} steps in turns, \
             each with a store of its own that grows from nothing to {} tasks; the first rounds are the first {EARLY}.",
            tasks * STEPS,
            (rounds + 1) * tasks
        ),
        columns: &["", "steps/s", "of the floor", "in the first rounds"],
        rows: vec![
            row("raw commits in batches", 0),
            row("through the loop, one thread for all callers", 1),
            row("**through the loop**", 2),
        ],
        bound: Some(Bound {
            promise: "at least 60 % of raw batches",
            found: format!("{:.0} %", 100.0 * found),
            kept: found >= OF_RAW_MANY_MIN,
        }),
    })
}

/// What a step costs beside other tasks.
pub(crate) fn growth(options: &Options) -> Outcome<Report> {
    let scratch = options.scratch("jobs-growth")?;
    let rounds = options.rounds(11, 3);
    let (mut loops, mut durable) = (Vec::new(), Vec::new());
    for size in SIZES {
        let folder = scratch.path().join(size.to_string());
        std::fs::create_dir_all(&folder)?;
        loops.push(filled(
            &folder.join("memory"),
            Arc::new(MemoryStore::new()),
            size,
        )?);
        let store = Arc::new(SqliteStore::open(&folder.join("store"))?);
        durable.push(filled(&folder.join("sqlite"), store, size)?);
    }
    let taken = |all: &[Jobs]| -> Outcome<Vec<f64>> {
        let mut contenders: Vec<Contender<'_>> = Vec::new();
        for jobs in all {
            contenders.push(Box::new(move |round| {
                let (taken, done) =
                    time(|| (0..MEASURED).try_for_each(|one| five(jobs, round * MEASURED + one)));
                done.map(|()| taken)
            }));
        }
        let samples = in_turns(rounds, &mut contenders)?;
        Ok(samples
            .iter()
            .map(|one| one.median_ns_per(MEASURED * STEPS) / 1e3)
            .collect())
    };
    let (alone, kept) = (taken(&loops)?, taken(&durable)?);
    for jobs in loops.iter().chain(&durable) {
        jobs.stop();
    }
    let rows = (0..SIZES.len()).map(|at| {
        vec![
            SIZES[at].to_string(),
            format!("{:.1}", alone[at]),
            format!("{:.2}", alone[at] / alone[0]),
            format!("{:.1}", kept[at]),
            format!("{:.2}", kept[at] / kept[0]),
        ]
    });
    let worst = kept.iter().map(|one| one / kept[0]).fold(0.0, f64::max);
    Ok(Report {
        name: "jobs-growth",
        about: format!(
            "One step of a task while others wait in the queue: the loop over a store in memory, and with SQLite and its flush. \
             {rounds} rounds of {} steps in turns.",
            MEASURED * STEPS
        ),
        columns: &[
            "waiting tasks",
            "loop alone, µs per step",
            "times that of 10",
            "durable, µs per step",
            "times that of 10",
        ],
        rows: rows.collect(),
        bound: Some(Bound {
            promise: "a durable step costs the same from 10 to 100,000 tasks (at most 2 times)",
            found: format!("{worst:.2} at worst"),
            kept: worst <= GROWTH_MAX,
        }),
    })
}

/// Jobs with so many tasks in the queue.
fn filled(folder: &Path, store: Arc<dyn Store>, size: usize) -> Outcome<Jobs> {
    let jobs = start(folder, Arc::clone(&store))?;
    five(&jobs, 0)?;
    jobs.stop();
    let sample = store.open_jobs()?.pop().ok_or("no task")?;
    fill(&*store, &sample, size)?;
    start(folder, store)
}

/// Puts copies of a task into a store.
pub(crate) fn fill(store: &dyn Store, sample: &JobRow, size: usize) -> Outcome {
    let at = bowline_machines::Timestamp(sample.about.created_at);
    let numbers: Vec<usize> = (1..size).collect();
    for some in numbers.chunks(1_000) {
        let steps = some.iter().map(|number| {
            let id = format!("task_{number:012x}");
            let change = JobChange::replace_state(id, 0, sample.job.clone(), sample.about.clone());
            StoreStep {
                changes: vec![change],
                ..StoreStep::empty_at(at)
            }
        });
        store.commit_steps(steps.collect())?;
    }
    Ok(())
}

/// A pause between two looks.
pub(crate) const LOOK: Duration = Duration::from_millis(20);
