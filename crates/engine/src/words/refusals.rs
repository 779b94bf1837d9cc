//! Converts refusals of the machines to messages.

use bowline_machines::plan::{PlanTaskStatus, StepStatus};
use bowline_machines::thinking::{ThresholdCheck, ThresholdQuantity};
use bowline_machines::{RefusalSubject, develop, orchestrate, plan, thinking};
use bowline_words::message::{
    DevelopNo, Measure, OrchestrateNo, PlanNo, Shortfall, Status, Thing, ThinkingNo,
};

pub(super) fn thinking_message(refusal: &thinking::Refusal) -> ThinkingNo {
    use thinking::Refusal as R;
    match refusal {
        R::DependencyNotCompleted { stage, dependency } => ThinkingNo::DependencyNotCompleted {
            stage: stage.name(),
            dependency: dependency.name(),
        },
        R::OutputsMissing { stage, missing } => ThinkingNo::OutputsMissing {
            stage: stage.name(),
            missing: missing.join(", "),
        },
        R::NoOutput { stage } => ThinkingNo::NoOutput {
            stage: stage.name(),
        },
        R::AlreadyInProgress { stage } => ThinkingNo::AlreadyInProgress {
            stage: stage.name(),
        },
        R::AlreadyCompleted { stage } => ThinkingNo::AlreadyCompleted {
            stage: stage.name(),
        },
        R::NotInProgress {
            stage,
            status,
            current,
            way,
        } => {
            let (stage, status) = (stage.name(), Status::from_word(status));
            let current = current.name();
            match way {
                thinking::StageAction::Start => ThinkingNo::NotStarted {
                    stage,
                    status,
                    current,
                },
                thinking::StageAction::Complete => ThinkingNo::OtherInProgress {
                    stage,
                    status,
                    current,
                },
                thinking::StageAction::Reopen => ThinkingNo::OtherExhausted {
                    stage,
                    status,
                    current,
                },
            }
        }
        R::AllCompleted { stage } => ThinkingNo::AllCompleted {
            stage: stage.name(),
        },
        R::RetriesExhausted { stage } => ThinkingNo::RetriesExhausted {
            stage: stage.name(),
            tries: thinking::RETRIES_MAX,
        },
        R::NeedsPerson { stage } => ThinkingNo::NeedsPerson {
            stage: stage.name(),
        },
        R::OverrideNotNeeded { stage, status } => ThinkingNo::OverrideNotNeeded {
            stage: stage.name(),
            status: Status::from_word(status),
        },
        R::Empty { what } => ThinkingNo::Empty {
            what: subject_thing(*what),
        },
        R::PathEscapes { path } => ThinkingNo::PathEscapes { path: path.clone() },
        R::BelowThreshold { stage, checks } => ThinkingNo::BelowThreshold {
            stage: stage.name(),
            checks: checks.iter().map(check_shortfall).collect(),
        },
        R::UnknownName { what, name, known } => ThinkingNo::UnknownName {
            what: subject_thing(*what),
            name: name.clone(),
            known: known.join(", "),
        },
        R::OutOfRange { name, value, max } => ThinkingNo::OutOfRange {
            name: name.clone(),
            value: value.to_string(),
            max: max.to_string(),
        },
        R::BadTarget { metric } => ThinkingNo::BadTarget {
            metric: metric.clone(),
        },
        R::AlreadyApplied { task_id } => ThinkingNo::AlreadyApplied {
            task: task_id.clone(),
        },
        R::NoLessons { task_id } => ThinkingNo::NoLessons {
            task: task_id.clone(),
        },
    }
}

fn subject_thing(subject: RefusalSubject) -> Thing {
    use RefusalSubject as S;
    match subject {
        S::Feature => Thing::Feature,
        S::Reason => Thing::Reason,
        S::CheckpointId => Thing::CheckpointId,
        S::Message => Thing::Message,
        S::Code => Thing::Code,
        S::Metric => Thing::Metric,
        S::CoreValue => Thing::CoreValue,
        S::Step => Thing::Step,
        S::Steps => Thing::Steps,
        S::Task => Thing::Task,
        S::TaskId => Thing::TaskId,
        S::TaskName => Thing::TaskName,
        S::StepName => Thing::StepName,
        S::ArtifactPath => Thing::ArtifactPath,
        S::WaitingTasks => Thing::WaitingTasks,
        S::Worktree => Thing::Worktree,
    }
}

