//! Hashes the content of a work tree: tracked and untracked files, but nothing that is ignored.
//!
//! In a repository the hash is the id of a git tree made of the bytes on the disk. Anything that
//! could show git other bytes is excluded: flags in the user's index, filters, conversions of line
//! ends, caches.

use crate::context::Context;
use crate::error::Error;
use crate::process::{run_git, run_git_with_input, run_git_writing};
use crate::tree_watch::{HashedPath, TreeWatch};
use crate::words::{cannot_be_read, display_path};
use crate::workspace;
use bowline_formats::develop::FOLDER_NAME;
use bowline_gate::locate;
use bowline_words::message::{Advice, Change, Wrong};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{ErrorKind, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Component, Path, PathBuf};

/// Most files hashed in a folder that is not a git repository; more are not a work tree but a disk.
const FILES_MAX: usize = 100_000;

/// Hash of a tree, and its file list.
#[derive(Debug, Clone)]
pub(crate) struct HashedTree {
    /// `git:` and the tree's own id in a repository, else `files:` and a hash.
    pub(crate) id: String,
    /// In a repository, each path as `mode id<TAB>path` and a zero byte.
    pub(crate) listing: Vec<u8>,
}

impl HashedTree {
    fn without_listing(id: String) -> Self {
        let listing = Vec::new();
        HashedTree { id, listing }
    }
}

/// Hashes the tree that a run's root is in: `git:` and the tree's own id in a repository, else
/// `files:` and a hash.
///
/// The user's index and objects are not touched: ours are in a folder that is removed again.
pub(crate) fn hash_tree(context: &Context, root: &Path, side: &Path) -> Result<String, Error> {
    hash_listed(context, root, side).map(|tree| tree.id)
}

/// Hashes the tree and lists its files.
pub(crate) fn hash_listed(
    context: &Context,
    root: &Path,
    side: &Path,
) -> Result<HashedTree, Error> {
    match workspace::git_top(root) {
        Some(top) => {
            let scratch = TreeScratch::new(context, side)?;
            let files = TreeListing::list_tree(&top, root)?;
            files.hash_files(&top, &top, &scratch)
        }
        None => of_folder(root).map(HashedTree::without_listing),
    }
}

/// Tree on which a command runs in place, observed.
pub(crate) struct TreeInPlace {
    pub(crate) tree: HashedTree,
    root: PathBuf,
    watch: TreeWatch,
}

impl TreeInPlace {
    /// Hashes the tree and observes it from then on, and the files of `also`, too.
    pub(crate) fn start_observing(
        context: &Context,
        root: &Path,
        side: &Path,
        mut also: Vec<PathBuf>,
    ) -> Result<Self, Error> {
        let scratch = TreeScratch::new(context, side)?;
        let (watch, tree) = match workspace::git_top(root) {
            Some(top) => {
                let files = TreeListing::list_tree(&top, root)?;
                also.extend(files.module_files(&top)?);
                let watch =
                    TreeWatch::start_watch(&top, files.absolute_paths(&top), also, &scratch.0)?;
                (watch, files.hash_files(&top, &top, &scratch)?)
            }
            None => {
                let watch = TreeWatch::start_watch(root, paths_of_folder(root)?, also, &scratch.0)?;
                (watch, HashedTree::without_listing(of_folder(root)?))
            }
        };
        Ok(TreeInPlace {
            tree,
            root: root.to_owned(),
            watch,
        })
    }

    /// Lists changes since then, also those that were reverted.
    pub(crate) fn into_changes(self) -> Result<Vec<Change>, Error> {
        match workspace::git_top(&self.root) {
            Some(top) => {
                let paths = TreeListing::list_tree(&top, &self.root)?.absolute_paths(&top);
                self.watch.finish_watch(paths, true)
            }
            None => self.watch.finish_watch(paths_of_folder(&self.root)?, false),
        }
    }
}

