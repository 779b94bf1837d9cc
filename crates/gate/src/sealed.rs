//! Hashes of sealed files, and the check against the seal.

use bowline_formats::develop::seal::Seal;
use std::fs;
use std::path::Path;

/// Hexadecimal digits of a hash.
const HASH_LETTERS: usize = 32;

/// True if a sealed file has changed or is gone. New files are not looked for.
pub fn is_stale(root: &Path, seal: &Seal) -> bool {
    let differs = |(path, hash): (&String, &String)| {
        file_hash(&root.join(path)).ok().as_deref() != Some(hash.as_str())
    };
    seal.files.iter().any(differs)
}

/// Hashes a file's content, and its being a link or executable.
pub fn file_hash(path: &Path) -> std::io::Result<String> {
    use std::os::unix::fs::PermissionsExt as _;
    let facts = fs::symlink_metadata(path)?;
    let mut hasher = blake3::Hasher::new();
    if facts.is_symlink() {
        hasher.update(b"link\0");
        hasher.update(fs::read_link(path)?.as_os_str().as_encoded_bytes());
        hasher.update(b"\0");
    } else if facts.permissions().mode() & 0o111 != 0 {
        hasher.update(b"run\0");
    }
    match fs::metadata(path) {
        Ok(target) if target.is_file() => {
            hasher.update_reader(fs::File::open(path)?)?;
        }
        // Opening a pipe would block until a program writes it.
        Ok(_) => {}
        // A dangling link is its target's name.
        Err(_) if facts.is_symlink() => {}
        Err(error) => return Err(error),
    }
    let mut hex = hasher.finalize().to_hex().to_string();
    hex.truncate(HASH_LETTERS);
    Ok(hex)
}
