//! Tasks of other programs: every shape that is met, and the promise that the plan says what was
//! meant.

use bowline_formats::import::{
    BacklogFile, ImportError, ImportedPhase, ImportedTask, PlanImport, group_notes, import_backlog,
    import_beads, spec_kit, task_master, write_plan,
};
use bowline_formats::tasks_md::{TaskId, TaskProgress, TasksFile, parse_plan};
use bowline_words::message::Unplaced;
use std::collections::{BTreeMap, BTreeSet};

type Needs = BTreeMap<String, BTreeSet<String>>;

fn needs_of(file: &TasksFile) -> Needs {
    let set = |ids: Vec<&TaskId>| ids.into_iter().map(ToString::to_string).collect();
    let mut all: Needs = file
        .tasks
        .iter()
        .map(|task| (task.id.to_string(), BTreeSet::new()))
        .collect();
    all.extend(
        file.dependencies()
            .map(|(id, needs)| (id.to_string(), set(needs))),
    );
    all
}

/// The plan of what was taken over, read back: the same tasks in the same order, and nothing else.
pub(crate) fn read_back(imported: &PlanImport) -> TasksFile {
    let (text, _) = write_plan(imported).unwrap();
    let file = parse_plan(&text);
    let ids = |file: &TasksFile| {
        file.tasks
            .iter()
            .map(|it| it.id.to_string())
            .collect::<Vec<_>>()
    };
    let meant: Vec<String> = imported.tasks.iter().map(|it| it.id.to_string()).collect();
    assert_eq!(ids(&file), meant, "{text}");
    for (task, item) in file.tasks.iter().zip(&imported.tasks) {
        let phase = &imported.phases[item.phase];
        assert_eq!(
            (task.progress, task.phase, task.section),
            (item.progress, phase.number, phase.section),
            "{} in\n{text}",
            task.id
        );
    }
    let meant: Needs = imported
        .tasks
        .iter()
        .map(|it| {
            let needs = it.needs.iter().map(ToString::to_string);
            (it.id.to_string(), needs.collect())
        })
        .collect();
    assert_eq!(needs_of(&file), meant, "{text}");
    assert!(file.groups.is_empty(), "{:?}\n{text}", file.groups);
    file
}

/// `id[x] title < needs`, a line for each task.
fn told(file: &TasksFile) -> Vec<String> {
    let needs = needs_of(file);
    let one = |task: &bowline_formats::tasks_md::PlanTask| {
        let mark = match task.progress {
            TaskProgress::Open => ' ',
            TaskProgress::InProgress => '/',
            TaskProgress::Done => 'x',
        };
        let needs: Vec<&str> = needs[task.id.as_str()].iter().map(String::as_str).collect();
        format!("{}[{mark}] {} < {}", task.id, task.title, needs.join(" "))
    };
    file.tasks.iter().map(one).collect()
}

fn lines(imported: &PlanImport) -> Vec<String> {
    told(&read_back(imported))
}

#[track_caller]
fn has_told(imported: &PlanImport, wanted: &[Unplaced]) {
    let all = &imported.unplaced;
    for wanted in wanted {
        assert!(all.contains(wanted), "{wanted:?}: {all:?}");
    }
}

