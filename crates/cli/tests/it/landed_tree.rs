//! What lands is the tree that was tested: in `pr`, in `done`, in git's hooks and in `verify`.

use crate::attacks::Gated;
use crate::environment::{TestEnvironment, text};

/// A run in PR with hooks, whose last gate was passed on `src.txt` as it is on the disk.
fn tested() -> Gated {
    let gated = Gated::new();
    gated.0.write("code.ok", "");
    gated.0.quietly("develop gate pass re_review_clean", 0);
    gated
}

/// Has git do something that a hook denies, and gives what it said.
fn denied(gated: &Gated, arguments: &[&str]) -> String {
    let output = gated.0.program("git").args(arguments).output().unwrap();
    let told = text(&output.stderr);
    assert!(!output.status.success(), "git {arguments:?}: {told}");
    told
}

#[test]
fn pr_and_done_want_evidence_of_this_very_tree() {
    let gated = tested();
    gated.0.write("src.txt", "changed after the gate\n");
    let told = gated.0.talk("develop done", 1);
    assert!(told.contains("error[stale_evidence]"), "{told}");
    gated.0.write("src.txt", "work\n");
    let told = gated.0.talk("develop done", 1);
    assert!(told.contains("error[tree_not_committed]"), "{told}");
    for file in ["code.ok (not committed)", "src.txt (changed)"] {
        assert!(told.contains(file), "{file}: {told}");
    }
    gated.git(&["add", "-A"], true);
    gated.git(&["commit", "-qm", "what was tested"], true);
    gated.0.quietly("develop done", 0);
    let tree = gated.0.json("history --json develop -n 1", 0).to_string();
    gated.git(&["add", "-A"], true);
    let expected = format!("git:{}", gated.git(&["write-tree"], true));
    assert!(tree.contains(&expected), "{expected}: {tree}");
    gated.0.quietly("verify", 0);
    gated.0.write("src.txt", "changed after the end\n");
    let told = gated.0.talk("verify", 1);
    assert!(
        told.contains("the tree (not the one that 'done' recorded)"),
        "{told}"
    );
}

#[test]
fn in_pr_a_commit_of_another_tree_is_held_and_its_files_are_named() {
    let gated = tested();
    gated.0.write("src.txt", "never tested\n");
    gated.0.write("more.txt", "never tested either\n");
    gated.git(&["add", "-A"], true);
    let told = denied(&gated, &["commit", "-qm", "another tree"]);
    assert!(
        told.contains("it is not what was tested: more.txt (added), src.txt (changed)."),
        "{told}"
    );
    gated.held();
    std::fs::remove_file(gated.0.path("more.txt")).unwrap();
    gated.0.write("src.txt", "work\n");
    gated.git(&["add", "-u"], true);
    gated.git(&["reset", "-q", "code.ok"], true);
    let told = denied(&gated, &["commit", "-qm", "a part of it"]);
    assert!(told.contains("code.ok (not committed)"), "{told}");
    gated.git(&["add", "-A"], true);
    gated.git(&["commit", "-qm", "what was tested"], true);
}

#[test]
fn in_pr_a_push_of_another_tree_is_held() {
    let gated = tested();
    let remote = gated.0.root().join("remote.git");
    let remote = remote.to_str().unwrap();
    gated.git(&["init", "-q", "--bare", remote], true);
    let told = denied(&gated, &["push", "-q", remote, "HEAD~0:refs/heads/old"]);
    for file in ["code.ok", "src.txt"] {
        assert!(told.contains(file), "{file} differs: {told}");
    }
    gated.git(&["add", "-A"], true);
    gated.git(&["commit", "-qm", "what was tested"], true);
    gated.git(&["push", "-q", remote, "HEAD:refs/heads/new"], true);
}

/// What is committed before PR is work in progress.
#[test]
fn in_implement_every_tree_may_be_committed() {
    let world = TestEnvironment::implementing();
    world.quietly("init", 0);
    world.git(&["add", "-A"]);
    world.git(&["commit", "-qm", "one"]);
    world.write("src.txt", "two\n");
    world.git(&["add", "-A"]);
    world.git(&["commit", "-qm", "two"]);
}

/// Git keeps another form of such a file than the one that was tested.
#[test]
fn a_file_that_git_converts_is_the_one_that_was_tested() {
    let gated = Gated::new();
    gated.0.write(".gitattributes", "*.crlf text eol=crlf\n");
    gated.0.write("list.crlf", "one\r\ntwo\r\n");
    gated.0.write("code.ok", "");
    gated.0.quietly("develop gate pass re_review_clean", 0);
    gated.git(&["add", "-A"], true);
    gated.git(&["commit", "-qm", "what was tested"], true);
}

#[test]
fn a_policy_may_say_that_trees_are_not_compared_and_status_says_so() {
    let gated = Gated::new();
    let policy = gated.0.read("bowline.toml");
    let policy = policy.replacen("[develop]\n", "[develop]\ntree = false\n", 1);
    gated.0.write("bowline.toml", policy);
    gated.0.write("code.ok", "");
    gated.0.quietly("develop seal", 0);
    let status = gated.0.run("develop status");
    assert!(status.contains("tree = false"), "{status}");
    gated.0.quietly("develop gate pass re_review_clean", 0);
    gated.0.write("src.txt", "changed after the gate\n");
    gated.git(&["add", "-A"], true);
    gated.git(&["commit", "-qm", "another tree"], true);
    gated.0.quietly("develop done", 0);
}
