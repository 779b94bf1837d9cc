//! Seals the policy and the protected files of a run, and reports later changes.

use super::{RunFolder, files};
use crate::context::Context;
use crate::error::Error;
use crate::tree;
use crate::words::{cannot_be_read, policy_fault};
use bowline_formats::develop::policy::{self, DevelopPolicy};
use bowline_formats::develop::seal::{FILE_NAME, Seal, VERSION};
use bowline_formats::develop::settings;
use bowline_formats::{glob, time};
use bowline_statefiles::ContentHash;
use bowline_words::message::{Advice, Change, Why, Wrong};
use std::collections::BTreeMap;
use std::path::Path;

/// Most sealed files; a longer list has not been reviewed by a person.
const FILES_MAX: usize = 20_000;

/// State of a run's seal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SealState {
    /// Nothing is sealed.
    None,
    /// The seal is the one the journal knows.
    Sealed {
        seal: Box<Seal>,
        /// One change for each sealed file that differs now.
        changes: Vec<Change>,
    },
    /// The journal knows a seal, and the file is not that one.
    Broken,
}

impl SealState {
    /// Compares a seal with the files below a root.
    pub(crate) fn compare_files(seal: Seal, root: &Path) -> Result<Self, Error> {
        let changes = seal.changed_files(&sealed_files(root, &seal.rules)?);
        Ok(SealState::Sealed {
            seal: Box::new(seal),
            changes,
        })
    }

    /// Fails if a sealed file has changed.
    pub(crate) fn check_unchanged(&self) -> Result<(), Error> {
        match self.changes() {
            changes if changes.is_empty() => Ok(()),
            changes => Err(Error::StaleEvidence {
                changes,
                tree_only: false,
            }),
        }
    }

    /// Returns the seal, whether or not its files have changed.
    pub fn seal(&self) -> Option<&Seal> {
        match self {
            SealState::Sealed { seal, .. } => Some(seal),
            SealState::None | SealState::Broken => None,
        }
    }

    /// Returns the changes by which evidence no longer counts.
    pub fn changes(&self) -> Vec<Change> {
        match self {
            SealState::None => Vec::new(),
            SealState::Sealed { changes, .. } => changes.clone(),
            SealState::Broken => vec![Change::Changed {
                path: FILE_NAME.into(),
            }],
        }
    }
}

/// Seals the present files. Returns the seal and the hash by which the journal will know it.
pub(crate) fn write_seal(
    context: &Context,
    run: &RunFolder,
    root: &Path,
) -> Result<(Seal, String), Error> {
    let rules = policy_of(root)?;
    let files = sealed_files(root, &rules)?;
    let policy = ContentHash::of_bytes(Seal::policy_text(&rules, &files).as_bytes());
    let seal = Seal {
        version: VERSION,
        run: run.id.clone(),
        sealed_at: time::format_utc(context.now()),
        sealed_by: "person".into(),
        policy: policy.to_string(),
        rules,
        files,
        environment: sealed_environment(context),
    };
    if context.dry_run {
        return Ok((seal, String::new()));
    }
    let text = files::write_json(context, &run.file_path(FILE_NAME), &seal)?;
    Ok((seal, ContentHash::of_bytes(text.as_bytes()).to_string()))
}

/// Returns the variables that decide which programs a command finds, as the sealing person has
/// them.
fn sealed_environment(context: &Context) -> BTreeMap<String, String> {
    let value = |name: &str| Some(context.variables.get(name)?.to_str()?.to_owned());
    let names = ["PATH", "HOME"].into_iter();
    names
        .filter_map(|name| Some((name.to_owned(), value(name)?)))
        .collect()
}

/// Returns the seal with the hash that the journal knows, if the file still has it.
pub(crate) fn read_seal(
    context: &Context,
    run: &RunFolder,
    known: Option<&str>,
) -> Result<Option<Seal>, Error> {
    let Some(known) = known else {
        return Ok(None);
    };
    let found = files::read_json::<Seal>(context, &run.file_path(FILE_NAME))?;
    let ours = |text: &str| ContentHash::of_bytes(text.as_bytes()).to_string() == known;
    Ok(found.filter(|(_, text)| ours(text)).map(|(seal, _)| seal))
}

/// Reads the policy in the root; a missing file or entry means the default.
pub(crate) fn policy_of(root: &Path) -> Result<DevelopPolicy, Error> {
    let path = root.join(policy::FILE_NAME);
    let bad = |why: Why| Error::bad_file(&path, why, Advice::MendPolicy);
    match std::fs::read_to_string(&path) {
        Ok(text) => policy::parse_policy(&text).map_err(|error| bad(policy_fault(error))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(DevelopPolicy::default()),
        Err(error) => Err(bad(cannot_be_read(&error))),
    }
}

/// Hashes every file that matches a protected pattern, and the files with the rules themselves.
pub(crate) fn sealed_files(
    root: &Path,
    rules: &DevelopPolicy,
) -> Result<BTreeMap<String, String>, Error> {
    let own = [policy::FILE_NAME, settings::FILE_NAME];
    let patterns: Vec<&str> = rules
        .protected
        .iter()
        .map(String::as_str)
        .chain(own)
        .collect();
    let mut files = BTreeMap::new();
    let below = |folder: &str| {
        patterns
            .iter()
            .any(|one| glob::may_match_below(one, folder))
    };
    tree::walk_files(root, &below, &mut |path, entry| {
        if !patterns.iter().any(|one| glob::matches_path(one, &path)) {
            return Ok(());
        }
        if files.len() >= FILES_MAX {
            return Err(Error::BadInput {
                message: Wrong::TooManyProtected { max: FILES_MAX },
                hint: Advice::ProtectFewer,
            });
        }
        let hash = bowline_gate::sealed::file_hash(&entry).map_err(|error| {
            Error::bad_file(&entry, cannot_be_read(&error), Advice::ReadableProtected)
        })?;
        files.insert(path, hash);
        Ok(())
    })?;
    Ok(files)
}
