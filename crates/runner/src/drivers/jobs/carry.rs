//! Effects, carried out in the order of each job, at least once.
//!
//! | effect | repeated without harm by |
//! |---|---|
//! | spawn | the folder of the attempt: one that is there is attached to, and a lost one is never started again |
//! | signal | a level: the last one counts, and whoever attaches gives it anew; an end is settled when the attempt is over |
//! | tell | the number of the message; settled when the attempt is over, sent again by whoever comes after us until then |
//! | interrupt | once more than wanted is harmless |
//! | snapshot | its own id: a second one is a second checkpoint |
//! | verify | the ticket: an answer to another one is refused |
//! | zip, error log | the same file is written again |
//! | notify | whoever delivers it has its number |

use super::decide::new_id;
use super::desk::{Desk, Live};
use super::flight::After;
use super::workshop::{Came, Finished, Task};
use super::{attempt_id, prompt, verifier_id};
use bowline_formats::checkpoint::Provided;
use bowline_formats::job::{Carry, Wire as _};
use bowline_machines::job::{Command, Level, Life, Message, Process, SpawnFrom};
use bowline_store::{
    About, Advance, Change, EffectEnd, EffectRow, JobRow, Record, RecordBody, RecordKind,
    RecordQuery, Settle, VerificationRow,
};
use bowline_supervisor::Want;
use std::time::Duration;

/// A message to an attempt that is not over.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) effect: u64,
    pub(super) number: u64,
    pub(super) say: Vec<Message>,
}

/// What became of an effect now.
pub(super) enum Carried {
    /// It is done.
    Done,
    /// It is done when something else is over.
    Kept,
    /// It waits, and what follows it too.
    Waits,
    /// It is being done elsewhere.
    Busy,
}

impl Desk {
    pub(super) fn carry_all(&mut self) {
        let jobs: Vec<String> = self.effects.keys().cloned().collect();
        for job in jobs {
            while !self.busy.contains(&job) {
                let Some(effect) = self.effects.get(&job).and_then(|it| it.front()).cloned() else {
                    self.effects.remove(&job);
                    break;
                };
                let carried = match Carry::from_value(&effect.body) {
                    Ok(carry) => self.carry(&effect, carry),
                    // Of a program that knew more: it is not ours to do.
                    Err(_) => Carried::Waits,
                };
                match carried {
                    Carried::Waits => break,
                    Carried::Busy => {
                        self.busy.insert(job.clone());
                        break;
                    }
                    Carried::Done => {
                        self.settle(effect.id, EffectEnd::Done);
                        self.pop(&job);
                    }
                    Carried::Kept => self.pop(&job),
                }
            }
        }
    }

    fn pop(&mut self, job: &str) {
        if let Some(of) = self.effects.get_mut(job) {
            of.pop_front();
        }
    }

    pub(super) fn settle(&mut self, effect: u64, end: EffectEnd) {
        let mut advance = Advance::at(self.now());
        advance.settled.push(Settle { effect, end });
        self.stage(advance, After::Nothing);
    }

    fn carry(&mut self, effect: &EffectRow, carry: Carry) -> Carried {
        let job = effect.job.clone();
        let Ok(row) = self.row(&job) else {
            return Carried::Done;
        };
        match carry {
            Carry::Spawn { attempt, from } => self.carry_spawn(effect.id, &row, attempt, from),
            Carry::Signal { attempt, want } => {
                let id = attempt_id(&job, attempt);
                if !self.attached(&row, attempt) {
                    return Carried::Done;
                }
                self.attempts.want(&id, level(want));
                if want != Level::Ended {
                    return Carried::Done;
                }
                // Nobody else looks after an attempt that is over for its job.
                if let Some(live) = self.live.get_mut(&id) {
                    live.told.push(Told {
                        effect: effect.id,
                        number: 0,
                        say: Vec::new(),
                    });
                }
                Carried::Kept
            }
            Carry::Tell {
                attempt,
                number,
                say,
            } => {
                let id = attempt_id(&job, attempt);
                let present = row.job.attempt == attempt && row.job.process == Process::Live;
                if !present || !self.live.contains_key(&id) {
                    return Carried::Done;
                }
                self.tell(&row, &id, number, &say);
                let effect = effect.id;
                if let Some(live) = self.live.get_mut(&id) {
                    live.told.push(Told {
                        effect,
                        number,
                        say,
                    });
                }
                Carried::Kept
            }
            Carry::Interrupt { attempt } => {
                let id = attempt_id(&job, attempt);
                if self.live.contains_key(&id) {
                    self.interrupt(&row, &id);
                }
                Carried::Done
            }
            Carry::Snapshot(reason) => {
                self.snapshot(effect.id, row, reason.name());
                Carried::Busy
            }
            Carry::Verify {
                verification,
                phase,
            } => {
                if !awaits(&row, verification) {
                    let taken_up = self.looks_already(&job, verification)
                        && self.begin_verifier(effect.id, &row, verification, &[]);
                    return if taken_up {
                        Carried::Busy
                    } else {
                        Carried::Done
                    };
                }
                let spec = row.about.type_name.as_ref();
                let spec = spec.and_then(|name| self.config.types.get(name));
                self.workshop.give(Task::Check {
                    effect: effect.id,
                    job,
                    verification,
                    workspace: self.config.workspace(&row),
                    phase: spec.and_then(|spec| spec.phase(phase)).cloned(),
                    limit: Duration::from_secs(self.config.verify_s),
                    environment: self.config.environment.clone(),
                });
                Carried::Busy
            }
            Carry::Notify(_) if self.config.notifies => Carried::Kept,
            Carry::Notify(_) => Carried::Done,
            Carry::ZipArtifacts => {
                self.workshop.give(Task::Archive {
                    effect: effect.id,
                    workspace: self.config.workspace(&row),
                    to: self.archive_of(&job).join("artifacts.zip"),
                    secrets: self.values(&job),
                    job,
                });
                Carried::Busy
            }
            Carry::SaveErrorLog => {
                let folder = |attempt| self.config.attempt(&attempt_id(&job, attempt));
                self.workshop.give(Task::ErrorLog {
                    effect: effect.id,
                    from: (1..=row.job.attempt)
                        .map(|it| folder(it).join("err"))
                        .collect(),
                    to: self.archive_of(&job).join("error.log"),
                    secrets: self.values(&job),
                    job,
                });
                Carried::Busy
            }
            Carry::Remove => Carried::Done,
        }
    }

