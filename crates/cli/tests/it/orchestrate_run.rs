//! `bowline orchestrate run` in real repositories, with scripts for agents.

use crate::environment::{TestEnvironment, write_executable};
use bowline_test_support::wait_until;
use serde_json::Value;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

/// Nothing here takes this long unless it hangs.
pub(crate) const BOUND: Duration = Duration::from_secs(60);

pub(crate) const PLAN: &str = "\
# TASKS: 나루터

## Phase 0: Quay
### [ ] T0.1: 저장소
### [ ] T0.2: Readme

## Phase 1: 시간표
### [ ] T1.1: Model
### [ ] T1.2: API
- **의존**: T1.1
### [ ] T1.3: Screen
";

/// A repository with a plan, whose agent is a shell script.
pub(crate) fn project(plan: &str, agent: &str, settings: &str) -> TestEnvironment {
    let world = TestEnvironment::new();
    world.write("TASKS.md", plan);
    let script = world.root().join("agent.sh");
    std::fs::write(&script, agent).unwrap();
    let command = script.display().to_string();
    let text = format!(
        "[defaults]\nagent = \"script\"\n[agent.script]\ncommand = [\"sh\", {command:?}]\n\
         [orchestrate]\nbackoff = 0\n{settings}"
    );
    world.write("bowline.toml", text);
    world.git(&["init", "--quiet", "--initial-branch=main"]);
    world.git(&["add", "--all"]);
    world.git(&["commit", "--quiet", "--message=begin"]);
    world
}

/// The command in this world; time goes on in it.
pub(crate) fn bowline(world: &TestEnvironment, words: &str) -> Command {
    let mut command = world.bowline(words);
    command.env_remove("BOWLINE_CLOCK");
    command
}

pub(crate) fn ran(world: &TestEnvironment, words: &str) -> Output {
    bowline(world, words).output().unwrap()
}

pub(crate) fn report(world: &TestEnvironment, words: &str) -> (Value, Option<i32>) {
    let output = ran(world, words);
    let body = serde_json::from_slice(&output.stdout);
    (
        body.unwrap_or_else(|_| panic!("{output:?}")),
        output.status.code(),
    )
}

/// Nothing of a run is left but what it made.
pub(crate) fn nothing_left(world: &TestEnvironment) {
    assert_eq!(world.git(&["worktree", "list"]).lines().count(), 1);
    assert_eq!(world.git(&["branch", "--list", "bowline/*"]), "");
    for beside in ["lock", "sock"] {
        let path = format!(".claude/orchestrate-state.json.{beside}");
        assert!(!world.path(&path).exists(), "{path}");
    }
}

/// Writes its own file, and for two of them the same one.
const EDITS: &str = r#"
id=$BOWLINE_TASK_ID
if [ -f shared.txt ] && grep -q '^<<<<<<<' shared.txt; then
  grep -v '^<<<<<<<\|^=======\|^>>>>>>>' shared.txt | sort -u > new; mv new shared.txt
fi
case "$id" in
  T1.1|T1.3) grep -qx "$id" shared.txt 2>/dev/null || echo "$id" >> shared.txt;;
  T0.2) if [ "$BOWLINE_TRY" = 1 ]; then echo 'no ink' >&2; exit 4; fi;;
esac
mkdir -p '작업 out'
echo "work of $id" > "작업 out/$id.txt"
echo "DONE:$id"
"#;

