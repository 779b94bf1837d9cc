//! Prompts for phases, and messages to running agents.

use super::{AgentSpec, JobsConfig, WorkPhase};
use crate::core::clients::fill_template;
use bowline_formats::agents::{AgentInputWriter, ClientRequest, InputDelivery, ToAgent};
use bowline_formats::markers::check::check_env_name;
use bowline_formats::markers::write::MarkerMessage;
use bowline_machines::job::{DependencyValue, MessageToAgent};
use bowline_store::{JobRow, RecordBody, RecordKind, RecordQuery, SecretKey, Store, StoreError};
use std::path::Path;

/// Returns the purpose for which a value is sealed.
pub(super) fn value_purpose(job: &str, name: &str) -> String {
    format!("dependency {job} {name}")
}

/// Returns the values that were given to a job, by name.
pub(super) fn provided_values(
    store: &dyn Store,
    key: &SecretKey,
    job: &str,
) -> Result<Vec<(String, String)>, StoreError> {
    let wanted = RecordQuery {
        job: Some(job.into()),
        kind: Some(RecordKind::Dependency),
        open: false,
    };
    let mut values = Vec::new();
    for record in store.list_records(&wanted)? {
        if let RecordBody::Dependency(row) = record.body
            && let Some(sealed) = row.sealed
            && let Ok(value) = key.open_sealed(&value_purpose(job, &row.name), &sealed)
            && let Ok(value) = String::from_utf8(value)
        {
            values.push((row.name, value));
        }
    }
    Ok(values)
}

/// Builds the prompt for a phase.
pub(super) fn phase_prompt(config: &JobsConfig, row: &JobRow, number: u32) -> String {
    let type_name = row.about.type_name.as_deref().unwrap_or("custom");
    let spec = config.types.get(type_name);
    let phase = spec.and_then(|spec| spec.phase(number));
    let Some(phase) = phase else {
        return custom_prompt(row);
    };
    let template = phase.prompt.as_deref().unwrap_or(TEMPLATE);
    let (number, total) = (number.to_string(), row.job.total_phases().to_string());
    fill_template(
        template,
        &[
            ("{title}", &row.job.title),
            ("{description}", &row.job.description),
            ("{phase}", &number),
            ("{total}", &total),
            ("{name}", &phase.name),
            ("{steps}", &steps_section(phase)),
            ("{files}", &deliverables_section(phase)),
        ],
    )
}

/// Default prompt of a phase. It explains the whole protocol, because a model has read no page of
/// ours. Markers are indented, so that a client that prints its prompt emits none of them.
const TEMPLATE: &str = "\
Task: {title}

{description}

You work on phase {phase} of {total}: {name}.
{steps}{files}
You talk to whoever runs this task by lines that begin exactly as shown, without the indentation and outside of code blocks:

- When you begin a step:
    Step K/N: name
- When only a person can decide, ask, then stop and wait for the answer (category is business, clarification, choice or
  confirmation; options only for a choice):
    [USER_QUESTION]
    category: choice
    question: Which database?
    options:
      - PostgreSQL
      - SQLite
    default: SQLite
    required: true
    [/USER_QUESTION]
- When you lack a key, a value or a service, ask for it, then stop and wait (type is api_key, env_variable, service, file,
  permission or package). Never print a value you were given:
    [DEPENDENCY_REQUEST]
    type: api_key
    name: WEATHER_KEY
    description: forecasts for the start page
    required: true
    [/DEPENDENCY_REQUEST]
- When you cannot go on at all:
    [ERROR]
    type: fatal
    message: what went wrong
    recovery: checkpoint_and_fail
    [/ERROR]
- When the phase is done and its files are written:
    === PHASE {phase} COMPLETE ===

After the last one stop and wait: the phase is verified and reviewed before the next one begins.
";

fn steps_section(phase: &WorkPhase) -> String {
    match phase.steps.is_empty() {
        true => String::new(),
        false => format!("Its steps:\n{}\n", numbered_steps(phase).join("\n")),
    }
}

fn deliverables_section(phase: &WorkPhase) -> String {
    if phase.deliverables.is_empty() {
        return String::new();
    }
    let count = match phase.count.max(1) {
        1 => "one file".to_owned(),
        many => format!("{many} files"),
    };
    let mut text = format!(
        "Leave at least {count} matching {}",
        phase.deliverables.join(", ")
    );
    if phase.min_chars > 0 {
        text.push_str(&format!(
            ", each of at least {} characters",
            phase.min_chars
        ));
    }
    if phase.placeholders {
        text.push_str(", without placeholders");
    }
    text.push_str(".\n");
    text
}

