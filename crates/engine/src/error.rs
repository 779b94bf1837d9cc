//! Every way an operation ends without doing what was asked.

use crate::actor::{ACTOR_PERSON, ACTOR_VARIABLE, Missing};
use crate::kinds::FileKind;
use crate::notice::Notice;
use crate::operations::develop::Fault;
use bowline_formats::finding::Finding;
use bowline_formats::memory::path::PathError;
use bowline_formats::tasks_md;
use bowline_machines::{Refuse, develop, orchestrate, plan, thinking};
use bowline_statefiles as statefiles;
use std::path::PathBuf;

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

impl Refuse for Refusal {
    fn code(&self) -> &'static str {
        match self {
            Refusal::Thinking(refusal) => refusal.code(),
            Refusal::Plan(refusal) => refusal.code(),
            Refusal::Develop(refusal) => refusal.code(),
            Refusal::Orchestrate(refusal) => refusal.code(),
        }
    }

    fn hint(&self) -> String {
        match self {
            Refusal::Thinking(refusal) => refusal.hint(),
            Refusal::Plan(refusal) => refusal.hint(),
            Refusal::Develop(refusal) => refusal.hint(),
            Refusal::Orchestrate(refusal) => refusal.hint(),
        }
    }
}

/// Why an operation did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A rule refused; nothing changed.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// There is no such file.
    #[error("there is no {} file at {}", kind.name(), path.display())]
    NoFile {
        /// Of which kind.
        kind: FileKind,
        /// Where it was looked for.
        path: PathBuf,
    },
    /// There is nothing of any kind here.
    #[error("there is no state file at or above {}", path.display())]
    NothingHere {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// More than one file fits.
    #[error("several state files are here: {}", paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", "))]
    Ambiguous {
        /// All that fit.
        paths: Vec<PathBuf>,
    },
    /// The path is of no known kind.
    #[error("{} is not a state file of any kind Bowline knows", path.display())]
    UnknownKind {
        /// The path.
        path: PathBuf,
    },
    /// The file is there already.
    #[error("{} already exists", path.display())]
    AlreadyExists {
        /// The path.
        path: PathBuf,
    },
    /// The file cannot be read as its kind.
    #[error("{} is damaged: {}", path.display(), findings.first().map_or("unreadable", |finding| finding.message.as_str()))]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Everything found; the fatal one last or alone.
        findings: Vec<Finding>,
    },
    /// The file is readable and not of its kind: it is left alone.
    #[error("{} is not an orchestration", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// There is no plan.
    #[error("there is no plan at {}", path.display())]
    NoPlan {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// The plan cannot be worked off.
    #[error("{}:{}: {}", path.display(), finding.line, finding.message)]
    BadPlan {
        /// The plan.
        path: PathBuf,
        /// The first thing that forbids it.
        finding: Box<tasks_md::Finding>,
    },
    /// Several tasks have an id that ends so.
    #[error("'{name}' could be task {}", fitting.join(", "))]
    AmbiguousTask {
        /// What was asked for.
        name: String,
        /// Tasks that fit.
        fitting: Vec<String>,
    },
    /// A phase is to be finished by a merge, which no command does yet.
    #[error("phase {phase} would have to be merged, which no command does yet")]
    NoMerge {
        /// Which.
        phase: u32,
    },
    /// A newer program wrote the file.
    #[error("{} was written by a newer version and is read-only here: {message}", path.display())]
    NewerVersion {
        /// The file.
        path: PathBuf,
        /// What the version says.
        message: String,
    },
    /// An agent asked for a person's move.
    #[error("'{what}' is a person's move, and this runs under an agent")]
    NeedsPerson {
        /// The move.
        what: &'static str,
    },
    /// A person's move, and nothing shows that a person makes it.
    #[error(
        "{}, and nothing shows that a person gives this command: {}",
        refused.moved(),
        match missing {
            Missing::Terminal => "it has no terminal",
            Missing::Ancestors => "it was cut off from its terminal's shell",
        }
    )]
    PersonNotShown {
        /// What is refused to others.
        refused: Box<Error>,
        /// What would have shown it.
        missing: Missing,
    },
    /// The develop run became another one while a command about it was on its way.
    #[error("the develop run became another one while this command was on its way")]
    RunChanged,
    /// The file has no such transition.
    #[error("{} has no transition {sequence}", path.display())]
    NoSuchTransition {
        /// The file.
        path: PathBuf,
        /// The wanted number.
        sequence: u64,
    },
    /// There is nothing to go back to.
    #[error("{} has nothing to undo", path.display())]
    NothingToUndo {
        /// The file.
        path: PathBuf,
    },
    /// Going back would cross something that left the file.
    #[error("transition {sequence} ({trigger}) had effects outside the file")]
    EffectsLeft {
        /// The transition.
        sequence: u64,
        /// What it was.
        trigger: String,
    },
    /// A path into a document cannot be read or set.
    #[error(transparent)]
    Path(#[from] PathError),
    /// There is no such dated copy.
    #[error("there is no copy '{which}…' in {}", folder.display())]
    NoCopy {
        /// What was asked for.
        which: String,
        /// Where copies are.
        folder: PathBuf,
    },
    /// An input file or argument is not usable.
    #[error("{message}")]
    BadInput {
        /// What is wrong with it.
        message: String,
        /// What to do.
        hint: String,
    },
    /// What was sealed or verified has changed since.
    #[error("changed since it was sealed or verified: {}", changes.join(", "))]
    StaleEvidence {
        /// Sealed files, or the tree.
        changes: Vec<String>,
        /// Only the tree changed: the gate has to be passed again, not sealed.
        tree_only: bool,
    },
    /// The evidence does not show that this tree is good.
    #[error("not verified: {}", reasons.join("; "))]
    NotVerified {
        /// Why.
        reasons: Vec<String>,
    },
    /// A file of evidence does not count here.
    #[error(transparent)]
    Evidence(#[from] Fault),
    /// A program that is needed could not be run, or failed.
    #[error("'{program}' failed: {message}")]
    ProgramFailed {
        /// Which.
        program: String,
        /// What it said.
        message: String,
    },
    /// The command failed after the file had been repaired for it.
    #[error("{error}")]
    AfterRepair {
        /// What the repair did.
        notices: Vec<Notice>,
        /// Why the command failed.
        error: Box<Error>,
    },
    /// The file could not be locked, read or written.
    #[error(transparent)]
    File(#[from] statefiles::Error),
    /// Something about an agent's process failed, or its shim said no.
    #[error(transparent)]
    Agent(#[from] bowline_supervisor::Error),
    /// There is no attempt with such an id.
    #[error("there is no attempt '{id}'")]
    NoAttempt {
        /// What was asked for.
        id: String,
    },
    /// Several attempts have an id that begins so.
    #[error("several attempts begin with '{id}': {}", fitting.join(", "))]
    AmbiguousId {
        /// What was asked for.
        id: String,
        /// All that fit.
        fitting: Vec<String>,
    },
    /// The agent of an attempt does not run.
    #[error("the agent of attempt {id} does not run")]
    NotRunning {
        /// The attempt.
        id: String,
    },
    /// The agent takes no input.
    #[error("the standard input of attempt {id} is closed, or was never open")]
    InputClosed {
        /// The attempt.
        id: String,
    },
    /// A shim lives and does not answer.
    #[error(
        "the shim of attempt {id} {}{}",
        if *stopped { "is stopped" } else { "does not answer" },
        pid.map(|pid| format!(" (process {pid})")).unwrap_or_default()
    )]
    SilentShim {
        /// The attempt.
        id: String,
        /// The shim's process, where it is known.
        pid: Option<i32>,
        /// Whether somebody has stopped it.
        stopped: bool,
    },
    /// An agent could not be started.
    #[error("the agent of attempt {id} could not be started: {message}")]
    AgentNotStarted {
        /// The attempt.
        id: String,
        /// Why not.
        message: String,
    },
    /// What was asked of a control group cannot be had here.
    #[error("{what} cannot be had here: {reason}")]
    NoControlGroup {
        /// What was asked for.
        what: &'static str,
        /// Why not.
        reason: String,
    },
    /// A sandbox would hold the folder in which attempts are kept.
    #[error(
        "the sandboxed agent could write to {}, which holds Bowline's own {}",
        root.display(),
        folder.display()
    )]
    StateInSandbox {
        /// What it could write to.
        root: PathBuf,
        /// Where attempts are kept.
        folder: PathBuf,
    },
    /// A root that is reached through a link which an agent may have put there.
    #[error(
        "{} is a link out of a folder that agents write: it leads to {}",
        link.display(),
        target.display()
    )]
    RootThroughLink {
        /// The link.
        link: PathBuf,
        /// Where the root leads.
        target: PathBuf,
    },
    /// A sandboxed agent asked for something that is not carried out for it outside.
    #[error("'{what}' is not carried out for an agent in a sandbox: {reason}")]
    NotRelayed {
        /// The command.
        what: String,
        /// Why not.
        reason: String,
    },
    /// There is no folder to work in.
    #[error("{} is not a folder, or was removed", path.display())]
    NoFolder {
        /// What should be one.
        path: PathBuf,
    },
    /// Output could not be handed on.
    #[error("the output could not be shown")]
    Output {
        /// Why not.
        #[source]
        source: std::io::Error,
        /// Whether the agent has ended, and nothing goes on.
        over: bool,
    },
}

