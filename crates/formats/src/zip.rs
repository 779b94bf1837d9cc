//! Writes ZIP files entry by entry. Agents' deliverables are small texts, and every tool should be
//! able to open the file: stored entries, UTF-8 names, no folders, no links.

use std::borrow::Cow;

/// Limit on the entries of one file.
pub const ENTRIES_MAX: usize = 65_000;

/// 1980-01-01, the first date of the format. A fixed date makes the bytes reproducible.
const DATE: u16 = 0x21;
/// General purpose flag: names are UTF-8.
const FLAGS: u16 = 1 << 11;
/// Version of the format that a reader needs.
const VERSION: u16 = 20;

/// Writer of a ZIP file. Write out the bytes that its methods return, in order.
#[derive(Debug, Default)]
pub struct ZipWriter {
    directory: Vec<u8>,
    entries: u16,
    offset: u32,
}

impl ZipWriter {
    /// Creates a writer without entries.
    pub fn new() -> Self {
        ZipWriter::default()
    }

    /// Adds an entry and returns the bytes that precede its content. `None` if the file would be
    /// too large, or if the name could lead out of the folder it is unpacked in.
    #[must_use]
    pub fn add_entry(&mut self, name: &str, content: &[u8]) -> Option<Vec<u8>> {
        let name = &*safe_name(name)?;
        let name_bytes = u16::try_from(name.len()).ok()?;
        let size = u32::try_from(content.len()).ok()?;
        let checksum = crc32(content);
        let mut head = Vec::with_capacity(30 + name.len());
        head.extend(b"PK\x03\x04");
        let mut described = Vec::with_capacity(26);
        for value in [VERSION, FLAGS, 0, 0, DATE] {
            described.extend(value.to_le_bytes());
        }
        for value in [checksum, size, size] {
            described.extend(value.to_le_bytes());
        }
        described.extend(name_bytes.to_le_bytes());
        // Length of the extra field: none.
        described.extend(0u16.to_le_bytes());
        head.extend(&described);
        head.extend(name.as_bytes());
        let behind = u32::try_from(head.len()).ok()?.checked_add(size)?;
        let offset = self.offset.checked_add(behind)?;
        let entries = self.entries.checked_add(1)?;
        self.directory.extend(b"PK\x01\x02");
        // Made on Unix, so that the permissions below are understood.
        self.directory.extend((VERSION | 3 << 8).to_le_bytes());
        self.directory.extend(&described);
        // No comment, first disk, no internal attributes.
        self.directory.extend([0; 6]);
        // A regular file, rw-r--r--.
        self.directory.extend((0o100_644u32 << 16).to_le_bytes());
        self.directory.extend(self.offset.to_le_bytes());
        self.directory.extend(name.as_bytes());
        (self.offset, self.entries) = (offset, entries);
        Some(head)
    }

    /// Returns the central directory, which follows the last entry.
    pub fn central_directory(self) -> Vec<u8> {
        let size = u32::try_from(self.directory.len()).unwrap_or(u32::MAX);
        let mut end = self.directory;
        end.extend(b"PK\x05\x06\0\0\0\0");
        end.extend(self.entries.to_le_bytes());
        end.extend(self.entries.to_le_bytes());
        end.extend(size.to_le_bytes());
        end.extend(self.offset.to_le_bytes());
        end.extend(0u16.to_le_bytes());
        end
    }
}

/// Returns the name as it is written. Where `\` separates folders and `X:` is a drive, a plain name
/// may lead elsewhere; then `\` and `:` are written as `%5C` and `%3A`. `None` for a name that
/// leads elsewhere on every system.
fn safe_name(name: &str) -> Option<Cow<'_, str>> {
    let is_plain = |part: &str| !part.is_empty() && part != "." && part != "..";
    if name.contains('\0') || !name.split('/').all(is_plain) {
        return None;
    }
    let names_a_disk = name.as_bytes().get(1) == Some(&b':');
    match name.split(['/', '\\']).all(is_plain) && !names_a_disk {
        true => Some(name.into()),
        false => Some(
            name.replace('%', "%25")
                .replace('\\', "%5C")
                .replace(':', "%3A")
                .into(),
        ),
    }
}

/// Computes the CRC-32 checksum by a table of all bytes.
fn crc32(bytes: &[u8]) -> u32 {
    static TABLE: [u32; 256] = {
        let mut table = [0u32; 256];
        let mut index = 0;
        while index < 256 {
            #[expect(clippy::cast_possible_truncation, reason = "below 256")]
            let mut value = index as u32;
            let mut bit = 0;
            while bit < 8 {
                value = if value & 1 == 1 {
                    0xEDB8_8320 ^ (value >> 1)
                } else {
                    value >> 1
                };
                bit += 1;
            }
            table[index] = value;
            index += 1;
        }
        table
    };
    let step = |sum: u32, &byte: &u8| TABLE[((sum ^ u32::from(byte)) & 0xFF) as usize] ^ (sum >> 8);
    !bytes.iter().fold(u32::MAX, step)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]
    use super::*;

    #[test]
    fn the_checksum_is_that_of_the_format() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
    }

    #[test]
    fn entries_and_the_directory_are_where_the_end_says() {
        let mut zip = ZipWriter::new();
        let mut file = zip.add_entry("docs/글.md", b"hello").unwrap();
        file.extend(b"hello");
        let second = file.len();
        file.extend(zip.add_entry("b", b"").unwrap());
        let directory = file.len();
        file.extend(zip.central_directory());
        let number = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap()) as usize;
        let end = file.len() - 22;
        assert_eq!(&file[end..end + 4], b"PK\x05\x06");
        assert_eq!(number(end + 16), directory);
        assert_eq!(number(end + 12), end - directory);
        assert_eq!(&file[directory..directory + 4], b"PK\x01\x02");
        let first = directory + 46 + "docs/글.md".len();
        assert_eq!(number(first + 42), second);
        assert_eq!(&file[second..second + 4], b"PK\x03\x04");
    }

    #[test]
    fn names_that_lead_elsewhere_are_no_entries() {
        for name in ["../a", "/a", "a//b", "a/./b", "", "a\0b"] {
            assert_eq!(ZipWriter::new().add_entry(name, b"x"), None, "{name}");
        }
    }

    #[test]
    fn names_that_lead_elsewhere_on_windows_are_written_otherwise() {
        let table = [
            ("a\\b", "a\\b"),
            ("a:b", "a%3Ab"),
            ("ab:c", "ab:c"),
            ("..\\a", "..%5Ca"),
            ("\\a", "%5Ca"),
            ("50%\\..", "50%25%5C.."),
        ];
        for (name, written) in table {
            assert_eq!(safe_name(name).as_deref(), Some(written));
        }
    }
}
