//! What git refuses in a run, and what is taken back behind its back: every run ends, and no commit is lost.

use crate::environment::{TestEnvironment, write_executable};
use crate::orchestrate_run::{bowline, nothing_left, project, ran, report};

const ONE: &str = "# TASKS: H\n## Phase 0: A\n### [ ] T0.1: One\n";
const TWO: &str = "# TASKS: H\n## Phase 0: A\n### [ ] T0.1: One\n- text of one\n- more of one\n### [ ] T0.2: Two\n- text of two\n- more of two\n";
const NAMED: &str = "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b\n\
                     cp $BOWLINE_PROMPT_FILE $HOME/prompt-$BOWLINE_TASK_ID-$BOWLINE_TRY\n";

fn done(world: &TestEnvironment) {
    let (body, code) = report(world, "orchestrate run --json");
    assert_eq!((code, &body["ended"]), (Some(0), &"done".into()), "{body}");
    nothing_left(world);
}

fn prompt(world: &TestEnvironment, name: &str) -> String {
    std::fs::read_to_string(world.root().join(format!("home/prompt-{name}"))).unwrap_or_default()
}

#[test]
fn an_unrelated_history_goes_back_to_its_agent_and_then_its_worktree_is_new() {
    let agent = format!(
        "{NAMED}if [ $BOWLINE_TRY -lt 3 ]; then git checkout --quiet --orphan own$BOWLINE_TRY; fi\n\
         echo $BOWLINE_TRY > a.txt; git add --all; git commit --quiet -m work; echo DONE:$BOWLINE_TASK_ID\n"
    );
    let world = project(ONE, &agent, "");
    done(&world);
    assert_eq!(world.read("a.txt"), "3\n");
    let told = prompt(&world, "T0.1-2");
    assert!(
        told.contains("git reset --soft refs/bowline/base/task-T0.1"),
        "{told}"
    );
    assert!(prompt(&world, "T0.1-3").contains("Your worktree is new"));
    // Both of its histories are kept.
    let kept = world.git(&["log", "--format=%s", "--glob=refs/bowline/task"]);
    assert_eq!(kept.matches("work").count(), 3, "{kept}");

    // The command in the hint repairs it.
    let agent = format!(
        "{NAMED}if [ $BOWLINE_TRY = 1 ]; then git checkout --quiet --orphan own; else git reset --quiet --soft refs/bowline/base/task-T0.1; fi\n\
         echo $BOWLINE_TRY > a.txt; git add --all; git commit --quiet -m work; echo DONE:$BOWLINE_TASK_ID\n"
    );
    let world = project(ONE, &agent, "");
    done(&world);
    assert_eq!(world.read("a.txt"), "2\n");
}

#[test]
fn modules_that_git_cannot_parse_go_back_to_the_agent_and_then_the_worktree_is_new() {
    let agent = format!(
        "{NAMED}echo $BOWLINE_TRY > a.txt\n\
         [ $BOWLINE_TRY -lt 3 ] && echo '[submodule' > .gitmodules\n\
         echo DONE:$BOWLINE_TASK_ID\n"
    );
    let world = project(ONE, &agent, "");
    done(&world);
    assert_eq!(world.read("a.txt"), "3\n");
    assert!(!world.path(".gitmodules").exists());
    assert!(prompt(&world, "T0.1-2").contains("git cannot parse .gitmodules"));
    let kept = world.git(&["for-each-ref", "--format=%(refname)", "refs/bowline/rescue"]);
    let file = format!(
        "{}:.gitmodules.unreadable",
        kept.lines().next().unwrap_or_default()
    );
    assert_eq!(world.git(&["show", &file]), "[submodule");
}

