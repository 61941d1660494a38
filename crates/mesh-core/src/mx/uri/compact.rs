//! `<mount…>/<component.path>.<plane>.<message>`.

use super::super::MxPath;
use super::UriError;
use super::pieces::{Pieces, refuse_query};

/// The path of a compact URI whose segments begin at `start`.
pub(super) fn path(text: &str, start: usize) -> Result<MxPath<'_>, UriError> {
    refuse_query(text, start)?;
    let raw = &text[start..];
    if memchr::memchr(b'%', raw.as_bytes()).is_none() {
        return MxPath::new(raw).map_err(|error| UriError::of_path(error, |offset| start + offset));
    }
    let atom = raw.rfind('/').map_or(0, |slash| slash + 1);
    let mut pieces = Pieces::new(text);
    pieces.mounts(start, &raw[..atom])?;
    pieces.labels(start + atom, &raw[atom..], '.')?;
    pieces.finish()
}
