//! The table of what was handled.

use mesh_core::store::Handled;
use rusqlite::{Connection, OptionalExtension as _, Result};

use crate::key::Digest;

/// Rows stand in the order in which they were written last, the oldest first, and so in the order of their
/// times. A row is begun or handled.
pub(crate) const TABLE: &str = "CREATE TABLE handled (
    place INTEGER PRIMARY KEY,
    key BLOB NOT NULL UNIQUE,
    at INTEGER NOT NULL,
    state INTEGER NOT NULL
)";

const BEGUN: i64 = 0;
const DONE: i64 = 1;

/// What is known of the table without looking.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Table {
    /// The place of the next row.
    next: i64,
    /// How many rows there are.
    pub(crate) rows: i64,
    /// How many went before their time, since the file was opened.
    pub(crate) evicted: i64,
    /// How long a row is kept, in milliseconds.
    window: i64,
    /// How many rows are kept.
    capacity: i64,
}

impl Table {
    pub(crate) fn open(file: &Connection, window: i64, capacity: i64) -> Result<Self> {
        let (last, rows) =
            file.query_row("SELECT coalesce(max(place), 0), count(*) FROM handled", [], |row| {
                Ok((row.get::<_, i64>(0)?, row.get(1)?))
            })?;
        Ok(Self { next: last.saturating_add(1), rows, evicted: 0, window, capacity })
    }

    /// When the last row was written.
    pub(crate) fn last(file: &Connection) -> Result<Option<i64>> {
        let last = "SELECT at FROM handled ORDER BY place DESC LIMIT 1";
        file.query_row(last, [], |row| row.get(0)).optional()
    }

    pub(crate) fn begin(&mut self, file: &Connection, key: &Digest, now: i64) -> Result<Handled> {
        let known = file
            .prepare_cached("SELECT at, state FROM handled WHERE key = ?1")?
            .query_row([key], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?)))
            .optional()?
            .filter(|(at, _)| !self.is_over(*at, now));
        let handled = match known {
            Some((_, DONE)) => return Ok(Handled::Yes),
            Some(_) => Handled::Interrupted,
            None => Handled::No,
        };
        self.put(file, key, now, BEGUN)?;
        Ok(handled)
    }

    pub(crate) fn record(&mut self, file: &Connection, key: &Digest, now: i64) -> Result<()> {
        self.put(file, key, now, DONE)
    }

    pub(crate) fn forget(&mut self, file: &Connection, key: &Digest) -> Result<()> {
        let gone = file
            .prepare_cached("DELETE FROM handled WHERE key = ?1 AND state = ?2")?
            .execute((key, BEGUN))?;
        self.rows -= i64::from(gone > 0);
        Ok(())
    }

    /// Writes a row at the end, in place of the one that is there.
    fn put(&mut self, file: &Connection, key: &Digest, now: i64, state: i64) -> Result<()> {
        let moved = file
            .prepare_cached("UPDATE handled SET place = ?1, at = ?3, state = ?4 WHERE key = ?2")?
            .execute((self.next, key, now, state))?;
        if moved == 0 {
            file.prepare_cached(
                "INSERT INTO handled (place, key, at, state) VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute((self.next, key, now, state))?;
            self.rows += 1;
        }
        self.next += 1;
        Ok(())
    }

    /// Takes away what is over, and the oldest where there are too many or `crowded` says that they take
    /// too much room: at most `most` rows, so that nobody waits for long.
    pub(crate) fn tidy(
        &mut self,
        file: &Connection,
        now: i64,
        crowded: bool,
        most: i64,
    ) -> Result<()> {
        let mut oldest =
            file.prepare_cached("SELECT place, at FROM handled ORDER BY place LIMIT ?1")?;
        let mut rows = oldest.query([most])?;
        let (mut upto, mut left, mut evicted) = (None, self.rows, 0);
        while let Some(row) = rows.next()? {
            if !self.is_over(row.get(1)?, now) {
                if left <= self.capacity && !crowded {
                    break;
                }
                evicted += 1;
            }
            upto = Some(row.get::<_, i64>(0)?);
            left -= 1;
        }
        drop(rows);
        if let Some(upto) = upto {
            file.prepare_cached("DELETE FROM handled WHERE place <= ?1")?.execute([upto])?;
            self.rows = left;
            self.evicted += evicted;
        }
        Ok(())
    }

    fn is_over(&self, at: i64, now: i64) -> bool {
        at.saturating_add(self.window) <= now
    }
}
