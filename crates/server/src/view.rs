//! Rows of the store as callers see them.

use crate::job_service::JobService;
use bowline_engine::formats::time::format_utc;
use bowline_engine::machines::Timestamp;
use bowline_engine::machines::job::{
    Job, JobKind, JobState, MessageStatus, PauseCause, ReviewStatus, TaskStatus, allowed_actions,
};
use bowline_formats::rest::{
    Agent, AgentCheckpoint, AgentState, Budget, Checkpoint, Dependency, Failure, FileComment,
    Permission, PermissionDecision, PermissionRule, Phase, PhaseStatus, Question, Review, Saying,
    Spend, StepTime, Task, Verification, WaitReason,
};
use bowline_store::{BegunStepRow, JobRecord, JobRow, RecordBody, SpendRow};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Milliseconds between two checkpoints that are saved by the clock.
const AUTO_SAVE_MS: u64 = 600_000;

fn format_time(seconds: i64) -> String {
    format_utc(Timestamp(seconds))
}

/// A task. `waiting_for` are the tasks it waits for, `stuck` when one that it depends on failed.
pub(crate) fn task_view(
    row: &JobRow,
    work: &dyn JobService,
    waiting_for: Vec<String>,
    wait_reason: Option<WaitReason>,
    stuck: bool,
) -> Task {
    let (job, about) = (&row.job, &row.about);
    let needs_you = match &job.state {
        JobState::Reviewing
        | JobState::Asking
        | JobState::Needing
        | JobState::Permitting
        | JobState::Paused(PauseCause::Breaker { .. }) => true,
        JobState::Pending => stuck,
        JobState::Draft
        | JobState::Running
        | JobState::Paused(PauseCause::Person | PauseCause::RateLimit { .. })
        | JobState::Verifying { .. }
        | JobState::Completed { .. }
        | JobState::Failed(_) => false,
    };
    let completed = match &job.state {
        JobState::Completed { at } => Some(format_utc(*at)),
        _ => None,
    };
    let failure = job.failure().map(|it| Failure {
        code: it.code.name().into(),
        message: it.message.clone(),
        details: it.details.clone(),
        at: format_utc(it.at),
    });
    let budget = Budget {
        tokens: about.budget.tokens,
        usd: about.budget.usd,
        minutes: about.budget.minutes,
    };
    Task {
        id: row.id.clone(),
        title: job.title.clone(),
        task_type: about.type_name.clone(),
        description: job.description.clone(),
        status: job.task_status(),
        current_phase: job.current_phase(),
        total_phases: job.total_phases(),
        progress: job.progress_percent(),
        created_at: format_time(about.created_at),
        started_at: job.started_at.map(format_utc),
        completed_at: completed,
        failed_at: job.failure().map(|it| format_utc(it.at)),
        updated_at: format_time(about.updated_at),
        allowed_actions: allowed_actions(job),
        priority: about.priority,
        depends_on: job.depends_on.clone(),
        waiting_for,
        wait_reason,
        needs_you,
        scheduled_for: job.scheduled_for.map(format_utc),
        label: about.label.clone(),
        agent: about.agent.clone(),
        agent_state: agent_state(row, work),
        budget: (budget != Budget::default()).then_some(budget),
        workspace: work
            .workspace_folder(row)
            .map(|path| path.to_string_lossy().into_owned()),
        share_workspace: about.share_workspace,
        retry_of: job.retry_of.clone(),
        retried_by: job.retried_by.clone(),
        archived: job.archived,
        failure,
        tokens_used: job.tokens,
        cost_usd: known_cost(about.total_cost_usd()),
        version: row.version,
        moves: about.moves,
    }
}

fn agent_state(row: &JobRow, work: &dyn JobService) -> AgentState {
    let (job, about) = (&row.job, &row.about);
    let paused = match &job.state {
        JobState::Paused(by) => Some(by),
        _ => None,
    };
    let resume_at = match paused {
        Some(PauseCause::RateLimit { until }) => Some(format_utc(*until)),
        Some(PauseCause::Person | PauseCause::Breaker { .. }) | None => None,
    };
    AgentState {
        status: job.agent_status(),
        alive: work.is_alive(row),
        current_step: job.step.as_ref().map(|step| step.name.clone()),
        blocked_by: job.blocked_by(),
        paused_by: paused.map(PauseCause::kind),
        resume_at,
        last_output: about.output_at.map(format_time),
        restart_after: restart_after(job),
        tokens_used: job.tokens,
        cost_usd: known_cost(about.total_cost_usd()),
    }
}

/// The seconds of silence that an agent at work is restarted after; the second time it is paused.
fn restart_after(job: &Job) -> Option<u64> {
    let limit = u64::try_from(job.limits.silence_s).unwrap_or(0);
    (job.state == JobState::Running && !job.stuck && limit > 0).then_some(limit)
}

/// Returns the cost if it is known: clients that do not know it report zero.
pub(crate) fn known_cost(usd: f64) -> Option<f64> {
    (usd > 0.0).then_some(usd)
}

