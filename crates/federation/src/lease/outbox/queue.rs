use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use mesh_core::mx::{MxPath, Profile};

use super::super::{LeaseId, Notice, NoticeKind};
use super::{Happened, OutboxLimits, Target};

/// What waits for one realm, in the order in which it is sent.
#[derive(Default)]
pub(super) struct Queue {
    waiting: VecDeque<Work>,
    events: usize,
    /// Of the events' bodies.
    bytes: usize,
    notices: usize,
    /// Of each lease that misses events, how many; it is told where its mark stands in the queue.
    missed: BTreeMap<LeaseId, Missed>,
    /// Whether the first of the queue is being sent.
    sending: bool,
}

/// What is to be sent.
#[derive(Clone)]
pub(super) enum Work {
    Event(Target, Arc<Happened>),
    Notice(Notice, Profile),
    /// Here the lease is told what it misses.
    Missed(LeaseId),
}

struct Missed {
    target: Target,
    source: MxPath<'static>,
    events: u64,
}

impl Queue {
    /// Whether there was room; where there was none, the event is missed.
    pub(super) fn event(
        &mut self,
        target: Target,
        event: &Arc<Happened>,
        limits: &OutboxLimits,
    ) -> bool {
        let bytes = self.bytes.saturating_add(event.body.as_str().len());
        if self.events >= limits.per_realm || bytes > limits.bytes_per_realm {
            self.missed(target, &event.source, 1);
            return false;
        }
        self.bytes = bytes;
        self.events += 1;
        self.waiting.push_back(Work::Event(target, Arc::clone(event)));
        true
    }

    /// Each lease has one mark at most, so this is bounded by the leases of the realm.
    pub(super) fn missed(&mut self, target: Target, source: &MxPath<'static>, events: u64) {
        if let Some(missed) = self.missed.get_mut(&target.id) {
            missed.events = missed.events.saturating_add(events);
            return;
        }
        self.waiting.push_back(Work::Missed(target.id));
        self.missed.insert(target.id, Missed { target, source: source.clone(), events });
    }

    /// Whether there was room.
    pub(super) fn notice(&mut self, notice: Notice, profile: Profile, most: usize) -> bool {
        if self.notices >= most {
            return false;
        }
        self.notices += 1;
        self.waiting.push_back(Work::Notice(notice, profile));
        true
    }

    /// The first, which takes its place until [`sent`](Self::sent).
    pub(super) fn first(&mut self) -> Option<Work> {
        let work = match self.waiting.pop_front()? {
            Work::Missed(id) => {
                let missed = self.missed.remove(&id)?;
                let notice = Notice {
                    id,
                    source: missed.source,
                    // It was checked before it came in.
                    sink: MxPath::new(missed.target.path.to_string()).ok()?,
                    kind: NoticeKind::Missed(missed.events),
                };
                self.notices += 1;
                Work::Notice(notice, missed.target.profile)
            }
            work => work,
        };
        self.sending = true;
        Some(work)
    }

    pub(super) fn sent(&mut self, work: &Work) {
        self.sending = false;
        match work {
            Work::Event(_, event) => {
                self.events = self.events.saturating_sub(1);
                self.bytes = self.bytes.saturating_sub(event.body.as_str().len());
            }
            _ => self.notices = self.notices.saturating_sub(1),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len() + usize::from(self.sending)
    }
}
