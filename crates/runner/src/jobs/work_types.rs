//! Types of work: their phases, and the files that a finished phase must have produced.

use bowline_machines::job::{JobKind, PhaseSpec};

/// Files of the first phase of an app.
pub const PLANNING: [&str; 9] = [
    "01_idea",
    "02_market",
    "03_persona",
    "04_user_journey",
    "05_business_model",
    "06_product",
    "07_features",
    "08_tech",
    "09_roadmap",
];
/// Files of the second phase of an app.
pub const DESIGN: [&str; 5] = [
    "01_screen",
    "02_data_model",
    "03_task_flow",
    "04_api",
    "05_architecture",
];

/// Type of work that a task can have.
#[derive(Debug, Clone, PartialEq)]
pub struct TypeSpec {
    pub name: String,
    /// Phases in order; none for a type without verification and review.
    pub phases: Vec<WorkPhase>,
    /// True if a process that exits with 0 has completed its phase.
    pub complete_on_exit: bool,
    /// Command that starts the result for a reviewer; `{port}` is filled in. Empty if there is
    /// none.
    pub app: Vec<String>,
}

/// Phase of a type of work.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WorkPhase {
    pub name: String,
    /// Names of its steps.
    pub steps: Vec<String>,
    /// Patterns of the files it produces, relative to the workspace.
    pub deliverables: Vec<String>,
    /// Least number of such files.
    pub count: usize,
    /// Least number of characters in each of them.
    pub min_chars: usize,
    /// True if the files are searched for placeholder words.
    pub placeholders: bool,
    /// Command that must exit with 0, run in the workspace.
    pub check: Vec<String>,
    /// Agent that verifies the finished phase.
    pub verifier: Verifier,
    /// True if a person has to approve it.
    pub review: bool,
    /// Template that replaces the default prompt. `{title}`, `{description}`, `{phase}`, `{total}`,
    /// `{name}`, `{steps}` and `{files}` are filled in.
    pub prompt: Option<String>,
}

/// Agent that verifies a finished phase.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Verifier {
    /// No agent verifies it.
    #[default]
    Nobody,
    /// The agent that did the work, in a new process.
    Own,
    /// Another agent, by name.
    Named(String),
}

impl TypeSpec {
    /// Returns the kind that the state machine uses.
    pub fn kind(&self) -> JobKind {
        if self.phases.is_empty() {
            return JobKind::Custom;
        }
        let spec = |phase: &WorkPhase| PhaseSpec {
            name: phase.name.clone(),
            review: phase.review,
        };
        JobKind::Phased {
            phases: self.phases.iter().map(spec).collect(),
            complete_on_exit: self.complete_on_exit,
        }
    }

    /// Returns a phase by its number, counted from 1.
    pub fn phase(&self, number: u32) -> Option<&WorkPhase> {
        self.phases.get((number as usize).checked_sub(1)?)
    }

    /// Returns the types that always exist.
    pub fn built_in_types() -> Vec<TypeSpec> {
        let phase = |name: &str, steps: &[&str], files: &[&str], count: usize, min_chars: usize| {
            WorkPhase {
                name: name.into(),
                steps: steps.iter().map(|&step| step.into()).collect(),
                deliverables: files.iter().map(|&file| file.into()).collect(),
                count,
                min_chars,
                placeholders: min_chars > 0,
                verifier: Verifier::Own,
                review: true,
                ..WorkPhase::default()
            }
        };
        let building = ["setup", "data", "logic", "ui", "testing", "deploy"];
        let spec = |name: &str, phases: Vec<WorkPhase>| TypeSpec {
            name: name.into(),
            phases,
            complete_on_exit: false,
            app: Vec::new(),
        };
        vec![
            spec(
                "create_app",
                vec![
                    phase("Planning", &PLANNING, &["docs/planning/*.md"], 9, 500),
                    phase("Design", &DESIGN, &["docs/design/*.md"], 5, 500),
                    phase("Development", &building, &["src/**"], 1, 0),
                    phase("Testing", &["verification"], &[], 0, 0),
                ],
            ),
            spec(
                "modify_app",
                vec![
                    phase(
                        "Analysis",
                        &["read", "run", "describe"],
                        &["docs/analysis/current_state.md"],
                        1,
                        1000,
                    ),
                    phase(
                        "Planning",
                        &["goals", "changes", "risks", "plan"],
                        &["docs/planning/modification_plan.md"],
                        1,
                        800,
                    ),
                    phase("Implementation", &building, &[], 0, 0),
                    phase("Testing", &["unit", "integration", "regression"], &[], 0, 0),
                ],
            ),
            spec(
                "workflow",
                vec![
                    phase(
                        "Planning",
                        &["requirements"],
                        &["**/workflow_requirements.md"],
                        1,
                        800,
                    ),
                    phase("Design", &["design"], &["**/workflow_design.md"], 1, 1000),
                    phase("Development", &["build"], &[], 0, 0),
                    phase("Testing", &["run"], &[], 0, 0),
                ],
            ),
            spec("custom", vec![]),
        ]
    }
}
