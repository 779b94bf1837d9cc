//! Numbers as people write them, and files as programs leave them.

use super::*;

#[test]
fn percent_and_fraction_are_one_number() {
    assert_eq!(parse_number("6.8%"), Some(0.068));
    assert_eq!(parse_number(" 5 % "), Some(0.05));
    assert_eq!(parse_number("0.068"), Some(0.068));
    assert_eq!(parse_number("1e3"), Some(1000.0));
    for text in ["", "%", "lots", "inf", "NaN", "6,8%"] {
        assert_eq!(parse_number(text), None, "{text}");
    }
}

#[test]
fn the_value_meant_is_named_or_the_only_one_or_the_usual_one() {
    let usual =
        r#"{"views": 5000, "engagement_rate": "6.8%", "target": "5%", "learnings": ["compare"]}"#;
    let read_usual = read_engagement(usual, None);
    assert_eq!(
        read_usual,
        Ok(MeasuredEngagement {
            metric: "engagement_rate".into(),
            actual: 0.068,
            target: Some(0.05),
            learnings: vec!["compare".into()],
            improvements: vec![],
        })
    );
    let fraction = r#"{"engagement_rate": 0.068, "targets": {"engagement_rate": 0.05}}"#;
    let told = read_engagement(fraction, None).map(|one| (one.actual, one.target));
    assert_eq!(told, Ok((0.068, Some(0.05))));
    let views = read_engagement(usual, Some("views")).map(|one| (one.metric, one.actual));
    assert_eq!(views, Ok(("views".into(), 5000.0)));
    let named = read_engagement(r#"{"a": 1, "b": 2, "metric": "b"}"#, None).map(|one| one.actual);
    assert_eq!(named, Ok(2.0));
    let only = read_engagement(r#"{"reach": 12, "channel": "post"}"#, None)
        .map(|one| (one.metric, one.target));
    assert_eq!(only, Ok(("reach".into(), None)));
}

#[test]
fn what_says_nothing_says_why() {
    let told = |text: &str, wanted: Option<&str>| {
        read_engagement(text, wanted)
            .map_or_else(|error| error.to_string(), |one| format!("{one:?}"))
    };
    assert!(told("[1]", None).starts_with("is not a JSON object"));
    assert!(told("{", None).starts_with("is not a JSON object"));
    assert_eq!(
        told("{}", None),
        "has no number 'engagement_rate'; it has none at all"
    );
    assert_eq!(
        told(r#"{"a": 1, "b": 2}"#, None),
        "has several numbers and does not say which is meant: a, b"
    );
    assert_eq!(
        told(r#"{"a": 1}"#, Some("b")),
        "has no number 'b'; it has a"
    );
    assert_eq!(
        told(r#"{"a": 1, "target": "high"}"#, None),
        "has a target that is no number: \"high\""
    );
}
