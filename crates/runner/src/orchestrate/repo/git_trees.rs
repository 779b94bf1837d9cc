//! Creates trees and commits without a checkout.

use super::{RunRepo, git_error};
use bowline_engine::Error;
use bowline_engine::formats::tasks_md::{self, set_ticks};

/// The outcome of merging two trees.
pub(super) enum TreeMerge {
    Clean(String),
    Conflict {
        /// The tree with conflict markers in it.
        tree: String,
        paths: Vec<String>,
    },
}

impl RunRepo {
    /// Merges two commits; with a base, only what the second one changed since.
    pub(super) fn merge_trees(
        &self,
        ours: &str,
        theirs: &str,
        base: Option<&str>,
    ) -> Result<TreeMerge, Error> {
        let base = base.map(|base| format!("--merge-base={base}"));
        let mut arguments = vec![
            "merge-tree",
            "--write-tree",
            "--name-only",
            "--no-messages",
            "-z",
        ];
        arguments.extend(base.as_deref());
        arguments.extend([ours, theirs]);
        let end = self.git.run(&arguments)?;
        let mut fields = end.stdout.split('\0').filter(|field| !field.is_empty());
        match (end.code, fields.next()) {
            (Some(0), Some(tree)) => Ok(TreeMerge::Clean(tree.to_owned())),
            (Some(1), Some(tree)) => Ok(TreeMerge::Conflict {
                tree: tree.to_owned(),
                paths: fields.map(str::to_owned).collect(),
            }),
            _ => end.into_stdout().map(TreeMerge::Clean),
        }
    }

    /// Creates a commit of a tree. With `like`, author and time are taken from that commit.
    pub(super) fn commit_tree(
        &self,
        tree: &str,
        parents: &[&str],
        message: &str,
        like: Option<&str>,
    ) -> Result<String, Error> {
        let file = self.write_scratch_file("message", message.as_bytes())?;
        let file = file.to_string_lossy();
        let mut git = self.git.clone();
        if let Some(like) = like {
            let author = git.output_text(&["log", "-1", "--format=%an%x00%ae%x00%aI", like])?;
            let mut author = author.split('\0');
            for name in ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_AUTHOR_DATE"] {
                if let Some(value) = author.next().filter(|value| !value.is_empty()) {
                    git = git.with_variable(name, value);
                }
            }
        }
        let mut arguments = vec!["commit-tree", tree, "-F", &file];
        for parent in parents {
            arguments.extend(["-p", parent]);
        }
        git.output_text(&arguments)
    }

    /// Returns a tree with other blobs for some files; a file without a blob is removed.
    pub(super) fn with_files(
        &self,
        tree: &str,
        files: &[(&str, Option<String>)],
    ) -> Result<String, Error> {
        let index = self.write_scratch_file("index", b"")?;
        std::fs::remove_file(&index).map_err(|error| git_error("remove a scratch file", &error))?;
        let git = self.git.with_variable("GIT_INDEX_FILE", &index);
        git.output_text(&["read-tree", tree])?;
        for (path, blob) in files {
            match blob {
                Some(blob) => {
                    let entry = format!("100644,{blob},{path}");
                    git.output_text(&["update-index", "--add", "--cacheinfo", &entry])?;
                }
                None => {
                    git.output_text(&["update-index", "--force-remove", "--", path])?;
                }
            }
        }
        git.output_text(&["write-tree"])
    }

    /// Reads a file of a commit or a tree.
    pub(super) fn file_in(&self, tree: &str, path: &str) -> Result<Option<String>, Error> {
        let name = format!("{tree}:{path}");
        let end = self.git.run(&["cat-file", "blob", &name])?;
        Ok(end
            .success()?
            .map(|end| String::from_utf8_lossy(&end.bytes).into_owned()))
    }

    /// Returns the tree with tasks ticked in its plan, if the plan is in it and has them. A plan
    /// that a person is editing is left alone.
    pub(super) fn with_ticked_plan(&self, tree: &str, ids: &[&str]) -> Result<String, Error> {
        let Some(plan) = self.plan.as_deref().filter(|_| self.plan_is_at_rest()) else {
            return Ok(tree.to_owned());
        };
        let Some(text) = self.file_in(tree, plan)? else {
            return Ok(tree.to_owned());
        };
        let ticked = with_ticks(&text, ids);
        if ticked == text {
            return Ok(tree.to_owned());
        }
        self.with_plan(tree, plan, &ticked)
    }

    /// Returns the tree with another text of its plan.
    pub(super) fn with_plan(&self, tree: &str, plan: &str, text: &str) -> Result<String, Error> {
        let file = self.write_scratch_file("plan", text.as_bytes())?;
        let blob = self
            .git
            .output_text(&["hash-object", "-w", "--", &file.to_string_lossy()])?;
        self.with_files(tree, &[(plan, Some(blob))])
    }

    /// True if landings tick the plan.
    pub fn ticks_plan(&self) -> bool {
        self.plan_is_at_rest()
    }

    /// True if the plan in the main checkout is tracked and unchanged.
    pub(super) fn plan_is_at_rest(&self) -> bool {
        let Some(plan) = &self.plan else {
            return false;
        };
        let tracked = self
            .git
            .exits_zero(&["ls-files", "--error-unmatch", "--", plan]);
        let same = self
            .git
            .exits_zero(&["diff", "--quiet", "HEAD", "--", plan]);
        tracked.unwrap_or(false) && same.unwrap_or(false)
    }

    /// Returns the blob of a file in a commit.
    pub(super) fn blob_in(&self, commit: &str, path: &str) -> Result<Option<String>, Error> {
        let name = format!("{commit}:{path}");
        let end = self.git.run(&["rev-parse", "--verify", "--quiet", &name])?;
        Ok(end.success()?.map(|end| end.stdout))
    }
}

/// Ticks tasks in the text of a plan; ids that it does not have are ignored.
pub(super) fn with_ticks(text: &str, ids: &[&str]) -> String {
    let file = tasks_md::parse_plan(text);
    let boxed = |id: &&&str| file.task(id).is_some_and(|task| !task.marks.is_empty());
    let ids = ids.iter().filter(boxed).map(|id| (*id, true));
    set_ticks(text, ids).unwrap_or_else(|_| text.to_owned())
}

/// Returns the tasks that were ticked in a plan, if nothing else of it was changed.
pub(super) fn only_ticked(base: &str, now: &str) -> Option<Vec<String>> {
    let (known, file) = (tasks_md::parse_plan(base), tasks_md::parse_plan(now));
    let ticked = file.tasks.iter().filter(|task| {
        let before = known.task(task.id.as_str());
        task.done && before.is_some_and(|before| !before.done)
    });
    let ticked: Vec<&str> = ticked.map(|task| task.id.as_str()).collect();
    let same = with_ticks(base, &ticked) == now;
    same.then(|| ticked.into_iter().map(str::to_owned).collect())
}
