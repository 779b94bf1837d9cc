//! Verbs of `bowline thinking`.

mod board;
mod stage_worker;

pub use board::{BoardRow, RunProgress, ThinkingBoard, read_board};
pub use bowline_formats::thinking::ThinkingSheet;
pub use bowline_machines::thinking::{
    MeasuredOutcome, QualityMetric, RETRIES_MAX, Refusal, StageState, StageStatus,
    ThinkingRunState, ThinkingStage,
};

use crate::context::Context;
use crate::error::Error;
use crate::files::{ChangeOutcome, ChangeRecord, KnownFile};
use crate::kinds::{FileKind, ThinkingKind};
use crate::words::{cannot_be_read, engagement_fault, settings_fault};
use bowline_formats::engagement::{self, MeasuredEngagement};
use bowline_formats::thinking::{FILE_NAME, new_document};
use bowline_formats::thinking_settings::{
    self, CORE_VALUES, QUALITY_STANDARDS, QualityStandards, ThinkingSettingsError,
};
use bowline_machines::thinking::{
    AppliedLesson, Command, OutputFiles, ThresholdCheck, ThresholdQuantity, ValueWeights,
};
use bowline_words::message::{Advice, Why, Wrong};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Key beside the measured value in the file: no metric can have this name.
const GOAL_ACHIEVEMENT: &str = "goal_achievement";

#[derive(Debug, Clone)]
pub struct ThinkingRun {
    folder: PathBuf,
    file: KnownFile,
}

impl ThinkingRun {
    pub fn in_folder(context: &Context, folder: &Path) -> Self {
        let path = folder.join(FILE_NAME);
        ThinkingRun {
            folder: folder.to_owned(),
            file: KnownFile::new(context, FileKind::Thinking, &path),
        }
    }

    pub fn file(&self) -> &KnownFile {
        &self.file
    }

    pub fn create_run(
        &self,
        context: &Context,
        id: &str,
        title: &str,
        goal: &str,
    ) -> Result<ChangeOutcome, Error> {
        if id.trim().is_empty() {
            return Err(Error::BadInput {
                message: Wrong::EmptyTaskId,
                hint: Advice::GiveTaskId,
            });
        }
        let document = new_document(id, title, goal, context.now());
        let moved = ChangeRecord::new("run", "NEW", None, "pending")
            .with_metadata(json!({ "title": title }));
        self.file.create_file(context, &document, moved)
    }

    /// Begins a stage, or tries it again.
    pub fn start_stage(
        &self,
        context: &Context,
        stage: ThinkingStage,
        reason: Option<&str>,
    ) -> Result<ChangeOutcome<ThinkingRunState>, Error> {
        let metadata = match reason {
            Some(reason) => json!({ "stage": stage.name(), "override": reason }),
            None => json!({ "stage": stage.name() }),
        };
        self.on_stage(context, stage, "START", &metadata, |run| Command::Start {
            stage,
            override_reason: reason.map(str::to_owned),
            by: context.actor_if(reason.is_some()),
            seen: self.existing_files(run, &[]),
        })
    }

    /// Records output files made so far.
    pub fn record_outputs(
        &self,
        context: &Context,
        stage: ThinkingStage,
        paths: &[String],
    ) -> Result<ChangeOutcome<ThinkingRunState>, Error> {
        self.check_inside(paths)?;
        let metadata = json!({ "stage": stage.name(), "outputs": paths });
        self.on_stage(context, stage, "OUTPUT", &metadata, |_| Command::Output {
            stage,
            paths: paths.to_vec(),
        })
    }

    /// Refuses existing outputs that can never count: a folder, and a link out of the task folder.
    /// A missing file may still be made.
    fn check_inside(&self, paths: &[String]) -> Result<(), Error> {
        let Ok(root) = self.folder.canonicalize() else {
            return Ok(());
        };
        for path in paths {
            let Ok(file) = self.folder.join(path).canonicalize() else {
                continue;
            };
            if !file.starts_with(&root) {
                let path = path.clone();
                return Err(Error::Refused(Refusal::PathEscapes { path }.into()));
            }
            if file.is_dir() {
                return Err(Error::BadInput {
                    message: Wrong::OutputIsFolder { path: path.clone() },
                    hint: Advice::NameFiles,
                });
            }
        }
        Ok(())
    }

