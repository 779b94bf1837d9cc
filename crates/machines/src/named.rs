//! Enums whose variants have a word each.

/// An enum with the word of each variant written beside it; what follows from that is written by nobody: all of them in
/// order, the word of one, and the one of a word. Variants that hold something have a word, and that is all.
#[macro_export]
macro_rules! named {
    (
        $(#[$meta:meta])*
        pub enum $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)+ }
    ) => {
        $(#[$meta])*
        pub enum $name { $($(#[$doc])* $variant,)+ }

        impl $name {
            /// All of them, in order.
            pub const ALL: [$name; [$($name::$variant),+].len()] = [$($name::$variant),+];

            /// The word for it, in files and answers.
            pub const fn name(self) -> &'static str {
                match self {
                    $($name::$variant => $word,)+
                }
            }

            /// The one with that word.
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
            /// The word for it, in files and answers.
            pub const fn name(&self) -> &'static str {
                match self {
                    $($name::$variant { .. } => $word,)+
                }
            }
        }
    };
}
