//! Files and what is read from them.

use bowline_formats::tasks_md::wire::ResolveReply;
use bowline_formats::tasks_md::{
    CYCLES_REPORTED_MAX, PlanFindingCode, TaskId, parse_plan, title_slug,
};

use super::{check, join};

#[test]
fn korean_file_with_headings_fields_and_a_diagram() {
    check(
        "\
# TASKS: 동네 도서관

## Phase 0: 준비 (Setup)

### [x] Phase 0, T0.5.1: 저장소 만들기
**담당**: backend-specialist
**의존성**: 없음

### [X] Phase 0, T0.5.2: 계약 정하기
- **담당**: `test-specialist` (검토 포함)
- **의존**: T0.5.1 (T0.9 아님)

## Phase 1: 대출 Lending API

### [ ] Phase 1, T1.1: 책 목록
**담당자：** database-specialist
**의존성**：T0.5.2

### [ ] Phase 1, T1.2: 회원
- **병렬**: T1.1와 병렬 가능

### [ ] Phase 1, T1.3: 대출하기
- **담당**: backend-specialist, **의존**: T1.1, T1.2 완료 후
- [ ] 하위 점검 항목
- [ ] API: 문서 작성

```mermaid
graph TD
    T1.1[책 목록] --> T1.3
    T1.2 --> T1.3
```

```text
### [ ] Phase 9, T9.9: 예시일 뿐
```
",
        r#"
project 동네 도서관
3 phase 0 "준비 (Setup)" setup
13 phase 1 "대출 Lending API" lending-api
5 [x] 0/T0.5.1 저장소 만들기 @backend-specialist
9 [x] 0/T0.5.2 계약 정하기 @test-specialist <T0.5.1
15 [ ] 1/T1.1 책 목록 @database-specialist <T0.5.2
19 [ ] 1/T1.2 회원 =T1.1
22 [ ] 1/T1.3 대출하기 @backend-specialist <T1.1,T1.2
29 edge T1.1>T1.3
30 edge T1.2>T1.3
"#,
    );
}

#[test]
fn english_file_with_list_items() {
    check(
        "\
# Tide tables

## Phase 1 - Harbour data
- [x] T1.1: Read the gauge
  - **Owner**: @mara
- [ ] **T1.2**: Smooth the readings
  - **Depends on**: T1.1 (needs its files), T1.4
  - **Parallel**: none
* [ ] `T1.3` - Draw the curve
    - agent: painter
    - depends_on:
      - T1.2
      - T1.1 for the axis
    - notes: T1.4 is unrelated
1. [ ] T1.4 Publish

## Later
- [ ] T1.5 Paint the buoys
",
        r#"
project Tide tables
3 phase 1 "Harbour data" harbour-data
4 [x] 1/T1.1 Read the gauge @mara
6 [ ] 1/T1.2 Smooth the readings <T1.1,T1.4
9 [ ] 1/T1.3 Draw the curve @painter <T1.2,T1.1
15 [ ] 1/T1.4 Publish
18 [ ] 1/T1.5 Paint the buoys
"#,
    );
}

#[test]
fn every_header_form() {
    for (header, expected) in [
        ("### [ ] Phase 1, T1.1: 제목", "[ ] 1/T1.1 제목"),
        ("### [x] Phase 1 T1.1: 제목", "[x] 1/T1.1 제목"),
        ("### T1.3: 제목", "[ ] 1/T1.3 제목"),
        ("- [ ] T1.3: 제목", "[ ] 1/T1.3 제목"),
        ("### [x] T0.5.2: done", "[x] 0/T0.5.2 done"),
        (
            "#### [X]\tT2.10：\ttabs and full width   ",
            "[x] 2/T2.10 tabs and full width",
        ),
        ("[x] Phase 3, T3.1: bare", "[x] 3/T3.1 bare"),
        ("[ ] T4: whole number", "[ ] 4/T4 whole number"),
        ("###[ ] T1.1: no space", "[ ] 1/T1.1 no space"),
        ("### [] T1.1: empty box", "[ ] 1/T1.1 empty box"),
        ("### [ ] P1-R2-T3: resource", "[ ] 1/P1-R2-T3 resource"),
        ("- [x] P2-S1-V: verify", "[x] 2/P2-S1-V verify"),
        ("### [ ] P0-T0.1: setup", "[ ] 0/P0-T0.1 setup"),
        ("### [ ] AUTH-12: Login", "[ ] 12/AUTH-12 Login"),
        ("### [ ] Phase 2, AUTH-12: Login", "[ ] 2/AUTH-12 Login"),
        ("### [ ] **T1.1: bold** ###", "[ ] 1/T1.1 bold"),
        ("### **T1.1:** bold id", "[ ] 1/T1.1 bold id"),
        ("### [ ] T1.1:붙은 제목", "[ ] 1/T1.1 붙은 제목"),
        ("### T1.1 — dash", "[ ] 1/T1.1 dash"),
        ("  - [ ] T1.1.2: nested", "[ ] 1/T1.1.2 nested"),
    ] {
        let file = parse_plan(header);
        let found: Vec<String> = file
            .tasks
            .iter()
            .map(|task| {
                format!(
                    "[{}] {}/{} {}",
                    if task.done { 'x' } else { ' ' },
                    task.phase,
                    task.id,
                    task.title
                )
            })
            .collect();
        assert_eq!(found, [expected], "of {header:?}");
    }
}

