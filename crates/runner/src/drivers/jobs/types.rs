//! Types of work: their phases, and what a finished phase must have left on the disk.

use bowline_machines::job::{Kind, PhaseSpec};

/// The nine files of the first phase of an app.
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
/// The five of the second.
pub const DESIGN: [&str; 5] = [
    "01_screen",
    "02_data_model",
    "03_task_flow",
    "04_api",
    "05_architecture",
];

/// A type of work.
#[derive(Debug, Clone, PartialEq)]
pub struct TypeSpec {
    /// Its name.
    pub name: String,
    /// In order; none for a type without verification and review.
    pub phases: Vec<Phase>,
    /// A process that ends with 0 has completed its phase.
    pub complete_on_exit: bool,
    /// What a reviewer starts to look at what was made; `{port}` is filled in. None where it is empty.
    pub app: Vec<String>,
}

/// A phase of a type.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Phase {
    /// Its name.
    pub name: String,
    /// What it is made of.
    pub steps: Vec<String>,
    /// Patterns of files it leaves, from the workspace.
    pub deliverables: Vec<String>,
    /// At least so many of them.
    pub count: usize,
    /// Letters each of them has at least.
    pub min_chars: usize,
    /// Words that stand for what is still to be written are looked for in them.
    pub placeholders: bool,
    /// A command that must end with 0, in the workspace.
    pub check: Vec<String>,
    /// Whether an agent looks at it as well: nobody, the task's own, or another by name.
    pub verifier: Verifier,
    /// A person approves it.
    pub review: bool,
    /// The text of its prompt, in place of ours. `{title}`, `{description}`, `{phase}`, `{name}` and `{steps}` are filled in.
    pub prompt: Option<String>,
}

/// Which agent looks at a finished phase.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Verifier {
    /// None.
    #[default]
    Nobody,
    /// The one that did the work, in a process of its own.
    Own,
    /// Another.
    Named(String),
}

impl TypeSpec {
    /// As the machine wants it.
    pub fn kind(&self) -> Kind {
        if self.phases.is_empty() {
            return Kind::Custom;
        }
        let spec = |phase: &Phase| PhaseSpec {
            name: phase.name.clone(),
            review: phase.review,
        };
        Kind::Phased {
            phases: self.phases.iter().map(spec).collect(),
            complete_on_exit: self.complete_on_exit,
        }
    }

    /// A phase, counted from 1.
    pub fn phase(&self, number: u32) -> Option<&Phase> {
        self.phases.get((number as usize).checked_sub(1)?)
    }

    /// The types that are always there.
    pub fn built_in() -> Vec<TypeSpec> {
        let phase =
            |name: &str, steps: &[&str], files: &[&str], count: usize, min_chars: usize| Phase {
                name: name.into(),
                steps: steps.iter().map(|&step| step.into()).collect(),
                deliverables: files.iter().map(|&file| file.into()).collect(),
                count,
                min_chars,
                placeholders: min_chars > 0,
                verifier: Verifier::Own,
                review: true,
                ..Phase::default()
            };
        let building = ["setup", "data", "logic", "ui", "testing", "deploy"];
        let spec = |name: &str, phases: Vec<Phase>| TypeSpec {
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
