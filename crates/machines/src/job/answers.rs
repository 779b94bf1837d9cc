//! Rules for people's decisions: reviews, answers and dependencies.

use super::step::Outcome;
use super::transition::Transition;
use super::{
    DependencyStatus, DependencyValue, Effect, FailureCode, JobNotification, JobRefusalSubject,
    JobState, MessageToAgent, QuestionStatus, Refusal, ReviewStatus, TimerKind, TransitionFact,
    TransitionTrigger,
};

/// The answer to an optional question that has no default and is not answered.
const SKIPPED: &str = "skip";

impl Transition {
    pub(super) fn approve_phase(mut self, review: &str, comment: Option<String>) -> Outcome {
        self.decide_review(review, ReviewStatus::Approved, comment.clone())?;
        let facts = vec![
            ("reviewId", TransitionFact::Text(review.into())),
            ("phase", TransitionFact::Number(self.job.phase.into())),
        ];
        self.queue_message(MessageToAgent::ReviewApproved {
            review: review.into(),
            feedback: comment,
        });
        self.advance_phase(TransitionTrigger::Approve, facts);
        self.finish_transition()
    }

    pub(super) fn request_changes(mut self, review: &str, feedback: String) -> Outcome {
        if feedback.trim().is_empty() && self.job.state == JobState::Reviewing {
            return Err(Refusal::Empty {
                what: JobRefusalSubject::Feedback,
            });
        }
        self.decide_review(
            review,
            ReviewStatus::ChangesRequested,
            Some(feedback.clone()),
        )?;
        // The person's request starts a new count: the earlier reworks were about other issues.
        self.job.reworks = 0;
        self.queue_message(MessageToAgent::ReviewRejected {
            review: review.into(),
            reason: feedback,
        });
        let facts = vec![
            ("reviewId", TransitionFact::Text(review.into())),
            ("phase", TransitionFact::Number(self.job.phase.into())),
        ];
        self.resume_running(TransitionTrigger::RequestChanges, facts);
        self.finish_transition()
    }

