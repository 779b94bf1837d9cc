//! The programs are exchanged under agents at work, and the machine goes down under them.
//!
//! Upgraded and rolled back, with the old path deleted: no agent is started anew, and no byte of what it prints is lost or
//! doubled. After a reboot, which nothing outlives, every task goes on where it was and ends.

use super::common::{Random, pause};
use super::serving::{Process, Serving, kill, told};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Child;
use std::time::{Duration, Instant};
use xtask::Outcome;

/// How often what is done to how many.
pub(crate) struct Plan {
    pub(crate) times: usize,
    pub(crate) agents: usize,
    pub(crate) reboots: usize,
    pub(crate) seed: u64,
}

/// Nothing here takes this long unless it hangs.
const BOUND: Duration = Duration::from_secs(180);
/// Agents that go through reboots.
const REBOOTED_MAX: usize = 20;

const SETTINGS: &str = r#"
[defaults]
agent = "printer"
[limits]
runs_per_hour = 500
[agent.printer]
command = ["sh", "{dir}/agent.sh", "printer"]
[agent.climber]
command = ["sh", "{dir}/agent.sh", "climber"]
[[type.two.phases]]
name = "Up"
review = false
[[type.two.phases]]
name = "Down"
review = false
"#;

/// A printer prints numbered lines until it may stop, and keeps a copy of each. A climber has so many steps in each phase, and
/// goes on at the one it had reached.
const AGENT: &str = r#"
notes={dir}/notes id=$BOWLINE_TASK_ID
echo "$BOWLINE_ATTEMPT $BOWLINE_PHASE" >> "$notes/$id.starts"
print() { echo "$1" >> "$notes/$id.out"; echo "$1"; }
case $1 in
printer)
  n=0
  while [ ! -e "$notes/stop" ]; do
    for more in 1 2 3 4 5; do n=$((n+1)); print "line $n of $id"; done
    sleep 1
  done
  print '=== CUSTOM TASK COMPLETE ===';;
climber)
  n=$(cat "$notes/$id.$BOWLINE_PHASE" 2> /dev/null || echo 0)
  while [ "$n" -lt 20 ]; do
    n=$((n+1)); echo "Step $n/20: up"; echo "$n" > "$notes/$id.$BOWLINE_PHASE"; sleep 0.2
  done
  echo "=== PHASE $BOWLINE_PHASE COMPLETE ==="
  while IFS= read -r line; do
    case "$line" in *'phase: 2'*) BOWLINE_PHASE=2; exec sh "$0" climber;; esac
  done;;
esac
sleep 600
"#;

pub(crate) fn run(plan: &Plan) -> Outcome {
    let done = upgrades(plan).and_then(|()| match plan.reboots {
        0 => Ok(()),
        _ => reboots(plan),
    });
    done.map_err(|why| {
        format!(
            "{why}\nagain: cargo xtask drill upgrade --times {} --agents {} --reboots {} --seed {}",
            plan.times, plan.agents, plan.reboots, plan.seed
        )
    })
}

fn upgrades(plan: &Plan) -> Outcome {
    let begun = Instant::now();
    let serving = Serving::new("drill-upgrade", SETTINGS, AGENT)?;
    let mut dice = Random(plan.seed);
    let mut program = install(&serving, 0)?;
    let mut server = serving.start(&program, plan.agents)?;
    let tasks = create(&serving, plan.agents, "printer", "custom")?;
    for time in 1..=plan.times {
        // Some begin before the first agent does.
        pause(Duration::from_millis(200 + dice.below(1_000)));
        let next = install(&serving, time)?;
        leave(&mut server, dice.below(2) == 0)?;
        let old = program.parent().ok_or("a program without a folder")?;
        fs::remove_dir_all(old).map_err(told)?;
        server = serving.start(&next, plan.agents)?;
        program = next;
        if time % 10 == 0 || time == plan.times {
            on_their_first(&serving, &tasks)?;
        }
    }
    fs::write(serving.notes().join("stop"), "").map_err(told)?;
    ended(&serving, &tasks)?;
    on_their_first(&serving, &tasks)?;
    let mut bytes = 0;
    for id in &tasks {
        let printed = fs::read(serving.notes().join(format!("{id}.out"))).map_err(told)?;
        let kept = log(&serving, id)?;
        if kept != printed {
            let same = kept
                .iter()
                .zip(&printed)
                .take_while(|(a, b)| a == b)
                .count();
            return Err(format!(
                "{id}: {} bytes printed, {} kept, the same up to {same}",
                printed.len(),
                kept.len()
            ));
        }
        bytes += kept.len();
    }
    leave(&mut server, true)?;
    serving.nobody()?;
    println!(
        "upgrade: exchanged {} times under {} agents, the old path deleted each time; each was started once, {bytes} bytes \
         are complete; {:.1} s",
        plan.times,
        plan.agents,
        begun.elapsed().as_secs_f64()
    );
    Ok(())
}

