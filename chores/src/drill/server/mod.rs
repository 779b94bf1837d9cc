//! The task server under a hail of kills: a person works with it over REST, agents of every kind work, and the server is
//! killed with -9 at random moments and started again; now and then a shim is killed too.
//!
//! The promises: every acknowledged command took effect once, every acknowledged word was read by a process of its agent (and
//! by none twice), every task ends as it should, no attempt starts while an earlier
//! one may live, nothing of a lost attempt counts as done, an agent that nobody killed is never started anew, one that a
//! person stopped stays stopped, and no process is left over.

mod check;
mod person;

use super::common::{Random, pause};
use super::serving::{Serving, kill, told};
use check::check;
use person::Person;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use xtask::Outcome;
use xtask::shell::bowline;

/// How often it is killed, and how many tasks there are at once.
pub(crate) struct Plan {
    pub(crate) kills: usize,
    pub(crate) agents: usize,
    pub(crate) seed: u64,
}

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
[agent.listener]
command = ["sh", "{dir}/agent.sh", "listener"]
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
# It plays a scenario and notes what it reads in its workspace.
if [ "$1" = listener ]; then exec "{bowline}" scripted "{dir}/listener.toml"; fi
heard() { grep -q "$1" "$notes/$id.heard" 2> /dev/null; }
wait_for() {
  while IFS= read -r line; do
    echo "$line" >> "$notes/$id.heard"
    printf '%s %s\n' "$me" "$line" >> "$notes/$id.read"
    case "$line" in *"$1"*) return;; esac
  done
  exit 9
}
work() { i=0; while [ $i -lt "$1" ]; do i=$((i+1)); echo "tick $i"; sleep {pace}; done; }
# Each process has a question of its own: an answer that it reads twice was told twice.
ask() { printf '[USER_QUESTION]\ncategory: clarification\nquestion: Which tea for %s?\nrequired: true\n[/USER_QUESTION]\n' "$me"; wait_for "tea-for-$me."; }
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
  name=TEA_KEY_${me##*-}
  printf '[DEPENDENCY_REQUEST]\ntype: api_key\nname: %s\ndescription: tea\nrequired: false\n[/DEPENDENCY_REQUEST]\n' "$name"
  wait_for "name: $name"; wait_for '[/DEPENDENCY_'
  work 3; finished; echo '=== CUSTOM TASK COMPLETE ==='; rest;;
leaver) work 30; finished; exit 0;;
crash)
  work 5
  [ "$(wc -l < "$notes/$id.starts")" = 1 ] && exit 3
  work 5; finished; echo '=== CUSTOM TASK COMPLETE ==='; rest;;
checked)
  work 5; finished
  # The shim of whoever looks at the phase may be killed: then it has not passed.
  while :; do echo '=== PHASE 1 COMPLETE ==='; wait_for '[/REWORK]'; done;;
endless) (setsid sh -c 'trap "" TERM; while :; do sleep 1; done' &) ; while :; do echo tick; sleep {pace}; done;;
esac
"#;

/// What the listener plays: it reads whatever comes until it is told to finish.
const LISTENER: &str = r#"
protocol = "markers"
[[step]]
write = { path = "read.txt", append = true, text = "{process}\n" }
[[step]]
loop = { on = ["PHASE_START", ""], until = "finish", step = [{ write = { path = "read.txt", append = true, text = "{input}\n" } }] }
[[step]]
write = { path = "read.txt", append = true, text = "{input}\n" }
[[step]]
done = {}
[[step]]
wait = "NEVER"
"#;

/// What the listener writes when it begins.
const PROCESS: &str = "=== process";

/// Kinds of tasks: agent and type.
const KINDS: [(&str, &str); 9] = [
    ("worker", "custom"),
    ("phases", "two"),
    ("limit", "custom"),
    ("need", "custom"),
    ("leaver", "leaving"),
    ("crash", "custom"),
    ("checked", "looked"),
    ("listener", "custom"),
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
    let program = bowline()?.display().to_string();
    let agent = AGENT.replace("{pace}", pace).replace("{bowline}", &program);
    let serving = Serving::new("drill-server", SETTINGS, &agent)?;
    let scenario = LISTENER.replace("{process}", PROCESS);
    std::fs::write(serving.dir().join("listener.toml"), scenario).map_err(told)?;
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
                        // Commands are accepted before anybody notices.
                        pause(Duration::from_millis(dice.below(250)));
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
        "answer", "provide", "reject", "approve", "changes", "pause", "resume", "say", "cancel",
    ];
    let verbs: Vec<String> = verbs.iter().map(|it| format!("{it} {}", of(it))).collect();
    println!(
        "server: killed with -9 {} times, and {} shims; {} tasks ended as they should; every acknowledged command counts once ({}), {} of them asked twice, {} \
         refused; {} words were read by an agent, 0 lost, 0 doubled; {} agents stopped by a person stayed stopped; nobody was started anew, nothing is left; {:.1} s",
        plan.kills,
        shims.values().sum::<usize>(),
        person.tasks.len(),
        verbs.join(", "),
        person.repeated,
        person.refused,
        person
            .tasks
            .values()
            .map(|it| it.words.len())
            .sum::<usize>(),
        person.pauses_seen,
        begun.elapsed().as_secs_f64()
    );
    Ok(())
}
