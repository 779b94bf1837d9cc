//! Checks before routing: host and origin of a request, and rate limits per address.

use crate::auth::ConnectionPeer;
use axum::http::{HeaderMap, Uri, header};
use bowline_words::message::ServerNo;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Rate limit of requests per address: per second, and burst.
const REQUESTS_PER_SECOND: f64 = 500.0;
const REQUEST_BURST: f64 = 1_000.0;
/// Rate limit of wrong tokens per address: per second, and burst. Guessing must be slow.
const WRONG_TOKENS_PER_SECOND: f64 = 1.0;
const WRONG_TOKEN_BURST: f64 = 20.0;
/// Maximum number of addresses that are tracked.
const ADDRESSES_MAX: usize = 10_000;

/// The host names under which a server is reached.
#[derive(Debug, Clone)]
pub(crate) struct AllowedHosts {
    hosts: Vec<String>,
}

impl AllowedHosts {
    /// Builds the list: the listening address, the loopback names with its port, and the hosts that
    /// a person allowed.
    pub(crate) fn new(listen: SocketAddr, allowed: &[String]) -> Self {
        let port = listen.port();
        let mut hosts = vec![listen.to_string()];
        if listen.ip().is_loopback() || listen.ip().is_unspecified() {
            for name in ["127.0.0.1", "localhost", "[::1]"] {
                hosts.push(format!("{name}:{port}"));
            }
        }
        for name in allowed {
            hosts.push(name.to_ascii_lowercase());
            hosts.push(format!("{}:{port}", name.to_ascii_lowercase()));
        }
        AllowedHosts { hosts }
    }

    /// Refuses requests that a foreign page makes a browser send: with another host name (DNS
    /// rebinding) or from another origin.
    pub(crate) fn check_request(
        &self,
        peer: &ConnectionPeer,
        target: &Uri,
        headers: &HeaderMap,
    ) -> Result<(), ServerNo> {
        let text = |name: header::HeaderName| {
            let value = headers.get(name)?;
            Some(value.to_str().unwrap_or("?").to_ascii_lowercase())
        };
        // A proxy may use the one and this server the other.
        let named = target
            .authority()
            .map(|it| it.as_str().to_ascii_lowercase());
        let hosts = headers.get_all(header::HOST).iter().count();
        if hosts > 1 || named.is_some_and(|named| text(header::HOST) != Some(named)) {
            return Err(ServerNo::TwoHosts);
        }
        // Browsers cannot connect to a Unix socket.
        if matches!(peer, ConnectionPeer::Tcp(_)) {
            let host = text(header::HOST).unwrap_or_default();
            if !self.hosts.contains(&host) {
                return Err(ServerNo::ForeignHost {
                    host: truncate_header(&host),
                });
            }
        }
        if let Some(origin) = text(header::ORIGIN) {
            let host = ["http://", "https://"]
                .iter()
                .find_map(|scheme| origin.strip_prefix(scheme));
            if !host.is_some_and(|host| self.hosts.iter().any(|known| known == host)) {
                return Err(ServerNo::ForeignOrigin {
                    origin: truncate_header(&origin),
                });
            }
        }
        // Browsers send this where no origin is sent. Navigation may come from elsewhere.
        if let Some(site) = headers.get("sec-fetch-site") {
            let own = site == "same-origin" || site == "none";
            let opens = headers
                .get("sec-fetch-mode")
                .is_some_and(|it| it == "navigate");
            if !own && !opens {
                return Err(ServerNo::ForeignOrigin {
                    origin: truncate_header(site.to_str().unwrap_or("?")),
                });
            }
        }
        Ok(())
    }
}

fn truncate_header(text: &str) -> String {
    text.chars().take(80).collect()
}

/// Rate limits per address.
#[derive(Debug, Default)]
pub(crate) struct RateLimits {
    buckets: Mutex<HashMap<IpAddr, [TokenBucket; 2]>>,
}

#[derive(Debug, Clone, Copy)]
struct TokenBucket {
    left: f64,
    at: Instant,
}

impl TokenBucket {
    fn take_tokens(&mut self, amount: f64, per_second: f64, most: f64, now: Instant) -> bool {
        let passed = now.duration_since(self.at).as_secs_f64();
        self.left = (self.left + passed * per_second).min(most);
        self.at = now;
        if self.left < amount {
            return false;
        }
        self.left -= amount;
        true
    }
}

