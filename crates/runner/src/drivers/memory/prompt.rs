//! Prompt for one step of a memory task: the plan, the agent's own memory, the shared context, and
//! the lessons of similar tasks.

use super::super::prompts::PromptBuilder;
use crate::core::attempt_record::AttemptRecord;
use crate::core::text::first_chars;
use bowline_engine::operations::memory::{
    ActiveTask, MemoryFolder, PlanStep, StepStatus, TRIES_MAX, find_similar,
};
use bowline_engine::{Context, Error};
use serde_json::Value;

/// Characters of a goal or a request.
const TEXT_CHARS_MAX: usize = 4_000;
/// Characters of a document of the memory.
const DOCUMENT_CHARS_MAX: usize = 6_000;
/// Characters of the output of another step.
const OUTPUT_CHARS_MAX: usize = 300;
/// Finished tasks whose lessons are included.
const TASKS_MAX: usize = 5;

/// Builds the prompt of the next attempt.
pub(super) fn build_prompt(
    context: &Context,
    folder: &MemoryFolder,
    task: &ActiveTask,
    step: &PlanStep,
    note: &AttemptRecord,
) -> Result<String, Error> {
    let mut prompt = PromptBuilder::default();
    let cluster = match step.cluster.as_str() {
        "" => String::new(),
        cluster => format!(" of the cluster {cluster}"),
    };
    prompt
        .add_line(&format!(
            "You are {}{cluster}. Task {}: {}",
            step.agent, task.id, task.name
        ))
        .add_labelled("Goal", &task.plan.goal, TEXT_CHARS_MAX)
        .add_line("")
        .add_line(&format!(
            "Do step {} of the plan and no other: {}",
            step.id, step.name
        ));
    prompt.add_list("The task is successful when:", &task.plan.success_criteria);
    prompt.add_labelled(
        "\nThe request, in the words of whoever made it",
        &task.context.user_request,
        TEXT_CHARS_MAX,
    );
    prompt.add_list("Keep to:", &task.context.constraints);
    prompt.add_list("You may use:", &task.context.resources);
    let others = task.plan.steps.iter().filter(|other| other.id != step.id);
    let others = others.map(|other| {
        let output = other.output.as_deref().unwrap_or_default();
        let needed = match step.dependencies.contains(&other.id) {
            true => ", which yours builds on",
            false => "",
        };
        let head = format!(
            "{} {} ({}, {}{needed})",
            other.id,
            other.name,
            other.agent,
            other.status.name()
        );
        match (other.status, output) {
            (StepStatus::Completed, output) if !output.is_empty() => {
                format!("{head}: {}", first_chars(output, OUTPUT_CHARS_MAX))
            }
            _ => head,
        }
    });
    prompt.add_list("The other steps:", others);
    let made = task.artifacts.iter();
    let made = made.map(|it| format!("{} {}", it.path, it.description));
    prompt.add_list("Made so far:", made);
    prompt.add_document(
        &format!("What you remember yourself (agents/{}.json):", step.agent),
        &own_memory(context, folder, &step.agent)?,
        DOCUMENT_CHARS_MAX,
    );
    prompt.add_document(
        "What all agents share (shared-context.json):",
        &shared_context(context, folder)?,
        DOCUMENT_CHARS_MAX,
    );
    let about = format!("{} {} {}", task.name, task.plan.goal, step.name);
    let past = folder.finished_tasks(context)?;
    let lessons = find_similar(&past, &about)
        .into_iter()
        .take(TASKS_MAX)
        .flat_map(|entry| {
            let details = entry.details.iter().flat_map(|details| &details.lessons);
            details.map(move |lesson| format!("{lesson} (from {}: {})", entry.id, entry.name))
        });
    prompt.add_list("Similar tasks taught this. Apply it:", lessons);
    if step.retries > 0 {
        prompt
            .add_line("")
            .add_line(&format!("This is try {} of {TRIES_MAX}.", step.retries + 1));
    }
    prompt.add_failures(note, &["Mend exactly that first; keep what was good."]);
    let hands = "{\"summary\": \"at most 100 letters\", \"output\": {…}, \"artifacts\": [{\"path\": …, \"description\": …}], \
                 \"share\": {\"shared_data.NAME\": …}, \"remember\": {\"cache.NAME\": …}}\n\
                 output is the step's result for the others; share and remember set values, by path, of what all share and of what you \
                 remember; leave out what you do not need. With status \"failure\" and a type (transient, validation, dependency, \
                 resource, structural, critical) it says why the step failed.";
    Ok(prompt.finish_prompt(&step.id.to_string(), hands))
}

fn own_memory(context: &Context, folder: &MemoryFolder, name: &str) -> Result<Value, Error> {
    let sections = ["preferences", "cache", "statistics"];
    match folder.agent_file(context, name) {
        // A free-form agent name may be no file name.
        Err(_) => Ok(Value::Null),
        Ok(file) => Ok(non_empty_members(
            file.view_or_empty(context)?.document.value(),
            &sections,
        )),
    }
}

fn shared_context(context: &Context, folder: &MemoryFolder) -> Result<Value, Error> {
    let view = folder.shared_file().view_or_empty(context)?;
    Ok(non_empty_members(
        view.document.value(),
        &["shared_data", "preferences"],
    ))
}

/// Returns the named members that are not empty.
fn non_empty_members(document: &Value, names: &[&str]) -> Value {
    let full = |value: &&Value| match value {
        Value::Object(members) => members.values().any(|value| !is_empty(value)),
        value => !is_empty(value),
    };
    let found = names.iter().filter_map(|name| {
        let value = document.get(name).filter(full)?;
        Some(((*name).to_owned(), value.clone()))
    });
    Value::Object(found.collect())
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(members) => members.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::String(text) => text.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}
