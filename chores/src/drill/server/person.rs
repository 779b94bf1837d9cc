//! A person who works with the server over REST: gives commands until they are answered, and remembers what was.

use super::super::common::{Random, pause};
use super::super::serving::Serving;
use super::{KINDS, Plan};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use xtask::Outcome;

/// Nothing happens for so long only when something hangs.
const STILL_TIME: Duration = Duration::from_secs(120);
/// One page lists them all.
const TASKS_MAX: usize = 950;
/// Agents that a person talks to, and the last phase of a type with reviews.
const TALKED_TO: [&str; 2] = ["worker", "listener"];
const LAST_PHASE: u64 = 2;
/// Sayings to each before it is told to finish.
const SAYINGS: usize = 3;

/// What the person knows of a task.
#[derive(Default)]
pub(super) struct Known {
    pub(super) agent: &'static str,
    pub(super) status: String,
    pub(super) over: bool,
    pub(super) said: usize,
    /// What was acknowledged and has to be read by a process of the agent.
    pub(super) words: Vec<String>,
    pub(super) changes: bool,
    pub(super) pauses: usize,
    /// Stopped until so many kills; whether its process was seen to stand still.
    pub(super) paused: Option<(usize, bool)>,
}

pub(super) struct Person<'d> {
    pub(super) serving: &'d Serving,
    pub(super) plan: &'d Plan,
    pub(super) kills: &'d AtomicUsize,
    pub(super) dice: Random,
    pub(super) asked: u64,
    pub(super) tasks: BTreeMap<String, Known>,
    /// Commands that were acknowledged, by task and verb.
    pub(super) acknowledged: BTreeMap<(String, String), usize>,
    /// Questions, reviews and dependencies that were answered.
    pub(super) settled: BTreeSet<String>,
    pub(super) refused: usize,
    pub(super) repeated: usize,
    pub(super) pauses_seen: usize,
}