#[test]
fn task_master_with_tags_parts_and_ids_of_both_sorts() {
    let json = r#"{
      "metadata": {"projectName": "Ferry"},
      "master": {"tasks": [
        {"id": 1, "title": "Quay", "status": "done", "dependencies": [], "priority": "high", "description": "d"},
        {"id": "2", "title": "Boat", "status": "in-progress", "dependencies": [1], "subtasks": [
          {"id": 1, "title": "Hull", "status": "completed", "dependencies": []},
          {"id": "2", "title": "Mast", "status": "pending", "dependencies": [1]},
          {"id": 2.10, "title": "Sail", "status": "review", "dependencies": ["2.2", 1]}
        ]},
        {"id": 3, "title": "Trip", "status": "deferred", "dependencies": ["2.1", 9, 3]}
      ], "metadata": {}},
      "feature-x": {"tasks": [
        {"id": 1, "title": "Other", "status": "cancelled", "dependencies": [], "subtasks": [
          {"id": 1, "title": "Part", "status": "pending", "dependencies": ["2"]}]},
        {"id": 2, "title": "More", "status": "pending", "dependencies": [1]}
      ]}
    }"#;
    let imported = task_master(json, None).unwrap();
    assert_eq!(imported.project.as_deref(), Some("Ferry"));
    assert_eq!(
        lines(&imported),
        [
            "1[x] Quay < ",
            "2[/] Boat < 1 2.1 2.10 2.2",
            "2.1[x] Hull < 1",
            "2.2[ ] Mast < 2.1",
            "2.10[/] Sail < 2.1 2.2",
            "3[ ] Trip < 2.1",
            // The order by place gave way: its part waits for 2, and 2 for it.
            "feature-x-1[x] Other < ",
            "feature-x-1.1[ ] Part < feature-x-2",
            "feature-x-2[ ] More < feature-x-1",
        ]
    );
    has_told(
        &imported,
        &[
            Unplaced::NothingNeeded {
                id: "3".into(),
                other: "9".into(),
            },
            Unplaced::NeedsItself { id: "3".into() },
            Unplaced::DoneWithOpenParts {
                id: "feature-x-1".into(),
                open: 1,
            },
            Unplaced::CountsAsDone {
                id: "feature-x-1".into(),
                status: "cancelled".into(),
            },
            Unplaced::StatusInText {
                id: "3".into(),
                status: "deferred".into(),
            },
            Unplaced::OrderLeftOut {
                id: "feature-x-1".into(),
                other: "feature-x-1.1".into(),
            },
            Unplaced::Field {
                name: "priority".into(),
                tasks: 1,
            },
        ],
    );
    // The current tag has the bare ids.
    let imported = task_master(json, Some("feature-x")).unwrap();
    let ids: Vec<&str> = imported.tasks.iter().map(|it| it.id.as_str()).collect();
    assert!(
        ids.contains(&"1.1") && ids.contains(&"master-2.10"),
        "{ids:?}"
    );
}

