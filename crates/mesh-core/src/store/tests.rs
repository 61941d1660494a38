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

#[test]
fn a_key_is_text_that_every_store_takes_as_it_is() {
    for text in ["a", "A-Z_0=9", "marks.0af3", &"k".repeat(180)] {
        assert_eq!(StoreKey::new(text).unwrap().as_str(), text);
    }
    let refused = |text: &str| StoreKey::new(text).unwrap_err();
    assert_eq!(refused(""), StoreKeyError::Empty { offset: 0 });
    assert_eq!(refused(".a"), StoreKeyError::Empty { offset: 0 });
    assert_eq!(refused("ab..c"), StoreKeyError::Empty { offset: 3 });
    assert_eq!(refused("ab."), StoreKeyError::Empty { offset: 3 });
    assert_eq!(refused(&"k".repeat(181)), StoreKeyError::TooLong { found: 181 });
    for found in ['*', '>', ' ', '/', '$', '\n', '\0', 'ä'] {
        let text = format!("ab{found}");
        assert_eq!(refused(&text), StoreKeyError::Character { found, offset: 2 });
    }
}

#[test]
fn a_bucket_is_one_token() {
    for text in ["a", "acme-marks", &"k".repeat(63)] {
        assert_eq!(BucketName::new(text).unwrap().as_str(), text);
    }
    let refused = |text: &str| text.parse::<BucketName>().unwrap_err();
    assert_eq!(refused(""), BucketNameError::Empty);
    assert_eq!(refused("-a"), BucketNameError::Character { found: '-', offset: 0 });
    for found in ['.', '*', '>', '_', 'A', ' ', '\n', 'ä'] {
        assert_eq!(refused(&format!("a{found}")), BucketNameError::Character { found, offset: 1 });
    }
    assert_eq!(refused(&"k".repeat(64)), BucketNameError::TooLong { found: 64 });
}
