//! `bowline develop`.

use crate::args::develop::{
    CheckpointVerb, ClassName, DevelopArgs, DevelopVerb, EvidenceVerb, GateName, GateVerb,
    PhaseName, StrategyName,
};
use crate::commands::{develop_evidence, develop_view, here};
use crate::output::Output;
use bowline_engine::develop::evidence::Watch;
use bowline_engine::develop::seal::SealState;
use bowline_engine::files::{Changed, View};
use bowline_engine::formats::develop::evidence::Evidence;
use bowline_engine::machines::develop::{
    ATTEMPTS_MAX, CheckpointStatus, FailureClass, Gate, Phase, Refusal as R, Run,
};
use bowline_engine::operations::develop::{DevelopRun, Proof, run_in};
use bowline_engine::{Context, Error, Refusal};
use bowline_words::Lang;
use serde_json::{Value, json};
use std::io::{BufRead as _, IsTerminal as _};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

pub(crate) fn run(
    context: &Context,
    output: &Output,
    folder: &Path,
    args: &DevelopArgs,
) -> Result<ExitCode, Error> {
    let run = DevelopRun::at(context, folder);
    let (changed, text) = match &args.verb {
        DevelopVerb::Start { feature, fresh } => {
            return start(context, output, &run, feature, *fresh);
        }
        DevelopVerb::Review {
            checkpoints,
            contract,
        } => {
            let contract = contract.as_ref().map(|path| folder.join(path));
            let changed = run.review(context, checkpoints, contract.as_deref())?;
            let ids = ids(&changed);
            (changed, format!("✓ Phase REVIEW{ids}"))
        }
        DevelopVerb::Gate(verb) => return gate(context, output, &run, verb),
        DevelopVerb::Implement { strategy } => {
            let changed = run.implement(context, strategy.map(StrategyName::word))?;
            let state = run_in(&changed.view.document);
            let strategy = state.and_then(|run| run.strategy);
            let strategy = strategy.map_or("", |strategy| strategy.name());
            (changed, format!("✓ Phase IMPLEMENT (strategy: {strategy})"))
        }
        DevelopVerb::Checkpoint(verb) => return checkpoint(context, output, &run, verb),
        DevelopVerb::Pr => (run.pr(context)?, "✓ Phase PR".to_owned()),
        DevelopVerb::Done => (run.done(context)?, "✓ Phase DONE".to_owned()),
        DevelopVerb::Back { phase } => {
            let phase = Phase::from(*phase);
            let changed = run.back(context, phase)?;
            (changed, format!("✓ Phase {}", phase.name()))
        }
        DevelopVerb::Resume => return resume(context, output, &run),
        DevelopVerb::Reset => {
            let changed = run.reset(context)?;
            let text = output.say("✓ Run thrown away", "✓ 워크플로우를 처음으로 되돌렸습니다");
            if output.json {
                let mut value = output.changed_json(&changed);
                value["state"] = Value::Null;
                value["next"] = json!(["bowline develop start FEATURE"]);
                output.line(&value.to_string());
                return Ok(ExitCode::SUCCESS);
            }
            (changed, text.to_owned())
        }
        DevelopVerb::Adopt => {
            let changed = run.adopt(context)?;
            let text = output.say(
                "✓ Run taken over; all gates are closed",
                "✓ 워크플로우를 넘겨받았습니다. 모든 gate를 닫았습니다",
            );
            (changed, text.to_owned())
        }
        DevelopVerb::Seal => {
            let changed = run.seal(context)?;
            let text = sealed(context, output, &run)?;
            (changed, format!("✓ {text}"))
        }
        DevelopVerb::Evidence(EvidenceVerb::Export { file, key }) => {
            return develop_evidence::export(context, output, folder, file, key.as_deref());
        }
        DevelopVerb::Status => {
            let view = here::reachable(context, run.file().view(context)?);
            return here::status_of(output, &view);
        }
    };
    Ok(told(context, output, changed, &text))
}

