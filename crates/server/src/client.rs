//! A small client for the server's REST interface, over its Unix socket or TCP: one request per
//! connection, no threads.

use crate::data_folder::{ADDRESS_FILE, SOCKET_FILE, TOKEN_FILE, random_secret, read_secret};
use crate::serve::with_socket_path;
use bowline_engine::words::{display_path, system_cause};
use bowline_formats::rest::routes::{RawResponse, RouteRequest, TypedRequest};
use bowline_formats::rest::{ErrorBody, ErrorTold};
use bowline_words::Lang;
use bowline_words::message::ServeTrouble;
use serde::Deserialize as _;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::io::{self, BufRead as _, BufReader, Read, Write};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Timeout of a connection, and of a response that is no stream.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum size of the head of a response, and of its body.
const HEAD_BYTES_MAX: u64 = 64 * 1024;
const BODY_BYTES_MAX: u64 = 1 << 30;

/// Tries of a request that the server has no capacity for, and the total time to wait between them.
const TRIES_MAX: u32 = 5;
const RETRY_WAIT_MAX: Duration = Duration::from_secs(30);
/// Header with the key under which a request may be repeated.
const KEY_HEADER: &str = "Idempotency-Key";

/// The address of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
enum ServerAddress {
    Socket(PathBuf),
    /// `HOST:PORT`.
    Tcp(String),
}

/// A client of one server.
#[derive(Debug, Clone)]
pub struct ApiClient {
    place: ServerAddress,
    token: Option<String>,
    lang: Lang,
    tries: u32,
}

