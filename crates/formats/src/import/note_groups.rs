//! Groups the notes of an import by kind: one line for many tasks with the same note.

use bowline_words::message::Unplaced;
use std::collections::HashMap;

/// Minimum number of notes of one kind that are grouped.
const GROUP_LEAST: usize = 3;
/// Maximum number of ids in one line.
const IDS_SHOWN_MAX: usize = 10;

/// Groups notes of one kind, and of one word if they have one. Each group takes the position of its
/// first note.
pub fn group_notes(all: Vec<Unplaced>) -> Vec<Unplaced> {
    let mut ids: HashMap<(u8, String), Vec<String>> = HashMap::new();
    for (key, id) in all.iter().filter_map(group_of) {
        ids.entry(key).or_default().push(id);
    }
    ids.retain(|_, ids| ids.len() >= GROUP_LEAST);
    let mut out = Vec::new();
    for one in all {
        let Some((key, _)) = group_of(&one) else {
            out.push(one);
            continue;
        };
        // The first note of a group stands for all; the others are removed.
        match ids.get_mut(&key) {
            None => out.push(one),
            Some(ids) if ids.is_empty() => {}
            Some(ids) => out.push(grouped_note(one, &std::mem::take(ids))),
        }
    }
    out
}

/// Returns the group of a note, and the id it is about.
fn group_of(one: &Unplaced) -> Option<((u8, String), String)> {
    let (kind, word, id) = match one {
        Unplaced::StatusInText { id, status } => (0, status.as_str(), id.clone()),
        Unplaced::CountsAsDone { id, status } => (1, status.as_str(), id.clone()),
        Unplaced::Deleted { id } => (2, "", id.clone()),
        Unplaced::LinkInText { id, link, .. } => (3, link.as_str(), id.clone()),
        Unplaced::Renamed { was, id } => (4, "", format!("{was} → {id}")),
        Unplaced::TitleInText { id } => (5, "", id.clone()),
        Unplaced::NothingNeeded { id, other } => (6, "", format!("{id} → {other}")),
        Unplaced::OrderLeftOut { id, other } => (7, "", format!("{id} → {other}")),
        _ => return None,
    };
    Some(((kind, word.to_owned()), id))
}

/// Builds the note for a group.
fn grouped_note(first: Unplaced, all: &[String]) -> Unplaced {
    let count = all.len();
    let mut ids = all[..count.min(IDS_SHOWN_MAX)].join(", ");
    if count > IDS_SHOWN_MAX {
        ids.push_str(", …");
    }
    match first {
        Unplaced::StatusInText { status, .. } => Unplaced::StatusesInText { count, status, ids },
        Unplaced::CountsAsDone { status, .. } => Unplaced::CountAsDone { count, status, ids },
        Unplaced::Deleted { .. } => Unplaced::ManyDeleted { count, ids },
        Unplaced::LinkInText { link, .. } => Unplaced::LinksInText { count, link, ids },
        Unplaced::Renamed { .. } => Unplaced::ManyRenamed { count, ids },
        Unplaced::TitleInText { .. } => Unplaced::TitlesInText { count, ids },
        Unplaced::NothingNeeded { .. } => Unplaced::NeedsNotThere { count, ids },
        Unplaced::OrderLeftOut { .. } => Unplaced::OrdersLeftOut { count, ids },
        other => other,
    }
}
