//! Titles as parts of branch and folder names.

/// Longest slug, in bytes.
pub const SLUG_BYTES_MAX: usize = 48;

/// The title in `[a-z0-9-]`: Latin letters in lower case, everything between words one `-`; empty where it has none.
#[must_use]
pub fn slug(title: &str) -> String {
    let mut slug = String::new();
    for c in title.chars() {
        if slug.len() >= SLUG_BYTES_MAX {
            break;
        }
        if c.is_ascii_alphanumeric() {
            slug.push(c.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.truncate(slug.trim_end_matches('-').len());
    slug
}
