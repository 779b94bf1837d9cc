//! Messages of the gate: denials, and the resume card of a run.

use super::{Cause, Change};

messages! {
    /// Reason for denying a tool call, without the command and without the way forward.
    Denied, denied => text {
        Write { phase: &'static str, path: String, by: String },
        WriteByTool { phase: &'static str, path: String },
        WriteSomewhere { phase: &'static str, by: String },
        WriteSomewhereByTool { phase: &'static str },
        Finish { phase: &'static str, what: FinishingAct },
        OtherTree { what: FinishingAct },
        OtherFiles { what: FinishingAct, changes: Vec<Change> },
        Hidden { phase: &'static str, what: Unseen },
        Guard { phase: &'static str, path: String },
        PersonHere { phase: &'static str, what: String },
        Person { what: String },
        State { path: String },
        Missing { path: String },
        Damaged { path: String, reason: String },
        CannotJudge { reason: Unjudged },
        GateFailed,
    }

    /// Act that commits work, pushes it, or puts it up for merging.
    FinishingAct, finishing_act => text {
        Command { text: String },
        Push { name: String },
        MoveBranch,
        MoveReference { name: String },
    }

    /// Reason why a call could not be judged.
    Unjudged, unjudged => text {
        Unread { cause: Cause },
        TooLong,
        NotUnderstood { said: String },
        NoTool,
        NoFolder,
        GitUnread,
    }

    /// Reason why it is unknown what a command would run.
    Unseen, unseen => text {
        Unreadable { at: usize, fault: ShellFault },
        ToolInput { tool: String },
        Nameless,
        Code { language: String },
        GitCommand,
        GitAlias,
        GitSettings { command: String },
        CommandOf { name: String },
        TypedInto { name: String },
        Program,
        Alias { name: String },
        SedRuns,
        TooDeep,
        Text,
        Prompt,
        NotFoundHandler,
        StartFile,
        Anything { language: String, by: OpenConstruct },
        CronTable,
    }

    /// Reason why a command line cannot be parsed.
    #[derive(Copy)]
    ShellFault, shell_fault => text {
        BadLetter,
        TooLong,
        TooDeep,
        OpenBracket,
        StrayBracket,
        OpenQuote,
        OpenBackquote,
        OpenBrace,
        StrayWord,
        StrayWordOrBracket,
        BadLoop,
        LoopWithoutVariable,
        OpenPattern,
        FunctionWithoutName,
        OpenTest,
        OpenCalculation,
        AfterCommand,
        UnclearHereDocument,
        StraySign,
        ParameterWithoutName,
        WordMissing { word: &'static str },
    }

    /// Construct by which code may run anything.
    OpenConstruct, open_construct => text {
        ManyCalls,
        EmbeddedCommand,
        DisguisedName,
        Name { name: String },
    }

    /// A line of a denial or of the resume card.
    Card, card => text {
        Blocked { command: String },
        ClosedGates { gates: String },
        Next { command: String },
        NextLine { command: String },
        NextByPerson { command: String },
        NextIsVerb,
        AskPerson { command: String },
        AskPersonFor,
        NotBelieved { what: String },
        NotBelievedHere { what: String },
        NotBelievedIn { path: String, what: String },
        Head,
        RunMissing { path: String },
        RunDamaged { path: String, reason: String },
        FileMissing { path: String, next: String },
        FileDamaged { path: String, reason: String, next: String },
        About { feature: String, phase: &'static str },
        When { began: String, moved: String, utc: bool, strategy: Option<&'static str> },
        LatestChanges { changes: String },
        Foreign,
        SealStale,
        Passed { passed: usize, total: usize, open: String },
        WritesClosed { gates: String },
        FinishesClosed { gates: String },
        DesignAgain,
        ReviewAgain,
        Implement,
        Begin { id: String },
        GoOn { id: String, attempt: u32, max: u32 },
        OnlyPeople,
        VerifyAll,
        ToPr,
        ReReview,
        FinishNow,
        GateBehind { phase: &'static str },
        Over,
        StopTo { id: String, attempt: u32, max: u32, next: String },
        AlsoHere { kind: &'static str, name: &'static str, said: Other },
        LessonsFor { stage: String, lessons: String },
        StepInHand { step: u64, name: String, agent: String },
        TaskGoal { goal: String },
        Shared { facts: String },
        Remembers { agent: String, facts: String },
        Taught { lessons: String },
    }

    /// Summary of another state file.
    Other, other => text {
        Unreadable,
        Thinking { id: String, stage: String, status: super::Status },
        Memory { name: String, status: super::Status, step: Option<u64> },
        NoTask,
        Orchestration { project: String, done: usize, running: usize, ready: usize, failed: usize },
    }
}
