//! The transition rules of thinking runs.

use super::{
    AppliedLesson, Command, Effect, Lesson, MeasuredOutcome, OutputFiles, QualityMetric,
    RETRIES_MAX, Refusal, StageAction, StageError, StageStatus, ThinkingRunState, ThinkingStage,
    ThresholdCheck, ValueWeights,
};
use crate::kernel::{
    Actor, CommandAdvice, Machine, MachineStep, RefusalSubject, Timestamp, Violation,
};

/// The state machine of thinking runs.
#[derive(Debug, Clone, Copy)]
pub struct ThinkingMachine;

/// The highest score of a core value.
const SCORE_MAX: f64 = 10.0;
/// The file that the selection must leave.
const SELECTED: &str = "thinking/selection/selected.json";
/// The highest value of a metric.
const METRIC_MAX: f64 = 1.0;

type Outcome = Result<MachineStep<ThinkingRunState, Effect>, Refusal>;

impl Machine for ThinkingMachine {
    type State = ThinkingRunState;
    type Command = Command;
    type Effect = Effect;
    type Refusal = Refusal;

    fn step(run: &ThinkingRunState, command: Command, at: Timestamp) -> Outcome {
        match command {
            Command::Start {
                stage,
                override_reason,
                by,
                seen,
            } => start_stage(run, stage, override_reason.as_deref(), by, &seen, at),
            Command::Output { stage, paths } => record_outputs(run, stage, &paths),
            Command::Complete {
                stage,
                outputs,
                seen,
                checks,
            } => complete_stage(run, stage, &outputs, &seen, &checks, at),
            Command::Fail {
                stage,
                code,
                message,
            } => fail_stage(run, stage, code, message, at),
            Command::Evaluate { scores, weights } => score_values(run, &scores, &weights),
            Command::Measure { metrics } => record_metrics(run, &metrics),
            Command::RecordFeedback(execution) => record_feedback(run, execution),
            Command::ApplyFeedback(lesson) => apply_lesson(run, lesson),
        }
    }

    fn status_name(run: &ThinkingRunState) -> &'static str {
        run.overall_status().name()
    }

    fn violations(run: &ThinkingRunState) -> Vec<Violation> {
        violations(run)
    }

    fn advice(run: &ThinkingRunState) -> Vec<CommandAdvice> {
        for stage in ThinkingStage::ALL {
            let state = run.stage(stage);
            match state.status {
                StageStatus::Completed => {}
                StageStatus::Pending => {
                    return vec![CommandAdvice::with_target("start", stage.name())];
                }
                StageStatus::InProgress => {
                    return vec![
                        CommandAdvice::with_target("complete", stage.name()),
                        CommandAdvice::with_target("output", stage.name()),
                        CommandAdvice::with_target("fail", stage.name()),
                    ];
                }
                StageStatus::Failed if state.is_exhausted() => {
                    return vec![
                        CommandAdvice::with_target("start", stage.name())
                            .with_options("--override REASON"),
                    ];
                }
                StageStatus::Failed => {
                    return vec![CommandAdvice::with_target("start", stage.name())];
                }
            }
        }
        // All stages are completed; the work is left to be judged, in each way once.
        let judged = [
            ("evaluate", run.evaluation.weighted.is_some()),
            ("quality", run.metrics.0.iter().all(Option::is_some)),
            ("feedback record", run.feedback.goal_achievement.is_some()),
        ];
        let open = judged.into_iter().filter(|(_, done)| !done);
        open.map(|(verb, _)| CommandAdvice::without_target(verb))
            .collect()
    }
}