impl RateLimits {
    /// Counts a request; refuses it beyond the limit.
    pub(crate) fn count_request(&self, peer: &ConnectionPeer) -> Result<(), ServerNo> {
        self.take_from_bucket(peer, 0, 1.0)
    }

    /// Counts a wrong token.
    pub(crate) fn count_wrong_token(&self, peer: &ConnectionPeer) {
        let _ = self.take_from_bucket(peer, 1, 1.0);
    }

    /// Refuses an address that sent too many wrong tokens.
    pub(crate) fn check_guess_limit(&self, peer: &ConnectionPeer) -> Result<(), ServerNo> {
        self.take_from_bucket(peer, 1, 0.0)
    }

    fn take_from_bucket(
        &self,
        peer: &ConnectionPeer,
        which: usize,
        amount: f64,
    ) -> Result<(), ServerNo> {
        // Only this user can open the socket.
        let ConnectionPeer::Tcp(address) = peer else {
            return Ok(());
        };
        let now = Instant::now();
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= ADDRESSES_MAX && !buckets.contains_key(&address.ip()) {
            buckets.clear();
        }
        let bucket = |left| TokenBucket { left, at: now };
        let both = buckets
            .entry(address.ip())
            .or_insert([bucket(REQUEST_BURST), bucket(WRONG_TOKEN_BURST)]);
        let (per_second, most) = match which {
            0 => (REQUESTS_PER_SECOND, REQUEST_BURST),
            _ => (WRONG_TOKENS_PER_SECOND, WRONG_TOKEN_BURST),
        };
        // Amount 0 takes nothing, but requires one whole token in the bucket.
        let taken = both[which].take_tokens(amount.max(1.0), per_second, most, now);
        if taken && amount == 0.0 {
            both[which].left += 1.0;
        }
        match taken {
            true => Ok(()),
            false => Err(ServerNo::TooManyRequests { seconds: 1 }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn check(pairs: &[(&'static str, &'static str)]) -> Result<(), ServerNo> {
        let names = AllowedHosts::new(([127, 0, 0, 1], 7420).into(), &["Bow.example".to_owned()]);
        let headers = pairs
            .iter()
            .map(|(name, value)| {
                (
                    header::HeaderName::from_static(name),
                    HeaderValue::from_static(value),
                )
            })
            .collect();
        let target = Uri::from_static("/");
        names.check_request(
            &ConnectionPeer::Tcp(([127, 0, 0, 1], 9).into()),
            &target,
            &headers,
        )
    }

    #[test]
    fn only_our_own_names_and_pages() {
        assert_eq!(check(&[("host", "127.0.0.1:7420")]), Ok(()));
        assert_eq!(check(&[("host", "LOCALHOST:7420")]), Ok(()));
        assert_eq!(check(&[("host", "bow.example")]), Ok(()));
        assert!(check(&[]).is_err());
        assert!(check(&[("host", "evil.example:7420")]).is_err());
        assert!(check(&[("host", "127.0.0.1:7421")]).is_err());
        let from = |origin| check(&[("host", "127.0.0.1:7420"), ("origin", origin)]);
        assert_eq!(from("http://127.0.0.1:7420"), Ok(()));
        assert!(from("http://evil.example").is_err());
        assert!(from("null").is_err());
        let site = |site| check(&[("host", "127.0.0.1:7420"), ("sec-fetch-site", site)]);
        assert_eq!(site("same-origin"), Ok(()));
        assert!(site("cross-site").is_err());
    }

    #[test]
    fn wrong_tokens_are_slowed_down_and_right_ones_are_not() {
        let rates = RateLimits::default();
        let peer = ConnectionPeer::Tcp(([127, 0, 0, 1], 9).into());
        for _ in 0..20 {
            assert_eq!(rates.check_guess_limit(&peer), Ok(()));
            rates.count_wrong_token(&peer);
        }
        assert!(rates.check_guess_limit(&peer).is_err());
        assert_eq!(rates.count_request(&peer), Ok(()));
        let other = ConnectionPeer::Tcp(([127, 0, 0, 2], 9).into());
        assert_eq!(rates.check_guess_limit(&other), Ok(()));
    }
}