impl Error {
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

    /// The move that only a person may make, without a word about who asked.
    fn moved(&self) -> String {
        match self {
            Error::NeedsPerson { what } => format!("'{what}' is a person's move"),
            other => other.to_string(),
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
            Error::AlreadyExists { .. } => "already_exists",
            Error::Damaged { .. } => "damaged",
            Error::Foreign { .. } => "not_an_orchestration",
            Error::NoPlan { .. } => "no_plan",
            Error::BadPlan { finding, .. } => finding.code.as_str(),
            Error::AmbiguousTask { .. } => "ambiguous_task",
            Error::NoMerge { .. } => "no_merge",
            Error::NewerVersion { .. } => "newer_version",
            Error::NeedsPerson { .. } => "needs_person",
            Error::PersonNotShown { .. } => "person_not_shown",
            Error::RunChanged => "run_changed",
            Error::NoSuchTransition { .. } => "no_such_transition",
            Error::NothingToUndo { .. } => "nothing_to_undo",
            Error::EffectsLeft { .. } => "effects_left",
            Error::Path(error) => error.code(),
            Error::NoCopy { .. } => "no_copy",
            Error::BadInput { .. } => "bad_input",
            Error::StaleEvidence { .. } => "stale_evidence",
            Error::NotVerified { .. } => "not_verified",
            Error::Evidence(fault) => fault.code(),
            Error::ProgramFailed { .. } => "program_failed",
            Error::AfterRepair { error, .. } => error.code(),
            Error::File(error) => error.code(),
            Error::Agent(error) => error.code(),
            Error::NoAttempt { .. } => "no_attempt",
            Error::AmbiguousId { .. } => "ambiguous_id",
            Error::NotRunning { .. } => "agent_not_running",
            Error::InputClosed { .. } => "input_closed",
            Error::SilentShim { .. } => "shim_unreachable",
            Error::AgentNotStarted { .. } => "agent_not_started",
            Error::NoControlGroup { .. } => "no_control_group",
            Error::StateInSandbox { .. } => "state_in_sandbox",
            Error::RootThroughLink { .. } => "root_through_link",
            Error::NoFolder { .. } => "no_folder",
            Error::NotRelayed { .. } => "not_relayed",
            Error::Output { .. } => "output_gone",
        }
    }