/// Lists paths that a command would find in a tree but its hash does not cover: links out of it,
/// and other repositories with uncommitted changes.
pub(crate) fn outside_of_hash(root: &Path) -> Result<Vec<Change>, Error> {
    let Some(top) = workspace::git_top(root) else {
        let mut links = Vec::new();
        walk_files(root, &|_| true, &mut |path, entry| {
            if entry.is_symlink() && leads_out(root, &entry) {
                links.push(Change::LinkOut { path });
            }
            Ok(())
        })?;
        return Ok(links);
    };
    let mut outside = Vec::new();
    for (path, kind) in TreeListing::list_tree(&top, root)?.0 {
        let (whole, path) = (top.join(&path), display_path(Path::new(&path)));
        match kind {
            TreeEntryKind::Link if leads_out(&top, &whole) => {
                outside.push(Change::LinkOut { path })
            }
            TreeEntryKind::Module(_) if is_dirty(&whole)? => {
                outside.push(Change::Uncommitted { path })
            }
            TreeEntryKind::Link | TreeEntryKind::Module(_) | TreeEntryKind::File { .. } => {}
        }
    }
    Ok(outside)
}

/// True if a link leads out of a folder. A dangling link is judged by its text: its target may be
/// created.
fn leads_out(top: &Path, link: &Path) -> bool {
    if let (Ok(real), Ok(top)) = (link.canonicalize(), top.canonicalize()) {
        return !real.starts_with(top);
    }
    let target = fs::read_link(link).unwrap_or_default();
    let mut at = link.parent().unwrap_or(top).to_owned();
    for part in target.components() {
        match part {
            Component::ParentDir => drop(at.pop()),
            Component::CurDir => {}
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => at.push(part),
        }
    }
    !at.starts_with(top)
}

/// True if another repository has uncommitted changes, also where git is configured to ignore them.
fn is_dirty(module: &Path) -> Result<bool, Error> {
    let status = ["status", "--porcelain", "--ignore-submodules=none"];
    let status = run_git(module, &status, &[])?.into_stdout()?;
    let flags = run_git(module, &["ls-files", "-v"], &[])?.into_stdout()?;
    let hidden = |line: &str| line.starts_with(|flag: char| flag == 'S' || flag.is_lowercase());
    Ok(!status.is_empty() || flags.lines().any(hidden))
}

/// Returns every file below a folder that is not a repository.
fn paths_of_folder(root: &Path) -> Result<Vec<HashedPath>, Error> {
    let mut paths = Vec::new();
    walk_files(root, &|_| true, &mut |_, entry| {
        paths.push((entry, None));
        Ok(())
    })?;
    Ok(paths)
}

/// Copy of exactly the files of a tree, in a folder that is removed on drop.
pub(crate) struct Checkout {
    /// Run's root in the copy.
    pub(crate) root: PathBuf,
    /// Folder of the copy.
    pub(crate) folder: PathBuf,
    /// Folder for temporary files of commands in the copy.
    pub(crate) temporary: PathBuf,
    pub(crate) tree: HashedTree,
    watch: TreeWatch,
    is_git: bool,
    scratch: TreeScratch,
}

impl Checkout {
    /// Lists changes of the copy since it was made, also those that were reverted. Neither the
    /// tested code nor another process may replace what is tested.
    pub(crate) fn into_changes(self) -> Result<Vec<Change>, Error> {
        if !self.scratch.still_exists() || !self.root.is_dir() {
            // Removing it could turn red green and green red.
            let path = display_path(&self.root);
            return Ok(vec![Change::Removed { path }]);
        }
        let top = self.scratch.0.join(CHECKOUT);
        match self.is_git {
            true if workspace::git_top(&self.root).as_ref() == Some(&top) => {
                let paths = TreeListing::list_tree(&top, &self.root)?.absolute_paths(&top);
                self.watch.finish_watch(paths, true)
            }
            true => Ok(vec![Change::Removed {
                path: ".git".into(),
            }]),
            false => self.watch.finish_watch(paths_of_folder(&top)?, false),
        }
    }
}

/// Source of a checkout: a repository and its paths, or a folder by its hash.
enum CheckoutSource {
    Repository(PathBuf, TreeListing),
    Folder(HashedTree),
}

/// Name of a checkout's folder in the scratch folder.
const CHECKOUT: &str = "checkout";

