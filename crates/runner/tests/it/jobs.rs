//! Jobs through the loop that decides, with real shims and agents.

use crate::world::{BOUND, World};
use bowline_formats::agents::AgentProtocol;
use bowline_machines::job::Command;
use bowline_runner::jobs::{DraftEdit, JobRequest, RequestError, SubmittedRequest};
use bowline_store::{EventQuery, JobAttributes, RecordBody, RecordKind};
use bowline_test_support::wait_until;

const WALK: &str = r#"
if [ "$BOWLINE_PHASE" = 1 ]; then
  wait_for '[/PHASE_START]'
  mkdir -p docs/planning docs/design
  echo 'Step 1/2: idea'
  printf '[USER_QUESTION]\ncategory: choice\nquestion: Which tea?\noptions: [green, black]\nrequired: true\n[/USER_QUESTION]\n'
  wait_for question_answer
  printf '[DEPENDENCY_REQUEST]\ntype: api_key\nname: TEA_API_KEY\ndescription: for the shop\nrequired: true\n[/DEPENDENCY_REQUEST]\n'
  wait_for '[/DEPENDENCY_PROVIDED]'
  printf '[ERROR]\ntype: recoverable\nmessage: slow down\nrecovery: pause_and_retry\nretry_after: 1\n[/ERROR]\n'
  echo short > docs/planning/01_idea.md
  echo '=== PHASE 1 COMPLETE ==='
  wait_for '[/REWORK]'
  good docs/planning/01_idea.md
  echo '=== PHASE 1 COMPLETE ==='
  wait_for '[/REVIEW_REJECTED]'
  echo '=== PHASE 1 COMPLETE ==='
  wait_for '[/PHASE_START]'
fi
good docs/design/01_screen.md
echo '=== PHASE 2 COMPLETE ==='
wait_for '[/PHASE_START]'
"#;

#[test]
fn a_task_goes_through_everything_to_the_end() {
    let world = World::new(WALK, 1);
    let id = world.create("tea");
    let question = world.open(&id, RecordKind::Question).id;
    world.until(&id, ("in_progress", "waiting_question"));
    let near = world.decide(Command::Answer {
        question: question.clone(),
        text: "gren".into(),
    });
    assert!(
        matches!(near, Err(RequestError::NearMiss { .. })),
        "{near:?}"
    );
    let answered = world.decide(Command::Answer {
        question,
        text: "Green".into(),
    });
    answered.unwrap();
    let dependency = world.open(&id, RecordKind::Dependency).id;
    let bad = world.ask(JobRequest::Provide {
        dependency: dependency.clone(),
        value: "no".into(),
    });
    assert!(matches!(bad, Err(RequestError::BadValue { .. })), "{bad:?}");
    let provided = world.ask(JobRequest::Provide {
        dependency,
        value: "sk-very-green-tea".into(),
    });
    provided.unwrap();
    let review = world.open(&id, RecordKind::Review);
    assert_eq!(world.pair(&id), ("review", "waiting_review"));
    let RecordBody::Review(shown) = &review.body else {
        panic!("{review:?}");
    };
    assert_eq!(shown.deliverables, ["docs/planning/01_idea.md"]);
    assert!(shown.code_ref.is_some());
    let changes = world.ask(JobRequest::RequestChanges {
        review: review.id.clone(),
        feedback: "more about tea".into(),
        comments: vec![],
    });
    changes.unwrap();
    let again = world.open(&id, RecordKind::Review);
    assert_ne!(again.id, review.id);
    let approve = |review: String| {
        let comment = None;
        world.decide(Command::Approve { review, comment })
    };
    approve(again.id.clone()).unwrap();
    assert!(
        matches!(approve(again.id), Err(RequestError::Rule(_))),
        "once"
    );
    world.open(&id, RecordKind::Review);
    let approve_task = || {
        world.jobs().submit(SubmittedRequest {
            key: Some("approve the last phase".into()),
            version: None,
            request: JobRequest::ApproveTask {
                task: id.clone(),
                comment: None,
            },
        })
    };
    approve_task().unwrap();
    world.until(&id, ("completed", "completed"));
    let again = approve_task().unwrap().row;
    assert_eq!(
        again.unwrap().id,
        id,
        "the key is known before the review is looked for"
    );
    let expected = [
        "draft>pending SUBMIT",
        "pending>in_progress ASSIGN",
        "in_progress>review PHASE_COMPLETE",
        "review>in_progress REQUEST_CHANGES",
        "in_progress>review PHASE_COMPLETE",
        "review>in_progress APPROVE",
        "in_progress>review PHASE_COMPLETE",
        "review>in_progress APPROVE",
        "in_progress>completed APPROVE",
    ];
    assert_eq!(world.transitions(&id, "task"), expected);
    let agent = world.transitions(&id, "agent");
    for moved in [
        "running>waiting_question USER_QUESTION",
        "running>waiting_dependency DEPENDENCY_REQUEST",
        "running>paused RATE_LIMIT",
        "paused>running RATE_LIMIT_RESET",
        "waiting_review>running VERIFICATION_FAILED",
    ] {
        assert!(agent.contains(&moved.to_owned()), "{moved}: {agent:?}");
    }
    assert_eq!(world.row(&id).job.attempt, 1, "one process did it all");
    let archive = world
        .folder
        .path()
        .join(format!("archives/{id}/artifacts.zip"));
    assert!(wait_until(BOUND, || archive.exists()));
    let effects = || world.jobs().store().open_effects().unwrap();
    assert!(
        wait_until(BOUND, || effects().is_empty()),
        "{:?}",
        effects()
    );
    let reasons: Vec<String> = world
        .records(&id, RecordKind::Checkpoint)
        .into_iter()
        .map(|it| match it {
            RecordBody::Checkpoint(row) => row.reason,
            other => panic!("{other:?}"),
        })
        .collect();
    for reason in [
        "user_question",
        "dependency_request",
        "rate_limit",
        "phase_complete",
        "completed",
    ] {
        assert!(
            reasons.contains(&reason.to_owned()),
            "{reason}: {reasons:?}"
        );
    }
}

