//! Checks on what a person hands in.

use bowline_formats::markers::check::{
    check_answer, check_env_name, check_value, value_fault_code,
};
use bowline_machines::job::DependencyKind;
use bowline_words::Lang;

#[test]
fn values_by_type() {
    use DependencyKind::*;
    let long = "x".repeat(10_001);
    for (kind, value, expected) in [
        (ApiKey, "key_1234-A", ""),
        (ApiKey, "key_123", "value_not_an_api_key"),
        (ApiKey, "key 12345", "value_not_an_api_key"),
        (ApiKey, "key_12345\n", "value_not_an_api_key"),
        (EnvVariable, "any thing\nat all", ""),
        (EnvVariable, &long[1..], ""),
        (EnvVariable, &long, "value_too_long"),
        (EnvVariable, "a\0b", "value_has_nul"),
        (EnvVariable, " \n", "value_empty"),
        (Service, "https://example.org:8443/path?q=1", ""),
        (Service, "HTTP://user:pw@localhost", ""),
        (Service, "ftp://example.org", "value_not_an_address"),
        (Service, "https://", "value_not_an_address"),
        (Service, "https:///path", "value_not_an_address"),
        (Service, "https://:80", "value_not_an_address"),
        (Service, "https://exa mple.org", "value_not_an_address"),
        (Service, "example.org", "value_not_an_address"),
        (File, "data/input.csv", ""),
        (File, "data/../secret", "value_path_climbs"),
        (File, &long[..500], ""),
        (File, &long[..501], "value_too_long"),
        (Permission, "yes", ""),
        (Permission, "False", ""),
        (Permission, "y", "value_not_a_permission"),
        (Package, "left-pad", ""),
        (Package, "@scope/left-pad2", ""),
        (Package, "@scope", "value_not_a_package"),
        (Package, "scope/left", "value_not_a_package"),
        (Package, "@a/b/c", "value_not_a_package"),
        (Package, "Left", "value_not_a_package"),
    ] {
        let code = check_value(kind, value).map_or_else(value_fault_code, |()| "");
        let shown: String = value.chars().take(20).collect();
        assert_eq!(code, expected, "{} {shown}", kind.name());
    }
}

#[test]
fn no_refusal_repeats_the_value() {
    for kind in DependencyKind::ALL {
        let Err(error) = check_value(kind, "Secret..value \0") else {
            panic!("{} accepted it", kind.name());
        };
        for lang in [Lang::En, Lang::Ko] {
            assert!(!error.say(lang).contains("Secret"), "{error}");
        }
    }
}

#[test]
fn environment_names() {
    for (name, expected) in [
        ("MAPS_KEY", ""),
        ("_X9", ""),
        ("", "env_name_invalid"),
        ("9X", "env_name_invalid"),
        ("maps", "env_name_invalid"),
        ("A-B", "env_name_invalid"),
        ("A=B", "env_name_invalid"),
        ("É", "env_name_invalid"),
        ("PATH", "env_name_protected"),
        ("HOME", "env_name_protected"),
        ("USER", "env_name_protected"),
        ("SHELL", "env_name_protected"),
        ("LD_PRELOAD", "env_name_protected"),
        ("BOWLINE_URL", "env_name_protected"),
        ("BASH_ENV", "env_name_protected"),
        ("PATHS", ""),
    ] {
        let code =
            check_env_name(name).map_or_else(|error| error.code().to_owned(), |()| String::new());
        assert_eq!(code, expected, "{name}");
    }
}

#[test]
fn answers_against_options() {
    let options: Vec<String> = ["PostgreSQL", "SQLite", "sqlite", "Neither of them"]
        .map(str::to_owned)
        .to_vec();
    let long = "q".repeat(10_001);
    for (answer, expected) in [
        ("SQLite", "SQLite"),
        ("sqlite", "sqlite"),
        (" SQLITE\n", "respelled SQLite"),
        ("postgresql", "respelled PostgreSQL"),
        ("Postgres", "answer_not_an_option Some(\"PostgreSQL\")"),
        (
            "neither of then",
            "answer_not_an_option Some(\"Neither of them\")",
        ),
        ("MongoDB", "answer_not_an_option None"),
        ("  ", "answer_empty"),
        (&long, "answer_too_long"),
        (&long[..10_000], "answer_not_an_option None"),
    ] {
        let outcome = match check_answer(&options, answer) {
            Ok(answer) if answer.respelled => format!("respelled {}", answer.text),
            Ok(answer) => answer.text.into_owned(),
            Err(error) => match &error {
                bowline_formats::markers::check::AnswerError::NotAnOption { suggestion } => {
                    format!("{} {suggestion:?}", error.code())
                }
                _ => error.code().to_owned(),
            },
        };
        assert_eq!(outcome, expected, "{answer:.20}");
    }
    let free = check_answer(&[], "  any text \n").unwrap();
    assert_eq!((free.text.as_ref(), free.respelled), ("any text", false));
}

#[test]
fn the_suggestion_begins_at_seven_tenths() {
    let options = vec!["abcdefghij".to_owned()];
    for (answer, suggested) in [("abcdefgxyz", true), ("abcdefwxyz", false)] {
        let error = check_answer(&options, answer).unwrap_err();
        let expected = suggested.then(|| options[0].clone());
        assert_eq!(
            error,
            bowline_formats::markers::check::AnswerError::NotAnOption {
                suggestion: expected
            }
        );
    }
}
