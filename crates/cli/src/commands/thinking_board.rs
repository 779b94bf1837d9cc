//! `bowline thinking status --all`: every run below a folder, one line each.

use crate::commands::here::{self, cut, duration, one_line, pad, status_word};
use crate::output::{Output, Tone, exit_code};
use bowline_engine::machines::thinking::Status;
use bowline_engine::operations::thinking::{Board, Row, Standing, board};
use bowline_engine::{Context, Error};
use serde_json::{Map, Value, json};
use std::path::Path;
use std::process::ExitCode;
use unicode_width::UnicodeWidthStr as _;

/// Letters of a task's id and title that a line can bear.
const TASK_WIDTH_MAX: usize = 40;

pub(crate) fn show(context: &Context, output: &Output, folder: &Path) -> Result<ExitCode, Error> {
    let board = board(context, folder);
    let mut code = ExitCode::SUCCESS;
    let broken = board
        .rows
        .iter()
        .filter_map(|row| row.standing.as_ref().err());
    for error in broken.clone() {
        code = exit_code(error.class());
    }
    if output.json {
        let runs: Vec<Value> = board
            .rows
            .into_iter()
            .map(|row| as_json(context, output, row))
            .collect();
        let body = json!({ "folder": folder, "runs": runs, "complete": board.complete });
        output.line(&body.to_string());
        return Ok(code);
    }
    if board.rows.is_empty() {
        output.line(output.say(
            "No thinking runs here or below. Begin one with:",
            "이 폴더와 그 아래에 사고 작업이 없습니다. 다음으로 시작하세요:",
        ));
        output.line("  bowline thinking new ID --title T --goal G");
    }
    for error in broken {
        output.error(error);
    }
    table(context, output, &board);
    if !board.complete {
        output.talk(output.say(
            "note: there are too many folders below; some were not looked into",
            "알림: 하위 폴더가 너무 많아 일부는 살펴보지 못했습니다",
        ));
    }
    Ok(code)
}

fn table(context: &Context, output: &Output, board: &Board) {
    let standings = board
        .rows
        .iter()
        .filter_map(|row| row.standing.as_ref().ok());
    let lines: Vec<(Tone, [String; 8])> = standings
        .map(|one| (tone(one.status), cells(context, output, one)))
        .collect();
    if lines.is_empty() {
        return;
    }
    let names = [
        output.say("TASK", "작업"),
        output.say("STAGES", "단계"),
        output.say("DONE", "진행률"),
        output.say("STATUS", "상태"),
        output.say("SCORE", "점수"),
        output.say("RETRIES", "재시도"),
        output.say("AGE", "경과"),
        output.say("NEXT", "다음"),
    ];
    let head = names.map(str::to_owned);
    let widths: Vec<usize> = (0..head.len())
        .map(|column| {
            let cells = lines.iter().map(|(_, cells)| cells[column].width());
            cells.chain([head[column].width()]).max().unwrap_or(0)
        })
        .collect();
    let line = |cells: &[String; 8]| {
        let padded = cells
            .iter()
            .zip(&widths)
            .map(|(cell, &width)| pad(cell, width));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    output.line(&output.tone(Tone::Faint, &line(&head)));
    for (tone, cells) in &lines {
        output.line(&output.tone(*tone, &line(cells)));
    }
}

fn cells(context: &Context, output: &Output, one: &Standing) -> [String; 8] {
    let task = format!("{}  {}", one.task_id, one.title);
    let view = here::reachable(context, one.view.clone());
    let dash = || "-".to_owned();
    [
        cut(one_line(&task).trim(), TASK_WIDTH_MAX),
        one.stages.iter().map(|(_, status)| mark(*status)).collect(),
        format!("{}%", one.progress),
        status_word(output, one.status.name()),
        one.score.map_or_else(dash, |score| score.to_string()),
        one.retries.to_string(),
        one.age_seconds
            .map_or_else(dash, |seconds| duration(output, seconds)),
        view.examined.next.first().cloned().unwrap_or_else(dash),
    ]
}

fn as_json(context: &Context, output: &Output, row: Row) -> Value {
    let one = match row.standing {
        Ok(one) => one,
        Err(error) => return json!({ "path": row.path, "error": output.error_json(&error) }),
    };
    let stages: Map<String, Value> = one
        .stages
        .iter()
        .map(|(stage, status)| (stage.name().to_owned(), json!(status.name())))
        .collect();
    let view = here::reachable(context, one.view);
    json!({
        "path": row.path,
        "task_id": one.task_id,
        "title": one.title,
        "status": one.status.name(),
        "progress_percentage": one.progress,
        "current_stage": one.current.name(),
        "stages": stages,
        "weighted_score": one.score,
        "retries": one.retries,
        "age_seconds": one.age_seconds,
        "next": view.examined.next,
    })
}

fn mark(status: Status) -> char {
    match status {
        Status::Pending => '·',
        Status::InProgress => '▶',
        Status::Completed => '✓',
        Status::Failed => '✗',
    }
}

fn tone(status: Status) -> Tone {
    match status {
        Status::Pending => Tone::Faint,
        Status::InProgress => Tone::Busy,
        Status::Completed => Tone::Good,
        Status::Failed => Tone::Bad,
    }
}
