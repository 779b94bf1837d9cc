//! Tests that every message survives printing and parsing.

#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::fmt::{Debug, Display};
use std::str::FromStr;

use proptest::prelude::*;

use super::*;

/// Parses `text` and expects it to be printed as `printed`.
#[track_caller]
fn check<T>(text: &str, printed: &str)
where
    T: FromStr<Err = WireError> + Display + PartialEq + Debug,
{
    let value: T = text
        .parse()
        .unwrap_or_else(|error| panic!("{text:?}: {error}"));
    assert_eq!(value.to_string(), printed);
    assert_eq!(printed.parse::<T>().unwrap(), value);
}

#[track_caller]
fn refuse<T: FromStr<Err = WireError> + Debug>(text: &str, code: &str) {
    assert_eq!(text.parse::<T>().unwrap_err().code(), code, "of {text:?}");
}

#[test]
fn resolver_lines() {
    for line in [
        "READY:T1.3",
        "READY:T1.3,T1.4|T1.5",
        "READY:T1.3:backend,T1.4",
        "WAIT",
        "PHASE_DONE:0",
        "ALL_DONE",
        "STALLED",
        "STALLED:T1.3,P1-R2-T3",
        "ERROR:TASKS_NOT_FOUND",
        "ERROR:CIRCULAR_DEP:T1.3->T1.4->T1.3",
        "ERROR:STATE_CORRUPT:a: b",
    ] {
        check::<ResolveReply>(line, line);
    }
    for (loose, strict) in [
        (" READY: T1.3 , T1.4 \r\n", "READY:T1.3,T1.4"),
        ("STALLED:", "STALLED"),
        (
            "ERROR:TASKS.md not found at docs/TASKS.md",
            "ERROR:TASKS_NOT_FOUND:docs/TASKS.md",
        ),
        (
            "ERROR:Circular dependency detected: T1.3 -> T1.4 -> T1.3",
            "ERROR:CIRCULAR_DEP:T1.3->T1.4->T1.3",
        ),
        (
            "ERROR:Missing dependency T1.0 for T1.3",
            "ERROR:MISSING_DEP:T1.3->T1.0",
        ),
    ] {
        check::<ResolveReply>(loose, strict);
    }
    for bad in [
        "",
        "READY",
        "ready:T1.1",
        "WAIT:1",
        "PHASE_DONE:",
        "PHASE_DONE:+1",
        "PHASE_DONE:99999999999",
        "ERROR:hm",
    ] {
        refuse::<ResolveReply>(bad, "wire_unknown_message");
    }
    refuse::<ResolveReply>("WAIT\nWAIT", "wire_unknown_message");
    refuse::<ResolveReply>("READY:", "wire_bad_id");
    refuse::<ResolveReply>("READY:T1.1,,T1.2", "wire_bad_id");
    refuse::<ResolveReply>("STALLED:T1 1", "wire_bad_id");
}

#[test]
fn only_the_first_group_may_start() {
    let ResolveReply::Ready(ready) = "READY:T1.3,T1.4|T1.5".parse().unwrap() else {
        panic!("not ready")
    };
    let first: Vec<&str> = ready.first().iter().map(|task| task.id.as_str()).collect();
    assert_eq!((first, ready.groups().len()), (vec!["T1.3", "T1.4"], 2));
    assert_eq!(ReadyGroups::new(vec![Vec::new()]), None);
}

#[test]
fn task_requests() {
    for text in [
        "TASK_ID:T1.3",
        "TASK_ID:T1.3\nWORKTREE:worktree/phase-1-user auth",
        "TASK_ID:T1.3\nWORKTREE:w\nMETA:{\"priority\":\"high\",\"timeout\":3e2}",
    ] {
        check::<TaskRequest>(text, text);
    }
    check::<TaskRequest>(
        "TASK_ID: T1.3\r\nMETA: {}\r\nWORKTREE: w\r\n",
        "TASK_ID:T1.3\nWORKTREE:w\nMETA:{}",
    );
    refuse::<TaskRequest>("TASK_ID:T1.3\nMETA:[1]", "wire_bad_meta");
    refuse::<TaskRequest>("TASK_ID:T1.3\nWORKTREE:", "wire_bad_worktree");
    refuse::<TaskRequest>(
        "TASK_ID:T1.3\nWORKTREE:a\nWORKTREE:b",
        "wire_unknown_message",
    );
    refuse::<TaskRequest>("TASK_ID:T1.3\n\nplease", "wire_unknown_message");
    let request = TaskRequest::new(TaskId::new("T1.3").unwrap());
    assert_eq!(
        request.with_worktree("a\nMETA:{}").unwrap_err().code(),
        "wire_bad_worktree"
    );
}

