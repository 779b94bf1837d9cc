//! Landing by pull request, for branches that nobody may push to: the branch of a task is pushed and proposed by the command of
//! whoever hosts the repository, and what its checks and reviewers say goes back to the agent.

use super::landing::{Advance, Rebased, first_lines};
use super::{Repo, TaskPlace, failed};
use crate::core::quoted;
use crate::orchestrate::ports::Landed;
use bowline_engine::Error;
use bowline_engine::formats::run_settings::PullRequest;
use bowline_engine::statefiles::{RealDisk, write_whole};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Where branches are pushed to.
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
    "state,url,statusCheckRollup,reviews,comments",
];
const LOGS: [&str; 5] = ["gh", "run", "view", "{run}", "--log-failed"];
/// Ends of a check that are no success.
const BAD_ENDS: [&str; 6] = [
    "FAILURE",
    "ERROR",
    "TIMED_OUT",
    "STARTUP_FAILURE",
    "ACTION_REQUIRED",
    "CANCELLED",
];
/// Of what a check printed, the end.
const LOG_BYTES_MAX: usize = 3 << 10;

/// How work is proposed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposals {
    remote: String,
    create: Vec<String>,
    view: Vec<String>,
    logs: Vec<String>,
}

impl Proposals {
    /// As the settings say, and where they do not, as GitHub wants it.
    pub fn of(settings: &PullRequest) -> Proposals {
        let or = |words: &Vec<String>, usual: &[&str]| match words.is_empty() {
            true => usual.iter().map(|&word| word.to_owned()).collect(),
            false => words.clone(),
        };
        Proposals {
            remote: settings.remote.clone().unwrap_or_else(|| REMOTE.into()),
            create: or(&settings.create, &CREATE),
            view: or(&settings.view, &VIEW),
            logs: or(&settings.logs, &LOGS),
        }
    }
}

/// What was proposed last, and how much of the answers the agent has heard.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Proposal {
    /// The agent's commit.
    head: String,
    /// Remarks that went back.
    heard: usize,
}

