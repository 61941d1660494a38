//! `date-time` of RFC 3339 §5.6: the shape is read here, so that an error can say where; the
//! calendar is jiff's.
//!
//! ```text
//! 2026-03-01 T 12:00:00 .25  +02:00
//! ────┬───── ┬ ───┬──── ─┬─  ───┬──
//!     date   │   time  digits   offset, or Z
//!            T or t
//! ```

use std::fmt;
use std::str::FromStr;

use jiff::SignedDuration;
use jiff::civil::{Date, DateTime, Time, date};

use super::Timestamp;

/// Civil time reaches both ends of the years 0000–9999; `jiff::Timestamp` stops a day short.
const EPOCH: DateTime = date(1970, 1, 1).at(0, 0, 0, 0);

/// Why a text is not an RFC 3339 moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("RFC 3339 time: {problem} at offset {offset}")]
#[non_exhaustive]
pub struct TimestampError {
    /// What is wrong.
    pub problem: TimestampProblem,
    /// Byte offset of the part that is wrong.
    pub offset: usize,
}

/// What is wrong with a text that should have been a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TimestampProblem {
    /// Another character, or the end, where this was wanted.
    Expected(&'static str),
    /// A day, hour, minute, second or offset that the calendar doesn't have.
    Calendar,
    /// A moment outside the years 0000–9999 in UTC.
    Range,
}

impl fmt::Display for TimestampProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Expected(what) => write!(f, "expected {what}"),
            Self::Calendar => f.write_str("no such date, time or offset"),
            Self::Range => f.write_str("outside the years 0000 to 9999"),
        }
    }
}

impl FromStr for Timestamp {
    type Err = TimestampError;

    /// Reads any offset from UTC and any number of fractional digits; what is below a millisecond
    /// is cut off. A leap second (`:60`) reads as the second before it.
    fn from_str(text: &str) -> Result<Self, TimestampError> {
        let mut reader = Reader { bytes: text.as_bytes(), at: 0 };
        let year = reader.digits(4)?;
        reader.one(b"-", "`-`")?;
        let month = reader.digits(2)?;
        reader.one(b"-", "`-`")?;
        let day = reader.digits(2)?;
        let time_at = reader.at;
        reader.one(b"Tt", "`T`")?;
        let hour = reader.digits(2)?;
        reader.one(b":", "`:`")?;
        let minute = reader.digits(2)?;
        reader.one(b":", "`:`")?;
        let second = reader.digits(2)?;
        let millis = reader.fraction()?;
        let offset_seconds = reader.offset()?;
        if reader.at < text.len() {
            return Err(error(TimestampProblem::Expected("the end"), reader.at));
        }
        let calendar = |offset| move |_| error(TimestampProblem::Calendar, offset);
        let date = Date::new(year, narrow(month), narrow(day)).map_err(calendar(0))?;
        let second = if second == 60 { 59 } else { second };
        let time = Time::new(narrow(hour), narrow(minute), narrow(second), 0)
            .map_err(calendar(time_at + 1))?;
        let local = date.to_datetime(time).duration_since(EPOCH).as_secs();
        let seconds = local - i64::from(offset_seconds);
        Self::try_from(seconds * 1000 + i64::from(millis))
    }
}

impl fmt::Display for Timestamp {
    /// UTC with `Z` and three fractional digits: `2026-03-01T10:00:00.250Z`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Within Timestamp's bounds jiff never refuses.
        let utc = EPOCH
            .checked_add(SignedDuration::from_millis(self.as_millis()))
            .map_err(|_| fmt::Error)?;
        write!(
            f,
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
            utc.year(),
            utc.month(),
            utc.day(),
            utc.hour(),
            utc.minute(),
            utc.second(),
            utc.millisecond()
        )
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn one(&mut self, allowed: &[u8], what: &'static str) -> Result<u8, TimestampError> {
        match self.bytes.get(self.at) {
            Some(found) if allowed.contains(found) => {
                self.at += 1;
                Ok(*found)
            }
            _ => Err(error(TimestampProblem::Expected(what), self.at)),
        }
    }

    fn digits(&mut self, count: usize) -> Result<i16, TimestampError> {
        let mut value = 0;
        for _ in 0..count {
            let digit = self.one(b"0123456789", "a digit")?;
            value = value * 10 + i16::from(digit - b'0');
        }
        Ok(value)
    }

    /// Milliseconds of `.` and at least one digit, or 0 where there is no `.`.
    fn fraction(&mut self) -> Result<i16, TimestampError> {
        if self.bytes.get(self.at) != Some(&b'.') {
            return Ok(0);
        }
        self.at += 1;
        let mut millis = 100 * self.digits(1)?;
        let mut weight = 10;
        while let Some(digit @ b'0'..=b'9') = self.bytes.get(self.at) {
            millis += weight * i16::from(digit - b'0');
            weight /= 10;
            self.at += 1;
        }
        Ok(millis)
    }

    /// Seconds east of UTC.
    fn offset(&mut self) -> Result<i32, TimestampError> {
        let start = self.at;
        let sign = match self.one(b"Zz+-", "`Z` or an offset")? {
            b'Z' | b'z' => return Ok(0),
            b'-' => -1,
            _ => 1,
        };
        let hours = self.digits(2)?;
        self.one(b":", "`:`")?;
        let minutes = self.digits(2)?;
        if hours > 23 || minutes > 59 {
            return Err(error(TimestampProblem::Calendar, start));
        }
        Ok(sign * (i32::from(hours) * 3600 + i32::from(minutes) * 60))
    }
}

/// Two digits always fit.
fn narrow(value: i16) -> i8 {
    i8::try_from(value).unwrap_or(i8::MAX)
}

fn error(problem: TimestampProblem, offset: usize) -> TimestampError {
    TimestampError { problem, offset }
}