#[test]
fn a_worktree_that_was_removed_and_pruned_is_kept_and_made_anew() {
    let agent = format!(
        "{NAMED}echo $BOWLINE_TRY > a.txt\n\
         if [ $BOWLINE_TRY = 1 ]; then\n\
           main=$(git rev-parse --path-format=absolute --git-common-dir)/..\n\
           rm .git; git -C $main worktree prune --expire=now; fi\n\
         echo DONE:$BOWLINE_TASK_ID\n"
    );
    let world = project(ONE, &agent, "");
    done(&world);
    assert_eq!(world.read("a.txt"), "2\n");
    let kept = world.git(&["for-each-ref", "--format=%(refname)", "refs/bowline/rescue"]);
    assert_eq!(world.git(&["show", &format!("{kept}:a.txt")]), "1");
}

#[test]
fn locks_that_a_killed_git_of_ours_left_are_removed() {
    let plan = "# TASKS: H\n## Phase 1: A\n### [ ] T1.1: One\n### [ ] T1.2: Two\n";
    let agent = "echo a > $BOWLINE_TASK_ID.txt; echo DONE:$BOWLINE_TASK_ID\n";
    for (call, lock) in [
        ("update-ref -d refs/heads/bowline/", "packed-refs.lock"),
        ("update-ref -m bowline", "refs/heads/phase-1-a.lock"),
        ("merge --quiet --ff-only", "index.lock"),
    ] {
        let world = project(plan, agent, "");
        let bin = world.root().join("home/bin");
        let path = std::env::var("PATH").unwrap();
        let cut = format!(
            "#!/bin/sh\ncase \"$*\" in *'{call}'*)\n\
             if [ ! -e $HOME/cut ]; then touch $HOME/cut '{}'; kill -9 $$; fi;; esac\n\
             PATH='{path}' exec git \"$@\"\n",
            world.path(&format!(".git/{lock}")).display()
        );
        write_executable(&bin.join("git"), &cut);
        let output = bowline(&world, "orchestrate run --json")
            .env("PATH", format!("{}:{path}", bin.display()))
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{lock}: {told}");
        assert!(world.root().join("home/cut").exists(), "{lock}");
        assert!(!world.path(&format!(".git/{lock}")).exists(), "{lock}");
        nothing_left(&world);
    }
}

/// Git forgets a worktree before the last of its folder is gone.
#[test]
fn a_git_that_is_killed_while_it_removes_a_worktree_leaves_nothing() {
    let plan = "# TASKS: H\n## Phase 1: A\n### [ ] T1.1: One\n";
    let agent = "echo a > a.txt; echo DONE:$BOWLINE_TASK_ID\n";
    let world = project(plan, agent, "");
    let bin = world.root().join("home/bin");
    let path = std::env::var("PATH").unwrap();
    let cut = format!(
        "#!/bin/sh\nfor last; do :; done\nPATH='{path}'\ncase \"$*\" in *'worktree remove'*T1.1)\n\
         if [ ! -e $HOME/cut ]; then touch $HOME/cut; git \"$@\"; mkdir -p \"$last\"; echo half > \"$last/half\"; kill -9 $$; fi;; esac\n\
         exec git \"$@\"\n"
    );
    write_executable(&bin.join("git"), &cut);
    let output = bowline(&world, "orchestrate run --json")
        .env("PATH", format!("{}:{path}", bin.display()))
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert!(world.root().join("home/cut").exists());
    nothing_left(&world);
}

/// An agent that ends well may have left the lock of a git that was killed.
#[test]
fn a_lock_that_a_killed_git_of_an_agent_left_is_removed() {
    let plan = "# TASKS: H\n## Phase 1: A\n### [ ] T1.1: One\n### [ ] T1.2: Two\n";
    let agent = "echo a > $BOWLINE_TASK_ID.txt\n\
                 [ $BOWLINE_TASK_ID = T1.1 ] && touch \"$(git rev-parse --path-format=absolute --git-common-dir)/packed-refs.lock\"\n\
                 echo DONE:$BOWLINE_TASK_ID\n";
    let world = project(plan, agent, "");
    done(&world);
    assert!(!world.path(".git/packed-refs.lock").exists());
    nothing_left(&world);
}

