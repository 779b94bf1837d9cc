//! Path patterns: `*` and `?` within a name, `**` across folders.
//!
//! A pattern is matched against the whole path from the root, with `/` between names. A pattern
//! that names a folder matches everything in it.

/// True if the path matches the pattern.
pub fn matches_path(pattern: &str, path: &str) -> bool {
    let pattern = path_parts(pattern);
    let path: Vec<&str> = path_parts(path);
    // A pattern that ends at a parent folder matches everything in it.
    !pattern.is_empty() && (1..=path.len()).any(|end| matches_parts(&pattern, &path[..end]))
}

/// True if something below the folder may match the pattern; false only if that is impossible.
pub fn may_match_below(pattern: &str, folder: &str) -> bool {
    let pattern = path_parts(pattern);
    for (index, name) in path_parts(folder).into_iter().enumerate() {
        match pattern.get(index) {
            // The pattern names a parent folder.
            None => return true,
            Some(&"**") => return true,
            Some(one) if matches_name(one.as_bytes(), name.as_bytes()) => {}
            Some(_) => return false,
        }
    }
    true
}

fn path_parts(path: &str) -> Vec<&str> {
    let skipped = |name: &&str| !name.is_empty() && *name != ".";
    path.split('/').filter(skipped).collect()
}

fn matches_parts(pattern: &[&str], path: &[&str]) -> bool {
    match (pattern.split_first(), path.split_first()) {
        (None, None) => true,
        (Some((&"**", rest)), _) => (0..=path.len()).any(|skip| matches_parts(rest, &path[skip..])),
        (Some((one, rest)), Some((name, below))) => {
            matches_name(one.as_bytes(), name.as_bytes()) && matches_parts(rest, below)
        }
        (None, Some(_)) | (Some(_), None) => false,
    }
}

/// Matches one name against one part of a pattern. It backtracks to the last star only: linear in
/// practice, never exponential.
fn matches_name(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut read) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while read < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, read));
                at += 1;
            }
            Some(b'?') => {
                at += 1;
                read += char_width(name[read]);
            }
            Some(&byte) if byte == name[read] => {
                at += 1;
                read += 1;
            }
            Some(_) | None => match star {
                Some((place, from)) => {
                    star = Some((place, from + 1));
                    (at, read) = (place + 1, from + 1);
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

/// Returns the length in bytes of the UTF-8 character that begins with this byte.
fn char_width(first: u8) -> usize {
    match first {
        0xf0.. => 4,
        0xe0.. => 3,
        0xc0.. => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_paths_and_folders_mean_all_in_them() {
        for (pattern, path, wanted) in [
            ("tests/**", "tests/a.rs", true),
            ("tests/**", "tests/deep/a.rs", true),
            ("tests", "tests/deep/a.rs", true),
            ("tests/", "tests/a.rs", true),
            ("./tests", "tests/a.rs", true),
            ("tests/**", "src/tests/a.rs", false),
            ("**/tests/**", "src/tests/a.rs", true),
            ("**/tests/**", "tests/a.rs", true),
            ("*.toml", "bowline.toml", true),
            ("*.toml", "src/bowline.toml", false),
            ("**/*.toml", "src/bowline.toml", true),
            ("package.json", "package.json", true),
            ("package.json", "package.json5", false),
            (".github/workflows/*.yml", ".github/workflows/ci.yml", true),
            ("a?c", "a한c", true),
            ("a?c", "abbc", false),
            ("a*b*c", "a1b2b3c", true),
            ("a*b*c", "a1b2b3", false),
            ("", "anything", false),
            ("**", "any/thing", true),
        ] {
            assert_eq!(matches_path(pattern, path), wanted, "{pattern} {path}");
        }
    }

    #[test]
    fn folders_that_cannot_hold_a_match_need_no_look() {
        for (pattern, folder, wanted) in [
            ("tests/**", "tests", true),
            ("tests/**", "node_modules", false),
            ("tests", "tests/deep", true),
            ("**/*.toml", "node_modules", true),
            (".github/workflows/*.yml", ".github", true),
            (".github/workflows/*.yml", ".github/actions", false),
            ("*.toml", "src", false),
        ] {
            assert_eq!(
                may_match_below(pattern, folder),
                wanted,
                "{pattern} {folder}"
            );
        }
    }
}
