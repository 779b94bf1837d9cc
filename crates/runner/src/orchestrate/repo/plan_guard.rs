//! Protects the plan in landings: tasks of others stay in it, and edits of a person are merged or
//! left out.

use super::git_trees::{only_ticked, with_ticks};
use super::{RunRepo, TaskPlace, git_error};
use bowline_engine::Error;
use bowline_engine::formats::tasks_md;
use bowline_engine::statefiles::{RealDisk, write_atomically};
use bowline_words::message::Reason;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// File in the run's own folder that records a plan set aside.
const PLAN_ASIDE_FILE: &str = "plan-aside.json";

/// A person's text of the plan, taken out of a checkout during a merge. Its record lasts until the
/// text is restored.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PlanAside {
    path: PathBuf,
    /// Path of the plan, relative to the top of the repository.
    plan: String,
    branch: String,
    /// The commit that is merged.
    new: String,
    /// The plan as committed before and after the merge.
    base: String,
    landed: String,
    /// The person's text, and the text to restore once the merge is done.
    before: String,
    after: String,
}

impl RunRepo {
    /// Returns what a tree would remove from the plan that is not the task's own: the whole file,
    /// tasks of others, or their text.
    pub(super) fn plan_damage(
        &self,
        task: &TaskPlace,
        tip: &str,
        tree: &str,
    ) -> Result<Option<Reason>, Error> {
        let Some(plan) = self.plan.as_deref() else {
            return Ok(None);
        };
        let Some(before) = self.file_in(tip, plan)? else {
            return Ok(None);
        };
        let (path, name) = (plan.to_owned(), RunRepo::task_name(&task.id));
        let command = format!("git checkout refs/bowline/base/{name} -- {path}");
        let Some(after) = self.file_in(tree, plan)? else {
            return Ok(Some(Reason::PlanRemoved { path, command }));
        };
        if before == after {
            return Ok(None);
        }
        let (known, now) = (tasks_md::parse_plan(&before), tasks_md::parse_plan(&after));
        let own = known.task(&task.id).map(|it| it.body.clone());
        let cut = known.tasks.iter().filter(|other| {
            let nested = own
                .as_ref()
                .is_some_and(|own| other.body.start < own.end && own.start < other.body.end);
            other.id.as_str() != task.id
                && now.task(other.id.as_str()).is_none_or(|it| {
                    let cut = || loses_text(&before[other.body.clone()], &after[it.body.clone()]);
                    it.phase != other.phase || (!nested && cut())
                })
        });
        let kept = |number: u32| now.phases.iter().any(|it| it.number == number);
        let phases = known.phases.iter().filter(|it| !kept(it.number));
        let phases = phases.map(|it| format!("Phase {}", it.number));
        let cut: Vec<String> = phases.chain(cut.map(|it| it.id.to_string())).collect();
        let ids = cut.join(", ");
        Ok((!cut.is_empty()).then_some(Reason::PlanCut { path, ids, command }))
    }

    /// Returns the checkout of a branch with its plan, if the plan differs from the committed one.
    fn edited_plan(&self, branch: &str, tip: &str) -> Result<Option<(PathBuf, String)>, Error> {
        let Some(plan) = self.plan.as_deref() else {
            return Ok(None);
        };
        let on_it = self.list_worktrees()?.into_iter();
        let mut on_it = on_it.filter(|(_, on)| on.as_deref() == Some(branch));
        let Some((folder, _)) = on_it.next() else {
            return Ok(None);
        };
        let Ok(here) = std::fs::read_to_string(folder.join(plan)) else {
            return Ok(None);
        };
        let base = self.file_in(tip, plan)?;
        Ok(base
            .is_some_and(|base| base != here)
            .then_some((folder, here)))
    }

    /// Removes changes of the plan from a tree if they conflict with a person's edits, or if these
    /// are staged.
    pub(super) fn without_conflicting_plan(
        &self,
        branch: &str,
        tip: &str,
        tree: &str,
    ) -> Result<String, Error> {
        let Some(plan) = self.plan.as_deref() else {
            return Ok(tree.to_owned());
        };
        let (Some(base), Some(landing)) = (self.blob_in(tip, plan)?, self.file_in(tree, plan)?)
        else {
            return Ok(tree.to_owned());
        };
        let Some((folder, here)) = self.edited_plan(branch, tip)? else {
            return Ok(tree.to_owned());
        };
        let text = self.file_in(tip, plan)?.unwrap_or_default();
        let git = self.git.in_folder(&folder);
        let staged = !git.exits_zero(&["diff", "--cached", "--quiet", "HEAD", "--", plan])?;
        if text == landing || (!staged && self.merge_plan(&text, &landing, &here)?.is_some()) {
            return Ok(tree.to_owned());
        }
        self.with_files(tree, &[(plan, Some(base))])
    }

