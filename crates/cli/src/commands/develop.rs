//! `bowline develop`.

use crate::args::develop::{CheckpointVerb, DevelopArgs, DevelopVerb, EvidenceVerb, GateVerb};
use crate::commands::{develop_evidence, develop_view, runs, status};
use crate::output::CommandOutput;
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
    output: &CommandOutput,
    folder: &Path,
    args: &DevelopArgs,
) -> Result<ExitCode, Error> {
    let run = DevelopRun::in_folder(context, folder);
    let (changed, did) = match &args.verb {
        DevelopVerb::Start { feature, fresh } => {
            return start_run(context, output, &run, feature, *fresh);
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
        DevelopVerb::Gate(verb) => return run_gate_verb(context, output, &run, verb),
        DevelopVerb::Implement { strategy } => {
            let changed = run.enter_implement(context, strategy.as_deref())?;
            let strategy = changed.state.as_ref().and_then(|run| run.strategy);
            let strategy = strategy.map_or("", |strategy| strategy.name());
            (changed, Confirmation::Implementing { strategy })
        }
        DevelopVerb::Run(args) => return runs::run_develop(context, output, &run, args),
        DevelopVerb::Checkpoint(verb) => return run_checkpoint_verb(context, output, &run, verb),
        DevelopVerb::Pr => (run.enter_pr(context)?, phase_confirmation(DevelopPhase::Pr)),
        DevelopVerb::Done => (
            run.finish_run(context)?,
            phase_confirmation(DevelopPhase::Done),
        ),
        DevelopVerb::Back { phase } => (run.go_back(context, *phase)?, phase_confirmation(*phase)),
        DevelopVerb::Resume => return resume_run(context, output, &run),
        DevelopVerb::Reset => {
            let changed = run.discard_run(context)?;
            if output.json {
                let mut value = output.changed_json(context, &changed);
                value["state"] = Value::Null;
                value["next"] = json!([FileKind::Develop.how_to_begin()]);
                output.print_line(&value.to_string());
                return Ok(ExitCode::SUCCESS);
            }
            return Ok(output.print_change(context, &changed, &Confirmation::RunThrownAway));
        }
        DevelopVerb::Adopt => (run.adopt_run(context)?, Confirmation::RunTakenOver),
        DevelopVerb::Seal => {
            let changed = run.seal_run(context)?;
            let said = format!(
                "✓ {}",
                seal_confirmation(Some(&changed.state)).say(output.lang)
            );
            return Ok(output.print_change(context, &changed, &Confirmation::Said { said }));
        }
        DevelopVerb::Evidence(EvidenceVerb::Export { file, key }) => {
            return develop_evidence::export_evidence(
                context,
                output,
                folder,
                file,
                key.as_deref(),
            );
        }
        DevelopVerb::Status => {
            return status::print_view(context, output, &run.file().read_view(context)?);
        }
    };
    Ok(output.print_change(context, &changed, &did))
}

fn phase_confirmation(phase: DevelopPhase) -> Confirmation {
    Confirmation::InPhase {
        phase: phase.name(),
    }
}

fn start_run(
    context: &Context,
    output: &CommandOutput,
    run: &DevelopRun,
    feature: &str,
    fresh: bool,
) -> Result<ExitCode, Error> {
    let changed = match run.start_run(context, feature, fresh) {
        Err(error) if error.code() == "run_open" => {
            let Some(open) = run.read_run(context)? else {
                return Err(error);
            };
            let report = develop_view::resume_report(output, &open);
            if output.json {
                let mut body = output.error_json(&error);
                body["report"] = json!(report);
                output.print_line(&json!({ "error": body }).to_string());
                return Ok(ExitCode::from(1));
            }
            for line in &report {
                output.print_line(line);
            }
            match ask_about_open_run(output) {
                None => return Err(error),
                Some(OpenRunChoice::Resume) => return resume_run(context, output, run),
                Some(OpenRunChoice::StartNew) => run.start_run(context, feature, true)?,
            }
        }
        other => other?,
    };
    let feature = status::one_line(feature);
    let did = match changed.state.after_done {
        true => Confirmation::DesignBegunAnew { feature },
        false => Confirmation::DesignBegun { feature },
    };
    if !output.json && !output.dry_run {
        let sealed = seal_confirmation(changed.state.seal.as_ref()).say(output.lang);
        output.print_stderr(&format!("{}: {sealed}", output.label(Label::Note)));
        output.print_remark(Label::Note, &OutputNote::NothingHeldYet);
    }
    Ok(output.print_change(context, &changed, &did))
}

enum OpenRunChoice {
    Resume,
    StartNew,
}

/// Asks a person to resume the open run or to start a new one; `None` without a terminal.
fn ask_about_open_run(output: &CommandOutput) -> Option<OpenRunChoice> {
    match output.ask_person(&OutputNote::AskGoOn)?.trim() {
        "1" => Some(OpenRunChoice::Resume),
        "2" => Some(OpenRunChoice::StartNew),
        _ => None,
    }
}

/// Returns the confirmation that names the sealed commands and files.
fn seal_confirmation(seal: Option<&Seal>) -> Confirmation {
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

fn run_gate_verb(
    context: &Context,
    output: &CommandOutput,
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
            let context = &signing_context(context, *unsandboxed_signing);
            let proof = GateProof {
                run: command.as_deref(),
                by_hand: by_hand.as_deref(),
            };
            let passed = run.gate_pass(context, *name, proof, &CommandProgress(output))?;
            print_would_run(output, passed.would_run.as_deref());
            Ok(output.print_change(context, &passed.changed, &is(name, true)))
        }
        GateVerb::Reset { name } => {
            let changed = run.gate_reset(context, *name)?;
            Ok(output.print_change(context, &changed, &is(name, false)))
        }
    }
}