fn start_stage(
    run: &ThinkingRunState,
    stage: ThinkingStage,
    override_reason: Option<&str>,
    by: Actor,
    seen: &OutputFiles,
    at: Timestamp,
) -> Outcome {
    let state = run.stage(stage);
    if let Some(reason) = override_reason {
        match by {
            Actor::Agent => return Err(Refusal::NeedsPerson { stage }),
            Actor::Person if reason.trim().is_empty() => {
                return Err(Refusal::Empty {
                    what: RefusalSubject::Reason,
                });
            }
            Actor::Person => {}
        }
        if !state.is_exhausted() {
            return Err(Refusal::OverrideNotNeeded {
                stage,
                status: state.status.name(),
            });
        }
    }
    match state.status {
        StageStatus::InProgress => return Err(Refusal::AlreadyInProgress { stage }),
        StageStatus::Completed => return Err(Refusal::AlreadyCompleted { stage }),
        StageStatus::Failed if state.is_exhausted() && override_reason.is_none() => {
            return Err(Refusal::RetriesExhausted { stage });
        }
        StageStatus::Failed | StageStatus::Pending => {}
    }
    if let Some(dependency) = stage.dependency() {
        if run.stage(dependency).status != StageStatus::Completed {
            return Err(Refusal::DependencyNotCompleted { stage, dependency });
        }
        require_outputs(dependency, &run.stage(dependency).outputs, seen)?;
    }
    let mut next = run.clone();
    next.current = stage;
    let state = next.stage_mut(stage);
    state.status = StageStatus::InProgress;
    state.started_at = Some(at);
    state.completed_at = None;
    state.duration_minutes = None;
    state.error = None;
    if override_reason.is_some() {
        state.retry_count = 0;
    }
    Ok(MachineStep::without_effects(next))
}

fn record_outputs(run: &ThinkingRunState, stage: ThinkingStage, paths: &[String]) -> Outcome {
    require_in_progress(run, stage)?;
    let mut next = run.clone();
    merge_outputs(&mut next.stage_mut(stage).outputs, paths)?;
    Ok(MachineStep::without_effects(next))
}

fn complete_stage(
    run: &ThinkingRunState,
    stage: ThinkingStage,
    outputs: &[String],
    seen: &OutputFiles,
    checks: &[ThresholdCheck],
    at: Timestamp,
) -> Outcome {
    require_in_progress(run, stage)?;
    let mut next = run.clone();
    let state = next.stage_mut(stage);
    merge_outputs(&mut state.outputs, outputs)?;
    require_outputs(stage, &state.outputs, seen)?;
    add_found_outputs(stage, &mut state.outputs, seen);
    let below: Vec<ThresholdCheck> = checks
        .iter()
        .filter(|check| !check.is_met())
        .cloned()
        .collect();
    if !below.is_empty() {
        return Err(Refusal::BelowThreshold {
            stage,
            checks: below,
        });
    }
    state.status = StageStatus::Completed;
    end_try(state, at);
    Ok(MachineStep::without_effects(next))
}

fn fail_stage(
    run: &ThinkingRunState,
    stage: ThinkingStage,
    code: String,
    message: String,
    at: Timestamp,
) -> Outcome {
    require_in_progress(run, stage)?;
    if code.trim().is_empty() {
        return Err(Refusal::Empty {
            what: RefusalSubject::Code,
        });
    }
    if message.trim().is_empty() {
        return Err(Refusal::Empty {
            what: RefusalSubject::Message,
        });
    }
    let mut next = run.clone();
    let state = next.stage_mut(stage);
    state.status = StageStatus::Failed;
    end_try(state, at);
    state.error = Some(StageError { code, message, at });
    state.retry_count += 1;
    let effects = if state.is_exhausted() {
        vec![Effect::AskPerson(stage)]
    } else {
        Vec::new()
    };
    Ok(MachineStep { next, effects })
}

fn score_values(
    run: &ThinkingRunState,
    scores: &[(String, f64)],
    weights: &ValueWeights,
) -> Outcome {
    let mut next = run.clone();
    for (name, value) in scores {
        if !weights.0.iter().any(|(known, _)| known == name) {
            return Err(Refusal::UnknownName {
                what: RefusalSubject::CoreValue,
                name: name.clone(),
                known: weights.0.iter().map(|(known, _)| known.clone()).collect(),
            });
        }
        require_in_range(name, *value, SCORE_MAX)?;
        next.evaluation.set(name, *value);
    }
    next.evaluation.weighted = next.evaluation.weighted_score(weights);
    Ok(MachineStep::without_effects(next))
}

fn record_metrics(run: &ThinkingRunState, metrics: &[(String, f64)]) -> Outcome {
    let mut next = run.clone();
    for (name, value) in metrics {
        let Some(metric) = QualityMetric::from_name(name) else {
            return Err(Refusal::UnknownName {
                what: RefusalSubject::Metric,
                name: name.clone(),
                known: QualityMetric::ALL
                    .map(|metric| metric.name().into())
                    .to_vec(),
            });
        };
        require_in_range(name, *value, METRIC_MAX)?;
        next.metrics.set(metric, *value);
    }
    Ok(MachineStep::without_effects(next))
}

