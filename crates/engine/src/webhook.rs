//! Posts to web addresses. Addresses are secrets: they appear in no argument, log, reply or note.

use std::time::Duration;
use ureq::http::HeaderValue;
use ureq::http::header::RETRY_AFTER;
use ureq::tls::{RootCerts, TlsConfig};

/// Time limit of one delivery.
const POST_TIMEOUT: Duration = Duration::from_secs(20);
/// Header with the id of the event, by which a receiver knows a repetition.
const EVENT_ID_HEADER: &str = "X-Bowline-Event-Id";
/// Content type header of a JSON body.
pub const JSON: (&str, &str) = ("Content-Type", "application/json");

/// Sender of webhooks.
#[derive(Debug, Clone)]
pub struct WebhookClient {
    agent: ureq::Agent,
}

/// Result of a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookDelivery {
    /// True if the receiver accepted it.
    pub accepted: bool,
    /// HTTP status, or the error; never the address.
    pub note: String,
    /// Seconds that the receiver asks to wait before the next try.
    pub retry_after_s: Option<u64>,
}

impl Default for WebhookClient {
    fn default() -> Self {
        let tls = TlsConfig::builder().root_certs(RootCerts::PlatformVerifier);
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(POST_TIMEOUT))
            // A refusal has a status for the note, and a redirect is no delivery.
            .http_status_as_error(false)
            .max_redirects(0)
            .user_agent(concat!("bowline/", env!("CARGO_PKG_VERSION")))
            .tls_config(tls.build());
        WebhookClient {
            agent: config.build().into(),
        }
    }
}

impl WebhookClient {
    /// Posts a text about an event.
    pub fn post_event(
        &self,
        event_id: &str,
        address: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> WebhookDelivery {
        let mut request = self
            .agent
            .post(address)
            .header(EVENT_ID_HEADER, header_value(event_id));
        for (name, value) in headers {
            request = request.header(*name, header_value(value));
        }
        match request.send(body) {
            Ok(response) => {
                let accepted = response.status().is_success();
                let retry_after = response.headers().get(RETRY_AFTER);
                let retry_after = retry_after.and_then(|it| it.to_str().ok()?.trim().parse().ok());
                WebhookDelivery {
                    accepted,
                    note: format!("status {}", response.status().as_u16()),
                    retry_after_s: retry_after.filter(|_| !accepted),
                }
            }
            Err(error) => WebhookDelivery {
                accepted: false,
                note: error_note(&error),
                retry_after_s: None,
            },
        }
    }
}

/// Turns a text into a header value; line ends and other control characters become spaces.
fn header_value(text: &str) -> HeaderValue {
    let line: String = text
        .chars()
        .map(|it| if it.is_control() { ' ' } else { it })
        .collect();
    HeaderValue::from_bytes(line.as_bytes()).unwrap_or_else(|_| HeaderValue::from_static(""))
}

/// Describes an error without the address, which some errors contain.
fn error_note(error: &ureq::Error) -> String {
    match error {
        ureq::Error::Timeout(_) => "no answer in time".into(),
        ureq::Error::HostNotFound => "the host is not known".into(),
        ureq::Error::ConnectionFailed => "no connection".into(),
        ureq::Error::BadUri(_) => "the address is not a web address".into(),
        ureq::Error::Io(error) => error.kind().to_string(),
        ureq::Error::Tls(why) => format!("TLS: {why}"),
        ureq::Error::Rustls(error) => format!("TLS: {error}"),
        _ => "the request failed".into(),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

    use super::*;
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::thread::JoinHandle;

    /// Answers one request; gives what was sent.
    fn receiver(answer: &'static str) -> (String, JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/hook", listener.local_addr().unwrap());
        let received = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut all = Vec::new();
            while !all.ends_with(b"{}") {
                let mut bytes = [0; 4096];
                let read = stream.read(&mut bytes).unwrap();
                all.extend_from_slice(&bytes[..read]);
                assert!(read > 0, "{}", String::from_utf8_lossy(&all));
            }
            stream.write_all(answer.as_bytes()).unwrap();
            String::from_utf8(all).unwrap()
        });
        (address, received)
    }

    #[test]
    fn a_refusal_that_asks_to_wait_is_respected() {
        let (address, received) =
            receiver("HTTP/1.1 429 x\r\nRetry-After: 17\r\nContent-Length: 0\r\n\r\n");
        let delivery = WebhookClient::default().post_event("1", &address, &[JSON], "{}");
        received.join().unwrap();
        let wanted = WebhookDelivery {
            accepted: false,
            note: "status 429".into(),
            retry_after_s: Some(17),
        };
        assert_eq!(delivery, wanted);
    }

    #[test]
    fn a_line_end_adds_no_header() {
        let (address, received) = receiver("HTTP/1.1 204 x\r\n\r\n");
        let title = ("X-Title", "계획\r\nX-Other: 1");
        let delivery = WebhookClient::default().post_event("1\n2", &address, &[title], "{}");
        let received = received.join().unwrap().to_ascii_lowercase();
        assert!(delivery.accepted, "{delivery:?}");
        assert!(
            received.contains("x-title: 계획  x-other: 1\r\n"),
            "{received}"
        );
        assert!(
            received.contains("x-bowline-event-id: 1 2\r\n"),
            "{received}"
        );
    }

    #[test]
    fn a_redirect_is_not_followed() {
        let (address, received) = receiver(
            "HTTP/1.1 302 x\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
        );
        let delivery = WebhookClient::default().post_event("1", &address, &[], "{}");
        received.join().unwrap();
        assert_eq!(
            (delivery.accepted, delivery.note.as_str()),
            (false, "status 302")
        );
    }

    #[test]
    fn an_error_does_not_name_the_address() {
        for address in ["http://127.0.0.1:1/secret", "secret", "http://se cret/"] {
            let delivery = WebhookClient::default().post_event("1", address, &[], "{}");
            assert!(
                !delivery.accepted && !delivery.note.contains("secret"),
                "{delivery:?}"
            );
        }
    }
}
