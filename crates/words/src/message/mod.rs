//! All messages as enums with parameters; their texts are in the language modules.

mod file;
mod found;
mod gate;
mod input;
mod plan;
mod proof;
mod run;
mod said;
mod server;
mod tool;
mod usage;
mod word;

pub use crate::english::web::Web;
pub use crate::english::web_forms::WebForms;
pub use file::{FileAction, IrregularFile};
pub use found::{FileFinding, Kind, Named, Repair};
pub use gate::{Card, Denied, FinishingAct, OpenConstruct, Other, ShellFault, Unjudged, Unseen};
pub use input::{Advice, Why, Wrong};
pub use plan::{InPlan, Unplaced};
pub use proof::{Change, Doubt, Measure, Shortfall, Signed, Unrelayed};
pub use run::{BadSetting, NoGroup, NotRun, Reason, Spent};
pub use said::{AgentState, Announcement, Confirmation, Label, OutputNote};
pub use server::{BodyFault, JobNo, ServeTrouble, ServerNo, ServerThing, TaskOutput, ValueFault};
pub use tool::ToolNo;
pub use usage::{Misused, Rightly};
pub use word::{Status, Thing};

use crate::Lang;

messages! {
    /// Notice of an event that affected a file.
    Notice, notice => text {
        RolledForward { lines: usize },
        NotRolledForwardYet { lines: usize },
        OutsideEdit,
        LostTransitions { lost: Vec<Passage> },
        PutBack { sequence: u64 },
        PutBackTaking { sequence: u64, taken: Vec<Passage> },
        AnotherTask { was: String, is: String },
        Distrusted { places: String },
        NotIgnored,
        GitHooksElsewhere { path: String },
        GitHookMissing { path: String },
        GitHookNotExecutable { path: String },
        PlanNotThere { path: String },
        AnotherPlan { path: String, foreign: usize },
        TreeNotCompared,
        Mended { pointer: String, found: FileFinding },
        MendedSo { pointer: String, found: FileFinding, repair: Repair },
        RestoredDamaged { from: Origin, aside: String },
        RestoredMissing { from: Origin },
        BadJournalLine { offset: u64 },
        JournalSetAside { path: String },
        JournalDoesNotFit { seq: u64 },
        ReplayDiffers { seq: u64 },
        ForeignLockTakenOver { owner: String },
        LockRemoved,
        KeptAside { path: String },
        AlreadyInHistory { id: String },
        HistoryNotWritten { error: String },
        StillCurrent { id: String },
        NoPlanToTick { id: String },
        NotTicked { id: String, why: String },
        NotTickedYet { id: String, why: String },
        Odd { text: String },
    }

    /// Source of a restored document.
    Origin, origin => text {
        Journal,
        Version { sequence: u64 },
        Copy { path: String },
        Rebuilt,
        Anew,
    }

    /// A transition that was lost or taken back.
    Passage, passage => text {
        Passage { sequence: u64, trigger: String, to: String },
    }

    /// Error of the operating system, or another cause.
    Cause, cause => text {
        System { kind: std::io::ErrorKind, number: Option<i32>, text: String },
        Other { text: String },
    }
}

