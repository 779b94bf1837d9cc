//! `bowline develop`.

use crate::args::develop::{CheckpointVerb, DevelopArgs, DevelopVerb, EvidenceVerb, GateVerb};
use crate::commands::{develop_evidence, develop_view, here, runs};
use crate::output::Output;
use bowline_engine::develop::evidence::CommandObserver;
use bowline_engine::files::ChangeOutcome;
use bowline_engine::formats::develop::evidence::EvidenceRecord;
use bowline_engine::formats::develop::seal::Seal;
use bowline_engine::kinds::FileKind;
use bowline_engine::operations::develop::{
    ATTEMPTS_MAX, CheckpointStatus, DevelopCheckpoint, DevelopPhase, DevelopRun, DevelopRunState,
    Gate, GateProof,
};
use bowline_engine::{Context, Error};
use bowline_words::Lang;
use bowline_words::message::{Card, Confirmation, Label, OutputNote, Status};
use serde_json::{Value, json};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

pub(crate) fn run(
    context: &Context,
    output: &Output,
    folder: &Path,
    args: &DevelopArgs,
) -> Result<ExitCode, Error> {
    let run = DevelopRun::in_folder(context, folder);
    let (changed, did) = match &args.verb {
        DevelopVerb::Start { feature, fresh } => {
            return start(context, output, &run, feature, *fresh);
        }
        DevelopVerb::Review {
            checkpoints,
            contract,
        } => {
            let contract = contract.as_ref().map(|path| folder.join(path));
            let changed = run.enter_review(context, checkpoints, contract.as_deref())?;
            let known = changed.state.iter().flat_map(|run| &run.checkpoints);
            let ids: Vec<&str> = known.map(|one| one.id.as_str()).collect();
            let did = match ids.is_empty() {
                true => Confirmation::Reviewed,
                false => Confirmation::ReviewedWith {
                    checkpoints: ids.join(", "),
                },
            };
            (changed, did)
        }
        DevelopVerb::Gate(verb) => return gate(context, output, &run, verb),
        DevelopVerb::Implement { strategy } => {
            let changed = run.enter_implement(context, strategy.as_deref())?;
            let strategy = changed.state.as_ref().and_then(|run| run.strategy);
            let strategy = strategy.map_or("", |strategy| strategy.name());
            (changed, Confirmation::Implementing { strategy })
        }
        DevelopVerb::Run(args) => return runs::develop(context, output, &run, args),
        DevelopVerb::Checkpoint(verb) => return checkpoint(context, output, &run, verb),
        DevelopVerb::Pr => (run.enter_pr(context)?, in_phase(DevelopPhase::Pr)),
        DevelopVerb::Done => (run.finish_run(context)?, in_phase(DevelopPhase::Done)),
        DevelopVerb::Back { phase } => (run.go_back(context, *phase)?, in_phase(*phase)),
        DevelopVerb::Resume => return resume(context, output, &run),
        DevelopVerb::Reset => {
            let changed = run.discard_run(context)?;
            if output.json {
                let mut value = output.changed_json(context, &changed);
                value["state"] = Value::Null;
                value["next"] = json!([FileKind::Develop.how_to_begin()]);
                output.line(&value.to_string());
                return Ok(ExitCode::SUCCESS);
            }
            return Ok(output.changed(context, &changed, &Confirmation::RunThrownAway));
        }
        DevelopVerb::Adopt => (run.adopt_run(context)?, Confirmation::RunTakenOver),
        DevelopVerb::Seal => {
            let changed = run.seal_run(context)?;
            let said = format!("✓ {}", sealed(Some(&changed.state)).say(output.lang));
            return Ok(output.changed(context, &changed, &Confirmation::Said { said }));
        }
        DevelopVerb::Evidence(EvidenceVerb::Export { file, key }) => {
            return develop_evidence::export(context, output, folder, file, key.as_deref());
        }
        DevelopVerb::Status => {
            return here::status_of(context, output, &run.file().read_view(context)?);
        }
    };
    Ok(output.changed(context, &changed, &did))
}

fn in_phase(phase: DevelopPhase) -> Confirmation {
    Confirmation::InPhase {
        phase: phase.name(),
    }
}

