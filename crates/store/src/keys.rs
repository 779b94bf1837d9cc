//! Secret values, encrypted with a key that has a file of its own.

use aes_gcm::aead::{Aead as _, Generate as _, Payload};
use aes_gcm::{Aes256Gcm, Key as CipherKey, KeyInit as _, Nonce};
use std::fmt;
use std::io::Write as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

/// Length of a nonce in bytes.
const NONCE_BYTES: usize = 12;
/// Length of a key in bytes.
const KEY_BYTES: usize = 32;

/// A key that seals (encrypts) and opens values.
#[derive(Clone)]
pub struct SecretKey(Aes256Gcm);

/// Never prints the key itself.
impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

/// An error of a key file or a sealed value.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The key file cannot be read or created.
    #[error("the key file {path} cannot be used: {why}")]
    File {
        /// Path of the key file.
        path: String,
        /// The reason, as text.
        why: String,
    },
    /// The value was not sealed with this key for this purpose, or was changed since.
    #[error("the value was not sealed with this key")]
    NotSealed,
}

/// Returns 24 random hexadecimal digits, for ids, nonces and tokens.
pub fn random_token() -> String {
    let bytes: Nonce<aes_gcm::aead::consts::U12> = Nonce::generate();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl SecretKey {
    /// Reads the key from a file that only this user can read; creates the file when there is none.
    pub fn open(path: &Path) -> Result<SecretKey, KeyError> {
        let bad = |why: String| KeyError::File {
            path: path.display().to_string(),
            why,
        };
        let io = |error: std::io::Error| bad(error.to_string());
        let mut new = std::fs::OpenOptions::new();
        match new.write(true).create_new(true).mode(0o600).open(path) {
            Ok(mut file) => {
                let key = CipherKey::<Aes256Gcm>::generate();
                file.write_all(&key).map_err(io)?;
                file.sync_all().map_err(io)?;
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(io(error)),
        }
        let mode = std::fs::metadata(path).map_err(io)?.permissions().mode();
        if mode & 0o077 != 0 {
            return Err(bad("others can read it; set its mode to 0600".into()));
        }
        let bytes = std::fs::read(path).map_err(io)?;
        let key: [u8; KEY_BYTES] = bytes
            .try_into()
            .map_err(|_| bad(format!("it does not have {KEY_BYTES} bytes")))?;
        Ok(SecretKey(Aes256Gcm::new(&key.into())))
    }

    /// Encrypts a value for one purpose: it can be opened for no other.
    pub fn seal(&self, purpose: &str, value: &[u8]) -> Result<String, KeyError> {
        let nonce = Nonce::generate();
        let payload = Payload {
            msg: value,
            aad: purpose.as_bytes(),
        };
        let sealed = self
            .0
            .encrypt(&nonce, payload)
            .map_err(|_| KeyError::NotSealed)?;
        let bytes = nonce.iter().chain(&sealed);
        Ok(bytes.map(|byte| format!("{byte:02x}")).collect())
    }

    /// Decrypts a value that was sealed for that purpose.
    pub fn open_sealed(&self, purpose: &str, sealed: &str) -> Result<Vec<u8>, KeyError> {
        let digits = sealed.as_bytes();
        let byte = |pair: &[u8]| {
            let text = std::str::from_utf8(pair).ok()?;
            u8::from_str_radix(text, 16).ok()
        };
        let bytes: Option<Vec<u8>> = digits.chunks(2).map(byte).collect();
        let bytes = bytes.ok_or(KeyError::NotSealed)?;
        let (nonce, message) = bytes
            .split_first_chunk::<NONCE_BYTES>()
            .ok_or(KeyError::NotSealed)?;
        let payload = Payload {
            msg: message,
            aad: purpose.as_bytes(),
        };
        let opened = self.0.decrypt(&Nonce::from(*nonce), payload);
        opened.map_err(|_| KeyError::NotSealed)
    }
}