    fn decide_review(
        &mut self,
        id: &str,
        status: ReviewStatus,
        comment: Option<String>,
    ) -> Result<(), Refusal> {
        let at = self.at;
        let Some(review) = self.job.reviews.iter_mut().find(|review| review.id == id) else {
            return Err(self.unknown_id(JobRefusalSubject::Review, id, &JobState::Reviewing));
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

    pub(super) fn answer_question(mut self, id: &str, text: &str) -> Outcome {
        let index = self.open_question_index(id)?;
        if text.trim().is_empty() {
            return Err(Refusal::Empty {
                what: JobRefusalSubject::Answer,
            });
        }
        let question = &mut self.job.questions[index];
        let Some(answer) = question.accepted_answer(text) else {
            return Err(Refusal::NotAnOption {
                answer: text.into(),
                options: question.options.clone(),
            });
        };
        question.status = QuestionStatus::Answered(answer.clone());
        self.send_answer(id, answer)
    }

    pub(super) fn skip_question(mut self, id: &str) -> Outcome {
        let index = self.open_question_index(id)?;
        let question = &mut self.job.questions[index];
        if question.required {
            return Err(Refusal::QuestionRequired { id: id.into() });
        }
        question.status = QuestionStatus::Skipped;
        let answer = question.default.clone().unwrap_or_else(|| SKIPPED.into());
        self.send_answer(id, answer)
    }

    /// Closes an optional question without a person; asks a required one again.
    pub(super) fn question_timeout(mut self, id: &str) -> Outcome {
        let index = self.open_question_index(id)?;
        let question = &mut self.job.questions[index];
        if question.required {
            let id = id.to_owned();
            self.notify_people(JobNotification::QuestionAsked { id: id.clone() });
            let at = self.seconds_from_now(self.job.limits.question_timeout_s);
            let kind = TimerKind::Question { id };
            self.push_effect(Effect::Timer { at, kind });
            return self.finish_transition();
        }
        question.status = QuestionStatus::Timeout;
        let answer = question.default.clone().unwrap_or_else(|| SKIPPED.into());
        self.send_answer(id, answer)
    }

    /// Sends the answer, and resumes the agent once no question is open.
    fn send_answer(mut self, id: &str, answer: String) -> Outcome {
        self.queue_message(MessageToAgent::QuestionAnswer {
            question: id.into(),
            answer,
        });
        if self.job.open_question().is_none() {
            let facts = vec![("questionId", TransitionFact::Text(id.into()))];
            self.resume_running(TransitionTrigger::Answer, facts);
        }
        self.finish_transition()
    }

    fn open_question_index(&self, id: &str) -> Result<usize, Refusal> {
        let found = self.job.questions.iter().position(|known| known.id == id);
        match found {
            Some(index) if self.job.questions[index].is_open() => Ok(index),
            Some(index) => Err(Refusal::Settled {
                what: JobRefusalSubject::Question,
                id: id.into(),
                status: self.job.questions[index].status.kind().name(),
            }),
            None => Err(self.unknown_id(JobRefusalSubject::Question, id, &JobState::Asking)),
        }
    }

    pub(super) fn provide_dependency(mut self, id: &str) -> Outcome {
        let index = self.open_dependency_index(id)?;
        let needed = &mut self.job.dependencies[index];
        needed.status = DependencyStatus::Provided;
        let name = needed.name.clone();
        let message = MessageToAgent::DependencyProvided {
            name,
            value: DependencyValue::Kept,
        };
        self.send_dependency_decision(id, message)
    }

    pub(super) fn reject_dependency(mut self, id: &str, reason: String) -> Outcome {
        let index = self.open_dependency_index(id)?;
        let needed = &mut self.job.dependencies[index];
        needed.status = DependencyStatus::Rejected;
        let (name, required) = (needed.name.clone(), needed.required);
        if required {
            let message = format!("required dependency '{name}' was rejected");
            let code = FailureCode::DependencyRejected;
            self.fail_task(code, message, Some(reason), TransitionTrigger::ErrorFatal);
            return self.finish_transition();
        }
        self.send_dependency_decision(id, MessageToAgent::DependencyRejected { name, reason })
    }

    pub(super) fn dependency_timeout(mut self, id: &str) -> Outcome {
        let index = self.open_dependency_index(id)?;
        let needed = &mut self.job.dependencies[index];
        needed.status = DependencyStatus::Timeout;
        let (name, required) = (needed.name.clone(), needed.required);
        if required {
            let message = format!("nobody provided required dependency '{name}' in time");
            let code = FailureCode::DependencyTimeout;
            self.fail_task(code, message, None, TransitionTrigger::ErrorFatal);
            return self.finish_transition();
        }
        let value = DependencyValue::Text(needed.default.clone().unwrap_or_default());
        self.send_dependency_decision(id, MessageToAgent::DependencyProvided { name, value })
    }

    fn send_dependency_decision(mut self, id: &str, message: MessageToAgent) -> Outcome {
        self.queue_message(message);
        if self.job.open_dependency().is_none() {
            let facts = vec![("dependencyId", TransitionFact::Text(id.into()))];
            self.resume_running(TransitionTrigger::DependencyProvided, facts);
        }
        self.finish_transition()
    }

    fn open_dependency_index(&self, id: &str) -> Result<usize, Refusal> {
        let all = &self.job.dependencies;
        let found = all.iter().position(|known| known.id == id);
        match found {
            Some(index) if all[index].is_open() => Ok(index),
            Some(index) => Err(Refusal::Settled {
                what: JobRefusalSubject::Dependency,
                id: id.into(),
                status: all[index].status.name(),
            }),
            None => Err(self.unknown_id(JobRefusalSubject::Dependency, id, &JobState::Needing)),
        }
    }

    /// Returns the refusal for an unknown id, or for a state in which nothing of this kind is open.
    pub(super) fn unknown_id(
        &self,
        what: JobRefusalSubject,
        id: &str,
        awaited_in: &JobState,
    ) -> Refusal {
        if self.job.state == *awaited_in {
            let id = id.into();
            Refusal::Unknown { what, id }
        } else {
            Refusal::not_allowed(&self.job)
        }
    }
}
