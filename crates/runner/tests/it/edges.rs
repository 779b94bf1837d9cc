//! What tasks may not be given, and what their agents may not have: workspaces, tokens, names of
//! variables.

use crate::world::{BOUND, World};
use bowline_machines::job::{AgentDependency, AgentMarker, Command};
use bowline_runner::jobs::{JobRequest, RequestError, WorkspaceFault};
use bowline_store::{JobAttributes, RecordKind};
use bowline_test_support::wait_until;
use std::path::Path;

const QUICK: &str = "wait_for '[/PHASE_START]'\necho '=== CUSTOM TASK COMPLETE ==='\n";

fn create(workspace: &Path, submit: bool) -> JobRequest {
    JobRequest::Create {
        title: "Tea".into(),
        description: "A shop for tea".into(),
        depends_on: vec![],
        scheduled_for: None,
        about: Box::new(JobAttributes {
            type_name: Some("custom".into()),
            workspace: Some(workspace.display().to_string()),
            ..JobAttributes::default()
        }),
        submit,
    }
}

#[test]
fn a_workspace_that_holds_the_data_folder_or_is_none_is_refused() {
    let world = World::new(QUICK, 1);
    let data = world.folder.path();
    let beside = tempfile::tempdir().unwrap();
    let file = beside.path().join("file");
    std::fs::write(&file, "tea").unwrap();
    let link = beside.path().join("link");
    std::os::unix::fs::symlink(data, &link).unwrap();
    let cases = [
        (data.to_owned(), WorkspaceFault::HoldsData),
        (link.clone(), WorkspaceFault::HoldsData),
        (data.parent().unwrap().to_owned(), WorkspaceFault::HoldsData),
        (data.join("workspaces"), WorkspaceFault::InsideData),
        (link.join("attempts"), WorkspaceFault::InsideData),
        (beside.path().join("none"), WorkspaceFault::Missing),
        (file.clone(), WorkspaceFault::NotAFolder),
        (file.join("below"), WorkspaceFault::NotAFolder),
    ];
    for (folder, wanted) in cases {
        match world.ask(create(&folder, true)) {
            Err(RequestError::BadWorkspace { fault, .. }) => {
                assert_eq!(fault, wanted, "{}", folder.display());
            }
            other => panic!("{}: {other:?}", folder.display()),
        }
    }
    assert_eq!(world.jobs().store().open_jobs().unwrap().len(), 0);
    world.ask(create(beside.path(), false)).unwrap();
}

#[test]
fn a_workspace_that_has_gone_is_not_made_again_at_the_start() {
    let world = World::new(QUICK, 1);
    let folder = tempfile::tempdir().unwrap();
    let made = world.ask(create(folder.path(), false)).unwrap();
    let id = made.row.unwrap().id;
    let path = folder.path().to_owned();
    drop(folder);
    world
        .ask(JobRequest::Command(id.clone(), Command::Submit))
        .unwrap();
    world.until(&id, ("failed", "failed"));
    let failure = world.row(&id).job.failure().unwrap().message.clone();
    assert!(failure.contains("does not exist"), "{failure}");
    let settled = || world.jobs().store().open_effects().unwrap().is_empty();
    assert!(wait_until(BOUND, settled), "its checkpoint is not settled");
    assert!(!path.exists(), "it was made");
}

#[test]
fn the_token_of_an_attempt_ends_with_it() {
    let world = World::new(
        "wait_for '[/PHASE_START]'\ncp \"$BOWLINE_AGENT_TOKEN_FILE\" token\nwait_for end\n",
        1,
    );
    let id = world.create("custom");
    let file = world
        .folder
        .path()
        .join("workspaces")
        .join(&id)
        .join("token");
    let read = || std::fs::read_to_string(&file).unwrap_or_default();
    assert!(wait_until(BOUND, || read().len() > 40), "no token");
    let token = read();
    assert_eq!(world.jobs().agent_token(&token), Some((id.clone(), 1)));
    let world = world.again();
    let known = || world.jobs().agent_token(&token).is_some();
    assert!(wait_until(BOUND, known), "it outlives a restart of ours");
    world
        .ask(JobRequest::Command(id.clone(), Command::Cancel))
        .unwrap();
    assert_eq!(world.jobs().agent_token(&token), None, "at once");
    let world = world.again();
    world.until(&id, ("failed", "failed"));
    assert_eq!(world.jobs().agent_token(&token), None);
    let kept = world.folder.path().join("tokens").join(format!("{id}-1"));
    assert!(wait_until(BOUND, || !kept.exists()), "its file is kept");
}

/// Names that would change what programs the agent starts, or its input.
const PROTECTED: [&str; 7] = [
    "PATH",
    "HOME",
    "LD_PRELOAD",
    "BOWLINE_URL",
    "BASH_ENV",
    "IFS",
    "PYTHONPATH",
];

#[test]
fn a_dependency_named_like_a_variable_of_the_system_is_refused_and_the_agent_is_told() {
    let asks = PROTECTED.map(|name| {
        format!(
            "printf '[DEPENDENCY_REQUEST]\\ntype: api_key\\nname: {name}\\ndescription: a\\nrequired: true\\n[/DEPENDENCY_REQUEST]\\n'\n\
             wait_for \"'{name}' is protected\"\n"
        )
    });
    let script = format!(
        "wait_for '[/PHASE_START]'\n{}echo '=== CUSTOM TASK COMPLETE ==='\nwait_for end\n",
        asks.join("")
    );
    let world = World::new(&script, 1);
    let id = world.create("custom");
    world.until(&id, ("completed", "completed"));
    assert!(world.records(&id, RecordKind::Dependency).is_empty());
}

#[test]
fn an_exact_request_for_such_a_name_is_refused() {
    let world = World::new("wait_for end\n", 1);
    let id = world.create("custom");
    world.until(&id, ("in_progress", "running"));
    let ask = |name: &str| {
        let needed = AgentDependency::on_env_variable("", name, true);
        let marker = AgentMarker::DependencyRequest(needed);
        let report = Command::MarkerRead { attempt: 1, marker };
        world.ask(JobRequest::Command(id.clone(), report))
    };
    for name in PROTECTED {
        let refused = ask(name);
        assert!(
            matches!(&refused, Err(RequestError::ProtectedName { name: of }) if of == name),
            "{refused:?}"
        );
    }
    ask("TEA_KEY").unwrap();
}