/// Returns a context in which a person may sign evidence of a command that ran outside a sandbox.
fn signing_context(context: &Context, unsandboxed_signing: bool) -> Context {
    Context {
        unsandboxed_signing,
        ..context.clone()
    }
}

fn print_would_run(output: &CommandOutput, command: Option<&str>) {
    if let Some(command) = command {
        output.print_stderr(&format!("{}: {command}", output.label(Label::WouldRun)));
    }
}

fn run_checkpoint_verb(
    context: &Context,
    output: &CommandOutput,
    run: &DevelopRun,
    verb: &CheckpointVerb,
) -> Result<ExitCode, Error> {
    let print_changed = |changed: &ChangeOutcome<_>, id| {
        output.print_change(context, changed, &checkpoint_confirmation(changed, id))
    };
    match verb {
        CheckpointVerb::Start {
            id,
            override_reason,
        } => {
            let changed = run.checkpoint_start(context, id, override_reason.as_deref())?;
            Ok(print_changed(&changed, id))
        }
        CheckpointVerb::Pass {
            id,
            run: command,
            unsandboxed_signing,
        } => {
            let context = &signing_context(context, *unsandboxed_signing);
            let passed =
                run.checkpoint_pass(context, id, command.as_deref(), &CommandProgress(output))?;
            print_would_run(output, passed.would_run.as_deref());
            print_changed(&passed.changed, id);
            // The checkpoint did not pass: a chain of commands must see the failure.
            Ok(match checkpoint_confirmation(&passed.changed, id) {
                Confirmation::CheckpointPassed { .. } => ExitCode::SUCCESS,
                _ => ExitCode::from(1),
            })
        }
        CheckpointVerb::Fail { id, class } => Ok(print_changed(
            &run.checkpoint_fail(context, id, *class)?,
            id,
        )),
    }
}

/// Describes a checkpoint after a transition.
fn checkpoint_confirmation(
    changed: &ChangeOutcome<Option<DevelopRunState>>,
    id: &str,
) -> Confirmation {
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
fn resume_run(
    context: &Context,
    output: &CommandOutput,
    run: &DevelopRun,
) -> Result<ExitCode, Error> {
    let view = run.file().read_view(context)?;
    let Some(state) = view.develop_run() else {
        return Ok(ExitCode::SUCCESS);
    };
    let report = develop_view::resume_report(output, state);
    let action = resume_instruction(state, output.lang);
    let needs_person = view.examined.next.iter().any(|next| next.person);
    if output.json {
        let mut value = output.view_json(context, &view);
        value["report"] = json!(report);
        value["action"] = json!(action);
        value["needsPerson"] = json!(needs_person);
        output.print_line(&value.to_string());
        return Ok(ExitCode::SUCCESS);
    }
    output.print_notices(&view.notices);
    for line in report.iter().chain([&action]) {
        output.print_line(line);
    }
    status::print_next_commands(context, output, &view);
    if needs_person {
        output.print_line(&format!("  {}", OutputNote::PersonsMove.say(output.lang)));
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the instruction for resuming a run in its phase. A review that has passed is not run
/// again: its gate is open, and the next phase may begin.
fn resume_instruction(run: &DevelopRunState, lang: Lang) -> String {
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
struct CommandProgress<'o>(&'o CommandOutput);

impl CommandObserver for CommandProgress<'_> {
    fn on_started(&self, command: &str) {
        if !self.0.json {
            let head = self.0.label(Label::Running);
            self.0.print_stderr(&format!("{head}: {command}"));
        }
    }

    fn on_tick(&self, command: &str, elapsed: Duration) {
        self.0
            .show_progress(&format!("{} s  {command}", elapsed.as_secs()));
    }

    fn on_ended(&self, evidence: &EvidenceRecord) {
        self.0.show_progress("");
        // In JSON mode too: the answer only says that the command failed, this says why.
        if evidence.exit_code == 0 {
            return;
        }
        for line in evidence.output_tail.lines() {
            self.0.print_stderr(&format!("  | {line}"));
        }
        let head = self.0.label(Label::ExitCode);
        self.0
            .print_stderr(&format!("  {head}: {}", evidence.exit_code));
    }
}
