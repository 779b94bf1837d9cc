//! Lessons: from execution into this run, and from this run into later ones.

use super::ThinkingStage;

/// A measured outcome of the work, with the lessons from it.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredOutcome {
    /// Name of the measured metric (`engagement_rate`).
    pub metric: String,
    /// The measured value, percent as a fraction.
    pub actual: f64,
    /// The target value, above 0.
    pub target: f64,
    /// Lessons from the outcome.
    pub learnings: Vec<String>,
    /// Improvements for the next time.
    pub improvements: Vec<String>,
    /// The stages the lesson is for; empty means all.
    pub stages: Vec<ThinkingStage>,
}

/// A lesson of this run for later tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lesson {
    /// The learnings and improvements.
    pub learnings: Vec<String>,
    /// The stages the lesson is for.
    pub stages: Vec<ThinkingStage>,
}

/// A lesson of an earlier task, carried into this run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppliedLesson {
    /// Id of that task.
    pub task_id: String,
    /// Learnings of that task.
    pub learnings: Vec<String>,
    /// The stages the lesson is for.
    pub stages: Vec<ThinkingStage>,
}

/// All feedback of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunFeedback {
    /// Lessons of earlier tasks, once per task.
    pub from_previous_tasks: Vec<AppliedLesson>,
    /// Lessons for later tasks.
    pub for_next_tasks: Vec<Lesson>,
    /// Measured metrics by name.
    pub from_execution: Vec<(String, f64)>,
    /// Actual over target of the last measurement, two decimals.
    pub goal_achievement: Option<f64>,
    /// All learnings from execution.
    pub learnings: Vec<String>,
    /// All improvements from execution.
    pub improvements: Vec<String>,
}

impl RunFeedback {
    /// Returns the learnings of earlier tasks for a stage, each with the id of its task.
    pub fn lessons_for(&self, stage: ThinkingStage) -> impl Iterator<Item = (&str, &str)> {
        let for_it = move |lesson: &&AppliedLesson| lesson.stages.contains(&stage);
        let lessons = self.from_previous_tasks.iter().filter(for_it);
        lessons.flat_map(|lesson| {
            let texts = lesson.learnings.iter();
            texts.map(|text| (lesson.task_id.as_str(), text.as_str()))
        })
    }
}