    /// An earlier process of ours began one that looks at the phase. It is taken up even if nobody waits for it any more: somebody
    /// has to end it.
    fn looks_already(&self, job: &str, verification: u32) -> bool {
        let begun = self.config.attempt(&verifier_id(job, verification));
        begun.exists()
    }

    fn archive_of(&self, job: &str) -> std::path::PathBuf {
        self.config.data.join("archives").join(job)
    }

    fn values(&self, job: &str) -> Vec<String> {
        let values = prompt::provided(&*self.store, &self.key, job);
        values.into_iter().map(|(_, value)| value).collect()
    }

    fn carry_spawn(&mut self, effect: u64, row: &JobRow, attempt: u32, from: SpawnFrom) -> Carried {
        let current = row.job.attempt == attempt && row.job.process == Process::Live;
        if !current {
            return Carried::Done;
        }
        // No attempt starts while an earlier one may live.
        let earlier = |live: &Live| live.job == row.id && !live.verifies;
        let id = attempt_id(&row.id, attempt);
        if self
            .live
            .iter()
            .any(|(known, live)| earlier(live) && *known != id)
        {
            return Carried::Waits;
        }
        if self.config.attempt(&id).exists() {
            self.attached(row, attempt);
            return Carried::Done;
        }
        if row.about.starts.len() > self.config.runs_per_hour {
            self.too_many_runs(row, attempt);
            return Carried::Done;
        }
        let restore = match &from {
            SpawnFrom::Start | SpawnFrom::Latest => None,
            SpawnFrom::Checkpoint(checkpoint) => self.code_of(row, checkpoint),
        };
        self.workshop.give(Task::Prepare {
            effect,
            job: row.id.clone(),
            attempt,
            workspace: self.config.workspace(row),
            restore,
            environment: self.config.environment.clone(),
        });
        Carried::Busy
    }

    /// The code of a checkpoint: repository, ref, and whether the folder is new.
    fn code_of(
        &self,
        row: &JobRow,
        checkpoint: &str,
    ) -> Option<(std::path::PathBuf, String, bool)> {
        let record = self.record(checkpoint)?;
        let RecordBody::Checkpoint(saved) = record.body else {
            return None;
        };
        let owner = self.row(&record.job).ok()?;
        let repository = super::workshop::repository(&self.config, &owner).ok()?;
        Some((repository, saved.code_ref?, record.job != row.id))
    }

    /// A breaker before the start: it goes on by itself when the oldest start is an hour ago.
    fn too_many_runs(&mut self, row: &JobRow, attempt: u32) {
        let oldest = row.about.starts.first().copied().unwrap_or(self.now().0);
        let command = Command::Breaker {
            reason: format!("more than {} starts in an hour", self.config.runs_per_hour),
            ends: false,
            until: Some(bowline_machines::Timestamp(oldest + 3_600)),
        };
        for command in [command, Command::Shed { attempt }] {
            let Ok(row) = self.row(&row.id) else { return };
            if let Ok(change) = self.step(&row, command) {
                self.stage_change(change);
            }
        }
    }