#[test]
fn task_replies() {
    for line in [
        "DONE:T1.3",
        "DONE:T1.3:elapsed=120s:tests=15",
        "FAIL:T1.3:compile error: main.rs",
        "FAIL:T1.3:elapsed=300s:retries=10:테스트 실패",
        "FAIL:T1.3:elapsed=300s",
        "FAIL:T1.3:",
        "FAIL:T1.3:elapsed=1s:",
        "FAIL:T1.3: exit=1: no tests",
    ] {
        check::<TaskReply>(line, line);
    }
    check::<TaskReply>("FAIL:T1.3\n", "FAIL:T1.3:");
    check::<TaskReply>("DONE: T1.3 :all good:tests=3", "DONE:T1.3:tests=3");
    refuse::<TaskReply>("DONE", "wire_unknown_message");
    refuse::<TaskReply>("DONE:", "wire_bad_id");
    refuse::<TaskReply>("DONE:T1.3 is done", "wire_bad_id");
    refuse::<TaskReply>("DONE:T1.3\nDONE:T1.4", "wire_unknown_message");
}

#[test]
fn a_reason_is_one_line_of_a_hundred_characters() {
    let reply = TaskReply::fail(
        TaskId::new("T1.3").unwrap(),
        &format!(" 첫 줄\r\n둘째\t{}", "가".repeat(200)),
    );
    let TaskReply::Fail { reason, .. } = &reply else {
        panic!("not a failure")
    };
    assert!(reason.as_str().starts_with("첫 줄  둘째 가"));
    assert_eq!(reason.as_str().chars().count(), REASON_CHARS_MAX);
    assert_eq!(reply.to_string().parse::<TaskReply>().unwrap(), reply);
}

fn ids() -> impl Strategy<Value = TaskId> {
    prop_oneof![
        "T[0-9]{1,2}\\.[0-9]{1,2}(\\.[0-9])?",
        "P[0-9]-[RS][0-9]-T[0-9]",
        "[가-힣a-zA-Z0-9]([a-z0-9]|[-_.][a-z0-9]){0,8}",
    ]
    .prop_map(|text| TaskId::new(&text).unwrap())
}

fn stats() -> impl Strategy<Value = Vec<TaskStat>> {
    prop::collection::vec(("[a-z][a-z0-9_]{0,5}", "[^:]{0,6}"), 0..3).prop_map(|pairs| {
        pairs
            .iter()
            .filter_map(|(key, value)| TaskStat::new(key, value))
            .collect()
    })
}

fn ready() -> impl Strategy<Value = ResolveReply> {
    let task =
        (ids(), prop::option::of(ids())).prop_map(|(id, specialist)| ReadyTask { id, specialist });
    let groups = prop::collection::vec(prop::collection::vec(task, 0..4), 0..4);
    groups
        .prop_map(|groups| ReadyGroups::new(groups).map_or(ResolveReply::Wait, ResolveReply::Ready))
}

fn resolve_reply() -> impl Strategy<Value = ResolveReply> {
    prop_oneof![
        ready(),
        Just(ResolveReply::AllDone),
        any::<u32>().prop_map(ResolveReply::PhaseDone),
        prop::collection::vec(ids(), 0..4).prop_map(ResolveReply::Stalled),
        ("[A-Z][A-Z0-9_]{0,9}", any::<String>()).prop_map(|(code, detail)| {
            ResolveReply::error_line(ErrorCode::new(&code).unwrap(), &detail)
        }),
    ]
}

fn task_reply() -> impl Strategy<Value = TaskReply> {
    let reason = prop_oneof![any::<String>(), "[a-z=: ]{0,12}"];
    (ids(), stats(), prop::option::of(reason)).prop_map(|(id, stats, reason)| match reason {
        None => TaskReply::Done { id, stats },
        Some(reason) => TaskReply::Fail {
            id,
            stats,
            reason: OneLine::new(&reason, REASON_CHARS_MAX),
        },
    })
}

proptest! {
    #[test]
    fn resolver_replies_come_back(reply in resolve_reply()) {
        let line = reply.to_string();
        prop_assert_eq!(line.lines().count(), 1);
        prop_assert_eq!(line.parse::<ResolveReply>().unwrap(), reply);
    }

    #[test]
    fn executor_replies_come_back(reply in task_reply()) {
        let line = reply.to_string();
        prop_assert_eq!(line.lines().count(), 1);
        prop_assert_eq!(line.parse::<TaskReply>().unwrap(), reply);
    }

    #[test]
    fn requests_come_back(id in ids(), path in any::<String>(), key in any::<String>()) {
        let request = TaskRequest::new(id);
        let request = request.clone().with_worktree(&path).unwrap_or(request);
        let meta = serde_json::json!({ key: 1 }).to_string();
        let request = request.clone().with_meta(&meta).unwrap_or(request);
        prop_assert_eq!(request.to_string().parse::<TaskRequest>().unwrap(), request);
    }

    #[test]
    fn any_text_is_read_without_a_panic(text in any::<String>(), word in prop::sample::select(vec!["READY:", "ERROR:", "DONE:", "FAIL:T1:", "TASK_ID:", "STALLED:"])) {
        let text = format!("{word}{text}");
        // A parsed message is printed in a form that parses to the same value.
        if let Ok(value) = text.parse::<ResolveReply>() { prop_assert_eq!(value.to_string().parse(), Ok(value)); }
        if let Ok(value) = text.parse::<TaskReply>() { prop_assert_eq!(value.to_string().parse(), Ok(value)); }
        if let Ok(value) = text.parse::<TaskRequest>() { prop_assert_eq!(value.to_string().parse(), Ok(value)); }
    }
}
