//! Problems with runs of agents.

use super::{Cause, FailureMessage};

messages! {
    /// Reason why an attempt failed, a merge waits, or a phase was not merged. The original text of
    /// an agent, a command or a reviewer follows it.
    Reason, reason => text {
        Said { text: String },
        Nothing,
        Refused { no: Box<FailureMessage> },
        Coded { code: String, why: Box<Reason> },
        Lost,
        NotBegun,
        NotRun { why: NotRun },
        NoAgent { name: String },
        Silent { seconds: i64 },
        TooLong { seconds: i64 },
        Breaker { spent: Spent },
        ExitCode { code: i32 },
        Signal,
        NoPromise { times: u32 },
        Conflict { paths: String },
        NothingInCommon { branch: String, command: String },
        BadModules { said: String },
        PlanRemoved { path: String, command: String },
        PlanCut { path: String, ids: String, command: String },
        LandingsGone { ids: String, branch: String, command: String },
        InTheWay { said: String, command: String },
        Unresolved { path: String },
        OwnRepository { path: String },
        SubmoduleAlone { path: String },
        NoWorktree { path: String },
        CommandRed,
        Blocking { count: u64 },
        EndedItself,
        EvidenceRed { command: String, code: i32 },
        CheckRed { command: String, code: i32 },
        CommandEnded { command: String, code: i32 },
        ProgramFailed { program: String, said: String },
        BranchRuns { branch: String },
        BranchMoves { branch: String },
        BranchApart { branch: String, remote: String, command: String },
        BranchGone { branch: String, command: String },
        Uncommitted { folder: String, command: String },
        ProposalUnknown { id: String, command: String },
        GoesOn { why: Box<Reason>, command: String },
        ProposalClosed,
        ProposalCheckRed { name: String },
        ProposalRemarks,
        PhaseNotLanded { phase: u32, why: Box<Reason> },
    }

    /// A budget of a piece of work that is used up.
    Spent, spent => text {
        Turns { max: u64 },
        Tokens { max: u64 },
        Usd { max: String },
        Worked { seconds: i64 },
    }

    /// Reason why a program was not started.
    NotRun, not_run => text {
        Program { name: String, cause: Cause },
        Folder { name: String, cause: Cause },
        SettingsFolder { cause: Cause },
        NoCommand,
        ShimGone,
        Shim { program: String, cause: Cause },
        ShimSilent,
        ShimSlow { ms: u64 },
        Other { cause: Cause },
    }

    /// Reason why control groups are unavailable.
    NoGroup, no_group => text {
        NotMounted,
        NotAllowed { place: String },
        NotMade { place: String, cause: Cause },
        Version1 { names: String },
        NotHandedOn { names: String, file: String },
        NotFrozen,
    }

    /// An error in `bowline.toml`. The parser's text is English; line and key are reported in every
    /// language.
    BadSetting, bad_setting => text {
        Unread { cause: Cause },
        NotToml { line: usize, said: String },
        Key { line: usize, key: String, said: String },
        Notify { line: usize, key: String },
        EmptyCommand { agent: String },
        NoClient { agent: String },
        CommandAndClient { agent: String },
        NoModel { agent: String, client: String, model: String },
        ReservedArgument { agent: String, client: String, argument: String },
        NoPhases { name: String },
    }
}
