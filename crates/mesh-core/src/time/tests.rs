use std::time::Duration;

use proptest::prelude::*;

use super::*;

fn read(text: &str) -> Result<i64, (TimestampProblem, usize)> {
    text.parse::<Timestamp>()
        .map(Timestamp::as_millis)
        .map_err(|error| (error.problem, error.offset))
}

#[test]
fn any_offset_and_any_number_of_digits_is_read() {
    for (text, millis) in [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01t00:00:00z", 0),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1969-12-31T19:00:00-05:00", 0),
        ("1970-01-01T00:00:00-00:00", 0),
        ("1970-01-01T00:00:00.1Z", 100),
        ("1970-01-01T00:00:00.123456789123Z", 123),
        ("1969-12-31T23:59:59.999Z", -1),
        ("2016-12-31T23:59:60Z", 1_483_228_799_000),
        ("2024-02-29T00:00:00Z", 1_709_164_800_000),
    ] {
        assert_eq!(read(text), Ok(millis), "{text}");
    }
}

#[test]
fn a_bad_time_says_what_and_where() {
    use TimestampProblem::{Calendar, Expected, Range};
    for (text, problem, offset) in [
        ("", Expected("a digit"), 0),
        ("2026-03-01", Expected("`T`"), 10),
        ("2026-03-01 10:00:00Z", Expected("`T`"), 10),
        ("2026-03-01T10:00:00", Expected("`Z` or an offset"), 19),
        ("2026-03-01T10:00:00.Z", Expected("a digit"), 20),
        ("2026-03-01T10:00:00Z\n", Expected("the end"), 20),
        ("2026-03-01T10:00:00+0200", Expected("`:`"), 22),
        ("2025-02-29T10:00:00Z", Calendar, 0),
        ("2026-03-01T24:00:00Z", Calendar, 11),
        ("2026-03-01T10:00:00+24:00", Calendar, 19),
        ("9999-12-31T23:59:59-01:00", Range, 0),
        ("0000-01-01T00:00:00+01:00", Range, 0),
        ("٢026-03-01T10:00:00Z", Expected("a digit"), 0),
    ] {
        assert_eq!(read(text), Err((problem, offset)), "{text}");
    }
}

#[test]
fn the_bounds_are_written_and_clamped_to() {
    assert_eq!(Timestamp::MIN.to_string(), "0000-01-01T00:00:00.000Z");
    assert_eq!(Timestamp::MAX.to_string(), "9999-12-31T23:59:59.999Z");
    assert_eq!(Timestamp::from_millis(i64::MIN), Timestamp::MIN);
    assert_eq!(Timestamp::from_millis(i64::MAX), Timestamp::MAX);
    assert!(Timestamp::try_from(i64::MAX).is_err());
    assert_eq!(Timestamp::MAX.saturating_add(Duration::MAX), Timestamp::MAX);
    assert_eq!(Timestamp::MIN.saturating_sub(Duration::MAX), Timestamp::MIN);
    let later = Timestamp::UNIX_EPOCH.saturating_add(Duration::from_millis(7));
    assert_eq!(later.saturating_since(Timestamp::UNIX_EPOCH).as_millis(), 7);
    assert!(Timestamp::UNIX_EPOCH.saturating_since(later).is_zero());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn what_is_written_reads_back(millis in Timestamp::MIN.0..=Timestamp::MAX.0) {
        let time = Timestamp::from_millis(millis);
        prop_assert_eq!(time.to_string().parse::<Timestamp>(), Ok(time));
    }

    #[test]
    fn no_text_panics(text in "[0-9TZtz:.+é-]{0,32}") {
        let _ = text.parse::<Timestamp>();
    }
}
