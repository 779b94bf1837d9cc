//! Records the branch and folder of each phase. A branch is named after the title of its phase on
//! first use and keeps that name: what landed there must be found however the plan changes.

use super::{PhasePlace, RunRepo};
use bowline_engine::statefiles::{RealDisk, write_atomically};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

#[derive(Debug, Clone, Serialize, Deserialize)]
struct PhaseBranch {
    branch: String,
    /// Relative to the project's root.
    folder: PathBuf,
}

/// Branches and folders of the phases of a run, in a file beside it.
#[derive(Debug, Clone)]
pub(super) struct PhaseBranches {
    path: PathBuf,
    known: Arc<Mutex<BTreeMap<u32, PhaseBranch>>>,
}

impl PhaseBranches {
    pub(super) fn open(side: &Path, run: &str) -> PhaseBranches {
        let path = side.join(format!("phases-{run}.json"));
        let known = std::fs::read(&path).unwrap_or_default();
        let known = serde_json::from_slice(&known).unwrap_or_default();
        PhaseBranches {
            path,
            known: Arc::new(Mutex::new(known)),
        }
    }
}

impl RunRepo {
    /// Returns the recorded branch and folder of a phase, or records the given ones.
    pub fn recorded_phase_place(&self, place: PhasePlace) -> PhasePlace {
        let folder = place.folder.as_deref();
        let Some(folder) = folder.and_then(|folder| folder.strip_prefix(&self.root).ok()) else {
            return place;
        };
        let known = self.phase_branches.known.lock();
        let mut known = known.unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(&place.number) {
            return PhasePlace {
                number: place.number,
                branch: known.branch.clone(),
                folder: Some(self.root.join(&known.folder)),
            };
        }
        let new = PhaseBranch {
            branch: place.branch.clone(),
            folder: folder.to_owned(),
        };
        known.insert(place.number, new);
        // A full disk stops the run elsewhere; until then all threads agree on the value in memory.
        if let Ok(text) = serde_json::to_vec(&*known) {
            let _ = write_atomically(&RealDisk, &self.phase_branches.path, &text, None);
        }
        place
    }
}
