//! Every way an operation ends without doing what was asked.

use crate::actor::Missing;
use crate::history::HistoryStart;
use crate::kinds::FileKind;
use crate::notice::Notice;
use crate::operations::develop::evidence_code;
use bowline_formats::finding::Finding;
use bowline_formats::foreign::OTHER_PROGRAM;
use bowline_formats::memory::path;
use bowline_formats::tasks_md;
use bowline_machines::{Refuse, develop, orchestrate, plan, thinking};
use bowline_statefiles as statefiles;
use bowline_words::Lang;
use bowline_words::message::{
    Advice, BadSetting, Change, Doubt, EvidenceTrouble, Found, PathTrouble, Reason, Spent,
    Unrelayed, Why, Wrong,
};
use std::path::{Path, PathBuf};

/// What the exit code of a program should say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitClass {
    /// A rule refused.
    Refused,
    /// Called the wrong way.
    Usage,
    /// What was named is not there.
    NotFound,
    /// The state is damaged.
    Damaged,
    /// Somebody else holds the file.
    Locked,
    /// Something failed that is nobody's rule: the disk, or us.
    Failure,
}

/// A rule of one of the machines refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// A thinking run refused.
    #[error(transparent)]
    Thinking(#[from] thinking::Refusal),
    /// The current task of the memory refused.
    #[error(transparent)]
    Plan(#[from] plan::Refusal),
    /// A develop run refused.
    #[error(transparent)]
    Develop(#[from] develop::Refusal),
    /// An orchestration refused.
    #[error(transparent)]
    Orchestrate(#[from] orchestrate::Refusal),
}

impl Refusal {
    /// Whether what was named is not there.
    fn is_not_found(&self) -> bool {
        matches!(
            self,
            Refusal::Plan(plan::Refusal::NoStep { .. } | plan::Refusal::NotQueued { .. })
                | Refusal::Develop(develop::Refusal::UnknownCheckpoint { .. })
                | Refusal::Orchestrate(
                    orchestrate::Refusal::NoTask { .. } | orchestrate::Refusal::NoPhase { .. }
                )
        )
    }
}

impl Refuse for Refusal {
    fn code(&self) -> &'static str {
        match self {
            Refusal::Thinking(refusal) => refusal.code(),
            Refusal::Plan(refusal) => refusal.code(),
            Refusal::Develop(refusal) => refusal.code(),
            Refusal::Orchestrate(refusal) => refusal.code(),
        }
    }
}

/// Why an operation did not do what was asked.
#[derive(Debug)]
pub enum Error {
    /// A rule refused; nothing changed.
    Refused(Refusal),
    /// There is no such file.
    NoFile {
        /// Of which kind.
        kind: FileKind,
        /// Where it was looked for.
        path: PathBuf,
    },
    /// There is nothing of any kind here.
    NothingHere {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// More than one file fits.
    Ambiguous {
        /// All that fit.
        paths: Vec<PathBuf>,
    },
    /// The path is of no known kind.
    UnknownKind {
        /// The path.
        path: PathBuf,
    },
    /// The file is there already.
    AlreadyExists {
        /// The path.
        path: PathBuf,
    },
    /// A file that was to be written is there already.
    OutputThere {
        /// The path.
        path: PathBuf,
    },
    /// The file cannot be read as its kind.
    Damaged {
        /// The file.
        path: PathBuf,
        /// Everything found; the fatal one last or alone.
        findings: Vec<Finding>,
    },
    /// The file is readable and not of its kind: it is left alone.
    Foreign {
        /// The file.
        path: PathBuf,
        /// The stable name of the error, by the kind of file.
        code: &'static str,
    },
    /// There is no plan.
    NoPlan {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// The plan cannot be worked off.
    BadPlan {
        /// The plan.
        path: PathBuf,
        /// The first thing that forbids it.
        finding: Box<tasks_md::PlanFinding>,
    },
    /// Several tasks have an id that ends so.
    AmbiguousTask {
        /// What was asked for.
        name: String,
        /// Tasks that fit.
        fitting: Vec<String>,
    },
    /// Nobody runs this orchestration.
    NobodyRuns {
        /// Its state file.
        path: PathBuf,
    },
    /// There is no such agent.
    NoAgent {
        /// What was asked for.
        name: String,
    },
    /// The program of an agent is not on this machine.
    AgentNotInstalled {
        /// The agent.
        name: String,
        /// The program.
        program: String,
    },
    /// A piece of work used as much as the settings allow.
    Breaker {
        /// Which.
        id: String,
        /// What was used up.
        why: Spent,
    },
    /// A run started as many agents as it was allowed to.
    StartsSpent {
        /// How many.
        max: u32,
    },
    /// Nothing tells whether a checkpoint is done.
    NoValidation {
        /// The checkpoint.
        id: String,
    },
    /// The settings of a project cannot be used.
    BadSettings {
        /// The file.
        path: PathBuf,
        /// What is wrong with them.
        fault: BadSetting,
    },
    /// Work would land on the branch that is checked out, and none is.
    NoBranch {
        /// The checkout.
        path: PathBuf,
    },
    /// A branch has no commit yet.
    NoCommit {
        /// The checkout.
        path: PathBuf,
        /// The branch.
        branch: String,
    },
    /// A phase did not land.
    NoMerge {
        /// Which.
        phase: u32,
        /// Why.
        why: Reason,
    },
    /// A newer program wrote the file.
    NewerVersion {
        /// The file.
        path: PathBuf,
        /// What the version says.
        found: Found,
    },
    /// An agent asked for a person's move.
    NeedsPerson {
        /// The move.
        what: &'static str,
    },
    /// A person's move, and nothing shows that a person makes it.
    PersonNotShown {
        /// What is refused to others.
        refused: Box<Error>,
        /// What would have shown it.
        missing: Missing,
    },
    /// The develop run became another one while a command about it was on its way.
    RunChanged,
    /// A decision was about a version of the file that is not in place any more.
    MovedOn {
        /// The file.
        path: PathBuf,
    },
    /// The file has no such transition.
    NoSuchTransition {
        /// The file.
        path: PathBuf,
        /// The wanted number.
        sequence: u64,
        /// The first transition that is kept, where the wanted one was dropped with its journal.
        begins: Option<HistoryStart>,
    },
    /// There is nothing to go back to.
    NothingToUndo {
        /// The file.
        path: PathBuf,
    },
    /// Going back would cross something that left the file.
    EffectsLeft {
        /// The transition.
        sequence: u64,
        /// What it was.
        trigger: String,
    },
    /// A path into a document cannot be read or set.
    Path(PathTrouble),
    /// There is no such dated copy.
    NoCopy {
        /// What was asked for.
        which: String,
        /// Where copies are.
        folder: PathBuf,
    },
    /// An input file or argument is not usable.
    BadInput {
        /// What is wrong with it.
        message: Wrong,
        /// What to do.
        hint: Advice,
    },
    /// What was sealed or verified has changed since.
    StaleEvidence {
        /// Sealed files, or the tree.
        changes: Vec<Change>,
        /// Only the tree changed: the gate has to be passed again, not sealed.
        tree_only: bool,
    },
    /// What was tested is not what the last commit has.
    TreeNotCommitted {
        /// How they differ.
        changes: Vec<Change>,
    },
    /// The evidence does not show that this tree is good.
    NotVerified {
        /// Why.
        reasons: Vec<Doubt>,
    },
    /// A file of evidence does not count here.
    Evidence(EvidenceTrouble),
    /// A program that is needed could not be run, or failed.
    ProgramFailed {
        /// Which.
        program: String,
        /// What it said.
        message: String,
    },
    /// git is older than what it is needed for.
    GitTooOld {
        /// What it says of itself.
        found: String,
    },
    /// The command failed after the file had been repaired for it.
    AfterRepair {
        /// What the repair did.
        notices: Vec<Notice>,
        /// Why the command failed.
        error: Box<Error>,
    },
    /// The file could not be locked, read or written.
    File(statefiles::Error),
    /// Something about an agent's process failed, or its shim said no.
    Agent(bowline_supervisor::Error),
    /// There is no attempt with such an id.
    NoAttempt {
        /// What was asked for.
        id: String,
    },
    /// Several attempts have an id that begins so.
    AmbiguousId {
        /// What was asked for.
        id: String,
        /// All that fit.
        fitting: Vec<String>,
    },
    /// The agent of an attempt does not run.
    NotRunning {
        /// The attempt.
        id: String,
    },
    /// The agent takes no input.
    InputClosed {
        /// The attempt.
        id: String,
    },
    /// A shim lives and does not answer.
    SilentShim {
        /// The attempt.
        id: String,
        /// The shim's process, where it is known.
        pid: Option<i32>,
        /// Whether somebody has stopped it.
        stopped: bool,
    },
    /// Files changed while a command ran that was to be evidence.
    ChangedWhileRunning {
        /// The command.
        command: String,
        /// What changed.
        changes: Vec<Change>,
    },
    /// The caller took its call back.
    CallCancelled {
        /// The command that was ended, or the verb that was not begun.
        what: String,
    },
    /// An order was given and is not carried out yet.
    NotYet {
        /// The attempt.
        id: String,
        /// What was ordered.
        want: bowline_supervisor::Want,
        /// How long it was waited for.
        seconds: u64,
    },
    /// An agent could not be started.
    AgentNotStarted {
        /// The attempt.
        id: String,
        /// Why not.
        message: String,
    },
    /// What was asked of a control group cannot be had here.
    NoControlGroup {
        /// What was asked for.
        what: &'static str,
        /// Why not.
        reason: bowline_supervisor::NoGroup,
    },
    /// A sandbox would hold the folder in which attempts are kept.
    StateInSandbox {
        /// What it could write to.
        root: PathBuf,
        /// Where attempts are kept.
        folder: PathBuf,
    },
    /// A command would find things that the hash of the tree does not hold.
    OutsideTree {
        /// Those.
        changes: Vec<Change>,
    },
    /// A command whose evidence is signed cannot be kept from the key.
    NoSigningSandbox {
        /// Why not.
        message: String,
    },
    /// A root that is reached through a link which an agent may have put there.
    RootThroughLink {
        /// The link.
        link: PathBuf,
        /// Where the root leads.
        target: PathBuf,
    },
    /// A sandboxed agent asked for something that is not carried out for it outside.
    NotRelayed {
        /// The command.
        what: String,
        /// Why not.
        reason: Unrelayed,
    },
    /// There is no folder to work in.
    NoFolder {
        /// What should be one.
        path: PathBuf,
    },
    /// Output could not be handed on.
    Output {
        /// Why not.
        source: std::io::Error,
        /// Whether the agent has ended, and nothing goes on.
        over: bool,
    },
}

impl Error {
    /// A file that is not usable, why, and what to do.
    pub fn bad_file(path: &Path, why: Why, hint: Advice) -> Error {
        Error::BadInput {
            message: Wrong::OfFile {
                path: path.display().to_string(),
                why,
            },
            hint,
        }
    }

    /// The same error, with what was repaired before the command failed.
    pub(crate) fn after(self, mut repaired: Vec<Notice>) -> Error {
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

    /// Stable, `snake_case`, documented by `bowline explain`.
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
            Error::Path(trouble) => path::code(trouble),
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

    /// What the exit code should say.
    pub fn class(&self) -> ExitClass {
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
                bowline_supervisor::Error::NoAttempt { .. } => ExitClass::NotFound,
                bowline_supervisor::Error::AttemptExists { .. }
                | bowline_supervisor::Error::BadId { .. }
                | bowline_supervisor::Error::Refused { .. } => ExitClass::Refused,
                bowline_supervisor::Error::Io { .. }
                | bowline_supervisor::Error::NotStarted { .. }
                | bowline_supervisor::Error::Unreachable { .. }
                | bowline_supervisor::Error::Relay { .. }
                | bowline_supervisor::Error::Protocol { .. } => ExitClass::Failure,
            },
            Error::AfterRepair { error, .. } => error.class(),
            Error::File(error) => match error {
                statefiles::Error::Locked { .. } | statefiles::Error::Contended { .. } => {
                    ExitClass::Locked
                }
                statefiles::Error::NoSuchVersion { .. } => ExitClass::NotFound,
                statefiles::Error::NotUtf8 { .. }
                | statefiles::Error::NotRegular { .. }
                | statefiles::Error::TooBig { .. }
                | statefiles::Error::LinkLoop { .. }
                | statefiles::Error::NotRebuildable { .. }
                | statefiles::Error::NothingToRestore { .. } => ExitClass::Damaged,
                _ => ExitClass::Failure,
            },
        }
    }
}

/// Debug text: the English message.
impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.told(Lang::En).0)
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

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        Error::Refused(refusal)
    }
}

impl From<EvidenceTrouble> for Error {
    fn from(trouble: EvidenceTrouble) -> Self {
        Error::Evidence(trouble)
    }
}

impl From<statefiles::Error> for Error {
    fn from(error: statefiles::Error) -> Self {
        Error::File(error)
    }
}

impl From<bowline_supervisor::Error> for Error {
    fn from(error: bowline_supervisor::Error) -> Self {
        Error::Agent(error)
    }
}
