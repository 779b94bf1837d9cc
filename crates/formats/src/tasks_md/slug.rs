//! Converts titles to parts of branch and folder names.

/// Maximum length of a slug.
pub const SLUG_BYTES_MAX: usize = 48;

/// Converts a title to `[a-z0-9-]`: Latin letters in lower case, one `-` between words; empty if it
/// has none.
#[must_use]
pub fn title_slug(title: &str) -> String {
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
