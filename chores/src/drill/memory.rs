//! Many processes on one memory folder, some of them killed: every acknowledged change is there afterwards.
//!
//! Acknowledged means exit code 0. Every answer names the file and the number of its transition; afterwards the journal
//! of that file must have that transition, and the files what it said: every value that was set, every line that was
//! appended, every task that was begun, in work, waiting or over. Those that are over are in the history once.

use super::field::{Field, Problems, Random, kept_if_wrong, pause, work_at_once};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use xtask::Outcome;
use xtask::shell::{Scratch, bowline};

/// What to do.
pub(crate) struct Plan {
    pub(crate) processes: usize,
    pub(crate) updates: usize,
}

/// Agents that remember side by side.
const AGENTS: usize = 3;
/// Steps of every task.
const STEPS: usize = 4;
/// One process of so many is killed.
const KILLED_ONE_OF: u64 = 3;
/// A kill comes within this time: the length of a whole command and some more.
const KILL_MICROS_MAX: u64 = 60_000;

/// One change, as the words of a command line.
struct Change {
    words: Vec<String>,
    /// What must be found in the files once it is acknowledged.
    mark: Mark,
}

enum Mark {
    /// A member of `shared_data.values`.
    Value(String),
    /// An element of `shared_data.log`.
    Line(usize),
    /// An element of the log of an agent.
    AgentLine(String, usize),
    /// A task with this name.
    Task(String),
    /// A move of the current task: only its transition can be looked for.
    Move,
}

struct Acknowledged {
    mark: Mark,
    path: String,
    sequence: u64,
}

#[derive(Default)]
struct Tally {
    acknowledged: Mutex<Vec<Acknowledged>>,
    refused: AtomicUsize,
    locked: AtomicUsize,
    killed: AtomicUsize,
    reads: AtomicUsize,
    problems: Problems,
}

pub(crate) fn run(plan: &Plan) -> Outcome {
    let scratch = Scratch::new("memory")?;
    let field = Field {
        bowline: bowline()?,
        folder: scratch.0.clone(),
    };
    let tally = Tally::default();
    let next = AtomicUsize::new(0);
    let seconds = work_at_once(
        plan.processes,
        |seed| write(plan, &field, &tally, &next, seed),
        &[&|done| read(&field, &tally, done)],
    );
    kept_if_wrong(scratch, judge(plan, &field, &tally, seconds))
}

fn change(number: usize, random: &mut Random) -> Change {
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
    let value = number.to_string();
    let step = (random.below(STEPS as u64) + 1).to_string();
    let (words, mark): (Vec<String>, Mark) = match random.below(10) {
        0 | 1 => {
            let path = format!("shared_data.values.v{number}");
            let mark = Mark::Value(format!("v{number}"));
            (words(&["context", "set", &path, &value]), mark)
        }
        2 | 3 => {
            let mark = Mark::Line(number);
            (
                words(&["context", "append", "shared_data.log", &value]),
                mark,
            )
        }
        4 | 5 => {
            let agent = format!("agent-{}", number % AGENTS);
            let line = words(&["agent", "append", &agent, "cache.log", &value]);
            (line, Mark::AgentLine(agent, number))
        }
        6 => {
            let name = format!("task {number}");
            let mut line: Vec<String> = words(&["task", "new", &name]);
            for _ in 0..STEPS {
                line.extend(words(&["--step", "name=work,agent=worker"]));
            }
            (line, Mark::Task(name))
        }
        7 => (words(&["step", "start", &step]), Mark::Move),
        8 => {
            let line = words(&["step", "complete", &step, "--output", &value]);
            (line, Mark::Move)
        }
        _ => match random.below(4) {
            0 => (words(&["task", "finish", "--summary", &value]), Mark::Move),
            1 => (words(&["task", "pause"]), Mark::Move),
            2 => (words(&["task", "resume"]), Mark::Move),
            _ => (
                words(&["step", "fail", &step, "--message", &value]),
                Mark::Move,
            ),
        },
    };
    let noun = ["memory".to_owned(), "--json".to_owned()];
    Change {
        words: noun.into_iter().chain(words).collect(),
        mark,
    }
}

