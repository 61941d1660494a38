use std::borrow::Cow;

use super::super::MxRealm;
use super::pieces::escape_error;
use super::{UriError, UriProblem};
use crate::percent;

/// The realm that begins at `start`, and the offset of the first segment behind it.
pub(super) fn realm(text: &str, start: usize) -> Result<(MxRealm<'_>, usize), UriError> {
    let bytes = &text.as_bytes()[start..];
    let mut escaped = false;
    let mut end = bytes.len();
    for (at, byte) in bytes.iter().enumerate() {
        let problem = match byte {
            b'/' => {
                end = at;
                break;
            }
            b'%' => {
                escaped = true;
                continue;
            }
            b'@' => UriProblem::UserInfo,
            // `user:password@` has a colon too.
            b':' if authority(&bytes[at..]).contains(&b'@') => UriProblem::UserInfo,
            b':' => UriProblem::Port,
            b'?' => UriProblem::Query,
            b'#' => UriProblem::Fragment,
            _ => continue,
        };
        return Err(UriError::new(problem, start + at));
    }
    let raw = &text[start..start + end];
    let realm = if escaped {
        percent::decode(raw).map_err(|error| escape_error(error, start))?
    } else {
        Cow::Borrowed(raw)
    };
    let realm = MxRealm::new(realm).map_err(|error| {
        UriError::of_name(error.problem, |offset| start + percent::raw_offset(raw, offset))
    })?;
    if end == bytes.len() {
        return Err(UriError::new(UriProblem::Empty, text.len()));
    }
    Ok((realm, start + end + 1))
}

fn authority(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().position(|b| matches!(b, b'/' | b'?' | b'#'));
    &bytes[..end.unwrap_or(bytes.len())]
}
