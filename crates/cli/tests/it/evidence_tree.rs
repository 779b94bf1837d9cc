//! Evidence is about the tree that lands: what git is not shown, what changes meanwhile, and what the caller brings along.

use crate::environment::{TestEnvironment, text, write_executable};
use serde_json::Value;
use std::process::Output;

const PASS: &str = "develop gate pass review_clean_pass";

/// A run in REVIEW whose first gate is opened by a sealed command, with everything committed.
fn run(command: &str) -> TestEnvironment {
    let world = TestEnvironment::repository();
    world.write(
        "bowline.toml",
        format!(
            "[develop]\nprotected = [\"check.sh\"]\n[develop.gates.review_clean_pass]\nrun = '{command}'\n"
        ),
    );
    world.write(".gitignore", ".develop-workflow/\nignored.txt\n");
    world.write("check.sh", "grep -q good code.txt\n");
    world.write("code.txt", "good\n");
    world.git(&["add", "-A"]);
    world.git(&["commit", "-qm", "one"]);
    world.quietly("develop start 'Ferry times'", 0);
    world.quietly("develop review", 0);
    world
}

/// The tree of the last evidence.
fn tree(world: &TestEnvironment) -> String {
    let lines = std::fs::read_to_string(world.run_folder().join("evidence.jsonl")).unwrap();
    let last: Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
    last["tree"].as_str().unwrap().to_owned()
}

fn with_key(world: &TestEnvironment, key: &str) -> Output {
    let file = world.root().join("key");
    std::fs::write(&file, key).unwrap();
    let mut command = world.bowline(PASS);
    command.env("BOWLINE_EVIDENCE_KEY_FILE", &file);
    command.output().unwrap()
}

#[test]
fn the_tree_of_an_untouched_checkout_is_that_of_its_commit() {
    let world = run("sh check.sh");
    world.quietly(PASS, 0);
    let commit = world.git(&["rev-parse", "HEAD^{tree}"]);
    assert_eq!(tree(&world), format!("git:{commit}"));
}

#[test]
fn what_git_is_told_not_to_see_is_another_tree() {
    for flag in ["--skip-worktree", "--assume-unchanged"] {
        let world = run("sh check.sh");
        world.quietly(PASS, 0);
        let before = tree(&world);
        world.git(&["update-index", flag, "code.txt"]);
        world.write("code.txt", "good, and something else\n");
        assert_eq!(world.git(&["status", "--porcelain"]), "", "{flag}");
        world.quietly("develop gate reset review_clean_pass", 0);
        world.quietly(PASS, 0);
        assert_ne!(tree(&world), before, "{flag}");
    }
}

#[test]
fn filters_and_attributes_do_not_show_another_tree() {
    let lie = |liar: bool| {
        let world = run("sh check.sh");
        world.write(".gitattributes", "code.txt filter=liar text eol=crlf\n");
        if liar {
            world.git(&["config", "filter.liar.clean", "echo something else"]);
        }
        world.write("code.txt", "good\r\n");
        world.quietly(PASS, 0);
        tree(&world)
    };
    assert_eq!(lie(false), lie(true));
}

#[test]
fn odd_names_links_and_modes_are_in_the_tree() {
    let world = run("sh check.sh");
    for name in [
        "with space",
        "quote\"d",
        "새 파일",
        "back\\slash",
        "new\nline",
    ] {
        world.write(name, "x\n");
    }
    let project = world.root().join("project");
    std::os::unix::fs::symlink("code.txt", project.join("link")).unwrap();
    world.quietly(PASS, 0);
    let before = tree(&world);
    world.git(&["add", "-A"]);
    let commit = world.git(&["write-tree"]);
    assert_eq!(before, format!("git:{commit}"));
}

#[test]
fn a_command_that_changes_the_tree_is_no_evidence() {
    let world = run("echo more >> code.txt");
    let told = world.talk(PASS, 1);
    assert!(told.contains("error[changed_while_running]"), "{told}");
}

#[test]
fn a_sealed_script_that_is_exchanged_and_put_back_is_noticed() {
    let world = run(
        "cp check.sh ../kept; echo true > ../fake; mv ../fake check.sh; sh check.sh; mv ../kept check.sh",
    );
    let told = world.talk(PASS, 1);
    assert!(told.contains("error[changed_while_running]"), "{told}");
}

