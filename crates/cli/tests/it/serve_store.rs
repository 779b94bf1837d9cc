//! The store of `bowline serve` lost, damaged, copied and put back; and what a deleted task leaves.

use crate::serve::{ASKS, Server, live, started};
use serde_json::Value;
use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

const INBOX: &str = "task --data data inbox";
const NODES: &str = "/api/nodes";

fn asks(inbox: &Value) -> bool {
    inbox["items"][0]["kind"] == "question"
}

/// A server with a task that has asked something and was saved.
fn asked() -> (Server, String) {
    let server = Server::new(ASKS, "markers");
    let task = server.new_task();
    saved(&server, &task);
    (server, task)
}

fn saved(server: &Server, task: &str) {
    server.until(INBOX, asks);
    server.until(&format!("task --data data checkpoints {task}"), |it| {
        it["items"][0]["reason"] == "user_question"
    });
}

fn files(server: &Server, begin: &str) -> Vec<PathBuf> {
    let all = std::fs::read_dir(server.world.path("data")).unwrap();
    let all = all.map(|it| it.unwrap().path());
    let mut all: Vec<PathBuf> = all
        .filter(|it| it.file_name().unwrap().to_str().unwrap().starts_with(begin))
        .collect();
    all.sort();
    all
}

fn flip(path: &Path, from: u64) {
    let file = std::fs::File::options().read(true).write(true).open(path);
    let file = file.unwrap();
    let mut bytes = [0; 64];
    file.read_exact_at(&mut bytes, from).unwrap();
    let flipped = bytes.map(|byte| !byte);
    file.write_all_at(&flipped, from).unwrap();
}

/// The head of every page but the first.
fn page_heads(store: &[u8]) -> Vec<usize> {
    (1..store.len() / 4_096).map(|page| page * 4_096).collect()
}

fn get(server: &Server, path: &str) -> Value {
    let token = server.world.read("data/token");
    let ran = std::process::Command::new("curl")
        .args([
            "-s",
            "-H",
            &format!("Authorization: Bearer {}", token.trim()),
        ])
        .arg(format!("{}{path}", server.url))
        .output()
        .unwrap();
    serde_json::from_slice(&ran.stdout).unwrap()
}

fn unknown_agents(server: &Server, wanted: usize) -> Vec<Value> {
    let mut seen = Value::Null;
    let found = bowline_test_support::wait_until(std::time::Duration::from_secs(60), || {
        seen = get(server, NODES)["items"][0]["unknownAgents"].clone();
        seen.as_array().is_some_and(|it| it.len() == wanted)
    });
    assert!(found, "{seen}");
    seen.as_array().cloned().unwrap_or_default()
}

/// Waits until a process is stopped.
fn until_stopped(pid: i64) {
    let mut stat = String::new();
    let stopped = bowline_test_support::wait_until(std::time::Duration::from_secs(60), || {
        stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        stat.rsplit_once(") ").unwrap().1.starts_with('T')
    });
    assert!(stopped, "{stat}");
}

#[test]
fn a_damaged_store_names_rebuild_which_sets_it_aside_and_finds_the_tasks() {
    for in_rows in [false, true] {
        let (mut server, task) = asked();
        server.stop();
        let store = server.world.path("data/store.sqlite");
        let bytes = std::fs::read(&store).unwrap();
        // The head of every page, or the states of tasks.
        let places: Vec<usize> = match in_rows {
            false => page_heads(&bytes),
            true => {
                let state = b"\"title\":";
                let all = bytes.windows(state.len()).enumerate();
                all.filter(|(_, it)| it == state)
                    .map(|(at, _)| at)
                    .collect()
            }
        };
        assert!(!places.is_empty());
        for place in places {
            flip(&store, place as u64);
        }
        let damaged = std::fs::read(&store).unwrap();
        let (code, told) = server.refused("");
        assert_eq!(code, 4, "{told}");
        assert!(told.contains("error[store_damaged]"), "{told}");
        assert!(told.contains("bowline serve --rebuild"), "{told}");
        assert!(
            !told.contains("Failed(") && !told.contains("Sqlite"),
            "{told}"
        );
        let (_, told) = server.refused("--lang ko");
        assert!(
            told.contains("손상") && told.contains("--rebuild"),
            "{told}"
        );
        server.start("--rebuild");
        let told = server.world.read("serve.err");
        assert!(told.contains("1 task(s) found again, 0 not"), "{told}");
        let aside = files(&server, "store.sqlite.damaged-");
        assert_eq!(std::fs::read(&aside[0]).unwrap(), damaged, "{aside:?}");
        server.until(INBOX, asks);
        server.done(&format!("task --data data answer {task} green"));
        let show = format!("task --data data show {task}");
        server.until(&show, |it| it["status"] == "completed");
    }
}

