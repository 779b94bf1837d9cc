//! `TASKS.md` and the one-line protocol.

use bowline_formats::tasks_md::wire::{ResolveReply, TaskReply, TaskRequest};
use bowline_formats::tasks_md::{parse_plan, set_ticks, title_slug};
use std::fmt::{Debug, Display};
use std::str::FromStr;

/// A task file; its first line is also read as each of the messages.
pub(crate) fn check(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    let file = parse_plan(text);
    for task in &file.tasks {
        assert!(title_slug(&task.title).is_ascii(), "{task:?}");
        assert!(text.get(task.body.clone()).is_some(), "{task:?}");
    }
    for finding in &file.findings {
        assert!(!finding.detail().is_empty(), "{finding:?}");
    }
    let boxed = || file.tasks.iter().filter(|task| !task.marks.is_empty());
    let all = boxed().map(|task| (task.id.as_str(), true));
    let ticked = set_ticks(text, all).unwrap_or_else(|error| panic!("{error}"));
    let after = parse_plan(&ticked);
    assert_eq!(after.tasks.len(), file.tasks.len(), "{ticked}");
    for task in boxed() {
        assert!(
            after.task(task.id.as_str()).is_some_and(|task| task.done),
            "{task:?}"
        );
    }
    // Which word stood there is forgotten; which tasks were done is not.
    let clear = boxed().map(|task| (task.id.as_str(), task.done));
    let back = set_ticks(&ticked, clear).unwrap_or_else(|error| panic!("{error}"));
    let done = |text: &str| {
        parse_plan(text)
            .tasks
            .iter()
            .map(|task| task.done)
            .collect::<Vec<_>>()
    };
    assert_eq!(done(&back), done(text));

    message::<ResolveReply>(text);
    message::<TaskReply>(text);
    message::<TaskRequest>(text);
}

/// What is printed is read back as the same value.
fn message<M: FromStr<Err: Debug> + Display + Debug + PartialEq>(text: &str) {
    if let Ok(message) = text.parse::<M>() {
        let printed = message.to_string();
        let again = printed.parse::<M>();
        assert_eq!(again.ok().as_ref(), Some(&message), "{printed:?}");
    }
}
