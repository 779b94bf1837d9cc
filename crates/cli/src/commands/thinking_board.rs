//! `bowline thinking status --all`: every run below a folder, one line each.

use crate::commands::status::{format_duration, one_line, pad_text, status_word, truncate_text};
use crate::output::{CommandOutput, TextTone, exit_code};
use bowline_engine::operations::thinking::{
    BoardRow, RunProgress, StageStatus, ThinkingBoard, ThinkingStage, read_board,
};
use bowline_engine::{Context, Error, advice};
use bowline_words::message::{Label, OutputNote};
use serde_json::{Map, Value, json};
use std::path::Path;
use std::process::ExitCode;
use unicode_width::UnicodeWidthStr as _;

/// Width of a task's id and title, in columns.
const TASK_WIDTH_MAX: usize = 40;

pub(crate) fn print_board(
    context: &Context,
    output: &CommandOutput,
    folder: &Path,
) -> Result<ExitCode, Error> {
    let board = read_board(context, folder);
    let mut code = ExitCode::SUCCESS;
    let broken = board
        .rows
        .iter()
        .filter_map(|row| row.standing.as_ref().err());
    for error in broken.clone() {
        code = exit_code(error.exit_class());
    }
    if output.json {
        let runs: Vec<Value> = board
            .rows
            .into_iter()
            .map(|row| row_json(context, output, row))
            .collect();
        let body = json!({ "folder": folder, "runs": runs, "complete": board.complete });
        output.print_line(&body.to_string());
        return Ok(code);
    }
    if board.rows.is_empty() {
        output.print_line(&OutputNote::NoThinkingRuns.say(output.lang));
        output.print_line("  bowline thinking new ID --title T --goal G");
    }
    for error in broken {
        output.print_error(error);
    }
    print_table(context, output, &board);
    if !board.complete {
        output.print_remark(Label::Note, &OutputNote::TooManyFolders);
    }
    Ok(code)
}

fn print_table(context: &Context, output: &CommandOutput, board: &ThinkingBoard) {
    let standings = board
        .rows
        .iter()
        .filter_map(|row| row.standing.as_ref().ok());
    let lines: Vec<(TextTone, [String; 8])> = standings
        .map(|one| {
            (
                status_tone(one.sheet.run.overall_status()),
                row_cells(context, output, one),
            )
        })
        .collect();
    if lines.is_empty() {
        return;
    }
    let head = [
        Label::ColumnTask,
        Label::ColumnStages,
        Label::ColumnDone,
        Label::ColumnStatus,
        Label::ColumnScore,
        Label::ColumnRetries,
        Label::ColumnAge,
        Label::ColumnNext,
    ];
    let head = head.map(|label| output.label(label));
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
            .map(|(cell, &width)| pad_text(cell, width));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    output.print_line(&output.colour_text(TextTone::Faint, &line(&head)));
    for (tone, cells) in &lines {
        output.print_line(&output.colour_text(*tone, &line(cells)));
    }
}

fn row_cells(context: &Context, output: &CommandOutput, one: &RunProgress) -> [String; 8] {
    let run = &one.sheet.run;
    let task = format!("{}  {}", one.sheet.task_id, one.sheet.title);
    let next = advice::suggested_commands(context, &one.view);
    let dash = || "-".to_owned();
    [
        truncate_text(one_line(&task).trim(), TASK_WIDTH_MAX),
        run.stages
            .iter()
            .map(|stage| status_mark(stage.status))
            .collect(),
        format!("{}%", run.progress_percentage()),
        status_word(output, run.overall_status().name()),
        run.evaluation
            .weighted
            .map_or_else(dash, |score| score.to_string()),
        one.retries.to_string(),
        one.age_seconds
            .map_or_else(dash, |seconds| format_duration(output, seconds)),
        next.into_iter().next().unwrap_or_else(dash),
    ]
}

fn row_json(context: &Context, output: &CommandOutput, row: BoardRow) -> Value {
    let one = match row.standing {
        Ok(one) => one,
        Err(error) => return json!({ "path": row.path, "error": output.error_json(&error) }),
    };
    let run = &one.sheet.run;
    let stage = |stage: ThinkingStage| (stage.name().into(), run.stage(stage).status.name().into());
    let stages = Map::from_iter(ThinkingStage::ALL.map(stage));
    json!({
        "path": row.path,
        "task_id": one.sheet.task_id,
        "title": one.sheet.title,
        "status": run.overall_status().name(),
        "progress_percentage": run.progress_percentage(),
        "current_stage": run.current.name(),
        "stages": stages,
        "weighted_score": run.evaluation.weighted,
        "retries": one.retries,
        "age_seconds": one.age_seconds,
        "next": advice::suggested_commands(context, &one.view),
    })
}

fn status_mark(status: StageStatus) -> char {
    match status {
        StageStatus::Pending => '·',
        StageStatus::InProgress => '▶',
        StageStatus::Completed => '✓',
        StageStatus::Failed => '✗',
    }
}

fn status_tone(status: StageStatus) -> TextTone {
    match status {
        StageStatus::Pending => TextTone::Faint,
        StageStatus::InProgress => TextTone::Busy,
        StageStatus::Completed => TextTone::Good,
        StageStatus::Failed => TextTone::Bad,
    }
}