#[test]
fn what_is_not_a_task() {
    for line in [
        "### [ ] login-form: an id needs a digit",
        "- [ ] lodging: neither here",
        "T1.1: prose",
        "- [ ] setup: no phase above",
        "- [x](T1.1): link",
        "[ ]: T1.1",
        "### API: docs",
        "    ### [ ] T1.1: code",
        "```\n### T1.1: in a fence\n```",
        "~~~~md\n### T1.1: in a fence\n~~~\n~~~~",
        "<!-- ### T1.1: hidden -->",
        "<!--\n### T1.1: hidden\n-->",
        "## Phases 1, T1.1: x",
        "### [ ] T1.1/2: slash",
        "### [ ] a..b: dots",
        "",
    ] {
        let file = parse_plan(line);
        assert_eq!(file.tasks, [], "of {line:?}");
        assert!(
            file.findings
                .iter()
                .any(|finding| finding.code == PlanFindingCode::ParseFail),
            "of {line:?}"
        );
    }
}

#[test]
fn words_with_a_digit_name_tasks_where_the_place_says_so() {
    check(
        "## Phase 1: x\n- [ ] T1.1: a\n- [ ] tests: green\n- [ ] WEB-7: b\n- [ ] WEB-8: c\n- [ ] UTF-8: d\n",
        "1 phase 1 \"x\" x\n2 [ ] 1/T1.1 a\n4 [ ] 1/WEB-7 b\n5 [ ] 1/WEB-8 c",
    );
}

#[test]
fn findings() {
    for (text, expected) in [
        ("# T", "1 Error PARSE_FAIL"),
        (
            "### T1.1: a\n### T1.1: b\n**의존성**: T9.9",
            "2 Error DUPLICATE_ID T1.1",
        ),
        (
            "### T1.1: a\n의존성: T1.0, T1.1.2",
            "2 Error MISSING_DEP T1.1,T1.0\n2 Error MISSING_DEP T1.1,T1.1.2",
        ),
        (
            "### T1.1: a\n- depends on: T1.1",
            "1 Error CIRCULAR_DEP T1.1,T1.1",
        ),
        (
            "### T1.1: a\n- depends on: T2.1\n### T2.1: b",
            "1 Error LATER_PHASE_DEP T1.1,T2.1",
        ),
        ("### T1.1: a\n### T4.1: b", "2 Warning PHASE_GAP"),
        ("### T2.1: a", "1 Warning PHASE_GAP"),
        (
            "## Phase 1: x\n### [ ] Phase 2, T1.1: a",
            "1 Warning EMPTY_PHASE\n2 Error WRONG_PHASE T1.1",
        ),
        (
            "## Phase 1: x\n### T2.1: a",
            "2 Warning PHASE_MISMATCH T2.1",
        ),
        ("### [ ] T1.1:", "1 Warning EMPTY_TITLE T1.1"),
        ("### T1.1: a\n### [ ] tidy up", "2 Warning UNREAD_HEADER"),
        (
            "### T1.1: a\n**의존성**: 서버 준비 완료",
            "2 Warning UNREAD_DEP T1.1",
        ),
        (
            "### T1.1: a\n### T1.2: b\n의존성: T1.1, db-schema",
            "3 Warning UNREAD_DEP T1.2",
        ),
        (
            "### T1.1: a\n병렬: T1.7과 함께",
            "2 Warning MISSING_PARALLEL T1.1,T1.7",
        ),
        ("### [-] T1.1: a", "1 Warning UNKNOWN_TICK T1.1"),
        ("### T1.1: a\n```\n### T1.2: b", "2 Warning UNCLOSED_BLOCK"),
        ("### T1.1: a\n<!--\n### T1.2: b", "2 Warning UNCLOSED_BLOCK"),
    ] {
        let file = parse_plan(text);
        let found: Vec<String> = file
            .findings
            .iter()
            .map(|finding| {
                format!(
                    "{} {:?} {} {}",
                    finding.line,
                    finding.severity,
                    finding.code.name(),
                    join(&finding.path)
                )
                .trim_end()
                .to_owned()
            })
            .collect();
        assert_eq!(found.join("\n"), expected, "of {text:?}");
    }
}

