#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::fmt::Write as _;

use proptest::prelude::*;

use super::{SpliceMisfit, TextSplice, apply_splices, compute_splices, invert_splices};

fn check(before: &str, after: &str) -> Vec<TextSplice> {
    let found = compute_splices(before, after);
    assert_eq!(apply_splices(before, &found).as_deref(), Ok(after));
    assert_eq!(
        apply_splices(after, &invert_splices(&found)).as_deref(),
        Ok(before)
    );
    found
}

fn splice(at: usize, del: &str, ins: &str) -> TextSplice {
    TextSplice {
        at,
        del: del.to_owned(),
        ins: ins.to_owned(),
    }
}

#[test]
fn two_fields_far_apart_give_two_small_splices() {
    let middle = (0..1000).fold(String::new(), |mut text, n| {
        writeln!(text, "  \"k{n}\": {n},").unwrap();
        text
    });
    let document = |status: &str, at: &str| {
        format!("{{\n  \"status\": \"{status}\",\n{middle}  \"at\": \"{at}\"\n}}\n")
    };
    let found = check(&document("pending", "10:00"), &document("running", "10:07"));
    assert_eq!(found.len(), 2);
    assert_eq!(found[0], splice(15, "pend", "runn"));
    assert_eq!((found[1].del.as_str(), found[1].ins.as_str()), ("0", "7"));
}

#[test]
fn a_minified_document_gives_small_splices_too() {
    let middle = "\"a\":1,".repeat(500);
    let before = format!("{{\"status\":\"draft\",{middle}\"n\":1}}");
    let after = format!("{{\"status\":\"done\",{middle}\"n\":2}}");
    assert_eq!(check(&before, &after).len(), 2);
}

#[test]
fn plain_cases() {
    assert_eq!(check("", ""), []);
    assert_eq!(check("", "a\n"), [splice(0, "", "a\n")]);
    assert_eq!(check("a\n", ""), [splice(0, "a\n", "")]);
    assert_eq!(check("a\nb\nc\n", "a\nc\n"), [splice(2, "b\n", "")]);
    assert_eq!(check("a\r\nb\r\n", "a\r\nx\r\n"), [splice(3, "b", "x")]);
}

#[test]
fn characters_are_never_cut() {
    // These share lead or continuation bytes.
    assert_eq!(check("가", "각"), [splice(0, "가", "각")]);
    assert_eq!(check("é", "ê"), [splice(0, "é", "ê")]);
    assert_eq!(
        check("\u{1F600}", "\u{1F601}"),
        [splice(0, "\u{1F600}", "\u{1F601}")]
    );
    assert_eq!(check("\u{e9}", "\u{3a9}\u{e9}"), [splice(0, "", "\u{3a9}")]);
}

#[test]
fn very_different_large_texts_stay_affordable() {
    let number = |n: usize, factor: usize| format!("{}\n", n * factor % 99_991);
    let before: String = (0..60_000).map(|n| number(n, 7)).collect();
    let after: String = (0..60_000).map(|n| number(n, 13)).collect();
    assert_eq!(
        check(&before, &after).len(),
        1,
        "gives up and replaces the stretch"
    );
}

#[test]
fn splices_for_another_text_are_refused() {
    let found = compute_splices("status: a\n", "status: b\n");
    assert_eq!(
        apply_splices("status: x\n", &found),
        Err(SpliceMisfit { at: 8 })
    );
    assert_eq!(apply_splices("", &found), Err(SpliceMisfit { at: 8 }));
    assert_eq!(
        apply_splices("가", &[splice(1, "", "x")]),
        Err(SpliceMisfit { at: 1 }),
        "inside a character"
    );
    assert_eq!(
        apply_splices("ab", &[splice(1, "b", ""), splice(0, "a", "")]),
        Err(SpliceMisfit { at: 0 }),
        "out of order"
    );
    assert_eq!(
        apply_splices("ab", &[splice(usize::MAX, "b", "")]),
        Err(SpliceMisfit { at: usize::MAX })
    );
}

proptest! {
    #[test]
    fn any_two_texts(before in "[a-c,\n가é\u{1F600}]{0,60}", after in "[a-c,\n가é\u{1F600}]{0,60}") {
        check(&before, &after);
    }

    #[test]
    fn edits_of_one_text(
        pieces in prop::collection::vec("[a-e]{0,3}(\n|,|é)", 0..80),
        edits in prop::collection::vec((any::<prop::sample::Index>(), "[a-e\n가]{0,4}"), 0..6),
    ) {
        let before = pieces.concat();
        let mut changed = pieces.clone();
        for (index, text) in edits {
            if !changed.is_empty() {
                let at = index.index(changed.len());
                changed[at] = text;
            }
        }
        check(&before, &changed.concat());
    }
}