/// Prints a change.
fn told(context: &Context, output: &Output, changed: Changed, text: &str) -> ExitCode {
    let view = here::reachable(context, changed.view);
    output.changed(&Changed { view, ..changed }, text);
    ExitCode::SUCCESS
}

fn start(
    context: &Context,
    output: &Output,
    run: &DevelopRun,
    feature: &str,
    fresh: bool,
) -> Result<ExitCode, Error> {
    let changed = match run.start(context, feature, fresh) {
        Err(error @ Error::Refused(Refusal::Develop(R::RunOpen { .. }))) => {
            let view = run.file().view(context)?;
            let Some(open) = run_in(&view.document) else {
                return Err(error);
            };
            let report = develop_view::report(output, &open);
            if output.json {
                let mut body = output.error_json(&error);
                body["report"] = json!(report);
                output.line(&json!({ "error": body }).to_string());
                return Ok(ExitCode::from(1));
            }
            for line in &report {
                output.line(line);
            }
            match ask(output) {
                None => return Err(error),
                Some(Answer::GoOn) => return resume(context, output, run),
                Some(Answer::Anew) => run.start(context, feature, true)?,
            }
        }
        other => other?,
    };
    let mut text = format!("Phase DESIGN: '{}'", here::one_line(feature));
    if changed.moved.from.as_deref() == Some(Phase::Done.name()) {
        let done = output.say(
            "Previous run done. Starting anew.",
            "이전 완료. 새로 시작합니다.",
        );
        text = format!("{done} {text}");
    }
    if !output.json && !output.dry_run {
        let sealed = sealed(context, output, run)?;
        output.talk(&format!("{}: {sealed}", output.say("note", "알림")));
    }
    Ok(told(context, output, changed, &format!("✓ {text}")))
}

enum Answer {
    GoOn,
    Anew,
}

/// Asks whether to go on or to begin anew; `None` where nobody can answer.
fn ask(output: &Output) -> Option<Answer> {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() || output.dry_run {
        return None;
    }
    let question = output.say(
        "1) go on  2) from the beginning  [1/2]",
        "1) 이어서 진행  2) 처음부터  [1/2]",
    );
    output.progress(&format!("{question} "));
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer).ok()?;
    match answer.trim() {
        "1" => Some(Answer::GoOn),
        "2" => Some(Answer::Anew),
        _ => None,
    }
}

/// What is sealed, in a line.
fn sealed(context: &Context, output: &Output, run: &DevelopRun) -> Result<String, Error> {
    let state = run.seal_state(context)?;
    let gates = |seal: &bowline_engine::formats::develop::seal::Seal| -> Vec<String> {
        Gate::ALL
            .into_iter()
            .filter_map(|gate| Some(format!("{} ({})", gate.name(), seal.rules.command(gate)?)))
            .collect()
    };
    let line = match &state {
        SealState::Sealed { seal, .. } if !seal.rules.gates.is_empty() => {
            let files = seal.files.len();
            match output.lang {
                Lang::En => format!("sealed: {}; files: {files}", gates(seal).join(", ")),
                Lang::Ko => format!("봉인: {}; 파일 {files}개", gates(seal).join(", ")),
            }
        }
        SealState::Sealed { .. } => output
            .say(
                "no gate has a command yet; set [develop.gates.NAME] run= in bowline.toml, then 'bowline develop seal'",
                "확인 명령이 있는 gate가 없습니다. bowline.toml의 [develop.gates.NAME] run=을 정한 뒤 'bowline develop seal'을 실행하세요",
            )
            .to_owned(),
        SealState::None | SealState::Broken => output
            .say(
                "nothing is sealed; a person seals with 'bowline develop seal'",
                "봉인되지 않았습니다. 사람이 'bowline develop seal'로 봉인합니다",
            )
            .to_owned(),
    };
    let idle = state.seal().map(|seal| seal.idle_patterns().join(", "));
    Ok(match idle.filter(|idle| !idle.is_empty()) {
        Some(idle) => {
            let what = output.say(
                "protected, but nothing matches",
                "보호 대상이지만 맞는 파일이 없음",
            );
            format!("{line}; {what}: {idle}")
        }
        None => line,
    })
}