fn reboots(plan: &Plan) -> Outcome {
    let begun = Instant::now();
    let serving = Serving::new("drill-reboot", SETTINGS, AGENT)?;
    let mut dice = Random(plan.seed);
    let agents = plan.agents.min(REBOOTED_MAX);
    let mut server = serving.start(&serving.bowline, agents)?;
    let tasks = create(&serving, agents, "climber", "two")?;
    for _ in 0..plan.reboots {
        pause(Duration::from_millis(1_500 + dice.below(1_500)));
        // All at once, as far as that goes: the shims first, so that none sees its agent end.
        kill(&mut server)?;
        let (shims, others): (Vec<Process>, Vec<Process>) = serving
            .processes()
            .into_iter()
            .partition(|it| it.shim_of().is_some());
        shims.iter().chain(&others).for_each(Process::kill);
        serving.nobody()?;
        server = serving.start(&serving.bowline, agents)?;
    }
    ended(&serving, &tasks)?;
    let mut starts = 0;
    for id in &tasks {
        let noted = serving.noted(&format!("{id}.starts"));
        let phases: Vec<&str> = noted
            .iter()
            .filter_map(|it| Some(it.split_once(' ')?.1))
            .collect();
        if !phases.is_sorted() {
            return Err(format!("{id} went back a phase: {noted:?}"));
        }
        starts += noted.len();
    }
    leave(&mut server, true)?;
    serving.nobody()?;
    println!(
        "reboot: {} times, nothing outlived it; {agents} tasks went on where they were and ended, with {starts} starts; {:.1} s",
        plan.reboots,
        begun.elapsed().as_secs_f64()
    );
    Ok(())
}

/// The programs under a path of their own; every other version differs.
fn install(serving: &Serving, version: usize) -> Outcome<PathBuf> {
    let folder = serving.dir().join(format!("versions/{version}"));
    fs::create_dir_all(&folder).map_err(told)?;
    for name in ["bowline-shim", "bowline"] {
        let to = folder.join(name);
        fs::copy(serving.bowline.with_file_name(name), &to).map_err(told)?;
        if version % 2 == 1 {
            let file = fs::File::options().append(true).open(&to);
            file.and_then(|mut file| file.write_all(b"another version"))
                .map_err(told)?;
        }
    }
    Ok(folder.join("bowline"))
}

/// Ends the server, as a service is stopped or as `kill -9` does.
fn leave(server: &mut Child, gently: bool) -> Outcome {
    if gently && let Some(pid) = i32::try_from(server.id()).ok().and_then(Pid::from_raw) {
        kill_process(pid, Signal::TERM).map_err(told)?;
        let since = Instant::now();
        while server.try_wait().map_err(told)?.is_none() {
            if since.elapsed() > BOUND {
                return Err("the server does not stop".into());
            }
            pause(Duration::from_millis(5));
        }
        return Ok(());
    }
    kill(server)
}

fn create(serving: &Serving, count: usize, agent: &str, kind: &str) -> Outcome<Vec<String>> {
    let one = |number: usize| {
        let body = json!({ "title": format!("{agent} {number}"), "type": kind, "description": "tea", "agent": agent,
            "submit": true });
        let key = format!("make-{number}");
        let (status, made) = serving.insist("POST", "/api/tasks", Some(&key), &body)?;
        let id = made["id"].as_str().filter(|_| status < 300);
        Ok(id
            .ok_or_else(|| format!("no task was made: {made}"))?
            .to_owned())
    };
    (0..count).map(one).collect()
}

/// Waits until every task is completed.
fn ended(serving: &Serving, tasks: &[String]) -> Outcome {
    let since = Instant::now();
    loop {
        let all = serving.items("/api/tasks?limit=1000")?;
        let open: Vec<String> = all
            .iter()
            .filter(|it| it["status"] != "completed")
            .map(|it| format!("{} {} {}", it["id"], it["status"], it["agentState"]))
            .collect();
        if all.len() == tasks.len() && open.is_empty() {
            return Ok(());
        }
        let asked = |it: &&Value| it["agentState"]["pausedBy"] == "breaker";
        if let Some(task) = all.iter().find(asked) {
            return Err(format!("a person is asked after one loss: {task}"));
        }
        if since.elapsed() > BOUND {
            return Err(format!("not ended:\n{}", open.join("\n")));
        }
        pause(Duration::from_millis(100));
    }
}

/// No agent was started anew: neither does the server say so, nor was a second one there.
fn on_their_first(serving: &Serving, tasks: &[String]) -> Outcome {
    for id in tasks {
        let (_, agent) =
            serving.insist("GET", &format!("/api/tasks/{id}/agent"), None, &Value::Null)?;
        let starts = serving.noted(&format!("{id}.starts"));
        if starts.len() > 1 {
            return Err(format!("{id} was started anew: {agent} {starts:?}"));
        }
    }
    Ok(())
}

/// All a task's agents printed, as the server has it.
fn log(serving: &Serving, id: &str) -> Outcome<Vec<u8>> {
    let mut whole = Vec::new();
    loop {
        let path = format!("/api/tasks/{id}/logs?offset={}", whole.len());
        match serving.ask("GET", &path, None, "").map_err(told)? {
            (200, more) if more.is_empty() => return Ok(whole),
            (200, more) => whole.extend(more),
            (status, _) => return Err(format!("GET {path}: {status}")),
        }
    }
}