#[test]
fn a_wait_for_a_lock_of_others_names_the_command_that_ends_it() {
    let agent = "echo a > a.txt; echo DONE:$BOWLINE_TASK_ID\n";
    let world = project(ONE, agent, "");
    let lock = world.path(".git/index.lock");
    let other = "#!/bin/sh\ntouch \"$1\"\n";
    write_executable(&world.root().join("home/other"), other);
    world.write(".git/index.lock", "");
    let mut child = crate::orchestrate_run::begun(&world);
    let log = || std::fs::read_to_string(world.path(".claude/orchestrate.log")).unwrap_or_default();
    let waits = bowline_test_support::wait_until(crate::orchestrate_run::BOUND, || {
        log().contains("This ends the wait: rm ")
    });
    assert!(waits, "{}", log());
    std::fs::remove_file(lock).unwrap();
    child.wait().unwrap();
    done(&world);
}

#[test]
fn a_failed_task_that_is_taken_out_of_the_plan_is_no_part_of_the_run_any_more() {
    let agent = "[ $BOWLINE_TASK_ID = T0.2 ] && echo FAIL:T0.2:no && exit\n\
                 echo a > a.txt; echo DONE:$BOWLINE_TASK_ID\n";
    let plan = "# TASKS: H\n## Phase 0: A\n### [ ] T0.1: One\n### [ ] T0.2: Two\n";
    let world = project(plan, agent, "retry_limit = 1\n");
    let (body, code) = report(&world, "orchestrate run --json");
    assert_eq!(
        (code, &body["ended"]),
        (Some(1), &"stalled".into()),
        "{body}"
    );
    let text = world.read("TASKS.md").replace("### [ ] T0.2: Two\n", "");
    world.write("TASKS.md", text);
    world.git(&["commit", "--quiet", "--all", "--message=without it"]);
    done(&world);
    let (status, _) = report(&world, "orchestrate status --json");
    assert_eq!(
        status["state"]["tasks"]["failed"],
        serde_json::json!([]),
        "{status}"
    );
}

#[test]
fn retry_makes_a_fresh_worktree_and_keeps_the_old_one() {
    let agent = format!(
        "{NAMED}ls > $HOME/seen-$BOWLINE_TRY; echo DONE:$BOWLINE_TASK_ID > /dev/null\n\
         if [ $BOWLINE_TRY = 1 ]; then echo c > c.txt; git add c.txt; git commit --quiet -m reset; git reset --quiet --hard HEAD~1\n\
         echo junk > junk.txt; echo FAIL:T0.1:no; else echo a > a.txt; echo DONE:T0.1; fi\n"
    );
    let world = project(ONE, &agent, "retry_limit = 1\n");
    assert_eq!(ran(&world, "orchestrate run").status.code(), Some(1));
    assert!(ran(&world, "orchestrate retry T0.1").status.success());
    done(&world);
    let seen = std::fs::read_to_string(world.root().join("home/seen-2")).unwrap();
    assert!(!seen.contains("junk"), "{seen}");
    let kept = world.git(&["for-each-ref", "--format=%(refname)", "refs/bowline/rescue"]);
    assert_eq!(world.git(&["show", &format!("{kept}:junk.txt")]), "junk");
    // What it committed and reset away is kept with the commits of its task.
    let commits = world.git(&["log", "--format=%s", "--glob=refs/bowline/task"]);
    assert!(commits.lines().any(|it| it == "reset"), "{commits}");
}

#[test]
fn commits_on_a_detached_head_are_kept_with_the_task() {
    let agent = format!(
        "{NAMED}branch=$(git symbolic-ref --short HEAD); git checkout --quiet --detach\n\
         echo x > x.txt; git add x.txt; git commit --quiet -m 'on no branch'; git checkout --quiet $branch\n\
         echo a > a.txt; echo DONE:$BOWLINE_TASK_ID\n"
    );
    let world = project(ONE, &agent, "");
    done(&world);
    assert!(!world.path("x.txt").exists());
    let commits = world.git(&["log", "--format=%s", "--glob=refs/bowline/task"]);
    assert!(commits.lines().any(|it| it == "on no branch"), "{commits}");

    // Also where it is what landed.
    let agent = format!(
        "{NAMED}git checkout --quiet --detach; echo x > x.txt; git add x.txt; git commit --quiet -m 'as made'\n\
         echo DONE:$BOWLINE_TASK_ID\n"
    );
    let world = project(ONE, &agent, "");
    done(&world);
    let kept = world.git(&["log", "-1", "--format=%s", "refs/bowline/task/task-T0.1"]);
    assert_eq!(kept, "as made");
}