fn gate(
    context: &Context,
    output: &Output,
    run: &DevelopRun,
    verb: &GateVerb,
) -> Result<ExitCode, Error> {
    match verb {
        GateVerb::Pass {
            name,
            run: command,
            by_hand,
        } => {
            let gate = Gate::from(*name);
            let proof = Proof {
                run: command.as_deref(),
                by_hand: by_hand.as_deref(),
            };
            let passed = run.gate_pass(context, gate, proof, &Told(output))?;
            would_run(output, passed.would_run.as_deref());
            let text = format!("✓ gates.{}: true", gate.name());
            Ok(told(context, output, passed.changed, &text))
        }
        GateVerb::Reset { name } => {
            let gate = Gate::from(*name);
            let changed = run.gate_reset(context, gate)?;
            Ok(told(
                context,
                output,
                changed,
                &format!("✓ gates.{}: false", gate.name()),
            ))
        }
    }
}

fn would_run(output: &Output, command: Option<&str>) {
    if let Some(command) = command {
        output.talk(&format!(
            "{}: {command}",
            output.say("would run", "실행할 명령")
        ));
    }
}

fn checkpoint(
    context: &Context,
    output: &Output,
    run: &DevelopRun,
    verb: &CheckpointVerb,
) -> Result<ExitCode, Error> {
    match verb {
        CheckpointVerb::Start {
            id,
            override_reason,
        } => {
            let changed = run.checkpoint_start(context, id, override_reason.as_deref())?;
            let text = standing(&changed, id);
            Ok(told(context, output, changed, &text))
        }
        CheckpointVerb::Pass { id, run: command } => {
            let passed = run.checkpoint_pass(context, id, command.as_deref(), &Told(output))?;
            would_run(output, passed.would_run.as_deref());
            let text = standing(&passed.changed, id);
            let good = passed.changed.moved.to == CheckpointStatus::Passed.name();
            told(context, output, passed.changed, &text);
            // Asked to pass and not passed: whoever chains commands must see it.
            Ok(if good {
                ExitCode::SUCCESS
            } else {
                ExitCode::from(1)
            })
        }
        CheckpointVerb::Fail { id, class } => {
            let changed = run.checkpoint_fail(context, id, FailureClass::from(*class))?;
            let text = standing(&changed, id);
            Ok(told(context, output, changed, &text))
        }
    }
}

/// A checkpoint after a move, in a line.
fn standing(changed: &Changed, id: &str) -> String {
    let run = run_in(&changed.view.document);
    let Some(checkpoint) = run.as_ref().and_then(|run| run.checkpoint(id)) else {
        return String::new();
    };
    let iteration = checkpoint.iteration;
    match checkpoint.status {
        CheckpointStatus::Passed => format!("✓ {id}: passed"),
        CheckpointStatus::Escalated => format!("✗ {id}: escalated"),
        CheckpointStatus::InProgress if iteration == 1 => {
            format!("✓ {id}: in_progress (iter {iteration}/{ATTEMPTS_MAX})")
        }
        CheckpointStatus::InProgress => {
            format!("✗ {id}: in_progress (iter {iteration}/{ATTEMPTS_MAX})")
        }
        CheckpointStatus::Pending | CheckpointStatus::Failed => {
            format!("· {id}: {}", checkpoint.status.name())
        }
    }
}

fn ids(changed: &Changed) -> String {
    let run = run_in(&changed.view.document);
    let ids: Vec<&str> = run
        .iter()
        .flat_map(|run| &run.checkpoints)
        .map(|checkpoint| checkpoint.id.as_str())
        .collect();
    match ids.is_empty() {
        true => String::new(),
        false => format!(" (checkpoints: {})", ids.join(", ")),
    }
}

