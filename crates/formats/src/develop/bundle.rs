//! The evidence of a develop run in one file, to be verified where the run is not available: in a
//! fresh clone, by CI.

use super::evidence::EvidenceRecord;
use super::seal::Seal;
use serde::{Deserialize, Serialize};

/// Value of the `format` field.
pub const FORMAT: &str = "bowline-evidence";

/// Version that is written; 1 is the first.
pub const VERSION: u32 = 1;

/// An exported evidence file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvidenceBundle {
    /// Always [`FORMAT`].
    pub format: String,
    /// Always [`VERSION`].
    pub version: u32,
    /// Id of the run.
    pub run: String,
    /// Name of the feature that the run builds.
    pub feature: String,
    /// Phase of the run at the time of export.
    pub phase: String,
    /// Folder of the run relative to the top of its repository; empty if it is the top.
    #[serde(default)]
    pub root: String,
    /// Time of the export, UTC.
    pub exported_at: String,
    /// The seal of the run; absent if the run was not sealed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seal: Option<Seal>,
    /// The evidence that each open gate rests on, in the order of the gates.
    pub gates: Vec<EvidenceRecord>,
    /// Keyed hash of all other fields; absent if there was no key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

/// Reasons why an evidence file cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BundleError {
    /// The file is not JSON, is truncated, or has another shape.
    #[error("is not a whole file of evidence: {message}")]
    Unreadable {
        /// Message of the parser.
        message: String,
    },
    /// The file has another format, or a version that is not supported.
    #[error("is a '{format}' of version {version}; '{FORMAT}' of version {VERSION} can be read")]
    Unknown { format: String, version: u32 },
}

impl EvidenceBundle {
    /// Returns the text that is signed: the content, independent of white space and line ends in
    /// the file.
    pub fn signed_text(&self) -> String {
        let unsigned = EvidenceBundle {
            signature: None,
            ..self.clone()
        };
        // A struct of texts and numbers always serialises.
        serde_json::to_string(&unsigned).unwrap_or_default()
    }

    /// Returns the file's text.
    pub fn text(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// Parses the text of a file.
    pub fn parse(text: &str) -> Result<EvidenceBundle, BundleError> {
        let bundle: EvidenceBundle =
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

    fn bundle() -> EvidenceBundle {
        EvidenceBundle {
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
        assert_eq!(EvidenceBundle::parse(&text), Ok(bundle()));
        assert!(!bundle().signed_text().contains("signature"));
        for cut in 0..text.len() - 2 {
            let half = EvidenceBundle::parse(&text[..cut]);
            assert!(matches!(half, Err(BundleError::Unreadable { .. })), "{cut}");
        }
    }

    #[test]
    fn another_version_is_not_read() {
        let newer = EvidenceBundle {
            version: 2,
            ..bundle()
        };
        let told = EvidenceBundle::parse(&newer.text()).map_err(|error| error.to_string());
        assert!(told.is_err_and(|told| told.contains("of version 2")));
    }
}
