//! Lands by pull request, for branches that reject pushes. The task's branch is pushed, the host's
//! command opens the pull request, and the results of checks and reviews go back to the agent.

use super::landing::Advance;
use super::ways_out::first_lines;
use super::{Repo, TaskPlace, failed};
use crate::core::quoted;
use crate::core::why::Why;
use crate::orchestrate::ports::Landed;
use bowline_engine::Error;
use bowline_engine::formats::run_settings::PullRequestSettings;
use bowline_engine::statefiles::{ContentHash, RealDisk, write_atomically};
use bowline_words::message::Reason;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Default remote that branches are pushed to.
const REMOTE: &str = "origin";
const CREATE: [&str; 11] = [
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
const VIEW: [&str; 6] = [
    "gh",
    "pr",
    "view",
    "{branch}",
    "--json",
    "number,state,url,statusCheckRollup,reviews,comments",
];
/// Default command for review comments on single lines; `gh` itself fills in owner and repository.
const REMARKS: [&str; 4] = [
    "gh",
    "api",
    "--paginate",
    "repos/{owner}/{repo}/pulls/{number}/comments",
];
const LOGS: [&str; 5] = ["gh", "run", "view", "{run}", "--log-failed"];
/// Conclusions of a check that count as failures.
const BAD_ENDS: [&str; 6] = [
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
pub struct Proposals {
    remote: String,
    create: Vec<String>,
    view: Vec<String>,
    /// Empty if the host has no comments on lines.
    remarks: Vec<String>,
    logs: Vec<String>,
}

impl Proposals {
    /// Takes the commands from the settings, with the ones of GitHub as defaults.
    pub fn of(settings: &PullRequestSettings) -> Proposals {
        let or = |words: &Vec<String>, usual: &[&str]| match words.is_empty() {
            true => usual.iter().map(|&word| word.to_owned()).collect(),
            false => words.clone(),
        };
        // Another host than GitHub has other commands for these, or none.
        let usual: &[&str] = match settings.view.is_empty() {
            true => &REMARKS,
            false => &[],
        };
        Proposals {
            remarks: or(&settings.remarks, usual),
            remote: settings.remote.clone().unwrap_or_else(|| REMOTE.into()),
            create: or(&settings.create, &CREATE),
            view: or(&settings.view, &VIEW),
            logs: or(&settings.logs, &LOGS),
        }
    }
}

/// The last state of a pull request that the agent has seen.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Proposal {
    /// The agent's commit.
    head: String,
    /// Keys of the review comments that went back to the agent.
    told: BTreeSet<String>,
}

/// State of a pull request, as `gh pr view --json` prints it.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Seen {
    number: u64,
    state: String,
    url: String,
    status_check_rollup: Vec<Check>,
    reviews: Vec<Remark>,
    comments: Vec<Remark>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Check {
    name: Option<String>,
    context: Option<String>,
    conclusion: Option<String>,
    state: Option<String>,
    details_url: Option<String>,
}

impl Check {
    fn failed(&self) -> bool {
        let end = self.conclusion.as_deref().or(self.state.as_deref());
        end.is_some_and(|end| BAD_ENDS.contains(&end))
    }

    /// Returns the number of the workflow run behind the check.
    fn run(&self) -> Option<&str> {
        let (_, rest) = self.details_url.as_deref()?.split_once("/runs/")?;
        let run = rest.split('/').next()?;
        let digits = !run.is_empty() && run.bytes().all(|byte| byte.is_ascii_digit());
        digits.then_some(run)
    }
}

/// A review comment; with file and line if it is about one.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Remark {
    id: Value,
    #[serde(alias = "user")]
    author: Author,
    body: String,
    path: Option<String>,
    line: Option<u64>,
    original_line: Option<u64>,
}

impl Remark {
    /// Returns the key of the comment: its id, or else a hash of its text.
    fn key(&self) -> String {
        match &self.id {
            Value::String(id) => id.clone(),
            Value::Number(id) => id.to_string(),
            _ => ContentHash::of_bytes(self.said().as_bytes()).to_string(),
        }
    }

