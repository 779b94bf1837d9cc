//! The syntax tree with the position of every value in the text.

use super::{child_pointer, unescape_key};
use jsonc_parser::ast::{ObjectProp, Value as Node};
use jsonc_parser::common::Ranged as _;
use jsonc_parser::{CollectOptions, ParseOptions};

const STRICT: ParseOptions = ParseOptions {
    allow_comments: false,
    allow_loose_object_property_names: false,
    allow_trailing_commas: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// Parses a text and passes its root to `use_root`; `None` if the text has no value.
pub(super) fn with_root<T>(text: &str, use_root: impl FnOnce(Option<&Node<'_>>) -> T) -> T {
    let parsed = jsonc_parser::parse_to_ast(text, &CollectOptions::default(), &STRICT);
    use_root(parsed.ok().and_then(|parsed| parsed.value).as_ref())
}

/// Returns the member with that key; the last one, as in every common reader.
pub(super) fn find_member<'a, 'b>(node: &'b Node<'a>, key: &str) -> Option<&'b ObjectProp<'a>> {
    let object = node.as_object()?;
    object
        .properties
        .iter()
        .rfind(|prop| prop.name.as_str() == key)
}

/// Returns the byte offset of the value at a pointer, or of its nearest existing parent.
pub(super) fn value_offset(root: &Node<'_>, pointer: &str) -> usize {
    let mut node = root;
    for part in pointer.split('/').skip(1) {
        let key = unescape_key(part);
        let next = match node {
            Node::Object(_) => find_member(node, &key).map(|prop| &prop.value),
            Node::Array(array) => key
                .parse()
                .ok()
                .and_then(|index: usize| array.elements.get(index)),
            Node::StringLit(_)
            | Node::NumberLit(_)
            | Node::BooleanLit(_)
            | Node::NullKeyword(_) => None,
        };
        match next {
            Some(next) => node = next,
            None => break,
        }
    }
    node.start()
}

/// Collects the pointers of keys that occur more than once.
pub(super) fn collect_duplicates(node: &Node<'_>, pointer: String, found: &mut Vec<String>) {
    match node {
        Node::Object(object) => {
            let mut times = std::collections::HashMap::new();
            for prop in &object.properties {
                let times = times.entry(prop.name.as_str()).or_insert(0_usize);
                *times += 1;
                // Most members are plain values that occur once and need no pointer.
                let inner = matches!(prop.value, Node::Object(_) | Node::Array(_));
                if *times != 2 && !inner {
                    continue;
                }
                let here = child_pointer(&pointer, prop.name.as_str());
                if *times == 2 {
                    found.push(here.clone());
                }
                if inner {
                    collect_duplicates(&prop.value, here, found);
                }
            }
        }
        Node::Array(array) => {
            for (index, element) in array.elements.iter().enumerate() {
                // A list of a hundred thousand ids needs no pointer to each.
                if matches!(element, Node::Object(_) | Node::Array(_)) {
                    collect_duplicates(element, format!("{pointer}/{index}"), found);
                }
            }
        }
        Node::StringLit(_) | Node::NumberLit(_) | Node::BooleanLit(_) | Node::NullKeyword(_) => {}
    }
}
