//! Enums whose variants have a text each.

/// An enum whose variants have a text each, with its documentation for schemas.
pub trait Named {
    /// Documentation of the enum.
    const DOC: &'static str;
    /// Text and documentation of each variant, in order.
    const WORDS: &'static [(&'static str, &'static str)];
}

/// Declares an enum with the text of each variant, and generates `ALL`, `name`, `from_name` and
/// [`Named`]; with the feature `serde` also `Serialize` and `Deserialize`, by those texts. An enum
/// whose variants hold values gets `name` only.
#[macro_export]
macro_rules! named {
    (
        $(#[$($meta:tt)+])*
        pub enum $name:ident { $($(#[$($doc:tt)+])* $variant:ident = $word:literal,)+ }
    ) => {
        $(#[$($meta)+])*
        pub enum $name { $($(#[$($doc)+])* $variant,)+ }

        impl $crate::Named for $name {
            const DOC: &'static str = $crate::doc_text!($(#[$($meta)+])*);
            const WORDS: &'static [(&'static str, &'static str)] =
                &[$(($word, $crate::doc_text!($(#[$($doc)+])*))),+];
        }

        impl $name {
            /// All variants, in order.
            pub const ALL: [$name; [$($name::$variant),+].len()] = [$($name::$variant),+];

            /// Returns the text of the variant, as it stands in files and answers.
            pub const fn name(self) -> &'static str {
                match self {
                    $($name::$variant => $word,)+
                }
            }

            /// Returns the variant with that text.
            pub fn from_name(name: &str) -> Option<$name> {
                $name::ALL.into_iter().find(|it| it.name() == name)
            }
        }

        $crate::serde_by_name!($name: $($word),+);
    };
    (
        $(#[$meta:meta])*
        pub enum $name:ident {
            $($(#[$doc:meta])* $variant:ident $(($($held:tt)+))? $({$($fields:tt)+})? = $word:literal,)+
        }
    ) => {
        $(#[$meta])*
        pub enum $name { $($(#[$doc])* $variant $(($($held)+))? $({$($fields)+})?,)+ }

        impl $name {
            /// Returns the text of the variant, as it stands in files and answers.
            pub const fn name(&self) -> &'static str {
                match self {
                    $($name::$variant { .. } => $word,)+
                }
            }
        }
    };
}

/// Joins the lines of a doc comment among attributes.
#[doc(hidden)]
#[macro_export]
macro_rules! doc_text {
    () => { "" };
    (#[doc = $line:literal] $($rest:tt)*) => { concat!($line, $crate::doc_text!($($rest)*)) };
    (#[$($other:tt)+] $($rest:tt)*) => { $crate::doc_text!($($rest)*) };
}

/// Implements `Serialize` and `Deserialize` of an enum without values by its texts.
#[cfg(feature = "serde")]
#[doc(hidden)]
#[macro_export]
macro_rules! serde_by_name {
    ($name:ident: $($word:literal),+) => {
        impl $crate::serde::Serialize for $name {
            fn serialize<S: $crate::serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(self.name())
            }
        }

        impl<'de> $crate::serde::Deserialize<'de> for $name {
            fn deserialize<D: $crate::serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let word = <std::borrow::Cow<'de, str>>::deserialize(from)?;
                $name::from_name(&word)
                    .ok_or_else(|| $crate::serde::de::Error::unknown_variant(&word, &[$($word),+]))
            }
        }
    };
}

/// Generates nothing: the feature `serde` is off.
#[cfg(not(feature = "serde"))]
#[doc(hidden)]
#[macro_export]
macro_rules! serde_by_name {
    ($name:ident: $($word:literal),+) => {};
}
