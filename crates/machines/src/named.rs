//! Enums whose variants have a text each.

/// Declares an enum with the text of each variant, and generates `ALL`, `name` and `from_name`. An
/// enum whose variants hold values gets `name` only.
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
