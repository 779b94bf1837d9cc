//! The task server under a hail of kills: a person works with it over REST, agents of every kind work, and the server is
//! killed with -9 at random moments and started again; now and then a shim is killed too.
//!
//! The promises: every acknowledged command took effect once, every task ends as it should, no attempt starts while an earlier
//! one may live, nothing of a lost attempt counts as done, an agent that nobody killed is never started anew, one that a
//! person stopped stays stopped, and no process is left over.

use super::field::{Random, pause};
use super::serving::{Serving, kill, told};
use crate::Outcome;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How often it is killed, and how many tasks there are at once.
pub(crate) struct Plan {
    pub(crate) kills: usize,
    pub(crate) agents: usize,
    pub(crate) seed: u64,
}

/// Nothing happens for so long only when something hangs.
const STILL_TIME: Duration = Duration::from_secs(120);
/// One page lists them all.
const TASKS_MAX: usize = 950;
/// Sayings to a worker before it is told to finish.
const SAYINGS: usize = 3;

const SETTINGS: &str = r#"
[defaults]
agent = "worker"
[limits]
runs_per_hour = 500
[agent.worker]
command = ["sh", "{dir}/agent.sh", "worker"]
[agent.phases]
command = ["sh", "{dir}/agent.sh", "phases"]
[agent.limit]
command = ["sh", "{dir}/agent.sh", "limit"]
[agent.need]
command = ["sh", "{dir}/agent.sh", "need"]
[agent.leaver]
command = ["sh", "{dir}/agent.sh", "leaver"]
[agent.crash]
command = ["sh", "{dir}/agent.sh", "crash"]
[agent.endless]
command = ["sh", "{dir}/agent.sh", "endless"]
[agent.checked]
command = ["sh", "{dir}/agent.sh", "checked"]
[agent.checker]
command = ["sh", "{dir}/agent.sh", "checker"]
[[type.two.phases]]
name = "Plan"
deliverables = ["plan.md"]
[[type.two.phases]]
name = "Make"
deliverables = ["made.md"]
[type.leaving]
complete_on_exit = true
[[type.leaving.phases]]
name = "All"
review = false
[[type.looked.phases]]
name = "All"
review = false
verifier = "checker"
"#;

/// What agents do. Whoever starts holds a lock that its children inherit: two at once are seen.
const AGENT: &str = r#"
notes={dir}/notes id=$BOWLINE_TASK_ID me=$BOWLINE_ATTEMPT
if [ "$1" = checker ]; then
  sleep 0.1
  printf '=== VERIFICATION_RESULT ===\n{"criteria":[{"id":"P1_CONS_01","status":"passed"}]}\n'
  sleep 600
fi
exec 9>> "$notes/$id.lock"
flock -n 9 || echo "$me began while an earlier one may live" >> "$notes/wrong"
echo "$me $$" >> "$notes/$id.starts"
heard() { grep -q "$1" "$notes/$id.heard" 2> /dev/null; }
wait_for() {
  while IFS= read -r line; do
    echo "$line" >> "$notes/$id.heard"
    case "$line" in *"$1"*) return;; esac
  done
  exit 9
}
work() { i=0; while [ $i -lt "$1" ]; do i=$((i+1)); echo "tick $i"; sleep {pace}; done; }
ask() { printf '[USER_QUESTION]\ncategory: choice\nquestion: Which tea?\noptions: [green, black]\nrequired: true\n[/USER_QUESTION]\n'; wait_for question_answer; }
finished() { echo "$me" >> "$notes/$id.finished"; }
rest() { while :; do wait_for NEVER; done; }
wait_for '[/PHASE_START]'
case $1 in
worker)
  work $(($$ % 40))
  echo 'Step 1/2: ask'; ask
  heard finish-it || wait_for finish-it
  finished; echo '=== CUSTOM TASK COMPLETE ==='; rest;;
phases)
  if [ "$BOWLINE_PHASE" = 1 ]; then
    work 5; heard '/REWORK' && echo plan > plan.md; ask
    # Nothing is there the first time: the check of the phase sends it back.
    echo '=== PHASE 1 COMPLETE ==='
    while :; do
      wait_for '['
      case "$line" in
      '[/REWORK]'|'[/REVIEW_REJECTED]') echo plan > plan.md; echo '=== PHASE 1 COMPLETE ===';;
      '[/PHASE_START]') break;;
      esac
    done
  fi
  work 5; echo made > made.md; finished
  while :; do echo '=== PHASE 2 COMPLETE ==='; wait_for '[/REVIEW_REJECTED]'; done;;