fn join_numbers(ids: &[u32], between: &str) -> String {
    let ids: Vec<String> = ids.iter().map(u32::to_string).collect();
    ids.join(between)
}

pub(super) fn plan_message(refusal: &plan::Refusal) -> PlanNo {
    use plan::Refusal as R;
    match refusal.clone() {
        R::NoTask => PlanNo::NoTask,
        R::TaskState { id, status, verb } => match status {
            PlanTaskStatus::Pending => PlanNo::TaskPending { id, verb },
            PlanTaskStatus::InProgress => PlanNo::TaskInProgress { id, verb },
            PlanTaskStatus::Completed | PlanTaskStatus::Cancelled => PlanNo::TaskClosed {
                id,
                status: Status::from_word(status.name()),
                verb,
            },
            PlanTaskStatus::Failed => PlanNo::TaskFailed { id, verb },
            PlanTaskStatus::Paused => PlanNo::TaskPaused { id, verb },
        },
        R::StepState { id, status, verb } => match status {
            StepStatus::Pending | StepStatus::Failed => PlanNo::StepNotBegun {
                id,
                status: Status::from_word(status.name()),
                verb,
            },
            StepStatus::InProgress => PlanNo::StepInProgress { id, verb },
            StepStatus::Completed => PlanNo::StepCompleted { id, verb },
        },
        R::NoStep { task, id } => PlanNo::NoStep { task, id },
        R::DependencyNotCompleted { id, missing } => {
            let text = join_numbers(&missing, ", ");
            match missing.len() {
                1 => PlanNo::StepBefore { id, missing: text },
                _ => PlanNo::StepsBefore { id, missing: text },
            }
        }
        R::RetriesExhausted { id } => PlanNo::RetriesExhausted {
            id,
            tries: plan::TRIES_MAX,
        },
        R::DuplicateId { what, id } => PlanNo::DuplicateId {
            what: subject_thing(what),
            id,
        },
        R::MissingDependency { id, missing } => PlanNo::MissingDependency { id, missing },
        R::CircularDependency { path } => PlanNo::CircularDependency {
            path: join_numbers(&path, " -> "),
        },
        R::BadStepId => PlanNo::BadStepId,
        R::TooMany { what, max } => PlanNo::TooMany {
            what: subject_thing(what),
            max,
        },
        R::Empty { what } => PlanNo::Empty {
            what: subject_thing(what),
        },
        R::UnresolvedIssue { id, step } => PlanNo::UnresolvedIssue { id, step },
        R::NeedsPerson { id } => PlanNo::NeedsPerson { id },
        R::NotQueued { id } => PlanNo::NotQueued { id },
    }
}

pub(super) fn develop_message(refusal: &develop::Refusal) -> DevelopNo {
    use develop::Refusal as R;
    match refusal.clone() {
        R::NoRun => DevelopNo::NoRun,
        R::RunOpen { feature, phase } => DevelopNo::RunOpen {
            feature: develop::on_one_line(&feature),
            phase: phase.name(),
        },
        R::WrongPhase {
            what,
            phase,
            wanted,
        } => DevelopNo::WrongPhase {
            what,
            phase: phase.name(),
            wanted: wanted.name(),
        },
        R::NotBack { phase, to } => DevelopNo::NotBack {
            phase: phase.name(),
            to: to.name(),
        },
        R::GatesClosed { missing, phase } => {
            let names: Vec<&str> = missing.iter().map(|gate| gate.name()).collect();
            let names = names.join(", ");
            match missing.first() {
                Some(gate) if gate.opening_phase() < phase => DevelopNo::GatesClosedBefore {
                    missing: names,
                    phase: gate.opening_phase().name(),
                },
                Some(gate) => DevelopNo::GatesClosedHere {
                    missing: names,
                    gate: gate.name(),
                },
                None => DevelopNo::GatesClosed { missing: names },
            }
        }
        R::GateAlreadyOpen { gate } => DevelopNo::GateAlreadyOpen { gate: gate.name() },
        R::CheckpointsOpen { checkpoints } => DevelopNo::CheckpointsOpen {
            checkpoints: checkpoints.join(", "),
        },
        R::EvidenceRequired { gate } => DevelopNo::EvidenceRequired { gate: gate.name() },
        R::EvidenceRed { gate, exit_code } => DevelopNo::EvidenceRed {
            gate: gate.name(),
            exit_code,
        },
        R::EvidenceStale => DevelopNo::EvidenceStale,
        R::NeedsPerson { what } => DevelopNo::NeedsPerson { what },
        R::UnknownCheckpoint { id } => DevelopNo::UnknownCheckpoint { id },
        R::DuplicateCheckpoint { id } => DevelopNo::DuplicateCheckpoint { id },
        R::BadCheckpointId { shown, fault } => DevelopNo::BadCheckpointId {
            shown,
            fault,
            chars_max: develop::ID_CHARS_MAX,
        },
        R::CheckpointIs { what, id, status } => {
            let typed = develop::quote_for_shell(&id);
            match Status::from_word(status) {
                status @ (Status::Escalated | Status::Failed) => DevelopNo::CheckpointFailed {
                    what,
                    id,
                    status,
                    typed,
                },
                Status::Pending => DevelopNo::CheckpointPending { what, id, typed },
                status => DevelopNo::CheckpointIs { what, id, status },
            }
        }
        R::Empty { what } => DevelopNo::Empty {
            what: subject_thing(what),
        },
        R::AlreadyAdopted => DevelopNo::AlreadyAdopted,
    }
}

