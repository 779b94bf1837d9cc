//! The transition rules of develop runs.

use super::{
    ATTEMPTS_MAX, CheckpointStatus, Command, DevelopCheckpoint, DevelopPhase, DevelopRunState,
    Effect, FailureClass, Gate, ID_CHARS_MAX, NextAction, Refusal, StrategyChoice,
    SubmittedEvidence, choose_strategy, next_action, with_closed_gates,
};
use crate::kernel::{
    Actor, CommandAdvice, Machine, MachineStep, RefusalSubject, Timestamp, Violation,
};

/// Number of characters of a refused id that the refusal shows.
const ID_SHOWN_CHARS: usize = 40;

/// The state machine of develop runs.
#[derive(Debug, Clone, Copy)]
pub struct DevelopMachine;

type State = Option<DevelopRunState>;
type Outcome = Result<MachineStep<State, Effect>, Refusal>;

impl Machine for DevelopMachine {
    type State = State;
    type Command = Command;
    type Effect = Effect;
    type Refusal = Refusal;

    fn step(state: &State, command: Command, at: Timestamp) -> Outcome {
        let run = || {
            let mut run = state.clone().ok_or(Refusal::NoRun)?;
            // A clock that was set back must not move a time back.
            run.updated_at = at.max(run.started_at).max(run.updated_at);
            Ok(run)
        };
        match command {
            Command::Start { feature, fresh, by } => start_run(state, feature, fresh, by, at),
            Command::Review { checkpoints } => enter_review(run()?, &checkpoints),
            Command::GatePass { gate, evidence, by } => gate_pass(run()?, gate, &evidence, by),
            Command::GateReset { gate } => gate_reset(run()?, gate),
            Command::Implement { choice } => enter_implementation(run()?, choice),
            Command::CheckpointStart {
                id,
                override_reason,
                by,
            } => checkpoint_start(run()?, &id, override_reason.as_deref(), by),
            Command::CheckpointPass {
                id,
                evidence,
                attempts_max,
            } => checkpoint_pass(run()?, &id, &evidence, attempts_max),
            Command::CheckpointFail {
                id,
                class,
                attempts_max,
            } => checkpoint_fail(run()?, &id, class, attempts_max),
            Command::Pr => enter_pull_request(run()?),
            Command::Done => finish_run(run()?),
            Command::Back { phase, by } => return_to_phase(run()?, phase, by),
            Command::Reset { by } => run().and_then(|_| discard_run(by)),
            Command::Adopt { owned } => adopt_run(&run()?, owned),
        }
    }

    fn status_name(state: &State) -> &'static str {
        state.as_ref().map_or("none", |run| run.phase.name())
    }

    fn violations(state: &State) -> Vec<Violation> {
        state.as_ref().map_or_else(Vec::new, violations)
    }

    fn advice(state: &State) -> Vec<CommandAdvice> {
        let Some(run) = state else {
            return vec![CommandAdvice::without_target("start")];
        };
        match next_action(run) {
            NextAction::Design => vec![CommandAdvice::without_target("review")],
            NextAction::ReviewAgain => vec![CommandAdvice::with_target(
                "gate pass",
                Gate::ReviewCleanPass.name(),
            )],
            NextAction::Implement => vec![CommandAdvice::without_target("implement")],
            NextAction::Checkpoint { id, iteration: 0 } => {
                vec![CommandAdvice::with_target("checkpoint start", id)]
            }
            NextAction::Checkpoint { id, .. } => vec![
                CommandAdvice::with_target("checkpoint pass", id.clone()),
                CommandAdvice::with_target("checkpoint fail", id),
            ],
            NextAction::AskPerson { checkpoints } => checkpoints
                .into_iter()
                .map(|id| {
                    CommandAdvice::with_target("checkpoint start", id)
                        .with_options("--override REASON")
                })
                .collect(),
            NextAction::VerifyAll => vec![CommandAdvice::with_target(
                "gate pass",
                Gate::ArchitectVerified.name(),
            )],
            NextAction::Pr => vec![CommandAdvice::without_target("pr")],
            NextAction::ReReview => vec![CommandAdvice::with_target(
                "gate pass",
                Gate::ReReviewClean.name(),
            )],
            NextAction::Done => vec![CommandAdvice::without_target("done")],
            NextAction::Back { phase } => vec![CommandAdvice::with_target("back", phase.name())],
            NextAction::Over => vec![CommandAdvice::without_target("start")],
        }
    }
}

