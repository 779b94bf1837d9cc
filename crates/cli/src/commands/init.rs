//! `bowline init`: applies and shows the changes, and prints the next command.

use crate::args::ClientName;
use crate::output::{CommandOutput, TextTone};
use bowline_engine::install::{self, AgentClient, FileEdit, InstallPlan};
use bowline_engine::kinds::FileKind;
use bowline_engine::{Context, Error};
use bowline_words::message::{Confirmation, Label, OutputNote};
use serde_json::json;
use similar::{ChangeTag, TextDiff};
use std::path::Path;
use std::process::ExitCode;

/// Unchanged lines shown around a change.
const CONTEXT_LINES: usize = 2;

pub(crate) fn run(
    context: &Context,
    output: &CommandOutput,
    folder: &Path,
    clients: &[ClientName],
    uninstall: bool,
) -> Result<ExitCode, Error> {
    let clients: Vec<AgentClient> = clients.iter().map(|name| install_client(*name)).collect();
    let plan = match uninstall {
        true => install::plan_removal(context, folder)?,
        false => install::plan_install(context, folder, &clients, &install::installed_shim()?)?,
    };
    install::carry_out(context, &plan)?;
    let files: Vec<_> = plan
        .edits
        .iter()
        .map(|edit| file_json(&plan, edit))
        .collect();
    let mut lines = Vec::new();
    for edit in &plan.edits {
        lines.extend(format_diff(output, &plan, edit));
    }
    let last = match (plan.edits.is_empty(), uninstall) {
        (true, true) => Confirmation::NothingInstalled,
        (true, false) => Confirmation::AllInstalled,
        (false, true) if context.dry_run => Confirmation::HooksWouldGo,
        (false, false) if context.dry_run => Confirmation::HooksWouldCome,
        (false, true) => Confirmation::HooksRemoved,
        (false, false) => Confirmation::HooksInstalled,
    };
    if !output.json {
        for line in lines {
            output.print_stderr(&line);
        }
    }
    output.print_outcome(
        json!({"root": plan.root, "git": plan.git, "files": files}),
        &[last.say(output.lang)],
    );
    if !output.json {
        print_notes(output, &plan, uninstall);
    }
    Ok(ExitCode::SUCCESS)
}

fn print_notes(output: &CommandOutput, plan: &InstallPlan, uninstall: bool) {
    for path in &plan.kept {
        let path = path_in_root(plan, path);
        output.print_remark(Label::Warning, &OutputNote::ToolsKept { path });
    }
    if uninstall {
        return;
    }
    if plan.clients.contains(&AgentClient::Codex) {
        output.print_remark(Label::Note, &OutputNote::CodexTrusts);
    }
    if plan.clients.contains(&AgentClient::Gemini) {
        output.print_remark(Label::Note, &OutputNote::GeminiTrusts);
    }
    if plan.hooks_in_tree {
        output.print_remark(Label::Warning, &OutputNote::HooksInTree);
    }
    if !plan.git {
        output.print_remark(Label::Note, &OutputNote::NoGit);
    }
    let next = FileKind::Develop.how_to_begin();
    output.print_stderr(&format!("{}: {next}", output.label(Label::Next)));
}

fn install_client(name: ClientName) -> AgentClient {
    match name {
        ClientName::Claude => AgentClient::Claude,
        ClientName::Codex => AgentClient::Codex,
        ClientName::Gemini => AgentClient::Gemini,
        ClientName::Opencode => AgentClient::Opencode,
    }
}

fn file_json(plan: &InstallPlan, edit: &FileEdit) -> serde_json::Value {
    let change = match (&edit.before, &edit.after) {
        (None, _) => "created",
        (_, None) => "removed",
        (Some(_), Some(_)) => "changed",
    };
    json!({"path": path_in_root(plan, &edit.path), "change": change})
}

/// Returns a path relative to the root if it lies below the root.
fn path_in_root(plan: &InstallPlan, path: &Path) -> String {
    let path = path.strip_prefix(&plan.root).unwrap_or(path);
    path.display().to_string()
}

/// Formats the change of a file as a diff, as people know it from git.
fn format_diff(output: &CommandOutput, plan: &InstallPlan, edit: &FileEdit) -> Vec<String> {
    let text = |bytes: &Option<Vec<u8>>| {
        String::from_utf8_lossy(bytes.as_deref().unwrap_or_default()).into_owned()
    };
    let (before, after) = (text(&edit.before), text(&edit.after));
    let mut lines = vec![output.colour_text(TextTone::Strong, &path_in_root(plan, &edit.path))];
    let changes = TextDiff::from_lines(&before, &after);
    for group in changes.grouped_ops(CONTEXT_LINES) {
        for change in group.iter().flat_map(|op| changes.iter_changes(op)) {
            let line = change.value().trim_end_matches('\n');
            lines.push(match change.tag() {
                ChangeTag::Equal => format!("   {line}"),
                ChangeTag::Delete => output.colour_text(TextTone::Bad, &format!(" - {line}")),
                ChangeTag::Insert => output.colour_text(TextTone::Good, &format!(" + {line}")),
            });
        }
    }
    lines
}
