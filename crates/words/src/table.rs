//! Macros that declare message enums and the tables of their texts, one line each.

/// Declares message enums. `=> text` is a single text, `=> with_hint` a message with a hint.
macro_rules! messages {
    ($($(#[$doc:meta])* $name:ident, $table:ident => $sort:ident { $($variants:tt)* })+) => { $(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum $name { $($variants)* }

        messages!(@say $name, $table, $sort);
    )+ };
    (@say $name:ident, $table:ident, text) => {
        /// Debug text: the English message.
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&crate::english::$table(self))
            }
        }

        impl $name {
            /// Returns the text in a language.
            pub fn say(&self, lang: crate::Lang) -> String {
                match lang {
                    crate::Lang::En => crate::english::$table(self),
                    crate::Lang::Ko => crate::particle::fitted(&crate::korean::$table(self)),
                }
            }
        }
    };
    (@say $name:ident, $table:ident, with_hint) => {
        impl $name {
            /// Returns message and hint in a language.
            pub fn say(&self, lang: crate::Lang) -> (String, String) {
                match lang {
                    crate::Lang::En => crate::english::$table(self),
                    crate::Lang::Ko => {
                        let (message, hint) = crate::korean::$table(self);
                        let fitted = |text: String| crate::particle::fitted(&text);
                        (fitted(message), fitted(hint))
                    }
                }
            }
        }
    };
}

/// Declares the texts of enums in one language. A value other than a plain parameter follows in
/// brackets.
macro_rules! table {
    ($($function:ident: $name:ident => text { $($pattern:pat => $text:literal $([$($value:tt)*])?;)+ })+) => { $(
        pub(crate) fn $function(message: &crate::message::$name) -> String {
            use crate::message::$name::*;
            match message {
                $($pattern => format!($text $(, $($value)*)?),)+
            }
        }
    )+ };
    ($($function:ident: $name:ident => with_hint { $($pattern:pat => $text:literal $([$($value:tt)*])? / $hint:literal $([$($more:tt)*])?;)+ })+) => { $(
        pub(crate) fn $function(message: &crate::message::$name) -> (String, String) {
            use crate::message::$name::*;
            match message {
                $($pattern => (format!($text $(, $($value)*)?), format!($hint $(, $($more)*)?)),)+
            }
        }
    )+ };
}

/// Declares an enum of messages without parameters, together with its English table and the list of
/// its members: a member has no more to it than its text.
macro_rules! declared {
    ($(#[$doc:meta])* $name:ident, $table:ident { $($member:ident => $text:literal;)+ }) => {
        messages! { $(#[$doc])* $name, $table => text { $($member,)+ } }

        impl $name {
            /// All members with their names.
            pub const ALL: &[(&str, $name)] = &[$((stringify!($member), $name::$member)),+];
        }

        table! { $table: $name => text { $($member => $text;)+ } }
    };
}