#[test]
fn task_master_as_it_was_before_tags_and_what_is_no_such_file() {
    let old = task_master(
        r#"{"tasks":[{"id":1,"title":"a"},{"id":1,"title":"b"},7]}"#,
        None,
    );
    let imported = old.unwrap();
    assert_eq!(lines(&imported), ["1[ ] a < ", "1-2[ ] b < "]);
    has_told(&imported, &[Unplaced::NotATask { count: 1 }]);
    for (text, refused) in [
        (r#"{"tasks":[]}"#, ImportError::Empty),
        (r#"{"tasks":{}}"#, ImportError::NotIts(String::new())),
        ("[]", ImportError::NotIts(String::new())),
    ] {
        let found = task_master(text, None).unwrap_err();
        match refused {
            ImportError::NotIts(_) => assert!(matches!(found, ImportError::NotIts(_)), "{found:?}"),
            other => assert_eq!(found, other),
        }
    }
}

#[test]
fn beads_with_links_groups_and_odd_ids() {
    let jsonl = r#"{"id":"HT-1","title":"Harbour","status":"open","issue_type":"epic","priority":1,"description":"All of it"}
{"id":"HT-1.1","title":"\u001b[31mRed\u001b[0m quay","status":"closed","issue_type":"task","assignee":"kim","dependencies":[{"issue_id":"HT-1.1","depends_on_id":"HT-1","type":"parent-child"}]}
{"id":"HT-1.2","title":"Crane","status":"blocked","dependencies":[{"issue_id":"HT-1.2","depends_on_id":"HT-1","type":"parent-child"},{"issue_id":"HT-1.2","depends_on_id":"HT-1.1","type":"blocks"},{"issue_id":"HT-1.2","depends_on_id":"pre-1g5","type":"related"}]}
{"id":"pre-1g5","title":"Sea","status":"in_progress","dependencies":[{"issue_id":"pre-1g5","depends_on_id":"HT-1","type":"blocks"}]}
{"id":"bd-abc","title":"No digit","status":"pinned","dependencies":[{"issue_id":"bd-abc","depends_on_id":"gone-1","type":"blocks"},{"issue_id":"bd-abc","depends_on_id":"my_app-2","type":"discovered-from"}]}

{"id":"my_app-2","title":"Under_score","status":"deferred"}
{"id":"gone-1","title":"Gone","status":"tombstone"}
<<<<<<< HEAD
"#;
    let imported = import_beads(jsonl).unwrap();
    assert_eq!(
        lines(&imported),
        [
            "HT-1.1[x] Red quay < ",
            "HT-1.2[ ] Crane < HT-1.1",
            "pre-1g5[/] Sea < HT-1.1 HT-1.2",
            "bd-abc[ ] No digit < ",
            "my_app-2[ ] Under_score < ",
        ]
    );
    assert_eq!(
        read_back(&imported).tasks[0].assignee.as_deref(),
        Some("kim")
    );
    let (text, _) = write_plan(&imported).unwrap();
    for kept in [
        "HT-1: Harbour",
        "All of it",
        "related: pre-1g5",
        "discovered-from: my_app-2",
    ] {
        assert!(text.contains(kept), "{kept} is lost:\n{text}");
    }
    assert!(!text.contains('\u{1b}'));
    has_told(
        &imported,
        &[
            Unplaced::Deleted {
                id: "gone-1".into(),
            },
            Unplaced::LineUnread { line: 9 },
            Unplaced::StatusInText {
                id: "HT-1.2".into(),
                status: "blocked".into(),
            },
        ],
    );
}

#[test]
fn beads_that_are_over_are_never_open_and_names_without_a_digit_stay() {
    let issue = |id: &str, status: &str, more: &str| {
        format!("{{\"id\":\"{id}\",\"title\":\"a\",\"status\":\"{status}\"{more}}}\n")
    };
    let needs = r#","dependencies":[{"depends_on_id":"gt-abc","type":"blocks"}]"#;
    let mut jsonl = String::new();
    for (at, status) in [
        "done",
        "Done",
        "closed",
        "completed",
        "resolved",
        "cancelled",
        "wontfix",
        "won't fix",
        "won't do",
        "wont_do",
        "duplicate",
        "invalid",
        "declined",
        "dropped",
        "superseded",
        "not_planned",
        "Not planned",
    ]
    .iter()
    .enumerate()
    {
        jsonl.push_str(&issue(&format!("gt-{at}"), status, ""));
    }
    jsonl.push_str(&issue("gt-abc", "open", ""));
    jsonl.push_str(&issue("gt-def", "in_progress", needs));
    jsonl.push_str(&issue("gt_x-wisp.sub", "deferred", ""));
    jsonl.push_str(&issue("gt-zzz", "tombstone", ""));
    let imported = import_beads(&jsonl).unwrap();
    let open: Vec<String> = lines(&imported)
        .into_iter()
        .filter(|it| !it.contains("[x]"))
        .collect();
    assert_eq!(
        open,
        [
            "gt-abc[ ] a < ",
            "gt-def[/] a < gt-abc",
            "gt_x-wisp.sub[ ] a < "
        ]
    );
    let file = read_back(&imported);
    assert_eq!(file.tasks.len(), 20);
    assert_eq!(file.blocking_finding(), None);
}

#[test]
fn a_report_groups_what_is_told_of_many() {
    let one = |id: String| Unplaced::CountsAsDone {
        id,
        status: "done".into(),
    };
    let mut all: Vec<Unplaced> = (10..103).map(|at| one(format!("gt-{at}"))).collect();
    all.insert(1, Unplaced::NeedsItself { id: "x".into() });
    all.push(Unplaced::CountsAsDone {
        id: "gt-1".into(),
        status: "cancelled".into(),
    });
    let told: Vec<String> = group_notes(all).iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "93 tasks are 'done': ticked, so that nothing waits for them (gt-10, gt-11, gt-12, gt-13, gt-14, gt-15, gt-16, gt-17, gt-18, gt-19, …)",
            "`x` needs itself: left out",
            "`gt-1` is 'cancelled': ticked, so that nothing waits for it",
        ]
    );
}

#[test]
fn spec_kit_with_front_matter() {
    let text = "---\ndescription: \"Task list: - [ ] T999 none\"\ndepends on: T1\n- [ ] T998 none\n---\n\n# Tasks: Ferry\n\n## Phase 1: Setup\n\n- [x] T001 [P] Repository\n- [ ] T002 Lint\n";
    for text in [
        text.to_owned(),
        text.replace('\n', "\r\n"),
        format!("\u{feff}{text}"),
    ] {
        let imported = spec_kit(&text).unwrap();
        assert_eq!(imported.project.as_deref(), Some("Ferry"));
        let ids: Vec<&str> = imported.tasks.iter().map(|it| it.id.as_str()).collect();
        assert_eq!(ids, ["T001", "T002"]);
    }
}

