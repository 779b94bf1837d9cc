//! The folders the shell may be in, and the paths resolved against them.

use super::expand::{ALTERNATIVES_MAX, is_unknown};
use super::parse::{UNKNOWN, UNKNOWN_NAME};
use super::walk::ShellWalker;
use std::path::{Component, Path, PathBuf};

impl ShellWalker<'_> {
    /// Returns every path that a target may resolve to.
    pub(super) fn resolve_paths(&self, target: &str) -> Vec<Option<PathBuf>> {
        if target.contains(UNKNOWN) {
            return vec![None];
        }
        let target = &through_proc(target);
        let mut places: Vec<Option<PathBuf>> = Vec::new();
        for folder in &self.folders {
            let place = match folder {
                _ if target.starts_with('/') => Some(PathBuf::from(target)),
                Some(folder) => Some(folder.join(target)),
                None => None,
            };
            let tidied = place.as_deref().map(normalize_path);
            if target.starts_with('/')
                && let Some(above) = tidied.as_deref().and_then(through_parent)
            {
                places.push(Some(above));
            }
            // `..` after a link leads elsewhere: the check on the disk gets the path as written
            // too.
            if tidied != place && target.contains("..") {
                places.push(place);
            }
            let place = tidied;
            for (link, source) in &self.links {
                let behind = place.as_ref().and_then(|it| it.strip_prefix(link).ok());
                places.extend(behind.map(|rest| Some(normalize_path(&source.join(rest)))));
            }
            places.push(place);
        }
        places.dedup();
        places
    }

    /// Keeps the folders from before a change of folder: the change may fail, or not happen.
    pub(super) fn keep_left_folders(&mut self) {
        for folder in std::mem::take(&mut self.left) {
            if !self.folders.contains(&folder) {
                self.folders.push(folder);
            }
        }
        if self.folders.len() > ALTERNATIVES_MAX {
            self.folders = vec![None];
        }
    }

    /// Returns to a remembered folder: any that the shell has been in, or an unknown one.
    pub(super) fn enter_past_folder(&mut self) {
        let mut next = self.been.clone();
        if !next.contains(&None) {
            next.push(None);
        }
        self.left.extend(self.folders.clone());
        self.set_folders(next);
    }

    fn set_folders(&mut self, next: Vec<Option<PathBuf>>) {
        for folder in std::mem::replace(&mut self.folders, next) {
            if !self.been.contains(&folder) && self.been.len() < ALTERNATIVES_MAX {
                self.been.push(folder);
            }
        }
    }

    /// Walks `cd` and `pushd`.
    pub(super) fn change_folder(&mut self, name: &str, arguments: &[String]) {
        let stacked = |it: &String| {
            name == "pushd" && it.len() > 1 && it[1..].chars().all(|digit| digit.is_ascii_digit())
        };
        let target = arguments.iter().find(|it| !it.starts_with(['-', '+']));
        let targets: Vec<Option<String>> = match target {
            Some(target) => vec![Some(target.clone())],
            None if name == "pushd" || arguments.iter().any(|it| it == "-" || stacked(it)) => {
                return self.enter_past_folder();
            }
            None => self.home_folders().into_iter().map(Some).collect(),
        };
        let searched = self.variables.contains_key("CDPATH")
            || self.around.environment_variable("CDPATH").is_some();
        let mut next: Vec<Option<PathBuf>> = Vec::new();
        for target in targets {
            let target = target.filter(|it| !is_unknown(it));
            let plain = |it: &str| !it.starts_with(['/', '.']);
            if searched && target.as_deref().is_some_and(plain) {
                next.push(None);
            }
            for folder in &self.folders {
                let target = target.as_deref().map(Path::new);
                let place = match (target, folder) {
                    (Some(target), _) if target.is_absolute() => Some(normalize_path(target)),
                    (Some(target), Some(folder)) => Some(normalize_path(&folder.join(target))),
                    (Some(_), None) | (None, _) => None,
                };
                if !next.contains(&place) {
                    next.push(place);
                }
            }
        }
        let certain = |folder: &Option<PathBuf>| {
            folder
                .as_ref()
                .is_some_and(|it| self.made.contains(it) || self.around.is_folder(it))
        };
        if !next.iter().all(certain) {
            self.left.extend(self.folders.clone());
        }
        self.set_folders(next);
    }

    /// Returns every home folder there may be: from the environment and from assignments.
    pub(super) fn home_folders(&self) -> Vec<String> {
        let given = self.around.environment_variable("HOME");
        let set = self.variables.get("HOME").into_iter().flatten().flatten();
        let mut homes: Vec<String> = given.into_iter().chain(set.cloned()).collect();
        if homes.is_empty() {
            homes.push(UNKNOWN.to_string());
        }
        homes
    }

    /// Returns the folders for `$PWD`, or with `before` those for `$OLDPWD`.
    pub(super) fn folder_names(&self, before: bool) -> Vec<String> {
        let folders = if before { &self.been } else { &self.folders };
        let name = |folder: &Option<PathBuf>| match folder {
            Some(folder) => folder.to_string_lossy().into_owned(),
            None => UNKNOWN.to_string(),
        };
        let mut names: Vec<String> = folders.iter().map(name).collect();
        let variable = if before { "OLDPWD" } else { "PWD" };
        let set = self.variables.get(variable).into_iter().flatten().flatten();
        names.extend(set.cloned());
        if before {
            // The shell may have inherited it.
            let given = self.around.environment_variable(variable);
            names.push(given.unwrap_or_else(|| UNKNOWN.to_string()));
        }
        names.dedup();
        names
    }
}

/// Resolves a path as if each unknown name in it were `..`; `None` if only the last name is
/// unknown.
fn through_parent(path: &Path) -> Option<PathBuf> {
    let unknown = std::ffi::OsString::from(UNKNOWN_NAME.to_string());
    let folders: Vec<Component<'_>> = path.components().collect();
    let (_, before) = folders.split_last()?;
    if !before.iter().any(|it| it.as_os_str() == unknown) {
        return None;
    }
    let put = |it: &Component<'_>| match it.as_os_str() == unknown {
        true => "..".into(),
        false => it.as_os_str().to_owned(),
    };
    let path: PathBuf = folders.iter().map(put).collect();
    Some(normalize_path(&path))
}

/// Resolves `/proc/self/cwd` and `/proc/self/root` to the folder of the process and the root.
fn through_proc(path: &str) -> String {
    let mut parts = path.splitn(5, '/');
    let head = [parts.next(), parts.next()];
    let (_process, name, rest) = (parts.next(), parts.next(), parts.next());
    let rest = rest.unwrap_or_default();
    match (head, name) {
        ([Some(""), Some("proc")], Some("cwd")) => format!("./{rest}"),
        ([Some(""), Some("proc")], Some("root")) => format!("/{rest}"),
        _ => path.to_owned(),
    }
}

/// Removes `.` and `..` from a path without looking at the disk.
pub(crate) fn normalize_path(path: &Path) -> PathBuf {
    let mut tidy = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                tidy.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => {
                tidy.push(component);
            }
        }
    }
    tidy
}
