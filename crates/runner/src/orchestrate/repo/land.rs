//! Lands tasks on the branch of their phase, and phases on the target branch. The tree that is
//! tested is exactly the tree that lands.

use super::git_trees::{TreeMerge, only_ticked, with_ticks};
use super::regenerate::RegeneratedTree;
use super::remedies::obstacle_reason;
use super::worktrees::is_worktree_error;
use super::{PhasePlace, RunRepo, TaskPlace};
use crate::core::failure::FailureReason;
use crate::orchestrate::ports::{FileOverlap, LandOutcome, PhaseOutcome};
use bowline_engine::Error;
use bowline_engine::machines::orchestrate::{COMMIT_CHARS, PhaseEnd};
use bowline_words::message::{Label, Reason};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Maximum number of tries to land on a branch that moves meanwhile.
const TRIES_MAX: usize = 5;
/// Maximum length of the conflict hunks that reach the agent.
const HUNK_BYTES_MAX: usize = 16 << 10;

/// The outcome of moving a branch.
pub(super) enum BranchMove {
    Done,
    /// The branch is not at the expected commit.
    Elsewhere,
    Blocked(FailureReason),
}

impl RunRepo {
    /// Lands a task on the branch of its phase. A task that has landed before is done. Work on
    /// files that other tasks reserved waits for these.
    pub fn land_task(
        &self,
        task: &TaskPlace,
        reserved: &[FileOverlap],
    ) -> Result<LandOutcome, Error> {
        if let Some(how) = &self.settings.pull_requests {
            return self.propose_task(task, how);
        }
        self.ensure_phase_branch(&task.phase)?;
        for _ in 0..TRIES_MAX {
            let tip = self.branch_tip(&task.phase.branch)?;
            if let Some(commit) = self.find_landing(task, &tip)? {
                self.record_landing(&task.id, &commit)?;
                return Ok(LandOutcome::Done);
            }
            let head = match self.collect_work(task) {
                Ok(head) => head,
                Err(landed) => return Ok(landed),
            };
            let by = self.reserved_by(&tip, &head, reserved)?;
            if !by.is_empty() {
                return Ok(LandOutcome::Held { by });
            }
            let commit = match self.rebase_and_test(task, &tip, &head)? {
                Ok(commit) => commit,
                Err(landed) => return Ok(landed),
            };
            match self.move_branch(&task.phase.branch, &tip, &commit)? {
                BranchMove::Done => {
                    self.record_landing(&task.id, &commit)?;
                    self.update_phase_worktree(&task.phase)?;
                    return Ok(LandOutcome::Done);
                }
                BranchMove::Elsewhere => {}
                BranchMove::Blocked(why) => return Ok(LandOutcome::Blocked { why }),
            }
        }
        let branch = task.phase.branch.clone();
        let why = Reason::BranchRuns { branch }.into();
        Ok(LandOutcome::Blocked { why })
    }

    /// Returns the reservations of others that a task's work would touch, each with the files.
    fn reserved_by(
        &self,
        tip: &str,
        head: &str,
        reserved: &[FileOverlap],
    ) -> Result<Vec<FileOverlap>, Error> {
        if reserved.is_empty() {
            return Ok(Vec::new());
        }
        let range = format!("{tip}...{head}");
        let end = self
            .git
            .run(&["diff", "--name-only", "--no-renames", "-z", &range])?;
        let changed: BTreeSet<&str> = end.stdout.split('\0').collect();
        let touched = reserved.iter().map(|other| {
            let settled =
                |path: &str| self.plan.as_deref() == Some(path) || self.is_generated(path);
            let mut paths = other.paths.clone();
            paths.retain(|path| changed.contains(path.as_str()) && !settled(path));
            FileOverlap {
                with: other.with.clone(),
                paths,
            }
        });
        Ok(touched.filter(|it| !it.paths.is_empty()).collect())
    }

