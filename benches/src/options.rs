//! How much to measure, and where.

use crate::Outcome;
use std::path::{Path, PathBuf};

/// What the caller asked for.
#[derive(Debug)]
pub(crate) struct Options {
    names: Vec<String>,
    quick: bool,
    rounds: Option<usize>,
    /// The program whose transitions are measured.
    pub(crate) bowline: PathBuf,
    /// The small program of the hook.
    pub(crate) shim: PathBuf,
    /// A Python that has the programs ours is measured beside.
    pub(crate) python: Option<PathBuf>,
    scratch: PathBuf,
}

impl Options {
    /// Reads `--bowline PATH --shim PATH --scratch DIR [--python PATH] [--quick] [--rounds N] [NAME]...`.
    pub(crate) fn parse(words: &[String]) -> Outcome<Self> {
        let mut options = Options {
            names: Vec::new(),
            quick: false,
            rounds: None,
            bowline: PathBuf::new(),
            shim: PathBuf::new(),
            python: None,
            scratch: std::env::temp_dir(),
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} wants a value"));
            match word.as_str() {
                "--quick" => options.quick = true,
                "--rounds" => options.rounds = Some(value()?.parse()?),
                "--bowline" => options.bowline = value()?.into(),
                "--shim" => options.shim = value()?.into(),
                "--python" => options.python = Some(value()?.into()),
                "--scratch" => options.scratch = value()?.into(),
                flag if flag.starts_with('-') => {
                    return Err(format!("unknown option {flag}").into());
                }
                name => options.names.push(name.to_owned()),
            }
        }
        if options.rounds == Some(0) {
            return Err("--rounds must be at least 1".into());
        }
        Ok(options)
    }

    /// Whether this benchmark is to be run: it is named, or the beginning that it shares with others is.
    pub(crate) fn wants(&self, name: &str) -> bool {
        let named = |wanted: &String| {
            let rest = name.strip_prefix(wanted.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        };
        self.names.is_empty() || self.names.iter().any(named)
    }

    /// How many rounds: what the caller says, else one of the two.
    pub(crate) fn rounds(&self, full: usize, quick: usize) -> usize {
        self.rounds.unwrap_or(if self.quick { quick } else { full })
    }

    /// A folder of its own on the disk that is measured.
    pub(crate) fn scratch(&self, name: &str) -> Outcome<Scratch> {
        let folder = format!("bench-{name}-{}", std::process::id());
        let path = self.scratch.join(folder);
        std::fs::create_dir_all(&path)?;
        Ok(Scratch(path))
    }
}

/// A folder that is removed at the end.
#[derive(Debug)]
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A folder left behind in the target folder does no harm.
        std::fs::remove_dir_all(&self.0).ok();
    }
}