/// What was used, by day and agent; rows of several tasks are added up.
pub(crate) fn spend_view(rows: &[SpendRow], task: Option<&str>) -> Vec<Spend> {
    let mut sums: BTreeMap<(i64, &str), (u64, f64)> = BTreeMap::new();
    for row in rows {
        let (tokens, usd) = sums.entry((row.day, &row.agent)).or_default();
        *tokens += row.tokens;
        *usd += row.usd;
    }
    let to_spend = |((day, agent), (tokens, usd)): ((i64, &str), (u64, f64))| Spend {
        day: format_time(day * 86_400).chars().take(10).collect(),
        task_id: task.map(str::to_owned),
        agent: agent.to_owned(),
        tokens,
        cost_usd: known_cost(usd),
    };
    sums.into_iter().map(to_spend).collect()
}

/// The agent of a task.
pub(crate) fn agent_view(row: &JobRow, work: &dyn JobService) -> Agent {
    let state = agent_state(row, work);
    let (job, about) = (&row.job, &row.about);
    let reached = u64::from(job.reached.done) * 100 / u64::from(job.reached.of.max(1));
    Agent {
        status: state.status,
        current_phase: job.current_phase(),
        current_step: state.current_step,
        progress: u32::try_from(reached.min(100)).unwrap_or(100),
        tokens_used: state.tokens_used,
        cost_usd: state.cost_usd,
        blocked_by: state.blocked_by,
        last_update: format_time(about.updated_at),
        checkpoint: AgentCheckpoint {
            last_saved: about.checkpoint.as_ref().map(|(_, at)| format_time(*at)),
            auto_save_interval: AUTO_SAVE_MS,
        },
        paused_by: state.paused_by,
        resume_at: state.resume_at,
        name: about.agent.clone(),
        attempt: job.attempt,
        alive: state.alive,
        pid: state.alive.then(|| work.process_id(row)).flatten(),
        last_output: state.last_output,
        restart_after: state.restart_after,
    }
}

/// When a phase was over: approved by a person, or verified where none approves it.
fn phase_end(records: &[JobRecord], number: u32, review: bool) -> Option<String> {
    let at = records.iter().filter_map(|record| match &record.body {
        RecordBody::Review(it)
            if review && it.phase == number && it.status == ReviewStatus::Approved =>
        {
            it.reviewed_at
        }
        RecordBody::Verification(it)
            if !review && it.phase == number && it.passed == Some(true) =>
        {
            it.ended_at
        }
        _ => None,
    });
    at.max().map(format_time)
}

/// Returns when the steps of a phase began and ended. A step ends when the next one begins; the
/// last one ends when the phase is reported complete, which is when its result is examined.
fn step_times(row: &JobRow, number: u32, records: &[JobRecord]) -> Vec<StepTime> {
    let steps: Vec<&BegunStepRow> = row
        .about
        .steps
        .iter()
        .filter(|it| it.phase == number)
        .collect();
    let looked = records.iter().filter_map(|record| match &record.body {
        RecordBody::Review(it) => (it.phase == number).then_some(record.at.0),
        RecordBody::Verification(it) => (it.phase == number).then_some(record.at.0),
        _ => None,
    });
    let last = steps.last().map_or(i64::MAX, |it| it.at);
    let ended = looked.filter(|at| *at >= last).min();
    let ends = steps.iter().skip(1).map(|it| Some(it.at)).chain([ended]);
    let ends: Vec<Option<i64>> = ends.collect();
    let timed = steps.into_iter().zip(ends);
    timed
        .map(|(step, end)| StepTime {
            step: step.number,
            name: step.name.clone(),
            started_at: format_time(step.at),
            completed_at: end.map(format_time),
        })
        .collect()
}

/// The phases of a task; `steps` are the names its type has for each, `records` its rows.
pub(crate) fn phase_views(
    row: &JobRow,
    steps: &[Vec<String>],
    records: &[JobRecord],
) -> Vec<Phase> {
    let job = &row.job;
    let names: Vec<(String, bool)> = match &job.kind {
        None => Vec::new(),
        Some(JobKind::Phased { phases, .. }) => phases
            .iter()
            .map(|phase| (phase.name.clone(), phase.review))
            .collect(),
        Some(_) => vec![("Work".into(), false)],
    };
    let current = match job.task_status() {
        TaskStatus::Draft | TaskStatus::Pending | TaskStatus::InProgress => PhaseStatus::InProgress,
        TaskStatus::Review => PhaseStatus::Review,
        TaskStatus::Completed => PhaseStatus::Completed,
        TaskStatus::Failed => PhaseStatus::Failed,
    };
    let status = |number: u32| match number.cmp(&job.phase) {
        Ordering::Greater if current != PhaseStatus::Completed => PhaseStatus::Pending,
        Ordering::Equal => current,
        Ordering::Less | Ordering::Greater => PhaseStatus::Completed,
    };
    let numbered = (1u32..).zip(names);
    let mut begun = job.started_at.map(format_utc);
    numbered
        .map(|(number, (name, review))| {
            let steps = steps.get(number as usize - 1).cloned().unwrap_or_default();
            let all = u32::try_from(steps.len()).unwrap_or(u32::MAX);
            let status = status(number);
            let completed_steps = match (status, &job.step) {
                (PhaseStatus::Completed | PhaseStatus::Review, _) => all,
                (PhaseStatus::Pending, _) => 0,
                (_, Some(step)) => step.number.saturating_sub(1),
                (_, None) => 0,
            };
            let done = status == PhaseStatus::Completed;
            let completed_at = phase_end(records, number, review)
                .or_else(|| match &job.state {
                    JobState::Completed { at } => Some(format_utc(*at)),
                    _ => None,
                })
                .filter(|_| done);
            let started_at = std::mem::replace(&mut begun, completed_at.clone());
            Phase {
                phase: number,
                name,
                status,
                steps,
                completed_steps,
                step_times: step_times(row, number, records),
                review,
                started_at,
                completed_at,
            }
        })
        .collect()
}