/// Says that its phase is done; the check of that phase notes its process and goes on for a minute.
const CHECKED: &str = r#"
[defaults]
agent = "script"
[agent.script]
command = ["sh", "-c", "echo '=== PHASE 1 COMPLETE ==='; exec sleep 600"]
[type.tea]
[[type.tea.phases]]
name = "Brew"
check = ["sh", "-c", "echo $$ > ../../../check.new; mv ../../../check.new ../../../check.pid; while :; do sleep 1; done"]
"#;

#[test]
fn the_next_server_begins_when_commands_of_a_killed_one_have_ended() {
    let world = crate::environment::TestEnvironment::new();
    world.write("bowline.toml", CHECKED);
    let mut server = Server::of(world);
    server.done("task --data data new --title Tea --type tea --description Tea. --submit");
    let noted = server.world.path("check.pid");
    let bound = std::time::Duration::from_secs(60);
    assert!(bowline_test_support::wait_until(bound, || noted.exists()));
    let pid = server.world.read("check.pid");
    let process = PathBuf::from(format!("/proc/{}/cwd", pid.trim()));
    assert!(process.exists());
    let lock = std::fs::File::open(server.world.path("data/server.lock")).unwrap();
    server.kill();
    assert!(bowline_test_support::wait_until(bound, || {
        let free = lock.try_lock().is_ok();
        // Asked for afterwards: a process that is looked at before may end in between.
        assert!(!free || std::fs::read_link(&process).is_err());
        free
    }));
    lock.unlock().unwrap();
}

#[test]
fn a_store_damaged_in_use_ends_the_server_with_70_and_no_agent() {
    let (mut server, task) = asked();
    // All of it is in the file, and nothing of it in memory.
    server.stop();
    server.start("");
    let pid = get(&server, &format!("/api/tasks/{task}/agent"))["pid"].clone();
    let alive = || Path::new(&format!("/proc/{pid}/stat")).exists();
    assert!(alive(), "{pid}");
    let store = server.world.path("data/store.sqlite");
    for place in page_heads(&std::fs::read(&store).unwrap()) {
        flip(&store, place as u64);
    }
    let ended = bowline_test_support::wait_until(std::time::Duration::from_secs(60), || {
        let line = "task --data data new --title Tea --type custom --description Tea --submit";
        server.run(line);
        server.child.try_wait().unwrap().is_some()
    });
    let told = server.world.read("serve.err");
    assert!(ended, "{told}");
    assert_eq!(server.child.wait().unwrap().code(), Some(70), "{told}");
    assert!(told.contains("error[store_damaged]"), "{told}");
    assert!(told.contains("data/store.sqlite"), "{told}");
    assert!(alive(), "{told}");
}

#[test]
fn a_lost_store_is_not_begun_anew_without_a_decision_and_its_agents_are_held() {
    let (mut server, task) = asked();
    server.kill();
    let path = |end: &str| server.world.path(&format!("data/store.sqlite{end}"));
    // All of it is in the log: without that the file is empty, without the file the log is nothing.
    let whole: Vec<(PathBuf, Vec<u8>)> = ["", "-wal", "-shm"]
        .map(|end| (path(end), std::fs::read(path(end)).unwrap()))
        .into();
    for lost in [vec!["-wal", "-shm"], vec![""], vec!["", "-wal", "-shm"]] {
        for (file, bytes) in &whole {
            std::fs::write(file, bytes).unwrap();
        }
        for end in &lost {
            std::fs::remove_file(path(end)).unwrap();
        }
        let (code, told) = server.refused("");
        assert_eq!(code, 1, "{lost:?}: {told}");
        assert!(told.contains("error[store_lost]"), "{lost:?}: {told}");
        assert!(told.contains("1 task(s)"), "{lost:?}: {told}");
        assert!(told.contains("--rebuild") && told.contains("--start-empty"));
        if lost == [""] {
            let log = std::fs::read(path("-wal")).unwrap();
            assert_eq!(log, whole[1].1, "the log is left as it was");
        }
    }
    let (_, told) = server.refused("--lang ko");
    assert!(
        told.contains("--start-empty") && told.contains("폴더"),
        "{told}"
    );
    server.start("--start-empty");
    let list = server.json("task --data data list");
    assert_eq!(list["items"].as_array().unwrap().len(), 0);
    let agents = unknown_agents(&server, 1);
    assert_eq!(agents[0]["taskId"], task);
    let pid = agents[0]["pid"].as_i64().unwrap();
    until_stopped(pid);
    server.kill();
    server.start("--start-empty");
    assert_eq!(unknown_agents(&server, 1)[0]["pid"], pid, "it is not ended");
    until_stopped(pid);
    server.kill();
    server.start("--rebuild");
    let told = server.world.read("serve.err");
    assert!(told.contains("1 task(s) found again, 0 not"), "{told}");
    unknown_agents(&server, 0);
    server.until(INBOX, asks);
    server.done(&format!("task --data data answer {task} green"));
    let show = format!("task --data data show {task}");
    server.until(&show, |it| it["status"] == "completed");
}

