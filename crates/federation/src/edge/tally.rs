use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($(#[doc = $doc:literal])* $name:ident,)*) => {
        /// What a gateway has counted since it began, beside its guards.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct EdgeCounters {
            $($(#[doc = $doc])* pub $name: u64,)*
        }

        #[derive(Debug, Default)]
        pub(super) struct Tally {
            $(pub(super) $name: AtomicU64,)*
        }

        impl Tally {
            pub(super) fn read(&self) -> EdgeCounters {
                EdgeCounters { $($name: self.$name.load(Ordering::Relaxed),)* }
            }
        }

        impl EdgeCounters {
            /// Each by its name, in the order of the fields.
            pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($name), self.$name),)*].into_iter()
            }
        }
    };
}

counters! {
    /// Messages that came by a mailbox.
    received,
    /// Dropped, by a guard or for want of a way.
    dropped,
    /// Refused with an answer, before any component was asked.
    nacked,
    /// Dropped or refused after the guards, since there was no way to go: [`Outcome`] names `route`.
    ///
    /// [`Outcome`]: mesh_core::guard::Outcome
    unroutable,
    /// Refused since too many requests were under way, of the realm or of all.
    overloaded,
    /// Requests that a component was asked.
    asked,
    /// Replies that became an answer.
    replied,
    /// Requests whose time was over.
    timed_out,
    /// Requests that nobody serves.
    nobody,
    /// Requests that could not be published inside the realm, for another reason.
    unsent,
    /// Replies of a component that were too large to be carried.
    oversized,
    /// Replies to a request that had ended: a second one, or one that came too late. Discarded.
    late_replies,
    /// Replies to no request of this gateway's: to one of another gateway of the realm.
    other_replies,
    /// Events that were published inside the realm.
    told,
    /// Events that could not be.
    untold,
    /// Answers to this realm's own questions.
    answers,
    /// Answers that nobody here waited for, and that were handed to the realm's other gateways.
    handed_over,
    /// Answers that another gateway handed over and somebody here waited for.
    taken_over,
    /// Answers that nobody waited for.
    unknown_answers,
    /// Answers that were accepted by a caller's mailbox.
    sent,
    /// Answers that were not, and were given up.
    unsent_answers,
    /// Messages that were given up since something panicked over them.
    panicked,
}

pub(super) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