/// Copies the tree that a run's root is in, with a repository of its own that has the same commits.
/// Paths of `share`, from the root, become links to the work tree where the tree itself has
/// nothing: ignored build output, for example.
pub(crate) fn make_checkout(
    context: &Context,
    root: &Path,
    side: &Path,
    share: &[String],
) -> Result<Checkout, Error> {
    let scratch = TreeScratch::new(context, side)?;
    let folder = scratch.0.join(CHECKOUT);
    let (place, copied) = match workspace::git_top(root) {
        Some(top) => {
            let files = TreeListing::list_tree(&top, root)?;
            let (from, to) = (top.to_string_lossy(), folder.to_string_lossy());
            let quiet = ["clone", "-q", "--shared", "--no-checkout", "--template="];
            run_git_writing(
                &top,
                &[&quiet[..], &["--", &from, &to]].concat(),
                &scratch.0,
            )?
            .into_stdout()?;
            files.copy_paths(&top, &folder)?;
            copy_excludes(&top, &folder)?;
            let head = ["rev-parse", "-q", "--verify", "HEAD"];
            if run_git_writing(&folder, &head, &scratch.0)?.code == Some(0) {
                run_git_writing(&folder, &["read-tree", "HEAD"], &scratch.0)?.into_stdout()?;
            }
            let below = root.strip_prefix(&top).unwrap_or(Path::new(""));
            (folder.join(below), CheckoutSource::Repository(top, files))
        }
        None => {
            walk_files(root, &|_| true, &mut |path, entry| {
                copy(&entry, &folder.join(path))
            })?;
            fs::create_dir_all(&folder).map_err(|error| read_error(&folder, &error))?;
            // Hashed before links to shared paths are among the files.
            let id = of_folder(&folder)?;
            (
                folder.clone(),
                CheckoutSource::Folder(HashedTree::without_listing(id)),
            )
        }
    };
    for path in share {
        let (there, here) = (root.join(path), place.join(path));
        if there.exists() && !here.exists() {
            if let Some(parent) = here.parent() {
                fs::create_dir_all(parent).map_err(|error| read_error(parent, &error))?;
            }
            symlink(&there, &here).map_err(|error| read_error(&here, &error))?;
        }
    }
    let is_git = matches!(copied, CheckoutSource::Repository(..));
    let (watch, tree) = match copied {
        CheckoutSource::Repository(top, files) => {
            let paths = TreeListing::list_tree(&folder, &place)?.absolute_paths(&folder);
            let also = files
                .absolute_paths(&folder)
                .into_iter()
                .map(|(path, _)| path);
            let watch = TreeWatch::start_watch(&folder, paths, also.collect(), &scratch.0)?;
            // The copy is hashed, and it is observed from before on.
            (watch, files.hash_files(&top, &folder, &scratch)?)
        }
        CheckoutSource::Folder(tree) => {
            let paths = paths_of_folder(&folder)?;
            let watch = TreeWatch::start_watch(&folder, paths, Vec::new(), &scratch.0)?;
            (watch, tree)
        }
    };
    Ok(Checkout {
        root: place,
        folder,
        watch: watch.allowing_additions(),
        is_git,
        temporary: scratch.make_folder("tmp")?,
        tree,
        scratch,
    })
}

/// Copies the repository's own exclude list to a clone, so that git ignores the same paths.
fn copy_excludes(top: &Path, clone: &Path) -> Result<(), Error> {
    let list = run_git(top, &["rev-parse", "--git-path", "info/exclude"], &[])?;
    let (from, to) = (
        top.join(list.stdout.trim_end()),
        clone.join(".git/info/exclude"),
    );
    match from.is_file() {
        true => copy(&from, &to),
        false => Ok(()),
    }
}

/// Type of one path of a tree.
enum TreeEntryKind {
    File {
        executable: bool,
    },
    Link,
    /// Another repository, at this commit.
    Module(String),
}

/// Every path of a tree, in order.
struct TreeListing(BTreeMap<OsString, TreeEntryKind>);

