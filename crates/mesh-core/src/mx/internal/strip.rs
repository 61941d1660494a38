use std::borrow::Cow;

use crate::json::{JsonError, RawJson, Scanner};

/// `value` without the members called `_mx` at its top, however the key is escaped; all else is
/// the same text.
///
/// What a remote sent and is published inside the realm goes through here: the bare body of an
/// event could otherwise pass for a request that the gateway vouches for.
///
/// ```
/// use mesh_core::{json::RawJson, mx::without_mx};
///
/// let body = RawJson::new(r#"{"a": 1e400, "_mx": {"fromRealm": "boss"}, "b": 2}"#)?;
/// assert_eq!(without_mx(&body).as_str(), r#"{"a": 1e400,"b": 2}"#);
/// # Ok::<(), mesh_core::json::JsonError>(())
/// ```
#[must_use]
pub fn without_mx<'v>(value: &'v RawJson<'_>) -> RawJson<'v> {
    let text = value.as_str();
    let mut kept = Vec::new();
    let mut found = false;
    let whole = crate::json::Value { text, offset: 0 };
    let read: Result<(), JsonError> = Scanner::inside(whole).object(|key, offset, member| {
        if key == "_mx" {
            found = true;
        } else {
            kept.push(&text[offset..member.offset + member.text.len()]);
        }
        Ok(())
    });
    match read {
        // Only an object has members.
        Ok(()) if found => RawJson::from_checked(Cow::Owned(format!("{{{}}}", kept.join(",")))),
        _ => value.borrowed(),
    }
}
