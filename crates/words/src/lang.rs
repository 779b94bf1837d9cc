//! Selection of the language of messages.

/// Environment variable that selects the language: `ko` or `en`.
pub const LANG_VARIABLE: &str = "BOWLINE_LANG";

/// A supported language of messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Lang {
    /// English, the default language.
    #[default]
    En,
    /// Korean, 한국어 in its own script.
    Ko,
}
impl Lang {
    /// Returns the language that the environment asks for: [`LANG_VARIABLE`], else the locale.
    pub fn from_environment() -> Lang {
        Lang::from_variables(|name| std::env::var(name).ok())
    }

    /// Returns the language for the given variables. An empty variable counts as unset.
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Lang {
        let names = [LANG_VARIABLE, "LC_ALL", "LC_MESSAGES", "LANG"];
        let mut set = names.iter().filter_map(|name| variable(name));
        match set.find(|value| !value.is_empty()) {
            Some(value) if value.starts_with("ko") => Lang::Ko,
            Some(_) | None => Lang::En,
        }
    }

    /// Returns its code, as in [`LANG_VARIABLE`].
    pub const fn name(self) -> &'static str {
        match self {
            Lang::En => "en",
            Lang::Ko => "ko",
        }
    }

    /// Chooses one of two texts by language.
    pub fn choose_text<'t>(self, english: &'t str, korean: &'t str) -> &'t str {
        match self {
            Lang::En => english,
            Lang::Ko => korean,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Lang;

    #[test]
    fn the_first_variable_that_says_something_decides() {
        let of = |set: &[(&str, &str)]| {
            Lang::from_variables(|name| {
                let found = set.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            })
        };
        assert_eq!(of(&[]), Lang::En);
        assert_eq!(of(&[("LANG", "ko_KR.UTF-8")]), Lang::Ko);
        assert_eq!(of(&[("LANG", "ko_KR.UTF-8"), ("LC_ALL", "C")]), Lang::En);
        assert_eq!(of(&[("LANG", "C"), ("BOWLINE_LANG", "ko")]), Lang::Ko);
        assert_eq!(of(&[("LANG", "ko"), ("BOWLINE_LANG", "")]), Lang::Ko);
        assert_eq!(of(&[("LANG", "ko"), ("BOWLINE_LANG", "en")]), Lang::En);
    }
}