    /// Commits what the agent left uncommitted, keeps its commits on hidden refs and returns the
    /// last one, or the outcome that prevents a landing. The agent repairs an error of git in its
    /// worktree; for a lock of others the landing waits.
    pub(super) fn collect_work(&self, task: &TaskPlace) -> Result<String, LandOutcome> {
        let committed = self.commit_rest(task);
        let head = committed.and_then(|rest| match rest {
            Ok(()) => self.keep_head(task).map(Ok),
            Err(why) => Ok(Err(why)),
        });
        match head {
            Ok(Ok(head)) => Ok(head),
            Ok(Err(why)) => Err(match why.reason {
                Reason::NoWorktree { .. } | Reason::BadModules { .. } => {
                    LandOutcome::Broken { why }
                }
                _ => LandOutcome::Unfit { why },
            }),
            Err(error) => {
                let why = self.explain_error(&error);
                Err(match is_worktree_error(&error) {
                    true => LandOutcome::Broken { why },
                    false => LandOutcome::Blocked { why },
                })
            }
        }
    }

    /// Keeps the last commit of a task's branch as its agent made it, and the commits it left
    /// behind; returns the last one.
    fn keep_head(&self, task: &TaskPlace) -> Result<String, Error> {
        let room = self.git.in_folder(&self.worktree_of(&task.id));
        let head = room.output_text(&["rev-parse", "--verify", "HEAD"])?;
        let name = RunRepo::task_name(&task.id);
        self.keep_commit(&name, &head)?;
        self.keep_from_reflog(&room, "HEAD", &name)?;
        Ok(head)
    }

    /// Rebases a task's work onto `tip` and runs the evidence command on the result; returns the
    /// commit, or the outcome that prevents a landing.
    pub(super) fn rebase_and_test(
        &self,
        task: &TaskPlace,
        tip: &str,
        head: &str,
    ) -> Result<Result<String, LandOutcome>, Error> {
        let rebased = self.rebase_task(task, tip, head)?;
        if let (Ok(commit), false) = (&rebased, self.settings.orchestrate.evidence.is_empty()) {
            let place = self.check_out_commit(commit)?;
            if let Some(why) =
                self.run_project_command(&self.settings.orchestrate.evidence, &place)?
            {
                let why = evidence_red(why);
                return Ok(Err(LandOutcome::Red { why }));
            }
        }
        Ok(rebased)
    }

    /// Returns the commit by which a task of this run landed.
    pub(super) fn find_landing(
        &self,
        task: &TaskPlace,
        tip: &str,
    ) -> Result<Option<String>, Error> {
        let patterns = [
            format!("--grep=^Bowline-Task: {}$", escape_grep_pattern(&task.id)),
            format!("--grep=^Bowline-Run: {}$", self.run),
        ];
        let found = self.git.output_text(&[
            "log",
            "--all-match",
            &patterns[0],
            &patterns[1],
            "--format=%H",
            "-1",
            tip,
        ])?;
        Ok((!found.is_empty()).then_some(found))
    }