fn record_feedback(run: &ThinkingRunState, execution: MeasuredOutcome) -> Outcome {
    let MeasuredOutcome {
        metric,
        actual,
        target,
        learnings,
        improvements,
        stages,
    } = execution;
    if metric.trim().is_empty() {
        return Err(Refusal::Empty {
            what: RefusalSubject::Metric,
        });
    }
    // NaN is neither above nor below, so it is refused explicitly.
    if !target.is_finite() || target <= 0.0 {
        return Err(Refusal::BadTarget { metric });
    }
    require_in_range(&metric, actual, f64::MAX)?;
    // The quotient of two finite numbers may be infinite.
    let achieved = (actual / target * 100.0).round() / 100.0;
    if !achieved.is_finite() {
        return Err(Refusal::BadTarget { metric });
    }
    let mut next = run.clone();
    let feedback = &mut next.feedback;
    match feedback
        .from_execution
        .iter_mut()
        .find(|(name, _)| *name == metric)
    {
        Some((_, value)) => *value = actual,
        None => feedback.from_execution.push((metric, actual)),
    }
    feedback.goal_achievement = Some(achieved);
    let mut lessons = learnings.clone();
    lessons.extend(improvements.iter().cloned());
    feedback.learnings.extend(learnings);
    feedback.improvements.extend(improvements);
    // A measurement without learnings is no lesson, and its stages apply to nothing.
    if !lessons.is_empty() {
        feedback.for_next_tasks.push(Lesson {
            learnings: lessons,
            stages: if stages.is_empty() {
                ThinkingStage::ALL.to_vec()
            } else {
                stages
            },
        });
    }
    Ok(MachineStep::without_effects(next))
}

fn apply_lesson(run: &ThinkingRunState, lesson: AppliedLesson) -> Outcome {
    let known = &run.feedback.from_previous_tasks;
    if known.iter().any(|known| known.task_id == lesson.task_id) {
        return Err(Refusal::AlreadyApplied {
            task_id: lesson.task_id,
        });
    }
    // Lessons are applied once per task: an empty set now would block those recorded later.
    if lesson.learnings.is_empty() {
        return Err(Refusal::NoLessons {
            task_id: lesson.task_id,
        });
    }
    let mut next = run.clone();
    next.feedback.from_previous_tasks.push(lesson);
    Ok(MachineStep::without_effects(next))
}

fn require_in_progress(run: &ThinkingRunState, stage: ThinkingStage) -> Result<(), Refusal> {
    let status = run.stage(stage).status;
    match status {
        StageStatus::InProgress => Ok(()),
        StageStatus::Pending | StageStatus::Completed | StageStatus::Failed => {
            let open = |stage: &ThinkingStage| run.stage(*stage).status != StageStatus::Completed;
            let Some(current) = ThinkingStage::ALL.into_iter().find(open) else {
                return Err(Refusal::AllCompleted { stage });
            };
            let state = run.stage(current);
            let way = match state.status {
                StageStatus::InProgress => StageAction::Complete,
                StageStatus::Failed if state.is_exhausted() => StageAction::Reopen,
                StageStatus::Pending | StageStatus::Failed | StageStatus::Completed => {
                    StageAction::Start
                }
            };
            Err(Refusal::NotInProgress {
                stage,
                status: status.name(),
                current,
                way,
            })
        }
    }
}

fn end_try(state: &mut super::StageState, at: Timestamp) {
    // A clock that was set back must not make a try end before it began.
    state.completed_at = Some(state.started_at.map_or(at, |started| at.max(started)));
    // A hand-written file may lack the start; then the duration is unknown.
    state.duration_minutes = state
        .started_at
        .map(|started| at.seconds_since(started) / 60);
}

fn merge_outputs(outputs: &mut Vec<String>, more: &[String]) -> Result<(), Refusal> {
    for path in more {
        if !is_inside_folder(path) {
            return Err(Refusal::PathEscapes { path: path.clone() });
        }
        if !outputs.contains(path) {
            outputs.push(path.clone());
        }
    }
    Ok(())
}

/// True for a relative path that stays inside any folder.
fn is_inside_folder(path: &str) -> bool {
    !path.trim().is_empty()
        && !path.starts_with('/')
        && !path.contains(['\0', '\\'])
        && path.split('/').all(|part| part != "..")
}