    /// What to do next.
    pub fn hint(&self) -> String {
        match self {
            Error::Refused(refusal) => refusal.hint(),
            Error::NoFile { kind, .. } => kind.how_to_begin().into(),
            Error::NothingHere { .. } => {
                "begin with 'bowline thinking new ID --title T --goal G', or name a folder with -C"
                    .into()
            }
            Error::Ambiguous { .. } => "name one of them".into(),
            Error::UnknownKind { .. } => "name one of the files 'bowline' lists".into(),
            Error::AlreadyExists { path }
                if FileKind::of_path(path) == Some(FileKind::Orchestrate) =>
            {
                "go on with it: 'bowline orchestrate status'; 'bowline orchestrate rebuild' takes over what the plan says".into()
            }
            Error::AlreadyExists { .. } => {
                "choose another folder, or go on with the one there: 'bowline status'".into()
            }
            Error::Damaged { path, .. } => format!("bowline doctor --repair {}", path.display()),
            Error::Foreign { .. } => {
                "it belongs to another program and is left alone; move it away to begin here".into()
            }
            Error::NoPlan { .. } => {
                "name it: 'bowline orchestrate plan FILE'; else it is looked for as docs/planning/06-tasks.md, docs/planning/TASKS.md and TASKS.md".into()
            }
            Error::BadPlan { .. } => {
                "mend the plan; 'bowline orchestrate plan' shows how it is read".into()
            }
            Error::AmbiguousTask { .. } => "give more of its id".into(),
            Error::NoMerge { phase } => format!(
                "merge it yourself, then 'bowline orchestrate phase finish {phase} --no-git'"
            ),
            Error::NewerVersion { .. } => "update Bowline to change this file".into(),
            Error::NeedsPerson { .. } => "ask the person you work for".into(),
            Error::PersonNotShown { .. } => format!(
                "run it in a terminal; a script of yours, and CI, set {ACTOR_VARIABLE}={ACTOR_PERSON}"
            ),
            Error::RunChanged => {
                "look at 'bowline develop status' and decide whether to run it again".into()
            }
            Error::NoSuchTransition { path, .. } => {
                format!("'bowline history {}' lists them", path.display())
            }
            Error::NothingToUndo { .. } => "nothing to do".into(),
            Error::EffectsLeft { .. } => {
                "with --state-only the file goes back and what was done outside it stays".into()
            }
            Error::Path(error) => error.hint().into(),
            Error::NoCopy { .. } => "'bowline memory backup' makes copies".into(),
            Error::BadInput { hint, .. } => hint.clone(),
            Error::StaleEvidence {
                tree_only: true, ..
            } => "run the gate again: 'bowline develop gate reset NAME', then 'bowline develop gate pass NAME'".into(),
            Error::StaleEvidence { .. } => {
                "a person looks at it and seals it anew with 'bowline develop seal'".into()
            }
            Error::NotVerified { .. } => "pass the gates again on this tree".into(),
            Error::Evidence(fault) => fault.hint().into(),
            Error::ProgramFailed { .. } => "see what it said".into(),
            Error::AfterRepair { error, .. } => error.hint(),
            Error::File(error) => error.hint().unwrap_or("see the message above").into(),
            Error::Agent(bowline_supervisor::Error::Refused {
                why: bowline_supervisor::Refused::AgentPeer,
                ..
            }) => "ask the person you work for to do it from outside of the agent".into(),
            Error::Agent(error) => error.hint().into(),
            Error::InputClosed { .. } => {
                "start a new attempt with 'bowline run-agent --open-input -- CMD' to send to it".into()
            }
            Error::SilentShim { id, pid, stopped } => match (pid, stopped) {
                (Some(pid), true) => format!(
                    "'kill -CONT {pid}' lets it go on; to end all of it: 'kill -9 {pid}', then 'bowline attach {id} --end'"
                ),
                (Some(pid), false) => format!(
                    "try again; to end all of it: 'kill -9 {pid}', then 'bowline attach {id} --end'"
                ),
                (None, _) => "try again; 'bowline attach' tells whether it ended or was lost".into(),
            },
            Error::NoAttempt { .. } | Error::NotRunning { .. } => {
                "'bowline attach' lists the attempts".into()
            }
            Error::AmbiguousId { .. } => "give more letters of the id".into(),
            Error::AgentNotStarted { .. } => "check the command, its folder and its sandbox".into(),
            Error::NoControlGroup { .. } => {
                "'bowline run-agent --sandbox-report' says what this machine permits".into()
            }
            Error::StateInSandbox { .. } => {
                "let the agent work in a folder below, or set XDG_STATE_HOME to a place outside"
                    .into()
            }
            Error::RootThroughLink { .. } => {
                "remove the link, or name the place it leads to if that is what you want".into()
            }
            Error::NotRelayed { .. } => {
                "work in your own folder; for anything else ask the person you work for".into()
            }
            Error::NoFolder { .. } => "go to a folder that is there, or name one".into(),
            Error::Output { over: true, .. } => {
                "the agent has ended; 'bowline attach ID' shows the rest".into()
            }
            Error::Output { over: false, .. } => {
                "the agent goes on: 'bowline attach' lists the attempts".into()
            }
        }
    }

