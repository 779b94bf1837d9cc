//! Verbs about all state files here, and the tool that calls verbs which are not listed.

use crate::answer::{ToolError, ToolResult, answer_change, answer_view};
use crate::arguments::ToolArguments;
use crate::session::{SessionRole, ToolSession};
use crate::table::ParameterType::{Flag, Number, Object, Text};
use crate::table::{ToolParameter, ToolVerb, VERBS as NOUNS};
use bowline_engine::files::KnownFile;
use bowline_engine::history::RestoreOptions;
use bowline_engine::kinds::FileKind;
use bowline_engine::{Error, advice, doctor, history, workspace};
use bowline_words::message::ToolNo;
use serde_json::{Map, Value, json};

/// Transitions shown by default.
const TRANSITIONS_SHOWN: u64 = 20;

const WHAT: ToolParameter = ToolParameter::optional("what", Text).with_description("kind or path");

pub(crate) static VERBS: &[ToolVerb] = &[
    ToolVerb::new(
        "bowline_status",
        SessionRole::ReadOnly,
        "Where all work here stands and what can be done next",
        &[WHAT],
        show_status,
    ),
    ToolVerb::new(
        GENERIC_VERB,
        SessionRole::ReadOnly,
        "Any other verb of thinking, memory, develop, orchestrate, task, agent or bowline. Without verb: lists them",
        &[
            ToolParameter::required("noun", Text),
            ToolParameter::optional("verb", Text),
            ToolParameter::optional("args", Object),
        ],
        list_verbs,
    ),
    ToolVerb::new(
        "bowline_history",
        SessionRole::ReadOnly,
        "Transitions of a state file",
        &[WHAT, ToolParameter::optional("last", Number)],
        show_history,
    )
    .mark_rare(),
    ToolVerb::new(
        "bowline_doctor",
        SessionRole::ReadOnly,
        "Check a state file; repairs nothing",
        &[WHAT],
        check_file,
    )
    .mark_rare(),
    ToolVerb::new(
        "bowline_undo",
        SessionRole::Person,
        "Take the last transition back",
        &[WHAT, ToolParameter::optional("state_only", Flag)],
        undo_transition,
    )
    .mark_rare(),
    ToolVerb::new(
        "bowline_restore",
        SessionRole::Person,
        "Bring a state file back as it was after a transition",
        &[
            WHAT,
            ToolParameter::required("sequence", Number),
            ToolParameter::optional("state_only", Flag),
        ],
        restore_transition,
    )
    .mark_rare(),
];

/// The tool through which all others can be called.
pub(crate) const GENERIC_VERB: &str = "bowline_verb";

fn show_status(session: &ToolSession, given: &ToolArguments) -> ToolResult {
    let context = &session.context;
    if given.text("what").is_some() {
        let file = resolve_file(session, given)?;
        return answer_view(session, &file.view_or_empty(context)?);
    }
    let found = workspace::discover_files(context, &session.folder);
    let files: Vec<Value> = found
        .into_iter()
        .map(|(kind, path)| {
            let mut entry = json!({ "kind": kind.name(), "path": session.display_path(&path) });
            match KnownFile::new(context, kind, &path).read_view(context) {
                Ok(view) => {
                    entry["status"] = view.examined.status.clone().into();
                    let next = advice::suggested_commands(context, &view);
                    if !next.is_empty() {
                        entry["next"] = next.into();
                    }
                }
                Err(error) => {
                    entry["error"] = ToolError::from(error).to_json(session)["error"].take()
                }
            }
            entry
        })
        .collect();
    let mut body = json!({ "files": files });
    match advice::resume_card(&session.folder, session.lang) {
        Some(card) => body["card"] = card.into(),
        None => {
            let mut begin = FileKind::ALL.map(FileKind::how_to_begin).to_vec();
            begin.dedup();
            body["begin"] = begin.into();
        }
    }
    Ok(body)
}

