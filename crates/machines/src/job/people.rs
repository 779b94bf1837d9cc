//! Rules for people's decisions: reviews, answers and dependencies.

use super::step::Outcome;
use super::turn::Turn;
use super::{
    DependencyStatus, Effect, Event, Fact, FailureCode, JobRefusalSubject, Life, Message,
    QuestionStatus, Refusal, ReviewStatus, TimerKind, Trigger, Value,
};

/// The answer to an optional question that has no default and is not answered.
const SKIPPED: &str = "skip";

impl Turn {
    pub(super) fn approve(mut self, review: &str, comment: Option<String>) -> Outcome {
        self.decide(review, ReviewStatus::Approved, comment.clone())?;
        let facts = vec![
            ("reviewId", Fact::Text(review.into())),
            ("phase", Fact::Number(self.job.phase.into())),
        ];
        self.say(Message::ReviewApproved {
            review: review.into(),
            feedback: comment,
        });
        self.phase_done(Trigger::Approve, facts);
        self.done()
    }

    pub(super) fn request_changes(mut self, review: &str, feedback: String) -> Outcome {
        if feedback.trim().is_empty() && self.job.life == Life::Reviewing {
            return Err(Refusal::Empty {
                what: JobRefusalSubject::Feedback,
            });
        }
        self.decide(
            review,
            ReviewStatus::ChangesRequested,
            Some(feedback.clone()),
        )?;
        // The person's request starts a new count: the earlier reworks were about other issues.
        self.job.reworks = 0;
        self.say(Message::ReviewRejected {
            review: review.into(),
            reason: feedback,
        });
        let facts = vec![
            ("reviewId", Fact::Text(review.into())),
            ("phase", Fact::Number(self.job.phase.into())),
        ];
        self.go_on(Trigger::RequestChanges, facts);
        self.done()
    }

    fn decide(
        &mut self,
        id: &str,
        status: ReviewStatus,
        comment: Option<String>,
    ) -> Result<(), Refusal> {
        let at = self.at;
        let Some(review) = self.job.reviews.iter_mut().find(|review| review.id == id) else {
            return Err(self.unknown(JobRefusalSubject::Review, id, &Life::Reviewing));
        };
        if !review.is_open() {
            return Err(Refusal::Settled {
                what: JobRefusalSubject::Review,
                id: id.into(),
                status: review.status.name(),
            });
        }
        review.status = status;
        review.comment = comment;
        review.reviewed_at = Some(at);
        Ok(())
    }

    pub(super) fn answer(mut self, id: &str, text: &str) -> Outcome {
        let index = self.question(id)?;
        if text.trim().is_empty() {
            return Err(Refusal::Empty {
                what: JobRefusalSubject::Answer,
            });
        }
        let question = &mut self.job.questions[index];
        let Some(answer) = question.accepts(text) else {
            return Err(Refusal::NotAnOption {
                answer: text.into(),
                options: question.options.clone(),
            });
        };
        question.status = QuestionStatus::Answered(answer.clone());
        self.answered(id, answer)
    }

    pub(super) fn skip(mut self, id: &str) -> Outcome {
        let index = self.question(id)?;
        let question = &mut self.job.questions[index];
        if question.required {
            return Err(Refusal::QuestionRequired { id: id.into() });
        }
        question.status = QuestionStatus::Skipped;
        let answer = question.default.clone().unwrap_or_else(|| SKIPPED.into());
        self.answered(id, answer)
    }

    /// Closes an optional question without a person; asks a required one again.
    pub(super) fn question_timeout(mut self, id: &str) -> Outcome {
        let index = self.question(id)?;
        let question = &mut self.job.questions[index];
        if question.required {
            let id = id.to_owned();
            self.notify(Event::QuestionAsked { id: id.clone() });
            let at = self.after(self.job.limits.question_timeout_s);
            let kind = TimerKind::Question { id };
            self.push(Effect::Timer { at, kind });
            return self.done();
        }
        question.status = QuestionStatus::Timeout;
        let answer = question.default.clone().unwrap_or_else(|| SKIPPED.into());
        self.answered(id, answer)
    }

