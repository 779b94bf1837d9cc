//! `--land pr`, with a repository on disk for the host's and a script for the host's command.

use crate::environment::{TestEnvironment, write_executable};
use crate::orchestrate_run::{bowline, nothing_left, project};
use serde_json::Value;

/// Answers like `gh`: the first version of a branch has a red check, the second remarks on a line and on the whole, the third a
/// remark that stands before those, and the fourth is merged.
const GH: &str = r#"#!/bin/sh
echo "$@" >> "$HOME/gh.log"
remote() { git --git-dir="$HOME/remote.git" "$@"; }
case "$1 $2" in
  "pr create")
    branch=$4; [ "$6" = main ] || exit 3
    echo "$8" > "$HOME/pr-title"; touch "$HOME/pr-open"
    echo "http://localhost/pull/1";;
  "pr view")
    [ -f "$HOME/pr-open" ] || { echo "no pull requests found" >&2; exit 1; }
    commit=$(remote rev-parse "$3")
    grep -qx "$commit" "$HOME/seen" 2>/dev/null || echo "$commit" >> "$HOME/seen"
    checks=; remarks=; state=OPEN
    case $(wc -l < "$HOME/seen" | tr -d ' ') in
      1) checks='{"name":"build","conclusion":"FAILURE","detailsUrl":"http://localhost/actions/runs/77/job/1"}';;
      2) checks='{"name":"build","conclusion":"SUCCESS"}'; remarks='{"author":{"login":"mina"},"body":"name the quay","state":"CHANGES_REQUESTED"}';;
      3) remarks='{"id":"R2","author":{"login":"joon"},"body":"and the boat"},{"author":{"login":"mina"},"body":"name the quay"}';;
      *) remote update-ref refs/heads/main "$commit"; state=MERGED
         remarks='{"author":{"login":"mina"},"body":"name the quay"}';;
    esac
    echo "{\"number\":12,\"state\":\"$state\",\"url\":\"http://localhost/pull/1\",\"statusCheckRollup\":[$checks],\"reviews\":[$remarks],\"comments\":[]}";;
  "api --paginate")
    [ "$3" = "repos/{owner}/{repo}/pulls/12/comments" ] || exit 4
    case $(wc -l < "$HOME/seen" | tr -d ' ') in
      1) echo '[]';;
      *) echo '[{"id":5,"user":{"login":"sol"},"body":"too long","path":"quay.txt","line":3,"original_line":2}]'
         echo '[{"id":6,"user":{"login":"sol"},"body":"gone?","path":"quay.txt","line":null,"original_line":9}]';;
    esac;;
  "run view") echo "step 3: error: run $3 has no rope";;
  *) exit 9;;
esac
"#;

fn hosted(agent: &str) -> TestEnvironment {
    let plan = "# TASKS: P\n## Phase 1: A\n### [ ] T1.1: Quay\n";
    let world = project(plan, agent, "[orchestrate.pull_request]\nevery = 1\n");
    let bin = world.root().join("home/bin");
    write_executable(&bin.join("gh"), GH);
    let remote = world.root().join("home/remote.git");
    let remote = remote.to_str().unwrap();
    world.git(&["clone", "--quiet", "--bare", ".", remote]);
    world.git(&["remote", "add", "origin", remote]);
    world
}

fn run(world: &TestEnvironment) -> (Value, Option<i32>) {
    let path = std::env::var("PATH").unwrap();
    let bin = world.root().join("home/bin");
    let output = bowline(world, "orchestrate run --land pr --json")
        .env("PATH", format!("{}:{path}", bin.display()))
        .output()
        .unwrap();
    let body = serde_json::from_slice(&output.stdout);
    (
        body.unwrap_or_else(|_| panic!("{output:?}")),
        output.status.code(),
    )
}

#[test]
fn what_checks_and_reviewers_say_goes_back_to_the_agent_until_the_host_has_merged() {
    let agent = r#"
cp "$BOWLINE_PROMPT_FILE" "$HOME/prompt-$BOWLINE_TRY"
echo "try $BOWLINE_TRY" > quay.txt; echo "DONE:$BOWLINE_TASK_ID"
"#;
    let world = hosted(agent);
    let (body, code) = run(&world);
    assert_eq!((code, &body["done"]), (Some(0), &1.into()), "{body}");
    let home = |name: &str| std::fs::read_to_string(world.root().join("home").join(name)).unwrap();
    assert_eq!(home("pr-title"), "T1.1: Quay\n");
    assert_eq!(home("gh.log").matches("pr create").count(), 1);
    assert!(
        home("prompt-2").contains("run 77 has no rope"),
        "{}",
        home("prompt-2")
    );
    assert!(
        home("prompt-3").contains("mina: name the quay"),
        "{}",
        home("prompt-3")
    );
    for remark in ["sol at quay.txt:3: too long", "sol at quay.txt:9: gone?"] {
        assert!(home("prompt-3").contains(remark), "{}", home("prompt-3"));
    }
    // New proposals are reported wherever they stand, and none is reported twice.
    let last = home("prompt-4");
    let (_, news) = last
        .split_once("reviewers of the pull request say")
        .unwrap();
    assert!(news.contains("joon: and the boat"), "{last}");
    assert!(!news.contains("mina: name"), "{last}");
    // The merge came back, with the plan ticked.
    assert_eq!(world.read("quay.txt"), "try 4\n");
    assert!(!world.read("TASKS.md").contains("[ ]"));
    let log = world.read(".claude/orchestrate.log");
    assert!(
        log.contains("PROPOSED:T1.1:http://localhost/pull/1") || home("seen").lines().count() == 4
    );
    nothing_left(&world);
    // What the host merged is looked for like any other landing.
    world.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    let told = world.data("orchestrate verify", 1);
    assert!(told.contains("T1.1"), "{told}");
}

#[test]
fn a_host_that_cannot_be_reached_is_told_and_nothing_is_lost() {
    let world = hosted("echo x > quay.txt; echo \"DONE:$BOWLINE_TASK_ID\"\n");
    std::fs::remove_dir_all(world.root().join("home/remote.git")).unwrap();
    let (body, code) = run(&world);
    assert_eq!((code, &body["ended"]), (Some(1), &"stuck".into()), "{body}");
    assert!(body["why"].as_str().unwrap().contains("origin"), "{body}");
    assert!(world.path("worktree/task-T1.1/quay.txt").exists());
}
