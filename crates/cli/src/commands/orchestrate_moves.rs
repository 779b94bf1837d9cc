//! The verbs of `bowline orchestrate` that say what to do, and do it.

use crate::args::orchestrate::{ModeName, PictureName};
use crate::commands::{here, orchestrate_words as words};
use crate::output::{Output, exit_code};
use bowline_engine::files::Changed;
use bowline_engine::formats::orchestrate::Mode;
use bowline_engine::formats::tasks_md::TaskId;
use bowline_engine::formats::tasks_md::wire::{ReadyTask, ResolveReply};
use bowline_engine::operations::orchestrate::{
    self, Comparison, DRAWN_MAX, Drawing, Orchestration, Picture,
};
use bowline_engine::{Context, Error, ExitClass};
use serde_json::{Value, json};
use std::process::ExitCode;

impl From<ModeName> for Mode {
    fn from(name: ModeName) -> Self {
        match name {
            ModeName::Normal => Mode::Normal,
            ModeName::UltraThin => Mode::UltraThin,
            ModeName::Ralph => Mode::Ralph,
        }
    }
}

impl From<PictureName> for Picture {
    fn from(name: PictureName) -> Self {
        match name {
            PictureName::Dot => Picture::Dot,
            PictureName::Mermaid => Picture::Mermaid,
            PictureName::Svg => Picture::Svg,
        }
    }
}

/// The picture, and what it leaves out.
pub(crate) fn picture(output: &Output, drawing: &Drawing) {
    if output.json {
        let body = json!({
            "kind": "orchestrate",
            "text": drawing.text,
            "criticalPath": drawing.critical,
            "leftOut": drawing.left_out,
        });
        output.line(&body.to_string());
        return;
    }
    output.raw(&drawing.text);
    if drawing.left_out > 0 {
        let text = output.say(
            "only the first {m} tasks are drawn; {n} are left out",
            "처음 {m}개 작업만 그렸습니다. {n}개는 빠졌습니다",
        );
        output.talk(
            &text
                .replace("{m}", &DRAWN_MAX.to_string())
                .replace("{n}", &drawing.left_out.to_string()),
        );
    }
}

/// The outcome of a move.
pub(crate) fn done(
    context: &Context,
    output: &Output,
    changed: Changed,
    say: impl Fn(&Changed) -> String,
) -> ExitCode {
    let view = here::reachable(context, changed.view);
    let changed = Changed { view, ..changed };
    output.changed(&changed, &say(&changed));
    ExitCode::SUCCESS
}

/// One line and nothing else: what can be done now.
pub(crate) fn next(
    context: &Context,
    output: &Output,
    run: &Orchestration,
    phase: Option<u32>,
) -> ExitCode {
    let (reply, error) = orchestrate::answer(context, run, phase);
    let code = match (&reply, &error) {
        (_, Some(error)) => exit_code(error.class()),
        (ResolveReply::Stalled(_) | ResolveReply::Error { .. }, None) => {
            exit_code(ExitClass::Refused)
        }
        (
            ResolveReply::Ready(_)
            | ResolveReply::Wait
            | ResolveReply::PhaseDone(_)
            | ResolveReply::AllDone,
            None,
        ) => ExitCode::SUCCESS,
    };
    if output.json {
        let mut body = reply_json(&reply);
        if let Some(error) = &error {
            body["error"] = output.error_json(error);
        }
        output.line(&body.to_string());
    } else {
        output.line(&reply.to_string());
    }
    code
}

fn reply_json(reply: &ResolveReply) -> Value {
    let ids = |ids: &mut dyn Iterator<Item = &TaskId>| -> Vec<String> {
        ids.map(|id| id.as_str().to_owned()).collect()
    };
    let mut body = json!({ "kind": "orchestrate", "reply": reply.to_string() });
    match reply {
        ResolveReply::Ready(ready) => {
            let first = |task: &ReadyTask| task.id.as_str().to_owned();
            body["ready"] = json!(ready.first().iter().map(first).collect::<Vec<_>>());
        }
        ResolveReply::Stalled(stuck) => body["stalled"] = json!(ids(&mut stuck.iter())),
        ResolveReply::PhaseDone(phase) => body["phase"] = json!(phase),
        ResolveReply::Wait | ResolveReply::AllDone | ResolveReply::Error { .. } => {}
    }
    body
}

/// What plan and state file say differently.
pub(crate) fn verify(
    context: &Context,
    output: &Output,
    run: &Orchestration,
) -> Result<ExitCode, Error> {
    let found = run.compare(context)?;
    let same = found.phases.is_empty();
    if output.json {
        output.line(&comparison_json(output, &found).to_string());
    } else {
        output.notices(&found.view.notices);
        let text = match same {
            true => output.say(
                "✓ Plan and state file agree",
                "✓ 계획과 상태 파일이 일치합니다",
            ),
            false => output.say(
                "✗ Plan and state file differ",
                "✗ 계획과 상태 파일이 다릅니다",
            ),
        };
        output.line(text);
        for phase in &found.phases {
            let head = output.say("phase", "단계");
            for (list, word) in [
                (
                    &phase.not_in_state,
                    output.say("ticked, not completed", "체크됨, 완료 아님"),
                ),
                (
                    &phase.not_in_plan,
                    output.say("completed, not ticked", "완료, 체크 안 됨"),
                ),
                (
                    &phase.unknown,
                    output.say("only in the plan", "계획에만 있음"),
                ),
                (
                    &phase.gone,
                    output.say("only in the state file", "상태 파일에만 있음"),
                ),
            ] {
                if !list.is_empty() {
                    output.line(&format!(
                        "  {head} {}  {word}: {}",
                        phase.phase,
                        list.join(" ")
                    ));
                }
            }
        }
    }
    Ok(match same {
        true => ExitCode::SUCCESS,
        false => exit_code(ExitClass::Refused),
    })
}

fn comparison_json(output: &Output, found: &Comparison) -> Value {
    let mut body = output.view_json(&found.view);
    body["plan"] = json!(found.plan);
    body["same"] = json!(found.phases.is_empty());
    body["phases"] = found
        .phases
        .iter()
        .map(|phase| {
            json!({
                "phase": phase.phase,
                "tickedNotCompleted": phase.not_in_state,
                "completedNotTicked": phase.not_in_plan,
                "onlyInPlan": phase.unknown,
                "onlyInState": phase.gone,
            })
        })
        .collect();
    body
}

/// The line of a task that moved.
pub(crate) fn task(context: &Context, output: &Output, changed: Changed) -> ExitCode {
    done(context, output, changed, |changed| {
        words::moved(output, changed)
    })
}
