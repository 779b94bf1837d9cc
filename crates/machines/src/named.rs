//! Enums whose variants have a text each.

/// Declares an enum with the text of each variant, and generates `ALL`, `name` and `from_name`; with
/// the feature `serde` also `Serialize` and `Deserialize`, by those texts. An enum whose variants
/// hold values gets `name` only.
#[macro_export]
macro_rules! named {
    (
        $(#[$meta:meta])*
        pub enum $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)+ }
    ) => {
        $(#[$meta])*
        pub enum $name { $($(#[$doc])* $variant,)+ }

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