pub(super) fn orchestrate_message(refusal: &orchestrate::Refusal) -> OrchestrateNo {
    use orchestrate::NodeStatus as S;
    use orchestrate::Refusal as R;
    let word = |status: &S| Status::from_word(status.name());
    match refusal {
        R::NoTask { id } => OrchestrateNo::NoTask { id: id.to_string() },
        R::NotReady {
            id,
            phase: Some((own, current)),
            waits_for,
        } if waits_for.is_empty() => OrchestrateNo::NotReadyYet {
            id: id.to_string(),
            own: *own,
            current: *current,
        },
        R::NotReady { id, waits_for, .. } => OrchestrateNo::NotReady {
            id: id.to_string(),
            waits_for: waits_for.join(", "),
        },
        R::Blocked { id, by } => OrchestrateNo::Blocked {
            id: id.to_string(),
            by: by.join(", "),
        },
        R::TaskState { id, status, verb } => {
            let (id, verb) = (id.to_string(), *verb);
            match status {
                S::Pending | S::Blocked => OrchestrateNo::NotBegun {
                    id,
                    status: word(status),
                    verb,
                },
                S::Ready => OrchestrateNo::Ready { id, verb },
                S::InProgress => OrchestrateNo::InProgress { id, verb },
                S::Completed => OrchestrateNo::Completed { id, verb },
                S::Failed => OrchestrateNo::Failed { id, verb },
            }
        }
        R::NotFailed { id, status } => OrchestrateNo::NotFailed {
            id: id.to_string(),
            status: word(status),
        },
        R::NoFreePlace { max } => OrchestrateNo::NoFreePlace { max: *max },
        R::NeedsPerson { id } => OrchestrateNo::NeedsPerson { id: id.to_string() },
        R::NoPhase { phase } => OrchestrateNo::NoPhase { phase: *phase },
        R::PhaseFinished { phase } => OrchestrateNo::PhaseFinished { phase: *phase },
        R::PhaseNotCurrent { phase, current } => OrchestrateNo::PhaseNotCurrent {
            phase: *phase,
            current: *current,
        },
        R::PhaseIncomplete { phase, open, total } => OrchestrateNo::PhaseIncomplete {
            phase: *phase,
            done: total - open,
            total: *total,
        },
        R::BadCommit { commit } => OrchestrateNo::BadCommit {
            commit: commit.to_string(),
            letters: orchestrate::COMMIT_CHARS,
        },
        R::Empty { what } => OrchestrateNo::Empty {
            what: subject_thing(*what),
        },
    }
}

fn check_shortfall(check: &ThresholdCheck) -> Shortfall {
    let what = match &check.criterion {
        ThresholdQuantity::Named(name) => Measure::Named { name: name.clone() },
        ThresholdQuantity::Words { draft } => Measure::Words {
            draft: draft.clone(),
        },
    };
    let needed = check.threshold.to_string();
    match check.value {
        Some(value) => Shortfall::Below {
            what,
            value: value.to_string(),
            needed,
        },
        None => Shortfall::Unmeasured { what, needed },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bowline_words::Lang;

    #[test]
    fn a_subject_keeps_its_word_and_is_korean() {
        for subject in RefusalSubject::ALL {
            assert_eq!(subject_thing(subject).to_string(), subject.name());
            let korean = subject_thing(subject).say(Lang::Ko);
            assert!(
                korean.contains(|it| ('가'..='힣').contains(&it)),
                "{korean}"
            );
        }
    }
}
