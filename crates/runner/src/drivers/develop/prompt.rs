//! Prompts for the parts of a develop run.

use super::super::prompts::PromptBuilder;
use super::{DESIGN_PATH, DevelopTask};
use crate::core::attempt_record::AttemptRecord;
use bowline_engine::operations::develop::{ATTEMPTS_MAX, DevelopRunState, Gate, PlannedCheckpoint};
use std::path::Path;

/// Characters of the feature.
const FEATURE_CHARS_MAX: usize = 4_000;

/// Advice for a further attempt: first the message alone, then its surroundings, then everything.
const RETRY_ADVICE: [&str; 2] = [
    "Read the message, and mend what it names.",
    "The same way did not help. Read the tests and everything they touch before you change anything; find the first thing that \
     is wrong, and write the cause down.",
];

/// Builds the prompt of the next attempt.
pub(super) fn build_prompt(
    root: &Path,
    run: &DevelopRunState,
    task: &DevelopTask,
    contract: &[PlannedCheckpoint],
    note: &AttemptRecord,
) -> String {
    let mut prompt = PromptBuilder::default();
    prompt
        .add_labelled("Feature", &run.feature, FEATURE_CHARS_MAX)
        .add_line(&format!(
            "Phase {}. Work in {}.",
            run.phase.name(),
            root.display()
        ))
        .add_line("");
    let (id, hands) = match task {
        DevelopTask::Design => {
            prompt.add_line(&format!(
                "Design it: look at the code there is, then write {DESIGN_PATH} (or where this project keeps designs) with what is built, \
                 the interfaces, and a contract in a fenced yaml block:"
            ));
            prompt.add_line(
                "checkpoints:\n  - id: cp-1\n    description: …\n    interface: [\"…\"]\n    tests: [\"tests/…\"]\n    \
                 validation: { command: \"a command that ends with 0 exactly when it is done\" }\n    dependencies: []\n    \
                 files: [\"src/…\"]",
            );
            ("DESIGN", r#"{"contract": "path of the design"}"#)
        }
        DevelopTask::Checkpoint(id) => {
            add_checkpoint(&mut prompt, run, id, contract);
            (id.as_str(), r#"{"summary": "what was done"}"#)
        }
        DevelopTask::Gate(gate) => {
            prompt.add_line(gate_instructions(*gate));
            (gate.name(), gate_result_format(*gate))
        }
        DevelopTask::PullRequest => {
            prompt.add_line(
                "Everything is built, verified and reviewed. Commit it on a branch of its own, push the branch and open a pull \
                 request that says what was built and how it was verified. Do not merge it.",
            );
            ("pull-request", r#"{"pull_request": "its address"}"#)
        }
    };
    if !matches!(task, DevelopTask::Checkpoint(_)) {
        let known = contract
            .iter()
            .map(|one| format!("{}: {}", one.id, one.description));
        prompt.add_list("Checkpoints of the contract:", known);
    }
    prompt.add_failures(note, &RETRY_ADVICE);
    prompt.add_line("").add_line(
        "Do not edit .develop-workflow/state.json, bowline.toml or protected files: gates open by their sealed commands alone.",
    );
    prompt.finish_prompt(id, hands)
}

fn add_checkpoint(
    prompt: &mut PromptBuilder,
    run: &DevelopRunState,
    id: &str,
    contract: &[PlannedCheckpoint],
) {
    let planned = contract.iter().find(|one| one.id == id);
    let what = planned.map_or("", |planned| planned.description.as_str());
    prompt.add_line(&format!("Do checkpoint {id} and no other: {what}"));
    let iteration = run
        .find_checkpoint(id)
        .map_or(1, |one| one.iteration.max(1));
    prompt.add_line(&format!("This is attempt {iteration} of {ATTEMPTS_MAX}."));
    prompt.add_line(
        "Read the code and the tests, analyse what is missing, learn from earlier attempts, patch, then halt: run the command \
         yourself, and end when it is green or when you know why it cannot be.",
    );
    let Some(planned) = planned else {
        return;
    };
    let command = planned.command.iter();
    prompt.add_list("It is done when this ends with 0:", command);
    prompt.add_list("It touches:", &planned.files);
    prompt.add_list("It builds on:", &planned.dependencies);
    prompt.add_line("").add_line(&format!(
        "If no attempt can help, end with FAIL:{id}:DESIGN_MISMATCH: reason, or FAIL:{id}:ENV_ISSUE: reason."
    ));
}

fn gate_instructions(gate: Gate) -> &'static str {
    match gate {
        Gate::ReviewCleanPass => {
            "Review the design and its contract as somebody who did not write it: wrong assumptions, missing cases, checkpoints that \
             overlap, commands that prove nothing. Mend what is blocking in the design itself; hand the contract back if it changed."
        }
        Gate::ArchitectVerified => {
            "All checkpoints passed one by one, but the verification of the whole is red. Mend what it names, without weakening a \
             test."
        }
        Gate::ReReviewClean => {
            "Review the whole change as somebody who did not write it: correctness, security, tests that prove nothing, leftovers. \
             Mend what is blocking. Do not commit or push yet."
        }
    }
}

fn gate_result_format(gate: Gate) -> &'static str {
    match gate {
        Gate::ReviewCleanPass => {
            r#"{"blocking": number of blocking issues that are left, "issues": ["…"], "contract": "path, if it changed"}"#
        }
        Gate::ArchitectVerified => r#"{"summary": "what was wrong"}"#,
        Gate::ReReviewClean => {
            r#"{"blocking": number of blocking issues that are left, "issues": ["…"]}"#
        }
    }
}
