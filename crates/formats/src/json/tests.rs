//! Every edit gives the wanted value and touches nothing else.
#![expect(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

use super::*;
use proptest::prelude::*;
use serde_json::json;

/// Edits `text` with `change` and compares the whole text.
#[track_caller]
fn check(text: &str, change: impl FnOnce(&mut Value), expected: &str) {
    let document = JsonDocument::from_text(text.to_owned()).unwrap();
    let mut target = document.value().clone();
    change(&mut target);
    let edited = document.reconcile(&target);
    assert_eq!(edited.text(), expected);
    assert!(values_equal(
        JsonDocument::from_text(expected.to_owned())
            .unwrap()
            .value(),
        &target
    ));
}

#[test]
fn a_changed_field_is_the_only_difference() {
    let text = "\u{feff}{\r\n\t\"score\" : 0.90,\r\n\t\"status\":\"pending\" ,\r\n\t\"사람\": \"\\u0041\"\r\n}\r\n\r\n";
    let expected = text.replace("pending", "done");
    check(text, |value| value["status"] = json!("done"), &expected);
    check(text, |value| value["score"] = json!(0.9), text);
}

#[test]
fn members_come_in_the_style_of_their_neighbours() {
    check(
        "{\n  \"a\": 1\n}\n",
        |v| v["b"] = json!([1, {"c": 2}]),
        "{\n  \"a\": 1,\n  \"b\": [\n    1,\n    {\n      \"c\": 2\n    }\n  ]\n}\n",
    );
    check(
        "{\"a\":1}",
        |v| v["b"] = json!([1, 2]),
        "{\"a\":1,\"b\":[1,2]}",
    );
    check(
        "{ \"a\": 1, \"b\": 2 }",
        |v| v["c"] = json!({"d": null}),
        "{ \"a\": 1, \"b\": 2, \"c\": {\"d\": null} }",
    );
    check(
        "{\n  \"cp\": { \"status\": \"pending\", \"iteration\": 0 }\n}",
        |v| v["cp"]["error"] = json!(null),
        "{\n  \"cp\": { \"status\": \"pending\", \"iteration\": 0, \"error\": null }\n}",
    );
}

#[test]
fn an_empty_list_grows_over_lines_in_a_document_over_lines() {
    check(
        "{\n  \"outputs\": []\n}\n",
        |v| v["outputs"] = json!(["x"]),
        "{\n  \"outputs\": [\n    \"x\"\n  ]\n}\n",
    );
    check(
        "{\"outputs\": []}",
        |v| v["outputs"] = json!(["x", "y"]),
        "{\"outputs\": [\"x\", \"y\"]}",
    );
    check("{}", |v| v["a"] = json!({}), "{\n  \"a\": {}\n}");
}

#[test]
fn members_go_out_with_their_comma() {
    let text = "[ 1, 2,\n 3, 4 ]";
    check(text, |v| *v = json!([2, 3, 4]), "[ 2,\n 3, 4 ]");
    check(text, |v| *v = json!([1, 3, 4]), "[ 1,\n 3, 4 ]");
    check(text, |v| *v = json!([1, 2, 3]), "[ 1, 2,\n 3 ]");
    check(text, |v| *v = json!([]), "[]");
    check(
        "{\n  \"a\": 1,\n  \"b\": 2\n}",
        |v| {
            v.as_object_mut().unwrap().remove("a");
        },
        "{\n  \"b\": 2\n}",
    );
}

#[test]
fn an_id_moves_between_lists() {
    let text = "{\n  \"ready\": [\"T1.3\", \"T1.4\", \"T1.5\"],\n  \"done\": [\"T1.1\"]\n}\n";
    let expected = "{\n  \"ready\": [\"T1.3\", \"T1.5\"],\n  \"done\": [\"T1.1\", \"T1.4\"]\n}\n";
    let change = |v: &mut Value| {
        v["ready"] = json!(["T1.3", "T1.5"]);
        v["done"] = json!(["T1.1", "T1.4"]);
    };
    check(text, change, expected);
}

#[test]
fn a_changed_object_in_a_list_changes_in_place() {
    let text = "[\n  {\"id\": 1, \"s\": \"a\"},\n  {\"id\": 2, \"s\": \"a\"}\n]";
    check(
        text,
        |v| v[1]["s"] = json!("b"),
        "[\n  {\"id\": 1, \"s\": \"a\"},\n  {\"id\": 2, \"s\": \"b\"}\n]",
    );
}

#[test]
fn of_a_key_that_stands_twice_the_last_one_counts_and_is_edited() {
    let text = "{\"a\": 1, \"a\": 2}";
    check(text, |v| v["a"] = json!(3), "{\"a\": 1, \"a\": 3}");
    let document = JsonDocument::from_text(text.into()).unwrap();
    assert_eq!(document.duplicate_keys(), ["/a"]);
}