#[test]
fn agents_go_on_while_the_loop_is_away_and_nothing_counts_twice() {
    let mut world = World::new(WALK, 1);
    let id = world.create("tea");
    let question = world.open(&id, RecordKind::Question).id;
    world = world.again();
    world.until(&id, ("in_progress", "waiting_question"));
    let text = "green".to_owned();
    world.decide(Command::Answer { question, text }).unwrap();
    world = world.again();
    let dependency = world.open(&id, RecordKind::Dependency).id;
    let value = "sk-very-green-tea".to_owned();
    world
        .ask(JobRequest::Provide { dependency, value })
        .unwrap();
    world = world.again();
    let review = world.open(&id, RecordKind::Review).id;
    world = world.again();
    assert_eq!(world.pair(&id), ("review", "waiting_review"));
    let feedback = "more".to_owned();
    let comments = vec![];
    world
        .ask(JobRequest::RequestChanges {
            review,
            feedback,
            comments,
        })
        .unwrap();
    for _ in 0..2 {
        let review = world.open(&id, RecordKind::Review).id;
        world = world.again();
        let comment = None;
        world.decide(Command::Approve { review, comment }).unwrap();
    }
    world.until(&id, ("completed", "completed"));
    assert_eq!(world.row(&id).job.attempt, 1, "it was never started anew");
    assert_eq!(world.row(&id).job.questions.len(), 1);
    assert_eq!(world.row(&id).job.reviews.len(), 3);
}

#[test]
fn a_request_is_carried_out_once() {
    let world = World::new("sleep 60", 1);
    let asked = |title: &str| SubmittedRequest {
        key: Some("r-1".into()),
        version: None,
        request: JobRequest::Create {
            title: title.into(),
            description: "A shop for tea".into(),
            depends_on: vec![],
            scheduled_for: None,
            about: Box::new(JobAttributes {
                type_name: Some("custom".into()),
                ..JobAttributes::default()
            }),
            submit: false,
        },
    };
    let first = world.jobs().submit(asked("Tea")).unwrap().row.unwrap().id;
    let again = world.jobs().submit(asked("Tea")).unwrap().row.unwrap().id;
    assert_eq!(first, again);
    let other = world.jobs().submit(asked("Coffee"));
    assert!(
        matches!(other, Err(RequestError::RequestReused)),
        "{other:?}"
    );
}

#[test]
fn an_agent_that_ends_early_is_replaced_once_and_then_the_task_fails() {
    let world = World::new("echo going; exit 3", 1);
    let id = world.create("tea");
    world.until(&id, ("failed", "failed"));
    let row = world.row(&id);
    assert_eq!(row.job.attempt, 2);
    assert_eq!(row.job.failure().unwrap().code.name(), "agent_exited");
    let retried = world.ask(JobRequest::Retry(id.clone())).unwrap();
    let new = retried.row.unwrap();
    assert_eq!(new.job.retry_of.as_deref(), Some(id.as_str()));
}

