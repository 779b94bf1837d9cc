//! Files whose names git quotes, or that break a list of lines: in reviews, and in the worktrees of an orchestration.

use crate::environment::TestEnvironment;
use crate::orchestrate_run::{BOUND, begun, nothing_left, project, report};
use crate::serve::Server;
use bowline_test_support::wait_until;
use serde_json::Value;
use std::path::Path;

/// Two of each kind.
const NAMES: [&str; 12] = [
    "계획.md",
    "설계.md",
    "a b.md",
    " b/c d.md",
    "say \"hi\".md",
    "say \"ho\".md",
    "two\nlines.md",
    "two\nrows.md",
    "back\\slash.md",
    "back\\n.md",
    "\u{202e}fdp.md",
    "\u{202e}gnp.md",
];

/// Shell commands that write all of them into a folder.
fn writes(folder: &str) -> String {
    let one = |name: &&str| {
        let path = format!("{folder}/{name}");
        format!("mkdir -p \"$(dirname '{path}')\" && echo new > '{path}'\n")
    };
    NAMES.iter().map(one).collect()
}

/// A repository of a person, with files of such names, one of which is a test.
fn repository(world: &TestEnvironment) {
    for name in NAMES {
        world.write(&format!("repo/old/{name}"), "one\n");
        world.write(&format!("repo/tests/{name}"), "test\n");
    }
    let git = |line: &[&str]| world.git(&[&["-C", "repo"], line].concat());
    git(&["init", "--quiet"]);
    git(&["add", "--all"]);
    git(&["commit", "--quiet", "--message=begin"]);
}

fn review_server(agent: &str) -> (Server, String) {
    let world = TestEnvironment::new();
    repository(&world);
    review_server_in(world, agent)
}

fn review_server_in(world: TestEnvironment, agent: &str) -> (Server, String) {
    world.write("agent.sh", agent);
    let config = format!(
        "[defaults]\nagent = \"script\"\n[agent.script]\ncommand = [\"sh\", {:?}]\n[type.write]\n[[type.write.phases]]\nname = \"Write\"\n",
        world.path("agent.sh").display().to_string(),
    );
    world.write("bowline.toml", config);
    let server = Server::of(world);
    let made = server.done("task --data data new --title Names --type write --description Names --workspace repo --submit");
    let task = made.trim().to_owned();
    (server, task)
}

const REVIEWED: &str = "echo '=== PHASE 1 COMPLETE ==='; exec sleep 600\n";