#[test]
fn a_landing_that_was_taken_back_is_named_with_the_command_that_brings_it_back() {
    let plan =
        "# TASKS: H\n## Phase 0: A\n### [ ] T0.1: One\n\n- text of one\n\n### [ ] T0.2: Two\n";
    let agent = "main=$(dirname \"$(git rev-parse --path-format=absolute --git-common-dir)\")\n\
                 if [ $BOWLINE_TASK_ID = T0.2 ]; then touch $HOME/there\n\
                 until git -C $main log --format=%s | grep -q T0.1; do sleep 0.05; done\n\
                 until [ -z \"$(git -C $main status --porcelain)\" ]; do sleep 0.05; done\n\
                 until tr -d '[:space:]' <$main/.claude/orchestrate-state.json | grep -q 'completed\":\\[\"T0.1'; do sleep 0.05; done\n\
                 git -C $main reset --quiet --hard HEAD~1\n\
                 else until [ -e $HOME/there ]; do sleep 0.05; done; fi\n\
                 echo a > $BOWLINE_TASK_ID.txt; echo DONE:$BOWLINE_TASK_ID\n";
    let world = project(plan, agent, "");
    world.git(&["config", "user.name", "person"]);
    world.git(&["config", "user.email", "person@localhost"]);
    let (body, code) = report(&world, "orchestrate run --json");
    assert_eq!((code, &body["ended"]), (Some(1), &"stuck".into()), "{body}");
    let why = body.to_string();
    assert!(why.contains("no longer on branch main: T0.1 ("), "{body}");
    let told = ran(&world, "orchestrate verify");
    let text = String::from_utf8_lossy(&told.stdout).into_owned();
    assert_eq!(told.status.code(), Some(1), "{text}");
    let (_, command) = text.split_once("This brings it back: ").unwrap();
    let merged = world
        .program("sh")
        .args(["-c", command.lines().next().unwrap_or_default()])
        .output()
        .unwrap();
    assert!(merged.status.success(), "{merged:?}");
    done(&world);
    assert!(world.path("T0.1.txt").exists() && world.path("T0.2.txt").exists());

    // Behind the end of the run.
    world.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    let (body, code) = report(&world, "orchestrate verify --json");
    assert_eq!(code, Some(1), "{body}");
    let (body, code) = report(&world, "orchestrate run --json");
    assert_eq!((code, &body["ended"]), (Some(1), &"stuck".into()), "{body}");
}

#[test]
fn work_that_takes_the_plan_or_tasks_of_others_away_goes_back_to_its_agent() {
    for (damage, told) in [
        ("git rm --quiet TASKS.md", "removes the plan TASKS.md"),
        (
            "sed -i '/T0.2/,$d' TASKS.md",
            "cuts text of other tasks (T0.2)",
        ),
        (
            "sed -i '/more of two/d' TASKS.md",
            "cuts text of other tasks (T0.2)",
        ),
        (
            "sed -i 's/more of two/nothing else/' TASKS.md",
            "cuts text of other tasks (T0.2)",
        ),
    ] {
        let agent = format!(
            "{NAMED}echo a > $BOWLINE_TASK_ID.txt\n\
             if [ $BOWLINE_TASK_ID = T0.1 ]; then if [ $BOWLINE_TRY = 1 ]; then {damage}; else git checkout refs/bowline/base/task-T0.1 -- TASKS.md; fi; fi\n\
             echo DONE:$BOWLINE_TASK_ID\n"
        );
        let world = project(TWO, &agent, "");
        done(&world);
        assert_eq!(
            world.read("TASKS.md"),
            TWO.replace("[ ]", "[x]"),
            "{damage}"
        );
        let prompt = prompt(&world, "T0.1-2");
        assert!(prompt.contains(told), "{damage}: {prompt}");
    }
}

