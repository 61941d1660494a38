//! A path put together from parts of a URI, each part decoded on its own.

use smallvec::SmallVec;

use super::super::MxPath;
use super::{UriError, UriProblem};
use crate::percent::{self, PercentError};

/// Refuses `?` and `#` from `start` on: the path holds neither bare.
pub(super) fn refuse_query(text: &str, start: usize) -> Result<(), UriError> {
    match memchr::memchr2(b'?', b'#', &text.as_bytes()[start..]) {
        None => Ok(()),
        Some(at) => {
            let offset = start + at;
            let problem = match text.as_bytes()[offset] {
                b'?' => UriProblem::Query,
                _ => UriProblem::Fragment,
            };
            Err(UriError::new(problem, offset))
        }
    }
}

pub(super) fn escape_error(error: PercentError, start: usize) -> UriError {
    match error {
        PercentError::BadEscape { offset } => UriError::new(UriProblem::BadEscape, start + offset),
        PercentError::NotUtf8 { offset } => UriError::new(UriProblem::NotUtf8, start + offset),
    }
}

/// The parts so far, in the form of a path.
pub(super) struct Pieces<'t> {
    uri: &'t str,
    path: String,
    /// Where each part begins: in the path, and in the URI.
    starts: SmallVec<[(usize, usize); 12]>,
}

impl<'t> Pieces<'t> {
    pub(super) fn new(uri: &'t str) -> Self {
        Self { uri, path: String::with_capacity(uri.len()), starts: SmallVec::new() }
    }

    /// Adds the mounts of `raw`, each with a `/` behind it; `raw` stands at `at` in the URI.
    pub(super) fn mounts(&mut self, mut at: usize, raw: &str) -> Result<(), UriError> {
        for mount in raw.split_terminator('/') {
            self.push(at, mount, &['/'])?;
            self.path.push('/');
            at += mount.len() + 1;
        }
        Ok(())
    }

    /// Adds the labels, the plane and the message, which stand at `at` in the URI.
    pub(super) fn labels(
        &mut self,
        mut at: usize,
        raw: &str,
        separator: char,
    ) -> Result<(), UriError> {
        for (index, label) in raw.split(separator).enumerate() {
            if index > 0 {
                self.path.push('.');
            }
            self.push(at, label, &['/', '.'])?;
            at += label.len() + 1;
        }
        Ok(())
    }

    /// The path, checked as a whole; an error is told where it stands in the URI.
    pub(super) fn finish(self) -> Result<MxPath<'static>, UriError> {
        let Self { uri, path, starts } = self;
        MxPath::new(path).map_err(|error| {
            UriError::of_path(error, |offset| {
                let part = starts.partition_point(|(in_path, _)| *in_path <= offset);
                let (in_path, in_uri) = starts[part.saturating_sub(1)];
                in_uri + percent::raw_offset(&uri[in_uri..], offset - in_path)
            })
        })
    }

    fn push(&mut self, at: usize, raw: &str, separators: &[char]) -> Result<(), UriError> {
        if raw.is_empty() {
            return Err(UriError::new(UriProblem::Empty, at));
        }
        let part = percent::decode(raw).map_err(|error| escape_error(error, at))?;
        if let Some((offset, found)) = part.char_indices().find(|(_, c)| separators.contains(c)) {
            let offset = at + percent::raw_offset(raw, offset);
            return Err(UriError::new(UriProblem::Character(found), offset));
        }
        self.starts.push((self.path.len(), at));
        self.path.push_str(&part);
        Ok(())
    }
}
