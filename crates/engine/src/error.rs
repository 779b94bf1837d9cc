//! Errors of all operations.

use crate::actor::MissingPersonProof;
use crate::history::HistoryStart;
use crate::kinds::FileKind;
use crate::notice::FileNotice;
use crate::operations::develop::evidence_code;
use bowline_formats::finding::Finding;
use bowline_formats::foreign::OTHER_PROGRAM;
use bowline_formats::memory::path;
use bowline_formats::tasks_md;
use bowline_machines::{CodedRefusal, develop, orchestrate, plan, thinking};
use bowline_statefiles as statefiles;
use bowline_words::Lang;
use bowline_words::message::{
    Advice, BadSetting, Change, Doubt, EvidenceTrouble, FileFinding, NotRun, PathTrouble, Reason,
    Spent, Unrelayed, Why, Wrong,
};
use std::path::{Path, PathBuf};

/// Class of an error, from which a program's exit code follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitClass {
    Refused,
    Usage,
    NotFound,
    Damaged,
    /// Another process holds the file.
    Locked,
    /// Something outside the rules failed: the disk, a program, or Bowline itself.
    Failure,
}

/// Refusal by a rule of one of the machines.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum MachineRefusal {
    #[error(transparent)]
    Thinking(#[from] thinking::Refusal),
    /// From the current task of the memory.
    #[error(transparent)]
    Plan(#[from] plan::Refusal),
    #[error(transparent)]
    Develop(#[from] develop::Refusal),
    #[error(transparent)]
    Orchestrate(#[from] orchestrate::Refusal),
}

impl MachineRefusal {
    /// True if the subject of the command does not exist.
    fn is_not_found(&self) -> bool {
        matches!(
            self,
            MachineRefusal::Plan(plan::Refusal::NoStep { .. } | plan::Refusal::NotQueued { .. })
                | MachineRefusal::Develop(develop::Refusal::UnknownCheckpoint { .. })
                | MachineRefusal::Orchestrate(
                    orchestrate::Refusal::NoTask { .. } | orchestrate::Refusal::NoPhase { .. }
                )
        )
    }
}

impl CodedRefusal for MachineRefusal {
    fn code(&self) -> &'static str {
        match self {
            MachineRefusal::Thinking(refusal) => refusal.code(),
            MachineRefusal::Plan(refusal) => refusal.code(),
            MachineRefusal::Develop(refusal) => refusal.code(),
            MachineRefusal::Orchestrate(refusal) => refusal.code(),
        }
    }
}

/// Failure of an operation.
#[derive(Debug)]
pub enum Error {
    /// A rule refused; nothing changed.
    Refused(MachineRefusal),
    /// The file does not exist.
    NoFile {
        kind: FileKind,
        path: PathBuf,
    },
    /// There is no state file of any kind here.
    NothingHere {
        path: PathBuf,
    },
    /// More than one file matches.
    Ambiguous {
        paths: Vec<PathBuf>,
    },
    UnknownKind {
        path: PathBuf,
    },
    AlreadyExists {
        path: PathBuf,
    },
    /// A file that was to be written exists already.
    OutputThere {
        path: PathBuf,
    },
    /// The file cannot be read as its kind.
    Damaged {
        path: PathBuf,
        /// All findings; the fatal one last or alone.
        findings: Vec<Finding>,
    },
    /// The file is readable but not of its kind: it is left alone.
    Foreign {
        path: PathBuf,
        /// Stable error code, by the kind of file.
        code: &'static str,
    },
    NoPlan {
        path: PathBuf,
    },
    /// The plan cannot be executed.
    BadPlan {
        path: PathBuf,
        /// First finding that blocks it.
        finding: Box<tasks_md::PlanFinding>,
    },
    /// Several tasks have an id that ends with the given name.
    AmbiguousTask {
        name: String,
        /// Matching ids.
        fitting: Vec<String>,
    },
    /// No run of this orchestration is active.
    NobodyRuns {
        /// State file of the orchestration.
        path: PathBuf,
    },
    NoAgent {
        name: String,
    },
    /// The program of an agent is not on this machine.
    AgentNotInstalled {
        name: String,
        program: String,
    },
    /// A unit of work reached a limit of the settings.
    Breaker {
        /// Id of the unit of work.
        id: String,
        /// Limit that was reached.
        why: Spent,
    },
    /// A run started as many agents as it was allowed to.
    StartsSpent {
        max: u32,
    },
    /// No command decides whether a checkpoint is done.
    NoValidation {
        id: String,
    },
    /// The settings of a project are not valid.
    BadSettings {
        path: PathBuf,
        fault: BadSetting,
    },
    /// Work would be merged into the branch that is checked out, and none is.
    NoBranch {
        path: PathBuf,
    },
    /// A branch has no commit yet.
    NoCommit {
        path: PathBuf,
        branch: String,
    },
    /// A phase was not merged.
    NoMerge {
        phase: u32,
        why: Reason,
    },
    NewerVersion {
        path: PathBuf,
        /// Finding that names the version.
        found: FileFinding,
    },
    /// An agent used a verb that only a person may use.
    NeedsPerson {
        what: &'static str,
    },
    /// A verb needs a person, and nothing shows that a person acts.
    PersonNotShown {
        /// Refusal that others get.
        refused: Box<Error>,
        /// Proof that would have shown a person.
        missing: MissingPersonProof,
    },
    /// The develop run was replaced by another one while a command about it was in progress.
    RunChanged,
    /// A decision was based on a version of the file that is no longer current.
    MovedOn {
        path: PathBuf,
    },
    NoSuchTransition {
        path: PathBuf,
        /// Requested number.
        sequence: u64,
        /// First transition that is kept, if the requested one was dropped with its journal.
        begins: Option<HistoryStart>,
    },
    NothingToUndo {
        path: PathBuf,
    },
    /// Going back would cross a transition whose side effects left the file.
    EffectsLeft {
        sequence: u64,
        /// Trigger of that transition.
        trigger: String,
    },
    /// A path into a document cannot be read or set.
    Path(PathTrouble),
    /// There is no such dated copy.
    NoCopy {
        /// Requested copy.
        which: String,
        /// Folder of the copies.
        folder: PathBuf,
    },
    /// An input file or argument is not valid.
    BadInput {
        message: Wrong,
        /// Suggested fix.
        hint: Advice,
    },
    /// Sealed files or the verified tree have changed.
    StaleEvidence {
        /// Changed files, or the tree.
        changes: Vec<Change>,
        /// True if only the tree changed: the gate has to be passed again, not sealed.
        tree_only: bool,
    },
    /// The tested tree differs from the last commit.
    TreeNotCommitted {
        changes: Vec<Change>,
    },
    /// The evidence does not show that this tree is good.
    NotVerified {
        reasons: Vec<Doubt>,
    },
    /// A file of evidence does not count here.
    Evidence(EvidenceTrouble),
    /// A required program could not be run, or failed.
    ProgramFailed {
        program: String,
        /// Its error output.
        message: String,
    },
    /// git is older than required.
    GitTooOld {
        /// Version that git reports.
        found: String,
    },
    /// The command failed after the file had been repaired for it.
    AfterRepair {
        /// Repairs that were made.
        notices: Vec<FileNotice>,
        /// Failure of the command.
        error: Box<Error>,
    },
    /// The file could not be locked, read or written.
    File(statefiles::StateFileError),
    /// An agent's process failed, or its shim refused.
    Agent(bowline_supervisor::SupervisorError),
    /// There is no attempt with such an id.
    NoAttempt {
        id: String,
    },
    /// Several attempts have an id that begins with the given one.
    AmbiguousId {
        id: String,
        /// Matching ids.
        fitting: Vec<String>,
    },
    /// The agent of an attempt does not run.
    NotRunning {
        id: String,
    },
    /// The standard input of the agent is closed.
    InputClosed {
        id: String,
    },
    /// A shim is alive and does not answer.
    SilentShim {
        id: String,
        /// Process of the shim, if known.
        pid: Option<i32>,
        /// True if the process is stopped by a signal.
        stopped: bool,
    },
    /// Files changed while a command ran whose result was to be evidence.
    ChangedWhileRunning {
        command: String,
        changes: Vec<Change>,
    },
    /// The caller cancelled the call.
    CallCancelled {
        /// Command that was ended, or verb that was not begun.
        what: String,
    },
    /// An order was accepted but not executed within the time limit.
    NotYet {
        id: String,
        /// Ordered level.
        want: bowline_supervisor::WantedState,
        /// Time limit in seconds.
        seconds: u64,
    },
    AgentNotStarted {
        id: String,
        why: Box<NotRun>,
    },
    /// A requested control group is not supported here.
    NoControlGroup {
        /// Requested option.
        what: &'static str,
        reason: bowline_supervisor::CgroupUnavailable,
    },
    /// A sandbox would hold the folder in which attempts are kept.
    StateInSandbox {
        /// Root that the agent could write.
        root: PathBuf,
        /// Folder of Bowline's own records or program.
        folder: PathBuf,
    },
    /// A command would find files that the hash of the tree does not cover.
    OutsideTree {
        changes: Vec<Change>,
    },
    /// A command whose evidence is signed cannot be kept from the key.
    NoSigningSandbox {
        message: String,
    },
    /// A root is reached through a link that an agent may have made.
    RootThroughLink {
        link: PathBuf,
        /// Target of the root.
        target: PathBuf,
    },
    /// A sandboxed agent requested something that is not executed for it outside.
    NotRelayed {
        what: String,
        reason: Unrelayed,
    },
    NoFolder {
        path: PathBuf,
    },
    /// Output could not be passed on.
    Output {
        source: std::io::Error,
        /// True if the agent has ended, and nothing continues.
        over: bool,
    },
}

impl Error {
    /// Returns the error of an unusable file, with its reason and a hint.
    pub fn bad_file(path: &Path, why: Why, hint: Advice) -> Error {
        Error::BadInput {
            message: Wrong::OfFile {
                path: path.display().to_string(),
                why,
            },
            hint,
        }
    }

    /// Adds the repairs that were made before the command failed.
    pub(crate) fn after_repairs(self, mut repaired: Vec<FileNotice>) -> Error {
        if repaired.is_empty() {
            return self;
        }
        let error = match self {
            Error::AfterRepair { notices, error } => {
                repaired.extend(notices);
                error
            }
            other => Box::new(other),
        };
        Error::AfterRepair {
            notices: repaired,
            error,
        }
    }

    /// Returns the stable `snake_case` code, documented by `bowline explain`.
    pub fn code(&self) -> &'static str {
        match self {
            Error::Refused(refusal) => refusal.code(),
            Error::NoFile { .. } => "no_file",
            Error::NothingHere { .. } => "nothing_here",
            Error::Ambiguous { .. } => "ambiguous",
            Error::UnknownKind { .. } => "unknown_kind",
            Error::AlreadyExists { .. } | Error::OutputThere { .. } => "already_exists",
            Error::Damaged { .. } => "damaged",
            Error::Foreign { code, .. } => match *code {
                OTHER_PROGRAM => "another_programs_file",
                _ => "not_an_orchestration",
            },
            Error::NoPlan { .. } => "no_plan",
            Error::BadPlan { finding, .. } => finding.code.name(),
            Error::AmbiguousTask { .. } => "ambiguous_task",
            Error::NobodyRuns { .. } => "nobody_runs",
            Error::NoAgent { .. } => "no_agent",
            Error::AgentNotInstalled { .. } => "agent_not_installed",
            Error::Breaker { .. } => "breaker",
            Error::StartsSpent { .. } => "starts_spent",
            Error::NoValidation { .. } => "no_validation",
            Error::BadSettings { .. } => "bad_settings",
            Error::NoBranch { .. } => "no_branch",
            Error::NoCommit { .. } => "no_commit",
            Error::NoMerge { .. } => "no_merge",
            Error::NewerVersion { .. } => "newer_version",
            Error::NeedsPerson { .. } => "needs_person",
            Error::PersonNotShown { .. } => "person_not_shown",
            Error::RunChanged => "run_changed",
            Error::MovedOn { .. } => "changed",
            Error::NoSuchTransition { .. } => "no_such_transition",
            Error::NothingToUndo { .. } => "nothing_to_undo",
            Error::EffectsLeft { .. } => "effects_left",
            Error::Path(trouble) => path::path_trouble_code(trouble),
            Error::NoCopy { .. } => "no_copy",
            Error::BadInput { .. } => "bad_input",
            Error::StaleEvidence { .. } => "stale_evidence",
            Error::TreeNotCommitted { .. } => "tree_not_committed",
            Error::NotVerified { .. } => "not_verified",
            Error::Evidence(trouble) => evidence_code(trouble),
            Error::ProgramFailed { .. } => "program_failed",
            Error::GitTooOld { .. } => "git_too_old",
            Error::AfterRepair { error, .. } => error.code(),
            Error::File(error) => error.code(),
            Error::Agent(error) => error.code(),
            Error::NoAttempt { .. } => "no_attempt",
            Error::AmbiguousId { .. } => "ambiguous_id",
            Error::NotRunning { .. } => "agent_not_running",
            Error::InputClosed { .. } => "input_closed",
            Error::SilentShim { .. } => "shim_unreachable",
            Error::ChangedWhileRunning { .. } => "changed_while_running",
            Error::CallCancelled { .. } => "call_cancelled",
            Error::NotYet { .. } => "not_yet",
            Error::AgentNotStarted { .. } => "agent_not_started",
            Error::NoControlGroup { .. } => "no_control_group",
            Error::StateInSandbox { .. } => "state_in_sandbox",
            Error::OutsideTree { .. } => "outside_tree",
            Error::NoSigningSandbox { .. } => "no_signing_sandbox",
            Error::RootThroughLink { .. } => "root_through_link",
            Error::NoFolder { .. } => "no_folder",
            Error::NotRelayed { .. } => "not_relayed",
            Error::Output { .. } => "output_gone",
        }
    }

    /// Returns the class that decides the exit code.
    pub fn exit_class(&self) -> ExitClass {
        match self {
            Error::Refused(refusal) if refusal.is_not_found() => ExitClass::NotFound,
            Error::BadInput {
                message:
                    Wrong::NoSuchCode { .. }
                    | Wrong::NoSuchSchema { .. }
                    | Wrong::NothingToImport { .. }
                    | Wrong::NoRescue { .. },
                ..
            } => ExitClass::NotFound,
            Error::Refused(_)
            | Error::Foreign { .. }
            | Error::AlreadyExists { .. }
            | Error::OutputThere { .. }
            | Error::BadPlan { .. }
            | Error::NoBranch { .. }
            | Error::NoCommit { .. }
            | Error::NoMerge { .. }
            | Error::Breaker { .. }
            | Error::StartsSpent { .. }
            | Error::NoValidation { .. }
            | Error::NewerVersion { .. }
            | Error::NeedsPerson { .. }
            | Error::PersonNotShown { .. }
            | Error::RunChanged
            | Error::MovedOn { .. }
            | Error::NothingToUndo { .. }
            | Error::StaleEvidence { .. }
            | Error::TreeNotCommitted { .. }
            | Error::NotVerified { .. }
            | Error::EffectsLeft { .. }
            | Error::NotRunning { .. }
            | Error::InputClosed { .. }
            | Error::NotYet { .. }
            | Error::ChangedWhileRunning { .. }
            | Error::CallCancelled { .. }
            | Error::GitTooOld { .. }
            | Error::NoControlGroup { .. }
            | Error::StateInSandbox { .. }
            | Error::OutsideTree { .. }
            | Error::NoSigningSandbox { .. }
            | Error::RootThroughLink { .. }
            | Error::NotRelayed { .. }
            | Error::AgentNotStarted { .. } => ExitClass::Refused,
            Error::ProgramFailed { .. } => ExitClass::Failure,
            Error::Ambiguous { .. }
            | Error::AmbiguousId { .. }
            | Error::AmbiguousTask { .. }
            | Error::BadSettings { .. }
            | Error::BadInput { .. } => ExitClass::Usage,
            Error::NoFile { .. }
            | Error::NoPlan { .. }
            | Error::NoAgent { .. }
            | Error::AgentNotInstalled { .. }
            | Error::NobodyRuns { .. }
            | Error::NothingHere { .. }
            | Error::UnknownKind { .. }
            | Error::NoSuchTransition { .. }
            | Error::NoCopy { .. }
            | Error::NoFolder { .. }
            | Error::NoAttempt { .. } => ExitClass::NotFound,
            Error::Path(PathTrouble::NotFound { .. }) => ExitClass::NotFound,
            Error::Path(PathTrouble::BadPath { .. }) => ExitClass::Usage,
            Error::Path(
                PathTrouble::Protected { .. }
                | PathTrouble::MustBeObject { .. }
                | PathTrouble::NoMembers { .. }
                | PathTrouble::NotAList { .. }
                | PathTrouble::TooLarge { .. },
            ) => ExitClass::Refused,
            Error::Evidence(EvidenceTrouble::Damaged { .. }) => ExitClass::Damaged,
            Error::Evidence(_) => ExitClass::Refused,
            Error::Damaged { .. } => ExitClass::Damaged,
            Error::Output { .. } | Error::SilentShim { .. } => ExitClass::Failure,
            Error::Agent(error) => match error {
                bowline_supervisor::SupervisorError::NoAttempt { .. } => ExitClass::NotFound,
                bowline_supervisor::SupervisorError::AttemptExists { .. }
                | bowline_supervisor::SupervisorError::BadId { .. }
                | bowline_supervisor::SupervisorError::Refused { .. } => ExitClass::Refused,
                bowline_supervisor::SupervisorError::Io { .. }
                | bowline_supervisor::SupervisorError::NotStarted { .. }
                | bowline_supervisor::SupervisorError::Unreachable { .. }
                | bowline_supervisor::SupervisorError::Relay { .. }
                | bowline_supervisor::SupervisorError::Protocol { .. } => ExitClass::Failure,
            },
            Error::AfterRepair { error, .. } => error.exit_class(),
            Error::File(error) => match error {
                statefiles::StateFileError::Locked { .. }
                | statefiles::StateFileError::Contended { .. } => ExitClass::Locked,
                statefiles::StateFileError::NoSuchVersion { .. } => ExitClass::NotFound,
                statefiles::StateFileError::NotUtf8 { .. }
                | statefiles::StateFileError::NotRegular { .. }
                | statefiles::StateFileError::TooBig { .. }
                | statefiles::StateFileError::LinkLoop { .. }
                | statefiles::StateFileError::NotRebuildable { .. }
                | statefiles::StateFileError::NothingToRestore { .. } => ExitClass::Damaged,
                _ => ExitClass::Failure,
            },
        }
    }
}

/// Writes the English message as debug text.
impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.render_message(Lang::En).0)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::File(error) => error.source(),
            Error::Agent(error) => error.source(),
            Error::Output { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl From<MachineRefusal> for Error {
    fn from(refusal: MachineRefusal) -> Self {
        Error::Refused(refusal)
    }
}

impl From<EvidenceTrouble> for Error {
    fn from(trouble: EvidenceTrouble) -> Self {
        Error::Evidence(trouble)
    }
}

impl From<statefiles::StateFileError> for Error {
    fn from(error: statefiles::StateFileError) -> Self {
        Error::File(error)
    }
}

impl From<bowline_supervisor::SupervisorError> for Error {
    fn from(error: bowline_supervisor::SupervisorError) -> Self {
        Error::Agent(error)
    }
}
