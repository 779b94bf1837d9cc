//! Lessons: from execution into this run, and from this run into the next.

use super::Stage;

/// What came of the work once it met the world.
#[derive(Debug, Clone, PartialEq)]
pub struct Execution {
    /// Name of the measured metric (`engagement_rate`).
    pub metric: String,
    /// Its value, percent as a fraction.
    pub actual: f64,
    /// What was hoped for.
    pub target: f64,
    /// What was learnt.
    pub learnings: Vec<String>,
    /// What to do otherwise.
    pub improvements: Vec<String>,
    /// The stages the lesson is for; empty means all.
    pub stages: Vec<Stage>,
}

/// A lesson this run has for the next tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lesson {
    /// What was learnt and should be done otherwise.
    pub learnings: Vec<String>,
    /// Where it applies.
    pub stages: Vec<Stage>,
}

/// A lesson of an earlier task, carried into this run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppliedLesson {
    /// The task it comes from.
    pub task_id: String,
    /// What was learnt there.
    pub learnings: Vec<String>,
    /// Where it applies.
    pub stages: Vec<Stage>,
}

/// All feedback of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Feedback {
    /// Lessons taken over, once per task.
    pub from_previous_tasks: Vec<AppliedLesson>,
    /// Lessons to hand on.
    pub for_next_tasks: Vec<Lesson>,
    /// Measured metrics by name.
    pub from_execution: Vec<(String, f64)>,
    /// Actual over target of the last measurement, two decimals.
    pub goal_achievement: Option<f64>,
    /// Everything learnt from execution.
    pub learnings: Vec<String>,
    /// Everything to do otherwise.
    pub improvements: Vec<String>,
}

impl Feedback {
    /// What earlier tasks learnt for a stage, each with its task.
    pub fn lessons_for(&self, stage: Stage) -> impl Iterator<Item = (&str, &str)> {
        let for_it = move |lesson: &&AppliedLesson| lesson.stages.contains(&stage);
        let lessons = self.from_previous_tasks.iter().filter(for_it);
        lessons.flat_map(|lesson| {
            let texts = lesson.learnings.iter();
            texts.map(|text| (lesson.task_id.as_str(), text.as_str()))
        })
    }
}
