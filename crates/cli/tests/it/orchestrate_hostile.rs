//! What repositories and agents can do to a run's data: each case on its own, and nothing is lost.

use crate::environment::{TestEnvironment, write_executable};
use crate::orchestrate_run::{BOUND, begun, bowline, nothing_left, project, ran, report};
use bowline_test_support::wait_until;

const ONE: &str = "# TASKS: H\n## Phase 0: A\n### [ ] T0.1: One\n";

fn done(world: &TestEnvironment) {
    let (body, code) = report(world, "orchestrate run --json");
    assert_eq!((code, &body["ended"]), (Some(0), &"done".into()), "{body}");
    nothing_left(world);
}

#[test]
fn a_dirty_worktree_is_rescued_before_it_is_removed() {
    let agent = "mkdir 'new dir'; echo precious > 'new dir/한글 \"x\".txt'; echo more >> TASKS.md; touch $HOME/there; sleep 600\n";
    let world = project(ONE, agent, "");
    let mut child = begun(&world);
    let there = world.root().join("home/there");
    assert!(wait_until(BOUND, || there.exists()));
    // A person calls it done while its agent has committed nothing.
    let forced = ran(&world, "orchestrate force-complete T0.1 --reason enough");
    assert!(forced.status.success(), "{forced:?}");
    assert!(wait_until(BOUND, || child.try_wait().unwrap().is_some()));
    done(&world);
    let refs = world.git(&["for-each-ref", "--format=%(refname)", "refs/bowline/rescue"]);
    assert_eq!(refs.lines().count(), 1, "{refs}");
    let file = format!("{refs}:new dir/한글 \"x\".txt");
    assert_eq!(world.git(&["show", &file]), "precious");
    assert!(
        world
            .git(&["show", &format!("{refs}:TASKS.md")])
            .ends_with("more")
    );
}

#[test]
fn work_on_a_detached_head_lands() {
    let agent = "git checkout --quiet --detach; echo a > a.txt; git add a.txt\n\
                 git -c user.name=a -c user.email=a@localhost commit --quiet -m 'by hand'\n\
                 echo b > b.txt; echo DONE:$BOWLINE_TASK_ID\n";
    let world = project(ONE, agent, "");
    done(&world);
    assert_eq!(
        (world.read("a.txt"), world.read("b.txt")),
        ("a\n".into(), "b\n".into())
    );
}

#[test]
fn an_index_lock_that_an_agent_left_is_in_nobodys_way() {
    let agent = "echo a > a.txt; touch \"$(git rev-parse --absolute-git-dir)/index.lock\"; echo DONE:$BOWLINE_TASK_ID\n";
    let world = project(ONE, agent, "");
    done(&world);
    assert_eq!(world.read("a.txt"), "a\n");
}

#[test]
fn an_index_lock_of_the_main_checkout_is_waited_for_and_never_taken() {
    let agent = "echo a > a.txt; echo DONE:$BOWLINE_TASK_ID\n";
    let world = project(ONE, agent, "");
    world.write(".git/index.lock", "");
    let mut child = begun(&world);
    let log = || {
        let log = std::fs::read_to_string(world.path(".claude/orchestrate.log"));
        log.unwrap_or_default()
    };
    assert!(wait_until(BOUND, || log().contains("WAIT:")), "{}", log());
    assert!(world.path(".git/index.lock").exists());
    std::fs::remove_file(world.path(".git/index.lock")).unwrap();
    assert!(wait_until(BOUND, || child.try_wait().unwrap().is_some()));
    done(&world);
    assert_eq!(world.read("a.txt"), "a\n");
}

#[test]
fn a_branch_that_is_deleted_under_its_worktree_loses_nothing() {
    let agent = "echo a > a.txt; git update-ref -d \"$(git symbolic-ref HEAD)\"; echo DONE:$BOWLINE_TASK_ID\n";
    let world = project(ONE, agent, "");
    done(&world);
    assert_eq!(world.read("a.txt"), "a\n");
}