/// A response of the server.
#[derive(Debug, Clone)]
pub struct HttpResponse {
    pub status: u16,
    headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl HttpResponse {
    /// Returns a header by its lower-case name.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Parses the body as JSON; `null` when it is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// Error of a request.
#[derive(Debug)]
pub enum RequestError {
    /// The server refused.
    Refused {
        status: u16,
        error: Box<ErrorTold>,
        /// The body as it was sent.
        json: Value,
    },
    /// The server did not respond as expected.
    Trouble(ServeTrouble),
}

impl From<ServeTrouble> for RequestError {
    fn from(trouble: ServeTrouble) -> Self {
        RequestError::Trouble(trouble)
    }
}

impl ApiClient {
    /// Returns a client for the server at an `http://` address.
    pub fn for_url(
        url: &str,
        token: Option<String>,
        lang: Lang,
    ) -> Result<ApiClient, ServeTrouble> {
        let bad = || ServeTrouble::BadAddress {
            address: url.to_owned(),
        };
        let host = url.strip_prefix("http://").ok_or_else(bad)?;
        let host = host.trim_end_matches('/');
        if host.is_empty() || host.contains('/') {
            return Err(bad());
        }
        Ok(ApiClient {
            place: ServerAddress::Tcp(host.to_owned()),
            token,
            lang,
            tries: TRIES_MAX,
        })
    }

    /// Returns a client for the server of a data folder: by its socket, or without one by its
    /// recorded address and token.
    pub fn for_data_folder(data: &Path, lang: Lang) -> Result<ApiClient, ServeTrouble> {
        let socket = data.join(SOCKET_FILE);
        if socket.exists() {
            return Ok(ApiClient {
                place: ServerAddress::Socket(socket),
                token: None,
                lang,
                tries: TRIES_MAX,
            });
        }
        let unreachable = |error: &io::Error| ServeTrouble::Unreachable {
            place: display_path(data),
            cause: system_cause(error),
        };
        let address = data.join(ADDRESS_FILE);
        let url = std::fs::read_to_string(address).map_err(|error| unreachable(&error))?;
        let token = data.join(TOKEN_FILE);
        let token = read_secret(&token).map_err(|error| error.into_trouble(&token))?;
        ApiClient::for_url(url.trim(), Some(token), lang)
    }

    /// Sets the token that requests carry.
    #[must_use]
    pub fn with_token(self, token: String) -> ApiClient {
        ApiClient {
            token: Some(token),
            ..self
        }
    }

    /// Turns off retries of requests that the server has no capacity for.
    #[must_use]
    pub fn without_retries(self) -> ApiClient {
        ApiClient { tries: 1, ..self }
    }

    /// Returns the server's address for messages.
    pub fn address(&self) -> String {
        match &self.place {
            ServerAddress::Socket(path) => display_path(path),
            ServerAddress::Tcp(host) => format!("http://{host}"),
        }
    }

    /// Sends a request and waits for the complete response.
    pub fn send_request(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
        headers: &[(&str, &str)],
    ) -> Result<HttpResponse, ServeTrouble> {
        let unreachable = |error: io::Error| self.unreachable_error(&error);
        let (mut head, mut stream) =
            self.send_with_retries(method, path, body, headers, Some(RESPONSE_TIMEOUT))?;
        if head.status != 204 {
            let mut body = ResponseBody::new(&head, &mut stream);
            let read = (&mut body).take(BODY_BYTES_MAX).read_to_end(&mut head.body);
            read.map_err(unreachable)?;
        }
        Ok(head)
    }

    /// Sends a request of a route and reads the response.
    pub fn call<T: DeserializeOwned>(&self, request: &TypedRequest<T>) -> Result<T, RequestError> {
        Ok(self.read(&self.fetch(&request.request)?.json())?)
    }

    /// Sends a request of a route; a response that is no success is an error.
    pub fn fetch(&self, request: &RouteRequest) -> Result<HttpResponse, RequestError> {
        let method = request.route.method.name();
        let answer = self.send_request(method, &request.path, request.body.as_ref(), &[])?;
        match answer.status {
            200..300 => Ok(answer),
            _ => Err(self.refusal(&answer)),
        }
    }

    /// Reads a response as the type of its route.
    pub fn read<T: DeserializeOwned>(&self, json: &Value) -> Result<T, ServeTrouble> {
        T::deserialize(json).map_err(|_| self.bad_answer())
    }

    /// Follows the events of a route, as `events` does.
    pub fn follow(
        &self,
        request: &TypedRequest<RawResponse>,
        since: Option<u64>,
        each: impl FnMut(&str, Option<u64>, &str) -> bool,
    ) -> Result<(), RequestError> {
        match self.stream_events(&request.request.path, since, each)? {
            None => Ok(()),
            Some(answer) => Err(self.refusal(&answer)),
        }
    }

    /// Reads a response that is no success.
    fn refusal(&self, answer: &HttpResponse) -> RequestError {
        let json = answer.json();
        match ErrorBody::deserialize(&json) {
            Ok(body) => RequestError::Refused {
                status: answer.status,
                error: Box::new(body.error),
                json,
            },
            Err(_) => self.bad_answer().into(),
        }
    }

    fn bad_answer(&self) -> ServeTrouble {
        ServeTrouble::BadAnswer {
            place: self.address(),
        }
    }

    /// Opens a stream of events and passes name, id and data of each to `each`, until it returns
    /// false. A response that is no stream is returned whole.
    pub fn stream_events(
        &self,
        path: &str,
        since: Option<u64>,
        mut each: impl FnMut(&str, Option<u64>, &str) -> bool,
    ) -> Result<Option<HttpResponse>, ServeTrouble> {
        let since = since.map(|it| it.to_string());
        let headers: Vec<(&str, &str)> = since
            .iter()
            .map(|it| ("Last-Event-ID", it.as_str()))
            .collect();
        let (mut head, mut stream) = self.send_with_retries("GET", path, None, &headers, None)?;
        let mut body = BufReader::new(ResponseBody::new(&head, &mut stream));
        if head.status != 200 {
            let read = (&mut body).take(BODY_BYTES_MAX).read_to_end(&mut head.body);
            read.map_err(|error| self.unreachable_error(&error))?;
            return Ok(Some(head));
        }
        let (mut name, mut id, mut data) = (String::new(), None, String::new());
        let mut line = String::new();
        loop {
            line.clear();
            match body.read_line(&mut line) {
                Ok(0) => return Ok(None),
                Ok(_) => {}
                Err(error) => return Err(self.unreachable_error(&error)),
            }
            let text = line.trim_end_matches(['\n', '\r']);
            if let Some(rest) = text.strip_prefix("event: ") {
                rest.clone_into(&mut name);
            } else if let Some(rest) = text.strip_prefix("id: ") {
                id = rest.parse().ok();
            } else if let Some(rest) = text.strip_prefix("data: ") {
                data.push_str(rest);
            } else if text.is_empty() && !name.is_empty() {
                if !each(&name, id, &data) {
                    return Ok(None);
                }
                name.clear();
                data.clear();
                id = None;
            }
        }
    }

    fn unreachable_error(&self, error: &io::Error) -> ServeTrouble {
        ServeTrouble::Unreachable {
            place: self.address(),
            cause: system_cause(error),
        }
    }

    /// Sends a request and reads the head of the response. On 429 and 503 it is sent again after
    /// `Retry-After`; a changing request carries a key, so that it is applied once.
    fn send_with_retries(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
        headers: &[(&str, &str)],
        time: Option<Duration>,
    ) -> Result<(HttpResponse, BufReader<Box<dyn ClientStream>>), ServeTrouble> {
        let key = random_secret().map_err(|error| self.unreachable_error(&error))?;
        let mut headers = headers.to_vec();
        let has_key = |(name, _): &(&str, &str)| name.eq_ignore_ascii_case(KEY_HEADER);
        if method != "GET" && !headers.iter().any(has_key) {
            headers.push((KEY_HEADER, &key));
        }
        let mut left = RETRY_WAIT_MAX;
        for _ in 1..self.tries {
            let (head, stream) = self.send_once(method, path, body, &headers, time)?;
            let wait = match head.status {
                429 | 503 => head.header("retry-after"),
                _ => None,
            };
            let wait = wait.and_then(|it| it.parse().ok()).map(Duration::from_secs);
            match wait.filter(|wait| *wait <= left) {
                None => return Ok((head, stream)),
                Some(wait) => {
                    left -= wait;
                    std::thread::sleep(wait);
                }
            }
        }
        self.send_once(method, path, body, &headers, time)
    }

    /// Sends a request once and reads the head of the response.
    fn send_once(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
        headers: &[(&str, &str)],
        time: Option<Duration>,
    ) -> Result<(HttpResponse, BufReader<Box<dyn ClientStream>>), ServeTrouble> {
        let unreachable = |error: io::Error| self.unreachable_error(&error);
        let mut stream = self.connect(time).map_err(unreachable)?;
        let host = match &self.place {
            ServerAddress::Socket(_) => "localhost",
            ServerAddress::Tcp(host) => host,
        };
        let lang = self.lang.choose_text("en", "ko");
        let mut request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nAccept-Language: {lang}\r\n"
        );
        if let Some(token) = &self.token {
            request.push_str(&format!("Authorization: Bearer {token}\r\n"));
        }
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        let body = body.map(Value::to_string);
        if let Some(body) = &body {
            let length = body.len();
            request.push_str(&format!(
                "Content-Type: application/json\r\nContent-Length: {length}\r\n"
            ));
        }
        request.push_str("\r\n");
        request.push_str(body.as_deref().unwrap_or_default());
        stream.write_all(request.as_bytes()).map_err(unreachable)?;
        let mut stream = BufReader::new(stream);
        let head = read_response_head(&mut stream).map_err(unreachable)?;
        let head = head.ok_or_else(|| self.bad_answer())?;
        Ok((head, stream))
    }

    fn connect(&self, time: Option<Duration>) -> io::Result<Box<dyn ClientStream>> {
        match &self.place {
            ServerAddress::Socket(path) => {
                let stream = with_socket_path(path, |path| UnixStream::connect(path))?;
                stream.set_read_timeout(time)?;
                stream.set_write_timeout(Some(RESPONSE_TIMEOUT))?;
                Ok(Box::new(stream))
            }
            ServerAddress::Tcp(host) => {
                let mut last = io::Error::from(io::ErrorKind::NotFound);
                for address in host.to_socket_addrs()? {
                    match TcpStream::connect_timeout(&address, CONNECT_TIMEOUT) {
                        Ok(stream) => {
                            stream.set_read_timeout(time)?;
                            stream.set_write_timeout(Some(RESPONSE_TIMEOUT))?;
                            return Ok(Box::new(stream));
                        }
                        Err(error) => last = error,
                    }
                }
                Err(last)
            }
        }
    }
}

trait ClientStream: Read + Write {}
impl<T: Read + Write> ClientStream for T {}

/// Reads the head of a response; `None` when it is not HTTP.
fn read_response_head(
    stream: &mut BufReader<Box<dyn ClientStream>>,
) -> io::Result<Option<HttpResponse>> {
    let mut left = stream.by_ref().take(HEAD_BYTES_MAX);
    let mut line = String::new();
    left.read_line(&mut line)?;
    let status = line
        .strip_prefix("HTTP/1.")
        .and_then(|rest| rest.get(2..5)?.parse().ok());
    let Some(status) = status else {
        return Ok(None);
    };
    let mut headers = Vec::new();
    loop {
        line.clear();
        if left.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let text = line.trim_end();
        if text.is_empty() {
            break;
        }
        if let Some((name, value)) = text.split_once(':') {
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
    Ok(Some(HttpResponse {
        status,
        headers,
        body: Vec::new(),
    }))
}

/// Reader of a response's body: by length, by chunks, or until the connection ends.
struct ResponseBody<'s> {
    stream: &'s mut BufReader<Box<dyn ClientStream>>,
    /// Bytes left of the body, or of the current chunk.
    left: u64,
    chunked: bool,
    ended: bool,
}

impl<'s> ResponseBody<'s> {
    fn new(head: &HttpResponse, stream: &'s mut BufReader<Box<dyn ClientStream>>) -> Self {
        let chunked = head.header("transfer-encoding") == Some("chunked");
        let length = head
            .header("content-length")
            .and_then(|text| text.parse().ok());
        ResponseBody {
            stream,
            left: if chunked {
                0
            } else {
                length.unwrap_or(u64::MAX)
            },
            chunked,
            ended: false,
        }
    }

    /// Returns the length of the next chunk; 0 is the end.
    fn read_chunk_length(&mut self) -> io::Result<u64> {
        let mut line = String::new();
        loop {
            line.clear();
            if self.stream.by_ref().take(100).read_line(&mut line)? == 0 {
                return Ok(0);
            }
            let text = line.trim();
            // The line end behind the chunk before.
            if text.is_empty() {
                continue;
            }
            let digits = text.split(';').next().unwrap_or_default();
            let bad = |_| io::Error::from(io::ErrorKind::InvalidData);
            return u64::from_str_radix(digits, 16).map_err(bad);
        }
    }
}

impl Read for ResponseBody<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.ended || buffer.is_empty() {
            return Ok(0);
        }
        if self.chunked && self.left == 0 {
            self.left = self.read_chunk_length()?;
        }
        if self.left == 0 {
            self.ended = true;
            return Ok(0);
        }
        let count = self.stream.by_ref().take(self.left).read(buffer)?;
        self.left -= count as u64;
        self.ended = count == 0;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

    use super::*;
    use serde_json::json;
    use std::net::TcpListener;

    /// Serves these responses, one per request; the thread returns the requests it received.
    fn answering(
        answers: &'static [&'static str],
    ) -> (ApiClient, std::thread::JoinHandle<Vec<String>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = std::thread::spawn(move || {
            let each = answers.iter().map(|answer| {
                let (mut stream, _) = listener.accept().unwrap();
                let mut asked = vec![0; 4096];
                let count = stream.read(&mut asked).unwrap();
                stream.write_all(answer.as_bytes()).unwrap();
                String::from_utf8_lossy(&asked[..count]).into_owned()
            });
            each.collect()
        });
        (ApiClient::for_url(&url, None, Lang::En).unwrap(), server)
    }