fn numbered_steps(phase: &WorkPhase) -> Vec<String> {
    let of = phase.steps.len();
    let line = |(index, step): (usize, &String)| format!("- Step {}/{of}: {step}", index + 1);
    phase.steps.iter().enumerate().map(line).collect()
}

fn custom_prompt(row: &JobRow) -> String {
    format!(
        "Task: {}\n\n{}\n\nWhen everything is done, write on a line of its own:\n=== CUSTOM TASK COMPLETE ===\n",
        row.job.title, row.job.description
    )
}

/// Builds the prompt for an agent that verifies a finished phase.
pub(super) fn verification_prompt(
    config: &JobsConfig,
    row: &JobRow,
    number: u32,
    files: &[String],
) -> String {
    let type_name = row.about.type_name.as_deref().unwrap_or("custom");
    let spec = config.types.get(type_name);
    let name = spec
        .and_then(|spec| spec.phase(number))
        .map_or("", |phase| phase.name.as_str());
    format!(
        "You check the work of somebody else and change nothing.\n\nTask: {}\n\n{}\n\nPhase {number} ({name}) is said to be complete. \
Files:\n{}\n\nLook whether they fit the task, agree with each other and can be done. Answer with this line and a JSON object behind \
it:\n=== VERIFICATION_RESULT ===\n{{\"criteria\":[{{\"id\":\"P{number}_CONS_01\",\"status\":\"passed\",\"details\":\"…\",\
\"suggestion\":\"…\",\"affectedDocuments\":[]}}]}}\n",
        row.job.title,
        row.job.description,
        files.join("\n")
    )
}

/// Writes a file and creates its folder if necessary.
pub(super) fn write_prompt(file: &Path, text: &str) -> std::io::Result<()> {
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(file, text)
}

/// Returns the path of the prompt file of a phase.
pub(super) fn prompt_file(records: &Path, number: u32) -> std::path::PathBuf {
    records
        .join(".metadata")
        .join(format!("prompt-{number}.md"))
}

/// A client's request behind a question; the reply has to repeat it.
pub(super) struct ClientQuestion {
    pub(super) question: String,
    pub(super) request: (String, String),
    pub(super) text: String,
}

/// Everything needed to encode messages, detached from the dispatcher.
pub(super) struct MessageEncoder {
    pub(super) prompts: Vec<(u32, String, String, String)>,
    /// Values by name. `None` for a new process, which has them in its environment and is sent no
    /// value.
    pub(super) values: Option<Vec<(String, String)>>,
    /// Requests of the client: permission id, request id, request body.
    pub(super) permissions: Vec<(String, String, String)>,
    pub(super) asked: Vec<ClientQuestion>,
}

impl MessageEncoder {
    /// Encodes messages for a client. Messages decided together become one: a client may make a
    /// turn of each.
    pub(super) fn encode(
        &self,
        writer: &mut AgentInputWriter,
        say: &[MessageToAgent],
    ) -> InputDelivery {
        let mut replies = String::new();
        for message in say {
            let reply = match message {
                MessageToAgent::Permitted { permission } => self
                    .permission_request(permission)
                    .map(|request| writer.encode_message(ToAgent::Permit { request: &request })),
                MessageToAgent::Denied { permission, reason } => {
                    self.permission_request(permission).map(|request| {
                        writer.encode_message(ToAgent::Deny {
                            request: &request,
                            reason,
                        })
                    })
                }
                _ => None,
            };
            if let Some(InputDelivery::Input(text)) = reply {
                replies.push_str(&text);
            }
        }
        let answers: Vec<(&ClientQuestion, &str)> = say
            .iter()
            .filter_map(|message| self.answered_question(message))
            .collect();
        if let Some((first, _)) = answers.first() {
            let request = client_request(&first.request);
            let pairs: Vec<(&str, &str)> = answers
                .iter()
                .map(|(asked, answer)| (asked.text.as_str(), *answer))
                .collect();
            match writer.encode_message(ToAgent::Answers {
                request: &request,
                answers: &pairs,
            }) {
                InputDelivery::Input(text) => replies.push_str(&text),
                other => return other,
            }
        }
        let words = self.render_messages(say);
        if words.is_empty() {
            return InputDelivery::Input(replies);
        }
        match writer.encode_message(ToAgent::Prompt(&words)) {
            InputDelivery::Input(text) => InputDelivery::Input(replies + &text),
            other => other,
        }
    }

