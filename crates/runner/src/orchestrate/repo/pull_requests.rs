//! Lands by pull request, for branches that reject pushes. The task's branch is pushed, the host's
//! command opens the pull request, and the results of checks and reviews go back to the agent.

use super::land::BranchMove;
use super::remedies::first_lines;
use super::{RunRepo, TaskPlace, git_error};
use crate::core::failure::FailureReason;
use crate::core::shell_quoted;
use crate::orchestrate::ports::LandOutcome;
use bowline_engine::Error;
use bowline_engine::formats::run_settings::PullRequestSettings;
use bowline_engine::statefiles::{ContentHash, RealDisk, write_atomically};
use bowline_words::message::Reason;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Default remote that branches are pushed to.
const DEFAULT_REMOTE: &str = "origin";
const CREATE_COMMAND: [&str; 11] = [
    "gh",
    "pr",
    "create",
    "--head",
    "{branch}",
    "--base",
    "{base}",
    "--title",
    "{title}",
    "--body-file",
    "{body_file}",
];
const VIEW_COMMAND: [&str; 6] = [
    "gh",
    "pr",
    "view",
    "{branch}",
    "--json",
    "number,state,url,statusCheckRollup,reviews,comments",
];
/// Default command for review comments on single lines; `gh` itself fills in owner and repository.
const COMMENTS_COMMAND: [&str; 4] = [
    "gh",
    "api",
    "--paginate",
    "repos/{owner}/{repo}/pulls/{number}/comments",
];
const LOGS_COMMAND: [&str; 5] = ["gh", "run", "view", "{run}", "--log-failed"];
/// Conclusions of a check that count as failures.
const FAILED_CONCLUSIONS: [&str; 6] = [
    "FAILURE",
    "ERROR",
    "TIMED_OUT",
    "STARTUP_FAILURE",
    "ACTION_REQUIRED",
    "CANCELLED",
];
/// Number of words shown of a command that failed.
const SHOWN_WORDS: usize = 3;
/// Maximum length of a check's log; its end is kept.
const LOG_BYTES_MAX: usize = 3 << 10;

/// Remote and commands for pull requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequestCommands {
    remote: String,
    create: Vec<String>,
    view: Vec<String>,
    /// Empty if the host has no comments on lines.
    remarks: Vec<String>,
    logs: Vec<String>,
}

impl PullRequestCommands {
    /// Takes the commands from the settings, with the ones of GitHub as defaults.
    pub fn from_settings(settings: &PullRequestSettings) -> PullRequestCommands {
        let or = |words: &Vec<String>, usual: &[&str]| match words.is_empty() {
            true => usual.iter().map(|&word| word.to_owned()).collect(),
            false => words.clone(),
        };
        // Another host than GitHub has other commands for these, or none.
        let usual: &[&str] = match settings.view.is_empty() {
            true => &COMMENTS_COMMAND,
            false => &[],
        };
        PullRequestCommands {
            remarks: or(&settings.remarks, usual),
            remote: settings
                .remote
                .clone()
                .unwrap_or_else(|| DEFAULT_REMOTE.into()),
            create: or(&settings.create, &CREATE_COMMAND),
            view: or(&settings.view, &VIEW_COMMAND),
            logs: or(&settings.logs, &LOGS_COMMAND),
        }
    }
}

/// The last state of a pull request that the agent has seen.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct SeenPullRequest {
    /// The agent's commit.
    head: String,
    /// Keys of the review comments that went back to the agent.
    #[serde(rename = "told")]
    returned: BTreeSet<String>,
}

/// State of a pull request, as `gh pr view --json` prints it.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct PullRequestView {
    number: u64,
    state: String,
    url: String,
    status_check_rollup: Vec<PullRequestCheck>,
    reviews: Vec<ReviewComment>,
    comments: Vec<ReviewComment>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct PullRequestCheck {
    name: Option<String>,
    context: Option<String>,
    conclusion: Option<String>,
    state: Option<String>,
    details_url: Option<String>,
}

impl PullRequestCheck {
    fn has_failed(&self) -> bool {
        let end = self.conclusion.as_deref().or(self.state.as_deref());
        end.is_some_and(|end| FAILED_CONCLUSIONS.contains(&end))
    }

