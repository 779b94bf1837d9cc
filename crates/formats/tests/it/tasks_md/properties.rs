//! What holds for every text, and for files of every size.

use std::collections::HashSet;
use std::fmt::Write as _;

use bowline_formats::tasks_md::{TasksFile, parse_plan, set_tick};
use proptest::prelude::*;

/// Pieces that meet the parser's special cases far more often than random characters do.
fn fragment() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "# ",
            "### ",
            "## Phase 1: ",
            "### [ ] ",
            "- [x] ",
            "[ ]",
            "[",
            "]",
            "Phase 2, ",
            "T1.1",
            "T1.2",
            "T0.5.2",
            "P1-R2-T3",
            ": ",
            "：",
            "**의존성**: ",
            "- depends on:",
            "**담당**",
            "**",
            "병렬: ",
            ", ",
            "(",
            ")",
            "~",
            "-->",
            "-.",
            "==",
            "--",
            "|",
            "&",
            ";",
            "```mermaid\n",
            "```",
            "graph TD\n",
            "<!--",
            "\n",
            "\r\n",
            "\t",
            "  ",
            "와",
            "T",
            "1",
            ".",
            "-",
            "\"",
            "{",
            "}",
            "@{",
            ">",
            "없음",
            "\u{feff}",
            "x",
        ])
        .prop_map(str::to_owned),
        any::<char>().prop_map(String::from),
    ]
}

/// A header with a good chance to be one.
fn header() -> impl Strategy<Value = String> {
    (
        prop::sample::select(vec![
            "### [ ] ", "- [x] ", "### ", "## [X] ", "  * [-] ", "[ ] ", "- [\t] ",
        ]),
        prop::sample::select(vec!["", "Phase 1, ", "phase 2 ", "**"]),
        prop::sample::select(vec![
            "T1.1",
            "T1.2",
            "T0.5.2",
            "P1-R2-T3",
            "setup",
            "로그인",
        ]),
        prop::sample::select(vec![": ", "：", " - ", " ", "**: ", ""]),
        fragment(),
    )
        .prop_map(|(opener, phase, id, separator, title)| {
            format!("\n{opener}{phase}{id}{separator}{title}\n")
        })
}

fn soup() -> impl Strategy<Value = String> {
    prop::collection::vec(prop_oneof![4 => fragment(), 1 => header()], 0..60)
        .prop_map(|parts| parts.concat())
}

/// What holds for any file.
fn check_sound(text: &str, file: &TasksFile) {
    let ids: HashSet<&str> = file.tasks.iter().map(|task| task.id.as_str()).collect();
    assert_eq!(ids.len(), file.tasks.len(), "ids are unique");
    for task in &file.tasks {
        assert!(
            text.get(task.body.clone()).is_some(),
            "the body is a part of the text"
        );
        let id = task.id.as_str();
        let counted = id.trim_end_matches(|c: char| c.is_ascii_digit());
        let in_range = text.contains(counted) && text.contains(['~', '-', '–', '.']);
        assert!(text.contains(id) || in_range, "{id} is made up");
        for mark in &task.marks {
            assert!(text.get(mark.at.clone()).is_some());
        }
    }
}

#[derive(Clone, Debug)]
struct Model {
    title: String,
    done: bool,
    list: bool,
    english: bool,
    assignee: Option<String>,
    needs: Vec<prop::sample::Index>,
}

fn model() -> impl Strategy<Value = Vec<Model>> {
    let task = (
        "[가-힣a-zA-Z]{1,6}( [가-힣a-z0-9!?]{1,5}){0,2}",
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        prop::option::of("[a-z]{4,8}-specialist"),
        prop::collection::vec(any::<prop::sample::Index>(), 0..4),
    );
    let task = task.prop_map(|(title, done, list, english, assignee, needs)| Model {
        title,
        done,
        list,
        english,
        assignee,
        needs,
    });
    prop::collection::vec(task, 1..12)
}

/// Writes tasks `T1.1`, `T1.2`, … and says which ids each needs.
fn print(models: &[Model]) -> (String, Vec<Vec<String>>) {
    let mut text = String::from("# TASKS: generated\n\n## Phase 1: one\n");
    let mut all_needs = Vec::new();
    for (at, model) in models.iter().enumerate() {
        let opener = if model.list { "-" } else { "###" };
        let mark = if model.done { 'x' } else { ' ' };
        writeln!(text, "{opener} [{mark}] T1.{}: {}", at + 1, model.title).unwrap();
        let (who, what) = if model.english {
            ("Assignee", "Depends on")
        } else {
            ("담당", "의존성")
        };
        if let Some(assignee) = &model.assignee {
            writeln!(text, "  - **{who}**: {assignee}").unwrap();
        }
        let mut needs: Vec<String> = Vec::new();
        for index in &model.needs {
            let id = format!("T1.{}", index.index(models.len()) + 1);
            if !needs.contains(&id) {
                needs.push(id);
            }
        }
        if !needs.is_empty() {
            writeln!(text, "  - **{what}**: {} (remark, T9.9)", needs.join(", ")).unwrap();
        }
        all_needs.push(needs);
    }
    (text, all_needs)
}

