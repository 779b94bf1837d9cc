//! Keeps the commits by which tasks landed on refs of their own, so that a landing that was undone
//! is noticed.

use super::{PhasePlace, RunRepo, TaskPlace};
use crate::core::failure::FailureReason;
use bowline_engine::Error;
use bowline_words::message::Reason;

/// Maximum number of landings checked with one command.
const AT_ONCE: usize = 500;
/// Maximum number of landings named in a message.
const NAMED_MAX: usize = 10;

impl RunRepo {
    fn landing_ref(&self, id: &str) -> String {
        format!(
            "refs/bowline/landed/{}/{}",
            self.run,
            RunRepo::task_name(id)
        )
    }

    /// Records the commit by which a task landed.
    pub(super) fn record_landing(&self, id: &str, commit: &str) -> Result<(), Error> {
        let name = self.landing_ref(id);
        self.git
            .output_text(&["update-ref", &name, commit])
            .map(drop)
    }

    /// Reports which of these tasks landed but are no longer on a branch, and the command that
    /// restores them. If the branch was deleted, they must be on the target branch. Tasks that
    /// never landed, as a person completed them, are left out.
    pub fn landings_gone(
        &self,
        branch: &str,
        ids: &[String],
    ) -> Result<Option<FailureReason>, Error> {
        let folder = format!("refs/bowline/landed/{}/", self.run);
        let refs = self.git.output_text(&[
            "for-each-ref",
            "--format=%(refname) %(objectname)",
            &folder,
        ])?;
        let refs: std::collections::BTreeMap<&str, &str> = refs
            .lines()
            .filter_map(|line| line.split_once(' '))
            .collect();
        let names = ids.iter().map(|id| (id, self.landing_ref(id)));
        let landed = names.filter_map(|(id, name)| Some((id, *refs.get(name.as_str())?)));
        let landed: Vec<(&String, &str)> = landed.collect();
        let tip = match self.git.resolve_commit(&format!("refs/heads/{branch}"))? {
            Some(tip) => tip,
            None => self.branch_tip(&self.target)?,
        };
        let mut gone = Vec::new();
        for some in landed.chunks(AT_ONCE) {
            let mut arguments = vec!["rev-list"];
            arguments.extend(some.iter().map(|(_, commit)| *commit));
            arguments.extend(["--not", &tip]);
            let missing = self.git.output_text(&arguments)?;
            let missing: std::collections::BTreeSet<&str> = missing.lines().collect();
            for (id, commit) in some.iter().filter(|(_, commit)| missing.contains(commit)) {
                // A rebased landing is there as another commit.
                let task = TaskPlace {
                    id: (*id).clone(),
                    title: String::new(),
                    phase: PhasePlace {
                        number: 0,
                        branch: branch.to_owned(),
                        folder: None,
                    },
                };
                if self.find_landing(&task, &tip)?.is_none() {
                    gone.push(((*id).clone(), (*commit).to_owned()));
                }
            }
        }
        if gone.is_empty() {
            return Ok(None);
        }
        // The last commit of a series contains the others.
        let commits: Vec<&str> = gone.iter().map(|(_, commit)| commit.as_str()).collect();
        let heads = self
            .git
            .output_text(&[&["merge-base", "--independent"], &commits[..]].concat())?;
        let heads: Vec<&str> = heads.lines().collect();
        let command = self.merge_onto_command(branch, &heads)?;
        let named = gone.iter().take(NAMED_MAX).map(|(id, commit)| {
            let short: String = commit.chars().take(12).collect();
            format!("{id} ({short})")
        });
        let mut ids = named.collect::<Vec<_>>().join(", ");
        if gone.len() > NAMED_MAX {
            ids.push_str(&format!(" +{}", gone.len() - NAMED_MAX));
        }
        let branch = branch.to_owned();
        Ok(Some(
            Reason::LandingsGone {
                ids,
                branch,
                command,
            }
            .into(),
        ))
    }
}