    fn snapshot(&mut self, effect: u64, row: JobRow, reason: &'static str) {
        let wanted = RecordQuery {
            job: Some(row.id.clone()),
            kind: Some(RecordKind::Dependency),
            open: false,
        };
        let given = self.store.records(&wanted).unwrap_or_default();
        let provided: Vec<Provided> = given
            .into_iter()
            .filter_map(|record| match record.body {
                RecordBody::Dependency(it) if it.sealed.is_some() => Some(Provided {
                    kind: it.kind,
                    name: it.name,
                    at: bowline_machines::Timestamp(it.settled_at.unwrap_or(0)),
                }),
                _ => None,
            })
            .collect();
        let log = self.config.attempt(&attempt_id(&row.id, row.job.attempt));
        self.workshop.give(Task::Snapshot {
            effect,
            at: self.now(),
            reason,
            id: new_id("cp"),
            variables: provided.iter().map(|it| it.name.clone()).collect(),
            provided,
            log: log.join("log"),
            config: self.config.clone(),
            row: Box::new(row),
        });
    }

    /// Something was finished in the workshop.
    pub(super) fn finished(&mut self, finished: Finished) {
        let Finished { effect, job, what } = finished;
        self.busy.remove(&job);
        let Ok(row) = self.row(&job) else { return };
        let mut advance = Advance::at(self.now());
        let mut end = EffectEnd::Done;
        match what {
            Came::Done => {}
            // Unless it was given up, or replaced, while its folder was made ready.
            Came::Ready { attempt } => {
                if row.job.attempt == attempt && row.job.process == Process::Live {
                    self.begin_attempt(&row);
                }
            }
            Came::Saved { id, at, row: saved } => {
                let mut about = About::clone(&row.about);
                about.checkpoint = Some((id.clone(), at.0));
                let mut change = Change::to(&job, row.version, row.job.clone(), about);
                let record = Record {
                    id,
                    job: job.clone(),
                    open: false,
                    at,
                    body: RecordBody::Checkpoint(*saved),
                };
                Desk::show(&mut change, record);
                advance.changes.push(change);
            }
            Came::Checked {
                verification,
                issues,
                files,
            } => {
                let wanted = issues.is_empty() && awaits(&row, verification);
                if (wanted || self.looks_already(&job, verification))
                    && self.begin_verifier(effect, &row, verification, &files)
                {
                    // Its result settles the effect.
                    self.busy.insert(job);
                    return;
                }
                let change = self.verified(&row, verification, issues, Vec::new(), files);
                advance.changes.extend(change);
            }
            Came::Failed(note) => {
                // A process whose folder cannot be made ready cannot be started; everything else goes on without.
                let first = self.effects.get(&job).and_then(|it| it.front());
                let spawn = first.and_then(|it| Carry::from_value(&it.body).ok());
                if let Some(Carry::Spawn { attempt, .. }) = spawn {
                    let message = note.clone();
                    let command = Command::SpawnFailed { attempt, message };
                    advance.changes.extend(self.step(&row, command).ok());
                }
                end = EffectEnd::GivenUp { note };
            }
        }
        advance.settled.push(Settle { effect, end });
        self.pop(&job);
        self.stage(advance, After::Nothing);
    }

    /// What a verification comes to, for the machine and for people.
    pub(super) fn verified(
        &self,
        row: &JobRow,
        verification: u32,
        issues: Vec<String>,
        criteria: Vec<bowline_store::CriterionRow>,
        files: Vec<String>,
    ) -> Option<Change> {
        let passed = issues.is_empty();
        let command = match passed {
            true => Command::VerificationPassed {
                verification,
                review: new_id("rev"),
            },
            false => Command::VerificationFailed {
                verification,
                issues: issues.clone(),
            },
        };
        let mut change = self.step(row, command).ok()?;
        let code_ref = self.saved_code(&row.about);
        for record in &mut change.records {
            if let RecordBody::Review(review) = &mut record.body
                && record.open
            {
                review.deliverables = files.clone();
                review.code_ref = code_ref.clone();
                review.base_ref = row.about.phase_ref.clone();
            }
        }
        let body = VerificationRow {
            number: verification,
            phase: row.job.phase,
            code_ref,
            passed: Some(passed),
            issues,
            criteria,
            ended_at: Some(self.now().0),
        };
        let record = Record {
            id: format!("ver_{}_{verification}", row.id.trim_start_matches("task_")),
            job: row.id.clone(),
            open: false,
            at: self.now(),
            body: RecordBody::Verification(body),
        };
        Desk::show(&mut change, record);
        Some(change)
    }
}

/// Whether this verification is the one the job waits for.
pub(super) fn awaits(row: &JobRow, verification: u32) -> bool {
    matches!(row.job.life, Life::Verifying { .. }) && row.job.verifications == verification
}

pub(super) fn level(want: Level) -> Want {
    match want {
        Level::Running => Want::Running,
        Level::Paused => Want::Paused,
        Level::Ended => Want::Ended,
    }
}
