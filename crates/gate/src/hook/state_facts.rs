//! Facts from the state files that matter now: lessons for the current stage, the current step,
//! shared and remembered values of agents, lessons of similar tasks. A few lines, each shortened.

use super::card::shorten_text;
use super::other_state_files::read_json;
use bowline_formats::StateFormat as _;
use bowline_formats::json::JsonDocument;
use bowline_formats::memory::agent_memory;
use bowline_formats::memory::shared_context;
use bowline_formats::memory::task_history::{self, TaskHistoryFile};
use bowline_machines::plan::find_similar;
use bowline_words::message::Card;
use serde_json::Value;
use std::path::Path;

/// Lessons in one line.
const LESSONS_MAX: usize = 3;
/// Values in one line.
const FACTS_MAX: usize = 6;
/// Characters of one value.
const FACT_CHARS_MAX: usize = 60;

/// Returns the lessons of earlier tasks for the current stage.
pub(super) fn thinking_cards(value: &Value) -> Vec<Card> {
    let stage = value["current_stage"].as_str().unwrap_or_default();
    if value["overall_status"] == "completed" {
        return Vec::new();
    }
    let applied = array_items(&value["feedback"]["from_previous_tasks"]);
    let for_it =
        applied.filter(|lesson| array_items(&lesson["apply_to_stages"]).any(|it| it == stage));
    let texts =
        for_it.flat_map(|lesson| array_items(&lesson["learnings"]).filter_map(Value::as_str));
    let lessons = join_lessons(texts.map(shorten_text));
    let (stage, some) = (shorten_text(stage), !lessons.is_empty());
    let line = some.then_some(Card::LessonsFor { stage, lessons });
    line.into_iter().collect()
}

/// Returns the current step with the facts for its agent; without a task, the shared facts only.
pub(super) fn memory_cards(value: &Value, path: &Path) -> Vec<Card> {
    let task = &value["current_task"];
    let Some(folder) = path.parent() else {
        return Vec::new();
    };
    let mut lines = Vec::new();
    let goal = shorten_text(task["plan"]["goal"].as_str().unwrap_or_default());
    if !goal.is_empty() {
        lines.push(Card::TaskGoal { goal });
    }
    let step =
        array_items(&task["plan"]["steps"]).find(|step| step["id"].as_u64() == current_step(task));
    let text = |name: &str| {
        shorten_text(
            step.and_then(|step| step[name].as_str())
                .unwrap_or_default(),
        )
    };
    let (agent, name) = (text("agent"), text("name"));
    if let Some(step) = step.and_then(|step| step["id"].as_u64()) {
        let (name, agent) = (name.clone(), agent.clone());
        lines.push(Card::StepInHand { step, name, agent });
    }
    let shared = read_json(&folder.join(shared_context::FILE_NAME)).unwrap_or_default();
    let facts = render_facts([&shared["shared_data"], &shared["preferences"]]);
    if !facts.is_empty() {
        lines.push(Card::Shared { facts });
    }
    if agent_memory::is_name(&agent) {
        let file = folder
            .join(agent_memory::FOLDER_NAME)
            .join(format!("{agent}.json"));
        let own = read_json(&file).unwrap_or_default();
        let facts = self::render_facts([&own["preferences"], &own["cache"], &own["statistics"]]);
        if !facts.is_empty() {
            lines.push(Card::Remembers { agent, facts });
        }
    }
    if task.is_object() {
        let about = format!("{} {} {name}", task["name"], task["plan"]["goal"]);
        lines.extend(similar_lessons(
            &folder.join(task_history::FILE_NAME),
            &about,
        ));
    }
    lines
}

/// Returns the id of the current step: newer files keep it in the plan, older ones beside it.
pub(super) fn current_step(task: &Value) -> Option<u64> {
    let places = ["/plan/current_step", "/current_step"];
    let mut steps = places
        .into_iter()
        .filter_map(|place| task.pointer(place)?.as_u64());
    steps.next()
}

fn similar_lessons(history: &Path, about: &str) -> Option<Card> {
    let bytes = std::fs::read(history).ok()?;
    let document = JsonDocument::parse(&bytes).ok()?;
    let entries = TaskHistoryFile::read_state(&document).ok()?.state;
    let found = find_similar(&entries, about);
    let details = found.into_iter().filter_map(|entry| entry.details.as_ref());
    let lessons = join_lessons(
        details
            .flat_map(|it| &it.lessons)
            .map(|it| shorten_text(it)),
    );
    (!lessons.is_empty()).then_some(Card::Taught { lessons })
}

fn array_items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn join_lessons(texts: impl Iterator<Item = String>) -> String {
    texts.take(LESSONS_MAX).collect::<Vec<_>>().join("; ")
}

/// Renders the values that are not empty as `name=value`.
fn render_facts<const N: usize>(parts: [&Value; N]) -> String {
    let members = parts.into_iter().filter_map(Value::as_object).flatten();
    let said = members.filter_map(|(name, value)| {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Null => return None,
            Value::Array(items) if items.is_empty() => return None,
            Value::Object(members) if members.is_empty() => return None,
            other => other.to_string(),
        };
        let text: String = shorten_text(&text).chars().take(FACT_CHARS_MAX).collect();
        (!text.is_empty()).then(|| format!("{}={text}", shorten_text(name)))
    });
    said.take(FACTS_MAX).collect::<Vec<_>>().join("; ")
}