    /// Returns the number of the workflow run behind the check.
    fn workflow_run(&self) -> Option<&str> {
        let (_, rest) = self.details_url.as_deref()?.split_once("/runs/")?;
        let run = rest.split('/').next()?;
        let digits = !run.is_empty() && run.bytes().all(|byte| byte.is_ascii_digit());
        digits.then_some(run)
    }
}

/// A review comment; with file and line if it is about one.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ReviewComment {
    id: Value,
    #[serde(alias = "user")]
    author: CommentAuthor,
    body: String,
    path: Option<String>,
    line: Option<u64>,
    original_line: Option<u64>,
}

impl ReviewComment {
    /// Returns the key of the comment: its id, or else a hash of its text.
    fn comment_key(&self) -> String {
        match &self.id {
            Value::String(id) => id.clone(),
            Value::Number(id) => id.to_string(),
            _ => ContentHash::of_bytes(self.render_comment().as_bytes()).to_string(),
        }
    }

    fn render_comment(&self) -> String {
        let (login, body) = (&self.author.login, self.body.trim());
        // A line that a later push removed has only its old number.
        match (&self.path, self.line.or(self.original_line)) {
            (Some(path), Some(line)) => format!("{login} at {path}:{line}: {body}"),
            (Some(path), None) => format!("{login} at {path}: {body}"),
            (None, _) => format!("{login}: {body}"),
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CommentAuthor {
    login: String,
}

impl RunRepo {
    /// Opens the pull request of a task, or checks its state. A task that has landed before is
    /// done.
    pub(super) fn propose_task(
        &self,
        task: &TaskPlace,
        how: &PullRequestCommands,
    ) -> Result<LandOutcome, Error> {
        let base = &task.phase.branch;
        let tip = match self.follow_upstream(base, how)? {
            Ok(tip) => tip,
            Err(why) => return Ok(LandOutcome::Blocked { why }),
        };
        if let Some(commit) = self.find_landing(task, &tip)? {
            self.record_landing(&task.id, &commit)?;
            return Ok(LandOutcome::Done);
        }
        let head = match self.collect_work(task) {
            Ok(head) => head,
            Err(landed) => return Ok(landed),
        };
        let known = self.read_seen_state(task);
        if known.head == head {
            return self.evaluate_pull_request(task, how, known);
        }
        let commit = match self.rebase_and_test(task, &tip, &head)? {
            Ok(commit) => commit,
            Err(landed) => return Ok(landed),
        };
        let branch = RunRepo::task_branch(&task.id);
        let to = format!("{commit}:refs/heads/{branch}");
        let end = self
            .git
            .run(&["push", "--quiet", "--force", &how.remote, &to])?;
        if end.code != Some(0) {
            let why = remote_error(how, &end.stderr);
            return Ok(LandOutcome::Blocked { why });
        }
        let open = self
            .view_pull_request(task, how)?
            .is_some_and(|it| it.state == "OPEN");
        if !open {
            // A merge at this very moment takes all of it, or an earlier version.
            if let Ok(tip) = self.follow_upstream(base, how)?
                && let Some(commit) = self.find_landing(task, &tip)?
            {
                self.record_landing(&task.id, &commit)?;
                return Ok(LandOutcome::Done);
            }
            if let Err(why) = self.run_host_command(task, &how.create, &[])? {
                return Ok(LandOutcome::Blocked { why });
            }
        }
        let known = SeenPullRequest { head, ..known };
        self.store_seen_state(task, &known)?;
        self.evaluate_pull_request(task, how, known)
    }

    /// Evaluates the state of a pull request: merge, checks and reviews.
    fn evaluate_pull_request(
        &self,
        task: &TaskPlace,
        how: &PullRequestCommands,
        known: SeenPullRequest,
    ) -> Result<LandOutcome, Error> {
        let Some(seen) = self.view_pull_request(task, how)? else {
            let (id, top) = (task.id.clone(), self.main_checkout().join(&self.prefix));
            let words = self.fill_command(task, &how.create, &[])?;
            let words: Vec<String> = words.iter().map(|word| shell_quoted(word)).collect();
            let (top, words) = (shell_quoted(&top.to_string_lossy()), words.join(" "));
            let command = format!("cd {top} && {words}");
            let why = Reason::ProposalUnknown { id, command }.into();
            return Ok(LandOutcome::Blocked { why });
        };
        if seen.state == "MERGED" {
            let tip = match self.follow_upstream(&task.phase.branch, how)? {
                Ok(tip) => tip,
                Err(why) => return Ok(LandOutcome::Blocked { why }),
            };
            // A host that squashes may drop the trailers: then the merge is somewhere below this
            // tip.
            let commit = self.find_landing(task, &tip)?.unwrap_or(tip);
            self.record_landing(&task.id, &commit)?;
            return Ok(LandOutcome::Done);
        }
        let inline = match self.line_comments(task, how, seen.number)? {
            Ok(remarks) => remarks,
            Err(why) => return Ok(LandOutcome::Blocked { why }),
        };
        let remarks = seen.reviews.iter().chain(&seen.comments).chain(&inline);
        let remarks: Vec<&ReviewComment> = remarks
            .filter(|remark| !remark.body.trim().is_empty())
            .collect();
        let said = |remarks: &[&ReviewComment]| {
            let lines: Vec<String> = remarks.iter().map(|it| it.render_comment()).collect();
            lines.join("\n")
        };
        if seen.state == "CLOSED" {
            let why = FailureReason::with_detail(Reason::ProposalClosed, &said(&remarks));
            return Ok(LandOutcome::Declined { why });
        }
        if let Some(check) = seen
            .status_check_rollup
            .iter()
            .find(|check| check.has_failed())
        {
            let name = check.name.as_deref().or(check.context.as_deref());
            let log = match check.workflow_run() {
                Some(run) => self
                    .run_host_command(task, &how.logs, &[("{run}", run)])?
                    .unwrap_or_else(|why| why.to_string()),
                None => String::new(),
            };
            let from = log.len().saturating_sub(LOG_BYTES_MAX);
            let end = &log[log.ceil_char_boundary(from)..];
            let name = name.unwrap_or_default().to_owned();
            let why = FailureReason::with_detail(Reason::ProposalCheckRed { name }, end);
            // A second look at the same work would give the same result.
            return Ok(LandOutcome::SentBack { why });
        }
        let mut returned = known.returned.clone();
        let news: Vec<&ReviewComment> = remarks
            .into_iter()
            .filter(|remark| returned.insert(remark.comment_key()))
            .collect();
        if !news.is_empty() {
            let why = FailureReason::with_detail(Reason::ProposalRemarks, &said(&news));
            self.store_seen_state(task, &SeenPullRequest { returned, ..known })?;
            return Ok(LandOutcome::SentBack { why });
        }
        Ok(LandOutcome::Proposed { url: seen.url })
    }

    /// Fast-forwards a branch to where its host has it; returns that commit, or what is in the way.
    fn follow_upstream(
        &self,
        branch: &str,
        how: &PullRequestCommands,
    ) -> Result<Result<String, FailureReason>, Error> {
        let there = format!("refs/bowline/upstream/{branch}");
        let what = format!("+refs/heads/{branch}:{there}");
        let end = self
            .git
            .run(&["fetch", "--quiet", "--no-tags", &how.remote, &what])?;
        if end.code != Some(0) {
            return Ok(Err(remote_error(how, &end.stderr)));
        }
        let there = self.git.output_text(&["rev-parse", "--verify", &there])?;
        let here = self.branch_tip(branch)?;
        let ancestor = |one: &str, other: &str| {
            self.git
                .exits_zero(&["merge-base", "--is-ancestor", one, other])
        };
        // Local commits that are not pushed are left alone.
        if here == there || ancestor(&there, &here)? {
            return Ok(Ok(there));
        }
        if !ancestor(&here, &there)? {
            let command = self.merge_onto_command(branch, &[&there])?;
            let (branch, remote) = (branch.to_owned(), how.remote.clone());
            let why = Reason::BranchApart {
                branch,
                remote,
                command,
            };
            return Ok(Err(why.into()));
        }
        Ok(match self.move_branch(branch, &here, &there)? {
            BranchMove::Done => Ok(there),
            BranchMove::Elsewhere => {
                let branch = branch.to_owned();
                Err(Reason::BranchMoves { branch }.into())
            }
            BranchMove::Blocked(why) => Err(why),
        })
    }

    /// Returns the review comments on single lines.
    fn line_comments(
        &self,
        task: &TaskPlace,
        how: &PullRequestCommands,
        number: u64,
    ) -> Result<Result<Vec<ReviewComment>, FailureReason>, Error> {
        if how.remarks.is_empty() {
            return Ok(Ok(Vec::new()));
        }
        let text = match self.run_host_command(
            task,
            &how.remarks,
            &[("{number}", &number.to_string())],
        )? {
            Ok(text) => text,
            Err(why) => return Ok(Err(why)),
        };
        // Each page is a list of its own.
        let pages = serde_json::Deserializer::from_str(&text).into_iter::<Vec<ReviewComment>>();
        Ok(pages
            .collect::<Result<Vec<_>, _>>()
            .map(|pages| pages.into_iter().flatten().collect())
            .map_err(|error| {
                let program = how.remarks.join(" ");
                let said = error.to_string();
                Reason::ProgramFailed { program, said }.into()
            }))
    }

    fn view_pull_request(
        &self,
        task: &TaskPlace,
        how: &PullRequestCommands,
    ) -> Result<Option<PullRequestView>, Error> {
        let text = self.run_host_command(task, &how.view, &[])?;
        Ok(text.ok().and_then(|text| serde_json::from_str(&text).ok()))
    }

    /// Fills the placeholders of a command of the host for a task.
    fn fill_command(
        &self,
        task: &TaskPlace,
        words: &[String],
        more: &[(&str, &str)],
    ) -> Result<Vec<String>, Error> {
        let title = super::land::commit_title(task);
        let body = format!("Task {} of a plan, by Bowline.\n", task.id);
        let body = self.write_scratch_file("pull-request.md", body.as_bytes())?;
        let fill = |word: &String| {
            let word = word
                .replace("{branch}", &RunRepo::task_branch(&task.id))
                .replace("{base}", &task.phase.branch)
                .replace("{body_file}", &body.to_string_lossy());
            let filled = more
                .iter()
                .fold(word, |word, (name, value)| word.replace(name, value));
            // Last: a title may contain any of the other placeholders.
            filled.replace("{title}", &title)
        };
        Ok(words.iter().map(fill).collect())
    }

    /// Runs a command of the host; returns what it printed, or the end of its output if it failed.
    fn run_host_command(
        &self,
        task: &TaskPlace,
        words: &[String],
        more: &[(&str, &str)],
    ) -> Result<Result<String, FailureReason>, Error> {
        let words = self.fill_command(task, words, more)?;
        let printed = self.write_scratch_file("printed", b"")?;
        let line: Vec<String> = words.iter().map(|word| shell_quoted(word)).collect();
        // Redirected as a whole: of a command's output only the end is kept.
        let line = format!(
            "{} >{}",
            line.join(" "),
            shell_quoted(&printed.to_string_lossy())
        );
        let shell = ["sh", "-c", &line].map(str::to_owned);
        let ended = self.run_project_command(&shell, &self.main_checkout())?;
        let text = std::fs::read(&printed).map_err(|error| git_error("read an answer", &error))?;
        let text = String::from_utf8_lossy(&text).into_owned();
        Ok(match ended {
            None => Ok(text),
            Some(why) => {
                let reason = match why.reason {
                    Reason::CommandEnded { code, .. } => Reason::CommandEnded {
                        command: words[..words.len().min(SHOWN_WORDS)].join(" "),
                        code,
                    },
                    other => other,
                };
                Err(FailureReason::with_detail(
                    reason,
                    &format!("{text}{}", why.detail),
                ))
            }
        })
    }

    fn seen_state_path(&self, task: &TaskPlace) -> PathBuf {
        let name = format!("{}.json", RunRepo::task_name(&task.id));
        self.side.join("proposals").join(name)
    }

    fn read_seen_state(&self, task: &TaskPlace) -> SeenPullRequest {
        let text = std::fs::read(self.seen_state_path(task)).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    fn store_seen_state(&self, task: &TaskPlace, proposal: &SeenPullRequest) -> Result<(), Error> {
        let text = serde_json::to_vec(proposal).unwrap_or_default();
        write_atomically(&RealDisk, &self.seen_state_path(task), &text, None).map_err(Error::File)
    }
}

/// Describes the error of the host to a push or a fetch.
fn remote_error(how: &PullRequestCommands, said: &str) -> FailureReason {
    let program = format!("git ({})", how.remote);
    let said = first_lines(said);
    Reason::ProgramFailed { program, said }.into()
}
