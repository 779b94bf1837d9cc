//! What can be done next, as commands that can be pasted.

use crate::kinds::FileKind;
use bowline_machines::Advice;
use serde_json::Value;

/// An advice as the command a person would type. What only they can know stands in capitals.
pub(crate) fn command_line(kind: FileKind, advice: &Advice, document: &Value) -> String {
    let noun = kind.noun();
    let mut line = match &advice.target {
        // Options stand behind the target: `start planning --override REASON`.
        Some(target) => match advice.verb.split_once(" --") {
            Some((verb, option)) => format!("bowline {noun} {verb} {target} --{option}"),
            None => format!("bowline {noun} {} {target}", advice.verb),
        },
        None => format!("bowline {noun} {}", advice.verb),
    };
    let more = arguments(kind, advice, document);
    if !more.is_empty() {
        line.push(' ');
        line.push_str(&more);
    }
    line
}

/// What a verb cannot do without, beside its target.
fn arguments(kind: FileKind, advice: &Advice, document: &Value) -> String {
    let named = |names: &str, word: &str| {
        let names = document[names].as_object().into_iter().flatten();
        let open = names.filter(|(name, value)| value.is_null() && *name != "weighted_score");
        let pairs: Vec<String> = open.map(|(name, _)| format!("{name}={word}")).collect();
        match pairs.is_empty() {
            true => format!("NAME={word}"),
            false => pairs.join(" "),
        }
    };
    match (kind, advice.verb) {
        (FileKind::Thinking, "complete") => {
            let stage = advice.target.as_deref().unwrap_or_default();
            let outputs = document["stages"][stage]["outputs"].as_array();
            // Only this stage has no file of its own that is looked for by name.
            let nothing_yet = outputs.is_none_or(Vec::is_empty) && stage == "planning";
            if nothing_yet { "--output PATH" } else { "" }.into()
        }
        (FileKind::Thinking, "output") => "PATH".into(),
        (FileKind::Thinking, "fail") => "--code CODE --message MESSAGE".into(),
        (FileKind::Thinking, "evaluate") => named("core_values_evaluation", "SCORE"),
        (FileKind::Thinking, "quality") => named("quality_metrics", "VALUE"),
        (FileKind::Thinking, "feedback record") => "--metric NAME=VALUE --target VALUE".into(),
        (FileKind::TaskState, "task new") => "NAME --goal GOAL".into(),
        (FileKind::TaskState, "step fail") => "--message MESSAGE".into(),
        (FileKind::TaskState, "step add") => "name=NAME".into(),
        _ => String::new(),
    }
}