    pub fn complete_stage(
        &self,
        context: &Context,
        stage: ThinkingStage,
        outputs: &[String],
    ) -> Result<ChangeOutcome<ThinkingRunState>, Error> {
        let standards = self
            .read_settings(QUALITY_STANDARDS, thinking_settings::quality_standards)?
            .unwrap_or_default();
        self.check_inside(outputs)?;
        let metadata = json!({ "stage": stage.name(), "outputs": outputs });
        self.on_stage(context, stage, "COMPLETE", &metadata, |run| {
            Command::Complete {
                stage,
                outputs: outputs.to_vec(),
                seen: self.existing_files(run, outputs),
                checks: self.standard_checks(run, stage, &standards),
            }
        })
    }

    /// Ends a stage as failed.
    pub fn fail_stage(
        &self,
        context: &Context,
        stage: ThinkingStage,
        code: &str,
        message: &str,
    ) -> Result<ChangeOutcome<ThinkingRunState>, Error> {
        let metadata = json!({ "stage": stage.name(), "code": code });
        self.on_stage(context, stage, "FAIL", &metadata, |_| Command::Fail {
            stage,
            code: code.to_owned(),
            message: message.to_owned(),
        })
    }

    /// Scores the work by the core values.
    pub fn evaluate_work(
        &self,
        context: &Context,
        scores: &[(String, f64)],
    ) -> Result<ChangeOutcome<ThinkingRunState>, Error> {
        let weights: ValueWeights = self
            .read_settings(CORE_VALUES, thinking_settings::core_values)?
            .unwrap_or_default();
        self.on_run(
            context,
            "evaluation",
            "EVALUATE",
            &json!({ "scores": numbers_by_name(scores) }),
            || Command::Evaluate {
                scores: scores.to_vec(),
                weights: weights.clone(),
            },
        )
    }

    pub fn record_metrics(
        &self,
        context: &Context,
        metrics: &[(String, f64)],
    ) -> Result<ChangeOutcome<ThinkingRunState>, Error> {
        let metadata = json!({ "metrics": numbers_by_name(metrics) });
        self.on_run(context, "metrics", "QUALITY", &metadata, || {
            Command::Measure {
                metrics: metrics.to_vec(),
            }
        })
    }

    /// Records the measured outcome of the work.
    pub fn record_outcome(
        &self,
        context: &Context,
        execution: &MeasuredOutcome,
    ) -> Result<ChangeOutcome<ThinkingRunState>, Error> {
        if execution.metric == GOAL_ACHIEVEMENT {
            return Err(Error::BadInput {
                message: Wrong::ComputedMetric {
                    name: GOAL_ACHIEVEMENT,
                },
                hint: Advice::OtherMetric,
            });
        }
        let metadata = json!({ "metric": execution.metric, "actual": execution.actual, "target": execution.target });
        self.on_run(context, "feedback", "FEEDBACK", &metadata, || {
            Command::RecordFeedback(execution.clone())
        })
    }

    /// Reads a file of measured values; `wanted` names the value that is meant.
    pub fn read_measurements(
        path: &Path,
        wanted: Option<&str>,
    ) -> Result<MeasuredEngagement, Error> {
        let bad = |why: Why| Error::bad_file(path, why, Advice::EngagementShape);
        let text = std::fs::read_to_string(path).map_err(|error| bad(cannot_be_read(&error)))?;
        engagement::read_engagement(&text, wanted).map_err(|error| bad(engagement_fault(error)))
    }

