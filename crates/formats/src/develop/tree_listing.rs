//! `tree-GATE` of a develop run: every path of the tree that a gate was passed on.
//!
//! The first line is the tree as recorded in evidence; then each path as `mode id<TAB>path`, ended
//! by a zero byte.

use std::collections::BTreeMap;

/// Returns the name of the file in the folder of a run.
pub fn file_name(gate: &str) -> String {
    format!("tree-{gate}")
}

/// Returns the content of the file.
pub fn render_listing(tree: &str, listing: &[u8]) -> Vec<u8> {
    [tree.as_bytes(), b"\n", listing].concat()
}

/// Parses mode and id by path; `None` if the file is about another tree.
pub fn parse_listing(bytes: &[u8], tree: &str) -> Option<BTreeMap<Vec<u8>, String>> {
    let listing = bytes.strip_prefix(tree.as_bytes())?.strip_prefix(b"\n")?;
    let entries = listing.split(|&byte| byte == 0);
    Some(entries.filter_map(parse_tree_entry).collect())
}

/// Parses one path with its mode and id; the object type, which `git ls-tree` prints between them,
/// is skipped.
pub fn parse_tree_entry(bytes: &[u8]) -> Option<(Vec<u8>, String)> {
    let tab = bytes.iter().position(|&byte| byte == b'\t')?;
    let words = std::str::from_utf8(&bytes[..tab]).ok()?;
    let (mode, id) = (words.split(' ').next()?, words.rsplit(' ').next()?);
    Some((bytes[tab + 1..].to_owned(), format!("{mode} {id}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_reads_back_as_git_lists_it() {
        let text = render_listing("git:t", b"100644 a\tone two\x00120000 b\tlink\0");
        let read = parse_listing(&text, "git:t").unwrap_or_default();
        assert_eq!(
            read.get(&b"one two"[..]).map(String::as_str),
            Some("100644 a")
        );
        assert_eq!(read.len(), 2);
        assert_eq!(super::parse_listing(&text, "git:other"), None);
        let listed = parse_tree_entry(b"100644 blob a\tone two");
        assert_eq!(listed, Some((b"one two".to_vec(), "100644 a".to_owned())));
    }
}
