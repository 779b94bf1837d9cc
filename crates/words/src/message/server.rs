//! What the task server says no for.

use super::{Cause, Status};

messages! {
    /// Why the server does not answer what was asked.
    ServerNo, server_no => told {
        NoToken,
        WrongToken,
        ForeignHost { host: String },
        ForeignOrigin { origin: String },
        NeedsPerson { what: &'static str },
        NeedsAgent,
        NoRoute { path: String },
        WrongMethod { method: String, allowed: String },
        NoSuch { what: &'static str, id: String },
        NotInQuery { name: &'static str, value: String },
        BadBody { said: String },
        BadTime { text: String },
        NotJson,
        BodyTooBig { max: usize },
        TooSlow,
        TooManyRequests { seconds: u64 },
        TooManyConnections,
        Draining,
        Starting,
        Changed { version: u64 },
        RequestReused,
        UnknownType { name: String, known: String },
        UnknownAgent { name: String, known: String },
        EventGone { asked: u64, oldest: u64 },
        OutsideWorkspace { path: String },
        TooBigToSend { bytes: u64, max: u64 },
        NoSuchVerb { verb: String, known: String },
        VerbLacks { verb: String, field: &'static str },
        Cycle { path: String },
        BadValue { why: String },
        NearMiss { answer: String, suggestion: String },
        Internal,
    }

    /// Why the server cannot start or work.
    ServeTrouble, serve_trouble => told {
        CannotListen { address: String, cause: Cause },
        BadAddress { address: String },
        NotAFolder { path: String },
        File { path: String, cause: Cause },
        OpenToOthers { path: String },
        AlreadyServing { path: String },
        Store { cause: Cause },
        BadConfig { path: String, said: String },
        BadStore { url: String },
        Unreachable { place: String, cause: Cause },
        BadAnswer { place: String },
    }

    /// What `serve`, `task` and `demo` show.
    Desk, desk => text {
        PageOnce,
        OtherTerminal,
        NothingLost,
        AllHappened,
        WouldServe,
        SignInOnce,
        WouldMakeTask,
        WouldDo { action: String, task: String },
        Removed,
        NoLimit { part: String },
        ValueUnseen,
        NoValue,
        ValueByInput,
        NeedsYou,
        NoTasks,
        NothingWaits,
        Type,
        Folder,
        Step,
        Checkpoint,
        LastOutput,
        Failed,
        Asks,
        Needs,
        InReview,
        AllowedNow,
        Phase,
        HoldsSecret,
    }

    /// Why a job refuses.
    JobNo, job_no => told {
        NotAllowed { command: &'static str, task: Status, agent: Status, allowed: String },
        CancelInReview,
        Incomplete { missing: String },
        ScheduledLater,
        WaitingForTasks { tasks: String },
        Stale,
        Unknown { what: &'static str, id: String },
        Settled { what: &'static str, id: String, status: &'static str },
        Empty { what: &'static str },
        NotAnOption { answer: String, options: String },
        QuestionRequired { id: String },
        NotDue,
        TooManyWaiting,
        NoSuchPhase { phase: u32, total: u32 },
        AlreadyRetried { by: String },
        DependedOn { tasks: String },
    }
}