/// Lists the verbs of a noun. A call that names a verb is redirected to that verb before it comes
/// here.
fn list_verbs(session: &ToolSession, given: &ToolArguments) -> ToolResult {
    let noun = given.required_text("noun").trim();
    let verbs: Map<String, Value> = verbs_of_noun(noun, session.role)
        .map(|(name, verb)| {
            let description = format!("{}. {}", verb.about, verb.offered_parameters(session.role));
            (name.to_owned(), description.into())
        })
        .collect();
    if verbs.is_empty() {
        let noun = noun.chars().take(80).collect();
        let known = noun_names().join(", ");
        return Err(ToolError::from_tool_fault(
            &ToolNo::NoNoun { noun, known },
            session.lang,
        ));
    }
    Ok(json!({ "noun": noun, "verbs": verbs }))
}

/// Returns the verbs of a noun that a role may use.
fn verbs_of_noun(
    noun: &str,
    role: SessionRole,
) -> impl Iterator<Item = (&'static str, &'static ToolVerb)> {
    let all = NOUNS.iter().copied().flatten();
    all.filter(move |verb| verb.role <= role && verb.name != GENERIC_VERB)
        .filter_map(move |verb| Some((verb.name.strip_prefix(noun)?.strip_prefix('_')?, verb)))
}

/// Returns the names of the verbs of a noun that a role may use.
pub(crate) fn verb_names(noun: &str, role: SessionRole) -> Vec<&'static str> {
    verbs_of_noun(noun, role).map(|(name, _)| name).collect()
}

/// Returns the nouns of all verbs.
pub(crate) fn noun_names() -> Vec<&'static str> {
    let mut nouns: Vec<&str> = NOUNS
        .iter()
        .copied()
        .flatten()
        .filter_map(|verb| Some(verb.name.split_once('_')?.0))
        .collect();
    nouns.dedup();
    nouns
}

fn resolve_file(session: &ToolSession, given: &ToolArguments) -> Result<KnownFile, ToolError> {
    let what = given.text("what");
    if let Some(path) = what.filter(|what| FileKind::from_name(what).is_none()) {
        session.resolve_path(path)?;
    }
    let (kind, path) = workspace::resolve_file(&session.context, &session.folder, what)?;
    Ok(KnownFile::new(&session.context, kind, &path))
}

fn show_history(session: &ToolSession, given: &ToolArguments) -> ToolResult {
    let all = history::read_transitions(&resolve_file(session, given)?)?;
    let last = given.number("last").unwrap_or(TRANSITIONS_SHOWN);
    let skip = all
        .len()
        .saturating_sub(usize::try_from(last).unwrap_or(usize::MAX));
    let lines: Vec<Value> = all[skip..]
        .iter()
        .map(|one| serde_json::to_value(one).unwrap_or_default())
        .collect();
    Ok(json!({ "transitions": lines, "total": all.len() }))
}

fn check_file(session: &ToolSession, given: &ToolArguments) -> ToolResult {
    let found = doctor::examine_file(&session.context, &resolve_file(session, given)?)?;
    let findings = found.findings.iter();
    Ok(json!({
        "kind": found.file.kind.name(),
        "path": session.display_path(&found.file.path),
        "healthy": found.is_healthy(),
        "findings": findings.map(|one| one.to_json(found.document.as_ref())).collect::<Vec<_>>(),
    }))
}

fn undo_scope(given: &ToolArguments) -> RestoreOptions {
    RestoreOptions::from_now(given.is_set("state_only"))
}

fn undo_transition(session: &ToolSession, given: &ToolArguments) -> ToolResult {
    let file = resolve_file(session, given)?;
    let undone = history::undo_transition(&session.context, &file, undo_scope(given))?;
    let facts = json!({ "undone": undone.state });
    answer_change(session, &undone, facts)
}

fn restore_transition(session: &ToolSession, given: &ToolArguments) -> ToolResult {
    let file = resolve_file(session, given)?;
    let sequence = given.number("sequence").unwrap_or_default();
    let restored: Result<_, Error> =
        history::restore_version(&session.context, &file, sequence, undo_scope(given));
    answer_change(session, &restored?, json!({ "version": sequence }))
}
