//! The table of entries, of all buckets.

use std::collections::HashMap;

use bytes::Bytes;
use mesh_core::store::{BucketName, Change, Entry, Expected, Removed, Revision, StoreKey, Written};
use rusqlite::{Connection, OptionalExtension as _, Result};
use tokio::sync::broadcast;

use super::BucketBounds;

/// What a file of the form before gets. The number of the last change is kept apart, since it must not come
/// again once all entries are gone.
pub(crate) const MIGRATION: &str = "CREATE TABLE state (
    bucket TEXT NOT NULL,
    key TEXT NOT NULL,
    value BLOB NOT NULL,
    revision INTEGER NOT NULL,
    ends INTEGER NOT NULL,
    PRIMARY KEY (bucket, key)
) WITHOUT ROWID;
CREATE INDEX state_ends ON state (ends);
CREATE TABLE state_last (
    place INTEGER PRIMARY KEY CHECK (place = 1),
    number INTEGER NOT NULL,
    at INTEGER NOT NULL
);
INSERT INTO state_last (place, number, at) VALUES (1, 0, 0)";

/// How many expired entries are taken away for one that finds no room.
const MAKING_ROOM: i64 = 4096;

/// A change of a bucket, and its number.
pub(super) type Told = (i64, Change);

/// What is known of the table without looking.
pub(crate) struct StateTable {
    /// The number of the last change, of all buckets.
    last: i64,
    /// As it stands in the file.
    kept: i64,
    open: HashMap<BucketName, Open>,
    /// What watchers are told once it is in the file.
    told: Vec<(BucketName, Told)>,
}

/// A bucket that is open here.
struct Open {
    rows: i64,
    bytes: i64,
    bounds: BucketBounds,
    changes: broadcast::Sender<Told>,
}

/// How it was before a transaction.
pub(crate) struct Before {
    last: i64,
    sizes: Vec<(BucketName, i64, i64)>,
}

/// Everything of a bucket at a moment, and what changes after it.
pub(super) struct View {
    pub(super) present: Vec<Change>,
    /// The number of the last change that is in it.
    pub(super) number: i64,
    pub(super) changes: broadcast::Receiver<Told>,
}

impl StateTable {
    pub(crate) fn open(file: &Connection) -> Result<Self> {
        let last = file.query_row("SELECT number FROM state_last", [], |row| row.get(0))?;
        Ok(Self { last, kept: last, open: HashMap::new(), told: Vec::new() })
    }

    /// When the table was changed last.
    pub(crate) fn last_at(file: &Connection) -> Result<i64> {
        file.query_row("SELECT at FROM state_last", [], |row| row.get(0))
    }

    pub(crate) fn before(&self) -> Before {
        let size = |(name, open): (&BucketName, &Open)| (name.clone(), open.rows, open.bytes);
        Before { last: self.last, sizes: self.open.iter().map(size).collect() }
    }

    /// Nothing of the transaction is in the file.
    pub(crate) fn undo(&mut self, before: Before) {
        self.told.clear();
        self.last = before.last;
        self.kept = before.last;
        // One that was opened in it was not.
        self.open.retain(|name, _| before.sizes.iter().any(|(known, ..)| known == name));
        for (name, rows, bytes) in before.sizes {
            if let Some(open) = self.open.get_mut(&name) {
                (open.rows, open.bytes) = (rows, bytes);
            }
        }
    }

    /// The last part of a transaction.
    pub(crate) fn keep(&mut self, file: &Connection, now: i64) -> Result<()> {
        if self.last != self.kept {
            file.prepare_cached("UPDATE state_last SET number = ?1, at = ?2")?
                .execute((self.last, now))?;
            self.kept = self.last;
        }
        Ok(())
    }

    /// All of the transaction is in the file.
    pub(crate) fn tell(&mut self) {
        for (bucket, told) in self.told.drain(..) {
            if let Some(open) = self.open.get(&bucket) {
                // Nobody may be there any more.
                let _ = open.changes.send(told);
            }
        }
    }