#[test]
fn a_review_shows_every_name_and_what_was_deleted() {
    let agent = format!(
        "rm -r tests\n{}for f in old/*.md; do echo two >> \"$f\"; done\nchmod +x 'old/a b.md'\nln -s /etc/passwd link\n{REVIEWED}",
        writes("new")
    );
    let (server, task) = review_server(&agent);
    let review = |it: &Value| it["items"][0]["kind"] == "review";
    server.until("task --data data inbox", review);
    let inbox = server.done("task --data data inbox");
    assert!(inbox.contains("deleted: tests/계획.md"), "{inbox}");
    assert!(
        inbox.contains("deleted: tests/two⟨U+000A⟩lines.md"),
        "{inbox}"
    );
    assert!(inbox.contains("36 files changed, +24 −12 lines"), "{inbox}");
    let shown = server.done(&format!("task --data data show {task}"));
    for line in [
        "    added: new/설계.md  +1 −0\n",
        "    added: link  120000  +1 −0\n",
        "    added: new/⟨U+202E⟩fdp.md  +1 −0\n",
        "    modified: old/a b.md  100644 → 100755  +1 −0\n",
        "    and 16 more\n",
    ] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    let listed = server.json(&format!("task --data data artifacts {task}"));
    let listed: Vec<&str> = listed["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["path"].as_str().unwrap())
        .collect();
    for name in NAMES {
        assert!(listed.contains(&format!("new/{name}").as_str()), "{name:?}");
    }
    // Where the saved state is gone, no message says that nothing changed.
    let refs = format!("refs/bowline/{task}");
    let refs = server
        .world
        .git(&["-C", "repo", "for-each-ref", "--format=%(refname)", &refs]);
    for name in refs.lines() {
        server.world.git(&["-C", "repo", "update-ref", "-d", name]);
    }
    for line in ["inbox".to_owned(), format!("show {task}")] {
        let shown = server.done(&format!("task --data data {line}"));
        let told =
            "the changes cannot be shown: git ended with 1: a saved state of this task is gone";
        assert!(shown.contains(told), "{shown}");
    }
    server.done(&format!(
        "task --data data request-changes {task} --feedback Enough"
    ));
}

#[test]
fn settings_of_git_that_an_agent_wrote_hide_no_change_and_run_nothing() {
    // A filter that saves the old text, and a program, a hook and a setting that git would heed.
    let agent = format!(
        r#"git config filter.old.clean 'echo one'
git config filter.old.required true
echo '*.md filter=old' > .git/info/attributes
printf '#!/bin/sh\ntouch "$HOME/ran"\n' > .git/hooks/reference-transaction
cp .git/hooks/reference-transaction .git/monitor
chmod +x .git/hooks/reference-transaction .git/monitor
git config core.fsmonitor "$PWD/.git/monitor"
git config core.fileMode false
echo bad > old/계획.md
chmod +x 'old/a b.md'
{REVIEWED}"#
    );
    let (server, task) = review_server(&agent);
    let review = |it: &Value| it["items"][0]["kind"] == "review";
    server.until("task --data data inbox", review);
    let shown = server.done(&format!("task --data data show {task}"));
    for line in [
        "    modified: old/계획.md  +1 −1\n",
        "    modified: old/a b.md  100644 → 100755  +0 −0\n",
    ] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    assert!(!server.world.root().join("home/ran").exists());
    server.done(&format!(
        "task --data data request-changes {task} --feedback Enough"
    ));
}

#[test]
fn ignore_rules_that_an_agent_wrote_hide_no_new_file() {
    // What git ignored before the agent came stays ignored.
    let world = TestEnvironment::new();
    world.write("../home/config/git/ignore", "person.*\n");
    world.write("repo/base.md", "one\n");
    world.write("repo/.gitignore", "target/\n");
    let git = |line: &[&str]| world.git(&[&["-C", "repo"], line].concat());
    git(&["init", "--quiet"]);
    git(&["add", "--all"]);
    git(&["commit", "--quiet", "--message=begin"]);
    world.write("repo/.git/info/exclude", "notes.*\n");
    let agent = format!(
        r#"printf 'hidden.*\nnotes.*\nnested\n' > .git/info/exclude
printf 'elsewhere.*\n' > .git/elsewhere
git config core.excludesFile "$PWD/.git/elsewhere"
mkdir target deep
for name in hidden elsewhere notes person target/made; do echo new > $name.md; done
printf '*\n' > deep/.gitignore
echo new > deep/hidden.md
git init --quiet nested
git -C nested -c user.name=a -c user.email=a commit --quiet --allow-empty --message=a
{REVIEWED}"#
    );
    let (server, task) = review_server_in(world, &agent);
    let review = |it: &Value| it["items"][0]["kind"] == "review";
    server.until("task --data data inbox", review);
    let shown = server.done(&format!("task --data data show {task}"));
    let added: Vec<&str> = shown
        .lines()
        .filter_map(|line| line.trim().strip_prefix("added: "))
        .map(|line| line.split("  ").next().unwrap())
        .collect();
    let wanted = ["deep/.gitignore", "elsewhere.md", "hidden.md", "nested"];
    assert_eq!(added, wanted, "{shown}");
    server.done(&format!(
        "task --data data request-changes {task} --feedback Enough"
    ));
}

fn log(world: &TestEnvironment) -> String {
    std::fs::read_to_string(world.path(".claude/orchestrate.log")).unwrap_or_default()
}

const TWO: &str = "# TASKS: L\n## Phase 0: A\n### [ ] T0.1: One\n### [ ] T0.2: Two\n";

/// All names that a commit holds, exactly.
fn names_in(world: &TestEnvironment, folder: &Path) -> Vec<String> {
    let root = folder.display().to_string();
    let listed = world.git(&["-C", &root, "ls-tree", "-r", "-z", "--name-only", "HEAD"]);
    listed
        .split('\0')
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
}

#[test]
fn tasks_whose_agents_write_such_names_land() {
    let agent = format!(
        "id=$BOWLINE_TASK_ID\n{}{}mkdir -p new; mv made new/$id\necho \"DONE:$id\"\n",
        writes("made"),
        "[ $id = T0.1 ] && rm -r old\n"
    );
    let world = project(TWO, &agent, "");
    for name in NAMES {
        world.write(&format!("old/{name}"), "one\n");
    }
    world.git(&["add", "--all"]);
    world.git(&["commit", "--quiet", "--message=names"]);
    world.git(&["config", "core.quotePath", "true"]);
    world.git(&["config", "status.showUntrackedFiles", "no"]);
    world.git(&["config", "diff.noprefix", "true"]);
    let (body, code) = report(&world, "orchestrate run --json");
    assert_eq!((code, &body["done"]), (Some(0), &2.into()), "{body}");
    let names = names_in(&world, &world.path(""));
    for task in ["T0.1", "T0.2"] {
        for name in NAMES {
            let path = format!("new/{task}/{name}");
            assert!(names.contains(&path), "{path:?}: {names:?}");
        }
    }
    let left = names.iter().find(|name| name.starts_with("old/"));
    assert_eq!(left, None);
    nothing_left(&world);
}

#[test]
fn overlaps_in_such_files_are_foreseen_and_put_together() {
    for name in ["계획 \"one\".md", "two\nlines\\.md", "\u{202e}fdp.md"] {
        let agent = format!(
            r#"
wait_for() {{ n=0; while [ ! -f "$1" ]; do n=$((n+1)); [ $n -gt 1500 ] && exit 9; sleep 0.02; done; }}
id=$BOWLINE_TASK_ID; f='{name}'
[ "$id" = T0.2 ] && [ "$BOWLINE_TRY" = 1 ] && wait_for "$HOME/landing"
if grep -q '^<<<<<<<' "$f" 2>/dev/null; then sort -u "$f" | grep -v '[<=>][<=>]' > new; mv new "$f"
else echo "line of $id" > "$f"; fi
echo "DONE:$id"
"#
        );
        let evidence = "touch $HOME/landing; n=0; while [ ! -f $HOME/go ]; do n=$((n+1)); [ $n -gt 1500 ] && exit 9; sleep 0.02; done";
        let settings = format!("evidence = [\"sh\", \"-c\", {evidence:?}]\n");
        let world = project(TWO, &agent, &settings);
        let mut child = begun(&world);
        let warned = wait_until(BOUND, || log(&world).contains("OVERLAP:"));
        std::fs::write(world.root().join("home/go"), "").unwrap();
        assert!(warned, "{}", log(&world));
        assert!(wait_until(BOUND, || child.try_wait().unwrap().is_some()));
        let lines = log(&world);
        let line = lines
            .lines()
            .find(|line| line.contains("OVERLAP:"))
            .unwrap();
        let named = name
            .replace('\n', "⟨U+000A⟩")
            .replace('\u{202e}', "⟨U+202E⟩");
        let wanted = format!("OVERLAP:T0.2:T0.1:{named}");
        assert!(line.ends_with(&wanted), "{line}");
        assert_eq!(world.read(name), "line of T0.1\nline of T0.2\n");
        nothing_left(&world);
    }
}
