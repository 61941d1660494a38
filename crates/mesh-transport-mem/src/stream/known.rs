use std::collections::VecDeque;
use std::time::Duration;

use hashbrown::HashMap;
use mesh_core::message::PublishId;

/// The ids that were appended within a stream's window, and the numbers they got.
#[derive(Debug, Default)]
pub(super) struct Known {
    numbers: HashMap<PublishId, u64>,
    order: VecDeque<(Duration, PublishId)>,
}

impl Known {
    /// Forgets what has left the window by now.
    pub(super) fn age(&mut self, window: Duration, now: Duration) {
        while let Some((at, id)) = self.order.front() {
            if now.saturating_sub(*at) < window {
                break;
            }
            self.numbers.remove(id);
            self.order.pop_front();
        }
    }

    pub(super) fn number(&self, id: &PublishId) -> Option<u64> {
        self.numbers.get(id).copied()
    }

    pub(super) fn note(&mut self, id: &PublishId, number: u64, now: Duration) {
        self.numbers.insert(id.clone(), number);
        self.order.push_back((now, id.clone()));
    }
}
