//! Order within a phase: sections (`M0` before `M0.5`) hold and block tasks as dependencies do, for every command alike.

use crate::environment::TestEnvironment;
use crate::orchestrate_run::{BOUND, bowline, nothing_left, project, ran, report};
use bowline_test_support::wait_until;
use std::process::Stdio;

const SECTIONS: &str = "\
# TASKS: Ferry

## M0: Quay
### [ ] T0.1: Ropes
### [ ] T0.2: Planks

## M0.5: Contracts
### [ ] T0.5.1: Fares
### [ ] T0.5.2: Times
";

const FIRST_FAILS: &str = r#"
id=$BOWLINE_TASK_ID
if [ "$id" = T0.1 ] && [ ! -f "$HOME/mended" ]; then echo "FAIL:T0.1:no rope"; exit 0; fi
if [ "${id#T0.5}" != "$id" ] && [ ! -f T0.1.txt ]; then echo "FAIL:$id:too early"; exit 0; fi
echo "$id" > "$id.txt"; echo "DONE:$id"
"#;

#[test]
fn a_failed_task_blocks_the_later_sections_of_its_phase_for_every_command() {
    let world = project(SECTIONS, FIRST_FAILS, "retry_limit = 1\n");
    let mut run = bowline(&world, "orchestrate run --json");
    let mut run = run
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    if !wait_until(BOUND, || run.try_wait().unwrap().is_some()) {
        run.kill().unwrap();
        panic!("the run goes on for ever");
    }
    let output = run.wait_with_output().unwrap();
    let body: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (output.status.code(), &body["ended"]),
        (Some(1), &"stalled".into()),
        "{body}"
    );
    let state = world.read_json(".claude/orchestrate-state.json");
    assert_eq!(state["tasks"]["failed"], serde_json::json!(["T0.1"]));
    let blocked = serde_json::json!(["T0.5.1", "T0.5.2"]);
    assert_eq!(state["tasks"]["blocked"], blocked, "{state}");
    assert_eq!(state["tasks"]["ready"], serde_json::json!([]));
    let next = ran(&world, "orchestrate next");
    let next = String::from_utf8(next.stdout).unwrap();
    assert!(next.starts_with("STALLED"), "{next}");
    for id in ["T0.1", "T0.5.1", "T0.5.2"] {
        assert!(next.contains(id), "{next}");
    }
    let (status, _) = report(&world, "orchestrate status --json");
    assert_eq!(status["blocked"], blocked, "{status}");
    let retry = serde_json::json!(["bowline orchestrate retry T0.1"]);
    assert_eq!(status["next"], retry, "{status}");
    let refused = ran(&world, "orchestrate start T0.5.1");
    let told = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(1), "{told}");
    assert!(told.contains("T0.5.1") && told.contains("T0.1"), "{told}");
    let (verify, code) = report(&world, "orchestrate verify --json");
    assert_eq!(code, Some(0), "{verify}");
    std::fs::write(world.root().join("home/mended"), "").unwrap();
    assert!(ran(&world, "orchestrate retry T0.1").status.success());
    let (body, code) = report(&world, "orchestrate run --json");
    assert_eq!((code, &body["done"]), (Some(0), &4.into()), "{body}");
    nothing_left(&world);
}

#[test]
fn a_task_of_a_later_section_is_neither_ready_nor_startable_by_hand() {
    let world = project(SECTIONS, FIRST_FAILS, "");
    assert!(ran(&world, "orchestrate init").status.success());
    let state = world.read_json(".claude/orchestrate-state.json");
    assert_eq!(state["tasks"]["ready"], serde_json::json!(["T0.1", "T0.2"]));
    let pending = serde_json::json!(["T0.5.1", "T0.5.2"]);
    assert_eq!(state["tasks"]["pending"], pending);
    let next = ran(&world, "orchestrate next");
    assert_eq!(
        String::from_utf8(next.stdout).unwrap().trim(),
        "READY:T0.1,T0.2"
    );
    let refused = ran(&world, "orchestrate start T0.5.1");
    let told = String::from_utf8(refused.stderr).unwrap();
    assert!(told.contains("T0.1") && told.contains("T0.2"), "{told}");
}