/// The report and the next command. Writes nothing.
fn resume(context: &Context, output: &Output, run: &DevelopRun) -> Result<ExitCode, Error> {
    let view: View = run.file().view(context)?;
    let Some(state) = run_in(&view.document) else {
        return Ok(ExitCode::SUCCESS);
    };
    let report = develop_view::report(output, &state);
    let action = action(output, &state);
    let needs_person = run.next(context, &view)?.iter().any(|next| next.person);
    let view = here::reachable(context, view);
    if output.json {
        let mut value = output.view_json(&view);
        value["report"] = json!(report);
        value["action"] = json!(action);
        value["needsPerson"] = json!(needs_person);
        output.line(&value.to_string());
        return Ok(ExitCode::SUCCESS);
    }
    output.notices(&view.notices);
    for line in report.iter().chain([&action]) {
        output.line(line);
    }
    here::next(output, &view);
    if needs_person {
        output.line(output.say("  (a person's move)", "  (사람이 해야 합니다)"));
    }
    Ok(ExitCode::SUCCESS)
}

/// What going on means in each phase.
fn action(output: &Output, run: &Run) -> String {
    let text = match run.phase {
        Phase::Design => output.say(
            "Begin again at phase 1: a design needs its context.",
            "Phase 1부터 재시작 (설계는 컨텍스트 필요하므로)",
        ),
        Phase::Review => output.say(
            "Begin again at phase 2: the review is run again.",
            "Phase 2부터 재시작 (리뷰 재실행)",
        ),
        Phase::Implement => output.say(
            "Passed checkpoints are skipped; one in progress goes on at its iteration.",
            "passed 건너뜀, in_progress CP의 현재 iteration부터",
        ),
        Phase::Pr => output.say(
            "Begin again at phase 4: the review of the code is run again.",
            "Phase 4부터 재시작 (코드 리뷰 재실행)",
        ),
        Phase::Done => output.say("The run is done.", "이전 완료."),
    };
    text.to_owned()
}

/// Tells whoever waits what is being run, and what a red command said.
struct Told<'o>(&'o Output);

impl Watch for Told<'_> {
    fn started(&self, command: &str) {
        if !self.0.json {
            let head = self.0.say("running", "실행 중");
            self.0.talk(&format!("{head}: {command}"));
        }
    }

    fn tick(&self, command: &str, elapsed: Duration) {
        self.0
            .progress(&format!("{} s  {command}", elapsed.as_secs()));
    }

    fn ended(&self, evidence: &Evidence) {
        self.0.progress("");
        // In JSON mode too: an answer says that it is red, only this says why.
        if evidence.exit_code == 0 {
            return;
        }
        for line in evidence.output_tail.lines() {
            self.0.talk(&format!("  | {line}"));
        }
        let head = self.0.say("exit code", "종료 코드");
        self.0.talk(&format!("  {head}: {}", evidence.exit_code));
    }
}

impl StrategyName {
    fn word(self) -> &'static str {
        match self {
            StrategyName::Direct => "direct",
            StrategyName::Subagent => "subagent",
            StrategyName::AgentTeams => "agent-teams",
            StrategyName::Auto => "auto",
        }
    }
}

impl From<GateName> for Gate {
    fn from(name: GateName) -> Self {
        match name {
            GateName::ReviewCleanPass => Gate::ReviewCleanPass,
            GateName::ArchitectVerified => Gate::ArchitectVerified,
            GateName::ReReviewClean => Gate::ReReviewClean,
        }
    }
}

impl From<PhaseName> for Phase {
    fn from(name: PhaseName) -> Self {
        match name {
            PhaseName::Design => Phase::Design,
            PhaseName::Review => Phase::Review,
            PhaseName::Implement => Phase::Implement,
            PhaseName::Pr => Phase::Pr,
            PhaseName::Done => Phase::Done,
        }
    }
}

impl From<ClassName> for FailureClass {
    fn from(name: ClassName) -> Self {
        match name {
            ClassName::NotImplemented => FailureClass::NotImplemented,
            ClassName::LogicError => FailureClass::LogicError,
            ClassName::TypeError => FailureClass::TypeError,
            ClassName::DesignMismatch => FailureClass::DesignMismatch,
            ClassName::EnvIssue => FailureClass::EnvIssue,
            ClassName::Vulnerability => FailureClass::Vulnerability,
        }
    }
}