    /// Renders all messages that are no reply to a request of the client.
    pub(super) fn render_messages(&self, say: &[MessageToAgent]) -> String {
        let mut words = String::new();
        for message in say.iter().filter(|it| self.answered_question(it).is_none()) {
            words.push_str(&self.render_message(message).unwrap_or_default());
            if !words.is_empty() && !words.ends_with('\n') {
                words.push('\n');
            }
        }
        words
    }

    /// Returns the client's question that a message answers.
    fn answered_question<'s>(
        &'s self,
        message: &'s MessageToAgent,
    ) -> Option<(&'s ClientQuestion, &'s str)> {
        let MessageToAgent::QuestionAnswer { question, answer } = message else {
            return None;
        };
        let asked = self.asked.iter().find(|it| it.question == *question)?;
        Some((asked, answer))
    }

    fn permission_request(&self, id: &str) -> Option<ClientRequest<'static>> {
        let found = self.permissions.iter().find(|it| it.0 == *id)?;
        Some(client_request(&(found.1.clone(), found.2.clone())))
    }

    fn render_message(&self, message: &MessageToAgent) -> Option<String> {
        let marker = match message {
            MessageToAgent::PhaseStart { phase } => {
                let (_, name, file, text) = self.prompts.iter().find(|it| it.0 == *phase)?;
                MarkerMessage::PhaseStart {
                    phase: *phase,
                    name,
                    prompt_file: file,
                    prompt: text,
                }
            }
            MessageToAgent::ReviewApproved { review, feedback } => MarkerMessage::ReviewApproved {
                review_id: review,
                feedback: feedback.as_deref(),
            },
            MessageToAgent::ReviewRejected { review, reason } => MarkerMessage::ReviewRejected {
                review_id: review,
                reason,
                suggestions: None,
            },
            MessageToAgent::Rework {
                phase,
                attempt,
                of,
                issues,
            } => MarkerMessage::Rework {
                phase: *phase,
                attempt: *attempt,
                of: *of,
                issues,
            },
            MessageToAgent::DependencyProvided { name, value } => {
                let value = match (value, &self.values) {
                    (DependencyValue::Text(text), _) => text,
                    (DependencyValue::Kept, Some(values)) => {
                        let found = values.iter().find(|(known, _)| known == name);
                        found.map_or("", |(_, value)| value.as_str())
                    }
                    // A value whose name would change the agent itself is given only on request.
                    (DependencyValue::Kept, None) if check_env_name(name).is_err() => {
                        return Some(format!("{name} was provided: request it again."));
                    }
                    (DependencyValue::Kept, None) => {
                        return Some(format!("{name} is set in your environment."));
                    }
                };
                MarkerMessage::DependencyProvided { name, value }
            }
            MessageToAgent::DependencyRejected { name, reason } => {
                MarkerMessage::DependencyRejected { name, reason }
            }
            MessageToAgent::QuestionAnswer { question, answer } => MarkerMessage::QuestionAnswer {
                question_id: question,
                answer,
            },
            MessageToAgent::UserMessage { text, .. } => return Some(text.clone()),
            MessageToAgent::Reminder { phase } => {
                return Some(format!(
                    "Your turn ended, but phase {phase} is not reported as complete. If it is done, write `=== PHASE {phase} \
COMPLETE ===` on a line of its own; if you lack something, ask for it with a marker; otherwise go on."
                ));
            }
            MessageToAgent::Permitted { .. } | MessageToAgent::Denied { .. } => return None,
            MessageToAgent::ProtocolError { details } => MarkerMessage::ProtocolError { details },
        };
        Some(marker.to_text())
    }
}

fn client_request((id, body): &(String, String)) -> ClientRequest<'static> {
    ClientRequest {
        id: id.clone().into(),
        body: body.clone().into(),
    }
}

/// True if the command line contains the prompt or its file.
pub(super) fn is_prompt_in_command(agent: &AgentSpec) -> bool {
    let named = |word: &String| word.contains("{prompt}") || word.contains("{prompt_file}");
    agent.command.iter().any(named)
}