    /// Merges a person's text of the plan with the one that lands; returns none if they conflict.
    fn merge_plan(&self, base: &str, landed: &str, here: &str) -> Result<Option<String>, Error> {
        for (ticked, other) in [(here, landed), (landed, here)] {
            if let Some(ids) = only_ticked(base, ticked) {
                let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
                return Ok(Some(with_ticks(other, &ids)));
            }
        }
        let mut files = Vec::new();
        for (name, text) in [("here", here), ("base", base), ("landed", landed)] {
            let path = self.write_scratch_file(&format!("plan-{name}"), text.as_bytes())?;
            files.push(path.to_string_lossy().into_owned());
        }
        let end = self.git.run(&[
            "merge-file",
            "--stdout",
            "--quiet",
            &files[0],
            &files[1],
            &files[2],
        ])?;
        Ok(end
            .success()?
            .map(|end| String::from_utf8_lossy(&end.bytes).into_owned()))
    }

    /// Takes a person's edits of the plan out of a checkout during a merge there. Returns none if
    /// there are none, or the two conflict.
    pub(super) fn set_edits_aside(
        &self,
        folder: &Path,
        branch: &str,
        old: &str,
        new: &str,
    ) -> Result<Option<PlanAside>, Error> {
        let Some(plan) = &self.plan else {
            return Ok(None);
        };
        let path = folder.join(plan);
        let (Some(base), Some(landed), Ok(before)) = (
            self.file_in(old, plan)?,
            self.file_in(new, plan)?,
            std::fs::read_to_string(&path),
        ) else {
            return Ok(None);
        };
        if base == before || base == landed {
            return Ok(None);
        }
        let Some(after) = self.merge_plan(&base, &landed, &before)? else {
            return Ok(None);
        };
        let (plan, branch, new) = (plan.clone(), branch.to_owned(), new.to_owned());
        let aside = PlanAside {
            path,
            plan,
            branch,
            new,
            base,
            landed,
            before,
            after,
        };
        let record = serde_json::to_vec(&aside).unwrap_or_default();
        write_atomically(&RealDisk, &self.side.join(PLAN_ASIDE_FILE), &record, None)
            .map_err(Error::File)?;
        // An editor may have saved the file since.
        if std::fs::read_to_string(&aside.path).ok().as_ref() != Some(&aside.before) {
            self.forget_aside()?;
            return Ok(None);
        }
        write_atomically(&RealDisk, &aside.path, aside.base.as_bytes(), None)
            .map_err(Error::File)?;
        Ok(Some(aside))
    }

    /// Restores a person's text of the plan. If an editor has saved the file meanwhile, that stays
    /// and the text is kept on a hidden ref.
    pub(super) fn restore_edits(&self, aside: &PlanAside) -> Result<(), Error> {
        let at = self
            .git
            .resolve_commit(&format!("refs/heads/{}", aside.branch))?;
        let text = match at.as_ref() == Some(&aside.new) {
            true => &aside.after,
            false => &aside.before,
        };
        match std::fs::read_to_string(&aside.path) {
            Ok(here) if here == aside.base || here == aside.landed => {
                write_atomically(&RealDisk, &aside.path, text.as_bytes(), None)
                    .map_err(Error::File)?;
            }
            Ok(here) if here == *text || here == aside.before => {}
            Ok(_) | Err(_) => {
                let commit = at.as_ref().unwrap_or(&aside.new);
                let tree = self.with_plan(commit, &aside.plan, &aside.before)?;
                self.keep_tree(&tree, commit, &aside.path, "plan")?;
            }
        }
        self.forget_aside()
    }

    fn forget_aside(&self) -> Result<(), Error> {
        std::fs::remove_file(self.side.join(PLAN_ASIDE_FILE))
            .map_err(|error| git_error("remove the record of a plan", &error))
    }

    /// Restores the text of the plan that a killed run had set aside.
    pub(super) fn restore_left_edits(&self) -> Result<(), Error> {
        let record = std::fs::read(self.side.join(PLAN_ASIDE_FILE)).unwrap_or_default();
        match serde_json::from_slice::<PlanAside>(&record) {
            Ok(aside) => self.restore_edits(&aside),
            Err(_) => Ok(()),
        }
    }
}

/// True if a text lacks a line of an earlier one. Layout and check boxes do not count: formatters
/// and ticks change them.
fn loses_text(before: &str, after: &str) -> bool {
    let letters = |text: &str| -> String {
        let text = text.replace("[x]", "").replace("[X]", "");
        text.chars().filter(|it| it.is_alphanumeric()).collect()
    };
    let after = letters(after);
    before.lines().any(|line| !after.contains(&letters(line)))
}

#[cfg(test)]
mod tests {
    use super::loses_text;

    #[test]
    fn layout_boxes_and_more_text_lose_nothing() {
        let before = "Its text,\nin two lines.\n- [ ] a step\n| a | b |\n";
        for after in [
            "Its text, in two lines.\n* [x] a step\n|a  |b  |\n",
            "Its text,\nin two lines, and more.\n- [X] a step, done\n| a | b |\n",
        ] {
            assert!(!loses_text(before, after), "{after}");
        }
        for after in ["", "Its text,\nin one line.\n- [ ] a step\n| a | b |\n"] {
            assert!(loses_text(before, after), "{after}");
        }
    }
}
