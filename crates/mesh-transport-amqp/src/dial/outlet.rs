//! What the client library writes: nothing goes out on a channel that is closed.
//!
//! The library has messages in a queue when it hears that the broker closed their channel. It confirms that
//! ahead of them, and sends them all the same. To the broker they are then words on a channel that was never
//! opened, and it ends the connection.
//!
//! Until the broker has closed the first channel nothing is looked at: the library always shows whole frames,
//! so where those end that were shown before is known.

use std::io::IoSlice;

use rustc_hash::FxHashSet;

use super::sift::{HEAD, METHOD};

/// Class and method, at the beginning of a method frame's payload.
const OPEN: [u8; 4] = [0, 20, 0, 10];
const CLOSE_OK: [u8; 4] = [0, 20, 0, 41];

/// As much of a frame as says what becomes of it.
const LOOKED: usize = HEAD + 4;

/// See the module. It is shown what is to go out, from where the last [`Step`] ended.
#[derive(Debug, Default)]
pub(super) struct Outlet {
    /// Whether the broker has closed a channel.
    alert: bool,
    closed: FxHashSet<[u8; 2]>,
    /// How many bytes are known to go out, also of what was not shown yet.
    goes: usize,
    /// How many of those that come first are dropped, likewise.
    dropped: usize,
}

/// What becomes of the bytes that come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// So many may be written. Those that were are [told](Outlet::wrote).
    Write(usize),
    /// So many are to be passed over.
    Drop(usize),
}

impl Outlet {
    /// The broker has closed a channel.
    pub(super) fn alert(&mut self) {
        self.alert = true;
    }

    /// Looks at what is to go out: one buffer after the other.
    pub(super) fn look(&mut self, buffers: &[IoSlice<'_>]) -> Step {
        let all = buffers.iter().map(|buffer| buffer.len()).sum();
        if !self.alert {
            self.goes = all;
            return Step::Write(all);
        }
        while self.dropped == 0 && self.goes < all {
            let mut head = [0; LOOKED];
            let found = copy(buffers, self.goes, &mut head);
            let Some((length, passes)) = self.frame(&head[..found]) else {
                // Whatever it is, it is no frame of a channel.
                self.goes = all;
                break;
            };
            match passes {
                true => self.goes += length,
                // What comes before goes first.
                false if self.goes > 0 => break,
                false => self.dropped = length,
            }
        }
        if self.dropped == 0 {
            return Step::Write(self.goes.min(all));
        }
        let dropped = self.dropped.min(all);
        self.dropped -= dropped;
        Step::Drop(dropped)
    }

    /// So many bytes were written.
    pub(super) fn wrote(&mut self, count: usize) {
        self.goes = self.goes.saturating_sub(count);
    }

    /// How long the frame is that begins so, and whether it goes out.
    fn frame(&mut self, head: &[u8]) -> Option<(usize, bool)> {
        let (&[kind, first, second, ref size @ ..], word) = head.split_first_chunk::<HEAD>()?;
        // The protocol's own name comes before all frames.
        if kind == b'A' {
            return None;
        }
        let length = usize::try_from(u32::from_be_bytes(*size)).ok()?.saturating_add(HEAD + 1);
        let channel = [first, second];
        let is = |method: [u8; 4]| kind == METHOD && word == method;
        if is(OPEN) {
            self.closed.remove(&channel);
        } else if is(CLOSE_OK) {
            self.closed.insert(channel);
            return Some((length, true));
        }
        Some((length, self.closed.is_empty() || !self.closed.contains(&channel)))
    }
}

/// Copies what there is of `wanted` bytes from `at` on; how many.
fn copy(buffers: &[IoSlice<'_>], mut at: usize, wanted: &mut [u8]) -> usize {
    let mut found = 0;
    for buffer in buffers {
        let rest = buffer.get(at..).unwrap_or_default();
        at = at.saturating_sub(buffer.len());
        let taken = rest.len().min(wanted.len() - found);
        wanted[found..found + taken].copy_from_slice(&rest[..taken]);
        found += taken;
        if found == wanted.len() {
            break;
        }
    }
    found
}
