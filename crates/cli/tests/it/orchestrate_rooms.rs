//! What a task's worktree has: a name, ports, the files it needs, and room on the machine.

use crate::orchestrate_run::{BOUND, begun, nothing_left, project, ran, report};
use bowline_test_support::wait_until;

const TWO: &str = "# TASKS: R\n## Phase 0: A\n### [ ] T0.1: One\n### [ ] T0.2: Two\n";

fn home(world: &crate::environment::TestEnvironment, name: &str) -> String {
    std::fs::read_to_string(world.root().join("home").join(name)).unwrap_or_default()
}

#[test]
fn a_worktree_has_a_name_and_ports_that_stay_the_same_over_restarts() {
    let agent = r#"
id=$BOWLINE_TASK_ID
echo "$BOWLINE_SLUG $BOWLINE_PORT $BOWLINE_PORTS" >> "$HOME/vars-$id"
while [ ! -f "$HOME/vars-T0.1" ] || [ ! -f "$HOME/vars-T0.2" ]; do sleep 0.02; done
[ "$id" = T0.1 ] && [ ! -f "$HOME/mended" ] && exit 4
echo "$id" > "$id.txt"; echo "DONE:$id"
"#;
    let settings = "retry_limit = 1\nports = 3\nfirst_port = 24000\n\
                    setup = [\"sh\", \"-c\", \"echo $BOWLINE_SLUG $BOWLINE_PORT >> $HOME/setup\"]\n\
                    evidence = [\"sh\", \"-c\", \"echo $BOWLINE_SLUG $BOWLINE_PORT >> $HOME/evidence\"]\n";
    let world = project(TWO, agent, settings);
    let (body, code) = report(&world, "orchestrate run --json");
    assert_eq!((code, &body["done"]), (Some(1), &1.into()), "{body}");
    // The worktree of the task that failed is kept, and what it holds is reported.
    assert_eq!(body["worktrees"][0]["name"], "task-T0.1");
    assert!(body["worktrees"][0]["bytes"].as_u64() > Some(0), "{body}");
    std::fs::write(world.root().join("home/mended"), "").unwrap();
    assert!(ran(&world, "orchestrate retry T0.1").status.success());
    let (body, code) = report(&world, "orchestrate run --json");
    assert_eq!((code, &body["done"]), (Some(0), &2.into()), "{body}");
    let (one, two) = (home(&world, "vars-T0.1"), home(&world, "vars-T0.2"));
    let tries: Vec<&str> = one.lines().collect();
    assert_eq!(tries.len(), 2);
    assert_eq!(tries[0], tries[1]);
    let words: Vec<&str> = tries[0].split(' ').collect();
    assert!(words[0].starts_with("task-t0-1-"), "{one}");
    let port: u16 = words[1].parse().unwrap();
    let ports: Vec<u16> = words[2..].iter().map(|it| it.parse().unwrap()).collect();
    assert_eq!(ports, [port, port + 1, port + 2]);
    let other: u16 = two.split(' ').nth(1).unwrap().parse().unwrap();
    assert!(other.abs_diff(port) >= 3, "{one}{two}");
    let said = format!("{} {port}\n", words[0]);
    assert!(home(&world, "setup").contains(&said));
    assert!(home(&world, "evidence").starts_with("landing-"));
    nothing_left(&world);
    // What is gone has no ports.
    assert_eq!(home(&world, "state/bowline/orchestrate/ports.json"), "{}");
}

#[test]
fn a_worktree_has_what_it_needs_and_one_that_was_half_furnished_is_furnished_again() {
    let agent = "cat .env deps/lib.txt made.txt > \"$BOWLINE_TASK_ID.txt\"; echo mine >> deps/lib.txt; echo DONE:$BOWLINE_TASK_ID\n";
    let settings = "link = [\".env\"]\ncopy = [\"deps\"]\n\
                    setup = [\"sh\", \"-c\", \"echo x >> $HOME/setups; echo made > made.txt; test $(wc -l < $HOME/setups) -ge 2\"]\n";
    let world = project(TWO, agent, settings);
    world.write(".gitignore", ".env\ndeps/\nmade.txt\n");
    world.git(&["add", ".gitignore"]);
    world.git(&["commit", "--quiet", "--message=ignore"]);
    world.write(".env", "KEY=1\n");
    world.write("deps/lib.txt", "lib\n");
    let (body, code) = report(&world, "orchestrate run --parallel 1 --json");
    assert_eq!((code, &body["done"]), (Some(0), &2.into()), "{body}");
    assert_eq!(world.read("T0.1.txt"), "KEY=1\nlib\nmade\n");
    // A copy is its worktree's own.
    assert_eq!(world.read("deps/lib.txt"), "lib\n");
    assert_eq!(home(&world, "setups").lines().count(), 3);
    nothing_left(&world);
}

#[test]
fn nothing_is_begun_while_the_machine_is_short_and_the_reason_is_told() {
    let world = project(
        TWO,
        "exit 1\n",
        "[orchestrate.free]\ndisk_mb = 9000000000000\n",
    );
    let mut child = begun(&world);
    let log = || {
        let log = std::fs::read_to_string(world.path(".claude/orchestrate.log"));
        log.unwrap_or_default()
    };
    assert!(wait_until(BOUND, || log().contains("SHORT:Disk")));
    assert!(ran(&world, "orchestrate stop").status.success());
    assert!(wait_until(BOUND, || child.try_wait().unwrap().is_some()));
    assert!(!log().contains("EXECUTE"), "{}", log());
    let status = report(&world, "orchestrate status --json").0;
    assert_eq!(
        status["state"]["tasks"]["ready"],
        serde_json::json!(["T0.1", "T0.2"])
    );
}

#[test]
fn a_worktree_of_a_task_that_is_in_the_plan_no_more_is_rescued_and_taken_away() {
    let agent = "echo x > \"$BOWLINE_TASK_ID.txt\"; echo DONE:$BOWLINE_TASK_ID\n";
    let world = project(TWO, agent, "");
    let room = world.path("worktree/task-T9.9");
    let path = room.to_str().unwrap();
    world.git(&[
        "worktree",
        "add",
        "--quiet",
        "-b",
        "bowline/task-T9.9",
        path,
    ]);
    world.write("worktree/task-T9.9/half of it.txt", "work\n");
    // One of somebody else's stays.
    let theirs = world.path("worktree/task-mine");
    let theirs = theirs.to_str().unwrap();
    world.git(&["worktree", "add", "--quiet", "-b", "mine", theirs]);
    let run = ran(&world, "orchestrate run");
    assert_eq!(run.status.code(), Some(0), "{run:?}");
    let talk = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(talk.contains("1 worktrees of an earlier run"), "{talk}");
    assert!(!room.exists() && world.path("worktree/task-mine").exists());
    let refs = world.git(&["for-each-ref", "--format=%(refname)", "refs/bowline/rescue"]);
    assert_eq!(refs.lines().count(), 1, "{refs}");
    let kept = world.git(&["show", &format!("{refs}:half of it.txt")]);
    assert_eq!(kept, "work");
}