impl TreeListing {
    /// Lists existing tracked paths, and untracked ones that are not ignored; without the run's own
    /// folder, which changes with every gate.
    fn list_tree(top: &Path, root: &Path) -> Result<TreeListing, Error> {
        let own = root.strip_prefix(top).unwrap_or(Path::new(""));
        let own = own.join(FOLDER_NAME);
        let tracked = run_git_with_input(top, &["ls-files", "-z", "--cached"], &[], &[])?;
        let others = ["ls-files", "-z", "--others", "--exclude-standard"];
        let others = run_git_with_input(top, &others, &[], &[])?;
        let mut all = BTreeMap::new();
        let mut folders = BTreeMap::new();
        for path in [tracked, others]
            .iter()
            .flat_map(|it| it.split(|&byte| byte == 0))
        {
            // An untracked other repository is listed as a folder.
            let path = Path::new(OsStr::from_bytes(path.strip_suffix(b"/").unwrap_or(path)));
            if path.as_os_str().is_empty() || path.starts_with(&own) {
                continue;
            }
            if let Some(kind) = kind_of(top, path, &mut folders)? {
                all.insert(path.as_os_str().to_owned(), kind);
            }
        }
        Ok(TreeListing(all))
    }

    /// Returns the absolute paths, with the commit of another repository.
    fn absolute_paths(&self, top: &Path) -> Vec<HashedPath> {
        let commit = |kind: &TreeEntryKind| match kind {
            TreeEntryKind::Module(commit) => Some(commit.clone()),
            TreeEntryKind::File { .. } | TreeEntryKind::Link => None,
        };
        let all = self.0.iter();
        all.map(|(path, kind)| (top.join(path), commit(kind)))
            .collect()
    }

    /// Returns the tracked files of other repositories: a tree has only their commit, but a command
    /// reads them.
    fn module_files(&self, top: &Path) -> Result<Vec<PathBuf>, Error> {
        let mut files = Vec::new();
        let modules = self
            .0
            .iter()
            .filter(|(_, kind)| matches!(kind, TreeEntryKind::Module(_)));
        for module in modules.map(|(path, _)| top.join(path)) {
            let tracked = run_git_with_input(
                &module,
                &["ls-files", "-z", "--recurse-submodules"],
                &[],
                &[],
            )?;
            let tracked = tracked.split(|&byte| byte == 0).filter(|it| !it.is_empty());
            files.extend(tracked.map(|path| module.join(OsStr::from_bytes(path))));
        }
        Ok(files)
    }

    /// Copies all paths; other repositories have no content of their own in a tree.
    fn copy_paths(&self, from: &Path, to: &Path) -> Result<(), Error> {
        for (path, kind) in &self.0 {
            match kind {
                TreeEntryKind::File { .. } | TreeEntryKind::Link => {
                    copy(&from.join(path), &to.join(path))?
                }
                TreeEntryKind::Module(_) => {
                    let folder = to.join(path);
                    fs::create_dir_all(&folder).map_err(|error| read_error(&folder, &error))?;
                }
            }
        }
        Ok(())
    }

