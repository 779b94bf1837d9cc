//! Regenerates files that a command makes from the rest of the tree, such as lock files of
//! packages. If both sides of a merge changed one, it is generated again and never merged.

use super::RunRepo;
use crate::core::failure::FailureReason;
use bowline_engine::Error;
use bowline_engine::git::Git;
use std::path::Path;

/// A tree with current generated files, or the failure of the command.
pub(super) enum RegeneratedTree {
    Tree(String),
    Failed(FailureReason),
}

impl RunRepo {
    /// Returns the path of a project's file, relative to the top of the repository.
    fn path_from_top(&self, file: &str) -> String {
        self.prefix.join(file).to_string_lossy().into_owned()
    }

    /// True if a command generates this file.
    pub(super) fn is_generated(&self, path: &str) -> bool {
        let rules = self.settings.orchestrate.regenerate.iter();
        let mut files = rules.flat_map(|rule| &rule.files);
        files.any(|file| self.path_from_top(file) == path)
    }

    /// Generates files again that both sides of a merge changed. With `anyway`, also those that
    /// only the second side changed: an earlier merge may have left them as the other side had
    /// them.
    pub(super) fn regenerate_files(
        &self,
        tree: &str,
        base: &str,
        sides: [&str; 2],
        anyway: bool,
    ) -> Result<RegeneratedTree, Error> {
        let mut tree = tree.to_owned();
        for rule in &self.settings.orchestrate.regenerate {
            let mut due = false;
            for file in &rule.files {
                let path = self.path_from_top(file);
                let before = self.blob_in(base, &path)?;
                let [one, other] = [
                    self.blob_in(sides[0], &path)?,
                    self.blob_in(sides[1], &path)?,
                ];
                let changed = [one != before, other != before];
                due |= one != other && (changed == [true, true] || (anyway && changed[1]));
            }
            if !due || rule.command.is_empty() {
                continue;
            }
            // The command starts from the landed files: it may keep to versions chosen there.
            let paths: Vec<String> = rule
                .files
                .iter()
                .map(|file| self.path_from_top(file))
                .collect();
            let landed = paths.iter().map(|path| {
                let blob = self.blob_in(sides[0], path)?;
                Ok::<_, Error>((path.as_str(), blob))
            });
            let landed = landed.collect::<Result<Vec<_>, Error>>()?;
            let begin = self.with_files(&tree, &landed)?;
            let commit = self.commit_tree(&begin, &[sides[0]], "to be made anew", None)?;
            let place = self.check_out_commit(&commit)?;
            if let Some(why) = self.run_project_command(&rule.command, &place)? {
                return Ok(RegeneratedTree::Failed(why));
            }
            let mut made = Vec::new();
            for path in &paths {
                let blob = match place.join(path).is_file() {
                    true => Some(self.git.in_folder(&place).output_text(&[
                        "hash-object",
                        "-w",
                        "--",
                        path,
                    ])?),
                    false => None,
                };
                made.push((path.as_str(), blob));
            }
            tree = self.with_files(&begin, &made)?;
        }
        Ok(RegeneratedTree::Tree(tree))
    }

    /// Takes generated files out of a conflict in a worktree: they get the other side's version,
    /// and are generated again if that is possible.
    pub(super) fn regenerate_conflicts(&self, git: &Git, room: &Path) -> Result<(), Error> {
        let unmerged = git.output_text(&["diff", "--name-only", "--diff-filter=U", "-z"])?;
        let unmerged: Vec<&str> = unmerged
            .split('\0')
            .filter(|path| self.is_generated(path))
            .collect();
        if unmerged.is_empty() {
            return Ok(());
        }
        for rule in &self.settings.orchestrate.regenerate {
            let paths = rule.files.iter().map(|file| self.path_from_top(file));
            let paths: Vec<String> = paths.filter(|path| unmerged.contains(&&**path)).collect();
            for path in &paths {
                // A file that the other side removed cannot be checked out.
                git.run(&["checkout", "--theirs", "--", path])?;
            }
            // It may fail while other files are in conflict; then the landing does it.
            if !paths.is_empty() && !rule.command.is_empty() {
                self.run_project_command(&rule.command, room)?;
            }
            for path in &paths {
                git.output_text(&["add", "--all", "--", path])?;
            }
        }
        Ok(())
    }
}