    pub(super) fn admit(
        &mut self,
        file: &Connection,
        bucket: &BucketName,
        bounds: BucketBounds,
    ) -> Result<()> {
        if let Some(open) = self.open.get_mut(bucket) {
            open.bounds = bounds;
            return Ok(());
        }
        let sizes = "SELECT count(*), coalesce(sum(length(key) + length(value)), 0)
            FROM state WHERE bucket = ?1";
        let (rows, bytes) =
            file.query_row(sizes, [bucket.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let changes = broadcast::Sender::new(bounds.backlog.clamp(1, usize::MAX >> 2));
        self.open.insert(bucket.clone(), Open { rows, bytes, bounds, changes });
        Ok(())
    }

    pub(super) fn read(
        file: &Connection,
        bucket: &BucketName,
        key: &StoreKey,
        now: i64,
    ) -> Result<Option<Entry>> {
        let entry = "SELECT value, revision FROM state
            WHERE bucket = ?1 AND key = ?2 AND ends > ?3";
        file.prepare_cached(entry)?
            .query_row((bucket.as_str(), key.as_str(), now), |row| entry_of(row, 0))
            .optional()
    }

    /// Nothing, where there is no room.
    pub(super) fn write(
        &mut self,
        file: &Connection,
        bucket: &BucketName,
        new: (&StoreKey, &Bytes, i64),
        expected: Expected,
        now: i64,
    ) -> Result<Option<Written>> {
        let (key, value, ends) = new;
        let found = self.found(file, bucket, key, now)?;
        let fits = match expected {
            Expected::Any => true,
            Expected::Absent => found.is_none(),
            Expected::Revision(revision) => found.is_some_and(|(found, _)| found == revision),
        };
        if !fits {
            return Ok(Some(Written::Conflict));
        }
        let before = found.map(|(_, length)| length);
        if !self.has_room(bucket, key, value, before) {
            self.expire(file, now, MAKING_ROOM)?;
            if !self.has_room(bucket, key, value, before) {
                return Ok(None);
            }
        }
        self.last += 1;
        let put = "INSERT OR REPLACE INTO state (bucket, key, value, revision, ends)
            VALUES (?1, ?2, ?3, ?4, ?5)";
        let row = (bucket.as_str(), key.as_str(), &value[..], self.last, ends);
        file.prepare_cached(put)?.execute(row)?;
        if let Some(open) = self.open.get_mut(bucket) {
            open.rows += i64::from(before.is_none());
            open.bytes += length(value.len()) - before.unwrap_or(-length(key.as_str().len()));
        }
        let revision = revision(self.last);
        let entry = Entry { value: value.clone(), revision };
        self.told.push((bucket.clone(), (self.last, Change::Written(key.clone(), entry))));
        Ok(Some(Written::Done(revision)))
    }

    pub(super) fn remove(
        &mut self,
        file: &Connection,
        bucket: &BucketName,
        key: &StoreKey,
        only: Option<Revision>,
        now: i64,
    ) -> Result<Removed> {
        let Some((found, length)) = self.found(file, bucket, key, now)? else {
            return Ok(Removed::Done);
        };
        if only.is_some_and(|only| only != found) {
            return Ok(Removed::Conflict);
        }
        self.take(file, bucket.clone(), key.clone(), length)?;
        Ok(Removed::Done)
    }

    pub(super) fn view(
        &mut self,
        file: &Connection,
        bucket: &BucketName,
        now: i64,
    ) -> Result<Option<View>> {
        let Some(open) = self.open.get(bucket) else { return Ok(None) };
        let changes = open.changes.subscribe();
        let all = "SELECT key, value, revision FROM state WHERE bucket = ?1 AND ends > ?2";
        let mut all = file.prepare_cached(all)?;
        let mut rows = all.query((bucket.as_str(), now))?;
        let mut present = Vec::new();
        while let Some(row) = rows.next()? {
            let key: String = row.get(0)?;
            match StoreKey::new(&key) {
                Ok(key) => present.push(Change::Written(key, entry_of(row, 1)?)),
                Err(error) => tracing::warn!(%bucket, %error, "an entry was passed over"),
            }
        }
        Ok(Some(View { present, number: self.last, changes }))
    }

    /// Takes away what has expired, at most so many entries.
    pub(crate) fn expire(&mut self, file: &Connection, now: i64, most: i64) -> Result<()> {
        let over = "SELECT bucket, key, length(value) FROM state
            WHERE ends <= ?1 ORDER BY ends LIMIT ?2";
        let mut over = file.prepare_cached(over)?;
        let rows = over.query_map((now, most), |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, i64>(2)?))
        })?;
        for row in rows.collect::<Result<Vec<_>>>()? {
            let (bucket, key, length) = row;
            match (BucketName::new(&bucket), StoreKey::new(&key)) {
                (Ok(bucket), Ok(key)) => self.take(file, bucket, key, length)?,
                // Nobody here has written that.
                _ => delete(file, &bucket, &key)?,
            }
        }
        Ok(())
    }

    /// When the next entry ends, of whichever bucket.
    pub(super) fn next_end(file: &Connection) -> Result<Option<i64>> {
        file.prepare_cached("SELECT min(ends) FROM state")?.query_row([], |row| row.get(0))
    }

    /// The revision and the length of what stands there. What has expired is taken away.
    fn found(
        &mut self,
        file: &Connection,
        bucket: &BucketName,
        key: &StoreKey,
        now: i64,
    ) -> Result<Option<(Revision, i64)>> {
        let found =
            "SELECT revision, length(value), ends FROM state WHERE bucket = ?1 AND key = ?2";
        let found = file
            .prepare_cached(found)?
            .query_row((bucket.as_str(), key.as_str()), |row| {
                Ok((row.get(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?))
            })
            .optional()?;
        let Some((number, length, ends)) = found else { return Ok(None) };
        if ends <= now {
            self.take(file, bucket.clone(), key.clone(), length)?;
            return Ok(None);
        }
        Ok(Some((revision(number), length)))
    }

    fn take(
        &mut self,
        file: &Connection,
        bucket: BucketName,
        key: StoreKey,
        value: i64,
    ) -> Result<()> {
        delete(file, bucket.as_str(), key.as_str())?;
        self.last += 1;
        if let Some(open) = self.open.get_mut(&bucket) {
            open.rows -= 1;
            open.bytes -= length(key.as_str().len()) + value;
            self.told.push((bucket, (self.last, Change::Removed(key))));
        }
        Ok(())
    }

    fn has_room(
        &self,
        bucket: &BucketName,
        key: &StoreKey,
        value: &Bytes,
        before: Option<i64>,
    ) -> bool {
        let Some(open) = self.open.get(bucket) else { return false };
        let grows = match before {
            Some(before) => length(value.len()) - before,
            None => length(key.as_str().len() + value.len()),
        };
        let most = |bound: u64| i64::try_from(bound).unwrap_or(i64::MAX);
        let fits = grows <= 0 || open.bytes + grows <= most(open.bounds.bytes);
        fits && (before.is_some() || open.rows < most(open.bounds.entries))
    }
}

fn delete(file: &Connection, bucket: &str, key: &str) -> Result<()> {
    let delete = "DELETE FROM state WHERE bucket = ?1 AND key = ?2";
    file.prepare_cached(delete)?.execute((bucket, key)).map(drop)
}

fn entry_of(row: &rusqlite::Row<'_>, first: usize) -> Result<Entry> {
    let value = Bytes::from(row.get::<_, Vec<u8>>(first)?);
    Ok(Entry { value, revision: revision(row.get(first + 1)?) })
}

fn revision(number: i64) -> Revision {
    Revision(number.unsigned_abs())
}

fn length(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