#[test]
fn a_person_pauses_resumes_speaks_and_cancels() {
    let world = World::new(
        "wait_for '[/PHASE_START]'; echo up; wait_for hello; echo '=== PHASE 1 COMPLETE ==='; sleep 60",
        1,
    );
    let id = world.create("tea");
    world.until(&id, ("in_progress", "running"));
    world
        .ask(JobRequest::Command(id.clone(), Command::Pause))
        .unwrap();
    assert_eq!(world.pair(&id), ("in_progress", "paused"));
    let text = "hello".to_owned();
    let said = world
        .ask(JobRequest::SendMessage {
            task: id.clone(),
            text,
        })
        .unwrap();
    let said = said.made.unwrap();
    let status = || match world
        .jobs()
        .store()
        .find_record(&said)
        .unwrap()
        .unwrap()
        .body
    {
        RecordBody::Said(row) => row.status.name(),
        other => panic!("{other:?}"),
    };
    assert_eq!(status(), "queued");
    let refused = world.ask(JobRequest::Command(id.clone(), Command::Interrupt));
    assert!(matches!(refused, Err(RequestError::Rule(_))), "{refused:?}");
    world
        .ask(JobRequest::Command(id.clone(), Command::Resume))
        .unwrap();
    assert!(wait_until(BOUND, || status() == "delivered"));
    // The phase has no deliverables on the disk: it is sent back to the agent.
    let reworked = wait_until(BOUND, || world.row(&id).job.reworks == 1);
    assert!(reworked, "{:?}", world.row(&id).job);
    world
        .ask(JobRequest::Command(id.clone(), Command::Cancel))
        .unwrap();
    assert_eq!(world.pair(&id), ("failed", "failed"));
    let gone = wait_until(BOUND, || !world.jobs().alive(&world.row(&id)));
    assert!(gone, "the process is still there");
    world.ask(JobRequest::Delete(id.clone())).unwrap();
    assert_eq!(world.jobs().store().find_job(&id).unwrap(), None);
}

#[test]
fn tasks_wait_for_others_for_places_and_not_for_each_other() {
    let world = World::new("wait_for '[/PHASE_START]'; sleep 60", 1);
    let first = world.create("tea");
    let second = world.create("tea");
    world.until(&first, ("in_progress", "running"));
    assert_eq!(world.pair(&second), ("pending", "idle"));
    world
        .ask(JobRequest::Command(first.clone(), Command::Cancel))
        .unwrap();
    world.until(&second, ("in_progress", "running"));
    let edit = |task: &str, depends_on: &str| {
        let edit = DraftEdit {
            depends_on: Some(vec![depends_on.into()]),
            ..Default::default()
        };
        world.ask(JobRequest::Edit {
            task: task.into(),
            edit: Box::new(edit),
        })
    };
    let draft = |depends_on: Vec<String>| {
        world.ask(JobRequest::Create {
            title: String::new(),
            description: String::new(),
            depends_on,
            scheduled_for: None,
            about: Box::default(),
            submit: false,
        })
    };
    let a = draft(vec![]).unwrap().row.unwrap().id;
    let b = draft(vec![a.clone()]).unwrap().row.unwrap().id;
    let cycle = edit(&a, &b);
    assert!(
        matches!(cycle, Err(RequestError::Cycle { .. })),
        "{cycle:?}"
    );
    let blocked = world.ask(JobRequest::Delete(a));
    assert!(matches!(blocked, Err(RequestError::Rule(_))), "{blocked:?}");
}

/// Whoever looks at a list learns of drafts as well, though none of this is a transition.
#[test]
fn a_draft_is_told_of_when_it_is_made_edited_and_deleted() {
    let world = World::new("exit 0\n", 1);
    let made = world.ask(JobRequest::Create {
        title: "Tea".into(),
        description: String::new(),
        depends_on: vec![],
        scheduled_for: None,
        about: Box::default(),
        submit: false,
    });
    let task = made.unwrap().row.unwrap().id;
    let edit = DraftEdit {
        title: Some("Green tea".into()),
        ..DraftEdit::default()
    };
    let edited = world.ask(JobRequest::Edit {
        task: task.clone(),
        edit: Box::new(edit),
    });
    let row = edited.unwrap().row.unwrap();
    assert_eq!((row.version, row.about.moves), (2, 0));
    world.ask(JobRequest::Delete(task.clone())).unwrap();
    let told = world
        .jobs()
        .store()
        .list_events(&EventQuery::default())
        .unwrap();
    let told = told.iter().filter(|event| event.job == task);
    let told: Vec<&str> = told.filter_map(|it| it.body["changed"].as_str()).collect();
    assert_eq!(told, ["create", "edit", "delete"]);
}

