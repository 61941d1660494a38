//! Which messages came back, because no queue takes them.
//!
//! The client attaches what came back to whichever confirmation comes next, which is another message's where
//! several wait. So a message that may come back has an id of its own, as its correlation id, and the
//! [stream's filter](crate::dial) notes here what comes back before the client reads it. The broker sends a
//! message back before it confirms it, on the same channel: whoever has a confirmation finds here whether
//! its own message came back.

use std::sync::Arc;

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use crate::correlation::CorrelationId;

/// Of all that is published on a connection.
#[derive(Debug, Default)]
pub(crate) struct Returned(Mutex<FxHashMap<CorrelationId, bool>>);

impl Returned {
    /// Watches for a message that may come back.
    pub(crate) fn watch(self: &Arc<Self>, id: CorrelationId) -> Watched {
        self.0.lock().insert(id, false);
        Watched { returned: Arc::clone(self), id }
    }

    /// Notes that the message with this correlation id came back.
    pub(crate) fn note(&self, correlation: &[u8]) {
        if let Some(id) = CorrelationId::read(correlation)
            && let Some(came) = self.0.lock().get_mut(&id)
        {
            *came = true;
        }
    }

    /// Whether none is watched.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }
}

/// A message that may come back. Dropped, it is watched no more.
#[derive(Debug)]
pub(crate) struct Watched {
    returned: Arc<Returned>,
    id: CorrelationId,
}

impl Watched {
    /// Whether it came back.
    pub(crate) fn came_back(&self) -> bool {
        self.returned.0.lock().get(&self.id).copied().unwrap_or(false)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.returned.0.lock().remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_watched_is_noted_and_only_as_long_as_that() {
        let returned = Arc::new(Returned::default());
        let [one, other, foreign] = [(); 3].map(|()| CorrelationId::random());
        let (watched, beside) = (returned.watch(one), returned.watch(other));
        returned.note(one.text().as_str().as_bytes());
        returned.note(foreign.text().as_str().as_bytes());
        returned.note(b"");
        assert!(watched.came_back() && !beside.came_back());
        drop(watched);
        returned.note(one.text().as_str().as_bytes());
        assert_eq!(returned.0.lock().len(), 1);
        drop(beside);
        assert!(returned.is_empty());
    }
}
