//! Prompts for the parts of a develop run.

use super::super::prompts::Prompt;
use super::{DESIGN, Task};
use crate::core::note::Note;
use bowline_engine::operations::develop::{ATTEMPTS_MAX, DevelopRunState, Gate, PlannedCheckpoint};
use std::path::Path;

/// Characters of the feature.
const FEATURE_CHARS_MAX: usize = 4_000;

/// Advice for a further attempt: first the message alone, then its surroundings, then everything.
const RALPH: [&str; 2] = [
    "Read the message, and mend what it names.",
    "The same way did not help. Read the tests and everything they touch before you change anything; find the first thing that \
     is wrong, and write the cause down.",
];

/// Builds the prompt of the next attempt.
pub(super) fn prompt(
    root: &Path,
    run: &DevelopRunState,
    task: &Task,
    contract: &[PlannedCheckpoint],
    note: &Note,
) -> String {
    let mut prompt = Prompt::default();
    prompt
        .named("Feature", &run.feature, FEATURE_CHARS_MAX)
        .line(&format!(
            "Phase {}. Work in {}.",
            run.phase.name(),
            root.display()
        ))
        .line("");
    let (id, hands) = match task {
        Task::Design => {
            prompt.line(&format!(
                "Design it: look at the code there is, then write {DESIGN} (or where this project keeps designs) with what is built, \
                 the interfaces, and a contract in a fenced yaml block:"
            ));
            prompt.line(
                "checkpoints:\n  - id: cp-1\n    description: …\n    interface: [\"…\"]\n    tests: [\"tests/…\"]\n    \
                 validation: { command: \"a command that ends with 0 exactly when it is done\" }\n    dependencies: []\n    \
                 files: [\"src/…\"]",
            );
            ("DESIGN", r#"{"contract": "path of the design"}"#)
        }
        Task::Checkpoint(id) => {
            checkpoint(&mut prompt, run, id, contract);
            (id.as_str(), r#"{"summary": "what was done"}"#)
        }
        Task::Gate(gate) => {
            prompt.line(of_gate(*gate));
            (gate.name(), hands_of(*gate))
        }
        Task::PullRequest => {
            prompt.line(
                "Everything is built, verified and reviewed. Commit it on a branch of its own, push the branch and open a pull \
                 request that says what was built and how it was verified. Do not merge it.",
            );
            ("pull-request", r#"{"pull_request": "its address"}"#)
        }
    };
    if !matches!(task, Task::Checkpoint(_)) {
        let known = contract
            .iter()
            .map(|one| format!("{}: {}", one.id, one.description));
        prompt.list("Checkpoints of the contract:", known);
    }
    prompt.again(note, &RALPH);
    prompt.line("").line(
        "Do not edit .develop-workflow/state.json, bowline.toml or protected files: gates open by their sealed commands alone.",
    );
    prompt.ending(id, hands)
}

fn checkpoint(
    prompt: &mut Prompt,
    run: &DevelopRunState,
    id: &str,
    contract: &[PlannedCheckpoint],
) {
    let planned = contract.iter().find(|one| one.id == id);
    let what = planned.map_or("", |planned| planned.description.as_str());
    prompt.line(&format!("Do checkpoint {id} and no other: {what}"));
    let iteration = run
        .find_checkpoint(id)
        .map_or(1, |one| one.iteration.max(1));
    prompt.line(&format!("This is attempt {iteration} of {ATTEMPTS_MAX}."));
    prompt.line(
        "Read the code and the tests, analyse what is missing, learn from earlier attempts, patch, then halt: run the command \
         yourself, and end when it is green or when you know why it cannot be.",
    );
    let Some(planned) = planned else {
        return;
    };
    let command = planned.command.iter();
    prompt.list("It is done when this ends with 0:", command);
    prompt.list("It touches:", &planned.files);
    prompt.list("It builds on:", &planned.dependencies);
    prompt.line("").line(&format!(
        "If no attempt can help, end with FAIL:{id}:DESIGN_MISMATCH: reason, or FAIL:{id}:ENV_ISSUE: reason."
    ));
}

fn of_gate(gate: Gate) -> &'static str {
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

fn hands_of(gate: Gate) -> &'static str {
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
