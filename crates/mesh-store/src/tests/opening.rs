//! Which files are opened, and what is refused and left alone.

use mesh_core::store::StoreErrorKind;

use super::*;
use crate::OpenError;

impl Bed {
    /// Why it was not opened. Nothing was written to it.
    async fn refused(&self) -> OpenError {
        let before = bytes(&self.path());
        let clock = Arc::new(self.clock.clone());
        let refused = Store::open(self.path(), clock, StoreOptions::default()).await.unwrap_err();
        assert!(refused.to_string().contains(self.path().to_str().unwrap()), "{refused}");
        assert!(bytes(&self.path()) == before, "it was written to");
        refused
    }

    /// A store with so many handled events, closed.
    async fn filled(&self, events: usize) {
        let store = self.open().await;
        for number in 0..events {
            store.begin(&key(number)).await.unwrap();
        }
        store.close().await;
    }

    /// Changes the file as another program would.
    fn change(&self, sql: &str) {
        rusqlite::Connection::open(self.path()).unwrap().execute_batch(sql).unwrap();
    }
}

#[cfg(unix)]
#[tokio::test]
async fn only_its_owner_may_read_what_is_made() {
    use std::os::unix::fs::PermissionsExt as _;

    let bed = Bed::new();
    let store = bed.open().await;
    handle(&store, 1).await;
    let mut files = 0;
    for file in std::fs::read_dir(bed.folder.path()).unwrap() {
        let file = file.unwrap();
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{file:?}");
        files += 1;
    }
    assert_eq!(files, 2, "the file and its log");
}

#[tokio::test]
async fn an_empty_file_becomes_a_store() {
    let bed = Bed::new();
    std::fs::write(bed.path(), "").unwrap();
    handle(&bed.open().await, 1).await;
}

#[tokio::test]
async fn a_file_that_is_open_is_refused_and_its_store_goes_on() {
    let bed = Bed::new();
    let store = bed.open().await;
    handle(&store, 1).await;
    for _ in 0..2 {
        let clock = Arc::new(bed.clock.clone());
        let refused = Store::open(bed.path(), clock, StoreOptions::default()).await.unwrap_err();
        assert!(matches!(refused, OpenError::InUse { .. }), "{refused}");
    }
    assert_eq!(known(&store, 1).await, Handled::Yes);
    handle(&store, 2).await;
    store.close().await;
    assert_eq!(known(&bed.open().await, 2).await, Handled::Yes);
}

#[tokio::test]
async fn another_programs_file_is_refused() {
    let bed = Bed::new();
    for text in ["# settings\n".to_owned(), "x".repeat(10_000)] {
        std::fs::write(bed.path(), text).unwrap();
        let refused = bed.refused().await;
        assert!(matches!(refused, OpenError::Foreign { .. }), "{refused}");
    }
}

#[tokio::test]
async fn another_programs_database_is_refused() {
    let bed = Bed::new();
    bed.change("CREATE TABLE letters (id INTEGER)");
    let refused = bed.refused().await;
    assert!(matches!(refused, OpenError::Foreign { .. }), "{refused}");
    bed.change("PRAGMA application_id = 7; DROP TABLE letters");
    let refused = bed.refused().await;
    assert!(matches!(refused, OpenError::Foreign { .. }), "{refused}");
}

#[tokio::test]
async fn a_later_versions_file_is_refused() {
    let bed = Bed::new();
    bed.filled(1).await;
    bed.change("PRAGMA user_version = 3");
    let refused = bed.refused().await;
    assert!(matches!(refused, OpenError::Newer { found: 3, known: 2, .. }), "{refused}");
}

#[tokio::test]
async fn a_damaged_file_is_refused() {
    let bed = Bed::new();
    bed.filled(2000).await;
    let whole = bytes(&bed.path());
    let (page, pages) = (4096, whole.len() / 4096);
    assert!(pages > 20, "{pages}");

    let mut damaged = whole.clone();
    damaged[page * (pages / 2)..page * (pages / 2) + 1000].fill(0xa5);
    let mut headless = whole.clone();
    headless[page..2 * page].fill(0);
    let cut = whole[..page * (pages / 2)].to_vec();
    for found in [damaged, headless, cut] {
        std::fs::write(bed.path(), found).unwrap();
        let refused = bed.refused().await;
        assert!(matches!(refused, OpenError::Damaged { .. }), "{refused}");
    }
    // Restored from a copy it is as it was.
    std::fs::write(bed.path(), whole).unwrap();
    assert_eq!(bed.open().await.begin(&key(1999)).await.unwrap(), Handled::Interrupted);
}

#[tokio::test]
async fn a_folder_that_is_not_there_is_named() {
    let bed = Bed::new();
    let path = bed.folder.path().join("absent").join("store");
    let clock = Arc::new(bed.clock.clone());
    let refused = Store::open(&path, clock, StoreOptions::default()).await.unwrap_err();
    let OpenError::Failed { path: named, source } = &refused else { panic!("{refused}") };
    assert_eq!((named, source.kind()), (&path, StoreErrorKind::Unavailable));
}

#[tokio::test]
async fn a_name_that_means_something_else_to_the_database_is_a_files() {
    let bed = Bed::new();
    // All other tests name their files from the root.
    std::env::set_current_dir(bed.folder.path()).unwrap();
    for name in [":memory:", "file:store?mode=memory"] {
        for is_known in [Handled::No, Handled::Yes] {
            let clock = Arc::new(bed.clock.clone());
            let store = Store::open(name, clock, StoreOptions::default()).await.unwrap();
            assert_eq!(store.begin(&key(1)).await.unwrap(), is_known, "{name}");
            store.record(key(1)).await.unwrap();
            store.close().await;
        }
    }
}
