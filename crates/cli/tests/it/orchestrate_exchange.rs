//! `bowline orchestrate import`, `export`, `rescue` and `timeline`.

use crate::environment::{TestEnvironment, text};
use serde_json::{Value, json};

const TASK_MASTER: &str = r#"{"master":{"tasks":[
  {"id":1,"title":"부두","status":"done","dependencies":[],"priority":"high","details":"- [ ] T9.9: no task"},
  {"id":2,"title":"Boat","status":"pending","dependencies":[1],"subtasks":[
    {"id":1,"title":"Hull","status":"pending","dependencies":[]},
    {"id":"2","title":"Mast","status":"pending","dependencies":[1]}]}],"metadata":{}}}"#;

const BEADS: &str = "\
{\"id\":\"fe-1a\",\"title\":\"Quay\",\"status\":\"closed\"}
{\"id\":\"fe-2b\",\"title\":\"Boat\",\"status\":\"open\",\"dependencies\":[{\"issue_id\":\"fe-2b\",\"depends_on_id\":\"fe-1a\",\"type\":\"blocks\"}]}
";

const SPEC_KIT: &str = "\
# Tasks: Ferry
## Phase 1: Setup
- [x] T001 Quay
- [ ] T002 [P] Boat
- [ ] T003 [P] Crew
## Phase 2: Story
- [ ] T004 Trip (depends on T002)
";

/// `id: needs` of the plan, with a tick.
fn plan(world: &TestEnvironment) -> Vec<String> {
    let body = world.json("orchestrate plan --json", 0);
    let tasks = body["tasks"].as_array().unwrap().iter();
    let one = |task: &Value| {
        let needs: Vec<&str> = task["needs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it.as_str().unwrap())
            .collect();
        let tick = if task["done"] == true { "✓" } else { "" };
        format!(
            "{}{tick}: {}",
            task["id"].as_str().unwrap(),
            needs.join(" ")
        )
    };
    tasks.map(one).collect()
}

#[test]
fn tasks_of_each_program_become_a_plan() {
    for (file, text, from, wanted) in [
        (
            ".taskmaster/tasks/tasks.json",
            TASK_MASTER,
            "task-master",
            vec!["1✓: ", "2: 1 2.1 2.2", "2.1: 1", "2.2: 2.1"],
        ),
        (
            ".beads/issues.jsonl",
            BEADS,
            "beads",
            vec!["fe-1a✓: ", "fe-2b: fe-1a"],
        ),
        (
            "tasks.md",
            SPEC_KIT,
            "spec-kit",
            vec!["T001✓: ", "T002: T001", "T003: T001", "T004: T002"],
        ),
        (
            "backlog/tasks/task-1 - Quay.md",
            "---\nid: task-1\ntitle: Quay\nstatus: Done\n---\n",
            "backlog",
            vec!["task-1✓: "],
        ),
    ] {
        let world = TestEnvironment::new();
        world.write(file, text);
        let body = world.json("orchestrate import . --json", 0);
        assert_eq!(body["from"], from, "{body}");
        assert_eq!(plan(&world), wanted, "{from}: {}", world.read("TASKS.md"));
        // The same by the name of the file, and by that of the program.
        world.quietly(&format!("orchestrate import . --from {from} --force"), 0);
        let named = world.quietly("orchestrate import nowhere --force", 3);
        assert!(named.stdout.is_empty(), "{named:?}");
        world.quietly("orchestrate init", 0);
    }
}

#[test]
fn a_feature_of_spec_kit_is_found_where_spec_kit_keeps_it() {
    let world = TestEnvironment::new();
    world.write("specs/001-ferry/tasks.md", SPEC_KIT);
    let body = world.json("orchestrate import . --json", 0);
    assert_eq!(body["from"], "spec-kit", "{body}");
    assert_eq!(plan(&world).len(), 4);
    // Which of several is meant nobody can know.
    world.write("specs/002-quay/tasks.md", SPEC_KIT);
    for (place, lang, words) in [
        (".", "en", "several lists of tasks"),
        ("specs", "ko", "작업 목록이 여럿"),
    ] {
        let line = format!("orchestrate import {place} --force --lang {lang}");
        let refused = world.quietly(&line, 2);
        let told = String::from_utf8_lossy(&refused.stderr).into_owned();
        for part in [words, "001-ferry", "002-quay"] {
            assert!(told.contains(part), "{part}: {told}");
        }
    }
}

#[test]
fn an_import_is_shown_told_and_never_put_over_another_plan() {
    let world = TestEnvironment::new();
    world.write("tasks/tasks.json", TASK_MASTER);
    let told = world.session(&[
        "orchestrate import tasks/tasks.json --dry-run",
        "orchestrate import tasks/tasks.json",
        "orchestrate import tasks/tasks.json",
        "orchestrate import tasks/tasks.json --lang ko",
        "orchestrate import tasks/tasks.json --output other.md --json",
        "orchestrate import tasks/tasks.json --from beads --output third.md",
        "orchestrate import nowhere",
    ]);
    for part in [
        "### [x] Task 1: 부두",
        "(dry run) ✓ 4 tasks of task-master, 1 of them done",
        "priority, of 1 task(s): in their text",
        "error[already_exists]",
        "'--force' replaces it",
        "이미 있습니다",
        "\"from\":\"task-master\"",
        "cannot be read as tasks of beads",
        "no tasks to take over",
    ] {
        assert!(told.contains(part), "{part}:\n{told}");
    }
    assert!(!world.path("third.md").exists());
    world.write("tasks.md", SPEC_KIT);
    let refused = world.quietly("orchestrate import . --force", 2);
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(told.contains("task-master, spec-kit"), "{told}");
}

#[test]
fn front_matter_and_folders_in_folders_are_read() {
    let world = TestEnvironment::new();
    let front = "---\ndescription: \"Task list\"\n---\n\n";
    world.write("specs/001-ferry/tasks.md", format!("{front}{SPEC_KIT}"));
    let told = world.run("orchestrate import specs/001-ferry/tasks.md --output spec.md");
    assert!(told.contains("tasks of spec-kit"), "{told}");
    let page = |id: &str| format!("---\nid: {id}\ntitle: a\nstatus: To Do\n---\n");
    world.write("backlog/tasks/task-1.md", page("task-1"));
    world.write("backlog/tasks/later/deep/task-2.md", page("task-2"));
    let told = world.run("orchestrate import backlog/tasks --output backlog.md");
    assert!(told.contains("2 tasks of backlog"), "{told}");
}

#[test]
fn a_run_is_handed_on_with_its_ticks() {
    let world = TestEnvironment::new();
    let text = "# TASKS: Ferry\n\n## Phase 0: 부두\n- [ ] T0.1: 저장소\n- [x] T0.2: Icons ✅\n## Phase 1\n### [ ] T1.1: Sell\n의존: T0.1\n";
    world.write("TASKS.md", text);
    for line in ["orchestrate init", "orchestrate start T0.1"] {
        world.quietly(line, 0);
    }
    let before = world.everything();
    let told = world.data("orchestrate export", 0);
    assert_eq!(told, text);
    // The state of the run counts, whatever was ticked since.
    world.write("TASKS.md", text.replace("[ ] T1.1", "[x] T1.1"));
    let told = world.data("orchestrate export", 0);
    assert_eq!(told, text);
    world.write("TASKS.md", text);
    assert_eq!(world.everything(), before);
    world.quietly("orchestrate export --output out/now.md", 0);
    assert_eq!(world.read("out/now.md"), text);
    let again = world.quietly("orchestrate export --output out/now.md", 1);
    assert!(String::from_utf8_lossy(&again.stderr).contains("error[already_exists]"));
    let data = world.json("orchestrate export --format json", 0);
    assert_eq!(data["tasks"][0]["status"], "in_progress");
    assert_eq!(data["tasks"][2]["needs"], json!(["T0.1"]));
    // Without its plan, what the file knows is drawn up as one.
    std::fs::remove_file(world.path("TASKS.md")).unwrap();
    world.quietly("orchestrate export --output TASKS.md", 0);
    assert_eq!(plan(&world), ["T0.1: ", "T0.2✓: ", "T1.1: T0.1"]);
}

#[test]
fn what_was_kept_is_listed_shown_brought_back_and_dropped_by_a_person_only() {
    let world = TestEnvironment::new();
    world.write("a.txt", "one\n");
    world.git(&["init", "--quiet", "--initial-branch=main"]);
    world.git(&["add", "--all"]);
    world.git(&["commit", "--quiet", "--message=begin"]);
    let told = world.session(&["orchestrate rescue", "orchestrate rescue --lang ko"]);
    assert!(
        told.contains("Nothing is kept") && told.contains("보관된 것이 없습니다"),
        "{told}"
    );
    let head = world.git(&["rev-parse", "HEAD"]);
    // As a run keeps it: a commit on a hidden ref, untracked files included.
    world.write("a.txt", "two\n");
    world.write("새 파일.txt", "new\n");
    world.git(&["add", "--all"]);
    let tree = world.git(&["write-tree"]);
    world.git(&["reset", "--quiet", "--hard"]);
    let commit = world.git(&["commit-tree", &tree, "-p", &head, "-m", "rescued from x"]);
    let name = format!("task-T1.1-{}", &commit[..12]);
    world.git(&[
        "update-ref",
        &format!("refs/bowline/rescue/{name}"),
        &commit,
    ]);
    world.git(&["update-ref", "refs/bowline/task/task-T1.2", &head]);
    let list = world.json("orchestrate rescue --json", 0);
    assert_eq!(list["kept"].as_array().unwrap().len(), 1, "{list}");
    assert_eq!(list["kept"][0]["task"], "T1.1");
    assert_eq!(list["kept"][0]["files"], json!(["a.txt", "새 파일.txt"]));
    let all = world.json("orchestrate rescue list --all --json", 0);
    assert_eq!(all["kept"].as_array().unwrap().len(), 2, "{all}");
    let shown = world.quietly("orchestrate rescue show T1.1", 0);
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.contains("-one\n+two\n"), "{shown}");
    // A dry run makes no branch.
    world.quietly("orchestrate rescue restore T1.1 --dry-run", 0);
    assert_eq!(world.git(&["branch", "--list", "rescued/*"]), "");
    world.quietly("orchestrate rescue restore T1.1", 0);
    assert_eq!(
        world.git(&["show", &format!("rescued/{name}:a.txt")]),
        "two"
    );
    world.quietly("orchestrate rescue restore T1.1", 2);
    world.quietly(
        &format!(
            "orchestrate rescue restore {} --branch again --worktree back",
            &commit[..9]
        ),
        0,
    );
    assert_eq!(world.read("back/새 파일.txt"), "new\n");
    world.quietly("orchestrate rescue show T9.9", 3);
    let mut agents = world.bowline("orchestrate rescue drop T1.1");
    let refused = agents.env("CLAUDECODE", "1").output().unwrap();
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    let told = String::from_utf8_lossy(&refused.stderr);
    assert!(told.contains("error[needs_person]"), "{told}");
    assert_eq!(
        world.json("orchestrate rescue --json", 0)["kept"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    world.quietly("orchestrate rescue drop T1.1", 0);
    assert_eq!(
        world.json("orchestrate rescue --json", 0)["kept"],
        json!([])
    );
}

/// Runs a command at a time of this world.
fn at(world: &TestEnvironment, clock: &str, line: &str) {
    let mut command = world.bowline(line);
    let output = command.env("BOWLINE_CLOCK", clock).output().unwrap();
    assert!(output.status.success(), "{line}: {output:?}");
}

#[test]
fn a_timeline_has_every_attempt_and_cuts_idle_time_short() {
    let world = TestEnvironment::new();
    world.write(
        "TASKS.md",
        "# TASKS: 나루터\n## Phase 0: 부두\n- [ ] T0.1: 저장소 <만들기>\n- [ ] T0.2: Icons\n## Phase 1: Tickets\n- [ ] T1.1: Sell\n",
    );
    for (clock, line) in [
        ("2026-03-01T09:00:00Z", "orchestrate init"),
        ("2026-03-01T09:00:00Z", "orchestrate start T0.1"),
        ("2026-03-01T09:01:00Z", "orchestrate start T0.2"),
        ("2026-03-01T09:04:00Z", "orchestrate fail T0.1 --retry"),
        ("2026-03-01T09:05:00Z", "orchestrate complete T0.2"),
        // Ten hours of nothing.
        ("2026-03-01T19:05:00Z", "orchestrate start T0.1"),
        ("2026-03-01T19:10:00Z", "orchestrate complete T0.1"),
        (
            "2026-03-01T19:10:00Z",
            "orchestrate phase finish 0 --no-git",
        ),
        ("2026-03-01T19:10:00Z", "orchestrate start T1.1"),
    ] {
        at(&world, clock, line);
    }
    let before = world.everything();
    let mut command = world.bowline("orchestrate timeline --json");
    let output = command
        .env("BOWLINE_CLOCK", "2026-03-01T19:20:00Z")
        .output()
        .unwrap();
    let body: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    assert_eq!(body["busySeconds"], 20 * 60);
    assert_eq!(body["criticalPath"], json!(["T0.1", "T1.1"]));
    assert_eq!(
        body["tasks"][0]["attempts"],
        json!([
            { "from": "2026-03-01T09:00:00Z", "to": "2026-03-01T09:04:00Z", "ended": "failed" },
            { "from": "2026-03-01T19:05:00Z", "to": "2026-03-01T19:10:00Z", "ended": "completed" },
        ])
    );
    assert_eq!(
        body["tasks"][2]["attempts"][0]["to"],
        "2026-03-01T19:20:00Z"
    );
    for (lang, words) in [
        ("en", ["slowest path", "phase 0", "10 h"]),
        ("ko", ["가장 오래 걸린 경로", "단계 0", "10시간"]),
    ] {
        let mut command = world.bowline(&format!("orchestrate timeline --lang {lang}"));
        let output = command
            .env("BOWLINE_CLOCK", "2026-03-01T19:20:00Z")
            .output()
            .unwrap();
        let picture = text(&output.stdout);
        assert!(
            picture.starts_with("<svg ") && picture.ends_with("</svg>\n"),
            "{picture}"
        );
        assert!(picture.contains("저장소 &lt;만들기&gt;"), "{picture}");
        for word in words {
            assert!(picture.contains(word), "{word}: {picture}");
        }
    }
    assert_eq!(world.everything(), before, "looking changed something");
    world.quietly("orchestrate timeline --output t.svg", 0);
    world.quietly("orchestrate timeline --output t.svg", 1);
    world.quietly("orchestrate timeline --output t.svg --force", 0);
}

#[test]
fn a_graph_of_a_thousand_tasks_is_drawn_whole() {
    let world = TestEnvironment::new();
    let mut plan = String::from("# TASKS: Large\n## Phase 1: 시작\n");
    for number in 1..=1_000 {
        plan.push_str(&format!("- [ ] T1.{number}: Task number {number}\n"));
        if number % 100 == 0 {
            plan.push_str(&format!("  - depends on: T1.{}\n", number / 2));
        }
    }
    world.write("TASKS.md", plan);
    let body = world.json("orchestrate graph --format svg --json", 0);
    assert_eq!(body["leftOut"], 0);
    let picture = body["text"].as_str().unwrap();
    assert_eq!(picture.matches("<g><title>").count(), 1_000);
    assert!(picture.contains("Task number 1000") && picture.contains("stroke-width=\"3\""));
    // As wide as a screen, however much there is to scroll.
    let size = |name: &str| -> u32 {
        let rest = picture.split(&format!(" {name}=\"")).nth(1).unwrap();
        rest.split('"').next().unwrap().parse().unwrap()
    };
    assert!(
        size("height") < 20_000 && size("width") <= 1_600,
        "{} x {}",
        size("width"),
        size("height")
    );
}
