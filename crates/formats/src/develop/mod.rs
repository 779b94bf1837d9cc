//! `.develop-workflow/state.json`.
//!
//! Its times are local times without a zone: callers pass the seconds of the local clock.

pub mod bundle;
pub mod contract;
pub mod evidence;
pub mod policy;
pub mod seal;
pub mod settings;
pub mod tree_listing;

use crate::StateFormat;
use crate::document_reader::{DocumentReader, put_time, put_value, take_object};
use crate::finding::{Finding, ReadResult, Severity};
use crate::foreign::refuse_foreign;
use crate::json::{JsonDocument, child_pointer};
use crate::time::format_civil;
use bowline_machines::develop::{
    ATTEMPTS_MAX, CheckpointStatus, DevelopCheckpoint, DevelopMachine, DevelopPhase,
    DevelopRunState, Gate, ImplementationStrategy, OpenGates,
};
use bowline_machines::{Machine as _, Timestamp, Violation};
use bowline_words::message::{FileFinding, Kind, Repair};
use serde_json::{Map, Value, json};

/// Folder of the file, in the root of the project.
pub const FOLDER_NAME: &str = ".develop-workflow";
/// Name of the file in its folder.
pub const FILE_NAME: &str = "state.json";

/// Closing one gate may leave a later one open without its predecessor; there are three gates.
const MEND_ROUNDS_MAX: usize = 3;

const OWN_PLACES: [&str; 5] = ["/phase", "/strategy", "/feature", "/gates", "/checkpoints"];

/// The format of `.develop-workflow/state.json`.
#[derive(Debug, Clone, Copy)]
pub struct DevelopFile;

/// Creates the file of a new run.
pub fn new_document(feature: &str, at: Timestamp) -> JsonDocument {
    let mut value = json!({});
    write_run(&DevelopRunState::new(feature, at), &mut value);
    JsonDocument::new(value)
}

impl StateFormat for DevelopFile {
    /// The state is never `None` after reading: a readable file holds a run.
    type State = Option<DevelopRunState>;
    const KIND: &'static str = "develop";

    fn read_state(
        document: &JsonDocument,
    ) -> Result<ReadResult<Option<DevelopRunState>>, Vec<Finding>> {
        let mut reading = DocumentReader::new(document)?;
        // The phase decides what is allowed. A guess could allow what was not.
        let Some(phase) = read_phase(&mut reading) else {
            refuse_foreign(document, &OWN_PLACES)?;
            let message = FileFinding::NoKnownPhase;
            return Err(reading.give_up("/phase", "unknown_phase", message));
        };
        let known = reading.seen_time("/updated_at");
        let started_at =
            reading.read_time_or("/started_at", known.unwrap_or(Timestamp(0)), format_civil);
        let run = DevelopRunState {
            phase,
            strategy: read_strategy(&mut reading),
            feature: reading.read_text("/feature", ""),
            started_at,
            updated_at: reading.read_time_or("/updated_at", started_at, format_civil),
            gates: read_gates(&mut reading),
            checkpoints: read_checkpoints(&mut reading),
        };
        let run = check_rules(&mut reading, run);
        Ok(reading.finish(run))
    }

    /// Writes the run's own time, which changes only with phases, gates and attempts. `None` writes
    /// nothing: discarding a run removes its file.
    fn write_state(run: &Option<DevelopRunState>, value: &mut Value, _at: Timestamp) {
        if let Some(run) = run {
            write_run(run, value);
        }
    }
}

fn read_phase(reading: &mut DocumentReader<'_>) -> Option<DevelopPhase> {
    let text = reading.get("/phase")?.as_str()?;
    if let Some(phase) = DevelopPhase::from_name(text) {
        if text != phase.name() {
            let message = FileFinding::OlderName {
                text: text.to_owned(),
                name: phase.name(),
            };
            reading.add_finding(Severity::Note, "older_name", "/phase", message, None);
        }
        return Some(phase);
    }
    let phase = DevelopPhase::from_name(&text.trim().to_uppercase())?;
    let message = expected_word(phase.name());
    let value = phase.name().into();
    reading.repair_value(Severity::Warning, "unknown_word", "/phase", message, value);
    Some(phase)
}

fn expected_word(word: &'static str) -> FileFinding {
    FileFinding::ShouldBe {
        wanted: Kind::Exactly { word },
    }
}

fn read_strategy(reading: &mut DocumentReader<'_>) -> Option<ImplementationStrategy> {
    let found = reading.get("/strategy")?;
    if found.is_null() {
        return None;
    }
    let plain = |text: &str| text.trim().to_lowercase().replace([' ', '_'], "-");
    let strategy = found
        .as_str()
        .and_then(|it| ImplementationStrategy::from_name(&plain(it)));
    match strategy {
        Some(strategy) if found.as_str() != Some(strategy.name()) => {
            let message = expected_word(strategy.name());
            let value = strategy.name().into();
            reading.repair_value(
                Severity::Warning,
                "unknown_word",
                "/strategy",
                message,
                value,
            );
        }
        Some(_) => {}
        None => {
            let message = FileFinding::NotOneOf {
                words: "direct, subagent, agent-teams".into(),
            };
            reading.drop_key(Severity::Error, "unknown_word", "/strategy", message);
        }
    }
    strategy
}

fn read_gates(reading: &mut DocumentReader<'_>) -> OpenGates {
    reading.read_object("/gates");
    let open =
        Gate::ALL.map(|gate| reading.read_flag(&child_pointer("/gates", gate.name()), false));
    OpenGates::from_predicate(|gate| open[gate as usize])
}

