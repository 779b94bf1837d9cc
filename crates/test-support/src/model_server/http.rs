//! As much of HTTP/1.1 as the clients need: one request per connection, answers as JSON or as a stream of events.

use serde_json::Value;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Bytes of a request's body.
const BODY_BYTES_MAX: u64 = 64 << 20;
/// Milliseconds after which a held stream looks whether it should end.
const LOOK_MS: u64 = 20;

/// A request, as far as it matters.
pub(super) struct HttpRequest {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) body: Vec<u8>,
}

/// A connection with one request.
pub(super) struct HttpConnection {
    reader: BufReader<TcpStream>,
    writer: TcpStream,
}

impl HttpConnection {
    pub(super) fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        Ok(Self {
            reader: BufReader::new(stream.try_clone()?),
            writer: stream,
        })
    }

    /// Reads the request; nothing if the client left without one.
    pub(super) fn read_request(&mut self) -> io::Result<Option<HttpRequest>> {
        let first = self.read_line()?;
        let mut words = first.split(' ');
        let (Some(method), Some(path)) = (words.next(), words.next()) else {
            return Ok(None);
        };
        let (mut length, mut chunked) = (0, false);
        loop {
            let header = self.read_line()?;
            let Some((name, value)) = header.split_once(':') else {
                break;
            };
            let value = value.trim();
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.parse().map_err(io::Error::other)?,
                "transfer-encoding" => chunked = value.eq_ignore_ascii_case("chunked"),
                "expect" => self.writer.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?,
                _ => {}
            }
        }
        let mut body = Vec::new();
        if chunked {
            loop {
                let size = u64::from_str_radix(&self.read_line()?, 16).map_err(io::Error::other)?;
                self.read_exactly(size, &mut body)?;
                self.read_line()?;
                if size == 0 {
                    break;
                }
            }
        } else {
            self.read_exactly(length, &mut body)?;
        }
        Ok(Some(HttpRequest {
            method: method.to_owned(),
            path: path.to_owned(),
            body,
        }))
    }

    fn read_line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.reader.read_line(&mut line)?;
        Ok(line.trim_end().to_owned())
    }

    fn read_exactly(&mut self, bytes: u64, body: &mut Vec<u8>) -> io::Result<()> {
        if body.len() as u64 + bytes > BODY_BYTES_MAX {
            return Err(io::Error::other("the request is too long"));
        }
        let read = (&mut self.reader).take(bytes).read_to_end(body)?;
        if (read as u64) < bytes {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }

    /// Answers with JSON and ends.
    pub(super) fn send_json(
        &mut self,
        status: u16,
        headers: &[(&str, String)],
        body: &Value,
    ) -> io::Result<()> {
        let body = body.to_string();
        let mut head = format!(
            "HTTP/1.1 {status} Scripted\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n",
            body.len()
        );
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        self.writer
            .write_all(format!("{head}\r\n{body}").as_bytes())
    }

    /// Begins a stream of events, which ends with the connection.
    pub(super) fn begin_events(&mut self) -> io::Result<()> {
        self.writer.write_all(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\nconnection: close\r\n\r\n",
        )
    }

    /// One event, named after its `type`.
    pub(super) fn send_event(&mut self, data: &Value) -> io::Result<()> {
        let name = data["type"].as_str().unwrap_or("message");
        let text = format!("event: {name}\ndata: {data}\n\n");
        self.writer.write_all(text.as_bytes())
    }

    /// One event without a name.
    pub(super) fn send_data(&mut self, data: &Value) -> io::Result<()> {
        self.writer
            .write_all(format!("data: {data}\r\n\r\n").as_bytes())
    }

    /// Waits a little, and says whether the client has closed its side.
    pub(super) fn peer_left(&mut self) -> io::Result<bool> {
        let wait = Duration::from_millis(LOOK_MS);
        self.writer.set_read_timeout(Some(wait))?;
        match self.reader.read(&mut [0]) {
            Ok(read) => Ok(read == 0),
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::TimedOut => Ok(false),
                _ => Err(error),
            },
        }
    }
}