#[test]
fn a_part_of_a_backlog_that_needs_its_parent_comes_after_it() {
    let page = |text: &str| BacklogFile {
        name: "a.md".into(),
        text: text.into(),
        completed: false,
    };
    let pages = [
        page("---\nid: task-1\ntitle: Whole\n---\n"),
        page(
            "---\nid: task-1.1\ntitle: After\nparent_task_id: task-1\ndependencies: [task-1]\n---\n",
        ),
        page("---\nid: task-1.2\ntitle: Before\nparent: task-1\n---\n"),
    ];
    let imported = import_backlog(&pages, None).unwrap();
    assert_eq!(
        lines(&imported),
        [
            "task-1[ ] Whole < task-1.2",
            "task-1.1[ ] After < task-1",
            "task-1.2[ ] Before < ",
        ]
    );
}

#[test]
fn what_holds_an_epic_up_holds_its_issues_up() {
    let jsonl = r#"{"id":"a-1","title":"first"}
{"id":"e-1","title":"epic","issue_type":"epic","dependencies":[{"depends_on_id":"a-1","type":"blocks"}]}
{"id":"e-1.1","title":"part","dependencies":[{"depends_on_id":"e-1","type":"parent-child"}]}
{"id":"f-1","title":"an epic of nothing","issue_type":"epic"}"#;
    let imported = import_beads(jsonl).unwrap();
    assert_eq!(
        lines(&imported),
        [
            "a-1[ ] first < ",
            "e-1.1[ ] part < a-1",
            "f-1[ ] an epic of nothing < "
        ]
    );
}

#[test]
fn spec_kit_in_order_with_neighbours_and_prose() {
    let text = "\
# Tasks: Ferry

## Format: `[ID] [P?] [Story] Description`
- **[P]**: can run in parallel

## Phase 1: Setup (Shared Infrastructure)
- [x] T001 Create the project
- [X] T002 [P] Lint in `setup.cfg`
- [ ] T003 [P] Types
- [ ] **T004** Ready (depends on T001)

## Phase 2: User Story 1 - Tickets (Priority: P1) 🎯 MVP
**Depends on**: US0

### Tests
- [ ] `T012` [P] [US1] Contract test in tests/a.py
- [ ] T005a [P] [US1] Model with a long text that
  is wrapped over lines — depends on
  T001–T003, and T012
- [ ] ~~T006 dropped~~
- [ ] T007 [US1] Service (depends on T006, T005a)
- [ ] all tests pass

## Phase N: Polish
- [ ] T020 [P] Docs

## Dependencies
- T001 before T002
```
- [ ] T099 in a fence
```
";
    let imported = spec_kit(text).unwrap();
    assert_eq!(
        lines(&imported),
        [
            "T001[x] Create the project < ",
            "T002[x] Lint in `setup.cfg` < T001",
            "T003[ ] Types < T001",
            "T004[ ] Ready < T001 T002 T003",
            "T012[ ] Contract test in tests/a.py < ",
            "T005a[ ] Model with a long text that is wrapped over lines < T001 T002 T003 T012",
            "T007[ ] Service < T005a T012",
            "T020[ ] Docs < ",
        ]
    );
    let phases: Vec<u32> = read_back(&imported)
        .tasks
        .iter()
        .map(|it| it.phase)
        .collect();
    assert_eq!(phases, [1, 1, 1, 1, 2, 2, 2, 3]);
    let deleted = Unplaced::Deleted { id: "T006".into() };
    let check = Unplaced::LineWithoutId {
        line: 22,
        text: "all tests pass".into(),
    };
    has_told(&imported, &[deleted, check]);
}

#[test]
fn spec_kit_with_half_phases_stories_and_a_need_behind_its_own_order() {
    let text = "\
## Phase 3.1: Setup
- [ ] T001 a
## Phase 3.2: Tests
- [ ] T002 [US1] b (depends on T003)
- [ ] T003 [US1] c
## Phase 4: Story 2
**Depends on**: US1
- [ ] T004 [P] [US2] d
- [ ] T005 e depends on T900
";
    let imported = spec_kit(text).unwrap();
    assert_eq!(
        lines(&imported),
        [
            "T001[ ] a < ",
            "T002[ ] b < T003",
            "T003[ ] c < ",
            "T004[ ] d < T002 T003",
            "T005[ ] e depends on T900 < T004",
        ]
    );
    let file = read_back(&imported);
    assert_eq!((file.tasks[1].phase, file.tasks[1].section), (3, 2));
    let left = Unplaced::OrderLeftOut {
        id: "T003".into(),
        other: "T002".into(),
    };
    has_told(&imported, &[left]);
}

