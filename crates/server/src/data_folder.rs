//! The data folder: its permissions, the token, and the address at which the server was last
//! reached.

use bowline_engine::Context;
use bowline_engine::words::{display_path, system_cause};
use bowline_words::message::ServeTrouble;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// Name of the token file in the data folder.
pub const TOKEN_FILE: &str = "token";
/// Name of the Unix socket in the data folder.
pub const SOCKET_FILE: &str = "sock";
/// Name of the file that records the address of the running server.
pub const ADDRESS_FILE: &str = "address";

/// Length of a token or key in random bytes.
const SECRET_BYTES: usize = 32;

/// The folder in which a server keeps all its data.
#[derive(Debug, Clone)]
pub struct DataFolder {
    path: PathBuf,
}

impl DataFolder {
    /// Opens the folder; one that does not exist is created for this user only.
    pub fn open(path: &Path) -> Result<Self, ServeTrouble> {
        let made = std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path);
        made.map_err(|error| file_trouble(path, &error))?;
        Ok(DataFolder {
            path: path.to_owned(),
        })
    }

    /// Returns the path of a file in the folder.
    pub fn file_path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the token; creates it at the first start. A token file that others can read is
    /// refused: the token may be known to them.
    pub fn read_or_create_token(&self) -> Result<String, ServeTrouble> {
        let path = self.file_path(TOKEN_FILE);
        match read_secret(&path) {
            Ok(token) => return Ok(token),
            Err(SecretError::Io(error)) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error.into_trouble(&path)),
        }
        let token = random_secret().map_err(|error| file_trouble(&path, &error))?;
        write_secret(&path, &token).map_err(|error| file_trouble(&path, &error))?;
        Ok(token)
    }

    /// Records the server's address, for commands of this user.
    pub(crate) fn record_address(&self, url: &str) -> Result<(), ServeTrouble> {
        let path = self.file_path(ADDRESS_FILE);
        let written = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&path)
            .and_then(|mut file| file.write_all(format!("{url}\n").as_bytes()));
        written.map_err(|error| file_trouble(&path, &error))
    }
}

/// An error of reading a secret file.
#[derive(Debug)]
pub enum SecretError {
    Io(io::Error),
    /// Other users can read the file.
    ReadableByOthers,
}

impl SecretError {
    /// Converts the error to a message about this file.
    pub fn into_trouble(self, path: &Path) -> ServeTrouble {
        match self {
            SecretError::Io(error) => file_trouble(path, &error),
            SecretError::ReadableByOthers => ServeTrouble::OpenToOthers {
                path: display_path(path),
            },
        }
    }
}

/// Reads a secret file that only this user can read.
pub fn read_secret(path: &Path) -> Result<String, SecretError> {
    let file = File::open(path).map_err(SecretError::Io)?;
    let mode = file
        .metadata()
        .map_err(SecretError::Io)?
        .permissions()
        .mode();
    if mode & 0o077 != 0 {
        return Err(SecretError::ReadableByOthers);
    }
    let mut text = String::new();
    file.take(4096)
        .read_to_string(&mut text)
        .map_err(SecretError::Io)?;
    Ok(text.trim().to_owned())
}

fn write_secret(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(format!("{text}\n").as_bytes())?;
    file.sync_all()
}

/// Generates a random secret, as hexadecimal text.
pub(crate) fn random_secret() -> io::Result<String> {
    let mut bytes = [0; SECRET_BYTES];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

pub(crate) fn file_trouble(path: &Path, error: &io::Error) -> ServeTrouble {
    ServeTrouble::File {
        path: display_path(path),
        cause: system_cause(error),
    }
}

/// Returns the data folder: the one named, else `bowline` in the user's state directory.
pub fn find_data_folder(context: &Context, named: Option<&Path>) -> PathBuf {
    if let Some(named) = named {
        return std::path::absolute(named).unwrap_or_else(|_| named.to_owned());
    }
    let variable = |name: &str| context.variables.get(name).map(PathBuf::from);
    let state = variable("XDG_STATE_HOME").filter(|path| path.is_absolute());
    let home = || variable("HOME").unwrap_or_else(|| PathBuf::from("/"));
    state
        .unwrap_or_else(|| home().join(".local/state"))
        .join("bowline")
}

/// Returns the error code of a server error.
pub fn serve_error_code(trouble: &ServeTrouble) -> &'static str {
    code(trouble)
}

fn code(trouble: &ServeTrouble) -> &'static str {
    match trouble {
        ServeTrouble::CannotListen { .. } => "cannot_listen",
        ServeTrouble::BadAddress { .. } => "bad_address",
        ServeTrouble::NotAFolder { .. } => "no_folder",
        ServeTrouble::File { .. } => "io",
        ServeTrouble::OpenToOthers { .. } => "open_to_others",
        ServeTrouble::AlreadyServing { .. } => "already_serving",
        ServeTrouble::Store { .. } => "store_failed",
        ServeTrouble::StoreDamaged { .. } => "store_damaged",
        ServeTrouble::StoreLost { .. } => "store_lost",
        ServeTrouble::FileThere { .. } => "already_exists",
        ServeTrouble::BadConfig { .. } => "bad_config",
        ServeTrouble::BadStore { .. } => "bad_store",
        ServeTrouble::Unreachable { .. } => "server_unreachable",
        ServeTrouble::BadAnswer { .. } => "not_a_server",
    }
}
