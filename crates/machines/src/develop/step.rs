//! The transition rules of develop runs.

use super::{
    ATTEMPTS_MAX, Checkpoint, CheckpointStatus, Choice, Command, Effect, Evidence, FailureClass,
    Gate, ID_CHARS_MAX, Phase, Refusal, Resume, Run, auto, closed, resume,
};
use crate::kernel::{Actor, Advice, Machine, RefusalSubject, Step, Timestamp, Violation};

/// Number of characters of a refused id that the refusal shows.
const ID_SHOWN_CHARS: usize = 40;

/// The state machine of develop runs.
#[derive(Debug, Clone, Copy)]
pub struct DevelopMachine;

type State = Option<Run>;
type Outcome = Result<Step<State, Effect>, Refusal>;

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
            Command::Start { feature, fresh, by } => start(state, feature, fresh, by, at),
            Command::Review { checkpoints } => review(run()?, &checkpoints),
            Command::GatePass { gate, evidence, by } => gate_pass(run()?, gate, &evidence, by),
            Command::GateReset { gate } => gate_reset(run()?, gate),
            Command::Implement { choice } => implement(run()?, choice),
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
            Command::Pr => pr(run()?),
            Command::Done => done(run()?),
            Command::Back { phase, by } => back(run()?, phase, by),
            Command::Reset { by } => run().and_then(|_| reset(by)),
            Command::Adopt { owned } => adopt(&run()?, owned),
        }
    }

    fn status(state: &State) -> &'static str {
        state.as_ref().map_or("none", |run| run.phase.name())
    }

    fn violations(state: &State) -> Vec<Violation> {
        state.as_ref().map_or_else(Vec::new, violations)
    }

    fn advice(state: &State) -> Vec<Advice> {
        let Some(run) = state else {
            return vec![Advice::verb("start")];
        };
        match resume(run) {
            Resume::Design => vec![Advice::verb("review")],
            Resume::ReviewAgain => vec![Advice::on("gate pass", Gate::ReviewCleanPass.name())],
            Resume::Implement => vec![Advice::verb("implement")],
            Resume::Checkpoint { id, iteration: 0 } => vec![Advice::on("checkpoint start", id)],
            Resume::Checkpoint { id, .. } => vec![
                Advice::on("checkpoint pass", id.clone()),
                Advice::on("checkpoint fail", id),
            ],
            Resume::AskPerson { checkpoints } => checkpoints
                .into_iter()
                .map(|id| Advice::on("checkpoint start", id).with("--override REASON"))
                .collect(),
            Resume::VerifyAll => vec![Advice::on("gate pass", Gate::ArchitectVerified.name())],
            Resume::Pr => vec![Advice::verb("pr")],
            Resume::ReReview => vec![Advice::on("gate pass", Gate::ReReviewClean.name())],
            Resume::Done => vec![Advice::verb("done")],
            Resume::Back { phase } => vec![Advice::on("back", phase.name())],
            Resume::Over => vec![Advice::verb("start")],
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

fn start(state: &State, feature: String, fresh: bool, by: Actor, at: Timestamp) -> Outcome {
    if feature.trim().is_empty() {
        return Err(Refusal::Empty {
            what: RefusalSubject::Feature,
        });
    }
    if let Some(run) = state
        && run.phase != Phase::Done
    {
        if !fresh {
            return Err(Refusal::RunOpen {
                feature: run.feature.clone(),
                phase: run.phase,
            });
        }
        person(by, "start over an open run")?;
    }
    let effects = match by {
        Actor::Person => vec![Effect::Seal],
        Actor::Agent => vec![],
    };
    let next = Some(Run::new(feature, at));
    Ok(Step { next, effects })
}

fn review(mut run: Run, checkpoints: &[String]) -> Outcome {
    match run.phase {
        Phase::Design | Phase::Review => {}
        Phase::Implement | Phase::Pr | Phase::Done => {
            return Err(Refusal::WrongPhase {
                what: "enter the review",
                phase: run.phase,
                wanted: Phase::Design,
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
    run.checkpoints = ids.into_iter().map(Checkpoint::pending).collect();
    run.phase = Phase::Review;
    // The earlier review was of other checkpoints.
    run.gates.close_from(Gate::ReviewCleanPass);
    quiet(run)
}

fn gate_pass(mut run: Run, gate: Gate, evidence: &Evidence, by: Actor) -> Outcome {
    in_phase(&run, gate.phase(), "pass this gate")?;
    if run.gates.is_open(gate) {
        return Err(Refusal::GateAlreadyOpen { gate });
    }
    let before: Vec<Gate> = Gate::ALL
        .into_iter()
        .filter(|other| *other < gate)
        .collect();
    gates_open(&run, &before)?;
    let unpassed = run.unpassed();
    match gate {
        Gate::ArchitectVerified if !unpassed.is_empty() => {
            return Err(Refusal::CheckpointsOpen {
                checkpoints: unpassed,
            });
        }
        Gate::ReviewCleanPass | Gate::ArchitectVerified | Gate::ReReviewClean => {}
    }
    evidence.opens(gate, by)?;
    run.gates.open(gate);
    quiet(run)
}

fn gate_reset(mut run: Run, gate: Gate) -> Outcome {
    if run.phase == Phase::Done {
        return Err(Refusal::WrongPhase {
            what: "close a gate",
            phase: run.phase,
            wanted: gate.phase(),
        });
    }
    run.gates.close_from(gate);
    quiet(run)
}

fn implement(mut run: Run, choice: Choice) -> Outcome {
    in_phase(&run, Phase::Review, "enter the implementation")?;
    gates_open(&run, &[Gate::ReviewCleanPass])?;
    run.strategy = Some(match choice {
        Choice::Named(strategy) => strategy,
        Choice::Auto(facts) => auto(run.checkpoints.len(), facts),
    });
    run.phase = Phase::Implement;
    quiet(run)
}

fn checkpoint_start(mut run: Run, id: &str, override_reason: Option<&str>, by: Actor) -> Outcome {
    let checkpoint = workable(&mut run, id)?;
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
            person(by, "reopen a checkpoint")?;
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
    quiet(run)
}

fn checkpoint_pass(mut run: Run, id: &str, evidence: &Evidence, attempts_max: u32) -> Outcome {
    let checkpoint = in_progress(&mut run, id, "pass")?;
    if !evidence.is_green()? {
        // Failing tests make the attempt a failed one, even if the caller reported a pass.
        return checkpoint_fail(run, id, FailureClass::LogicError, attempts_max);
    }
    checkpoint.status = CheckpointStatus::Passed;
    quiet(run)
}

fn checkpoint_fail(mut run: Run, id: &str, class: FailureClass, attempts_max: u32) -> Outcome {
    let checkpoint = in_progress(&mut run, id, "fail")?;
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
    Ok(Step {
        next: Some(run),
        effects: vec![effect],
    })
}

fn pr(mut run: Run) -> Outcome {
    in_phase(&run, Phase::Implement, "enter the pull request")?;
    gates_open(&run, &[Gate::ReviewCleanPass, Gate::ArchitectVerified])?;
    run.phase = Phase::Pr;
    quiet(run)
}

fn done(mut run: Run) -> Outcome {
    in_phase(&run, Phase::Pr, "finish")?;
    gates_open(&run, &Gate::ALL)?;
    run.phase = Phase::Done;
    quiet(run)
}

fn back(mut run: Run, phase: Phase, by: Actor) -> Outcome {
    if phase >= run.phase {
        return Err(Refusal::NotBack {
            phase: run.phase,
            to: phase,
        });
    }
    let first = match phase {
        Phase::Design | Phase::Review => {
            // These phases are not gated, so going back would bypass every gate.
            person(by, "go back before the implementation")?;
            Gate::ReviewCleanPass
        }
        Phase::Implement => Gate::ArchitectVerified,
        Phase::Pr | Phase::Done => Gate::ReReviewClean,
    };
    run.gates.close_from(first);
    run.phase = phase;
    quiet(run)
}

fn reset(by: Actor) -> Outcome {
    person(by, "throw a run away")?;
    Ok(Step::quiet(None))
}

fn adopt(run: &Run, owned: bool) -> Outcome {
    if owned {
        return Err(Refusal::AlreadyAdopted);
    }
    quiet(closed(run))
}

fn quiet(run: Run) -> Outcome {
    Ok(Step::quiet(Some(run)))
}

fn person(by: Actor, what: &'static str) -> Result<(), Refusal> {
    match by {
        Actor::Person => Ok(()),
        Actor::Agent => Err(Refusal::NeedsPerson { what }),
    }
}

fn in_phase(run: &Run, wanted: Phase, what: &'static str) -> Result<(), Refusal> {
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

fn gates_open(run: &Run, wanted: &[Gate]) -> Result<(), Refusal> {
    let (missing, phase) = (run.gates.missing(wanted), run.phase);
    if missing.is_empty() {
        Ok(())
    } else {
        Err(Refusal::GatesClosed { missing, phase })
    }
}

/// Returns a checkpoint if the phase and the first gate allow work on it.
fn workable<'a>(run: &'a mut Run, id: &str) -> Result<&'a mut Checkpoint, Refusal> {
    in_phase(run, Phase::Implement, "work on checkpoints")?;
    gates_open(run, &[Gate::ReviewCleanPass])?;
    run.checkpoints
        .iter_mut()
        .find(|known| known.id == id)
        .ok_or_else(|| Refusal::UnknownCheckpoint { id: id.into() })
}

fn in_progress<'a>(
    run: &'a mut Run,
    id: &str,
    what: &'static str,
) -> Result<&'a mut Checkpoint, Refusal> {
    let checkpoint = workable(run, id)?;
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

fn violations(run: &Run) -> Vec<Violation> {
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
            run.gates.missing(&earlier.collect::<Vec<_>>()).is_empty(),
            gate.name().into(),
            "is open although an earlier gate is closed".into(),
        );
        rule(
            "gate_opens_in_its_phase",
            run.phase >= gate.phase(),
            gate.name().into(),
            format!("is open in phase {}", run.phase.name()),
        );
    }
    let unpassed = run.unpassed();
    rule(
        "architect_verified_after_all_checkpoints",
        !run.gates.is_open(Gate::ArchitectVerified) || unpassed.is_empty(),
        Gate::ArchitectVerified.name().into(),
        format!("is open although {} did not pass", unpassed.join(", ")),
    );
    for (index, checkpoint) in run.checkpoints.iter().enumerate() {
        let Checkpoint {
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
