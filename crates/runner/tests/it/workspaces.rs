//! Folders that people named: one task at a time, and nothing of ours in them.

use crate::world::{BOUND, World};
use bowline_engine::process::run_in;
use bowline_machines::job::{Command, Priority};
use bowline_runner::jobs::{JobRequest, RequestError};
use bowline_store::{JobAttributes, RecordKind};
use bowline_test_support::wait_until;
use std::path::{Path, PathBuf};

/// Writes down which prompt it was handed, and waits to be reviewed.
const WORKS: &str = r#"
wait_for '[/PHASE_START]'
mkdir -p docs/planning docs/design
printf '%s %s\n' "$BOWLINE_TASK_ID" "$BOWLINE_PROMPT_FILE" >> handed
cat "$BOWLINE_PROMPT_FILE" >> handed
good docs/planning/01_idea.md
good docs/design/01_screen.md
echo '=== PHASE 1 COMPLETE ==='
wait_for '[/PHASE_START]'
echo '=== PHASE 2 COMPLETE ==='
wait_for NEVER
"#;

fn git(folder: &Path, line: &str) -> String {
    let path = ("PATH".to_owned(), std::env::var("PATH").unwrap());
    let ran = run_in(&format!("git {line}"), folder, &[path].into(), BOUND).unwrap();
    assert_eq!(ran.exit_code, 0, "git {line}: {}", ran.output_tail);
    ran.output_tail
}

/// A repository that knows of `handed` and `docs`, so that what is left is ours.
fn repository() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    git(folder.path(), "init -q");
    std::fs::write(folder.path().join(".gitignore"), "handed\ndocs\n").unwrap();
    git(folder.path(), "add .");
    git(
        folder.path(),
        "-c user.name=t -c user.email=t@t commit -qm one",
    );
    folder
}

fn create(
    world: &World,
    title: &str,
    folder: &Path,
    tune: impl FnOnce(&mut JobAttributes),
) -> String {
    let mut about = JobAttributes {
        type_name: Some("tea".into()),
        workspace: Some(folder.to_str().unwrap().into()),
        ..JobAttributes::default()
    };
    tune(&mut about);
    let made = world.ask(JobRequest::Create {
        title: title.into(),
        description: format!("Work on {title}"),
        depends_on: vec![],
        scheduled_for: None,
        about: Box::new(about),
        submit: true,
    });
    made.unwrap().row.unwrap().id
}

fn finish(world: &World, id: &str) {
    for _ in 0..2 {
        let review = world.open(id, RecordKind::Review).id;
        let comment = None;
        world.decide(Command::Approve { review, comment }).unwrap();
    }
    world.until(id, ("completed", "completed"));
}

fn held_by(world: &World, id: &str) -> Option<String> {
    world.jobs().workspace_held_by(&world.row(id))
}

#[test]
fn tasks_on_one_folder_come_one_after_the_other_and_leave_nothing_of_ours_there() {
    let folder = repository();
    let mut world = World::new(WORKS, 3);
    let first = create(&world, "first", folder.path(), |_| {});
    let second = create(&world, "second", folder.path(), |_| {});
    world.open(&first, RecordKind::Review);
    assert_eq!(world.pair(&second), ("pending", "idle"));
    assert_eq!(held_by(&world, &second), Some(first.clone()));
    world = world.again();
    assert_eq!(world.pair(&first), ("review", "waiting_review"));
    assert_eq!(world.pair(&second), ("pending", "idle"), "the same anew");
    assert_eq!(held_by(&world, &second), Some(first.clone()));
    let data = world.folder.path().join("tasks").join(&first);
    assert!(data.join(".metadata/prompt-1.md").is_file());
    assert!(data.join(".metadata/task.json").is_file());
    assert!(wait_until(BOUND, || data.join(".checkpoints").is_dir()));
    finish(&world, &first);
    world.open(&second, RecordKind::Review);
    finish(&world, &second);
    let handed = std::fs::read_to_string(folder.path().join("handed")).unwrap();
    let (one, other) = handed.split_once(&format!("{second} ")).unwrap();
    assert!(one.contains("Work on first") && !one.contains("Work on second"));
    assert!(other.contains("Work on second") && !other.contains("Work on first"));
    assert!(other.contains(&format!("tasks/{second}/.metadata/prompt-1.md")));
    assert_eq!(git(folder.path(), "status --porcelain"), "");
    for ours in [".metadata", ".checkpoints"] {
        assert!(!folder.path().join(ours).exists(), "{ours}");
    }
    for id in [&first, &second] {
        world.ask(JobRequest::Delete(id.clone())).unwrap();
        let left = world.folder.path().join("tasks").join(id);
        assert!(!left.exists(), "{left:?}");
    }
}

