//! Findings about a TASKS.md: errors and warnings.

use std::fmt;

use bowline_machines::named;
use bowline_words::message::InPlan;

use super::id::TaskId;
use crate::finding::Severity;

/// Maximum number of ids printed for a path; a longer one loses its middle.
const PATH_IDS_MAX: usize = 32;

named! {
    /// The kinds of findings.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum PlanFindingCode {
        /// The file has no tasks.
        ParseFail = "PARSE_FAIL",
        /// Two headers have the same id; the first counts.
        DuplicateId = "DUPLICATE_ID",
        /// The file is too large to be read.
        TooLarge = "TOO_LARGE",
        /// A task depends on a task that is not in the file.
        MissingDep = "MISSING_DEP",
        /// A short id matches several tasks.
        AmbiguousDep = "AMBIGUOUS_DEP",
        /// Tasks depend on each other.
        CircularDep = "CIRCULAR_DEP",
        /// A task depends on one of a later phase, which starts only after its own.
        LaterPhaseDep = "LATER_PHASE_DEP",
        /// A header states one phase and its id another.
        WrongPhase = "WRONG_PHASE",
        /// The plan has more dependencies than are read.
        TooManyEdges = "TOO_MANY_EDGES",
        /// An arrow of a diagram leads to an id that is not in the file.
        MissingNode = "MISSING_NODE",
        /// A line of a diagram was parsed only in part.
        UnreadMermaid = "UNREAD_MERMAID",
        /// A number is missing between phases.
        PhaseGap = "PHASE_GAP",
        /// The phase in the id differs from that of the heading above, which counts.
        PhaseMismatch = "PHASE_MISMATCH",
        /// A phase heading has no tasks.
        EmptyPhase = "EMPTY_PHASE",
        /// A task has no title.
        EmptyTitle = "EMPTY_TITLE",
        /// A heading has an id and no box in a plan whose tasks have boxes.
        NoBox = "NO_BOX",
        /// A heading looks like a task, but its id is missing, uncertain or struck out.
        UnreadHeader = "UNREAD_HEADER",
        /// A dependency field has text that names no task.
        UnreadDep = "UNREAD_DEP",
        /// A parallel field names a task that is not in the file.
        MissingParallel = "MISSING_PARALLEL",
        /// The mark in a tick box has no known meaning; it counts as not done.
        UnknownTick = "UNKNOWN_TICK",
        /// A code fence or comment is never closed, so the rest of the file is not read.
        UnclosedBlock = "UNCLOSED_BLOCK",
    }
}

impl PlanFindingCode {
    /// Returns the default severity; errors stop a run.
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

/// A problem or doubt found in a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanFinding {
    pub code: PlanFindingCode,
    /// Severity; it may be lower than the default of the code.
    pub severity: Severity,
    /// Line number, from 1.
    pub line: usize,
    /// Further lines that belong to it: the first header of a duplicate, the tasks of a cycle.
    pub lines: Vec<usize>,
    /// The ids it is about. In a path each task depends on the next; a cycle ends with its first
    /// id.
    pub path: Vec<TaskId>,
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

    /// Returns the detail for `ERROR:CODE:detail`: the path (`T1.3->T1.4->T1.3`), or the message if
    /// there is none.
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

/// Formats a path as `T1.3->T1.4->T1.3`; a very long one loses its middle.
pub(super) fn path_text(path: &[TaskId]) -> String {
    let mut ids: Vec<&str> = path.iter().map(TaskId::as_str).collect();
    if ids.len() > PATH_IDS_MAX {
        ids.splice(PATH_IDS_MAX / 2..path.len() - PATH_IDS_MAX / 2, ["..."]);
    }
    ids.join("->")
}
