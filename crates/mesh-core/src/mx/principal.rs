use std::borrow::Cow;

use super::escape;
use crate::json::{Fields, JsonError, JsonKind, RawJson, Scanner, Value};

/// The key that stands for a principal: a string as it is; `{iss, sub}` as
/// `mxesc1(iss)|mxesc1(sub)`; else none. An empty string, issuer or subject is nobody (protocol §8).
///
/// ```
/// use mesh_core::{json::RawJson, mx::principal_key};
///
/// let principal = RawJson::new(r#"{"iss": "https://id", "sub": "ada"}"#)?;
/// assert_eq!(principal_key(&principal).as_deref(), Some("https%3A%2F%2Fid|ada"));
/// # Ok::<(), mesh_core::json::JsonError>(())
/// ```
#[must_use]
pub fn principal_key<'p>(principal: &'p RawJson<'_>) -> Option<Cow<'p, str>> {
    let key = match principal.kind() {
        JsonKind::String => principal.as_string()?,
        JsonKind::Object => {
            let value = Value { text: principal.as_str(), offset: 0 };
            let mut fields = fields(value).ok()?;
            let [iss, sub] = [ISS, SUB].map(|i| fields.take(i).and_then(Value::as_string));
            let (iss, sub) = (iss?, sub?);
            if iss.is_empty() || sub.is_empty() {
                return None;
            }
            format!("{}|{}", escape::encode(&iss), escape::encode(&sub)).into()
        }
        _ => return None,
    };
    (!key.is_empty()).then_some(key)
}

/// Refuses a principal whose object says something twice: two readers might see two principals.
pub(super) fn check(value: Value<'_>) -> Result<(), JsonError> {
    if value.text.starts_with('{') {
        fields(value)?;
    }
    Ok(())
}

const ISS: usize = 0;
const SUB: usize = 1;

fn fields(value: Value<'_>) -> Result<Fields<'_, 2>, JsonError> {
    Fields::read(&mut Scanner::inside(value), |key| match key {
        "iss" => Some(ISS),
        "sub" => Some(SUB),
        _ => None,
    })
}