/// A review; nothing when the row is none. The others likewise.
pub(crate) fn review_view(record: &JobRecord) -> Option<Review> {
    let RecordBody::Review(row) = &record.body else {
        return None;
    };
    Some(Review {
        id: record.id.clone(),
        task_id: record.job.clone(),
        phase: row.phase,
        status: row.status,
        deliverables: row.deliverables.clone(),
        created_at: format_utc(record.at),
        reviewed_at: row.reviewed_at.map(format_time),
        comment: row.comment.clone(),
        comments: row
            .comments
            .iter()
            .map(|it| FileComment {
                file: it.file.clone(),
                line: it.line,
                comment: it.comment.clone(),
            })
            .collect(),
    })
}

pub(crate) fn question_view(record: &JobRecord) -> Option<Question> {
    let RecordBody::Question(row) = &record.body else {
        return None;
    };
    Some(Question {
        id: record.id.clone(),
        task_id: record.job.clone(),
        question: row.question.clone(),
        options: row.options.clone(),
        default: row.default.clone(),
        required: row.required,
        status: row.status,
        answer: row.answer.clone(),
    })
}

pub(crate) fn dependency_view(record: &JobRecord) -> Option<Dependency> {
    let RecordBody::Dependency(row) = &record.body else {
        return None;
    };
    Some(Dependency {
        id: record.id.clone(),
        task_id: record.job.clone(),
        dependency_type: row.kind,
        name: row.name.clone(),
        description: row.description.clone(),
        required: row.required,
        has_default: row.default.is_some(),
        status: row.status,
    })
}

pub(crate) fn permission_view(record: &JobRecord) -> Option<Permission> {
    let RecordBody::Permission(row) = &record.body else {
        return None;
    };
    Some(Permission {
        id: record.id.clone(),
        task_id: record.job.clone(),
        attempt: row.attempt,
        tool: row.tool.clone(),
        input: serde_json::from_str(&row.input).unwrap_or_else(|_| row.input.clone().into()),
        status: row.status,
        requested_at: format_utc(record.at),
        decided_at: row.settled_at.map(format_time),
        reason: row.reason.clone(),
        decided_by: row.by.clone(),
    })
}

pub(crate) fn rule_view(record: &JobRecord) -> Option<PermissionRule> {
    let RecordBody::Rule(row) = &record.body else {
        return None;
    };
    Some(PermissionRule {
        id: record.id.clone(),
        tool: row.rule.tool.clone(),
        input: row.rule.input.clone(),
        decision: match row.rule.denies {
            true => PermissionDecision::Deny,
            false => PermissionDecision::Permit,
        },
        reason: row.rule.reason.clone(),
        task_id: row.rule.task.clone(),
        created_at: format_utc(record.at),
        uses: row.uses,
    })
}

pub(crate) fn checkpoint_view(record: &JobRecord) -> Option<Checkpoint> {
    let RecordBody::Checkpoint(row) = &record.body else {
        return None;
    };
    Some(Checkpoint {
        id: record.id.clone(),
        task_id: record.job.clone(),
        created_at: format_utc(record.at),
        created_by: row.created_by.clone(),
        reason: row.reason.clone(),
        task_status: row.status,
        attempt: row.attempt,
        current_phase: (row.phase > 0).then_some(row.phase),
        current_step: row.step.as_ref().map(|(_, _, name)| name.clone()),
        progress: row.progress,
        code_ref: row.code_ref.clone(),
    })
}

/// A verification that has ended.
pub(crate) fn verification_view(record: &JobRecord) -> Option<Verification> {
    let RecordBody::Verification(row) = &record.body else {
        return None;
    };
    Some(Verification {
        number: row.number,
        phase: row.phase,
        at: row
            .ended_at
            .map_or_else(|| format_utc(record.at), format_time),
        passed: row.passed?,
        issues: row.issues.clone(),
    })
}

pub(crate) fn message_view(record: &JobRecord) -> Option<Saying> {
    let RecordBody::Said(row) = &record.body else {
        return None;
    };
    Some(Saying {
        id: record.id.clone(),
        task_id: record.job.clone(),
        text: row.text.clone(),
        status: row.status,
        created_at: format_utc(record.at),
        delivered_at: (row.status == MessageStatus::Delivered)
            .then(|| row.settled_at.map(format_time))
            .flatten(),
    })
}