/// Returns the fault that keeps an id from being typed in a command later on.
fn fault_of(id: &str) -> Option<&'static str> {
    if id.starts_with('-') {
        Some("begins with '-', as options do")
    } else if id.chars().any(char::is_control) {
        Some("has a line end or a control character in it")
    } else if id != id.trim() {
        Some("begins or ends with a space")
    } else if id.chars().count() > ID_CHARS_MAX {
        Some("is too long")
    } else {
        None
    }
}

fn start_run(state: &State, feature: String, fresh: bool, by: Actor, at: Timestamp) -> Outcome {
    if feature.trim().is_empty() {
        return Err(Refusal::Empty {
            what: RefusalSubject::Feature,
        });
    }
    if let Some(run) = state
        && run.phase != DevelopPhase::Done
    {
        if !fresh {
            return Err(Refusal::RunOpen {
                feature: run.feature.clone(),
                phase: run.phase,
            });
        }
        require_person(by, "start over an open run")?;
    }
    let effects = match by {
        Actor::Person => vec![Effect::Seal],
        Actor::Agent => vec![],
    };
    let next = Some(DevelopRunState::new(feature, at));
    Ok(MachineStep { next, effects })
}

fn enter_review(mut run: DevelopRunState, checkpoints: &[String]) -> Outcome {
    match run.phase {
        DevelopPhase::Design | DevelopPhase::Review => {}
        DevelopPhase::Implement | DevelopPhase::Pr | DevelopPhase::Done => {
            return Err(Refusal::WrongPhase {
                what: "enter the review",
                phase: run.phase,
                wanted: DevelopPhase::Design,
            });
        }
    }
    for (index, id) in checkpoints.iter().enumerate() {
        if id.trim().is_empty() {
            return Err(Refusal::Empty {
                what: RefusalSubject::CheckpointId,
            });
        }
        if let Some(fault) = fault_of(id) {
            let plain = |letter: char| if letter.is_control() { ' ' } else { letter };
            let shown = id.chars().take(ID_SHOWN_CHARS).map(plain).collect();
            return Err(Refusal::BadCheckpointId { shown, fault });
        }
        if checkpoints[..index].contains(id) {
            return Err(Refusal::DuplicateCheckpoint { id: id.clone() });
        }
    }
    let ids: Vec<String> = if checkpoints.is_empty() {
        run.checkpoints.into_iter().map(|known| known.id).collect()
    } else {
        checkpoints.to_vec()
    };
    run.checkpoints = ids.into_iter().map(DevelopCheckpoint::pending).collect();
    run.phase = DevelopPhase::Review;
    // The earlier review was of other checkpoints.
    run.gates.close_from(Gate::ReviewCleanPass);
    step_without_effects(run)
}

fn gate_pass(
    mut run: DevelopRunState,
    gate: Gate,
    evidence: &SubmittedEvidence,
    by: Actor,
) -> Outcome {
    require_phase(&run, gate.opening_phase(), "pass this gate")?;
    if run.gates.is_open(gate) {
        return Err(Refusal::GateAlreadyOpen { gate });
    }
    let before: Vec<Gate> = Gate::ALL
        .into_iter()
        .filter(|other| *other < gate)
        .collect();
    require_open_gates(&run, &before)?;
    let unpassed = run.unpassed_checkpoints();
    match gate {
        Gate::ArchitectVerified if !unpassed.is_empty() => {
            return Err(Refusal::CheckpointsOpen {
                checkpoints: unpassed,
            });
        }
        Gate::ReviewCleanPass | Gate::ArchitectVerified | Gate::ReReviewClean => {}
    }
    evidence.check_opens_gate(gate, by)?;
    run.gates.open_gate(gate);
    step_without_effects(run)
}

fn gate_reset(mut run: DevelopRunState, gate: Gate) -> Outcome {
    if run.phase == DevelopPhase::Done {
        return Err(Refusal::WrongPhase {
            what: "close a gate",
            phase: run.phase,
            wanted: gate.opening_phase(),
        });
    }
    run.gates.close_from(gate);
    step_without_effects(run)
}

fn enter_implementation(mut run: DevelopRunState, choice: StrategyChoice) -> Outcome {
    require_phase(&run, DevelopPhase::Review, "enter the implementation")?;
    require_open_gates(&run, &[Gate::ReviewCleanPass])?;
    run.strategy = Some(match choice {
        StrategyChoice::Named(strategy) => strategy,
        StrategyChoice::Auto(facts) => choose_strategy(run.checkpoints.len(), facts),
    });
    run.phase = DevelopPhase::Implement;
    step_without_effects(run)
}

