//! Output of a scripted agent in each protocol.

use bowline_engine::formats::scenario::{ScenarioProtocol, ScenarioStep};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::io::{self, Write as _};

/// Size of the chunks in which a flood is printed.
const FLOOD_PIECE_BYTES: u64 = 65_536;

/// Writes the output of one agent in its protocol.
pub(super) struct ProtocolWriter {
    speech: ScenarioProtocol,
    session: String,
    nonce: Option<String>,
    /// Something was printed since the last turn ended.
    in_turn: bool,
    /// The id of the conversation was printed.
    introduced: bool,
    items: u64,
    /// Input and output tokens of this turn, and before it.
    turn: (u64, u64),
    before: (u64, u64),
    /// Dollars that this process has used so far.
    usd: f64,
}

impl ProtocolWriter {
    pub(super) fn new(speech: ScenarioProtocol, session: String, nonce: Option<String>) -> Self {
        Self {
            speech,
            session,
            nonce,
            in_turn: false,
            introduced: false,
            items: 0,
            turn: (0, 0),
            before: (0, 0),
            usd: 0.0,
        }
    }

    /// Prints the agent's own words.
    pub(super) fn print_words(&mut self, text: &str) -> io::Result<()> {
        let text = if text.ends_with('\n') {
            text.to_owned()
        } else {
            format!("{text}\n")
        };
        self.begin_turn()?;
        match self.speech {
            ScenarioProtocol::Markers => print_text(&text),
            ScenarioProtocol::ClaudeStreamJson => {
                self.print_assistant_message(&json!({"type": "text", "text": text}))
            }
            ScenarioProtocol::CodexJson => {
                let item =
                    json!({"id": self.next_item_id(), "type": "agent_message", "text": text});
                print_line(&json!({"type": "item.completed", "item": item}))
            }
        }
    }

    /// Prints the use of a tool, whose output is not the agent's own words.
    pub(super) fn print_tool_use(&mut self, name: &str, output: &str) -> io::Result<()> {
        self.begin_turn()?;
        match self.speech {
            // Plain text cannot mark tool output; a fence is what agents put around it.
            ScenarioProtocol::Markers => {
                let fence = fence_for(output);
                print_text(&format!(
                    "{name}:\n{fence}\n{}\n{fence}\n",
                    output.trim_end()
                ))
            }
            ScenarioProtocol::ClaudeStreamJson => {
                let id = self.next_item_id();
                let call = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
                self.print_assistant_message(&call)?;
                let result = json!({"type": "tool_result", "tool_use_id": id, "content": output});
                let message = json!({"role": "user", "content": [result]});
                print_line(&json!({"type": "user", "message": message, "session_id": self.session}))
            }
            ScenarioProtocol::CodexJson => {
                let id = self.next_item_id();
                let item = |output: &str, status: &str| json!({"id": id, "type": "command_execution", "command": name, "aggregated_output": output, "status": status});
                print_line(&json!({"type": "item.started", "item": item("", "in_progress")}))?;
                print_line(&json!({"type": "item.completed", "item": item(output, "completed")}))
            }
        }
    }

    /// Prints a question; `true` if the client itself waits for the answer.
    pub(super) fn print_question(&mut self, step: &ScenarioStep) -> io::Result<bool> {
        let ScenarioStep::Ask {
            question, options, ..
        } = step
        else {
            return Ok(false);
        };
        if self.speech != ScenarioProtocol::ClaudeStreamJson {
            self.print_marker(step)?;
            return Ok(false);
        }
        self.begin_turn()?;
        let options: Vec<Value> = options
            .iter()
            .map(|label| json!({"label": label}))
            .collect();
        let question =
            json!({"question": question, "header": "", "options": options, "multiSelect": false});
        self.print_tool_request("AskUserQuestion", &json!({"questions": [question]}))?;
        Ok(true)
    }

    /// Asks permission for a tool; `true` if the client itself waits for the answer.
    pub(super) fn request_permission(
        &mut self,
        tool: &str,
        input: &Map<String, Value>,
    ) -> io::Result<bool> {
        if self.speech != ScenarioProtocol::ClaudeStreamJson {
            return Ok(false);
        }
        self.begin_turn()?;
        self.print_tool_request(tool, &Value::Object(input.clone()))?;
        Ok(true)
    }

    fn print_tool_request(&mut self, tool: &str, input: &Value) -> io::Result<()> {
        let request = json!({"subtype": "can_use_tool", "tool_name": tool, "input": input});
        let id = self.next_item_id();
        print_line(&json!({"type": "control_request", "request_id": id, "request": request}))
    }

    /// Prints a marker, which is part of the agent's words in every protocol.
    pub(super) fn print_marker(&mut self, step: &ScenarioStep) -> io::Result<()> {
        match render_marker(step, self.nonce.as_deref()) {
            Some(text) => self.print_words(&text),
            None => Ok(()),
        }
    }