limit)
  work 5
  printf '[ERROR]\ntype: recoverable\nmessage: slow down\nrecovery: pause_and_retry\nretry_after: 1\n[/ERROR]\n'
  work 15; finished; echo '=== CUSTOM TASK COMPLETE ==='; rest;;
need)
  work 3
  printf '[DEPENDENCY_REQUEST]\ntype: api_key\nname: TEA_API_KEY\ndescription: tea\nrequired: true\n[/DEPENDENCY_REQUEST]\n'
  wait_for '[/DEPENDENCY_PROVIDED]'
  work 3; finished; echo '=== CUSTOM TASK COMPLETE ==='; rest;;
leaver) work 30; finished; exit 0;;
crash)
  work 5
  [ "$(wc -l < "$notes/$id.starts")" = 1 ] && exit 3
  work 5; finished; echo '=== CUSTOM TASK COMPLETE ==='; rest;;
checked) work 5; finished; echo '=== PHASE 1 COMPLETE ==='; rest;;
endless) (setsid sh -c 'trap "" TERM; while :; do sleep 1; done' &) ; while :; do echo tick; sleep {pace}; done;;
esac
"#;

/// Kinds of tasks: agent and type.
const KINDS: [(&str, &str); 8] = [
    ("worker", "custom"),
    ("phases", "two"),
    ("limit", "custom"),
    ("need", "custom"),
    ("leaver", "leaving"),
    ("crash", "custom"),
    ("checked", "looked"),
    ("endless", "custom"),
];

pub(crate) fn run(plan: &Plan) -> Outcome {
    drill(plan).map_err(|why| {
        format!(
            "{why}\nagain: cargo xtask drill server --kills {} --agents {} --seed {}",
            plan.kills, plan.agents, plan.seed
        )
    })
}

