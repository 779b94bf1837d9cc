//! What has to come to an end: whoever looks at a phase for too long, and everything of a task that
//! is deleted.

use crate::world::{BOUND, World};
use bowline_formats::agents::AgentProtocol;
use bowline_machines::job::{Command, JobState};
use bowline_runner::jobs::{AgentSpec, JobRequest, JobsConfig, TypeSpec, Verifier, WorkPhase};
use bowline_store::{JobAttributes, RecordBody, RecordKind};
use bowline_test_support::wait_until;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const REPORTS: &str =
    "wait_for '[/PHASE_START]'; echo '=== PHASE 1 COMPLETE ==='; wait_for never\n";
/// Leaves the number of its process, ends when it is killed, and not when it is asked to.
const STAYS: &str = "trap '' TERM INT HUP; sleep 600 & echo $$ $! >> pids; wait\n";

/// A type with one phase that nobody has to approve.
fn looked_at(config: &mut JobsConfig, phase: WorkPhase) {
    let name = "looked at".to_owned();
    let spec = TypeSpec {
        name: name.clone(),
        phases: vec![phase],
        complete_on_exit: false,
        app: vec!["sh".into(), "-c".into(), STAYS.into()],
    };
    config.types.insert(name, spec);
    config.verify_s = 1;
}

fn by_an_agent(config: &mut JobsConfig) {
    let agent = AgentSpec {
        command: vec!["sh".into(), "-c".into(), STAYS.into()],
        protocol: AgentProtocol::Markers,
        environment: BTreeMap::new(),
        verifies: true,
    };
    config.agents.insert("slow".into(), agent);
    let verifier = Verifier::Named("slow".into());
    let phase = WorkPhase {
        name: "Tasting".into(),
        verifier,
        ..WorkPhase::default()
    };
    looked_at(config, phase);
}

fn by_a_command(config: &mut JobsConfig) {
    let phase = WorkPhase {
        name: "Tasting".into(),
        check: vec!["sh".into(), "-c".into(), STAYS.into()],
        ..WorkPhase::default()
    };
    looked_at(config, phase);
}

/// The processes that noted themselves in a folder; none while that is not so.
fn noted(workspace: &Path) -> Vec<i32> {
    let text = std::fs::read_to_string(workspace.join("pids")).unwrap_or_default();
    text.split_whitespace()
        .map(|it| it.parse().unwrap())
        .collect()
}

fn is_there(pid: i32) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    // One that nobody has buried yet does nothing any more.
    state.is_ok_and(|it| !it.rsplit(')').next().is_some_and(|it| it.starts_with(" Z")))
}

fn workspace(world: &World, id: &str) -> PathBuf {
    world.jobs().config().workspace(&world.row(id))
}

/// The first look at the phase, which is over without having passed.
fn first_look(world: &World, id: &str) -> Vec<String> {
    let mut issues = Vec::new();
    let looked = wait_until(BOUND, || {
        let rows = world.records(id, RecordKind::Verification);
        let Some(RecordBody::Verification(row)) = rows.into_iter().next() else {
            return false;
        };
        assert_ne!(row.passed, Some(true), "{row:?}");
        issues = row.issues;
        row.passed.is_some()
    });
    assert!(looked, "it is still being looked at");
    issues
}

#[test]
fn an_agent_that_looks_for_too_long_is_ended_and_has_not_passed_the_phase() {
    let world = World::tuned(AgentProtocol::Markers, REPORTS, 1, by_an_agent);
    let id = world.create("looked at");
    let issues = first_look(&world, &id);
    assert_eq!(issues.len(), 1, "{issues:?}");
    assert!(issues[0].starts_with("verifier_failed"), "{issues:?}");
    // The phase is back with the agent that did it, which was not started anew.
    let reworks = wait_until(BOUND, || {
        matches!(world.row(&id).job.state, JobState::Running)
    });
    assert!(reworks, "{:#?}", world.row(&id).job);
    let job = world.row(&id).job;
    assert_eq!((job.reworks, job.attempt), (1, 1));
    let looked = noted(&workspace(&world, &id));
    assert_eq!(looked.len(), 2, "{looked:?}");
    for pid in looked {
        assert!(wait_until(BOUND, || !is_there(pid)), "{pid} is left");
    }
}

#[test]
fn a_check_that_takes_too_long_is_ended_and_has_not_passed_the_phase() {
    let world = World::tuned(AgentProtocol::Markers, REPORTS, 1, by_a_command);
    let id = world.create("looked at");
    let issues = first_look(&world, &id);
    assert_eq!(issues.len(), 1, "{issues:?}");
    assert!(issues[0].starts_with("check_failed"), "{issues:?}");
    for pid in noted(&workspace(&world, &id)) {
        assert!(wait_until(BOUND, || !is_there(pid)), "{pid} is left");
    }
}

/// Whatever below a folder has the name of a task in its own.
fn named_after(folder: &Path, id: &str, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        if entry.file_name().to_string_lossy().contains(id) {
            found.push(entry.path());
        } else if entry.file_type().unwrap().is_dir() {
            named_after(&entry.path(), id, found);
        }
    }
}

#[test]
fn nothing_of_a_deleted_task_is_left_but_the_folder_a_person_named() {
    let script = format!("wait_for '[/PHASE_START]'; {STAYS}");
    let world = World::tuned(AgentProtocol::Markers, &script, 2, by_a_command);
    let own = world.create("looked at");
    let named = tempfile::tempdir().unwrap();
    std::fs::write(named.path().join("recipe.md"), "leaves and water").unwrap();
    let about = JobAttributes {
        type_name: Some("looked at".into()),
        workspace: Some(named.path().display().to_string()),
        ..JobAttributes::default()
    };
    let made = world.ask(JobRequest::Create {
        title: "Tea".into(),
        description: "A shop for tea".into(),
        depends_on: vec![],
        scheduled_for: None,
        about: Box::new(about),
        submit: true,
    });
    let other = made.unwrap().row.unwrap().id;
    for (id, folder) in [
        (own.clone(), workspace(&world, &own)),
        (other, named.path().to_owned()),
    ] {
        let two = || noted(&folder).len();
        assert!(
            wait_until(BOUND, || two() == 2),
            "no agent in {}",
            folder.display()
        );
        assert!(world.jobs().start_app(&world.row(&id)).unwrap().running);
        assert!(
            wait_until(BOUND, || two() == 4),
            "no app in {}",
            folder.display()
        );
        world
            .ask(JobRequest::Command(id.clone(), Command::SaveCheckpoint))
            .unwrap();
        world.saved(&id);
        let pids = noted(&folder);
        assert!(pids.iter().all(|pid| is_there(*pid)), "{pids:?}");
        // Neither its agent nor its app wants to end, and nobody waits for them before it is
        // deleted.
        world
            .ask(JobRequest::Command(id.clone(), Command::Cancel))
            .unwrap();
        world.ask(JobRequest::Delete(id.clone())).unwrap();
        assert_eq!(world.jobs().store().find_job(&id).unwrap(), None);
        for pid in pids {
            assert!(
                wait_until(BOUND, || !is_there(pid)),
                "{pid} of {id} is left"
            );
        }
        let mut left = Vec::new();
        let gone = wait_until(BOUND, || {
            left.clear();
            named_after(world.folder.path(), &id, &mut left);
            left.is_empty()
        });
        assert!(gone, "{left:?}");
    }
    let kept = std::fs::read_to_string(named.path().join("recipe.md"));
    assert_eq!(kept.unwrap(), "leaves and water");
}