/// Adds required files that exist but were not recorded.
fn add_found_outputs(stage: ThinkingStage, outputs: &mut Vec<String>, seen: &OutputFiles) {
    match stage {
        ThinkingStage::Planning | ThinkingStage::Reflection => {}
        ThinkingStage::Selection => {
            if !outputs.iter().any(|path| path == SELECTED) {
                outputs.push(SELECTED.to_owned());
            }
        }
        ThinkingStage::Creation => {
            if !outputs.iter().any(|path| is_draft(path)) {
                outputs.extend(seen.0.iter().filter(|path| is_draft(path)).cloned());
            }
        }
    }
}

/// Refuses unless every recorded output, and what the stage requires, exists on disk.
fn require_outputs(
    stage: ThinkingStage,
    outputs: &[String],
    seen: &OutputFiles,
) -> Result<(), Refusal> {
    let mut missing: Vec<String> = outputs
        .iter()
        .filter(|path| !seen.0.contains(*path))
        .cloned()
        .collect();
    match stage {
        ThinkingStage::Planning => {
            if outputs.is_empty() {
                return Err(Refusal::NoOutput { stage });
            }
        }
        ThinkingStage::Selection | ThinkingStage::Creation | ThinkingStage::Reflection => {
            let found = |wanted: &str| match stage {
                ThinkingStage::Creation => seen.0.iter().any(|path| is_draft(path)),
                ThinkingStage::Planning | ThinkingStage::Selection | ThinkingStage::Reflection => {
                    seen.0.contains(wanted)
                }
            };
            if let Some(wanted) = stage.required_output()
                && !found(wanted)
                && !missing.iter().any(|path| path == wanted)
            {
                missing.push(wanted.into());
            }
        }
    }
    if missing.is_empty() {
        Ok(())
    } else {
        Err(Refusal::OutputsMissing { stage, missing })
    }
}

/// True for a draft: `drafts/draft_v` and anything, ending in `.md`.
pub(super) fn is_draft(path: &str) -> bool {
    path.strip_prefix("drafts/draft_v").is_some_and(|rest| {
        rest.len() > ".md".len() && rest.ends_with(".md") && !rest.contains('/')
    })
}

fn require_in_range(name: &str, value: f64, max: f64) -> Result<(), Refusal> {
    if value.is_finite() && (0.0..=max).contains(&value) {
        Ok(())
    } else {
        Err(Refusal::OutOfRange {
            name: name.into(),
            value,
            max,
        })
    }
}

fn violations(run: &ThinkingRunState) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut note = |rule, stage: ThinkingStage, detail: String| {
        found.push(Violation {
            rule,
            place: stage.name().into(),
            detail,
        });
    };
    for stage in ThinkingStage::ALL {
        let state = run.stage(stage);
        let begun = state.status != StageStatus::Pending;
        if let (true, Some(dependency)) = (begun, stage.dependency())
            && run.stage(dependency).status != StageStatus::Completed
        {
            let detail = format!(
                "is {} although '{}' is {}",
                state.status.name(),
                dependency.name(),
                run.stage(dependency).status.name()
            );
            note("begun_stage_has_completed_dependency", stage, detail);
        }
        if state.status == StageStatus::InProgress && run.current != stage {
            let detail = format!(
                "is in progress but current_stage is '{}'",
                run.current.name()
            );
            note("stage_in_progress_is_current", stage, detail);
        }
        if state.retry_count > RETRIES_MAX {
            let detail = format!("retry_count is {}", state.retry_count);
            note("retry_count_within_limit", stage, detail);
        }
        if state.error.is_some() != (state.status == StageStatus::Failed) {
            note(
                "error_exactly_when_failed",
                stage,
                format!(
                    "is {} with error {}",
                    state.status.name(),
                    state.error.is_some()
                ),
            );
        }
        let ended = matches!(state.status, StageStatus::Completed | StageStatus::Failed);
        if state.completed_at.is_some() != ended {
            note(
                "completed_at_exactly_when_ended",
                stage,
                format!("is {}", state.status.name()),
            );
        }
        if state.started_at.is_some() != begun {
            note(
                "started_at_exactly_when_begun",
                stage,
                format!("is {}", state.status.name()),
            );
        }
        if let (Some(started), Some(completed)) = (state.started_at, state.completed_at)
            && completed < started
        {
            note("times_in_order", stage, "ends before it starts".into());
        }
        if let Some(path) = state.outputs.iter().find(|path| !is_inside_folder(path)) {
            note("outputs_inside_folder", stage, format!("output '{path}'"));
        }
    }
    found
}
