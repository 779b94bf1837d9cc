//! Reads the members of a JSON message without a map and, if nothing is escaped, without copying.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserializer as _, MapAccess, SeqAccess, Visitor};
use serde_json::Value as Json;

use super::syntax::{FieldKey, KEYS_MAX};

/// A member of a JSON message whose name matches a field in any case.
pub(super) struct KnownMember<'t> {
    /// Index into the message's keys.
    pub(super) at: usize,
    name: Cow<'t, str>,
    pub(super) value: MemberValue<'t>,
}

pub(super) enum MemberValue<'t> {
    Text(Cow<'t, str>),
    Other(Json),
}

/// Reads the members of the object in `text` whose name is in `keys`, one per spelling, in order of
/// first appearance. If a name is repeated, the last value counts, as with other JSON readers.
pub(super) fn known_members<'t>(
    text: &'t str,
    keys: &[FieldKey],
) -> Result<Vec<KnownMember<'t>>, serde_json::Error> {
    let mut json = serde_json::Deserializer::from_str(text);
    let known = json.deserialize_map(KnownMembers(keys))?;
    json.end()?;
    Ok(known)
}

struct KnownMembers<'k>(&'k [FieldKey]);

impl<'t> Visitor<'t> for KnownMembers<'_> {
    type Value = Vec<KnownMember<'t>>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'t>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut known: Vec<KnownMember<'t>> = Vec::with_capacity(KEYS_MAX);
        while let Some(BorrowedText(name)) = map.next_key()? {
            let at = self
                .0
                .iter()
                .position(|key| key.as_str().eq_ignore_ascii_case(&name));
            let Some(at) = at else {
                map.next_value::<Json>()?;
                continue;
            };
            let value = map.next_value()?;
            match known.iter_mut().find(|member| member.name == name) {
                Some(member) => member.value = value,
                None => known.push(KnownMember { at, name, value }),
            }
        }
        Ok(known)
    }
}

/// A JSON string, borrowed if nothing in it is escaped.
#[derive(Deserialize)]
struct BorrowedText<'t>(#[serde(borrow)] Cow<'t, str>);

impl<'t> Deserialize<'t> for MemberValue<'t> {
    fn deserialize<D: serde::Deserializer<'t>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyMember)
    }
}

struct AnyMember;

impl<'t> Visitor<'t> for AnyMember {
    type Value = MemberValue<'t>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("any valid JSON value")
    }

    fn visit_borrowed_str<E>(self, text: &'t str) -> Result<Self::Value, E> {
        Ok(MemberValue::Text(text.into()))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(MemberValue::Text(text.to_owned().into()))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(MemberValue::Other(Json::Null))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(MemberValue::Text(
            if value { "true" } else { "false" }.into(),
        ))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        Ok(MemberValue::Other(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(MemberValue::Other(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        Ok(MemberValue::Other(value.into()))
    }

    fn visit_seq<A: SeqAccess<'t>>(self, seq: A) -> Result<Self::Value, A::Error> {
        Json::deserialize(SeqAccessDeserializer::new(seq)).map(MemberValue::Other)
    }

    fn visit_map<A: MapAccess<'t>>(self, map: A) -> Result<Self::Value, A::Error> {
        Json::deserialize(MapAccessDeserializer::new(map)).map(MemberValue::Other)
    }
}
