//! Notifications about state files that change, by any process.

use crate::resources::{self, CARD_URI};
use crate::session::ToolSession;
use bowline_engine::kinds::FileKind;
use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::{broadcast, mpsc};

/// Notifications kept for a slow subscriber.
const CHANGES_MAX: usize = 256;
/// Time in which several events of the file system are reported as one change.
const DEBOUNCE_TIME: Duration = Duration::from_millis(50);

/// Change of the resources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ResourceChange {
    /// The resource at this address has changed.
    Updated(String),
    /// The list of resources has changed.
    Listed,
}

/// Watcher of one connection, started with the first subscriber.
pub(crate) struct ResourceWatcher {
    session: Weak<ToolSession>,
    news: broadcast::Sender<ResourceChange>,
    begun: Mutex<bool>,
}

impl ResourceWatcher {
    pub(crate) fn new(session: &Arc<ToolSession>) -> Self {
        ResourceWatcher {
            session: Arc::downgrade(session),
            news: broadcast::Sender::new(CHANGES_MAX),
            begun: Mutex::default(),
        }
    }

    /// Subscribes to changes from now on.
    pub(crate) fn subscribe_changes(&self) -> broadcast::Receiver<ResourceChange> {
        let news = self.news.subscribe();
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        if !*begun {
            *begun = true;
            let (session, news) = (Weak::clone(&self.session), self.news.clone());
            tokio::spawn(watch_folders(session, news));
        }
        news
    }
}

/// Watches the folders that hold, or may come to hold, state files. Where the system cannot watch,
/// nothing is reported, and clients have to read.
async fn watch_folders(session: Weak<ToolSession>, news: broadcast::Sender<ResourceChange>) {
    let (changed, mut changes) = mpsc::channel::<Vec<PathBuf>>(CHANGES_MAX);
    let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        // Subscribers read the file when notified; access events would notify them again.
        if let Some(event) = event.ok().filter(|event| !event.kind.is_access()) {
            let _ = changed.try_send(event.paths);
        }
    });
    let Ok(watcher) = watcher else { return };
    let mut followed = WatchedFolders {
        watcher,
        folders: HashSet::new(),
        known: Vec::new(),
    };
    let look = |mut followed: WatchedFolders, session: Weak<ToolSession>| async move {
        let looked = tokio::task::spawn_blocking(move || {
            let session = session.upgrade()?;
            followed.refresh_folders(&session);
            Some(followed)
        });
        looked.await.ok().flatten()
    };
    followed = match look(followed, Weak::clone(&session)).await {
        Some(followed) => followed,
        None => return,
    };
    while let Some(first) = changes.recv().await {
        let mut paths: HashSet<PathBuf> = first.into_iter().collect();
        tokio::time::sleep(DEBOUNCE_TIME).await;
        while let Ok(more) = changes.try_recv() {
            paths.extend(more);
        }
        let before = followed.known.clone();
        followed = match look(followed, Weak::clone(&session)).await {
            Some(followed) => followed,
            None => return,
        };
        let Some(session) = session.upgrade() else {
            return;
        };
        if followed.known != before {
            let _ = news.send(ResourceChange::Listed);
        }
        let state_files = paths
            .iter()
            .filter(|path| FileKind::of_path(path).is_some());
        let mut uris: Vec<String> = state_files
            .map(|path| resources::resource_uri(&session, path))
            .collect();
        if !uris.is_empty() {
            uris.push(CARD_URI.to_owned());
        }
        for uri in uris {
            let _ = news.send(ResourceChange::Updated(uri));
        }
    }
}

struct WatchedFolders {
    watcher: RecommendedWatcher,
    folders: HashSet<PathBuf>,
    known: Vec<PathBuf>,
}

impl WatchedFolders {
    /// Updates the list of files, and watches the folders they are or may be in.
    fn refresh_folders(&mut self, session: &ToolSession) {
        let files = resources::visible_files(session).into_iter();
        self.known = files.map(|(_, path)| path).collect();
        let usual = FileKind::ALL.map(|kind| session.folder.join(kind.relative_path()));
        for path in self.known.iter().chain(&usual) {
            // A folder that does not exist yet will be created in an existing ancestor.
            let folder = path.ancestors().skip(1).find(|folder| folder.is_dir());
            if let Some(folder) = folder.filter(|folder| !self.folders.contains(*folder)) {
                let begun = self.watcher.watch(folder, RecursiveMode::NonRecursive);
                if begun.is_ok() {
                    self.folders.insert(Path::to_owned(folder));
                }
            }
        }
    }
}