#[test]
fn work_that_takes_the_heading_of_a_phase_away_goes_back_to_its_agent() {
    let plan = "# TASKS: H\n## Phase 0: A\n### [ ] T0.1: One\n## Phase 1: B\n### [ ] T1.1: Two\n";
    let agent = format!(
        "{NAMED}echo a > $BOWLINE_TASK_ID.txt\n\
         if [ $BOWLINE_TASK_ID = T0.1 ]; then if [ $BOWLINE_TRY = 1 ]; then sed -i '/## Phase 1/d' TASKS.md\n\
         else git checkout refs/bowline/base/task-T0.1 -- TASKS.md; fi; fi\n\
         echo DONE:$BOWLINE_TASK_ID\n"
    );
    let world = project(plan, &agent, "");
    done(&world);
    assert_eq!(world.read("TASKS.md"), plan.replace("[ ]", "[x]"));
    let prompt = prompt(&world, "T0.1-2");
    assert!(prompt.contains("(Phase 1, T1.1)"), "{prompt}");
}

#[test]
fn a_persons_uncommitted_line_in_the_plan_stands_beside_an_agent_that_ticks_its_box() {
    for (edit, staged) in [
        ("### [ ] T0.1: One\n", false),
        ("### [ ] T0.1: One, in other words\n", false),
        ("### [ ] T0.1: One\n", true),
    ] {
        let world = project(ONE, TICKS, "");
        let edited = format!("{}- mine\n", ONE.replace("### [ ] T0.1: One\n", edit));
        world.write("TASKS.md", &edited);
        if staged {
            world.git(&["add", "TASKS.md"]);
        }
        let begun = std::time::Instant::now();
        let (body, code) = report(&world, "orchestrate run --json");
        assert_eq!((code, &body["ended"]), (Some(0), &"done".into()), "{body}");
        assert!(begun.elapsed().as_secs() < 25);
        assert_eq!(world.read("a.txt"), "a\n");
        assert_eq!(world.read("TASKS.md"), edited.replace("[ ]", "[x]"));
    }
}

/// An agent that ticks its own box, so that what lands meets what a person edits.
const TICKS: &str =
    "sed -i 's/\\[ \\] T0.1/[x] T0.1/' TASKS.md; echo a > a.txt; echo DONE:$BOWLINE_TASK_ID\n";

/// The path of programs with a git that first runs a script when a landing is merged in a checkout.
fn with_git(world: &TestEnvironment, script: &str) -> String {
    let bin = world.root().join("home/bin");
    let path = std::env::var("PATH").unwrap();
    let git = format!(
        "#!/bin/sh\nPATH='{path}'\ncase \"$*\" in *'merge --quiet --ff-only'*)\n\
         if [ ! -e $HOME/cut ]; then touch $HOME/cut\n{script}\nfi;; esac\nexec git \"$@\"\n"
    );
    write_executable(&bin.join("git"), &git);
    format!("{}:{path}", bin.display())
}

#[test]
fn a_run_that_is_killed_while_it_lands_loses_no_line_of_a_person() {
    for merge in ["", "git \"$@\""] {
        let world = project(ONE, TICKS, "");
        let edited = format!("{ONE}- mine\n");
        world.write("TASKS.md", &edited);
        let path = with_git(&world, &format!("{merge}\nkill -9 $PPID $$"));
        let output = bowline(&world, "orchestrate run --json")
            .env("PATH", path)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), None, "killed: {output:?}");
        assert!(!world.read("TASKS.md").contains("mine"), "aside");
        done(&world);
        assert_eq!(
            world.read("TASKS.md"),
            edited.replace("[ ]", "[x]"),
            "{merge}"
        );
    }
}

