//! A whole orchestration under kills: 60 tasks in 5 phases, agents that edit, conflict, fail, die and misuse git, in a real
//! repository beside a person who edits the plan.
//!
//! The promises: with its run, shims, agents and gits killed with -9 at any moment and gone on with, it ends with the same tree and
//! state as one that was never killed; nothing acknowledged is done again, no commit of an agent is lost, and nothing is left behind.

use super::common::{Random, pause};
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
    /// So many seeds one after the other, from the first on.
    pub(crate) seeds: u64,
}

/// No run takes this long unless it hangs.
const BOUND: Duration = Duration::from_secs(300);
/// The longest time until a kill.
const KILL_MS_MAX: u64 = 350;

/// What every agent does. By its id it fails first, dies first, edits the same file as others, or does to git what agents do:
/// an unrelated history, a detached head, broken modules, no worktree any more, no plan or less of it, a branch that is reset, a
/// box that it ticks itself, a repository within the repository, changes in a submodule.
const AGENT: &str = r#"#!/bin/sh
id=$BOWLINE_TASK_ID
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
base=refs/bowline/base/task-$id
main=$(dirname "$(git rev-parse --path-format=absolute --git-common-dir)")
commit() { git add --all; git commit --quiet -m "$1" && git rev-parse HEAD >> "$HOME/commits"; }
if [ -f shared.txt ] && grep -q '^<<<<<<<' shared.txt; then
  grep -v '^<<<<<<<\|^=======\|^>>>>>>>' shared.txt | sort -u > shared.new; mv shared.new shared.txt
fi
git merge-base HEAD $base > /dev/null || git reset --quiet --soft $base
[ -f TASKS.md ] && [ "$BOWLINE_TRY" = 1 ] || git checkout --quiet $base -- TASKS.md
rm -f .gitmodules
modules() { git cat-file blob $base:.gitmodules > .gitmodules; }
modules || modules || exit 7
if [ -e sub/.git ]; then git -C sub checkout --quiet --force; fi
if [ -e lib ]; then git rm --quiet --cached lib 2>/dev/null; rm -rf lib; fi
first=; [ "$BOWLINE_TRY" = 1 ] && first=yes
mkdir -p out
case "$id" in
  *7|*8) grep -qx "$id" shared.txt 2>/dev/null || echo "$id" >> shared.txt; sort -o shared.txt shared.txt;;
  *5) if [ $first ]; then echo 'the first attempt fails' >&2; exit 3; fi;;
  *9) if [ $first ]; then kill -9 $$; fi;;
  *10) if [ $first ] && [ "$BOWLINE_PHASE" != 0 ]; then
      branch=$(git for-each-ref --format='%(refname)' "refs/heads/phase-$BOWLINE_PHASE-*" | head -1)
      if git log -1 --format=%B $branch | grep -q "^Bowline-Task: T$BOWLINE_PHASE.[1-4]$"; then
        git update-ref $branch $branch~1; fi; fi;;
  *11) sed -i "s/\[ \] $id:/[x] $id:/" TASKS.md;;
  *12) if [ $first ] && [ "$BOWLINE_PHASE" = 1 ]; then
      git -c protocol.file.allow=always submodule --quiet update --init sub; echo more >> sub/l.txt
    elif [ $first ]; then
      git init --quiet lib; (cd lib; echo l > l.txt; git add --all; git commit --quiet -m "within $id"); echo more > lib/more.txt; fi;;
  *1) if [ $first ]; then git checkout --quiet --orphan "own-$id"; echo "work of $id" > "out/$id.txt"; commit "orphan of $id"; echo "DONE:$id"; exit; fi;;
  *2) if [ $first ]; then
      branch=$(git symbolic-ref --short HEAD) && git checkout --quiet --detach && echo x > x.txt && commit "detached of $id" && git checkout --quiet $branch
      echo y > y.txt; commit "reset away of $id"; git reset --quiet --hard $base; mkdir -p out; fi;;
  *3) if [ $first ]; then echo '[submodule' > .gitmodules; fi;;
  *4) if [ $first ]; then rm .git; git -C "$main" worktree prune --expire=now; echo "DONE:$id"; exit; fi;;
  *6) if [ $first ]; then case "$BOWLINE_PHASE" in
      *[02468]) git rm --quiet TASKS.md;; *) sed -i '/T1\.1:/,/T1\.2:/{/Its text/d}' TASKS.md;; esac; fi;;
