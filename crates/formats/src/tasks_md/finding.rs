//! What is wrong, or doubtful, in a TASKS.md.

use std::fmt;

use bowline_machines::named;
use bowline_words::message::InPlan;

use super::id::TaskId;
use crate::finding::Severity;

/// Most ids printed of one path; the middle of a longer one is left out.
const PATH_IDS_MAX: usize = 32;

named! {
    /// The kinds of findings.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum PlanFindingCode {
        /// The file holds no task.
        ParseFail = "PARSE_FAIL",
        /// Two headers have the same id; the first counts.
        DuplicateId = "DUPLICATE_ID",
        /// The file is too large to be read.
        TooLarge = "TOO_LARGE",
        /// A task needs a task that is not in the file.
        MissingDep = "MISSING_DEP",
        /// A short id could mean several tasks.
        AmbiguousDep = "AMBIGUOUS_DEP",
        /// Tasks need each other in a circle.
        CircularDep = "CIRCULAR_DEP",
        /// A task needs one of a later phase, which starts only after its own.
        LaterPhaseDep = "LATER_PHASE_DEP",
        /// A header states one phase and its id another.
        WrongPhase = "WRONG_PHASE",
        /// The plan has more dependencies than are read.
        TooManyEdges = "TOO_MANY_EDGES",
        /// An arrow of a diagram leads to an id that is not in the file.
        MissingNode = "MISSING_NODE",
        /// A line of a diagram was understood only up to some point.
        UnreadMermaid = "UNREAD_MERMAID",
        /// A number is left out between phases.
        PhaseGap = "PHASE_GAP",
        /// The phase in the id is not that of the heading above, which counts.
        PhaseMismatch = "PHASE_MISMATCH",
        /// A phase heading has no task.
        EmptyPhase = "EMPTY_PHASE",
        /// A task has no title.
        EmptyTitle = "EMPTY_TITLE",
        /// A heading has an id and no box in a plan whose tasks have boxes.
        NoBox = "NO_BOX",
        /// A heading has a tick box but no task id.
        UnreadHeader = "UNREAD_HEADER",
        /// A dependency field has text that names no task.
        UnreadDep = "UNREAD_DEP",
        /// A parallel field names a task that is not in the file.
        MissingParallel = "MISSING_PARALLEL",
        /// Nobody knows what the mark in a tick box means; it counts as not done.
        UnknownTick = "UNKNOWN_TICK",
        /// A code fence or comment is never closed, so the rest of the file is not read.
        UnclosedBlock = "UNCLOSED_BLOCK",
    }
}

impl PlanFindingCode {
    /// Whether the finding stops a run.
    #[must_use]
    pub fn severity(self) -> Severity {
        match self {
            Self::ParseFail
            | Self::DuplicateId
            | Self::TooLarge
            | Self::MissingDep
            | Self::AmbiguousDep
            | Self::CircularDep
            | Self::LaterPhaseDep
            | Self::WrongPhase
            | Self::TooManyEdges => Severity::Error,
            Self::MissingNode
            | Self::UnreadMermaid
            | Self::PhaseGap
            | Self::PhaseMismatch
            | Self::EmptyPhase
            | Self::EmptyTitle
            | Self::NoBox
            | Self::UnreadHeader
            | Self::UnreadDep
            | Self::MissingParallel
            | Self::UnknownTick
            | Self::UnclosedBlock => Severity::Warning,
        }
    }
}

/// One thing that is wrong or doubtful.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanFinding {
    /// Which kind.
    pub code: PlanFindingCode,
    /// Whether it stops a run.
    pub severity: Severity,
    /// The line to look at, counted from 1.
    pub line: usize,
    /// Further lines that belong to it: the first header of a duplicate, the tasks of a circle.
    pub lines: Vec<usize>,
    /// The ids it is about. In a path each task needs the next; a circle ends with the id it starts with.
    pub path: Vec<TaskId>,
    /// What it says to people.
    pub message: InPlan,
}

impl PlanFinding {
    pub(super) fn new(code: PlanFindingCode, line: usize, message: InPlan) -> Self {
        let severity = code.severity();
        Self {
            code,
            severity,
            line,
            lines: Vec::new(),
            path: Vec::new(),
            message,
        }
    }

    pub(super) fn with_path(mut self, path: impl IntoIterator<Item = TaskId>) -> Self {
        self.path.extend(path);
        self
    }

    pub(super) fn with_lines(mut self, lines: impl IntoIterator<Item = usize>) -> Self {
        self.lines.extend(lines);
        self
    }

    /// The detail for `ERROR:CODE:detail`: the path (`T1.3->T1.4->T1.3`), or the message where there is none.
    #[must_use]
    pub fn detail(&self) -> String {
        if self.path.is_empty() {
            self.message.to_string()
        } else {
            path_text(&self.path)
        }
    }
}

impl fmt::Display for PlanFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "line {}: {}: {}",
            self.line,
            self.code.name(),
            self.message
        )
    }
}

/// `T1.3->T1.4->T1.3`; a very long path loses its middle.
pub(super) fn path_text(path: &[TaskId]) -> String {
    let mut ids: Vec<&str> = path.iter().map(TaskId::as_str).collect();
    if ids.len() > PATH_IDS_MAX {
        ids.splice(PATH_IDS_MAX / 2..path.len() - PATH_IDS_MAX / 2, ["..."]);
    }
    ids.join("->")
}
