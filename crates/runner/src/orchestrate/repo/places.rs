//! Where phases are worked on. A branch has its name from the title of its phase when that is first
//! asked for, and keeps it: what landed there must be found whatever becomes of the plan.

use super::{PhasePlace, Repo};
use bowline_engine::statefiles::{RealDisk, write_whole};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Place {
    branch: String,
    /// From the root of the project.
    folder: PathBuf,
}

/// The places of the phases of a run, in a file beside it.
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
    /// The place of a phase: the one it has, else the one it is given now.
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
        // A disk that takes nothing any more stops the run elsewhere; until then everybody in it
        // agrees.
        if let Ok(text) = serde_json::to_vec(&*known) {
            let _ = write_whole(&RealDisk, &self.places.path, &text, None);
        }
        place
    }
}
