//! Posts to an address of others by curl. Addresses are secrets: they are handed over in a file for this user alone and
//! appear in no argument, log, answer or note.

use crate::process;
use crate::words::shown;
use bowline_formats::client_hooks::quoted;
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long one delivery may take.
const POST_TIME: Duration = Duration::from_secs(30);

/// Whoever posts.
#[derive(Debug, Clone)]
pub struct Poster {
    /// For files of the moment.
    pub folder: PathBuf,
    /// The environment of curl.
    pub variables: BTreeMap<String, String>,
}

/// The header of a body that is JSON.
pub const JSON: &str = "Content-Type: application/json";

impl Poster {
    /// Posts a text; whether it was taken, and how that went. `id` is the event's, `name` that of the address.
    pub fn post(
        &self,
        id: &str,
        name: &str,
        address: &str,
        headers: &[String],
        body: &str,
    ) -> (bool, String) {
        let file = |end: &str| self.folder.join(format!("{id}.{name}.{end}"));
        let (config, content) = (file("curl"), file("body"));
        let settings = settings(id, address, headers, &content);
        let written = std::fs::create_dir_all(&self.folder)
            .and_then(|()| write(&config, &settings))
            .and_then(|()| write(&content, body));
        let told = match written {
            Err(error) => (false, error.to_string()),
            Ok(()) => {
                let command = format!(
                    "curl -s --max-time 20 -o /dev/null -w '%{{http_code}}' -K {}",
                    quoted(&shown(&config))
                );
                match process::run_in(&command, &self.folder, &self.variables, POST_TIME) {
                    Ok(ran) => {
                        let code = ran.output_tail.trim();
                        let taken = ran.exit_code == 0 && code.starts_with('2');
                        // What curl says of itself may hold the address; its codes do not.
                        let digits = code.len() == 3 && code.bytes().all(|it| it.is_ascii_digit());
                        let code = if digits { code } else { "-" };
                        (taken, format!("status {code}, curl {}", ran.exit_code))
                    }
                    Err(error) => (false, error.to_string()),
                }
            }
        };
        for path in [config, content] {
            let _ = std::fs::remove_file(path);
        }
        told
    }
}

/// What curl is told, one setting in each line.
fn settings(id: &str, address: &str, headers: &[String], content: &Path) -> String {
    // A line end would begin another setting, and a quote end this one.
    let escaped = |text: &str| {
        let text = text.replace(['\n', '\r', '\0'], " ");
        text.replace('\\', "\\\\").replace('"', "\\\"")
    };
    let mut settings = String::new();
    let mut set = |name: &str, value: &str| {
        settings.push_str(&format!("{name} = \"{}\"\n", escaped(value)));
    };
    set("url", address);
    set("request", "POST");
    set("header", &format!("X-Bowline-Event-Id: {id}"));
    for header in headers {
        set("header", header);
    }
    set("data-binary", &format!("@{}", shown(content)));
    settings
}

fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(text.as_bytes())
}

/// A part of a path as it may stand in an address.
pub fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                out.push(char::from(byte));
            }
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_a_line_end_nor_a_quote_adds_a_setting() {
        let address = "http://a/\"\noutput = \"/etc/x\r\nurl = b\\";
        let headers = ["X-Title: a\"\nproxy = \"http://b".to_owned()];
        let content = Path::new("/tmp/a\"\nb");
        let told = settings("1\n2", address, &headers, content);
        assert_eq!(
            told.lines().collect::<Vec<_>>(),
            [
                r#"url = "http://a/\" output = \"/etc/x  url = b\\""#,
                r#"request = "POST""#,
                r#"header = "X-Bowline-Event-Id: 1 2""#,
                r#"header = "X-Title: a\" proxy = \"http://b""#,
                r#"data-binary = "@/tmp/a\" b""#,
            ]
        );
    }
}