messages! {
    /// Reason why an operation failed.
    Trouble, trouble => with_hint {
        NoFile { kind: String, path: String, begin: String },
        NothingHere { path: String },
        Ambiguous { paths: String },
        UnknownKind { path: String },
        Foreign { path: String },
        AnotherProgramsFile { path: String },
        NoPlan { path: String },
        AlreadyExists { path: String },
        OutputThere { path: String },
        OrchestrationExists { path: String },
        BadPlan { path: String, line: usize, found: InPlan },
        AmbiguousTask { name: String, fitting: String },
        NobodyRuns { path: String },
        NoAgent { name: String },
        AgentNotInstalled { name: String, program: String },
        Breaker { id: String, why: Spent },
        StartsSpent { max: u32 },
        NoValidation { id: String },
        BadSettings { path: String, fault: BadSetting },
        NoBranch { path: String },
        NoCommit { path: String, branch: String },
        NoMerge { phase: u32, why: Reason },
        Damaged { path: String, found: FileFinding },
        Unreadable { path: String },
        NewerVersion { path: String, found: FileFinding },
        NeedsPerson { what: String },
        NeedsPersonAtAll { what: String },
        NoTerminal { refused: Box<FailureMessage>, variable: String, person: String },
        CutOff { refused: Box<FailureMessage>, variable: String, person: String },
        RunChanged,
        MovedOn { path: String },
        NoSuchTransition { path: String, sequence: u64 },
        TransitionNotKept { path: String, sequence: u64, first: u64, at: String },
        NothingToUndo { path: String },
        EffectsLeft { sequence: u64, trigger: String },
        NoCopy { which: String, folder: String },
        StaleTree { changes: Vec<Change> },
        StaleSeal { changes: Vec<Change> },
        TreeNotCommitted { changes: Vec<Change> },
        NotVerified { reasons: Vec<Doubt> },
        ProgramFailed { program: String, said: String },
        DeniedBySandbox { program: String, said: String, path: String },
        GitTooOld { found: String, needed: String },
        NoAttempt { id: String },
        AmbiguousId { id: String, fitting: String },
        NotRunning { id: String },
        InputClosed { id: String },
        ShimStopped { id: String, pid: i32 },
        ShimSilent { id: String, pid: i32 },
        ShimSilentSomewhere { id: String, stopped: bool },
        ChangedWhileRunning { command: String, changes: Vec<Change> },
        CallCancelled { what: String },
        NotPausedYet { id: String, seconds: u64 },
        NotResumedYet { id: String, seconds: u64 },
        NotEndedYet { id: String, seconds: u64 },
        AgentNotStarted { id: String, why: NotRun },
        NoControlGroup { what: String, reason: NoGroup },
        OutsideTree { changes: Vec<Change> },
        NoSigningSandbox { why: String },
        StateInSandbox { root: String, folder: String },
        RootThroughLink { link: String, target: String },
        NotRelayed { what: String, reason: Unrelayed },
        NoFolder { path: String },
        OutputAfterEnd,
        OutputGone,
    }

    /// Reason why a state file could not be locked, read or written.
    FileTrouble, file_trouble => with_hint {
        Locked { path: String, owner: LockOwnerText, waited_ms: u64 },
        Permission { path: String, action: FileAction },
        DiskFull { path: String, action: FileAction },
        NotRegular { path: String, what: IrregularFile },
        TooBig { path: String, bytes: u64, bytes_max: u64 },
        NotUtf8 { path: String, valid_bytes: usize },
        LinkLoop { path: String },
        Contended { path: String, tries: usize },
        NeedsReplay { path: String },
        NoDocument { path: String },
        StepsNotWritten { path: String },
        NoSuchVersion { path: String, seq: u64 },
        NotRebuildable { path: String, seq: u64 },
        NothingToRestore { path: String },
        Unfinished { path: String, seq: u64 },
        Uncertain { path: String, seq: u64 },
        EarlierUnfinished { path: String, seq: u64 },
        Io { path: String, action: FileAction },
        FileForFolder { path: String, action: FileAction },
        Unknown { text: String },
    }

    /// Reason why an action on an agent's process failed.
    AgentTrouble, agent_trouble => with_hint {
        Io { action: FileAction, path: String },
        Relay { path: String },
        NoAttempt { path: String },
        BadId { id: String },
        AttemptExists { path: String },
        NotStarted { attempt: String, why: NotRun },
        Unreachable { attempt: String },
        Protocol { attempt: String, said: String },
        FencedOut { said: String },
        StaleGeneration { said: String },
        InputFull { said: String },
        InputGap { said: String },
        InputClosed { said: String },
        NotRunning { said: String },
        AgentPeer { said: String },
        NoDescriptors { said: String },
        BadRequest { said: String },
        Unsupported { said: String },
    }

    /// Reason why a path into the memory cannot be read or set.
    PathTrouble, path_trouble => with_hint {
        BadPath { path: String },
        NotFound { path: String },
        Protected { path: String },
        MustBeObject { path: String },
        NoMembers { path: String },
        NotAList { path: String },
        TooLarge { path: String, bytes: usize, max: usize },
    }

    /// Reason why a file of evidence is not accepted.
    EvidenceTrouble, evidence_trouble => with_hint {
        Damaged { path: String, said: String },
        Unsigned { what: Signed },
        Forged { what: Signed },
        OtherRun { gate: String, found: String, run: String },
        OtherPolicy { changes: Vec<Change> },
        OtherTree { wanted: String, found: String },
        NoTree { found: String },
    }

    /// Refusals of a thinking run.
    ThinkingNo, thinking_no => with_hint {
        DependencyNotCompleted { stage: &'static str, dependency: &'static str },
        OutputsMissing { stage: &'static str, missing: String },
        NoOutput { stage: &'static str },
        AlreadyInProgress { stage: &'static str },
        AlreadyCompleted { stage: &'static str },
        NotStarted { stage: &'static str, status: Status, current: &'static str },
        OtherInProgress { stage: &'static str, status: Status, current: &'static str },
        OtherExhausted { stage: &'static str, status: Status, current: &'static str },
        AllCompleted { stage: &'static str },
        RetriesExhausted { stage: &'static str, tries: u32 },
        NeedsPerson { stage: &'static str },
        OverrideNotNeeded { stage: &'static str, status: Status },
        Empty { what: Thing },
        PathEscapes { path: String },
        BelowThreshold { stage: &'static str, checks: Vec<Shortfall> },
        UnknownName { what: Thing, name: String, known: String },
        OutOfRange { name: String, value: String, max: String },
        BadTarget { metric: String },
        AlreadyApplied { task: String },
        NoLessons { task: String },
    }

    /// Refusals of an orchestration.
    OrchestrateNo, orchestrate_no => with_hint {
        NoTask { id: String },
        NotReady { id: String, waits_for: String },
        NotReadyYet { id: String, own: u32, current: u32 },
        Blocked { id: String, by: String },
        NotBegun { id: String, status: Status, verb: &'static str },
        Ready { id: String, verb: &'static str },
        InProgress { id: String, verb: &'static str },
        Completed { id: String, verb: &'static str },
        Failed { id: String, verb: &'static str },
        NotFailed { id: String, status: Status },
        NoFreePlace { max: u32 },
        NeedsPerson { id: String },
        NoPhase { phase: u32 },
        PhaseFinished { phase: u32 },
        PhaseNotCurrent { phase: u32, current: u32 },
        PhaseIncomplete { phase: u32, done: usize, total: usize },
        BadCommit { commit: String, letters: usize },
        Empty { what: Thing },
    }

    /// Refusals about the current task of the memory.
    PlanNo, plan_no => with_hint {
        NoTask,
        TaskPending { id: String, verb: &'static str },
        TaskInProgress { id: String, verb: &'static str },
        TaskClosed { id: String, status: Status, verb: &'static str },
        TaskFailed { id: String, verb: &'static str },
        TaskPaused { id: String, verb: &'static str },
        StepNotBegun { id: u32, status: Status, verb: &'static str },
        StepInProgress { id: u32, verb: &'static str },
        StepCompleted { id: u32, verb: &'static str },
        NoStep { task: String, id: u32 },
        StepBefore { id: u32, missing: String },
        StepsBefore { id: u32, missing: String },
        RetriesExhausted { id: u32, tries: u32 },
        DuplicateId { what: Thing, id: String },
        MissingDependency { id: u32, missing: u32 },
        CircularDependency { path: String },
        BadStepId,
        TooMany { what: Thing, max: usize },
        Empty { what: Thing },
        UnresolvedIssue { id: String, step: u32 },
        NeedsPerson { id: String },
        NotQueued { id: String },
    }

    /// Refusals of a develop run.
    DevelopNo, develop_no => with_hint {
        NoRun,
        RunOpen { feature: String, phase: &'static str },
        WrongPhase { what: &'static str, phase: &'static str, wanted: &'static str },
        NotBack { phase: &'static str, to: &'static str },
        GatesClosed { missing: String },
        GatesClosedHere { missing: String, gate: &'static str },
        GatesClosedBefore { missing: String, phase: &'static str },
        GateAlreadyOpen { gate: &'static str },
        CheckpointsOpen { checkpoints: String },
        EvidenceRequired { gate: &'static str },
        EvidenceRed { gate: &'static str, exit_code: i32 },
        EvidenceStale,
        NeedsPerson { what: &'static str },
        UnknownCheckpoint { id: String },
        DuplicateCheckpoint { id: String },
        BadCheckpointId { shown: String, fault: &'static str, chars_max: usize },
        CheckpointFailed { what: &'static str, id: String, status: Status, typed: String },
        CheckpointPending { what: &'static str, id: String, typed: String },
        CheckpointIs { what: &'static str, id: String, status: Status },
        Empty { what: Thing },
        AlreadyAdopted,
    }
}

/// Any message of an operation that failed or was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FailureMessage {
    Trouble(Trouble),
    File(FileTrouble),
    Agent(AgentTrouble),
    Path(PathTrouble),
    Evidence(EvidenceTrouble),
    Thinking(ThinkingNo),
    Orchestrate(OrchestrateNo),
    Plan(PlanNo),
    Develop(DevelopNo),
    Input(Wrong, Advice),
}

impl FailureMessage {
    /// Returns message and hint in a language.
    pub fn say(&self, lang: Lang) -> (String, String) {
        match self {
            FailureMessage::Trouble(it) => it.say(lang),
            FailureMessage::File(it) => it.say(lang),
            FailureMessage::Agent(it) => it.say(lang),
            FailureMessage::Path(it) => it.say(lang),
            FailureMessage::Evidence(it) => it.say(lang),
            FailureMessage::Thinking(it) => it.say(lang),
            FailureMessage::Orchestrate(it) => it.say(lang),
            FailureMessage::Plan(it) => it.say(lang),
            FailureMessage::Develop(it) => it.say(lang),
            FailureMessage::Input(message, hint) => (message.say(lang), hint.say(lang)),
        }
    }
}

/// Owner of a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockOwnerText {
    /// Process id of the owner, if known.
    pub pid: Option<u32>,
    /// Host of the owner; may be empty.
    pub host: String,
    /// Command of the owner; may be empty.
    pub what: String,
    /// Time since which the lock is held; may be empty.
    pub at: String,
}
