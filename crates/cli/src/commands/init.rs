//! `bowline init`: shows what will change, changes it, and says what to do next.

use crate::args::ClientName;
use crate::output::{Output, Tone};
use bowline_engine::install::{self, Client, Edit, Plan};
use bowline_engine::{Context, Error};
use serde_json::json;
use similar::{ChangeTag, TextDiff};
use std::path::Path;
use std::process::ExitCode;

/// Unchanged lines shown around a change.
const CONTEXT_LINES: usize = 2;

pub(crate) fn run(
    context: &Context,
    output: &Output,
    folder: &Path,
    clients: &[ClientName],
    uninstall: bool,
) -> Result<ExitCode, Error> {
    let clients: Vec<Client> = clients.iter().map(|name| client(*name)).collect();
    let plan = match uninstall {
        true => install::plan_removal(context, folder)?,
        false => install::plan(folder, &clients, &install::shim()?)?,
    };
    install::carry_out(context, &plan)?;
    let files: Vec<_> = plan
        .edits
        .iter()
        .map(|edit| file_json(&plan, edit))
        .collect();
    let mut lines = Vec::new();
    for edit in &plan.edits {
        lines.extend(diff(output, &plan, edit));
    }
    let last = match (plan.edits.is_empty(), uninstall) {
        (true, true) => output.say(
            "✓ Nothing of bowline was installed here",
            "✓ 설치된 것이 없습니다",
        ),
        (true, false) => output.say(
            "✓ Everything is installed already",
            "✓ 이미 모두 설치되어 있습니다",
        ),
        (false, true) => output.say("✓ Hooks removed", "✓ 훅을 제거했습니다"),
        (false, false) => output.say("✓ Hooks installed", "✓ 훅을 설치했습니다"),
    };
    output.done(
        json!({"root": plan.root, "git": plan.git, "files": files}),
        &[last.to_owned()],
    );
    if !output.json {
        for line in lines {
            output.talk(&line);
        }
        notes(output, &plan, uninstall);
    }
    Ok(ExitCode::SUCCESS)
}

fn notes(output: &Output, plan: &Plan, uninstall: bool) {
    if uninstall {
        return;
    }
    if plan.clients.contains(&Client::Codex) {
        output.talk(output.say(
            "note: codex runs hooks only after you trust them; it skips others without a word",
            "알림: codex는 신뢰한 훅만 실행하며, 나머지는 말없이 건너뜁니다",
        ));
    }
    if plan.clients.contains(&Client::Gemini) {
        output.talk(output.say(
            "note: gemini reads the settings of a project only in a folder you trust",
            "알림: gemini는 신뢰한 폴더에서만 프로젝트 설정을 읽습니다",
        ));
    }
    if plan.hooks_in_tree {
        output.talk(output.say(
            "warning: core.hooksPath leads into the work tree; a linked worktree is held only if these hooks are in it too",
            "경고: core.hooksPath가 작업 트리 안에 있어, 같은 훅이 없는 연결된 worktree는 막지 못합니다",
        ));
    }
    if !plan.git {
        output.talk(output.say(
            "note: this is no git repository, so git holds nothing back",
            "알림: git 저장소가 아니므로 git 훅은 설치하지 않았습니다",
        ));
    }
    output.talk(output.say(
        "next: bowline develop start FEATURE",
        "다음: bowline develop start FEATURE",
    ));
}

fn client(name: ClientName) -> Client {
    match name {
        ClientName::Claude => Client::Claude,
        ClientName::Codex => Client::Codex,
        ClientName::Gemini => Client::Gemini,
        ClientName::Opencode => Client::Opencode,
    }
}

fn file_json(plan: &Plan, edit: &Edit) -> serde_json::Value {
    let change = match (&edit.before, &edit.after) {
        (None, _) => "created",
        (_, None) => "removed",
        (Some(_), Some(_)) => "changed",
    };
    json!({"path": shown(plan, edit), "change": change})
}

/// A path from the root, when it is below it.
fn shown(plan: &Plan, edit: &Edit) -> String {
    let path = edit.path.strip_prefix(&plan.root).unwrap_or(&edit.path);
    path.display().to_string()
}

/// What changes in a file, as people know it from git.
fn diff(output: &Output, plan: &Plan, edit: &Edit) -> Vec<String> {
    let text = |bytes: &Option<Vec<u8>>| {
        String::from_utf8_lossy(bytes.as_deref().unwrap_or_default()).into_owned()
    };
    let (before, after) = (text(&edit.before), text(&edit.after));
    let mut lines = vec![output.tone(Tone::Strong, &shown(plan, edit))];
    let changes = TextDiff::from_lines(&before, &after);
    for group in changes.grouped_ops(CONTEXT_LINES) {
        for change in group.iter().flat_map(|op| changes.iter_changes(op)) {
            let line = change.value().trim_end_matches('\n');
            lines.push(match change.tag() {
                ChangeTag::Equal => format!("   {line}"),
                ChangeTag::Delete => output.tone(Tone::Bad, &format!(" - {line}")),
                ChangeTag::Insert => output.tone(Tone::Good, &format!(" + {line}")),
            });
        }
    }
    lines
}
