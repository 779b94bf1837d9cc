//! No identifier is a key: where types are stored as they are, every name is written out.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot unwrap has failed, and says where"
)]

use crate::tree::{packages, read, tracked};

/// The file outside of `machines` whose types are stored as they are.
const STORED: &str = "crates/formats/src/orchestrate/step.rs";

#[test]
fn stored_names_are_written_out() {
    let mut wrong = Vec::new();
    let mut types = 0;
    for file in tracked() {
        let machines = file.starts_with("crates/machines/src/") && file.ends_with(".rs");
        if machines || file == STORED {
            let (found, unnamed) = unnamed_keys(&read(&file));
            types += found;
            wrong.extend(unnamed.into_iter().map(|it| format!("{file}:{it}")));
        }
    }
    assert!(types > 2, "the stored types were not found");
    assert!(
        wrong.is_empty(),
        "names of identifiers are stored: {wrong:#?}"
    );
}

#[test]
fn serde_is_a_feature_of_machines() {
    let packages = packages();
    let machines = packages.iter().find(|it| it["name"] == "bowline-machines");
    let dependencies = machines.unwrap()["dependencies"].as_array().unwrap();
    let serde = dependencies.iter().find(|it| it["name"] == "serde");
    assert_eq!(serde.unwrap()["optional"], true);
}

#[test]
fn a_stored_name_that_is_not_written_out_is_found() {
    let (types, unnamed) = unnamed_keys(
        r#"
#[derive(Debug)]
pub struct NotStored {
    pub a: u32,
}

#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Life {
    /// It works: `rename = "working"` says nothing here.
    Working,
    #[cfg_attr(feature = "serde", serde(rename = "ended"))]
    Ended {
        /// The time.
        #[serde(
            rename = "at",
            default
        )]
        at: u32,
        by: String,
    } = "ended",
    #[serde(rename = "gone")]
    Gone { at: u32 },
    #[cfg_attr(feature = "serde", serde(skip))]
    Lost {
        at: u32,
    } = "lost",
}

named! {
    #[derive(Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Word {
        #[serde(rename = "a")]
        A(u32) = "a",
        B = "b",
    }
}
"#,
    );
    assert_eq!(types, 2);
    let expected = [
        "10: Working,",
        "19: by: String,",
        "22: Gone { at: u32 },",
        "35: B = \"b\",",
    ];
    assert_eq!(unnamed, expected);
}

/// Counts the types that derive serde, and returns the lines of their fields and variants that are
/// stored under the name of the identifier.
fn unnamed_keys(text: &str) -> (usize, Vec<String>) {
    let (mut types, mut unnamed) = (0, Vec::new());
    let (mut derives, mut named, mut skipped) = (false, false, false);
    // The line that ends the type that is being read.
    let mut end: Option<String> = None;
    // How the line begins that ends the variant without a stored form that is being read.
    let mut skipped_end: Option<String> = None;
    for (number, line) in text.lines().enumerate() {
        let item = line.trim_start();
        if item.starts_with("//") {
            continue;
        }
        let indent = &line[..line.len() - item.len()];
        let Some(last) = &end else {
            derives |= item.contains("derive(") && item.contains("erialize");
            let mut words = item.split(' ').skip_while(|word| word.starts_with("pub"));
            if matches!(words.next(), Some("enum" | "struct")) {
                if derives && item.ends_with('{') {
                    types += 1;
                    end = Some(format!("{indent}}}"));
                }
                derives = false;
            }
            continue;
        };
        if let Some(last) = &skipped_end {
            if line.starts_with(last) {
                skipped_end = None;
            }
        } else if line == last {
            end = None;
        } else if item.contains("serde(skip)") {
            skipped = true;
        } else if skipped && is_key(item) {
            skipped = false;
            skipped_end = item.ends_with('{').then(|| format!("{indent}}}"));
        } else if item.contains("rename = \"") {
            named = true;
        } else if is_key(item) {
            let hides_fields = item.contains("{ ");
            if !named || hides_fields {
                unnamed.push(format!("{}: {item}", number + 1));
            }
            named = false;
        }
    }
    (types, unnamed)
}

/// True for a line that begins a field or a variant: `name: Type,`, `pub name: Type,` or `Name…`.
fn is_key(item: &str) -> bool {
    let item = item.strip_prefix("pub ").unwrap_or(item);
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let rest = item.trim_start_matches(is_part);
    let is_field = rest.len() < item.len() && rest.starts_with(": ");
    is_field || item.starts_with(|letter: char| letter.is_uppercase())
}