fn start(
    context: &Context,
    output: &Output,
    run: &DevelopRun,
    feature: &str,
    fresh: bool,
) -> Result<ExitCode, Error> {
    let changed = match run.start_run(context, feature, fresh) {
        Err(error) if error.code() == "run_open" => {
            let Some(open) = run.read_run(context)? else {
                return Err(error);
            };
            let report = develop_view::report(output, &open);
            if output.json {
                let mut body = output.error_json(&error);
                body["report"] = json!(report);
                output.line(&json!({ "error": body }).to_string());
                return Ok(ExitCode::from(1));
            }
            for line in &report {
                output.line(line);
            }
            match ask(output) {
                None => return Err(error),
                Some(Answer::GoOn) => return resume(context, output, run),
                Some(Answer::Anew) => run.start_run(context, feature, true)?,
            }
        }
        other => other?,
    };
    let feature = here::one_line(feature);
    let did = match changed.state.after_done {
        true => Confirmation::DesignBegunAnew { feature },
        false => Confirmation::DesignBegun { feature },
    };
    if !output.json && !output.dry_run {
        let sealed = sealed(changed.state.seal.as_ref()).say(output.lang);
        output.talk(&format!("{}: {sealed}", output.label(Label::Note)));
        output.remark(Label::Note, &OutputNote::NothingHeldYet);
    }
    Ok(output.changed(context, &changed, &did))
}

enum Answer {
    GoOn,
    Anew,
}

/// Asks a person to resume the open run or to start a new one; `None` without a terminal.
fn ask(output: &Output) -> Option<Answer> {
    match output.ask(&OutputNote::AskGoOn)?.trim() {
        "1" => Some(Answer::GoOn),
        "2" => Some(Answer::Anew),
        _ => None,
    }
}

/// Returns the confirmation that names the sealed commands and files.
fn sealed(seal: Option<&Seal>) -> Confirmation {
    let did = match seal {
        Some(seal) if !seal.rules.gates.is_empty() => {
            let one = |gate: Gate| {
                let command = seal.rules.gate_command(gate)?;
                Some(format!("{} ({command})", gate.name()))
            };
            let gates: Vec<String> = Gate::ALL.into_iter().filter_map(one).collect();
            Confirmation::Sealed {
                gates: gates.join(", "),
                files: seal.files.len(),
            }
        }
        Some(_) => Confirmation::SealedNothing,
        None => Confirmation::NotSealed,
    };
    let idle = seal.map(|seal| seal.idle_patterns().join(", "));
    match idle.filter(|idle| !idle.is_empty()) {
        Some(idle) => Confirmation::SealedButIdle {
            said: Box::new(did),
            idle,
        },
        None => did,
    }
}

fn gate(
    context: &Context,
    output: &Output,
    run: &DevelopRun,
    verb: &GateVerb,
) -> Result<ExitCode, Error> {
    let is = |gate: &Gate, open| Confirmation::GateIs {
        gate: gate.name(),
        open,
    };
    match verb {
        GateVerb::Pass {
            name,
            run: command,
            by_hand,
            unsandboxed_signing,
        } => {
            let context = &signing(context, *unsandboxed_signing);
            let proof = GateProof {
                run: command.as_deref(),
                by_hand: by_hand.as_deref(),
            };
            let passed = run.gate_pass(context, *name, proof, &Shown(output))?;
            would_run(output, passed.would_run.as_deref());
            Ok(output.changed(context, &passed.changed, &is(name, true)))
        }
        GateVerb::Reset { name } => {
            let changed = run.gate_reset(context, *name)?;
            Ok(output.changed(context, &changed, &is(name, false)))
        }
    }
}

/// Returns a context in which a person may sign evidence of a command that ran outside a sandbox.
fn signing(context: &Context, unsandboxed_signing: bool) -> Context {
    Context {
        unsandboxed_signing,
        ..context.clone()
    }
}

fn would_run(output: &Output, command: Option<&str>) {
    if let Some(command) = command {
        output.talk(&format!("{}: {command}", output.label(Label::WouldRun)));
    }
}

fn checkpoint(
    context: &Context,
    output: &Output,
    run: &DevelopRun,
    verb: &CheckpointVerb,
) -> Result<ExitCode, Error> {
    let told =
        |changed: &ChangeOutcome<_>, id| output.changed(context, changed, &standing(changed, id));
    match verb {
        CheckpointVerb::Start {
            id,
            override_reason,
        } => {
            let changed = run.checkpoint_start(context, id, override_reason.as_deref())?;
            Ok(told(&changed, id))
        }
        CheckpointVerb::Pass {
            id,
            run: command,
            unsandboxed_signing,
        } => {
            let context = &signing(context, *unsandboxed_signing);
            let passed = run.checkpoint_pass(context, id, command.as_deref(), &Shown(output))?;
            would_run(output, passed.would_run.as_deref());
            told(&passed.changed, id);
            // The checkpoint did not pass: a chain of commands must see the failure.
            Ok(match standing(&passed.changed, id) {
                Confirmation::CheckpointPassed { .. } => ExitCode::SUCCESS,
                _ => ExitCode::from(1),
            })
        }
        CheckpointVerb::Fail { id, class } => {
            Ok(told(&run.checkpoint_fail(context, id, *class)?, id))
        }
    }
}

