//! Landings that meet each other: files that are made and never merged, work that is red together, conflicts foreseen, and
//! tasks that begin on work that has not landed.

use crate::environment::TestEnvironment;
use crate::orchestrate_run::{BOUND, begun, nothing_left, project, report};
use bowline_test_support::wait_until;

const TWO: &str = "# TASKS: L\n## Phase 0: A\n### [ ] T0.1: One\n### [ ] T0.2: Two\n";
const CHAIN: &str =
    "# TASKS: L\n## Phase 0: A\n### [ ] T0.1: One\n### [ ] T0.2: Two\n- depends on: T0.1\n";
/// Waits until a file is there, for a while.
const WAIT: &str = "wait_for() { n=0; while [ ! -f \"$1\" ]; do n=$((n+1)); [ $n -gt 1500 ] && exit 9; sleep 0.02; done; }\n";
/// Both write one file at once; whoever has to put it together does.
const ONE_FILE: &str = r#"
id=$BOWLINE_TASK_ID
if grep -q '^<<<<<<<' shared.txt 2>/dev/null; then
  grep -v '^<<<<<<<\|^=======\|^>>>>>>>' shared.txt | sort -u > new; mv new shared.txt
else
  echo "line of $id" > shared.txt
fi
touch "$HOME/at-$id"
n=0; while [ ! -f "$HOME/at-T0.1" ] || [ ! -f "$HOME/at-T0.2" ]; do n=$((n+1)); [ $n -gt 1500 ] && exit 9; sleep 0.02; done
echo "DONE:$id"
"#;

fn log(world: &TestEnvironment) -> String {
    std::fs::read_to_string(world.path(".claude/orchestrate.log")).unwrap_or_default()
}

