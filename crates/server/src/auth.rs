//! Authentication: a person by the server's token or a cookie from a one-time link, the agent of an
//! attempt by its own token, a process at the other end of the Unix socket by its credentials.

use crate::data_folder;
use axum::http::{HeaderMap, header};
use bowline_engine::actor::{DetectedActor, ProcessAncestry};
use bowline_words::message::ServerNo;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Prefix of the session cookie's name. Browsers share cookies between all ports of a host, so
/// every server needs a name of its own.
const COOKIE_PREFIX: &str = "bowline_session_";
/// Number of hexadecimal digits that end the cookie's name.
const COOKIE_DIGITS: usize = 8;
/// Lifetime of a session, for the server and for the browser.
const SESSION_SECONDS: i64 = 30 * 24 * 60 * 60;
/// Lifetime of a one-time link.
const LINK_SECONDS: u64 = 10 * 60;
/// Maximum number of unused links; the oldest are dropped first.
const LINKS_MAX: usize = 64;

/// The other end of a connection.
#[derive(Debug, Clone)]
pub(crate) enum ConnectionPeer {
    Tcp(SocketAddr),
    /// A process on the Unix socket: the actor detected for it, and the agent it descends from.
    Socket(DetectedActor, Arc<ProcessAncestry>),
}

/// The identity, and so the rights, of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Caller {
    /// A caller without credentials.
    Nobody,
    Person,
    /// A process that is shown to be neither a person nor an agent: it may read.
    Reader,
    /// A descendant of an agent without an attempt's token: it may read about the task it descends
    /// from.
    AgentReader(Arc<ProcessAncestry>),
    /// The agent of an attempt, by its token.
    Agent {
        task: String,
        attempt: u32,
    },
}

impl Caller {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Caller::Nobody => "nobody",
            Caller::Person => "person",
            Caller::Reader | Caller::AgentReader(_) => "reader",
            Caller::Agent { .. } => "agent",
        }
    }
}

/// Checks credentials and issues sessions and one-time links.
pub(crate) struct Authenticator {
    token: blake3::Hash,
    /// Name of the session cookie.
    cookie: String,
    /// True if browsers reach the server by https only.
    secure: bool,
    /// Key that signs cookies, so that they survive a restart without a list of sessions.
    key: [u8; 32],
    content_key: [u8; 32],
    links: Mutex<HashMap<blake3::Hash, Instant>>,
}

impl Authenticator {
    pub(crate) fn new(token: &str, secure: bool) -> Self {
        let id = blake3::derive_key("bowline task server: name of its cookie", token.as_bytes());
        let id = blake3::Hash::from_bytes(id).to_hex();
        Authenticator {
            token: blake3::hash(token.as_bytes()),
            cookie: format!("{COOKIE_PREFIX}{}", &id[..COOKIE_DIGITS]),
            secure,
            key: blake3::derive_key(
                "bowline task server: sessions of browsers",
                token.as_bytes(),
            ),
            content_key: blake3::derive_key(
                "bowline task server: contents of requests",
                token.as_bytes(),
            ),
            links: Mutex::default(),
        }
    }

    /// True if this is the server's token. Hashes are compared in constant time.
    pub(crate) fn is_token(&self, text: &str) -> bool {
        blake3::hash(text.as_bytes()) == self.token
    }

    /// Identifies the caller. `agent` resolves an attempt's token; `now` is in seconds since 1970.
    pub(crate) fn identify_caller(
        &self,
        peer: ConnectionPeer,
        headers: &HeaderMap,
        now: i64,
        agent: impl Fn(&str) -> Option<(String, u32)>,
    ) -> Result<Caller, ServerNo> {
        let bearer = headers
            .get(header::AUTHORIZATION)
            .and_then(|value| value.to_str().ok())
            .map(|value| value.strip_prefix("Bearer ").unwrap_or_default().trim());
        let of_agent = |text: &str| {
            let found = agent(text);
            found.map(|(task, attempt)| Caller::Agent { task, attempt })
        };
        match peer {
            // A descendant of an agent has at most an agent's rights, whatever token it shows.
            ConnectionPeer::Socket(DetectedActor::Agent, descent) => match bearer {
                None => Ok(Caller::AgentReader(descent)),
                Some(text) if self.is_token(text) => Ok(Caller::AgentReader(descent)),
                Some(text) => of_agent(text).ok_or(ServerNo::WrongToken),
            },
            ConnectionPeer::Socket(DetectedActor::Person, _) => match bearer {
                None => Ok(Caller::Person),
                Some(text) => self.caller_by_token(text, of_agent),
            },
            ConnectionPeer::Socket(DetectedActor::Unshown(_), _) => match bearer {
                None => Ok(Caller::Reader),
                Some(text) => self.caller_by_token(text, of_agent),
            },
            ConnectionPeer::Tcp(_) => match bearer {
                Some(text) => self.caller_by_token(text, of_agent),
                None if self.has_session(headers, now) => Ok(Caller::Person),
                None => Ok(Caller::Nobody),
            },
        }
    }

