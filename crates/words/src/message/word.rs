//! Words used as parameters of other messages.

messages! {
    /// Status of a task, step or other entity.
    Status, status => text {
        Draft,
        Pending,
        Ready,
        InProgress,
        Review,
        Completed,
        Failed,
        Paused,
        Cancelled,
        Blocked,
        Idle,
        Success,
        Failure,
        Partial,
        Passed,
        Escalated,
        Other { word: String },
    }

    /// The subject of a message.
    Thing, thing => text {
        Feature,
        Reason,
        CheckpointId,
        Goal,
        Name,
        Title,
        Message,
        Code,
        Metric,
        CoreValue,
        Step,
        Steps,
        Task,
        TaskId,
        TaskName,
        StepName,
        ArtifactPath,
        WaitingTasks,
        Other { word: String },
    }
}

impl Status {
    /// Parses a status as files have it; an unknown one becomes `Other`.
    pub fn of(word: &str) -> Status {
        match word {
            "draft" => Status::Draft,
            "pending" => Status::Pending,
            "ready" => Status::Ready,
            "in_progress" => Status::InProgress,
            "review" => Status::Review,
            "completed" => Status::Completed,
            "failed" => Status::Failed,
            "paused" => Status::Paused,
            "cancelled" => Status::Cancelled,
            "blocked" => Status::Blocked,
            "idle" => Status::Idle,
            "success" => Status::Success,
            "failure" => Status::Failure,
            "partial" => Status::Partial,
            "passed" => Status::Passed,
            "escalated" => Status::Escalated,
            other => Status::Other { word: other.into() },
        }
    }
}

impl Thing {
    /// Parses the English name of a subject; an unknown one becomes `Other`.
    pub fn of(word: &str) -> Thing {
        match word {
            "feature" => Thing::Feature,
            "reason" => Thing::Reason,
            "checkpoint id" => Thing::CheckpointId,
            "goal" => Thing::Goal,
            "name" => Thing::Name,
            "title" => Thing::Title,
            "message" => Thing::Message,
            "code" => Thing::Code,
            "metric" => Thing::Metric,
            "core value" => Thing::CoreValue,
            "step" => Thing::Step,
            "steps" => Thing::Steps,
            "task" => Thing::Task,
            "task id" => Thing::TaskId,
            "task name" => Thing::TaskName,
            "step name" => Thing::StepName,
            "artifact path" => Thing::ArtifactPath,
            "waiting tasks" => Thing::WaitingTasks,
            other => Thing::Other { word: other.into() },
        }
    }
}