/// Tasks that all change one line at the end of one file, which no two of them can do without a conflict.
const SHARING: usize = 58;

/// Every agent adds its line, and puts both sides of a conflict together. The first round of agents ends together.
const ADDS_A_LINE: &str = r#"
id=$BOWLINE_TASK_ID
if grep -q '^<<<<<<<' shared.txt 2>/dev/null; then
  grep -v '^<<<<<<<\|^=======\|^>>>>>>>' shared.txt | sort -u > new; mv new shared.txt
  echo "$id" >> "$HOME/resolved"
else
  echo "line of $id" >> shared.txt
fi
touch "$HOME/at-$id"
n=0; while [ "$(ls "$HOME" | grep -c '^at-')" -lt 8 ]; do n=$((n+1)); [ $n -gt 1500 ] && exit 9; sleep 0.02; done
echo "DONE:$id"
"#;

#[test]
fn tasks_that_share_one_file_all_land_however_often_they_meet() {
    let mut plan = "# TASKS: Ferry\n## Phase 0: Quay\n".to_owned();
    for task in 1..=SHARING {
        plan.push_str(&format!("### [ ] T0.{task}: Part {task}\n"));
    }
    let world = project(&plan, ADDS_A_LINE, "max_parallel = 8\n");
    let (body, code) = report(&world, "orchestrate run --json");
    assert_eq!((code, &body["done"]), (Some(0), &SHARING.into()), "{body}");
    assert_eq!(world.read("shared.txt").lines().count(), SHARING);
    let resolved = std::fs::read_to_string(world.root().join("home/resolved")).unwrap();
    let resolved: Vec<&str> = resolved.lines().collect();
    assert!(resolved.len() >= 7, "they met: {resolved:?}");
    // Who met a conflict lands before the others touch the file: nobody meets two.
    let tasks: std::collections::BTreeSet<&str> = resolved.iter().copied().collect();
    assert_eq!(tasks.len(), resolved.len(), "{resolved:?}");
    let state = world.read_json(".claude/orchestrate-state.json");
    let kept = state["bookkeeping"]["tasks"].as_object();
    let counted = kept.is_some_and(|kept| kept.values().any(|it| it.get("attempts").is_some()));
    assert!(!counted, "a resolved conflict is no failure: {state}");
    nothing_left(&world);
}

#[test]
fn an_agent_that_leaves_its_conflict_alone_fails_after_three() {
    let agent = r#"
id=$BOWLINE_TASK_ID
git merge --abort 2>/dev/null
echo "$id" > shared.txt
touch "$HOME/at-$id"
n=0; while [ ! -f "$HOME/at-T0.1" ] || [ ! -f "$HOME/at-T0.2" ]; do n=$((n+1)); [ $n -gt 1500 ] && exit 9; sleep 0.02; done
echo "DONE:$id"
"#;
    let plan = "# TASKS: L\n## Phase 0: A\n### [ ] T0.1: One\n### [ ] T0.2: Two\n";
    let world = project(plan, agent, "");
    let (body, code) = report(&world, "orchestrate run --json");
    assert_eq!((code, &body["done"]), (Some(1), &1.into()), "{body}");
    let log = world.read(".claude/orchestrate.log");
    assert_eq!(log.matches(":conflict in shared.txt").count(), 4, "{log}");
}

#[test]
fn an_agent_that_is_not_installed_is_told_once_and_counts_no_attempt() {
    let world = project(SECTIONS, "", "");
    for (settings, program) in [
        (
            "[agent.script]\ncommand = [\"no-such-client\"]\n",
            "no-such-client",
        ),
        (
            "[agent.script]\ncommand = [\"/no/such/client\"]\n",
            "/no/such/client",
        ),
    ] {
        world.write(
            "bowline.toml",
            format!("[defaults]\nagent = \"script\"\n{settings}"),
        );
        let output = ran(&world, "orchestrate run");
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(3), "{told}");
        assert!(told.starts_with("error[agent_not_installed]"), "{told}");
        assert_eq!(told.matches(program).count(), 1, "{told}");
        let state = world.read_json(".claude/orchestrate-state.json");
        assert_eq!(state["tasks"]["in_progress"], serde_json::json!([]));
        let kept = &state["bookkeeping"]["tasks"];
        assert!(!kept.to_string().contains("attempts"), "{state}");
    }
    assert_eq!(world.git(&["worktree", "list"]).lines().count(), 1);
}