    fn caller_by_token(
        &self,
        text: &str,
        of_agent: impl Fn(&str) -> Option<Caller>,
    ) -> Result<Caller, ServerNo> {
        if self.is_token(text) {
            return Ok(Caller::Person);
        }
        of_agent(text).ok_or(ServerNo::WrongToken)
    }

    /// Returns a keyed hash of contents, from which they cannot be guessed.
    pub(crate) fn hash_content(&self, content: &[u8]) -> String {
        let hash = blake3::keyed_hash(&self.content_key, content);
        hash.to_hex().to_string()
    }

    /// Creates a one-time link and returns its key.
    pub(crate) fn new_link(&self) -> std::io::Result<String> {
        let key = data_folder::random_secret()?;
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        if links.len() >= LINKS_MAX {
            let oldest = links.iter().min_by_key(|(_, made)| **made);
            if let Some(oldest) = oldest.map(|(hash, _)| *hash) {
                links.remove(&oldest);
            }
        }
        links.insert(blake3::hash(key.as_bytes()), Instant::now());
        Ok(key)
    }

    /// Uses a link up; returns true if it was valid.
    pub(crate) fn use_link(&self, key: &str) -> bool {
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        let made = links.remove(&blake3::hash(key.as_bytes()));
        made.is_some_and(|made| made.elapsed() < Duration::from_secs(LINK_SECONDS))
    }

    /// Returns the `Set-Cookie` value that signs a browser in.
    pub(crate) fn sign_in_cookie(&self, now: i64) -> std::io::Result<String> {
        let until = now + SESSION_SECONDS;
        let nonce = &data_folder::random_secret()?[..16];
        let said = format!("{until}.{nonce}");
        let mark = blake3::keyed_hash(&self.key, said.as_bytes());
        let value = format!("{said}.{}", mark.to_hex());
        Ok(self.set_cookie(&value, SESSION_SECONDS))
    }

    /// Returns the `Set-Cookie` value that signs a browser out.
    pub(crate) fn sign_out_cookie(&self) -> String {
        self.set_cookie("", 0)
    }