    /// Hashes the tree of these paths below `place` with the repository at `top`.
    fn hash_files(
        &self,
        top: &Path,
        place: &Path,
        scratch: &TreeScratch,
    ) -> Result<HashedTree, Error> {
        let links = scratch.make_folder("links")?;
        let mut names = Vec::new();
        let mut blobs = Vec::new();
        for (path, kind) in &self.0 {
            let file = match kind {
                TreeEntryKind::Module(_) => continue,
                TreeEntryKind::File { .. } => place.join(path),
                TreeEntryKind::Link => {
                    // Git stores the target of a link.
                    let target = fs::read_link(place.join(path));
                    let target = target.map_err(|error| read_error(&place.join(path), &error))?;
                    let file = links.join(names.len().to_string());
                    fs::File::create(&file)
                        .and_then(|mut it| it.write_all(target.as_os_str().as_bytes()))
                        .map_err(|error| read_error(&file, &error))?;
                    file
                }
            };
            write_quoted(file.as_os_str().as_bytes(), &mut names);
            blobs.push((path, kind));
        }
        let plain = ["hash-object", "--no-filters", "--stdin-paths"];
        let hashes = run_git_with_input(top, &plain, &[], &names)?;
        let hashes = String::from_utf8_lossy(&hashes);
        let mut index = Vec::new();
        let mut entry = |mode: &str, id: &str, path: &OsStr| {
            index.extend_from_slice(format!("{mode} {id}\t").as_bytes());
            index.extend_from_slice(path.as_bytes());
            index.push(0);
        };
        for ((path, kind), id) in blobs.iter().zip(hashes.lines()) {
            let mode = match kind {
                TreeEntryKind::File { executable: true } => "100755",
                TreeEntryKind::File { executable: false } => "100644",
                TreeEntryKind::Link | TreeEntryKind::Module(_) => "120000",
            };
            entry(mode, id, path);
        }
        for (path, kind) in &self.0 {
            if let TreeEntryKind::Module(commit) = kind {
                entry("160000", commit, path);
            }
        }
        let own_index = scratch.0.join("index");
        let own_objects = scratch.make_folder("objects")?;
        let variables: [(&str, &OsStr); 2] = [
            ("GIT_INDEX_FILE", own_index.as_os_str()),
            ("GIT_OBJECT_DIRECTORY", own_objects.as_os_str()),
        ];
        run_git_with_input(
            top,
            &["update-index", "-z", "--index-info"],
            &variables,
            &index,
        )?;
        let tree = run_git(top, &["write-tree", "--missing-ok"], &variables)?.into_stdout()?;
        Ok(HashedTree {
            id: format!("git:{tree}"),
            listing: index,
        })
    }
}

/// Returns the type of a path on the disk; `None` if it does not exist or lies behind a link, where
/// git sees nothing either.
fn kind_of(
    top: &Path,
    path: &Path,
    folders: &mut BTreeMap<PathBuf, bool>,
) -> Result<Option<TreeEntryKind>, Error> {
    let real = |folder: &Path| fs::symlink_metadata(top.join(folder)).is_ok_and(|it| it.is_dir());
    for folder in path.ancestors().skip(1) {
        let known = folders.get(folder).copied();
        let there = known.unwrap_or_else(|| real(folder));
        folders.insert(folder.to_owned(), there);
        if !there {
            return Ok(None);
        }
    }
    let whole = top.join(path);
    let found = match fs::symlink_metadata(&whole) {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(read_error(&whole, &error)),
    };
    if found.is_symlink() {
        return Ok(Some(TreeEntryKind::Link));
    }
    if found.is_file() {
        let executable = found.permissions().mode() & 0o100 != 0;
        return Ok(Some(TreeEntryKind::File { executable }));
    }
    if found.is_dir() && whole.join(".git").exists() {
        let head = run_git(&whole, &["rev-parse", "-q", "--verify", "HEAD"], &[])?;
        return Ok(head.into_stdout().ok().map(TreeEntryKind::Module));
    }
    Ok(None)
}

/// Writes a path as an input line for git, quoted if a plain line could not hold it.
fn write_quoted(path: &[u8], lines: &mut Vec<u8>) {
    let odd = |byte: &u8| *byte < b' ' || *byte == b'"' || *byte == b'\\';
    if !path.iter().any(odd) {
        lines.extend_from_slice(path);
    } else {
        lines.push(b'"');
        for byte in path {
            match odd(byte) {
                true => lines.extend_from_slice(format!("\\{byte:03o}").as_bytes()),
                false => lines.push(*byte),
            }
        }
        lines.push(b'"');
    }
    lines.push(b'\n');
}

fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    let bad = |error: std::io::Error| read_error(from, &error);
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent).map_err(bad)?;
    }
    match fs::symlink_metadata(from).map_err(bad)?.is_symlink() {
        true => symlink(fs::read_link(from).map_err(bad)?, to).map_err(bad),
        false => fs::copy(from, to).map(drop).map_err(bad),
    }
}

/// Scratch folder that is removed on drop, or by the next one after a kill. A lock on it shows that
/// it is in use: process ids are reused, and differ in a sandbox.
struct TreeScratch(PathBuf, fs::File);

