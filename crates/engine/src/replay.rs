//! Applies the committed steps of a run to a document that lacks them.

use bowline_formats::StateFormat;
use bowline_formats::json::JsonDocument;
use bowline_formats::orchestrate::{OrchestrateFile, RecordedStep};
use bowline_machines::Machine;
use bowline_machines::orchestrate::OrchestrateMachine;
use bowline_statefiles::StepReplay;
use serde_json::value::RawValue;
use std::error::Error;

/// Replays the [`RecordedStep`]s of an orchestration on the run in the document alone: the graph
/// they were decided on has been written before they are committed.
#[derive(Debug)]
pub(crate) struct OrchestrateReplay;

impl StepReplay for OrchestrateReplay {
    fn replay_steps(
        &self,
        text: &str,
        steps: &[&RawValue],
    ) -> Result<String, Box<dyn Error + Send + Sync>> {
        let document = JsonDocument::parse(text.as_bytes())?;
        let read = OrchestrateFile::read_state(&document).map_err(|findings| {
            let last_finding = findings.into_iter().last();
            last_finding.map_or_else(String::new, |finding| finding.message.to_string())
        })?;
        let (mut run, mut value) = (read.state, read.fixed);
        for step in steps {
            let RecordedStep { at, command } = serde_json::from_str(step.get())?;
            OrchestrateMachine::advance(&mut run, command, at)?;
        }
        OrchestrateFile::write_state(&run, &mut value, run.updated_at());
        Ok(document.reconcile(&value).text().to_owned())
    }
}
