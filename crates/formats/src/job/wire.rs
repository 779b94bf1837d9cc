//! How a state of the job machine is spelled in JSON: one line per type, checked by the compiler in both directions.

use bowline_machines::Timestamp;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use std::collections::VecDeque;
use thiserror::Error;

/// A stored text that is not what it should be.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{place} is not what it should be")]
pub struct Unreadable {
    /// Where, from the inside out.
    pub place: String,
}

impl Unreadable {
    pub(crate) fn at(place: impl Into<String>) -> Self {
        Unreadable {
            place: place.into(),
        }
    }

    pub(crate) fn within(mut self, outer: &str) -> Self {
        self.place = format!("{outer}/{}", self.place);
        self
    }
}

/// Something that has a spelling in JSON.
pub trait Wire: Sized {
    /// Its spelling, written as it goes: a text needs no tree before it.
    fn spell<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error>;
    /// Its spelling as a tree. Keys are texts and numbers whole: there always is one.
    fn to_value(&self) -> Value {
        serde_json::to_value(Spelled(self)).unwrap_or_default()
    }
    /// The same as a text.
    fn to_text(&self) -> String {
        serde_json::to_string(&Spelled(self)).unwrap_or_default()
    }
    /// What is spelled so.
    fn from_value(value: &Value) -> Result<Self, Unreadable>;
    /// What an absent key means, where it may be absent: a text of an older program lacks what came later.
    fn absent() -> Option<Self> {
        None
    }
    /// Whether it is what an absent key means: then it is not spelled, and most of a job is so most of the time.
    fn is_absent(&self) -> bool {
        false
    }
}

/// Something as its spelling, for whoever writes.
pub(super) struct Spelled<'l, T>(pub(super) &'l T);

impl<T: Wire> Serialize for Spelled<'_, T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.0.spell(to)
    }
}

pub(super) fn get<T: Wire>(object: &Map<String, Value>, key: &str) -> Result<T, Unreadable> {
    match object.get(key) {
        Some(value) => T::from_value(value).map_err(|bad| bad.within(key)),
        None => T::absent().ok_or_else(|| Unreadable::at(key)),
    }
}

pub(super) fn object(value: &Value) -> Result<&Map<String, Value>, Unreadable> {
    value.as_object().ok_or_else(|| Unreadable::at("object"))
}

/// The only key of an object, and what it holds; or a word alone.
pub(super) fn variant(value: &Value) -> Result<(&str, &Value), Unreadable> {
    match value {
        Value::String(word) => Ok((word, &Value::Null)),
        Value::Object(map) if map.len() == 1 => map
            .iter()
            .next()
            .map(|(key, value)| (key.as_str(), value))
            .ok_or_else(|| Unreadable::at("variant")),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            Err(Unreadable::at("variant"))
        }
    }
}

impl Wire for String {
    fn spell<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self)
    }
    fn from_value(value: &Value) -> Result<Self, Unreadable> {
        let text = value.as_str().ok_or_else(|| Unreadable::at("text"))?;
        Ok(text.to_owned())
    }
}

impl Wire for bool {
    fn spell<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_bool(*self)
    }
    fn from_value(value: &Value) -> Result<Self, Unreadable> {
        value.as_bool().ok_or_else(|| Unreadable::at("flag"))
    }
    fn absent() -> Option<Self> {
        Some(false)
    }
    fn is_absent(&self) -> bool {
        !self
    }
}

macro_rules! number {
    ($($type:ty),+) => {$(
        impl Wire for $type {
            fn spell<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                self.serialize(to)
            }
            fn from_value(value: &Value) -> Result<Self, Unreadable> {
                let wide = value.as_i64().and_then(|it| it.try_into().ok());
                let wide = wide.or_else(|| value.as_u64().and_then(|it| it.try_into().ok()));
                wide.ok_or_else(|| Unreadable::at("number"))
            }
            fn absent() -> Option<Self> {
                Some(0)
            }
            fn is_absent(&self) -> bool {
                *self == 0
            }
        }
    )+};
}
number!(u32, u64, i64);

impl Wire for Timestamp {
    fn spell<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_i64(self.0)
    }
    fn from_value(value: &Value) -> Result<Self, Unreadable> {
        i64::from_value(value).map(Timestamp)
    }
}