/// The file without what depends on the width of a line end.
fn without_offsets(mut file: TasksFile) -> TasksFile {
    for task in &mut file.tasks {
        task.marks.iter_mut().for_each(|mark| mark.at = 0..0);
        task.body = 0..0;
    }
    file
}

proptest! {
    #[test]
    fn any_text_is_read_without_a_panic(text in any::<String>()) {
        check_sound(&text, &parse_plan(&text));
    }

    #[test]
    fn any_soup_of_fragments_is_read_soundly(text in soup()) {
        check_sound(&text, &parse_plan(&text));
    }

    #[test]
    fn a_tick_changes_one_byte_and_one_task(text in soup(), done in any::<bool>()) {
        let file = parse_plan(&text);
        for task in file.tasks.iter().filter(|task| !task.marks.is_empty()) {
            let changed = set_tick(&text, task.id.as_str(), done).unwrap();
            let same = text.bytes().zip(changed.bytes()).take_while(|(old, new)| old == new).count();
            prop_assert_eq!(task.done == done, changed == text);
            if task.done != done && task.marks.len() == 1 {
                // What is not the mark stays: before it, and behind it.
                let mark = &task.marks[0].at;
                prop_assert!(same >= mark.start);
                prop_assert!(changed.ends_with(&text[mark.end..]));
            }
            let again = parse_plan(&changed);
            prop_assert_eq!(again.task(task.id.as_str()).unwrap().done, done);
            prop_assert_eq!(again.tasks.len(), file.tasks.len());
        }
    }

    #[test]
    fn line_ends_do_not_matter(text in soup()) {
        let unix = text.replace('\r', "");
        let dos = unix.replace('\n', "\r\n");
        prop_assert_eq!(without_offsets(parse_plan(&dos)), without_offsets(parse_plan(&unix)));
    }

    #[test]
    fn a_generated_file_is_read_as_it_was_meant(models in model()) {
        let (text, needs) = print(&models);
        let file = parse_plan(&text);
        prop_assert_eq!(file.tasks.len(), models.len());
        for ((task, model), needs) in file.tasks.iter().zip(&models).zip(&needs) {
            prop_assert_eq!(&task.title, &model.title);
            prop_assert_eq!(task.done, model.done);
            prop_assert_eq!(&task.assignee, &model.assignee);
            let read: Vec<&str> = task.dependencies.iter().map(|id| id.as_str()).collect();
            prop_assert_eq!(read, needs.iter().map(String::as_str).collect::<Vec<_>>());
        }
    }
}

#[test]
fn a_hundred_thousand_tasks_in_one_chain() {
    const TASKS: usize = 100_000;
    let mut text = String::from("# TASKS: chain\n## Phase 1: long\n### [ ] T1.0: first\n");
    for n in 1..TASKS {
        writeln!(
            text,
            "### [ ] Phase 1, T1.{n}: step\n**의존성**: T1.{}",
            n - 1
        )
        .unwrap();
    }
    let file = parse_plan(&text);
    assert_eq!((file.tasks.len(), file.findings.len()), (TASKS, 0));

    // Closed to one circle it is found without recursion, and its printed path is short.
    let closed = text.replacen(
        "T1.0: first\n",
        &format!("T1.0: first\n의존성: T1.{}\n", TASKS - 1),
        1,
    );
    let finding = parse_plan(&closed).blocking_finding().cloned().unwrap();
    assert_eq!(
        (finding.path.len(), finding.lines.len()),
        (TASKS + 1, TASKS)
    );
    assert!(finding.detail().len() < 500, "{}", finding.detail());
}

#[test]
fn hostile_shapes_stay_linear() {
    const REPEATS: usize = 200_000;
    // Each of these would take hours if a step looked at the rest of its line, or at all pairs.
    for line in [
        "**",
        "(",
        "[",
        "- ",
        "T1.1~",
        "#",
        "`",
        "T1.1 & ",
        "T1.1-",
        "A[;",
        "A>;",
        "A -. ;",
        "A --\" ;",
        "**담당**: x ",
        "T1....",
        "> ",
        "1. ",
        "<!--",
        "](",
        "(의존: ",
        "←",
        "T1.1~T1.2, ",
        "| a ",
    ] {
        let long = line.repeat(REPEATS);
        for text in [
            format!("### T1.1: a\n**의존성**: {long}"),
            format!("### T1.1: {long}"),
            format!("{long}\n### T1.1: a"),
            format!("- [ ] T1.1: a\n```mermaid\ngraph TD\n{long}T1.1 --> {long}T1.1\n```"),
        ] {
            assert!(parse_plan(&text).tasks.len() <= 1);
        }
    }
    let headings: String = (0..REPEATS).map(|n| format!("## Phase {n}: x\n")).collect();
    assert_eq!(parse_plan(&headings).phases.len(), REPEATS);
}