    /// Rebases a task's commits onto `tip`, ticks the task in the plan and adds its trailers.
    fn rebase_task(
        &self,
        task: &TaskPlace,
        tip: &str,
        head: &str,
    ) -> Result<Result<String, LandOutcome>, Error> {
        let end = self.git.run(&["merge-base", tip, head])?;
        let contained = end.stdout;
        let base = match (end.code, self.stacked_on(task, head)?) {
            (Some(0), Some(below)) => below,
            (Some(0), None) => contained.clone(),
            _ => {
                let branch = task.phase.branch.clone();
                let base = format!("refs/bowline/base/{}", RunRepo::task_name(&task.id));
                let command = format!("git reset --soft {base}");
                let why = Reason::NothingInCommon { branch, command }.into();
                return Ok(Err(LandOutcome::Broken { why }));
            }
        };
        let commits = self.git.output_text(&[
            "rev-list",
            "--reverse",
            "--topo-order",
            "--parents",
            &format!("{base}..{head}"),
        ])?;
        let commits: Vec<Vec<&str>> = commits
            .lines()
            .map(|line| line.split(' ').collect())
            .collect();
        let straight = commits.iter().all(|line| line.len() == 2);
        let mut series = match straight {
            true => self.replay_commits(tip, &commits)?,
            false => None,
        };
        if series.is_none() {
            // Squash into one commit: if the agent merged, its own commits lie on both sides of the
            // merge.
            let tree = match self.merge_trees(tip, head, None)? {
                TreeMerge::Clean(tree) => tree,
                TreeMerge::Conflict { tree, paths } => {
                    match self.resolve_known_conflicts(&tree, &paths, tip)? {
                        Some(tree) => tree,
                        None => {
                            let hunks = self.conflict_hunks(&tree, &paths)?;
                            let base = contained;
                            return Ok(Err(LandOutcome::Conflict { paths, hunks, base }));
                        }
                    }
                }
            };
            let like = (!commits.is_empty()).then(|| head.to_owned());
            series = Some((tip.to_owned(), tree, commit_title(task), like));
        }
        let Some((parent, tree, message, like)) = series else {
            return Ok(Ok(tip.to_owned()));
        };
        let tree = match self.regenerate_files(&tree, &base, [tip, head], !straight)? {
            RegeneratedTree::Tree(tree) => tree,
            RegeneratedTree::Failed(why) => return Ok(Err(LandOutcome::Red { why })),
        };
        if let Some(why) = self.plan_damage(task, tip, &tree)? {
            return Ok(Err(LandOutcome::Unfit { why: why.into() }));
        }
        let tree = self.with_ticked_plan(&tree, &[&task.id])?;
        let tree = self.without_conflicting_plan(&task.phase.branch, tip, &tree)?;
        let message = format!(
            "{}\n\nBowline-Task: {}\nBowline-Run: {}\n",
            message.trim_end(),
            task.id,
            self.run
        );
        let commit = self.commit_tree(&tree, &[&parent], &message, like.as_deref())?;
        Ok(Ok(commit))
    }

    /// Returns the work of another task that a task was started on and that is not its own.
    fn stacked_on(&self, task: &TaskPlace, head: &str) -> Result<Option<String>, Error> {
        let name = format!("refs/bowline/stack/{}", RunRepo::task_name(&task.id));
        let Some(below) = self.git.resolve_commit(&name)? else {
            return Ok(None);
        };
        let below_it = self
            .git
            .exits_zero(&["merge-base", "--is-ancestor", &below, head])?;
        Ok(below_it.then_some(below))
    }

