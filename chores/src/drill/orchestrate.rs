//! A whole orchestration under kills: 60 tasks in 5 phases, agents that edit, conflict, fail and die, in a real repository.
//!
//! The promises: killed with -9 at any moment and gone on with, it ends with the same tree and state as one that was never
//! killed; nothing acknowledged is done again, and nothing is left behind.

use super::field::{Random, pause};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use xtask::Outcome;
use xtask::shell::{Scratch, bowline, command};

/// How big, and how often it is killed.
pub(crate) struct Plan {
    pub(crate) kills: usize,
    pub(crate) tasks: usize,
    pub(crate) phases: usize,
    pub(crate) seed: u64,
}

/// No run takes this long unless it hangs.
const BOUND: Duration = Duration::from_secs(300);
/// The longest time until a kill.
const KILL_MS_MAX: u64 = 350;

/// What every agent does: some fail first, some die first, some edit the same file.
const AGENT: &str = r#"#!/bin/sh
id=$BOWLINE_TASK_ID
if [ -f shared.txt ] && grep -q '^<<<<<<<' shared.txt; then
  grep -v '^<<<<<<<\|^=======\|^>>>>>>>' shared.txt | sort -u > shared.new; mv shared.new shared.txt
fi
case "$id" in
  *7|*8) grep -qx "$id" shared.txt 2>/dev/null || echo "$id" >> shared.txt; sort -o shared.txt shared.txt;;
  *5) if [ "$BOWLINE_TRY" = 1 ]; then echo 'the first attempt fails' >&2; exit 3; fi;;
  *9) if [ "$BOWLINE_TRY" = 1 ]; then kill -9 $$; fi;;
esac
mkdir -p out
echo "work of $id" > "out/$id.txt"
echo "DONE:$id"
"#;

pub(crate) fn run(plan: &Plan) -> Outcome {
    let begun = Instant::now();
    let calm = Field::new("orchestrate-calm", plan)?;
    calm.to_the_end()?;
    let (tree, done) = calm.outcome(plan)?;
    println!(
        "without a kill: tree {tree}, {done} tasks, {:.1?}",
        begun.elapsed()
    );
    let mut random = Random(plan.seed);
    let (mut killed, mut runs) = (0, 0);
    // A run that comes to its end before it was killed often enough is followed by another one.
    while killed < plan.kills {
        runs += 1;
        let field = Field::new("orchestrate-killed", plan)?;
        killed += field.killed(plan.kills - killed, &mut random)?;
        field.to_the_end()?;
        let after = field.outcome(plan)?;
        if after != (tree.clone(), done) {
            return Err(format!("{after:?} instead of {:?}", (tree, done)));
        }
    }
    println!(
        "{killed} kills in {runs} runs: the same tree and state, {:.1?}",
        begun.elapsed()
    );
    Ok(())
}

struct Field {
    scratch: Scratch,
    bowline: PathBuf,
}

impl Field {
    /// Starts and kills, until it was often enough or the run has come to its end; how often.
    fn killed(&self, kills: usize, random: &mut Random) -> Outcome<usize> {
        let mut acknowledged = BTreeSet::new();
        for killed in 0..kills {
            let mut child = self.start()?;
            let wait = Duration::from_millis(20 + random.below(KILL_MS_MAX));
            if ended_within(&mut child, wait)?.is_some() {
                return Ok(killed);
            }
            child.kill().map_err(|error| error.to_string())?;
            child.wait().map_err(|error| error.to_string())?;
            let now = self.completed()?;
            let lost: Vec<&String> = acknowledged.difference(&now).collect();
            if !lost.is_empty() {
                let times = killed + 1;
                return Err(format!(
                    "after {times} kills these are no longer done: {lost:?}"
                ));
            }
            acknowledged = now;
        }
        Ok(kills)
    }

    fn new(name: &str, plan: &Plan) -> Outcome<Field> {
        let field = Field {
            scratch: Scratch::new(name)?,
            bowline: bowline()?,
        };
        let root = field.root();
        fs::create_dir_all(&root).map_err(|error| error.to_string())?;
        fs::create_dir_all(field.home()).map_err(|error| error.to_string())?;
        let agent = field.home().join("agent.sh");
        // It names no folder of this run: it is in the tree that is compared.
        let settings = "[defaults]\nagent = \"drill\"\n[agent.drill]\n\
             command = [\"sh\", \"-c\", 'exec sh \"$HOME/agent.sh\"']\n\
             [orchestrate]\nbackoff = 0\nevidence = [\"test\", \"-f\", \"TASKS.md\"]\nchecks = [[\"true\"]]\n";
        for (path, text) in [
            (agent, AGENT.to_owned()),
            (root.join("TASKS.md"), tasks(plan)),
            (root.join("bowline.toml"), settings.to_owned()),
        ] {
            fs::write(&path, text).map_err(|error| error.to_string())?;
        }
        for words in [
            &["init", "--quiet", "--initial-branch=main"][..],
            &["add", "--all"],
            &[
                "-c",
                "user.name=drill",
                "-c",
                "user.email=drill@localhost",
                "commit",
                "--quiet",
                "--message=begin",
            ],
        ] {
            field.git(words)?;
        }
        Ok(field)
    }