    /// Applies the lessons of another task.
    pub fn apply_lessons(
        &self,
        context: &Context,
        from: &Path,
    ) -> Result<ChangeOutcome<ThinkingRunState>, Error> {
        let same = from.canonicalize().ok() == self.folder.canonicalize().ok();
        if same && self.folder.is_dir() {
            return Err(Error::BadInput {
                message: Wrong::OwnLessons,
                hint: Advice::OtherTask,
            });
        }
        let source = ThinkingRun::in_folder(context, from)
            .file
            .read_view(context)?;
        let lesson = lesson_of(source.document.value());
        let metadata = json!({ "from": lesson.task_id });
        self.on_run(context, "feedback", "APPLY_FEEDBACK", &metadata, || {
            Command::ApplyFeedback(lesson.clone())
        })
    }

    fn on_stage(
        &self,
        context: &Context,
        stage: ThinkingStage,
        trigger: &'static str,
        metadata: &Value,
        command: impl Fn(&ThinkingRunState) -> Command,
    ) -> Result<ChangeOutcome<ThinkingRunState>, Error> {
        let describe = |before: &ThinkingRunState, after: &ThinkingRunState| {
            let status = |run: &ThinkingRunState| run.stage(stage).status.name();
            ChangeRecord::new("stage", trigger, Some(status(before).into()), status(after))
                .with_metadata(metadata.clone())
        };
        self.file
            .execute_command::<ThinkingKind>(context, |run| Ok(command(run)), describe)
    }

    fn on_run(
        &self,
        context: &Context,
        entity: &'static str,
        trigger: &'static str,
        metadata: &Value,
        command: impl Fn() -> Command,
    ) -> Result<ChangeOutcome<ThinkingRunState>, Error> {
        let describe = |before: &ThinkingRunState, after: &ThinkingRunState| {
            let from = before.overall_status().name().to_owned();
            ChangeRecord::new(entity, trigger, Some(from), after.overall_status().name())
                .with_metadata(metadata.clone())
        };
        self.file
            .execute_command::<ThinkingKind>(context, |_| Ok(command()), describe)
    }

    /// Reads settings from the nearest folder upwards that has the file; `None` if there is none.
    fn read_settings<T>(
        &self,
        name: &str,
        read: impl Fn(&str) -> Result<T, ThinkingSettingsError>,
    ) -> Result<Option<T>, Error> {
        let folder = crate::workspace::absolute_path(&self.folder);
        let Some(path) = folder
            .ancestors()
            .map(|folder| folder.join(name))
            .find(|path| path.is_file())
        else {
            return Ok(None);
        };
        let bad = |why: Why| Error::bad_file(&path, why, Advice::MendSettings);
        let text = std::fs::read_to_string(&path).map_err(|error| bad(cannot_be_read(&error)))?;
        read(&text)
            .map(Some)
            .map_err(|error| bad(settings_fault(error)))
    }

    /// Returns the measured values for the standards of a stage.
    fn standard_checks(
        &self,
        run: &ThinkingRunState,
        stage: ThinkingStage,
        standards: &QualityStandards,
    ) -> Vec<ThresholdCheck> {
        let judged = self.read_json("thinking/reflection/quality_check.json");
        let scores = judged
            .as_ref()
            .and_then(|value| value.get("checks"))
            .and_then(Value::as_array);
        let score = |criterion: &str| {
            let mut checks = scores.into_iter().flatten();
            let check = checks
                .find(|check| check.get("criterion").and_then(Value::as_str) == Some(criterion));
            check
                .and_then(|check| check.get("score"))
                .and_then(Value::as_f64)
        };
        let wanted = standards.standards.iter().filter(|one| one.stage == stage);
        let mut checks: Vec<ThresholdCheck> = wanted
            .map(|one| ThresholdCheck {
                criterion: ThresholdQuantity::Named(one.criterion.clone()),
                value: match QualityMetric::from_name(&one.criterion) {
                    Some(metric) => run.metrics.get(metric),
                    None => score(&one.criterion),
                },
                threshold: one.threshold,
            })
            .collect();
        if let (ThinkingStage::Creation, Some(words)) = (stage, standards.min_words) {
            let (draft, count) = self
                .newest_draft()
                .map_or(("draft".into(), None), |(name, count)| (name, Some(count)));
            checks.push(ThresholdCheck {
                criterion: ThresholdQuantity::Words { draft },
                value: count,
                threshold: count_as_float(words),
            });
        }
        checks
    }

