//! What a test has seen a real client do: `cargo xtask clients` makes the table of `docs/agents/README.md` of it.

use std::path::Path;

/// Where that is written down; nowhere when it is not set.
const FOLDER: &str = "BOWLINE_CLIENTS_SEEN";

/// Notes that a client, named by the variable it is found by, did this. Called at the end of a test, when nothing has failed.
pub fn record_client_result(client: &str, what: &str) {
    let Some(folder) = std::env::var_os(FOLDER) else {
        return;
    };
    let letter = |letter: char| match letter.is_alphanumeric() {
        true => letter,
        false => '-',
    };
    let name: String = format!("{client} {what}").chars().map(letter).collect();
    let noted = std::fs::write(Path::new(&folder).join(name), format!("{client}\t{what}"));
    assert!(noted.is_ok(), "{FOLDER}: {noted:?}");
}
