//! What came of it, held against what was acknowledged.

use super::super::serving::Serving;
use super::person::{Known, Person};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
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
        let told = person.acknowledged.get(&(id.to_owned(), verb.to_owned()));
        let (told, found) = (
            told.copied().unwrap_or(0),
            found.get(verb).copied().unwrap_or(0),
        );
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
    if end == "completed" && finished.last().map(String::as_str) != latest {
        wrong.push(format!("done by {latest:?}, finished by {finished:?}"));
    }
    let heard = serving.noted(&format!("{id}.heard"));
    let words: Vec<&String> = heard.iter().filter(|it| known.said.contains(it)).collect();
    let once = known.said.iter().eq(words.iter().copied());
    if (lost == 0 && !once) || words.len() > known.said.len() * (1 + lost) {
        wrong.push(format!("said {:?}, heard {words:?}", known.said));
    }
    Ok(wrong)
}