    fn root(&self) -> PathBuf {
        self.scratch.0.join("project")
    }

    fn home(&self) -> PathBuf {
        self.scratch.0.join("home")
    }

    fn start(&self) -> Outcome<Child> {
        self.bowline(&["orchestrate", "run"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| error.to_string())
    }

    fn bowline(&self, words: &[&str]) -> Command {
        let mut command = command(&self.bowline.to_string_lossy(), words);
        command
            .current_dir(self.root())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home())
            .env("LANG", "C.UTF-8");
        command
    }

    fn git(&self, words: &[&str]) -> Outcome<String> {
        let output = command("git", words)
            .current_dir(self.root())
            .output()
            .map_err(|error| error.to_string())?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    }

    fn to_the_end(&self) -> Outcome {
        let mut child = self.start()?;
        match ended_within(&mut child, BOUND)? {
            Some(0) => Ok(()),
            Some(code) => {
                let log = fs::read_to_string(self.root().join(".claude/orchestrate.log"));
                let log = log.unwrap_or_default();
                Err(format!("the run ended with {code}; its log:\n{log}"))
            }
            None => {
                let _ = child.kill();
                Err(format!("the run did not end within {BOUND:?}"))
            }
        }
    }

    /// Tasks that are done, as anybody is told.
    fn completed(&self) -> Outcome<BTreeSet<String>> {
        let output = self
            .bowline(&["orchestrate", "status", "--json"])
            .output()
            .map_err(|error| error.to_string())?;
        let status: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let ids = status["state"]["tasks"]["completed"].as_array().cloned();
        let ids = ids.unwrap_or_default();
        Ok(ids
            .iter()
            .filter_map(|id| id.as_str().map(str::to_owned))
            .collect())
    }

    /// The tree and the number of tasks done, once nothing is left behind.
    fn outcome(&self, plan: &Plan) -> Outcome<(String, usize)> {
        let tree = self.git(&["rev-parse", "HEAD^{tree}"])?;
        let worktrees = self.git(&["worktree", "list"])?;
        if worktrees.lines().count() != 1 {
            return Err(format!("left behind: {worktrees}"));
        }
        let branches = self.git(&["branch", "--list", "bowline/*"])?;
        if !branches.is_empty() {
            return Err(format!("left behind: {branches}"));
        }
        let dirty = self.git(&["status", "--porcelain"])?;
        if !dirty.is_empty() {
            return Err(format!("not committed: {dirty}"));
        }
        for beside in ["lock", "sock"] {
            let path = format!(".claude/orchestrate-state.json.{beside}");
            if self.root().join(&path).exists() {
                return Err(format!("left behind: {path}"));
            }
        }
        let subjects = self.git(&["log", "--format=%s"])?;
        let mut seen = BTreeSet::new();
        for subject in subjects.lines().filter(|line| line.starts_with('T')) {
            if !seen.insert(subject) {
                return Err(format!("landed twice: {subject}"));
            }
        }
        let done = self.completed()?.len();
        if seen.len() != plan.tasks || done != plan.tasks {
            return Err(format!(
                "{} landed, {done} done, of {}",
                seen.len(),
                plan.tasks
            ));
        }
        Ok((tree, done))
    }
}

/// A plan in which every fourth task of a phase may begin at once.
fn tasks(plan: &Plan) -> String {
    let mut out = String::from("# TASKS: Drill\n");
    let each = plan.tasks / plan.phases.max(1);
    for phase in 0..plan.phases {
        let _ = writeln!(out, "\n## Phase {phase}: Part {phase}\n");
        for task in 1..=each {
            let _ = writeln!(out, "### [ ] T{phase}.{task}: Task {task} of {phase}");
            if task > 4 {
                let _ = writeln!(out, "- **의존**: T{phase}.{}", task - 4);
            }
        }
    }
    out
}

/// The exit code of a child that ends in time.
fn ended_within(child: &mut Child, time: Duration) -> Outcome<Option<i32>> {
    let end = Instant::now() + time;
    loop {
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            return Ok(Some(status.code().unwrap_or(-1)));
        }
        if Instant::now() >= end {
            return Ok(None);
        }
        pause(Duration::from_millis(2));
    }
}
