//! Posts to a web address with curl. Addresses are secrets: they are passed in a file that only
//! this user can read, and appear in no argument, log, reply or note.

use crate::process;
use crate::words::shown;
use bowline_formats::client_hooks::quoted;
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Time limit of one delivery.
const POST_TIME: Duration = Duration::from_secs(30);

/// Sender of posts.
#[derive(Debug, Clone)]
pub struct Poster {
    /// Folder for temporary files.
    pub folder: PathBuf,
    /// Environment of curl.
    pub variables: BTreeMap<String, String>,
}

/// Result of a post.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Posted {
    /// True if the receiver accepted it.
    pub taken: bool,
    /// HTTP status and exit code of curl, or an error; never the address.
    pub note: String,
    /// Seconds that the receiver asks to wait before the next try.
    pub retry_after_s: Option<u64>,
}

impl Posted {
    fn failed(note: String) -> Posted {
        Posted {
            taken: false,
            note,
            retry_after_s: None,
        }
    }
}

/// Content type header of a JSON body.
pub const JSON: &str = "Content-Type: application/json";

impl Poster {
    /// Posts a text. `id` is that of the event, `name` that of the address.
    pub fn post(
        &self,
        id: &str,
        name: &str,
        address: &str,
        headers: &[String],
        body: &str,
    ) -> Posted {
        let file = |end: &str| self.folder.join(format!("{id}.{name}.{end}"));
        let (config, content, head) = (file("curl"), file("body"), file("head"));
        let settings = settings(id, address, headers, &content);
        let written = std::fs::create_dir_all(&self.folder)
            .and_then(|()| write(&config, &settings))
            .and_then(|()| write(&content, body));
        let told = match written {
            Err(error) => Posted::failed(error.to_string()),
            Ok(()) => {
                let command = format!(
                    "curl -s --max-time 20 -o /dev/null -D {} -w '%{{http_code}}' -K {}",
                    quoted(&shown(&head)),
                    quoted(&shown(&config))
                );
                match process::run_in(&command, &self.folder, &self.variables, POST_TIME) {
                    Ok(ran) => {
                        let code = ran.output_tail.trim();
                        let taken = ran.exit_code == 0 && code.starts_with('2');
                        // The output of curl may contain the address; its codes do not.
                        let digits = code.len() == 3 && code.bytes().all(|it| it.is_ascii_digit());
                        let code = if digits { code } else { "-" };
                        Posted {
                            taken,
                            note: format!("status {code}, curl {}", ran.exit_code),
                            retry_after_s: retry_after(&head).filter(|_| !taken),
                        }
                    }
                    Err(error) => Posted::failed(error.to_string()),
                }
            }
        };
        for path in [config, content, head] {
            let _ = std::fs::remove_file(path);
        }
        told
    }
}

/// Returns the seconds that the last `Retry-After` header in a file asks to wait.
fn retry_after(head: &Path) -> Option<u64> {
    let text = std::fs::read(head).ok()?;
    let text = String::from_utf8_lossy(&text).to_ascii_lowercase();
    let mut values = text
        .lines()
        .filter_map(|line| line.strip_prefix("retry-after:"));
    values.next_back()?.trim().parse().ok()
}

/// Returns the configuration for curl, one setting per line.
fn settings(id: &str, address: &str, headers: &[String], content: &Path) -> String {
    // A line end would begin another setting, and a quote would end this one.
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

/// Percent-encodes a path segment of an address.
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
    #![expect(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

    use super::*;
    use std::io::Read as _;

    #[test]
    fn an_answer_that_asks_to_wait_is_heard() {
        let folder = tempfile::tempdir().unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/hook", listener.local_addr().unwrap());
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 4096]).unwrap();
            let answer = "HTTP/1.1 429 x\r\nRetry-After: 17\r\nContent-Length: 0\r\n\r\n";
            stream.write_all(answer.as_bytes()).unwrap();
        });
        let poster = Poster {
            folder: folder.path().join("post"),
            variables: std::env::vars()
                .filter(|(name, _)| name == "PATH")
                .collect(),
        };
        let posted = poster.post("1", "webhook", &address, &[JSON.into()], "{}");
        server.join().unwrap();
        let wanted = Posted {
            taken: false,
            note: "status 429, curl 0".into(),
            retry_after_s: Some(17),
        };
        assert_eq!(posted, wanted);
        let left = std::fs::read_dir(folder.path().join("post")).unwrap();
        assert_eq!(left.count(), 0, "files of the moment are kept");
    }

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