fn checkpoint_start(
    mut run: DevelopRunState,
    id: &str,
    override_reason: Option<&str>,
    by: Actor,
) -> Outcome {
    let checkpoint = workable_checkpoint(&mut run, id)?;
    let is = |what| {
        Err(Refusal::CheckpointIs {
            what,
            id: id.into(),
            status: checkpoint.status.name(),
        })
    };
    match (checkpoint.status, override_reason) {
        (CheckpointStatus::Pending, None) => {}
        (CheckpointStatus::Escalated | CheckpointStatus::Failed, Some(reason)) => {
            require_person(by, "reopen a checkpoint")?;
            if reason.trim().is_empty() {
                return Err(Refusal::Empty {
                    what: RefusalSubject::Reason,
                });
            }
        }
        (
            CheckpointStatus::Pending | CheckpointStatus::InProgress | CheckpointStatus::Passed,
            Some(_),
        ) => return is("override"),
        (
            CheckpointStatus::InProgress
            | CheckpointStatus::Passed
            | CheckpointStatus::Escalated
            | CheckpointStatus::Failed,
            None,
        ) => return is("start"),
    }
    checkpoint.status = CheckpointStatus::InProgress;
    checkpoint.iteration = 1;
    step_without_effects(run)
}

fn checkpoint_pass(
    mut run: DevelopRunState,
    id: &str,
    evidence: &SubmittedEvidence,
    attempts_max: u32,
) -> Outcome {
    let checkpoint = require_in_progress(&mut run, id, "pass")?;
    if !evidence.is_green()? {
        // Failing tests make the attempt a failed one, even if the caller reported a pass.
        return checkpoint_fail(run, id, FailureClass::LogicError, attempts_max);
    }
    checkpoint.status = CheckpointStatus::Passed;
    step_without_effects(run)
}

fn checkpoint_fail(
    mut run: DevelopRunState,
    id: &str,
    class: FailureClass,
    attempts_max: u32,
) -> Outcome {
    let checkpoint = require_in_progress(&mut run, id, "fail")?;
    let effect = if class.may_retry() && checkpoint.iteration < attempts_max.min(ATTEMPTS_MAX) {
        checkpoint.iteration += 1;
        Effect::AttemptFailed {
            checkpoint: id.into(),
            iteration: checkpoint.iteration,
        }
    } else {
        checkpoint.status = CheckpointStatus::Escalated;
        Effect::AskPerson {
            checkpoint: id.into(),
        }
    };
    Ok(MachineStep {
        next: Some(run),
        effects: vec![effect],
    })
}

fn enter_pull_request(mut run: DevelopRunState) -> Outcome {
    require_phase(&run, DevelopPhase::Implement, "enter the pull request")?;
    require_open_gates(&run, &[Gate::ReviewCleanPass, Gate::ArchitectVerified])?;
    run.phase = DevelopPhase::Pr;
    step_without_effects(run)
}

fn finish_run(mut run: DevelopRunState) -> Outcome {
    require_phase(&run, DevelopPhase::Pr, "finish")?;
    require_open_gates(&run, &Gate::ALL)?;
    run.phase = DevelopPhase::Done;
    step_without_effects(run)
}

fn return_to_phase(mut run: DevelopRunState, phase: DevelopPhase, by: Actor) -> Outcome {
    if phase >= run.phase {
        return Err(Refusal::NotBack {
            phase: run.phase,
            to: phase,
        });
    }
    let first = match phase {
        DevelopPhase::Design | DevelopPhase::Review => {
            // These phases are not gated, so going back would bypass every gate.
            require_person(by, "go back before the implementation")?;
            Gate::ReviewCleanPass
        }
        DevelopPhase::Implement => Gate::ArchitectVerified,
        DevelopPhase::Pr | DevelopPhase::Done => Gate::ReReviewClean,
    };
    run.gates.close_from(first);
    run.phase = phase;
    step_without_effects(run)
}

fn discard_run(by: Actor) -> Outcome {
    require_person(by, "throw a run away")?;
    Ok(MachineStep::without_effects(None))
}

fn adopt_run(run: &DevelopRunState, owned: bool) -> Outcome {
    if owned {
        return Err(Refusal::AlreadyAdopted);
    }
    step_without_effects(with_closed_gates(run))
}