#[test]
fn fields_that_say_nothing_are_no_findings() {
    for value in [
        "없음",
        "없음 (첫 작업)",
        "-",
        "None",
        "none yet",
        "N/A",
        "해당 없음",
        "(없음)",
        "",
        "미정",
    ] {
        let file = parse_plan(&format!(
            "### T1.1: a\n**의존성**: {value}\n**담당**: {value}\n"
        ));
        assert_eq!(file.findings, [], "of {value:?}");
        assert_eq!(file.tasks[0].dependencies, [], "of {value:?}");
    }
}

#[test]
fn ids_in_values() {
    let head =
        "### [ ] T1.1: a\n### [ ] T1.2: b\n### [ ] P1-R2-T3: c\n### [ ] db-1: d\n### [ ] T1.9: e\n";
    for (value, expected) in [
        ("T1.1", "T1.1"),
        ("T1.1, T1.2", "T1.1,T1.2"),
        ("T1.1; T1.2 / P1-R2-T3", "T1.1,T1.2,P1-R2-T3"),
        ("T1.2 and T1.1.", "T1.2,T1.1"),
        ("`T1.1`, **T1.2**, [P1-R2-T3](#c)", "T1.1,T1.2,P1-R2-T3"),
        ("[T1.1, T1.2]", "T1.1,T1.2"),
        ("T1.1과 T1.2가 끝난 뒤, db-1도", "T1.1,T1.2,db-1"),
        ("T1.1 (T1.2 is not meant), db-1", "T1.1,db-1"),
        ("T1.1 (open, T1.2", "T1.1,T1.2"),
        ("T1.1、T1.2，T1.1", "T1.1,T1.2"),
        ("\n- T1.1\n- T1.2 (x)\n\n- db-1", "T1.1,T1.2,db-1"),
        ("\n- T1.1\ntext\n- T1.2", "T1.1,T1.2"),
        ("\n- T1.1\n- [ ] done", "T1.1"),
    ] {
        let file = parse_plan(&format!("{head}**Dependencies**: {value}\n"));
        assert_eq!(
            join(&file.task("T1.9").unwrap().dependencies),
            expected,
            "of {value:?}"
        );
        assert_eq!(file.findings, [], "of {value:?}");
    }
}

#[test]
fn a_circle_has_its_path_and_lines_and_a_wire_form() {
    let file = parse_plan(
        "### T1.1: a\n### T1.3: b\n의존성: T1.5\n### T1.4: c\n의존성: T1.3, T1.1\n### T1.5: d\n의존성: T1.4\n",
    );
    let finding = file.blocking_finding().unwrap();
    assert_eq!(finding.lines, [2, 6, 4]);
    assert_eq!(
        ResolveReply::from(finding).to_string(),
        "ERROR:CIRCULAR_DEP:T1.3->T1.5->T1.4->T1.3"
    );
    assert_eq!(
        finding.to_string(),
        "line 2: CIRCULAR_DEP: tasks need each other in a circle: T1.3->T1.5->T1.4->T1.3"
    );
}

#[test]
fn circles_are_reported_up_to_a_limit() {
    let text: String = (0..100)
        .map(|n| format!("- [ ] T1.{n}: a\n  - depends: T1.{n}\n"))
        .collect();
    assert_eq!(parse_plan(&text).findings.len(), CYCLES_REPORTED_MAX);
}

#[test]
fn bodies_end_where_the_next_thing_starts() {
    let text = "## Phase 1: x\n### T1.1: a\nfirst\n#### detail\nsecond\n### Notes\nthird\n### T1.2: b\nlast";
    let file = parse_plan(text);
    assert_eq!(
        &text[file.tasks[0].body.clone()],
        "first\n#### detail\nsecond\n"
    );
    assert_eq!(&text[file.tasks[1].body.clone()], "last");
}

