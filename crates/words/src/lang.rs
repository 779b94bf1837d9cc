//! The language of what is told.

/// Names the language outright: `ko` or `en`.
pub const LANG_VARIABLE: &str = "BOWLINE_LANG";

/// A language of texts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Lang {
    /// English.
    #[default]
    En,
    /// 한국어.
    Ko,
}
impl Lang {
    /// The language that the environment asks for: [`LANG_VARIABLE`], then the locale as every program reads it.
    pub fn of_environment() -> Lang {
        Lang::of(|name| std::env::var(name).ok())
    }

    /// The same with given variables. An empty one is as good as none.
    pub fn of(variable: impl Fn(&str) -> Option<String>) -> Lang {
        let names = [LANG_VARIABLE, "LC_ALL", "LC_MESSAGES", "LANG"];
        let mut set = names.iter().filter_map(|name| variable(name));
        match set.find(|value| !value.is_empty()) {
            Some(value) if value.starts_with("ko") => Lang::Ko,
            Some(_) | None => Lang::En,
        }
    }

    /// The word for it, as in [`LANG_VARIABLE`].
    pub const fn name(self) -> &'static str {
        match self {
            Lang::En => "en",
            Lang::Ko => "ko",
        }
    }

    /// One of two texts.
    pub fn say<'t>(self, english: &'t str, korean: &'t str) -> &'t str {
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
            Lang::of(|name| {
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
