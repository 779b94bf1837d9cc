//! One module for each kind of work that agents are run for.

pub mod develop;
pub mod memory;
mod prompts;
pub mod thinking;

use crate::core::clients::ClientProgram;
use crate::core::state_file_runner::{
    RunnerParts, StateFileWork, WorkLimits, WorkScreen, WorkUnit,
};
use bowline_engine::agent_run_lock::AgentRunLock;
use bowline_engine::files::KnownFile;
use bowline_engine::words::system_cause;
use bowline_engine::{Context, Error};
use bowline_formats::develop::policy::FILE_NAME;
use bowline_formats::settings::BowlineSettings;
use bowline_words::message::BadSetting;
use std::path::Path;

/// A unit that a run would start first, with its agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedStart {
    /// Name of the unit for people.
    pub id: String,
    /// Name of the client.
    pub agent: String,
}

/// Returns the settings of a folder: the nearest settings file upwards.
pub fn settings_at(folder: &Path) -> Result<BowlineSettings, Error> {
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let found = folder.ancestors().map(|folder| folder.join(FILE_NAME));
    let Some(path) = found.into_iter().find(|path| path.is_file()) else {
        return Ok(BowlineSettings::default());
    };
    let text = std::fs::read_to_string(&path).map_err(|error| Error::BadSettings {
        path: path.clone(),
        fault: BadSetting::Unread {
            cause: system_cause(&error),
        },
    })?;
    BowlineSettings::parse(&text).map_err(|fault| Error::BadSettings { path, fault })
}

fn choose_client(
    settings: &BowlineSettings,
    named: Option<&str>,
    role: Option<&str>,
) -> Result<ClientProgram, Error> {
    ClientProgram::choose_client(settings, named, role).map_err(|name| Error::NoAgent { name })
}

/// Collects everything a run on a state file is made of. Fails if another run holds the file.
fn runner_parts<'s>(
    context: &Context,
    file: &KnownFile,
    (identity, name): (String, String),
    settings: &BowlineSettings,
    rules: WorkLimits,
    screen: &'s mut dyn WorkScreen,
) -> Result<RunnerParts<'s>, Error> {
    Ok(RunnerParts {
        context: context.clone(),
        place: AgentRunLock::acquire(context, file)?,
        identity,
        name,
        settings: settings.clone(),
        rules,
        screen,
    })
}

/// Returns the units that a run would start now; changes nothing.
fn planned_units<W: StateFileWork>(
    mut work: W,
    parallel: usize,
) -> Result<Vec<PlannedStart>, Error> {
    let units: Vec<WorkUnit> = work.ready_units()?.into_iter().take(parallel).collect();
    let would = |unit: WorkUnit| {
        let agent = work.unit_client(&unit)?.name;
        Ok(PlannedStart { id: unit.id, agent })
    };
    units.into_iter().map(would).collect()
}
