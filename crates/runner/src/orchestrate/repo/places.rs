//! Records the branch and folder of each phase. A branch is named after the title of its phase on
//! first use and keeps that name: what landed there must be found however the plan changes.

use super::{PhasePlace, Repo};
use bowline_engine::statefiles::{RealDisk, write_atomically};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Place {
    branch: String,
    /// Relative to the project's root.
    folder: PathBuf,
}

/// Branches and folders of the phases of a run, in a file beside it.
#[derive(Debug, Clone)]
pub(super) struct Places {
    path: PathBuf,
    known: Arc<Mutex<BTreeMap<u32, Place>>>,
}

impl Places {
    pub(super) fn open(side: &Path, run: &str) -> Places {
        let path = side.join(format!("phases-{run}.json"));
        let known = std::fs::read(&path).unwrap_or_default();
        let known = serde_json::from_slice(&known).unwrap_or_default();
        Places {
            path,
            known: Arc::new(Mutex::new(known)),
        }
    }
}

impl Repo {
    /// Returns the recorded branch and folder of a phase, or records the given ones.
    pub fn settle(&self, place: PhasePlace) -> PhasePlace {
        let folder = place.folder.as_deref();
        let Some(folder) = folder.and_then(|folder| folder.strip_prefix(&self.root).ok()) else {
            return place;
        };
        let known = self.places.known.lock();
        let mut known = known.unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(&place.number) {
            return PhasePlace {
                number: place.number,
                branch: known.branch.clone(),
                folder: Some(self.root.join(&known.folder)),
            };
        }
        let new = Place {
            branch: place.branch.clone(),
            folder: folder.to_owned(),
        };
        known.insert(place.number, new);
        // A full disk stops the run elsewhere; until then all threads agree on the value in memory.
        if let Ok(text) = serde_json::to_vec(&*known) {
            let _ = write_atomically(&RealDisk, &self.places.path, &text, None);
        }
        place
    }
}