    /// Reports that a limit is reached. In structured protocols that ends the turn.
    pub(super) fn report_limit(
        &mut self,
        retry_after: Option<u64>,
        resets_at: Option<i64>,
    ) -> io::Result<()> {
        self.begin_turn()?;
        match self.speech {
            ScenarioProtocol::Markers => {
                let mut text = format!(
                    "{} type: recoverable, message: usage limit reached, recovery: pause_and_retry",
                    self.marker_tag("ERROR")
                );
                // A large `retry_after` is a point in time.
                let wait = retry_after.or_else(|| resets_at.and_then(|at| u64::try_from(at).ok()));
                if let Some(wait) = wait {
                    let _ = write!(text, ", retry_after: {wait}");
                }
                print_text(&format!("{text}\n"))
            }
            ScenarioProtocol::ClaudeStreamJson => {
                if let Some(at) = resets_at {
                    let info =
                        json!({"status": "rejected", "resetsAt": at, "rateLimitType": "five_hour"});
                    print_line(&json!({"type": "rate_limit_event", "rate_limit_info": info}))?;
                }
                self.print_result(&json!({
                    "subtype": "success", "is_error": true, "api_error_status": 429,
                    "result": "usage limit reached", "terminal_reason": "api_error",
                }))
            }
            ScenarioProtocol::CodexJson => {
                let message = "You have hit your usage limit.";
                print_line(&json!({"type": "error", "message": message}))?;
                print_line(&json!({"type": "turn.failed", "error": {"message": message}}))
            }
        }
    }

    /// Counts tokens and dollars used in this turn.
    pub(super) fn count_usage(&mut self, input: u64, output: u64, usd: f64) {
        self.usd += usd;
        self.turn = add_tokens(self.turn, (input, output));
    }

    /// Counts tokens used before this run.
    pub(super) fn count_earlier_usage(&mut self, input: u64, output: u64) {
        self.before = add_tokens(self.before, (input, output));
    }

    /// Ends the turn, if one is open.
    pub(super) fn end_turn(&mut self) -> io::Result<()> {
        if !self.in_turn {
            return Ok(());
        }
        match self.speech {
            ScenarioProtocol::Markers => Ok(()),
            ScenarioProtocol::ClaudeStreamJson => self.print_result(&json!({
                "subtype": "success", "is_error": false, "terminal_reason": "completed",
            })),
            ScenarioProtocol::CodexJson => {
                self.in_turn = false;
                self.before = add_tokens(self.before, std::mem::take(&mut self.turn));
                let (input, output) = self.before;
                let usage = json!({"input_tokens": input, "cached_input_tokens": 0, "output_tokens": output});
                print_line(&json!({"type": "turn.completed", "usage": usage}))
            }
        }
    }

    /// Acknowledges an interrupt.
    pub(super) fn acknowledge_interrupt(&mut self, request: &str) -> io::Result<()> {
        let response = json!({"subtype": "success", "request_id": request, "response": {}});
        print_line(&json!({"type": "control_response", "response": response}))
    }

    /// Ends the turn because of an interrupt.
    pub(super) fn end_interrupted_turn(&mut self) -> io::Result<()> {
        self.print_result(&json!({
            "subtype": "error_during_execution", "is_error": true, "terminal_reason": "aborted_streaming",
        }))
    }

    fn begin_turn(&mut self) -> io::Result<()> {
        if std::mem::replace(&mut self.in_turn, true) {
            return Ok(());
        }
        let introduced = std::mem::replace(&mut self.introduced, true);
        match self.speech {
            ScenarioProtocol::Markers => Ok(()),
            ScenarioProtocol::ClaudeStreamJson => print_line(&json!({
                "type": "system", "subtype": "init", "session_id": self.session, "model": "scripted",
            })),
            ScenarioProtocol::CodexJson => {
                if !introduced {
                    print_line(&json!({"type": "thread.started", "thread_id": self.session}))?;
                }
                print_line(&json!({"type": "turn.started"}))
            }
        }
    }

    fn print_assistant_message(&self, content: &Value) -> io::Result<()> {
        let message = json!({"role": "assistant", "content": [content]});
        print_line(&json!({
            "type": "assistant", "message": message, "parent_tool_use_id": null, "session_id": self.session,
        }))
    }

    /// Prints the line that ends a turn of `claude`, with these fields among others.
    fn print_result(&mut self, fields: &Value) -> io::Result<()> {
        self.in_turn = false;
        let (input, output) = std::mem::take(&mut self.turn);
        let mut result = json!({
            "type": "result", "session_id": self.session,
            "usage": {"input_tokens": input, "output_tokens": output},
        });
        if self.usd > 0.0 {
            result["total_cost_usd"] = self.usd.into();
        }
        for (name, value) in fields.as_object().into_iter().flatten() {
            result[name] = value.clone();
        }
        print_line(&result)
    }