/// A log that is lost takes the newest tasks along, while older ones are in the file.
#[test]
fn a_store_that_lost_its_log_tells_of_the_tasks_in_it() {
    let (mut server, _) = asked();
    server.stop();
    server.start("");
    server.done("task --data data new --title Two --type custom --description Tea --submit");
    let both_ask = |it: &Value| it["items"].as_array().unwrap().len() == 2;
    server.until(INBOX, both_ask);
    server.kill();
    for end in ["-wal", "-shm"] {
        std::fs::remove_file(server.world.path(&format!("data/store.sqlite{end}"))).unwrap();
    }
    let with_log = server
        .world
        .bowline("serve --listen 127.0.0.1:0 --data data");
    (server.child, server.url) = started(&server.world, live(with_log));
    server.until(INBOX, asks);
    let told = server.world.read("serve.err");
    assert!(
        told.contains("folders of tasks that the store does not have"),
        "{told}"
    );
    assert!(told.contains("tasks=1"), "{told}");
    server.kill();
    server.start("--rebuild");
    server.until(INBOX, both_ask);
}

#[test]
fn an_emptied_store_is_lost_until_it_is_rebuilt() {
    for logged in [true, false] {
        let (mut server, _) = asked();
        match logged {
            true => server.kill(),
            false => server.stop(),
        }
        let store = server.world.path("data/store.sqlite");
        std::fs::File::create(&store).unwrap();
        let (code, told) = server.refused("");
        assert_eq!(code, 1, "{told}");
        assert!(told.contains("error[store_lost]"), "{told}");
        server.start("--rebuild");
        let told = server.world.read("serve.err");
        assert!(told.contains("1 task(s) found again, 0 not"), "{told}");
        server.until(INBOX, asks);
    }
}

/// A line about a task that was deleted while the disk was full is still in the file about waiting tasks.
#[test]
fn a_store_whose_tasks_were_all_deleted_is_not_lost() {
    let (mut server, task) = asked();
    let waiting = server.world.path("data/waiting.jsonl");
    let lines = std::fs::read(&waiting).unwrap();
    server.done(&format!("task --data data cancel {task}"));
    server.done(&format!("task --data data delete {task}"));
    server.kill();
    std::fs::write(&waiting, lines).unwrap();
    server.start("");
    let list = server.json("task --data data list");
    assert_eq!(list["items"].as_array().unwrap().len(), 0);
}

#[test]
fn a_clean_stop_leaves_one_file_and_a_copy_made_in_use_can_be_put_back() {
    let (mut server, task) = asked();
    let backup = "store backup --data data copy.sqlite";
    let would = server.done(&format!("{backup} --dry-run"));
    assert!(would.contains("copy.sqlite"), "{would}");
    assert!(!server.world.path("copy.sqlite").exists());
    let told = server.json(backup);
    assert_eq!(
        told["file"],
        server.world.path("copy.sqlite").to_str().unwrap()
    );
    let mode = std::fs::metadata(server.world.path("copy.sqlite")).unwrap();
    assert_eq!(mode.permissions().mode() & 0o777, 0o600);
    let before = std::fs::read(server.world.path("copy.sqlite")).unwrap();
    let (code, told) = server.run(backup);
    assert_eq!(code, 1, "{told}");
    assert!(told.contains("error[already_exists]"), "{told}");
    assert_eq!(
        std::fs::read(server.world.path("copy.sqlite")).unwrap(),
        before
    );
    let (code, told) = server.run("store backup --data nowhere other.sqlite");
    assert_ne!(code, 0, "{told}");
    assert!(!server.world.path("other.sqlite").exists());

    let later = server.new_task();
    server.done(&format!("task --data data cancel {later}"));
    server.stop();
    let log = server.world.path("data/store.sqlite-wal");
    let length = std::fs::metadata(&log).map_or(0, |it| it.len());
    assert_eq!(length, 0, "all of it is in the file");
    // The one file is the whole store.
    let store = server.world.path("data/store.sqlite");
    let bytes = std::fs::read(&store).unwrap();
    for end in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(server.world.path(&format!("data/store.sqlite{end}")));
    }
    std::fs::write(&store, bytes).unwrap();
    server.start("");
    let show = |id: &str| format!("task --data data show {id}");
    assert_eq!(server.json(&show(&later))["status"], "failed");
    server.stop();

    // As the page says how to put a copy back.
    for end in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(server.world.path(&format!("data/store.sqlite{end}")));
    }
    std::fs::copy(server.world.path("copy.sqlite"), &store).unwrap();
    server.start("");
    assert_eq!(server.json(&show(&task))["status"], "in_progress");
    let (code, told) = server.run(&show(&later));
    assert_ne!(code, 0, "it came later than the copy: {told}");
    server.until(INBOX, asks);
    server.done(&format!("task --data data answer {task} green"));
    server.until(&show(&task), |it| it["status"] == "completed");
}