/// Describes a checkpoint after a transition.
fn standing(changed: &ChangeOutcome<Option<DevelopRunState>>, id: &str) -> Confirmation {
    let run = changed.state.as_ref();
    let found = run.and_then(|run| run.find_checkpoint(id));
    let pending = DevelopCheckpoint::pending(id);
    let one = found.unwrap_or(&pending);
    let (id, attempt, max) = (id.to_owned(), one.iteration, ATTEMPTS_MAX);
    match one.status {
        CheckpointStatus::Passed => Confirmation::CheckpointPassed { id },
        CheckpointStatus::Escalated => Confirmation::CheckpointEscalated { id },
        CheckpointStatus::InProgress if attempt == 1 => {
            Confirmation::CheckpointBegun { id, attempt, max }
        }
        CheckpointStatus::InProgress => Confirmation::CheckpointAgain { id, attempt, max },
        CheckpointStatus::Pending | CheckpointStatus::Failed => Confirmation::CheckpointIs {
            id,
            status: Status::from_word(one.status.name()),
        },
    }
}

/// Prints the report and the next command. Writes nothing.
fn resume(context: &Context, output: &Output, run: &DevelopRun) -> Result<ExitCode, Error> {
    let view = run.file().read_view(context)?;
    let Some(state) = view.develop_run() else {
        return Ok(ExitCode::SUCCESS);
    };
    let report = develop_view::report(output, state);
    let action = action(state, output.lang);
    let needs_person = view.examined.next.iter().any(|next| next.person);
    if output.json {
        let mut value = output.view_json(context, &view);
        value["report"] = json!(report);
        value["action"] = json!(action);
        value["needsPerson"] = json!(needs_person);
        output.line(&value.to_string());
        return Ok(ExitCode::SUCCESS);
    }
    output.notices(&view.notices);
    for line in report.iter().chain([&action]) {
        output.line(line);
    }
    here::next(context, output, &view);
    if needs_person {
        output.line(&format!("  {}", OutputNote::PersonsMove.say(output.lang)));
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the instruction for resuming a run in its phase. A review that has passed is not run
/// again: its gate is open, and the next phase may begin.
fn action(run: &DevelopRunState, lang: Lang) -> String {
    match run.phase {
        DevelopPhase::Design => OutputNote::DesignAgain.say(lang),
        DevelopPhase::Review if run.gates.is_open(Gate::ReviewCleanPass) => {
            Card::Implement.say(lang)
        }
        DevelopPhase::Review => OutputNote::ReviewAgain.say(lang),
        DevelopPhase::Implement => OutputNote::ImplementOn.say(lang),
        DevelopPhase::Pr if run.gates.is_open(Gate::ReReviewClean) => Card::FinishNow.say(lang),
        DevelopPhase::Pr => OutputNote::CodeReviewAgain.say(lang),
        DevelopPhase::Done => OutputNote::RunDone.say(lang),
    }
}

/// Shows which command is running and for how long, and the output of one that failed.
struct Shown<'o>(&'o Output);

impl CommandObserver for Shown<'_> {
    fn on_started(&self, command: &str) {
        if !self.0.json {
            let head = self.0.label(Label::Running);
            self.0.talk(&format!("{head}: {command}"));
        }
    }

    fn on_tick(&self, command: &str, elapsed: Duration) {
        self.0
            .progress(&format!("{} s  {command}", elapsed.as_secs()));
    }

    fn on_ended(&self, evidence: &EvidenceRecord) {
        self.0.progress("");
        // In JSON mode too: the answer only says that the command failed, this says why.
        if evidence.exit_code == 0 {
            return;
        }
        for line in evidence.output_tail.lines() {
            self.0.talk(&format!("  | {line}"));
        }
        let head = self.0.label(Label::ExitCode);
        self.0.talk(&format!("  {head}: {}", evidence.exit_code));
    }
}
