//! Removal of a document: recorded in the journal before it is done, so that it is not mistaken for
//! another program's.

use crate::error::{Error, FileOperation};
use crate::hash::ContentHash;
use crate::held::{Held, Written};
use crate::journal::{Line, kind};
use crate::load::Situation;
use crate::request::{Change, Request};
use crate::swap::{Committed, name_new};

impl Held {
    /// Removes the file. Its last version becomes the backup.
    pub(crate) fn remove(&mut self, request: &Request, change: &Change) -> Result<Written, Error> {
        let ours = self.snapshot.text()?.map(str::to_owned);
        let mut lines = self.adoption(request)?;
        let seq = self.next_seq() + lines.len() as u64;
        lines.push(Line {
            seq,
            id: request.id.clone(),
            at: request.at.clone(),
            kind: change.kind.clone(),
            before: ours.as_deref().map(|text| ContentHash::of(text.as_bytes())),
            gone: true,
            transition: change.transition.clone(),
            effects: change.effects.clone(),
            ..Line::default()
        });
        self.append(&lines, true)?;
        self.finish_removal(request, seq, ours, Committed::Now)
    }

    /// Removes the file after the commit of line `seq`, unless another program wrote it at the same
    /// moment.
    pub(crate) fn finish_removal(
        &mut self,
        request: &Request,
        seq: u64,
        ours: Option<String>,
        committed: Committed,
    ) -> Result<Written, Error> {
        // Until this is complete, only a new read shows the state of the disk.
        self.stale = true;
        let (disk, paths) = (self.disk(), self.paths.clone());
        let unfinished = |error| Error::Unfinished {
            path: paths.file.clone(),
            seq,
            source: Box::new(error),
        };
        match disk.rename(&paths.file, &paths.swap) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => {
                return Err(unfinished(Error::io(
                    FileOperation::Remove,
                    &paths.file,
                    error,
                )));
            }
            Ok(()) => {
                let out = self.read_back(&paths.swap).map_err(unfinished)?;
                let out = out.unwrap_or_default();
                if Some(ContentHash::of(&out)) == self.on_disk {
                    self.retire(None).map_err(unfinished)?;
                } else if let Ok(theirs) = String::from_utf8(out) {
                    return self.give_back(request, seq, ours, theirs, committed);
                } else {
                    self.keep_swapped_out(request).map_err(unfinished)?;
                }
            }
        }
        disk.sync_folder(&paths.folder)
            .map_err(|error| unfinished(Error::io(FileOperation::Flush, &paths.folder, error)))?;
        self.settle(None, Situation::Absent);
        Ok(Written::Done { seq })
    }

    /// Puts back the version that another program wrote during the removal, and voids the removal.
    fn give_back(
        &mut self,
        request: &Request,
        seq: u64,
        ours: Option<String>,
        theirs: String,
        committed: Committed,
    ) -> Result<Written, Error> {
        let (disk, paths) = (self.disk(), self.paths.clone());
        let uncertain = |error| Error::Uncertain {
            path: paths.file.clone(),
            seq,
            source: Box::new(error),
        };
        let line = Line {
            seq: self.next_seq(),
            at: request.at.clone(),
            kind: kind::OUTSIDE.to_owned(),
            after: Some(ContentHash::of(theirs.as_bytes())),
            document: Some(theirs.clone()),
            voids: committed.voided(seq),
            ..Line::default()
        };
        self.append(&[line], true).map_err(uncertain)?;
        self.stale = true;
        name_new(&*disk, &paths.swap, &paths.file)
            .map_err(|error| uncertain(Error::io(FileOperation::PutBack, &paths.file, error)))?;
        self.settle(Some(theirs.into_bytes()), Situation::Outside { ours });
        Ok(Written::Theirs)
    }

    /// Records the content in place, where it is not a version of ours.
    pub(crate) fn settle(&mut self, there: Option<Vec<u8>>, situation: Situation) {
        self.on_disk = there.as_deref().map(ContentHash::of);
        self.acknowledged = self.on_disk;
        self.snapshot.bytes = there;
        self.snapshot.situation = situation;
        self.snapshot.unnoted = false;
        self.loose = false;
        self.stale = false;
    }
}
