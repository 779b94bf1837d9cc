//! Values of arguments that are words of the engine, each with what it means.

use bowline_engine::formats::import::ImportSource;
use bowline_engine::formats::orchestrate::RunMode;
use bowline_engine::formats::run_settings::LandingMode;
use bowline_engine::operations::develop::{DevelopPhase, FailureClass, Gate};
use bowline_engine::operations::memory::{FailureKind, TaskResult};
use bowline_engine::operations::orchestrate::{DrawingFormat, ExportFormat};
use bowline_engine::operations::thinking::ThinkingStage;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// Parses one value of `all` by its word.
fn one_of<T: Copy + Send + Sync + 'static, const N: usize>(
    all: [T; N],
    value: impl Fn(T) -> PossibleValue,
) -> impl TypedValueParser<Value = T> {
    let values = all.map(value);
    PossibleValuesParser::new(values.clone()).try_map(move |word| {
        let mut meant = all.iter().zip(&values);
        let meant = meant.find(|(_, value)| value.matches(&word, true));
        meant.map(|(one, _)| *one).ok_or("not one of the words")
    })
}

fn possible_value(name: &'static str, help: &'static str) -> PossibleValue {
    PossibleValue::new(name).help(help)
}

pub(crate) fn stage_parser() -> impl TypedValueParser<Value = ThinkingStage> {
    one_of(ThinkingStage::ALL, |stage| {
        let help = match stage {
            ThinkingStage::Planning => "Divergent: look for ideas",
            ThinkingStage::Selection => "Convergent: choose one",
            ThinkingStage::Creation => "Generative: make it",
            ThinkingStage::Reflection => "Critical: judge it",
        };
        possible_value(stage.name(), help)
    })
}

pub(crate) fn landing_parser() -> impl TypedValueParser<Value = LandingMode> {
    one_of(
        [LandingMode::Branch, LandingMode::PullRequest],
        |landing| match landing {
            LandingMode::Branch => possible_value("branch", "Merge into the branch of the phase"),
            LandingMode::PullRequest => {
                possible_value("pr", "Open a pull request that others merge")
            }
        },
    )
}

pub(crate) fn gate_parser() -> impl TypedValueParser<Value = Gate> {
    one_of(Gate::ALL, |gate| {
        let help = match gate {
            Gate::ReviewCleanPass => "The design review found nothing that blocks",
            Gate::ArchitectVerified => "The whole implementation was verified",
            Gate::ReReviewClean => "The code review found nothing",
        };
        possible_value(gate.name(), help)
    })
}

pub(crate) fn phase_parser() -> impl TypedValueParser<Value = DevelopPhase> {
    one_of(DevelopPhase::ALL, |phase| match phase {
        DevelopPhase::Design => possible_value("DESIGN", "Design of the feature"),
        DevelopPhase::Review => possible_value("REVIEW", "Review of the design"),
        DevelopPhase::Implement => {
            possible_value("IMPLEMENT", "Implementation, checkpoint by checkpoint")
        }
        DevelopPhase::Pr => {
            possible_value("PR", "Review of the code, commit and pull request").alias("MERGE")
        }
        DevelopPhase::Done => possible_value("DONE", "Finished run"),
    })
}

pub(crate) fn failure_class_parser() -> impl TypedValueParser<Value = FailureClass> {
    one_of(FailureClass::ALL, |class| {
        let help = match class {
            FailureClass::NotImplemented => "Something is not implemented yet",
            FailureClass::LogicError => "The logic is wrong",
            FailureClass::TypeError => "The types do not match",
            FailureClass::DesignMismatch => {
                "The design cannot be implemented: a person decides at once"
            }
            FailureClass::EnvIssue => "The environment lacks something: a person decides at once",
            FailureClass::Vulnerability => "A security vulnerability: a person decides at once",
        };
        possible_value(class.name(), help)
    })
}

pub(crate) fn strategy_parser() -> PossibleValuesParser {
    PossibleValuesParser::new([
        possible_value("direct", "One agent, one checkpoint after another"),
        possible_value("subagent", "Separate agents for independent checkpoints"),
        possible_value("agent-teams", "Agents that talk to each other"),
        possible_value(
            "auto",
            "Chosen by number and independence of the checkpoints",
        ),
    ])
}

pub(crate) fn task_result_parser() -> impl TypedValueParser<Value = TaskResult> {
    one_of(TaskResult::ALL, |result| {
        let help = match result {
            TaskResult::Success => "The goal was reached",
            TaskResult::Failure => "Nothing was reached",
            TaskResult::Partial => "Part of the goal was reached",
        };
        possible_value(result.name(), help)
    })
}

pub(crate) fn failure_kind_parser() -> impl TypedValueParser<Value = FailureKind> {
    one_of(FailureKind::ALL, |kind| {
        let help = match kind {
            FailureKind::Transient => "Goes away by itself",
            FailureKind::Validation => "The result does not meet the requirements",
            FailureKind::Dependency => "A dependency failed",
            FailureKind::Resource => "A required resource is missing",
            FailureKind::Structural => "The plan is wrong",
            FailureKind::Critical => "A person is needed at once",
        };
        possible_value(kind.name(), help)
    })
}

pub(crate) fn mode_parser() -> impl TypedValueParser<Value = RunMode> {
    one_of(RunMode::ALL, |mode| {
        let help = match mode {
            RunMode::Normal => "Prompts carry the whole context",
            RunMode::UltraThin => "Replies of one line",
            RunMode::Ralph => "Each task repeats until it prints its promise",
        };
        possible_value(mode.name(), help)
    })
}

pub(crate) fn drawing_format_parser() -> impl TypedValueParser<Value = DrawingFormat> {
    one_of(
        [
            DrawingFormat::Dot,
            DrawingFormat::Mermaid,
            DrawingFormat::Svg,
        ],
        |picture| match picture {
            DrawingFormat::Dot => possible_value("dot", "Graphviz"),
            DrawingFormat::Mermaid => possible_value("mermaid", "Mermaid"),
            DrawingFormat::Svg => possible_value("svg", "Picture for browsers"),
        },
    )
}

pub(crate) fn import_source_parser() -> impl TypedValueParser<Value = ImportSource> {
    one_of(ImportSource::ALL, |source| {
        let help = match source {
            ImportSource::TaskMaster => "tasks.json of task-master",
            ImportSource::Beads => "issues.jsonl of beads",
            ImportSource::SpecKit => "tasks.md of spec-kit",
            ImportSource::Backlog => "the folder of Backlog.md",
        };
        possible_value(source.name(), help)
    })
}

pub(crate) fn export_format_parser() -> impl TypedValueParser<Value = ExportFormat> {
    one_of(
        [ExportFormat::TasksMd, ExportFormat::Json],
        |format| match format {
            ExportFormat::TasksMd => {
                possible_value("tasks-md", "Plan with the boxes of the run ticked")
            }
            ExportFormat::Json => possible_value("json", "Everything known about every task"),
        },
    )
}

/// Format of a timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimelineFormat {
    Svg,
    Json,
}

pub(crate) fn timeline_format_parser() -> impl TypedValueParser<Value = TimelineFormat> {
    one_of(
        [TimelineFormat::Svg, TimelineFormat::Json],
        |format| match format {
            TimelineFormat::Svg => possible_value("svg", "Picture for browsers"),
            TimelineFormat::Json => possible_value("json", "Every attempt with its times"),
        },
    )
}
