//! The generated pages of `docs/` and the words of the web page: written from the code, checked against it.

use crate::web_words;
use bowline_formats::{rest, schema};
use bowline_machines::develop::DevelopMachine;
use bowline_machines::job::JobMachine;
use bowline_machines::orchestrate::OrchestrateMachine;
use bowline_machines::plan::PlanMachine;
use bowline_machines::table;
use bowline_machines::thinking::ThinkingMachine;
use bowline_words::Lang;
use bowline_words::message::Status;
use xtask::Outcome;
use xtask::shell::root;

/// Writes every generated page.
pub(crate) fn write() -> Outcome {
    for (name, text) in pages() {
        let path = root().join(&name);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)
                .map_err(|error| format!("{}: {error}", folder.display()))?;
        }
        std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        println!("wrote {name}");
    }
    Ok(())
}

/// Fails when a page is not what the code says.
pub(crate) fn check() -> Outcome {
    let stale: Vec<String> = pages()
        .into_iter()
        .filter(|(name, text)| {
            std::fs::read_to_string(root().join(name)).ok().as_ref() != Some(text)
        })
        .map(|(name, _)| name)
        .collect();
    if stale.is_empty() {
        println!("\n── generated pages are up to date");
        return Ok(());
    }
    Err(format!(
        "stale pages, run 'cargo xtask docs': {}",
        stale.join(", ")
    ))
}

fn pages() -> Vec<(String, String)> {
    let mut pages = machine_pages();
    pages.push((web_words::PATH.into(), web_words::words()));
    for (kind, _) in schema::ALL {
        if let Some(text) = schema::schema_page(kind) {
            pages.push((format!("docs/formats/{kind}.md"), text));
        }
    }
    pages.push(("docs/openapi.json".into(), rest::openapi::openapi_text()));
    pages.extend(glossary());
    pages
}

const GLOSSARY: &str = "docs/glossary.md";
const STATES: &str = "<!-- states: written by `cargo xtask docs` -->\n";
const END: &str = "<!-- end of states -->";

/// The glossary with the words of states as files and people have them.
fn glossary() -> Option<(String, String)> {
    let text = std::fs::read_to_string(root().join(GLOSSARY)).ok()?;
    let (before, rest) = text.split_once(STATES)?;
    let (_, after) = rest.split_once(END)?;
    let words = [
        "draft",
        "pending",
        "ready",
        "in_progress",
        "review",
        "completed",
        "failed",
        "paused",
        "cancelled",
        "blocked",
        "idle",
        "success",
        "failure",
        "partial",
        "passed",
        "escalated",
    ];
    let row = |word: &str| format!("| `{word}` | {} |\n", Status::from_word(word).say(Lang::Ko));
    let rows: String = words.map(row).concat();
    let table = format!("| In a file | 한국어 |\n|---|---|\n{rows}");
    Some((
        GLOSSARY.into(),
        format!("{before}{STATES}\n{table}\n{END}{after}"),
    ))
}

fn machine_pages() -> Vec<(String, String)> {
    let machine = |name: &str, text: String| (format!("docs/machines/{name}.md"), text);
    vec![
        machine(
            "thinking",
            table::render_page::<ThinkingMachine>(
                "Thinking runs",
                "Four stages, one after the other. The table follows the second stage, `selection`; the others obey the \
                 same rules with their own required outputs (planning: any output; selection: \
                 `thinking/selection/selected.json`; creation: at least one `drafts/draft_v*.md`). A stage has three \
                 tries; then a person decides.",
            ),
        ),
        machine(
            "memory",
            table::render_page::<PlanMachine>(
                "Memory: one current task with steps",
                "One task is current; further ones wait in a queue. A step has three tries, then the task waits for a \
                 person. Finishing and cancelling push the task into the history and promote the next one.",
            ),
        ),
        machine(
            "job",
            table::render_page::<JobMachine>(
                "Jobs: a task of the server and its agent",
                "The task and its agent move as one. An agent is stopped while it waits for a review, an answer or a \
                 dependency; a person's pause is never lifted by a timer. A phase ends with a verification, at most three \
                 reworks, and a review.",
            ),
        ),
        machine(
            "develop",
            table::render_page::<DevelopMachine>(
                "Develop runs: phases, gates and checkpoints",
                "A gate passes only in its phase and only by evidence. A checkpoint has three attempts, then a person \
                 decides. Going back closes gates.",
            ),
        ),
        machine(
            "orchestrate",
            table::render_page::<OrchestrateMachine>(
                "Orchestrate: a graph of tasks in phases",
                "Only tasks of the current phase become ready. A failure blocks everything that depends on it, directly \
                 or not; a retry or a forced completion unblocks it again. A phase ends when all its tasks are completed \
                 and its work has landed.",
            ),
        ),
    ]
}

#[cfg(test)]
mod tests {
    /// The web page's client is made from it, and the server hands it out as it is kept.
    #[test]
    fn every_generated_page_is_what_the_code_says() {
        assert_eq!(super::check(), Ok(()));
    }
}
