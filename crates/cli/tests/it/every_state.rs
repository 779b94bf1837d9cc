//! Every verb in every state, taken from the tables of the machines and played through the binary: what is allowed leads
//! where the table says, what is refused says its code and hint, and leaves every byte as it was.

use crate::environment::TestEnvironment;
use bowline_engine::formats::StateFormat;
use bowline_engine::formats::json::JsonDocument;
use bowline_engine::formats::memory::task_state::TaskStateFile;
use bowline_engine::formats::thinking::{ThinkingFile, new_document};
use bowline_engine::formats::time;
use bowline_engine::machines::CodedRefusal as _;
use bowline_engine::machines::plan::{self, NewStep, PlanMachine, TaskMemory, next_id};
use bowline_engine::machines::table::{MachineCatalogue, PAST_TIME, TABLE_TIME};
use bowline_engine::machines::thinking::{self, OutputFiles, ThinkingMachine, ThinkingRunState};
use bowline_engine::{Error, MachineRefusal};
use bowline_words::Lang;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::PathBuf;

const THINKING: &str = "thinking_state.json";
const TASK_STATE: &str = ".claude/memory/task-state.json";

/// A cell of a table as somebody at a prompt would try it.
struct Try<C> {
    /// The command, as the command line makes it.
    command: C,
    words: Vec<String>,
    /// Files that must be there for the facts of the command.
    files: Vec<(String, String)>,
}

#[test]
fn thinking() {
    let template = |state: &ThinkingRunState| {
        let world = world();
        world.quietly("thinking new essay-009 --title T --goal G", 0);
        put::<ThinkingFile>(&world, THINKING, state);
        world
    };
    let played = play::<ThinkingMachine, ThinkingFile>(THINKING, template, |_, command| {
        Some(thinking_words(command))
    });
    assert!(
        played.refused > 40 && played.moved > 30 && played.hints >= 10,
        "{played:?}"
    );
    assert!(played.beyond.is_empty(), "{played:?}");
}

#[test]
fn memory() {
    let template = |state: &TaskMemory| {
        let world = world();
        world.quietly("memory init", 0);
        put::<TaskStateFile>(&world, TASK_STATE, state);
        world
    };
    let played = play::<PlanMachine, TaskStateFile>(TASK_STATE, template, plan_words);
    assert!(
        played.refused > 60 && played.moved > 60 && played.hints > 10,
        "{played:?}"
    );
    // The command line counts ids itself: nobody can ask for one that is taken.
    let taken = |beyond: &String| beyond.ends_with("task new, id taken");
    assert!(played.beyond.iter().all(taken), "{played:?}");
}

#[derive(Debug, Default)]
struct Played {
    refused: usize,
    moved: usize,
    /// Commands that hints name, each of which was given.
    hints: usize,
    /// Cells that no command line leads to.
    beyond: Vec<String>,
}

fn world() -> TestEnvironment {
    TestEnvironment::new().with("BOWLINE_CLOCK", &time::format_utc(PAST_TIME))
}

/// Puts a state into the file of a world, as an editor would.
fn put<F: StateFormat>(world: &TestEnvironment, file: &str, state: &F::State) {
    let document = JsonDocument::parse(world.read(file).as_bytes()).unwrap();
    let mut value = document.value().clone();
    F::write_state(state, &mut value, PAST_TIME);
    world.write(file, document.reconcile(&value).text());
}

fn play<M, F>(
    file: &str,
    template: impl Fn(&M::State) -> TestEnvironment,
    words: impl Fn(&M::State, M::Command) -> Option<Try<M::Command>>,
) -> Played
where
    M: MachineCatalogue,
    M::State: std::fmt::Debug + PartialEq,
    F: StateFormat<State = M::State>,
    MachineRefusal: From<M::Refusal>,
{
    let mut played = Played::default();
    let mut tried = BTreeSet::new();
    for (state_name, state) in M::sample_states() {
        let origin = template(&state);
        let read =
            |text: String| F::read_state(&JsonDocument::parse(text.as_bytes()).unwrap()).unwrap();
        assert_eq!(read(origin.read(file)).state, state, "{state_name}");
        let whole = origin.everything();
        for (command_name, command) in M::sample_commands() {
            let cell = format!("{state_name}: {command_name}");
            let Some(attempt) = words(&state, command) else {
                played.beyond.push(cell);
                continue;
            };
            let mut world =
                TestEnvironment::new().with("BOWLINE_CLOCK", &time::format_utc(TABLE_TIME));
            if command_name.ends_with("by an agent") {
                world = world.with("CLAUDECODE", "1");
            }
            for (path, bytes) in &whole {
                let path: PathBuf = path.strip_prefix(origin.path("")).unwrap().into();
                world.write(path.to_str().unwrap(), bytes);
            }
            for (path, text) in &attempt.files {
                world.write(path, text);
            }
            let before = world.everything();
            let mut process = world.bowline("--json");
            let output = process.args(&attempt.words).output().unwrap();
            let told = world.told(&attempt.words.join(" "), &output);
            let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
            match M::step(&state, attempt.command, TABLE_TIME) {
                Ok(step) => {
                    played.moved += 1;
                    assert_eq!(output.status.code(), Some(0), "{cell}\n{told}");
                    let now = read(world.read(file)).state;
                    assert_eq!(now, step.next, "{cell}\n{told}");
                    assert_eq!(M::state_label(&now), M::state_label(&step.next), "{cell}");
                }
                Err(refusal) => {
                    played.refused += 1;
                    // What is not there has an exit code of its own.
                    let missing = ["no_step", "not_queued"].contains(&refusal.code());
                    let code = if missing { 3 } else { 1 };
                    assert_eq!(output.status.code(), Some(code), "{cell}\n{told}");
                    let (code, message) = (refusal.code(), refusal.to_string());
                    let (_, hint) = Error::Refused(refusal.into()).render_message(Lang::En);
                    let error = json!({ "code": code, "message": message, "hint": hint });
                    assert_eq!(answer["error"], error, "{cell}");
                    assert_eq!(world.everything(), before, "{cell} changed something");
                    if tried.insert((state_name, hint.clone())) {
                        played.hints += world.try_hints(&cell, &hint);
                    }
                }
            }
        }
    }
    played
}

