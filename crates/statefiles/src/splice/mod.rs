//! Text splices: the exact, reversible difference of two versions of a document.

use serde::{Deserialize, Serialize};

mod diff;
#[cfg(test)]
mod tests;

pub use diff::compute_splices;

/// One replaced stretch of text. A list of them is ordered by position and does not overlap.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextSplice {
    /// Byte position in the text before the change.
    pub at: usize,
    /// The text before the change.
    pub del: String,
    /// The text after the change.
    pub ins: String,
}

/// The splices were made for another text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the text at byte {at} is not the one that was changed")]
pub struct SpliceMisfit {
    /// Position of the difference, in the text before the change.
    pub at: usize,
}

/// Returns the text after the change. Refuses splices whose deleted text is not found at their
/// position.
pub fn apply_splices(before: &str, splices: &[TextSplice]) -> Result<String, SpliceMisfit> {
    let mut after = String::with_capacity(before.len());
    let mut done = 0;
    for splice in splices {
        let misfit = SpliceMisfit { at: splice.at };
        let end = splice.at.checked_add(splice.del.len()).ok_or(misfit)?;
        let kept = before.get(done..splice.at).ok_or(misfit)?;
        if before.get(splice.at..end) != Some(splice.del.as_str()) {
            return Err(misfit);
        }
        after.push_str(kept);
        after.push_str(&splice.ins);
        done = end;
    }
    after.push_str(before.get(done..).ok_or(SpliceMisfit { at: done })?);
    Ok(after)
}

/// Returns the splices that lead back: `apply_splices(after, &invert_splices(splices))` is the text
/// before.
#[must_use]
pub fn invert_splices(splices: &[TextSplice]) -> Vec<TextSplice> {
    let (mut inserted, mut deleted) = (0, 0);
    let mut back = Vec::with_capacity(splices.len());
    for splice in splices {
        // Only a damaged journal could leave the range of positions; `apply` then refuses it.
        let at = splice.at.saturating_add(inserted).saturating_sub(deleted);
        back.push(TextSplice {
            at,
            del: splice.ins.clone(),
            ins: splice.del.clone(),
        });
        inserted += splice.ins.len();
        deleted += splice.del.len();
    }
    back
}