#[test]
fn files_that_a_command_makes_are_made_anew_and_never_merged() {
    let agent = r#"
id=$BOWLINE_TASK_ID
mkdir -p deps; echo "$id" > "deps/$id.txt"; cat deps/*.txt > deps.lock
touch "$HOME/at-$id"
n=0; while [ ! -f "$HOME/at-T0.1" ] || [ ! -f "$HOME/at-T0.2" ]; do n=$((n+1)); [ $n -gt 1500 ] && exit 9; sleep 0.02; done
echo "DONE:$id"
"#;
    let settings = "evidence = [\"sh\", \"-c\", \"cat deps/*.txt | cmp - deps.lock\"]\n\
                    regenerate = [{ files = [\"deps.lock\"], command = [\"sh\", \"-c\", \"cat deps/*.txt > deps.lock\"] }]\n";
    let world = project(TWO, agent, settings);
    let (body, code) = report(&world, "orchestrate run --json");
    assert_eq!((code, &body["done"]), (Some(0), &2.into()), "{body}");
    assert_eq!(world.read("deps.lock"), "T0.1\nT0.2\n");
    assert!(!log(&world).contains("RETRY"), "{}", log(&world));
    nothing_left(&world);
}

#[test]
fn green_alone_and_red_together_sends_the_later_one_back_and_leaves_the_branch_alone() {
    let agent = r#"
id=$BOWLINE_TASK_ID
cp "$BOWLINE_PROMPT_FILE" "$HOME/prompt-$id-$BOWLINE_TRY"
[ "$BOWLINE_TRY" = 2 ] && [ "$(ls part-* | wc -l)" = 2 ] && touch glue
touch "part-$id" "$HOME/at-$id"
n=0; while [ ! -f "$HOME/at-T0.1" ] || [ ! -f "$HOME/at-T0.2" ]; do n=$((n+1)); [ $n -gt 1500 ] && exit 9; sleep 0.02; done
echo "DONE:$id"
"#;
    let check = "test -f glue || test $(ls part-* 2>/dev/null | wc -l) -le 1";
    let world = project(
        TWO,
        agent,
        &format!("evidence = [\"sh\", \"-c\", {check:?}]\n"),
    );
    let (body, code) = report(&world, "orchestrate run --json");
    assert_eq!((code, &body["done"]), (Some(0), &2.into()), "{body}");
    let again: Vec<String> = log(&world)
        .lines()
        .filter(|line| line.contains("RETRY:"))
        .map(str::to_owned)
        .collect();
    assert_eq!(again.len(), 1, "{again:?}");
    assert!(
        again[0].contains("the evidence command failed"),
        "{again:?}"
    );
    // Every commit of the branch is green.
    for commit in world.git(&["rev-list", "HEAD"]).lines() {
        let files = world.git(&["ls-tree", "--name-only", commit]);
        let parts = files.lines().filter(|name| name.starts_with("part-"));
        assert!(parts.count() <= 1 || files.contains("glue"), "{files}");
    }
    nothing_left(&world);
}

#[test]
fn the_hunks_of_a_conflict_are_in_the_prompt_that_goes_back() {
    let agent = format!(
        r#"cp "$BOWLINE_PROMPT_FILE" "$HOME/prompt-$BOWLINE_TASK_ID-$BOWLINE_TRY"
{ONE_FILE}"#
    );
    let world = project(TWO, &agent, "");
    let (body, code) = report(&world, "orchestrate run --json");
    assert_eq!((code, &body["done"]), (Some(0), &2.into()), "{body}");
    let prompts = ["T0.1", "T0.2"].map(|id| {
        let path = world.root().join(format!("home/prompt-{id}-2"));
        std::fs::read_to_string(path).unwrap_or_default()
    });
    let prompt = prompts.concat();
    for part in ["<<<<<<<", "line of T0.1", "line of T0.2", "shared.txt"] {
        assert!(prompt.contains(part), "{part}: {prompt}");
    }
    assert_eq!(world.read("shared.txt").lines().count(), 2);
    nothing_left(&world);
}

/// A kill in the middle of a merge leaves files that belong to no merge.
#[test]
fn a_merge_that_was_cut_off_is_kept_and_begun_anew() {
    let agent = format!(
        r#"
if grep -q '^<<<<<<<' shared.txt 2>/dev/null && [ ! -f "$HOME/cut" ]; then
  touch "$HOME/cut"; git merge --abort; echo half > shared.txt; echo half > loose.txt; exit 3
fi
{ONE_FILE}"#
    );
    let world = project(TWO, &agent, "");
    let (body, code) = report(&world, "orchestrate run --json");
    assert_eq!((code, &body["done"]), (Some(0), &2.into()), "{body}");
    assert!(world.root().join("home/cut").exists());
    let lines = "line of T0.1\nline of T0.2\n";
    assert_eq!(world.read("shared.txt"), lines);
    let refs = world.git(&[
        "for-each-ref",
        "--format=%(refname)",
        "refs/bowline/rescue/",
    ]);
    for file in ["shared.txt", "loose.txt"] {
        let kept = format!("{}:{file}", refs.trim());
        assert_eq!(world.git(&["show", &kept]).trim(), "half");
    }
}

#[test]
fn two_tasks_that_will_not_fit_are_named_before_either_lands() {
    let agent = format!(
        r#"{WAIT}
id=$BOWLINE_TASK_ID
[ "$id" = T0.2 ] && [ "$BOWLINE_TRY" = 1 ] && wait_for "$HOME/landing"
if grep -q '^<<<<<<<' shared.txt 2>/dev/null; then sort -u shared.txt | grep -v '[<=>][<=>]' > new; mv new shared.txt
else echo "line of $id" > shared.txt; fi
echo "DONE:$id"
"#
    );
    let evidence = format!("{WAIT}touch $HOME/landing; wait_for $HOME/go");
    let world = project(
        TWO,
        &agent,
        &format!("evidence = [\"sh\", \"-c\", {evidence:?}]\n"),
    );
    let mut child = begun(&world);
    let warned = wait_until(BOUND, || log(&world).contains("OVERLAP:"));
    std::fs::write(world.root().join("home/go"), "").unwrap();
    assert!(warned, "{}", log(&world));
    let mut code = None;
    assert!(wait_until(BOUND, || {
        code = child.try_wait().unwrap();
        code.is_some()
    }));
    assert_eq!(
        code.and_then(|code| code.code()),
        Some(0),
        "{}",
        log(&world)
    );
    let line = log(&world);
    let line = line.lines().find(|line| line.contains("OVERLAP:")).unwrap();
    assert!(line.ends_with("OVERLAP:T0.2:T0.1:shared.txt"), "{line}");
    nothing_left(&world);
}

#[test]
fn whoever_says_it_changes_the_same_files_begins_after_those_who_do_not() {
    let plan = "# TASKS: L\n## Phase 0: A\n### [ ] T0.1: One\n- touches: src/a.rs\n\
                ### [ ] T0.2: Two\n- touches: `src/`, `docs/x.md`\n### [ ] T0.3: Three\n- touches: web\n";
    let agent = "echo x > \"$BOWLINE_TASK_ID.txt\"; echo DONE:$BOWLINE_TASK_ID\n";
    let world = project(plan, agent, "");
    let (body, code) = report(&world, "orchestrate run --parallel 2 --json");
    assert_eq!((code, &body["done"]), (Some(0), &3.into()), "{body}");
    let log = log(&world);
    let begun: Vec<&str> = log
        .lines()
        .filter_map(|line| line.split_once("EXECUTE:"))
        .map(|(_, id)| id)
        .collect();
    assert_eq!(begun.last(), Some(&"T0.2"), "{log}");
    nothing_left(&world);
}

#[test]
fn a_stacked_task_begins_on_work_that_has_not_landed_and_lands_behind_it() {
    // The first one lands only when the second one is done: without a stack that would never be.
    let agent = r#"
id=$BOWLINE_TASK_ID
if [ "$id" = T0.2 ]; then cat T0.1.txt > T0.2.txt || exit 5; touch "$HOME/second"; fi
echo "work of $id" >> "$id.txt"; echo "DONE:$id"
"#;
    let evidence = format!("{WAIT}wait_for $HOME/second");
    let world = project(
        CHAIN,
        agent,
        &format!("evidence = [\"sh\", \"-c\", {evidence:?}]\n"),
    );
    let (body, code) = report(&world, "orchestrate run --stack --json");
    assert_eq!((code, &body["done"]), (Some(0), &2.into()), "{body}");
    assert_eq!(world.read("T0.2.txt"), "work of T0.1\nwork of T0.2\n");
    let subjects = world.git(&["log", "--format=%s"]);
    assert_eq!(subjects, "T0.2: Two\nT0.1: One\nbegin");
    nothing_left(&world);
}

#[test]
fn what_was_begun_on_work_that_fails_is_taken_back_and_blocked() {
    let agent = format!(
        r#"{WAIT}
id=$BOWLINE_TASK_ID
echo x > "$id.txt"
if [ "$id" = T0.2 ]; then touch "$HOME/second"; [ -f "$HOME/mended" ] || sleep 600; fi
echo "DONE:$id"
"#
    );
    let evidence = format!("{WAIT}wait_for $HOME/second; test -f $HOME/mended");
    let settings = format!("retry_limit = 1\nevidence = [\"sh\", \"-c\", {evidence:?}]\n");
    let world = project(CHAIN, &agent, &settings);
    let (body, code) = report(&world, "orchestrate run --stack --json");
    assert_eq!(
        (code, &body["ended"]),
        (Some(1), &"stalled".into()),
        "{body}"
    );
    assert_eq!(body["failed"][0]["id"], "T0.1");
    assert_eq!(body["failed"][0]["blocks"], serde_json::json!(["T0.2"]));
    assert!(log(&world).contains("RECALL:T0.2:T0.1"), "{}", log(&world));
    std::fs::write(world.root().join("home/mended"), "").unwrap();
    let retry = crate::orchestrate_run::ran(&world, "orchestrate retry T0.1");
    assert!(retry.status.success(), "{retry:?}");
    let (body, code) = report(&world, "orchestrate run --json");
    assert_eq!((code, &body["done"]), (Some(0), &2.into()), "{body}");
    nothing_left(&world);
}