fn read_checkpoints(reading: &mut DocumentReader<'_>) -> Vec<DevelopCheckpoint> {
    let Some(map) = reading.read_object("/checkpoints") else {
        return Vec::new();
    };
    let mut checkpoints = Vec::with_capacity(map.len());
    for (id, item) in map {
        let place = child_pointer("/checkpoints", id);
        if !item.is_object() {
            let message = FileFinding::ShouldBe {
                wanted: Kind::Object,
            };
            let value = json!({ "status": CheckpointStatus::Pending.name(), "iteration": 0 });
            reading.repair_value(Severity::Error, "wrong_type", &place, message, value);
            checkpoints.push(DevelopCheckpoint::pending(id));
            continue;
        }
        let iteration = match item.get("iteration") {
            None | Some(Value::Null) => None,
            Some(_) => reading.read_count(&child_pointer(&place, "iteration")),
        };
        let guess = match iteration {
            None | Some(0) => CheckpointStatus::Pending,
            Some(_) => CheckpointStatus::InProgress,
        };
        let status = reading.read_word(
            &child_pointer(&place, "status"),
            &CheckpointStatus::ALL,
            CheckpointStatus::name,
            guess,
        );
        let iteration = iteration.unwrap_or_else(|| {
            let first = u32::from(status != CheckpointStatus::Pending);
            reading.fill_missing(&child_pointer(&place, "iteration"), first.into());
            first
        });
        checkpoints.push(DevelopCheckpoint {
            id: id.clone(),
            status,
            iteration,
        });
    }
    checkpoints
}

fn write_run(run: &DevelopRunState, value: &mut Value) {
    let phase = value.get("phase").and_then(Value::as_str);
    // An older name of the same phase stays until the phase changes: other programs may look for
    // it.
    if phase.and_then(DevelopPhase::from_name) != Some(run.phase) {
        put_value(value, "/phase", run.phase.name());
    }
    match run.strategy {
        Some(strategy) => {
            // The strategy is inserted behind the phase, where people expect it.
            if let Value::Object(map) = value
                && !map.contains_key("strategy")
            {
                map.shift_insert(map.len().min(1), "strategy".into(), Value::Null);
            }
            put_value(value, "/strategy", strategy.name());
        }
        None => {
            if let Value::Object(map) = value
                && map.get("strategy").is_some_and(|it| !it.is_null())
            {
                map.retain(|key, _| key != "strategy");
            }
        }
    }
    put_value(value, "/feature", run.feature.clone());
    put_time(value, "/started_at", Some(run.started_at), format_civil);
    put_time(value, "/updated_at", Some(run.updated_at), format_civil);
    for gate in Gate::ALL {
        let place = child_pointer("/gates", gate.name());
        put_value(value, &place, run.gates.is_open(gate));
    }
    let mut old = take_object(value, "/checkpoints");
    let mut checkpoints = Map::new();
    for checkpoint in &run.checkpoints {
        let known = old.swap_remove(&checkpoint.id).filter(Value::is_object);
        let mut item = known.unwrap_or_else(|| json!({}));
        put_value(&mut item, "/status", checkpoint.status.name());
        put_value(&mut item, "/iteration", checkpoint.iteration);
        checkpoints.insert(checkpoint.id.clone(), item);
    }
    put_value(value, "/checkpoints", checkpoints);
}

/// Checks the machine's rules. A repair closes gates and never opens one.
fn check_rules(reading: &mut DocumentReader<'_>, run: DevelopRunState) -> Option<DevelopRunState> {
    let run = Some(run);
    let mut mended = run.clone();
    for round in 0..MEND_ROUNDS_MAX {
        for violation in DevelopMachine::violations(&mended) {
            let repair = mended
                .as_mut()
                .and_then(|run| repair_violation(run, &violation));
            if round == 0 {
                reading.add_violation(&violation_pointer(&violation), &violation, repair);
            }
        }
    }
    if mended != run
        && let Some(mended) = &mended
    {
        write_run(mended, reading.fixed_mut());
    }
    run
}

fn violation_pointer(violation: &Violation) -> String {
    let name = violation.place.as_str();
    if Gate::from_name(name).is_some() {
        child_pointer("/gates", name)
    } else if violation.rule == "times_in_order" {
        child_pointer("", name)
    } else {
        child_pointer("/checkpoints", name)
    }
}

/// Repairs one violation and returns the repair; `None` if only a person can decide.
fn repair_violation(run: &mut DevelopRunState, violation: &Violation) -> Option<Repair> {
    if let Some(closed) = Gate::from_name(&violation.place) {
        let gates = run.gates;
        run.gates = OpenGates::from_predicate(|gate| gate != closed && gates.is_open(gate));
        return Some(Repair::Close);
    }
    match violation.rule {
        "times_in_order" => {
            run.updated_at = run.started_at;
            Some(Repair::SetItToStart)
        }
        "iteration_fits_status" => {
            let known = |it: &&mut DevelopCheckpoint| it.id == violation.place;
            let checkpoint = run.checkpoints.iter_mut().find(known)?;
            checkpoint.iteration = match checkpoint.status {
                CheckpointStatus::Pending => 0,
                CheckpointStatus::InProgress
                | CheckpointStatus::Passed
                | CheckpointStatus::Escalated
                | CheckpointStatus::Failed => checkpoint.iteration.clamp(1, ATTEMPTS_MAX),
            };
            Some(Repair::SetTo {
                field: "iteration",
                value: checkpoint.iteration.to_string(),
            })
        }
        _ => None,
    }
}