fn step_without_effects(run: DevelopRunState) -> Outcome {
    Ok(MachineStep::without_effects(Some(run)))
}

fn require_person(by: Actor, what: &'static str) -> Result<(), Refusal> {
    match by {
        Actor::Person => Ok(()),
        Actor::Agent => Err(Refusal::NeedsPerson { what }),
    }
}

fn require_phase(
    run: &DevelopRunState,
    wanted: DevelopPhase,
    what: &'static str,
) -> Result<(), Refusal> {
    let phase = run.phase;
    if phase == wanted {
        Ok(())
    } else {
        Err(Refusal::WrongPhase {
            what,
            phase,
            wanted,
        })
    }
}

fn require_open_gates(run: &DevelopRunState, wanted: &[Gate]) -> Result<(), Refusal> {
    let (missing, phase) = (run.gates.closed_among(wanted), run.phase);
    if missing.is_empty() {
        Ok(())
    } else {
        Err(Refusal::GatesClosed { missing, phase })
    }
}

/// Returns a checkpoint if the phase and the first gate allow work on it.
fn workable_checkpoint<'a>(
    run: &'a mut DevelopRunState,
    id: &str,
) -> Result<&'a mut DevelopCheckpoint, Refusal> {
    require_phase(run, DevelopPhase::Implement, "work on checkpoints")?;
    require_open_gates(run, &[Gate::ReviewCleanPass])?;
    run.checkpoints
        .iter_mut()
        .find(|known| known.id == id)
        .ok_or_else(|| Refusal::UnknownCheckpoint { id: id.into() })
}

fn require_in_progress<'a>(
    run: &'a mut DevelopRunState,
    id: &str,
    what: &'static str,
) -> Result<&'a mut DevelopCheckpoint, Refusal> {
    let checkpoint = workable_checkpoint(run, id)?;
    match checkpoint.status {
        CheckpointStatus::InProgress => Ok(checkpoint),
        CheckpointStatus::Pending
        | CheckpointStatus::Passed
        | CheckpointStatus::Escalated
        | CheckpointStatus::Failed => Err(Refusal::CheckpointIs {
            what,
            id: id.into(),
            status: checkpoint.status.name(),
        }),
    }
}

fn violations(run: &DevelopRunState) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut rule = |rule: &'static str, holds: bool, place: String, detail: String| {
        if !holds {
            found.push(Violation {
                rule,
                place,
                detail,
            });
        }
    };
    for gate in Gate::ALL {
        if !run.gates.is_open(gate) {
            continue;
        }
        let earlier = Gate::ALL.into_iter().filter(|other| *other < gate);
        rule(
            "open_gate_follows_open_gates",
            run.gates
                .closed_among(&earlier.collect::<Vec<_>>())
                .is_empty(),
            gate.name().into(),
            "is open although an earlier gate is closed".into(),
        );
        rule(
            "gate_opens_in_its_phase",
            run.phase >= gate.opening_phase(),
            gate.name().into(),
            format!("is open in phase {}", run.phase.name()),
        );
    }
    let unpassed = run.unpassed_checkpoints();
    rule(
        "architect_verified_after_all_checkpoints",
        !run.gates.is_open(Gate::ArchitectVerified) || unpassed.is_empty(),
        Gate::ArchitectVerified.name().into(),
        format!("is open although {} did not pass", unpassed.join(", ")),
    );
    for (index, checkpoint) in run.checkpoints.iter().enumerate() {
        let DevelopCheckpoint {
            id,
            status,
            iteration,
        } = checkpoint;
        let attempts = match status {
            CheckpointStatus::Pending => 0..=0,
            CheckpointStatus::InProgress
            | CheckpointStatus::Passed
            | CheckpointStatus::Escalated => 1..=ATTEMPTS_MAX,
            CheckpointStatus::Failed => 0..=ATTEMPTS_MAX,
        };
        rule(
            "iteration_fits_status",
            attempts.contains(iteration),
            id.clone(),
            format!("is {} at iteration {iteration}", status.name()),
        );
        rule(
            "checkpoint_ids_unique",
            run.checkpoints[..index].iter().all(|other| other.id != *id),
            id.clone(),
            "is there twice".into(),
        );
    }
    rule(
        "times_in_order",
        run.updated_at >= run.started_at,
        "updated_at".into(),
        "is before started_at".into(),
    );
    found
}