/// The value in two halves, with a pause between them.
const LEAK: &str = r#"
wait_for '[/PHASE_START]'
printf '[DEPENDENCY_REQUEST]\ntype: api_key\nname: TEA_API_KEY\ndescription: for the shop\nrequired: true\n[/DEPENDENCY_REQUEST]\n'
wait_for 'value: '
secret="${line#*value: }"
printf 'half: %s' "$(printf %s "$secret" | cut -c1-9)"
sleep 0.2
printf '%s is out\n' "$(printf %s "$secret" | cut -c10-)"
printf '[ERROR]\ntype: fatal\nmessage: it was %s\nrecovery: checkpoint_and_fail\n[/ERROR]\n' "$secret"
sleep 60
"#;

fn files_below(folder: &std::path::Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => files_below(&entry.path(), found),
            kind if kind.is_file() => found.push(entry.path()),
            _ => {}
        }
    }
}

#[test]
fn a_value_that_the_agent_prints_in_two_halves_is_found_nowhere() {
    const SECRET: &str = "sk-very-green-tea-leaves";
    let world = World::new(LEAK, 1);
    let id = world.create("tea");
    let dependency = world.open(&id, RecordKind::Dependency).id;
    let value = SECRET.to_owned();
    world
        .ask(JobRequest::Provide { dependency, value })
        .unwrap();
    world.until(&id, ("failed", "failed"));
    let effects = || world.jobs().store().open_effects().unwrap();
    assert!(
        wait_until(BOUND, || effects().is_empty()),
        "{:?}",
        effects()
    );
    let log = std::fs::read_to_string(&world.jobs().logs(&world.row(&id))[0]).unwrap();
    assert!(log.contains("half: "), "{log}");
    let mut files = Vec::new();
    files_below(world.folder.path(), &mut files);
    assert!(files.len() > 10);
    for file in files {
        let bytes = std::fs::read(&file).unwrap_or_default();
        let found = bytes
            .windows(SECRET.len())
            .any(|it| it == SECRET.as_bytes());
        assert!(!found, "{}", file.display());
    }
    let told = world
        .jobs()
        .store()
        .list_events(&EventQuery::default())
        .unwrap();
    assert!(!format!("{told:?}").contains(SECRET));
    assert!(!format!("{:?}", world.row(&id)).contains(SECRET));
}

/// Says nothing of its files, and looks at them itself.
const VERIFIED: &str = r#"
if [ -n "$BOWLINE_VERIFY" ]; then
  printf '=== VERIFICATION_RESULT ===\n{"criteria": [{"id": "A", "status": "passed"}]}\n'
  wait_for NEVER
fi
wait_for '[/PHASE_START]'
mkdir -p docs/planning src
for n in 1 2 3; do good docs/planning/0$n.md; done
echo '=== PHASE 1 COMPLETE ==='
wait_for '[/PHASE_START]'
echo one > src/one
echo more >> docs/planning/01.md
echo '=== PHASE 2 COMPLETE ==='
wait_for NEVER
"#;

#[test]
fn the_files_of_a_verified_phase_and_their_number_come_from_the_disk() {
    use bowline_runner::jobs::Verifier;
    let world = World::tuned(AgentProtocol::Markers, VERIFIED, 1, |config| {
        let mut planning = config.types["create_app"].phases[0].clone();
        planning.count = 3;
        planning.verifier = Verifier::Named("sh".into());
        // One whose type names no files: those that it changed.
        let mut building = planning.clone();
        (building.deliverables, building.count) = (Vec::new(), 0);
        (building.min_chars, building.placeholders) = (0, false);
        let spec = config.types.get_mut("workflow").unwrap();
        spec.phases = vec![planning, building];
    });
    let id = world.create("workflow");
    let expected: [&[&str]; 2] = [
        &[
            "docs/planning/01.md",
            "docs/planning/02.md",
            "docs/planning/03.md",
        ],
        &["docs/planning/01.md", "src/one"],
    ];
    for files in expected {
        let review = world.open(&id, RecordKind::Review);
        let RecordBody::Review(shown) = &review.body else {
            panic!("{review:?}");
        };
        assert_eq!(shown.deliverables, files);
        let events = world.jobs().store().list_events(&EventQuery {
            job: Some(id.clone()),
            ..EventQuery::default()
        });
        let mut counts = events.unwrap().into_iter().filter_map(|it| {
            let complete = it.body["trigger"] == "PHASE_COMPLETE";
            complete.then(|| it.body["metadata"]["deliverables"].as_u64())?
        });
        assert_eq!(counts.next_back(), Some(files.len() as u64));
        let (review, comment) = (review.id, None);
        world.decide(Command::Approve { review, comment }).unwrap();
    }
    world.until(&id, ("completed", "completed"));
}
