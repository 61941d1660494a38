use super::{UriError, UriProblem};

/// The offset behind `matrix://`, whose letters may be of either case.
pub(super) fn skip(text: &str) -> Result<usize, UriError> {
    const SCHEME: &[u8] = b"matrix://";
    match text.as_bytes().get(..SCHEME.len()) {
        Some(start) if start.eq_ignore_ascii_case(SCHEME) => Ok(SCHEME.len()),
        _ => Err(UriError::new(UriProblem::Scheme, 0)),
    }
}