    fn read_json(&self, name: &str) -> Option<Value> {
        serde_json::from_slice(&std::fs::read(self.folder.join(name)).ok()?).ok()
    }

    /// Returns the draft with the highest number, and its word count.
    fn newest_draft(&self) -> Option<(String, f64)> {
        let entries = std::fs::read_dir(self.folder.join("drafts"))
            .ok()?
            .flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let number = |name: &str| -> Option<u64> {
            name.strip_prefix("draft_v")?
                .strip_suffix(".md")?
                .parse()
                .ok()
        };
        let newest = names
            .filter(|name| number(name).is_some())
            .max_by_key(|name| number(name))?;
        let text = std::fs::read_to_string(self.folder.join("drafts").join(&newest)).ok()?;
        let words = u64::try_from(text.split_whitespace().count()).ok()?;
        Some((newest, count_as_float(words)))
    }

    /// True if an output is a file of the task folder. A link out of it does not count.
    fn has_output(&self, path: &str) -> bool {
        let inside = |file: PathBuf| Some(file.starts_with(self.folder.canonicalize().ok()?));
        let file = self.folder.join(path).canonicalize();
        file.is_ok_and(|file| file.is_file() && inside(file).unwrap_or(false))
    }

    /// Returns the existing files among those that rules may ask for.
    fn existing_files(&self, run: &ThinkingRunState, more: &[String]) -> OutputFiles {
        let recorded = run
            .stages
            .iter()
            .flat_map(|stage| &stage.outputs)
            .chain(more);
        let wanted = recorded
            .cloned()
            .chain(["thinking/selection/selected.json".to_owned()]);
        let mut seen: Vec<String> = wanted.filter(|path| self.has_output(path)).collect();
        if let Ok(drafts) = std::fs::read_dir(self.folder.join("drafts")) {
            let files = drafts.flatten().filter(|entry| entry.path().is_file());
            seen.extend(
                files.map(|entry| format!("drafts/{}", entry.file_name().to_string_lossy())),
            );
        }
        OutputFiles::from_paths(seen)
    }
}

/// Converts a count; drafts and thresholds are far below where this loses precision.
fn count_as_float(count: u64) -> f64 {
    count as f64
}

fn numbers_by_name(numbers: &[(String, f64)]) -> Value {
    Value::Object(
        numbers
            .iter()
            .map(|(name, number)| (name.clone(), Value::from(*number)))
            .collect(),
    )
}

/// Returns the lessons of a finished task for the next ones, and the stages they apply to.
fn lesson_of(value: &Value) -> AppliedLesson {
    let texts = |value: &Value, key: &str| -> Vec<String> {
        let items = value
            .get(key)
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        items.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let mut learnings = Vec::new();
    let mut stages = Vec::new();
    let lessons = value
        .pointer("/feedback/for_next_tasks")
        .and_then(Value::as_array);
    for lesson in lessons.into_iter().flatten() {
        let mut taught = texts(lesson, "learnings");
        taught.extend(lesson.as_str().map(str::to_owned));
        if taught.is_empty() {
            // Its stages must not widen those of the others.
            continue;
        }
        learnings.extend(taught);
        for stage in texts(lesson, "apply_to_stages")
            .iter()
            .filter_map(|name| ThinkingStage::from_name(name))
        {
            if !stages.contains(&stage) {
                stages.push(stage);
            }
        }
    }
    if stages.is_empty() {
        stages = ThinkingStage::ALL.to_vec();
    }
    let task_id = value
        .get("task_id")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    AppliedLesson {
        task_id,
        learnings,
        stages,
    }
}