fn thinking_words(command: thinking::Command) -> Try<thinking::Command> {
    use thinking::Command as C;
    let mut words = vec!["thinking".to_owned()];
    let mut add = |more: &[&str]| words.extend(more.iter().map(|&word| word.to_owned()));
    let mut files = Vec::new();
    let mut see = |seen: &OutputFiles| {
        let made = seen
            .0
            .iter()
            .map(|path| (path.clone(), "made\n".to_owned()));
        files.extend(made);
    };
    match &command {
        C::Start {
            stage,
            override_reason,
            seen,
            ..
        } => {
            add(&["start", stage.name()]);
            see(seen);
            if let Some(reason) = override_reason {
                add(&["--override", reason]);
            }
        }
        C::Output { stage, paths } => {
            add(&["output", stage.name()]);
            paths.iter().for_each(|path| add(&[path]));
        }
        C::Complete {
            stage,
            outputs,
            seen,
            checks,
        } => {
            add(&["complete", stage.name()]);
            outputs.iter().for_each(|path| add(&["--output", path]));
            see(seen);
            for check in checks {
                let standard = format!(
                    "standards:\n  - criterion: {}\n    threshold: {}\n    stage: {}\n",
                    check.criterion,
                    check.threshold,
                    stage.name()
                );
                let judged = json!({ "checks": [{ "criterion": check.criterion.to_string(), "score": check.value }] });
                files.push(("shared/configs/quality_standards.yaml".into(), standard));
                files.push((
                    "thinking/reflection/quality_check.json".into(),
                    judged.to_string(),
                ));
            }
        }
        C::Fail {
            stage,
            code,
            message,
        } => add(&["fail", stage.name(), "--code", code, "--message", message]),
        C::Evaluate { scores, .. } => {
            add(&["evaluate"]);
            scores
                .iter()
                .for_each(|(name, score)| add(&[&format!("{name}={score}")]));
        }
        C::Measure { metrics } => {
            add(&["quality"]);
            metrics
                .iter()
                .for_each(|(name, value)| add(&[&format!("{name}={value}")]));
        }
        C::RecordFeedback(execution) => {
            let metric = format!("{}={}", execution.metric, execution.actual);
            let target = execution.target.to_string();
            add(&[
                "feedback", "record", "--metric", &metric, "--target", &target,
            ]);
            execution
                .learnings
                .iter()
                .for_each(|text| add(&["--learning", text]));
        }
        C::ApplyFeedback(lesson) => {
            add(&["feedback", "apply", "--from", "other"]);
            let mut other = new_document(&lesson.task_id, "Other", "", PAST_TIME)
                .value()
                .clone();
            let stages: Vec<&str> = lesson.stages.iter().map(|stage| stage.name()).collect();
            other["feedback"]["for_next_tasks"] =
                json!([{ "learnings": lesson.learnings, "apply_to_stages": stages }]);
            files.push((format!("other/{THINKING}"), other.to_string()));
        }
    }
    Try {
        command,
        words,
        files,
    }
}

fn plan_words(memory: &TaskMemory, mut command: plan::Command) -> Option<Try<plan::Command>> {
    use plan::Command as C;
    let mut words = vec!["memory".to_owned()];
    let mut add = |more: &[&str]| words.extend(more.iter().map(|&word| word.to_owned()));
    match &mut command {
        C::NewTask(new) => {
            let current = memory.current.as_ref().map(|task| task.id.as_str());
            let queue = memory.queue.iter().map(|queued| queued.id.as_str());
            let known: Vec<&str> = current.into_iter().chain(queue).collect();
            if known.contains(&new.id.as_str()) || new.id.ends_with("001") {
                return None;
            }
            new.id = next_id("task", "2026-01-01", known);
            add(&["task", "new", &new.name]);
            for step in &new.steps {
                add(&["--step", &step_words(step)]);
            }
        }
        C::StepAdd(step) => add(&["step", "add", &step_words(step)]),
        C::StepStart { id } => add(&["step", "start", &id.to_string()]),
        C::StepComplete { id, .. } => add(&["step", "complete", &id.to_string()]),
        C::StepFail { id, kind, message } => {
            let id = id.to_string();
            add(&[
                "step",
                "fail",
                &id,
                "--type",
                kind.name(),
                "--message",
                message,
            ]);
        }
        C::TaskPause => add(&["task", "pause"]),
        C::TaskResume => add(&["task", "resume"]),
        C::TaskCancel => add(&["task", "cancel"]),
        C::TaskFinish { result, .. } => {
            add(&["task", "finish"]);
            if let Some(result) = result {
                add(&["--result", result.name()]);
            }
        }
        C::TaskRecover { .. } => add(&["task", "recover"]),
        C::TaskDrop { id } => add(&["task", "drop", id]),
    }
    Some(Try {
        command,
        words,
        files: Vec::new(),
    })
}

fn step_words(step: &NewStep) -> String {
    let needs: Vec<String> = step.dependencies.iter().map(u32::to_string).collect();
    format!(
        "name={},agent={},deps={}",
        step.name,
        step.agent,
        needs.join("+")
    )
}