    /// Replays a linear series of commits onto `tip`. Returns the parent, tree and message of
    /// the last commit, which is not created yet, and the commit to take its author from; none if
    /// a commit conflicts.
    #[expect(
        clippy::type_complexity,
        reason = "the parts of one commit that is not made yet"
    )]
    fn replay_commits(
        &self,
        tip: &str,
        commits: &[Vec<&str>],
    ) -> Result<Option<(String, String, String, Option<String>)>, Error> {
        let mut parent = tip.to_owned();
        let mut last: Option<(String, String, String)> = None;
        for line in commits {
            if let Some((tree, message, like)) = last.take() {
                parent = self.commit_tree(&tree, &[&parent], &message, Some(&like))?;
            }
            let (commit, before) = (line[0], line[1]);
            let tree = match self.merge_trees(&parent, commit, Some(before))? {
                TreeMerge::Clean(tree) => tree,
                TreeMerge::Conflict { tree, paths } => {
                    match self.resolve_known_conflicts(&tree, &paths, tip)? {
                        Some(tree) => tree,
                        None => return Ok(None),
                    }
                }
            };
            let message = self
                .git
                .output_text(&["log", "-1", "--format=%B", commit])?;
            last = Some((tree, message, commit.to_owned()));
        }
        Ok(last.map(|(tree, message, like)| (parent, tree, message, Some(like))))
    }

    /// Resolves conflicts in the plan and in generated files. Each takes the landed version: the
    /// landing ticks the plan, and generated files are generated again afterwards. Returns none if
    /// other files conflict.
    fn resolve_known_conflicts(
        &self,
        tree: &str,
        paths: &[String],
        tip: &str,
    ) -> Result<Option<String>, Error> {
        let mut files = Vec::new();
        for path in paths {
            if self.plan.as_ref() != Some(path) && !self.is_generated(path) {
                return Ok(None);
            }
            files.push((path.as_str(), self.blob_in(tip, path)?));
        }
        self.with_files(tree, &files).map(Some)
    }

    /// Renders the conflict hunks file by file.
    fn conflict_hunks(&self, tree: &str, paths: &[String]) -> Result<String, Error> {
        let mut out = String::new();
        for path in paths {
            let Some(text) = self.file_in(tree, path)? else {
                out.push_str(&format!("--- {path}: one side removed it\n"));
                continue;
            };
            let mut inside = false;
            out.push_str(&format!("--- {path}\n"));
            for line in text.lines() {
                inside |= line.starts_with("<<<<<<< ");
                if inside {
                    out.push_str(line);
                    out.push('\n');
                }
                inside &= !line.starts_with(">>>>>>> ");
            }
            if out.len() > HUNK_BYTES_MAX {
                out.truncate(out.floor_char_boundary(HUNK_BYTES_MAX));
                out.push_str("\n…\n");
                break;
            }
        }
        Ok(out)
    }

    /// Checks out a commit in the run's own worktree for checks. Ignored files stay from the last
    /// time: they may be costly to make.
    pub(super) fn check_out_commit(&self, commit: &str) -> Result<PathBuf, Error> {
        let place = self.side.join("landing");
        let git = self.git.in_folder(&place);
        if !self.is_our_worktree(&place)? {
            // Half made, and used by this run alone.
            let _ = std::fs::remove_dir_all(&place);
            self.remove_worktree_entry(&place)?;
            let path = place.to_string_lossy();
            self.git.output_text(&[
                "worktree", "add", "--quiet", "--force", "--detach", &path, commit,
            ])?;
        }
        self.run_setup_once(&place)?;
        let own = git.output_text(&["rev-parse", "--absolute-git-dir"])?;
        // Only this thread works here, one commit at a time.
        let _ = std::fs::remove_file(PathBuf::from(own).join("index.lock"));
        git.output_text(&["checkout", "--quiet", "--force", "--detach", commit])?;
        git.output_text(&["clean", "--quiet", "-d", "--force"])?;
        Ok(place)
    }

    /// Moves a branch from an expected commit to one that follows it. A checkout of the branch is
    /// updated if no local changes are in the way.
    pub(super) fn move_branch(
        &self,
        branch: &str,
        old: &str,
        new: &str,
    ) -> Result<BranchMove, Error> {
        let moved = self.move_checked_out(branch, old, new)?;
        if matches!(moved, BranchMove::Done) && branch == self.target {
            self.record_target(new)?;
        }
        Ok(moved)
    }

    fn move_checked_out(&self, branch: &str, old: &str, new: &str) -> Result<BranchMove, Error> {
        let name = format!("refs/heads/{branch}");
        let on_it = self.list_worktrees()?.into_iter();
        let mut on_it = on_it.filter(|(_, on)| on.as_deref() == Some(branch));
        let Some((folder, _)) = on_it.next() else {
            let end = self
                .git
                .run(&["update-ref", "-m", "bowline: landed", &name, new, old])?;
            return Ok(match end.code {
                Some(0) => BranchMove::Done,
                _ if self.git.resolve_commit(&name)?.as_deref() != Some(old) => {
                    BranchMove::Elsewhere
                }
                _ => BranchMove::Blocked(obstacle_reason(&self.main_checkout(), &end.stderr)),
            });
        };
        let git = self.git.in_folder(&folder);
        if git.resolve_commit("HEAD")?.as_deref() != Some(old) {
            return Ok(BranchMove::Elsewhere);
        }
        let aside = self.set_edits_aside(&folder, branch, old, new)?;
        let merge = ["merge", "--quiet", "--ff-only", "--no-autostash", new];
        let merged = git.run(&merge).and_then(|end| {
            let again = end.code != Some(0) && self.undo_half_merge(&folder, old, new)?;
            if again { git.run(&merge) } else { Ok(end) }
        });
        if let Some(aside) = aside {
            self.restore_edits(&aside)?;
        }
        let end = merged?;
        Ok(match (end.code, self.git.resolve_commit(&name)?) {
            (_, Some(now)) if now == new => BranchMove::Done,
            (_, Some(now)) if now != old => BranchMove::Elsewhere,
            _ => BranchMove::Blocked(obstacle_reason(&folder, &end.stderr)),
        })
    }

    /// Lands a complete phase on the target branch: merged, checked as merged, and landed.
    pub fn land_phase(&self, phase: &PhasePlace, title: &str) -> Result<PhaseOutcome, Error> {
        for _ in 0..TRIES_MAX {
            let tip = self.branch_tip(&self.target)?;
            if phase.branch == self.target {
                return match self.run_checks(&tip)? {
                    Some(why) => Ok(phase_checks_red(why)),
                    None => Ok(phase_merged(&tip)),
                };
            }
            self.ensure_phase_branch(phase)?;
            let work = self.branch_tip(&phase.branch)?;
            if self
                .git
                .exits_zero(&["merge-base", "--is-ancestor", &work, &tip])?
            {
                self.remove_phase_worktree(phase)?;
                return Ok(phase_merged(&self.find_merge(&work, &tip)?));
            }
            let end = self.git.run(&["merge-base", &tip, &work])?;
            let base = end.success()?.map(|end| end.stdout);
            let tree = match self.merge_trees(&tip, &work, None)? {
                TreeMerge::Clean(tree) => tree,
                TreeMerge::Conflict { tree, paths } => {
                    match self.resolve_phase_conflicts(
                        &tree,
                        &paths,
                        base.as_deref(),
                        [&tip, &work],
                    )? {
                        Some(tree) => tree,
                        None => {
                            let paths = paths.join(", ");
                            return Ok(PhaseOutcome::Ended {
                                end: PhaseEnd::Conflict,
                                why: Some(Reason::Conflict { paths }.into()),
                            });
                        }
                    }
                }
            };
            let tree = match &base {
                Some(base) => match self.regenerate_files(&tree, base, [&tip, &work], false)? {
                    RegeneratedTree::Tree(tree) => tree,
                    RegeneratedTree::Failed(why) => return Ok(phase_checks_red(why)),
                },
                None => tree,
            };
            // A task added to the plan after its phase began could not be ticked on the phase's
            // branch.
            let trailers = "--format=%(trailers:key=Bowline-Task,valueonly)";
            let landed = self
                .git
                .output_text(&["log", trailers, &format!("{tip}..{work}")])?;
            let landed: Vec<&str> = landed.lines().filter(|id| !id.is_empty()).collect();
            let tree = self.with_ticked_plan(&tree, &landed)?;
            let tree = self.without_conflicting_plan(&self.target, &tip, &tree)?;
            let number = phase.number;
            let done = Label::PhaseComplete.say(self.settings.lang);
            let head = match title {
                "" => format!("Phase {number} {done}"),
                title => format!("Phase {number} {done}: {title}"),
            };
            let message = format!(
                "{head}\n\nBowline-Phase: {number}\nBowline-Run: {}\n",
                self.run
            );
            let commit = self.commit_tree(&tree, &[&tip, &work], &message, None)?;
            if let Some(why) = self.run_checks(&commit)? {
                return Ok(phase_checks_red(why));
            }
            match self.move_branch(&self.target, &tip, &commit)? {
                BranchMove::Done => {
                    self.remove_phase_worktree(phase)?;
                    return Ok(phase_merged(&commit));
                }
                BranchMove::Elsewhere => {}
                BranchMove::Blocked(why) => return Ok(PhaseOutcome::Blocked { why }),
            }
        }
        let branch = self.target.clone();
        let why = Reason::BranchRuns { branch }.into();
        Ok(PhaseOutcome::Blocked { why })
    }

    /// Resolves the conflicts of a phase with the target branch. If one side only ticked tasks in
    /// the plan, they are ticked in the other side's text.
    fn resolve_phase_conflicts(
        &self,
        tree: &str,
        paths: &[String],
        base: Option<&str>,
        [tip, work]: [&str; 2],
    ) -> Result<Option<String>, Error> {
        let Some(tree) = self.resolve_known_conflicts(tree, paths, tip)? else {
            return Ok(None);
        };
        let (Some(plan), Some(base)) = (&self.plan, base) else {
            return Ok(Some(tree));
        };
        let plan = plan.as_str();
        let (Some(base), Some(tip), Some(work)) = (
            self.file_in(base, plan)?,
            self.file_in(tip, plan)?,
            self.file_in(work, plan)?,
        ) else {
            return Ok(Some(tree));
        };
        for (ticked, other) in [(&work, &tip), (&tip, &work)] {
            if let Some(ids) = only_ticked(&base, ticked) {
                let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
                let text = with_ticks(other, &ids);
                return self.with_plan(&tree, plan, &text).map(Some);
            }
        }
        // Both sides changed more of the plan: a person has to resolve it.
        match paths.iter().any(|path| path == plan) {
            true => Ok(None),
            false => Ok(Some(tree)),
        }
    }

    /// Returns the merge by which work came onto the target branch, or else the tip.
    fn find_merge(&self, work: &str, tip: &str) -> Result<String, Error> {
        let merges =
            self.git
                .output_text(&["rev-list", "--merges", "--parents", "-n", "200", tip])?;
        let found = merges.lines().find_map(|line| {
            let mut words = line.split(' ');
            let commit = words.next()?;
            words.skip(1).any(|parent| parent == work).then_some(commit)
        });
        Ok(found.unwrap_or(tip).to_owned())
    }

    fn run_checks(&self, commit: &str) -> Result<Option<FailureReason>, Error> {
        if self.settings.orchestrate.checks.is_empty() {
            return Ok(None);
        }
        let place = self.check_out_commit(commit)?;
        for check in &self.settings.orchestrate.checks {
            if let Some(why) = self.run_project_command(check, &place)? {
                return Ok(Some(check_red(why)));
            }
        }
        Ok(None)
    }

    fn remove_phase_worktree(&self, phase: &PhasePlace) -> Result<(), Error> {
        match &phase.folder {
            Some(folder) if folder.is_dir() => {
                self.remove_worktree(folder, &phase.branch).map(drop)
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Removes the worktree for checks at the end of a run.
    pub fn remove_check_worktree(&self) -> Result<(), Error> {
        let place = self.side.join("landing");
        if !place.is_dir() {
            return Ok(());
        }
        // Files that commands left there can be made again.
        self.remove_worktree_entry(&place)?.into_stdout()?;
        self.release_ports(&place)
    }
}

pub(super) fn commit_title(task: &TaskPlace) -> String {
    let text = format!("{}: {}", task.id, task.title);
    text.trim_end_matches([':', ' ']).to_owned()
}

fn phase_merged(commit: &str) -> PhaseOutcome {
    PhaseOutcome::Ended {
        end: PhaseEnd::Merged {
            commit: commit.chars().take(COMMIT_CHARS).collect::<String>().into(),
        },
        why: None,
    }
}

fn phase_checks_red(why: FailureReason) -> PhaseOutcome {
    PhaseOutcome::Ended {
        end: PhaseEnd::ChecksRed,
        why: Some(why),
    }
}

/// Names the evidence command as the one that failed.
pub(in crate::orchestrate) fn evidence_red(why: FailureReason) -> FailureReason {
    match why.reason {
        Reason::CommandEnded { command, code } => FailureReason {
            reason: Reason::EvidenceRed { command, code },
            ..why
        },
        _ => why,
    }
}

/// Names a check of a phase as the command that failed.
pub(in crate::orchestrate) fn check_red(why: FailureReason) -> FailureReason {
    match why.reason {
        Reason::CommandEnded { command, code } => FailureReason {
            reason: Reason::CheckRed { command, code },
            ..why
        },
        _ => why,
    }
}

/// Escapes an id for the regular expression of `git log --grep`.
fn escape_grep_pattern(id: &str) -> String {
    let mut out = String::new();
    for letter in id.chars() {
        if "\\.[]*^$".contains(letter) {
            out.push('\\');
        }
        out.push(letter);
    }
    out
}
