//! `<mount…>/-/<component/…>/<plane>/<message>`.

use super::super::MxPath;
use super::pieces::{Pieces, refuse_query};
use super::{UriError, UriProblem};

/// The offset of the first segment from `start` on that is a bare `-`.
pub(super) fn delimiter(text: &str, start: usize) -> Option<usize> {
    let bytes = &text.as_bytes()[start..];
    memchr::memchr_iter(b'-', bytes)
        .find(|&at| {
            (at == 0 || bytes[at - 1] == b'/') && matches!(bytes.get(at + 1), None | Some(b'/'))
        })
        .map(|at| start + at)
}

/// The path of a segmented URI whose segments begin at `start`.
pub(super) fn path(
    text: &str,
    start: usize,
    delimiter: usize,
) -> Result<MxPath<'static>, UriError> {
    refuse_query(text, start)?;
    let mounts = &text[start..delimiter];
    let labels = delimiter + 2;
    let Some(atom) = text.get(labels..) else {
        return Err(UriError::new(UriProblem::Empty, text.len()));
    };
    if memchr::memchr(b'%', &text.as_bytes()[start..]).is_some() {
        let mut pieces = Pieces::new(text);
        pieces.mounts(start, mounts)?;
        pieces.labels(labels, atom, '/')?;
        return pieces.finish();
    }
    if let Some(dot) = memchr::memchr(b'.', atom.as_bytes()) {
        return Err(UriError::new(UriProblem::Character('.'), labels + dot));
    }
    let mut path = String::with_capacity(mounts.len() + atom.len());
    path.push_str(mounts);
    let mut label = 0;
    for slash in memchr::memchr_iter(b'/', atom.as_bytes()) {
        path.push_str(&atom[label..slash]);
        path.push('.');
        label = slash + 1;
    }
    path.push_str(&atom[label..]);
    MxPath::new(path).map_err(|error| {
        UriError::of_path(error, |offset| match offset.checked_sub(mounts.len()) {
            Some(in_atom) => labels + in_atom,
            None => start + offset,
        })
    })
}