impl<T: Wire> Wire for Option<T> {
    fn spell<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Some(it) => it.spell(to),
            None => to.serialize_unit(),
        }
    }
    fn from_value(value: &Value) -> Result<Self, Unreadable> {
        match value {
            Value::Null => Ok(None),
            value => T::from_value(value).map(Some),
        }
    }
    fn absent() -> Option<Self> {
        Some(None)
    }
    fn is_absent(&self) -> bool {
        self.is_none()
    }
}

impl<T: Wire> Wire for Vec<T> {
    fn spell<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.iter().map(Spelled))
    }
    fn from_value(value: &Value) -> Result<Self, Unreadable> {
        let items = value.as_array().ok_or_else(|| Unreadable::at("list"))?;
        items.iter().map(T::from_value).collect()
    }
    fn absent() -> Option<Self> {
        Some(Vec::new())
    }
    fn is_absent(&self) -> bool {
        self.is_empty()
    }
}

impl<T: Wire> Wire for VecDeque<T> {
    fn spell<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.iter().map(Spelled))
    }
    fn from_value(value: &Value) -> Result<Self, Unreadable> {
        Vec::from_value(value).map(VecDeque::from)
    }
    fn absent() -> Option<Self> {
        Some(VecDeque::new())
    }
    fn is_absent(&self) -> bool {
        self.is_empty()
    }
}

/// A struct: its keys are its fields.
macro_rules! record {
    ($type:ident { $($field:ident),+ $(,)? }) => {
        impl Wire for $type {
            fn spell<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                let $type { $($field),+ } = self;
                let mut fields = to.serialize_struct(stringify!($type), [$(stringify!($field)),+].len())?;
                $(if !$field.is_absent() {
                    fields.serialize_field(stringify!($field), &Spelled($field))?;
                })+
                fields.end()
            }
            fn from_value(value: &Value) -> Result<Self, Unreadable> {
                let map = $crate::job::wire::object(value)?;
                Ok($type { $($field: $crate::job::wire::get(map, stringify!($field))?),+ })
            }
        }
    };
}
pub(super) use record;

/// Enums of words alone: those written beside the variants, with `named!`.
macro_rules! words {
    ($($type:ident),+ $(,)?) => {$(
        impl Wire for $type {
            fn spell<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(self.name())
            }
            fn from_value(value: &Value) -> Result<Self, Unreadable> {
                let (word, _) = $crate::job::wire::variant(value)?;
                $type::from_name(word).ok_or_else(|| Unreadable::at(word))
            }
        }
    )+};
}
pub(super) use words;

/// An enum: a word alone, or an object with the word as its only key. `(it)` holds one thing, `{…}` has fields.
macro_rules! variants {
    (@write $to:ident $word:literal) => { $to.serialize_str($word) };
    (@write $to:ident $word:literal ($only:ident)) => {
        $to.serialize_newtype_variant("", 0, $word, &Spelled($only))
    };
    (@write $to:ident $word:literal { $($field:ident),+ }) => {{
        let mut fields = $to.serialize_struct_variant("", 0, $word, [$(stringify!($field)),+].len())?;
        $(fields.serialize_field(stringify!($field), &Spelled($field))?;)+
        fields.end()
    }};
    (@read $inner:ident $type:ident $name:ident) => {{
        // A word alone holds nothing.
        let _ = $inner;
        Ok($type::$name)
    }};
    (@read $inner:ident $type:ident $name:ident ($only:ident)) => {
        Wire::from_value($inner).map($type::$name)
    };
    (@read $inner:ident $type:ident $name:ident { $($field:ident),+ }) => {{
        let map = $crate::job::wire::object($inner)?;
        Ok($type::$name { $($field: $crate::job::wire::get(map, stringify!($field))?),+ })
    }};
    ($type:ident { $($name:ident $(($only:ident))? $({ $($field:ident),+ $(,)? })? = $word:literal),+ $(,)? }) => {
        impl Wire for $type {
            fn spell<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                match self {
                    $($type::$name $(($only))? $({ $($field),+ })? =>
                        variants!(@write to $word $(($only))? $({ $($field),+ })?),)+
                }
            }
            fn from_value(value: &Value) -> Result<Self, Unreadable> {
                let (word, inner) = $crate::job::wire::variant(value)?;
                match word {
                    $($word => variants!(@read inner $type $name $(($only))? $({ $($field),+ })?),)+
                    _ => Err(Unreadable::at(word)),
                }
            }
        }
    };
}
pub(super) use variants;