#[test]
fn a_plan_is_worked_off_landed_ticked_and_merged() {
    let checks = "evidence = [\"test\", \"-f\", \"TASKS.md\"]\nchecks = [[\"sh\", \"-c\", \"ls */T*.txt\"]]\n";
    let world = project(PLAN, EDITS, checks);
    let (body, code) = report(&world, "orchestrate run --json");
    assert_eq!(code, Some(0), "{body}");
    assert_eq!((&body["done"], &body["total"]), (&5.into(), &5.into()));
    assert!(
        !world.read("TASKS.md").contains("[ ]"),
        "{}",
        world.read("TASKS.md")
    );
    assert_eq!(world.read("shared.txt").lines().count(), 2);
    assert_eq!(world.git(&["status", "--porcelain"]), "");
    let subjects = world.git(&["log", "--first-parent", "--format=%s"]);
    let mut subjects: Vec<&str> = subjects.lines().collect();
    subjects.sort_unstable();
    assert_eq!(
        subjects,
        [
            "Phase 1 complete: 시간표",
            "T0.1: 저장소",
            "T0.2: Readme",
            "begin"
        ]
    );
    let files = world.git(&["ls-tree", "-r", "--name-only", "HEAD"]);
    assert_eq!(
        files
            .lines()
            .filter(|name| name.starts_with("작업 out/"))
            .count(),
        5
    );
    let state = world.read_json(".claude/orchestrate-state.json");
    assert_eq!(state["checkpoints"]["phase_1"]["merged"], true);
    nothing_left(&world);
    let log = world.read(".claude/orchestrate.log");
    assert!(log.contains("[나루터] EXECUTE:T0.1"), "{log}");
    assert!(log.contains("RETRY:T0.2:exit code 4: no ink"), "{log}");
}

#[test]
fn one_that_fails_for_good_blocks_exactly_what_needs_it_and_can_be_mended() {
    let agent = r#"
id=$BOWLINE_TASK_ID
if [ "$id" = T1.1 ] && [ ! -f "$HOME/mended" ]; then echo "FAIL:T1.1:no model"; exit 0; fi
echo "$id" > "$id.txt"; echo "DONE:$id"
"#;
    let world = project(PLAN, agent, "retry_limit = 3\n");
    let (body, code) = report(&world, "orchestrate run --json");
    assert_eq!((code, &body["ended"]), (Some(1), &"stalled".into()));
    assert_eq!(body["done"], 3);
    assert_eq!(body["failed"][0]["id"], "T1.1");
    assert_eq!(body["failed"][0]["error"], "no model");
    assert_eq!(body["failed"][0]["blocks"], serde_json::json!(["T1.2"]));
    // What landed of the phase is kept on its branch.
    assert!(
        world
            .git(&["log", "--format=%s", "phase-1"])
            .contains("T1.3: Screen")
    );
    std::fs::write(world.root().join("home/mended"), "").unwrap();
    assert_eq!(ran(&world, "orchestrate retry T1.1").status.code(), Some(0));
    let (body, code) = report(&world, "orchestrate run --resume --json");
    assert_eq!((code, &body["done"]), (Some(0), &5.into()));
    nothing_left(&world);
}

#[test]
fn a_run_that_is_killed_goes_on_with_the_agents_that_live() {
    let agent = r#"
id=$BOWLINE_TASK_ID
[ "$id" = T0.1 ] && while [ ! -f "$HOME/go" ]; do sleep 0.05; done
echo "try $BOWLINE_TRY" > "$id.txt"; echo "DONE:$id"
"#;
    let world = project(PLAN, agent, "");
    let mut child = begun(&world);
    let status = || report(&world, "orchestrate status --json").0;
    let running = || {
        let status = status();
        status["state"]["tasks"]["completed"] == serde_json::json!(["T0.2"])
    };
    assert!(wait_until(BOUND, running), "{}", status());
    child.kill().unwrap();
    child.wait().unwrap();
    std::fs::write(world.root().join("home/go"), "").unwrap();
    let (body, code) = report(&world, "orchestrate run --json");
    assert_eq!((code, &body["done"]), (Some(0), &5.into()));
    // The agent that lived through it did the work; nobody began a second one.
    assert_eq!(world.read("T0.1.txt"), "try 1\n");
    assert_eq!(
        world.git(&["log", "--format=%s"]).matches("T0.1").count(),
        1
    );
    nothing_left(&world);
}