#[test]
fn dependencies_are_explicit_ordered_and_unique() {
    let file = parse_plan(
        "## Phase 1: x\n### T1.1: a\n### T1.2: b\n### T1.3: c\n- 의존: T1.2, T1.1, T7.7\n### T2.1: d\n\
         ```mermaid\ngraph TD\nT1.1 --> T1.3\nT1.1 --> T1.2\n```\n",
    );
    let map: Vec<String> = file
        .dependencies()
        .map(|(id, needs)| {
            format!(
                "{id}:{}",
                needs
                    .iter()
                    .map(|id| id.as_str())
                    .collect::<Vec<_>>()
                    .join(",")
            )
        })
        .collect();
    assert_eq!(map, ["T1.2:T1.1", "T1.3:T1.2,T1.1"]);
}

#[test]
fn what_done_tasks_need_holds_nothing_where_it_could_not_be_met() {
    let open = |text: &str| -> String {
        let file = parse_plan(&format!("## Phase 0: x\n{text}"));
        assert_eq!(file.blocking_finding(), None, "{text}");
        let needs = file.open_dependencies().map(|(id, needs)| {
            let needs: Vec<&str> = needs.iter().map(|id| id.as_str()).collect();
            format!("{id}:{}", needs.join(","))
        });
        needs.collect::<Vec<_>>().join(" ")
    };
    for (text, needs) in [
        // What can be met stays, done or not.
        (
            "### [x] T0.1: a\n### [x] T0.2: b\n- 의존: T0.1\n### [ ] T0.3: c\n- 의존: T0.2\n",
            "T0.2:T0.1 T0.3:T0.2",
        ),
        // Of a circle the dependencies of done tasks on it go, and no others.
        (
            "### [x] T0.1: a\n### [x] T0.2: b\n- 의존: T0.1, T0.3\n### [ ] T0.3: c\n- 의존: T0.2\n",
            "T0.2:T0.1 T0.3:T0.2",
        ),
        ("### [x] T0.1: a\n- 의존: T0.1\n", ""),
        (
            "### [x] T0.1: a\n- 의존: T0.2\n### [x] T0.2: b\n- 의존: T0.1\n### [ ] T0.3: c\n- 의존: T0.1\n",
            "T0.3:T0.1",
        ),
        // Of a later phase.
        (
            "### [x] T0.1: a\n- 의존: T1.1\n### [ ] T0.2: b\n- 의존: T0.1, T1.2\n\
             ## Phase 1: y\n### [ ] T1.1: c\n### [x] T1.2: d\n",
            "T0.2:T0.1",
        ),
    ] {
        assert_eq!(open(text), needs, "{text}");
    }
}

#[test]
fn projects_and_slugs() {
    for (heading, expected) in [
        ("# TASKS: Harbour", Some("Harbour")),
        ("# Tasks： 항구", Some("항구")),
        ("# TASKS", None),
        ("# TASKS.md", None),
        ("# Tasks of the harbour", Some("Tasks of the harbour")),
        ("# Harbour #", Some("Harbour")),
        ("## Harbour", None),
        ("# One\n# Two", Some("One")),
    ] {
        assert_eq!(
            parse_plan(heading).project.as_deref(),
            expected,
            "of {heading:?}"
        );
    }
    for (title, expected) in [
        ("User Auth", "user-auth"),
        ("  --FastAPI + DB!! ", "fastapi-db"),
        ("사용자 인증", ""),
        ("사용자 Auth 인증", "auth"),
        ("", ""),
        ("../../etc", "etc"),
    ] {
        assert_eq!(title_slug(title), expected, "of {title:?}");
    }
    assert_eq!(title_slug(&"ab ".repeat(50)).len(), 47);

    let file = parse_plan(
        "## 🚀 Phase 1: Sea\n### T1.1: a\n## Phase 1.5: Land\n## 페이즈 2： Air\n### T2.1: b\n",
    );
    assert_eq!(
        [1, 2, 3].map(|number| file.phase_slug(number)),
        ["phase-1-sea", "phase-2-air", "phase-3"]
    );
    assert_eq!(file.phase_numbers(), [1, 2]);
}

#[test]
fn ids_are_one_safe_word() {
    for good in ["T1.1", "a", "로그인", "x_", "A-1.b_c"] {
        assert_eq!(TaskId::new(good).unwrap().as_str(), good);
    }
    let long = "a".repeat(65);
    for bad in [
        "", " a", "a b", "a:b", "a,b", "a|b", "a\n", "-a", "a-", ".a", "a..b", "a/b", &long,
    ] {
        assert_eq!(
            TaskId::new(bad).unwrap_err().code(),
            "bad_task_id",
            "of {bad:?}"
        );
    }
}