#[test]
fn parents_children_and_links_are_the_same_folder_and_siblings_are_not() {
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| {
        let folder = root.path().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        folder
    };
    let (shop, tea, cake) = (at("shop"), at("shop/tea"), at("shop/cake"));
    let link: PathBuf = root.path().join("link");
    std::os::unix::fs::symlink(&tea, &link).unwrap();
    let world = World::new(WORKS, 6);
    let first = create(&world, "first", &tea, |_| {});
    world.open(&first, RecordKind::Review);
    let parent = create(&world, "parent", &shop, |about| {
        about.priority = Priority::High
    });
    let by_link = create(&world, "link", &link, |_| {});
    let sibling = create(&world, "sibling", &cake, |_| {});
    let urgent = create(&world, "urgent", &cake, |about| {
        about.priority = Priority::Critical;
    });
    let shared = create(&world, "shared", &shop, |about| {
        about.share_workspace = true
    });
    // A person lets this one in.
    world.open(&shared, RecordKind::Review);
    // This one comes before the parent in the queue, and nothing else was in its folder.
    world.open(&urgent, RecordKind::Review);
    for (waits, holder) in [(&parent, &first), (&by_link, &first)] {
        assert_eq!(world.pair(waits), ("pending", "idle"));
        let holders = [Some(holder.clone()), Some(shared.clone())];
        assert!(holders.contains(&held_by(&world, waits)));
    }
    assert_eq!(
        world.pair(&sibling),
        ("pending", "idle"),
        "its turn is later"
    );
    for over in [&first, &shared, &urgent] {
        finish(&world, over);
    }
    // In the order of the queue: the parent before what is in it.
    world.open(&parent, RecordKind::Review);
    assert_eq!(world.pair(&by_link), ("pending", "idle"));
    assert_eq!(world.pair(&sibling), ("pending", "idle"));
    let id = parent.clone();
    world
        .ask(JobRequest::RequestTaskChanges {
            task: id.clone(),
            feedback: "x".into(),
            comments: vec![],
        })
        .unwrap();
    world.until(&id, ("in_progress", "running"));
    world.ask(JobRequest::Command(id, Command::Cancel)).unwrap();
    world.open(&by_link, RecordKind::Review);
    world.open(&sibling, RecordKind::Review);
}

#[test]
fn a_failed_task_is_not_set_back_into_a_folder_that_another_holds() {
    let folder = repository();
    let world = World::new("wait_for NEVER", 2);
    let first = create(&world, "first", folder.path(), |_| {});
    world.until(&first, ("in_progress", "running"));
    world
        .ask(JobRequest::Command(first.clone(), Command::SaveCheckpoint))
        .unwrap();
    let checkpoint = world.saved(&first);
    world
        .ask(JobRequest::Command(first.clone(), Command::Cancel))
        .unwrap();
    let second = create(&world, "second", folder.path(), |_| {});
    world.until(&second, ("in_progress", "running"));
    let restore = || {
        world.ask(JobRequest::Restore {
            task: first.clone(),
            checkpoint: checkpoint.clone(),
        })
    };
    let refused = restore();
    let busy =
        |it: &RequestError| format!("{it:?}").contains(&format!("WorkspaceBusy {{ by: {second:?}"));
    assert!(refused.as_ref().is_err_and(busy), "{refused:?}");
    world
        .ask(JobRequest::Command(second, Command::Cancel))
        .unwrap();
    restore().unwrap();
    world.until(&first, ("in_progress", "running"));
}