    const BUSY: &str = "HTTP/1.1 503 x\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n";
    const LATER: &str = "HTTP/1.1 429 x\r\nRetry-After: 60\r\nContent-Length: 0\r\n\r\n";
    const DONE: &str = "HTTP/1.1 201 x\r\nContent-Length: 2\r\n\r\n{}";

    #[test]
    fn a_server_without_room_is_asked_again_under_the_same_key() {
        let (client, server) = answering(&[BUSY, BUSY, DONE]);
        let begun = std::time::Instant::now();
        let answer = client
            .send_request("POST", "/api/tasks", Some(&json!({})), &[])
            .unwrap();
        assert_eq!(answer.status, 201);
        assert!(
            begun.elapsed() >= Duration::from_secs(2),
            "it came too soon"
        );
        let asked = server.join().unwrap();
        let key = |it: &String| {
            let line = it.lines().find(|line| line.starts_with(KEY_HEADER));
            line.unwrap_or_else(|| panic!("no key: {it}")).to_owned()
        };
        assert!(
            asked.iter().all(|it| key(it) == key(&asked[0])),
            "{asked:?}"
        );
    }

    #[test]
    fn nobody_waits_for_longer_than_the_bound() {
        let (client, server) = answering(&[LATER]);
        let answer = client.send_request("GET", "/api/tasks", None, &[]).unwrap();
        assert_eq!(answer.status, 429);
        assert!(!server.join().unwrap()[0].contains(KEY_HEADER));
    }
}