#[test]
fn a_command_gets_the_sealed_path_and_neither_key_nor_surprises() {
    let world = run("test -z \"$BOWLINE_EVIDENCE_KEY_FILE$SURPRISE\" && sh check.sh");
    let evil = world.root().join("evil");
    write_executable(&evil.join("sh"), "#!/bin/sh\nexit 0\n");
    world.write("code.txt", "bad\n");
    let path = format!("{}:{}", evil.display(), std::env::var("PATH").unwrap());
    let mut command = world.bowline(PASS);
    let output = command.env("PATH", &path).env("SURPRISE", "yes").output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    world.write("code.txt", "good\n");
    let signed = with_key(&world, "a key that is long enough\n");
    assert!(signed.status.success(), "{signed:?}");
}

#[test]
fn what_is_signed_ran_in_a_clean_checkout() {
    let world = run("test ! -e ignored.txt && git log -1 --format=%s && sh check.sh");
    world.write("ignored.txt", "");
    world.quietly(PASS, 1);
    let signed = with_key(&world, "a key that is long enough\n");
    assert!(signed.status.success(), "{signed:?}");
    let commit = world.git(&["rev-parse", "HEAD^{tree}"]);
    assert_eq!(tree(&world), format!("git:{commit}"));
}

#[test]
fn what_the_policy_shares_is_there() {
    let world = run("test -e ignored.txt");
    world.write("ignored.txt", "");
    world.write(
        "bowline.toml",
        "[develop]\nshare = [\"ignored.txt\"]\n[develop.gates.review_clean_pass]\nrun = 'test -e ignored.txt'\n",
    );
    world.quietly("develop seal", 0);
    let signed = with_key(&world, "a key that is long enough\n");
    assert!(signed.status.success(), "{signed:?}");
}

#[test]
fn a_key_of_one_letter_is_refused() {
    let world = run("sh check.sh");
    let told = text(&with_key(&world, "x\n").stderr);
    assert!(
        told.contains("error[bad_input]") && told.contains("too short"),
        "{told}"
    );
}

#[test]
fn a_git_that_somebody_put_into_the_path_is_not_asked_for_the_tree() {
    let world = run("sh check.sh");
    let folder = world.root().join("theirs");
    let asked = world.root().join("asked");
    let script = format!("#!/bin/sh\necho \"$@\" >> {}\nexit 1\n", asked.display());
    write_executable(&folder.join("git"), &script);
    let mut command = world.bowline(PASS);
    let path = std::env::var_os("PATH").unwrap();
    let theirs_first = std::iter::once(folder).chain(std::env::split_paths(&path));
    command.env("PATH", std::env::join_paths(theirs_first).unwrap());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let commit = world.git(&["rev-parse", "HEAD^{tree}"]);
    assert_eq!(tree(&world), format!("git:{commit}"));
    let asked = std::fs::read_to_string(asked).unwrap_or_default();
    assert_eq!(asked, "", "{asked}");
}

