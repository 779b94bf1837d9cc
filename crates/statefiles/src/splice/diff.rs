//! Finds small splices between two texts, at a bounded cost.

use super::TextSplice;

/// Edits searched for before the whole differing stretch becomes one splice.
const EDITS_MAX: usize = 400;
/// Comparisons of pieces made before the same happens.
const COMPARISONS_MAX: usize = 4_000_000;

/// Returns splices that turn `before` into `after`. Far-apart changes give separate small splices;
/// the cost is bounded, so very different texts give one large splice instead.
#[must_use]
pub fn compute_splices(before: &str, after: &str) -> Vec<TextSplice> {
    let (start, end) = common_ends(before, after);
    let old = &before[start..before.len() - end];
    let new = &after[start..after.len() - end];
    let mut found = Vec::new();
    if old.is_empty() || new.is_empty() {
        push_splice(&mut found, start, old, new);
        return found;
    }
    let (old_pieces, new_pieces) = (split_pieces(old), split_pieces(new));
    let Some(runs) = common_runs(&old_pieces, &new_pieces) else {
        push_splice(&mut found, start, old, new);
        return found;
    };
    let (mut old_at, mut new_at) = (0, 0);
    let (mut old_piece, mut new_piece) = (0, 0);
    for run in runs.iter().chain([&CommonRun {
        old: old_pieces.len(),
        new: new_pieces.len(),
        length: 0,
    }]) {
        let old_bytes: usize = old_pieces[old_piece..run.old]
            .iter()
            .map(|piece| piece.len())
            .sum();
        let new_bytes: usize = new_pieces[new_piece..run.new]
            .iter()
            .map(|piece| piece.len())
            .sum();
        push_splice(
            &mut found,
            start + old_at,
            &old[old_at..old_at + old_bytes],
            &new[new_at..new_at + new_bytes],
        );
        let same: usize = old_pieces[run.old..run.old + run.length]
            .iter()
            .map(|piece| piece.len())
            .sum();
        old_at += old_bytes + same;
        new_at += new_bytes + same;
        old_piece = run.old + run.length;
        new_piece = run.new + run.length;
    }
    found
}

/// Adds one splice, without the text that both sides begin and end with.
fn push_splice(found: &mut Vec<TextSplice>, at: usize, old: &str, new: &str) {
    let (start, end) = common_ends(old, new);
    let del = &old[start..old.len() - end];
    let ins = &new[start..new.len() - end];
    if !del.is_empty() || !ins.is_empty() {
        found.push(TextSplice {
            at: at + start,
            del: del.to_owned(),
            ins: ins.to_owned(),
        });
    }
}

/// Returns the lengths of the longest common start and, after it, of the longest common end, both
/// on character boundaries.
fn common_ends(one: &str, other: &str) -> (usize, usize) {
    let same = |(a, b): &(&u8, &u8)| a == b;
    let mut start = one
        .bytes()
        .zip(other.bytes())
        .take_while(|(a, b)| a == b)
        .count();
    while !one.is_char_boundary(start) {
        start -= 1;
    }
    let (one, other) = (&one.as_bytes()[start..], &other.as_bytes()[start..]);
    let mut end = one
        .iter()
        .rev()
        .zip(other.iter().rev())
        .take_while(same)
        .count();
    // A continuation byte cannot begin the common end.
    while end > 0 && one[one.len() - end] & 0xC0 == 0x80 {
        end -= 1;
    }
    (start, end)
}

/// Splits after line ends and commas: small enough for a minified document, without knowing the
/// format.
fn split_pieces(text: &str) -> Vec<&str> {
    text.split_inclusive(['\n', ',']).collect()
}

/// A stretch of pieces that both sides have.
struct CommonRun {
    old: usize,
    new: usize,
    length: usize,
}

/// Returns the common stretches on a shortest edit path (Myers' greedy search), or `None` if the
/// texts differ too much.
fn common_runs(old: &[&str], new: &[&str]) -> Option<Vec<CommonRun>> {
    let (old_len, new_len) = (old.len(), new.len());
    let edits_max = EDITS_MAX.min(old_len + new_len);
    let mut comparisons = 0;
    // `reach[d][k]`: how far into `old` one gets with d edits on diagonal k - d (k in 0..=2d, step
    // 2).
    let mut reach: Vec<Vec<usize>> = Vec::new();
    for edits in 0..=edits_max {
        let mut row = vec![0; 2 * edits + 1];
        for k in (0..=2 * edits).step_by(2) {
            let mut x = first_step(reach.last(), edits, k);
            // Diagonal number is k - edits; y = x - (k - edits).
            if x + edits < k {
                // Off the left edge: no such path.
                continue;
            }
            let mut y = x + edits - k;
            if x > old_len || y > new_len {
                row[k] = x;
                continue;
            }
            while x < old_len && y < new_len && old[x] == new[y] {
                x += 1;
                y += 1;
                comparisons += 1;
            }
            comparisons += 1;
            row[k] = x;
            if x == old_len && y == new_len {
                reach.push(row);
                return Some(walk_back(&reach, old_len, new_len));
            }
        }
        if comparisons > COMPARISONS_MAX {
            return None;
        }
        reach.push(row);
    }
    None
}

/// Returns the position where a path with `edits` edits enters diagonal `k`: a deletion from the
/// diagonal left of it, or an insertion from the one right of it, whichever is further.
fn first_step(previous: Option<&Vec<usize>>, edits: usize, k: usize) -> usize {
    let Some(previous) = previous else { return 0 };
    // Diagonal k of this row is k - 1 of the previous one, whose numbering begins one further
    // right.
    let deletion = (k >= 2).then(|| previous[k - 2] + 1);
    let insertion = (k < 2 * edits).then(|| previous.get(k).copied()).flatten();
    match (deletion, insertion) {
        (Some(deletion), Some(insertion)) => deletion.max(insertion),
        (Some(only), None) | (None, Some(only)) => only,
        (None, None) => 0,
    }
}

fn walk_back(reach: &[Vec<usize>], old_len: usize, new_len: usize) -> Vec<CommonRun> {
    let mut runs = Vec::new();
    let (mut x, mut y) = (old_len, new_len);
    for edits in (0..reach.len()).rev() {
        let k = x + edits - y;
        let previous = edits.checked_sub(1).map(|row| &reach[row]);
        let entry = first_step(previous, edits, k);
        let length = x - entry;
        if length > 0 {
            runs.push(CommonRun {
                old: entry,
                new: y - length,
                length,
            });
        }
        x = entry;
        y -= length;
        if let Some(previous) = previous {
            let came_by_deletion = k >= 2
                && (k == 2 * edits
                    || previous
                        .get(k)
                        .is_none_or(|other| previous[k - 2] + 1 >= *other));
            if came_by_deletion {
                x -= 1;
            } else {
                y -= 1;
            }
        }
    }
    runs.reverse();
    runs
}