#[test]
fn what_is_no_json_says_where() {
    let fail = |bytes: &[u8]| JsonDocument::parse(bytes).unwrap_err().to_string();
    assert_eq!(fail(b""), "the file is empty");
    assert_eq!(fail(b" \n"), "the file is empty");
    assert_eq!(
        fail(b"{\n\"a\": NaN}"),
        "not JSON: expected value at line 2, column 6"
    );
    assert_eq!(
        fail(b"{} x"),
        "not JSON: trailing characters at line 1, column 4"
    );
    assert_eq!(fail(b"{\"\xff\"}"), "not UTF-8 text: bad byte at offset 2");
    let deep = "[".repeat(100_000);
    assert!(fail(deep.as_bytes()).contains("nested more than 128 levels deep"));
    for comment in [
        "// x\n{}",
        "{'a': 1}",
        "{\"a\": 1,}",
        "{a: 1}",
        "[0x1]",
        "[+1]",
        "[.5]",
        "[01]",
    ] {
        assert!(
            JsonDocument::from_text(comment.into()).is_err(),
            "{comment}"
        );
    }
}

#[test]
fn a_position_is_that_of_the_value_or_its_nearest_parent() {
    let document = JsonDocument::from_text("{\n  \"a\": [1,\n   {\"b/c\": 2}]\n}".into()).unwrap();
    assert_eq!(document.line_and_column("/a/1/b~1c"), (3, 12));
    assert_eq!(document.line_and_column("/a/7"), (2, 8));
    assert_eq!(document.line_and_column(""), (1, 1));
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3i64..3).prop_map(Value::from),
        any::<f64>()
            .prop_filter("JSON has no NaN", |number| number.is_finite())
            .prop_map(Value::from),
        "[a-c가\"\\\\\n]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec(("[a-d/~]{1,2}", inner), 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn any_list() -> impl Strategy<Value = Value> {
    prop::collection::vec("[a-h]", 0..12).prop_map(Value::from)
}

/// Renders the same value in one of the styles that people and programs write.
fn styled(value: &Value, style: u8) -> String {
    match style {
        0 => render::render_lines(value, "", "  ", "\n"),
        1 => render::render_lines(value, "", "\t", "\r\n"),
        2 => value.to_string(),
        3 => render::render_value(value, &render::JsonLayout::Inline { spaced: true }),
        _ => format!(
            "\u{feff} {}\n\n",
            render::render_lines(value, "", "    ", "\n")
        ),
    }
}

proptest! {
    #[test]
    fn any_edit_in_any_style_says_what_was_asked(a in any_value(), b in any_value(), style in 0u8..5) {
        let document = JsonDocument::from_text(styled(&a, style)).unwrap();
        prop_assert_eq!(document.reconcile(&a).to_string(), styled(&a, style));
        let edited = document.reconcile(&b);
        let read = JsonDocument::from_text(edited.text().to_owned());
        prop_assert!(read.is_ok(), "{}", edited.text());
        prop_assert!(values_equal(read.unwrap().value(), &b), "{} is not {}", edited.text(), b);
    }

    #[test]
    fn any_change_of_a_list_says_what_was_asked(a in any_list(), b in any_list(), style in 0u8..5) {
        let document = JsonDocument::from_text(styled(&a, style)).unwrap();
        let edited = document.reconcile(&b);
        prop_assert!(values_equal(JsonDocument::from_text(edited.text().to_owned()).unwrap().value(), &b));
    }

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,60}|[\\[\\]{}\",:0-9a-z \n]{0,60}") {
        if let Ok(document) = JsonDocument::from_text(text.clone()) {
            prop_assert_eq!(document.reconcile(document.value()).to_string(), text);
            let _ = document.duplicate_keys();
        }
    }
}

#[test]
fn a_pointer_leads_where_serde_json_says() {
    let value = json!({"a": {"b/c": [10, {"~": true}]}, "": 1, "0": "zero"});
    let pointers = [
        "",
        "/",
        "/a",
        "/a/b~1c",
        "/a/b~1c/1/~0",
        "/a/b~1c/0",
        "/a/b~1c/00",
        "/a/b~1c/+1",
        "/a/b~1c/2",
        "/0",
        "a",
        "/a/x/y",
        "/a/b~1c/-",
        "//",
        "/a/",
    ];
    for pointer in pointers {
        assert_eq!(
            value_at(&value, pointer),
            value.pointer(pointer),
            "{pointer}"
        );
    }
}

#[test]
fn colons_in_strings_are_no_keys() {
    let twice = r#"{"a:\"": "x:\\", "b": {"c": 1, "c": 2}}"#;
    let document = JsonDocument::from_text(twice.to_owned()).unwrap();
    assert_eq!(document.duplicate_keys(), ["/b/c"]);
    let once = r#"{"a:\"": "x:\\", "b": {"c": 1, "d:": "::"}}"#;
    let document = JsonDocument::from_text(once.to_owned()).unwrap();
    assert_eq!(document.duplicate_keys(), Vec::<String>::new());
}
