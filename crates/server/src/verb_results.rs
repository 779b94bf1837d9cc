//! Results of verbs on state files as callers see them.

use bowline_engine::files::ChangeOutcome;
use bowline_engine::operations::develop::PassOutcome;
use bowline_engine::words::display_path;
use bowline_formats::rest::WorkspaceChange;
use bowline_words::Lang;

/// Describes a change and the notices about its file.
pub(crate) fn describe_change<S>(changed: &ChangeOutcome<S>, lang: Lang) -> WorkspaceChange {
    WorkspaceChange {
        path: display_path(&changed.view.path),
        from: changed.moved.from.clone(),
        to: Some(changed.moved.to.clone()),
        sequence: Some(changed.view.sequence),
        state: changed.view.masked_document(),
        told: changed
            .view
            .notices
            .iter()
            .map(|it| it.render_notice(lang))
            .collect(),
        evidence: Vec::new(),
    }
}

pub(crate) fn with_evidence(passed: &PassOutcome, lang: Lang) -> WorkspaceChange {
    let evidence = passed.evidence.iter();
    let evidence = evidence.filter_map(|one| serde_json::to_value(one).ok());
    WorkspaceChange {
        evidence: evidence.collect(),
        ..describe_change(&passed.changed, lang)
    }
}