#[test]
fn an_editor_that_saves_the_plan_while_it_lands_is_not_overwritten() {
    for end in ["exit 0", "kill -9 $PPID $$"] {
        let world = project(ONE, TICKS, "");
        world.write("TASKS.md", format!("{ONE}- mine\n"));
        let saved = format!("{ONE}- mine\n- saved now\n");
        std::fs::write(world.root().join("home/saved"), &saved).unwrap();
        let script = format!("git \"$@\"\ncat $HOME/saved > TASKS.md\n{end}");
        let path = with_git(&world, &script);
        bowline(&world, "orchestrate run")
            .env("PATH", path)
            .output()
            .unwrap();
        done(&world);
        let text = world.read("TASKS.md");
        assert!(text.contains("- mine\n- saved now\n"), "{end}: {text}");
        let kept = world.git(&["for-each-ref", "--format=%(refname)", "refs/bowline/rescue"]);
        let kept = world.git(&["show", &format!("{kept}:TASKS.md")]);
        assert_eq!(kept, format!("{ONE}- mine"), "{end}");
    }
}

/// A project whose one phase has landed on its branch, and waits there as its check is red.
fn with_a_phase_that_waits() -> TestEnvironment {
    let plan = "# TASKS: H\n## Phase 1: A\n### [ ] T1.1: One\n### [ ] T1.2: Two\n";
    let agent = "echo a > $BOWLINE_TASK_ID.txt; echo DONE:$BOWLINE_TASK_ID\n";
    let check = "checks = [[\"sh\", \"-c\", \"test -e $HOME/green\"]]\n";
    let world = project(plan, agent, check);
    assert_eq!(ran(&world, "orchestrate run").status.code(), Some(1));
    std::fs::write(world.root().join("home/green"), "").unwrap();
    world.git(&["config", "user.name", "person"]);
    world.git(&["config", "user.email", "person@localhost"]);
    world
}

#[test]
fn a_phase_branch_that_was_reset_or_deleted_is_named_with_the_command_that_brings_it_back() {
    let branch = "phase-1-a";
    for taken in [
        &[
            "update-ref",
            "refs/heads/phase-1-a",
            "refs/heads/phase-1-a~1",
        ][..],
        &["branch", "--quiet", "-D", branch],
    ] {
        let world = with_a_phase_that_waits();
        world.git(taken);
        let told = ran(&world, "orchestrate verify");
        let text = String::from_utf8_lossy(&told.stdout).into_owned();
        assert_eq!(told.status.code(), Some(1), "{taken:?}: {text}");
        let told = world.run("orchestrate phase finish 1");
        assert!(told.contains("error[no_merge]"), "{taken:?}: {told}");
        let (body, code) = report(&world, "orchestrate run --json");
        assert_eq!((code, &body["ended"]), (Some(1), &"stuck".into()), "{body}");
        let why = body["why"].as_str().unwrap_or_default();
        let (named, command) = why.split_once("This brings it back: ").unwrap();
        assert!(named.contains("no longer on branch phase-1-a"), "{named}");
        if taken[0] == "branch" {
            let begin = format!("branch '{branch}' ");
            assert!(command.contains(&begin), "{command}");
            assert!(named.contains("T1.1 (") && named.contains("T1.2 ("));
        }
        let brought = world.program("sh").args(["-c", command]).output().unwrap();
        assert!(brought.status.success(), "{command}: {brought:?}");
        done(&world);
        assert!(world.path("T1.1.txt").exists() && world.path("T1.2.txt").exists());
    }
}

#[test]
fn a_phase_branch_that_is_deleted_once_it_is_on_the_main_line_takes_nothing_away() {
    let world = with_a_phase_that_waits();
    world.git(&["merge", "--quiet", "--no-edit", "phase-1-a"]);
    world.git(&["branch", "--quiet", "-D", "phase-1-a"]);
    assert_eq!(ran(&world, "orchestrate verify").status.code(), Some(0));
    done(&world);
}