fn drill(plan: &Plan) -> Outcome {
    let begun = Instant::now();
    // Agents of a long drill take their time, so that not too many are needed.
    let pace = if plan.kills > 50 { "1" } else { "0.05" };
    let serving = Serving::new("drill-server", SETTINGS, &AGENT.replace("{pace}", pace))?;
    let slots = plan.agents.div_ceil(2).max(2);
    let (kills, over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let mut shims: BTreeMap<String, usize> = BTreeMap::new();
    let mut person = Person {
        serving: &serving,
        plan,
        kills: &kills,
        dice: Random(plan.seed + 1),
        asked: 0,
        tasks: BTreeMap::new(),
        acknowledged: BTreeMap::new(),
        settled: BTreeSet::new(),
        refused: 0,
        repeated: 0,
        pauses_seen: 0,
    };
    let mut dice = Random(plan.seed);
    let over = &over;
    let person = std::thread::scope(|scope| -> Outcome<Person> {
        let work = scope.spawn(move || {
            let done = person.work();
            over.store(true, Ordering::Relaxed);
            (done, person)
        });
        let mut killing = || -> Outcome {
            while kills.load(Ordering::Relaxed) < plan.kills && !over.load(Ordering::Relaxed) {
                let mut child = serving.start(&serving.bowline, slots)?;
                pause(Duration::from_millis(match dice.below(4) {
                    0 => dice.below(150),
                    1 | 2 => 200 + dice.below(700),
                    _ => 500 + dice.below(2_000),
                }));
                if dice.below(4) == 0 {
                    let all = serving.processes();
                    let all: Vec<_> = all
                        .iter()
                        .filter_map(|it| Some((it, it.shim_of()?)))
                        .collect();
                    let any = dice.below(all.len().max(1) as u64);
                    if let Some((shim, of)) = usize::try_from(any).ok().and_then(|it| all.get(it)) {
                        let task = of.rsplit_once('-').map_or(of.as_str(), |it| it.0);
                        *shims.entry(task.to_owned()).or_default() += 1;
                        shim.kill();
                    }
                }
                if let Some(status) = child.try_wait().map_err(told)? {
                    return Err(format!("the server ended by itself: {status}"));
                }
                kill(&mut child)?;
                kills.fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        };
        let killed = killing();
        // The last one stays for whoever looks at what came of it.
        kills.store(plan.kills, Ordering::Relaxed);
        let mut last = serving.start(&serving.bowline, slots)?;
        let (worked, person) = work.join().map_err(|_| "the person is gone")?;
        let checked = killed.and(worked);
        let checked = checked.and_then(|()| check(&serving, &person, &shims));
        let checked = checked.and_then(|()| serving.nobody());
        kill(&mut last)?;
        checked.map(|()| person)
    })?;
    let of = |verb: &str| -> usize {
        let verbs = person.acknowledged.iter().filter(|((_, it), _)| it == verb);
        verbs.map(|(_, count)| count).sum()
    };
    let verbs = [
        "answer", "provide", "approve", "changes", "pause", "resume", "say", "cancel",
    ];
    let verbs: Vec<String> = verbs.iter().map(|it| format!("{it} {}", of(it))).collect();
    println!(
        "server: killed with -9 {} times, and {} shims; {} tasks ended as they should; {} ({}), {} of them asked twice, {} \
         refused; {} agents stopped by a person stayed stopped; nobody was started anew, nothing is left; {:.1} s",
        plan.kills,
        shims.values().sum::<usize>(),
        person.tasks.len(),
        "every acknowledged command counts once",
        verbs.join(", "),
        person.repeated,
        person.refused,
        person.pauses_seen,
        begun.elapsed().as_secs_f64()
    );
    Ok(())
}

/// What the person knows of a task.
#[derive(Default)]
struct Known {
    agent: &'static str,
    status: String,
    over: bool,
    said: Vec<String>,
    changes: bool,
    pauses: usize,
    /// Stopped until so many kills; whether its process was seen to stand still.
    paused: Option<(usize, bool)>,
}

struct Person<'d> {
    serving: &'d Serving,
    plan: &'d Plan,
    kills: &'d AtomicUsize,
    dice: Random,
    asked: u64,
    tasks: BTreeMap<String, Known>,
    /// Commands that were acknowledged, by task and verb.
    acknowledged: BTreeMap<(String, String), usize>,
    /// Questions, reviews and dependencies that were answered.
    settled: BTreeSet<String>,
    refused: usize,
    repeated: usize,
    pauses_seen: usize,
}

impl Person<'_> {
    fn work(&mut self) -> Outcome {
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
        } else if known.agent == "worker" && !known.over && status == "in_progress" {
            let answered = self
                .acknowledged
                .contains_key(&(id.clone(), "answer".into()));
            let last = known.said.len() >= SAYINGS;
            if known.said.len() > SAYINGS || (last && !answered) || (!last && chance > 200) {
                return Ok(());
            }
            let text = match last {
                true => "finish-it".to_owned(),
                false => format!("word-{}-of-{id}", known.said.len()),
            };
            let body = json!({ "text": text });
            if self
                .command(&id, "say", &format!("/api/tasks/{id}/say"), &body)?
                .is_some()
                && let Some(known) = self.tasks.get_mut(&id)
            {
                known.said.push(text);
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
        let (verb, path, body) = match text("kind").as_str() {
            "question" => (
                "answer",
                format!("/api/questions/{id}/answer"),
                json!({ "answer": "green" }),
            ),
            "dependency" => (
                "provide",
                format!("/api/dependencies/{id}/provide"),
                json!({ "value": "sk-very-green-tea" }),
            ),
            "review" if first && self.dice.below(2) == 0 => (
                "changes",
                format!("/api/reviews/{id}/request-changes"),
                json!({ "feedback": "more tea" }),
            ),
            "review" => (
                "approve",
                format!("/api/reviews/{id}/approve"),
                json!({ "comment": "good" }),
            ),
            _ => return Ok(()),
        };
        if self.command(&task, verb, &path, &body)?.is_some() {
            self.settled.insert(id);
            if let Some(known) = self.tasks.get_mut(&task) {
                known.changes |= verb == "changes";
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
            let state = stat.rsplit_once(") ").and_then(|it| it.1.chars().next());
            match state {
                Some('T') => *seen = true,
                None | Some('Z' | 'X') => {}
                Some(_) if *seen => return Err(format!("{id} was paused and went on: {stat}")),
                Some(_) => {}
            }
        }
        Ok(())
    }
}

/// Holds what came of it against what was acknowledged.
fn check(serving: &Serving, person: &Person, shims: &BTreeMap<String, usize>) -> Outcome {
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