#[test]
fn backlog_with_front_matter_of_every_writing() {
    let page = |name: &str, text: &str| BacklogFile {
        name: name.into(),
        text: text.into(),
        completed: name.starts_with("done"),
    };
    let pages = [
        page(
            "a.md",
            "---\nid: task-10\ntitle: 'Ten: ten'\nstatus: Done\nassignee:\n  - '@kim'\n  - '@lee'\nlabels: [x]\ndependencies: []\n---\n\n## Description\n\n- [ ] #1 T1.1: not a task\n",
        ),
        page(
            "b.md",
            "---\r\nid: task-2\r\ntitle: >-\r\n  A long\r\n  title\r\nstatus: Shipped\r\ndependencies:\r\n  - TASK-10\r\n  - 7\r\n---\r\n",
        ),
        page(
            "c.md",
            "---\nid: task-2.1\ntitle: Part\nstatus: In Progress\nparent_task_id: task-2\n---\n",
        ),
        page(
            "done-d.md",
            "---\nid: task-7\ntitle: Seven\nstatus: To Do\ndependencies: [task-99]\n---\n",
        ),
        page("e.md", "# no front matter\n"),
    ];
    let config = "project_name: \"Ferry\"\nstatuses: [\"To Do\", \"In Progress\", \"Shipped\"]\n";
    let imported = import_backlog(&pages, Some(config)).unwrap();
    assert_eq!(imported.project.as_deref(), Some("Ferry"));
    assert_eq!(
        lines(&imported),
        [
            "task-2[x] A long title < task-10 task-2.1 task-7",
            "task-2.1[/] Part < task-10 task-7",
            "task-7[x] Seven < ",
            "task-10[x] Ten: ten < ",
        ]
    );
    assert_eq!(
        read_back(&imported).tasks[3].assignee.as_deref(),
        Some("kim + lee")
    );
    has_told(
        &imported,
        &[
            Unplaced::FileUnread {
                name: "e.md".into(),
            },
            Unplaced::NothingNeeded {
                id: "task-7".into(),
                other: "task-99".into(),
            },
            Unplaced::DoneWithOpenParts {
                id: "task-2".into(),
                open: 1,
            },
        ],
    );
}

#[test]
fn titles_that_would_be_read_as_something_else_are_kept_whole() {
    let titles = [
        "Title ✅",
        "Title (완료)",
        "Wire it — backend-specialist",
        "After (depends on T1)",
        "a ← T1",
        "[x] T1.2: another",
        "",
        "Phase 2: no phase",
        "~ 7",
        "`x`",
        "**bold** #",
        "담당: kim",
    ];
    for title in titles {
        let imported = PlanImport {
            project: Some("Phase 1: x".into()),
            preface: "### [ ] T9.9: no task".into(),
            phases: vec![ImportedPhase {
                number: 1,
                section: 0,
                title: "완료 조건".into(),
            }],
            tasks: vec![ImportedTask {
                id: TaskId::new("T1").unwrap(),
                phase: 0,
                title: title.into(),
                progress: TaskProgress::Open,
                assignee: Some("none".into()),
                needs: Vec::new(),
                text: "- [ ] T2: no task\n~~~\n의존: T9".into(),
            }],
            unplaced: Vec::new(),
        };
        let file = read_back(&imported);
        let (text, _) = write_plan(&imported).unwrap();
        assert!(text.contains(title), "{title} is lost:\n{text}");
        assert_eq!(file.tasks.len(), 1);
    }
}

#[test]
fn a_title_is_made_no_plainer_than_it_has_to_be() {
    let json = r#"{"tasks":[{"id":1,"title":"Wire it — backend-specialist","status":"pending"}]}"#;
    let file = read_back(&task_master(json, None).unwrap());
    assert_eq!(file.tasks[0].title, "Wire it backend specialist");
    assert_eq!(file.tasks[0].assignee, None);
}
