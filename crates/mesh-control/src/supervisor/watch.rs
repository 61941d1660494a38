//! When to look at the folder. What has happened there is not asked: content is compared.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::Notify;

use crate::whole::folder_of;

/// Says when something has changed in the folder of a file, or in that of the file to which it links. The
/// folders are found again with each [`look`](Self::look): one that was replaced is another folder.
pub(super) struct Watch {
    file: PathBuf,
    watched: Vec<Watched>,
    news: Arc<Notify>,
}

struct Watched {
    path: PathBuf,
    identity: (u64, u64),
    _watcher: RecommendedWatcher,
}

impl Watch {
    pub(super) fn of(file: PathBuf) -> Self {
        Self { file, watched: Vec::new(), news: Arc::new(Notify::new()) }
    }

    /// Watches the folders that are there now. Whatever can't be watched, such as a file system of another
    /// machine, is still looked at in each interval.
    pub(super) fn look(&mut self) {
        let mut folders = vec![folder_of(&self.file).to_owned()];
        // Of a chain of links, where it ends: links in between lie in the folder, or are replaced with it.
        if let Ok(real) = fs::canonicalize(&self.file)
            && let Some(folder) = real.parent()
            && identity(folder) != identity(&folders[0])
        {
            folders.push(folder.to_owned());
        }
        self.watched
            .retain(|old| folders.contains(&old.path) && identity(&old.path) == Some(old.identity));
        for path in folders {
            if self.watched.iter().any(|old| old.path == path) {
                continue;
            }
            let news = Arc::clone(&self.news);
            let watcher =
                notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
                    if event.map_or(true, |event| !event.kind.is_access()) {
                        news.notify_one();
                    }
                });
            let watcher = watcher.and_then(|mut watcher| {
                watcher.watch(&path, RecursiveMode::NonRecursive).map(|()| watcher)
            });
            if let Some((watcher, identity)) = watcher.ok().zip(identity(&path)) {
                self.watched.push(Watched { path, identity, _watcher: watcher });
                // What happened before it was watched.
                self.news.notify_one();
            }
        }
    }

    /// Returns when there is something to look at.
    pub(super) fn news(&self) -> Arc<Notify> {
        Arc::clone(&self.news)
    }
}

/// Which folder it is, whatever its name.
pub(super) fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path).ok().as_ref().map(number)
}

fn number(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}