impl Person<'_> {
    pub(super) fn work(&mut self) -> Outcome {
        let mut last = (String::new(), Instant::now());
        loop {
            self.look_at_paused()?;
            let killing = self.kills.load(Ordering::Relaxed) < self.plan.kills;
            let open = self.tasks.values().filter(|it| !it.over).count();
            if open < self.plan.agents
                && self.tasks.len() < TASKS_MAX
                && (killing || self.tasks.is_empty())
            {
                self.create()?;
            }
            for task in self.serving.items("/api/tasks?limit=1000")? {
                self.look(&task)?;
            }
            for item in self.serving.items("/api/inbox")? {
                if self.dice.below(3) > 0 {
                    self.answer(&item)?;
                }
            }
            if !killing && self.tasks.values().all(|it| it.over) {
                return Ok(());
            }
            let now: String = self.tasks.values().map(|it| it.status.as_str()).collect();
            if now != last.0 {
                last = (now, Instant::now());
            }
            if last.1.elapsed() > STILL_TIME {
                let open = self.tasks.iter().filter(|(_, it)| !it.over);
                let open: Vec<String> = open
                    .map(|(id, it)| format!("{id} ({}): {}", it.agent, it.status))
                    .collect();
                return Err(format!("nothing happens any more:\n{}", open.join("\n")));
            }
            pause(Duration::from_millis(10));
        }
    }

    /// Gives a command under an id of its own until it is answered; says whether it was done.
    fn command(
        &mut self,
        task: &str,
        verb: &str,
        path: &str,
        body: &Value,
    ) -> Outcome<Option<Value>> {
        self.asked += 1;
        let key = format!("drill-{}", self.asked);
        let (status, answer) = self.serving.insist("POST", path, Some(&key), body)?;
        match status {
            200..300 => {
                if self.dice.below(8) == 0 {
                    // Whoever heard no answer asks again; that is no second wish.
                    self.repeated += 1;
                    let (again, _) = self.serving.insist("POST", path, Some(&key), body)?;
                    if again != status {
                        return Err(format!("{path} under {key}: {status}, and then {again}"));
                    }
                }
                let of = if task.is_empty() {
                    answer["id"].as_str().unwrap_or_default()
                } else {
                    task
                };
                *self
                    .acknowledged
                    .entry((of.to_owned(), verb.to_owned()))
                    .or_default() += 1;
                Ok(Some(answer))
            }
            409 => {
                self.refused += 1;
                Ok(None)
            }
            _ => Err(format!("{path}: {status} {answer}")),
        }
    }

    fn create(&mut self) -> Outcome {
        let (agent, kind) = KINDS[self.tasks.len() % KINDS.len()];
        let mut needs = Vec::new();
        if self.dice.below(4) == 0 {
            let all = self.tasks.iter().filter(|(_, it)| it.agent != "endless");
            needs.extend(all.map(|(id, _)| id.clone()).next_back());
        }
        let body = json!({ "title": format!("{agent} {}", self.tasks.len()), "type": kind, "description": "tea", "agent": agent,
            "dependsOn": needs, "submit": true });
        let made = self.command("", "create", "/api/tasks", &body)?;
        let id = made.as_ref().and_then(|it| it["id"].as_str());
        let id = id.ok_or_else(|| format!("no task was made: {made:?}"))?;
        let known = Known {
            agent,
            ..Known::default()
        };
        match self.tasks.insert(id.to_owned(), known) {
            None => Ok(()),
            Some(_) => Err(format!("{id} was made twice")),
        }
    }

    /// Does to a task what comes to mind.
    fn look(&mut self, task: &Value) -> Outcome {
        let id = task["id"].as_str().unwrap_or_default().to_owned();
        let kills = self.kills.load(Ordering::Relaxed);
        let chance = self.dice.below(1_000);
        let Some(known) = self.tasks.get_mut(&id) else {
            return Err(format!("nobody made {id}"));
        };
        let (status, agent) = (&task["status"], &task["agentState"]);
        known.status = format!(
            "{status} {} {} {}",
            agent["status"], agent["pausedBy"], task["waitingFor"]
        );
        known.over = status == "completed" || status == "failed";
        let by = agent["pausedBy"].as_str().unwrap_or_default();
        let runs = agent["status"] == "running";
        if let Some((until, seen)) = known.paused {
            if by != "user" && !known.over {
                return Err(format!(
                    "{id} was paused by a person and is {}",
                    known.status
                ));
            }
            if kills >= until || kills >= self.plan.kills {
                known.paused = None;
                self.pauses_seen += usize::from(seen);
                self.command(
                    &id,
                    "resume",
                    &format!("/api/tasks/{id}/resume"),
                    &json!({}),
                )?;
            }
        } else if by == "breaker" && task["needsYou"] == true {
            self.command(
                &id,
                "resume",
                &format!("/api/tasks/{id}/resume"),
                &json!({}),
            )?;
        } else if runs && known.pauses < 2 && chance < 30 {
            known.pauses += 1;
            let done = self.command(&id, "pause", &format!("/api/tasks/{id}/pause"), &json!({}))?;
            if let (Some(_), Some(known)) = (done, self.tasks.get_mut(&id)) {
                known.paused = Some((kills + 2, false));
            }
        } else if known.agent == "endless" && runs && chance < 100 {
            self.command(
                &id,
                "cancel",
                &format!("/api/tasks/{id}/cancel"),
                &json!({}),
            )?;
        } else if TALKED_TO.contains(&known.agent) && !known.over && status == "in_progress" {
            let answered = self
                .acknowledged
                .contains_key(&(id.clone(), "answer".into()))
                || known.agent == "listener";
            let last = known.said >= SAYINGS;
            if known.said > SAYINGS || (last && !answered) || (!last && chance > 200) {
                return Ok(());
            }
            let word = match last {
                true => format!("finish-it-{id}."),
                false => format!("word-{}-of-{id}.", known.said),
            };
            // The listener ends by a message with a name.
            let text = match last && known.agent == "listener" {
                true => json!({ "type": "finish", "answer": word }).to_string(),
                false => word.clone(),
            };
            let body = json!({ "text": text });
            if self
                .command(&id, "say", &format!("/api/tasks/{id}/say"), &body)?
                .is_some()
                && let Some(known) = self.tasks.get_mut(&id)
            {
                known.said += 1;
                known.words.push(word);
            }
        }
        Ok(())
    }

    fn answer(&mut self, item: &Value) -> Outcome {
        let text = |name: &str| item[name].as_str().unwrap_or_default().to_owned();
        let (id, task) = (text("id"), text("taskId"));
        if self.settled.contains(&id) {
            return Ok(());
        }
        let first = self.tasks.get(&task).is_some_and(|it| !it.changes);
        // With the last phase the task is completed, and nobody is left to read the comment.
        let phase = item["review"]["phase"].as_u64();
        let mut word = format!("word-for-{id}.");
        let (verb, path, body) = match text("kind").as_str() {
            "question" => {
                let asked = item["question"]["question"].as_str().unwrap_or_default();
                let process = asked.trim_start_matches("Which tea for ");
                word = format!("tea-for-{}.", process.trim_end_matches('?'));
                (
                    "answer",
                    format!("/api/questions/{id}/answer"),
                    json!({ "answer": word }),
                )
            }
            "dependency" if self.dice.below(2) == 0 => (
                "reject",
                format!("/api/dependencies/{id}/reject"),
                json!({ "reason": word }),
            ),
            "dependency" => (
                "provide",
                format!("/api/dependencies/{id}/provide"),
                json!({ "value": "sk-very-green-tea" }),
            ),
            "review" if first && self.dice.below(2) == 0 => (
                "changes",
                format!("/api/reviews/{id}/request-changes"),
                json!({ "feedback": word }),
            ),
            "review" => (
                "approve",
                format!("/api/reviews/{id}/approve"),
                json!({ "comment": word }),
            ),
            _ => return Ok(()),
        };
        if self.command(&task, verb, &path, &body)?.is_some() {
            self.settled.insert(id);
            if let Some(known) = self.tasks.get_mut(&task) {
                known.changes |= verb == "changes";
                if verb != "provide" && !(verb == "approve" && phase == Some(LAST_PHASE)) {
                    known.words.push(word);
                }
            }
        }
        Ok(())
    }

    /// An agent that a person stopped stands still, whether the server lives or not.
    fn look_at_paused(&mut self) -> Outcome {
        for (id, known) in &mut self.tasks {
            let Some((_, seen)) = &mut known.paused else {
                continue;
            };
            let starts = self.serving.noted(&format!("{id}.starts"));
            let pid = starts
                .last()
                .and_then(|it| it.split_once(' '))
                .map(|it| it.1.to_owned());
            let stat = fs::read_to_string(format!("/proc/{}/stat", pid.unwrap_or_default()));
            let stat = stat.unwrap_or_default();
            let mut fields = stat.rsplit_once(") ").map_or("", |it| it.1).split(' ');
            let (state, parent) = (fields.next().unwrap_or_default(), fields.next());
            match state {
                "T" => *seen = true,
                "" | "Z" | "X" => {}
                // Its shim was killed: the kernel hangs it up and continues it, so that it dies.
                _ if parent == Some("1") => {}
                _ if *seen => return Err(format!("{id} was paused and went on: {stat}")),
                _ => {}
            }
        }
        Ok(())
    }
}
