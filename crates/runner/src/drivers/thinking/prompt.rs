//! Prompt for one stage of a thinking run.

use super::super::prompts::PromptBuilder;
use crate::core::attempt_record::AttemptRecord;
use bowline_engine::Error;
use bowline_engine::operations::thinking::{
    RETRIES_MAX, ThinkingRun, ThinkingSheet, ThinkingStage,
};

/// Characters of the goal.
const GOAL_CHARS_MAX: usize = 4_000;

/// Builds the prompt of the next attempt.
pub(super) fn build_prompt(
    run: &ThinkingRun,
    sheet: &ThinkingSheet,
    stage: ThinkingStage,
    note: &AttemptRecord,
) -> Result<String, Error> {
    let name = stage.name();
    let mut prompt = PromptBuilder::default();
    prompt
        .add_line(&format!("Task {}: {}", sheet.task_id, sheet.title))
        .add_labelled("Goal", &sheet.goal, GOAL_CHARS_MAX)
        .add_line("")
        .add_line(&format!("Do stage {name} ({} thinking) and no other: {}", stage.thinking_type(), stage_instructions(stage)))
        .add_line(&format!(
            "Work in {}, and leave the files of this stage in thinking/{name}/. Do not edit thinking_state.json.",
            run.folder().display()
        ));
    let needed = match stage.required_output() {
        Some(path) => path.to_owned(),
        None if stage == ThinkingStage::Planning => "at least one file".to_owned(),
        None => String::new(),
    };
    prompt.add_list(
        "The stage is done when this is there:",
        [needed].iter().filter(|it| !it.is_empty()),
    );
    prompt.add_list("And when this is reached:", run.stage_standards(stage)?);
    let earlier = ThinkingStage::ALL.into_iter().filter(|it| *it < stage);
    let earlier = earlier.flat_map(|stage| {
        let outputs = sheet.run.stage(stage).outputs.iter();
        outputs.map(move |path| format!("{}: {path}", stage.name()))
    });
    prompt.add_list(
        "Earlier stages left these files, which you build on:",
        earlier,
    );
    let own = &sheet.run.stage(stage).outputs;
    prompt.add_list("Earlier tries of this stage left:", own);
    let lessons = sheet.run.feedback.lessons_for(stage);
    let lessons = lessons.map(|(task, lesson)| format!("{lesson} (from {task})"));
    prompt.add_list(
        "Earlier tasks learnt this for your stage. Apply it:",
        lessons,
    );
    let retries = sheet.run.stage(stage).retry_count;
    if retries > 0 {
        prompt
            .add_line("")
            .add_line(&format!("This is try {} of {RETRIES_MAX}.", retries + 1));
    }
    prompt.add_failures(note, &["Mend exactly that first; keep what was good."]);
    let hands = match stage {
        ThinkingStage::Planning | ThinkingStage::Creation => r#"{"outputs": ["path", …]}"#.to_owned(),
        ThinkingStage::Selection => {
            let values = run.core_values()?.join("\": 0 to 10, \"");
            format!("{{\"outputs\": [\"path\", …], \"scores\": {{\"{values}\": 0 to 10}}}}")
        }
        ThinkingStage::Reflection => {
            r#"{"outputs": ["path", …], "metrics": {"completeness": 0 to 1, "consistency": 0 to 1, "alignment_with_values": 0 to 1}}"#
                .to_owned()
        }
    };
    Ok(prompt.finish_prompt(name, &hands))
}

fn stage_instructions(stage: ThinkingStage) -> &'static str {
    match stage {
        ThinkingStage::Planning => {
            "look for many different ideas before any is judged. Usual files: ideas.json as {\"ideas\": [{\"id\", \"title\", \
             \"description\"}]} with about ten of them, and research.md."
        }
        ThinkingStage::Selection => {
            "choose one idea by the core values, and say why. selected.json is {\"selected_idea\", \"rationale\": \
             {\"core_value_scores\", \"weighted_score\", \"reasoning\"}, \"alternatives_considered\", \"references\"}."
        }
        ThinkingStage::Creation => {
            "make what was selected. Each draft is a new file: drafts/draft_v1.md, then draft_v2.md."
        }
        ThinkingStage::Reflection => {
            "judge what was made, and improve it. Usual files: quality_check.json as {\"checks\": [{\"criterion\", \"result\", \
             \"score\", \"feedback\"}]}, and outputs/final.md."
        }
    }
}