    fn set_cookie(&self, value: &str, seconds: i64) -> String {
        let secure = if self.secure { "; Secure" } else { "" };
        let name = &self.cookie;
        format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}")
    }

    fn has_session(&self, headers: &HeaderMap, now: i64) -> bool {
        let cookies = headers.get_all(header::COOKIE).iter();
        let mut pairs = cookies
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(';'));
        pairs.any(|pair| {
            let value = pair
                .trim()
                .strip_prefix(self.cookie.as_str())
                .and_then(|it| it.strip_prefix('='));
            value.is_some_and(|value| self.is_valid_session(value, now))
        })
    }

    fn is_valid_session(&self, value: &str, now: i64) -> bool {
        let Some((said, mark)) = value.rsplit_once('.') else {
            return false;
        };
        let Ok(mark) = blake3::Hash::from_hex(mark) else {
            return false;
        };
        let until = said.split('.').next().and_then(|it| it.parse::<i64>().ok());
        blake3::keyed_hash(&self.key, said.as_bytes()) == mark
            && until.is_some_and(|until| now < until)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]
    use super::*;
    use axum::http::HeaderValue;
    use bowline_engine::actor::MissingPersonProof;

    const TCP: fn() -> ConnectionPeer = || ConnectionPeer::Tcp(([127, 0, 0, 1], 1).into());

    fn asked(
        auth: &Authenticator,
        peer: ConnectionPeer,
        name: header::HeaderName,
        value: &str,
    ) -> Option<Caller> {
        let mut headers = HeaderMap::new();
        headers.insert(name, HeaderValue::from_str(value).unwrap());
        let agent = |text: &str| (text == "of-agent").then(|| ("task_1".to_owned(), 2));
        auth.identify_caller(peer, &headers, 1_000, agent).ok()
    }

    fn agent() -> Option<Caller> {
        Some(Caller::Agent {
            task: "task_1".into(),
            attempt: 2,
        })
    }

    #[test]
    fn tokens_say_who_asks() {
        let auth = Authenticator::new("right", false);
        let bearer = |peer, text: &str| {
            asked(
                &auth,
                peer,
                header::AUTHORIZATION,
                &format!("Bearer {text}"),
            )
        };
        assert_eq!(bearer(TCP(), "right"), Some(Caller::Person));
        assert_eq!(bearer(TCP(), "of-agent"), agent());
        assert_eq!(bearer(TCP(), "wrong"), None);
        assert_eq!(bearer(TCP(), ""), None);
        let none = auth.identify_caller(TCP(), &HeaderMap::new(), 0, |_| None);
        assert_eq!(none, Ok(Caller::Nobody));
    }

    /// A stolen token gives a descendant of an agent no person's rights.
    #[test]
    fn an_agent_on_the_socket_stays_one() {
        let auth = Authenticator::new("right", false);
        let on = |standing, text: &str| {
            let value = format!("Bearer {text}");
            let peer = ConnectionPeer::Socket(standing, Arc::default());
            asked(&auth, peer, header::AUTHORIZATION, &value)
        };
        let reader = Caller::AgentReader(Arc::default());
        assert_eq!(on(DetectedActor::Agent, "right"), Some(reader.clone()));
        assert_eq!(on(DetectedActor::Agent, "of-agent"), agent());
        assert_eq!(on(DetectedActor::Agent, "of-an-ended-attempt"), None);
        assert_eq!(on(DetectedActor::Person, "of-agent"), agent());
        let unshown = DetectedActor::Unshown(MissingPersonProof::Terminal);
        assert_eq!(on(unshown, "right"), Some(Caller::Person));
        let plain = |standing| {
            let peer = ConnectionPeer::Socket(standing, Arc::default());
            auth.identify_caller(peer, &HeaderMap::new(), 0, |_| None)
        };
        assert_eq!(plain(unshown), Ok(Caller::Reader));
        assert_eq!(plain(DetectedActor::Agent), Ok(reader));
        assert_eq!(plain(DetectedActor::Person), Ok(Caller::Person));
    }

    #[test]
    fn a_cookie_counts_until_its_time_and_for_this_token_only() {
        let auth = Authenticator::new("right", false);
        let set = auth.sign_in_cookie(0).unwrap();
        assert!(set.contains("HttpOnly") && set.contains("SameSite=Strict"));
        assert!(!set.contains("Secure"));
        let secure = Authenticator::new("right", true);
        assert!(secure.sign_in_cookie(0).unwrap().ends_with("; Secure"));
        assert!(secure.sign_out_cookie().ends_with("; Secure"));
        let cookie = set.split(';').next().unwrap().to_owned();
        let by = |auth: &Authenticator, cookie: &str| asked(auth, TCP(), header::COOKIE, cookie);
        assert_eq!(by(&auth, &format!("a=b; {cookie}")), Some(Caller::Person));
        assert_eq!(
            by(&Authenticator::new("other", false), &cookie),
            Some(Caller::Nobody)
        );
        let value = cookie.split_once('=').unwrap().1;
        assert!(!auth.is_valid_session(value, SESSION_SECONDS));
        assert!(!auth.is_valid_session(&value.replacen('2', "9", 1), 0));
    }

    #[test]
    fn a_link_counts_once() {
        let auth = Authenticator::new("right", false);
        let key = auth.new_link().unwrap();
        assert!(auth.use_link(&key));
        assert!(!auth.use_link(&key));
        assert!(!auth.use_link("never"));
    }
}