    fn said(&self) -> String {
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
struct Author {
    login: String,
}

impl Repo {
    /// Opens the pull request of a task, or checks its state. A task that has landed before is
    /// done.
    pub(super) fn propose(&self, task: &TaskPlace, how: &Proposals) -> Result<Landed, Error> {
        let base = &task.phase.branch;
        let tip = match self.follow(base, how)? {
            Ok(tip) => tip,
            Err(why) => return Ok(Landed::Blocked { why }),
        };
        if let Some(commit) = self.landed_before(task, &tip)? {
            self.record_landing(&task.id, &commit)?;
            return Ok(Landed::Done);
        }
        let head = match self.take_up(task) {
            Ok(head) => head,
            Err(landed) => return Ok(landed),
        };
        let known = self.proposal(task);
        if known.head == head {
            return self.answered(task, how, known);
        }
        let commit = match self.proven(task, &tip, &head)? {
            Ok(commit) => commit,
            Err(landed) => return Ok(landed),
        };
        let branch = Repo::task_branch(&task.id);
        let to = format!("{commit}:refs/heads/{branch}");
        let end = self
            .git
            .run(&["push", "--quiet", "--force", &how.remote, &to])?;
        if end.code != Some(0) {
            let why = not_taken(how, &end.stderr);
            return Ok(Landed::Blocked { why });
        }
        let open = self.seen(task, how)?.is_some_and(|it| it.state == "OPEN");
        if !open {
            // A merge at this very moment takes all of it, or an earlier version.
            if let Ok(tip) = self.follow(base, how)?
                && let Some(commit) = self.landed_before(task, &tip)?
            {
                self.record_landing(&task.id, &commit)?;
                return Ok(Landed::Done);
            }
            if let Err(why) = self.host(task, &how.create, &[])? {
                return Ok(Landed::Blocked { why });
            }
        }
        let known = Proposal { head, ..known };
        self.remember_proposal(task, &known)?;
        self.answered(task, how, known)
    }

    /// Evaluates the state of a pull request: merge, checks and reviews.
    fn answered(
        &self,
        task: &TaskPlace,
        how: &Proposals,
        known: Proposal,
    ) -> Result<Landed, Error> {
        let Some(seen) = self.seen(task, how)? else {
            let (id, top) = (task.id.clone(), self.top().join(&self.prefix));
            let words = self.filled(task, &how.create, &[])?;
            let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
            let (top, words) = (quoted(&top.to_string_lossy()), words.join(" "));
            let command = format!("cd {top} && {words}");
            let why = Reason::ProposalUnknown { id, command }.into();
            return Ok(Landed::Blocked { why });
        };
        if seen.state == "MERGED" {
            let tip = match self.follow(&task.phase.branch, how)? {
                Ok(tip) => tip,
                Err(why) => return Ok(Landed::Blocked { why }),
            };
            // A host that squashes may drop the trailers: then the merge is somewhere below this
            // tip.
            let commit = self.landed_before(task, &tip)?.unwrap_or(tip);
            self.record_landing(&task.id, &commit)?;
            return Ok(Landed::Done);
        }
        let inline = match self.inline(task, how, seen.number)? {
            Ok(remarks) => remarks,
            Err(why) => return Ok(Landed::Blocked { why }),
        };
        let remarks = seen.reviews.iter().chain(&seen.comments).chain(&inline);
        let remarks: Vec<&Remark> = remarks
            .filter(|remark| !remark.body.trim().is_empty())
            .collect();
        let said = |remarks: &[&Remark]| {
            let lines: Vec<String> = remarks.iter().map(|it| it.said()).collect();
            lines.join("\n")
        };
        if seen.state == "CLOSED" {
            let why = Why::with(Reason::ProposalClosed, &said(&remarks));
            return Ok(Landed::Declined { why });
        }
        if let Some(check) = seen.status_check_rollup.iter().find(|check| check.failed()) {
            let name = check.name.as_deref().or(check.context.as_deref());
            let log = match check.run() {
                Some(run) => self
                    .host(task, &how.logs, &[("{run}", run)])?
                    .unwrap_or_else(|why| why.to_string()),
                None => String::new(),
            };
            let from = log.len().saturating_sub(LOG_BYTES_MAX);
            let end = &log[log.ceil_char_boundary(from)..];
            let name = name.unwrap_or_default().to_owned();
            let why = Why::with(Reason::ProposalCheckRed { name }, end);
            // A second look at the same work would give the same result.
            return Ok(Landed::SentBack { why });
        }
        let mut told = known.told.clone();
        let news: Vec<&Remark> = remarks
            .into_iter()
            .filter(|remark| told.insert(remark.key()))
            .collect();
        if !news.is_empty() {
            let why = Why::with(Reason::ProposalRemarks, &said(&news));
            self.remember_proposal(task, &Proposal { told, ..known })?;
            return Ok(Landed::SentBack { why });
        }
        Ok(Landed::Proposed { url: seen.url })
    }

    /// Fast-forwards a branch to where its host has it; returns that commit, or what is in the way.
    fn follow(&self, branch: &str, how: &Proposals) -> Result<Result<String, Why>, Error> {
        let there = format!("refs/bowline/upstream/{branch}");
        let what = format!("+refs/heads/{branch}:{there}");
        let end = self
            .git
            .run(&["fetch", "--quiet", "--no-tags", &how.remote, &what])?;
        if end.code != Some(0) {
            return Ok(Err(not_taken(how, &end.stderr)));
        }
        let there = self.git.output_text(&["rev-parse", "--verify", &there])?;
        let here = self.tip(branch)?;
        let ancestor = |one: &str, other: &str| {
            self.git
                .exits_zero(&["merge-base", "--is-ancestor", one, other])
        };
        // Local commits that are not pushed are left alone.
        if here == there || ancestor(&there, &here)? {
            return Ok(Ok(there));
        }
        if !ancestor(&here, &there)? {
            let command = self.bring_onto(branch, &[&there])?;
            let (branch, remote) = (branch.to_owned(), how.remote.clone());
            let why = Reason::BranchApart {
                branch,
                remote,
                command,
            };
            return Ok(Err(why.into()));
        }
        Ok(match self.move_branch(branch, &here, &there)? {
            Advance::Done => Ok(there),
            Advance::Elsewhere => {
                let branch = branch.to_owned();
                Err(Reason::BranchMoves { branch }.into())
            }
            Advance::Blocked(why) => Err(why),
        })
    }

    /// Returns the review comments on single lines.
    fn inline(
        &self,
        task: &TaskPlace,
        how: &Proposals,
        number: u64,
    ) -> Result<Result<Vec<Remark>, Why>, Error> {
        if how.remarks.is_empty() {
            return Ok(Ok(Vec::new()));
        }
        let text = match self.host(task, &how.remarks, &[("{number}", &number.to_string())])? {
            Ok(text) => text,
            Err(why) => return Ok(Err(why)),
        };
        // Each page is a list of its own.
        let pages = serde_json::Deserializer::from_str(&text).into_iter::<Vec<Remark>>();
        Ok(pages
            .collect::<Result<Vec<_>, _>>()
            .map(|pages| pages.into_iter().flatten().collect())
            .map_err(|error| {
                let program = how.remarks.join(" ");
                let said = error.to_string();
                Reason::ProgramFailed { program, said }.into()
            }))
    }

    fn seen(&self, task: &TaskPlace, how: &Proposals) -> Result<Option<Seen>, Error> {
        let text = self.host(task, &how.view, &[])?;
        Ok(text.ok().and_then(|text| serde_json::from_str(&text).ok()))
    }

    /// Fills the placeholders of a command of the host for a task.
    fn filled(
        &self,
        task: &TaskPlace,
        words: &[String],
        more: &[(&str, &str)],
    ) -> Result<Vec<String>, Error> {
        let title = super::landing::title(task);
        let body = format!("Task {} of a plan, by Bowline.\n", task.id);
        let body = self.scratch("pull-request.md", body.as_bytes())?;
        let fill = |word: &String| {
            let word = word
                .replace("{branch}", &Repo::task_branch(&task.id))
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
    fn host(
        &self,
        task: &TaskPlace,
        words: &[String],
        more: &[(&str, &str)],
    ) -> Result<Result<String, Why>, Error> {
        let words = self.filled(task, words, more)?;
        let printed = self.scratch("printed", b"")?;
        let line: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        // Redirected as a whole: of a command's output only the end is kept.
        let line = format!("{} >{}", line.join(" "), quoted(&printed.to_string_lossy()));
        let shell = ["sh", "-c", &line].map(str::to_owned);
        let ended = self.command(&shell, &self.top())?;
        let text = std::fs::read(&printed).map_err(|error| failed("read an answer", &error))?;
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
                Err(Why::with(reason, &format!("{text}{}", why.words)))
            }
        })
    }

    fn proposal_path(&self, task: &TaskPlace) -> PathBuf {
        let name = format!("{}.json", Repo::name(&task.id));
        self.side.join("proposals").join(name)
    }

    fn proposal(&self, task: &TaskPlace) -> Proposal {
        let text = std::fs::read(self.proposal_path(task)).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    fn remember_proposal(&self, task: &TaskPlace, proposal: &Proposal) -> Result<(), Error> {
        let text = serde_json::to_vec(proposal).unwrap_or_default();
        write_atomically(&RealDisk, &self.proposal_path(task), &text, None).map_err(Error::File)
    }
}

/// Describes the error of the host to a push or a fetch.
fn not_taken(how: &Proposals, said: &str) -> Why {
    let program = format!("git ({})", how.remote);
    let said = first_lines(said);
    Reason::ProgramFailed { program, said }.into()
}