    fn next_item_id(&mut self) -> String {
        self.items += 1;
        format!("item_{}", self.items)
    }

    fn marker_tag(&self, name: &str) -> String {
        render_tag(name, self.nonce.as_deref())
    }
}

fn add_tokens(a: (u64, u64), b: (u64, u64)) -> (u64, u64) {
    (a.0.saturating_add(b.0), a.1.saturating_add(b.1))
}

fn render_tag(name: &str, nonce: Option<&str>) -> String {
    match nonce {
        None => format!("[{name}]"),
        Some(nonce) => format!("[{name} nonce={nonce}]"),
    }
}

/// Returns the text of a marker; `None` for steps that have none.
fn render_marker(step: &ScenarioStep, nonce: Option<&str>) -> Option<String> {
    let banner = |words: &str| match nonce {
        None => format!("=== {words} ==="),
        Some(nonce) => format!("=== {words} nonce={nonce} ==="),
    };
    let block = |name: &str, fields: &[(&str, &str)]| {
        let mut text = render_tag(name, nonce);
        for (field, value) in fields {
            // A list begins on the next line.
            let space = if value.starts_with('\n') { "" } else { " " };
            let value = value.replace('\n', "\n  ");
            let _ = write!(text, "\n{field}:{space}{value}");
        }
        format!("{text}\n[/{name}]")
    };
    let truth = |value: &bool| if *value { "true" } else { "false" };
    Some(match step {
        ScenarioStep::Progress { step, of, name } => format!("Step {step}/{of}: {name}"),
        ScenarioStep::Ask {
            question,
            category,
            options,
            default,
            required,
        } => {
            let list: String = options.iter().map(|it| format!("\n- {it}")).collect();
            let mut fields = vec![("category", category.name()), ("question", question)];
            if !list.is_empty() {
                fields.push(("options", &list));
            }
            fields.extend(default.iter().map(|default| ("default", default.as_str())));
            fields.push(("required", truth(required)));
            block("USER_QUESTION", &fields)
        }
        ScenarioStep::Need {
            kind,
            name,
            description,
            default,
            required,
        } => {
            let mut fields = vec![
                ("type", kind.name()),
                ("name", name),
                ("description", description),
                ("required", truth(required)),
            ];
            fields.extend(default.iter().map(|default| ("default", default.as_str())));
            block("DEPENDENCY_REQUEST", &fields)
        }
        ScenarioStep::Phase {
            number,
            name,
            files,
        } => {
            let mut text = banner(&format!("PHASE {number} COMPLETE"));
            if let Some(name) = name {
                let _ = write!(text, "\nCompleted: Phase {number} ({name})");
            }
            for file in files {
                let _ = write!(text, "\n- {file}");
            }
            // Ends the list, which the next words would continue otherwise.
            text + "\n\nReady for review."
        }
        ScenarioStep::Done { summary } => {
            let summary = summary.iter().map(|summary| {
                let summary = summary.replace('\n', "\n  ");
                format!("\nSummary: {summary}")
            });
            let summary: String = summary.collect();
            format!("{}{summary}\n", banner("CUSTOM TASK COMPLETE"))
        }
        ScenarioStep::Fail { message, fatal } => {
            let (kind, recovery) = if *fatal {
                ("fatal", "checkpoint_and_fail")
            } else {
                ("recoverable", "notify_user")
            };
            let fields = [("type", kind), ("message", message), ("recovery", recovery)];
            block("ERROR", &fields)
        }
        _ => return None,
    })
}

fn print_line(value: &Value) -> io::Result<()> {
    print_text(&format!("{value}\n"))
}

/// Prints text as it is and flushes it.
pub(super) fn print_text(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

/// Prints `bytes` bytes in lines of `line_bytes`; 0 means one line without an end.
pub(super) fn print_flood(bytes: u64, line_bytes: u64) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    let mut piece = Vec::new();
    for place in 1..=bytes {
        let ends = line_bytes > 0 && place % line_bytes == 0;
        piece.push(if ends { b'\n' } else { b'x' });
        if piece.len() as u64 == FLOOD_PIECE_BYTES {
            stdout.write_all(&piece)?;
            piece.clear();
        }
    }
    stdout.write_all(&piece)?;
    stdout.flush()
}

/// Returns a fence that is longer than every one in the text.
fn fence_for(text: &str) -> String {
    let length = |line: &str| {
        let line = line.trim_start();
        line.len() - line.trim_start_matches('`').len()
    };
    let longest = text.lines().map(length).max().unwrap_or_default();
    "`".repeat((longest + 1).max(3))
}