pub(crate) fn begun(world: &TestEnvironment) -> Child {
    bowline(world, "orchestrate run")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn a_run_is_reached_by_others_paused_and_stopped() {
    let agent =
        "[ \"$BOWLINE_TASK_ID\" = T0.1 ] && sleep 600\necho x > x; echo DONE:$BOWLINE_TASK_ID\n";
    let world = project(PLAN, agent, "");
    let pause = ran(&world, "orchestrate pause");
    assert_eq!(pause.status.code(), Some(3), "{pause:?}");
    let mut child = begun(&world);
    let there = || ran(&world, "orchestrate pause").status.success();
    assert!(wait_until(BOUND, there));
    let told = |args: &str| String::from_utf8(ran(&world, args).stdout).unwrap();
    let (text, json) = ("orchestrate status", "orchestrate status --json");
    assert!(told(text).contains("its run is paused"));
    assert!(told(json).contains(r#""run":"paused""#));
    let second = ran(&world, "orchestrate run");
    assert_eq!(second.status.code(), Some(5), "{second:?}");
    assert!(String::from_utf8_lossy(&second.stderr).contains(&child.id().to_string()));
    assert!(ran(&world, "orchestrate continue").status.success());
    assert!(told(text).contains("a run is at work"));
    assert!(told(json).contains(r#""run":"running""#));
    let refused = ran(&world, "orchestrate retry T0.1");
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("error[not_failed]"));
    assert!(ran(&world, "orchestrate stop").status.success());
    let mut code = None;
    let ended = wait_until(BOUND, || {
        code = child.try_wait().unwrap();
        code.is_some()
    });
    assert!(ended, "it does not leave");
    assert_eq!(code.and_then(|code| code.code()), Some(0));
}

#[test]
fn what_somebody_else_has_in_the_repository_is_never_taken_or_lost() {
    let agent = r#"
echo "$BOWLINE_TASK_ID" > "$BOWLINE_TASK_ID.txt"
# A branch deleted under it, and a file with a strange name.
[ "$BOWLINE_TASK_ID" = T0.2 ] && git update-ref -d "$(git symbolic-ref HEAD)"
echo odd > "it's \"한글\" $BOWLINE_TASK_ID"
echo "DONE:$BOWLINE_TASK_ID"
"#;
    let world = project(PLAN, agent, "");
    write_executable(&world.path(".git/hooks/pre-commit"), "#!/bin/sh\nexit 1\n");
    world.write("mine.txt", "uncommitted\n");
    let (body, code) = report(&world, "orchestrate run --json");
    assert_eq!((code, &body["done"]), (Some(0), &5.into()), "{body}");
    assert_eq!(world.read("mine.txt"), "uncommitted\n");
    assert_eq!(world.git(&["status", "--porcelain"]), "?? mine.txt");
    let files = world.git(&["ls-tree", "-r", "--name-only", "-z", "HEAD"]);
    let odd = files
        .split('\0')
        .filter(|name| name.starts_with("it's \"한글\" T"));
    assert_eq!(odd.count(), 5);
    nothing_left(&world);
}

#[test]
fn without_a_branch_or_a_commit_nothing_is_begun() {
    let world = project(PLAN, "exit 1\n", "");
    world.git(&["checkout", "--quiet", "--detach"]);
    let refused = ran(&world, "orchestrate run");
    assert!(
        String::from_utf8_lossy(&refused.stderr).contains("error[no_branch]"),
        "{refused:?}"
    );
    assert_eq!(refused.status.code(), Some(1));
    let refused = ran(&world, "orchestrate run --agent nobody");
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    world.git(&["checkout", "--quiet", "main"]);
    let refused = ran(&world, "orchestrate run --agent nobody");
    assert_eq!(refused.status.code(), Some(3), "{refused:?}");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("error[no_agent]"));
}

#[test]
fn outside_of_git_tasks_are_done_in_the_project_itself() {
    let world = project(
        PLAN,
        "echo x > $BOWLINE_TASK_ID.txt; echo DONE:$BOWLINE_TASK_ID\n",
        "",
    );
    std::fs::remove_dir_all(world.path(".git")).unwrap();
    let (body, code) = report(&world, "orchestrate run --json");
    assert_eq!((code, &body["done"]), (Some(0), &5.into()), "{body}");
    assert!(!world.read("TASKS.md").contains("[ ]"));
    assert_eq!(world.read("T1.2.txt"), "x\n");
}

#[test]
fn ralph_repeats_until_the_promise() {
    let plan = "# TASKS: R\n## Phase 0: A\n### [ ] T0.1: One\n";
    let agent =
        "echo again >> count.txt; [ $(wc -l < count.txt) -ge 3 ] && echo TASK_DONE; exit 0\n";
    let world = project(plan, agent, "");
    let (body, code) = report(
        &world,
        "orchestrate run --mode ralph --max-iterations 5 --json",
    );
    assert_eq!((code, &body["done"]), (Some(0), &1.into()), "{body}");
    assert_eq!(world.read("count.txt").lines().count(), 3);
}

#[test]
fn a_plan_is_rehearsed_without_touching_anything() {
    let world = project(PLAN, "exit 1\n", "");
    let before = world.everything();
    let (body, code) = report(&world, "orchestrate rehearse --seeds 20 --failing 0 --json");
    assert_eq!((code, &body["finished"]), (Some(0), &20.into()), "{body}");
    assert_eq!(body["wouldBlock"][0]["id"], "T1.1");
    assert_eq!(world.everything(), before);
}

#[test]
fn settings_that_make_no_sense_are_told_with_their_line_before_anything_begins() {
    let plan = "# TASKS: P\n## Phase 0: A\n### [ ] T0.1: Quay\n";
    for (settings, line, key) in [
        (
            "[notify]\nwebhook = [\"http://127.0.0.1:9/s3cret\"]\n",
            8,
            "notify.webhook",
        ),
        ("[notify]\nslack = 5\n", 8, "notify.slack"),
        ("[limits]\nrun_per_hour = 5\n", 8, "limits.run_per_hour"),
    ] {
        let world = project(plan, "echo DONE:T0.1\n", settings);
        for (lang, told) in [
            ("en", format!("line {line}: ")),
            ("ko", format!("{line}번째 줄")),
        ] {
            let output = ran(&world, &format!("--lang {lang} orchestrate run"));
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{said}");
            assert!(said.contains("[bad_settings]"), "{said}");
            assert!(said.contains(&told), "{said}");
            assert!(said.contains(key.split('.').next_back().unwrap()), "{said}");
            assert!(said.contains("bowline schema config"), "{said}");
            assert!(!said.contains("s3cret"), "{said}");
        }
        assert!(!world.path(".claude").exists(), "nothing was begun");
    }
}

#[test]
fn attempts_that_ended_long_ago_go_with_their_prompts_when_a_run_begins() {
    let plan = "# TASKS: P\n## Phase 0: A\n### [ ] T0.1: Quay\n";
    let world = project(plan, "echo \"DONE:$BOWLINE_TASK_ID\"\n", "");
    let (body, _) = report(&world, "orchestrate run --json");
    assert_eq!(body["ended"], "done", "{body}");
    let state = world.root().join("home/state/bowline/orchestrate");
    let places = std::fs::read_dir(&state).unwrap();
    let mut places = places.map(|it| it.unwrap().path());
    // Beside it are leases, in files.
    let place = places.find(|it| it.is_dir()).unwrap();
    let attempts = || {
        let names = std::fs::read_dir(place.join("attempts")).unwrap();
        let names = names.map(|it| it.unwrap().file_name().into_string().unwrap());
        names.collect::<std::collections::BTreeSet<String>>()
    };
    let first = attempts().pop_first().unwrap();
    let looked_at = "{\"out\":1000,\"err\":1000}\n";
    let shown = |id: &str| place.join("attempts").join(id).join("shown");
    // Whether the run itself saw all of it depends on who was quicker at its end.
    std::fs::write(shown(&first), looked_at).unwrap();
    // Of attempts like it, shown to their end, more than are kept.
    for number in 0..60 {
        let folder = place.join("attempts").join(format!("old-{number}"));
        std::fs::create_dir(&folder).unwrap();
        for file in ["spec.json", "exit.json", "lock"] {
            let from = place.join("attempts").join(&first).join(file);
            std::fs::copy(from, folder.join(file)).unwrap();
        }
        std::fs::write(shown(&format!("old-{number}")), looked_at).unwrap();
        std::fs::write(place.join(format!("prompts/old-{number}.md")), "x").unwrap();
    }
    let (body, _) = report(&world, "orchestrate run --json");
    assert_eq!(body["ended"], "done", "{body}");
    assert_eq!(attempts().len(), 50);
    let prompts = std::fs::read_dir(place.join("prompts")).unwrap();
    let prompts = prompts.map(|it| it.unwrap().path().file_stem().unwrap().to_owned());
    let prompts = prompts.map(|it| it.into_string().unwrap());
    assert_eq!(
        prompts.collect::<std::collections::BTreeSet<_>>(),
        attempts()
    );
}