/// A project with a submodule that agents fetch before they do anything.
fn with_a_submodule(agent: &str) -> TestEnvironment {
    let fetch = "git -c protocol.file.allow=always submodule update --quiet --init || exit 6\n";
    let world = project(ONE, &format!("{fetch}{agent}"), "");
    let lib = world.root().join("lib");
    std::fs::create_dir(&lib).unwrap();
    let lib = lib.to_str().unwrap().to_owned();
    world.git(&["init", "--quiet", "--initial-branch=main", &lib]);
    std::fs::write(format!("{lib}/lib.txt"), "lib\n").unwrap();
    world.git(&["-C", &lib, "add", "--all"]);
    world.git(&["-C", &lib, "commit", "--quiet", "--message=lib"]);
    world.git(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        &lib,
        "lib",
    ]);
    world.git(&["commit", "--quiet", "--message=with a submodule"]);
    world
}

#[test]
fn a_repository_with_a_submodule_is_worked_on() {
    let world = with_a_submodule("cat lib/lib.txt > from-lib.txt; echo DONE:$BOWLINE_TASK_ID\n");
    done(&world);
    assert_eq!(world.read("from-lib.txt"), "lib\n");
    assert_eq!(world.read("lib/lib.txt"), "lib\n");
    assert_eq!(world.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_huge_untracked_file_is_kept_like_any_other() {
    const BYTES: u64 = 96 << 20;
    let agent = format!("truncate -s {BYTES} big.bin; echo DONE:$BOWLINE_TASK_ID\n");
    let world = project(ONE, &agent, "");
    done(&world);
    let size = world.path("big.bin").metadata().unwrap().len();
    assert_eq!(size, BYTES);
}

#[test]
fn names_with_spaces_quotes_and_korean_land_as_they_are() {
    let agent = "mkdir -p '한 글'; echo a > \"한 글/it's \\\"so\\\" \\\\ \t.txt\"; echo DONE:$BOWLINE_TASK_ID\n";
    let world = project(ONE, agent, "");
    done(&world);
    let files = world.git(&["ls-tree", "-r", "-z", "--name-only", "HEAD"]);
    let odd = files.split('\0').find(|name| name.starts_with("한 글/"));
    assert!(
        odd.is_some_and(|name| name.contains("it's \"so\"")),
        "{files:?}"
    );
}

#[test]
fn uncommitted_changes_of_the_main_checkout_are_never_overwritten() {
    let agent = "echo theirs > shared.txt; echo DONE:$BOWLINE_TASK_ID\n";
    let world = project(ONE, agent, "");
    world.write("shared.txt", "first\n");
    world.git(&["add", "--all"]);
    world.git(&["commit", "--quiet", "--message=shared"]);
    world.write("shared.txt", "mine, and not committed\n");
    let mut child = begun(&world);
    let log = || {
        let log = std::fs::read_to_string(world.path(".claude/orchestrate.log"));
        log.unwrap_or_default()
    };
    assert!(wait_until(BOUND, || log().contains("WAIT:")), "{}", log());
    assert!(log().contains("shared.txt"), "{}", log());
    assert_eq!(world.read("shared.txt"), "mine, and not committed\n");
    world.git(&["commit", "--quiet", "--all", "--message=mine"]);
    // Now both changed it: it goes back to the agent, and nobody's line is lost in the history.
    assert!(wait_until(BOUND, || child.try_wait().unwrap().is_some()));
    let history = world.git(&["log", "--format=%s"]);
    assert!(history.contains("mine"), "{history}");
}

#[test]
fn hooks_of_the_user_that_fail_stop_nothing() {
    let agent = "echo a > a.txt; echo DONE:$BOWLINE_TASK_ID\n";
    let world = project(ONE, agent, "");
    for hook in [
        "pre-commit",
        "commit-msg",
        "post-checkout",
        "pre-merge-commit",
        "post-merge",
        "reference-transaction",
    ] {
        write_executable(
            &world.path(&format!(".git/hooks/{hook}")),
            "#!/bin/sh\necho \"$0\" >> \"$HOME/hooks\"\nexit 1\n",
        );
    }
    done(&world);
    assert_eq!(world.read("a.txt"), "a\n");
    assert!(!world.root().join("home/hooks").exists());
}

#[test]
fn a_git_that_is_too_old_is_told_before_anything_is_begun() {
    let world = project(ONE, "echo DONE:$BOWLINE_TASK_ID\n", "");
    let bin = world.root().join("home/bin");
    let path = std::env::var("PATH").unwrap();
    let old = format!(
        "#!/bin/sh\nfor word; do [ \"$word\" = version ] && echo 'git version 2.39.5' && exit; done\nPATH='{path}' exec git \"$@\"\n"
    );
    write_executable(&bin.join("git"), &old);
    let output = bowline(&world, "orchestrate run")
        .env("PATH", format!("{}:{path}", bin.display()))
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    for part in ["git_too_old", "git version 2.39.5", "git 2.40 or newer"] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(!world.path("worktree").exists(), "nothing was begun");
}

#[test]
fn an_agent_that_cuts_its_worktree_off_reaches_nobody_elses_files() {
    // The first attempt fails without its way back to the repository; the next one begins where it was.
    let agent = "echo $BOWLINE_TRY >> a.txt; rm .git\n\
                 [ $BOWLINE_TRY = 1 ] && echo FAIL:$BOWLINE_TASK_ID:no && exit\n\
                 echo DONE:$BOWLINE_TASK_ID\n";
    let world = project(ONE, agent, "");
    world.write("mine.txt", "of nobody else\n");
    world.write("staged.txt", "mine too\n");
    world.git(&["add", "staged.txt"]);
    done(&world);
    assert_eq!(world.read("a.txt"), "1\n2\n");
    assert_eq!(world.read("mine.txt"), "of nobody else\n");
    let status = world.git(&["status", "--porcelain"]);
    assert_eq!(status, "A  staged.txt\n?? mine.txt");
    let touched = world.git(&["log", "--format=", "--name-only", "HEAD~1.."]);
    assert_eq!(touched, "TASKS.md\na.txt");
}

#[test]
fn a_repository_that_an_agent_made_within_its_worktree_goes_back_to_it_and_is_kept() {
    let agent = "mkdir -p new; git init --quiet new/app; echo precious > new/app/a.txt\n\
                 [ $BOWLINE_TRY = 2 ] && rm -r new/app/.git\n\
                 echo DONE:$BOWLINE_TASK_ID\n";
    let world = project(ONE, agent, "");
    done(&world);
    assert_eq!(world.read("new/app/a.txt"), "precious\n");
    let (answer, _) = report(&world, "orchestrate timeline --format json");
    assert_eq!(
        answer["tasks"][0]["attempts"].as_array().map(Vec::len),
        Some(2)
    );

    // Also where it is in a commit of the agent's, and however often it is reported: nothing of it is removed.
    let agent = "git init --quiet app; echo precious > app/a.txt; git add app; cd app\n\
                 git add .; git -c user.name=a -c user.email=a@localhost commit --quiet -m one\n\
                 cd ..; git add app; git -c user.name=a -c user.email=a@localhost commit --quiet -m two\n\
                 echo DONE:$BOWLINE_TASK_ID\n";
    let world = project(ONE, agent, "retry_limit = 2\n");
    let (body, code) = report(&world, "orchestrate run --json");
    assert_eq!(
        (code, &body["ended"]),
        (Some(1), &"stalled".into()),
        "{body}"
    );
    let why = body["failed"][0]["error"].to_string();
    assert!(why.contains("app is a git repository"), "{body}");
    let forced = ran(&world, "orchestrate force-complete T0.1 --reason enough");
    assert!(forced.status.success(), "{forced:?}");
    assert_eq!(ran(&world, "orchestrate run").status.code(), Some(0));
    assert_eq!(world.read("worktree/task-T0.1/app/a.txt"), "precious\n");
}

#[test]
fn work_in_a_submodule_goes_back_until_it_is_somewhere_else_too() {
    let world = with_a_submodule(
        "cd lib; export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b\n\
         case $BOWLINE_TRY in\n\
         1) echo more >> lib.txt;;\n\
         2) git commit --quiet --all --message=more;;\n\
         3) git push --quiet origin HEAD:refs/heads/more;;\n\
         esac\n\
         echo DONE:$BOWLINE_TASK_ID\n",
    );
    done(&world);
    let lib = world.root().join("lib").display().to_string();
    let pushed = world.git(&["-C", &lib, "rev-parse", "more"]);
    assert_eq!(world.git(&["rev-parse", "HEAD:lib"]), pushed);
    let (answer, _) = report(&world, "orchestrate timeline --format json");
    let attempts = answer["tasks"][0]["attempts"].as_array().map(Vec::len);
    assert_eq!(attempts, Some(3), "{answer}");
}

#[test]
fn a_task_that_a_person_fails_while_it_lands_is_failed_and_the_run_goes_on() {
    let plan = "# TASKS: H\n## Phase 0: A\n### [ ] T0.1: One\n### [ ] T0.2: Two\n";
    let agent = "echo a > $BOWLINE_TASK_ID.txt; echo DONE:$BOWLINE_TASK_ID\n";
    let world = project(
        plan,
        agent,
        "evidence = [\"sh\", \"-c\", \"touch $HOME/lands; until [ -e $HOME/go ]; do sleep 0.05; done\"]\n",
    );
    let home = world.root().join("home");
    let mut child = begun(&world);
    assert!(wait_until(BOUND, || home.join("lands").exists()));
    let failed = ran(&world, "orchestrate fail T0.1 --reason no");
    assert!(failed.status.success(), "{failed:?}");
    std::fs::write(home.join("go"), "").unwrap();
    assert!(wait_until(BOUND, || child.try_wait().unwrap().is_some()));
    let (body, code) = report(&world, "orchestrate run --json");
    assert_eq!(
        (code, &body["ended"]),
        (Some(1), &"stalled".into()),
        "{body}"
    );
    assert_eq!(
        (&body["done"], &body["failed"][0]["id"]),
        (&1.into(), &"T0.1".into()),
        "{body}"
    );

    // What it had landed by then is found, and not done once more.
    assert!(ran(&world, "orchestrate retry T0.1").status.success());
    done(&world);
    assert_eq!(
        world
            .git(&["log", "--oneline", "--grep=Bowline-Task: T0.1"])
            .lines()
            .count(),
        1
    );
}

#[test]
fn a_word_that_a_landing_task_is_done_is_no_evidence() {
    let agent = "echo a > a.txt; echo DONE:$BOWLINE_TASK_ID\n";
    let wait = "touch $HOME/lands; until [ -e $HOME/go ]; do sleep 0.05; done; exit 1";
    let settings = format!("retry_limit = 1\nevidence = [\"sh\", \"-c\", \"{wait}\"]\n");
    let world = project(ONE, agent, &settings);
    let home = world.root().join("home");
    let mut child = begun(&world);
    assert!(wait_until(BOUND, || home.join("lands").exists()));
    let told = ran(&world, "orchestrate complete T0.1");
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    assert!(told.contains("'T0.1' is in_progress"), "{told}");
    std::fs::write(home.join("go"), "").unwrap();
    assert!(wait_until(BOUND, || child.try_wait().unwrap().is_some()));
    let (body, code) = report(&world, "orchestrate run --json");
    assert_eq!((code, &body["done"]), (Some(1), &0.into()), "{body}");
}

#[test]
fn a_phase_that_gets_another_title_keeps_its_branch() {
    let plan =
        "# TASKS: H\n## Phase 1: Alpha\n### [ ] T1.1: One\n### [ ] T1.2: Two\n- depends on: T1.1\n";
    let agent = "echo a > $BOWLINE_TASK_ID.txt\n\
                 [ $BOWLINE_TASK_ID = T1.2 ] && touch $HOME/there && until [ -e $HOME/go ]; do sleep 0.05; done\n\
                 echo DONE:$BOWLINE_TASK_ID\n";
    let world = project(plan, agent, "");
    let home = world.root().join("home");
    let mut child = begun(&world);
    assert!(wait_until(BOUND, || home.join("there").exists()));
    world.write("TASKS.md", plan.replace("Alpha", "Omega"));
    world.git(&["commit", "--quiet", "--all", "--message=another title"]);
    // Also for another run.
    child.kill().unwrap();
    child.wait().unwrap();
    std::fs::write(home.join("go"), "").unwrap();
    let (body, code) = report(&world, "orchestrate run --json");
    assert_eq!((code, &body["done"]), (Some(0), &2.into()), "{body}");
    assert_eq!(
        (world.read("T1.1.txt"), world.read("T1.2.txt")),
        ("a\n".into(), "a\n".into())
    );
}

#[test]
fn a_run_whose_state_file_is_taken_away_writes_it_again_and_a_dry_run_stops_nobody() {
    let agent = "touch $HOME/there; until [ -e $HOME/go ]; do sleep 0.05; done; echo a > a.txt; echo DONE:$BOWLINE_TASK_ID\n";
    let world = project(ONE, agent, "");
    let home = world.root().join("home");
    let mut child = begun(&world);
    assert!(wait_until(BOUND, || home.join("there").exists()));
    std::fs::remove_file(world.path(".claude/orchestrate-state.json")).unwrap();
    for verb in ["pause", "stop"] {
        let told = ran(&world, &format!("--dry-run orchestrate {verb}"));
        let told = String::from_utf8_lossy(&told.stdout).into_owned();
        assert_eq!(told, "(dry run) ✓ told the run\n");
    }
    std::fs::write(home.join("go"), "").unwrap();
    assert!(wait_until(BOUND, || child.try_wait().unwrap().is_some()));
    done(&world);
    assert_eq!(world.read("a.txt"), "a\n");
}

#[test]
fn a_run_whose_folder_is_taken_away_writes_it_again() {
    let plan =
        "# TASKS: H\n## Phase 1: A\n### [ ] T1.1: One\n### [ ] T1.2: Two\n- depends on: T1.1\n";
    let agent = "touch $HOME/there; until [ -e $HOME/go ]; do sleep 0.05; done; echo a > $BOWLINE_TASK_ID.txt; echo DONE:$BOWLINE_TASK_ID\n";
    let world = project(plan, agent, "");
    let home = world.root().join("home");
    let mut child = begun(&world);
    assert!(wait_until(BOUND, || home.join("there").exists()));
    std::fs::remove_dir_all(world.path(".claude")).unwrap();
    std::fs::write(home.join("go"), "").unwrap();
    assert!(wait_until(BOUND, || child.try_wait().unwrap().is_some()));
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let state = world.read_json(".claude/orchestrate-state.json");
    assert_eq!(
        state["tasks"]["completed"],
        serde_json::json!(["T1.1", "T1.2"])
    );
    done(&world);
    assert_eq!(world.read("T1.1.txt") + &world.read("T1.2.txt"), "a\na\n");
    let told = ran(&world, "doctor");
    assert!(told.status.success(), "{told:?}");
}

#[test]
fn a_person_who_fails_a_task_for_good_is_not_asked_again_and_one_called_done_is_ticked() {
    let plan = "# TASKS: H\n## Phase 1: A\n### [ ] T1.1: One\n### [ ] T1.2: Two\n";
    let agent = "[ $BOWLINE_TASK_ID = T1.1 ] && echo a > a.txt && echo DONE:T1.1 && exit\n\
                 touch $HOME/there; sleep 600\n";
    let world = project(plan, agent, "");
    let there = world.root().join("home/there");
    let mut child = begun(&world);
    let landed = || {
        world
            .git(&["log", "--all", "--oneline"])
            .contains("T1.1: One")
    };
    assert!(wait_until(BOUND, || there.exists() && landed()));
    let failed = ran(&world, "orchestrate fail T1.2 --reason no");
    assert!(failed.status.success(), "{failed:?}");
    assert!(wait_until(BOUND, || child.try_wait().unwrap().is_some()));
    let (answer, _) = report(&world, "orchestrate status --json");
    assert_eq!(
        answer["state"]["tasks"]["failed"],
        serde_json::json!(["T1.2"]),
        "{answer}"
    );

    // Their tick, which is in no commit, is not in the way of what lands; an edit of theirs would be.
    let forced = ran(&world, "orchestrate force-complete T1.2 --reason enough");
    assert!(forced.status.success(), "{forced:?}");
    let ticked = plan.replacen("[ ] T1.2", "[x] T1.2", 1);
    assert_eq!(world.read("TASKS.md"), ticked);
    done(&world);
    assert_eq!(world.read("TASKS.md"), plan.replace("[ ]", "[x]"));
    assert_eq!(
        world.git(&["show", "HEAD:TASKS.md"]),
        plan.replacen("[ ]", "[x]", 1).trim_end()
    );
    assert_eq!(world.read("a.txt"), "a\n");
}

#[test]
fn a_repository_that_git_refuses_is_no_project_without_one() {
    let world = project(ONE, "echo a > a.txt; echo DONE:$BOWLINE_TASK_ID\n", "");
    let config = world.read(".git/config");
    world.write(".git/config", "[core\n");
    let (body, code) = report(&world, "orchestrate run --json");
    assert_eq!(
        (code, &body["error"]["code"]),
        (Some(70), &"program_failed".into()),
        "{body}"
    );
    assert!(!world.path("a.txt").exists());
    world.write(".git/config", config);
    done(&world);
}

#[test]
fn whoever_asks_a_run_twice_to_leave_ends_its_agents() {
    let world = project(ONE, "echo $$ > $HOME/there; sleep 600\n", "");
    let there = world.root().join("home/there");
    let ask = |child: &std::process::Child| {
        let pid = child.id().to_string();
        world.program("kill").args(["-INT", &pid]).output().unwrap();
    };
    let log = |word: &str| {
        let log = std::fs::read_to_string(world.path(".claude/orchestrate.log"));
        log.unwrap_or_default().matches(word).count()
    };
    let lives = || {
        let pid = std::fs::read_to_string(&there).unwrap_or_default();
        !pid.is_empty() && world.path("/proc").join(pid.trim()).exists()
    };
    let mut child = begun(&world);
    assert!(wait_until(BOUND, lives));
    ask(&child);
    assert!(wait_until(BOUND, || child.try_wait().unwrap().is_some()));
    assert!(lives());

    // On a busy machine the second word may come when the run has left: then it is asked anew.
    for round in 1..10 {
        let mut child = begun(&world);
        assert!(wait_until(BOUND, || log("ATTACH") == round));
        ask(&child);
        assert!(wait_until(BOUND, || log("LEAVING") == round + 1));
        ask(&child);
        assert!(wait_until(BOUND, || child.try_wait().unwrap().is_some()));
        if !lives() {
            return;
        }
    }
    panic!("nobody ended the agent");
}

#[test]
fn a_task_that_comes_into_the_plan_later_is_ticked_with_its_phase() {
    let plan = "# TASKS: H\n## Phase 1: A\n### [ ] T1.1: One\n";
    let agent = "[ $BOWLINE_TASK_ID = T1.1 ] && touch $HOME/there && until [ -e $HOME/go ]; do sleep 0.05; done\n\
                 echo a > $BOWLINE_TASK_ID.txt; echo DONE:$BOWLINE_TASK_ID\n";
    let world = project(plan, agent, "");
    let home = world.root().join("home");
    let mut child = begun(&world);
    assert!(wait_until(BOUND, || home.join("there").exists()));
    let more = format!("{plan}### [ ] T1.2: Two\n");
    world.write("TASKS.md", &more);
    world.git(&["commit", "--quiet", "--all", "--message=more"]);
    // Taken in by the run itself.
    let state = world.path(".claude/orchestrate-state.json");
    let known = || std::fs::read_to_string(&state).unwrap_or_default();
    assert!(wait_until(BOUND, || known().contains("T1.2")));
    std::fs::write(home.join("go"), "").unwrap();
    assert!(wait_until(BOUND, || child.try_wait().unwrap().is_some()));
    done(&world);
    assert_eq!(world.read("TASKS.md"), more.replace("[ ]", "[x]"));
    assert_eq!(world.read("T1.2.txt"), "a\n");
}

#[test]
fn a_worktree_that_an_agent_made_a_repository_of_is_told_and_left_as_it_is() {
    let agent = "rm .git; git init --quiet .; echo precious > a.txt; git add a.txt\n\
                 git -c user.name=a -c user.email=a@localhost commit --quiet -m mine\n\
                 echo DONE:$BOWLINE_TASK_ID\n";
    let world = project(ONE, agent, "retry_limit = 2\n");
    let (body, code) = report(&world, "orchestrate run --json");
    assert_eq!(
        (code, &body["ended"]),
        (Some(1), &"stalled".into()),
        "{body}"
    );
    let why = body["failed"][0]["error"].to_string();
    assert!(
        why.contains("no worktree of this repository any more"),
        "{body}"
    );
    let room = world.path("worktree/task-T0.1");
    assert_eq!(world.git_in(&room, &["show", "HEAD:a.txt"]), "precious");
    assert_eq!(world.git(&["log", "--format=%s"]), "begin");
}