    /// Sends the answer, and resumes the agent once no question is open.
    fn answered(mut self, id: &str, answer: String) -> Outcome {
        self.say(Message::QuestionAnswer {
            question: id.into(),
            answer,
        });
        if self.job.open_question().is_none() {
            let facts = vec![("questionId", Fact::Text(id.into()))];
            self.go_on(Trigger::Answer, facts);
        }
        self.done()
    }

    fn question(&self, id: &str) -> Result<usize, Refusal> {
        let found = self.job.questions.iter().position(|known| known.id == id);
        match found {
            Some(index) if self.job.questions[index].is_open() => Ok(index),
            Some(index) => Err(Refusal::Settled {
                what: JobRefusalSubject::Question,
                id: id.into(),
                status: self.job.questions[index].status.kind().name(),
            }),
            None => Err(self.unknown(JobRefusalSubject::Question, id, &Life::Asking)),
        }
    }

    pub(super) fn provide(mut self, id: &str) -> Outcome {
        let index = self.dependency(id)?;
        let needed = &mut self.job.dependencies[index];
        needed.status = DependencyStatus::Provided;
        let name = needed.name.clone();
        let message = Message::DependencyProvided {
            name,
            value: Value::Kept,
        };
        self.settled(id, message)
    }

    pub(super) fn reject(mut self, id: &str, reason: String) -> Outcome {
        let index = self.dependency(id)?;
        let needed = &mut self.job.dependencies[index];
        needed.status = DependencyStatus::Rejected;
        let (name, required) = (needed.name.clone(), needed.required);
        if required {
            let message = format!("required dependency '{name}' was rejected");
            let code = FailureCode::DependencyRejected;
            self.fail(code, message, Some(reason), Trigger::ErrorFatal);
            return self.done();
        }
        self.settled(id, Message::DependencyRejected { name, reason })
    }

    pub(super) fn dependency_timeout(mut self, id: &str) -> Outcome {
        let index = self.dependency(id)?;
        let needed = &mut self.job.dependencies[index];
        needed.status = DependencyStatus::Timeout;
        let (name, required) = (needed.name.clone(), needed.required);
        if required {
            let message = format!("nobody provided required dependency '{name}' in time");
            let code = FailureCode::DependencyTimeout;
            self.fail(code, message, None, Trigger::ErrorFatal);
            return self.done();
        }
        let value = Value::Text(needed.default.clone().unwrap_or_default());
        self.settled(id, Message::DependencyProvided { name, value })
    }

    fn settled(mut self, id: &str, message: Message) -> Outcome {
        self.say(message);
        if self.job.open_dependency().is_none() {
            let facts = vec![("dependencyId", Fact::Text(id.into()))];
            self.go_on(Trigger::DependencyProvided, facts);
        }
        self.done()
    }

    fn dependency(&self, id: &str) -> Result<usize, Refusal> {
        let all = &self.job.dependencies;
        let found = all.iter().position(|known| known.id == id);
        match found {
            Some(index) if all[index].is_open() => Ok(index),
            Some(index) => Err(Refusal::Settled {
                what: JobRefusalSubject::Dependency,
                id: id.into(),
                status: all[index].status.name(),
            }),
            None => Err(self.unknown(JobRefusalSubject::Dependency, id, &Life::Needing)),
        }
    }

    /// Returns the refusal for an unknown id, or for a state in which nothing of this kind is open.
    pub(super) fn unknown(&self, what: JobRefusalSubject, id: &str, awaited_in: &Life) -> Refusal {
        if self.job.life == *awaited_in {
            let id = id.into();
            Refusal::Unknown { what, id }
        } else {
            Refusal::not_allowed(&self.job)
        }
    }
}