fn write(plan: &Plan, field: &Field, tally: &Tally, next: &AtomicUsize, seed: usize) {
    let mut random = Random(seed as u64 * 7_919 + 1);
    loop {
        let number = next.fetch_add(1, Ordering::SeqCst);
        if number >= plan.updates {
            return;
        }
        let change = change(number, &mut random);
        let words: Vec<&str> = change.words.iter().map(String::as_str).collect();
        let kill = random.below(KILLED_ONE_OF) == 0;
        let after = kill.then(|| Duration::from_micros(random.below(KILL_MICROS_MAX)));
        let output = match field.run_or_kill(&words, after) {
            Ok(output) => output,
            Err(error) => return tally.problems.add(error),
        };
        match output.status.code() {
            Some(0) => acknowledge(tally, change, &output.stdout),
            Some(1) => drop(tally.refused.fetch_add(1, Ordering::SeqCst)),
            Some(5) => drop(tally.locked.fetch_add(1, Ordering::SeqCst)),
            None if kill => drop(tally.killed.fetch_add(1, Ordering::SeqCst)),
            other => {
                let talk = String::from_utf8_lossy(&output.stdout).into_owned();
                tally
                    .problems
                    .add(format!("{}: {other:?} {talk}", words.join(" ")));
            }
        }
    }
}

fn acknowledge(tally: &Tally, change: Change, answer: &[u8]) {
    let answer: Value = serde_json::from_slice(answer).unwrap_or_default();
    let (Some(path), Some(sequence)) = (answer["path"].as_str(), answer["sequence"].as_u64())
    else {
        return tally
            .problems
            .add(format!("no path and sequence in {answer}"));
    };
    if let Ok(mut acknowledged) = tally.acknowledged.lock() {
        acknowledged.push(Acknowledged {
            mark: change.mark,
            path: path.to_owned(),
            sequence,
        });
    }
}

fn read(field: &Field, tally: &Tally, done: &AtomicBool) {
    while !done.load(Ordering::SeqCst) {
        for words in [["memory", "status"], ["memory", "history"]] {
            match field.run(&words) {
                Ok(_) => drop(tally.reads.fetch_add(1, Ordering::SeqCst)),
                Err(error) => tally.problems.add(error),
            }
        }
        pause(Duration::from_millis(5));
    }
}

/// What the files say in the end.
struct Found {
    shared: Value,
    agents: BTreeMap<String, Value>,
    /// Names of tasks in work, waiting and over; the last from the journal of the history too, which keeps what was pruned.
    tasks: BTreeSet<String>,
    history_ids: Vec<String>,
    /// Numbers of the transitions of each file.
    transitions: BTreeMap<String, BTreeSet<u64>>,
}

fn judge(plan: &Plan, field: &Field, tally: &Tally, seconds: f64) -> Outcome {
    let taken = tally
        .acknowledged
        .lock()
        .map(|mut all| std::mem::take(&mut *all));
    let acknowledged = taken.unwrap_or_default();
    let problems = &tally.problems;
    // Unhealthy before the repair is allowed: a killed process may owe the history an entry.
    field.run(&["doctor", "--repair"])?;
    let report = field.run(&["doctor", "--json"])?;
    let report: Value = serde_json::from_str(&report).map_err(|error| error.to_string())?;
    for file in report["files"].as_array().into_iter().flatten() {
        let findings = file["findings"].as_array().into_iter().flatten();
        for finding in findings {
            problems.add(format!("doctor still finds {finding}"));
        }
    }
    let found = found(field, &acknowledged)?;
    let lost: Vec<String> = acknowledged
        .iter()
        .filter_map(|one| missing(&found, one))
        .collect();
    let mut ids = found.history_ids.clone();
    ids.sort();
    ids.dedup();
    if ids.len() != found.history_ids.len() {
        problems.add("a task is in the history twice");
    }
    let count =
        |wanted: fn(&Mark) -> bool| acknowledged.iter().filter(|one| wanted(&one.mark)).count();
    println!(
        "{} of {} updates acknowledged by {} processes in {seconds:.1} s ({} values set, {} lines appended, {} tasks begun, \
         {} moves); {} refused by a rule, {} locked out, {} killed; {} reads; {} acknowledged changes missing after doctor --repair",
        acknowledged.len(),
        plan.updates,
        plan.processes,
        count(|mark| matches!(mark, Mark::Value(_))),
        count(|mark| matches!(mark, Mark::Line(_) | Mark::AgentLine(..))),
        count(|mark| matches!(mark, Mark::Task(_))),
        count(|mark| matches!(mark, Mark::Move)),
        tally.refused.load(Ordering::SeqCst),
        tally.locked.load(Ordering::SeqCst),
        tally.killed.load(Ordering::SeqCst),
        tally.reads.load(Ordering::SeqCst),
        lost.len(),
    );
    for one in lost {
        problems.add(one);
    }
    for (what, none) in [
        ("acknowledged", acknowledged.is_empty()),
        ("killed", tally.killed.load(Ordering::SeqCst) == 0),
    ] {
        if none {
            problems.add(format!("nothing was {what}: the drill showed nothing"));
        }
    }
    problems.verdict()
}