/// Looks for something in a checkout while another command makes folders of its own beside it: found a TODO that is there, and
/// nobody has taken it away.
#[test]
fn whoever_comes_second_leaves_the_checkout_of_the_first_alone() {
    let world = run(
        "cd ~/.cache; echo here >> begun; while [ ! -e go ]; do sleep 0.02; done; cd \"$OLDPWD\"; \
         ! grep -q good code.txt",
    );
    // What is signed may write there.
    let meet = world.root().join("home/.cache");
    std::fs::create_dir(&meet).unwrap();
    let (begun, go) = (meet.join("begun"), meet.join("go"));
    std::thread::scope(|scope| {
        let first = scope.spawn(|| with_key(&world, "a key of ours, long enough"));
        let so_many = |count: usize| {
            let lines = || std::fs::read_to_string(&begun).unwrap_or_default();
            while lines().lines().count() < count {
                assert!(!first.is_finished(), "it did not wait");
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
        };
        so_many(1);
        // Another tree: of the same one there is a single run, and the second would wait for it.
        world.write("other.txt", "");
        let second = scope.spawn(|| world.bowline(PASS).output().unwrap());
        so_many(2);
        std::fs::write(&go, "").unwrap();
        for (who, caller) in [("first", first), ("second", second)] {
            let output = caller.join().unwrap();
            let told = text(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{who}: {told}");
            assert!(!told.contains("changed_while_running"), "{who}: {told}");
        }
    });
}

#[test]
fn a_checkout_that_was_taken_away_proves_nothing() {
    for end in ["true", "false"] {
        let world = run(&format!("rm -rf \"$PWD\"; {end}"));
        let output = with_key(&world, "a key of ours, long enough");
        assert_eq!(output.status.code(), Some(1));
        let told = text(&output.stderr);
        assert!(told.contains("files changed while"), "{told}");
    }
}

/// A tree has the commit of a submodule, and a command reads its files.
#[test]
fn a_dirty_submodule_is_no_evidence() {
    let world = run("sh check.sh && grep -q good lib/code.txt");
    let lib = world.path("lib");
    std::fs::create_dir(&lib).unwrap();
    world.git_in(&lib, &["init", "-q"]);
    std::fs::write(lib.join("code.txt"), "bad\n").unwrap();
    world.git_in(&lib, &["add", "-A"]);
    world.git_in(&lib, &["commit", "-qm", "lib"]);
    let refused = || {
        let told = world.talk(PASS, 1);
        assert!(told.contains("error[outside_tree]"), "{told}");
        assert!(told.contains("lib (not committed)"), "{told}");
    };
    std::fs::write(lib.join("code.txt"), "good\n").unwrap();
    refused();
    world.git_in(&lib, &["update-index", "--skip-worktree", "code.txt"]);
    refused();
    world.git_in(&lib, &["update-index", "--no-skip-worktree", "code.txt"]);
    world.git_in(&lib, &["commit", "-qam", "good"]);
    world.quietly(PASS, 0);
}

/// A submodule that is bad before and after, and good while the command looks.
#[test]
fn a_submodule_that_changes_while_the_command_runs_is_no_evidence() {
    let world = run("echo good > lib/code.txt; grep -q good lib/code.txt; echo bad > lib/code.txt");
    let lib = world.path("lib");
    std::fs::create_dir(&lib).unwrap();
    world.git_in(&lib, &["init", "-q"]);
    std::fs::write(lib.join("code.txt"), "bad\n").unwrap();
    world.git_in(&lib, &["add", "-A"]);
    world.git_in(&lib, &["commit", "-qm", "lib"]);
    let told = world.talk(PASS, 1);
    assert!(told.contains("error[changed_while_running]"), "{told}");
    assert!(told.contains("lib/code.txt"), "{told}");
}

#[test]
fn a_link_out_of_the_tree_is_no_evidence() {
    for target in ["../elsewhere.txt", "../not-there-yet"] {
        let world = run("sh check.sh");
        std::fs::write(world.root().join("elsewhere.txt"), "good\n").unwrap();
        std::os::unix::fs::symlink("code.txt", world.path("inside")).unwrap();
        world.quietly(PASS, 0);
        world.quietly("develop gate reset review_clean_pass", 0);
        std::os::unix::fs::symlink(target, world.path("out")).unwrap();
        let told = world.talk(PASS, 1);
        assert!(told.contains("error[outside_tree]"), "{told}");
        assert!(told.contains("out (link out of the tree)"), "{told}");
    }
}

/// The interpreter of a virtual environment lies outside. Without git nothing says that it is not the project's.
#[test]
fn a_virtual_environment_is_left_out_once_git_ignores_it() {
    let world = TestEnvironment::new();
    world.write(
        "bowline.toml",
        "[develop.gates.review_clean_pass]\nrun = 'test -L venv/bin/python'\n",
    );
    std::fs::create_dir_all(world.path("venv/bin")).unwrap();
    std::os::unix::fs::symlink("/usr/bin/env", world.path("venv/bin/python")).unwrap();
    let began = |world: &TestEnvironment| {
        world.quietly("develop start 'Ferry times'", 0);
        world.quietly("develop review", 0);
    };
    began(&world);
    let told = world.talk(PASS, 1);
    assert!(told.contains("error[outside_tree]"), "{told}");
    assert!(told.contains("venv/bin/python"), "{told}");
    assert!(told.contains("'git init'"), "the way out: {told}");
    world.quietly("develop reset", 0);
    world.write(".gitignore", "/venv/\n.develop-workflow/\n");
    world.git(&["init", "-q"]);
    world.git(&["add", "-A"]);
    world.git(&["commit", "-qm", "one"]);
    began(&world);
    world.quietly(PASS, 0);
}
