//! Information for the worker of a stage, and the files it left on the disk.

use super::{ThinkingRun, ThinkingSheet, ThinkingStage};
use crate::context::Context;
use crate::error::Error;
use bowline_formats::thinking_settings::{self, CORE_VALUES, QUALITY_STANDARDS};
use bowline_machines::thinking::ValueWeights;
use std::path::Path;

/// Most files of one folder that count as outputs.
const FILES_MAX: usize = 200;

impl ThinkingRun {
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the run and its task.
    pub fn read_sheet(&self, context: &Context) -> Result<ThinkingSheet, Error> {
        let view = self.file().read_view(context)?;
        view.sheet().cloned().ok_or_else(|| Error::UnknownKind {
            path: view.path.clone(),
        })
    }

    /// Returns the standards that a stage is measured by, one line each.
    pub fn stage_standards(&self, stage: ThinkingStage) -> Result<Vec<String>, Error> {
        let read = thinking_settings::quality_standards;
        let standards = self
            .read_settings(QUALITY_STANDARDS, read)?
            .unwrap_or_default();
        let own = standards.standards.iter().filter(|one| one.stage == stage);
        let mut lines: Vec<String> = own
            .map(|one| format!("{}: at least {}", one.criterion, one.threshold))
            .collect();
        if let (ThinkingStage::Creation, Some(words)) = (stage, standards.min_words) {
            lines.push(format!("words of the newest draft: at least {words}"));
        }
        Ok(lines)
    }

    /// Returns the names of the core values that the work is scored by.
    pub fn core_values(&self) -> Result<Vec<String>, Error> {
        let weights = self.read_settings(CORE_VALUES, thinking_settings::core_values)?;
        let ValueWeights(weights) = weights.unwrap_or_default();
        Ok(weights.into_iter().map(|(name, _)| name).collect())
    }

    /// Returns the files of a stage on the disk, found in the folders for that stage.
    pub fn files_of(&self, stage: ThinkingStage) -> Vec<String> {
        let own = format!("thinking/{}", stage.name());
        let more = match stage {
            ThinkingStage::Planning | ThinkingStage::Selection => None,
            ThinkingStage::Creation => Some("drafts"),
            ThinkingStage::Reflection => Some("outputs"),
        };
        let mut found = Vec::new();
        for folder in [Some(own.as_str()), more].into_iter().flatten() {
            let entries = std::fs::read_dir(self.folder.join(folder));
            let entries = entries.into_iter().flatten().flatten();
            let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
            let shown = names.filter(|name| !name.starts_with('.'));
            let paths = shown.map(|name| format!("{folder}/{name}"));
            let mut paths: Vec<String> = paths.filter(|path| self.has_output(path)).collect();
            paths.sort_unstable();
            paths.truncate(FILES_MAX);
            found.extend(paths);
        }
        found
    }
}
