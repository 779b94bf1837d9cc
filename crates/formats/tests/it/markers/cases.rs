//! The grammar, case by case: what is written, and what comes out.

use super::{parse, parse_chunks, render_all};

/// `input` gives `expected`, whole, byte by byte, and with CRLF line ends.
#[track_caller]
fn check_nonce(nonce: Option<&str>, input: &str, expected: &[&str]) {
    let whole = parse(input.as_bytes(), nonce);
    assert_eq!(render_all(&whole), expected, "input:\n{input}");
    assert_eq!(
        parse_chunks(input.as_bytes().chunks(1), nonce),
        whole,
        "byte by byte:\n{input}"
    );
    let crlf = input.replace('\n', "\r\n");
    assert_eq!(
        render_all(&parse(crlf.as_bytes(), nonce)),
        expected,
        "with CRLF:\n{input}"
    );
}

#[track_caller]
fn check(input: &str, expected: &[&str]) {
    check_nonce(None, input, expected);
}

#[test]
fn phase_complete_alone_has_a_default_name() {
    check("=== PHASE 3 COMPLETE ===\n", &[r#"phase 3 "Phase 3" []"#]);
    check("=== PHASE 3 COMPLETE ===", &[r#"phase 3 "Phase 3" []"#]);
    check(
        "=== PHASE 3 COMPLETE ===  \n\n",
        &[r#"phase 3 "Phase 3" []"#],
    );
}

#[test]
fn phase_complete_takes_name_and_list() {
    check(
        "=== PHASE 1 COMPLETE ===\nCompleted: Phase 1 (Outline)\nDocuments created:\n- docs/one.md\n- docs/two.md\n\nReady for review.\n",
        &[r#"phase 1 "Outline" ["docs/one.md", "docs/two.md"]"#],
    );
    check(
        "=== PHASE 2 COMPLETE ===\nPhase: Sketch\nfiles created:\n  a b.yaml\n  - `src/main.rs`\n* Makefile.in\n- all tests pass\n- z.TXT\n",
        &[r#"phase 2 "Sketch" ["a b.yaml", "src/main.rs", "Makefile.in", "z.TXT"]"#],
    );
    check(
        "=== PHASE 2 COMPLETE ===\ncompleted: phase 2 ( Draft (v2) )\nFiles created: notes.md\n",
        &[r#"phase 2 "Draft (v2" ["notes.md"]"#],
    );
}

#[test]
fn a_list_ends_where_it_should() {
    let one = r#"phase 1 "Phase 1" ["a.md"]"#;
    check("=== PHASE 1 COMPLETE ===\n- a.md\n\n- b.md\n", &[one]);
    check(
        "=== PHASE 1 COMPLETE ===\n- a.md\nReady for review\n- b.md\n",
        &[one],
    );
    check(
        "=== PHASE 1 COMPLETE ===\n- a.md\n=== next ===\n- b.md\n",
        &[one],
    );
    check(
        "=== PHASE 1 COMPLETE ===\n- a.md\nNow I wait\n- b.md\n",
        &[one],
    );
    check("=== PHASE 1 COMPLETE ===\n- a.md\n---\n- b.md\n", &[one]);
    check(
        "=== PHASE 1 COMPLETE ===\n- a.md\nStep 1/2: write b.md\n",
        &[one, r#"step 1/2 "write b.md""#],
    );
    check(
        "=== PHASE 1 COMPLETE ===\n- a.md\n```b.md\n=== PHASE 2 COMPLETE ===\n```\n",
        &[one],
    );
    check(
        "=== PHASE 1 COMPLETE ===\n- a.md\n=== PHASE 2 COMPLETE ===\n- b.md\n",
        &[one, r#"phase 2 "Phase 2" ["b.md"]"#],
    );
    check(
        "=== PHASE 1 COMPLETE ===\n- a.md\n[ERROR] type: fatal, message: lost b.md\n",
        &[one, r#"error fatal "lost b.md" None checkpoint_and_fail"#],
    );
}

#[test]
fn only_the_exact_spelling_at_the_start_of_a_line_is_a_marker() {
    for text in [
        " === PHASE 1 COMPLETE ===",
        "x === PHASE 1 COMPLETE ===",
        "=== PHASE one COMPLETE ===",
        "=== PHASE 1 COMPLETE === or so",
        "=== Phase 1 complete ===",
        "=== PHASE 1 COMPLETE soon ===",
        "==== PHASE 1 COMPLETE ===",
        "=== PHASE 1 DONE ===",
        "=== CUSTOM TASK ===",
        " [ERROR] type: fatal",
        "[ERROR] cannot connect: timeout",
        "[ERROR]: type: fatal",
        "[ ERROR ] type: fatal",
        "[ERROR code=3] type: fatal",
        "[ERRORS] type: fatal",
        "[error] type: fatal",
        "[/ERROR]",
        "[]",
        "[",
        "Step one: begin",
        "Step 1/2",
        "Step 1/2: ",
        " Step 1/2: begin",
        "Step 99999999999/2: begin",
        "Starting Phase 2",
        "starting Phase 2: begin",
        "",
    ] {
        check(&format!("{text}\n"), &[]);
    }
}

#[test]
fn progress_lines() {
    check("Step 3/9: personas\n", &[r#"step 3/9 "personas""#]);
    check("Step 3 of 9: personas \n", &[r#"step 3/9 "personas""#]);
    check("Starting Phase 2: Design\n", &[r#"starting 2 "Design""#]);
}

#[test]
fn custom_complete() {
    check("=== CUSTOM TASK COMPLETE ===\n", &["custom None None"]);
    check(
        "=== CUSTOM TASK COMPLETE ===\nTask: tidy up\nSummary: moved files\n  and renamed two\nBye.\n",
        &[r#"custom Some("tidy up") Some("moved files\nand renamed two")"#],
    );
    check(
        "=== CUSTOM TASK COMPLETE ===\n  not a value\nTask: late\n",
        &["custom None None"],
    );
}

#[test]
fn dependency_request() {
    check(
        "[DEPENDENCY_REQUEST]\ntype: api_key\nname: MAPS_KEY\ndescription: for the map\nrequired: true\n[/DEPENDENCY_REQUEST]\n",
        &[r#"need api_key "MAPS_KEY" "for the map" required=true default=None"#],
    );
    check(
        "[DEPENDENCY_REQUEST]\nTYPE:Service\nName:   db\nDescription: where name: is\n  not this name: x\nREQUIRED: False\ndefault: http://localhost\ncolour: blue\n  and more\n[/DEPENDENCY_REQUEST]\n",
        &[
            r#"need service "db" "where name: is\nnot this name: x" required=false default=Some("http://localhost")"#,
        ],
    );
}

#[test]
fn malformed_blocks_say_what_is_wrong() {
    for (body, problem) in [
        (
            "name: A\ndescription: d\nrequired: true\n",
            "missing required field 'type'",
        ),
        (
            "type: file\nname:\ndescription: d\nrequired: true\n",
            "missing required field 'name'",
        ),
        (
            "type: magic\nname: A\ndescription: d\nrequired: true\n",
            "field 'type' must be one of api_key, env_variable, service, file, permission, package, not 'magic'",
        ),
        (
            "type: file\nname: A\ndescription: d\nrequired: maybe\n",
            "field 'required' must be one of true, false, not 'maybe'",
        ),
        ("", "missing required field 'type'"),
    ] {
        check(
            &format!("[DEPENDENCY_REQUEST]\n{body}[/DEPENDENCY_REQUEST]\n"),
            &[&format!("malformed DEPENDENCY_REQUEST {problem}")],
        );
    }
}

#[test]
fn questions_and_their_options() {
    let expected =
        |options: &str| format!("ask choice \"Which?\" {options} required=true default=None");
    for (written, options) in [
        (
            "options:\n  - red\n  - \"dark blue\"\n",
            r#"["red", "dark blue"]"#,
        ),
        ("options:\n- red\n* blue\n", r#"["red", "blue"]"#),
        (
            "options: [red, 'dark blue', green]\n",
            r#"["red", "dark blue", "green"]"#,
        ),
        ("options: [\"a, b\", \"c\"]\n", r#"["a, b", "c"]"#),
        (
            "options:\n  - a long\n    option\n  - b\\nc\n",
            r#"["a long option", "b\nc"]"#,
        ),
    ] {
        check(
            &format!(
                "[USER_QUESTION]\ncategory: choice\nquestion: Which?\n{written}required: true\n[/USER_QUESTION]\n"
            ),
            &[&expected(options)],
        );
    }
    check(
        "[USER_QUESTION]\ncategory: choice\nquestion: Which?\nrequired: true\n[/USER_QUESTION]\n",
        &["malformed USER_QUESTION missing required field 'options'"],
    );
    check(
        "[USER_QUESTION]\ncategory: choice\nquestion: Which?\noptions: red or blue\nrequired: true\n[/USER_QUESTION]\n",
        &[
            "malformed USER_QUESTION field 'options' must be a list of '- item' lines or [a, b, c], not 'red or blue'",
        ],
    );
    check(
        "[USER_QUESTION]\ncategory: technical\nquestion: q\nrequired: true\n[/USER_QUESTION]\n",
        &[
            "malformed USER_QUESTION field 'category' must be one of business, clarification, choice, confirmation, not 'technical'",
        ],
    );
}

#[test]
fn values_of_several_lines() {
    check(
        "[USER_QUESTION]\ncategory: business\nquestion:\n    Two ways:\n      1. left\n\n    Which\none, see\nhttps://example.org/x\nrequired: false\ndefault: a\\nb, C:\\\\new, \\d\n[/USER_QUESTION]\n",
        &[
            r#"ask business "Two ways:\n  1. left\n\nWhich\none, see\nhttps://example.org/x" [] required=false default=Some("a\nb, C:\\new, \\d")"#,
        ],
    );
}

#[test]
fn errors_in_every_form() {
    check(
        "[ERROR]\ntype: recoverable\nmessage: limit reached\ndetails: 429\nrecovery: pause_and_retry\nretry_after: 90\n[/ERROR]\n",
        &[r#"error recoverable "limit reached" Some("429") pause_and_retry retry_after=90"#],
    );
    check(
        "[ERROR] type: recoverable, recovery: pause_and_retry\n",
        &[r#"error recoverable "" None pause_and_retry"#],
    );
    check(
        "[ERROR] type: fatal\n",
        &[r#"error fatal "" None checkpoint_and_fail"#],
    );
    check(
        "[ERROR] type: recoverable\n",
        &[r#"error recoverable "" None pause_and_retry"#],
    );
    check(
        "[ERROR] type: fatal, message: disk full, really, recovery: notify_user [/ERROR]\n",
        &[r#"error fatal "disk full, really" None notify_user"#],
    );
    check(
        "[ERROR] type: recoverable, reset_at: 2031-04-05T06:07:08Z\n[ERROR] type: recoverable, retry_after: 1900000000\n",
        &[
            r#"error recoverable "" None pause_and_retry reset_at=2031-04-05T06:07:08Z"#,
            r#"error recoverable "" None pause_and_retry reset_at=2030-03-17T17:46:40Z"#,
        ],
    );
    check(
        "[ERROR]\ntype: fatal\nmessage: m\n[/ERROR]\n[ERROR]\ntype: fatal\nrecovery: notify_user\n[/ERROR]\n",
        &[
            "malformed ERROR missing required field 'recovery'",
            "malformed ERROR missing required field 'message'",
        ],
    );
    check(
        "[ERROR] message: no type\n[ERROR] type: fatal, retry_after: soon\n[ERROR] type: fatal, reset_at: noon\n[ERROR] type: fatal, retry_after: 18446744073709551615\n",
        &[
            "malformed ERROR missing required field 'type'",
            "malformed ERROR field 'retry_after' must be a whole number of seconds, not 'soon'",
            "malformed ERROR field 'reset_at' must be a time such as 2031-04-05T06:07:08Z, not 'noon'",
            "malformed ERROR field 'retry_after' must be a whole number of seconds, not '18446744073709551615'",
        ],
    );
}

#[test]
fn json_form() {
    check(
        "[USER_QUESTION_JSON]\n{\n  \"Category\": \"choice\",\n  \"question\": \"Left\\r\\nor right?\",\n  \"options\": [\"left\", 2, true],\n  \"required\": true,\n  \"default\": null, \"extra\": {}\n}\n[/USER_QUESTION_JSON]\n",
        &[r#"ask choice "Left\nor right?" ["left", "2", "true"] required=true default=None"#],
    );
    check(
        "[ERROR_JSON] {\"type\":\"fatal\",\"message\":\"a\\\\nb\",\"details\":{\"k\":[1]},\"recovery\":\"notify_user\"} [/ERROR_JSON]\n",
        &[r#"error fatal "a\\nb" Some("{\"k\":[1]}") notify_user"#],
    );
    check(
        "[DEPENDENCY_REQUEST_JSON] {\"type\":\"file\",\"name\":\"n\",\n\"description\":\"d\",\"required\":false}\n[/DEPENDENCY_REQUEST]\n",
        &[r#"need file "n" "d" required=false default=None"#],
    );
    check(
        "[ERROR_JSON]\n{\"type\": }\n[/ERROR_JSON]\n",
        &["malformed ERROR has invalid JSON: expected value at line 1 column 10"],
    );
    check(
        "[ERROR_JSON]\n[1]\n[/ERROR_JSON]\n",
        &[
            "malformed ERROR has invalid JSON: invalid type: sequence, expected a map at line 1 column 0",
        ],
    );
}

#[test]
fn an_open_block_ends_at_the_next_marker_or_the_end() {
    check(
        "[ERROR]\ntype: fatal\n=== PHASE 1 COMPLETE ===\n",
        &[
            "malformed ERROR is not closed before === PHASE N COMPLETE ===",
            r#"phase 1 "Phase 1" []"#,
        ],
    );
    check(
        "[USER_QUESTION]\nquestion: a\n[ERROR] type: fatal\n[/USER_QUESTION]\n",
        &[
            "malformed USER_QUESTION is not closed before [ERROR]",
            r#"error fatal "" None checkpoint_and_fail"#,
        ],
    );
    check(
        "[USER_QUESTION]\nquestion: a\nStep 1/2: swallowed\n[/ERROR]\n",
        &["malformed USER_QUESTION is not closed before the end of the output"],
    );
}

#[test]
fn nothing_counts_inside_a_code_fence() {
    let marker = "=== PHASE 1 COMPLETE ===\n[ERROR] type: fatal\nStep 1/2: x\n";
    for (open, close) in [
        ("```", "```"),
        ("```text with info", "```"),
        ("   ~~~", "~~~~~  "),
        ("````", "````"),
        ("~~~ with ` inside", "~~~"),
    ] {
        check(
            &format!("{open}\n{marker}{close}\nStep 2/2: after\n"),
            &[r#"step 2/2 "after""#],
        );
    }
    for (open, not_close) in [
        ("````", "```"),
        ("```", "~~~"),
        ("```", "``` x"),
        ("```", "    ```"),
    ] {
        check(&format!("{open}\n{marker}{not_close}\n{marker}"), &[]);
    }
    for not_open in ["``", "    ```", "```a`b", "x```", "\t```"] {
        check(&format!("{not_open}\nStep 1/2: x\n"), &[r#"step 1/2 "x""#]);
    }
}

#[test]
fn a_fence_inside_a_block_is_text() {
    check(
        "[ERROR]\ntype: fatal\nmessage: see\n  ```\n  x\n  ```\nrecovery: notify_user\n[/ERROR]\n",
        &[r#"error fatal "see\n```\nx\n```" None notify_user"#],
    );
}

#[test]
fn verification_result() {
    let passed = r#"verified ["P1:passed None None []"]"#;
    let json = "{\"criteria\":[{\"id\":\"P1\",\"status\":\"passed\"}]}";
    for text in [
        format!("{json}\n"),
        format!("\n```json\n{json}\n```\n"),
        format!("~~~\n\n  {json} and words\n~~~\n"),
        "{\n\"criteria\": [\n{\"id\": \"P1\",\n\"status\": \"passed\"}\n]\n}\n".to_owned(),
    ] {
        check(
            &format!("=== VERIFICATION_RESULT ===\n{text}Step 1/1: on\n"),
            &[passed, r#"step 1/1 "on""#],
        );
    }
    check(
        "=== VERIFICATION_RESULT ===\n{\"criteria\":[{\"id\":\"A\",\"status\":\"failed\",\"details\":\"a } \\\" {\",\"suggestion\":\"s\",\"affectedDocuments\":[\"d.md\",\"\"],\"x\":1}]}\n",
        &[r#"verified ["A:failed Some(\"a } \\\" {\") Some(\"s\") [\"d.md\"]"]"#],
    );
    for (text, problem) in [
        (
            "all is well\n",
            "has invalid JSON: no object follows the marker",
        ),
        (
            "```\nall is well\n```\n",
            "has invalid JSON: no object follows the marker",
        ),
        (
            "{\"criteria\": [\n",
            "is not closed before the end of the output",
        ),
        (
            "```\n{\n```\n",
            "is not closed before the end of its code fence",
        ),
        (
            "{\n[ERROR] details\n[ERROR]\n[/ERROR]",
            "is not closed before [ERROR]",
        ),
        ("{}\n", "missing required field 'criteria'"),
        (
            "{\"criteria\":[{\"status\":\"passed\"}]}\n",
            "missing required field 'id'",
        ),
        (
            "{\"criteria\":[{\"id\":\"A\",\"status\":\"ok\"}]}\n",
            "field 'status' must be passed or failed, not 'ok'",
        ),
        (
            "{nonsense}\n",
            "has invalid JSON: key must be a string at line 1 column 2",
        ),
    ] {
        let events = parse(
            format!("=== VERIFICATION_RESULT ===\n{text}").as_bytes(),
            None,
        );
        assert_eq!(
            render_all(&events)[0],
            format!("malformed VERIFICATION_RESULT {problem}"),
            "{text}"
        );
    }
}

#[test]
fn the_nonce_decides_once_it_was_used() {
    let plain = "=== PHASE 1 COMPLETE ===\n";
    let ours = "=== PHASE 2 COMPLETE nonce=k7 ===\n";
    let phase = |n: u32| format!("phase {n} \"Phase {n}\" []");
    check_nonce(Some("k7"), plain, &[&phase(1)]);
    check_nonce(
        Some("k7"),
        &format!(
            "{plain}{ours}{plain}[ERROR] type: fatal\n[ERROR nonce=k7] type: fatal\nStep 1/2: x\n"
        ),
        &[
            &phase(1),
            &phase(2),
            "ignored PHASE_COMPLETE NonceMissing",
            "ignored ERROR NonceMissing",
            r#"error fatal "" None checkpoint_and_fail"#,
            r#"step 1/2 "x""#,
        ],
    );
    check_nonce(
        Some("k7"),
        "[USER_QUESTION nonce=k8]\nquestion: a\n[/USER_QUESTION]\n[ERROR nonce=] type: fatal\n",
        &[
            "ignored USER_QUESTION NonceWrong",
            "ignored ERROR NonceWrong",
        ],
    );
    // What does not count cannot cut a message short either.
    check_nonce(
        Some("k7"),
        "[ERROR nonce=k7]\ntype: fatal\nmessage: quoted\n=== PHASE 1 COMPLETE ===\nrecovery: notify_user\n[/ERROR nonce=k7]\n",
        &[r#"error fatal "quoted\n=== PHASE 1 COMPLETE ===" None notify_user"#],
    );
    check_nonce(
        None,
        "=== PHASE 1 COMPLETE nonce=any ===\n=== PHASE 2 COMPLETE ===\n",
        &[&phase(1), &phase(2)],
    );
    check_nonce(
        Some("k7"),
        "[USER_QUESTION_JSON nonce=k7]\n{}\n[/USER_QUESTION_JSON]\n",
        &["malformed USER_QUESTION missing required field 'category'"],
    );
}

#[test]
fn a_phase_number_out_of_range_is_malformed() {
    for number in ["0", "4294967296"] {
        check(
            &format!("=== PHASE {number} COMPLETE ===\n"),
            &[&format!(
                "malformed PHASE_COMPLETE field 'phase' must be a number from 1 to 4294967295, not '=== PHASE {number} COMPLETE ==='"
            )],
        );
    }
}

#[test]
fn text_is_normalised_to_nfc() {
    check("Step 1/2: cafe\u{301}\n", &["step 1/2 \"caf\u{e9}\""]);
    check(
        "[ERROR] type: fatal, message: \u{1112}\u{1161}\u{11ab}\n",
        &["error fatal \"\u{d55c}\" None checkpoint_and_fail"],
    );
}

#[test]
fn bytes_that_are_not_utf8_are_replaced() {
    let events = parse(
        b"\xff\xfe\n[ERROR]\ntype: fatal\nmessage: a\xff\nrecovery: notify_user\xe2\x82\n[/ERROR]\nStep 1/2: \x80\n",
        None,
    );
    assert_eq!(
        render_all(&events),
        [
            "malformed ERROR field 'recovery' must be one of pause_and_retry, checkpoint_and_fail, notify_user, not 'notify_user\u{fffd}'",
            "step 1/2 \"\u{fffd}\"",
        ]
    );
}

#[test]
fn only_the_whole_closing_tag_closes() {
    for not_closing in [
        "[/ERRORnonce=k7]",
        "[/ERROR x]",
        "[/ERRORS]",
        " [/ERROR]",
        "[/ERROR",
    ] {
        check(
            &format!("[ERROR]\ntype: fatal\n{not_closing}\n"),
            &["malformed ERROR is not closed before the end of the output"],
        );
    }
}

#[test]
fn the_end_of_the_output_ends_a_fence() {
    let mut parser = bowline_formats::markers::MarkerParser::new(super::options(None));
    let mut events = Vec::new();
    parser.push(b"```\nStep 1/2: quoted\n", &mut |event| events.push(event));
    parser.finish(&mut |event| events.push(event));
    parser.push(b"Step 2/2: said\n", &mut |event| events.push(event));
    assert_eq!(render_all(&events), [r#"step 2/2 "said""#]);
}
