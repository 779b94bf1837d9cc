//! What `derive(Serialize)` and `derive(Deserialize)` make of a type, by serde's own reader of its
//! attributes.

use proc_macro2::Span;
use serde_derive_internals::ast::{Container, Data, Field, Style, Variant};
use serde_derive_internals::attr::TagType;
use serde_derive_internals::name::{MultiName, Name};
use serde_derive_internals::{Ctxt, Derive};
use std::collections::BTreeSet;
use syn::{Attribute, DeriveInput, Ident};

/// The names of a derived format.
pub(crate) enum Shape {
    /// Keys, and variants with theirs.
    Keys(String),
    /// The words of an enum without values.
    Words(Vec<String>),
}

/// Returns the names of a type that is read or written by a derive.
pub(crate) fn of(input: DeriveInput) -> Option<Shape> {
    if !is_derived(&input.attrs) {
        return None;
    }
    let context = Ctxt::new();
    let private = Ident::new("private", Span::call_site());
    let container = Container::from_ast(&context, &input, Derive::Deserialize, &private);
    // What serde refuses does not compile; the context panics unless it is asked.
    let _ = context.check();
    let container = container.filter(|it| it.attrs.remote().is_none())?;
    let variants = match &container.data {
        Data::Struct(Style::Struct, fields) => return Some(Shape::Keys(keys(fields))),
        Data::Struct(Style::Tuple | Style::Newtype | Style::Unit, _) => return None,
        Data::Enum(variants) => variants,
    };
    let word = |one: &Variant<'_>| spelled(one.attrs.name(), one.attrs.aliases());
    let tags = match container.attrs.tag() {
        TagType::External if variants.iter().all(|one| one.fields.is_empty()) => {
            return Some(Shape::Words(variants.iter().map(word).collect()));
        }
        TagType::External => String::new(),
        TagType::Internal { tag } => format!("{tag}: "),
        TagType::Adjacent { tag, content } => format!("{tag}: {content}: "),
        TagType::None => "untagged: ".into(),
    };
    let variants = variants.iter().map(|one| match one.style {
        Style::Struct => format!("{} {}", word(one), keys(&one.fields)),
        Style::Tuple | Style::Newtype => format!("{} (…)", word(one)),
        Style::Unit => word(one),
    });
    Some(Shape::Keys(tags + &joined(variants, " | ")))
}

/// True if a type has a derive of serde and is no body of the REST interface: those are in its
/// document.
fn is_derived(attributes: &[Attribute]) -> bool {
    let has = |name: &str, word: &str| {
        let tokens = |it: &Attribute| it.meta.require_list().map(|it| it.tokens.to_string());
        let mut named = attributes.iter().filter(|it| it.path().is_ident(name));
        named.any(|it| tokens(it).is_ok_and(|it| it.contains(word)))
    };
    (has("derive", "Serialize") || has("derive", "Deserialize")) && !has("cfg_attr", "JsonSchema")
}

fn keys(fields: &[Field<'_>]) -> String {
    let kept = fields.iter().map(|it| &it.attrs);
    let kept = kept.filter(|it| !(it.skip_serializing() && it.skip_deserializing()));
    let key = kept.map(|it| match it.flatten() {
        true => "..".to_owned(),
        false => spelled(it.name(), it.aliases()),
    });
    format!("{{{}}}", joined(key, ", "))
}

/// Returns all spellings of a name.
fn spelled(name: &MultiName, aliases: &BTreeSet<Name>) -> String {
    let names = [name.serialize_name(), name.deserialize_name()];
    let names = names.into_iter().chain(aliases);
    joined(names.map(|it| it.value.clone()), "/")
}

fn joined(names: impl Iterator<Item = String>, between: &str) -> String {
    let names: BTreeSet<String> = names.collect();
    let names: Vec<String> = names.into_iter().collect();
    names.join(between)
}
