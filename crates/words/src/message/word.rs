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
    #[derive(Copy)]
    Thing, thing => text {
        Feature,
        Reason,
        CheckpointId,
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
        Worktree,
    }
}

impl Status {
    /// Parses a status as files have it; an unknown one becomes `Other`.
    pub fn from_word(word: &str) -> Status {
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