fn git(folder: &Path, words: &[&str]) -> String {
    let ran = std::process::Command::new("git")
        .args(words)
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(ran.status.success(), "{words:?}: {ran:?}");
    String::from_utf8(ran.stdout).unwrap()
}

/// Names below a folder that have a word in them.
fn named(folder: &Path, word: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.file_name().unwrap().to_str().unwrap().contains(word) {
                found.push(path);
            } else if path.is_dir() {
                open.push(path);
            }
        }
    }
    found
}

#[test]
fn tasks_in_a_named_folder_wait_are_found_again_and_leave_nothing_when_deleted() {
    let mut server = Server::new(ASKS, "markers");
    let shop = server.world.path("shop");
    std::fs::create_dir(&shop).unwrap();
    git(&shop, &["init", "-q"]);
    std::fs::write(shop.join("till"), "1\n").unwrap();
    git(&shop, &["add", "."]);
    git(
        &shop,
        &[
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@t",
            "commit",
            "-qm",
            "one",
        ],
    );
    let new = |server: &Server, more: &str| {
        let line = "task --data data new --title Tea --type custom --description Tea --submit --workspace shop";
        server.done(&format!("{line} {more}")).trim().to_owned()
    };
    let show = |id: &str| format!("task --data data show {id}");
    let first = new(&server, "");
    saved(&server, &first);
    let second = new(&server, "");
    let waits = server.json(&show(&second));
    assert_eq!(
        (
            &waits["status"],
            &waits["waitReason"],
            &waits["waitingFor"][0]
        ),
        (
            &"pending".into(),
            &"workspace_busy".into(),
            &first.as_str().into()
        )
    );
    let told = server.done(&show(&second));
    assert!(
        told.contains(&format!("waits for: {first}, which holds the workspace")),
        "{told}"
    );
    server.done(&format!("task --data data cancel {second}"));
    let shared = new(&server, "--share-workspace");
    let running = server.until(&show(&shared), |it| it["status"] == "in_progress");
    assert_eq!(running["shareWorkspace"], true);
    server.done(&format!("task --data data cancel {shared}"));
    assert_eq!(git(&shop, &["status", "--porcelain"]), "");

    // A lost store: by what lies in the data folder, then by what earlier versions left in the folder itself.
    for old in [false, true] {
        server.kill();
        for end in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(server.world.path(&format!("data/store.sqlite{end}")));
        }
        let records = server.world.path(&format!("data/tasks/{first}"));
        if old {
            for name in [".metadata", ".checkpoints"] {
                std::fs::rename(records.join(name), shop.join(name)).unwrap();
            }
        }
        server.start("--rebuild");
        let told = server.world.read("serve.err");
        assert!(told.contains("goes on in phase 1"), "{told}");
        let found = server.json(&show(&first));
        assert_eq!(found["workspace"], shop.to_str().unwrap());
        saved(&server, &first);
    }
    assert_ne!(git(&shop, &["for-each-ref", "refs/bowline"]), "");
    server.done(&format!("task --data data answer {first} green"));
    server.until(&show(&first), |it| it["status"] == "completed");
    let data = server.world.path("data");
    assert_ne!(named(&data, &first), Vec::<PathBuf>::new());
    for id in [&first, &second, &shared] {
        server.done(&format!("task --data data delete {id}"));
        assert_eq!(named(&data, id), Vec::<PathBuf>::new(), "{id}");
    }
    assert_eq!(git(&shop, &["for-each-ref", "refs/bowline"]), "");
    assert_eq!(std::fs::read_to_string(shop.join("till")).unwrap(), "1\n");
    assert!(shop.join("tea.md").exists(), "what it made stays");

    // A server that was killed between the removal and its end: the next one finishes it, and nothing was lost.
    server.kill();
    let left = data.join("workspaces/task_left/.metadata");
    std::fs::create_dir_all(&left).unwrap();
    std::fs::write(
        left.join("task.json"),
        r#"{"id":"task_left","title":"Left"}"#,
    )
    .unwrap();
    let (_, told) = server.refused("");
    assert!(told.contains("error[store_lost]"), "{told}");
    std::fs::create_dir_all(data.join("removed")).unwrap();
    std::fs::write(data.join("removed/task_left"), r#"{"attempts":1}"#).unwrap();
    server.start("");
    let gone = bowline_test_support::wait_until(std::time::Duration::from_secs(60), || {
        named(&data, "task_left").is_empty()
    });
    assert!(gone);
}
