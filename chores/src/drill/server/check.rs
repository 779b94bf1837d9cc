//! What came of it, held against what was acknowledged.

use super::super::serving::{Serving, told};
use super::PROCESS;
use super::person::{Known, Person};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use xtask::Outcome;

/// Everything that is not as it should be.
pub(super) fn check(
    serving: &Serving,
    person: &Person,
    shims: &BTreeMap<String, usize>,
) -> Outcome {
    let mut wrong = serving.noted("wrong");
    let tasks = serving.items("/api/tasks?limit=1000")?;
    if tasks.len() != person.tasks.len() {
        wrong.push(format!(
            "{} tasks were made, {} are there",
            person.tasks.len(),
            tasks.len()
        ));
    }
    for task in &tasks {
        let id = task["id"].as_str().unwrap_or_default();
        let Some(known) = person.tasks.get(id) else {
            continue;
        };
        let lost = shims.get(id).copied().unwrap_or(0);
        for what in of_task(serving, person, task, known, lost)? {
            wrong.push(format!(
                "{id} ({}, {lost} shims killed): {what}",
                known.agent
            ));
        }
    }
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(format!("{} violations:\n{}", wrong.len(), wrong.join("\n"))),
    }
}

fn of_task(
    serving: &Serving,
    person: &Person,
    task: &Value,
    known: &Known,
    lost: usize,
) -> Outcome<Vec<String>> {
    let id = task["id"].as_str().unwrap_or_default();
    let mut wrong = Vec::new();
    let end = if known.agent == "endless" {
        "failed"
    } else {
        "completed"
    };
    let code = &task["failure"]["code"];
    if task["status"] != end || (end == "failed" && code != "cancelled") {
        wrong.push(format!("ended as {} {}", task["status"], task["failure"]));
    }
    let lines = serving.items(&format!("/api/tasks/{id}/transitions?limit=1000"))?;
    let mut at: BTreeMap<&str, &str> = BTreeMap::from([("task", "draft"), ("agent", "idle")]);
    let mut found: BTreeMap<&str, usize> = BTreeMap::new();
    for line in &lines {
        let text = |name: &str| line[name].as_str().unwrap_or_default();
        let (entity, from, to) = (text("entity"), text("from"), text("to"));
        if at.insert(entity, to) != Some(from) {
            wrong.push(format!("the history has a gap before {line}"));
        }
        let verb = match (entity, text("trigger")) {
            ("task", "SUBMIT") => "create",
            ("agent", "PAUSE") if line["metadata"]["pausedBy"] == "user" => "pause",
            ("agent", "RESUME") => "resume",
            ("agent", "ANSWER") => "answer",
            ("agent", "DEPENDENCY_PROVIDED") => "provide",
            ("task", "APPROVE") if from == "review" => "approve",
            ("task", "REQUEST_CHANGES") => "changes",
            ("task", "CANCEL") => "cancel",
            _ => continue,
        };
        *found.entry(verb).or_default() += 1;
    }
    for verb in [
        "create", "pause", "resume", "answer", "provide", "approve", "changes", "cancel",
    ] {
        let times = |verb: &str| {
            let told = person.acknowledged.get(&(id.to_owned(), verb.to_owned()));
            told.copied().unwrap_or(0)
        };
        // A dependency that is refused moves the agent as one that is provided.
        let told = times(verb)
            + if verb == "provide" {
                times("reject")
            } else {
                0
            };
        let found = found.get(verb).copied().unwrap_or(0);
        if told != found {
            wrong.push(format!(
                "{told} times {verb} acknowledged, {found} times in the history"
            ));
        }
    }
    let starts = serving.noted(&format!("{id}.starts"));
    let attempts: BTreeSet<&str> = starts
        .iter()
        .filter_map(|it| it.split(' ').next())
        .collect();
    if attempts.len() != starts.len() {
        wrong.push(format!("an attempt was started twice: {starts:?}"));
    }
    let own = 1 + usize::from(known.agent == "crash");
    if starts.len() > own + lost || (known.agent != "endless" && starts.len() < own) {
        wrong.push(format!(
            "{} starts instead of {own}: {starts:?}",
            starts.len()
        ));
    }
    let finished = serving.noted(&format!("{id}.finished"));
    let latest = starts.last().and_then(|it| it.split(' ').next());
    if end == "completed"
        && known.agent != "listener"
        && finished.last().map(String::as_str) != latest
    {
        wrong.push(format!("done by {latest:?}, finished by {finished:?}"));
    }
    wrong.extend(of_words(&read_by_processes(serving, id, known)?, known));
    Ok(wrong)
}

/// What each process of a task has read, its prompt included.
fn read_by_processes(serving: &Serving, id: &str, known: &Known) -> Outcome<Vec<String>> {
    if known.agent == "listener" {
        let file = serving.data().join("workspaces").join(id).join("read.txt");
        let text = fs::read_to_string(file).map_err(told)?;
        return Ok(text.split(PROCESS).map(str::to_owned).collect());
    }
    let mut read: BTreeMap<String, String> = BTreeMap::new();
    for line in serving.noted(&format!("{id}.read")) {
        if let Some((process, text)) = line.split_once(' ') {
            let all = read.entry(process.to_owned()).or_default();
            all.push_str(text);
            all.push('\n');
        }
    }
    Ok(read.into_values().collect())
}

/// Every word that was acknowledged was read by a process, and no process read it twice.
fn of_words(read: &[String], known: &Known) -> Vec<String> {
    let of = |word: &String| {
        let times: Vec<usize> = read.iter().map(|it| it.matches(word).count()).collect();
        let is_lost = times.iter().all(|it| *it == 0);
        let is_doubled = times.iter().any(|it| *it > 1);
        (is_lost || is_doubled).then(|| format!("{word} was read {times:?} times"))
    };
    known.words.iter().filter_map(of).collect()
}
