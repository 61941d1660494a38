use std::error::Error as _;

use super::*;

#[test]
fn an_error_says_its_kind_and_whether_to_try_again_and_keeps_its_cause() {
    let cause = std::fmt::Error;
    let full = StoreError::new(StoreErrorKind::Full, "the disk").caused_by(cause);
    assert_eq!(full.to_string(), "store: no room (the disk)");
    assert!(full.may_retry());
    assert!(full.source().unwrap().is::<std::fmt::Error>());
    let damaged = StoreError::new(StoreErrorKind::Corrupt, "");
    assert_eq!(damaged.to_string(), "store: damaged");
    assert!(!damaged.may_retry() && damaged.source().is_none());
}