/// How a pull request is doing, as `gh pr view --json` tells it.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Seen {
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

    /// The number of the run behind it.
    fn run(&self) -> Option<&str> {
        let (_, rest) = self.details_url.as_deref()?.split_once("/runs/")?;
        let run = rest.split('/').next()?;
        let digits = !run.is_empty() && run.bytes().all(|byte| byte.is_ascii_digit());
        digits.then_some(run)
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Remark {
    author: Author,
    body: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Author {
    login: String,
}

impl Repo {
    /// Proposes a task, or looks what became of its proposal. Done before is done.
    pub(super) fn propose(&self, task: &TaskPlace, how: &Proposals) -> Result<Landed, Error> {
        let base = &task.phase.branch;
        let tip = match self.follow(base, how)? {
            Ok(tip) => tip,
            Err(why) => return Ok(Landed::Blocked { why }),
        };
        if self.landed_before(task, &tip)?.is_some() {
            return Ok(Landed::Done);
        }
        if let Err(why) = self.commit_rest(task)? {
            return Ok(Landed::Unfit { why });
        }
        let head = self.keep_head(task)?;
        let known = self.proposal(task);
        if known.head == head {
            return self.answered(task, how, known);
        }
        let commit = match self.rebased(task, &tip, &head)? {
            Rebased::Commit(commit) => commit,
            Rebased::Conflict { paths, hunks } => return Ok(Landed::Conflict { paths, hunks }),
            Rebased::Red(tail) => return Ok(Landed::Red { tail }),
        };
        if let Some(tail) = self.evidence(&commit)? {
            return Ok(Landed::Red { tail });
        }
        let branch = Repo::task_branch(&task.id);
        let to = format!("{commit}:refs/heads/{branch}");
        let end = self
            .git
            .run(&["push", "--quiet", "--force", &how.remote, &to])?;
        if end.code != Some(0) {
            let why = format!("{}: {}", how.remote, first_lines(&end.said));
            return Ok(Landed::Blocked { why });
        }
        let open = self.seen(task, how)?.is_some_and(|it| it.state == "OPEN");
        if !open {
            // Whoever merges it in the very moment has all of it, or an earlier version.
            if let Ok(tip) = self.follow(base, how)?
                && self.landed_before(task, &tip)?.is_some()
            {
                return Ok(Landed::Done);
            }
            if let Err(why) = self.host(task, &how.create, None)? {
                return Ok(Landed::Blocked { why });
            }
        }
        let known = Proposal { head, ..known };
        self.remember_proposal(task, &known)?;
        self.answered(task, how, known)
    }

    /// What those who decide say.
    fn answered(
        &self,
        task: &TaskPlace,
        how: &Proposals,
        known: Proposal,
    ) -> Result<Landed, Error> {
        let Some(seen) = self.seen(task, how)? else {
            let why = format!("nobody knows the pull request of {}", task.id);
            return Ok(Landed::Blocked { why });
        };
        let remarks: Vec<&Remark> = seen.reviews.iter().chain(&seen.comments).collect();
        let remarks: Vec<&Remark> = remarks
            .into_iter()
            .filter(|remark| !remark.body.trim().is_empty())
            .collect();
        let said = |remarks: &[&Remark]| {
            let lines = remarks
                .iter()
                .map(|it| format!("{}: {}", it.author.login, it.body.trim()));
            lines.collect::<Vec<_>>().join("\n")
        };
        match seen.state.as_str() {
            "MERGED" => {
                return Ok(match self.follow(&task.phase.branch, how)? {
                    Ok(_) => Landed::Done,
                    Err(why) => Landed::Blocked { why },
                });
            }
            "CLOSED" => {
                let why = format!("the pull request was closed\n{}", said(&remarks));
                return Ok(Landed::Declined { why });
            }
            _ => {}
        }
        if let Some(check) = seen.status_check_rollup.iter().find(|check| check.failed()) {
            let name = check.name.as_deref().or(check.context.as_deref());
            let log = match check.run() {
                Some(run) => self
                    .host(task, &how.logs, Some(run))?
                    .unwrap_or_else(|why| why),
                None => String::new(),
            };
            let mut from = log.len().saturating_sub(LOG_BYTES_MAX);
            while !log.is_char_boundary(from) {
                from += 1;
            }
            let why = format!(
                "check {} of the pull request failed\n{}",
                name.unwrap_or_default(),
                log[from..].trim_end()
            );
            // Whoever looks again at the same work without a change would hear the same.
            return Ok(Landed::SentBack { why });
        }
        if remarks.len() > known.heard {
            let why = format!(
                "reviewers of the pull request say\n{}",
                said(&remarks[known.heard..])
            );
            let heard = remarks.len();
            self.remember_proposal(task, &Proposal { heard, ..known })?;
            return Ok(Landed::SentBack { why });
        }
        Ok(Landed::Proposed { url: seen.url })
    }

    /// Brings a branch to where its host has it; says where that is, or what is in the way.
    fn follow(&self, branch: &str, how: &Proposals) -> Result<Result<String, String>, Error> {
        let there = format!("refs/bowline/upstream/{branch}");
        let what = format!("+refs/heads/{branch}:{there}");
        let end = self
            .git
            .run(&["fetch", "--quiet", "--no-tags", &how.remote, &what])?;
        if end.code != Some(0) {
            return Ok(Err(format!("{}: {}", how.remote, first_lines(&end.said))));
        }
        let there = self.git.text(&["rev-parse", "--verify", &there])?;
        let here = self.tip(branch)?;
        let ancestor =
            |one: &str, other: &str| self.git.says(&["merge-base", "--is-ancestor", one, other]);
        // What is here and not pushed is nobody's business but whose it is.
        if here == there || ancestor(&there, &here)? {
            return Ok(Ok(there));
        }
        if !ancestor(&here, &there)? {
            let why = format!("branch {branch} and that of {} went apart", how.remote);
            return Ok(Err(why));
        }
        Ok(match self.move_branch(branch, &here, &there)? {
            Advance::Done => Ok(there),
            Advance::Elsewhere => Err(format!("branch {branch} moves")),
            Advance::Blocked(why) => Err(why),
        })
    }

    fn seen(&self, task: &TaskPlace, how: &Proposals) -> Result<Option<Seen>, Error> {
        let text = self.host(task, &how.view, None)?;
        Ok(text.ok().and_then(|text| serde_json::from_str(&text).ok()))
    }

    /// Runs a command of the host: what it printed, or the end of what it said where it failed.
    fn host(
        &self,
        task: &TaskPlace,
        words: &[String],
        run: Option<&str>,
    ) -> Result<Result<String, String>, Error> {
        let title = super::landing::title(task);
        let body = format!("Task {} of a plan, by Bowline.\n", task.id);
        let body = self.scratch("pull-request.md", body.as_bytes())?;
        let fill = |word: &String| {
            word.replace("{branch}", &Repo::task_branch(&task.id))
                .replace("{base}", &task.phase.branch)
                .replace("{body_file}", &body.to_string_lossy())
                .replace("{run}", run.unwrap_or_default())
                .replace("{title}", &title)
        };
        let words: Vec<String> = words.iter().map(fill).collect();
        let printed = self.scratch("printed", b"")?;
        let line: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        // All of it, where a command's own output keeps its end alone.
        let line = format!("{} >{}", line.join(" "), quoted(&printed.to_string_lossy()));
        let shell = ["sh", "-c", &line].map(str::to_owned);
        let tail = self.command(&shell, &self.top())?;
        let text = std::fs::read(&printed).map_err(|error| failed("read an answer", &error))?;
        let text = String::from_utf8_lossy(&text).into_owned();
        Ok(match tail {
            None => Ok(text),
            Some(tail) => Err(format!("{text}{tail}")),
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
        write_whole(&RealDisk, &self.proposal_path(task), &text, None).map_err(Error::File)
    }
}