    /// What the exit code should say.
    pub fn class(&self) -> ExitClass {
        match self {
            Error::Refused(_)
            | Error::Foreign { .. }
            | Error::AlreadyExists { .. }
            | Error::BadPlan { .. }
            | Error::NoMerge { .. }
            | Error::NewerVersion { .. }
            | Error::NeedsPerson { .. }
            | Error::PersonNotShown { .. }
            | Error::RunChanged
            | Error::NothingToUndo { .. }
            | Error::StaleEvidence { .. }
            | Error::NotVerified { .. }
            | Error::EffectsLeft { .. }
            | Error::NotRunning { .. }
            | Error::InputClosed { .. }
            | Error::NoControlGroup { .. }
            | Error::StateInSandbox { .. }
            | Error::RootThroughLink { .. }
            | Error::NotRelayed { .. }
            | Error::AgentNotStarted { .. } => ExitClass::Refused,
            Error::ProgramFailed { .. } => ExitClass::Failure,
            Error::Ambiguous { .. }
            | Error::AmbiguousId { .. }
            | Error::AmbiguousTask { .. }
            | Error::BadInput { .. } => ExitClass::Usage,
            Error::NoFile { .. }
            | Error::NoPlan { .. }
            | Error::NothingHere { .. }
            | Error::UnknownKind { .. }
            | Error::NoSuchTransition { .. }
            | Error::NoCopy { .. }
            | Error::NoFolder { .. }
            | Error::NoAttempt { .. } => ExitClass::NotFound,
            Error::Path(PathError::NotFound { .. }) => ExitClass::NotFound,
            Error::Path(PathError::BadPath { .. }) => ExitClass::Usage,
            Error::Path(
                PathError::Protected { .. }
                | PathError::MustBeObject { .. }
                | PathError::NoMembers { .. }
                | PathError::NotAList { .. }
                | PathError::TooLarge { .. },
            ) => ExitClass::Refused,
            Error::Evidence(Fault::Damaged { .. }) => ExitClass::Damaged,
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