fn found(field: &Field, acknowledged: &[Acknowledged]) -> Outcome<Found> {
    let file = |name: &str| -> Outcome<Value> {
        let path = field.folder.join(".claude/memory").join(name);
        let text = std::fs::read_to_string(&path)
            .map_err(|error| format!("{}: {error}", path.display()))?;
        serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
    };
    let lines = |what: &str| -> Outcome<Vec<Value>> {
        let text = field.run(&["history", what, "--json"])?;
        let lines = text.lines().map(serde_json::from_str);
        lines
            .collect::<Result<_, _>>()
            .map_err(|error| error.to_string())
    };
    let mut agents = BTreeMap::new();
    let mut transitions = BTreeMap::new();
    for one in acknowledged {
        if let Mark::AgentLine(agent, _) = &one.mark {
            agents.insert(agent.clone(), file(&format!("agents/{agent}.json"))?);
        }
        if !transitions.contains_key(&one.path) {
            let numbers = lines(&one.path)?;
            let numbers = numbers.iter().filter_map(|line| line["sequence"].as_u64());
            transitions.insert(one.path.clone(), numbers.collect());
        }
    }
    let (state, history) = (file("task-state.json")?, file("task-history.json")?);
    let name = |task: &Value| task["name"].as_str().map(str::to_owned);
    let mut tasks: BTreeSet<String> = name(&state["current_task"]).into_iter().collect();
    let queue = state["pending_tasks"].as_array().into_iter().flatten();
    let past = history["tasks"].as_array().into_iter().flatten();
    tasks.extend(queue.chain(past.clone()).filter_map(name));
    // The history keeps the newest hundred; its journal knows the ids of all, and that of the tasks their names.
    let pushed: BTreeSet<String> = lines("task-history")?
        .iter()
        .filter_map(|line| line["metadata"]["task"].as_str().map(str::to_owned))
        .collect();
    let history_ids = past.filter_map(|task| task["id"].as_str().map(str::to_owned));
    let moves = lines("task-state")?;
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    for line in &moves {
        let id = line["metadata"]["id"].as_str();
        if let (Some(id), Some(name)) = (id, line["metadata"]["name"].as_str()) {
            names.insert(id.to_owned(), name.to_owned());
        }
    }
    tasks.extend(pushed.iter().filter_map(|id| names.get(id).cloned()));
    Ok(Found {
        shared: file("shared-context.json")?,
        agents,
        tasks,
        history_ids: history_ids.collect(),
        transitions,
    })
}

/// What of an acknowledged change is not there.
fn missing(found: &Found, one: &Acknowledged) -> Option<String> {
    let holds = |list: &Value, number: usize| {
        let mut lines = list.as_array().into_iter().flatten();
        lines.any(|line| line.as_u64() == u64::try_from(number).ok())
    };
    let gone = match &one.mark {
        Mark::Value(name) => found.shared["shared_data"]["values"][name].is_null(),
        Mark::Line(number) => !holds(&found.shared["shared_data"]["log"], *number),
        Mark::AgentLine(agent, number) => {
            let memory = found.agents.get(agent);
            memory.is_none_or(|memory| !holds(&memory["cache"]["log"], *number))
        }
        Mark::Task(name) => !found.tasks.contains(name),
        Mark::Move => false,
    };
    let numbers = found.transitions.get(&one.path);
    let unlogged = numbers.is_none_or(|numbers| !numbers.contains(&one.sequence));
    let what = match &one.mark {
        Mark::Value(name) => format!("value {name}"),
        Mark::Line(number) => format!("line {number}"),
        Mark::AgentLine(agent, number) => format!("line {number} of {agent}"),
        Mark::Task(name) => name.clone(),
        Mark::Move => "a move".into(),
    };
    (gone || unlogged).then(|| {
        let place = if gone { "file" } else { "journal" };
        format!("{what} (transition {}) is not in the {place}", one.sequence)
    })
}