impl TreeScratch {
    fn new(context: &Context, side: &Path) -> Result<Self, Error> {
        let folder = side.join("scratch");
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let free = fs::File::open(entry.path()).is_ok_and(|it| it.try_lock().is_ok());
            if free {
                fs::remove_dir_all(entry.path()).ok();
            }
        }
        loop {
            let own = folder.join(context.new_request().id);
            let made = fs::create_dir_all(&own).and_then(|()| fs::File::open(&own));
            let held = match made.and_then(|it| it.lock().map(|()| it)) {
                // Another process removed it before it was locked.
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                held => TreeScratch(own.clone(), held.map_err(|error| read_error(&own, &error))?),
            };
            if held.still_exists() {
                return Ok(held);
            }
        }
    }

    /// True if the created folder still exists.
    fn still_exists(&self) -> bool {
        let is = |it: fs::Metadata| (it.dev(), it.ino());
        let made = self.1.metadata().map(is).ok();
        made.is_some() && fs::symlink_metadata(&self.0).map(is).ok() == made
    }

    fn make_folder(&self, name: &str) -> Result<PathBuf, Error> {
        let folder = self.0.join(name);
        fs::create_dir_all(&folder).map_err(|error| read_error(&folder, &error))?;
        Ok(folder)
    }
}

impl Drop for TreeScratch {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

fn of_folder(root: &Path) -> Result<String, Error> {
    let mut hasher = blake3::Hasher::new();
    let mut count = 0;
    walk_files(root, &|_| true, &mut |path, entry| {
        count += 1;
        if count > FILES_MAX {
            return Err(Error::BadInput {
                message: Wrong::TooManyFiles {
                    path: display_path(root),
                    max: FILES_MAX,
                },
                hint: Advice::UseGit,
            });
        }
        let digest = match bowline_gate::sealed::file_hash(&entry) {
            Ok(digest) => digest,
            // It was removed while the folder was read.
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(read_error(&entry, &error)),
        };
        hasher.update(path.as_bytes());
        hasher.update(b"\0");
        hasher.update(digest.as_bytes());
        hasher.update(b"\n");
        Ok(())
    })?;
    Ok(format!("files:{}", short_hex(&hasher)))
}

/// Visits every file below a root with its path from there, in order; skips `.git`, the run's own
/// folder, and folders that are not `wanted`.
pub(crate) fn walk_files(
    root: &Path,
    wanted: &dyn Fn(&str) -> bool,
    visit: &mut dyn FnMut(String, PathBuf) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        let place = root.join(&folder);
        let entries = match fs::read_dir(&place) {
            Ok(entries) => entries,
            // It was removed while the folder was read.
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => return Err(read_error(&place, &error)),
        };
        let mut names: Vec<_> = entries.flatten().collect();
        names.sort_by_key(fs::DirEntry::file_name);
        let mut below = Vec::new();
        for entry in names {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name == ".git" || name == FOLDER_NAME {
                continue;
            }
            let path = match folder.as_str() {
                "" => name.into_owned(),
                folder => format!("{folder}/{name}"),
            };
            let kind = match entry.file_type() {
                Ok(kind) => kind,
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(error) => return Err(read_error(&entry.path(), &error)),
            };
            if !kind.is_dir() {
                visit(path, entry.path())?;
            } else if wanted(&path) {
                below.push(path);
            }
        }
        // Popped from the end: the first name comes first.
        folders.extend(below.into_iter().rev());
    }
    Ok(())
}

fn short_hex(hasher: &blake3::Hasher) -> String {
    let mut hex = hasher.finalize().to_hex().to_string();
    hex.truncate(32);
    hex
}

pub(crate) fn read_error(path: &Path, error: &std::io::Error) -> Error {
    Error::bad_file(path, cannot_be_read(error), Advice::ReadableProject)
}

/// True if git would show the folder of a run. Outside a repository nothing does.
pub(crate) fn is_shown_by_git(file: &Path) -> bool {
    let root = locate::root_of(file);
    if workspace::git_top(root).is_none() {
        return false;
    }
    let path = format!("{FOLDER_NAME}/state.json");
    let looked = run_git(root, &["check-ignore", "-q", "--no-index", &path], &[]);
    // A git that cannot be run shows nothing.
    looked.is_ok_and(|end| end.code == Some(1))
}