esac
rm -f x.txt y.txt
echo "work of $id" > "out/$id.txt"
echo "DONE:$id"
"#;
/// The line of the plan that a person has not committed.
const PERSON: &str = "A person notes something here.\n";
/// What a run names that ends by a command.
const WAYS_OUT: [&str; 2] = ["This brings it back: ", "This ends the wait: "];
/// What it names where nothing has to be done before it goes on.
const GOES_ON: &str = "go on with: bowline orchestrate run";
/// Runs after the last kill, each behind the command that the one before it named.
const ROUNDS_MAX: usize = 40;

pub(crate) fn run(plan: &Plan) -> Outcome {
    for seed in plan.seed..plan.seed + plan.seeds.max(1) {
        println!("seed {seed}");
        run_seed(plan, seed)?;
    }
    Ok(())
}

fn run_seed(plan: &Plan, seed: u64) -> Outcome {
    let begun = Instant::now();
    let calm = Field::new("orchestrate-calm", plan)?;
    calm.to_the_end()?;
    let (tree, done) = calm.outcome(plan)?;
    println!(
        "without a kill: {} files, {done} tasks, {:.1?}",
        tree.lines().count(),
        begun.elapsed()
    );
    let mut random = Random(seed);
    let (mut killed, mut runs) = (0, 0);
    // A run that comes to its end before it was killed often enough is followed by another one.
    while killed < plan.kills {
        runs += 1;
        let field = Field::new("orchestrate-killed", plan)?;
        killed += field.killed(plan.kills - killed, &mut random)?;
        field.to_the_end()?;
        let after = field.outcome(plan)?;
        if after != (tree.clone(), done) {
            let (other, count) = &after;
            let lines = |text: &str| text.lines().map(str::to_owned).collect::<BTreeSet<_>>();
            let (was, is) = (lines(&tree), lines(other));
            let differ: Vec<&String> = was.symmetric_difference(&is).collect();
            return Err(format!(
                "{count} tasks, and these entries differ: {differ:#?}"
            ));
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
            let victim = random.choose(&[None, Some("bowline"), Some("sh"), Some("git")]);
            if ended_within(&mut child, wait)?.is_some() {
                return Ok(killed);
            }
            if let Some(Some(name)) = victim {
                // One of its shims, agents or gits first, while it is there to see that.
                self.kill_one(name, child.id(), random);
                if ended_within(&mut child, Duration::from_millis(random.below(KILL_MS_MAX)))?
                    .is_some()
                {
                    return Ok(killed);
                }
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
        // Its commit is the same in every field: it is in the tree that is compared.
        let module = "git init --quiet --initial-branch=main ../sub && cd ../sub && echo l > l.txt && git add l.txt && \
                      git -c user.name=drill -c user.email=drill@localhost commit --quiet --message=begin";
        let module = command("sh", &["-ec", module])
            .current_dir(&root)
            .env("GIT_AUTHOR_DATE", "2026-01-01T00:00:00Z")
            .env("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z")
            .status();
        if !module.is_ok_and(|status| status.success()) {
            return Err("no repository of a submodule".into());
        }
        for words in [
            &["init", "--quiet", "--initial-branch=main"][..],
            &[
                "-c",
                "protocol.file.allow=always",
                "submodule",
                "--quiet",
                "add",
                "../sub",
                "sub",
            ],
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
        let path = root.join("TASKS.md");
        fs::write(&path, format!("{}\n{PERSON}", tasks(plan)))
            .map_err(|error| error.to_string())?;
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

    /// Kills one process of this name that works in this scratch folder.
    fn kill_one(&self, name: &str, run: u32, random: &mut Random) {
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else {
                continue;
            };
            let comm = fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).into_owned();
            let place = fs::read_link(entry.path().join("cwd")).unwrap_or_default();
            let ours = place.starts_with(&self.scratch.0)
                || line.contains(&*self.scratch.0.to_string_lossy());
            if ours && comm.starts_with(name) && pid != run {
                found.push(pid);
            }
        }
        if let Some(pid) = random.choose(&found) {
            let _ = command("kill", &["-9", &pid.to_string()]).status();
        }
    }

    /// Goes on until it is done. Where it ends for another reason, does what it says: the command it names, or a retry of what failed.
    fn to_the_end(&self) -> Outcome {
        for _ in 0..ROUNDS_MAX {
            if self.one_round()? {
                return Ok(());
            }
        }
        Err(format!("not done after {ROUNDS_MAX} runs"))
    }

    fn one_round(&self) -> Outcome<bool> {
        let out = self.scratch.0.join("answer.json");
        let file = fs::File::create(&out).map_err(|error| error.to_string())?;
        let mut run = self.bowline(&["orchestrate", "run", "--json"]);
        let run = run.stdout(file).stderr(Stdio::null()).spawn();
        let mut child = run.map_err(|error| error.to_string())?;
        let code = ended_within(&mut child, BOUND)?;
        let answer = fs::read(&out).unwrap_or_default();
        let answer: Value = serde_json::from_slice(&answer).unwrap_or_default();
        let why = answer["why"].as_str().unwrap_or_default();
        let named = WAYS_OUT.iter().find_map(|words| why.split_once(words));
        if let (Some(1), Some((_, way))) = (code, named) {
            println!("  told: {why}");
            let did = command("sh", &["-c", way])
                .current_dir(self.root())
                .output();
            let did = did.map_err(|error| error.to_string())?;
            return match did.status.success() {
                true => Ok(false),
                false => Err(format!("'{way}' does not end it: {did:?}")),
            };
        }
        let failed = answer["failed"].as_array().cloned().unwrap_or_default();
        if code == Some(1) && why.contains(GOES_ON) {
            println!("  told: {why}");
            return Ok(false);
        }
        if code == Some(1) && !failed.is_empty() {
            for task in &failed {
                println!("  retried: {task}");
                let id = task["id"].as_str().unwrap_or_default();
                let did = self.bowline(&["orchestrate", "retry", id]).output();
                did.map_err(|error| error.to_string())?;
            }
            return Ok(false);
        }
        match code {
            Some(0) => Ok(true),
            Some(code) => {
                let log = fs::read_to_string(self.root().join(".claude/orchestrate.log"));
                let log = log.unwrap_or_default();
                Err(format!(
                    "the run ended with {code}: {answer}; its log:\n{log}"
                ))
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
        let text = fs::read_to_string(self.root().join("TASKS.md")).unwrap_or_default();
        if !text.contains(PERSON) {
            return Err("the line of a person is not in the plan any more".into());
        }
        fs::write(self.root().join("TASKS.md"), text.replace(PERSON, ""))
            .map_err(|error| error.to_string())?;
        let dirty = self.git(&["status", "--porcelain"])?;
        if dirty == "M TASKS.md" {
            self.git(&[
                "-c",
                "user.name=drill",
                "-c",
                "user.email=drill@localhost",
                "commit",
                "--quiet",
                "--all",
                "--message=boxes",
            ])?;
        }
        let made = fs::read_to_string(self.home().join("commits")).unwrap_or_default();
        let known = self.git(&["rev-list", "--all"])?;
        let known: BTreeSet<&str> = known.lines().collect();
        let lost: Vec<&str> = made.lines().filter(|it| !known.contains(it)).collect();
        if made.is_empty() || !lost.is_empty() {
            return Err(format!("commits that no ref has any more: {lost:?}"));
        }
        let tree = self.git(&["ls-tree", "-r", "--full-tree", "HEAD"])?;
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
        for subject in subjects
            .lines()
            .filter(|line| line.starts_with('T') && line.contains(": Task "))
        {
            // A landing whose branch was reset may be there twice: brought back, and with work that was begun on it.
            seen.insert(subject);
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
            let _ = writeln!(
                out,
                "### [ ] T{phase}.{task}: Task {task} of {phase}\n\nIts text.\n"
            );
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