#[test]
fn a_client_that_sends_no_valid_message_is_told_about_after_30_seconds() {
    let plan = "# TASKS: L\n## Phase 0: A\n### [ ] T0.1: One\n";
    let agent = "echo 'usage: client [options]'; while [ ! -f \"$HOME/go\" ]; do sleep 0.1; done\n";
    let world = project(plan, agent, "");
    let settings = world.read("bowline.toml");
    let spoken = "[agent.script]\nprotocol = \"claude-stream-json\"";
    world.write("bowline.toml", settings.replace("[agent.script]", spoken));
    let mut run = bowline(&world, "orchestrate run");
    let mut run = run
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let log = || std::fs::read_to_string(world.path(".claude/orchestrate.log")).unwrap_or_default();
    let told = wait_until(BOUND, || log().contains("NOTHING_VALID:T0.1:30s"));
    std::fs::write(world.root().join("home/go"), "").unwrap();
    run.kill().unwrap();
    let output = run.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned()
        + &String::from_utf8_lossy(&output.stdout);
    assert!(told, "{}", log());
    assert!(said.contains("no valid message for 30 seconds"), "{said}");
}

/// Plans whose done tasks need each other, or one of a later phase; the last with a done task on a circle with an open one.
const SETTLED: [&str; 5] = [
    "### [x] T0.1: One\n- depends on: T0.2\n### [x] T0.2: Two\n- depends on: T0.1\n\
     ### [ ] T0.3: Three\n- depends on: T0.2\n",
    "### [x] T0.1: One\n- depends on: T1.1\n### [x] T0.2: Two\n### [ ] T0.3: Three\n- depends on: T0.2\n\
     ## Phase 1: B\n### [ ] T1.1: Later\n",
    "### [x] T0.1: One\n### [x] T0.2: Two\n### [ ] T0.3: Three\n- depends on: T1.1, T0.2\n\
     ## Phase 1: B\n### [x] T1.1: Later\n",
    "### [x] T0.1: One\n### [x] T0.2: Two\n- depends on: T0.3, T0.1\n\
     ### [ ] T0.3: Three\n- depends on: T0.2\n",
    "### [x] T0.1: One\n- depends on: T0.1\n### [x] T0.2: Two\n- depends on: T0.1\n\
     ### [ ] T0.3: Three\n- depends on: T0.2\n",
];

#[test]
fn what_done_tasks_need_stands_in_nobodys_way() {
    for text in SETTLED {
        let plan = format!("# TASKS: S\n## Phase 0: A\n{text}");
        let total = plan.matches("### [").count();
        let done = plan.matches("[x]").count();
        let world = TestEnvironment::new();
        world.write("TASKS.md", &plan);
        world.quietly("orchestrate init", 0);
        let next = world.run("orchestrate next");
        assert!(next.contains("T0.3"), "{plan}{next}");
        world.quietly("orchestrate start T0.3", 0);

        // The same plan in the place of one without such needs.
        let world = TestEnvironment::new();
        let plain: Vec<&str> = plan.lines().filter(|it| !it.starts_with("- ")).collect();
        world.write(
            "TASKS.md",
            plain.join("\n").replace("### [ ] T0.3: Three", ""),
        );
        world.quietly("orchestrate init", 0);
        world.write("TASKS.md", &plan);
        let status = world.json("orchestrate status --json", 0);
        assert_eq!(
            (&status["done"], &status["total"]),
            (&done.into(), &total.into()),
            "{plan}{status}"
        );
        let next = world.run("orchestrate next");
        assert!(next.contains("T0.3"), "{plan}{next}");
        world.quietly("orchestrate start T0.3", 0);

        // All of it done.
        let world = TestEnvironment::new();
        world.write("TASKS.md", plan.replace("[ ]", "[x]"));
        world.quietly("orchestrate init", 0);
        assert!(world.run("orchestrate next").contains("ALL_DONE"), "{plan}");
    }
}