#[test]
fn a_task_that_was_failed_by_hand_has_a_fresh_worktree_after_its_retry() {
    let agent = format!(
        "{NAMED}ls > $HOME/seen-$BOWLINE_TRY\n\
         if [ $BOWLINE_TRY = 1 ]; then echo c > c.txt; git add c.txt; git commit --quiet -m old; echo junk > junk.txt\n\
         touch $HOME/there; until [ -e $HOME/go ]; do sleep 0.05; done\n\
         else echo a > a.txt; echo DONE:T0.1; fi\n"
    );
    let world = project(ONE, &agent, "");
    let home = world.root().join("home");
    let mut child = crate::orchestrate_run::begun(&world);
    let bound = crate::orchestrate_run::BOUND;
    assert!(bowline_test_support::wait_until(bound, || home
        .join("there")
        .exists()));
    child.kill().unwrap();
    child.wait().unwrap();
    let failed = ran(&world, "orchestrate fail T0.1 --reason no");
    assert!(failed.status.success(), "{failed:?}");
    std::fs::write(home.join("go"), "").unwrap();
    assert!(ran(&world, "orchestrate retry T0.1").status.success());
    done(&world);
    let seen = std::fs::read_to_string(home.join("seen-2")).unwrap();
    assert!(!seen.contains("junk") && !seen.contains("c.txt"), "{seen}");
    assert!(prompt(&world, "T0.1-2").contains("Your worktree is new"));
    let commits = world.git(&["log", "--format=%s", "--glob=refs/bowline/task"]);
    assert!(commits.lines().any(|it| it == "old"), "{commits}");
}

#[test]
fn a_worktree_in_which_git_fails_is_new_after_the_second_error_and_the_agent_is_told() {
    // The evidence command breaks the index of the worktree: what landed since cannot be brought in.
    let evidence = "[ -e $HOME/broken ] && exit 0; touch $HOME/broken; \
                    echo junk > $(git rev-parse --path-format=absolute --git-common-dir)/worktrees/task-T0.1/index; exit 1";
    let agent =
        format!("{NAMED}echo $BOWLINE_TRY > a.txt; echo loose > loose.txt; echo DONE:T0.1\n");
    let settings = format!("evidence = [\"sh\", \"-c\", {evidence:?}]\n");
    let world = project(ONE, &agent, &settings);
    done(&world);
    let told = prompt(&world, "T0.1-2");
    for part in [
        "the evidence command failed",
        "index file",
        "Your worktree is new",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let log = world.read(".claude/orchestrate.log");
    assert_eq!(log.matches("RETRY:T0.1:git failed").count(), 2, "{log}");
    assert_eq!(world.read("a.txt"), "2\n");
}

#[test]
fn a_git_that_fails_elsewhere_leaves_the_worktree_as_it_is() {
    let agent = format!(
        "{NAMED}ls > $HOME/seen-$BOWLINE_TRY; echo $BOWLINE_TRY > a.txt; echo loose > loose.txt\n\
         if [ $BOWLINE_TRY = 1 ]; then echo FAIL:T1.1:no; else echo DONE:T1.1; fi\n"
    );
    let plan = "# TASKS: H\n## Phase 1: A\n### [ ] T1.1: One\n";
    let world = project(plan, &agent, "");
    let bin = world.root().join("home/bin");
    let path = std::env::var("PATH").unwrap();
    // It cannot list the worktrees three times behind the first attempt.
    let git = format!(
        "#!/bin/sh\nPATH='{path}'\ncase \"$*\" in *'worktree list'*)\n\
         if [ -e $HOME/seen-1 ] && [ ! -e $HOME/no-3 ]; then\n\
         for n in 1 2 3; do [ -e $HOME/no-$n ] || {{ touch $HOME/no-$n; break; }}; done\n\
         echo 'fatal: no' >&2; exit 128; fi;; esac\nexec git \"$@\"\n"
    );
    write_executable(&bin.join("git"), &git);
    let output = bowline(&world, "orchestrate run --json")
        .env("PATH", format!("{}:{path}", bin.display()))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let seen = std::fs::read_to_string(world.root().join("home/seen-2")).unwrap();
    assert!(seen.contains("loose.txt"), "{seen}");
    assert!(!prompt(&world, "T1.1-2").contains("Your worktree is new"));
}
