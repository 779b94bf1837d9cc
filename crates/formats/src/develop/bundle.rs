//! The evidence of a develop run in one file, to be checked where the run is not: in a fresh clone, by CI.

use super::evidence::Evidence;
use super::seal::Seal;
use serde::{Deserialize, Serialize};

/// What the file says it is.
pub const FORMAT: &str = "bowline-evidence";

/// The version written. 1: the first.
pub const VERSION: u32 = 1;

/// A file of evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bundle {
    /// [`FORMAT`].
    pub format: String,
    /// [`VERSION`].
    pub version: u32,
    /// The run.
    pub run: String,
    /// What it built.
    pub feature: String,
    /// Where it stood.
    pub phase: String,
    /// The folder of the run, from the top of its repository; empty when it is the top.
    #[serde(default)]
    pub root: String,
    /// When it was written, UTC.
    pub exported_at: String,
    /// What was sealed; nothing where nobody sealed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seal: Option<Seal>,
    /// The evidence that each open gate rests on, in the order of the gates.
    pub gates: Vec<Evidence>,
    /// Keyed hash of all of the above, when there was a key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

/// Why a file of evidence cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BundleError {
    /// Not JSON, cut off, or of another shape.
    #[error("is not a whole file of evidence: {message}")]
    Unreadable {
        /// What the parser says.
        message: String,
    },
    /// Something else, or of a version that is not known.
    #[error("is a '{format}' of version {version}; '{FORMAT}' of version {VERSION} can be read")]
    Unknown {
        /// What it says it is.
        format: String,
        /// Its version.
        version: u32,
    },
}

impl Bundle {
    /// The text that is signed: the content, whatever the file's spaces and line ends are.
    pub fn signed_text(&self) -> String {
        let unsigned = Bundle {
            signature: None,
            ..self.clone()
        };
        // A struct of texts and numbers always serialises.
        serde_json::to_string(&unsigned).unwrap_or_default()
    }

    /// The file's text.
    pub fn text(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// Reads a file.
    pub fn read(text: &str) -> Result<Bundle, BundleError> {
        let bundle: Bundle =
            serde_json::from_str(text).map_err(|error| BundleError::Unreadable {
                message: error.to_string(),
            })?;
        if bundle.format != FORMAT || bundle.version != VERSION {
            return Err(BundleError::Unknown {
                format: bundle.format,
                version: bundle.version,
            });
        }
        Ok(bundle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bundle() -> Bundle {
        Bundle {
            format: FORMAT.into(),
            version: VERSION,
            run: "r1".into(),
            feature: "Ferry times".into(),
            phase: "PR".into(),
            root: String::new(),
            exported_at: "2026-03-01T09:00:00Z".into(),
            seal: None,
            gates: Vec::new(),
            signature: Some("s".into()),
        }
    }

    #[test]
    fn a_file_reads_back_and_half_of_it_does_not() {
        let text = bundle().text();
        assert_eq!(Bundle::read(&text), Ok(bundle()));
        assert!(!bundle().signed_text().contains("signature"));
        for cut in 0..text.len() - 2 {
            let half = Bundle::read(&text[..cut]);
            assert!(matches!(half, Err(BundleError::Unreadable { .. })), "{cut}");
        }
    }

    #[test]
    fn another_version_is_not_read() {
        let newer = Bundle {
            version: 2,
            ..bundle()
        };
        let told = Bundle::read(&newer.text()).map_err(|error| error.to_string());
        assert!(told.is_err_and(|told| told.contains("of version 2")));
    }
}
